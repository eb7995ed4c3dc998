"""What becomes of `.grad` over backwards, writes, hooks and clearings is what facts/gradients.json recorded.

`python -m tests.vocabulary.gradients` shows what differs.
"""

from __future__ import annotations

import pytest

from tests.vocabulary import gradients

NOT_YET = gradients.not_yet()


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(
            question,
            marks=[pytest.mark.xfail(strict=True, reason="in gradients-not-yet.txt")] if question in NOT_YET else [],
        )
        for question in gradients.questions()
        if question not in gradients.DELIBERATE
    ],
)
def test_a_gradient_does_what_it_does_in_the_framework(question):
    """Who mends some runs `python -m tests.vocabulary.gradients list` and looks at what became of the list."""
    assert not gradients.differences(question)


@pytest.mark.parametrize("question", gradients.DELIBERATE)
def test_what_differs_on_purpose_still_differs(question):
    assert gradients.differences(question), "it differs no more: take it out of DELIBERATE"


def test_the_lists_name_questions_that_were_asked():
    assert set(NOT_YET) | set(gradients.DELIBERATE) <= set(gradients.questions())
    assert not set(NOT_YET) & set(gradients.DELIBERATE)


@pytest.mark.parametrize(
    ("recorded", "here"),
    [
        ({"grad": [1.0]}, {"grad": [2.0]}),
        ({"grad": [1.0]}, {"grad": None}),
        ({"same memory": True}, {"same memory": False}),
        ({"wants gradient": True}, {"wants gradient": False}),
        ({"strides": [1, 2]}, {"strides": [2, 1]}),
        ({"repr": "tensor([1.])"}, {"repr": "tensor([2.])"}),
        ({"kept": [1.0]}, {}),
    ],
)
def test_looks_that_differ_are_told_apart(recorded, here):
    assert gradients.apart(recorded, here)


def test_versions_are_counted_from_the_first_look():
    steps = [{"grad": [1.0], "version": 1}, {"grad": [2.0], "version": 2, "same memory": True}]
    assert [row["version"] for row in gradients.comparable("torch", steps)] == [0, 1]
