"""``backward`` and ``grad`` with PyTorch's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autograd import gradients as engine
from minitensor.engine.autograd.backward_pass import OnArrays, pending_counts, propagate
from minitensor.engine.autograd.pruning import restrict_to
from minitensor.engine.core.history import Leaf, Node
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.modes import no_grad
from minitensor.torch.autograd.anomaly import pytorch_errors
from minitensor.torch.autograd.modes import set_grad_enabled
from minitensor.torch.creation_like import zeros_like
from minitensor.torch.errors import warn
from minitensor.torch.tensor import Tensor, as_torch


def _start(x: Any, gradient: Any, i: int) -> engine.Start:
    """Return the node of ``x`` and the gradient with which backward starts there.

    Raises:
        RuntimeError: if nothing was recorded for ``x``, if no gradient is given although ``x`` has several elements, or
            if the gradient has another shape.
        TypeError: if ``x`` or the gradient is not a tensor.
    """
    if not isinstance(x, BaseTensor):
        raise TypeError(f"element {i} of the tensors to differentiate must be a Tensor, not {checks.shown(x)}")
    if x._current() is None:
        raise RuntimeError(
            f"element {i} of tensors does not require grad and does not have a grad_fn\n"
            f"Nothing was recorded for it. Set requires_grad=True on the leaves before computing, and compute in grad "
            f"mode."
        )
    if gradient is None and x._array.size != 1:
        raise RuntimeError(
            f"grad can be implicitly created only for scalar outputs\n"
            f"This one has shape {list(x._array.shape)}: call backward on its sum, or pass `gradient`, a tensor of "
            f"that shape."
        )
    if gradient is not None:
        if not isinstance(gradient, BaseTensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
        if gradient._array.shape != x._array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of "
                f"{Tensor.shape.fget(x)}."  # type: ignore[attr-defined]  # the function of a property
            )
    return engine.start_of(x, gradient, "backward")


def _many(given: Any, count: int) -> list[Any]:
    if given is None:
        return [None] * count
    many = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(many) != count:
        raise RuntimeError(f"got {count} tensors and {len(many)} gradients")
    return many


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``grad`` of every leaf that they depend on.

    Args:
        grad_tensors: the gradients to start with; by default 1 for a tensor of one element.
        retain_graph: keep the saved tensors, so that backward can run again.
        create_graph: must be False; ``torch.autograd.grad`` records gradients.
        inputs: the only tensors whose ``grad`` is changed, leaves or not. Backward visits only nodes that lead to
            them, and frees nothing in the others. By default all leaves.

    Raises:
        RuntimeError: if a saved tensor was overwritten or freed, or there is nothing to differentiate. No gradient has
            changed then.
        NotImplementedError: if ``create_graph`` is true.
    """
    create_graph = checks.flag("backward()", "create_graph", create_graph)
    retain_graph = False if retain_graph is None else checks.flag("backward()", "retain_graph", retain_graph)
    if create_graph:
        raise NotImplementedError(
            "backward(create_graph=True) would tie each gradient to its leaf and keep both in memory. Use "
            "torch.autograd.grad(outputs, inputs, create_graph=True), which returns the gradients."
        )
    many = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    starts = [_start(x, g, i) for i, (x, g) in enumerate(zip(many, _many(grad_tensors, len(many)), strict=True))]
    pending = pending_counts(node for node, _ in starts)
    chosen = frozenset[Node]()
    if inputs is not None:
        chosen = _nodes_to_retain(_listed("backward()", inputs))
        restrict_to(chosen, pending)
    with pytorch_errors(), no_grad(), OnArrays() as propagation:  # operations in hooks are not recorded
        arrived = propagate(engine.sum_by_node(starts), pending, retain_graph, propagation, chosen)
        engine.commit({node: g for node, g in arrived.items() if type(node) is Leaf}, propagation)


def _listed(op: str, inputs: Any) -> list[Any]:
    """Return ``inputs``, a tensor or an iterable of tensors such as ``module.parameters()``, as a list."""
    if isinstance(inputs, (Tensor, str)) or not checks.is_iterable(inputs):
        return [inputs]
    return checks.elements(op, "inputs", inputs, "tensors")


def _need_tensors(inputs: Sequence[Any]) -> None:
    for x in inputs:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")


def _nodes_to_retain(inputs: list[Any]) -> frozenset[Node]:
    """Return the nodes of ``inputs``, after calling ``retain_grad`` of each input (which only affects non-leaves)."""
    if not inputs:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _need_tensors(inputs)
    for x in inputs:
        x.retain_grad()
    return frozenset(x._current() for x in inputs)


def backward_of_one(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of this tensor to the ``grad`` of every leaf that it depends on.

    Args:
        gradient: the gradient to start with; by default 1 if the tensor has one element.
        retain_graph: keep the saved tensors, so that backward can run again.
        create_graph: must be False; ``torch.autograd.grad`` records gradients.
        inputs: the only tensors whose ``grad`` is changed, leaves or not. Backward visits only nodes that lead to
            them, and frees nothing in the others. By default all leaves.

    Raises:
        RuntimeError: if a saved tensor was overwritten or freed. No gradient has changed then.
        NotImplementedError: if ``create_graph`` is true.
    """
    backward(self, gradient, retain_graph, create_graph, inputs)


backward_of_one.__name__ = backward_of_one.__qualname__ = "backward"


def _need_use(used: list[bool], allow_unused: bool) -> None:
    """Raise RuntimeError if an input of :func:`grad` has no gradient."""
    if not allow_unused and False in used:
        raise RuntimeError(
            f"The differentiated Tensor at index {used.index(False)} appears to not have been used in the graph. Set "
            f"allow_unused=True if this is the desired behavior."
        )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    no_grad_vars: Any = None,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of ``outputs`` with respect to ``inputs`` (leaves or not), without changing any ``grad``.

    Args:
        no_grad_vars: tensors through which no gradient flows. Only Paddle has this argument.

    Raises:
        RuntimeError: if an input is not a tensor, or if no output depends on an input and ``allow_unused`` is not true.
            If it is true, the gradient of such an input is None, or zeros with ``materialize_grads``.
        ValueError: if ``materialize_grads`` is true and ``allow_unused`` is False.
        NotImplementedError: if ``is_grads_batched`` is true.
    """
    checks.flag("grad()", "only_inputs", only_inputs)
    checks.flag("grad()", "create_graph", create_graph)
    checks.flag("grad()", "is_grads_batched", is_grads_batched)
    checks.flag("grad()", "materialize_grads", materialize_grads)
    for name, given in (("retain_graph", retain_graph), ("allow_unused", allow_unused)):
        if given is not None:
            checks.flag("grad()", name, given)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched must be False: call grad() once for each gradient of the batch")
    many: Sequence[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    wanted = _listed("grad()", inputs)
    if not wanted:
        raise RuntimeError("grad requires non-empty inputs.")
    gradients = _many(grad_outputs, len(many))
    starts = [_start(x, g, i) for i, (x, g) in enumerate(zip(many, gradients, strict=True))]
    _need_tensors(wanted)
    for x in wanted:
        if x._current() is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    ends = engine.nodes_of(no_grad_vars)
    reached = pending_counts((node for node, _ in starts), ends)
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    _need_use([x._current() in reached for x in wanted], allow_unused)
    with pytorch_errors(), set_grad_enabled(create_graph):
        found = engine.gradients_of(many, wanted, gradients, retain_graph, create_graph, True, ends)
    _need_use([g is not None for g in found], allow_unused)  # a custom function may return None
    results = [None if g is None else as_torch(g) for g in found]
    if materialize_grads:
        results = [zeros_like(x) if g is None else g for x, g in zip(wanted, results, strict=True)]
    return tuple(results)
