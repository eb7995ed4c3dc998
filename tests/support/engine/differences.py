"""Derivatives without the engine: central differences of plain numpy functions, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

import minitensor as mt

STEP = 1e-6


@contextmanager
def on_the_host() -> Iterator[None]:
    """Make tensors on the host, for results that are computed once and used for every device."""
    device = mt.get_device()
    mt.set_device("cpu")
    try:
        yield
    finally:
        mt.set_device(device)


def slopes(function: Callable[..., float], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the derivative of the number ``function(*arrays)`` with respect to every element of every array."""
    found = []
    for k, array in enumerate(arrays):
        slope = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = [a.copy() for a in arrays]
                moved[k][index] += step
                ends.append(float(function(*moved)))
            slope[index] = (ends[0] - ends[1]) / (2 * STEP)
        found.append(slope)
    return found


def weights(shape: Sequence[int]) -> np.ndarray:
    """Return a different number for each element, so that no two mistakes cancel."""
    size = int(np.prod(shape, dtype=int))
    return (np.arange(size) * 0.7 + 0.3).reshape(shape) * np.where(np.arange(size) % 2, -1, 1).reshape(shape)


def expect_gradients(reference: Callable[..., np.ndarray], leaves: Sequence[mt.Tensor], result: mt.Tensor) -> None:
    """Assert that backward from the weighted ``result`` gives every leaf the slope of the ``reference``."""
    arrays = [leaf.numpy() for leaf in leaves]
    weight = weights(result.shape)
    wanted = slopes(lambda *moved: (reference(*moved) * weight).sum(), arrays)
    result.backward(mt.to_tensor(weight))
    for leaf, want in zip(leaves, wanted, strict=True):
        got = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


def put(array: np.ndarray, index: object, value: object) -> np.ndarray:
    """Return a copy of ``array`` with ``value`` at ``index``."""
    array = array.copy()
    array[index] = value
    return array


def leaf(values: object) -> mt.Tensor:
    """Return a float64 leaf that requires a gradient."""
    return mt.to_tensor(np.array(values, np.float64), stop_gradient=False)


def leaf_like(array: np.ndarray) -> mt.Tensor:
    """Return a leaf with the numbers of ``array``."""
    return mt.to_tensor(array, stop_gradient=False)
