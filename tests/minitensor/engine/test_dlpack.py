"""Test that DLPack shares memory with numpy and, if they are installed, with torch, CuPy and Paddle."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.sharing.dlpack import _HAS_VERSIONS, from_dlpack
from minitensor.engine.sharing.numpy_memory import is_shared
from tests.support.engine.memory import allocated, leaf

pytestmark = pytest.mark.cpu_only
needs_versions = pytest.mark.skipif(not _HAS_VERSIONS, reason="this numpy has only capsules without a version")


def numpys() -> Any:
    return SimpleNamespace(
        made=lambda: np.arange(6.0).reshape(2, 3),
        address=lambda a: a.ctypes.data,
        write=lambda a: a.__setitem__((0, 0), -5.0),
        plain=lambda a: a.tolist(),
        take=np.from_dlpack,
        may_write=np.lib.NumpyVersion(np.__version__)
        >= "2.2.0",  # earlier versions of numpy treat all capsules as read-only
    )


def torchs() -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return SimpleNamespace(
        made=lambda: torch.arange(6.0, dtype=torch.float64).reshape(2, 3),
        address=lambda t: t.data_ptr(),
        write=lambda t: t[0].__setitem__(0, -5.0),
        plain=lambda t: t.tolist(),
        take=torch.from_dlpack,
        may_write=True,
    )


def paddles() -> Any:
    paddle = pytest.importorskip("paddle", reason="Paddle is not installed")
    return SimpleNamespace(
        made=lambda: paddle.arange(6, dtype="float64").reshape([2, 3]),
        address=lambda t: t.data_ptr(),
        write=lambda t: t.__setitem__((0, 0), -5.0),
        plain=lambda t: t.tolist(),
        take=lambda x: paddle.utils.dlpack.from_dlpack(x.__dlpack__()),
        may_write=True,
    )


libraries = pytest.mark.parametrize("library", [numpys, torchs, paddles], ids=["numpy", "torch", "paddle"])


# ---------- exports and imports without a copy ----------


@libraries
def test_another_library_shares_the_memory_of_a_tensor(library: Callable[[], Any]):
    other = library()
    x = mt.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float64")
    theirs = other.take(x)
    assert other.address(theirs) == x.data_ptr() and is_shared(x._storage)
    if other.may_write:
        other.write(theirs)
        assert x.tolist() == [[-5, 2, 3], [4, 5, 6]] and x.inplace_version == 0
    x[0, 0] = -5.0
    x.multiply_(2.0)
    assert other.plain(theirs) == [[-10, 4, 6], [8, 10, 12]]
    part = other.take(x[:, ::2])
    assert other.plain(part) == [[-10, 6], [8, 12]] and other.address(part) == x.data_ptr()


@libraries
def test_a_tensor_shares_the_memory_of_another_library(library: Callable[[], Any]):
    other = library()
    theirs = other.made()
    before = allocated()
    x = mt.from_dlpack(theirs)
    assert x.data_ptr() == other.address(theirs) and x.shape == [2, 3] and x.dtype == "float64"
    assert x.stop_gradient and allocated() == before, "memory that another library allocated should not be counted"
    other.write(theirs)
    assert x[0, 0].item() == -5
    again = mt.from_dlpack(theirs)
    assert again._storage is x._storage
    if x.numpy(share=True).flags.writeable:
        x.multiply_(2.0)
        assert other.plain(theirs) == [[-10, 2, 4], [6, 8, 10]] and again.inplace_version == 1


@libraries
def test_a_tensor_exported_to_another_library_and_imported_again_keeps_its_storage(library: Callable[[], Any]):
    x = mt.to_tensor([[1.0, 2.0], [3.0, 4.0]], "float64")
    back = mt.from_dlpack(library().take(x))
    assert back._storage is x._storage and back.data_ptr() == x.data_ptr()


@libraries
def test_the_memory_lives_as_long_as_the_other_library_uses_it(library: Callable[[], Any], base: int):
    other = library()
    gc.collect()
    start = allocated()
    x = mt.full([512], 7.0, "float64")
    storage = weakref.ref(x._storage)
    theirs = other.take(x)
    del x
    assert allocated() == start + 4096 and other.plain(theirs) == [7] * 512
    del theirs
    gc.collect()
    assert storage() is None and allocated() == start


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", [[], [0], [2, 0, 3], [3], [2, 3]], ids=str)
def test_an_export_and_import_keep_every_dtype_and_shape(dtype: str, shape: list[int]):
    x = mt.ones(shape).astype(dtype)
    array = np.from_dlpack(x)
    back = mt.from_dlpack(array)
    assert array.dtype == dtype and list(array.shape) == shape and back.tolist() == x.tolist()
    assert back.dtype == dtype and (not x.size or back.data_ptr() == x.data_ptr())


def test_cupy_shares_memory_if_it_is_installed():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if not cupy.cuda.is_available():
        pytest.skip("there is no CUDA device")
    with pytest.raises(BufferError, match="CUDA device"):
        mt.from_dlpack(cupy.ones(3))
    mt.set_device("gpu:0")
    x = mt.ones([3])
    for theirs in (cupy.from_dlpack(x), cupy.asarray(x)):
        assert theirs.data.ptr == x.data_ptr()
        theirs += 1
    assert x.tolist() == [3, 3, 3] and is_shared(x._storage)


# ---------- capsules ----------


def test_a_capsule_has_a_version_if_the_consumer_can_read_versions():
    x = mt.ones([2])
    assert '"dltensor"' in repr(x.__dlpack__()) and '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    newer = repr(x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False))
    assert ("dltensor_versioned" in newer) is _HAS_VERSIONS
    assert x.__dlpack_device__() == (1, 0)


def test_a_capsule_that_is_never_consumed_releases_its_memory():
    x = mt.ones([2])
    capsule = x.__dlpack__()
    assert is_shared(x._storage)
    del capsule
    assert not is_shared(x._storage)


def test_a_bare_capsule_can_be_consumed_only_once():
    x = mt.to_tensor([1.0, 2.0])
    capsule = x.__dlpack__()
    assert from_dlpack(capsule).data_ptr() == x.data_ptr()
    with pytest.raises((BufferError, ValueError), match=r"."):
        from_dlpack(capsule)


def test_an_export_with_copy_true_shares_no_memory():
    x = mt.to_tensor([1.0, 2.0])
    if _HAS_VERSIONS:
        copy = np.from_dlpack(x, copy=True)
        assert copy.ctypes.data != x.data_ptr() and not is_shared(x._storage)
    capsule = x.__dlpack__(copy=True)
    assert from_dlpack(capsule).data_ptr() != x.data_ptr()


def test_an_export_with_copy_false_shares_memory():
    x = mt.to_tensor([1.0, 2.0])
    if _HAS_VERSIONS:
        assert np.from_dlpack(x, copy=False).ctypes.data == x.data_ptr()
    assert from_dlpack(x.__dlpack__(copy=False)).data_ptr() == x.data_ptr()


class Producer:
    """An exporter of memory as another library might define it."""

    def __init__(self, array: np.ndarray, version: tuple[int, int] | None = None, device: int = 1) -> None:
        self.array, self.device, self.version = array, device, version

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__(**({} if self.version is None else {"max_version": self.version}))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_imported_memory_that_may_be_read_only_cannot_be_written():
    array = np.ones(3)
    x = mt.from_dlpack(Producer(array))
    assert x.data_ptr() == array.ctypes.data
    with pytest.raises(RuntimeError, match="Nothing was written"):
        x.add_(1.0)


@needs_versions
def test_imports_and_exports_keep_the_read_only_flag():
    array = np.ones(3)
    array.flags.writeable = False
    x = mt.from_dlpack(Producer(array, (1, 0)))
    with pytest.raises(RuntimeError, match="Nothing was written"):
        x.add_(1.0)
    assert not np.from_dlpack(x).flags.writeable
    with pytest.raises(BufferError, match=r"read-only.*x\.clone\(\)"):
        x.__dlpack__()
    assert x.clone().__dlpack__()


# ---------- refusals ----------


def test_a_tensor_that_requires_a_gradient_is_not_exported():
    w = leaf([2])
    for x in (w, w * 2):
        with pytest.raises(BufferError, match=r"requires a gradient.*x\.detach\(\)"):
            np.from_dlpack(x)
        assert np.from_dlpack(x.detach()).ctypes.data == x.data_ptr()


def test_a_tensor_on_a_simulated_gpu_is_not_exported():
    x = mt.ones([2]).cuda()
    if x.place != "Place(gpu:sim)":
        pytest.skip("there is a CUDA device")
    for ask in (np.from_dlpack, mt.from_dlpack, lambda t: t.__dlpack__(), lambda t: t.__dlpack_device__()):
        with pytest.raises(BufferError, match=r"simulated GPU.*x\.cpu\(\)"):
            ask(x)
    assert not hasattr(x, "__cuda_array_interface__")
    assert np.from_dlpack(x.cpu()).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ([1.0], TypeError, "not list"),
        (Producer(np.ones(2), device=2), BufferError, "CUDA device"),
        (Producer(np.ones(2, np.uint16)), TypeError, "dtype uint16"),
        (Producer(np.ones(2, np.complex64)), TypeError, "dtype complex64"),
        (np.ones(2, ">f4"), TypeError, "dtype >f4"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_from_dlpack_refuses_memory_that_it_cannot_share(source: Any, error: type[Exception], words: str):
    with pytest.raises(error, match=f"from_dlpack.*{words}"):
        mt.from_dlpack(source)


def test_a_tensor_on_the_host_refuses_an_export_to_another_device_or_stream():
    with pytest.raises(BufferError, match=r"\(1, 0\), not \(2, 0\)"):
        mt.ones([2]).__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream must be None, not 3"):
        mt.ones([2]).__dlpack__(stream=3)


# ---------- the CUDA array interface ----------


def test_a_tensor_on_a_cuda_device_exports_the_interface_of_its_array():
    """The array is a fake of a CUDA device's array."""
    x = mt.ones([2])
    assert not hasattr(x, "__cuda_array_interface__")
    reported = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}
    array = SimpleNamespace(
        __cuda_array_interface__=reported, dtype=np.dtype("float32"), shape=(2,), gpu=SimpleNamespace(name="gpu:0")
    )
    array.nbytes = 8
    on_device = mt.Tensor._made(array)
    assert on_device.__cuda_array_interface__ == reported and is_shared(on_device._storage)
    on_device.stop_gradient = False
    with pytest.raises(RuntimeError, match=r"x\.detach\(\)"):
        on_device.__cuda_array_interface__  # noqa: B018
