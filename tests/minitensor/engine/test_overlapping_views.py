"""Test writes to a part of a tensor with overlapping elements: allowed if the elements of the part do not overlap."""

from __future__ import annotations

import pytest

import minitensor as mt
import minitensor.torch as torch

WRITES = {
    "add_ to a row": lambda x: x[1].add_(10.0),
    "fill_ of a column's end": lambda x: x.transpose([1, 0])[1, 2:].fill_(10.0),
    "an assigned row": lambda x: x.__setitem__(1, 10.0),
    "an assigned element": lambda x: x.__setitem__((1, 1), 10.0),
    "set_value of a row": lambda x: x[1].set_value(mt.full([2], 10.0)),
    "a mask in a row": lambda x: x[1].__setitem__(x[1] > 2, 10.0),
    "a row of a reshaped view": lambda x: x.reshape([1, 3, 2])[0, 1].add_(10.0),
    "a row of a detached alias": lambda x: x.detach()[1].add_(10.0),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_a_part_without_overlap_shows_in_all_elements_on_the_written_cells(write):
    x = mt.to_tensor([1.0, 2.0, 3.0, 4.0])
    windows = x.as_strided([3, 2], [1, 1])
    like = mt.to_tensor([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])
    version = x.inplace_version
    WRITES[write](windows)
    WRITES[write](like)
    cells = {  # the cells that the same write changes in a tensor without overlap
        i + j: like[i, j].item() for i in range(3) for j in range(2) if like[i, j].item() != i + j + 1
    }
    expected = [cells.get(k, k + 1.0) for k in range(4)]
    assert cells and x.tolist() == expected
    assert windows.tolist() == [expected[:2], expected[1:3], expected[2:]]
    assert x.inplace_version == version + 1


def test_a_part_that_overlaps_itself_is_refused():
    x = mt.arange(6).astype("float32")
    windows = x.as_strided([4, 3], [1, 1])
    for write in (lambda: windows[1:].add_(1.0), lambda: windows.__setitem__(slice(2), 1.0)):
        with pytest.raises(RuntimeError, match="same memory cell"):
            write()
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and x.inplace_version == 0


def test_gradients_flow_through_every_element_that_shows_a_written_cell():
    w = mt.to_tensor([0.0, 1.0, 2.0, 3.0, 4.0], stop_gradient=False)
    windows = (w * 1).as_strided([3, 3], [1, 1])
    windows[0].multiply_(mt.to_tensor([2.0, 3.0, 4.0]))
    windows[1] = w[:3] * 5
    (windows * mt.arange(9).reshape([3, 3]).astype("float32")).sum().backward()
    # The windows are [2a, 5a, 5b], [5a, 5b, 5c] and [5b, 5c, e].
    assert w.grad.tolist() == [20, 60, 60, 0, 8]


def test_a_value_that_requires_a_gradient_is_not_assigned_into_a_detached_alias():
    w, x = mt.ones([2]), mt.zeros([4])
    w.stop_gradient = False
    windows = x.as_strided([3, 2], [1, 1]).detach()
    with pytest.raises(RuntimeError, match="whose elements overlap"):
        windows[0] = w * 2
    assert x.tolist() == [0, 0, 0, 0] and windows.is_leaf and x.inplace_version == 0


@pytest.mark.parametrize("policy", ["2.5", "2.6", "copy_on_write"])
def test_a_write_to_a_part_is_seen_by_saved_tensors(policy):
    w = mt.to_tensor([0.5, 1.0, 1.5], stop_gradient=False)
    x = w * 1
    windows = x.as_strided([2, 2], [1, 1])
    y = (windows * windows).sum() + (x * x).sum()
    with mt.set_inplace_policy(policy):
        windows[1].add_(1.0)
        if policy == "copy_on_write":
            y.backward()
            assert w.grad.tolist() == [2, 6, 6]
        else:
            with pytest.raises(RuntimeError, match="received tensor_version:1 != wrapper_version_snapshot:0"):
                y.backward()


def test_a_write_inside_backward_to_a_part_of_a_saved_tensor_is_refused():
    class Square(mt.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            with pytest.raises(RuntimeError, match=r"lent to a backward|read-only"):
                x[0].add_(1.0)
            with pytest.raises(RuntimeError, match=r"lent to a backward|read-only"):
                x[0] = 1.0
            return 2 * g * x

    w = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    Square.apply((w * 1).as_strided([2, 2], [1, 1])).sum().backward()
    assert w.grad.tolist() == [2, 8, 6]


def test_rows_of_expanded_tensors_and_of_windows_can_be_written_in_pytorchs_vocabulary():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    rows = x.expand(2, 4)
    rows[0].add_(1)
    rows[1] = rows[0] * 2
    assert rows.tolist() == [[4, 6, 8, 10]] * 2 and x._version == 2
    w = torch.arange(5.0, requires_grad=True)
    windows = (w * 1).unfold(0, 3, 1)
    windows.t()[1].mul_(3)
    windows.sum().backward()
    assert w.grad.tolist() == [1, 6, 9, 6, 1]
    with pytest.raises(RuntimeError, match="single memory location"):
        rows[:, 1] = 7.0
