"""Show the graph as PyTorch does: ``grad_fn``, names of functions such as ``AddBackward0``, and hooks on gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from minitensor.engine.core.history import Node, Operation
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.torch.dtypes import SCALAR_NAMES

_AnyTensor = TypeVar("_AnyTensor", bound=BaseTensor)

# ---------- names ----------


#: Maps the engine's names of operations to PyTorch's, if PyTorch's is not the engine's name in camel case.
NAMES = {
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "matmul": "Mm",
    "getitem": "Index",
    "concat": "Cat",
    "take_along_axis": "Gather",
    "put_along_axis": "Scatter",
    "clip": "Clamp",
    "log1p": "Log1P",
    **dict.fromkeys(("cast", "cpu", "cuda"), "ToCopy"),
}
#: Maps the engine's names of operations to complete names of PyTorch, to which "Backward0" is not appended.
WHOLE = {"write": "CopySlices", "setitem": "CopySlices", "read": "AsStridedBackward0", "reshaped": "AsStridedBackward0"}


def function_name(node: Node) -> str:
    """Return the name that PyTorch's ``grad_fn`` has for ``node``."""
    op = node.op
    name = getattr(op, "torch_name", None)
    if name is not None:
        return name(node) if callable(name) else name
    if not node.inputs and op.name == "leaf":
        return "torch::autograd::AccumulateGrad"
    if op.name == "setitem" and op.saved_names:
        return "IndexPutBackward0"  # an assignment with an advanced index
    if op.name.endswith("]"):  # one of the outputs of a custom function, such as `Two[1]`
        return f"{op.name[: op.name.rindex('[')]}Backward"
    return operation_name(op.name)


def operation_name(name: str) -> str:
    """Return the name that PyTorch's ``grad_fn`` has for an operation that the engine calls ``name``."""
    if name in WHOLE:
        return WHOLE[name]
    name = name.removesuffix("_")
    camel = NAMES.get(name) or "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return f"{camel}Backward0"


# ---------- operations that have PyTorch's name ----------


class NamedOperation(Operation):
    """An operation that knows the name of PyTorch's ``grad_fn``.

    Attributes:
        torch_name: the name of PyTorch's ``grad_fn``, or a function that takes the node and returns the name.
        operands: the names of the operands to which gradients flow.
        renamed: True if :func:`name_grad_fn` has set ``torch_name``. The name is then not replaced again.
    """

    __slots__ = ("operands", "renamed", "torch_name")

    def __init__(
        self,
        name: str,
        backward: Callable[..., Any],
        saved_names: tuple[str, ...] = (),
        jvp: Callable[..., Any] | None = None,
        *,
        torch_name: str | Callable[[Node], str],
        operands: tuple[str, ...] = (),
        renamed: bool = False,
    ) -> None:
        super().__init__(name, backward, saved_names, jvp)
        self.torch_name, self.operands, self.renamed = torch_name, operands, renamed


def name_grad_fn(out: _AnyTensor, name: str) -> _AnyTensor:
    """Give the ``grad_fn`` of ``out`` the name ``name``, and return ``out``.

    The caller composed ``out`` of several operations, and PyTorch has a single operation for the whole computation. A
    ``grad_fn`` that was already renamed keeps its name.
    """
    node = out._node
    if node is not None and not getattr(node.op, "renamed", False):
        op, operands = node.op, getattr(node.op, "operands", ())
        node.op = NamedOperation(
            op.name, op.backward, op.saved_names, op.jvp, torch_name=name, operands=operands, renamed=True
        )
        if op.jvp is None:
            node.op.later = lambda: op.on_tensors
    return out


# ---------- grad_fn ----------


class GradFunction:
    """A reference to one node of the graph, as ``grad_fn`` returns it. Two references to one node are equal."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def name(self) -> str:
        """Return PyTorch's name of the function."""
        return function_name(self.node) if type(self).__name__ == "AccumulateGrad" else type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[GradFunction | None, int], ...]:
        """A pair for each input of the operation: the function that computed the input (None if the input requires no
        grad), and the number 0.
        """
        return tuple((None if node is None else function_of(node), 0) for node in self.node.inputs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self.node):#x}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradFunction) and self.node is other.node

    def __hash__(self) -> int:
        return hash(self.node)


@functools.cache
def _kind(name: str) -> type[GradFunction]:
    return type(name, (GradFunction,), {"__slots__": (), "__module__": "minitensor.torch"})


def function_of(node: Node, name: str | None = None) -> GradFunction:
    """Return a reference to ``node``. The reference's class is called ``name``, by default as in PyTorch."""
    if name is None:
        name = "AccumulateGrad" if node.op.name == "leaf" else function_name(node)
    made: Any = _kind(name)(node)
    return made


# ---------- hooks ----------


def call_hook(hook: Callable[[Any], Any], g: BaseTensor) -> Any:
    """Call ``hook(g)``, and return its result. If the result is None but the hook has written into ``g``, return ``g``.

    Raises:
        TypeError: if the hook returns neither None nor a tensor.
        RuntimeError: if the hook returns a tensor of another shape or dtype.
    """
    version = g._storage.version
    result = hook(g)
    if result is None:
        return None if g._storage.version == version else g
    if not isinstance(result, BaseTensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    name, was, got = getattr(hook, "__name__", type(hook).__name__), g._array, result._array
    if was.shape != got.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value\n"
            f"The gradient has shape {list(was.shape)}; the hook returned one of shape {list(got.shape)}."
        )
    if was.dtype != got.dtype:
        kinds = [f"torch.{SCALAR_NAMES[array.dtype]}Tensor" for array in (was, got)]
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {kinds[0]} got {kinds[1]})")
    return result
