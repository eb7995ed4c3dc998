"""Test tensors on read-only memory of another library: every write is refused, and every read works."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.samples import IN_PLACE_ONCE
from tests.support.engine.state import Moment

pytestmark = pytest.mark.cpu_only


def read_only(numbers: object) -> np.ndarray:
    array = np.array(numbers)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("given", IN_PLACE_ONCE, ids=lambda s: s.name)
def test_no_operation_writes_read_only_memory(given):
    tensors = given.tensors()
    array = read_only(given.arrays[given.target])
    for x in (mt.from_numpy(array), mt.from_numpy(array).as_strided([2, 3], [3, 1])):
        tensors[given.target] = x
        mt.seed(3)
        moment = Moment(x=x)
        with pytest.raises(RuntimeError, match=rf"`{given.name}_`.* whose memory is read-only.*Nothing was written"):
            given.run_in_place(tensors)
        moment.expect_unchanged()
        drawn = mt.rand([2]).tolist()
        mt.seed(3)
        assert drawn == mt.rand([2]).tolist(), "the refused operation drew a random number"


WRITES = {
    "an element": lambda x: x.__setitem__((0, 1), 9.0),
    "a mask": lambda x: x.__setitem__(x > 1, 9.0),
    "a list": lambda x: x.__setitem__([0], 9.0),
    "a row": lambda x: x[0].fill_(9.0),
    "a column": lambda x: x.T[1].fill_(9.0),
    "a diagonal": lambda x: x.diagonal().fill_(9.0),
    "a reshaped view": lambda x: x.reshape([-1]).add_(1.0),
    "set_value": lambda x: x.set_value(np.zeros([2, 2])),
    "copy_": lambda x: x.copy_(0.0),
    "a detached alias": lambda x: x.detach().add_(1.0),
    "apply_": lambda x: x.apply_(lambda y: y + 1),
    "a tensor set to x": lambda x: mt.zeros([1], "float64").set_(x).add_(1.0),
    "resize_": lambda x: x.detach().resize_([2]),
    "cast_": lambda x: x.detach().cast_("float32"),
    "set_": lambda x: x.detach().set_(mt.zeros([1])),
}


@pytest.mark.parametrize("write", WRITES)
def test_indexed_writes_views_and_replacing_operations_do_not_write_read_only_memory(write: str):
    array = read_only([[1.0, 2.0], [3.0, 4.0]])
    x = mt.from_numpy(array)
    with pytest.raises(RuntimeError, match=r"whose memory is read-only.*Nothing was written"):
        WRITES[write](x)
    assert array.tolist() == [[1, 2], [3, 4]] and x.inplace_version == 0
    if write != "apply_":  # a tensor that requires a gradient refuses apply_ for another reason
        x.stop_gradient = False
        with mt.no_grad(), pytest.raises(RuntimeError, match=r"whose memory is read-only.*Nothing was written"):
            WRITES[write](x)
    assert array.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("make", [mt.optimizer.SGD, mt.optimizer.Adam], ids=["SGD", "Adam"])
def test_no_optimizer_writes_read_only_memory(make):
    w = mt.from_numpy(read_only([1.0, 2.0]))
    w.stop_gradient = False
    (w * w).sum().backward()
    with pytest.raises(RuntimeError, match=r"whose memory is read-only.*Nothing was written"):
        make(learning_rate=0.1, parameters=[w]).step()
    assert w.tolist() == [1, 2] and w.grad.tolist() == [2, 4]


def test_an_array_shared_from_a_read_only_tensor_is_read_only():
    backing = np.arange(3.0).tobytes()
    lent = mt.from_numpy(np.frombuffer(backing)).numpy(share=True)
    assert not lent.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        lent.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        lent[0] = 1
    spread = mt.from_numpy(np.broadcast_to(np.ones(1), (3,)))
    assert not spread.numpy(share=True).flags.writeable


def test_operations_views_and_backward_can_read_read_only_memory():
    x = mt.from_numpy(read_only([[1.0, 2.0], [3.0, 4.0]]))
    x.stop_gradient = False
    y = (x.T @ x).exp().sum() * x.reshape([-1])[0]
    y.backward()
    w = mt.to_tensor([[1.0, 2.0], [3.0, 4.0]], "float64", stop_gradient=False)
    ((w.T @ w).exp().sum() * w.reshape([-1])[0]).backward()
    assert x.grad.tolist() == w.grad.tolist() and x.clone().numpy().flags.writeable
    assert mt.from_numpy(read_only([1.0])).t_().reshape_([1, 1]).shape == [1, 1], (
        "a change of shape should be allowed, because it writes no memory"
    )


def test_read_only_memory_and_overlapping_elements_have_different_errors():
    x = mt.from_numpy(read_only([1.0, 2.0, 3.0, 4.0]))
    own = mt.to_tensor([1.0, 2.0, 3.0, 4.0])
    sharing = "several elements share the same memory cell"
    for target, words in (
        (x, "read-only"),
        (x.as_strided([2], [2]), "read-only"),
        (x.as_strided([3, 2], [1, 1]), sharing),
        (own.as_strided([3, 2], [1, 1]), sharing),
        (x.as_strided([3, 2], [1, 1])[0], "read-only"),
        (mt.from_numpy(np.broadcast_to(np.ones(1), (3,))), sharing),
    ):
        with pytest.raises(RuntimeError, match=words):
            target.add_(1.0)
        with pytest.raises(RuntimeError, match=words):
            target[...] = 1.0
    assert own.add_(1.0).tolist() == [2, 3, 4, 5]
