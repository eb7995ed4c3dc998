"""Compile rows of the derivative table into the functions of a vocabulary.

A row becomes up to four functions, which are generated as Python source and compiled on first use: the normal
operation, the in-place operation, backward on arrays, and backward on tensors for ``create_graph``. A generic
dispatcher that looks up the row at every call would cost 650 ns a call, more than a small addition. ``source("sin_")``
returns the text of a function, and tracebacks show its lines.

A :class:`Compiler` creates the functions of one vocabulary, such as Paddle's names. Its arguments are the vocabulary's
forms of the rows (:class:`Form`), its tensor class and its error functions. Everything else is the same for all
vocabularies, so they run the same code at the same cost, and no operation tests at run time to which vocabulary it
belongs. The rules of the row alone determine which values are saved, copied, or checked before a write.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from minitensor.engine import autocasting, checks
from minitensor.engine.core import errors
from minitensor.engine.core.history import Leaf, Node, Operation, current, set_node
from minitensor.engine.core.layout_rules import Rule, contiguous, strided
from minitensor.engine.core.storage import Storage, calling_frame, outside, outside_engine, placed
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.core.tensor_type import blanks
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.events import StorageCreated, TensorCreated, TensorWritten, watch
from minitensor.engine.kernels import chunks, reducing, sixteen_bits, written
from minitensor.engine.modes import casting, modes, paused
from minitensor.engine.operations import indices, operands, variants
from minitensor.engine.operations.describing import Wording, described, parameters_of
from minitensor.engine.operations.rules import namespaces
from minitensor.engine.operations.templates import (
    ARRAYS,
    backward_name,
    backward_source,
    in_place_source,
    normal_source,
)
from minitensor.engine.saved import in_place_inputs
from minitensor.engine.saved.saved import FREED, recovered, remember, tidy
from minitensor.engine.saved.writing import after_write, before_write, before_write_of_part, raise_unless_written
from minitensor.engine.table import ROWS, Row

# ---------- a vocabulary ----------

PADDLE_WORDING = Wording("ValueError", "TypeError")

#: The functions that explain errors: two for operations that broadcast their operands, then two for all others.
EXPLAINED = ("explain", "explain_in_place", "explain_other", "explain_other_in_place")


@dataclass(frozen=True, eq=False)
class Form:
    """One function of a vocabulary: the normal form of an operation, or its in-place form.

    Attributes:
        name: the name of the function in the vocabulary.
        row: the row that it computes.
        in_place: true for the in-place form of the row.
        signature: the parameters of the function, as source text.
        is_strict: true if parameters after ``*`` are keyword-only. If false, the function also accepts these parameters
            by position, which saves 10 of 300 ns in each call; ``help()`` shows the ``*`` nevertheless.
        prologue: the first statements of the function; ``{_}`` becomes "_" in the in-place form, and "" otherwise.
        parameters: the vocabulary's names for the row's operands and arguments, if they differ.
        grad_name: the name that nodes of the function show, if it differs from ``name``.
        layout: the rule for the layout of the results, if the vocabulary has a special rule for the row.
    """

    name: str
    row: Row
    in_place: bool
    signature: str
    prologue: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    grad_name: Any = None
    is_strict: bool = True
    layout: Rule | None = None

    @property
    def own(self) -> str:
        """The engine's name of the operation, which nodes and errors use."""
        return self.row.name + ("_" if self.in_place else "")

    @property
    def differentiable(self) -> bool:
        """True if the row has a gradient rule for some operand."""
        return bool(self.row.rules_in_place if self.in_place else self.row.rules)

    def text(self, called: str, in_order: str, placed: bool = False) -> str:
        """Return the source of this function, under the name ``called``.

        Args:
            in_order: a test in the normal operation; see :func:`normal_source`.
            placed: true for a function that gets the calling frame as its argument ``place``; see
                :meth:`Compiler.redirect`.
        """
        signature = self.signature if self.is_strict else self.signature.replace("*, ", "")
        row = replace(self.row, signature=signature, prologue=self.prologue)
        if row.name in autocasting.NAMES and not self.in_place:
            operands = ", ".join(row.operands) + ("," if len(row.operands) == 1 else "")
            cast = f"if casting.threads: {operands} = autocast({row.name!r}, {operands})"
            row = replace(row, prologue=f"{row.prologue}\n{cast}" if row.prologue else cast)
        text = in_place_source(row) if self.in_place else normal_source(row, in_order)
        place = "place, " if placed else ""
        text = text.replace(f"def {self.own}(", f"def {called}({place}", 1)
        if row.floats:
            # After converting integers to floats, the function calls itself with the vocabulary's keywords.
            again = rf"(?<=return ){row.name}\((.*)\)"
            text = re.sub(again, lambda found: f"{called}({place}{self._keywords(found[1])})", text)
        return text.replace("getframe(1)", "place") if placed else text

    def _keywords(self, arguments: str) -> str:
        return re.sub(r"(\w+)=", lambda found: f"{self.parameters.get(found[1], found[1])}=", arguments)


class Compiler(Mapping[str, Callable[..., Any]]):
    """Every operation of a vocabulary by name: ``add``, ``add_``, ``subtract``, ``sub``, ...

    A function is compiled on first use, because compiling all of them would take most of the import time.

    Attributes:
        module: the ``__module__`` of the functions.
        forms: the form for each name of the vocabulary. Several names may have the same form.
        namespaces: the globals of each compiled function, by its name.
    """

    def __init__(
        self,
        module: str,
        forms: Mapping[str, Form],
        calls: Mapping[str, Any],
        on_arrays: Callable[[], Mapping[str, Any]],
        on_tensors: Callable[[], Mapping[str, Any]] | None = None,
        operation: Callable[[Form, Callable[..., Any]], Operation] | None = None,
        wording: Wording = PADDLE_WORDING,
    ) -> None:
        """Create a vocabulary.

        Args:
            calls: the globals of the generated code, including the vocabulary's tensors and errors.
            on_arrays, on_tensors: functions that return a dict of the names that rules on arrays or on tensors may use.
                ``on_tensors`` may also be set later, as an attribute.
            operation: creates the :class:`Operation` of a form from its backward.
            wording: the vocabulary's texts in docstrings.
        """
        self.module, self.forms = module, forms
        self.calls = {**calls, "redirect": self.redirect}
        self.on_arrays = on_arrays
        if on_tensors is not None:
            self.on_tensors: Callable[[], Mapping[str, Any]] = on_tensors
        self.namespaces: dict[str, dict[str, Any]] = {}
        self._new_operation = operation or _operation
        self._wording = wording
        self._made: dict[Form, Callable[..., Any]] = {}
        self._placed: dict[Form, Callable[..., Any]] = {}
        self._backward: dict[tuple[Row, bool, bool], Callable[..., Any]] = {}
        self._sources: dict[str, str] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        form = self.forms[name]
        function = self._made.get(form)
        if function is None:
            function = self._made[form] = self.function(form, form.own)
            function.__name__ = function.__qualname__ = form.name
            function.__doc__ = described(
                form.row, form.in_place, form.signature, form.parameters, self._wording, self._spelled
            )
            if not form.is_strict and "*, " in form.signature:
                shown = _with_keywords(function, form.signature)
                function.__signature__ = shown  # type: ignore[attr-defined]  # the attribute that `inspect` reads
        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self.forms)

    def __len__(self) -> int:
        return len(self.forms)

    def __contains__(self, name: object) -> bool:
        return name in self.forms

    def _spelled(self, operation: str, arguments: list[str]) -> tuple[str, list[str]]:
        """Return the name of a row in this vocabulary, and ``arguments`` in the order of the vocabulary's signature.

        ``arguments`` begins with the operands of the row. If ``operation`` is not a row, nothing changes.
        """
        form = next((each for each in self.forms.values() if each.own == operation and not each.in_place), None)
        if form is None:
            return operation, arguments
        named = self.forms.get(operation)
        name = operation if named is not None and named.row is form.row else form.name
        names = [form.parameters.get(each, each) for each in (*form.row.operands, *form.row.argument_names)]
        given = dict(zip(names, arguments, strict=False))
        order = [each for each in parameters_of(form.signature) if each in given]
        return name, [given[each] for each in order] if len(order) == len(given) else arguments

    def function(self, form: Form, called: str) -> Callable[..., Any]:
        """Return the function of ``form``, compiled under the name ``called``."""
        row = form.row
        namespace = {**(self.on_arrays() if row.marks else {}), **self.calls}
        namespace.update(forward=row.forward, prepare=row.prepare)
        if not row.elementwise:
            namespace.update(explain=namespace["explain_other"], explain_in_place=namespace["explain_other_in_place"])
        if form.differentiable:
            namespace["OPERATION"] = self._operation(form)
        namespace["laid_out"] = self._layout(form)
        key = form.name if called == form.own else called
        self.namespaces[key] = namespace
        self._sources[key] = text = form.text(called, self._in_order(form))
        return self._compile(called, text, namespace)

    def redirect(self, name: str, *operands: Any, **arguments: Any) -> Any:
        """Call the operation ``name``, to which another operation redirects its call, and return the result.

        The method calls a version of the function whose first argument is the frame of the program, so that nodes,
        errors and the log of writes name the line of the program.
        """
        form = self.forms[name]
        placed = self._placed.get(form)
        if placed is None:
            self[name]  # compiles the function, which creates its namespace
            text = form.text(form.own, self._in_order(form), placed=True)
            placed = self._placed[form] = self._compile(form.own, text, dict(self.namespaces[form.name]))
        return placed(calling_frame(), *operands, **arguments)

    def source(self, name: str) -> str:
        """Return the generated text of an operation, such as ``"sin_"``, or of its backward, ``"sin_backward"``.

        Raises:
            KeyError: if no operation of that name is generated.
        """
        checks.text("source", "name", name)
        if name in self:
            self[name]
            return self._sources[self.forms[name].name]
        for form in self.forms.values():
            if form.differentiable and backward_name(form.row, form.in_place, False) == name:
                self.backward(form.row, form.in_place and form.row.in_place_differs, on_tensors=False)
        if name not in self._sources:
            raise KeyError(f"no generated operation is called {name!r}; there are {', '.join(sorted(self))}")
        return self._sources[name]

    def backward(self, row: Row, in_place: bool, on_tensors: bool) -> Callable[..., Any]:
        """Return the backward of ``row``, a function of a node and its gradient, on arrays or on tensors."""
        key = row, in_place, on_tensors
        if key not in self._backward:
            name = backward_name(row, in_place, on_tensors)
            namespace = {**(self.on_tensors() if on_tensors else self.on_arrays()), **self.calls}
            self._sources[name] = text = backward_source(row, in_place, on_tensors)
            self._backward[key] = self._compile(name, text, namespace)
        return self._backward[key]

    def _layout(self, form: Form) -> Rule:
        return form.layout or self.calls["Tensor"]._layout_of(form.row.name)

    def _in_order(self, form: Form) -> str:
        """Return the source of a test that is true only if the computed array ``r`` has the right layout already.

        In every vocabulary, results of contiguous operands are contiguous. With the rule ``contiguous``, all results
        are contiguous.
        """
        if self._layout(form) is contiguous:
            return "not strided.exist or r.flags.c_contiguous"
        tests = ["not strided.unusual", *(f"{a}.flags.c_contiguous" for a in ARRAYS[: len(form.row.operands)])]
        return "not strided.exist or " + " and ".join(tests)

    def _operation(self, form: Form) -> Operation:
        """Return the operation for the nodes of ``form``. Its backward is compiled on the first call."""
        row, differs = form.row, form.in_place and form.row.in_place_differs

        def first(node: Node, g: np.ndarray) -> Any:
            node.op.backward = self.backward(row, differs, on_tensors=False)
            return node.op.backward(node, g)

        operation = self._new_operation(form, first)
        operation.later = lambda: self.backward(row, differs, on_tensors=True)
        return operation

    def _compile(self, name: str, source: str, namespace: dict[str, Any]) -> Callable[..., Any]:
        file = f"<{self.module} {name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), namespace)  # the text is a filled template
        function: Callable[..., Any] = namespace[name]
        function.__module__ = self.module
        return function


def _with_keywords(function: Callable[..., Any], signature: str) -> inspect.Signature:
    """Return the signature of ``function``, but with the parameters after ``*`` in ``signature`` as keyword-only."""
    only = {each.partition("=")[0].strip() for each in signature.partition("*, ")[2].split(",")}
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(function).parameters.values()
    return inspect.Signature([each.replace(kind=kind) if each.name in only else each for each in parameters])


def _operation(form: Form, backward: Callable[..., Any]) -> Operation:
    return Operation(form.own, backward, form.row.saved_in_place if form.in_place else form.row.saved_names)


# ---------- Paddle's vocabulary ----------


def quietly(forward: Callable[..., Any], *given: Any) -> Any:
    """Return ``forward(*given)``, even if numpy is set to raise errors for inf and nan, which are valid values."""
    with np.errstate(all="ignore"):
        return forward(*given)


#: The globals of generated operations. For rules, :mod:`minitensor.engine.operations.rules.namespaces` has more.
CALLS: dict[str, Any] = {
    "FLOATS": FLOATS,
    "FREED": FREED,
    "Leaf": Leaf,
    "Node": Node,
    "ONE": 1,  # compared by `is`, which takes half the time of `==`; CPython caches small integers
    "Storage": Storage,
    "Tensor": Tensor,
    "after_write": after_write,
    "autocast": autocasting.autocast,
    "casting": casting,
    "before_write": before_write,
    "before_write_of_part": before_write_of_part,
    "empty_tensor": blanks(Tensor),
    "current": current,
    **{name: getattr(errors, name) for name in EXPLAINED},
    "freed": errors.freed,
    "getframe": sys._getframe,
    "outside": outside,
    "outside_engine": outside_engine,
    "in_chunks": chunks.in_chunks,
    "in_float32": sixteen_bits.in_float32,
    "large": chunks.large,
    "meter": cpu_meter,
    "modes": modes,
    "named": errors.named,
    "paused": paused,
    "ndarray": np.ndarray,
    "placed": placed,
    "quietly": quietly,
    "recovered": recovered,
    "ref": weakref.ref,
    "set_node": set_node,
    "strided": strided,
    "remember": remember,
    "rounded_gradients": reducing.rounded_gradients,
    "rule_in_chunks": chunks.rule_in_chunks,
    "tidy": tidy,
    "raise_unless_written": raise_unless_written,
    "unsuitable": errors.unsuitable,
    "unpacked": in_place_inputs.unpacked,
    "watch": watch,
    "wide": sixteen_bits.wide_on_host,
    "StorageCreated": StorageCreated,
    "TensorCreated": TensorCreated,
    "TensorWritten": TensorWritten,
    # Functions that rows call in their prologue, or to describe the part that they write.
    **namespaces.public(written),
    **namespaces.public(variants),
    **namespaces.public(indices),
    **{name: getattr(in_place_inputs, name) for name in ("own_input", "alias_input", "saved_marks")},
    **{name: getattr(operands, name) for name in ("as_operands", "as_operands_in_place", "promote", "into")},
    **{name: getattr(operands, name) for name in ("as_float", "check_target", "check_on_device")},
    "__name__": __name__,
    "__package__": __package__,
}


def _forms() -> dict[str, Form]:
    """Return the forms of every row under its name and its aliases, with the table's names for parameters."""
    found: dict[str, Form] = {}
    for row in ROWS.values():
        for in_place in (False, True):
            if row.in_place if in_place else row.normal:
                last = "_" if in_place else ""
                form = Form(row.name + last, row, in_place, row.parameters, row.prologue, is_strict=False)
                found.update({name + last: form for name in (row.name, *row.aliases)})
    return found


FUNCTIONS = Compiler("minitensor", _forms(), CALLS, namespaces.on_arrays)
source = FUNCTIONS.source
