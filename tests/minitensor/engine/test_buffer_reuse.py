"""Test that a large buffer is reused after the last array on it is freed, and that no result shows old numbers."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.device import host_buffer_cache
from minitensor.engine.device.host_buffer_cache import buffer_cache
from tests.support.engine.big import SIDE, kept_bytes, low_limits, matrix, off, spoil
from tests.support.engine.memory import allocated

pytestmark = pytest.mark.cpu_only

NBYTES = SIDE * SIDE * 4


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    with low_limits():
        yield


def made(seed: int = 0) -> mt.Tensor:
    """Return a tensor on a buffer that is large enough to be kept for reuse."""
    return mt.to_tensor(numbers(seed)) * 1.0


def numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((SIDE, SIDE), np.float32)


def address(x: mt.Tensor) -> int:
    return x._array.ctypes.data


# ---------- kept and reused ----------


def test_a_freed_buffer_is_reused_for_the_next_result_of_the_same_size():
    x = made()
    was = address(x)
    del x
    assert kept_bytes() == NBYTES
    y = made(1)
    assert address(y) == was
    assert kept_bytes() == 0


def test_only_a_buffer_of_equal_size_serves_a_request():
    mt.ones([8, SIDE, SIDE])  # this raises the peak, so that the buffers below are kept
    x = mt.to_tensor(np.ones((SIDE, SIDE), np.float32))
    wide = mt.to_tensor(np.ones((SIDE, SIDE)))
    y = x + 1.0
    was = address(y)
    del y
    z = wide + 1.0
    assert kept_bytes() == NBYTES
    assert address(z) != was and z._array.nbytes == 2 * NBYTES
    was_wide = address(z)
    del z
    assert address(x + 1.0) == was != was_wide  # the buffer of the right size, not the one that was freed last
    half = mt.to_tensor(np.ones((SIDE // 2, SIDE))) + 1.0  # another shape and dtype of the same size
    assert address(half) == was
    assert half.numpy().tolist() == np.full((SIDE // 2, SIDE), 2.0).tolist()


def test_a_small_buffer_or_a_buffer_larger_than_the_limit_is_not_kept():
    small = mt.ones([4, 4]) + 1.0
    del small
    assert kept_bytes() == 0
    mt.device.cpu.set_reuse_limit(NBYTES - 1)
    x = made()
    del x
    assert kept_bytes() == 0


def test_a_buffer_with_a_living_view_is_not_reused():
    x = made()
    row = x[3]
    expected = row.numpy()
    del x
    assert kept_bytes() == 0
    others = [made(i) for i in range(3)]
    assert row.numpy().tolist() == expected.tolist()
    del row
    assert kept_bytes() == NBYTES
    del others


# ---------- objects that still use a buffer ----------

HOLDERS: dict[str, Callable[[mt.Tensor], Any]] = {
    "exported": lambda x: x.numpy(share=True),
    "part of the exported array": lambda x: x.numpy(share=True)[5:9, ::3],
    "dlpack array": lambda x: np.from_dlpack(x),
    "dlpack capsule": lambda x: x.__dlpack__(),
    "array": lambda x: x._array,
    "view of the array": lambda x: x._array[2:4].T[1:],
    "reshaped array": lambda x: x._array.reshape(-1)[7:],
    "another dtype": lambda x: x._array.view(np.int32)[1],
    "memoryview": lambda x: memoryview(x._array),
    "memoryview of a view": lambda x: memoryview(x._array[3]),
    "frombuffer": lambda x: np.frombuffer(x._array, np.uint8),
    "strided": lambda x: np.lib.stride_tricks.as_strided(x._array[1], (4,), (8,)),
    "iterator": lambda x: np.nditer(x._array),
    "flat": lambda x: x._array.flat,
    "broadcast": lambda x: np.broadcast_to(x._array[0], (9, SIDE)),
    "tensor made from the exported array": lambda x: mt.from_numpy(x.numpy(share=True)),
    "view": lambda x: x[1:],
    "detached": lambda x: x.detach(),
    "transposed": lambda x: x.T,
    "cycle": lambda x: _cycle(x),
    "storage": lambda x: x._storage,
    "closure": lambda x: lambda: x,
}


class _Node:
    pass


def _cycle(x: mt.Tensor) -> _Node:
    node = _Node()
    node.own, node.x = node, x
    return node


def _shown(holder: Any) -> bytes | None:
    """Return the bytes that can be read through a holder; None if the test does not read this kind of holder."""
    if isinstance(holder, mt.Tensor):
        return holder.numpy().tobytes()
    if isinstance(holder, (np.ndarray, memoryview)):
        return holder.tobytes()
    return np.asarray(holder).tobytes() if isinstance(holder, np.flatiter) else None


@pytest.mark.parametrize("what", HOLDERS)
def test_a_buffer_that_an_object_still_uses_is_not_reused(what: str):
    x = made()
    was = address(x)
    holder = HOLDERS[what](x)
    shown = _shown(holder)
    del x
    gc.collect()
    assert kept_bytes() == 0, "a buffer that an object still uses should not be kept for reuse"
    others = [made(i) for i in range(4)]
    assert all(address(other) != was for other in others)
    assert _shown(holder) == shown
    if isinstance(holder, np.ndarray) and holder.flags.writeable:
        holder.reshape(-1)[...] = 0  # a write through the object changes no other tensor
        assert [other.numpy().tobytes() for other in others] == [made(i).numpy().tobytes() for i in range(4)]
    del holder, others
    gc.collect()
    assert kept_bytes() > 0


def test_a_capsule_that_is_opened_later_has_unchanged_numbers():
    x = made()
    expected = x.numpy()
    capsule = x.__dlpack__()
    del x
    others = [made(i) for i in range(1, 4)]
    read = mt.from_dlpack(capsule)
    assert read.numpy().tobytes() == expected.tobytes()
    del capsule, others, read
    gc.collect()
    assert kept_bytes() > 0


def test_memory_borrowed_from_numpy_is_never_kept_for_reuse():
    a = matrix(1)
    before = a.tobytes()
    x = mt.from_numpy(a)
    del x
    y = mt.from_numpy(a[3:])
    del y
    assert kept_bytes() == 0
    made()
    assert a.tobytes() == before


def test_saved_buffers_are_not_reused_before_backward():
    x = mt.to_tensor(numbers(2), stop_gradient=False)
    h = x * 2.0
    y = mt.sin(h)
    expected = np.cos(np.float32(2) * x.numpy()) * 2
    del h
    others = [made(i) for i in range(3)]
    del others
    spoil()
    y.backward()
    assert x.grad.numpy().tobytes() == expected.tobytes()


# ---------- old numbers ----------


def test_a_reused_buffer_never_shows_old_numbers():
    """Kept buffers are filled with nan, so that a nan in a result reveals an old number."""
    x, y = mt.to_tensor(np.full((SIDE, SIDE), 0.5, np.float32)), mt.to_tensor(np.full((SIDE,), 0.25, np.float32))
    makers = [lambda: x + y, lambda: mt.sigmoid(x), lambda: mt.sin(x), lambda: x > y, lambda: mt.clip(x, 0.0, 0.4)]
    makers += [lambda: mt.zeros([SIDE, SIDE]), lambda: mt.full([SIDE, SIDE], 2.0)]
    makers += [lambda: mt.zeros_like(x), lambda: x.clone(), lambda: x.astype("float64"), lambda: x @ x]
    for maker in makers:
        for _ in range(3):
            maker()
        spoil()
        assert np.isfinite(maker().numpy()).all()


# ---------- the limit ----------


def test_no_more_than_the_limit_is_kept_and_the_oldest_buffers_are_freed_first():
    mt.device.cpu.set_reuse_limit(3 * NBYTES)
    some = [made(i) for i in range(5)]
    addresses = [address(x) for x in some]
    for i in range(5):
        some[i] = None
        assert kept_bytes() == min(i + 1, 3) * NBYTES
    assert {memory.ctypes.data for memory in buffer_cache._memory.values()} == set(addresses[2:])
    mt.device.cpu.set_reuse_limit(NBYTES)
    assert {memory.ctypes.data for memory in buffer_cache._memory.values()} == set(addresses[4:])
    mt.device.cpu.set_reuse_limit(0)
    assert kept_bytes() == 0
    x = made()
    assert x._array.base is None, "a limit of 0 should turn reuse off"


def test_empty_cache_frees_every_kept_buffer():
    some = [made(i) for i in range(3)]
    del some
    memories = [weakref.ref(memory) for memory in buffer_cache._memory.values()]
    assert len(memories) == 3
    mt.device.cpu.empty_cache()
    assert kept_bytes() == 0
    assert [memory() for memory in memories] == [None] * 3


def test_kept_buffers_are_freed_before_reserved_bytes_exceed_the_peak_of_allocated_bytes():
    cpu = mt.device.cpu
    wide = [mt.to_tensor(np.ones((SIDE, 4 * SIDE), np.float32)) for _ in range(2)]
    results = [x + 1.0 for x in wide]
    del results
    assert kept_bytes() == 8 * NBYTES
    cpu.reset_peak_memory_stats()  # resets only the peak that users read, not `cpu_peaks.ever`
    x = mt.to_tensor(np.ones((SIDE, SIDE), np.float32))
    ever = max(host_buffer_cache.cpu_peaks.ever, cpu.max_memory_allocated())
    some = []
    for _ in range(12):
        some.append(x + 1.0)
        assert cpu.memory_reserved() <= max(ever, cpu.memory_allocated())


# ---------- counters ----------


def test_kept_buffers_are_reserved_and_not_allocated(base: int):
    cpu = mt.device.cpu
    cpu.reset_peak_memory_stats()
    x = made()
    assert (cpu.memory_allocated(), cpu.memory_reserved()) == (base + NBYTES, base + NBYTES)
    peak = cpu.max_memory_allocated()
    assert peak == base + 2 * NBYTES  # the data, and the result
    del x
    assert (cpu.memory_allocated(), cpu.memory_reserved()) == (base, base + NBYTES)
    assert (cpu.max_memory_allocated(), cpu.max_memory_reserved()) == (peak, peak)
    y = mt.to_tensor(np.ones((SIDE, 2 * SIDE), np.float32))
    assert (cpu.memory_allocated(), cpu.memory_reserved()) == (base + 2 * NBYTES, base + 3 * NBYTES)
    assert (cpu.max_memory_allocated(), cpu.max_memory_reserved()) == (peak, base + 3 * NBYTES)
    cpu.reset_max_memory_reserved()
    cpu.empty_cache()
    assert (cpu.memory_reserved(), cpu.max_memory_reserved()) == (base + 2 * NBYTES, base + 3 * NBYTES)
    cpu.reset_max_memory_reserved()
    assert cpu.max_memory_reserved() == base + 2 * NBYTES
    del y


@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_allocated_bytes_and_peak_are_the_same_with_and_without_reuse(limit: int, base: int):
    """Compare the counters after each line of a training step. The engine computes big arrays in chunks; whether it
    reuses buffers or not, its counters should be those of a run in which numpy computes each array in one call.
    """
    cpu = mt.device.cpu

    def counts() -> list[tuple[int, int]]:
        seen = []

        def note() -> None:
            seen.append((allocated() - base, cpu.max_memory_allocated() - base))
            cpu.reset_max_memory_allocated()

        w = mt.to_tensor(np.ones((SIDE, SIDE), np.float32), stop_gradient=False)
        for _ in range(3):
            cpu.reset_max_memory_allocated()
            h = mt.sigmoid(w * 2.0)
            note()
            h = mt.sin(h) + h
            note()
            (h * h).sum().backward()
            note()
            with mt.no_grad():
                w.subtract_(w.grad * 0.1)
            note()
            w.clear_gradient(False)
            del h
            note()
        return seen

    with off():
        expected = counts()
    cpu.set_reuse_limit(limit)
    assert counts() == expected


def test_measured_bytes_are_the_same_with_and_without_reuse(base: int):
    def run() -> tuple[int, int]:
        cpu = mt.device.cpu
        cpu.reset_max_memory_allocated()
        x = made()
        for _ in range(4):
            x = mt.sigmoid(x)
        return allocated() - base, cpu.max_memory_allocated() - base

    expected = run()
    with mt.memory.measure() as first:
        assert run() == expected
    mt.device.cpu.set_reuse_limit(0)
    with mt.memory.measure() as second:
        assert run() == expected
    assert (first.allocated, first.peak, first.allocations) == (second.allocated, second.peak, second.allocations)
    assert first.extra_bytes == second.extra_bytes


# ---------- during a search ----------


def test_a_buffer_may_be_freed_during_the_search_for_a_kept_buffer(monkeypatch: pytest.MonkeyPatch):
    """The garbage collector may free a buffer at any moment, even during the search for a kept buffer."""
    coming = [made(i) for i in range(8)]
    held = {address(x) for x in coming}
    while coming:

        class Interrupting(dict):
            def get(self, key: int, default: Any = None) -> Any:
                if coming:
                    coming.pop()
                return super().get(key, default)

        monkeypatch.setattr(buffer_cache, "_memory", Interrupting(buffer_cache._memory))
        x = made(1)
        assert x.numpy().tobytes() == made(1).numpy().tobytes()
    del x
    monkeypatch.setattr(buffer_cache, "_memory", dict(buffer_cache._memory))
    assert kept_bytes() == sum(memory.nbytes for memory in buffer_cache._memory.values())
    assert held <= set(buffer_cache._memory)
    mt.device.cpu.empty_cache()


def test_the_reuse_limit_can_be_read_and_a_wrong_one_is_refused():
    cpu = mt.device.cpu
    cpu.set_reuse_limit(np.int64(12345))
    assert cpu.get_reuse_limit() == 12345 and type(cpu.get_reuse_limit()) is int
    with pytest.raises(ValueError, match="nbytes must be 0 or more, not -1"):
        cpu.set_reuse_limit(-1)
    for wrong in (1e9, None, "1 GiB", False, np.zeros(2, int)):
        with pytest.raises(TypeError, match="nbytes must be an integer"):
            cpu.set_reuse_limit(wrong)
    assert cpu.get_reuse_limit() == 12345
