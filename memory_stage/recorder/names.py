"""Find the names of a program's tensors after every statement.

A name is a global variable that the program mentions, a local variable of a recorded function, the code that reaches a
tensor from a variable (``reachable_tensors``), or the gradient of a named tensor. A tensor that only the running line
refers to is named by that line. A numpy array that shares the memory of a tensor is also named.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np

from memory_stage.engines.protocol import Tensor
from memory_stage.messages import Text, message
from memory_stage.model import changes
from memory_stage.model.compound_names import gradient_name, local_name
from memory_stage.model.entries import TensorEntry
from memory_stage.model.ledger import Ledger
from memory_stage.recorder.reachable_tensors import find_tensors, local_variables
from memory_stage.recorder.stack import Stack

#: The verdict on a run in which no two names share memory.
SHARES_NOTHING = message("shares nothing")


class Names:
    """The names of one program.

    Attributes:
        bound: for each name, the entry of its tensor and the kind of the name.
        shared: "tensor" if two names referred to one tensor after the last step with at least two names; "storage" if
            their tensors shared a storage; otherwise "".
        named_any: True if any tensor has had a name so far.
    """

    def __init__(self, namespace: dict[str, Any], ledger: Ledger, ignore: frozenset[str]) -> None:
        self.namespace = namespace
        self.ledger = ledger
        self.ignore = ignore
        self.bound: dict[str, tuple[TensorEntry, str]] = {}
        self.shared = ""
        self.named_any = False
        self._global: dict[str, tuple[TensorEntry, str]] = {}
        self._program: list[str] = []
        # for each name that is assigned before it is read, the id of its old value
        self._overwritten: dict[str, int] = {}

    def read_program(self, tree: ast.Module, code: CodeType) -> None:
        """Find the names that the program mentions, and those that it assigns before it reads them."""
        assigned: set[str] = set()
        read: set[str] = set()
        for node in tree.body:
            loaded, stored = _loads_and_stores(node)
            read |= loaded - assigned
            assigned |= stored
        known = _global_names(code)
        self._program = [name for name in _in_order(tree) if name in known and name not in self.ignore]
        self._overwritten = {name: id(self.namespace[name]) for name in assigned - read if name in self.namespace}

    def expect_output(self) -> None:
        """Expect that the value of the next statement becomes the notebook's output, which IPython calls ``_``."""
        if "_" not in self._program and "_" not in self.ignore:
            self._program.append("_")
            self._overwritten["_"] = id(self.namespace.get("_"))

    def in_value(self, value: Any) -> tuple[TensorEntry | None, list[TensorEntry]]:
        """Return the entry of ``value`` if it is a tensor, or else None; and the entries of all tensors in it."""
        engine = self.ledger.engine
        if isinstance(value, np.ndarray) or engine.is_tensor(value):
            entry = self._register(value)
            return entry, [entry] if entry is not None else []
        entries = [self._register(tensor) for _, tensor in find_tensors("", value, engine, self._name_of)]
        return None, [entry for entry in entries if entry is not None]

    # ---------- after a statement ----------

    def scan(
        self,
        stack: Stack,
        frame: FrameType | None = None,
        running: Callable[[], dict[int, str]] | None = None,
        only_locals: bool = False,
    ) -> None:
        """Record in the ledger the names that were bound, moved and deleted.

        Args:
            frame: the frame of the running function, if its local variables can be read.
            running: a function that returns the text of each running line, by the number of the line's execution. A
                tensor that only such a line refers to gets this text as its name.
            only_locals: True to leave the names of the top level unchanged.
        """
        found: dict[str, tuple[TensorEntry, str]] = {}
        if only_locals:
            found = {name: entry for name, entry in self._global.items() if not entry[0].freed}
        else:
            for name in self._program:
                if name in self.namespace:
                    self._find(found, name)
            # An array is found only on a storage that the engine knows. The loop above may have made it known.
            for name in self._program:
                if name not in found and isinstance(self.namespace.get(name), np.ndarray):
                    self._find(found, name)
            self._global = dict(found)
        if frame is not None and len(stack.activations) > 1:
            stack.top.names = self._locals_of(frame)
        for activation in stack.named():
            for name, entry in activation.names.items():
                if not entry.freed and name not in self.ignore:
                    found[local_name(name, activation.place)] = entry, "name"
        self._find_gradients(found)
        if running is not None:
            self._find_lines(found, running)
        self._record(found)

    def _find(self, found: dict[str, tuple[TensorEntry, str]], name: str) -> None:
        value = self.namespace[name]
        if self._overwritten.get(name) == id(value):
            return
        self._overwritten.pop(name, None)
        for path, tensor in find_tensors(name, value, self.ledger.engine, self._name_of):
            entry = self._register(tensor) if path not in self.ignore else None
            if entry is not None:
                found[path] = entry, "name"

    def _register(self, value: Any) -> TensorEntry | None:
        return (
            self.ledger.tensors.register_array(value)
            if isinstance(value, np.ndarray)
            else self.ledger.tensors.register(value)
        )

    def _name_of(self, x: Tensor) -> str:
        entry = self.ledger.tensors.entries.get(id(x))
        return entry.names[0] if entry is not None and entry.names else ""

    def _locals_of(self, frame: FrameType) -> dict[str, TensorEntry]:
        """Return the tensors and arrays in local variables and in their lists, tuples and dicts, by name."""
        found = {}
        for name, value in local_variables(frame).items():
            if isinstance(value, (np.ndarray, list, tuple, dict)) or self.ledger.engine.is_tensor(value):
                for path, tensor in find_tensors(name, value, self.ledger.engine, self._name_of):
                    entry = self._register(tensor)
                    if entry is not None:
                        found[path] = entry
        return found

    def _find_gradients(self, found: dict[str, tuple[TensorEntry, str]]) -> None:
        seen = set()
        for name, (entry, _) in list(found.items()):
            tensor = entry.ref()
            if tensor is None or entry in seen or entry.is_array:
                continue
            seen.add(entry)
            gradient = self.ledger.engine.gradient(tensor)
            if gradient is not None:
                found[gradient_name(name)] = self.ledger.tensors.register(gradient), "grad"

    def _find_lines(self, found: dict[str, tuple[TensorEntry, str]], running: Callable[[], dict[int, str]]) -> None:
        named = {entry for entry, _ in found.values()}
        nameless = [
            entry for entry in self.ledger.tensors.entries.values() if entry not in named and not entry.was_named
        ]
        lines = running() if nameless else {}
        counts: dict[str, int] = {}
        for entry in nameless:
            if entry.run not in lines:
                continue
            line = lines[entry.run]
            counts[line] = number = counts.get(line, 0) + 1
            found[line if number == 1 else f"{line}, {number}"] = entry, "line"

    def _record(self, found: dict[str, tuple[TensorEntry, str]]) -> None:
        ledger = self.ledger
        for name, (entry, kind) in list(self.bound.items()):
            if name in found and found[name][0] is entry:
                continue
            ledger.tensors.touched[entry.group] = None
            if kind == "line":
                entry.running_line = ""
            else:
                entry.names.remove(name)
                entry.last_name = name
            if name not in found:
                ledger.journal.events.append({"do": "unname", "name": name})
                if kind == "name" and not (entry.is_array and entry.ref() is not None and entry.freed):
                    ledger.journal.facts.append(changes.Unnamed(name, entry))
        for name, (entry, kind) in found.items():
            before = self.bound.get(name, (None, ""))[0]
            if before is entry:
                continue
            ledger.tensors.touched[entry.group] = None
            if kind == "line":
                entry.running_line = name
            else:
                entry.names.append(name)
            ledger.journal.events.append({"do": "name", "name": name, "tensor": entry.id, "kind": kind})
            if kind == "name":
                entry.was_named = True
                ledger.journal.facts.append(changes.Named(name, entry, before))
                ledger.tensors.name_group(entry)
            elif kind == "grad":
                entry.was_named = True
        self.bound = found
        self._note_sharing()

    def _note_sharing(self) -> None:
        plain = [entry for entry, kind in self.bound.values() if kind == "name"]
        self.named_any = self.named_any or bool(plain)
        if len(plain) < 2:
            return
        if len(set(plain)) < len(plain):
            self.shared = "tensor"
        else:
            self.shared = "storage" if len({entry.storage.root for entry in plain}) < len(plain) else ""

    def verdict(self, failed: bool) -> Text | None:
        """Return the outcome in a few words; None if a name refers to a gradient, or if no tensor has had a name."""
        if failed:
            return message("refused")
        gradients = [name for name, (_, kind) in self.bound.items() if kind == "grad"]
        if gradients:
            return None
        if not self.named_any:
            return None
        if self.shared == "tensor":
            return message("shares the tensor")
        return message("shares the storage") if self.shared else SHARES_NOTHING


def _global_names(code: CodeType) -> set[str]:
    """Return the names in a program, and in the functions in it, that are not local variables."""
    nested = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_global_names, nested))


def _in_order(tree: ast.Module) -> list[str]:
    """Return all names that a program mentions, in the order in which they first appear in the text."""
    mentioned = [(node.lineno, node.col_offset, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)]
    mentioned += [
        (node.lineno, node.col_offset, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and (name := node.name)
    ]
    return list(dict.fromkeys(name for _, _, name in sorted(mentioned)))


def _loads_and_stores(statement: ast.stmt) -> tuple[set[str], set[str]]:
    loaded: set[str] = set()
    stored: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            (stored if isinstance(node.ctx, ast.Store) else loaded).add(node.id)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            loaded.add(node.target.id)
    return loaded, stored
