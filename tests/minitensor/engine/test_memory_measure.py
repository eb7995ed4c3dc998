"""Test memory.measure: for a block of code it reports the bytes of the device's counters, and it changes no counter."""

from __future__ import annotations

import contextlib
import itertools
import warnings

import numpy as np
import pytest

import minitensor as mt
from memory_stage.explanation.minitensor import Listener
from minitensor import memory
from minitensor.engine import events
from minitensor.engine.events import Event, Subscription, TensorCreated, listening, watch
from tests.support.engine.memory import KIB, SHAPE, leaf
from tests.support.engine.watched import PROGRAMS, counters, report_of

pytestmark = pytest.mark.usefixtures("no_collector")  # collects garbage of earlier tests before each test


def test_a_measure_counts_the_bytes_of_results_and_none_for_views_and_writes():
    x = mt.ones(SHAPE)
    with memory.measure() as normal:
        y = x * 2.0
    assert (normal.allocated, normal.peak, normal.allocations, normal.extra_bytes) == (KIB, KIB, 1, KIB)
    with memory.measure() as rebound:
        y = y * 2.0
    assert (rebound.allocated, rebound.peak, rebound.allocations, rebound.extra_bytes) == (0, KIB, 1, KIB)
    with memory.measure() as in_place:
        y.multiply_(x)
        y.reshape_([256])
        z = y.reshape([16, 16])
    assert (in_place.allocated, in_place.peak, in_place.allocations, in_place.extra_bytes) == (0, 0, 0, 0)
    with memory.measure() as dropped:
        del x, y, z
    assert (dropped.allocated, dropped.peak, dropped.allocations) == (-2 * KIB, 0, 0)


def test_a_measure_can_be_read_inside_its_block_and_afterwards():
    with memory.measure() as m:
        x = mt.ones(SHAPE)
        assert (m.allocated, m.peak) == (KIB, KIB)
        del x
        assert (m.allocated, m.peak) == (0, KIB)
    x = mt.ones(SHAPE)
    assert (m.allocated, m.peak, m.allocations) == (0, KIB, 1), x.shape


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_measure_agrees_with_the_counters_of_the_device(program, device):
    count = counters(device)
    base = count.memory_allocated()
    count.reset_max_memory_allocated()
    with memory.measure() as m:
        program(lambda *tensors: None)
    assert m.allocated == count.memory_allocated() - base
    assert m.peak == count.max_memory_allocated() - base > 0
    assert m.extra_bytes >= m.peak and m.allocations > 0


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_measuring_does_not_change_a_program(program, device):
    assert report_of(program, device, memory.measure()) == report_of(program, device)


def test_a_measure_does_not_change_the_peak_of_the_device_or_a_reset_of_the_peak(device):
    count = counters(device)
    high = mt.ones([8, *SHAPE])
    count.reset_max_memory_allocated()
    base = count.memory_allocated()
    del high
    with memory.measure() as m:
        x = mt.ones(SHAPE)
        assert count.max_memory_allocated() == base
        count.reset_max_memory_allocated()
        assert count.max_memory_allocated() == base - 7 * KIB
        y = mt.ones(SHAPE)
        del x, y
        assert (m.allocated, m.peak) == (0, 2 * KIB), "a reset of the device's peak should not change the measure"
    assert count.max_memory_allocated() == base - 6 * KIB


def test_measures_can_be_nested_and_each_begins_at_zero():
    with memory.measure() as outer:
        x = mt.ones([4, *SHAPE])
        with memory.measure() as inner:
            del x
            x = mt.ones(SHAPE)
        y = mt.ones(SHAPE)
    assert (inner.allocated, inner.peak, inner.allocations) == (-3 * KIB, 0, 1)
    assert (outer.allocated, outer.peak, outer.allocations) == (2 * KIB, 4 * KIB, 3), (x.shape, y.shape)


def test_a_measure_of_backward_includes_intermediate_gradients(device):
    w = leaf()
    y = (w * 3.0 * 3.0).sum()
    count = counters(device)
    count.reset_max_memory_allocated()
    base = count.memory_allocated()
    with memory.measure() as m:
        y.backward()
    assert m.allocated == count.memory_allocated() - base == KIB
    assert m.peak == count.max_memory_allocated() - base >= 2 * KIB, (
        "expected: the gradients of a product's input and output"
    )


@pytest.mark.cpu_only
def test_intermediate_gradients_raise_the_peak_and_are_not_counted_as_allocations():
    w = leaf()
    y = (w * 3.0 * 3.0).sum()
    with memory.measure() as m:
        y.backward()
    # At the first product, two gradients of w's size exist at the same time. The second one becomes w.grad.
    assert (m.allocated, m.peak, m.allocations, m.extra_bytes) == (KIB, 2 * KIB, 1, KIB)


@pytest.mark.cpu_only
def test_a_measure_has_numbers_for_each_device():
    mt.set_device("gpu:sim", capacity="64 MiB")
    mt.set_device("cpu")
    with memory.measure() as m:
        x = mt.ones([300])
        y = x.cuda()
    assert (m.device, m.devices) == ("cpu", ["cpu", "gpu:sim"])
    assert (m.allocated, m["cpu"].allocated, m["gpu:sim"].allocated) == (1200, 1200, 1536), y.place
    assert m["gpu:sim"].allocations == 1
    with memory.measure("gpu:sim") as n:
        x.add_(1.0)
        y.add_(1.0)
        z = x + 1.0
    assert (n.device, n.allocated, n["cpu"].allocated) == ("gpu:sim", 0, 1200), z.shape
    assert n["gpu:0"].allocations == 0, "no allocation should be counted on this device"


def test_the_error_of_a_measure_names_an_unknown_device():
    with pytest.raises(ValueError, match="measure: there is no device 'tpu'"):
        memory.measure("tpu")


def test_an_error_in_a_measure_is_raised_and_the_measured_numbers_stay():
    with pytest.raises(KeyError), memory.measure() as m:
        x = mt.ones(SHAPE)
        raise KeyError
    assert m.allocated == KIB, x.shape
    assert watch.listener is None


def test_a_measure_cannot_be_opened_twice():
    m = memory.measure()
    with m:
        pass
    with pytest.raises(RuntimeError, match="a Measure is opened once; make another one"), m:
        pass
    assert watch.listener is None


def test_the_text_of_a_measure_has_every_device():
    with memory.measure("cpu") as m:
        pass
    assert repr(m) == "Measure(cpu: allocated +0, peak 0, 0 allocations of 0 bytes)"


# ---------- the host's counters under Paddle's names ----------


@pytest.mark.cpu_only
def test_the_peaks_of_allocated_and_reserved_bytes_of_the_host_are_reset_separately():
    host = mt.device.cpu
    host.reset_peak_memory_stats()
    base = host.memory_allocated()
    x = mt.ones([4, *SHAPE])
    del x
    assert host.max_memory_allocated() == host.max_memory_reserved() == base + 4 * KIB
    host.reset_max_memory_allocated()
    assert (host.max_memory_allocated(), host.max_memory_reserved()) == (base, base + 4 * KIB)
    x = mt.ones([2, *SHAPE])
    del x
    assert (host.max_memory_allocated(), host.max_memory_reserved()) == (base + 2 * KIB, base + 4 * KIB)
    host.reset_max_memory_allocated()
    assert (host.max_memory_allocated(), host.max_memory_reserved()) == (base, base + 4 * KIB)
    x = mt.ones([2, *SHAPE])
    del x
    host.reset_max_memory_reserved()
    assert (host.max_memory_allocated(), host.max_memory_reserved()) == (base + 2 * KIB, base)
    x = mt.ones([8, *SHAPE])
    assert host.memory_allocated() == host.memory_reserved() == base + 8 * KIB, x.shape
    assert host.max_memory_allocated() == host.max_memory_reserved() == base + 8 * KIB
    host.reset_peak_memory_stats()
    host.empty_cache()
    host.synchronize()
    assert host.max_memory_allocated() == host.max_memory_reserved() == base + 8 * KIB


@pytest.mark.cpu_only
def test_the_host_and_the_gpu_have_counters_of_the_same_names():
    names = ["allocated", "reserved"]
    wanted = {"reset_peak_memory_stats", "empty_cache", "synchronize"}
    wanted |= {form.format(name) for name in names for form in ("memory_{}", "max_memory_{}", "reset_max_memory_{}")}
    for device in (mt.device.cpu, mt.device.cuda):
        assert wanted <= set(dir(device))


# ---------- several listeners ----------


class Counting(Subscription):
    def __init__(self) -> None:
        self.received = 0

    def on_event(self, event: Event) -> None:
        if isinstance(event, TensorCreated):
            self.received += 1


@pytest.mark.cpu_only
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1)])
def test_listeners_can_be_closed_in_any_order(order):
    listeners = [Counting() for _ in range(3)]
    for each in listeners:
        each.open()
    for i in order:
        mt.ones([1])
        listeners[i].close()
    mt.ones([1])
    assert [listeners[i].received for i in order] == [1, 2, 3]
    assert watch.listener is None


@pytest.mark.cpu_only
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_listeners_of_every_kind_can_be_closed_in_any_order(order):
    """A report, a recording, a measure and a plain function may be closed before a listener that was opened later."""
    all_of_them = [Listener(), memory.record(), memory.measure(), listening(lambda event: None)]
    for each in all_of_them:
        each.__enter__()
    for i in order:
        mt.ones([1])
        all_of_them[i].__exit__(None, None, None)
    assert watch.listener is None


class Noting(Subscription):
    """A subscription that keeps the types of events, and closes at the first event of the type `until`."""

    def __init__(self, until: type | None = None) -> None:
        self.received: list[type] = []
        self._until = until

    def on_event(self, event: Event) -> None:
        self.received.append(type(event))
        if type(event) is self._until:
            self.close()


def program_with_events_of_every_kind() -> None:
    """Emit events of every kind: create, view, borrow, write and index tensors."""
    x = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    mt.nn.functional.cross_entropy(x.reshape([1, 2]), mt.to_tensor([1])).backward()
    with mt.set_inplace_policy("copy_on_write"):
        for _ in range(2):
            h = x * 2.0
            y = h.sin()
            h.add_(1.0)
            y.sum().backward()
    borrowed = mt.from_numpy(np.ones(2, np.float32))
    borrowed.add_(1.0)


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    "until",
    [
        events.StorageCreated,
        events.TensorCreated,
        events.ViewCreated,
        events.TensorWritten,
        events.SavedOverwritten,
        events.BackwardStarted,
        events.NodeEntered,
        events.FlightChanged,
        events.LeafUpdated,
    ],
)
def test_a_listener_may_close_in_the_middle_of_an_operation(until):
    with contextlib.closing(Noting()) as alone:
        alone.open()
        program_with_events_of_every_kind()
    outer, going = Noting(), Noting(until)
    with contextlib.closing(outer):
        outer.open()
        going.open()
        program_with_events_of_every_kind()
    assert outer.received == alone.received
    assert going.received == alone.received[: alone.received.index(until) + 1]
    Noting(until).open()
    program_with_events_of_every_kind()
    assert watch.listener is None


@pytest.mark.cpu_only
def test_a_listener_that_raises_is_reported_and_the_others_and_the_program_continue():
    class Failing(Subscription):
        def on_event(self, event: Event) -> None:
            raise ZeroDivisionError("in here")

    outer, failing, inner = Counting(), Failing(), Counting()
    for each in (outer, failing, inner):
        each.open()
    x = mt.ones([1]) + 1.0
    with pytest.warns(RuntimeWarning, match=r"Failing stopped before its end \(ZeroDivisionError: in here\)"):
        for each in (inner, failing, outer):
            each.close()
    assert x.tolist() == [2.0] and outer.received == inner.received == 2
    assert watch.listener is None


def test_measuring_issues_no_warning(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_of(PROGRAMS[0], device, memory.measure())
