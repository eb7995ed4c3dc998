"""``torch.autograd.Function``: an operation whose forward and backward the user writes.

Such a function follows the same rules as the built-in operations: backward refuses saved tensors that were overwritten,
and an in-place write updates the history of all views. If forward writes into an input ``x``, it has to call
``ctx.mark_dirty(x)``. Otherwise minitensor raises an error, whereas PyTorch continues with a wrong history.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.autograd.context import LayerCall, PyLayerContext
from minitensor.engine.autograd.py_layer import PyLayer, run_backward, run_on_tensors
from minitensor.engine.core.history import Leaf, Node, Operation, is_protected
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import broadcast_shapes
from minitensor.engine.modes import no_grad
from minitensor.engine.saved.saved import FREED, is_intact
from minitensor.torch import errors
from minitensor.torch.conversion import to
from minitensor.torch.grad_fn import NamedOperation
from minitensor.torch.tensor import Tensor, as_torch


class FunctionCtx(PyLayerContext):
    """The object ``ctx``, in which forward stores values for backward."""

    __slots__ = ()

    needs_input_grad: tuple[bool, ...]

    def __init__(self, layer: Any, call: LayerCall) -> None:
        super().__init__(layer, call)
        checks.instance("FunctionCtx()", "call", call, LayerCall, "a call of a custom operation")
        call.late_announcements = True

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare that forward writes into these inputs. Forward may call this before or after the write, and must
        return the inputs.

        Raises:
            RuntimeError: if a tensor is a leaf that requires grad, or a view of such a leaf.
            ValueError: if a tensor is not an input of forward.
        """
        call = self._running_call("mark_dirty")
        for x in tensors:
            k = call.position(x)
            if k is not None and call.recording and is_protected(x):
                view = "" if type(x._node) is Leaf else "view of a "
                raise RuntimeError(
                    f"a {view}leaf Variable that requires grad is being used in an in-place operation.\n"
                    f"{call.name} announced a write to input {k}"
                    f"{', and has written it' if call.was_written(k) else '; nothing was written'}."
                )
            call.mark_dirty(x)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors (or None) that forward passed to ``save_for_backward``, with the values that they had then.

        Raises:
            RuntimeError: if a saved tensor has been overwritten, or if backward is not running.
        """
        if self._node is None:
            raise RuntimeError(f"{self._layer.__name__}: ctx.saved_tensors is available only in backward")
        for i, saved in enumerate(self._node.saved[:-1]):
            if saved is not None and not is_intact(saved):
                raise errors.stale(self._node, f"saved tensor {i}", saved)
        return tuple(None if x is None else as_torch(x) for x in self.saved_tensor())


def _backward(node: Node, g: np.ndarray) -> Any:
    if node.saved is FREED:
        raise errors.freed(node)
    return run_backward(node, g)


def _on_tensors(node: Node, g: Any) -> Any:
    if node.saved is FREED:
        raise errors.freed(node)
    return run_on_tensors(node, g)


class Function(PyLayer):
    """Base class of operations that a program defines: define two static methods and call ``MyFunction.apply(...)``.

    ``forward(ctx, *args)`` returns a tensor or a tuple of tensors, and its operations are not recorded.
    ``backward(ctx, *grads)`` gets the gradient of each output. It returns a gradient for each argument of forward, or
    None if the argument is not a tensor or has no gradient. Forward may also be defined without ``ctx``. A third
    method, ``setup_context(ctx, inputs, output)``, then saves the values for backward.

    If forward returns an input without having written into it, the output is a copy of the input.
    """

    _context = FunctionCtx

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)\n"
            f"{type(self).__name__} has no instances; call {type(self).__name__}.apply(...)."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save values for backward. A subclass whose forward has no ``ctx`` defines this method."""
        raise NotImplementedError("setup_context is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record the function if a tensor among the arguments requires grad.

        Raises:
            RuntimeError: if forward writes a leaf that requires grad, a view of such a leaf, or an input without
                ``mark_dirty``.
            TypeError: if there are keyword arguments, or if forward returns no tensor.
            NotImplementedError: if the class does not define forward.
        """
        if kwargs:
            raise TypeError("apply() takes no keyword arguments")
        if cls.forward is PyLayer.forward:
            raise NotImplementedError(
                "You must implement the forward function for custom autograd.Function.\n"
                f"{cls.__name__} needs a static method forward(ctx, *args)."
            )
        return cls._apply([x for x in args if isinstance(x, BaseTensor)], args, {})

    _as_framework_tensor = staticmethod(as_torch)

    @classmethod
    def _operation(cls) -> Operation:
        op = NamedOperation(cls.__name__, _backward, torch_name=f"{cls.__name__}Backward")
        op.later = lambda: _on_tensors
        return op

    @classmethod
    def _run_forward(cls, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wanting = iter([n is not None for n in ctx._call.node.inputs])
        ctx._takes_tensor = tuple(isinstance(x, BaseTensor) for x in args)
        ctx.needs_input_grad = tuple(next(wanting) if is_tensor else False for is_tensor in ctx._takes_tensor)
        if cls.setup_context is Function.setup_context:
            output = cls.forward(ctx, *args)
        else:
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
        many = output if isinstance(output, (list, tuple)) else (output,)
        ctx._returns_tensor = tuple(isinstance(x, BaseTensor) for x in many)
        return output

    @staticmethod
    def _gradients_of_outputs(ctx: Any, grads: list[Any]) -> list[Any]:
        """Return the arguments of backward: the gradients, and None for each output that is not a tensor."""
        remaining = iter(grads)
        return [next(remaining) if is_tensor else None for is_tensor in ctx._returns_tensor]

    @classmethod
    def _answers(cls, ctx: Any, node: Node, answer: Any, recorded: bool) -> list[Any]:
        given = list(answer) if isinstance(answer, tuple) else [answer]
        expected = len(ctx._takes_tensor)
        if len(given) < expected or any(x is not None for x in given[expected:]):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {expected}, got "
                f"{len(given)})\nbackward returns one for each argument of forward, None if that is not a tensor."
            )
        of_tensors = [x for x, is_tensor in zip(given, ctx._takes_tensor, strict=False) if is_tensor]
        pairs = zip(of_tensors, node.inputs, ctx._inputs, strict=True)
        return [
            x if x is None or parent is None else _fit(cls.__name__, k, x, shape, dtype)
            for k, (x, parent, (shape, dtype, _)) in enumerate(pairs)
        ]


def _fit(name: str, k: int, x: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return ``x``, the gradient of input ``k``, in the shape and dtype of that input.

    If the input can be broadcast to the larger shape of ``x``, ``x`` is summed over the broadcast dimensions.
    """
    if not isinstance(x, BaseTensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(x).__name__})\n{name}.backward returned it as gradient {k}."
        )
    x = as_torch(x)
    if x._array.shape != shape:
        try:
            fits = broadcast_shapes(x._array.shape, shape) == x._array.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {name}Backward returned an invalid gradient at index {k} - got {list(x._array.shape)} but "
                f"expected shape compatible with {list(shape)}"
            )
        lead = x._array.ndim - len(shape)
        dims = [d for d in range(x._array.ndim) if d < lead or shape[d - lead] != x._array.shape[d]]
        x = x.sum(dim=dims, keepdim=True).reshape(shape)
    return x if x._array.dtype == dtype else to(x, x.new_zeros(0, dtype=dtype.name).dtype)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``backward`` so that its operations are not recorded. ``backward`` may then also compute with NumPy.

    The gradients that it returns cannot be differentiated: with ``create_graph=True``, the wrapped function raises
    RuntimeError.

    Raises:
        TypeError: if ``backward`` is not callable.
    """
    checks.function("once_differentiable()", "backward", backward)

    @functools.wraps(backward)
    def once(ctx: Any, *grads: Any) -> Any:
        checks.instance(f"{getattr(backward, '__name__', 'backward')}()", "ctx", ctx, PyLayerContext, "a context")
        if ctx._recorded:
            raise RuntimeError(
                "trying to differentiate twice a function that was marked with @once_differentiable\n"
                f"{ctx._layer.__name__}.backward was asked for gradients with create_graph=True."
            )
        with no_grad():
            return backward(ctx, *grads)

    return once
