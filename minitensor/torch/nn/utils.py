"""``torch.nn.utils``: limit gradients in place.

PyTorch and Paddle check arguments and compute norms differently, so ``minitensor.nn.utils`` is a separate module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minitensor.engine import checks
from minitensor.torch.autograd import no_grad
from minitensor.torch.creation import tensor
from minitensor.torch.errors import missing_in
from minitensor.torch.tensor import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


def _gradients(op: str, parameters: Any) -> list[Any]:
    given: Iterable[Any] = [parameters]
    if not isinstance(parameters, Tensor):
        given = checks.elements(f"{op}()", "parameters", parameters, "tensors", Tensor)
    return [each.grad for each in given if each.grad is not None]


def _nan_as_largest(norm: float) -> tuple[bool, float]:
    return math.isnan(norm), norm


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale all gradients by one factor, in place, so that their total norm is at most ``max_norm``.

    Args:
        error_if_nonfinite: True to raise an error if the norm is inf or nan.

    Returns:
        The norm before scaling, a tensor without dimensions; 0 if no tensor has a gradient.

    Raises:
        RuntimeError: if the norm is not finite and ``error_if_nonfinite`` is true. No gradient has changed then.
    """
    max_norm = checks.real("clip_grad_norm_()", "max_norm", max_norm)
    norm_type = checks.real("clip_grad_norm_()", "norm_type", norm_type)
    error_if_nonfinite = checks.flag("clip_grad_norm_()", "error_if_nonfinite", error_if_nonfinite)
    gradients = _gradients("clip_grad_norm_", parameters)
    if not gradients:
        return tensor(0.0)
    with no_grad():
        norms = [float(each.norm(norm_type).item()) for each in gradients]
        total = (
            max(norms, key=_nan_as_largest)
            if norm_type == math.inf
            else sum(norm**norm_type for norm in norms) ** (1 / norm_type)
        )
        if error_if_nonfinite and not math.isfinite(total):
            raise RuntimeError(
                f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it "
                f"cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                f"`error_if_nonfinite=False`"
            )
        factor = max_norm / (total + 1e-6)
        for each in gradients:  # as in PyTorch, gradients are written even if the factor is 1 or nan
            each.mul_(1.0 if factor > 1.0 else factor)
    return tensor(total, dtype=gradients[0].dtype)


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Limit each element of each gradient to the range from ``-clip_value`` to ``clip_value``, in place.

    Args:
        parameters: one tensor or several tensors, of any shapes. Tensors without a gradient are skipped.

    Raises:
        TypeError: if ``clip_value`` is not a number.
    """
    bound = float(checks.real("clip_grad_value_()", "clip_value", clip_value))
    gradients = _gradients("clip_grad_value_", parameters)
    with no_grad():
        for each in gradients:  # two writes, as in PyTorch
            each.clamp_(min=-bound)
            each.clamp_(max=bound)


__getattr__ = missing_in("torch.nn.utils", lambda: __all__)
