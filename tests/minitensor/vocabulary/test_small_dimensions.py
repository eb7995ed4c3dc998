"""Compare strides of dimensions of length 1 or 0, and gradients of in-place comparisons, with PyTorch's record."""

from __future__ import annotations

import json

import pytest

import minitensor
from minitensor import torch
from minitensor.engine.core.layout_rules import strided
from tests.support.vocabulary.programs.running import FACTS, facts_module

recorder = facts_module("small_dimensions")
RECORDS = json.loads((FACTS / "small-dimensions.json").read_text(encoding="utf-8"))
ANSWERS = RECORDS["torch 2.13.0"]["answers"]


@pytest.mark.parametrize("question", ANSWERS)
def test_strides_and_gradients_equal_those_of_pytorch(question):
    assert recorder.answer(torch, ANSWERS[question]["program"]) == ANSWERS[question]["answer"]


def test_the_record_contains_every_question():
    assert set(ANSWERS) == set(recorder.QUESTIONS)


@pytest.mark.parametrize(
    ("make", "is_unusual"),
    [
        (lambda: torch.zeros(5)[::5], True),
        (lambda: torch.zeros(1, 3).t(), True),
        (lambda: torch.zeros(3, 1).as_strided((3, 1), (1, 7)), True),
        (lambda: torch.zeros(2, 3, 1, 1).to(memory_format=torch.channels_last), True),
        (lambda: torch.zeros(3, 4)[1:2], False),
        (lambda: torch.zeros(3, 4).t(), False),
        (lambda: torch.zeros(3)[None], False),
    ],
)
def test_only_unusual_strides_of_dimensions_of_length_1_switch_the_slower_rules_on(make, is_unusual, monkeypatch):
    monkeypatch.setattr(strided, "unusual", False)
    make()
    assert strided.unusual == is_unusual


def test_diff_with_n_0_returns_a_copy_in_pytorch_and_is_refused_in_paddle():
    x = torch.arange(6.0).reshape(2, 3)
    x.diff(n=0).zero_()
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    with pytest.raises(ValueError, match="diff: n must be at least 1, not 0"):
        minitensor.diff(minitensor.ones([2]), n=0)


def test_resizing_to_the_same_shape_changes_neither_strides_nor_version():
    x = torch.zeros(3, 4).t()
    assert x.resize_(4, 3) is x and x.resize_as_(torch.zeros(4, 3)) is x
    assert (x.stride(), x._version) == ((1, 4), 0)


def test_squeezing_without_a_dimension_of_length_1_returns_another_array():
    x = torch.zeros(2, 3)
    assert x.squeeze()._array is not x._array and x.squeeze(0)._array is not x._array
