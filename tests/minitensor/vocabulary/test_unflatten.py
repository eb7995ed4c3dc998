"""Compare unflatten, which splits a dimension into several, with the records of PyTorch and Paddle."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import minitensor
from minitensor import torch
from tests.support.conformance.programs.views import unflattened
from tests.support.vocabulary.programs.running import FACTS, facts_module

recorder = facts_module("unflatten")
RECORDS = json.loads((FACTS / "unflatten.json").read_text(encoding="utf-8"))
VOCABULARIES = {"torch 2.13.0": torch, "paddle 3.3.1": minitensor, "paddle 2.6.2": minitensor}


def _has_elements(question: str) -> bool:
    return 0 not in json.loads(question.partition(", dimension")[0])


#: For tensors without elements, the two versions of Paddle differ, and minitensor follows the newer version.
CASES = [
    (version, question)
    for version in VOCABULARIES
    for question in recorder.QUESTIONS
    if version != "paddle 2.6.2" or _has_elements(question)
]


@pytest.mark.parametrize(("version", "question"), CASES)
def test_unflatten_accepts_the_same_lengths_with_the_same_result_as_the_framework(version: str, question: str):
    recorded = RECORDS[version]["answers"][question]
    assert recorder.answer(VOCABULARIES[version], recorded["program"]) == recorded["answer"]


@pytest.mark.parametrize("version", VOCABULARIES)
def test_the_record_contains_every_question(version: str):
    assert set(RECORDS[version]["answers"]) == set(recorder.QUESTIONS)


def test_a_length_of_0_at_dimension_d_of_the_result_means_the_length_of_dimension_d_of_the_input():
    assert minitensor.unflatten(minitensor.ones([2, 12]), 1, [0, -1]).shape == [2, 12, 1]
    assert minitensor.unflatten(minitensor.ones([12, 2]), 0, [6, 0]).shape == [6, 2, 2]


@pytest.mark.parametrize(
    ("shape", "given", "result"),
    [
        ([0, 4], [0, -1], [0, 4]),
        ([0, 4], [0, 2, -1], [0, 2, 2]),
        ([0, 4], [-1, 3], [0, 3]),
        ([0, 0], [-1, 0], None),
        ([0, 4], [0, 3, -1], None),
        ([0, 4], [0, 0, -1], None),
    ],
)
def test_reshape_of_an_empty_tensor_infers_minus_1_or_raises(
    shape: list[int], given: list[int], result: list[int] | None
):
    x = minitensor.zeros(shape)
    if result is not None:
        assert x.reshape(given).shape == result
    else:
        with pytest.raises(ValueError, match="cannot take the shape"):
            x.reshape(given)


def _shape_or_error(function, *arguments):
    try:
        return list(function(*arguments).shape)
    except ValueError:
        return "refused"


@pytest.mark.parametrize("shape", [[4, 3], [0, 3], [3, 0], [0, 0], [0], [6]])
def test_the_reference_of_random_programs_splits_dimensions_in_the_same_way(shape: list[int]):
    for count in (1, 2, 3):
        for axis, lengths in itertools.product(range(len(shape)), itertools.product((-1, 0, 1, 2), repeat=count)):
            expected = _shape_or_error(minitensor.zeros(shape).unflatten, axis, list(lengths))
            assert _shape_or_error(unflattened, np.zeros(shape), axis, list(lengths)) == expected, (axis, lengths)
