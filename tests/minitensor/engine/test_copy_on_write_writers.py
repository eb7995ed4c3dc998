"""Test that under "copy_on_write" every kind of write preserves saved values, and a failed write changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.modes import POLICIES
from tests.support.engine.memory import KIB, allocated, four, gradient, leaf

# ---------- all kinds of writes ----------


def random_fill(name: str) -> Callable[[mt.Tensor], object]:
    return lambda x: getattr(x, name)()


WRITERS: dict[str, Callable[[mt.Tensor], object]] = {
    "set_value": lambda x: x.set_value(np.full(x.shape, 9.0)),
    "copy_": lambda x: x.copy_(mt.full(x.shape, 9.0, "float64")),
    "setitem": lambda x: x.__setitem__(slice(None), 9.0),
    "setitem of itself": lambda x: x.__setitem__(slice(None), x[::-1]),
    "fill_": lambda x: x.fill_(9.0),
    "zero_": lambda x: x.zero_(),
    "an operation": lambda x: x.exp_(),
    "with itself": lambda x: x.multiply_(x),
    "a comparison": lambda x: x.less_than_(mt.full([], 2.0, "float64")),
    "with an alias": lambda x: x.multiply_(x[::-1]),
    "a shift": lambda x: x[1:].copy_(x[:-1]),
    **{
        name: random_fill(name)
        for name in ("normal_", "uniform_", "exponential_", "bernoulli_")
        if hasattr(mt.Tensor, name)
    },
}
WAYS: dict[str, Callable[[Callable[[mt.Tensor], object], mt.Tensor], object]] = {
    "recorded": lambda write, x: write(x),
    "under no_grad": lambda write, x: mt.no_grad(write)(x),
    "through a detached alias": lambda write, x: write(x.detach()),
    "through a view": lambda write, x: write(x[:]),
    "through a view under no_grad": lambda write, x: mt.no_grad(lambda: write(x[:]))(),
    "twice": lambda write, x: [write(x), write(x)],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writer", WRITERS)
def test_every_kind_of_write_preserves_saved_values(writer: str, way: str):
    mt.set_inplace_policy("copy_on_write")
    w, x = four()
    result = x * x
    WAYS[way](WRITERS[writer], x)
    assert x.inplace_version > 0
    assert gradient(result, w) == [2, 4, 6, 8]
    assert gradient(result, w) == [2, 4, 6, 8]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writer", WRITERS)
def test_every_kind_of_write_to_a_leaf_under_no_grad_preserves_the_saved_values_of_the_leaf(writer: str, way: str):
    if way in ("recorded", "through a view", "twice"):
        return
    mt.set_inplace_policy("copy_on_write")
    w, _ = four()
    result = w * w
    WAYS[way](WRITERS[writer], w)
    assert gradient(result, w) == [2, 4, 6, 8]


# ---------- copies that an in-place operation saves for its own backward ----------


def test_an_in_place_operation_and_earlier_operations_share_one_copy(no_collector: None):
    mt.set_inplace_policy("copy_on_write")
    w = leaf()
    x = w * 2.0
    one, row = x * x, x[3] * x[3]
    before = allocated()
    x.sin_()
    assert allocated() == before + KIB
    assert mt.grad([one.sum() + row.sum() + x.sum()], [w], retain_graph=True)[0].shape == w.shape
    del x
    assert allocated() == before  # the tensor is freed, and the copy is not
    del one
    assert allocated() == before - KIB  # `one` is freed, but the copy is not, because `row` saved a view of it
    del row
    assert allocated() == before - 2 * KIB - 64  # the copy and the result of the row are freed


def test_a_target_and_an_operand_that_is_its_view_are_saved_in_one_copy(no_collector: None):
    for policy in ("2.6", "copy_on_write"):
        with mt.set_inplace_policy(policy):
            w = leaf()
            x = w * 2.0
            before = allocated()
            x.multiply_(x.t())
            assert allocated() == before + KIB
            x.backward()
            np.testing.assert_array_equal(w.grad.numpy(), 8.0)
            del w, x


def test_clip_keeps_one_bit_for_each_element_and_preserves_bytes_saved_earlier(no_collector: None):
    mt.set_inplace_policy("copy_on_write")
    w = leaf()
    x = w * 2.0
    result = x[0] * x[0]
    before = allocated()
    x.clip_(0.0, 1.0)
    assert allocated() == before + KIB // 32 + KIB // 16  # a bit for each element, and the bytes of a row
    assert mt.grad([result], [w], retain_graph=True)[0].numpy()[0].tolist() == [8.0] * 16


# ---------- a write that fails changes nothing ----------

FAILURES: dict[str, Callable[[mt.Tensor], object]] = {
    "shape": lambda x: x.add_(mt.ones([3, 4], "float64")),
    "shape of a stored value": lambda x: x.__setitem__(0, mt.ones([2])),
    "shape at an index": lambda x: x.__setitem__([0, 1], mt.ones([3])),
    "shape of set_value": lambda x: x.set_value(np.ones(3)),
    "dtype of set_value": lambda x: x.set_value(np.ones(4, np.float32)),
    "type of an operand": lambda x: x.add_("a"),
    "type of an argument": lambda x: x.clip_("a"),
    "index": lambda x: x.__setitem__(9, 1.0),
    "index in a list": lambda x: x.__setitem__([0, 9], 1.0),
    "copy_": lambda x: x.copy_(mt.ones([2, 4])),
    "overlapping": lambda x: x.as_strided([3, 2], [1, 1], 0).fill_(0.0),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_write_leaves_no_trace(name: str, policy: str, no_collector: None):
    mt.set_inplace_policy(policy)
    w, x = four()
    result = x * x
    node = result.grad_fn
    before = allocated(), x.inplace_version, node.saved, set(x._storage.savers)
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, IndexError, RuntimeError)):
            FAILURES[name](x)
        assert (allocated(), x.inplace_version, node.saved, set(x._storage.savers)) == before
    assert gradient(result, w) == [2, 4, 6, 8]
    with mt.set_inplace_policy("copy_on_write"):
        x.fill_(0.0)
    assert gradient(result, w) == [2, 4, 6, 8]


def test_a_refused_write_to_a_leaf_leaves_no_trace(no_collector: None):
    mt.set_inplace_policy("copy_on_write")
    w, _ = four()
    result = w * w
    before = allocated()
    for write in (lambda: w.add_(1.0), lambda: w[0].fill_(1.0), lambda: w.__setitem__(0, 1.0)):
        with pytest.raises(ValueError, match="doesn't stop gradient"):
            write()
        assert allocated() == before and w.inplace_version == 0
    assert gradient(result, w) == [2, 4, 6, 8]


# ---------- backward with preserved values ----------


def test_second_derivatives_computed_from_preserved_bytes_are_right():
    mt.set_inplace_policy("copy_on_write")
    w, x = four()
    cube = x * x * x
    x[1:3] = 7.0
    (first,) = mt.grad([cube], [w], create_graph=True)
    assert first.tolist() == [3, 12, 27, 48]
    x.zero_()
    (second,) = mt.grad([first], [w], create_graph=True)
    assert second.tolist() == [6, 12, 18, 24]
    x.fill_(5.0)
    assert gradient(second, w) == [6, 6, 6, 6]


def test_values_saved_for_a_second_derivative_are_preserved():
    mt.set_inplace_policy("copy_on_write")
    w, x = four()
    cube = x * x * x
    (first,) = mt.grad([cube], [w], create_graph=True)
    x.sin_()
    assert gradient(first, w) == [6, 12, 18, 24]
    assert gradient(cube, w) == [3, 12, 27, 48]


def test_writes_between_backwards_of_a_retained_graph_change_no_gradient():
    mt.set_inplace_policy("copy_on_write")
    w, x = four()
    result = x * x
    for i in range(4):
        x[i] = 7.0
        result.backward(retain_graph=True)
    result.backward()
    assert w.grad.tolist() == [10, 20, 30, 40]
    with pytest.raises(RuntimeError, match="freed"):
        result.backward()


@pytest.mark.parametrize("shape", [[], [0], [3, 0], [1], [1, 1]])
def test_saved_tensors_without_elements_or_dimensions_are_preserved(shape: list[int]):
    mt.set_inplace_policy("copy_on_write")
    w = mt.to_tensor(np.full(shape, 3.0), stop_gradient=False)
    x = w * 1.0
    result = x * x
    before = allocated()
    for _ in range(2):
        x.fill_(7.0)
        x[...] = 8.0
    assert allocated() == before + 8 * w.size
    assert gradient(result, w) == np.full(shape, 6.0).tolist()
