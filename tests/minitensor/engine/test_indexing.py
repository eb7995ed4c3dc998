"""Compare x[index] and x[index] = value with numpy for basic and advanced indices, and test the gradients."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import expect_gradients, leaf_like, put

CUBE = np.arange(24.0).reshape(2, 3, 4) * 0.1 + 0.5

INDICES = {
    "number": 1,
    "one number for each dimension": (0, -1, 2),
    "slice": slice(1, None),
    "slices": (slice(None), slice(None, None, 2), slice(3, 0, -1)),
    "ellipsis": (..., 0),
    "new axis": (None, 0, None),
    "empty tuple": (),
    "list": [1, 0, 1],
    "negative list": [-1, -2],
    "lists": ([0, 1, 0], [2, 0, 1]),
    "broadcast lists": ([[0], [1]], [0, 2]),
    "list and slice": (slice(None), [2, 0]),
    "list in front, number behind": ([0, 1], slice(1), 2),
    "lists with a slice between them": ([0, 1], slice(None), [3, 1]),
    "list and new axis": ([1], None, 0),
    "list of lists": [[0, 1], [1, 0]],
    "empty list": [],
    "mask of the whole": CUBE > 1.4,
    "mask of dimension 0": [True, False],
    "mask in the middle": (0, [True, False, True]),
    "mask and list": ([True, True], [0, 2]),
    "mask without True": CUBE > 100,
    "True": True,
    "False": False,
    "array": np.array([[1, 0], [0, 0]]),
    "int32 array": np.array([1, 0], np.int32),
    "uint8 array": np.array([1, 0], np.uint8),
    "numpy number": np.int64(1),
    "list with a repeated index": [0, 0, 0, 1],
}


def as_tensors(index: object) -> object:
    """Return the index with tensors instead of arrays and lists."""
    if isinstance(index, tuple):
        return tuple(map(as_tensors, index))
    if isinstance(index, (list, np.ndarray)) and np.array(index).dtype != np.uint8:
        return mt.to_tensor(np.array(index, dtype=None if len(index) else np.int64))
    return index


@pytest.mark.parametrize("kind", ["as given", "as tensors"])
@pytest.mark.parametrize("name", INDICES)
def test_a_read_returns_the_same_elements_as_numpy(name: str, kind: str):
    index = INDICES[name] if kind == "as given" else as_tensors(INDICES[name])
    got, want = mt.to_tensor(CUBE)[index], np.asarray(CUBE[numpy_index(name)])
    assert got.shape == list(want.shape)
    np.testing.assert_array_equal(got.numpy(), want)


def numpy_index(name: str) -> object:
    index = INDICES[name]
    return np.array([], np.int64) if isinstance(index, list) and not index else index


@pytest.mark.parametrize("kind", ["as given", "as tensors"])
@pytest.mark.parametrize("name", INDICES)
def test_a_write_stores_the_same_elements_as_numpy(name: str, kind: str):
    index = INDICES[name] if kind == "as given" else as_tensors(INDICES[name])
    for value in (7.0, np.float32(2.5), -CUBE[numpy_index(name)], [9.0], mt.to_tensor([[3.0]])):
        x, want = mt.to_tensor(CUBE), CUBE.copy()
        stored = value.numpy() if isinstance(value, mt.Tensor) else value
        try:
            want[numpy_index(name)] = stored
        except (ValueError, TypeError):
            continue  # the value has more dimensions than the target
        x[index] = value
        np.testing.assert_array_equal(x.numpy(), want)
        assert x.inplace_version == 1


@pytest.mark.parametrize("name", INDICES)
def test_the_gradient_of_a_read_agrees_with_central_differences(name: str):
    w = leaf_like(CUBE)
    expect_gradients(lambda moved: np.asarray(moved[numpy_index(name)]), [w], (w * 1)[INDICES[name]])


@pytest.mark.parametrize("name", INDICES)
def test_the_gradient_of_a_write_agrees_with_central_differences(name: str):
    values = np.cos(np.asarray(CUBE[numpy_index(name)]) * 3)
    w, v = leaf_like(CUBE), leaf_like(values)
    x = w * 1
    x[INDICES[name]] = v

    np.testing.assert_array_equal(x.numpy(), put(CUBE, numpy_index(name), values))
    expect_gradients(lambda moved, value: put(moved, numpy_index(name), value), [w, v], x)


@pytest.mark.parametrize("name", INDICES)
def test_a_number_written_to_several_elements_gets_the_sum_of_their_gradients(name: str):
    w, v = leaf_like(CUBE), leaf_like(np.array(1.5))
    x = w * 1
    x[INDICES[name]] = v

    expect_gradients(lambda moved, value: put(moved, numpy_index(name), value), [w, v], x)


@pytest.mark.parametrize("name", ["list", "mask of the whole", "lists", "mask of dimension 0", "list and slice"])
def test_the_gradient_of_an_indexed_write_to_a_view_is_right(name: str):
    w = leaf_like(CUBE[:, :, ::-1].copy())
    x = w * 1
    view = x[:, :, ::-1]
    view[INDICES[name]] = 0.25

    def written(moved: np.ndarray) -> np.ndarray:
        moved = moved.copy()
        moved[:, :, ::-1][numpy_index(name)] = 0.25
        return moved

    expect_gradients(written, [w], x)


@pytest.mark.parametrize("how", ["list", "array", "tensor"])
def test_an_index_that_changes_later_does_not_change_the_gradient(how: str):
    index = {"list": [0, 2], "array": np.array([0, 2]), "tensor": mt.to_tensor([0, 2])}[how]
    w = leaf_like(np.array([1.0, 2.0, 3.0]))
    taken, x = w[index], w * 1
    x[index] = 0.0
    index[0] = 1
    taken.backward()
    assert w.grad.tolist() == [1, 0, 1]
    x.backward()
    assert w.grad.tolist() == [1, 1, 1]


def test_a_mask_that_is_computed_from_the_tensor_is_read_before_the_write():
    w = leaf_like(np.array([-1.0, 2.0, -3.0]))
    x = w * 1
    x[x < 0] = 0.0
    assert x.tolist() == [0, 2, 0]
    x.backward()
    assert w.grad.tolist() == [0, 1, 0]


def test_augmented_assignment_to_an_index_stores_the_result_and_its_gradient():
    w = leaf_like(np.array([1.0, 2.0, 3.0]))
    x = w * 1
    x[1:] += 10.0
    x[[0, 0]] *= 5.0
    assert x.tolist() == [5, 12, 13] and x.inplace_version == 2
    x.backward()
    assert w.grad.tolist() == [5, 1, 1]


def test_floats_written_to_an_integer_tensor_are_truncated():
    # The records of both frameworks show that they store 2 for 2.7.
    x = mt.to_tensor([1, 2, 3])
    x[0] = 2.7
    x[1] = -2.7
    x[2:] = mt.to_tensor([9.9])
    assert x.tolist() == [2, -2, 9] and x.dtype == "int64"


def test_numbers_written_to_a_bool_tensor_become_true_or_false():
    x = mt.to_tensor([False, True, False])
    x[0] = 2
    x[1] = 0.0
    assert x.tolist() == [True, False, False] and x.dtype == "bool"


def test_an_element_cannot_be_deleted():
    with pytest.raises((TypeError, AttributeError)):
        del mt.ones([2])[0]


@pytest.mark.parametrize("shape", [[0], [2, 0], [0, 3], [2, 0, 3]])
def test_a_mask_of_an_empty_tensor_selects_no_element(shape):
    """If the empty mask were read as an index of integers, the result would have more dimensions."""
    x = mt.ones(shape)
    mask = x > 0
    assert x[mask].shape == [0]
    x[mask] = 2.0
    assert x.shape == shape
