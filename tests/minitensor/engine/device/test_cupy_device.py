"""Test the search for a CUDA device, which runs once and explains why there is none, and the counters of a device."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.device import places
from minitensor.engine.device.arrays import address_of, gpu_of, owner_of, share_memory

pytestmark = pytest.mark.cpu_only

needs_cuda = pytest.mark.skipif(mt.device.cuda.device_count() == 0, reason="no CUDA device answers")


@pytest.fixture
def unsearched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the state after import: no search for a CUDA device yet, and no simulated GPU."""
    fresh = places.Current()
    monkeypatch.setattr(places, "current", fresh)


def python(program: str) -> str:
    """Return the output of a fresh interpreter."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_importing_the_package_imports_no_cupy() -> None:
    assert python("import sys, minitensor; print('cupy' in sys.modules)") == "False\n"


@pytest.mark.usefixtures("unsearched")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'cupy'", name="cupy"), "CuPy is not installed"),
        (ModuleNotFoundError("No module named 'fastrlock'", name="fastrlock"), "CuPy lacks fastrlock"),
        (
            ImportError("\n=====\nCuPy failed to load libnvrtc.so\n"),
            "CuPy does not load: CuPy failed to load libnvrtc.so",
        ),
        (RuntimeError(""), "CuPy does not load: RuntimeError"),
    ],
    ids=["no CuPy", "no package that CuPy needs", "no CUDA library", "error without a message"],
)
def test_the_first_set_device_explains_why_the_gpu_is_simulated(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "minitensor.engine.device.cuda_arrays":
                raise error

    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "minitensor.engine.device.cuda_arrays", raising=False)
    assert places.set_device("gpu") == "Place(gpu:sim)"
    assert f"no CUDA device answers ({reason}), so 'gpu' is a simulated GPU" in capsys.readouterr().err
    places.set_device("gpu")
    assert capsys.readouterr().err == "", "the message should be printed only once"


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_the_gpu_benchmark_refuses_to_run_without_a_cuda_device() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks.gpu"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "there is no CUDA device (CuPy is not installed), so nothing is measured or written" in done.stderr


# ---------- memory of arrays on a device ----------


def test_memory_is_compared_by_address_on_a_device() -> None:
    mt.set_device("gpu:sim", capacity="64 MiB")
    x = places.current.gpu.put(np.arange(24.0).reshape(4, 6).copy())
    assert share_memory(x[0], x[:, 1], 1000)
    assert not share_memory(x[0], x[1], 1000)
    assert not share_memory(x[::2], x[1::2], 1000), "the two views interleave without a common element"
    assert not share_memory(x[:, ::2], x[:, 1::2], 1000), "the two views interleave without a common element"
    assert address_of(x[1, 2:]) - address_of(x) == 8 * 8
    assert owner_of(x[1:, 2:]) is x


# ---------- on a CUDA device ----------


@pytest.fixture
def cuda() -> Any:
    """Select the CUDA device, and return it. Another fixture selects the host again after every test."""
    mt.set_device("gpu")
    return places.current.gpu


@needs_cuda
def test_a_tensor_on_a_cuda_device_has_a_cupy_array(cuda: Any) -> None:
    import cupy

    x = mt.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert type(x._array) is cupy.ndarray and gpu_of(x._array) is cuda
    assert x.place == "Place(gpu:0)" and "gpu:0" in repr(x)
    assert x[1:, 1:].offset == 3
    assert owner_of(cuda.strided(x._array.reshape(-1), 1, (2,), (8,))) is owner_of(x._array)


@needs_cuda
def test_the_memory_counters_agree_with_cupys_pool(cuda: Any) -> None:
    counters = mt.device.cuda
    counters.reset_peak_memory_stats()
    before = counters.memory_allocated()
    x = mt.zeros([1000], "float32")
    assert counters.memory_allocated() - before == 4096, "4000 bytes should be rounded up to a multiple of 512"
    y = x + 1.0
    assert counters.max_memory_allocated() - before >= 8192
    del x, y
    assert counters.memory_allocated() == before
    assert counters.memory_allocated() == cuda.pool.used_bytes()
    assert counters.memory_reserved() == cuda.pool.total_bytes()
    counters.empty_cache()
    assert counters.memory_reserved() == cuda.pool.total_bytes() <= counters.max_memory_reserved()


@needs_cuda
def test_the_out_of_memory_error_names_remedies(cuda: Any) -> None:
    import cupy

    _, capacity = cupy.cuda.runtime.memGetInfo()
    with pytest.raises(mt.device.OutOfMemoryError, match="What to try"):
        cuda._allocate(2 * capacity)


@needs_cuda
def test_memory_is_shared_with_cupy_without_a_copy(cuda: Any) -> None:
    import cupy

    x = mt.zeros([3])
    assert cupy.asarray(x).data.ptr == cupy.from_dlpack(x).data.ptr == x.data_ptr()
