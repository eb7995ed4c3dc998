"""Test that learners' programs print, warn and raise as in PyTorch and Paddle if only their imports are changed.

python -m tests.support.vocabulary.programs      shows the differences
"""

from __future__ import annotations

import re

import pytest

from tests.support.vocabulary.programs import comparing, differences, judging, running

VOCABULARIES = ("torch", "paddle")
PROGRAMS = {vocabulary: running.programs(vocabulary) for vocabulary in VOCABULARIES}
RECORDS = running.records()


def those(table: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    return [(vocabulary, name) for vocabulary in VOCABULARIES for name in table[vocabulary]]


def all_programs() -> list[object]:
    """Return every program without an intended difference. The programs in NOT_YET are marked as expected to fail."""
    return [
        pytest.param(
            vocabulary,
            name,
            id=f"{vocabulary}-{name}",
            marks=[pytest.mark.xfail(strict=True, reason=differences.NOT_YET[vocabulary][name])]
            if name in differences.NOT_YET[vocabulary]
            else [],
        )
        for vocabulary in VOCABULARIES
        for name in PROGRAMS[vocabulary]
        if name not in differences.DELIBERATE[vocabulary]
    ]


@pytest.mark.parametrize(("vocabulary", "name"), all_programs())
def test_a_program_behaves_as_in_the_framework(vocabulary, name):
    """If you repair a fault, remove the program from NOT_YET in tests/support/vocabulary/programs/differences.py."""
    judged = judging.judge(vocabulary, name, PROGRAMS[vocabulary][name])
    assert not judged.found, f"{vocabulary}/{name}.py differs from {judged.version}: {judged.found}"


@pytest.mark.parametrize(("vocabulary", "name"), those(differences.DELIBERATE))
def test_intended_differences_still_differ(vocabulary, name):
    judged = judging.judge(vocabulary, name, PROGRAMS[vocabulary][name])
    assert judged.verdict == "on purpose", f"{vocabulary}/{name}.py no longer differs: remove it from DELIBERATE"


def test_each_vocabulary_has_at_least_sixty_programs():
    assert all(len(PROGRAMS[vocabulary]) >= 60 for vocabulary in VOCABULARIES)


@pytest.mark.parametrize("version", [one for versions in judging.VERSIONS.values() for one in versions])
def test_the_record_contains_every_program_unchanged(version):
    programs = PROGRAMS[version.partition(" ")[0]]
    digests = {name: running.programs_recorder.digest(program) for name, program in programs.items()}
    assert {name: answer["sha256"] for name, answer in RECORDS[version].items()} == digests


def test_the_tables_of_differences_name_only_existing_programs_and_none_twice():
    for vocabulary in VOCABULARIES:
        deliberate, not_yet = set(differences.DELIBERATE[vocabulary]), set(differences.NOT_YET[vocabulary])
        assert not deliberate & not_yet
        assert deliberate | not_yet <= set(PROGRAMS[vocabulary])


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_the_changed_programs_differ_only_in_imports(vocabulary):
    for program in PROGRAMS[vocabulary].values():
        changed = running.with_changed_imports(vocabulary, program)
        pairs = list(zip(program.splitlines(), changed.splitlines(), strict=True))
        assert any(before != after for before, after in pairs)
        assert all(re.match(r"\s*(import|from) ", before) for before, after in pairs if before != after)


# ---- the comparison itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "here"),
    [
        ("tensor([1., 2.])", "tensor([1., 3.])"),
        ("tensor([1., 2.])", "tensor([1., 2.], requires_grad=True)"),
        ("[6]", "[7]"),
        ("0.1234", "0.1236"),
        ("0.12345678", "0.12346"),
        ("1e-05", "2e-05"),
        ("a\nb", "a"),
        ("True 1", "True -1"),
        ("nan", "inf"),
    ],
)
def test_different_texts_are_distinguished(recorded, here):
    assert "output" in comparing.differences({"out": recorded}, {"out": here})


@pytest.mark.parametrize(
    ("recorded", "here"),
    [
        ("0.1234", "0.1235"),
        ("0.12345678", "0.12345679"),
        ("[1.2345e-08]", "[1.2346e-08]"),
        ("12345678.0", "12345679.0"),
    ],
)
def test_texts_that_differ_in_the_last_digit_count_as_equal(recorded, here):
    assert not comparing.differences({"out": recorded}, {"out": here})


@pytest.mark.parametrize(
    ("recorded", "here", "what"),
    [
        ({"error": "ValueError: a"}, {}, "error"),
        ({"error": "ValueError: a"}, {"error": "TypeError: a"}, "error"),
        ({"error": "ValueError: a b. c", "line": 2}, {"error": "ValueError: a b. d", "line": 3}, "line"),
        ({"error": "ValueError: one thing. c"}, {"error": "ValueError: another thing. c"}, "words"),
        ({"warnings": ["UserWarning: look out"]}, {}, "no warning"),
        ({}, {"warnings": ["UserWarning: look out"]}, "one more warning"),
    ],
)
def test_different_errors_lines_and_warnings_are_distinguished(recorded, here, what):
    assert list(comparing.differences(recorded, here)) == [what]
