"""Compute gradients: ``backward`` adds them to the ``grad`` of leaves, and ``grad`` returns them.

All gradients are computed before the first is stored, so an error leaves every ``grad`` unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any

import numpy as np

from minitensor.engine.autograd.backward_pass import OnArrays, Pending, copy_to_tensor, pending_counts, propagate
from minitensor.engine.autograd.higher_order import OnTensors, as_engine_tensor
from minitensor.engine.autograd.pruning import restrict_to
from minitensor.engine.checks import shown
from minitensor.engine.core.errors import gradient_reshaped, leaf_reshaped_by_hook, not_writeable
from minitensor.engine.core.history import Leaf, Node
from minitensor.engine.core.layout_rules import gradient_orders
from minitensor.engine.core.regions import writeable
from minitensor.engine.core.storage import Storage, calling_frame
from minitensor.engine.core.tensor import AfterHook, Tensor
from minitensor.engine.device.arrays import as_array, gpu_of
from minitensor.engine.events import LeafUpdated, TensorWritten, watch
from minitensor.engine.modes import enable_grad
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.operations.operands import cast
from minitensor.engine.saved.writing import Plan, after_write, before_write

#: A node, and the gradient of its value with which a pass begins.
Start = tuple[Node, np.ndarray]


def start_of(x: Tensor, given: Any, what: str) -> Start:
    """Return the node of ``x`` and its initial gradient: ones if ``given`` is None. Errors begin with ``what``."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{what} takes a Tensor, not {type(x).__name__}")
    node = x._current()
    if node is None:
        raise RuntimeError(
            f"{what}: this tensor of shape {x.shape} has stop_gradient=True: nothing was recorded, so there is nothing "
            f"to differentiate. Set stop_gradient=False on the leaves before computing."
        )
    if given is None:
        ones = np.empty_like(x._array, order="C")
        ones.fill(1)
        return node, ones
    if not isinstance(given, Tensor):
        raise TypeError(f"{what}: the initial gradient must be a Tensor or None, not {type(given).__name__}")
    if gpu_of(given._array) is not gpu_of(x._array):
        raise TypeError(
            f"{what}: the initial gradient is on {given.place} and the tensor on {x.place}. Move it with "
            f"`g.cuda()` or `g.cpu()`."
        )
    if given._array.shape != x._array.shape:
        raise ValueError(f"{what}: the initial gradient has shape {given.shape}; the tensor has shape {x.shape}")
    return node, given._array.astype(x._array.dtype)


def backward(x: Tensor, grad_tensor: Tensor | None = None, retain_graph: bool = False) -> None:
    """Add the gradient of ``x`` to the ``grad`` of every leaf from which ``x`` was computed.

    Several threads may call this function at once, and no gradient of a shared leaf is lost. But threads have to
    synchronize if they run backward through the same graph, or if one thread writes a tensor that the backward of
    another thread reads.

    Args:
        grad_tensor: the initial gradient of ``x``; ones by default, also if ``x`` has many elements.
        retain_graph: True to keep the saved tensors, so that backward can run again.

    Raises:
        RuntimeError: if a saved tensor was overwritten or freed; no gradient has changed in that case.
    """
    node, g = start_of(x, grad_tensor, "backward")
    with OnArrays() as propagation:
        commit(propagate({node: g}, pending_counts([node]), retain_graph, propagation), propagation)


#: Locked while gradients are stored, so that threads do not overwrite each other's sums in a shared leaf.
_committing = RLock()


def commit(arrived: dict[Node, np.ndarray], propagation: OnArrays, op: str = "backward") -> None:
    """Store the gradients ``arrived`` in the leaves, and the retained gradients in their boxes.

    The first gradient of a leaf becomes a tensor with its own memory. Later gradients are added to this tensor in
    place: each addition is one write, which raises the version. All memory is allocated and all targets are checked
    before the first write, so a failure leaves every ``grad`` unchanged.

    Raises:
        RuntimeError: if a leaf has a gradient to which nothing can be added, because the gradient's elements share
            memory, or because the gradient is read-only or was reshaped in place; or if a hook has reshaped a leaf.
    """
    new_gradients: list[tuple[Any, Tensor]] = []
    additions: list[tuple[Leaf, np.ndarray]] = []
    plans: dict[Storage, Plan | None] = {}
    callbacks = _leaf_callbacks(arrived)
    with _committing:
        for box, g in propagation.retained.items():
            adds = box.adds and box.gradient is not None
            new_gradients.append((box, _sum(op, box.gradient, g, propagation) if adds else _to_tensor(g, propagation)))
        while arrived:
            node, g = arrived.popitem()
            if type(node) is not Leaf:
                raise leaf_reshaped_by_hook()
            if node.saved is None or _is_cleared(node.saved):
                new_gradients.append((node, _to_tensor(g, propagation, node)))
                continue
            array, storage = node.saved._array, node.saved._storage
            if not writeable(array):
                raise not_writeable("backward", node.saved)
            _refuse_other_shape(op, node.saved, g)
            additions.append((node, g))
            if storage not in plans:
                plans[storage] = None if storage.savers is None else before_write(storage, array)
        for holder, gradient in new_gradients:
            if type(holder) is Leaf:
                holder.saved = gradient
                if watch.listener is not None:
                    watch.listener(LeafUpdated(holder, gradient))
            else:
                holder.gradient = gradient
        for leaf, g in additions:
            _add(leaf, g, plans)
            propagation.release(g)
    for callback in callbacks:
        callback()


def _leaf_callbacks(arrived: dict[Node, np.ndarray]) -> list[Any]:
    """Return the callbacks to run after the gradients of these leaves have been stored."""
    hooks = [hook for node in arrived if node.hooks is not None for hook in node.hooks if type(hook) is AfterHook]
    return [hook.after for hook in hooks if hook.after is not None]


def _is_cleared(gradient: Tensor) -> bool:
    """True if the last write into ``gradient`` was by ``clear_gradient``."""
    extra = getattr(gradient, "_extra", None)
    return extra is not None and extra.emptied == gradient._storage.version


def _to_tensor(g: np.ndarray, propagation: OnArrays, leaf: Leaf | None = None) -> Tensor:
    """Return a tensor of ``g``, in the memory order that :data:`gradient_orders` has for ``leaf``, if it has one.

    ``g`` is not copied if it is exclusive and already in this order.
    """
    order = gradient_orders.get(leaf) if gradient_orders else None
    outward = g if order is None else g.transpose(order)
    if propagation.is_exclusive(g) and outward.flags.c_contiguous:
        propagation.release(g)
        return Tensor._made(g)
    array = outward.copy()
    copy = Tensor._made(array if order is None else array.transpose(np.argsort(order)))
    propagation.release(g)
    return copy


def _sum(op: str, before: Tensor, g: np.ndarray, propagation: OnArrays) -> Tensor:
    """Return the sum of ``before`` and ``g`` in new memory: a retained gradient is replaced and never written."""
    _refuse_other_shape(op, before, g)
    total = Tensor._made(as_array(before._array + g))
    propagation.release(g)
    return total


def _refuse_other_shape(op: str, gradient: Tensor, g: np.ndarray) -> None:
    """Raise RuntimeError unless ``gradient`` has the shape of ``g``, possibly after leading dimensions of length 1."""
    have = gradient._array.shape
    if have != (1,) * (len(have) - g.ndim) + g.shape:
        raise gradient_reshaped(op, have, g.shape)


def _add(leaf: Leaf, g: np.ndarray, plans: dict[Storage, Plan | None]) -> None:
    """Add ``g`` to the gradient of ``leaf`` in place, as a write under ``no_grad`` that does not change the history."""
    gradient = leaf.saved
    array, storage = gradient._array, gradient._storage
    # Two leaves may share one gradient. The first addition uses the plan, so the second needs a new plan.
    if storage in plans:
        plan = plans.pop(storage)
    else:
        plan = None if storage.savers is None else before_write(storage, array)
    np.add(array, g, out=array)
    storage.version += 1
    if plan is not None:
        after_write(plan, storage, "backward", calling_frame())
    listener = watch.listener
    if listener is not None:
        listener(TensorWritten(gradient, "backward", (), None))
        listener(LeafUpdated(leaf, gradient))


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """Return the gradients of ``outputs`` for ``inputs`` (leaves or not) in the inputs' shapes.

    The ``grad`` of leaves is unchanged. As in Paddle and PyTorch, a tensor with ``retain_grads()`` keeps its gradient.

    Args:
        grad_outputs: the initial gradients, one per output and of its shape; None for ones.
        retain_graph: True to keep the saved tensors, so that backward can run again; by default, the value of
            ``create_graph``.
        create_graph: True to record the computation of the gradients, so that they have gradients themselves.
        only_inputs: must be True, as in Paddle.
        allow_unused: True to return None for an input on which the outputs do not depend.
        no_grad_vars: tensors to treat as constants: no gradient passes through them.

    Raises:
        AssertionError: for ``only_inputs=False``, and if there is no output or no input, as in Paddle.
        ValueError: if an initial gradient has another shape than its output, or if their counts differ.
        RuntimeError: if the outputs do not depend on an input, or an input is among ``no_grad_vars``, unless
            ``allow_unused`` is set.
    """
    if only_inputs is not True:
        raise AssertionError("only_inputs=False is not supported yet")
    if not (retain_graph is None or isinstance(retain_graph, bool)):
        raise AssertionError(f"retain_graph must be None, True or False, not {shown(retain_graph)}")
    for name, given in (("outputs", outputs), ("inputs", inputs)):
        if isinstance(given, (list, tuple)) and not given:
            raise AssertionError(f"{name} cannot be empty: there is no tensor among them")
    ends = nodes_of(no_grad_vars)
    return gradients_of(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, ends, ends)


def gradients_of(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
    ends: frozenset[Node],
    without: frozenset[Node] = frozenset(),
) -> list[Tensor | None]:
    """Return the gradients that :func:`grad` returns. No gradient passes beyond the nodes ``ends``.

    Inputs whose nodes are in ``without`` count as unused.
    """
    retain_graph = create_graph if retain_graph is None else bool(retain_graph)
    many_outputs: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    many_inputs: list[Any] = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    given = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(many_outputs)
    if len(given) != len(many_outputs):
        raise ValueError(f"grad: {len(many_outputs)} outputs but {len(given)} initial gradients")
    wanted = [start_of(x, None, "grad")[0] for x in many_inputs]
    starts = [start_of(x, g, "grad") for x, g in zip(many_outputs, given, strict=True)]
    pending = pending_counts((node for node, _ in starts), ends)
    for i, node in enumerate(wanted):
        if (node not in pending or node in without) and not allow_unused:
            raise RuntimeError(
                f"grad: the outputs do not depend on input {i} (shape {many_inputs[i].shape}). "
                f"Pass allow_unused=True to get None for it."
            )
    ends = restrict_to(frozenset(wanted) - without, pending, ends)

    if create_graph:
        found = _recorded_gradients(starts, given, pending, retain_graph, wanted, ends)
        return [None if node in without else g for node, g in zip(wanted, found, strict=True)]

    with OnArrays() as propagation:
        arrived = propagate(sum_by_node(starts), pending, retain_graph, propagation, ends.union(wanted), ends)
        commit({}, propagation, "grad")  # stores only the retained gradients
        reached = arrived.keys() - without
        return [copy_to_tensor(arrived[node]) if node in reached else None for node in wanted]


def nodes_of(no_grad_vars: Any) -> frozenset[Node]:
    """Return the nodes of ``no_grad_vars``, through which no gradient passes."""
    if no_grad_vars is None:
        return frozenset()
    many = [no_grad_vars] if isinstance(no_grad_vars, Tensor) else no_grad_vars
    if not isinstance(many, (list, tuple, set)) or not all(isinstance(x, Tensor) for x in many):
        raise AssertionError(
            f"no_grad_vars must be None, a Tensor or a list containing Tensors, not {type(no_grad_vars).__name__}"
        )
    return frozenset(node for node in (x._current() for x in many) if node is not None)


def sum_by_node(starts: Iterable[Start]) -> dict[Node, np.ndarray]:
    """Return the initial gradient of each node, which is a sum if several of ``starts`` have the same node."""
    roots: dict[Node, np.ndarray] = {}
    for node, g in starts:
        roots[node] = g if node not in roots else as_array(roots[node] + g)
    return roots


def _recorded_gradients(
    starts: list[Start],
    given: list[Any],
    pending: dict[Node, Pending],
    retain_graph: bool,
    wanted: list[Node],
    ends: frozenset[Node],
) -> list[Tensor | None]:
    """Return the gradients of ``wanted`` as tensors with a history, each in its own memory."""
    roots: dict[Node, Tensor] = {}
    taken = set()
    for (node, start), g in zip(starts, given, strict=True):
        if g is None:
            tensor = Tensor._made(start)
        elif g._array.dtype != start.dtype:
            tensor = cast(as_engine_tensor(g), start.dtype)
        else:
            tensor = g
            taken.add(g._storage)
        roots[node] = tensor if node not in roots else FUNCTIONS["add"](roots[node], tensor)
    propagation = OnTensors()
    with enable_grad():
        arrived = propagate(roots, pending, retain_graph, propagation, ends.union(wanted), ends)
    with OnArrays() as plain:  # a retained gradient with a history would keep alive the node that holds it
        plain.retained = {box: g._array.copy() for box, g in propagation.retained.items()}
        for array in plain.retained.values():
            plain.keep(array)
        commit({}, plain, "grad")
    results: list[Tensor | None] = []
    for node in wanted:
        g = arrived.get(node)
        if g is not None and g._storage in taken:
            g = g.clone()
        if g is not None:
            taken.add(g._storage)
        results.append(g)
    return results


Tensor.backward = backward
