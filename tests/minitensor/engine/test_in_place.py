"""Test that in-place operations of the derivative table keep the target's dtype and shape and add 1 to its version.

test_writes.py tests ``x[...] = v``, ``copy_`` and ``set_value``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.table import ROWS
from tests.support.engine.differences import expect_gradients, leaf, leaf_like, put
from tests.support.engine.memory import allocated
from tests.support.engine.samples import IN_PLACE, IN_PLACE_ONCE, Sample
from tests.support.engine.samples_indexed import ELSEWHERE


def run(given: Sample, x: mt.Tensor, *others: mt.Tensor) -> mt.Tensor:
    """Run the operation with ``x`` as the overwritten operand."""
    return given.run_in_place([*others[: given.target], x, *others[given.target :]])


def target_of(given: Sample) -> np.ndarray:
    return given.arrays[given.target].copy()


def others_of(given: Sample) -> list[mt.Tensor]:
    return [x for i, x in enumerate(given.tensors()) if i != given.target]


def value_of(given: Sample) -> np.ndarray:
    """Return the expected values of the target after the operation. Bools are converted to the dtype of the target."""
    return given.reference(*given.arrays).astype(given.arrays[given.target].dtype)


#: Samples whose target can have a gradient.
SLOPED = [s for s in IN_PLACE if s.target in s.wanting(in_place=True)]
ONCE = [s for s in IN_PLACE_ONCE if s in SLOPED]


def test_every_in_place_row_has_a_sample():
    pytest.importorskip("scipy")  # without it the special functions have no samples
    assert {s.name for s in IN_PLACE_ONCE} | ELSEWHERE >= {row.name for row in ROWS.values() if row.in_place}


@pytest.mark.parametrize("given", IN_PLACE, ids=str)
def test_the_result_is_the_target_with_the_values_of_the_normal_operation(given: Sample):
    x = mt.to_tensor(target_of(given))
    pointer, strides, dtype = x.data_ptr(), x.strides, x.dtype
    result = run(given, x, *others_of(given))
    assert result is x
    assert (x.data_ptr(), x.strides, x.dtype) == (pointer, strides, dtype)
    np.testing.assert_allclose(x.numpy(), value_of(given), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("given", IN_PLACE_ONCE, ids=str)
def test_each_operation_raises_the_version_by_1_also_under_no_grad_and_through_a_view(given: Sample):
    x = mt.to_tensor(target_of(given))
    view = x.T
    run(given, x, *others_of(given))
    assert x.inplace_version == view.inplace_version == 1
    x.set_value(target_of(given))
    with mt.no_grad():
        run(given, x, *others_of(given))
    assert x.inplace_version == view.inplace_version == 3
    x.set_value(target_of(given))
    run(given, x[:], *others_of(given))
    assert x.inplace_version == view.inplace_version == 5


@pytest.mark.parametrize("given", SLOPED, ids=str)
def test_the_gradient_agrees_with_central_differences(given: Sample):
    places = given.wanting(in_place=True)
    operands = given.tensors(*places)
    leaves = [operands[i] for i in places]
    x = operands[given.target] = operands[given.target] * 1
    assert given.run_in_place(operands) is x
    assert not x.stop_gradient and x.grad_fn.name == given.name + "_"
    expect_gradients(stored(given, places), leaves, x)


def stored(given: Sample, places: list[int]) -> Callable[..., np.ndarray]:
    """Return the reference as a function of the arrays at ``places``; it is constant for a row without a gradient."""
    if given.row.not_differentiable:
        return lambda *moved: value_of(given)
    return given.moved(places)


@pytest.mark.parametrize("given", SLOPED, ids=str)
def test_the_gradient_is_right_when_only_the_target_requires_one(given: Sample):
    w = leaf_like(target_of(given))
    x = run(given, w * 1, *others_of(given))
    expect_gradients(stored(given, [given.target]), [w], x)


@pytest.mark.parametrize(
    "given, place", [(s, i) for s in IN_PLACE for i in s.wanting(in_place=True) if i != s.target], ids=str
)
def test_a_constant_target_requires_a_gradient_if_another_operand_does(given: Sample, place: int):
    operands = given.tensors(place)
    x = operands[given.target]
    assert x.stop_gradient
    given.run_in_place(operands)
    assert not x.stop_gradient and not x.is_leaf
    expect_gradients(given.moved([place]), [operands[place]], x)


@pytest.mark.parametrize("given", [s for s in IN_PLACE_ONCE if not s.wanting(in_place=True)], ids=str)
def test_an_operation_without_a_gradient_is_not_recorded(given: Sample):
    x = mt.to_tensor(target_of(given))
    run(given, x, *others_of(given))
    assert x.stop_gradient and x.grad_fn is None


@pytest.mark.parametrize("given", [s for s in IN_PLACE_ONCE if s.row.not_differentiable], ids=str)
def test_a_comparison_in_place_is_not_recorded_for_the_other_operand(given: Sample):
    operands = given.tensors(*(i for i in range(len(given.arrays)) if i != given.target))
    x = given.run_in_place(operands)
    assert x.stop_gradient and x.grad_fn is None


@pytest.mark.parametrize("given", ONCE, ids=str)
@pytest.mark.parametrize("look", [lambda x: x.T, lambda x: x[:, ::-1], lambda x: x[1:]], ids=["T", "reversed", "row"])
def test_the_gradient_is_right_through_a_view(given: Sample, look):
    whole = target_of(given)
    assert np.shares_memory(look(whole), whole), "the reference needs a view, through which it writes"
    w = leaf_like(whole)
    x = w * 1
    run(given, look(x), *(mt.to_tensor(look(a)) for i, a in enumerate(given.arrays) if i != given.target))

    def reference(moved: np.ndarray) -> np.ndarray:
        moved = moved.copy()
        arrays = [look(moved if i == given.target else array) for i, array in enumerate(given.arrays)]
        if given.row.not_differentiable:
            arrays[given.target] = look(whole)
        look(moved)[...] = given.reference(*arrays)
        return moved

    np.testing.assert_allclose(x.numpy(), reference(whole), rtol=1e-12)
    expect_gradients(reference, [w], x)


@pytest.mark.parametrize("given", ONCE, ids=str)
def test_under_no_grad_values_change_but_nothing_is_recorded(given: Sample):
    w = leaf_like(target_of(given))
    x = w * 1
    grad_fn = x.grad_fn
    with mt.no_grad():
        run(given, x, *others_of(given))
    assert x.grad_fn is grad_fn
    np.testing.assert_allclose(x.numpy(), value_of(given), rtol=1e-12)
    x.backward()
    assert w.grad.tolist() == np.ones(w.shape).tolist()


@pytest.mark.parametrize("given", ONCE, ids=str)
def test_under_no_grad_a_leaf_may_be_written_and_stays_a_leaf(given: Sample):
    w = leaf_like(target_of(given))
    with mt.no_grad():
        assert run(given, w, *others_of(given)) is w
    assert w.is_leaf and not w.stop_gradient and w.inplace_version == 1
    np.testing.assert_allclose(w.numpy(), value_of(given), rtol=1e-12)
    (w * 3).backward()
    assert w.grad.tolist() == np.full(w.shape, 3.0).tolist()


@pytest.mark.parametrize("given", ONCE, ids=str)
def test_float32_stays_float32_also_with_a_float64_operand(given: Sample):
    x = mt.to_tensor(target_of(given), "float32")
    run(given, x, *others_of(given))
    assert x.dtype == "float32"
    np.testing.assert_allclose(x.numpy(), value_of(given), rtol=1e-5)


# ---------- saved values that the operation itself overwrites ----------

#: Operations that are refused under "2.5", because their derivatives need more than the result and the other operands.
NEED_THEIR_INPUT = {
    *("abs", "square", "log", "log2", "log10", "log1p", "logit", "pow", "hypot"),
    *("sin", "cos", "sinc", "asin", "acos", "atan", "sinh", "cosh", "acosh", "atanh", "xlogy"),
    *("clip", "hardtanh", "relu6", "thresholded_relu", "nan_to_num", "maximum", "minimum", "copysign"),
    *("cumprod", "renorm", "erf", "lgamma", "digamma", "polygamma", "i0", "multigammaln"),
}


@pytest.mark.parametrize("given", ONCE, ids=str)
def test_policy_2_5_refuses_only_operations_that_need_their_own_input(given: Sample):
    w = leaf_like(target_of(given))
    x = w * 1
    with mt.set_inplace_policy("2.5"):
        if given.name not in NEED_THEIR_INPUT:
            run(given, x, *others_of(given))
            return
        with pytest.raises(ValueError, match=rf'`{given.name}_`.*"2\.5".*needs the input'):
            run(given, x, *others_of(given))
        assert x.inplace_version == 0
        with mt.no_grad():
            run(given, x, *others_of(given))
        run(given, (w * 1).detach(), *others_of(given))
    assert x.inplace_version == 1


def test_policy_2_5_refuses_multiply_only_when_the_other_operand_requires_a_gradient():
    x, y, constant = leaf([1.0, 2.0]) * 1, leaf([3.0, 4.0]), mt.to_tensor([3.0, 4.0], "float64")
    with mt.set_inplace_policy("2.5"):
        x.multiply_(constant)
        with pytest.raises(ValueError, match=r"`multiply_`"):
            x.multiply_(y)
        with pytest.raises(ValueError, match=r"`multiply_`"):
            x.multiply_(x)
    assert x.tolist() == [3, 8] and x.inplace_version == 1


def test_under_policy_2_5_backward_raises_if_values_of_another_operation_are_overwritten():
    with mt.set_inplace_policy("2.5"):
        x = leaf([1.0, 2.0]) * 1
        y = x * x
        x.add_(1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_backward_uses_the_policy_under_which_the_write_was_made():
    w = leaf([1.0, 2.0])
    x = w * 1
    x.sin_()
    with mt.set_inplace_policy("2.5"):
        x.backward()
    np.testing.assert_allclose(w.grad.numpy(), np.cos([1.0, 2.0]))


# ---------- reads happen before writes ----------

OVERLAPS = {
    "x.subtract_(x[0])": (lambda x: x.subtract_(x[0]), lambda v: v - v[0].copy()),
    "x.divide_(x[0:1])": (lambda x: x.divide_(x[0:1]), lambda v: v / v[0:1].copy()),
    "x.multiply_(x)": (lambda x: x.multiply_(x), lambda v: v * v),
    "x.add_(x[::-1])": (lambda x: x.add_(x[::-1]), lambda v: v + v[::-1].copy()),
    "x.pow_(x)": (lambda x: x.pow_(x), lambda v: v**v),
    "x.maximum_(x[::-1])": (lambda x: x.maximum_(x[::-1]), lambda v: np.maximum(v, v[::-1].copy())),
    "x[1:].add_(x[:-1])": (lambda x: x[1:].add_(x[:-1]), lambda v: put(v, slice(1, None), v[1:] + v[:-1])),
    "x[:-1].multiply_(x[1:])": (lambda x: x[:-1].multiply_(x[1:]), lambda v: put(v, slice(0, -1), v[1:] * v[:-1])),
    "x[1:] = x[:-1]": (lambda x: x.__setitem__(slice(1, None), x[:-1]), lambda v: put(v, slice(1, None), v[:-1])),
    "x[:] = x[::-1]": (lambda x: x.__setitem__(slice(None), x[::-1]), lambda v: v[::-1]),
    "x.copy_(x[::-1])": (lambda x: x.copy_(x[::-1]), lambda v: v[::-1]),
    "x[[0,1,2]] = x[1:]": (lambda x: x.__setitem__([0, 1, 2], x[1:]), lambda v: put(v, [0, 1, 2], v[1:])),
    "x[mask] = x[1:]": (
        lambda x: x.__setitem__([False, True, True, True], x[:-1]),
        lambda v: put(v, [False, True, True, True], v[:-1]),
    ),
    "x.set_value(x[::-1])": (lambda x: x.set_value(x[::-1]), lambda v: v[::-1]),
    "x.add_(x.detach()[::-1])": (lambda x: x.add_(x.detach()[::-1]), lambda v: v + v[::-1].copy()),
}


@pytest.mark.parametrize("program", OVERLAPS)
def test_an_operand_that_overlaps_the_target_is_read_first(program: str):
    write, reference = OVERLAPS[program]
    values = np.array([2.0, 0.5, 3.0, 1.5])
    x = mt.to_tensor(values)
    write(x)
    np.testing.assert_allclose(x.numpy(), reference(values))
    assert x.inplace_version == 1


@pytest.mark.parametrize("program", [p for p in OVERLAPS if "set_value" not in p and "detach" not in p])
def test_the_gradient_of_an_overlapping_write_agrees_with_central_differences(program: str):
    write, reference = OVERLAPS[program]
    w = leaf([2.0, 0.5, 3.0, 1.5])
    x = w * 1
    write(x)
    expect_gradients(reference, [w], x)


def test_a_matrix_may_be_combined_with_its_own_transpose():
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    for name, reference in (("add_", np.add), ("multiply_", np.multiply), ("divide_", np.divide)):
        w = leaf(values)
        x = w * 1
        getattr(x, name)(x.t())
        np.testing.assert_allclose(x.numpy(), reference(values, values.T))
        expect_gradients(lambda v, f=reference: f(v, v.T), [w], x)


def test_operands_on_the_same_storage_that_do_not_overlap_are_not_copied():
    w = leaf([1.0, 2.0, 3.0, 4.0])
    x = w * 1
    front, back = x[:2], x[2:]
    before = allocated()
    front.multiply_(back.detach())
    assert allocated() == before
    x.backward()
    assert w.grad.tolist() == [3, 4, 1, 1]
