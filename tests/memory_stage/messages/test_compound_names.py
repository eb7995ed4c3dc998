"""Test names of two parts: a local variable, and an optimizer's tensor."""

from __future__ import annotations

import pytest

import memory_stage as stage
from memory_stage.messages import language, render
from memory_stage.model import compound_names as names

CHINESE = language("zh")


@pytest.mark.parametrize(
    ("name", "chinese", "own"),
    [
        ("x", "x", "x"),
        ("x in f", "f 中的 x", "x"),
        ("x in f (2)", "f (2) 中的 x", "x"),
        ("x.grad in Net.forward", "Net.forward 中的 x.grad", "x.grad"),
        ("opt.velocity of net.weight", "net.weight 的 opt.velocity", "opt.velocity of net.weight"),
        ("opt.velocity of parameter 0", "参数 0 的 opt.velocity", "opt.velocity of parameter 0"),
        ("opt.velocity of w in f", "f 中的 w 的 opt.velocity", "opt.velocity of w"),
        ("d['a in b']", "d['a in b']", "d['a in b']"),
        ("d['a in b'].x in f", "f 中的 d['a in b'].x", "d['a in b'].x"),
    ],
)
def test_a_name_has_a_phrase_and_a_part_without_its_function(name, chinese, own):
    phrase = names.phrase(name)
    assert str(phrase) == name and render(phrase, CHINESE) == chinese
    assert names.without_function(name) == own and names.is_local(name) == (own != name)


def test_the_gradient_of_a_local_variable_is_a_local_variable():
    assert names.gradient_name("x") == "x.grad" and names.gradient_name("x in f") == "x.grad in f"
    body = "    w = mt.ones([2])\n    w.stop_gradient = False\n    (w * a).backward(w)\n    g = 1\n    return g\n"
    program = f"def f(a):\n{body}f(3.)"
    variant = stage.record(program).data["variants"][0]
    named = [event["name"] for step in variant["steps"] for event in step["events"] if event["do"] == "name"]
    assert "w.grad in f" in named
    assert any("`w.grad in f` is [3, 3]" in step["say"] for step in variant["steps"])
