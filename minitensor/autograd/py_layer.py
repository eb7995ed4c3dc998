"""An operation of one's own: forward and backward written by hand, and safe as those of the table are.

What holds for every operation holds for a layer: what it saved is checked against later writes, what it writes in place
moves the history of the whole group on, a leaf is protected, backward may run again, and ``create_graph`` goes through
its backward when that is made of operations. What forward does is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.autograd.context import Call, PyLayerContext
from minitensor.autograd.outputs import ALL, Output, OutputPart, output_operation
from minitensor.core.errors import freed
from minitensor.core.history import Node, Operation, new_leaf, set_node
from minitensor.core.storage import calling_frame
from minitensor.core.tensor import Tensor
from minitensor.creation.making import made_on
from minitensor.device.arrays import gpu_of
from minitensor.device.places import place_of
from minitensor.dtypes import BY_NUMPY, FLOATS
from minitensor.events import watch
from minitensor.modes import modes, no_grad
from minitensor.operations.operands import cast
from minitensor.saving.saved import FREED
from minitensor.views.indexing import set_part
from minitensor.views.reshaping import reshape


class PyLayer:
    """Subclass it with two static methods and call ``Layer.apply(...)``.

    ``forward(ctx, *args, **kwargs)`` is given what ``apply`` was given and returns a tensor, or a tuple or list with at
    least one. It runs under ``no_grad``. ``backward(ctx, *grads)`` is given the gradient of every tensor that forward
    returned, in order, and returns one gradient for every tensor that forward was given (also in a list or tuple, and
    among keyword arguments, which come last), in the shape and dtype of that tensor; None for a gradient of 0. What it
    returns for a tensor that wants no gradient is not looked at. ::

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

    In place: forward announces the write by ``ctx.mark_dirty(x)``, writes, and returns ``x``.

    An output has memory of its own: where forward returns an input as it is, a view of one, or one tensor twice, that
    output is a copy, with or without Paddle's ``mark_not_inplace``. The tensors that backward is given may be
    written; saved tensors may not. Under ``create_graph`` backward is run with recorded tensors; a gradient that it
    worked out otherwise (with numpy, say) is refused where that can be seen, which is where the incoming gradient does
    not reach it.
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError("a PyLayer needs a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: PyLayerContext, *grads: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError("a PyLayer needs a static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record the layer, where some tensor given wants a gradient.

        Returns:
            What forward returned, the tensors with their history.

        Raises:
            ValueError: if forward announces a write into a leaf that wants a gradient; under the policy "2.5", one
                into an input that it saved.
            RuntimeError: if forward wrote an input without announcing it, or announced what it did not do. What it
                has written then stays written, as under ``no_grad``.
            ValueError: if forward returns no tensor.
        """
        if cls.forward is PyLayer.forward or cls.backward is PyLayer.backward:
            missing = "forward(ctx, *args)" if cls.forward is PyLayer.forward else "backward(ctx, *grads)"
            raise NotImplementedError(f"{cls.__name__} needs a static method {missing}")
        return cls._applied(list(_tensors((*args, *kwargs.values()))), args, kwargs)

    #: What a vocabulary may have otherwise: the context, and the tensors that backward is given.
    _context: type[PyLayerContext] = PyLayerContext

    @staticmethod
    def _handed(x: Tensor) -> Tensor:
        """A tensor as this vocabulary has it."""
        return x

    @classmethod
    def _operation(cls) -> Operation:
        """The operation of a call."""
        op = Operation(cls.__name__, run_backward)
        op.later = lambda: run_on_tensors
        return op

    @classmethod
    def _run_forward(cls, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return cls.forward(ctx, *args, **kwargs)

    @classmethod
    def _answers(cls, ctx: Any, node: Node, answer: Any, recorded: bool) -> list[Any]:
        """One gradient for each tensor that forward was given, of what backward returned."""
        answers = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        if len(answers) != len(node.inputs):
            raise ValueError(
                f"{node.op.name}.backward returned {len(answers)} gradients, and forward was given "
                f"{len(node.inputs)} tensors: it returns one for each of them, and none for other arguments"
            )
        return answers

    @classmethod
    def _applied(cls, inputs: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        frame = calling_frame()
        node = Node()
        node.op, node.saved, node.shape, node.hooks = cls._operation(), (), (), None
        node.code, node.instruction = frame.f_code, frame.f_lasti
        node.inputs = tuple(x._current() if modes.grad else None for x in inputs)
        call = Call(cls.__name__, inputs, node, any(each is not None for each in node.inputs))
        ctx = cls._context(cls, call)
        around, modes.layer = modes.layer, cls.__name__
        try:
            with no_grad():
                result = cls._run_forward(ctx, args, kwargs)
            return _finished(ctx, call, result)
        finally:
            ctx._call, modes.layer = None, around


def _tensors(given: Iterable[Any]) -> Iterable[Tensor]:
    """The tensors among arguments or results, also those in a list or tuple."""
    for each in given:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from (inner for inner in each if isinstance(inner, Tensor))


# ---------- after forward ----------


def _finished(ctx: PyLayerContext, call: Call, result: Any) -> Any:
    """Check what forward did, then give its outputs their history."""
    entries = list(result) if isinstance(result, (list, tuple)) else [result]
    given = [each for each in entries if isinstance(each, Tensor)]
    if not given:
        raise ValueError(f"{call.name}: forward returns a Tensor, or a tuple with at least one, not {_kinds(result)}")
    call.check(given)
    if call.recording:
        for attribute, value in vars(ctx).items():
            if any(value is each for each in (*call.inputs, *given)):
                raise RuntimeError(
                    f"{call.name}: ctx.{attribute} is a tensor that forward was given or returns. Keep it by "
                    f"ctx.save_for_backward, so that a later write is noticed and no reference cycle arises."
                )
    outputs = [ctx._layer._handed(_output(call, k, given)) for k in range(len(given))]
    if call.recording:
        _record(ctx, call, given, outputs)
    for old, new in zip(given, outputs, strict=True):
        if new is not old and watch.listener is not None:
            fresh = new._storage is not old._storage
            watch.listener("make" if fresh else "view", new, call.name, tuple(call.inputs) if fresh else (old,))
    if not isinstance(result, (list, tuple)):
        return outputs[0]
    made = iter(outputs)
    returned = [next(made) if isinstance(each, Tensor) else each for each in entries]
    return returned if isinstance(result, list) else tuple(returned)


def _kinds(result: Any) -> str:
    if isinstance(result, (list, tuple)):
        return f"a {type(result).__name__} of {', '.join(type(each).__name__ for each in result) or 'nothing'}"
    return type(result).__name__


def _output(call: Call, k: int, given: list[Tensor]) -> Tensor:
    """The tensor to return for output ``k``: an announced input itself, else a new one with memory of its own."""
    x = given[k]
    first = all(x is not before for before in given[:k])
    if call.is_dirty(x) and first:
        return x
    others = (*call.inputs, *given[:k])
    if any(x._storage is other._storage for other in others):
        return Tensor._made(x._array.copy())
    return Tensor._alias(x._array, x._storage)


def _record(ctx: PyLayerContext, call: Call, given: list[Tensor], outputs: list[Tensor]) -> None:
    """Make the node of the call, and give every output that wants a gradient its history."""
    node = call.node
    wanting = [x._array.dtype in FLOATS and all(x is not c for c in call.constants) for x in given]
    if any(wanting):
        ctx._outputs = _laid_out(call, outputs, wanting)
        ctx._inputs = tuple((x._array.shape, x._array.dtype, gpu_of(x._array)) for x in call.inputs)
        ctx._sources = tuple(call.source(i, given) for i in range(len(call.saved or ())))
        node.op.saved_names = tuple(f"saved tensor {i}" for i in range(len(node.saved)))
        node.saved = (*node.saved, ctx)
    for x, each, wants in zip(outputs, ctx._outputs if any(wanting) else [None] * len(outputs), wanting, strict=True):
        if wants:
            set_node(x, each.node(node))
        elif x._current() is not None:
            set_part(x, x._array, None)  # written in place with what wants no gradient: what it was has gradient 0


def _laid_out(call: Call, outputs: list[Tensor], wanting: list[bool]) -> tuple[Output, ...]:
    """The outputs as backward will see them. Sets the shape of the node."""
    wanted = [x for x, wants in zip(outputs, wanting, strict=True) if wants]
    if len(wanted) == 1:
        call.node.shape = wanted[0]._array.shape
        return tuple(
            Output(x._array.shape, x._array.dtype, ALL if wants else None)
            for x, wants in zip(outputs, wanting, strict=True)
        )
    places = sorted({str(x.place) for x in wanted})
    if len({gpu_of(x._array) for x in wanted}) > 1:
        raise TypeError(f"{call.name}: forward returned outputs on {' and '.join(places)}; they lie on one device")
    size = sum(x._array.size for x in wanted)
    total = size + len(wanted)
    dtype = np.result_type(*(x._array.dtype for x in wanted))
    call.node.shape = (total,)
    laid, begin, count = [], 0, size
    for k, (x, wants) in enumerate(zip(outputs, wanting, strict=True)):
        part = None
        if wants:
            end = begin + x._array.size
            part = OutputPart(output_operation(f"{call.name}[{k}]"), begin, end, count, total, dtype)
            begin, count = end, count + 1
        laid.append(Output(x._array.shape, x._array.dtype, part))
    return tuple(laid)


# ---------- backward ----------


def _context(node: Node) -> PyLayerContext:
    if node.saved is FREED:
        raise freed(node)
    found: PyLayerContext = node.saved[-1]
    return found


def _run(ctx: PyLayerContext, node: Node, grads: list[Tensor | None], recorded: bool) -> list[Tensor | None]:
    """Call the layer's backward; one gradient per input, checked; None where none is wanted, or where it is 0."""
    before = ctx._node, ctx._recorded
    ctx._node, ctx._recorded = node, recorded
    try:
        handed = ctx._layer._handed
        answer = ctx._layer.backward(ctx, *(None if each is None else handed(each) for each in grads))
    finally:
        ctx._node, ctx._recorded = before
        ctx._take_back()
    answers: list[Any] = ctx._layer._answers(ctx, node, answer, recorded)
    name = f"{node.op.name}.backward"
    for k, (x, parent, (shape, dtype, gpu)) in enumerate(zip(answers, node.inputs, ctx._inputs, strict=True)):
        if parent is None or x is None:
            answers[k] = None
            continue
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name} returned {type(x).__name__} as the gradient of input {k}; a Tensor or None is right"
            )
        if gpu_of(x._array) is not gpu:
            raise TypeError(
                f"{name} returned a gradient on {x.place} for input {k}, which lies on {place_of(gpu)}; "
                f"a gradient lies where its tensor does"
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
    """The layer's backward on arrays. It is given copies, and what it returns is copied: nothing is shared."""
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
            passed.append(None if parent is None else _zeros(gpu, shape, dtype)._array)
    return passed


def _zeros(gpu: Any, shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
    return made_on(gpu, "", np.zeros(shape, dtype))


def run_on_tensors(node: Node, g: Tensor) -> list[Tensor | None]:
    """The layer's backward with recorded tensors."""
    ctx = _context(node)
    if g._current() is None:
        # A leaf of its own tells whether what backward returns was computed from it by recorded operations.
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
        if parent is None:
            passed.append(None)
        elif x is None:
            passed.append(_zeros(gpu, shape, dtype))
        else:
            if x._current() is None and x._array.any():
                raise RuntimeError(
                    f"{node.op.name}.backward worked out the gradient of input {k} outside recorded operations (with "
                    f"numpy, or under no_grad), so it has no gradient itself, and create_graph asks for one. Compute "
                    f"it from the tensors that backward is given, with operations of minitensor."
                )
            passed.append(x.clone())
    return passed
