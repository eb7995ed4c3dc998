"""``gradcheck`` and ``gradgradcheck``: compare gradients with finite differences, by the engine's ``gradcheck``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.torch.tensor import as_torch


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compare the gradients of ``func(*inputs)`` with central differences, element by element.

    Args:
        func: takes tensors, and returns a tensor or a tuple of tensors.
        inputs: a tensor, or a tuple of tensors and other arguments. The tensors that require grad are float64.
        eps: the amount by which an input element is changed, up and down.
        atol, rtol: a gradient may differ from the finite difference ``d`` by ``atol + rtol * abs(d)``.
        raise_exception: False to return False instead of raising an error if a gradient is wrong.

    Raises:
        RuntimeError: if a gradient is wrong.
        ValueError: if no input requires grad, or if ``eps`` is not above 0, or if ``atol`` or ``rtol`` is negative.
        TypeError: if an input that requires grad is not of float64.
    """
    return _check("gradcheck", func, inputs, eps, atol, rtol, raise_exception, 1)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compare first and second gradients of ``func(*inputs)`` with central differences, element by element.

    The second gradients are the gradients of a weighted sum of all first gradients. The arguments and the errors are
    those of :func:`gradcheck`.
    """
    return _check("gradgradcheck", func, inputs, eps, atol, rtol, raise_exception, 2)


def _check(
    op: str, func: Any, inputs: Any, eps: float, atol: float, rtol: float, raise_exception: bool, order: int
) -> bool:
    from minitensor.engine.autograd.gradcheck import gradcheck as check  # here, because most programs never need it

    checks.function(f"{op}()", "func", func)
    given = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
    if not any(isinstance(x, BaseTensor) and not x.stop_gradient for x in given):
        raise ValueError(
            f"{op} expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )

    def on_own_tensors(*values: Any) -> Any:
        return func(*(as_torch(x) if isinstance(x, BaseTensor) else x for x in values))

    return check(on_own_tensors, inputs, eps, atol, rtol, order, raise_exception)
