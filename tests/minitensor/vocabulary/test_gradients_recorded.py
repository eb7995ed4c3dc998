"""Compare `.grad` after backward, writes, hooks and clearing with the recorded facts in facts/gradients.json.

python -m tests.support.vocabulary.gradients prints the differences.
"""

from __future__ import annotations

import pytest

from tests.support.vocabulary import gradients


@pytest.mark.parametrize("question", [each for each in gradients.questions() if each not in gradients.ON_PURPOSE])
def test_gradients_equal_those_recorded_from_the_framework(question):
    assert not gradients.differences(question)


@pytest.mark.parametrize("question", gradients.ON_PURPOSE)
def test_an_intended_difference_exists_and_is_of_the_listed_kind(question):
    assert gradients.differences(question), "this question no longer has a difference, so remove it from its kind"
    assert not gradients.unlike(question)


def test_the_kinds_of_differences_list_only_recorded_questions_and_none_twice():
    named = [question for kind in gradients.DELIBERATE.values() for question in kind.questions]
    assert set(named) <= set(gradients.questions()) and len(named) == len(set(named))


def test_a_kind_does_not_cover_a_difference_of_another_kind(monkeypatch):
    monkeypatch.setattr(gradients, "differences", lambda question: ["next backward: grad [3.0], here [4.0]"])
    assert gradients.unlike("paddle: x.grad.zero_()") and gradients.unlike("torch: create_graph twice")


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
def test_different_observations_are_distinguished(recorded, here):
    assert gradients.apart(recorded, here)


def test_versions_are_counted_from_the_first_observation():
    steps = [{"grad": [1.0], "version": 1}, {"grad": [2.0], "version": 2, "same memory": True}]
    assert [row["version"] for row in gradients.comparable("torch", steps)] == [0, 1]
