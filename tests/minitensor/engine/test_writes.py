"""Test writes that are not in the derivative table, such as x[...] = v and copy_, and in-place changes of shape."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import expect_gradients, leaf, weights

# ---------- writes of numbers ----------

WRITES = {
    "x[...] = v": lambda x, v: x.__setitem__(Ellipsis, v),
    "x[[0, 1]] = v": lambda x, v: x.__setitem__([0, 1], v),
    "x[mask] = v": lambda x, v: x.__setitem__(mt.to_tensor([True, True]), v),
    "copy_": lambda x, v: x.copy_(v),
    "set_value": lambda x, v: x.set_value(v),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_of_any_kind_raises_the_version_by_1(write: str):
    x, v = mt.to_tensor([1.0, 2.0]), mt.to_tensor([5.0, 6.0])
    WRITES[write](x, v)
    assert x.tolist() == [5, 6] and x.inplace_version == 1 and v.inplace_version == 0
    with mt.no_grad():
        WRITES[write](x[:], v)
    assert x.inplace_version == 2
    v.fill_(0)
    assert x.tolist() == [5, 6], "the write should copy the value, not share it"


@pytest.mark.parametrize("write", [w for w in WRITES if w != "set_value"])
def test_a_stored_value_gets_the_gradient_of_the_elements_that_it_overwrote(write: str):
    w, v = leaf([1.0, 2.0]), leaf([5.0, 6.0])
    x = w * 1
    WRITES[write](x, v * 1)
    x.backward(mt.to_tensor([3.0, 4.0], "float64"))
    assert w.grad.tolist() == [0, 0] and v.grad.tolist() == [3, 4]


@pytest.mark.parametrize("write", WRITES)
def test_elements_overwritten_with_a_constant_have_gradient_zero_and_not_none(write: str):
    w = leaf([1.0, 2.0])
    x = w * 1
    WRITES[write](x, mt.to_tensor([5.0, 6.0], "float64"))
    x.backward()
    assert w.grad.tolist() == [0, 0]


@pytest.mark.parametrize("write", [lambda x: x.fill_(3.0), lambda x: x.zero_()], ids=["fill_", "zero_"])
def test_elements_overwritten_by_fill_and_zero_have_gradient_zero_and_not_none(write):
    w = leaf([1.0, 2.0])
    x = w * 1
    write(x)
    x.backward()
    assert w.grad.tolist() == [0, 0]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_through_a_view_changes_the_base_and_its_gradient(write: str):
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    WRITES[write](x[1:], mt.to_tensor([5.0, 6.0], "float64"))
    assert x.tolist() == [1, 5, 6]
    x.backward()
    assert w.grad.tolist() == [1, 0, 0]


@pytest.mark.parametrize("extra", [0, 1, 2])
@pytest.mark.parametrize("write", ["x[...] = v", "x[[0, 1]] = v", "copy_"])
def test_a_stored_value_may_have_leading_dimensions_of_length_one(write: str, extra: int):
    v = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x = mt.zeros([2, 3], "float64")
    WRITES[write](x, v.reshape([1] * extra + [2, 3]))
    assert x.tolist() == v.tolist()
    expect_gradients(lambda moved: moved, [v], x)


@pytest.mark.parametrize("extra", [0, 1, 2])
@pytest.mark.parametrize("write", ["x[...] = v", "x[[0, 1]] = v", "copy_"])
def test_a_stored_value_may_be_broadcast(write: str, extra: int):
    v = leaf([1.0, 2.0, 3.0])
    x = mt.zeros([2, 3], "float64")
    WRITES[write](x, v.reshape([1] * extra + [3]))
    expect_gradients(lambda moved: np.stack([moved, moved]), [v], x)


def test_the_last_of_several_values_for_one_index_is_stored_and_gets_the_gradient():
    w, v = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0, 30.0])
    x = w * 1
    x[[1, 1, 0]] = v
    assert x.tolist() == [30, 20, 3]
    x.backward()
    assert w.grad.tolist() == [0, 0, 1] and v.grad.tolist() == [0, 1, 1]


def test_set_value_refuses_a_value_of_another_shape():
    x = mt.to_tensor([1.0, 2.0])
    x.set_value(np.array([3.0, 4.0], np.float32))
    assert x.tolist() == [3, 4]
    with pytest.raises(ValueError, match=r"set_value.*\[2\].*\[3\]"):
        x.set_value(mt.zeros([3]))
    assert x.tolist() == [3, 4] and x.inplace_version == 1


# ---------- changes of metadata only ----------

METADATA = {
    "reshape_": ([3, 2],),
    "transpose_": ([1, 0],),
    "t_": (),
    "unsqueeze_": (0,),
    "squeeze_": (),
    "flatten_": (),
}


@pytest.mark.parametrize("name", METADATA)
def test_a_change_of_shape_keeps_storage_and_version(name: str):
    x = mt.to_tensor(np.arange(6.0).reshape(2, 3))
    pointer, view = x.data_ptr(), x[0]
    assert getattr(x, name)(*METADATA[name]) is x
    assert x.inplace_version == view.inplace_version == 0 and x.data_ptr() == pointer
    x.fill_(7.0)
    assert view.tolist() == [7, 7, 7], "the tensor and its earlier view should share a storage"


@pytest.mark.parametrize("name", METADATA)
def test_earlier_and_later_results_have_right_gradients_after_a_change_of_shape(name: str):
    values = np.arange(6.0).reshape(2, 3) + 1
    w = leaf(values)
    x = w * 1
    y = x * x
    before = y.grad_fn
    getattr(x, name)(*METADATA[name])
    assert x.grad_fn.name == name
    y.backward(mt.to_tensor(weights([2, 3])), retain_graph=True)
    np.testing.assert_allclose(w.grad.numpy(), 2 * values * weights([2, 3]))
    assert y.grad_fn is before
    w.clear_grad()
    (x * mt.to_tensor(weights(x.shape))).backward()
    turned = weights(x.shape)
    want = turned.T if name in ("t_", "transpose_") else turned.reshape(2, 3)
    np.testing.assert_allclose(w.grad.numpy(), want)
