"""Rows of the derivative table as PyTorch's functions.

The same text is generated from a row as for the engine's own operations (:mod:`minitensor.operations.templates`), and
compiled a second time with other names behind it: results are tensors of this vocabulary, errors are in PyTorch's
words. So both vocabularies run the same code at the same cost, and neither has to ask which of them it is.
"""

from __future__ import annotations

import functools
import linecache
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minitensor.autograd.higher_order import revived as engine_revived
from minitensor.autograd.rules.compiling import on_tensors
from minitensor.core.history import Node, Operation, Saved
from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.modes import modes
from minitensor.operations import compiling
from minitensor.operations.rules import namespaces
from minitensor.operations.templates import backward_name, backward_source, in_place_source, normal_source
from minitensor.saving import keeping
from minitensor.saving.redirecting import redirected
from minitensor.saving.saved import is_right
from minitensor.table import Row
from minitensor.torch import operands, rules, variants, words
from minitensor.torch.spelling import SPELLINGS, Spelling
from minitensor.torch.tensor import Tensor


class TableOperation(Operation):
    """The operation of a row; ``operands`` are the names of those that have a gradient."""

    __slots__ = ("operands", "torch_name")


# ---------- what the generated code calls ----------


def _own_input(op: str, a: np.ndarray) -> Saved:
    if modes.policy == "2.5":
        raise words.needs_own_input(op)
    return keeping.own_input(op, a)


def revived(node: Node, what: str, saved: Saved, *rest: Any) -> BaseTensor:
    """The saved tensor as it was, for a gradient that is recorded."""
    if not is_right(saved):
        raise words.stale(node, what, saved)
    return engine_revived(node, what, saved, *rest)


def into_out(op: str, out: Any, *given: Any, **named: Any) -> Any:
    """Write the result of the normal operation into ``out``, which has its shape.

    Raises:
        RuntimeError: when a gradient is wanted, or the dtype of ``out`` cannot hold the result.
    """
    if not isinstance(out, BaseTensor):
        raise TypeError(f"{op}(): argument 'out' must be Tensor, not {type(out).__name__}")
    tensors = [x for x in (*given, out) if isinstance(x, BaseTensor)]
    if modes.grad and any(not x.stop_gradient for x in tensors):
        raise RuntimeError(
            f"{op}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            f"arguments requires grad.\nUse the normal operation, or call it under `torch.no_grad()`."
        )
    result = FUNCTIONS[op](*given, **named)
    have, want = result._array, out._array
    if operands._kind(have.dtype) > operands._kind(want.dtype):
        raise words.result_does_not_fit(have.dtype, want.dtype)
    if have.shape != want.shape:
        raise RuntimeError(
            f"{op}(): out has shape {list(want.shape)} and the result {list(have.shape)}. PyTorch gives `out` another "
            f"size then, with a warning; here it must fit."
        )
    return redirected(Tensor.copy_, out, result)


ENGINE: dict[str, Any] = {
    **compiling.ENGINE,
    "Tensor": Tensor,
    "freed": words.freed,
    "recovered": words.recovered,
    "named": words.named,
    "own_input": _own_input,
    "check_on_device": words.check_on_device,
    "into_out": into_out,
    **namespaces.public(variants),
    **{
        name: getattr(operands, name)
        for name in (
            *("as_operands", "as_operands_in_place", "promote", "into", "as_float", "check_target"),
            *("storable", "same_dtype", "as_index", "as_mask"),
        )
    },
    "__name__": "minitensor.torch.operations",
    "__package__": "minitensor.torch",
}


@functools.cache
def _on_arrays() -> dict[str, Any]:
    return {**namespaces.on_arrays(), **rules.ON_ARRAYS, **ENGINE}


@functools.cache
def _on_tensors() -> dict[str, Any]:
    return {**on_tensors(), **rules.ON_TENSORS, **ENGINE, "revived": revived}


def _compiled(name: str, source: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    file = f"<minitensor.torch {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), namespace)  # the text of a template, with names from the table
    function = namespace[name]
    function.__module__ = "minitensor.torch"
    return function


@functools.cache
def _backward(row: Row, in_place: bool, on_tensors: bool) -> Callable[..., Any]:
    namespace = dict(_on_tensors() if on_tensors else _on_arrays())
    return _compiled(backward_name(row, in_place, on_tensors), backward_source(row, in_place, on_tensors), namespace)


def _operation(name: str, row: Row, in_place: bool, torch_name: Any) -> TableOperation:
    form = in_place and row.in_place_differs

    def first(node: Node, g: np.ndarray) -> Any:
        node.op.backward = _backward(row, form, False)
        return node.op.backward(node, g)

    operation = TableOperation(name, first, row.saved_in_place if in_place else row.saved_names)
    operation.later = lambda: _backward(row, form, True)
    operation.operands = tuple(x for x in row.operands if x in (row.rules_in_place if in_place else row.rules))
    operation.torch_name = torch_name
    return operation


def _function(spelling: Spelling, name: str, in_place: bool) -> Callable[..., Any]:
    """One operation as PyTorch spells it."""
    signature, prologue = spelling.text(in_place)
    row = replace(spelling.row, signature=signature, prologue=prologue)
    own = row.name + ("_" if in_place else "")
    pieces: tuple[Any, Any] = (words.explain, words.explain_in_place)
    if not row.elementwise:
        pieces = (words.explain_other, words.explain_other_in_place)
    namespace = {
        **(_on_arrays() if row.marks else ENGINE),
        "forward": row.forward,
        "prepare": row.prepare,
        "explain": pieces[0],
        "explain_in_place": pieces[1],
    }
    # PyTorch's name in errors, the engine's in the history.
    source = (in_place_source if in_place else normal_source)(row)
    if row.floats:
        # The function calls itself by keyword, for integers that it has converted.
        source = re.sub(rf"(?<=return {row.name}\().*(?=\))", lambda m: _keywords(m[0], spelling.renamed), source)
    if row.rules_in_place if in_place else row.rules:
        namespace["OPERATION"] = _operation(own, row, in_place, spelling.grad_name)
    function = _compiled(own, source, namespace)
    function.__name__ = function.__qualname__ = name
    return function


def _keywords(arguments: str, renamed: dict[str, str]) -> str:
    return re.sub(r"(\w+)=", lambda m: f"{renamed.get(m[1], m[1])}=", arguments)


class Functions(Mapping[str, Callable[..., Any]]):
    """Every operation of the table by PyTorch's name; compiled when it is first looked up."""

    def __init__(self) -> None:
        self._forms: dict[str, tuple[Spelling, str, bool]] = {}
        for spelling in SPELLINGS:
            for name in spelling.names:
                if spelling.row.normal:
                    self._forms[name] = spelling, name, False
                if spelling.row.in_place:
                    self._forms[f"{name}_"] = spelling, f"{name}_", True
        self._made: dict[Any, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        spelling, _, in_place = self._forms[name]
        key = spelling.names[0], in_place
        if key not in self._made:
            self._made[key] = _function(spelling, spelling.names[0] + ("_" if in_place else ""), in_place)
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms)

    def __len__(self) -> int:
        return len(self._forms)

    def __contains__(self, name: object) -> bool:
        return name in self._forms


FUNCTIONS = Functions()


#: What PyTorch computes a number and a tensor with.
_REFLECTED = {"sub": "RsubBackward1", "div": "MulBackward0", "pow": "PowBackward2"}


def reflected(name: str) -> Callable[..., Any]:
    """The normal operation with its operands in the other order, for Python's reflected operators.

    Python asks the right operand first when its class derives from the left one's. The left operand's kind wins all
    the same: what stands left of a tensor of this vocabulary may be a tensor of the engine's own.
    """
    spelling = FUNCTIONS._forms[name][0]
    base = compiling.FUNCTIONS[spelling.row.name]

    def engine_first(left: Any, right: Any) -> Any:
        return redirected(base, left, right)

    prologue = (
        "if isinstance(left, BaseTensor) and not isinstance(left, Tensor): return engine_first(left, input)\n"
        "x, y = left, input"
    )
    prologue += {"matmul": "\ntranspose_x = transpose_y = False", "sub": "\nno_bool_subtraction(x, y)"}.get(name, "")
    changed = replace(spelling.row, signature="input, left", prologue=prologue)
    source = normal_source(changed).replace(f"def {changed.name}(", f"def reflected_{name}(", 1)
    if changed.floats:
        source = re.sub(rf"return {changed.name}\(.*\)", f"return reflected_{name}(as_float(y), as_float(x))", source)
    namespace = {
        **ENGINE,
        "BaseTensor": BaseTensor,
        "engine_first": engine_first,
        "forward": changed.forward,
        "prepare": changed.prepare,
        "explain": words.explain if changed.elementwise else words.explain_other,
    }
    if changed.rules:
        namespace["OPERATION"] = _operation(changed.name, changed, False, _REFLECTED.get(name, spelling.grad_name))
    return _compiled(f"reflected_{name}", source, namespace)
