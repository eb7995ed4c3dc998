"""``torch.nn.utils``: gradients made smaller, in place."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minitensor.torch.autograd import no_grad
from minitensor.torch.creation import tensor
from minitensor.torch.missing import missing_in
from minitensor.torch.tensor import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


def _gradients(parameters: Any) -> list[Any]:
    given: Iterable[Any] = [parameters] if isinstance(parameters, Tensor) else parameters
    return [each.grad for each in given if each.grad is not None]


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale all gradients alike, in place, so that the norm of all of them is at most ``max_norm``.

    Returns:
        The norm that they had, a tensor without dimensions.
    """
    gradients = _gradients(parameters)
    if not gradients:
        return tensor(0.0)
    with no_grad():
        norms = [float(each.norm(norm_type).item()) for each in gradients]
        total = max(norms) if norm_type == math.inf else sum(norm**norm_type for norm in norms) ** (1 / norm_type)
        factor = min(1.0, max_norm / (total + 1e-6))
        for each in gradients:  # also by 1: PyTorch writes them in any case
            each.mul_(factor)
    return tensor(total, dtype=gradients[0].dtype)


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Put each element of each gradient between ``-clip_value`` and ``clip_value``, in place."""
    with no_grad():
        for each in _gradients(parameters):  # two writes, as PyTorch's
            each.clamp_(min=-float(clip_value))
            each.clamp_(max=float(clip_value))


__getattr__ = missing_in("torch.nn.utils", lambda: __all__)
