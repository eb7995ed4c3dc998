"""Test random programs that constantly share memory with numpy: every byte has the expected value.

A program creates tensors and arrays on each other's memory, takes views, writes through both kinds, drops names, runs
backward, changes policies and collects garbage. Each memory has a shadow, a separate array on which plain numpy does
the same. After every step, every array and tensor has to equal its shadow.
"""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.sharing.numpy_memory import _by_address, _by_id, is_shared, shared_storages
from tests.support.engine.memory import allocated

pytestmark = pytest.mark.cpu_only

SEED = int(os.environ.get("MINITENSOR_SEED", "0"))


class Shown:
    """A tensor or an array (``shown``) on some memory, and the same part of the memory's shadow."""

    def __init__(self, shown: mt.Tensor | np.ndarray, shadow: np.ndarray) -> None:
        self.shown, self.shadow = shown, shadow

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.shown, mt.Tensor)

    def differs(self) -> bool:
        now = self.shown.numpy() if self.is_tensor else self.shown
        return now.tobytes() != self.shadow.tobytes()


class Program:
    """A random program with at most ``most`` tensors and arrays on shared memory."""

    def __init__(self, seed: int, most: int = 40) -> None:
        self.random = np.random.default_rng(seed)
        self.looks: list[Shown] = []
        self.most = most

    def step(self) -> str:
        """Do one random action, and return its name."""
        doing: Callable[[], None] = self.random.choice(
            [self.begin, self.begin, self.cross, self.cross, self.view, self.view, self.write, self.write, self.write]
            + [self.drop, self.drop, self.compute, self.differentiate, self.collect]
        )
        if len(self.looks) >= self.most:
            doing = self.drop
        elif not self.looks:
            doing = self.begin
        doing()
        return doing.__name__

    def any(self) -> Shown:
        return self.looks[self.random.integers(len(self.looks))]

    def begin(self) -> None:
        """Allocate memory with a tensor, with an array or with a buffer of bytes."""
        shape = [(6,), (3, 4), (2, 2, 3), (1,), (0, 2), (), (500,)][self.random.integers(7)]
        numbers = np.asarray(self.random.standard_normal(shape)).astype(self.random.choice(["float32", "float64"]))
        if (kind := self.random.integers(3)) == 0:
            self.looks.append(Shown(mt.to_tensor(numbers), numbers))
        elif kind == 1:
            self.looks.append(Shown(numbers.copy(), numbers))
        else:
            backed = np.frombuffer(bytearray(numbers.tobytes() or b"\0" * 8), numbers.dtype)
            self.looks.append(Shown(backed[: numbers.size].reshape(shape), numbers))

    def cross(self) -> None:
        """Create an array on the memory of a tensor, or a tensor on the memory of an array, by numpy or by DLPack."""
        look = self.any()
        if look.is_tensor:
            other = look.shown.numpy(share=True) if self.random.random() < 0.5 else np.from_dlpack(look.shown)
            if not other.flags.writeable:  # numpy before 2.2 imports read-only arrays
                other = look.shown.numpy(share=True)
        else:
            other = mt.from_numpy(look.shown) if self.random.random() < 0.5 else mt.from_dlpack(look.shown)
        self.looks.append(Shown(other, look.shadow))

    def view(self) -> None:
        """Make a view of a tensor with the engine, or a view of an array with numpy."""
        look = self.any()
        shape = look.shadow.shape
        if not shape or 0 in shape:
            return
        begin, end = sorted(self.random.integers(0, shape[0] + 1, 2))
        index = (slice(begin, end), slice(None, None, -1), slice(None, None, 2), int(begin) % shape[0])
        choice = self.random.integers(6)
        if choice < 4:
            at = (index[choice], ...)
            self.looks.append(Shown(look.shown[at], look.shadow[at]))
        elif choice == 4:
            self.looks.append(Shown(look.shown.T, look.shadow.T))
        else:
            self.looks.append(Shown(look.shown.detach() if look.is_tensor else look.shown.view(), look.shadow))

    def write(self) -> None:
        """Write through a tensor with a random operation, or through an array."""
        look = self.any()
        number = float(np.float32(self.random.standard_normal()))
        x, shadow = look.shown, look.shadow
        choice = self.random.integers(4)
        if choice == 0:
            x[...] = number
            shadow[...] = number
        elif not look.is_tensor:
            x *= x.dtype.type(number)
            shadow *= shadow.dtype.type(number)
        elif choice == 1:
            x.multiply_(number)
            np.multiply(shadow, shadow.dtype.type(number), out=shadow)
        elif choice == 2:
            x.set_value(x.numpy()[::-1].copy() if x.ndim else x.numpy())
            shadow[...] = shadow[::-1].copy() if shadow.ndim else shadow
        else:
            x.neg_()
            # The result is copied, because numpy 2.2 to 2.4 compute wrong results in place for some strides.
            shadow[...] = -shadow

    def drop(self) -> None:
        if self.looks:
            del self.looks[self.random.integers(len(self.looks))]

    def compute(self) -> None:
        """Run normal operations, whose results allocate and free memory."""
        look = self.any()
        x = look.shown if look.is_tensor else mt.from_numpy(look.shown)
        y = (x * 2.0 + 1.0).abs()
        two, one = look.shadow.dtype.type(2), look.shadow.dtype.type(1)
        self.looks.append(Shown(y, np.array(np.abs(look.shadow * two + one))))

    def differentiate(self) -> None:
        """Run an operation that saves values, sometimes a write, and backward, which may raise under "2.6" only."""
        look = self.any()
        if not look.is_tensor or look.shadow.size == 0:
            return
        x = look.shown.detach()
        w = mt.ones(x.shape, x.dtype)
        w.stop_gradient = False
        saved = look.shadow.copy()
        policy = str(self.random.choice(["2.6", "copy_on_write"]))
        with mt.set_inplace_policy(policy), mt.check_foreign_writes(bool(self.random.random() < 0.5)):
            y = w * x
            if self.random.random() < 0.5:
                self.write_both(x, look.shadow)
            try:
                y.sum().backward()
            except RuntimeError:
                assert policy == "2.6"
            else:
                np.testing.assert_array_equal(w.grad.numpy(), saved)

    def write_both(self, x: mt.Tensor, shadow: np.ndarray) -> None:
        x.fill_(3.0)
        shadow[...] = 3.0

    def collect(self) -> None:
        gc.collect()


@pytest.mark.parametrize("seed", range(SEED, SEED + 12))
def test_every_shared_byte_has_the_value_of_its_shadow(seed: int, base: int):
    program, before = Program(seed), list(_by_id)
    for number in range(500):
        done = program.step()
        wrong = [i for i, look in enumerate(program.looks) if look.differs()]
        assert not wrong, f"seed {seed}, step {number} ({done}): entry {wrong[0]} of {len(program.looks)}"
    del program
    gc.collect()
    assert allocated() == base and not shared_storages() and list(_by_id) == before


def test_memory_that_an_array_still_uses_is_never_reused(base: int):
    """Arrays of freed tensors keep their numbers while thousands of tensors of the same size are created and freed."""
    kept = []
    for i in range(200):
        x = mt.full([64], float(i))
        kept.append(x[i % 7 :: 2].numpy(share=True))
        for _ in range(20):
            y = (x * 0.01).exp_().multiply_(0.0)
            y.fill_(-1.0)
        del x, y
    assert allocated() == base + 200 * 256
    for i, array in enumerate(kept):
        assert (array == i).all()
    addresses = [array.base.keeps.buffer.ctypes.data for array in kept]
    assert len(set(addresses)) == 200
    del kept[::2], array
    assert allocated() == base + 100 * 256


def test_the_table_of_shared_memory_stays_right_while_memory_is_shared_and_freed(base: int):
    """The entries of the table must be sorted and must not overlap."""
    before, others = list(_by_id), len(_by_address)
    random = np.random.default_rng(SEED)
    held: dict[int, tuple[np.ndarray, mt.Tensor]] = {}
    for i in range(3000):
        if held and random.random() < 0.45:
            del held[list(held)[random.integers(len(held))]]
        else:
            numbers = np.full(random.integers(1, 40), float(i))
            held[i] = numbers, mt.from_numpy(numbers[random.integers(numbers.size) :])
            del numbers
        if i % 100 == 0:
            ends = [(each.begin, each.end) for each in _by_address]
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends)) and len(ends) == len(held) + others
            for number in held:
                expect_one_storage(number, *held[number])
    held.clear()
    assert list(_by_id) == before and len(_by_address) == others and allocated() == base


def expect_one_storage(number: int, array: np.ndarray, x: mt.Tensor) -> None:
    again = mt.from_numpy(array)
    assert again._storage is x._storage and is_shared(x._storage) and again[0].item() == number
