"""Test that every operation registers with the storages whose values it saves.

The tests cover operands and results of normal and in-place operations. Under "copy_on_write" a later write copies the
values first, and the gradient is correct. Under "2.6" backward raises an error that names the write and the operation
that saved the values.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.core.storage import write_log, write_that_made
from tests.support.engine.differences import leaf
from tests.support.engine.memory import allocated

NUMBERS, OTHERS = [0.5, 1.5, -2.0], [2.0, -1.0, 0.25]
Saves = Callable[[mt.Tensor, mt.Tensor], tuple[mt.Tensor, mt.Tensor]]


def product(x, y):
    return x * y, x


def product_second(x, y):
    return x * y, y


def exponential(x, y):
    result = x.exp()
    return result * 1.0, result


def product_in_place(x, y):
    result = x + 0.0
    result.multiply_(y)
    return result * 1.0, y


def exponential_in_place(x, y):
    result = x + 0.0
    result.exp_()
    return result * 1.0, result


def choice_of_a_larger_one(x, y):
    return mt.maximum(x, y), y


def part_of_a_product(x, y):
    return x[0:2] * y[1:], y


E2 = np.exp(NUMBERS)
#: For each function: the words of the error about the saved tensor, and the gradients for ``x`` and ``y``.
CASES: dict[Saves, tuple[str, list[float], list[float]]] = {
    product: ("multiply saved its first input", OTHERS, NUMBERS),
    product_second: ("multiply saved its second input", OTHERS, NUMBERS),
    exponential: ("exp saved its output", list(E2), [0, 0, 0]),
    product_in_place: ("multiply_ saved its second input", OTHERS, NUMBERS),
    exponential_in_place: ("exp_ saved its output", list(E2), [0, 0, 0]),
    choice_of_a_larger_one: ("maximum saved its second input", [0, 1, 0], [1, 0, 1]),
    part_of_a_product: ("multiply saved its second input", [-1.0, 0.25, 0], [0, 0.5, 1.5]),
}


def saved(given: Saves) -> tuple[list[mt.Tensor], mt.Tensor, mt.Tensor]:
    """Return two leaves, a result whose operation has saved a tensor, and this tensor."""
    leaves = [leaf(NUMBERS), leaf(OTHERS)]
    result, held = given(*(w * 1.0 for w in leaves))
    return leaves, result, held


@pytest.mark.parametrize("given", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("write", [lambda t: t.fill_(7.0), lambda t: t.__setitem__(1, 7.0)], ids=["all", "one"])
def test_under_copy_on_write_a_write_preserves_the_saved_values_of_every_operation(given: Saves, write):
    with mt.set_inplace_policy("copy_on_write"):
        leaves, result, held = saved(given)
        write(held)
    found = mt.grad(result, leaves, allow_unused=True)
    for gradient, want in zip(found, CASES[given][1:], strict=True):
        np.testing.assert_allclose(np.zeros(3) if gradient is None else gradient.numpy(), want)


@pytest.mark.parametrize("given", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("create_graph", [False, True])
def test_the_error_names_the_write_and_the_operation_that_saved_the_values(given: Saves, create_graph: bool):
    leaves, result, held = saved(given)
    held.fill_(7.0)
    with pytest.raises(RuntimeError) as raised:
        mt.grad(result, leaves, allow_unused=True, create_graph=create_graph)
    text = str(raised.value)
    assert CASES[given][0] in text and "overwritten: by fill_" in text
    assert "None of the saved bytes" not in text


# ---------- values saved by many operations, and values of a part ----------


def test_values_are_preserved_for_every_operation_whose_result_is_alive():
    w = leaf(NUMBERS)
    x = w * 1.0
    kept = []
    for turn in range(600):
        result = x * x
        if turn % 7 == 0:
            kept.append(result)
    with mt.set_inplace_policy("copy_on_write"):
        x.fill_(7.0)
    for result in kept:
        assert mt.grad(result, w, retain_graph=True)[0].tolist() == [1.0, 3.0, -4.0]


def test_preserved_bytes_are_freed_if_a_write_without_copies_makes_the_saved_values_stale(no_collector):
    w = leaf(np.ones([4, 1024]))
    x = w * 1.0
    result = x[:2] * x[:2]
    base = allocated()
    with mt.no_grad(), mt.set_inplace_policy("copy_on_write"):
        x[0] = 7.0
    assert allocated() - base == 8 * 1024
    with mt.no_grad():
        x[3] = 7.0  # a write under "2.6" to bytes that were not saved
    assert allocated() == base
    with pytest.raises(RuntimeError, match=r"modified by an inplace|only the version"):
        mt.grad(result, w)


def test_backward_assembles_a_saved_part_from_two_preserved_copies():
    w = leaf([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    factor = leaf([10.0, 10.0, 10.0, 10.0, 10.0])
    with mt.set_inplace_policy("copy_on_write"):
        x = w * 1.0
        result = x[2:6] * x[2:6]
        x[5] = 0.0  # this write preserves one cell
        x[0:5].multiply_(factor)  # this one copies five cells for its backward, three of them in the saved part
    assert mt.grad(result, w)[0].tolist() == [0, 0, 6, 8, 10, 12, 0, 0]


@pytest.mark.parametrize(("part", "index"), [(slice(0, 2), [2, 3]), (slice(1, 2), [0, 2]), (slice(0, 3, 2), [1, 3])])
def test_a_write_beside_saved_cells_is_reported_as_having_overwritten_none(part, index):
    w = leaf([1.0, 2.0, 3.0, 4.0])
    x = w * 1.0
    result = x[part] * x[part]
    x[index] = 7.0
    with pytest.raises(RuntimeError, match="None of the saved bytes were overwritten"):
        mt.grad(result, w)


def test_an_operand_that_overlaps_the_end_of_the_target_is_saved_before_the_write():
    w = leaf([1.0, 2.0, 3.0, 4.0])
    x = w * 1.0
    x[0:3].multiply_(x[1:4])
    assert x.tolist() == [2.0, 6.0, 12.0, 4.0]
    assert mt.grad(x, w)[0].tolist() == [2.0, 1.0 + 3.0, 2.0 + 4.0, 3.0 + 1.0]


def test_a_view_with_repeated_cells_can_become_a_separate_leaf():
    x = mt.to_tensor([1.0, 2.0, 3.0, 4.0], "float64")
    ends = x.as_strided([2, 2], [3, 0])  # it has as many elements as x, and spans the same memory
    ends.stop_gradient = False
    assert x.stop_gradient and ends.is_leaf
    (ends * 2.0).backward()
    assert ends.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]] and x.grad is None


def test_the_error_names_no_write_to_a_freed_storage_that_had_the_same_address():
    x = mt.ones([2])
    saver = (x * mt.to_tensor([1.0, 1.0], stop_gradient=False)).add(1.0)  # the product saves x
    other = mt.ones([2])
    # The write log has entries of a freed storage, whose address another storage may get.
    write_log.append((weakref.ref(other._storage), 1, "sin_", sys._getframe().f_code, 0))
    del other
    x.add_(1.0)
    third = mt.ones([2])
    later = third * mt.to_tensor([1.0, 1.0], stop_gradient=False)
    third.exp_()  # now `third` has version 1, as in the appended entry
    reported = write_that_made(x._storage, 1)
    assert reported is not None and reported[0] == "add_" and not later.stop_gradient
    with pytest.raises(RuntimeError, match="by add_, which made version 1"):
        saver.backward()


def test_writes_to_storages_from_which_nothing_was_saved_are_not_logged():
    x = mt.ones([2])
    before = list(write_log)
    x.add_(1.0).sin_()
    assert list(write_log) == before


def test_a_write_beside_saved_cells_is_reported_after_many_other_writes():
    w = leaf([1.0, 2.0, 3.0, 4.0])
    x = w * 1.0
    result = x[:2] * x[:2]
    x[2:].add_(1.0)
    noise = mt.ones([2])
    for _ in range(3000):
        noise.add_(1.0)
    with pytest.raises(RuntimeError, match="written:     by add_, which made version 1"):
        result.backward()
