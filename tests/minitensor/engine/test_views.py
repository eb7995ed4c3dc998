"""Test views and copies: shared memory, gradients, and shapes and strides, which must equal numpy's."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import expect_gradients, leaf_like
from tests.support.engine.memory import allocated

CUBE = np.arange(24.0).reshape(2, 3, 4) * 0.1 + 0.5
COLUMN = np.arange(4.0).reshape(1, 4, 1) + 1
SQUARE = np.arange(9.0).reshape(3, 3) + 1

#: The numbers of a base, a view, and the same view in numpy. According to the records, all these views share memory in
#: Paddle 2.6.2.
VIEWS = {
    "reshape": (CUBE, lambda x: x.reshape([4, 6]), lambda v: v.reshape(4, 6)),
    "reshape -1": (CUBE, lambda x: x.reshape([-1]), lambda v: v.reshape(-1)),
    "reshape with 0 for an unchanged length": (CUBE, lambda x: x.reshape([0, -1]), lambda v: v.reshape(2, 12)),
    "reshape to no dimension": (np.array([3.0]), lambda x: x.reshape([]), lambda v: v.reshape(())),
    "reshape of a strided view": (CUBE, lambda x: x[:, :, ::2].reshape([6, 2]), lambda v: strided(v)),
    "view": (CUBE, lambda x: x.view([3, 8]), lambda v: v.reshape(3, 8)),
    "transpose": (CUBE, lambda x: x.transpose([2, 0, 1]), lambda v: v.transpose(2, 0, 1)),
    "transpose negative": (CUBE, lambda x: x.transpose([-1, 0, -2]), lambda v: v.transpose(2, 0, 1)),
    "t": (SQUARE, lambda x: x.t(), lambda v: v.T),
    "t of a vector": (SQUARE[0], lambda x: x.t(), lambda v: v),
    "T": (CUBE, lambda x: x.T, lambda v: v.T),
    "squeeze": (COLUMN, lambda x: x.squeeze(), lambda v: v.squeeze()),
    "squeeze axis": (COLUMN, lambda x: x.squeeze(0), lambda v: v.squeeze(0)),
    "squeeze axes": (COLUMN, lambda x: x.squeeze([0, -1]), lambda v: v.squeeze((0, -1))),
    "squeeze an axis of length 4": (COLUMN, lambda x: x.squeeze(1), lambda v: v[:]),
    "unsqueeze": (CUBE, lambda x: x.unsqueeze(1), lambda v: np.expand_dims(v, 1)),
    "unsqueeze -1": (CUBE, lambda x: x.unsqueeze(-1), lambda v: np.expand_dims(v, -1)),
    "unsqueeze axes": (CUBE, lambda x: x.unsqueeze([0, 2]), lambda v: np.expand_dims(v, (0, 2))),
    "flatten": (CUBE, lambda x: x.flatten(), lambda v: v.reshape(-1)),
    "flatten two of three axes": (CUBE, lambda x: x.flatten(1, 2), lambda v: v.reshape(2, 12)),
    "flatten one axis": (CUBE, lambda x: x.flatten(1, 1), lambda v: v[:]),
    "unsqueeze a number": (np.array(3.0), lambda x: x.unsqueeze(0), lambda v: v.reshape(1)),
    "slice": (CUBE, lambda x: x.slice([0, 2], [1, -3], [2, 100]), lambda v: v[1:2, :, -3:100]),
    "diagonal": (SQUARE, lambda x: x.diagonal(), lambda v: diagonal(v)),
    "diagonal above": (SQUARE, lambda x: x.diagonal(1), lambda v: diagonal(v, 1)),
    "diagonal below": (SQUARE, lambda x: x.diagonal(-2), lambda v: diagonal(v, -2)),
    "diagonal of axes": (CUBE, lambda x: x.diagonal(1, 2, 0), lambda v: diagonal(v, 1, 2, 0)),
    "unbind": (CUBE, lambda x: x.unbind(1)[2], lambda v: v[:, 2]),
    "unbind a vector": (SQUARE[0], lambda x: x.unbind()[1], lambda v: v[1, ...]),
    "as_strided": (CUBE, lambda x: x.as_strided([2, 3], [1, 5], 4), lambda v: as_strided(v, [2, 3], [1, 5], 4)),
    "as_strided backwards": (CUBE, lambda x: x.as_strided([3], [-4], 9), lambda v: as_strided(v, [3], [-4], 9)),
    "as_strided of a number": (np.array(3.0), lambda x: x.as_strided([1, 1], [0, 0], 0), lambda v: v.reshape(1, 1)),
    "index": (CUBE, lambda x: x[1], lambda v: v[1]),
    "index to a number": (CUBE, lambda x: x[1, 2, 3], lambda v: v[1, 2, 3, ...]),
    "negative indices": (CUBE, lambda x: x[-1, :, -2], lambda v: v[-1, :, -2]),
    "steps": (CUBE, lambda x: x[:, ::2, 3:0:-2], lambda v: v[:, ::2, 3:0:-2]),
    "reversed": (CUBE, lambda x: x[::-1, :, ::-1], lambda v: v[::-1, :, ::-1]),
    "new axes": (CUBE, lambda x: x[None, 0, ..., None], lambda v: v[None, 0, ..., None]),
    "everything": (CUBE, lambda x: x[...], lambda v: v[...]),
    "empty index": (CUBE, lambda x: x[()], lambda v: v[()]),
    "slice beyond the end": (CUBE, lambda x: x[0, 1:100], lambda v: v[0, 1:100]),
    "index by a tensor": (CUBE, lambda x: x[mt.to_tensor(1)], lambda v: v[1]),
    "slice by tensors": (CUBE, lambda x: x[:, mt.to_tensor(1) : mt.to_tensor(3)], lambda v: v[:, 1:3]),
}


def strided(v: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(v, (6, 2), (v.strides[1], 2 * v.strides[2]))


def diagonal(v: np.ndarray, *arguments: int) -> np.ndarray:
    picked = v.diagonal(*arguments)
    picked.flags.writeable = True  # numpy marks a diagonal read-only
    return picked


def as_strided(v: np.ndarray, shape: list[int], strides: list[int], offset: int) -> np.ndarray:
    start = v.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(start, shape, [s * v.itemsize for s in strides])


def offset_in(view: np.ndarray, whole: np.ndarray) -> int:
    return (view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // whole.itemsize


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_the_same_numbers_offset_and_strides_as_numpys_view(name: str):
    values, look, reference = VIEWS[name]
    x = mt.to_tensor(values)
    view, want = look(x), reference(values)
    assert view.shape == list(want.shape)
    assert view.offset == offset_in(want, values)
    np.testing.assert_array_equal(view.numpy(), want)
    for n, got, stride in zip(want.shape, view.strides, want.strides, strict=True):
        assert n == 1 or got == stride // values.itemsize


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_and_version_and_allocates_nothing(name: str):
    values, look, reference = VIEWS[name]
    x = mt.to_tensor(values)
    before = allocated()
    view = look(x)
    assert allocated() == before
    assert view is not x
    assert view.data_ptr() == x.data_ptr() + view.offset * x.element_size()
    view.fill_(-7.0)
    copy = values.copy()
    reference(copy)[...] = -7.0
    np.testing.assert_array_equal(x.numpy(), copy)
    assert x.inplace_version == view.inplace_version == 1
    assert look(x).inplace_version == 1, "a later view should have the version of the storage"


@pytest.mark.parametrize("name", VIEWS)
def test_the_gradient_through_a_view_agrees_with_central_differences(name: str):
    values, look, reference = VIEWS[name]
    w = leaf_like(values)
    expect_gradients(lambda moved: np.array(reference(moved)), [w], look(w * 1))


@pytest.mark.parametrize("name", VIEWS)
def test_the_gradient_through_a_write_into_a_view_agrees_with_central_differences(name: str):
    values, look, reference = VIEWS[name]
    w = leaf_like(values)
    x = w * 1
    look(x).sin_()

    def written(moved: np.ndarray) -> np.ndarray:
        moved = moved.copy()
        part = reference(moved)
        part[...] = np.sin(part)
        return moved

    np.testing.assert_allclose(x.numpy(), written(values))
    expect_gradients(written, [w], x)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_a_later_write_to_its_base(name: str):
    values, look, reference = VIEWS[name]
    w = leaf_like(values)
    x = w * 1
    view = look(x)
    x.sin_()
    np.testing.assert_allclose(view.numpy(), np.sin(reference(values)))
    expect_gradients(lambda moved: np.sin(np.array(reference(moved))), [w], view)


def test_a_view_of_views_of_views_is_right():
    w = leaf_like(CUBE)
    x = w * 1
    view = x.transpose([2, 0, 1])[::-1].reshape([4, 2, 3])[1:3, :, ::2].T
    want = CUBE.transpose(2, 0, 1)[::-1][1:3, :, ::2].T
    np.testing.assert_array_equal(view.numpy(), want)
    view.scale_(3.0)

    def written(moved: np.ndarray) -> np.ndarray:
        moved = moved.copy()
        moved.transpose(2, 0, 1)[::-1][1:3, :, ::2].T[...] *= 3
        return moved

    np.testing.assert_allclose(x.numpy(), written(CUBE))
    expect_gradients(written, [w], x)


# ---------- copies ----------

#: Functions that create new storages in Paddle 2.6.2, according to the records.
COPIES = {
    "split": (lambda x: x.split(2, 2)[1], lambda v: np.split(v, 2, 2)[1]),
    "split lengths": (lambda x: x.split([1, -1], 1)[1], lambda v: v[:, 1:]),
    "chunk": (lambda x: x.chunk(3, 1)[0], lambda v: v[:, :1]),
    "expand": (lambda x: x.expand([5, 2, 3, 4]), lambda v: np.broadcast_to(v, (5, 2, 3, 4))),
    "expand -1": (lambda x: x[:, :1].expand([-1, 3, -1]), lambda v: np.broadcast_to(v[:, :1], v.shape)),
    "expand to the same": (lambda x: x.expand([2, 3, 4]), lambda v: v),
    "broadcast_to": (lambda x: x.broadcast_to([2, 2, 3, 4]), lambda v: np.broadcast_to(v, (2, 2, 3, 4))),
    "clone": (lambda x: x.clone(), lambda v: v),
    "astype": (lambda x: x.astype("float64"), lambda v: v),
    "cast": (lambda x: x.cast(mt.float64), lambda v: v),
    "reshape of a transposed": (lambda x: x.T.reshape([6, 4]), lambda v: v.T.reshape(6, 4)),
    "flatten of a reversed": (lambda x: x[:, ::-1].flatten(), lambda v: v[:, ::-1].reshape(-1)),
    "concat": (lambda x: mt.concat([x, x], 1), lambda v: np.concatenate([v, v], 1)),
    "concat one": (lambda x: mt.concat([x]), lambda v: v),
    "stack": (lambda x: mt.stack([x, x[::-1]], -1), lambda v: np.stack([v, v[::-1]], -1)),
    "list index": (lambda x: x[[1, 0]], lambda v: v[[1, 0]]),
    "bool index": (lambda x: x[[True, False]], lambda v: v[[True, False]]),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_has_a_new_storage(name: str):
    make, reference = COPIES[name]
    x = mt.to_tensor(CUBE)
    made = make(x)
    np.testing.assert_array_equal(made.numpy(), reference(CUBE))
    assert made.shape == list(reference(CUBE).shape)
    made.fill_(-1.0)
    np.testing.assert_array_equal(x.numpy(), CUBE)
    assert made.inplace_version == 1 and x.inplace_version == 0


@pytest.mark.parametrize("name", COPIES)
def test_the_gradient_through_a_copy_agrees_with_central_differences(name: str):
    make, reference = COPIES[name]
    w = leaf_like(CUBE)
    expect_gradients(lambda moved: np.array(reference(moved)), [w], make(w * 1))


@pytest.mark.parametrize("name", COPIES)
def test_the_gradient_through_a_copy_is_right_if_the_original_is_overwritten(name: str):
    make, reference = COPIES[name]
    w = leaf_like(CUBE)
    x = w * 1
    made = make(x)
    x.zero_()
    made.scale_(2.0)
    expect_gradients(lambda moved: 2 * np.array(reference(moved)), [w], made)


def test_concat_and_stack_promote_mixed_dtypes():
    x, y = mt.ones([2]), mt.to_tensor([1, 2])
    assert mt.concat([x, y]).dtype == "float32" and mt.stack([y, y]).dtype == "int64"
    assert mt.concat([x, mt.ones([1], "float64")]).dtype == "float64"
    w = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    mt.concat([w, mt.ones([1], "float64")]).sum().backward()
    assert w.grad.dtype == "float32" and w.grad.tolist() == [1, 1]


# ---------- contiguity, view() ----------


def test_is_contiguous_is_true_in_row_major_order():
    x = mt.to_tensor(CUBE)
    assert x.is_contiguous() and x[1].is_contiguous() and x.reshape([6, 4]).is_contiguous()
    assert not x.T.is_contiguous() and not x[:, ::2].is_contiguous() and not x[:, :, 1:].is_contiguous()
    assert x.T.clone().is_contiguous()


def test_view_refuses_a_shape_that_needs_a_copy():
    x = mt.to_tensor(CUBE)
    with pytest.raises(ValueError, match=r"can not be viewed, please call reshape.*\[4, 3, 2\].*\[1, 4, 12\].*\[24\]"):
        x.T.view([24])
    assert x.T.view([4, 3, 1, 2]).shape == [4, 3, 1, 2]


def test_as_strided_stays_inside_the_memory_of_its_tensor():
    x = mt.to_tensor(np.arange(6.0))
    for shape, strides, offset in (([7], [1], 0), ([2], [6], 0), ([2], [-1], 0), ([1], [1], 6), ([1], [1], -1)):
        with pytest.raises(ValueError, match=r"as_strided.*reaches.*from element 0 to 5"):
            x.as_strided(shape, strides, offset)
    assert x.as_strided([0], [100], 0).shape == [0]
    assert x[2:4].as_strided([6], [1], 0).tolist() == x.tolist(), (
        "as_strided of a view should reach all elements of the base"
    )


def test_a_cell_that_as_strided_shows_twice_gets_the_sum_of_both_gradients():
    w = leaf_like(np.array([1.0, 2.0, 3.0]))
    x = w * 1
    windows = x.as_strided([2, 2], [1, 1], 0)
    assert windows.tolist() == [[1, 2], [2, 3]]
    windows.backward(mt.to_tensor([[1.0, 10.0], [100.0, 1000.0]], "float64"))
    assert w.grad.tolist() == [1, 110, 1000]


def test_a_write_to_the_diagonal_of_an_overlapping_view_succeeds():
    x = mt.zeros([3], "float64")
    diagonal = x.as_strided([2, 2], [1, 0], 0).diagonal()
    diagonal.add_(1.0)
    assert x.tolist() == [1, 1, 0]


# ---------- zero dimensions, zero elements ----------


@pytest.mark.parametrize("index", [slice(3, 3), slice(4, None), slice(2, 1), [], slice(0, 0)], ids=str)
def test_views_of_no_elements_can_be_read_and_written(index):
    w = leaf_like(SQUARE)
    x = w * 1
    nothing = x[index]
    nothing.sin_()
    nothing.add_(1.0)
    x[index] = 5.0
    x[index, 1:] = 5.0
    x[index][:, 1:].scale_(2.0)
    assert nothing.shape == [0, 3] and nothing.numpy().size == 0
    expect_gradients(lambda moved: moved, [w], x)


def test_a_tensor_without_dimensions_can_have_views():
    w = leaf_like(np.array(2.0))
    x = w * 1
    x.unsqueeze(0).sin_()
    x.unsqueeze([0, 1])[0].scale_(3.0)
    x[...].add_(1.0)
    np.testing.assert_allclose(x.item(), 3 * np.sin(2) + 1)
    expect_gradients(lambda moved: 3 * np.sin(moved) + 1, [w], x)


# ---------- shapes in place ----------

IN_PLACE = {
    "reshape_": (lambda x: x.reshape_([4, -1]), lambda v: v.reshape(4, 6)),
    "transpose_": (lambda x: x.transpose_([1, 2, 0]), lambda v: v.transpose(1, 2, 0)),
    "unsqueeze_": (lambda x: x.unsqueeze_(-1), lambda v: v[..., None]),
    "flatten_": (lambda x: x.flatten_(0, 1), lambda v: v.reshape(6, 4)),
    "squeeze_": (lambda x: x.unsqueeze_([0, 2]).squeeze_(), lambda v: v),
    "t_": (lambda x: x.reshape_([2, 12]).t_(), lambda v: v.reshape(2, 12).T),
}


@pytest.mark.parametrize("which", ["base", "view", "tensor without views"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_writes_are_still_shared_after_a_base_or_a_view_changed_its_shape(name: str, which: str):
    change, reference = IN_PLACE[name]
    w = leaf_like(CUBE)
    base = w * 1
    x = base[...] if which == "view" else base
    other = None if which == "tensor without views" else base[0]
    change(x)
    x.sin_()
    if other is not None:
        np.testing.assert_allclose(other.numpy(), np.sin(CUBE[0]))
        other.scale_(3.0)

    def written(moved: np.ndarray) -> np.ndarray:
        moved = np.sin(moved)
        if which != "tensor without views":
            moved[0] *= 3
        return reference(moved)

    np.testing.assert_allclose(x.numpy(), written(CUBE))
    expect_gradients(written, [w], x)


@pytest.mark.parametrize("function", [lambda x: x.reshape([1, 1]), lambda x: x.reshape([-1]), lambda x: x.flatten()])
def test_reshape_copies_a_number_that_gets_dimensions_as_paddle_does(function):
    w = mt.to_tensor(3.0, stop_gradient=False)
    x = w * 2
    copy = function(x)
    x.fill_(5.0)
    assert copy.numpy().item() == 6.0 and x.reshape([])._storage is x._storage
    with pytest.raises(ValueError, match="can not be viewed, please call reshape"):
        x.view([1])
    copy.sum().backward()
    assert w.grad.item() == 2.0
