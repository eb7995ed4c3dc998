"""Random numbers: ``manual_seed``, ``rand``, ``randn`` and others. PyTorch draws the same numbers for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.creation.making import MOST_ELEMENTS
from minitensor.engine.device.arrays import broadcast_shapes, host_array
from minitensor.engine.dtypes import FLOATS
from minitensor.torch.arguments import need_int, need_tensor
from minitensor.torch.creation import check_placement, placed, size_of
from minitensor.torch.creation_like import like
from minitensor.torch.dtypes import SCALAR_NAMES, dtype_of, float32, int64
from minitensor.torch.errors import sizes_differ
from minitensor.torch.generator import Generator, default_generator, generator_of
from minitensor.torch.tensor import Tensor, as_torch


def manual_seed(seed: int) -> Generator:
    """Restart the program's random numbers with ``seed``, and return their generator.

    Raises:
        TypeError: if ``seed`` is not an integer.
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Restart the program's random numbers with an unpredictable seed, and return the seed."""
    return default_generator.seed()


def get_rng_state() -> tuple[Any, ...]:
    """Return the state of the random numbers, for :func:`set_rng_state`. PyTorch returns it as a tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: tuple[Any, ...]) -> None:
    """Continue from a state that :func:`get_rng_state` returned.

    Raises:
        TypeError: if ``new_state`` is not such a state.
    """
    default_generator.set_state(new_state)


def initial_seed() -> int:
    """Return the seed with which the random numbers started."""
    return default_generator.initial_seed()


def _float_dtype(op: str, dtype: Any) -> np.dtype:
    wanted = float32 if dtype is None else dtype_of(dtype)
    if not wanted.is_floating_point:
        raise RuntimeError(f"\"{op}\" not implemented for '{wanted.name}'")
    return wanted.numpy


def _random_function(name: str, text: str, draw: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    def function(
        *size: Any, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        wanted = _float_dtype(name, dtype)
        check_placement(name, device, requires_grad, wanted)
        return placed(name, draw(generator_of(generator), size_of(name, size), wanted), device, requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return numbers drawn {text}.

    Args:
        size: the shape, as numbers or as one list.

    Returns:
        A tensor of that shape, float32 unless ``dtype`` is given.

    Raises:
        RuntimeError: if a length is negative, or the dtype is not a floating-point one.
        TypeError: if ``size`` is not a shape, or ``generator`` is not a generator.
    """
    return function


rand = _random_function("rand", "uniformly from 0 (included) to 1 (excluded)", Generator.uniform)
randn = _random_function("randn", "from the normal distribution with mean 0 and variance 1", Generator.normal)


def randint(*given: Any, generator: Any = None, dtype: Any = None, device: Any = None, **named: Any) -> Tensor:
    """Return random integers: ``randint(high, size)`` draws from 0 to ``high - 1``, ``randint(low, high, size)`` from
    ``low`` to ``high - 1``. The result has shape ``size``, int64 unless ``dtype`` is given.

    Raises:
        RuntimeError: if ``low`` is not below ``high``, or if a length is negative.
        TypeError: if a bound is not an integer, or ``size`` is not a shape.
    """
    requires_grad = named.pop("requires_grad", False)
    names = ("high", "size") if len(given) + len(named) == 2 else ("low", "high", "size")
    positions = {name: position for position, name in enumerate(names[: len(given)], 1)}
    if len(given) > len(names) or sorted(names) != sorted([*positions, *named]):
        raise TypeError("randint() takes (high, size) or (low, high, size)")
    arguments = dict(zip(names, given, strict=False)) | named
    low, high = (need_int("randint", name, arguments.get(name, 0), positions.get(name)) for name in ("low", "high"))
    size = arguments["size"]
    if not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    wanted = (int64 if dtype is None else dtype_of(dtype)).numpy
    check_placement("randint", device, requires_grad, wanted)
    drawn = generator_of(generator).integers(size_of("randint", (size,)), low, high)
    return placed("randint", drawn.astype(wanted), device, requires_grad)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the numbers from 0 to ``n - 1`` in random order. The result has shape [n], int64 unless ``dtype`` is
    given.

    Raises:
        RuntimeError: if ``n`` is negative.
    """
    n = need_int("randperm", "n", n)
    if n > MOST_ELEMENTS:
        raise RuntimeError(f"randperm: {n} numbers are more than memory holds")
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got{n}")
    wanted = (int64 if dtype is None else dtype_of(dtype)).numpy
    check_placement("randperm", device, False, wanted)
    drawn = generator_of(generator).permutation(n).astype(wanted)
    return placed("randperm", drawn, device, False)


def _of_float_dtype(op: str, draw: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Wrap ``draw`` so that it raises RuntimeError unless the dtype is a floating-point one."""
    return lambda shape, dtype: draw(shape, _float_dtype(op, dtype))


def rand_like(input: Tensor, **named: Any) -> Tensor:
    """Return uniformly distributed numbers (see :func:`rand`) in the shape and dtype of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor.
        RuntimeError: if the dtype is not a floating-point one.
    """
    return like("rand_like", input, _of_float_dtype("rand_like", default_generator.uniform), named)


def randn_like(input: Tensor, **named: Any) -> Tensor:
    """Return normally distributed numbers (see :func:`randn`) in the shape and dtype of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor.
        RuntimeError: if the dtype is not a floating-point one.
    """
    return like("randn_like", input, _of_float_dtype("randn_like", default_generator.normal), named)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None) -> Tensor:
    """Return numbers from the normal distribution.

    Args:
        mean, std: numbers, or tensors with a mean and a standard deviation for each element of the result.
        size: the shape of the result if ``mean`` and ``std`` are numbers. Otherwise the result has their broadcast
            shape.

    Raises:
        RuntimeError: if a standard deviation is negative, or the shapes cannot be broadcast.
        TypeError: if ``mean`` and ``std`` are numbers and there is no ``size``.
    """
    source = generator_of(generator)
    parameters = [x._array for x in (mean, std) if isinstance(x, BaseTensor)]
    if not parameters:
        if size is None:
            raise TypeError("normal() needs a size if mean and std are numbers")
        mean, std = checks.real("normal()", "mean", mean), checks.real("normal()", "std", std)
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        return placed("normal", source.normal(size_of("normal", (size,)), float32.numpy, mean, std), None, False)
    middle, deviation = (
        host_array(x._array) if isinstance(x, BaseTensor) else checks.real("normal()", name, x)
        for name, x in (("mean", mean), ("std", std))
    )
    if np.any(np.less(deviation, 0)):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    try:
        shape = broadcast_shapes(*(array.shape for array in parameters))
    except ValueError:
        raise sizes_differ([array.shape for array in parameters]) from None
    drawn = source.normal(shape, parameters[0].dtype)
    return placed("normal", np.asarray(drawn * deviation + middle, parameters[0].dtype), None, False)


def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """Return random zeros and ones in the shape and dtype of ``input``.

    Args:
        input: the probability of each element of the result to be 1.

    Raises:
        RuntimeError: if an element is not a probability.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("bernoulli", input)
    input = as_torch(input)
    return input.new_empty(input._array.shape).bernoulli_(input, generator=generator)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Return ``num_samples`` positions drawn from each row, in proportion to the row's weights.

    Args:
        input: weights, of shape [n] or [rows, n].

    Returns:
        An int64 tensor of shape [num_samples] or [rows, num_samples].

    Raises:
        RuntimeError: if a weight is negative or not finite, if the weights of a row are all 0, or if ``num_samples``
            exceeds the number of weights in a row and ``replacement`` is false.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("multinomial", input)
    array = host_array(input._array)
    if array.dtype not in FLOATS:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {SCALAR_NAMES[array.dtype]}"
        )
    if array.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    num_samples = need_int("multinomial", "num_samples", num_samples, 2)
    replacement = checks.flag("multinomial()", "replacement", replacement)
    input = as_torch(input)
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > array.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not np.isfinite(array).all() or (array < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (array.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement and num_samples > 1:
        limits = np.cumsum(array.reshape(-1, array.shape[-1]), -1)
        limits /= limits[:, -1:]
        drawn = generator_of(generator).uniform((len(limits), num_samples), np.dtype(np.float64))
        chosen = np.empty(drawn.shape, np.int64)
        for row, limit, points in zip(chosen, limits, drawn, strict=True):
            row[:] = np.searchsorted(limit, points)
        chosen = chosen.reshape(*array.shape[:-1], num_samples)
    else:  # draw an exponential waiting time for each position, with its weight as the rate, and choose the shortest
        waited = input.new_empty(array.shape).exponential_(1.0, generator=generator)
        with np.errstate(all="ignore"):
            rate = array / host_array(waited._array)
        chosen = np.argsort(-rate, -1, kind="stable")[..., :num_samples]
    return placed("multinomial", np.ascontiguousarray(chosen, np.int64), input.device, False)
