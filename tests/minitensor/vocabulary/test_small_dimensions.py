"""Compare strides of dimensions of length 1 or 0, and gradients of in-place comparisons, with PyTorch's record."""

from __future__ import annotations

import json

import pytest

from minitensor import torch
from tests.support.vocabulary.programs.running import FACTS, facts_module

recorder = facts_module("small_dimensions")
RECORDS = json.loads((FACTS / "small-dimensions.json").read_text(encoding="utf-8"))
ANSWERS = RECORDS["torch 2.13.0"]["answers"]


@pytest.mark.parametrize("question", ANSWERS)
def test_strides_and_gradients_equal_those_of_pytorch(question):
    assert recorder.answer(torch, ANSWERS[question]["program"]) == ANSWERS[question]["answer"]


def test_the_record_contains_every_question():
    assert set(ANSWERS) == set(recorder.QUESTIONS)
