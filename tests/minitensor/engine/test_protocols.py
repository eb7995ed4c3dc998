"""Test Python's protocols: len, iter, in, bool, hash, copy, pickle, numpy, names."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_len_is_the_first_dimension():
    assert len(mt.to_tensor(X)) == 3 and len(mt.zeros([0, 4])) == 0
    with pytest.raises(TypeError, match=r"len\(\).*\[\]"):
        len(mt.to_tensor(1.0))


def test_iterating_yields_views_of_the_rows():
    x = mt.to_tensor(X)
    rows = list(x)
    assert [row.tolist() for row in rows] == X.tolist()
    rows[1].fill_(0.0)
    assert x[1].tolist() == [0, 0] and x.inplace_version == 1
    first, *rest = x
    assert first.tolist() == [1, 2] and len(rest) == 2
    assert [row.tolist() for row in reversed(x)] == x.numpy()[::-1].tolist()
    with pytest.raises(TypeError, match="iterated"):
        iter(mt.to_tensor(1.0))


def test_gradients_flow_through_the_elements_of_an_iteration():
    w = leaf([1.0, 2.0, 3.0])
    total = mt.zeros([], "float64")
    for i, element in enumerate(w):
        total = total + element * (i + 1)
    total.backward()
    assert w.grad.tolist() == [1, 2, 3]


def test_the_operator_in_is_true_if_some_element_is_equal():
    x = mt.to_tensor(X)
    assert 3.0 in x and 3 in x and np.float32(5) in x and mt.to_tensor(6.0) in x
    assert 7 not in x and 2.999 not in x
    assert 2**70 not in mt.to_tensor([1, 2]) and 2.5 not in mt.to_tensor([1, 2]) and 1 in mt.to_tensor([True])


@pytest.mark.parametrize("other", ["3", None, 1j, {}], ids=str)
def test_the_operator_in_refuses_everything_but_numbers_and_arrays(other):
    with pytest.raises(TypeError, match=type(other).__name__):
        other in mt.to_tensor(X)  # noqa: B015


@pytest.mark.parametrize("other", [[1.0, 2.0, 3.0], np.ones(7), mt.ones([4, 4]), [1, [2]]], ids=str)
def test_the_operator_in_with_a_list_or_another_shape_returns_a_bool_or_raises_a_clear_error(other):
    if isinstance(other, mt.Tensor):
        other = mt.to_tensor(other)  # created before the test set its device
    try:
        assert (other in mt.to_tensor(X)) in (True, False)
    except (ValueError, TypeError) as error:
        assert "[3, 2]" in str(error) or "ragged" in str(error)


def test_only_a_tensor_of_one_element_is_true_or_false():
    assert mt.to_tensor(2.0) and mt.to_tensor([[True]]) and not mt.to_tensor([0])
    for x in (mt.ones([2]), mt.zeros([0])):
        with pytest.raises(ValueError, match=rf"\[{x.shape[0]}\].*neither true nor false"):
            bool(x)


def test_only_a_tensor_of_one_element_can_be_converted_to_a_number():
    assert float(mt.to_tensor([[2.5]])) == 2.5 and int(mt.to_tensor(2.9)) == 2
    assert mt.to_tensor([7]).item() == 7 and type(mt.to_tensor([7]).item()) is int
    assert type(mt.to_tensor(7.0).item()) is float and mt.to_tensor(True).item() is True
    for convert in (float, int, lambda x: x.item()):
        with pytest.raises(ValueError, match=r"one element.*\[2\]"):
            convert(mt.ones([2]))
    assert f"{mt.to_tensor(math.pi):.2f}" == "3.14" and f"{mt.ones([2])}" == repr(mt.ones([2]))


def test_only_a_tensor_of_one_integer_can_be_an_index_of_a_list():
    letters = "abc"
    assert letters[mt.to_tensor(1)] == "b" and letters[mt.to_tensor([2], "int32")] == "c"
    assert list(range(mt.to_tensor(3))) == [0, 1, 2]
    for wrong in (mt.to_tensor(1.0), mt.to_tensor([0, 1]), mt.to_tensor(True)):
        with pytest.raises(TypeError, match="index"):
            letters[wrong]


def test_hash_is_by_identity_and_equality_by_element():
    x = mt.to_tensor([1.0, 2.0])
    y = mt.to_tensor([1.0, 2.0])
    assert hash(x) == hash(x) and {x: 1}[x] == 1 and len({x, y}) == 2
    assert (x == y).tolist() == [True, True] and (x != y).tolist() == [False, False]
    before = hash(x)
    x.fill_(9.0)
    assert hash(x) == before


def test_equality_with_another_type_is_false_and_raises_no_error():
    x = mt.to_tensor([1.0, 2.0])
    assert (x == None) is False and (x != None) is True and (x == "a") is False  # noqa: E711
    with pytest.raises(TypeError):
        x < "a"  # noqa: B015


def test_round_rounds_halves_away_from_zero_and_accepts_digits():
    x = mt.to_tensor([2.5, -2.5, 1.25])
    assert round(x).tolist() == [3, -3, 1]
    np.testing.assert_allclose(round(x, 1).numpy(), [2.5, -2.5, 1.3], rtol=1e-6)
    whole = mt.to_tensor([12, 25])
    assert round(whole).dtype == "int64" and round(whole, -1).dtype == "int64"
    # Halves are rounded away from zero, as in Paddle, or to even, as in numpy.
    assert round(whole, -1).tolist() in ([10, 30], [10, 20])


def test_tolist_returns_python_numbers():
    assert mt.to_tensor(X).T.tolist() == X.T.tolist()
    assert mt.to_tensor(3).tolist() == 3 and type(mt.to_tensor([3]).tolist()[0]) is int
    assert mt.zeros([0, 2]).tolist() == []


def test_sizes_count_elements_bytes_and_dimensions():
    x = mt.zeros([2, 3, 4], "float64")
    assert x.ndim == 3 and x.size == 24 and x.shape == [2, 3, 4] and x.element_size() == 8
    assert x.nbytes == 192 and x[0].nbytes == 96 and x.strides == [12, 4, 1]
    x.shape.append(9)
    assert x.shape == [2, 3, 4], "shape should return a new list"
    assert mt.to_tensor(1.0).ndim == 0 and mt.to_tensor(1.0).size == 1


# ---------- numpy ----------


def test_arrays_from_numpy_and_asarray_are_copies_of_the_tensor():
    x = mt.to_tensor(X)
    for array in (x.numpy(), np.asarray(x), np.array(x), np.array(x, copy=True), np.asarray(x.T).T):
        assert not np.shares_memory(array, np.asarray(x))
        array[...] = -1.0
        np.testing.assert_array_equal(x.numpy(), X)
    assert x.inplace_version == 0
    assert x[::2].numpy().flags.writeable


def test_asarray_converts_to_a_given_dtype_and_copy_false_is_refused():
    x = mt.to_tensor(X)
    assert np.asarray(x, dtype=np.int32).dtype == np.int32 and np.asarray(x).dtype == np.float64
    with pytest.raises(ValueError, match="copies"):
        np.array(x, copy=False)
    assert np.asarray(mt.to_tensor(3.0)).shape == ()


def test_numpy_functions_accept_tensors_converted_to_arrays():
    w = leaf(X)
    assert np.mean(np.asarray(w)) == 3.5
    np.testing.assert_array_equal(np.stack([np.asarray(w[0]), np.asarray(w[1])]), X[:2])
    assert np.array([mt.to_tensor(1.0), mt.to_tensor(2.0)], dtype=float).tolist() == [1, 2]


def test_an_operator_with_a_numpy_operand_on_the_left_returns_a_recorded_tensor():
    w = leaf([1.0, 2.0])
    for result in (np.ones(2) + w, np.float64(3) * w, np.float32(3) - w, np.int64(3) / w, np.ones(2) @ w):
        assert type(result) is mt.Tensor and not result.stop_gradient
    assert type(np.ones(2) == w) is mt.Tensor and type(np.ones(2) < w) is mt.Tensor


# ---------- copies ----------


def test_copy_returns_another_tensor_with_the_same_storage_and_history():
    w = leaf([1.0, 2.0])
    x = w * 3
    other = copy.copy(x)
    assert other is not x and other.data_ptr() == x.data_ptr() and other.grad_fn is x.grad_fn
    other.add_(1.0)
    assert x.tolist() == [4, 7] and x.inplace_version == other.inplace_version == 1
    (x * x).sum().backward()
    assert w.grad.tolist() == [24, 42]


def test_a_shallow_copy_of_a_leaf_shares_its_gradient_and_is_a_leaf_too():
    w = leaf([1.0, 2.0])
    other = copy.copy(w)
    assert other.is_leaf and not other.stop_gradient
    with pytest.raises(ValueError, match="Leaf Var"):
        other.add_(1.0)
    (other * 2).sum().backward()
    assert w.grad.tolist() == [2, 2] and other.grad is w.grad


def test_deepcopy_of_a_leaf_returns_a_leaf_with_a_new_storage_and_no_gradient():
    w = leaf([1.0, 2.0])
    (w * 2).sum().backward()
    other = copy.deepcopy(w)
    assert other.is_leaf and not other.stop_gradient and other.inplace_version == 0
    assert other.grad is None  # as in Paddle: facts/learners.json
    with mt.no_grad():
        other.zero_()
    (other * 3).sum().backward()
    assert w.tolist() == [1, 2] and w.grad.tolist() == [2, 2]


def test_deepcopy_of_a_view_copies_numbers_and_shape_without_the_base():
    x = mt.to_tensor(X)
    for view in (x.T, x[::-1], x[1, 1], x.as_strided([2, 2], [1, 1], 0), x[3:]):
        other = copy.deepcopy(view)
        np.testing.assert_array_equal(other.numpy(), view.numpy())
        assert other.shape == view.shape and other.dtype == view.dtype
        other.fill_(0.0)
    np.testing.assert_array_equal(x.numpy(), X)


def test_deepcopy_copies_each_tensor_once():
    x = mt.to_tensor(X)
    one, two = copy.deepcopy([x, x])
    assert one is two and one is not x


@pytest.mark.parametrize("how", [copy.deepcopy, pickle.dumps], ids=["deepcopy", "pickle"])
def test_a_result_with_history_is_neither_deep_copied_nor_pickled(how):
    with pytest.raises(RuntimeError, match=r"only leaf tensors.*multiply.*detach\(\)"):
        how(leaf([1.0]) * 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("shape", [[], [1], [0], [2, 3], [2, 0, 3]], ids=str)
def test_a_pickle_restores_numbers_shape_and_dtype(shape: list[int], dtype: str):
    x = mt.ones(shape, dtype)
    back = pickle.loads(pickle.dumps(x))
    assert back.shape == shape and back.dtype == dtype and back.tolist() == x.tolist() and back.stop_gradient
    if shape:
        back[...] = 0
    assert back.exp().dtype in ("float32", "float64")
    assert back.fill_(1).inplace_version in (1, 2)


def test_a_pickled_leaf_is_loaded_as_a_leaf_and_a_pickled_view_without_its_base():
    w = leaf(np.arange(1000.0))
    back = pickle.loads(pickle.dumps(w))
    assert not back.stop_gradient and back.is_leaf
    back.sum().backward()
    part = w.detach()[::100]
    assert len(pickle.dumps(part)) < 1000
    assert pickle.loads(pickle.dumps(part)).tolist() == part.tolist()


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_history_and_a_storage_are_neither_copied_nor_pickled(how):
    x = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * x
    before = mt.device.cpu.memory_allocated()
    for given in (y.grad_fn, y._storage):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            how(given)
    assert mt.device.cpu.memory_allocated() == before


def test_clone_returns_a_copy_through_which_gradients_flow():
    w = leaf(X)
    x = w * 1
    other = x.T.clone()
    assert other.is_contiguous() and other.inplace_version == 0 and other.grad is None
    other.scale_(2.0)
    other.sum().backward()
    assert w.grad.tolist() == np.full((3, 2), 2.0).tolist() and x.tolist() == X.tolist()


# ---------- names ----------


def test_a_name_is_generated_once_and_can_be_set():
    x, y = mt.ones([1]), mt.ones([1])
    assert x.name == x.name and x.name != y.name and x.name.startswith("generated_tensor_")
    x.name = "weight"
    assert x.name == "weight"
    x.add_(1.0)
    assert x.name == "weight"


def test_a_tensor_refuses_unknown_attributes_and_writes_to_read_only_ones():
    with pytest.raises(AttributeError):
        mt.ones([1]).nonsense = 1
    for name in ("shape", "strides", "offset", "dtype", "inplace_version", "is_leaf", "grad_fn"):
        with pytest.raises(AttributeError):
            setattr(mt.ones([1]), name, 0)


def test_a_node_has_the_name_and_line_of_its_operation():
    w = leaf([1.0, 2.0])
    x = w * 2
    text = repr(x.grad_fn)
    assert "multiply" in text and "test_protocols.py" in text and "x = w * 2" in text
    y = round(x)
    assert "test_protocols.py" in repr(y.grad_fn)
