"""Turns rows of the derivative table into functions.

For every row three functions are written as Python source and compiled when the package is imported: the normal
operation, its in-place twin, and backward. A generic dispatcher that looks the row up at every call would cost 650 ns
an operation, more than the addition it calls. ``source("sin_")`` returns the text of any of them; tracebacks show it.

What the text contains follows from the row alone. Where a comment in a template speaks of safety, the line below it
is there because some rule of the row names what the line protects.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor import errors, kernels, operands
from minitensor.device.counters import cpu_meter
from minitensor.dtypes import FLOATS
from minitensor.events import watch
from minitensor.history import FREED, Leaf, Node, Operation, current, move_boxes, wrote
from minitensor.modes import modes
from minitensor.storage import Storage, write_log
from minitensor.table import ROWS, Row
from minitensor.tensor import Tensor

NORMAL = '''\
def {name}({parameters}):
    """{doc}"""
    if {not_tensors}:
        {xs} = as_operands({name!r}, {xs})
{arrays}
{meet}
    try:
{prepare}
        r = forward({call})
    except (ValueError, TypeError, OverflowError) as error:
        raise explain({name!r}, error, ({as_},)) from None
    except (FloatingPointError, RuntimeWarning):
        r = quietly(forward, {call})
    if type(r) is not ndarray:
        r = asarray(r)
{floats}
    storage = Storage()
    storage.buffer = r
    storage.nbytes = nbytes = r.nbytes
    storage.version = 0
    meter.allocated = now = meter.allocated + nbytes
    if now > meter.peak:
        meter.peak = now
    out = new(Tensor)
    out._array = r
    out._storage = storage
    out._history = None
    out._node = None
{record}
    if watch.listener is not None:
        watch.listener("alloc", storage)
        watch.listener("make", out, {name!r}, ({xs}))
    return out
'''

NORMAL_RECORD = """\
    if modes.grad:
{nodes}
        if {any_node}:
            out._node = node = Node()
            node.op = OPERATION
            node.inputs = ({inputs},)
            node.saved = {saved}
            node.shape = r.shape
            node.hooks = None
            frame = getframe(1)
            node.code = frame.f_code
            node.instruction = frame.f_lasti
"""

IN_PLACE = '''\
def {name}({parameters}):
    """{doc}"""
    if {not_tensors}:
        {xs} = as_operands_in_place({name!r}, {xs})
{arrays}
{meet}
{prepare_first}
    storage = x._storage
    recording = False
    if modes.grad:
{nodes}
        if {any_node}:
            recording = True
            if type(xn) is Leaf or x._history is not None:
                check_target(x, {name!r})
{keep}
    try:
        forward({call}, {out})
    except (ValueError, TypeError, OverflowError) as error:
        raise explain_in_place({name!r}, error, ({as_},), a) from None
    except (FloatingPointError, RuntimeWarning):
        pass  # numpy raises these after it has written: inf and nan are values here
    storage.version = version = storage.version + 1
    frame = getframe(1)
    code = frame.f_code
    instruction = frame.f_lasti
    log((id(storage), version, {name!r}, code, instruction))
    if recording:
        node = Node()
        node.op = OPERATION
        node.inputs = ({inputs},)
        node.saved = {saved}
        node.shape = a.shape
        node.hooks = None
        node.code = code
        node.instruction = instruction
        if x._history is not None:
            wrote(x, node)
        else:
            if xn is not None and xn.hooks is not None:
                move_boxes(xn, node)
            x._node = node
    if watch.listener is not None:
        watch.listener("write", x, {name!r}, ({xs}), None)
    return x
'''

BACKWARD = '''\
def {name}_backward(node, g):
    """The rules of {name}."""
{unpack}
    return {gradients}
'''

_ARRAYS = "abcdef"


def _lines(indent: int, lines: list[str]) -> str:
    return "\n".join(" " * indent + line for line in lines)


class _Text:
    """The pieces of source text that follow from one row."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.xs = row.operands
        self.array = dict(zip(row.operands, _ARRAYS, strict=False))
        self.ruled = tuple(x for x in row.operands if x in row.rules)

    def node(self, x: str) -> str:
        return f"{x}n"

    def common(self, name: str) -> dict[str, str]:
        row = self.row
        arguments = ", ".join(row.argument_names) + ("," if len(row.argument_names) == 1 else "")
        return {
            "name": name,
            "parameters": ", ".join([*row.operands, *row.arguments, "name=None"]),
            "not_tensors": " or ".join(f"type({x}) is not Tensor" for x in self.xs),
            "xs": ", ".join(self.xs) + ("," if len(self.xs) == 1 else ""),
            "arrays": _lines(4, [f"{a} = {x}._array" for x, a in self.array.items()]),
            "call": ", ".join([*self.array.values(), *row.argument_names]),
            "as_": ", ".join(self.array.values()),
            "prepare": f"        {arguments} = prepare({arguments})" if row.prepare else "",
            "prepare_first": f"    {arguments} = prepare({arguments})" if row.prepare else "",
        }

    def nodes(self) -> str:
        """Who wants a gradient: the current node of each input."""
        return _lines(
            8,
            [f"{self.node(x)} = {x}._node if {x}._history is None else current({x})" for x in self.ruled],
        )

    def any_node(self) -> str:
        return " or ".join(f"{self.node(x)} is not None" for x in self.ruled)

    def wanted(self, name: str) -> str:
        """The condition under which some gradient asked for needs ``name``; empty when one always does."""
        by = [x for x in self.ruled if name in self.row.needs(x)]
        if set(by) == set(self.ruled):
            return ""
        return " or ".join(f"{self.node(x)} is not None" for x in by)

    def conditional(self, name: str, triple: str) -> str:
        condition = self.wanted(name)
        return f"{triple} if {condition} else None" if condition else triple

    def triple(self, x: str) -> str:
        return f"({self.array[x]}, {x}._storage, {x}._storage.version)"

    def saved(self, entries: dict[str, str]) -> str:
        items = [entries[name] for name in self.row.saved_names] + list(self.row.saved_arguments)
        return "(" + "".join(f"{item}, " for item in items).rstrip(" ") + ")"


def normal_source(row: Row) -> str:
    """The text of the normal operation."""
    text = _Text(row)
    pieces = text.common(row.name)
    pieces["doc"] = row.doc
    pieces["meet"] = _meet(row, text, "{xs} = meet({xs})")
    pieces["floats"] = ""
    if row.floats:
        again = ", ".join([*(f"as_float({x})" for x in row.operands), *row.argument_names])
        pieces["floats"] = (
            f"    if r.dtype is not a.dtype and a.dtype not in FLOATS:\n        return {row.name}({again})"
        )
    pieces["record"] = ""
    if row.rules:
        entries = {x: text.conditional(x, text.triple(x)) for x in row.operands}
        entries["out"] = text.conditional("out", "(r, storage, 0)")
        pieces["record"] = NORMAL_RECORD.format(
            nodes=text.nodes(),
            any_node=text.any_node(),
            inputs=", ".join(text.node(x) for x in text.ruled),
            saved=text.saved(entries),
        )
    return _tidy(NORMAL.format(**pieces))


def in_place_source(row: Row) -> str:
    """The text of the in-place operation."""
    text, name = _Text(row), row.name + "_"
    pieces = text.common(name)
    pieces["doc"] = row.doc + " In place: x is overwritten and returned."
    others = row.operands[1:]
    meet = [
        f"if {text.array[y]}.dtype is not a.dtype:\n        {y} = into({name!r}, x, {y})\n        "
        f"{text.array[y]} = {y}._array"
        for y in others
        if y in row.meet
    ]
    pieces["meet"] = _lines(4, meet)
    entries, keep = {}, []
    if "x" in row.saved_names:
        # The rule names the input: what is about to be overwritten is copied first.
        keep.append(f"kept_x = {text.conditional('x', f'own_input({name!r}, a)')}")
        entries["x"] = "kept_x"
    for y in others:
        if y in row.saved_names:
            own = "kept_x" if "x" in entries else "None"
            alias = f"alias_input({name!r}, {text.array[y]}, storage, a, {own})"
            triple = f"({text.triple(y)} if {y}._storage is not storage else {alias})"
            keep.append(f"kept_{y} = {text.conditional(y, triple)}")
            entries[y] = f"kept_{y}"
    entries["out"] = text.conditional("out", "(a, storage, version)")
    pieces["keep"] = _lines(12, keep)
    pieces["nodes"] = text.nodes()
    pieces["any_node"] = text.any_node()
    pieces["inputs"] = ", ".join(text.node(x) for x in text.ruled)
    pieces["saved"] = text.saved(entries)
    # A ufunc takes its output 30 ns faster by position; numpy deprecates that for maximum and minimum.
    by_position = isinstance(row.forward, np.ufunc) and row.forward not in (np.maximum, np.minimum)
    pieces["out"] = "a" if by_position else "out=a"
    return _tidy(IN_PLACE.format(**pieces))


def backward_source(row: Row) -> str:
    """The text of backward."""
    text = _Text(row)
    one = len(text.ruled) == 1
    unpack = [f"{', '.join(text.node(x) for x in text.ruled)}{',' if one else ''} = node.inputs"]
    saved = (*(f"saved_{name}" for name in row.saved_names), *row.saved_arguments)
    if saved:
        unpack += ["if node.saved is FREED:", "    raise freed(node)"]
        unpack.append(f"{', '.join(saved)}{',' if len(saved) == 1 else ''} = node.saved")
    for name in row.saved_names:
        unpack += [
            f"if saved_{name} is not None:",
            f"    {name}, storage, version = saved_{name}",
            "    if storage.version != version:",
            f"        stale(node, {name!r}, saved_{name})",
        ]
    gradients = []
    for x in text.ruled:
        # Each rule sees the shape of its own input.
        rule = re.sub(r"\bshape\b", f"{text.node(x)}.shape", row.rules[x])
        gradients.append(f"({rule})" if one else f"({rule}) if {text.node(x)} is not None else None")
    return _tidy(BACKWARD.format(name=row.name, unpack=_lines(4, unpack), gradients=f"({', '.join(gradients)},)"))


def _meet(row: Row, text: _Text, template: str) -> str:
    """Bring the operands that must share a dtype to one."""
    if len(row.meet) < 2:
        return ""
    x, y = row.meet
    a, b = text.array[x], text.array[y]
    return _lines(
        4,
        [
            f"if {a}.dtype is not {b}.dtype:",
            "    " + template.format(xs=f"{x}, {y}"),
            f"    {a} = {x}._array",
            f"    {b} = {y}._array",
        ],
    )


def _tidy(source: str) -> str:
    return "\n".join(line for line in source.splitlines() if line.strip()) + "\n"


# ---------- compiling ----------

#: The text of every generated function, by name.
SOURCES: dict[str, str] = {}
#: Which row and form each generated operation came from.
OPERATIONS: dict[str, Operation] = {}


def quietly(forward: Callable[..., Any], *given: Any) -> Any:
    """The result although numpy was told to raise for inf and nan: they are values here."""
    with np.errstate(all="ignore"):
        return forward(*given)


def _namespace() -> dict[str, Any]:
    rules = {name: getattr(kernels, name) for name in dir(kernels) if not name.startswith("_")}
    return {
        **rules,
        "where": np.where,
        "zeros_like": np.zeros_like,
        "FLOATS": FLOATS,
        "ndarray": np.ndarray,
        "asarray": np.asarray,
        "new": object.__new__,
        "getframe": sys._getframe,
        "log": write_log.append,
        "meter": cpu_meter,
        "watch": watch,
        "modes": modes,
        "Tensor": Tensor,
        "Storage": Storage,
        "Node": Node,
        "Leaf": Leaf,
        "FREED": FREED,
        "current": current,
        "wrote": wrote,
        "move_boxes": move_boxes,
        "quietly": quietly,
        "explain": errors.explain,
        "explain_in_place": errors.explain_in_place,
        "freed": errors.freed,
        "stale": errors.stale,
        **{
            name: getattr(operands, name)
            for name in ("as_operands", "as_operands_in_place", "meet", "into", "as_float", "check_target",
                         "own_input", "alias_input")
        },
        "__name__": "minitensor.operations",
        "__package__": "minitensor",
    }  # fmt: skip


def _compiled(name: str, source: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    file = f"<minitensor {name}>"
    SOURCES[name] = source
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), namespace)  # the text above, made from the table, nothing from outside
    function = namespace[name]
    function.__module__ = "minitensor"
    return function


_namespaces: dict[str, dict[str, Any]] = {}


def functions() -> dict[str, Callable[..., Any]]:
    """Every operation of the table, by name: ``add``, ``add_``, ..."""
    made: dict[str, Callable[..., Any]] = {}
    shared = _namespace()
    for row in ROWS.values():
        backward = _compiled(f"{row.name}_backward", backward_source(row), dict(shared)) if row.rules else None
        forms = (row.name, row.normal, normal_source), (row.name + "_", row.in_place, in_place_source)
        for name, exists, write in forms:
            if not exists:
                continue
            _namespaces[name] = namespace = {**shared, "forward": row.forward, "prepare": row.prepare}
            if backward is not None:
                namespace["OPERATION"] = OPERATIONS[name] = Operation(name, backward, row.saved_names)
            made[name] = _compiled(name, write(row), namespace)
    return made


def swapped(name: str) -> Callable[..., Any]:
    """The normal operation with its two operands in the other order, for Python's reflected operators."""
    text = SOURCES[name].replace(f"def {name}(x, y,", f"def reflected_{name}(y, x,")
    return _compiled(f"reflected_{name}", text, _namespaces[name])


def source(name: str) -> str:
    """The generated text of an operation, as in ``print(source("sin_"))``.

    Raises:
        KeyError: when no operation of that name is generated.
    """
    try:
        return SOURCES[name]
    except KeyError:
        raise KeyError(f"no generated operation is called {name!r}; there are {', '.join(sorted(SOURCES))}") from None
