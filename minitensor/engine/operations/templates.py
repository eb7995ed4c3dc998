"""Templates of the functions that are generated from a row of the derivative table.

``print(minitensor.source("add_"))`` prints such a function. It calls ``forward``, the row's function on arrays, and
functions from ``CALLS`` in :mod:`minitensor.engine.operations.compiling`: for example ``before_write`` and
``after_write`` around a write, and ``set_node`` to store the new node.
"""

from __future__ import annotations

import re

import numpy as np

from minitensor.engine.table import Row
from minitensor.engine.table.rows import names_in

NORMAL = '''\
def {name}({parameters}):
    """{doc}"""
{prologue}
    if {not_tensors}:
        {operands} = as_operands({name!r}, {operands})
{arrays}
{promoted}
{prepare}
    try:
        r = {computed}
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise explain({name!r}, error, ({as_},)) from None
    except (FloatingPointError, RuntimeWarning):
        r = quietly(forward, {call})
{floats}
    if type(r) is ndarray and ({in_order}):
        storage = Storage()
        storage.buffer = r
        storage.nbytes = nbytes = r.nbytes
        storage.version = 0
        storage.savers = None
        meter.allocated = now = meter.allocated + nbytes
        if now > meter.peak:
            meter.peak = now
    else:
        r, storage = placed(laid_out(r, ({as_},)))
    result = empty_tensor()
    result._array = r
    result._storage = storage
    result._history = None
    result._node = None
{record}
    listener = watch.listener
    if listener is not None:
        listener(StorageCreated(storage))
        listener(TensorCreated(result, {name!r}, ({operands})))
    return result
'''

NORMAL_RECORD = """\
    # Is history recorded in this thread?
    if not paused.threads or modes.grad:
{nodes}
        if {any_node}:
{made}
            result._node = node
{remember}
"""

IN_PLACE = '''\
def {name}({parameters}):
    """{doc}"""
{prologue}
    if {not_tensors}:
        {operands} = as_operands_in_place({name!r}, {position}, {operands})
{arrays}
{promoted}
{prepare}
    if type({a}) is not ndarray:
        check_on_device({name!r}, {x}, ({as_},))
    storage = {x}._storage
{record}
    # Find the earlier nodes that saved bytes which are about to be overwritten.
    plan = None if storage.savers is None else {before}
{locate}
    try:
{compute}
    except BaseException as error:
        raise_unless_written(error, explain_in_place, {name!r}, {x}, ({as_},))
    storage.version {version}
    if plan is not None:
        after_write(plan, storage, {name!r}, getframe(1))
{commit}
    if watch.listener is not None:
        watch.listener(TensorWritten({x}, {name!r}, ({operands}), {where}))
    return {x}
'''

IN_PLACE_RECORD = """\
    {unknown} = None
    # Is history recorded in this thread?
    if not paused.threads or modes.grad:
{nodes}
        if {any_node}:
            if type({xn}) is Leaf or {x}._history is not None:
                check_target({x}, {name!r})
{keep}
"""

IN_PLACE_COMMIT = """\
    if {any_node}:
{made}
        before = {x}._node
        if {x}._history is None and (before is None or before.hooks is None):
            {x}._node = node
        else:
            set_node({x}, node)
{remember}
"""

NODE = """\
node = Node()
node.op = OPERATION
node.inputs = ({inputs},)
node.saved = {saved}
node.shape = {array}.shape
node.hooks = None
frame = getframe(1)
code = frame.f_code
if code is not outside.code:
    frame = outside_engine(frame)
    code = frame.f_code
node.code = code
node.instruction = frame.f_lasti"""

#: ``remember`` of :mod:`minitensor.engine.saved.saved`, inlined. All saved values of a node share one weak reference.
REMEMBER = """\
savers = {storage}.savers
if savers is None:
    {storage}.savers = [link]
else:
    savers.append(link)
    if len(savers) & 63 == 63:
        tidy(savers)
"""

MARKED = """\
try:
    {mark} = {marked}
except (ValueError, TypeError) as error:
    raise explain_in_place({name!r}, {x}, error, ({as_},)) from None
"""

WRITTEN = "forward({call}, {out}) if {a}.itemsize != 2 else in_float32(forward, {call}, out={a})"

IN_CHUNKS = """\
if storage.nbytes < large.nbytes and {a}.itemsize != 2:
    forward({call}, {out})
else:
    in_chunks(forward, ({as_},), {given}, {a})
"""

PREPARE = """\
    try:
        {arguments} = prepare({arguments})
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise {refused} from None
"""

BACKWARD = '''\
def {name}(node, g):
    """{doc}"""
{unpack}
    return {gradients}
'''

ARRAYS = "abcdefgh"


def _lines(indent: int, lines: list[str]) -> str:
    return "\n".join(" " * indent + part for line in lines for part in line.splitlines())


class _Text:
    """The pieces of source text for one form of a row. The node of operand ``x`` is called ``xn`` in this text."""

    def __init__(self, row: Row, in_place: bool) -> None:
        self.row = row
        self.in_place = in_place
        self.name = row.name + "_" if in_place else row.name
        self.array = dict(zip(row.operands, ARRAYS, strict=False))
        self.rules = row.rules_in_place if in_place else row.rules
        self.saves = row.saved_in_place if in_place else row.saved_names
        self.differentiable = tuple(x for x in row.operands if x in self.rules)
        self.x = row.target
        self.a = self.array[row.target]

    def node(self, x: str) -> str:
        return f"{x}n"

    def common(self) -> dict[str, str]:
        row = self.row
        arguments = ", ".join(row.argument_names) + ("," if len(row.argument_names) == 1 else "")
        return {
            "name": self.name,
            "doc": row.doc + (f" In place: {self.x} is overwritten and returned." if self.in_place else ""),
            "parameters": row.parameters,
            "prologue": _lines(4, [row.prologue.replace("{_}", "_" if self.in_place else "")]),
            "not_tensors": " or ".join(f"type({x}) is not Tensor" for x in self.row.operands),
            "operands": ", ".join(self.row.operands) + ("," if len(self.row.operands) == 1 else ""),
            "x": self.x,
            "a": self.a,
            "xn": self.node(self.x) if self.x in self.differentiable else "None",
            "position": str(self.row.operands.index(self.x)),
            "arrays": _lines(4, [f"{a} = {x}._array" for x, a in self.array.items()]),
            "call": ", ".join([*self.array.values(), *row.argument_names]),
            "as_": ", ".join(self.array.values()),
            "given": f"({arguments})" if arguments else "()",
            "prepare": PREPARE.format(arguments=arguments, refused=self.unsuitable()) if row.prepare else "",
            "nodes": self.nodes(),
            "any_node": " or ".join(f"{self.node(x)} is not None" for x in self.differentiable),
            "inputs": ", ".join(self.node(x) for x in self.differentiable),
        }

    @property
    def not_16_bits(self) -> str:
        """The condition that no operand has elements of 2 bytes. If all operands are promoted, one test suffices."""
        arrays = [self.a] if len(self.row.promote) == len(self.row.operands) else self.array.values()
        return " and ".join(f"{a}.itemsize != 2" for a in arrays)

    def unsuitable(self) -> str:
        """Return the expression that creates the error for an unsuitable argument."""
        error = f"named({self.name!r}, error)"
        return f"unsuitable({self.name!r}, {self.x}, {error})" if self.in_place else error

    def nodes(self) -> str:
        """Return one assignment for each input: of its current node, or of None if the input requires no gradient."""
        statement = "{node} = {x}._node if {x}._history is None else current({x})"
        return _lines(8, [statement.format(node=self.node(x), x=x) for x in self.differentiable])

    def need_for(self, name: str) -> str:
        """Return the condition under which ``name`` has to be saved; an empty text if it always has to be saved."""
        by = [x for x in self.differentiable if name in self.row.needs(x)]
        if set(by) == set(self.differentiable):
            return ""
        return " or ".join(f"{self.node(x)} is not None" for x in by)

    def conditional(self, name: str, entry: str) -> str:
        condition = self.need_for(name)
        return f"{entry} if {condition} else None" if condition else entry

    def saved_operand(self, x: str) -> str:
        """Return the source of an operand's entry among the saved values: its array, its storage and the version."""
        return f"({self.array[x]}, {x}._storage, {x}._storage.version)"

    def saved(self, entries: dict[str, str]) -> str:
        items = [entries[name] for name in self.saves] + list(self.row.saved_arguments)
        return f"({' '.join(f'{item},' for item in items)})"

    def if_needed(self, name: str, statements: str) -> str:
        condition = self.need_for(name)
        return f"if {condition}:\n{_lines(4, [statements])}" if condition else statements


def normal_source(row: Row, in_order: str = "True") -> str:
    """Return the source of the normal operation. The test ``in_order`` is true if the result has the right layout."""
    text = _Text(row, in_place=False)
    pieces = {**text.common(), "in_order": in_order}
    promoted = ", ".join(row.promote)
    pieces["promoted"] = _promote(text, f"{promoted} = promote({promoted})")
    pieces["computed"] = f"forward({pieces['call']}) if {text.not_16_bits} else in_float32(forward, {pieces['call']})"
    if row.by_element:
        # If the allocated memory is smaller than `large`, no operand is large. Otherwise, test each operand's size.
        small = " and ".join(f"{x}._storage.nbytes < large.nbytes" for x in row.operands)
        if len(row.operands) > 1:
            small = f"(meter.allocated < large.nbytes or {small})"
        when = f"{text.not_16_bits} and {small}"
        pieces["computed"] = "forward({call}) if {0} else in_chunks(forward, ({as_},), {given})".format(when, **pieces)
    pieces["floats"] = ""
    if row.floats:
        floats = (f"{x}=as_float({x})" for x in row.operands)
        again = ", ".join([*floats, *(f"{argument}={argument}" for argument in row.argument_names)])
        is_integer = f"r.dtype is not {text.a}.dtype and {text.a}.dtype not in FLOATS"
        pieces["floats"] = f"    if {is_integer}:\n        return {row.name}({again})"
    pieces["record"] = ""
    if row.rules:
        entries = {x: text.conditional(x, text.saved_operand(x)) for x in row.operands}
        entries["out"] = text.conditional("out", "(r, storage, 0)")
        lines = [
            text.if_needed(x, "storage.savers = [link]" if x == "out" else REMEMBER.format(storage=f"{x}._storage"))
            for x in text.saves
        ]
        if lines:
            lines.insert(0, "link = ref(node)")
        made = _lines(12, [NODE.format(**pieces, saved=text.saved(entries), array="r")])
        pieces["record"] = NORMAL_RECORD.format(**pieces, made=made, remember=_lines(12, lines))
    return _tidy(NORMAL.format(**pieces))


def in_place_source(row: Row) -> str:
    """Return the source of the in-place operation."""
    text = _Text(row, in_place=True)
    name, target, a = text.name, text.x, text.a
    pieces = text.common()
    others = [x for x in row.operands if x != target]
    promoted = [
        f"if {text.array[y]}.dtype is not {a}.dtype:\n    {y} = into({name!r}, {target}, {y})\n"
        f"    {text.array[y]} = {y}._array"
        for y in others
        if y in row.promote
    ]
    pieces["promoted"] = _lines(4, promoted)
    keeps_own = target in text.saves
    call_arguments = ", ".join([repr(name), target, *map(text.node, text.differentiable)])
    pieces["own"] = f", saved_{target}" if keeps_own else ""
    pieces["unknown"] = " = ".join([*map(text.node, text.differentiable), *([f"saved_{target}"] if keeps_own else [])])
    pieces["before"] = f"before_write(storage, {a}{pieces['own']})"
    pieces["where"], pieces["locate"] = "None", ""
    if row.writes:
        part = _on_arrays(text, row.writes)
        pieces["before"] = f"before_write_of_part(storage, {a}, lambda: {part}{pieces['own']})"
        # The operation may overwrite its own index or mask, so the event's index is computed first.
        pieces["locate"] = f"    part = None if watch.listener is None else index_for_event({a}, lambda: {part})"
        pieces["where"] = "part"
    entries, keep, remember = {}, [], []
    if keeps_own:
        # The rules need the target, so it is copied before it is overwritten.
        keep.append(f"saved_{target} = {text.conditional(target, f'own_input({call_arguments})')}")
        entries[target] = f"saved_{target}"
    for mark in text.saves:
        if mark in row.marks:
            # The rules need one bit per element, which is computed before an operand is overwritten.
            expression = row.marks[mark]
            own = f", {call_arguments}" if target in names_in(expression) else ""
            marked = _on_arrays(text, expression)
            if names_in(expression) & set(others):
                attempt = MARKED.format(mark=mark, marked=marked, name=name, as_=pieces["as_"], x=target)
                keep.append(text.if_needed(mark, attempt))
                marked = mark
            keep.append(f"saved_{mark} = {text.conditional(mark, f'saved_marks({marked}{own})')}")
            entries[mark] = f"saved_{mark}"
    for y in others:
        if y in text.saves:
            own = f"saved_{target}" if keeps_own else "None"
            nodes = ", ".join(map(text.node, text.differentiable))
            alias = f"alias_input({name!r}, {text.array[y]}, {target}, {own}, {nodes})"
            entry = f"({text.saved_operand(y)} if {y}._storage is not storage else {alias})"
            keep.append(f"saved_{y} = {text.conditional(y, entry)}")
            entries[y] = f"saved_{y}"
            remember.append(
                f"if saved_{y} is not None and saved_{y}[1] is {y}._storage:\n    remember({y}._storage, node)"
            )
    entries["out"] = text.conditional("out", f"({a}, storage, version)")
    if "out" in text.saves:
        remember.append(text.if_needed("out", "remember(storage, node)"))
    pieces["version"] = "= version = storage.version + 1" if "out" in text.saves else "+= 1"
    pieces["record"] = pieces["commit"] = ""
    if text.rules:
        pieces["record"] = IN_PLACE_RECORD.format(**pieces, keep=_lines(12, keep))
        made = _lines(8, [NODE.format(**pieces, saved=text.saved(entries), array=a)])
        pieces["commit"] = IN_PLACE_COMMIT.format(**pieces, made=made, remember=_lines(8, remember))
    pieces["out"] = a if _takes_out_by_position(row) else f"out={a}"
    pieces["compute"] = _lines(8, [(IN_CHUNKS if row.by_element else WRITTEN).format(**pieces)])
    return _tidy(IN_PLACE.format(**pieces))


def _takes_out_by_position(row: Row) -> bool:
    """True if the row's function accepts ``out`` as its last positional argument, which saves 30 ns."""
    if isinstance(row.forward, np.ufunc):
        return row.forward not in (np.maximum, np.minimum)  # numpy deprecates a positional `out` for these
    code = getattr(row.forward, "__code__", None)
    place = len(row.operands) + len(row.argument_names)
    return code is not None and code.co_argcount > place and code.co_varnames[place] == "out"


def _on_arrays(text: _Text, expression: str) -> str:
    """Return ``expression`` with the name of each operand replaced by the name of its array."""
    for x, array in text.array.items():
        expression = re.sub(rf"\b{x}\b", array, expression)
    return expression


def backward_source(row: Row, in_place: bool, on_tensors: bool) -> str:
    """Return the source of backward: on arrays or, if ``on_tensors``, on tensors, so that backward is recorded."""
    text = _Text(row, in_place)
    unpack = [f"{''.join(f'{text.node(x)}, ' for x in text.differentiable)}= node.inputs"]
    unpack += [] if on_tensors else ["half = g if g.itemsize == 2 else None", "if half is not None: g = wide(g)"]
    saved = (*(f"saved_{name}" for name in text.saves), *row.saved_arguments)
    if saved:
        unpack += ["if node.saved is FREED:", "    raise freed(node)"]
        unpack.append(f"{', '.join(saved)}{',' if len(saved) == 1 else ''} = node.saved")
    for name in text.saves:
        unpack.append(f"if saved_{name} is not None:")
        if name in row.marks:
            marks = f"unpacked(saved_{name}, node.shape{'' if on_tensors else ', half'})"
            unpack.append(f"    {name} = {f'constant({marks})' if on_tensors else marks}")
        elif on_tensors:
            of = "node" if name == "out" else text.node(name) if name in text.differentiable else "None"
            unpack.append(f"    {name} = beside(g, revived(node, {name!r}, saved_{name}, {of}))")
        else:
            unpack += [
                f"    {name}, storage, version = saved_{name}",
                "    if storage.version != version:",
                f"        {name} = recovered(node, {name!r}, saved_{name})",
                f"    if half is not None: {name} = wide({name})",
            ]
    for mark, expression in row.marks.items():
        if mark not in text.saves and any(mark in names_in(text.rules[x]) for x in text.differentiable):
            unpack.append(text.if_needed(mark, f"{mark} = {expression}"))
    gradients, of_large = [], []
    for x in text.differentiable:  # in a rule, `shape` is the shape of the operand whose gradient it computes
        rule = re.sub(r"\bshape\b", f"{text.node(x)}.shape", text.rules[x])
        when = "" if len(text.differentiable) == 1 else f" if {text.node(x)} is not None else None"
        gradients.append(f"({rule}){when}")
        computed = row.by_element and rule not in ("g", "zeros_like(g)")
        of_large.append(f"{_in_chunks(row, rule)}{when}" if computed else f"({rule}){when}")
    returned = f"({', '.join(gradients)},)"
    if on_tensors:
        unpack.append(f"if g._array.itemsize == 2: return rounded_to({returned}, g._array.dtype)")
    else:
        unpack.append(f"if half is not None: return rounded_gradients({returned}, node.inputs, half, g)")
    if of_large != gradients and not on_tensors:
        unpack.append("if meter.allocated >= large.nbytes and g.nbytes >= large.nbytes:")
        unpack.append(f"    return ({', '.join(of_large)},)")
    return _tidy(
        BACKWARD.format(
            name=backward_name(row, in_place, on_tensors),
            doc=f"The rules of {text.name}{', on tensors' if on_tensors else ''}.",
            unpack=_lines(4, unpack),
            gradients=returned,
        )
    )


def _in_chunks(row: Row, rule: str) -> str:
    """Return an expression that computes ``rule`` in chunks."""
    names = names_in(rule)
    arrays = [name for name in ("g", *row.operands, "out", *row.marks) if name in names]
    arguments = [name for name in row.argument_names if name in names]
    given = ", ".join(f"({', '.join(names)}{',' if len(names) == 1 else ''})" for names in (arrays, arguments) if names)
    return f"rule_in_chunks(lambda {', '.join([*arrays, *arguments])}: {rule}, {given})"


def backward_name(row: Row, in_place: bool, on_tensors: bool) -> str:
    """Return a name such as ``sin_backward``; ``clip__backward`` if the in-place operation has its own backward."""
    own = in_place and row.in_place_differs
    return f"{row.name}{'_' if own else ''}_backward{'_on_tensors' if on_tensors else ''}"


def _promote(text: _Text, statement: str) -> str:
    """Return statements that convert the operands in ``row.promote`` to one dtype."""
    promoted = text.row.promote
    if len(promoted) < 2:
        return ""
    first, *rest = (text.array[x] for x in promoted)
    differ = " or ".join(f"{first}.dtype is not {other}.dtype" for other in rest)
    return _lines(4, [f"if {differ}:", f"    {statement}", *(f"    {text.array[x]} = {x}._array" for x in promoted)])


def _tidy(source: str) -> str:
    return "\n".join(line for line in source.splitlines() if line.strip()) + "\n"
