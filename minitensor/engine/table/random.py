"""Operations that overwrite all elements with random numbers. The gradient of the old elements is 0.

``minitensor.seed`` restarts the sequence of random numbers.
"""

from collections.abc import Callable
from typing import Any

from minitensor.engine.kernels import random as kernels
from minitensor.engine.table.rows import op

_FLOATS = "TypeError: for a tensor of integers or bools."


def _fill(name: str, forward: Callable[..., Any], doc: str, prepare: Callable[..., Any], *arguments: str,
          **settings: Any) -> None:  # fmt: skip
    op(name, forward, "x", doc, arguments=arguments, prepare=prepare, normal=False, x="zeros_like(g)",
       elementwise=False, **settings)  # fmt: skip


_fill("bernoulli", kernels.bernoulli, "Every element becomes 1 with probability p (a number or a tensor), else 0.",
      kernels.bernoulli_arguments, "p=0.5", refuses=("ValueError: for p that is not a probability.",))  # fmt: skip
_fill("cauchy", kernels.cauchy,
      "Numbers from the Cauchy distribution around loc; scale is half the width of the peak at half its height.",
      kernels.cauchy_arguments, "loc=0", "scale=1",
      refuses=("ValueError: for scale that is not above 0.", _FLOATS))  # fmt: skip
_fill("exponential", kernels.exponential, "Numbers from the exponential distribution of rate lam (mean 1 / lam).",
      kernels.exponential_arguments, "lam=1.0", namespaces="T",
      refuses=("ValueError: for lam that is not above 0.", _FLOATS))  # fmt: skip
_fill("geometric", kernels.geometric,
      "The number of trials with probability probs (a number or a tensor) until the first success: 1, 2, ...",
      kernels.geometric_arguments, "probs",
      refuses=("ValueError: for probs that is not a probability above 0.",))  # fmt: skip
_fill("log_normal", kernels.log_normal,
      "e to the power of numbers from the normal distribution with this mean and standard deviation (std).",
      kernels.log_normal_arguments, "mean=1.0", "std=2.0",
      refuses=("ValueError: for std below 0.", _FLOATS))  # fmt: skip
_fill("normal", kernels.normal, "Numbers from the normal distribution with this mean and standard deviation (std).",
      kernels.normal_arguments, "mean=0.0", "std=1.0", refuses=("ValueError: for std below 0.", _FLOATS))  # fmt: skip
_fill("random", kernels.random,
      "Random integers n with from_ <= n < to. If only from_ is given, 0 <= n < from_. If neither is given, n is 0 or "
      "above, and the dtype holds every integer up to n.",
      kernels.random_arguments, "from_=0", "to=None", "generator=None",
      signature="x, from_=0, to=None, *, generator=None", namespaces="T",
      refuses=("ValueError: unless from_ < to.",))  # fmt: skip
_fill("uniform", kernels.uniform, "Uniform random numbers between min and max; a seed other than 0 starts a separate "
      "sequence.", kernels.uniform_arguments, "min=0", "max=1.0", "seed=0", namespaces="T",
      refuses=("ValueError: for min above max.", _FLOATS))  # fmt: skip
