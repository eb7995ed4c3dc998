"""What learners type is answered here as in PyTorch and Paddle: facts/learners.json, question by question.

`python -m tests.vocabulary.learners` shows what is answered otherwise; learners-not-yet.txt lists it.
"""

from __future__ import annotations

import json

import pytest

from tests.vocabulary import learners

NOT_YET = frozenset(learners.not_yet())
QUESTIONS = learners.questions()
GROUPS = list(dict.fromkeys(map(learners.group, QUESTIONS)))


@pytest.mark.parametrize("group", GROUPS)
def test_questions_are_answered_as_in_the_framework(group):
    """All but those of the list, which is written anew by `python -m tests.vocabulary.learners list`."""
    asked = [question for question in QUESTIONS if learners.group(question) == group and question not in NOT_YET]
    otherwise = {question: less for question in asked if (less := learners.differences(question))}
    assert not otherwise, json.dumps(otherwise, indent=1)


def test_the_list_names_questions_that_were_asked():
    assert set(QUESTIONS) >= NOT_YET
