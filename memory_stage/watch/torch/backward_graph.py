"""Read the nodes that a backward pass runs, and the tensors that they saved.

Reading has no side effect: saved tensors are read without torch's check of versions, and no node or tensor is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from memory_stage.engines.torch.node_names import is_leaf
from memory_stage.engines.torch.saved import is_custom, saved_in, unchecked_in

MOST_NODES = 200_000

#: True for a tensor inside a transform of ``torch.func``, such as vmap.
is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+) instead")


@dataclass(frozen=True, eq=False)
class SavedValue:
    """A tensor that a node saved.

    Attributes:
        node: the node that saved the tensor.
        attribute: the attribute of the node that has the tensor; "out" for the result of the operation.
        data: a tensor on the memory of the saved one.
        version: the version at which the tensor was saved; the present one if ``is_compared`` is False.
        is_stale: True if torch will refuse to use the tensor, because its version has changed.
        is_compared: False for a tensor in an attribute of a ``ctx``, because torch does not compare its version.
    """

    node: Any
    attribute: str
    data: torch.Tensor
    version: int
    is_stale: bool
    is_compared: bool = True


def nodes_behind(roots: Any) -> Iterator[Any]:
    """Yield the nodes that a backward pass from ``roots`` may run, except the nodes of leaves."""
    roots = (roots,) if isinstance(roots, torch.Tensor) else roots
    todo = [node for root in roots if isinstance(root, torch.Tensor) and (node := node_of(root)) is not None]
    seen = set(todo)
    while todo and len(seen) < MOST_NODES:
        node = todo.pop()
        if is_leaf(node):
            continue
        yield node
        for parent, _ in node.next_functions:
            if parent is not None and parent not in seen:
                seen.add(parent)
                todo.append(parent)


def leaves_behind(roots: Any) -> Iterator[torch.Tensor]:
    """Yield the leaves that a backward pass from ``roots`` reaches."""
    roots = (roots,) if isinstance(roots, torch.Tensor) else roots
    tensors = [root for root in roots if isinstance(root, torch.Tensor)]
    yield from (x for x in tensors if x.is_leaf and x.requires_grad)
    for node in nodes_behind(tensors):
        for parent, _ in node.next_functions:
            if parent is not None and is_leaf(parent):
                yield parent.variable


def saved_by(node: Any) -> Iterator[SavedValue]:
    """Yield the saved tensors that a node has not released, and the tensors in attributes of its ``ctx``."""
    for attribute, saved in saved_in(node):
        try:
            data = unwrapped(saved.data)
        except RuntimeError:  # an earlier backward pass has released it
            continue
        if not isinstance(data, torch.Tensor):
            continue
        is_result = attribute == "out" or (is_custom(node) and _is_result(saved))
        version, is_stale = data._version, False
        try:
            if is_result and is_custom(node):
                node.saved_tensors  # noqa: B018  # it checks the versions of all saved tensors
            elif "[" in attribute:
                saved.unpack()
            else:  # the version of a result can only be checked by reading it from the node
                getattr(node, f"_saved_{'result' if attribute == 'out' else attribute}")
        except RuntimeError as error:
            found = _VERSIONS.search(str(error))
            if found is not None and (not is_custom(node) or int(found[1]) == version):
                version, is_stale = int(found[2]), True
        yield SavedValue(node, "out" if is_result else attribute, data, version, is_stale)
    for attribute, x in unchecked_in(node) if is_custom(node) else ():
        yield SavedValue(node, attribute, unwrapped(x), x._version, is_stale=False, is_compared=False)


def _is_result(saved: Any) -> bool:
    """Return True if a saved tensor of a custom function is its result, which only the node itself can read."""
    try:
        saved.unpack()
    except RuntimeError as error:
        return _VERSIONS.search(str(error)) is None
    return False


def unwrapped(x: Any) -> Any:
    """Return the tensor that has the memory, without the wrappers of transforms around it."""
    while isinstance(x, torch.Tensor) and is_wrapped(x):
        x = torch._C._functorch.get_unwrapped(x)
    return x


def node_of(x: torch.Tensor) -> Any:
    """Return the node that created a tensor; None for a leaf, and for a view whose history a write has ended."""
    try:
        return x.grad_fn
    except RuntimeError:
        return None


def extent_of(x: torch.Tensor) -> tuple[int, int]:
    """Return the addresses of a tensor's first byte and of the byte after its last one."""
    begin, size = x.data_ptr(), x.element_size()
    if not x.numel():
        return begin, begin
    return begin, begin + size * (1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True)))


def is_freed(node: Any) -> bool:
    """True if an earlier backward pass has released the saved tensors of a node."""
    for name in dir(type(node)):
        if name.startswith("_raw_saved_"):
            try:
                saved = getattr(node, name)
                if isinstance(saved, torch._C._autograd.SavedTensor) and saved.data is saved.unpack_hook is None:
                    saved.unpack()  # it fails for a released tensor, and returns None for a node that saved none
            except RuntimeError:
                return True
    return False
