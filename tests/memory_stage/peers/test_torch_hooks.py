"""Test hooks on gradients in PyTorch programs: each call is a recorded step, and the program runs unchanged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import memory_stage as stage  # noqa: E402
from tests.support.peers import undisturbed  # noqa: E402

NAMES = {"torch": torch, "nn": torch.nn}


def sentences_and_error(source: str, **names):
    shown = stage.record(source, {**NAMES, **names})
    variant = shown.data["variants"][0]
    assert variant["truncated"] is None
    return [step["say"] for step in variant["steps"]], shown.error


HOOK = """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * 3
{hook}
y.sum().backward()
"""


@pytest.mark.parametrize(
    ("hook", "reported"),
    [
        (
            "handle = y.register_hook(lambda g: g * 2)",
            "A hook on `y` receives the gradient [1, 1] and returns [2, 2], in storage",
        ),
        (
            "handle = y.register_hook(lambda g: None)",
            "A hook on `y` receives the gradient [1, 1] and returns nothing, so `backward` continues with the "
            "same numbers.",
        ),
        (
            "handle = w.register_hook(lambda g: g + 1)",
            "A hook on `w` receives the gradient [3, 3] and returns [4, 4], in storage",
        ),
        (
            "t = y * 5\nhandle = t.register_hook(lambda g: None)\ny = t * 1\ndel t",
            "receives the gradient [1, 1] and returns nothing",
        ),
        (
            "handle = w.register_post_accumulate_grad_hook(lambda p: None)",
            "A hook on `w` receives the gradient [3, 3] and returns nothing",
        ),
    ],
)
def test_a_hook_of_a_tensor_is_a_step_with_its_result(hook, reported):
    sentences, error = sentences_and_error(HOOK.format(hook=hook))
    assert error is None
    assert any(reported in each for each in sentences), "\n".join(sentences)


def test_a_hook_that_writes_into_the_gradient_is_reported():
    hook = "def double(g):\n    g.mul_(2)\nhandle = y.register_hook(double)"
    sentences, error = sentences_and_error(
        HOOK.format(hook=hook)
        .replace("y.sum()", "(y * torch.ones(2))")
        .replace(".backward()", ".backward(torch.ones(2))")
    )
    assert error is None
    assert any("A hook on `y` receives the gradient [1, 1] itself, writes [2, 2] into it" in each for each in sentences)


def test_a_hook_of_a_layer_is_a_step_that_names_the_layer():
    sentences, error = sentences_and_error(
        "net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())\n"
        "handle = net[1].register_full_backward_hook(lambda layer, sent, came: (sent[0] * 0,))\n"
        "net(torch.ones(1, 2)).sum().backward()"
    )
    assert error is None
    reported = [each for each in sentences if "A hook on a layer `Tanh`" in each]
    assert reported and "returns [[0, 0]]" in reported[0]


def test_a_program_finds_its_hooks_as_it_registered_them():
    names = {**NAMES, "seen": []}
    source = """
w = torch.ones(2, requires_grad=True)
def first(g):
    handles[0].remove()
    seen.append(list(w._backward_hooks.values())[-1].__name__)
def second(g):
    return g * 2
handles = [w.register_hook(first), w.register_hook(second)]
(w * 1).sum().backward()
(w * 1).sum().backward()
"""
    shown = stage.record(source, names)
    assert shown.error is None
    assert names["seen"] == ["second"] and names["w"].grad.tolist() == [4, 4]
    assert list(names["w"]._backward_hooks.values()) == [names["second"]]


def test_a_hook_that_fails_or_returns_a_wrong_value_raises_the_same_error_as_without_a_recorder():
    for answer in ("torch.ones(3)", "'text'", "1 / 0"):
        source = (
            f"w = torch.ones(2, requires_grad=True)\ndef hook(g):\n    return {answer}\nh = w.register_hook(hook)\n"
        )
        source += "(w * 1).sum().backward()"
        with pytest.raises(Exception) as alone:
            exec(source, dict(NAMES))
        _, error = sentences_and_error(source)
        assert type(error) is alone.type and str(error) == str(alone.value)


@pytest.mark.parametrize(
    "hook",
    [
        "w.register_post_accumulate_grad_hook(lambda w: kept.append(w.grad.clone()))",
        "w.register_post_accumulate_grad_hook(lambda w: setattr(w, 'grad', None))",
        "w.register_hook(kept.append)",
        "h.register_hook(lambda g: kept.append(g * 2))",
        "h = Mine.apply(h)",
    ],
)
def test_programs_with_hooks_use_the_same_memory_as_without_a_recorder(hook):
    program = (
        "kept = []\nclass Mine(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        ctx.kept = [x, x.exp()]\n        return x * 2\n"
        "    @staticmethod\n    def backward(ctx, g):\n        last = g + ctx.kept[1]\n        return g * 2\n"
        f"w = torch.rand(3, 4, requires_grad=True)\nh = w * 3\n{hook}\ny = h.exp()\n"
        "(y + h * y).sum().backward(retain_graph=True)\ny.sum().backward()\n"
    )
    undisturbed.outcome(undisturbed.unwatched, "x = torch.ones(2)", True)  # the profiler allocates at its first use
    assert undisturbed.differences(program) == []
