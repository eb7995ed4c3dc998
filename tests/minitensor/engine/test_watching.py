"""Test the events, and check that a listener changes no values, versions, lifetimes, bytes or peak."""

from __future__ import annotations

import weakref
from collections import Counter

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.events import (
    AllocatorChanged,
    BackwardStarted,
    Event,
    LeafUpdated,
    Listener,
    MetadataChanged,
    NodeVisited,
    StorageCreated,
    StorageReleased,
    TensorCreated,
    TensorWritten,
    ViewCreated,
    listening,
    watch,
)
from tests.support.engine.memory import allocated
from tests.support.engine.watched import PROGRAMS, run

# ---------- listeners ----------


def ignore(event: Event) -> None:
    """Receive every event and do nothing."""


def read(event: Event) -> None:
    """Read all fields of an event, as a recorder does, and keep none of them."""
    for argument in event:
        if isinstance(argument, mt.Tensor):
            argument.numpy(), argument.shape, argument.strides, argument.offset, argument.inplace_version
            argument.stop_gradient, argument.is_leaf, argument.grad_fn, argument.grad, repr(argument)
        elif isinstance(argument, np.ndarray):
            argument.copy()


@pytest.mark.parametrize("listener", [ignore, read], ids=lambda f: f.__name__)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_has_the_same_results_with_and_without_a_listener(program, listener):
    unwatched = run(program)
    with listening(listener):
        watched = run(program)
    assert watched == unwatched and run(program) == unwatched


def test_events_report_every_storage_and_every_write():
    counts: Counter[type] = Counter()
    alive = 0

    def count(event: Event) -> None:
        nonlocal alive
        counts[type(event)] += 1
        match event:
            case StorageCreated(storage):
                alive += storage.nbytes
            case StorageReleased(storage):
                alive -= storage.nbytes

    base = allocated()
    with listening(count):
        x = mt.zeros([4])
        y = x + x
        y.add_(x)
        y[0] = 1.0  # this emits a write event, and no event about a view
        y.fill_(2.0)
        y.T  # noqa: B018
        y.reshape_([2, 2])
        assert alive == allocated() - base == 32
        del x, y
        assert alive == 0
    assert counts[StorageCreated] == counts[TensorCreated] == counts[StorageReleased] == 2
    assert counts[TensorWritten] == 3 and counts[ViewCreated] == 1 and counts[MetadataChanged] == 1


def test_events_of_backward_are_in_order_and_have_the_gradients():
    kinds: list[type] = []
    leaves: list[list[float]] = []

    def note(event: Event) -> None:
        if isinstance(event, (BackwardStarted, NodeVisited, LeafUpdated)):
            kinds.append(type(event))
        if isinstance(event, LeafUpdated):
            leaves.append(event.gradient.tolist())

    w = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    y = (w * 3).sum()
    with listening(note):
        y.backward()
    assert kinds[0] is BackwardStarted and kinds.count(NodeVisited) == 3 and kinds[-1] is LeafUpdated
    assert leaves == [[3, 3]]


def test_a_listener_is_removed_after_an_error():
    with pytest.raises(KeyError), listening(ignore):
        raise KeyError
    assert watch.listener is None


def test_an_outer_listener_receives_events_again_after_an_inner_one():
    received: list[str] = []

    def receive_as(name: str) -> Listener:
        return lambda event: None if isinstance(event, AllocatorChanged) else received.append(name)

    with listening(receive_as("outer")):
        with listening(receive_as("inner")):
            x = mt.zeros([1])
        y = mt.zeros([1])
    assert received == ["inner", "inner", "outer", "outer"]
    del x, y
    assert len(received) == 4


def test_a_listener_keeps_no_tensor_alive(no_collector):
    base = allocated()
    with listening(ignore):
        x = mt.to_tensor([1.0], stop_gradient=False)
        y = x * 2
        y.backward()
        reference = weakref.ref(y)
        del x, y
        assert reference() is None and allocated() == base


def test_a_scalar_operand_emits_no_tensor_created_event():
    x = mt.arange(3)
    received = []
    with listening(received.append):
        y = x / 2
    assert y.tolist() == [0.0, 0.5, 1.0]
    created = [event.tensor for event in received if isinstance(event, TensorCreated)]
    assert created and all(each.shape == [3] for each in created)
