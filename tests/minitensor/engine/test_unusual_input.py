"""Test unusual but valid input: arrays of any layout, no elements, no dimensions, nan, bools, negative steps."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt

X = mt.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FLAGS = mt.to_tensor([True, False])


@pytest.fixture(autouse=True)
def on_the_device(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move the tensors above to the device of the test, which was not set when this file was imported."""
    for name in ("X", "FLAGS"):
        monkeypatch.setitem(globals(), name, mt.to_tensor(globals()[name]))


def test_arrays_of_any_layout_and_subclass_are_accepted_as_operands():
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
    frozen = values.copy()
    frozen.flags.writeable = False

    class Mine(np.ndarray):
        pass

    wide = np.zeros((4, 6), np.float32)
    wide[::2, ::2] = values
    for array in (
        values[::-1][::-1],
        np.asfortranarray(values),
        frozen,
        values.view(Mine),
        values.astype(">f4"),
        wide[::2, ::2],
        np.broadcast_to(values, (1, 2, 3))[0],
    ):
        assert (X + array).tolist() == (values * 2).tolist() and (X + array).dtype == "float32"
        assert type(array + X) is mt.Tensor
        x = X.clone()
        x.add_(array)
        x[...] = array
        x.set_value(np.asarray(array, np.float32))
        assert x.tolist() == values.tolist()


def test_an_object_with_an_array_method_is_converted():
    class Numbers:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    assert mt.to_tensor(Numbers()).tolist() == [1, 2]


def test_operations_accept_tensors_without_elements_or_dimensions_or_of_one_element():
    for shape in ([0], [], [1], [0, 3], [3, 0], [1, 1]):
        x = mt.ones(shape, "float64")
        x.stop_gradient = False
        y = x * 2
        y.sin_().add_(1.0).reshape([-1] if y.size else shape).unsqueeze(0)
        y[...] = y
        y.T.scale_(3.0)
        y.sum().backward()
        assert x.grad.shape == shape
        assert mt.concat([y.flatten(), y.flatten()]).shape == [2 * y.size]
        assert mt.stack([y, y]).shape == [2, *shape]
        assert y.clone().shape == y.expand(shape).shape == y.detach().shape == shape
        repr(y), y.tolist(), y.numpy(), y.strides, y.offset, y.data_ptr()


def test_nan_and_infinity_are_valid_elements():
    x = mt.to_tensor([float("nan"), float("inf"), float("-inf"), 1.0])
    assert np.isnan((x + 1).numpy()[0]) and (x * 2).tolist()[1:] == [float("inf"), float("-inf"), 2]
    assert (x == x).tolist() == [False, True, True, True]
    x.fill_(float("nan"))
    x[0] = float("inf")
    assert x[0].item() == float("inf") and np.isnan(x[1].item())


def test_bools_are_added_by_logical_or_and_multiplied_by_logical_and():
    assert (FLAGS + FLAGS).tolist() == [True, False] and (FLAGS * True).tolist() == [True, False]
    assert FLAGS.clone().add_(True).tolist() == [True, True]
    assert FLAGS.sum().item() == 1 and FLAGS.max().item() is True


def test_negative_steps_are_accepted():
    x = mt.to_tensor(np.arange(5.0))
    assert x[::-1].tolist() == [4, 3, 2, 1, 0] and x[3:0:-2].tolist() == [3, 1] and x[::-9].tolist() == [4]
    x[::-2] = [10.0, 20.0, 30.0]
    assert x.tolist() == [30, 1, 20, 3, 10]
    assert mt.arange(5, 0, -2).tolist() == [5, 3, 1]


def test_a_length_in_a_shape_may_be_a_bool_or_a_numpy_integer():
    assert mt.zeros([np.int64(2), True]).shape == [2, 1]
    assert X.reshape([np.int32(3), -1]).shape == [3, 2]


def test_numbers_of_a_class_with_another_equality_are_told_apart():
    class Rounded(float):
        """A number that is equal to all numbers nearby."""

        def __eq__(self, other: object) -> bool:
            return abs(float(self) - float(other)) < 0.5

        def __hash__(self) -> int:
            return 0

    for number in (2.0, 2.25):
        assert (X * Rounded(number)).tolist() == (X * number).tolist()
        assert X.clone().add_(Rounded(number)).tolist() == (X + number).tolist()


@pytest.mark.parametrize("change", ["cast_('int64')", "resize_([8])", "set_(other)", "reshape_([2, 2])", "add_(1.0)"])
def test_a_value_that_changes_the_target_while_it_is_converted_is_written_into_the_new_target(change: str):
    other = mt.to_tensor([5.0, 6.0])
    x = mt.to_tensor([1.0, 2.0, 3.0, 4.0])
    before = x[:]
    storage = x._storage

    class Value:
        def __array__(self, dtype=None, copy=None):
            if x._storage is storage and x.tolist() == [1, 2, 3, 4] and x.dtype == "float32":
                eval(f"x.{change}", {"x": x, "other": other})
            return np.array([9.0])

    x[..., 0:1] = [Value()]
    assert x.flatten()[0].item() == 9
    assert x._storage is storage or before.tolist() == [1, 2, 3, 4]
