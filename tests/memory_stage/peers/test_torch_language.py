"""Test the reports on programs of PyTorch in Chinese: the same rows, lines, numbers and code as in English."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import memory_stage  # noqa: E402
from memory_stage.api import run_and_release  # noqa: E402
from memory_stage.explanation.report import Report  # noqa: E402
from memory_stage.explanation.step_reporter import StepReporter  # noqa: E402
from memory_stage.explanation.whole_run.explanation import Explanation  # noqa: E402
from memory_stage.messages import language  # noqa: E402
from tests.support.peers.chinese import english_in, english_in_stage, run_command  # noqa: E402
from tests.support.peers.classics import CLASSICS  # noqa: E402

LEAK = "import torch\nw = torch.ones(2, requires_grad=True)\ntotal = 0\nfor _ in range(4):\n  total += w.exp().sum()\n"
SPOILED = """\
import torch
w = torch.ones(2, requires_grad=True)
y = w.exp()
y.add_(1)
y.sum().backward()
"""
FUNCTION = "def f(a):\n    b = a * 2\n    c = b.exp()\n    c.sum().backward()\n    return c\n"
LEAF = "x = torch.ones(2, 3, requires_grad=True)\n"
NOT_RECORDED = {
    "a sparse tensor": "s = torch.eye(2).to_sparse()",
    "a nested tensor": "s = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])\nu = s + 1",
    "another device": "s = torch.ones(2, device='meta')",
    "inference": "with torch.inference_mode():\n    s = torch.ones(2) + 1",
    "a transform": "s = torch.func.vmap(lambda a: a * 2)(torch.ones(2, 2))",
    "a dtype": "s = torch.ones(2).to(torch.float8_e4m3fn)",
    "another thread": "import threading\nt = threading.Thread(target=lambda: x.detach().add_(1))\nt.start()\nt.join()\n"
    "y = x * 1",
    "a compiled function": "s = torch.compile(lambda a: a * 2, backend='eager')(x)",
    "a traced function": "s = torch.jit.trace(lambda a: a * 2, x)",
    "swapped tensors": "torch.utils.swap_tensors(torch.ones(3), torch.zeros(2))\ny = x * 1",
}
SHOWN = {
    "local variables": FUNCTION + LEAF + "y = f(x)",
    "an optimizer": LEAF + "opt = torch.optim.SGD([x], lr=0.1, momentum=0.9)\n(x * x).sum().backward()\nopt.step()",
    "an optimizer in a function": LEAF + "def f(w):\n    opt = torch.optim.Adam([w])\n    (w * w).sum().backward()\n"
    "    opt.step()\nf(x)",
    "a generator": LEAF + "def f():\n    a = x * 2\n    yield a\n    yield a * 3\nfor y in f():\n    z = y.sum()",
    "a function that writes": LEAF + "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n"
    "        ctx.save_for_backward(a)\n        return a * 2\n    @staticmethod\n    def backward(ctx, g):\n"
    "        return g * 2\ny = F.apply(x * 1)\ny.sum().backward()",
    "dropout": LEAF + "y = torch.nn.functional.dropout(x * 1)\ny.sum().backward()",
    "a hook": LEAF + "h = x * 1\nh.register_hook(lambda g: g * 2)\nh.sum().backward()",
    "an array": LEAF + "n = x.detach().numpy()\nn[0] = 5",
    "a stale tensor": LEAF + "h = x * 1\ny = h.exp()\ny.add_(1)\ny.sum().backward()",
    "many operations": LEAF + "y = x\nfor i in range(60):\n    y = (y * 1.5).sin()\ny.sum().backward()",
    "a deleted name": LEAF + "y = x * 2\nv = y[0]\ndel y\nz = [v * 1, (v, v)]\ndel v",
}


def code_and_numbers(text: str) -> list[str]:
    """Return the pieces of code in a text, and the numbers outside of them, in sorted order."""
    return sorted(re.findall(r"`[^`]*`|\d+", text))


def report_of(program: str, code: str) -> Report:
    reporter = StepReporter(language(code))
    names = {"__name__": "__main__", "torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    return reporter.report(run_and_release(program, names, on_step=reporter.on_step).variant)


@pytest.mark.parametrize("name", CLASSICS)
def test_both_languages_report_the_same_rows_with_the_same_code_and_numbers(name):
    english, chinese = (report_of(CLASSICS[name].program, code) for code in ("en", "zh"))
    assert len(english.rows) == len(chinese.rows)
    for one, other in zip(english.rows, chinese.rows, strict=True):
        assert (one.verdicts, one.where.line, one.error, one.cause) == (
            other.verdicts,
            other.where.line,
            other.error,
            other.cause,
        )
        for text, said in ((one.happened, other.happened), (one.instead, other.instead)):
            assert code_and_numbers(text) == code_and_numbers(said) and english_in(said) == []


def explained(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    return run_command(folder, program, "explain", *options)


@pytest.mark.parametrize("program", [SPOILED, LEAK], ids=["overwritten", "leak"])
def test_the_command_explains_a_program_in_chinese(program, tmp_path):
    english, chinese = (explained(tmp_path, program, "--language", code) for code in ("en", "zh"))
    english_text, said = (each.stderr.partition("memory-stage: ")[2] for each in (english, chinese))
    assert english_text and said and english.returncode == chinese.returncode
    assert code_and_numbers(" ".join(english_text.split())) == code_and_numbers(" ".join(said.split()))
    assert "Fix:" not in said and "改法：" in said
    sentences = [line for line in said.splitlines() if not re.match(r"^ +[-+]? *\d", line)]
    assert english_in("\n".join(sentences)) == []


def test_a_block_is_explained_in_the_language_that_the_call_requests():
    with memory_stage.explain(language="zh") as why, pytest.raises(RuntimeError):
        exec(SPOILED, {})
    assert isinstance(why, Explanation) and why.faults
    assert "覆盖" in str(why) and "覆盖" in why.faults[0].verdict


def test_a_language_that_does_not_exist_is_refused_before_the_program_runs(tmp_path):
    calls: list[int] = []
    with pytest.raises(ValueError, match="language must be one of 'en', 'zh', not 'fr'"):
        memory_stage.explain(lambda: calls.append(1), language="fr")
    with pytest.raises(ValueError, match="language must be one of 'en', 'zh', not 'fr'"):
        memory_stage.explain(language="fr")
    refused = explained(tmp_path, "print('ran')", "--language", "fr")
    assert calls == [] and refused.returncode == 2 and refused.stdout == "" and "'fr'" in refused.stderr


@pytest.mark.parametrize("name", [*NOT_RECORDED, *SHOWN])
def test_a_stage_in_chinese_has_no_english_phrase(name):
    program = SHOWN[name] if name in SHOWN else LEAF + NOT_RECORDED[name]
    shown = memory_stage.record(program, {"torch": torch}, language="zh")
    assert english_in_stage(shown) == []
    if name in NOT_RECORDED:
        variant = shown.data["variants"][0]
        said = " ".join([step["say"] for step in variant["steps"]] + [variant["truncated"] or ""])
        assert re.search("没有记录|不会被记录|记录到此为止|另一个线程", said)


def test_a_recording_that_ends_early_says_so_in_chinese():
    shown = memory_stage.record(SHOWN["many operations"], {"torch": torch}, language="zh", steps=5)
    assert shown.data["variants"][0]["truncated"].startswith("只显示前 5 步")
    assert english_in_stage(shown) == []


def test_the_report_of_a_recording_that_ends_early_says_so_in_chinese(tmp_path):
    program = "import torch\n" + LEAF + "y = x * 2\ny.add_(1)\ny.add_(1)\n"
    done = run_command(tmp_path, program, "--explain", "--language", "zh", "--steps", "2")
    assert done.returncode == 0 and "只显示前 2 步" in done.stderr
    assert english_in("\n".join(line for line in done.stderr.splitlines() if "第" not in line)) == []


@pytest.mark.parametrize("program", [SPOILED, "import torch\n"], ids=["a fault", "no fault"])
def test_a_stage_that_the_command_draws_is_in_chinese(program, tmp_path):
    done = explained(tmp_path, program, "--language", "zh", "--stage", "why.html")
    last = done.stderr.splitlines()[-1]
    if program == SPOILED:
        assert last.startswith("why.html：") and last.endswith("条语句。")
        assert '<html lang="zh-CN">' in (tmp_path / "why.html").read_text("utf-8")
    else:
        assert last == "没有发现问题，所以没有画出舞台。"
