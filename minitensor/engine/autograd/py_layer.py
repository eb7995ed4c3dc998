"""User-defined operations: forward and backward written by hand, with the same checks as the built-in operations.

A user-defined operation, called a layer here, follows the rules of every operation: its saved tensors are checked
against later writes, its in-place writes update the history of all views of the written memory, leaves are protected,
and backward may run again. Under ``create_graph``, a backward that consists of operations is recorded. The operations
of forward are not recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.engine.autograd.context import LayerCall, PyLayerContext
from minitensor.engine.autograd.outputs import ALL, Output, OutputPart, output_operation
from minitensor.engine.core.errors import freed
from minitensor.engine.core.history import Leaf, Node, Operation, new_leaf, new_node, set_node
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import made_on
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.device.places import Place
from minitensor.engine.dtypes import BY_NUMPY, FLOATS, promoted
from minitensor.engine.events import TensorCreated, ViewCreated, watch
from minitensor.engine.modes import modes, no_grad
from minitensor.engine.operations.operands import cast
from minitensor.engine.saved.saved import FREED
from minitensor.engine.views.indexing import set_part
from minitensor.engine.views.reshaping import reshape


class PyLayer:
    """Base class of user-defined operations: define two static methods, and call ``Layer.apply(...)``.

    ``forward(ctx, *args, **kwargs)`` gets the arguments of ``apply`` and returns a tensor, or a tuple or list with at
    least one tensor. It runs under ``no_grad``. ``backward(ctx, *grads)`` gets the gradient of every tensor that
    forward returned, in order. It returns one gradient for every tensor argument of forward, in the shape and dtype of
    that tensor, or None: then a leaf gets no gradient, and any other tensor a gradient of 0. Tensors inside lists and
    tuples count as arguments, too. Tensors that are passed by keyword come last. A gradient for a tensor that requires
    none is ignored. ::

        class Exp(PyLayer):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensor()
                return g * y

    A forward that writes an input ``x`` in place first calls ``ctx.mark_dirty(x)``, and returns ``x``.

    Every output has its own memory: if forward returns an unchanged input, a view of an input, or one tensor twice,
    that output is a copy, with or without Paddle's ``mark_not_inplace``. Backward may write its gradients, but not the
    saved tensors. Under ``create_graph``, the operations of backward are recorded. If a gradient was computed without
    any recorded operation, for example with numpy, an error is raised. If at least one recorded operation was used, no
    error is raised, although the recorded history may be incomplete.
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; implemented by the subclass."""
        raise NotImplementedError("a PyLayer needs a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: PyLayerContext, *grads: Any) -> Any:
        """Compute the gradients of the inputs; implemented by the subclass."""
        raise NotImplementedError("a PyLayer needs a static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record the layer if some input requires a gradient.

        Returns:
            The result of forward. The recorded call is the history of the tensors in this result.

        Raises:
            NotImplementedError: if the subclass does not define both methods.
            ValueError: if forward returns no tensor; if it announces a write into a leaf that requires a gradient;
                under the policy "2.5", if it announces a write into an input that it has saved.
            RuntimeError: if forward wrote an input without announcing the write, announced a write that did not happen,
                or set an input or output as an attribute of ``ctx``. The writes of forward are not undone.
        """
        if cls.forward is PyLayer.forward or cls.backward is PyLayer.backward:
            missing = "forward(ctx, *args)" if cls.forward is PyLayer.forward else "backward(ctx, *grads)"
            raise NotImplementedError(f"{cls.__name__} needs a static method {missing}")
        return cls._apply(list(_tensors((*args, *kwargs.values()))), args, kwargs)

    #: The class of the context. Each framework's subclass overrides it, and the methods below.
    _context: type[PyLayerContext] = PyLayerContext

    @staticmethod
    def _as_framework_tensor(x: Tensor) -> Tensor:
        return x

    @staticmethod
    def _gradients_of_outputs(ctx: PyLayerContext, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Return the arguments of backward, given the gradients of the outputs that are tensors."""
        return grads

    @classmethod
    def _operation(cls) -> Operation:
        op = Operation(cls.__name__, run_backward)
        op.later = lambda: run_on_tensors
        return op

    @classmethod
    def _run_forward(cls, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return cls.forward(ctx, *args, **kwargs)

    @classmethod
    def _answers(cls, ctx: Any, node: Node, answer: Any, recorded: bool) -> list[Any]:
        """Return ``answer``, the result of backward, as a list with one gradient per tensor argument of forward."""
        answers = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        if len(answers) != len(node.inputs):
            raise ValueError(
                f"{node.op.name}.backward returned {len(answers)} gradients, and forward was given "
                f"{len(node.inputs)} tensors: it must return one gradient per tensor, and none for other arguments"
            )
        return answers

    @classmethod
    def _apply(cls, inputs: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nodes = tuple(x._current() if modes.grad else None for x in inputs)
        node = new_node(cls._operation(), nodes, (), ())
        call = LayerCall(cls.__name__, inputs, node, any(each is not None for each in node.inputs))
        ctx = cls._context(cls, call)
        outer, modes.layer = modes.layer, cls.__name__
        try:
            with no_grad():
                result = cls._run_forward(ctx, args, kwargs)
            return _set_history(ctx, call, result)
        finally:
            ctx._call, modes.layer = None, outer


def _tensors(given: Iterable[Any]) -> Iterable[Tensor]:
    """Yield the tensors in ``given``, and those in its lists and tuples."""
    for each in given:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from (inner for inner in each if isinstance(inner, Tensor))


# ---------- after forward ----------


def _set_history(ctx: PyLayerContext, call: LayerCall, result: Any) -> Any:
    """Check the writes of forward, set the history of its outputs, and return the result of ``apply``."""
    entries = list(result) if isinstance(result, (list, tuple)) else [result]
    given = [each for each in entries if isinstance(each, Tensor)]
    if not given:
        raise ValueError(
            f"{call.name}: forward must return a Tensor, or a tuple with at least one, not {_kinds(result)}"
        )
    call.check(given)
    if call.recording:
        for attribute, value in vars(ctx).items():
            if any(value is each for each in (*call.inputs, *given)):
                raise RuntimeError(
                    f"{call.name}: ctx.{attribute} is a tensor that forward received or returns. Save it with "
                    f"ctx.save_for_backward, so that a later write is noticed and no reference cycle arises."
                )
    outputs = [ctx._layer._as_framework_tensor(_output(call, k, given)) for k in range(len(given))]
    if call.recording:
        _record(ctx, call, given, outputs)
    for old, new in zip(given, outputs, strict=True):
        if new is not old and watch.listener is not None:
            fresh = new._storage is not old._storage
            event = TensorCreated if fresh else ViewCreated
            watch.listener(event(new, call.name, tuple(call.inputs) if fresh else (old,)))
    if not isinstance(result, (list, tuple)):
        return outputs[0]
    remaining = iter(outputs)
    returned = [next(remaining) if isinstance(each, Tensor) else each for each in entries]
    return returned if isinstance(result, list) else tuple(returned)


def _kinds(result: Any) -> str:
    if isinstance(result, (list, tuple)):
        return f"a {type(result).__name__} of {', '.join(type(each).__name__ for each in result) or 'nothing'}"
    return type(result).__name__


def _output(call: LayerCall, k: int, given: list[Tensor]) -> Tensor:
    """Return the tensor for output ``k``: an input whose write was announced, or a tensor with separate memory.

    Such a tensor shares no memory with the inputs or with the outputs before ``k``.
    """
    x = given[k]
    first = all(x is not before for before in given[:k])
    if call.is_dirty(x) and first:
        return x
    others = (*call.inputs, *given[:k])
    if any(x._storage is other._storage for other in others):
        return Tensor._made(x._array.copy())
    return Tensor._alias(x._array, x._storage)


def _record(ctx: PyLayerContext, call: LayerCall, given: list[Tensor], outputs: list[Tensor]) -> None:
    """Complete the node of the call, and set the history of every output that requires a gradient."""
    node = call.node
    wanting = [x._array.dtype in FLOATS and all(x is not c for c in call.constants) for x in given]
    if any(wanting):
        ctx._outputs = _describe_outputs(call, outputs, wanting)
        ctx._inputs = tuple((x._array.shape, x._array.dtype, gpu_of(x._array)) for x in call.inputs)
        ctx._sources = tuple(call.source(i, given) for i in range(len(call.saved or ())))
        node.op.saved_names = tuple(f"saved tensor {i}" for i in range(len(node.saved)))
        node.saved = (*node.saved, ctx)
    for x, each, wants in zip(outputs, ctx._outputs if any(wanting) else [None] * len(outputs), wanting, strict=True):
        if wants:
            set_node(x, each.node(node))
        elif x._current() is not None:
            set_part(x, x._array, None)  # `x` was overwritten by a constant, so its former value gets a gradient of 0


def _describe_outputs(call: LayerCall, outputs: list[Tensor], wanting: list[bool]) -> tuple[Output, ...]:
    """Return the description of each output for backward, and set the shape of the call's node."""
    wanted = [x for x, wants in zip(outputs, wanting, strict=True) if wants]
    if len(wanted) == 1:
        call.node.shape = wanted[0]._array.shape
        return tuple(
            Output(x._array.shape, x._array.dtype, ALL if wants else None)
            for x, wants in zip(outputs, wanting, strict=True)
        )
    places = sorted({str(x.place) for x in wanted})
    if len({gpu_of(x._array) for x in wanted}) > 1:
        raise TypeError(f"{call.name}: forward returned outputs on {' and '.join(places)}; they must be on one device")
    size = sum(x._array.size for x in wanted)
    total = size + len(wanted)
    dtype = functools.reduce(promoted, (x._array.dtype for x in wanted))
    call.node.shape = (total,)
    described, begin, count = [], 0, size
    for k, (x, wants) in enumerate(zip(outputs, wanting, strict=True)):
        part = None
        if wants:
            end = begin + x._array.size
            part = OutputPart(output_operation(f"{call.name}[{k}]"), begin, end, count, total, dtype)
            begin, count = end, count + 1
        described.append(Output(x._array.shape, x._array.dtype, part))
    return tuple(described)


# ---------- backward ----------


def _context(node: Node) -> PyLayerContext:
    if node.saved is FREED:
        raise freed(node)
    found: PyLayerContext = node.saved[-1]
    return found


def _run(ctx: PyLayerContext, node: Node, grads: list[Tensor | None], recorded: bool) -> list[Tensor | None]:
    """Call the layer's backward, and return a checked gradient per input: None if it is 0 or not required."""
    before = ctx._node, ctx._recorded
    ctx._node, ctx._recorded = node, recorded
    try:
        convert = ctx._layer._as_framework_tensor
        given = ctx._layer._gradients_of_outputs(ctx, [None if each is None else convert(each) for each in grads])
        answer = ctx._layer.backward(ctx, *given)
    finally:
        ctx._node, ctx._recorded = before
        ctx._unlock_saved()
    answers: list[Any] = ctx._layer._answers(ctx, node, answer, recorded)
    name = f"{node.op.name}.backward"
    for k, (x, parent, (shape, dtype, gpu)) in enumerate(zip(answers, node.inputs, ctx._inputs, strict=True)):
        if parent is None or x is None:
            answers[k] = None
            continue
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name} returned {type(x).__name__} as the gradient of input {k}; it must be a Tensor or None"
            )
        if gpu_of(x._array) is not gpu:
            raise TypeError(
                f"{name} returned a gradient on {x.place} for input {k}, which is on {Place(gpu)}; "
                f"a gradient must be on the device of its tensor"
            )
        if x._array.shape != shape:
            raise ValueError(
                f"{name} returned a gradient of shape {x.shape} for input {k}, which has shape {list(shape)}"
            )
        if x._array.dtype != dtype:
            raise TypeError(
                f"{name} returned a gradient of dtype {x.dtype.name} for input {k}, which has dtype "
                f"{BY_NUMPY[dtype].name}"
            )
    return answers


def run_backward(node: Node, g: np.ndarray) -> list[np.ndarray | None]:
    """Run the layer's backward without recording it; return a gradient per input, None if the input requires none.

    If the layer's backward returns None for a leaf, the leaf gets no gradient. For any other input, None is replaced by
    zeros, so that the pass continues to the nodes before it.

    The pass and the layer share no memory: gradients are copied.
    """
    ctx = _context(node)
    grads: list[Tensor | None] = []
    for out in ctx._outputs:
        if out.part is ALL:
            grads.append(Tensor._made(g.astype(out.dtype, order="C")))
        elif out.part is not None and g[out.part.count] > 0:
            part = g[out.part.begin : out.part.end].reshape(out.shape)
            grads.append(Tensor._made(part.astype(out.dtype, order="C")))
        else:
            grads.append(_zeros(gpu_of(g), out.shape, out.dtype) if ctx._materializes else None)
    with no_grad():
        answers = _run(ctx, node, grads, recorded=False)
    passed: list[np.ndarray | None] = []
    for x, parent, (shape, dtype, gpu) in zip(answers, node.inputs, ctx._inputs, strict=True):
        if x is not None:
            passed.append(x._array.copy())
        else:
            passed.append(None if parent is None or type(parent) is Leaf else _zeros(gpu, shape, dtype)._array)
    return passed


def _zeros(gpu: Any, shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
    return made_on(gpu, "", np.zeros(shape, dtype))


def run_on_tensors(node: Node, g: Tensor) -> list[Tensor | None]:
    """Run the layer's backward and record it; return a gradient per input as :func:`run_backward` does.

    Raises:
        RuntimeError: if a gradient other than 0 was computed without any recorded operation.
    """
    ctx = _context(node)
    if g._current() is None:
        # Make the incoming gradient a leaf, so that every result that operations compute from it has a history.
        g = Tensor._alias(g._array, g._storage)
        g._node = new_leaf(g._array.shape)
    given = g.clone()
    grads: list[Tensor | None] = []
    for out in ctx._outputs:
        if out.part is ALL:
            grads.append(given)
        elif out.part is not None and g._array[out.part.count] > 0:
            part = reshape(given[out.part.begin : out.part.end], out.shape).clone()
            grads.append(part if part._array.dtype == out.dtype else cast(part, out.dtype))
        else:
            grads.append(_zeros(gpu_of(g._array), out.shape, out.dtype) if ctx._materializes else None)
    answers = _run(ctx, node, grads, recorded=True)
    passed: list[Tensor | None] = []
    for k, (x, parent, (shape, dtype, gpu)) in enumerate(zip(answers, node.inputs, ctx._inputs, strict=True)):
        if parent is None or (x is None and type(parent) is Leaf):
            passed.append(None)
        elif x is None:
            passed.append(_zeros(gpu, shape, dtype))
        else:
            if x._current() is None and x._array.any():
                raise RuntimeError(
                    f"{node.op.name}.backward computed the gradient of input {k} outside recorded operations (with "
                    f"numpy, or under no_grad), so it has no gradient itself, but create_graph needs one. Compute "
                    f"it from the tensors that backward receives, with operations of minitensor."
                )
            passed.append(x.clone())
    return passed
