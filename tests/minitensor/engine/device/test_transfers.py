"""Test that only the operations in ``MOVING`` copy arrays between host and device, in forward or in backward.

The simulated GPU counts the transfers.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.device.places import current
from tests.support.engine.device.transfers import crossed, everything

# The tests make their own tensors on the simulated GPU.
pytestmark = pytest.mark.cpu_only

#: Operations that move arrays between host and device, and why they have to.
MOVING = {"bessel_i": "CuPy has the Bessel functions of orders 0 and 1 only"}

_INDEX = "an index is checked before anything is read or written"
_FAR = "the function first asks whether any number is so far below 0 that the reflection formula is needed"
#: Operations that have to wait until the device has computed a single number, each with the reason.
WAITING = {
    "pow": "the function first asks whether a single exponent is 2 or 1, which is faster to compute",
    **dict.fromkeys(("digamma", "multipolygamma", "polygamma"), _FAR),
    **dict.fromkeys(("index_add", "index_fill", "index_put", "index_select", "gather", "scatter"), _INDEX),
    **dict.fromkeys(("take_along_axis", "put_along_axis", "scatter_add"), _INDEX),
    **{f"put_along_axis_{name}": _INDEX for name in ("add", "multiply", "mean", "amin", "amax")},
    "masked_scatter": "there must be as many values as the mask has true elements",
    "masked_select": "backward writes the gradient where the mask is true",
    "fill_diagonal": "the function counts the elements of the diagonal that are inside the matrix",
}


@pytest.fixture(autouse=True)
def simulated() -> None:
    """Select a new simulated GPU. Another fixture selects the host again after every test."""
    mt.set_device("gpu:sim", capacity="256 MiB")


def test_operations_copy_no_arrays_between_host_and_device() -> None:
    pytest.importorskip("scipy")  # without it the special functions have no samples
    moved, waited = Counter[str](), Counter[str]()
    for name, (to_device, to_host, waits) in everything():
        moved[name] += to_device + to_host
        waited[name] += waits
    assert {name for name in moved if moved[name]} == set(MOVING)
    assert {name for name in waited if waited[name]} == set(WAITING)


def test_an_index_is_checked_on_the_device_that_has_it() -> None:
    x, rows, values = mt.rand([4, 3]), mt.to_tensor([2, 0, 2]), mt.rand([3, 3])
    for name, work in {
        "index_select": lambda: x.index_select(rows),
        "index_add": lambda: x.index_add_(rows, 0, values),
        "scatter": lambda: x.scatter_(rows, values),
        "gather": lambda: x.gather(rows),
    }.items():
        to_device, to_host, waits = crossed(work)
        assert (to_device, to_host) == (0, 0), name
        assert waits > 0, f"{name}: the index was not checked"


def test_random_numbers_are_drawn_on_the_host_and_copied_to_the_device_once() -> None:
    """Because of this, a program draws the same random numbers on every device."""
    x = mt.zeros([3, 4])
    for fill in ("bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "uniform_"):
        arguments = (0.5,) if fill == "geometric_" else ()
        assert crossed(lambda: getattr(x, fill)(*arguments)) == (1, 0, 0), fill  # noqa: B023


def test_transfers_are_counted() -> None:
    transfers = current.simulated.transfers
    before = transfers.bytes_to_device, transfers.bytes_to_host
    x = mt.to_tensor(np.zeros((2, 3), np.float32))
    assert crossed(lambda: x.numpy()) == (0, 1, 0)
    assert (transfers.bytes_to_device - before[0], transfers.bytes_to_host - before[1]) == (24, 24)
    assert crossed(lambda: x.sum().item()) == (0, 0, 1)
    assert crossed(lambda: bool(mt.ones([1]))) == (1, 0, 1)
    array = x._array
    mask = array > 1
    assert crossed(lambda: array[mask]) == crossed(lambda: array.__setitem__(mask, 1.0)) == (0, 0, 1)


def test_the_copy_of_an_operand_that_overlaps_the_output_counts_as_device_memory() -> None:
    gpu = current.simulated
    array = gpu.put(np.arange(1025.0))
    counters, target, others = gpu.counters(), array[:-1], array[1:]
    for operand, scratch in ((target, 0), (others, 8 * 1024)):
        counters.reset_peak()
        before = counters.requested
        np.add(target, operand, out=target)
        assert (counters.max_requested - before, counters.requested - before) == (scratch, 0)
    assert target.get().tolist() == [*(2.0 * i + 2.0 * (i + 1) for i in range(1023)), 2.0 * 1023 + 1024]
