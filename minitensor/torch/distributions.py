"""``torch.distributions``: probability distributions. Samples and log-probabilities can have gradients.

Samples are drawn from the default generator, in PyTorch's order. The classes repeat some formulas of
:mod:`minitensor.distribution`, because PyTorch and Paddle check, draw and limit the numbers differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import broadcast_shapes
from minitensor.engine.kernels.numbers import number
from minitensor.torch.arguments import need_tensor, sizes_of
from minitensor.torch.autograd import no_grad
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.creation import tensor, zeros
from minitensor.torch.dtypes import Size
from minitensor.torch.errors import missing_in
from minitensor.torch.nn.functional import binary_cross_entropy_with_logits, softmax, softplus
from minitensor.torch.random import bernoulli, multinomial, normal, rand
from minitensor.torch.reductions import logsumexp
from minitensor.torch.tensor import Tensor

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence", "register_kl"]


def _broadcast_together(*parameters: Any) -> list[Tensor]:
    """Return ``parameters``, numbers or tensors, as tensors that are broadcast to one shape.

    Raises:
        ValueError: if a parameter is neither a number nor a tensor.
        RuntimeError: if the shapes cannot be broadcast.
    """
    for each in parameters:
        if not isinstance(each, (BaseTensor, int, float)):
            raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                             f"__torch_function__; this one is {shown(each)}.")  # fmt: skip
    given: list[Any] = [each if isinstance(each, BaseTensor) else _float(each) for each in parameters]
    try:
        shape = broadcast_shapes(*(each._array.shape for each in given))
    except ValueError:
        shapes = ", ".join(str(list(each._array.shape)) for each in given)
        raise RuntimeError(f"the shapes {shapes} of the parameters cannot be broadcast together") from None
    return [each.expand(shape) if each._array.shape != shape else each for each in given]


def _float(given: float) -> Tensor:
    return tensor(float(number("torch.distributions", "a parameter", given)))


def _nonzero_terms(log_ratio: Tensor, probability: Tensor) -> Tensor:
    """Return ``log_ratio`` with its elements replaced by 0 where ``probability`` is 0."""
    return TABLE["where"](TABLE["eq"](probability, 0), 0.0, log_ratio)


class Distribution:
    """A probability distribution, or a batch of them.

    Attributes:
        batch_shape: the shape of the parameters, without the dimension for the categories of a :class:`Categorical`.
        event_shape: the shape of one outcome.
    """

    has_rsample = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        op = f"{type(self).__name__}()"
        self._batch_shape = Size(checks.integers(op, "batch_shape", batch_shape, least=0))
        self._event_shape = Size(checks.integers(op, "event_shape", event_shape, least=0))
        self._validate_args = validate_args is None or checks.flag(op, "validate_args", validate_args)

    def _check(self, name: str, allowed: str, valid: Callable[[Any], Any]) -> None:
        """If arguments are validated, raise ValueError unless ``valid`` is true for each element of the parameter
        ``name``.
        """
        given = getattr(self, name)
        if self._validate_args and not bool(np.all(valid(given.detach()._array))):
            raise ValueError(
                f"Expected parameter {name} (Tensor of shape {tuple(given.shape)}) of distribution {self!r} to satisfy "
                f"the constraint {allowed}, but found invalid values:\n{given!r}"
            )

    def _check_value(self, value: Any, allowed: str, valid: Callable[[Any], Any]) -> None:
        """If arguments are validated, raise ValueError unless ``value`` is a tensor that can be broadcast against the
        parameters, and ``valid`` is true for every number in it.
        """
        if not self._validate_args:
            return
        if not isinstance(value, BaseTensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        try:
            broadcast_shapes(value._array.shape, tuple(self._batch_shape))
        except ValueError:
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {self._batch_shape}."
            ) from None
        if not bool(np.all(valid(value._array))):
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support ({allowed}) "
                f"of the distribution {self!r}, but found invalid values:\n{value!r}"
            )

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters, without a dimension for categories."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one outcome."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution."""
        raise checks.undefined(self, "mean")

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        raise checks.undefined(self, "variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each distribution."""
        return TABLE["sqrt"](self.variance)

    def _extend(self, sample_shape: Any) -> list[int]:
        lead = sizes_of(f"{type(self).__name__}.sample", (sample_shape,))
        if any(n < 0 for n in lead):
            raise RuntimeError(f"{type(self).__name__}.sample(): sample_shape {shown(lead)} has a negative length")
        return [*lead, *self._batch_shape, *self._event_shape]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return random outcomes without a gradient, of shape ``sample_shape + batch_shape + event_shape``."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return random outcomes whose gradients flow to the parameters.

        Raises:
            NotImplementedError: if the outcomes of this distribution are not differentiable functions of the
                parameters.
        """
        raise NotImplementedError(f"{type(self).__name__}.rsample: its outcomes have no gradient; use sample()")

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability (density) at ``value``, which is broadcast against the parameters."""
        raise checks.undefined(self, "log_prob")

    def entropy(self) -> Tensor:
        """Return the entropy of each distribution, in nats."""
        raise checks.undefined(self, "entropy")

    def __repr__(self) -> str:
        shown = []
        for name in self._shown:
            value = getattr(self, name)
            shown.append(f"{name}: {value if value._array.size == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"

    _shown: tuple[str, ...] = ()


class Normal(Distribution):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``.

    Raises:
        ValueError: if ``scale`` is not above 0, or ``loc`` is nan.
        RuntimeError: if the shapes cannot be broadcast.
    """

    has_rsample = True
    _shown = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _broadcast_together(loc, scale)
        super().__init__(self.loc._array.shape, (), validate_args)
        self._check("loc", "Real()", lambda a: a == a)
        self._check("scale", "GreaterThan(lower_bound=0.0)", lambda a: a > 0)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable outcome: the mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        return TABLE["square"](self.scale)

    @property
    def stddev(self) -> Tensor:
        return self.scale

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            shape = self._extend(sample_shape)
            return normal(self.loc.detach().expand(shape), self.scale.detach().expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extend(sample_shape)
        noise = normal(zeros(shape, dtype=self.loc.dtype), 1.0)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value, "Real()", lambda a: a == a)
        distance = value - self.loc
        spread = -TABLE["square"](distance) / (2 * self.variance)
        return spread - TABLE["log"](self.scale) - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability that an outcome is at most ``value``, which is broadcast against the parameters.

        The function needs scipy.
        """
        self._check_value(value, "Real()", lambda a: a == a)
        return 0.5 * (1 + TABLE["erf"]((value - self.loc) / self.scale / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        """Return the number such that an outcome is at most this number with probability ``value``.

        The function needs scipy.

        Raises:
            TypeError: if ``value`` is not a tensor.
        """
        need_tensor("Normal.icdf", value, 1, "value")
        return self.loc + self.scale * TABLE["erfinv"](2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return TABLE["log"](self.scale) + (0.5 + 0.5 * math.log(2 * math.pi))


class Uniform(Distribution):
    """The uniform distribution from ``low`` (included) to ``high`` (excluded).

    Raises:
        ValueError: if ``low`` is not below ``high``.
        RuntimeError: if the shapes cannot be broadcast.
    """

    has_rsample = True
    _shown = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = _broadcast_together(low, high)
        super().__init__(self.low._array.shape, (), validate_args)
        if self._validate_args and not bool((self.low._array < self.high._array).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        return TABLE["square"](self.high - self.low) / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        share = rand(self._extend(sample_shape), dtype=self.low.dtype)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        low, high = self.low._array, self.high._array
        self._check_value(value, "Interval()", lambda a: (a >= low) & (a <= high))
        inside = TABLE["mul"](self.low.le(value).type_as(self.low), self.high.gt(value).type_as(self.low))
        return TABLE["log"](inside) - TABLE["log"](self.high - self.low)

    def entropy(self) -> Tensor:
        return TABLE["log"](self.high - self.low)


def _check_one_given(kind: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    if kind == "Categorical":
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if not isinstance(given, BaseTensor):
            raise TypeError(f"Categorical(): argument '{name}' must be Tensor, not {shown(given)}")
        if given._array.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")


def _logits_of(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the logits of probabilities. The probabilities are first limited to a range that excludes 0 and 1."""
    eps = float(np.finfo(probs._array.dtype).eps)
    bounded = TABLE["clamp"](probs, eps, 1 - eps)
    return TABLE["log"](bounded) - TABLE["log1p"](-bounded) if is_binary else TABLE["log"](bounded)


class Bernoulli(Distribution):
    """The distribution of a number that is 1 with probability ``probs``, else 0.

    ``logits``, the logarithms of the odds, may be given instead of ``probs``.

    Raises:
        ValueError: if both or neither of ``probs`` and ``logits`` are given, or if a number in ``probs`` is not a
            probability.
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        _check_one_given("Bernoulli", probs, logits)
        self._shown = ("logits",) if probs is None else ("probs",)
        (given,) = _broadcast_together(logits if probs is None else probs)
        if probs is None:
            self.logits, self.probs = given, TABLE["sigmoid"](given)
        else:
            self.probs = given
            self.logits = _logits_of(given, is_binary=True)
        super().__init__(given._array.shape, (), validate_args)
        if probs is not None:
            self._check("probs", "Interval(lower_bound=0.0, upper_bound=1.0)", lambda a: (a >= 0) & (a <= 1))

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.detach().expand(self._extend(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value, "Boolean()", lambda a: (a == 0) | (a == 1))
        logits, value = _broadcast_together(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(Distribution):
    """The distribution of a number 0, 1, 2, ..., with the probabilities along the last dimension of ``probs``.

    The probabilities are divided by their sum. ``logits``, the logarithms of the probabilities, may be given instead of
    ``probs``.

    Raises:
        ValueError: if both or neither of ``probs`` and ``logits`` are given, if a number in ``probs`` is negative, if
            probabilities have the sum 0, or if the argument has no dimension.
        TypeError: if the argument is not a tensor.
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        _check_one_given("Categorical", probs, logits)
        self._shown = ("logits",) if probs is None else ("probs",)
        if probs is None:
            self.logits = logits - logsumexp(logits, -1, keepdim=True)
            self.probs = softmax(self.logits, -1)
        else:
            self._check_probabilities(probs, validate_args)
            self.probs = probs / probs.sum(-1, keepdim=True)
            self.logits = _logits_of(self.probs)
        self._num_events = self.probs._array.shape[-1]
        super().__init__(self.probs._array.shape[:-1], (), validate_args)

    def _check_probabilities(self, probs: Tensor, validate_args: bool | None) -> None:
        array = probs.detach()._array
        if validate_args is not False and not bool((array >= 0).all() and (array.sum(-1) > 0).all()):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(probs.shape)}) of distribution "
                f"Categorical(probs: {probs.size()}) to satisfy the constraint Simplex(), but found invalid values:\n"
                f"{probs!r}"
            )

    @property
    def mean(self) -> Tensor:
        """A tensor of nan, because the numbers only name categories."""
        return self.probs.new_full(self._batch_shape, float("nan"))

    @property
    def variance(self) -> Tensor:
        """A tensor of nan, because the numbers only name categories."""
        return self.probs.new_full(self._batch_shape, float("nan"))

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            shape = self._extend(sample_shape)
            lead = shape[: len(shape) - len(self._batch_shape)]
            rows = self.probs.detach().reshape(-1, self._num_events)
            drawn = multinomial(rows, math.prod(lead), True)
            return drawn.t().reshape(*shape)

    def log_prob(self, value: Tensor) -> Tensor:
        count = self._num_events
        self._check_value(
            value,
            f"IntegerInterval(lower_bound=0, upper_bound={count - 1})",
            lambda a: (a >= 0) & (a < count) & (a == np.floor(a)),
        )
        shape = broadcast_shapes(value._array.shape, self.probs._array.shape[:-1])
        chosen = value.long().expand(shape).unsqueeze(-1)
        return TABLE["gather"](self.logits.expand(*shape, count), -1, chosen).squeeze(-1)

    def entropy(self) -> Tensor:
        lowest = float(np.finfo(self.logits._array.dtype).min)
        return -(TABLE["clamp"](self.logits, min=lowest) * self.probs).sum(-1)


# ---------- divergences ----------

_DIVERGENCES: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Return a decorator that registers a function ``f(p, q)`` as the divergence of distributions of two classes.

    Raises:
        TypeError: if an argument is not a subclass of :class:`Distribution`.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected type_p and type_q to be Distribution subclasses but got {shown(kind)}")

    def register(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        _DIVERGENCES[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the divergence of ``p`` from ``q`` (Kullback and Leibler 1951). It has the shape of the parameters.

    Raises:
        NotImplementedError: if no divergence is registered for their classes.
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in _DIVERGENCES:
                return _DIVERGENCES[kind_p, kind_q](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _kl_normal(p: Normal, q: Normal) -> Tensor:
    ratio = TABLE["square"](p.scale / q.scale)
    distance = TABLE["square"]((p.loc - q.loc) / q.scale)
    return 0.5 * (ratio + distance - 1 - TABLE["log"](ratio))


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return _nonzero_terms(ones, p.probs) + _nonzero_terms(zero, 1 - p.probs)


@register_kl(Categorical, Categorical)
def _kl_categorical(p: Categorical, q: Categorical) -> Tensor:
    return _nonzero_terms(p.probs * (p.logits - q.logits), p.probs).sum(-1)


@register_kl(Uniform, Uniform)
def _kl_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = TABLE["log"]((q.high - q.low) / (p.high - p.low))
    outside = TABLE["logical_or"](TABLE["gt"](q.low, p.low), TABLE["lt"](q.high, p.high))
    return TABLE["where"](outside, math.inf, result)


__getattr__ = missing_in("torch.distributions", lambda: __all__)
