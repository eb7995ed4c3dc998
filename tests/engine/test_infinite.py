"""Infinite and undefined numbers: what was overwritten, masked or not read contributes exactly 0, never nan.

The derivative table drives the tests: ``unread`` finds out, for every row and every sample of it, which elements a
result does not depend on, and checks that nothing that is inf or nan gets past them.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor.operations import FUNCTIONS
from minitensor.table import ROWS
from tests.engine import samples_functions
from tests.engine.samples import SAMPLES, Sample
from tests.engine.samples_indexed import CASES, Case
from tests.engine.unread import Program, check

#: Rows whose arguments may hold a factor 0: the 0 in the gradient is a number, and inf times it is nan.
FACTORS = {"scale", "lerp", "prod", "cumprod", "put_along_axis_multiply", "renorm", "softmax", "remainder"}


def ruled(given: Sample) -> list[bool]:
    """Which operands have a gradient."""
    refused = samples_functions.REFUSED.get(given.name, ())
    return [operand in ROWS[given.name].rules and operand not in refused for operand in ROWS[given.name].operands]


def of_sample(given: Sample, in_place: bool) -> Program:
    """A sample as a program of the operands that have a gradient; in place, on a copy of the operand."""
    row, wants = ROWS[given.name], ruled(given)
    target = row.operands.index(row.target)

    def run(*tensors: mt.Tensor) -> mt.Tensor:
        moving = iter(tensors)
        operands = [next(moving) if w else mt.to_tensor(a) for w, a in zip(wants, given.arrays, strict=True)]
        if not in_place:
            return FUNCTIONS[given.name](*operands, **given.arguments)
        operands[target] = operands[target].clone()
        return FUNCTIONS[given.name + "_"](*operands, **given.arguments)

    arrays = tuple(np.array(a, np.float64) for w, a in zip(wants, given.arrays, strict=True) if w)
    return Program(str(given) + "_" * in_place, run, arrays, given.name in FACTORS)


def fits(given: Sample) -> bool:
    """Whether the result has the shape of what in place overwrites."""
    row = ROWS[given.name]
    return np.shape(given.reference(*given.arrays)) == given.arrays[row.operands.index(row.target)].shape


def of_case(given: Case, in_place: bool) -> Program:
    def run(x: mt.Tensor, *others: mt.Tensor) -> mt.Tensor:
        return given.run(x.clone() if in_place else x, *others, in_place=in_place)

    return Program(str(given) + "_" * in_place, run, given.arrays, given.name in FACTORS)


def few(programs: list[Program]) -> list[Program]:
    """Those with at most 24 elements."""
    return [p for p in programs if sum(a.size for a in p.arrays) <= 24]


GIVEN = [s for s in SAMPLES if ROWS[s.name].rules and any(ruled(s))]
NORMAL = few([of_sample(s, False) for s in GIVEN if ROWS[s.name].normal] + [of_case(c, False) for c in CASES])
IN_PLACE = few(
    [of_sample(s, True) for s in GIVEN if ROWS[s.name].in_place and fits(s)]
    + [of_case(c, True) for c in CASES if ROWS[c.name].in_place]
)


@pytest.mark.parametrize("program", NORMAL, ids=str)
def test_nothing_undefined_gets_past_what_a_normal_operation_does_not_read(program: Program):
    check(program)


@pytest.mark.parametrize("program", IN_PLACE, ids=str)
def test_nothing_undefined_gets_past_what_an_in_place_operation_overwrites(program: Program):
    check(program)
