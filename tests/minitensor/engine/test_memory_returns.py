"""Test that all memory is freed without the garbage collector, because the engine has no reference cycles."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
import minitensor.torch as torch
from tests.support.engine.collector import cycles
from tests.support.engine.memory import allocated, leaf

# ---------- no reference cycles ----------


def test_a_gradient_assigned_to_a_leaf_keeps_nothing_alive(base: int):
    w = leaf()
    w.grad = w * 2
    del w
    assert allocated() == base


def test_a_gradient_assigned_to_a_leaf_of_minitensor_torch_keeps_nothing_alive(base: int):
    w = torch.ones(3, requires_grad=True)
    w.grad = w * 2
    del w
    assert allocated() == base


def test_a_gradient_written_in_place_keeps_nothing_alive(base: int):
    w = leaf()
    w.sum().backward()
    with mt.no_grad():
        w.grad.add_(w * 0.1)
    del w
    assert allocated() == base


def failures(w: mt.Tensor, x: mt.Tensor) -> list[Callable[[], object]]:
    """Return calls that raise errors, each in another part of the engine."""
    return [
        lambda: w.add_(1.0),
        lambda: x.add_(mt.ones([3])),
        lambda: x.add_("a"),
        lambda: x + mt.ones([3]),
        lambda: x[99],
        lambda: x.__setitem__(0, mt.ones([9])),
        lambda: x.reshape([7]),
        lambda: mt.to_tensor([[1], [2, 3]]),
        lambda: mt.ones([2], "int32").divide_(2),
        lambda: x.detach().backward(),
    ]


def test_errors_keep_no_tensor_alive(base: int):
    w = leaf()
    x = w * 1
    for fail in failures(w, x):
        with pytest.raises((ValueError, TypeError, IndexError, RuntimeError)):
            fail()
    del w, x, fail
    assert allocated() == base


# ---------- thousands of random programs ----------


def random_program(rng: random.Random) -> None:
    """Make tensors, views, writes, hooks, errors and backward passes in any order; keep no reference to them."""
    w = mt.to_tensor(np.full((4, 3), 0.5), stop_gradient=False)
    pool = [w, w * 1, mt.ones([4, 3], "float64")]
    notes: list[object] = []
    for _ in range(rng.randint(3, 14)):
        x, y, k = rng.choice(pool), rng.choice(pool), rng.randrange(5)
        try:
            made = rng.choice(MOVES)(x, y, k, notes)
        except (ValueError, RuntimeError, TypeError, IndexError, AttributeError):
            continue
        if isinstance(made, mt.Tensor):
            pool.append(made)
        if k == 0 and len(pool) > 3:
            pool.pop(rng.randrange(len(pool)))


def scaled_under_no_grad(x: mt.Tensor, y: mt.Tensor, k: int, notes: list[object]) -> None:
    with mt.no_grad():
        (x.scale_, x.t_, x.flatten_, x.relu_, x.squeeze_)[k]()


def registered_and_removed(x: mt.Tensor, y: mt.Tensor, k: int, notes: list[object]) -> None:
    x.register_hook(lambda g: g * 2).remove()


def stopped(x: mt.Tensor, y: mt.Tensor, k: int, notes: list[object]) -> None:
    x.stop_gradient = k < 3


MOVES = [
    lambda x, y, k, notes: x * y,
    lambda x, y, k, notes: (mt.sin, mt.exp, mt.tanh, mt.abs, mt.max)[k](x),
    lambda x, y, k, notes: x[k:],
    lambda x, y, k, notes: x[[0, 0, k]],
    lambda x, y, k, notes: x.T,
    lambda x, y, k, notes: x.reshape([-1]).unsqueeze(0),
    lambda x, y, k, notes: x.as_strided([2, 2], [1, k], 0),
    lambda x, y, k, notes: x.detach() if k else x.clone(),
    lambda x, y, k, notes: mt.concat([x, y]),
    lambda x, y, k, notes: mt.where(x > 0.3, x, y),
    lambda x, y, k, notes: x @ y,
    lambda x, y, k, notes: x.add_(y),
    lambda x, y, k, notes: x.multiply_(y),
    lambda x, y, k, notes: (x.sin_, x.exp_, x.square_, x.zero_, x.neg_)[k](),
    lambda x, y, k, notes: x.__setitem__(k, y if k else 1.5),
    lambda x, y, k, notes: x.__setitem__([0, k], y),
    lambda x, y, k, notes: x.set_value(y),
    lambda x, y, k, notes: x.copy_(y),
    lambda x, y, k, notes: x.register_hook(notes.append),
    lambda x, y, k, notes: x.retain_grads(),
    lambda x, y, k, notes: x.backward(retain_graph=k < 3),
    lambda x, y, k, notes: notes.extend(mt.grad(x, y, retain_graph=k < 3, allow_unused=True)),
    lambda x, y, k, notes: x.clear_grad(),
    lambda x, y, k, notes: x.add_("text") if k else x.reshape_([7, 7]),
    scaled_under_no_grad,
    registered_and_removed,
    stopped,
]


def test_3000_random_programs_free_every_byte(no_collector):
    before = allocated()
    rng = random.Random(20240)
    with np.errstate(all="ignore"):
        for number in range(3000):
            state = rng.getstate()
            random_program(rng)
            assert allocated() == before, f"program {number}, state {hash(state)}"


def test_random_programs_leave_nothing_for_the_garbage_collector(no_collector):
    rng = random.Random(5)
    with np.errstate(all="ignore"):
        for _ in range(300):
            random_program(rng)
    assert cycles() == set()


def test_every_round_of_a_training_loop_ends_with_the_same_allocated_bytes(base: int):
    w, data = leaf((8, 4)), mt.ones([16, 8])
    seen = set()
    for _ in range(200):
        hidden = data @ w
        hidden.relu_()
        (hidden * hidden).sum().backward()
        with mt.no_grad():
            w.subtract_(w.grad * 1e-6)
        w.clear_gradient(set_to_zero=False)
        del hidden
        seen.add(allocated() - base)
    assert seen == {8 * 4 * 4 + 16 * 8 * 4}


def test_a_thousand_writes_without_a_gradient_allocate_nothing(base: int):
    x = mt.zeros([4, 4])
    view = x[1]
    nodes = []
    for i in range(1000):
        view.add_(1.0)
        x[i % 4] = 2.0
        nodes.append(x.grad_fn)
    assert allocated() - base == 64 and set(nodes) == {None}


def test_a_tensor_and_its_graph_are_freed_as_soon_as_they_are_unused(base: int):
    w = leaf()
    x = w * 1
    node, tensor = weakref.ref(x.grad_fn), weakref.ref(x)
    y = x + 1
    del x
    assert tensor() is None and node() is not None
    del y
    assert node() is None
