"""Functions that networks use, normal and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.torch.compiling import FUNCTIONS
from minitensor.torch.dtypes import Size
from minitensor.torch.missing import missing_in
from minitensor.torch.naming import called, need_tensor
from minitensor.torch.products import matmul
from minitensor.torch.spelling import names_in
from minitensor.torch.statistics import log_softmax as log_softmax_along
from minitensor.torch.tensor import Tensor
from minitensor.torch.warning import warn

_add, _sub, _mul, _div, _sum, _mean, _where = (
    FUNCTIONS[name] for name in ("add", "sub", "mul", "div", "sum", "mean", "where")
)


def _switched(name: str) -> Callable[..., Tensor]:
    """A function with ``inplace=``."""
    normal, in_place = FUNCTIONS[name], FUNCTIONS[f"{name}_"]

    def function(input: Tensor, *given: Any, inplace: bool = False, **named: Any) -> Tensor:
        return (in_place if inplace else normal)(input, *given, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{normal.__doc__} With ``inplace=True`` the input is overwritten and returned."
    return function


#: Rows of the derivative table, under PyTorch's names.
_ROWS = {
    **{name: _switched(name) for name in names_in("F")},
    **{name: FUNCTIONS[name] for name in (*names_in("F_"), *names_in("f"))},
}
globals().update(_ROWS)
sigmoid = _ROWS["sigmoid"]


def _dim_of(name: str, input: Tensor, dim: int | None) -> int:
    """``dim``, or the one that PyTorch guesses, with its warning; it depends on how many dimensions there are."""
    if dim is not None:
        return dim
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if input._array.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Exponentials over their sum along ``dim``."""
    need_tensor("softmax", input)
    return FUNCTIONS["softmax"](input, _dim_of("softmax", input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``softmax`` of the negative."""
    need_tensor("softmin", input)
    return FUNCTIONS["softmax"](FUNCTIONS["neg"](input), _dim_of("softmin", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along ``dim``, without overflow on the way."""
    need_tensor("log_softmax", input)
    return log_softmax_along(input, _dim_of("log_softmax", input, dim), dtype)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    out = called(_mul(input, sigmoid(input)), "SiluBackward0")
    return input.copy_(out) if inplace else out


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, and x where ``beta * x`` is above ``threshold``."""
    scaled = _mul(input, beta)
    small = _where(FUNCTIONS["gt"](scaled, threshold), 0.0, scaled)
    soft = _div(FUNCTIONS["log1p"](FUNCTIONS["exp"](small)), beta)
    return called(_where(FUNCTIONS["gt"](scaled, threshold), input, soft), "SoftplusBackward0")


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``."""
    need_tensor("linear", input)
    turned = weight.t()
    if bias is None:
        return matmul(input, turned)
    if input._array.ndim == 2:
        rows, inner = input._array.shape
        if inner != weight._array.shape[1]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and "
                f"{weight._array.shape[1]}x{weight._array.shape[0]})"
            )
        return FUNCTIONS["addmm"](bias, input, turned)
    flat = input.reshape(-1, input._array.shape[-1])
    return linear(flat, weight, bias).view(*input._array.shape[:-1], weight._array.shape[0])


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """0 with probability ``p``, and what is left made larger by as much.

    Raises:
        ValueError: when ``p`` is no probability.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kept = input.new_empty(input._array.shape).bernoulli_(1 - p)
    mask = kept.div_(1 - p) if p < 1 else kept
    return FUNCTIONS["mul_" if inplace else "mul"](input, mask)


# ---------- losses ----------


def _reduced(each: Tensor, reduction: str, name: str) -> Tensor:
    if reduction == "none":
        return called(each, f"{name}Backward0")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return called((_mean if reduction == "mean" else _sum)(each), f"{name}Backward0")


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    """Warn where the shapes differ: broadcast, every prediction meets every target, and the mean is another one."""
    need_tensor("loss", input)
    need_tensor("loss", target, 2)
    if input._array.shape != target._array.shape:
        warn(
            f"Using a target size ({Size(target._array.shape)}) that is different to the input size "
            f"({Size(input._array.shape)}). This will likely lead to incorrect results due to broadcasting. Please "
            f"ensure they have the same size."
        )


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The mean square difference. Warns where the shapes differ, as they are broadcast then."""
    _warn_of_sizes(input, target)
    difference = _sub(input, target)
    return _reduced(_mul(difference, difference), reduction, "MseLoss")


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The mean absolute difference. Warns where the shapes differ, as they are broadcast then."""
    _warn_of_sizes(input, target)
    return _reduced(FUNCTIONS["abs"](_sub(input, target)), reduction, "L1Loss" if reduction == "none" else "Mean")


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Half the square of small differences, over ``beta``; of large ones the size, less half of ``beta``."""
    _warn_of_sizes(input, target)
    size = FUNCTIONS["abs"](_sub(input, target))
    small = FUNCTIONS["lt"](size, beta)
    squares = _div(_mul(_mul(size, size), 0.5), beta if beta else 1.0)
    return _reduced(_where(small, squares, _sub(size, 0.5 * beta)), reduction, "SmoothL1Loss")


def nll_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Minus the log-probability of each target class; ``input`` has a row of log-probabilities per example."""
    if not isinstance(target, BaseTensor) or target._array.dtype.kind != "i":
        raise RuntimeError("expected scalar type Long but found a target that holds no integers")
    if input._array.ndim == 1:
        input, target = input.unsqueeze(0), target.reshape(1)
    picked = FUNCTIONS["gather"](input, 1, target.unsqueeze(1)).squeeze(1)
    return _reduced(FUNCTIONS["neg"](picked), reduction, "NllLoss")


def cross_entropy(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Minus the log-probability that softmax gives each target class."""
    return nll_loss(log_softmax(input, -1), target, reduction)


__all__ = sorted([  # noqa: PLE0605
    *("cross_entropy", "dropout", "l1_loss", "linear", "log_softmax", "mse_loss", "nll_loss", "silu"),
    *("smooth_l1_loss", "softmax", "softmin", "softplus", *_ROWS),
])  # fmt: skip

__getattr__ = missing_in("torch.nn.functional", lambda: __all__)
