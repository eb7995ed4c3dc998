"""Test names with two parts: ``x in f`` for a local variable, ``opt.velocity of w`` for an optimizer's tensor."""

from __future__ import annotations

import json

import pytest

import memory_stage as stage
from memory_stage.messages import language, render
from memory_stage.model import compound_names as names
from tools.build import ROOT

CHINESE = language("zh")
#: For each name: the name, its Chinese phrase, and the name without its function. A test of the JavaScript code reads
#: the same file.
NAMES = json.loads((ROOT / "tests/support/stage/compound_names.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "chinese", "own"), NAMES)
def test_a_name_has_a_phrase_and_a_part_without_its_function(name, chinese, own):
    phrase = names.phrase(name)
    assert str(phrase) == name and render(phrase, CHINESE) == chinese
    assert names.without_function(name) == own and names.is_local(name) == (own != name)


def test_an_expression_with_the_keyword_in_is_not_read_as_a_local_name():
    recorded = stage.record("ws = [mt.ones([2])]\nz = sum(w for w in ws)", language="zh")
    assert "`sum(w for w in ws)`" in recorded.data["variants"][0]["steps"][1]["say"]


def test_the_gradient_of_a_local_variable_is_a_local_variable():
    assert names.gradient_name("x") == "x.grad" and names.gradient_name("x in f") == "x.grad in f"
    body = "    w = mt.ones([2])\n    w.stop_gradient = False\n    (w * a).backward(w)\n    g = 1\n    return g\n"
    program = f"def f(a):\n{body}f(3.)"
    variant = stage.record(program).data["variants"][0]
    named = [event["name"] for step in variant["steps"] for event in step["events"] if event["do"] == "name"]
    assert "w.grad in f" in named
    assert any("`w.grad in f` is [3, 3]" in step["say"] for step in variant["steps"])
