"""Test that threads have their own modes, share the counters, and may run operations at the same time."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

import minitensor as mt
import minitensor.torch as torch

pytestmark = pytest.mark.cpu_only

TURNS = 400
THREADS = 4


@pytest.fixture(autouse=True)
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(*works: Callable[[], None]) -> None:
    """Run all functions at the same time, and raise the first error."""
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def test_gradients_that_several_threads_compute_for_one_leaf_are_all_added():
    w = mt.ones([2], "float64")
    w.stop_gradient = False

    def train() -> None:
        for _ in range(TURNS):
            (w * 3).sum().backward()

    (w * 0).sum().backward()
    kept = w.grad
    in_threads(*[train] * THREADS)
    assert w.grad is kept and kept.tolist() == [3 * TURNS * THREADS] * 2
    assert kept.inplace_version == TURNS * THREADS


def test_no_gradient_is_lost_if_two_threads_add_the_first_gradients_of_a_leaf():
    for _ in range(TURNS):
        w = torch.ones(2, requires_grad=True)
        in_threads(*[lambda w=w: (w * 3).sum().backward()] * 2)
        assert w.grad.tolist() == [6, 6]


@pytest.mark.parametrize("pause", [mt.no_grad, torch.no_grad], ids=["paddle", "torch"])
def test_no_grad_in_one_thread_does_not_stop_another_thread_from_recording(pause: Callable):
    w = mt.ones([2])
    w.stop_gradient = False
    over = threading.Event()

    def paused() -> None:
        while not over.is_set():
            with pause():
                assert (w * 2).stop_gradient and w[0].stop_gradient and w.reshape([2, 1]).stop_gradient

    def recording() -> None:
        try:
            for _ in range(TURNS):
                for y in (w * 2, w[0:1], w.reshape([2, 1]), w.sum(), mt.concat([w, w]), w + w):
                    assert not y.stop_gradient
        finally:
            over.set()

    in_threads(paused, recording)


def test_a_reshape_that_copies_is_recorded_while_another_thread_records_nothing():
    w, is_paused, over = torch.ones(2, 3, requires_grad=True), threading.Event(), threading.Event()

    def paused() -> None:
        with torch.no_grad():
            is_paused.set()
            over.wait(60)

    def recording() -> None:
        is_paused.wait(60)
        try:
            y = w.t().reshape(6)
            assert y.requires_grad and y.data_ptr() != w.data_ptr()
        finally:
            over.set()

    in_threads(paused, recording)


def test_a_new_thread_begins_in_grad_mode_and_with_the_default_policy():
    seen = []
    mt.set_inplace_policy("2.5")
    try:
        with mt.no_grad():
            in_threads(lambda: seen.append((mt.is_grad_enabled(), mt.get_inplace_policy())))
            assert not mt.is_grad_enabled()
        assert mt.get_inplace_policy() == "2.5"
    finally:
        mt.set_inplace_policy("2.6")
    assert seen == [(True, "2.6")]


def test_each_thread_has_its_own_in_place_policy():
    def write(policy: str, raises: bool) -> None:
        with mt.set_inplace_policy(policy):
            for _ in range(TURNS):
                w = mt.ones([2])
                w.stop_gradient = False
                x = w * 2
                y = x * x
                x.add_(1.0)
                if raises:
                    with pytest.raises(RuntimeError):
                        y.sum().backward()
                else:
                    y.sum().backward()
                    assert w.grad.tolist() == [8, 8]

    in_threads(lambda: write("2.6", True), lambda: write("copy_on_write", False))


def test_a_new_thread_begins_on_the_default_device():
    seen = []
    try:
        mt.set_device("gpu:sim", capacity="8 MiB")
        in_threads(lambda: seen.append((mt.get_device(), mt.ones([2]).place)))
        assert mt.get_device() == "gpu:sim"
    finally:
        mt.set_device("cpu")
    assert seen[0][0] == "cpu" and seen[0][1] == "cpu"


def test_a_thread_that_ends_with_grad_mode_off_does_not_affect_other_threads():
    from minitensor.engine.modes import paused

    in_threads(lambda: torch.set_grad_enabled(False))
    gc.collect()
    assert paused.threads == 0 and mt.is_grad_enabled()


@pytest.mark.parametrize("where", ["cpu", "gpu:sim"])
def test_the_memory_counters_count_every_byte_of_every_thread(where: str):
    if where != "cpu":
        mt.set_device(where, capacity="64 MiB")
        mt.set_device("cpu")
    allocated = mt.device.cpu.memory_allocated if where == "cpu" else lambda: mt.device.cuda.memory_allocated(where)
    gc.collect()
    before = allocated()
    kept: list = []

    def work() -> None:
        mt.set_device(where)
        for i in range(TURNS):
            x = mt.ones([64])
            x.stop_gradient = False
            (x * x).sum().backward()
            if i % 8 == 0:
                kept.append(mt.ones([64]))
            mt.device.cpu.reset_peak_memory_stats()

    in_threads(*[work] * THREADS)
    gc.collect()
    each = 256 if where == "cpu" else 512  # the allocator of a GPU rounds sizes up
    assert allocated() - before == len(kept) * each == TURNS // 8 * THREADS * each
    kept.clear()
    gc.collect()
    assert allocated() == before


def test_savers_registered_by_several_threads_at_once_are_all_kept():
    from minitensor.engine.saved.saved import remember

    class Saver:
        saved = ()

    for _ in range(20):
        x = mt.ones([2])
        keep = [[Saver() for _ in range(600)] for _ in range(THREADS)]
        remember(x._storage, keep[0][0])

        def note(savers: list[Saver], x: mt.Tensor = x) -> None:
            for saver in savers:
                remember(x._storage, saver)
                # This saver is freed at once, so that freed savers have to be removed from the list.
                remember(x._storage, Saver())

        in_threads(*[lambda savers=savers: note(savers) for savers in keep])
        noted = {id(link()) for link in x._storage.savers}
        assert all(id(saver) in noted for savers in keep for saver in savers)
