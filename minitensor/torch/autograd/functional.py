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
        TypeError: if ``given`` is neither a tensor nor a tuple or list of tensors. The message calls it ``what``.
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


def _need_dependence(outputs: Sequence[Tensor], inputs: Tensors) -> None:
    """Raise RuntimeError unless each of the outputs depends on each of the inputs."""
    for i, out in enumerate(outputs):
        if not out.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
                "a differentiable manner from the input when running in strict mode."
            )
        found = grad([out], inputs, [ones_like(out)], retain_graph=True, allow_unused=True)
        for j, g in enumerate(found):
            if g is None:
                raise RuntimeError(
                    f"Output {i} of the user-provided function is independent of input {j}. This is not allowed in "
                    "strict mode."
                )


def _need_curvature(first: Tensors) -> None:
    """Raise RuntimeError unless each of the first derivatives depends on the inputs."""
    for j, g in enumerate(first):
        if not g.requires_grad:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {j} is independent of the input. This is not allowed in strict mode. The function must be "
                "twice differentiable, and a linear function has no second derivative."
            )


def _gradients(outputs: Any, inputs: Tensors, seeds: Any, create_graph: bool) -> Tensors:
    """Multiply each output by its tensor in ``seeds`` (None means 1), and add the products. Return the gradients of the
    sum with respect to ``inputs``.

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

    If ``like`` is a single tensor of one element, ``v`` may be None, which means 1. ``what`` is the part of an error
    message that names the tensors in ``like``.

    Raises:
        RuntimeError: if ``v`` has another number of tensors, or a tensor of another shape.
    """
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
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


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the derivative of each output element with respect to each input element, as a tensor of shape
    ``out.shape + in.shape``.

    Several inputs are passed as a tuple, and the result is then a tuple with a tensor for each input. If the function
    returns several outputs, the result is a tuple with such a result for each output.

    Args:
        strict: True to raise RuntimeError if an output does not depend on an input; otherwise the derivatives are 0.
        vectorize: has no effect, because one backward pass computes each row.
        strategy: has no effect. "forward-mode" computes the same derivatives.

    Raises:
        RuntimeError: if ``strict`` is true and an output does not depend on an input.
    """
    strict = _strict("jacobian", strict)
    checks.flag("jacobian()", "vectorize", vectorize)
    checks.choice("jacobian()", "strategy", strategy, ("reverse-mode", "forward-mode"))
    with enable_grad():
        leaves, outputs, several_in, several_out = _call(func, inputs, create_graph, "jacobian")
        if strict:
            _need_dependence(outputs, leaves)
        rows = []
        for out in outputs:
            flat = out.reshape(-1)
            each = [_gradients([flat[j]], leaves, [None], create_graph) for j in range(out.numel())]
            row = [stack([g[i] for g in each]).reshape(*out.shape, *x.shape) for i, x in enumerate(leaves)]
            rows.append(_results(row, create_graph))
    return _as_given([_as_given(row, several_in) for row in rows], several_out)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function that returns a tensor of one element.

    The result has the shape ``in.shape + in.shape``. For several inputs, it is a tuple of tuples of such tensors.

    Args:
        strict: True to raise RuntimeError if the output, or a first derivative, does not depend on the inputs.
        vectorize: has no effect, because one backward pass computes each row.
        outer_jacobian_strategy: has no effect. "forward-mode" computes the same derivatives.

    Raises:
        RuntimeError: if the function returns anything but a tensor of one element, or as described for ``strict``.
    """
    checks.function("hessian()", "func", func)
    strict = _strict("hessian", strict)
    checks.flag("hessian()", "vectorize", vectorize)
    checks.choice("hessian()", "outer_jacobian_strategy", outer_jacobian_strategy, ("reverse-mode", "forward-mode"))
    _, several_in = _tuple(inputs, "inputs given to hessian")

    def first(*given: Tensor) -> Any:
        out = _scalar(func(*given), "hessian")
        if strict:
            _need_dependence([out], given)
        derivatives = _gradients([out], given, [None], True)
        if strict:
            _need_curvature(derivatives)
        return derivatives

    rows = jacobian(first, inputs, create_graph)
    return _as_given(rows, several_in)


def _strict(what: str, strict: Any) -> bool:
    return checks.flag(f"{what}()", "strict", strict)


def _scalar(out: Any, what: str) -> Tensor:
    if not isinstance(out, Tensor) or out._array.size != 1:
        raise RuntimeError(f"The function given to {what} should return a single Tensor with a single element")
    return out.reshape(())


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of ``v`` and the Jacobian, which one backward pass computes."""
    strict = _strict("vjp", strict)
    with enable_grad():
        leaves, outputs, several_in, several_out = _call(func, inputs, create_graph, "vjp")
        if strict:
            _need_dependence(outputs, leaves)
        found = _gradients(outputs, leaves, _vector(v, outputs, "user-provided function returns"), create_graph)
    return (
        _as_given(_results(outputs, create_graph), several_out),
        _as_given(_results(found, create_graph), several_in),
    )


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of the Jacobian and ``v``.

    Two backward passes compute the product. The first one computes ``u @ J`` for a tensor ``u`` that needs a gradient.
    Because ``u @ J`` is linear in ``u``, the gradient of ``(u @ J) @ v`` with respect to ``u`` is ``J @ v``, and the
    second pass computes it.
    """
    strict = _strict("jvp", strict)
    with enable_grad():
        leaves, outputs, _, several_out = _call(func, inputs, create_graph, "jvp")
        if strict:
            _need_dependence(outputs, leaves)
        seeds = tuple(zeros_like(out).requires_grad_() for out in outputs)
        products = _gradients(outputs, leaves, seeds, True)
        found = _gradients(products, seeds, _vector(v, leaves, "input to the user-provided function is"), create_graph)
    return (
        _as_given(_results(outputs, create_graph), several_out),
        _as_given(_results(found, create_graph), several_out),
    )


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of the Hessian and ``v``."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """Return the output of ``func``, and the product of ``v`` and the Hessian.

    The Hessian is symmetric, so this is the same product as that of :func:`hvp`.
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def _hessian_product(name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool) -> Any:
    strict = _strict(name, strict)
    checks.function(f"{name}()", "func", func)
    create_graph = checks.flag(f"{name}()", "create_graph", create_graph)
    with enable_grad():
        given, several_in = _tuple(inputs, f"inputs given to {name}")
        leaves = _leaves(given, create_graph)
        out = func(*leaves)
        scalar = _scalar(out, name)
        if strict:
            _need_dependence([scalar], leaves)
        first = _gradients([scalar], leaves, [None], True)
        if strict:
            _need_curvature(first)
        found = _gradients(first, leaves, _vector(v, leaves, "input to the user-provided function is"), create_graph)
    return out if create_graph else out.detach(), _as_given(_results(found, create_graph), several_in)


__getattr__ = missing_in("torch.autograd.functional", lambda: __all__)
