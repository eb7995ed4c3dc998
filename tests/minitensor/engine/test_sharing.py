"""Test memory shared with numpy by from_numpy and numpy(share=True): lifetimes, counted bytes and refusals."""

from __future__ import annotations

import gc
import mmap
import weakref

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.sharing.numpy_memory import is_shared
from tests.support.engine.memory import KIB, allocated, leaf

pytestmark = pytest.mark.cpu_only


def ptr(array: np.ndarray) -> int:
    return array.ctypes.data


# ---------- functions that share and functions that copy ----------

CUBE = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = {
    "contiguous": lambda a: a,
    "a part": lambda a: a[1:, 1:3],
    "every other column": lambda a: a[..., ::2],
    "reversed": lambda a: a[::-1, :, ::-2],
    "transposed": lambda a: a.T,
    "a diagonal": lambda a: np.einsum("iij->ij", a[:, :2]),
    "0-d": lambda a: a[1, 2, 3, ...],
    "no elements": lambda a: a[:, :0],
    "a new dimension": lambda a: a[:, None],
}


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tensor_shares_the_memory_of_the_array_that_it_was_made_from(layout: str, dtype: str):
    array = LAYOUTS[layout](CUBE.astype(dtype))
    x = mt.from_numpy(array)
    assert x.data_ptr() == ptr(array) and x.stop_gradient and x.is_leaf and x.place == "Place(cpu)"
    assert x.shape == list(array.shape) and x.dtype == dtype and x.inplace_version == 0
    assert all(
        n == 1 or got == step // array.itemsize for n, got, step in zip(x.shape, x.strides, array.strides, strict=True)
    )
    array[...] = 1
    assert x.tolist() == array.tolist()
    x[...] = 0
    assert x.inplace_version == 1 and not array.any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_shares_the_memory_of_the_tensor_that_exported_it(layout: str):
    x = mt.to_tensor(CUBE)
    x = mt.from_numpy(LAYOUTS[layout](x.numpy(share=True)))  # a view of the tensor's memory in this layout
    array = x.numpy(share=True)
    assert ptr(array) == x.data_ptr() and list(array.shape) == x.shape and array.flags.writeable
    array[...] = -1
    assert x.tolist() == array.tolist() and x.inplace_version == 0
    x.fill_(5.0)
    assert (array == 5).all()


def test_memory_is_copied_except_by_from_numpy_and_by_numpy_with_share_true():
    x = mt.to_tensor(CUBE)
    shared = x.numpy(share=True)
    for copy in (x.numpy(), x.numpy(share=False), np.asarray(x), np.array(x), np.array([x])[0], x.detach().numpy()):
        assert not np.shares_memory(copy, shared)
    for made in (mt.to_tensor(shared), mt.to_tensor(x), x + shared * 0, x.clone()):
        assert not np.shares_memory(made.numpy(share=True), shared)


def test_a_tensor_has_no_protocol_by_which_numpy_could_share_its_memory():
    x = mt.to_tensor([1.0, 2.0])
    for name in ("__array_interface__", "__array_struct__", "__buffer__", "__cuda_array_interface__"):
        assert not hasattr(x, name)
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(x)
    with pytest.raises(ValueError, match=r"numpy\(share=True\)"):
        np.asarray(x, copy=False)


def test_tensor_and_array_on_shared_memory_have_their_own_shape_and_flags():
    array = np.arange(6.0)
    x = mt.from_numpy(array)
    array.shape = (2, 3)
    array.flags.writeable = False
    assert x.shape == [6] and x.add_(1.0).tolist() == [1, 2, 3, 4, 5, 6]
    lent = x.numpy(share=True)
    lent.shape = (3, 2)
    lent.flags.writeable = False
    assert x.shape == [6] and x.add_(1.0).tolist() == [2, 3, 4, 5, 6, 7]


def test_the_owner_of_shared_memory_cannot_resize_it():
    array, backing = np.arange(4.0), bytearray(32)
    x, y = mt.from_numpy(array), mt.from_numpy(np.frombuffer(backing))
    with pytest.raises(ValueError, match="resize"):
        array.resize(100)
    with pytest.raises(BufferError):
        backing.extend(b"more")
    y.fill_(1.0)
    assert np.frombuffer(bytes(backing)).tolist() == [1] * 4
    del x, y
    array.resize(100)
    backing.extend(b"more")


def test_memory_of_files_and_buffers_can_be_shared_through_arrays(tmp_path):
    file = tmp_path / "numbers"
    file.write_bytes(np.arange(8.0).tobytes())
    mapped = np.memmap(file, np.float64, "r+")
    x = mt.from_numpy(mapped[2:])
    del mapped
    x.add_(0.5)
    assert np.fromfile(file).tolist() == [0, 1, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]
    pages = mmap.mmap(-1, 4096)
    y = mt.from_numpy(np.frombuffer(pages, np.float32))
    y[3] = 7.0
    assert np.frombuffer(pages[12:16], np.float32)[0] == 7
    with pytest.raises(BufferError):
        pages.close()
    matrix = mt.from_numpy(np.ones([1, 2]).view(np.matrix) * 2)
    assert (matrix * matrix).tolist() == [[4, 4]], (
        "the product should be computed element by element, because a tensor is no matrix"
    )


def test_a_borrowed_array_whose_elements_share_memory_is_read_only():
    array = np.arange(4.0)
    x = mt.from_numpy(np.lib.stride_tricks.as_strided(array, (3, 2), (8, 8)))
    with pytest.raises(RuntimeError, match="Nothing was written"):
        x.add_(1.0)
    assert not x.numpy(share=True).flags.writeable and array.tolist() == [0, 1, 2, 3]


# ---------- each piece of memory has one storage ----------


def test_memory_that_is_shared_twice_has_one_storage_and_one_version():
    array = np.arange(6.0)
    x, part = mt.from_numpy(array), mt.from_numpy(array[2:4])
    assert part._storage is x._storage and part.offset == 2
    w = leaf([6])
    y = w * x
    part.add_(1.0)
    with pytest.raises(RuntimeError, match="add_, which made version 1"):
        y.sum().backward()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_part_may_be_shared_before_the_whole_if_the_owner_is_known(dtype: str):
    array, backing = np.arange(6).astype(dtype), bytearray(32)
    part = mt.from_numpy(array[2:4])
    assert mt.from_numpy(array[::-1])._storage is part._storage and part.offset == 2
    part = mt.from_numpy(np.frombuffer(backing, dtype, 2, 8))
    assert mt.from_numpy(np.frombuffer(backing, dtype))._storage is part._storage


def test_a_tensor_that_comes_back_from_numpy_has_its_original_storage():
    x = mt.to_tensor([1.0, 2.0, 3.0])
    back = mt.from_numpy(x.numpy(share=True)[1:])
    assert back._storage is x._storage and back.offset == 1
    back.add_(1.0)
    assert x.inplace_version == 1 and x.tolist() == [1, 3, 4]
    gc.collect()
    assert not is_shared(x._storage), "the memory should not be shared once no array outside of the engine uses it"


def test_sharing_that_would_split_a_memory_into_two_storages_is_refused():
    class Opaque:
        """Memory whose owner does not report its size."""

        def __init__(self, array: np.ndarray) -> None:
            self.kept, self.__array_interface__ = array, array.__array_interface__

    array = np.arange(6.0)
    part = mt.from_numpy(np.asarray(Opaque(array[2:4])))
    with pytest.raises(ValueError, match="a part of this memory is shared already"):
        mt.from_numpy(np.asarray(Opaque(array)))
    with pytest.raises(ValueError, match="dtype float64; the array has dtype int64"):
        mt.from_numpy(array[2:4].view(np.int64))
    assert mt.from_numpy(np.asarray(Opaque(array[4:])))._storage is not part._storage
    rest = mt.from_numpy(array[4:])
    assert rest._storage is not part._storage and mt.from_numpy(array[2:4])._storage is part._storage
    assert rest.offset == 0, "the new storage should begin after the part that is shared already"
    del rest
    del part
    assert mt.from_numpy(array.view(np.int64)).dtype == "int64", (
        "the dtype may change, because no tensor uses the memory any longer"
    )
    behind, in_front = (mt.from_numpy(np.asarray(Opaque(part))) for part in (array[4:], array[2:4]))
    assert in_front._storage is not behind._storage, "adjacent parts should have two storages"


# ---------- lifetimes and counted bytes ----------


def test_memory_of_a_tensor_is_counted_and_kept_as_long_as_an_array_uses_it(base: int):
    x = mt.ones([256])
    storage = weakref.ref(x._storage)
    array = x[128:].numpy(share=True)
    assert is_shared(x._storage) and allocated() == base + KIB
    del x
    view = array[1:]
    del array
    assert allocated() == base + KIB and is_shared(storage()) and view.tolist() == [1] * 127
    del view
    assert storage() is None and allocated() == base


def test_memory_of_an_array_is_not_counted_but_is_kept_as_long_as_a_tensor_uses_it(base: int):
    array = np.ones(4096)
    gone = weakref.ref(array)
    x = mt.from_numpy(array)
    view = x[10:20]
    assert allocated() == base and is_shared(x._storage)
    del array, x
    assert gone() is not None and view.tolist() == [1] * 10 and allocated() == base
    copy = mt.to_tensor(view)
    assert allocated() == base + 80
    del view
    assert gone() is None and copy.tolist() == [1] * 10


def test_copies_and_views_of_a_tensor_do_not_mark_its_memory_as_shared():
    x = mt.ones([3])
    (x.numpy(), np.asarray(x), x.tolist(), x.clone().numpy(share=True), x[1:])
    assert not is_shared(x._storage)


# ---------- gradients ----------


def test_a_leaf_may_use_the_memory_of_an_array():
    array = np.array([1.0, 2.0, 3.0])
    w = mt.from_numpy(array)
    w.stop_gradient = False
    (w * w).sum().backward()
    assert w.grad.tolist() == [2, 4, 6] and not np.shares_memory(w.grad.numpy(share=True), array)
    with mt.no_grad():
        w.subtract_(w.grad * 0.5)
    assert array.tolist() == [0, 0, 0]


def test_a_tensor_that_requires_a_gradient_can_be_shared_only_after_detach():
    w = leaf([2])
    for x in (w, w * 2, (w * 2)[0]):
        with pytest.raises(RuntimeError, match=r"x\.detach\(\)\.numpy\(share=True\)"):
            x.numpy(share=True)
        assert ptr(x.detach().numpy(share=True)) == x.data_ptr()
    with mt.no_grad(), pytest.raises(RuntimeError, match="requires a gradient"):
        w.numpy(share=True)


# ---------- refusals ----------


def misaligned() -> np.ndarray:
    return np.frombuffer(bytearray(20), np.float64, 2, 4)


REFUSED = [
    (lambda: [1.0, 2.0], TypeError, "not list; to_tensor copies"),
    (lambda: np.float32(1), TypeError, "not float32"),
    (lambda: mt.ones([2]), TypeError, "not Tensor"),
    (lambda: np.ma.array([1.0, 2.0], mask=[0, 1]), TypeError, r"masked.*\.data"),
    (lambda: np.rec.array([1.0, 2.0]), TypeError, r"recarray.*np\.asarray"),
    (lambda: np.ones(2, ">f8"), TypeError, "dtype >f8.*order.*to_tensor"),
    (lambda: np.ones(2, np.uint16), TypeError, "dtype uint16.*float32.*to_tensor"),
    (lambda: np.ones(2, np.complex64), TypeError, "dtype complex64"),
    (lambda: np.array([1, None]), TypeError, "dtype object"),
    (lambda: np.zeros(2, "f8,i4"), TypeError, r"dtype \[\("),
    (lambda: np.array(["2020-01-01"], "M8[D]"), TypeError, "dtype datetime64"),
    (lambda: np.zeros(2, "f8,i4")["f0"], ValueError, "aligned to their size.*8 bytes"),
    (misaligned, ValueError, "aligned to their size"),
]


@pytest.mark.parametrize(("make", "error", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_from_numpy_refuses_memory_that_it_cannot_share_and_says_why(make, error: type[Exception], words: str):
    before = allocated()
    with pytest.raises(error, match=f"from_numpy.*{words}"):
        mt.from_numpy(make())
    assert allocated() == before


def test_numbers_of_another_c_type_of_the_same_size_are_accepted():
    array = np.arange(3).astype(np.longlong)
    x = mt.from_numpy(array)
    x.add_(mt.ones([3], "int64"))
    assert array.tolist() == [1, 2, 3] and x.dtype == "int64"


def test_the_memory_of_a_gpu_is_not_shared_with_numpy():
    mt.set_device("gpu:sim")
    x = mt.ones([2])
    assert mt.from_numpy(np.ones(2)).place == "Place(cpu)", "the tensor should be on the host, where the array is"
    mt.set_device("cpu")
    with pytest.raises(TypeError, match=r"gpu:sim.*x\.cpu\(\)"):
        x.numpy(share=True)
    assert x.cpu().numpy(share=True).tolist() == [1, 1]
    with pytest.raises(TypeError, match="share must be True or False, not 'no'"):
        x.numpy(share="no")
