"""Compare minitensor's answers to learners' questions with those of PyTorch and Paddle in facts/learners.json.

python -m tests.support.vocabulary.learners      counts the answers that differ
"""

from __future__ import annotations

import json
import re

import pytest

from tests.support.vocabulary import learners, learners_on_purpose

NOT_YET = frozenset(learners.not_yet())
QUESTIONS = learners.questions()
GROUPS = list(dict.fromkeys(map(learners.group, QUESTIONS)))
RECORDED = learners.RECORDS
WRONG_KINDS = [q.partition(": ")[2] for q in QUESTIONS if q.startswith("paddle: operands of a wrong kind in place")]


@pytest.mark.parametrize("group", GROUPS)
def test_questions_are_answered_as_in_the_framework(group):
    """The questions listed in learners-not-yet.txt are left out. `python -m tests.support.vocabulary.learners list`
    writes this list.
    """
    asked = [question for question in QUESTIONS if learners.group(question) == group and question not in NOT_YET]
    otherwise = {question: less for question in asked if (less := learners.differences(question))}
    unexpected = {question: less for question, less in otherwise.items() if learners.on_purpose(question) is None}
    assert not unexpected, json.dumps(unexpected, indent=1)


@pytest.mark.parametrize("pattern", learners_on_purpose.ON_PURPOSE)
def test_intended_differences_still_differ(pattern):
    """If no answer to the questions of a pattern differs any longer, remove the pattern."""
    meant = [q for q in QUESTIONS if learners.on_purpose(q) == learners_on_purpose.ON_PURPOSE[pattern]]
    assert any(re.match(pattern, question) and learners.differences(question) for question in meant)


def test_the_list_of_wrong_answers_has_only_recorded_questions_without_intended_difference():
    assert set(QUESTIONS) >= NOT_YET
    assert not [question for question in NOT_YET if learners.on_purpose(question)]


@pytest.mark.parametrize("question", sorted(NOT_YET))
def test_the_answers_listed_as_wrong_still_differ(question):
    """If you repair an answer, remove the question from learners-not-yet.txt in the same change."""
    assert learners.differences(question)


def test_an_in_place_operation_raises_a_type_error_for_the_operands_for_which_paddle_does():
    """Only three operations differ: they accept a list. No operation raises an error of an unexpected type."""
    asked = {name: [RECORDED[v][name] for v in learners.VERSIONS["paddle"]] for name in WRONG_KINDS}
    here = {name: learners.answer("paddle", records[0]["program"]).get("error", "") for name, records in asked.items()}
    paddles = [name for name, (old, new) in asked.items() if all("TypeError" in r.get("error", "") for r in (old, new))]
    assert len(paddles) > 80
    others = [name.partition(": ")[2] for name in paddles if not here[name].startswith("TypeError")]
    assert others == ["m.pow_([1.0, 2.0])", "m.hypot_([1.0, 2.0])", "m.ldexp_([1.0, 2.0])"]
    assert {error.partition(":")[0] for error in here.values()} <= {"", "TypeError", "ValueError", "AttributeError"}
    odd = [name for name, error in here.items() if error.startswith("AttributeError")]
    assert not [name for name in odd if "has no attribute" not in here[name]]
