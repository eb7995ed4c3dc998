"""Test random programs: every gradient is right, or the engine refused a statement for a valid reason.

The package ``programs`` describes the verdicts. The seed is fixed; ``MINITENSOR_SEED=anything`` sets another one, and
``python -m tests.support.conformance.programs`` runs more programs.
"""

from __future__ import annotations

import os
from random import Random

import pytest

import minitensor
from tests.support.conformance.programs import indices
from tests.support.conformance.programs.batch import Report, run_batch, run_one
from tests.support.conformance.programs.calculus import BINARY, REDUCTIONS, UNARY, OutsideDomain
from tests.support.conformance.programs.compare import Disagreement, Duel
from tests.support.conformance.programs.differences import largest_error, smooth_program
from tests.support.conformance.programs.faults import (
    FAULTS,
    OF_INTEGERS,
    DtypesFollowTheOperand,
    SavedValuesAreNotChecked,
    WrongSlope,
)
from tests.support.conformance.programs.moves_memory import VIEWS
from tests.support.conformance.programs.moves_whole import FLOATING, OF_ONE, OF_TWO, REDUCING
from tests.support.conformance.programs.moves_wrong import WRONG
from tests.support.conformance.programs.second_order import Rough, disagreement, smooth_enough
from tests.support.conformance.programs.vocabulary import World

SEED = os.environ.get("MINITENSOR_SEED", "in place")
CHUNK = 500
# (policy, shortest and longest length, number of programs, the least share of right programs)
PLANS = [
    ("2.6", (2, 9), 7_000, 0.6),
    ("2.5", (2, 9), 3_000, 0.5),
    ("copy_on_write", (2, 9), 5_000, 0.6),
    ("mixed", (2, 9), 3_000, 0.5),
    ("2.6", (8, 30), 500, 0.25),
    ("2.5", (8, 30), 500, 0.15),
    ("copy_on_write", (8, 30), 500, 0.25),
    ("mixed", (8, 30), 500, 0.2),
]
CHUNKS = [
    pytest.param(policy, lengths, first, share, id=f"{policy}-{lengths[0]}to{lengths[1]}-{first}")
    for policy, lengths, programs, share in PLANS
    for first in range(0, programs, CHUNK)
]


# A program ends when it leaves the domain of an operation, but only after numpy has warned about that operation.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def judged(report: Report) -> float:
    """Return the share of programs that were judged to their end. The others left the domain of an operation."""
    return (report.verdicts["right"] + report.verdicts["refused"]) / report.programs


@pytest.mark.parametrize(("policy", "lengths", "first", "share"), CHUNKS)
def test_programs_are_right_or_refused_with_a_reason(policy, lengths, first, share):
    report = run_batch(minitensor, SEED, range(first, first + CHUNK), policy, lengths)
    print(report)
    assert not report.wrong, "\n\n".join(report.wrong)
    if policy == "copy_on_write":  # under this policy the engine never refuses because of a saved value
        assert not {r: n for r, n in report.reasons.items() if r.startswith(("stale", "own input"))}
    assert report.verdicts["right"] / report.programs >= share
    assert judged(report) >= 0.9


#: Each entry lists the dtypes that occur in a program.
DTYPES = [("float16",), ("bfloat16",), ("float16", "bfloat16", "float32", "float64")]
#: The number of programs for each policy and each choice of dtypes.
SMALL = 100


@pytest.mark.parametrize("policy", ["2.6", "2.5", "copy_on_write", "mixed"])
@pytest.mark.parametrize("dtypes", DTYPES, ids="-".join)
def test_programs_of_16_bit_floats_are_right_or_refused_with_a_reason(dtypes, policy):
    if "bfloat16" in dtypes:
        pytest.importorskip("ml_dtypes")
    report = run_batch(minitensor, SEED, range(SMALL), policy, (2, 12), dtypes)
    assert not report.wrong, "\n\n".join(report.wrong)
    assert report.verdicts["right"] / report.programs >= 0.5
    assert judged(report) >= 0.9


WHOLE = ("uint8", "int8", "int16", "int32", "int64", "bool")


@pytest.mark.parametrize("policy", ["2.6", "2.5", "copy_on_write", "mixed"])
@pytest.mark.parametrize("floats", [("float64",), ("float16", "float32")], ids="-".join)
def test_programs_of_integers_and_bools_are_right_or_refused_with_a_reason(floats, policy):
    report = run_batch(minitensor, SEED, range(SMALL), policy, (4, 16), (*floats, *WHOLE))
    assert not report.wrong, "\n\n".join(report.wrong)
    assert report.verdicts["right"] / report.programs >= 0.4
    assert judged(report) >= 0.9


def test_programs_of_integers_reach_every_kind_of_statement():
    report = Report()
    for number in range(400):
        report.add(run_one(World(strict=True), "reach", number, "2.6", (8, 24), ("float64", *WHOLE)))
    assert not report.verdicts["wrong"] and not report.verdicts["invalid"]
    named = {"whole numbers", "a view of whole numbers", "a cast of whole numbers", "a cast to whole numbers"}
    named |= {f"{name} of whole numbers" for name in (*OF_ONE, *OF_TWO, *REDUCING, *FLOATING)}
    named |= {f"{name} of whole numbers" for name in ("divide", "concat", "stack", "where")}
    named |= {f"{name}_ of whole numbers" for name in (*OF_ONE, *OF_TWO, "clip", "fill", "zero", "scale", "setitem")}
    assert [tag for tag in sorted(named) if report.tags[tag] == 0] == []


@pytest.mark.parametrize("fault", OF_INTEGERS, ids=lambda f: f.__name__)
def test_the_comparison_notices_a_planted_fault_in_integer_operations(fault):
    for number in range(1000):
        outcome = run_one(fault("2.6", strict=True), "faults", number, "2.6", (6, 20), ("float64", *WHOLE))
        assert outcome.verdict != "invalid", outcome.message
        if outcome.verdict == "wrong" and outcome.kind == fault.noticed_by:
            return
    pytest.fail(f"no program noticed: {fault.__doc__}")


#: Operations with a number that is not exact in float16 or bfloat16: a Python number, or an element of ``w``.
WITH_NUMBERS = [
    "x * w",
    "w - x",
    "x.add_(w)",
    "x.scale(1.1, bias=0.46)",
    "x.scale(1.1)",
    "x * 1.1",
    "x + 0.46",
    "0.46 - x",
    "1.1 / x",
    "x / 1.1",
    "x.maximum(0.46)",
    "x.clip(-0.46, 1.1)",
    "x.fill_(1.1)",
    "x.scale_(1.1, bias=0.46)",
]


@pytest.mark.parametrize("statement", WITH_NUMBERS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_reference_rounds_numbers_to_16_bits_as_the_engine_does(statement, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    found = []
    for library in (minitensor, World()):
        x = library.to_tensor([[-1.72, 1.82, -0.43], [0.72, 1.69, -0.44]], dtype=dtype)
        w = library.to_tensor([[5, 2049, -771]])
        found.append(eval(statement, {"x": x, "w": w}).numpy())
    assert (found[0] == found[1]).all(), found


@pytest.mark.parametrize("first", range(0, 1_000, CHUNK))
def test_gradients_of_gradients_are_right_under_copy_on_write(first):
    checked = 0
    for number in range(first, first + CHUNK):
        rng = Random(f"{SEED}/second order/{number}")
        program = smooth_enough(rng, rng.randint(3, 14))
        try:
            wrong = disagreement(minitensor, program, rng)
        except Rough:
            continue
        assert not wrong, "\n".join([f"# program {number}", *program, wrong])
        checked += 1
    assert checked >= CHUNK // 2


class ForgetsTheGraph:
    """An engine whose gradients have no history, as if ``create_graph`` were ignored."""

    def __getattr__(self, name):
        return getattr(minitensor, name)

    def grad(self, *arguments, create_graph=False, **options):
        results = minitensor.grad(*arguments, create_graph=create_graph, **options)
        return [None if g is None else g.detach() for g in results] if create_graph else results


def test_the_second_order_check_notices_gradients_without_a_history():
    noticed = 0
    for number in range(60):
        rng = Random(f"forgets/{number}")
        program = smooth_enough(rng, rng.randint(3, 14))
        try:
            noticed += bool(disagreement(ForgetsTheGraph(), program, rng))
        except Rough:
            continue
    assert noticed >= 20


def test_at_least_twenty_thousand_programs_run():
    assert sum(programs for _, _, programs, _ in PLANS) >= 20_000


# ---- is the test itself worth anything? ------------------------------------------------------------------------------

OPERATIONS = [*UNARY, *BINARY, *REDUCTIONS, "scale", "clip", "matmul", "where", "concat", "stack", "clone", "split"]
OPERATIONS += ["chunk", "expand", "broadcast_to", *VIEWS]
IN_PLACE = [
    *UNARY,
    *BINARY,
    "scale",
    "clip",
    "fill",
    "zero",
    "reshape",
    "transpose",
    "t",
    "squeeze",
    "unsqueeze",
    "flatten",
]
FEATURES = [
    "setitem",
    "setitem of a tensor",
    "setitem of an array",
    "setitem from the same memory",
    "setitem that repeats an index",
    "set_value",
    "set_value on a leaf",
    "copy_",
    "a mask as index",
    "a comparison as index",
    "whole numbers as index",
    "a named index tensor",
    "write to an index tensor",
    "write to a mask",
    "a view of a view",
    "a tensor without a name",
    "write to a tensor with views",
    "write to memory with a detached alias",
    "write through a partial view",
    "write through strides",
    "write to a tensor without dimensions",
    "write to no elements",
    "an operand that overlaps the target",
    "an operand with itself",
    "operands in one memory",
    "two groups that want gradients",
    "broadcast",
    "a number as operand",
    "an array as operand",
    "an integer operand",
    "an operator with a tensor on the right only",
    "augmented assignment",
    "matmul with a vector",
    "matmul of a batch",
    "cast",
    "the result of an in-place operation named",
    "a name bound anew",
    "del",
    "del of a leaf",
    "detach",
    "a detached alias made a leaf",
    "stop_gradient = True",
    "stop_gradient = False",
    "a leaf written under no_grad",
    "inside with mt.no_grad()",
    "inside with mt.no_grad(), mt.enable_grad()",
    "inside with mt.set_inplace_policy('2.5')",
    "inside with mt.set_inplace_policy('copy_on_write')",
    "another policy from now on",
    "register_hook",
    "retain_grads",
    "backward",
    "backward under no_grad",
    "a named tensor as seed of backward",
    "grad",
    "grad of two",
    "clear_grad",
    "write to a gradient",
    "a gradient named",
]
REASONS = [
    "write to a leaf or a view of one",
    "shape would grow",
    "shapes do not fit",
    "dtype would change",
    "target overlaps itself",
    "own input needed, policy 2.5",
    "stale: saved bytes overwritten",
    "stale: saved storage written elsewhere",
    "freed by an earlier backward",
    "index out of range",
    "argument of a wrong type",
]


def test_the_programs_reach_every_operation_and_every_kind_of_statement():
    report = Report()
    for number in range(1500):
        policy = "mixed" if number % 3 == 0 else "2.6"
        report.add(run_one(World(strict=True), "reach", number, policy, (4, 12)))
    assert not report.verdicts["wrong"] and not report.verdicts["invalid"]
    wanted = [*OPERATIONS, *(f"{name}_" for name in IN_PLACE), *FEATURES]
    assert [tag for tag in wanted if report.tags[tag] == 0] == []
    assert [reason for reason in REASONS if report.reasons[reason] == 0] == []
    assert [move for move in WRONG if report.attempted[move.replace("_", " ")] == 0] == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtypes", [(), ("float16",)], ids=["float64", "float16"])
def test_the_comparison_notices_a_planted_fault(fault, dtypes):
    if dtypes and fault in (SavedValuesAreNotChecked, WrongSlope, DtypesFollowTheOperand):
        pytest.skip("the fault changes values by less than the rounding of float16, or needs two dtypes")
    policy = getattr(fault, "under", "2.6")
    for number in range(4000):
        engine = fault("2.6" if policy == "mixed" else policy, strict=True)
        outcome = run_one(engine, "faults", number, policy, (3, 14), dtypes)
        assert outcome.verdict != "invalid", outcome.message
        if outcome.verdict == "wrong" and outcome.kind == fault.noticed_by:
            return
    pytest.fail(f"no program noticed: {fault.__doc__}")


def test_the_comparison_notices_bytes_that_are_not_freed():
    duel = Duel(minitensor, "2.6", 1e-9)
    duel.step("x = mt.zeros([2], dtype='float64')")
    kept = minitensor.zeros([1])
    with pytest.raises(Disagreement, match="bytes are held"):
        duel.step("y = x.clone()")
    del kept


def test_all_random_numbers_of_a_large_tensor_differ():
    flat = [each for row in indices.numbers(Random(0), [20, 30]) for each in row]
    assert len(set(flat)) == len(flat) == 600 and all(0.3 <= abs(each) < 10 for each in flat)


def test_the_reference_forgets_the_result_of_a_refused_operation():
    duel = Duel(minitensor, "2.5", 1e-9)
    with minitensor.set_inplace_policy("2.5"):
        assert duel.step("x = mt.to_tensor([1.5], stop_gradient=False)") and duel.step("y = x * 1.0")
        duel.world.foresee("abs", [duel.ours["y"]], {})  # as the generator does before it writes the next statement
        assert not duel.step("mt.abs_(y)")
        assert duel.step("y[0] = -0.5") and duel.step("z = abs(y)")
    assert duel.ours["z"].numpy() == duel.theirs["z"].numpy() == 0.5


def test_the_reference_agrees_with_central_differences():
    checked = 0
    for number in range(250):
        rng = Random(f"differences/{number}")
        program = smooth_program(rng, rng.randint(2, 12))
        try:
            error = largest_error(program)
        except OutsideDomain:
            continue
        assert error < 1e-6, "\n".join(program)
        checked += 1
    assert checked >= 200
