"""Test that random programs of views, saves, writes and deletions agree with a model that copies every saved value.

Every run has the same programs, unless MINITENSOR_SEED chooses others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.device.arrays import host_array
from minitensor.engine.saved.saved import Lost, Preserved, is_intact, recovered
from tests.support.engine.memory import allocated

SEED = int(os.environ.get("MINITENSOR_SEED", "0"))
UNHARMED = "None of the saved bytes were overwritten"


@dataclass
class Save:
    """A living result of an operation, with the saved cells, the values in them, and the set of the preserved cells."""

    result: mt.Tensor
    cells: np.ndarray
    numbers: np.ndarray
    preserved: set[int]
    careless: bool = False  # a write under another policy found cells that were not preserved, or there are no cells
    lost: bool = False  # that write or a later one overwrote some of the cells


class Program:
    """A storage that is written through many kinds of alias. ``cells`` has the index of each element of the storage."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.shape = [(24,), (4, 6), (2, 3, 4), (40, 50), (1, 7)][rng.integers(5)]
        size = int(np.prod(self.shape))
        self.w = mt.to_tensor(rng.integers(1, 100, self.shape).astype(np.float64), stop_gradient=False)
        self.x = self.w * 1.0
        self.cells = np.arange(size).reshape(self.shape)
        self.saves: list[Save] = []
        self.written = 1000.0

    def index(self, ndim: int, shape: tuple[int, ...]) -> tuple[object, ...]:
        """Return a random basic index."""
        found: list[object] = []
        for n in shape[: self.rng.integers(ndim + 1)]:
            if n == 0 or self.rng.random() < 0.3:
                found.append(slice(None))
            elif self.rng.random() < 0.3:
                found.append(int(self.rng.integers(n)))
            else:
                low, high = sorted(self.rng.integers(0, n + 1, 2))
                step = int(self.rng.choice([1, 1, 2, 3, -1, -2]))
                found.append(slice(low, high, step) if step > 0 else slice(high - 1 if high else None, None, step))
        return tuple(found)

    def view(self) -> tuple[mt.Tensor, np.ndarray]:
        """Return the tensor or a random view of it, and the cells of the tensor that is returned."""
        x, cells = self.x, self.cells
        for _ in range(self.rng.integers(4)):
            kind = self.rng.integers(4)
            if kind == 0 and cells.ndim > 1:
                perm = [int(p) for p in self.rng.permutation(cells.ndim)]
                x, cells = x.transpose(perm), cells.transpose(perm)
            elif kind == 1 and cells.ndim == 2:
                x, cells = x.diagonal(), cells.diagonal()
            else:
                index = self.index(cells.ndim, cells.shape)
                x, cells = x[index], cells[index]
        return x, np.asarray(cells)

    def save(self) -> None:
        x, cells = self.view()
        if self.rng.random() < 0.2 and self.x.size >= 20:  # windows that overlap
            first = int(self.rng.integers(5))
            x, cells = self.x.as_strided([3, 4], [2, 1], first), first + np.add.outer([0, 2, 4], range(4))
        self.saves.append(Save(x * x, cells, x.numpy(), set()))

    def write(self, policy: str) -> tuple[int, bool]:
        """Write to random cells; return their number, and True if an advanced index selected them."""
        x, cells = self.view()
        self.written += 1
        kind = self.rng.integers(4)
        with mt.set_inplace_policy(policy), mt.no_grad():
            if kind == 0 and cells.ndim and len(cells):
                at = self.rng.integers(0, len(cells), self.rng.integers(4))
                x[at.tolist()] = self.written
                cells = cells[at]
            elif kind == 1:
                mask = self.rng.random(cells.shape) < self.rng.choice([0.02, 0.5, 0.9])
                x[mt.to_tensor(mask)] = self.written
                cells = cells[mask]
            elif kind == 2:
                x.detach().scale_(0.0, self.written)
            else:
                x[...] = self.written
        taken = set(cells.ravel().tolist())
        for save in self.saves:
            mine = set(save.cells.ravel().tolist())
            if not save.careless and policy == "copy_on_write":
                save.preserved |= mine & taken
            elif save.careless or not mine or save.preserved != mine:
                save.careless = True
                save.lost |= bool(mine & taken)
        return len(taken), kind < 2

    def needed(self) -> int:
        """Return how many values must be preserved now. Operations that saved the same value of a cell share a copy."""
        return len({(cell, float(v)) for save in self.saves if not save.careless for cell, v in self._values(save)})

    @staticmethod
    def _values(save: Save) -> list[tuple[int, float]]:
        pairs = zip(save.cells.ravel().tolist(), save.numbers.ravel().tolist(), strict=True)
        return [(cell, v) for cell, v in pairs if cell in save.preserved]

    def check(self) -> None:
        for save in self.saves:
            node = save.result.grad_fn
            for k, what in enumerate(("x", "y")):
                saved = node.saved[k]
                assert is_intact(saved) == (not save.careless)
                assert isinstance(saved[2], Lost) == save.lost
                if not save.careless:
                    np.testing.assert_array_equal(host_array(recovered(node, what, saved)), save.numbers)
                    if isinstance(saved[2], Preserved):
                        assert saved[2].left == len(set(save.cells.ravel().tolist()) - save.preserved)
                else:
                    with pytest.raises(RuntimeError) as raised:
                        recovered(node, what, saved)
                    assert (UNHARMED in str(raised.value)) == (not save.lost)
                    del raised  # the frames of the error keep arrays alive

    def run(self, steps: int, policies: list[str]) -> None:
        start = allocated()
        for _ in range(steps):
            before, needed = allocated(), 8 * self.needed()
            action = self.rng.random()
            if action < 0.3 and len(self.saves) < 6:
                self.save()
                assert allocated() - before == 8 * self.saves[-1].result.size
            elif action < 0.4 and self.saves:
                size = 8 * self.saves[0].result.size
                del self.saves[0]
                assert allocated() - before <= -size
            else:
                policy = str(self.rng.choice(policies))
                covered, by_index = self.write(policy)
                more, held = 8 * self.needed() - needed, allocated() - before
                if policy == "copy_on_write":
                    # In storages as small as these, the index arrays take at most 2 bytes for each cell.
                    assert held <= more + 2 * self.needed()
                    assert by_index or held <= 8 * covered
                else:
                    assert held <= 0
            assert allocated() - start - 8 * sum(save.result.size for save in self.saves) >= 8 * self.needed()
            self.check()
        self.saves.clear()
        assert allocated() == start


@pytest.mark.parametrize("seed", range(60))
def test_under_copy_on_write_every_saved_value_is_unchanged(seed: int, no_collector: None):
    Program(np.random.default_rng([SEED, seed])).run(40, ["copy_on_write"])


@pytest.mark.parametrize("seed", range(60))
def test_under_changing_policies_a_saved_value_is_right_or_reading_it_raises_the_right_error(
    seed: int, no_collector: None
):
    mixed = ["copy_on_write"] * 6 + ["2.5", "2.6"]
    Program(np.random.default_rng([SEED, 1, seed])).run(40, mixed)
