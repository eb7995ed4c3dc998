"""``paddle.nn.utils``: functions that limit gradients in place."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import to_tensor
from minitensor.engine.modes import no_grad
from minitensor.paddle.missing import missing

__all__ = ["clip_grad_norm_", "clip_grad_value_"]

NORMS = (math.inf, 0, 1, 2)


def _gradients(op: str, parameters: Any) -> list[Tensor]:
    given: Iterable[Tensor] = [parameters]
    if not isinstance(parameters, Tensor):
        given = checks.elements(op, "parameters", parameters, "tensors", Tensor)
    return [gradient for each in given if (gradient := each.grad) is not None]


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale all gradients by one factor, in place, so that their total norm is at most ``max_norm``.

    Args:
        parameters: one tensor or several; tensors without a gradient are skipped.
        norm_type: inf, 0, 1 or 2.
        error_if_nonfinite: True to refuse a norm that is inf or nan.

    Returns:
        The norm before scaling, a tensor without dimensions; 0 if no tensor has a gradient.

    Raises:
        ValueError: if ``norm_type`` is anything else.
        RuntimeError: if the norm is not finite and ``error_if_nonfinite`` is true. No gradient has changed then.
    """
    if checks.real("clip_grad_norm_", "norm_type", norm_type) not in NORMS:
        raise ValueError(f"norm_type only support {list(NORMS)}, not {shown(norm_type)}")
    max_norm = checks.real("clip_grad_norm_", "max_norm", max_norm)
    error_if_nonfinite = checks.flag("clip_grad_norm_", "error_if_nonfinite", error_if_nonfinite)
    gradients = _gradients("clip_grad_norm_", parameters)
    if not gradients:
        return to_tensor(0.0)
    with no_grad():
        norms = to_tensor([float(each.norm(float(norm_type)).item()) for each in gradients], gradients[0].dtype)
        total: Tensor = norms.norm(float(norm_type))
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(
                f"The total norm of {float(norm_type)} order of the gradients from `parameters` is {total.item()}, so "
                f"it cannot be clipped. Set `error_if_nonfinite=False` to scale the gradients by it anyway."
            )
        factor = float(max_norm) / (total.item() + 1e-6)
        for each in gradients:
            each.scale_(1.0 if factor > 1.0 else factor)  # a factor of nan makes the gradients nan
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Limit each element of each gradient to the range from ``-clip_value`` to ``clip_value``, in place.

    Args:
        parameters: one tensor or several, of any shapes; tensors without a gradient are skipped.

    Raises:
        TypeError: if ``clip_value`` is not a number.
    """
    bound = float(checks.real("clip_grad_value_", "clip_value", clip_value))
    gradients = _gradients("clip_grad_value_", parameters)
    with no_grad():
        for each in gradients:
            each.clip_(-bound, bound)


def __getattr__(name: str) -> object:
    raise missing(__name__, name, __all__)
