"""Test infinite and undefined numbers: overwritten, masked and unread elements contribute exactly 0, never nan.

The derivative table drives the tests. For samples of every row, the module ``unread`` finds the elements on which the
result does not depend, and checks that inf or nan at these elements changes no other gradient.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS
from tests.support.engine import samples_functions
from tests.support.engine.samples import SAMPLES, Sample
from tests.support.engine.samples_indexed import CASES, Case
from tests.support.engine.unread import Program, Reads, check, warnings_as_errors

#: Operations that may multiply a gradient by a factor that happens to be 0. This rightly turns inf into nan.
FACTORS = {
    "scale",
    "lerp",
    "xlogy",
    "prod",
    "cumprod",
    "put_along_axis_multiply",
    "renorm",
    "softmax",
    "remainder",
    "fmod",
}


#: The ``Reads`` of samples and cases, keyed by their ids. The normal and the in-place program of a sample share one.
READS: defaultdict[int, Reads] = defaultdict(Reads)


def differentiable(given: Sample) -> list[bool]:
    """Return for each operand True if it can have a gradient."""
    refused = samples_functions.REFUSED.get(given.name, ())
    return [operand in ROWS[given.name].rules and operand not in refused for operand in ROWS[given.name].operands]


def of_sample(given: Sample, in_place: bool) -> Program:
    """Return a program on the operands that can have a gradient. If ``in_place``, it writes to a copy of the target."""
    row, wants = ROWS[given.name], differentiable(given)
    target = row.operands.index(row.target)

    def run(*tensors: mt.Tensor) -> mt.Tensor:
        moving = iter(tensors)
        operands = [next(moving) if w else mt.to_tensor(a) for w, a in zip(wants, given.arrays, strict=True)]
        if not in_place:
            return FUNCTIONS[given.name](*operands, **given.arguments)
        operands[target] = operands[target].clone()
        return FUNCTIONS[given.name + "_"](*operands, **given.arguments)

    arrays = tuple(np.array(a, np.float64) for w, a in zip(wants, given.arrays, strict=True) if w)
    return Program(str(given) + "_" * in_place, run, arrays, given.name in FACTORS, reads=READS[id(given)])


def fits(given: Sample) -> bool:
    """True if the result has the shape of the tensor that an in-place operation overwrites."""
    row = ROWS[given.name]
    return np.shape(given.reference(*given.arrays)) == given.arrays[row.operands.index(row.target)].shape


def of_case(given: Case, in_place: bool) -> Program:
    def run(x: mt.Tensor, *others: mt.Tensor) -> mt.Tensor:
        return given.run(x.clone() if in_place else x, *others, in_place=in_place)

    return Program(str(given) + "_" * in_place, run, given.arrays, given.name in FACTORS, reads=READS[id(given)])


def few(programs: list[Program], most: int) -> list[Program]:
    """Return the programs with at most ``most`` elements, and the smallest program of each operation."""
    by_size = sorted(programs, key=elements, reverse=True)
    smallest = {operation(p): p for p in by_size}.values()
    return [p for p in programs if elements(p) <= most or any(p is each for each in smallest)]


def elements(program: Program) -> int:
    return sum(a.size for a in program.arrays)


def operation(program: Program) -> str:
    return program.name.partition("-")[0]


def kind(given: Sample) -> tuple[object, ...]:
    """Return a key that samples share if they differ only in the strides, the lengths of dimensions, or the numbers."""
    return given.name, str(given.arguments), tuple((a.ndim, a.size == 0, a.size == 1) for a in given.arrays)


GIVEN = list({kind(s): s for s in reversed(SAMPLES) if ROWS[s.name].rules and any(differentiable(s))}.values())
NORMAL = few([of_sample(s, False) for s in GIVEN if ROWS[s.name].normal], 12)
NORMAL += few([of_case(c, False) for c in CASES], 24)
IN_PLACE = few([of_sample(s, True) for s in GIVEN if ROWS[s.name].in_place and fits(s)], 12)
IN_PLACE += few([of_case(c, True) for c in CASES if ROWS[c.name].in_place], 24)


@pytest.mark.parametrize("program", NORMAL, ids=str)
def test_inf_and_nan_in_elements_that_an_operation_does_not_read_change_no_gradient(program: Program):
    check(program)


@pytest.mark.parametrize("program", IN_PLACE, ids=str)
def test_inf_and_nan_in_elements_that_an_operation_overwrites_change_no_gradient(program: Program):
    check(program)


# ---------- elements with gradient 0: kinks, ties and numbers that are not finite ----------

NAN, INF = float("nan"), float("inf")

#: An entry has the operation, its operands (those given as lists require a gradient), its arguments, and one mask for
#: each of these lists: 0 where the gradient must be exactly 0, and 1 elsewhere.
DECLARED = [
    ("abs", [[0.0, -0.0, -2.0, INF, NAN]], {}, [0, 0, 1, 1, 0]),
    ("relu", [[0.0, -0.0, -INF, -1.0, INF, NAN]], {}, [0, 0, 0, 0, 1, 0]),
    ("relu6", [[0.0, 6.0, -INF, INF, 3.0, NAN]], {}, [0, 0, 0, 0, 1, 0]),
    ("hardtanh", [[-1.0, 1.0, -INF, INF, 0.5, NAN]], {}, [0, 0, 0, 0, 1, 0]),
    ("thresholded_relu", [[1.0, -INF, 0.5, INF, NAN]], {}, [0, 0, 0, 1, 0]),
    ("leaky_relu", [[-1.0, -INF, 2.0]], {"negative_slope": 0.0}, [0, 0, 1]),
    ("elu", [[-1.0, -INF, 2.0]], {"alpha": 0.0}, [0, 0, 1]),
    ("clip", [[-2.0, -1.0, 0.5, 1.0, INF, -INF, NAN]], {"min": -1.0, "max": 1.0}, [0, 0, 1, 0, 0, 0, 0]),
    ("clip", [[-INF, 0.5, NAN]], {"min": 0.0}, [0, 1, 0]),
    ("clip", [[INF, 0.5]], {"max": 1.0}, [0, 1]),
    ("clip", [[-INF, INF, 0.5]], {"min": 2.0, "max": 1.0}, [0, 0, 0]),
    ("nan_to_num", [[NAN, INF, -INF, 2.0]], {}, [0, 0, 0, 1]),
    ("sign", [[0.0, -INF, NAN, 2.0]], {}, [0, 0, 0, 0]),
    ("round", [[0.5, -INF, NAN]], {}, [0, 0, 0]),
    ("ceil", [[0.0, INF, NAN]], {}, [0, 0, 0]),
    ("floor", [[0.0, INF, NAN]], {}, [0, 0, 0]),
    ("trunc", [[0.0, INF, NAN]], {}, [0, 0, 0]),
    ("floor_divide", [[0.0, INF, NAN, 1.0], [0.0, 0.0, 1.0, INF]], {}, [0, 0, 0, 0], [0, 0, 0, 0]),
    ("trunc_divide", [[0.0, INF, NAN, 1.0], [0.0, 0.0, 1.0, INF]], {}, [0, 0, 0, 0], [0, 0, 0, 0]),
    ("maximum", [[1.0, 1.0, 2.0, -INF, INF], [1.0, INF, -INF, 0.0, INF]], {}, [0, 0, 1, 0, 0], [1, 1, 0, 1, 1]),
    ("minimum", [[1.0, 1.0, 2.0, -INF, INF], [1.0, -INF, INF, 0.0, INF]], {}, [0, 0, 1, 1, 0], [1, 1, 0, 0, 1]),
    ("copysign", [[0.0, -0.0, 2.0], [1.0, NAN, -INF]], {}, [0, 0, 1], [0, 0, 0]),
    ("pow", [[0.0, INF, 2.0, NAN], 0.0], {}, [0, 0, 0, 0]),
    ("pow", [[0.0, INF, 2.0, NAN, 3.0], np.array([0.0, 0.0, 0.0, 0.0, 1.0])], {}, [0, 0, 0, 0, 1]),
    ("pow", [np.array([0.0, 2.0]), [2.0, 3.0]], {}, [0, 1]),
    ("hypot", [[0.0, 3.0], [0.0, 4.0]], {}, [0, 1], [0, 1]),
    ("max", [[INF, 1.0, -INF]], {}, [1, 0, 0]),
    ("min", [[INF, 1.0, -INF]], {}, [0, 0, 1]),
    ("where", [np.array([True, False]), [1.0, NAN], [INF, 2.0]], {}, [1, 0], [0, 1]),
    ("tril", [[[1.0, NAN], [2.0, INF]]], {}, [[1, 0], [1, 1]]),
    ("triu", [[[1.0, INF], [NAN, 2.0]]], {}, [[1, 1], [0, 1]]),
    ("fill", [[NAN, INF, 2.0]], {"value": 0.0}, [0, 0, 0]),
    ("zero", [[NAN, INF, 2.0]], {}, [0, 0, 0]),
    ("logit", [[0.0, 0.1, 0.5, 1.0, INF]], {"eps": 0.2}, [0, 0, 1, 0, 0]),
    ("xlogy", [[0.0, 0.0, 2.0], np.array([0.0, -1.0, 2.0])], {}, [0, 0, 1]),
]
FORMS = [
    pytest.param(*entry[:3], entry[3:], in_place, id=f"{entry[0]}{'_' * in_place}-{number}")
    for number, entry in enumerate(DECLARED)
    for in_place in (False, True)
    if (ROWS[entry[0]].in_place if in_place else ROWS[entry[0]].normal)
]


@pytest.mark.parametrize(("name", "operands", "arguments", "passing", "in_place"), FORMS)
@pytest.mark.parametrize("g", [INF, -INF, NAN])
def test_elements_that_an_operation_does_not_select_get_gradient_0(name, operands, arguments, passing, in_place, g):
    leaves = [mt.to_tensor(a, "float64", stop_gradient=False) for a in operands if isinstance(a, list)]
    order = iter(leaves)
    given = [next(order) if isinstance(a, list) else a if isinstance(a, float) else mt.to_tensor(a) for a in operands]
    if in_place:
        target = ROWS[name].operands.index(ROWS[name].target)
        if isinstance(given[target], mt.Tensor):
            given[target] = given[target].clone()
    with warnings_as_errors():
        result = FUNCTIONS[name + "_" * in_place](*given, **arguments)
        incoming = mt.full(result.shape, g, "float64")
        incoming.stop_gradient = False
        recorded = mt.grad(result, leaves, incoming, create_graph=True)
        result.backward(incoming, retain_graph=True)
        outputs = [x for x in recorded if not x.stop_gradient]
        second = mt.grad(outputs, leaves, allow_unused=True) if outputs else []
    for leaf, mask in zip(leaves, passing, strict=True):
        nothing = np.array(mask) == 0
        assert (leaf.grad.numpy()[nothing] == 0).all(), leaf.grad
        assert not (leaf.grad.numpy()[~nothing] == 0).any(), leaf.grad
    for gradients in (recorded, second):
        for gradient, mask in zip(gradients, passing, strict=False):
            assert gradient is None or (gradient.numpy()[np.array(mask) == 0] == 0).all(), gradient


def test_at_power_0_the_derivative_for_x_is_0_and_the_mixed_second_derivative_is_1_over_x():
    x, y = mt.to_tensor([2.0], "float64", stop_gradient=False), mt.to_tensor([0.0], "float64", stop_gradient=False)
    (along_x,) = mt.grad(x**y, [x], create_graph=True)
    (along_y,) = mt.grad(x**y, [y], create_graph=True)
    assert along_x.tolist() == [0]
    assert mt.grad(along_x, [y])[0].tolist() == mt.grad(along_y, [x])[0].tolist() == [0.5]  # 1 / x


# ---------- operations that only overwrite ----------

FILLS = [
    name
    for name, row in ROWS.items()
    if not row.normal and row.rules == {"x": "zeros_like(g)"} and name not in {s.name for s in SAMPLES}
]


@pytest.mark.parametrize("name", FILLS)
def test_elements_overwritten_by_a_random_fill_get_gradient_0(name: str):
    x = mt.to_tensor([NAN, INF, -INF, 1.0], "float64", stop_gradient=False)
    y = x.clone()
    FUNCTIONS[name + "_"](y, *([0.5] if "probs" in ROWS[name].argument_names else []))
    y.backward(mt.to_tensor([NAN, INF, -INF, NAN], "float64"))
    assert x.grad.tolist() == [0, 0, 0, 0]


def test_every_row_with_a_gradient_is_checked():
    pytest.importorskip("scipy")  # without it the special functions have no samples
    checked = {operation(p) for p in NORMAL + IN_PLACE} | set(FILLS)
    assert {name for name, row in ROWS.items() if row.rules} <= checked | {entry[0] for entry in DECLARED}
