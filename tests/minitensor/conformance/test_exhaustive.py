"""Test short programs: the gradients are right, or the engine refuses a write or a gradient for a valid reason.

The error must describe the reason correctly.

The package ``exhaustive`` generates and judges the programs. These tests run 10,000 programs under every policy, spread
evenly over all programs of up to four statements.
``python -m tests.support.conformance.exhaustive --length 4`` runs every program of up to four statements.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import minitensor
from minitensor.engine.modes import POLICIES
from tests.support.conformance.exhaustive.alphabet import ALPHABET, START, count, evenly, nth, total
from tests.support.conformance.exhaustive.faults import FAULTS
from tests.support.conformance.exhaustive.judge import FREE, Judge, Plan, Report, judge_all, table
from tests.support.conformance.exhaustive.reference import DIRECTIONS, World
from tests.support.conformance.exhaustive.saved import LEAF, LOST, MOVED, OWN_INPUT
from tests.support.conformance.programs.vocabulary import World as OtherWorld

LENGTH, PROGRAMS, PARTS = 4, 10_000, 10
#: For each policy, the kinds of refusals that saved values may cause.
SAVED = {"2.5": {OWN_INPUT.kind, LOST, MOVED}, "2.6": {LOST, MOVED}, "copy_on_write": set()}
#: The least share of right programs under each policy.
LEAST_RIGHT = {"2.5": 0.4, "2.6": 0.6, "copy_on_write": 1}
NUMBERS = evenly(PROGRAMS, LENGTH)
SAMPLE = tuple(NUMBERS[::PARTS])
#: Plans (see ``Plan``) with one policy for statements that only read, and another one for statements that write.
PAIRS = [f"{reads}:{writes}" for reads, writes in itertools.permutations(POLICIES, 2)]
#: Plans in which two policies take turns, from one write to the next.
TURNS = [f"2.6:{','.join(writes)}" for writes in itertools.permutations(POLICIES, 2)]


def engine():
    return minitensor


@functools.cache
def judged(plan: str, numbers: tuple[int, ...]) -> Report:
    report = judge_all(engine, Plan.of(plan), numbers, LENGTH)
    print(table({plan: report}))
    assert not report.wrong, "\n\n".join(report.wrong)
    return report


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("policy", POLICIES)
def test_short_programs_are_right_or_refused_with_the_right_reason(policy, part):
    report = judged(policy, tuple(NUMBERS[part::PARTS]))
    assert set(report.refusals) <= {*FREE, *SAVED[policy]}
    assert report.verdicts["right"] >= LEAST_RIGHT[policy] * report.programs


def test_every_kind_of_refusal_occurs():
    """Under the policy "2.5" programs are refused for every reason about saved values, and to protect leaves."""
    met = judged("2.5", SAMPLE).refusals
    assert all(met[kind] for kind in (LEAF.kind, OWN_INPUT.kind, LOST, MOVED))


@pytest.mark.parametrize("plan", PAIRS)
def test_the_policy_at_the_time_of_the_write_decides_what_is_refused(plan):
    """If values are saved under one policy and overwritten under a second one, the result is that of a program that
    runs under the second policy only.
    """
    _reads, writes = plan.split(":")
    always, found = judged(writes, SAMPLE), judged(plan, SAMPLE)
    assert (always.verdicts, always.refusals) == (found.verdicts, found.refusals)


@pytest.mark.parametrize("plan", TURNS)
def test_programs_are_right_or_refused_if_the_policy_changes_between_writes(plan):
    judged(plan, SAMPLE)


# ---- is the test itself worth anything? ------------------------------------------------------------------------------


def test_every_number_yields_a_different_program():
    every = [tuple(s.text for s in nth(number, 3)) for number in range(total(3))]
    assert len(set(every)) == len(every) == count(1) + count(2) + count(3)
    assert total(LENGTH) >= 100_000
    assert {text for texts in every for text in texts} == {s.text for s in ALPHABET}
    with pytest.raises(IndexError):
        nth(total(3), 3)


def test_a_program_uses_only_bound_names():
    judge = Judge(World, Plan.of("2.6"))
    for number in range(0, total(3), 7):
        assert judge.run(nth(number, 3)).verdict in ("right", "refused")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_judge_notices_a_planted_fault(fault):
    judge = Judge(fault, Plan.of(fault.plan))
    for number in evenly(2000, LENGTH):
        if judge.run(nth(number, LENGTH)).kind == fault.noticed_by:
            return
    pytest.fail(f"no program noticed: {fault.__doc__}")


@pytest.mark.parametrize("policy", ["2.5", "2.6"])
def test_the_reference_agrees_with_the_reference_of_the_random_programs(policy):
    """Two references without common code have the same values and tangents, and refuse the same statements."""
    for number in evenly(600, LENGTH):
        program = nth(number, LENGTH)
        text = "\n".join(s.text for s in program)
        if text.count("d.stop") > 1 or "copy_" in text:
            continue  # the references disagree on a second leaf made on existing memory, and on copy_ with a broadcast
        ours, theirs = {"mt": World()}, {"mt": OtherWorld(policy, strict=True)}
        ours["mt"].set_inplace_policy(policy)
        for s in (START, *program):
            assert refuses(s.code, ours) == refuses(s.code, theirs), text
        for name in set(ours) - {"mt", "__builtins__"}:
            x, y = ours[name], theirs[name]
            assert np.allclose(x.values, y.numpy(), rtol=0, atol=1e-12)
            assert np.allclose(x.tangents, y.group.tangents[y.cells][..., :DIRECTIONS], rtol=0, atol=1e-12)


def refuses(code, names: dict) -> bool:
    try:
        exec(code, names)
    except (ValueError, RuntimeError):
        return True
    return False


def test_the_judge_notices_bytes_that_are_not_freed():
    judge = Judge(World, Plan.of("2.6"))
    judge.allocated = itertools.count(step=8).__next__  # the counter of bytes rises by 8 at every reading
    outcome = judge.run(nth(0, LENGTH))
    assert (outcome.verdict, outcome.kind) == ("wrong", "memory")
    outcome = judge.run(next(program for n in range(total(1)) if (program := nth(n, 1))[0].writes))
    assert outcome.message.endswith("keeps 8 bytes, and needs 0")
