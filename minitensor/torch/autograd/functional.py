"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors, for functions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitensor.engine import checks
from minitensor.torch.autograd.gradients import grad
from minitensor.torch.autograd.modes import enable_grad
from minitensor.torch.creation_like import ones_like, zeros_like
from minitensor.torch.errors import missing_in
from minitensor.torch.slicing_joining import stack
from minitensor.torch.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]


def _tuple(given: Any, what: str) -> tuple[Tensors, bool]:
    """Return ``given`` as a tuple of tensors, and True if it was a tuple or list instead of a single tensor.

    Raises:
        TypeError: if it is neither a tensor nor a tuple or list of tensors. The message calls it ``what``.
    """
    many = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    for i, x in enumerate(many):
        if not isinstance(x, Tensor):
            place = f" at index {i}" if isinstance(given, (list, tuple)) else ""
            raise TypeError(
                f"The {what} must be either a Tensor or a tuple of Tensors but the value{place} has type {type(x)}."
            )
    return many, isinstance(given, (list, tuple))


def _as_given(many: Sequence[Any], was_tuple: bool) -> Any:
    """Undo :func:`_tuple`: return a tuple if ``was_tuple`` is true, else the only element."""
    return tuple(many) if was_tuple else many[0]


def _leaves(inputs: Tensors, create_graph: bool) -> Tensors:
    """Return the tensors by which to differentiate: new leaves on the memory of ``inputs``.

    With ``create_graph``, inputs that require grad are replaced by views, so that gradients also flow to the inputs.
    """
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _call(func: Callable[..., Any], inputs: Any, create_graph: bool, what: str) -> tuple[Any, ...]:
    """Call ``func`` with the tensors that :func:`_leaves` returns for ``inputs``.

    Returns:
        These tensors, the outputs, True if there was a tuple of inputs, and True if ``func`` returned a tuple.
    """
    checks.function(f"{what}()", "func", func)
    create_graph = checks.flag(f"{what}()", "create_graph", create_graph)
    given, several_in = _tuple(inputs, f"inputs given to {what}")
    leaves = _leaves(given, create_graph)
    outputs, several_out = _tuple(func(*leaves), "outputs of the user-provided function")
    return leaves, outputs, several_in, several_out


def _gradients(outputs: Any, inputs: Tensors, seeds: Any, create_graph: bool) -> Tensors:
    """Return the gradients by ``inputs`` of the sum of all ``outputs``, each multiplied by its tensor in ``seeds``.

    An input on which no output depends gets zeros.
    """
    pairs = [(out, seed) for out, seed in zip(outputs, seeds, strict=True) if out.requires_grad]
    if not pairs:
        return tuple(zeros_like(x) for x in inputs)
    found = grad(
        [out for out, _ in pairs],
        inputs,
        [seed for _, seed in pairs],
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )
    return tuple(zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True))


def _results(results: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    """Return the results of a public function. They keep their histories only if ``create_graph`` is true."""
    return [x if create_graph else x.detach() for x in results]


def _vector(v: Any, like: Tensors, what: str) -> Tensors:
    """Return ``v``, the vector of a product, as a tuple of tensors with the shapes of the tensors in ``like``.

    If ``like`` is a single tensor of one element, ``v`` may be None, which means 1. In error messages, ``what`` is the
    name of ``like``.

    Raises:
        RuntimeError: if ``v`` has another number of tensors, or a tensor of another shape.
    """
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {what} is a single Tensor with a single element (i.e. a scalar)."
            )
        return (ones_like(like[0]),)
    vectors, _ = _tuple(v, "vector v")
    if len(vectors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for i, (x, other) in enumerate(zip(vectors, like, strict=True)):
        if x.shape != other.shape:
            raise RuntimeError(
                f"Entry {i} in v has invalid size: should be {other.shape} but got {x.shape}."
                if len(like) > 1
                else f"v has invalid size: should be {other.shape} but got {x.shape}."
            )
    return vectors


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, **named: Any) -> Any:
    """Return the derivatives of each output element by each input element, as a tensor of shape
    ``out.shape + in.shape``.

    Several inputs are passed as a tuple, and the result is then a tuple with a tensor for each input. If the function
    returns several outputs, the result is a tuple with such a result for each output.
    """
    with enable_grad():
        leaves, outputs, several_in, several_out = _call(func, inputs, create_graph, "jacobian")
        rows = []
        for out in outputs:
            flat = out.reshape(-1)
            each = [_gradients([flat[j]], leaves, [None], create_graph) for j in range(out.numel())]
            row = [stack([g[i] for g in each]).reshape(*out.shape, *x.shape) for i, x in enumerate(leaves)]
            rows.append(_results(row, create_graph))
    return _as_given([_as_given(row, several_in) for row in rows], several_out)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, **named: Any) -> Any:
    """Return the second derivatives of a function that returns a tensor of one element.

    The result has the shape ``in.shape + in.shape``. For several inputs, it is a tuple of tuples of such tensors.

    Raises:
        RuntimeError: if the function returns anything but a tensor of one element.
    """
    checks.function("hessian()", "func", func)
    _, several_in = _tuple(inputs, "inputs given to hessian")

    def first(*given: Tensor) -> Any:
        out = _scalar(func(*given), "hessian")
        return _gradients([out], given, [None], True)

    rows = jacobian(first, inputs, create_graph)
    return _as_given(rows, several_in)


def _scalar(out: Any, what: str) -> Tensor:
    if not isinstance(out, Tensor) or out._array.size != 1:
        raise RuntimeError(f"The function given to {what} should return a single Tensor with a single element")
    return out.reshape(())


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of ``v`` and the Jacobian. One backward computes the product."""
    with enable_grad():
        leaves, outputs, several_in, several_out = _call(func, inputs, create_graph, "vjp")
        found = _gradients(outputs, leaves, _vector(v, outputs, "user-provided function returns"), create_graph)
    return (
        _as_given(_results(outputs, create_graph), several_out),
        _as_given(_results(found, create_graph), several_in),
    )


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of the Jacobian and ``v``.

    Two backwards compute the product. The first one computes ``u @ J``, which is linear in ``u``; its derivative by
    ``u``, multiplied by ``v`` in the second one, is ``J @ v``.
    """
    with enable_grad():
        leaves, outputs, _, several_out = _call(func, inputs, create_graph, "jvp")
        seeds = tuple(zeros_like(out).requires_grad_() for out in outputs)
        products = _gradients(outputs, leaves, seeds, True)
        found = _gradients(products, seeds, _vector(v, leaves, "input to the function"), create_graph)
    return (
        _as_given(_results(outputs, create_graph), several_out),
        _as_given(_results(found, create_graph), several_out),
    )


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of the Hessian and ``v``."""
    return _hessian_product("hvp", func, inputs, v, create_graph)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of ``v`` and the Hessian.

    The Hessian is symmetric, so this is the same product as that of :func:`hvp`.
    """
    return _hessian_product("vhp", func, inputs, v, create_graph)


def _hessian_product(name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool) -> Any:
    checks.function(f"{name}()", "func", func)
    create_graph = checks.flag(f"{name}()", "create_graph", create_graph)
    with enable_grad():
        given, several_in = _tuple(inputs, f"inputs given to {name}")
        leaves = _leaves(given, create_graph)
        out = func(*leaves)
        first = _gradients([_scalar(out, name)], leaves, [None], True)
        found = _gradients(first, leaves, _vector(v, leaves, "input to the function"), create_graph)
    return out if create_graph else out.detach(), _as_given(_results(found, create_graph), several_in)


__getattr__ = missing_in("torch.autograd.functional", lambda: __all__)
