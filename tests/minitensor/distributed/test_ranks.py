"""Test several processes: reductions, training one network together, and errors that name the rank at fault."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor import distributed as dist
from minitensor.distributed import nccl
from minitensor.engine.device.arrays import GPU_OF_TYPE
from tests.support.distributed.programs import numbers
from tools.build import ROOT

LIMIT = 200  # seconds after which the ranks are terminated; this is long, because the machine may be busy
CLOSE = 1e-6  # the largest allowed difference of float64 numbers, relative or absolute


def mpiexec() -> str | None:
    """Return the path of mpiexec, preferably that of this Python environment; None if there is no mpiexec."""
    return shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Run all programs in one job of mpiexec, and return for each program a list with one result per rank."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install mpi4py mpich")
    command = mpiexec()
    if command is None:
        pytest.skip("there is no mpiexec: pip install mpich")
    if importlib.util.find_spec("sklearn") is None:
        pytest.skip("the networks learn digits of scikit-learn, which is not installed")
    file = tmp_path_factory.mktemp("ranks") / "results.json"
    one_core = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [command, "-n", "4", sys.executable, "-m", "tests.support.distributed.programs", str(file)],
        cwd=ROOT,
        env={**os.environ, **one_core},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    try:
        printed, _ = process.communicate(timeout=LIMIT)
    finally:
        process.terminate()  # mpiexec ends its ranks
        process.wait()
    assert process.returncode == 0, printed
    return json.loads(file.read_text(encoding="utf-8"))


# ---- reductions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize(
    "op, combined", [("sum", np.sum), ("max", np.max), ("min", np.min), ("prod", np.prod), ("avg", np.mean)]
)
def test_every_rank_computes_the_same_reduction_as_numpy(results, op, combined, device):
    right = combined([numbers(rank) for rank in range(4)], axis=0)
    for found in results["all_reduce_4"]:
        values, is_itself, version = found[f"{op} {device}"]
        np.testing.assert_allclose(values, right, rtol=1e-12)
        assert is_itself
        assert version == 1


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_a_reduction_through_a_view_sums_only_the_cells_of_the_view(results, device):
    for rank, found in enumerate(results["all_reduce_4"]):
        right = numbers(rank)
        right[:, 1:] = sum(numbers(other)[:, 1:] for other in range(4))
        assert found[f"part {device}"] == [right.tolist(), 1]


def test_all_ranks_have_the_broadcast_values(results):
    for values, version, error in results["broadcast_4"]:
        assert values == numbers(2).tolist()
        assert version == 1
        assert error == ["ValueError", "broadcast: src must be a rank, from 0 to 3, not 4"]


def test_backward_notices_that_an_all_reduce_overwrote_saved_values(results):
    for found in results["refused_2"]:
        assert found["summed"] == [4.0, 4.0, 4.0]
        kind, text = found["stale"]
        assert kind == "RuntimeError"
        assert "overwritten: by all_reduce" in text


@pytest.mark.parametrize(
    "case, kind, words",
    [
        ("wants", "RuntimeError", "sum_over_ranks"),
        ("truth", "TypeError", "bools are not numbers"),
        ("number", "TypeError", "not float"),
        ("unknown", "ValueError", "'median'"),
        ("counts", "TypeError", "average of int64"),
    ],
)
def test_a_tensor_that_cannot_be_reduced_is_refused(results, case, kind, words):
    for found in results["refused_2"]:
        assert found[case][0] == kind
        assert words in found[case][1]
        assert found["untouched"] == [2.0, 2.0, 2.0]


def test_the_error_about_an_all_reduce_of_different_shapes_names_the_ranks_and_nothing_is_written(results):
    for rank, (error, values, version) in enumerate(results["other_shapes_4"]):
        assert error[0] == "ValueError"
        assert "ranks 0, 1 and 2: all_reduce of [3] float64" in error[1]
        assert "rank 3: all_reduce of [2] float64" in error[1]
        assert values == [1.0] * (2 if rank == 3 else 3)
        assert version == 0


def test_the_error_names_the_rank_that_calls_another_function(results):
    for kind, text in results["other_calls_4"]:
        assert kind == "ValueError"
        assert "rank 1: broadcast of [3] float64" in text


def test_the_error_names_the_rank_that_makes_no_call_and_no_other_rank_hangs(results):
    for rank, found in enumerate(results["one_is_missing_4"]):
        if rank != 2:
            (kind, text), values, version, _ = found
            assert kind == "RuntimeError"
            assert "rank 2 did not arrive" in text
            assert (values, version) == ([1.0, 1.0, 1.0], 0)


def test_gradients_flow_through_a_sum_over_ranks(results):
    both = numbers(0) + numbers(1)
    for rank, (values, gradient, second, unchanged) in enumerate(results["sum_with_gradient_2"]):
        assert values == both.tolist()
        assert gradient == ((1.0 + 2.0) * 2 * both).tolist()  # the losses of the two ranks have the factors 1 and 2
        # Each rank differentiates both**3. The gradient is summed over the two ranks: 2 * 3 * both**2. The gradient of
        # this gradient is summed over the ranks again.
        assert second == (2 * 2 * 6 * both).tolist()
        assert unchanged == numbers(rank).tolist()


# ---- training --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["training_2", "training_on_four_4"])
def test_ranks_that_average_their_gradients_train_the_same_network_as_one_process(results, program):
    for found in results[program]:
        assert found["difference"] < CLOSE
        assert found["losses"] < CLOSE
        assert found["falls"] < 0.9  # the ratio of the last loss to the first


@pytest.mark.parametrize("program", ["training_2", "training_on_four_4"])
def test_batch_normalization_on_ranks_equals_one_process_only_if_it_is_synchronised(results, program):
    for found in results[program]:
        assert found["synchronised"] < CLOSE
        assert found["lenet"] < CLOSE
        assert found["apart"] > 1e-2


def test_synchronised_batch_normalization_allows_batches_of_different_sizes(results):
    for differences in results["shares_of_several_sizes_2"]:
        assert max(differences) < 1e-12


# ---- the rank that differs -------------------------------------------------------------------------------------------


def test_every_rank_names_the_rank_with_an_extra_write(results):
    for ranks, parameter, text in results["who_differs_4"]:
        assert (ranks, parameter) == ([2], "2.weight")
        assert "rank 2 differs" in text
        assert "an in-place operation ran on some ranks only" in text


def test_the_rank_with_more_writes_is_named_if_there_are_two_ranks(results):
    for (ranks, parameter, _), (either, _, text) in results["who_of_two_differs_2"]:
        assert (ranks, parameter) == ([1], "2.weight")
        assert either == [0, 1]
        assert "it cannot be decided which of them is right" in text
        assert "one of the writes, or the initial values, differed" in text


def test_a_checksum_depends_on_every_bit_the_shape_and_the_dtype():
    x = mt.to_tensor([[1.0, 2.0]])
    others = [mt.to_tensor([[1.0, np.nextafter(np.float32(2.0), np.float32(3.0))]]), x.t(), x.astype("float64")]
    assert dist.checksum(x) == dist.checksum(x.clone())
    assert len({dist.checksum(each) for each in (x, *others)}) == 4
    assert len(dist.checksum(x)) == 16


# ---- without other ranks ---------------------------------------------------------------------------------------------


def test_a_call_that_needs_other_ranks_raises_before_init_parallel_env():
    assert (dist.get_rank(), dist.get_world_size(), dist.is_initialized()) == (0, 1, False)
    for call in (lambda: dist.all_reduce(mt.ones([1])), dist.barrier, lambda: dist.check_equal([mt.ones([1])])):
        with pytest.raises(RuntimeError, match="init_parallel_env"):
            call()
    with pytest.raises(RuntimeError, match="init_parallel_env"):
        mt.nn.SyncBatchNorm(2)(mt.ones([3, 2]))


def test_init_parallel_env_names_the_missing_package_or_the_wrong_argument(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match="pip install mpi4py mpich"):
        dist.init_parallel_env()
    with pytest.raises(ValueError, match="'gloo'"):
        dist.init_parallel_env(backend="gloo")
    with pytest.raises(ValueError, match="above 0"):
        dist.init_parallel_env(timeout=0)
    with pytest.raises(TypeError, match=r"init_parallel_env: timeout .* such as 60, not.*soon"):
        dist.init_parallel_env(timeout="soon")


def test_mpi4py_is_not_imported_before_init_parallel_env():
    program = "import sys; from minitensor import distributed, nn; nn.SyncBatchNorm; print('mpi4py' in sys.modules)"
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip() == "False"


# ---- on CUDA devices -------------------------------------------------------------------------------------------------

ON_DEVICES = """
import json, sys
from mpi4py import MPI
import cupy
import minitensor as mt
from minitensor import distributed as dist
from minitensor.engine.device.arrays import GPU_OF_TYPE
from minitensor.distributed import nccl
rank = MPI.COMM_WORLD.rank
cupy.cuda.Device(rank).use()
mt.set_device(f"gpu:{rank}")
dist.init_parallel_env(backend=sys.argv[1])
x = mt.to_tensor([1.0 + rank, 2.0])
dist.all_reduce(x)
print(json.dumps([x.tolist(), x.inplace_version]))
"""


@pytest.mark.parametrize("backend", ["nccl", "mpi"])
def test_arrays_of_cuda_devices_are_reduced(backend):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no CUDA device answers: {error}")
    command = mpiexec()
    if command is None:
        pytest.skip("there is no mpiexec: pip install mpich")
    program = [command, "-n", str(count), sys.executable, "-c", ON_DEVICES, backend]
    printed = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT, timeout=LIMIT).stdout
    right = [[sum(1.0 + rank for rank in range(count)), 2.0 * count], 1]
    assert [json.loads(line) for line in printed.splitlines() if line.startswith("[")] == [right] * count


class OfDevice:
    """The part of a CuPy array that NCCL uses."""

    dtype, size, nbytes = np.dtype(np.float32), 3, 12
    data = SimpleNamespace(ptr=4096)


class Nccl:
    """A fake of CuPy's `NcclCommunicator` that records its calls."""

    def __init__(self, *given: Any) -> None:
        self.calls: list[Any] = [given]

    def allReduce(self, send: int, receive: int, count: int, dtype: int, op: int, stream: int) -> None:
        self.calls.append(("allReduce", send, receive, count, dtype, op, stream))

    def broadcast(self, send: int, receive: int, count: int, dtype: int, root: int, stream: int) -> None:
        self.calls.append(("broadcast", send, receive, count, dtype, root, stream))


class OneOfTwo:
    """A fake of `Mpi` for the second of two ranks."""

    rank, size = 1, 2

    def gather(self, value: Any, what: str) -> list[Any]:
        return ["the id of rank 0", value]

    def barrier(self, what: str) -> None:
        pass


def test_nccl_reduces_in_place(monkeypatch):
    """The communicator is a fake. The numbers for float32 and max are those of `nccl.h`."""
    modules = SimpleNamespace(NcclCommunicator=Nccl, get_unique_id=lambda: "an id")
    cuda = SimpleNamespace(nccl=modules, get_current_stream=lambda: SimpleNamespace(ptr=7))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setitem(GPU_OF_TYPE, OfDevice, object())
    link = nccl.Nccl(OneOfTwo())
    link.all_reduce(OfDevice(), "max", "all_reduce")
    link.broadcast(OfDevice(), 0, "broadcast")
    assert link._nccl.calls == [
        (2, "the id of rank 0", 1),
        ("allReduce", 4096, 4096, 3, 7, 2, 7),
        ("broadcast", 4096, 4096, 3, 7, 0, 7),
    ]
    with pytest.raises(TypeError, match="on a CUDA device"):
        link.all_reduce(np.zeros(3, np.float32), "sum", "all_reduce")
