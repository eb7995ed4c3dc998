"""``torch.nn.functional``: activations, losses, and the other functions that modules call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autocasting import autocasts
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.layers import activations
from minitensor.engine.modes import modes
from minitensor.torch import result_strides
from minitensor.torch.arguments import as_dim, dropout_probability, need_tensor
from minitensor.torch.compiling import FUNCTIONS
from minitensor.torch.dtypes import SCALAR_NAMES
from minitensor.torch.errors import missing_in, warn
from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.linear_algebra import matmul
from minitensor.torch.nn.layer_functions import (  # noqa: F401  # part of this namespace
    adaptive_avg_pool2d,
    avg_pool2d,
    batch_norm,
    conv2d,
    embedding,
    fold,
    gelu,
    group_norm,
    instance_norm,
    layer_norm,
    max_pool2d,
    scaled_dot_product_attention,
    unfold,
)
from minitensor.torch.nn.loss_functions import (  # noqa: F401  # part of this namespace
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    one_hot,
    smooth_l1_loss,
)
from minitensor.torch.operands import check_target
from minitensor.torch.operation_table import found_in as _found_in
from minitensor.torch.reductions import in_float32
from minitensor.torch.reductions import log_softmax as log_softmax_along
from minitensor.torch.tensor import Tensor, as_torch

_add, _mul, _div, _where = (FUNCTIONS[name] for name in ("add", "mul", "div", "where"))


def _with_inplace(name: str) -> Callable[..., Tensor]:
    """Return a function that runs the operation ``name``, or its in-place form if the keyword ``inplace`` is true."""
    normal, in_place = FUNCTIONS[name], FUNCTIONS[f"{name}_"]

    def function(input: Tensor, *given: Any, inplace: bool = False, **named: Any) -> Tensor:
        return (in_place if checks.flag(f"{name}()", "inplace", inplace) else normal)(input, *given, **named)

    function.__name__ = function.__qualname__ = name
    first, _, rest = (normal.__doc__ or "").partition("\n\n")
    function.__doc__ = f"{first} With ``inplace=True`` the input is overwritten and returned.\n\n{rest}".rstrip()
    return function


#: The functions that are rows of the derivative table, keyed by PyTorch's names.
_ROWS = {
    **{name: _with_inplace(name) for name in _found_in("F")},
    **{name: FUNCTIONS[name] for name in (*_found_in("F_"), *_found_in("f"))},
}
globals().update(_ROWS)
sigmoid = _ROWS["sigmoid"]


def _implicit_dim(name: str, input: Tensor, dim: int | None) -> int:
    """Return ``dim``. If it is None, warn, and return the dimension that PyTorch chooses: 0 or 1."""
    if dim is not None:
        return dim
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if input._array.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return the exponentials divided by their sum along ``dim``. The result has the shape of ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("softmax", input)
    return FUNCTIONS["softmax"](input, _implicit_dim("softmax", input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return ``softmax(-input)`` along ``dim``. The result has the shape of ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("softmin", input)
    return FUNCTIONS["softmax"](FUNCTIONS["neg"](input), _implicit_dim("softmin", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return the logarithm of softmax along ``dim``, without intermediate overflow. The result has the shape of
    ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("log_softmax", input)
    return log_softmax_along(input, _implicit_dim("log_softmax", input, dim), dtype)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)`` (Elfwing, Uchibe and Doya 2017). With ``inplace=True`` the input is
    overwritten. The result has the shape of ``input``.

    Raises:
        TypeError: if the input is not a tensor of floats.
        RuntimeError: if ``inplace`` is true and the input is a leaf that requires grad, or a view of such a leaf, in
            grad mode.
    """
    need_tensor("silu", input)
    inplace = checks.flag("silu()", "inplace", inplace)
    out = as_torch(activations.silu(input, inplace))
    if not inplace:
        out = result_strides.arrange(out, result_strides.like_operands, input)
    return out if inplace else name_grad_fn(out, "SiluBackward0")


@in_float32
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * input)) / beta``, or ``input`` where ``beta * input`` is above ``threshold``. The
    result has the shape of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("softplus", input)
    beta, threshold = checks.real("softplus()", "beta", beta), checks.real("softplus()", "threshold", threshold)
    scaled = _mul(input, beta)
    small = _where(FUNCTIONS["gt"](scaled, threshold), 0.0, scaled)
    soft = _div(FUNCTIONS["log1p"](FUNCTIONS["exp"](small)), beta)
    out = _where(FUNCTIONS["gt"](scaled, threshold), input, soft)
    return name_grad_fn(result_strides.arrange(out, result_strides.like_operands, input), "SoftplusBackward0")


def _activation(name: str, text: str, torch_name: str) -> Callable[..., Tensor]:
    """Return a function for the engine's activation ``name``, with PyTorch's keyword ``inplace``.

    The engine composes such an activation of several operations.
    """
    composed = getattr(activations, name)

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        need_tensor(name, input)
        if not checks.flag(f"{name}()", "inplace", inplace):
            out = result_strides.arrange(as_torch(composed(input)), result_strides.like_operands, input)
            return name_grad_fn(out, f"{torch_name}Backward0")
        unchanged = input if input.stop_gradient else input.clone()  # for backward: the input itself is overwritten
        return input.copy_(as_torch(composed(unchanged)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return {text}. With ``inplace=True`` the input is overwritten and returned.

    Returns:
        A tensor of the shape of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor of floats.
        RuntimeError: if ``inplace`` is true and the input is a leaf that requires grad, or a view of such a leaf, in
            grad mode.
    """
    return function


mish = _activation("mish", "``input * tanh(softplus(input))`` (Misra 2019)", "Mish")
selu = _activation("selu", "a scaled ``elu``, which keeps mean 0 and variance 1 (Klambauer and others 2017)", "Elu")
hardsigmoid = _activation("hardsigmoid", "``input / 6 + 0.5``, but not below 0 nor above 1", "Hardsigmoid")
hardswish = _activation("hardswish", "``input * relu6(input + 3) / 6`` (Howard and others 2019)", "Hardswish")


def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + abs(input))``. The result has the shape of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("softsign", input)
    return _div(input, _add(FUNCTIONS["abs"](input), 1))


def logsigmoid(input: Tensor) -> Tensor:
    """Return the logarithm of ``sigmoid(input)``, without intermediate overflow. The result has the shape of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor.
    """
    need_tensor("logsigmoid", input)
    return name_grad_fn(FUNCTIONS["log_sigmoid"](input), "LogSigmoidBackward0")


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Return ``input`` divided by its p-norm along ``dim``, or by ``eps`` where the norm is smaller. The result has the
    shape of ``input``.

    Raises:
        IndexError: if ``input`` has no such dimension.
        TypeError: if ``input`` is not a tensor of floats.
    """
    need_tensor("normalize", input)
    dim = as_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return normalize(input.reshape(1), p, 0, eps, out).reshape(())
    result = as_torch(activations.normalize(input, p, dim, eps))
    result = result_strides.arrange(result, result_strides.like_operands, input)
    if out is None:
        return result
    need_tensor("normalize", out, 5, "out")
    return out.copy_(result)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along ``dim``: their dot product divided by both norms.

    Args:
        x1, x2: tensors of floats. Their shapes are broadcast against each other.
        eps: a norm below this number is replaced by this number.

    Returns:
        A tensor of the broadcast shape without ``dim``.

    Raises:
        IndexError: if there is no such dimension.
        TypeError: if an argument is not a tensor of floats.
    """
    need_tensor("cosine_similarity", x1, name="x1")
    need_tensor("cosine_similarity", x2, 2, "x2")
    dim = as_dim(dim, max(x1._array.ndim, x2._array.ndim))
    return name_grad_fn(as_torch(activations.cosine_of_bounded_norms(x1, x2, dim, eps)), "SumBackward1")


@autocasts
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``. The result has shape [..., out_features].

    Args:
        input: shape [..., in_features].
        weight: shape [out_features, in_features].
        bias: shape [out_features].

    Raises:
        RuntimeError: if shapes or dtypes do not fit.
    """
    need_tensor("linear", input)
    need_tensor("linear", weight, 2, "weight")
    if not input._array.ndim or not 1 <= weight._array.ndim <= 2:
        raise RuntimeError(
            f"linear(): input must have a dimension of features and weight the shape [out, in]; their shapes are "
            f"{list(input._array.shape)} and {list(weight._array.shape)}"
        )
    if bias is not None:
        need_tensor("linear", bias, 3, "bias")
    transposed = weight.t()
    if bias is None:
        return matmul(input, transposed)
    if weight._array.ndim == 1:
        raise RuntimeError(
            f"linear(): with a bias, weight must have the shape [out, in], not {list(weight._array.shape)}"
        )
    if input._array.ndim == 2:
        rows, inner = input._array.shape
        if inner != weight._array.shape[1]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and "
                f"{weight._array.shape[1]}x{weight._array.shape[0]})"
            )
        if input._array.dtype != weight._array.dtype:
            names = [SCALAR_NAMES[x._array.dtype] for x in (input, weight)]
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {names[0]} and {names[1]}\n"
                f"Convert one of them with `module.double()` or `x.float()`."
            )
        return FUNCTIONS["addmm"](bias, input, transposed)
    flat = input.reshape(-1, input._array.shape[-1])
    return linear(flat, weight, bias).view(*input._array.shape[:-1], weight._array.shape[0])


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Replace each element by 0 with probability ``p``, else divide it by ``1 - p`` (Srivastava and others 2014). The
    result has the shape of ``input``.

    With ``training=False`` the result is ``input`` itself. With ``inplace=True`` the input is overwritten.

    Raises:
        ValueError: if ``p`` is not a probability.
        RuntimeError: if ``inplace`` is true and the input is a leaf that requires grad, or a view of such a leaf, in
            grad mode, or if the input does not hold floats.
    """
    return _dropped("dropout", input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Replace whole channels by 0 with probability ``p``, else divide them by ``1 - p`` (Tompson and others 2015). The
    result has the shape of ``input``.

    One random number decides about a channel, so the mask has only one element for each channel. With
    ``training=False`` the result is ``input`` itself. With ``inplace=True`` the input is overwritten.

    Args:
        input: images, of shape [images, channels, height, width].

    Raises:
        ValueError: if ``p`` is not a probability.
        RuntimeError: if the input has fewer than two dimensions or does not hold floats, or if ``inplace`` is true and
            the input is a leaf that requires grad, or a view of such a leaf, in grad mode.
    """
    need_tensor("dropout2d", input)
    if input._array.ndim != 4:
        warn(
            f"dropout2d: Received a {input._array.ndim}-D input. Its first two dimensions are taken for images and "
            f"channels, as in an input of shape [images, channels, height, width]."
        )
    return _dropped("dropout2d", input, p, training, inplace, has_channels=True)


def _dropped(op: str, input: Tensor, p: float, training: bool, inplace: bool, has_channels: bool = False) -> Tensor:
    """Drop elements of ``input``, or with ``has_channels`` whole channels."""
    p = dropout_probability(op, "p", p)
    need_tensor(op, input)
    training, inplace = checks.flag(f"{op}()", "training", training), checks.flag(f"{op}()", "inplace", inplace)
    if not training or p == 0:
        return input
    if input._array.dtype not in FLOATS:
        raise RuntimeError(
            "result type Float can't be cast to the desired output type " + SCALAR_NAMES[input._array.dtype]
        )
    shape = input._array.shape
    if has_channels:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *(1 for _ in shape[2:]))
    if inplace and modes.grad and not input.stop_gradient:  # raise the error before random numbers are drawn
        check_target(input, "mul_")
    mask = as_torch(input).new_empty(shape).bernoulli_(1 - p)
    mask = mask.div_(1 - p) if p < 1 else mask
    if inplace:
        return FUNCTIONS["mul_"](input, mask)
    return result_strides.arrange(FUNCTIONS["mul"](input, mask), result_strides.like_operands, input)


__all__ = sorted([
    *("adaptive_avg_pool2d", "avg_pool2d", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
    *("conv2d", "cosine_similarity", "embedding", "fold", "hardsigmoid", "hardswish", "logsigmoid", "mish"),
    *("normalize", "selu", "softsign", "unfold"),
    *("gelu", "group_norm", "instance_norm", "kl_div", "layer_norm", "max_pool2d", "scaled_dot_product_attention"),
    *("cross_entropy", "dropout", "dropout2d", "l1_loss", "linear", "log_softmax", "mse_loss", "nll_loss", "one_hot"),
    *("silu", "smooth_l1_loss", "softmax", "softmin", "softplus", *_ROWS),
])  # fmt: skip

__getattr__ = missing_in("torch.nn.functional", lambda: __all__)
