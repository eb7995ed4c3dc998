"""Test that the Chinese report of ``minitensor.explain`` has the same rows, numbers and code as the English one."""

from __future__ import annotations

import re

import pytest

import minitensor as mt
from memory_stage import set_language
from memory_stage.explanation.minitensor import Report
from memory_stage.explanation.minitensor.write_sentences import REASONS
from minitensor import torch
from minitensor.engine.table import ROWS
from minitensor.memory.backward_needs import needs_of


def program() -> None:
    x = mt.to_tensor([1.0, 2.0], stop_gradient=False) * 1
    y = x * x
    x.add_(1.0)
    z = mt.tanh_(y)
    mt.sigmoid(z)
    z.pow_(3.0)
    w = mt.to_tensor([1.0], stop_gradient=False)
    with mt.no_grad():
        w.add_(1.0)
    w.reshape_([1, 1])


def refused_by_pytorch() -> None:
    """Run writes that minitensor accepts and PyTorch refuses, or after which PyTorch's backward raises."""
    whole = torch.ones(4, requires_grad=True) * 1
    halves = whole.split(2)
    halves[0].mul_(2.0)
    with torch.no_grad():
        unrecorded = whole[:2]
    unrecorded.mul_(2.0)
    with torch.inference_mode():
        inferred = torch.ones(4)
    inferred.mul_(2.0)
    x = torch.ones(4, requires_grad=True) * 1
    x.clamp_(x[0], x[1])
    x.std()
    x.mul_(2.0)
    y = x.log_softmax(0)
    y.mul_(2.0)
    y.mul_(y)


def report(language: str) -> Report:
    try:
        set_language(language)
        return mt.explain(program, catch=True)
    finally:
        set_language(None)


def ask_for(language: str) -> Report:
    return mt.explain(program, catch=True, language=language)


def test_both_languages_have_the_same_rows_numbers_and_code():
    english, chinese = report("en"), report("zh")
    assert len(english.rows) == len(chinese.rows) == 5
    for one, other in zip(english.rows, chinese.rows, strict=True):
        assert (one.op, one.verdicts, one.rules, one.error != "") == (
            other.op,
            other.verdicts,
            other.rules,
            bool(other.error),
        )
        for text, said in ((one.happened, other.happened), (one.instead, other.instead), (one.why, other.why)):
            assert sorted(re.findall(r"`[^`]*`|\d+", text)) == sorted(re.findall(r"`[^`]*`|\d+", said))


@pytest.mark.parametrize(
    ("run", "words"), [(program, ("过期", "拷贝")), (refused_by_pytorch, ("PyTorch 在这里会拒绝",))]
)
def test_no_english_sentence_is_left_in_a_chinese_report(run, words):
    chinese = mt.explain(run, catch=True, language="zh")
    for row in chinese.rows:
        row.error = row.code = ""  # errors are not translated
    prose = re.sub(r"`[^`]*`|\S+\.py|float32|version_\w+", "", str(chinese))
    assert re.findall(r"(?:[A-Za-z]+ ){2,}[A-Za-z]+", prose) == []
    assert [each for each in words if each not in prose] == []


def test_a_report_keeps_the_language_in_which_it_was_made():
    chinese = str(report("zh"))
    assert chinese.startswith("5 个原位操作") and str(report("en")).startswith("5 in-place operations")


def test_a_report_is_in_the_language_that_the_call_requests():
    set_one, asked = (re.sub(r"tensor_\d+", "tensor", str(each)) for each in (report("zh"), ask_for("zh")))
    assert asked == set_one
    assert str(mt.explain(program, catch=True)).startswith("5 in-place operations")


def test_a_language_that_does_not_exist_is_refused_before_the_program_runs():
    calls = []
    with pytest.raises(ValueError, match="language must be one of 'en', 'zh', not 'fr'"):
        mt.explain(lambda: calls.append(1), language="fr")
    assert calls == []


def test_the_reasons_of_all_derivative_rules_are_exactly_the_translated_reasons():
    asked = [(f"{name}_", wanted) for name, row in ROWS.items() for wanted in (None, *({one} for one in row.operands))]
    reasons = {each.text for op, wanted in asked for each in needs_of(op, wanted).reasons}
    assert reasons <= set(REASONS) and len(reasons) == len(REASONS)
