"""``paddle.distribution``: probability distributions. Samples and logarithms of probabilities can have gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.checks import integer, real, shown, undefined
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.drawing import bernoulli, rand, randn
from minitensor.engine.creation.from_data import array_of
from minitensor.engine.creation.making import as_shape, made_here
from minitensor.engine.device.arrays import broadcast_shapes, host_array, like
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.layers.activations import log_softmax
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.random import source
from minitensor.engine.views.joining import expand
from minitensor.engine.views.reshaping import reshape, squeeze, unsqueeze

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence"]


def _parameters(op: str, **given: Any) -> list[Tensor]:
    """Return numbers, lists, arrays and tensors as float tensors that are broadcast to one shape.

    Raises:
        TypeError: if a value is not a number, a list, an array or a tensor.
        ValueError: if the shapes cannot be broadcast.
    """
    found = []
    for name, value in given.items():
        if not isinstance(value, (Tensor, int, float, list, tuple, np.ndarray)):
            raise TypeError(f"{op}: {name} must be a number, a list, an array or a Tensor, not {shown(value)}")
        x = value if isinstance(value, Tensor) else made_here("to_tensor", array_of(value, None, f"{op}: {name}"))
        found.append(x if x._array.dtype in FLOATS else x.astype("float32"))
    try:
        shape = broadcast_shapes(*(x._array.shape for x in found))
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in found)
        raise ValueError(f"{op}: the shapes {shapes} of {' and '.join(given)} cannot be broadcast") from None
    return [x if x._array.shape == shape else expand(x, list(shape)) for x in found]


def _need_tensor(op: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{op}: value must be a Tensor, not {shown(value)}")
    return value


def _broadcast_shape(op: str, value: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of ``value`` broadcast against the parameters, whose shape is ``shape``."""
    try:
        return broadcast_shapes(value._array.shape, shape)
    except ValueError:
        raise ValueError(
            f"{op}: the shape {value.shape} of value cannot be broadcast with the shape {list(shape)} of the parameters"
        ) from None


def _value(op: str, value: Any, shape: tuple[int, ...]) -> Tensor:
    """Return ``value``, after checking that it holds numbers and can be broadcast with parameters of ``shape``."""
    if _need_tensor(op, value)._array.dtype.kind == "b":
        raise TypeError(f"{op}: value must hold numbers, not bools; convert it first: `value.astype('float32')`")
    _broadcast_shape(op, value, shape)
    return value


class Distribution:
    """A probability distribution, or a batch of distributions.

    Raises:
        TypeError, ValueError: if ``batch_shape`` or ``event_shape`` is not a shape.
    """

    def __init__(self, batch_shape: Any = (), event_shape: Any = ()) -> None:
        name = type(self).__name__
        self._batch_shape = as_shape(f"{name}: batch_shape", batch_shape)
        self._event_shape = as_shape(f"{name}: event_shape", event_shape)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the parameters, without a dimension for categories."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one outcome."""
        return self._event_shape

    def _shape(self, shape: Any, method: str = "rsample") -> list[int]:
        """Return ``shape`` followed by ``batch_shape``."""
        op = f"{type(self).__name__}.{method}"
        return list(as_shape(op, [*as_shape(op, shape), *self._batch_shape]))

    def sample(self, shape: Any = (), seed: int = 0) -> Tensor:
        """Return random outcomes without a gradient. Their shape is ``shape`` followed by ``batch_shape``.

        Args:
            seed: has no effect; ``minitensor.seed`` seeds the generator.
        """
        integer(f"{type(self).__name__}.sample", "seed", seed)
        return self.rsample(shape).detach()

    def rsample(self, shape: Any = ()) -> Tensor:
        """Return random outcomes that pass gradients to the parameters. Their shape is as in :meth:`sample`.

        Raises:
            NotImplementedError: if an outcome is not a continuous function of the parameters.
        """
        raise NotImplementedError(f"{type(self).__name__}.rsample: its outcomes have no gradient; use sample()")

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability (or density) at ``value``, which is broadcast with the parameters."""
        raise undefined(self, "log_prob")

    def probs(self, value: Tensor) -> Tensor:
        """Return the probability (or density) at ``value``, which is broadcast with the parameters."""
        return FUNCTIONS["exp"](self.log_prob(value))

    prob = probs

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        raise undefined(self, "entropy")

    def kl_divergence(self, other: Distribution) -> Tensor:
        """Return the divergence of this distribution from ``other`` (Kullback and Leibler 1951).

        Raises:
            NotImplementedError: if ``other`` is of another class.
            ValueError: if the shapes of the parameters cannot be broadcast.
        """
        if type(other) is not type(self):
            raise NotImplementedError(
                f"kl_divergence of {type(self).__name__} and {type(other).__name__}: both must be of one class"
            )
        try:
            broadcast_shapes(self._parameter_shape, other._parameter_shape)
        except ValueError:
            shapes = f"{list(self._parameter_shape)} and {list(other._parameter_shape)}"
            raise ValueError(f"kl_divergence: the shapes {shapes} of the parameters cannot be broadcast") from None
        return self._divergence(other)

    @property
    def _parameter_shape(self) -> tuple[int, ...]:
        """The shape of the parameters, including a dimension for categories."""
        return self._batch_shape

    def _divergence(self, other: Any) -> Tensor:
        raise undefined(self, "kl_divergence")


class Normal(Distribution):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    Raises:
        TypeError: if a parameter is not a number, a list, an array or a tensor.
        ValueError: if the shapes cannot be broadcast.
    """

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.loc, self.scale = _parameters("Normal", loc=loc, scale=scale)
        super().__init__(self.loc._array.shape)

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        return FUNCTIONS["square"](self.scale)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each distribution."""
        return self.scale

    def rsample(self, shape: Any = ()) -> Tensor:
        noise = randn(self._shape(shape), self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        distance: Any = _value("Normal.log_prob", value, self._batch_shape) - self.loc
        spread = -FUNCTIONS["square"](distance) / (2.0 * self.variance)
        return spread - FUNCTIONS["log"](self.scale) - math.log(math.sqrt(2.0 * math.pi))

    def entropy(self) -> Tensor:
        return FUNCTIONS["log"](self.scale) + (0.5 + 0.5 * math.log(2.0 * math.pi))

    def _divergence(self, other: Normal) -> Tensor:
        ratio: Any = FUNCTIONS["square"](self.scale / other.scale)
        distance: Any = FUNCTIONS["square"]((self.loc - other.loc) / other.scale)
        return 0.5 * (ratio + distance - 1.0 - FUNCTIONS["log"](ratio))


class Uniform(Distribution):
    """The uniform distribution from ``low`` (included) to ``high`` (excluded).

    Raises:
        TypeError: if a bound is not a number, a list, an array or a tensor.
        ValueError: if the shapes cannot be broadcast.
    """

    def __init__(self, low: Any, high: Any, name: str | None = None) -> None:
        self.low, self.high = _parameters("Uniform", low=low, high=high)
        super().__init__(self.low._array.shape)

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution."""
        return (self.high + self.low) / 2.0

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        return FUNCTIONS["square"](self.high - self.low) / 12.0

    def rsample(self, shape: Any = ()) -> Tensor:
        return self.low + rand(self._shape(shape), self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        value = _value("Uniform.log_prob", value, self._batch_shape)
        inside = FUNCTIONS["logical_and"](self.low < value, value < self.high).astype(self.low.dtype)
        return FUNCTIONS["log"](inside) - FUNCTIONS["log"](self.high - self.low)

    def entropy(self) -> Tensor:
        return FUNCTIONS["log"](self.high - self.low)


class Bernoulli(Distribution):
    """A distribution whose outcome is 1 with probability ``probs`` and 0 with probability ``1 - probs``.

    Raises:
        TypeError: if ``probs`` is not a number, a list, an array or a tensor.
        ValueError: if an element of ``probs`` is not from 0 to 1.
    """

    def __init__(self, probs: Any, name: str | None = None) -> None:
        (self._given,) = _parameters("Bernoulli", probs=probs)
        array = host_array(self._given._array)
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise ValueError(
                f"Bernoulli: probs must be from 0 to 1, but they go from {array.min():g} to {array.max():g}"
            )
        eps = float(np.finfo(array.dtype).eps)
        self._probs: Any = FUNCTIONS["clip"](self._given, eps, 1.0 - eps)
        self._logits: Any = FUNCTIONS["log"](self._probs) - FUNCTIONS["log1p"](-self._probs)
        super().__init__(array.shape)

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self._given

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        return self._given * (1.0 - self._given)

    def sample(self, shape: Any = (), seed: int = 0) -> Tensor:
        integer("Bernoulli.sample", "seed", seed)
        return bernoulli(expand(self._given.detach(), self._shape(shape, "sample")))

    def rsample(self, shape: Any = (), temperature: float = 1.0) -> Tensor:
        """Return numbers from 0 to 1 through which ``probs`` gets a gradient (Maddison et al. 2016).

        The lower the ``temperature``, the closer the numbers are to 0 or 1.

        Raises:
            TypeError, ValueError: if ``temperature`` is not a number above 0.
        """
        temperature = real("Bernoulli.rsample", "temperature", temperature, above=0)
        share: Any = FUNCTIONS["clip"](rand(self._shape(shape), self._probs.dtype), 1e-7, 1.0 - 1e-7)
        noise = FUNCTIONS["log"](share) - FUNCTIONS["log1p"](-share)
        return FUNCTIONS["sigmoid"]((self._logits + noise) / temperature)

    def log_prob(self, value: Tensor) -> Tensor:
        value = _value("Bernoulli.log_prob", value, self._batch_shape)
        right = FUNCTIONS["log_sigmoid"](self._logits) * value
        return right + FUNCTIONS["log_sigmoid"](-self._logits) * (1.0 - value)

    def entropy(self) -> Tensor:
        return -(
            self._probs * FUNCTIONS["log_sigmoid"](self._logits)
            + (1.0 - self._probs) * FUNCTIONS["log_sigmoid"](-self._logits)
        )

    def _divergence(self, other: Bernoulli) -> Tensor:
        ones = FUNCTIONS["log_sigmoid"](self._logits) - FUNCTIONS["log_sigmoid"](other._logits)
        zeros = FUNCTIONS["log_sigmoid"](-self._logits) - FUNCTIONS["log_sigmoid"](-other._logits)
        return self._probs * ones + (1.0 - self._probs) * zeros


class Categorical(Distribution):
    """The distribution of the categories 0, 1, 2, ...; the last dimension of ``logits`` determines their probabilities.

    As in Paddle, ``sample``, ``log_prob`` and ``probs`` use the logits, divided by their sum, as probabilities. Logits
    must therefore not be negative. In contrast, ``entropy`` and ``kl_divergence`` use the logits as logarithms.

    Raises:
        TypeError: if ``logits`` is not a tensor, list or array.
        ValueError: if ``logits`` has no dimension.
    """

    def __init__(self, logits: Any, name: str | None = None) -> None:
        (self.logits,) = _parameters("Categorical", logits=logits)
        if self.logits.ndim == 0:
            raise ValueError("Categorical: logits must have a dimension for the categories, but their shape is []")
        super().__init__(self.logits._array.shape[:-1])
        self._prob = self.logits / FUNCTIONS["sum"](self.logits, -1, True)

    def sample(self, shape: Any = (), seed: int = 0) -> Tensor:
        integer("Categorical.sample", "seed", seed)
        whole, chances = self._shape(shape, "sample"), host_array(self._prob._array)
        if not (chances >= 0).all():
            raise ValueError("Categorical.sample: logits must not be negative, because they are divided by their sum")
        bounds = chances.reshape(-1, chances.shape[-1]).astype(np.float64).cumsum(-1)
        lead = whole[: len(whole) - len(self._batch_shape)]
        drawn = source.generator.random((math.prod(lead), len(bounds)))
        found = (drawn[..., None] >= bounds[None] / bounds[None, :, -1:]).sum(-1).astype(np.int64)
        return Tensor._made(like(found.reshape(whole), self._prob._array), "sample")

    @property
    def _parameter_shape(self) -> tuple[int, ...]:
        return self.logits._array.shape

    def _probability(self, op: str, value: Tensor) -> Tensor:
        value = _need_tensor(op, value)
        index = value if value._array.dtype.kind == "i" else value.astype("int64")
        count = self.logits.shape[-1]
        numbers = host_array(index._array)
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
            raise ValueError(
                f"{op}: categories must be from 0 to {count - 1}, not from {numbers.min()} to {numbers.max()}"
            )
        if self.logits.ndim == 1:
            return reshape(FUNCTIONS["index_select"](self._prob, reshape(index, [-1]), 0), index.shape)
        if index.ndim == 1:
            index = expand(index, [*self._batch_shape, index.shape[0]])
            return FUNCTIONS["take_along_axis"](self._prob, index, -1)
        if list(index.shape[:-1]) == list(self._batch_shape):
            return FUNCTIONS["take_along_axis"](self._prob, index, -1)
        shape = _broadcast_shape(op, index, self._batch_shape)
        rows = expand(self._prob, [*shape, count])
        return squeeze(FUNCTIONS["take_along_axis"](rows, unsqueeze(expand(index, list(shape)), -1), -1), -1)

    def probs(self, value: Tensor) -> Tensor:
        return self._probability("Categorical.probs", value)

    def log_prob(self, value: Tensor) -> Tensor:
        return FUNCTIONS["log"](self._probability("Categorical.log_prob", value))

    def entropy(self) -> Tensor:
        logs: Any = log_softmax(self.logits, -1)
        return -FUNCTIONS["sum"](FUNCTIONS["exp"](logs) * logs, -1)

    def _divergence(self, other: Categorical) -> Tensor:
        own: Any = log_softmax(self.logits, -1)
        return FUNCTIONS["sum"](FUNCTIONS["exp"](own) * (own - log_softmax(other.logits, -1)), -1, True)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the divergence of ``p`` from ``q`` (Kullback and Leibler 1951), in the broadcast shape of the parameters.

    For :class:`Categorical`, the last dimension is the one of the categories, and has length 1 in the result.

    Raises:
        NotImplementedError: if the two distributions are of different classes.
        TypeError: if an argument is not a distribution.
        ValueError: if the shapes of the parameters cannot be broadcast.
    """
    for each in (p, q):
        if not isinstance(each, Distribution):
            raise TypeError(f"kl_divergence: p and q must be distributions, not {type(each).__name__}")
    return p.kl_divergence(q)
