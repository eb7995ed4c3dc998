"""The tables of the appendix on in-place operations.

What an operation keeps and how its gradient is computed comes from the derivative table, the bytes from running it, its
names and what other frameworks hold from recorded facts. Nothing is written here by hand but the arguments of the runs,
and the gradients of the few operations that are not in the derivative table.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import minitensor as mt
from minitensor import differences
from minitensor.explaining.needs import needs_of
from minitensor.left_out import LEFT_OUT
from minitensor.table import ROWS, Row
from minitensor.tensor import Tensor

#: The side of the square tensor that is measured: 1 MiB of float32, so that a node is nothing beside it.
SIDE = 512
PLACES = {"paddle.Tensor": Tensor, "paddle": mt, "paddle.nn.functional": mt.nn.functional}
SHORT = {"paddle.Tensor": "Tensor", "paddle": "paddle", "paddle.nn.functional": "F"}

#: Names that are not in the derivative table, and what becomes of a gradient.
ELSEWHERE = {
    "apply_": "refused where `x` wants a gradient",
    "cast_": "`x: g`, in the old dtype",
    "copy_": "`x: 0`, `other: g`",
    "detach_": "the history ends",
    "flatten_": "`x: g`, in the old shape",
    "requires_grad_": "sets whether `x` wants one",
    "reshape_": "`x: g`, in the old shape",
    "resize_": "refused where `x` wants a gradient",
    "set_": "that of a view of the other tensor",
    "squeeze_": "`x: g`, in the old shape",
    "t_": "`x: g`, transposed back",
    "transpose_": "`x: g`, transposed back",
    "unsqueeze_": "`x: g`, in the old shape",
}

# ---------- running an operation ----------


def full(value: float, name: str = "") -> Tensor:
    """A tensor of one value and 1 MiB, of the shape that the operation ``name`` wants."""
    return mt.full(SHAPES.get(name, [SIDE, SIDE]), value)


def _index() -> Tensor:
    return mt.arange(SIDE)


def _mask() -> Tensor:
    return full(0.25) > 0


#: The arguments of names that take others than tensors like ``x``, without ``x`` itself.
ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "apply_": lambda: (lambda x: x.scale(2.0),),
    "cast_": lambda: ("float64",),
    "clip_": lambda: (0.0, 1.0),
    "copy_": lambda: (full(0.25),),
    "cumprod_": lambda: (1,),
    "cumsum_": lambda: (1,),
    "embedding_renorm_": lambda: (_index(), 0.5),
    "fill_": lambda: (7.0,),
    "fill_diagonal_": lambda: (7.0,),
    "fill_diagonal_tensor_": lambda: (mt.full([SIDE], 0.25),),
    "geometric_": lambda: (0.5,),
    "index_add_": lambda: (_index(), 0, full(0.25)),
    "index_fill_": lambda: (_index(), 0, 7.0),
    "index_put_": lambda: ((_index(),), full(0.25)),
    "lerp_": lambda: (full(0.25), full(0.5)),
    "masked_fill_": lambda: (_mask(), 7.0),
    "masked_scatter_": lambda: (_mask(), full(0.25)),
    "multigammaln_": lambda: (2,),
    "polygamma_": lambda: (1,),
    "pow_": lambda: (3.0,),
    "put_along_axis_": lambda: (mt.zeros([SIDE, SIDE], dtype="int64"), full(0.25), 0),
    "random_": lambda: (0, 10),
    "renorm_": lambda: (1.0, 0, 2.0),
    "reshape_": lambda: ([SIDE * 2, SIDE // 2],),
    "resize_": lambda: ([SIDE, SIDE // 2],),
    "scale_": lambda: (2.0,),
    "scatter_": lambda: (_index(), full(0.25)),
    "scatter_add_": lambda: (0, mt.zeros([SIDE, SIDE], dtype="int64"), full(0.25)),
    "set_": lambda: (full(0.25),),
    "transpose_": lambda: ([1, 0],),
    "unsqueeze_": lambda: (0,),
    "where_": lambda: (_mask(), full(0.25)),
}
#: The shapes of those that a matrix does not fit.
SHAPES = {"baddbmm_": [1, SIDE, SIDE], "squeeze_": [1, SIDE, SIDE]}
TARGET_IS_SECOND = ("embedding_renorm_", "where_")
INTEGERS = ("bitwise_", "gcd_", "lcm_")


def arguments(name: str) -> tuple[Any, ...]:
    """The arguments with which an operation is measured; its target is not among them."""
    row = row_of(name)
    given = name if row is None else row.name + "_"
    if given in ARGUMENTS:
        return ARGUMENTS[given]()
    others = () if row is None else tuple(operand for operand in row.operands if operand != row.target)
    if name.startswith(INTEGERS):
        return tuple(mt.full([SIDE, SIDE], 2, dtype="int64") for _ in others)
    return tuple(full(0.25, name) for _ in others)


def row_of(name: str) -> Row | None:
    """The row of the derivative table that a name, or another name of it, comes from."""
    found = (row for row in ROWS.values() if name[:-1] in (row.name, *row.aliases))
    return next(found, None)


def call(name: str, x: Tensor, given: tuple[Any, ...]) -> Any:
    """Run in place on ``x``, wherever the name is found."""
    place = next(place for place in (mt, mt.nn.functional, Tensor) if hasattr(place, name))
    if name in TARGET_IS_SECOND:
        return getattr(place, name)(given[0], x, *given[1:])
    return getattr(place, name)(x, *given)


def no_leaf(name: str) -> Tensor:
    """A tensor of 1 MiB for the operation ``name``, that wants a gradient and may be overwritten."""
    leaf = full(0.5, name)
    leaf.stop_gradient = False
    return leaf.scale(1.0)


def is_refused(name: str, policy: str) -> bool:
    """Whether the policy refuses the operation, with constants as its other operands."""
    x, given = no_leaf(name), arguments(name)
    try:
        with mt.set_inplace_policy(policy):
            call(name, x, given)
    except ValueError as error:
        if "policy" not in str(error):
            raise
        return True
    return False


def copies_held(name: str, others_want: bool = False) -> Fraction | None:
    """Bytes held after ``name`` on a tensor that wants a gradient and is no leaf, in units of that tensor.

    Args:
        others_want: whether the other floating operands want a gradient, too.

    Returns:
        None where such a tensor is refused, or can not be: integers have no gradient.
    """
    given = arguments(name)
    if others_want:
        for each in given:
            if isinstance(each, Tensor) and each.dtype in (mt.float32, mt.float64):
                each.stop_gradient = False
    x = no_leaf(name)
    size = x.nbytes
    before = mt.device.cpu.memory_allocated()
    try:
        result = call(name, x, given)
    except (TypeError, RuntimeError):
        return None
    del result
    return Fraction(mt.device.cpu.memory_allocated() - before, size)


# ---------- one line of the table ----------


@dataclass(frozen=True)
class Entry:
    """What there is to say of one name.

    Attributes:
        places: where Paddle has it, in any version.
        same_as: the name that it is another name of, or "".
        signature: in Paddle 3.3.1.
        gradient: the rules, as Markdown.
        keeps: what its own backward keeps, in words.
        held: copies of x held, measured here.
        when: what the other operands' gradients hold in its place, where that is something else.
        paddle, torch: copies of x held, as recorded; "–" where nothing was.
        differs: the numbers of the differences in :func:`numbered_differences`.
    """

    name: str
    places: tuple[str, ...]
    same_as: str
    signature: str
    gradient: str
    keeps: str
    held: str
    when: str
    paddle: str
    torch: str
    differs: tuple[int, ...]

    @property
    def group(self) -> str:
        """What the operation costs: a key of :data:`GROUPS`."""
        if self.name in ELSEWHERE and self.name != "copy_":
            return "metadata"
        if self.held == "–":
            return "integers"
        for word, group in (("its input", "copy"), ("per element", "bits"), ("its output", "result")):
            if word in self.keeps:
                return group
        return "nothing"


#: Groups of names, and which they are.
GROUPS = {
    "nothing": "needs neither its old input nor its result",
    "result": "needs its result",
    "bits": "needs bits of its old input",
    "copy": "needs its old input",
    "metadata": "changes what the tensor is",
    "integers": "works on integers",
}


def entries(facts: Path) -> list[Entry]:
    """All names that Paddle has and minitensor has not left out, in alphabetical order.

    Args:
        facts: the folder of the recorded facts.
    """
    names = _fact(facts, "inplace-apis.json")["rows"]
    paddle, torch = paddle_copies(facts), torch_copies(facts)
    return [
        Entry(
            name=name,
            places=tuple(place for place in PLACES if place in (*recorded["2.6.2"], *recorded["3.3.1"])),
            same_as=_same_as(name),
            signature=signature(name, recorded),
            gradient=gradient(name),
            keeps=", ".join(keeps(name)) or "nothing",
            held=amount(copies_held(name)),
            when=_when(name),
            paddle=paddle.get(name, "–"),
            torch=torch.get(name, "–"),
            differs=tuple(number for number, each in numbered_differences() if name in each.operations),
        )
        for name, recorded in sorted(names.items())
        if name not in LEFT_OUT
    ]


def _same_as(name: str) -> str:
    row = row_of(name)
    return "" if row is None or name == row.name + "_" else row.name + "_"


def _fact(facts: Path, file: str) -> Any:
    return json.loads((facts / file).read_text(encoding="utf-8"))


def signature(name: str, recorded: dict[str, Any]) -> str:
    """The parameters in Paddle 3.3.1, without types and ``name``; where Paddle hides them, those of minitensor."""
    for text in recorded["signature_3.3.1"].values():
        if text.startswith("(") and "**kwargs" not in text:
            made: dict[str, Any] = {}
            exec(f"def {name}{text}: pass", made)  # text that was recorded from Paddle
            return f"{name}{_bare(inspect.signature(made[name]))}"
    found = next(getattr(place, name) for place in PLACES.values() if hasattr(place, name))
    return f"{name}{_bare(inspect.signature(found))}"


def _bare(signature: inspect.Signature) -> inspect.Signature:
    shown = [each for each in signature.parameters.values() if each.name != "name"]
    return inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in shown])


def gradient(name: str) -> str:
    """The rules of the derivative table for the in-place operation, one a line."""
    row = row_of(name)
    if row is None:
        return ELSEWHERE[name]
    rules = row.rules_in_place
    marks = [mark for mark in row.marks if mark in row.saved_in_place]
    lines = [*(f"{operand}: {rule}" for operand, rule in rules.items()), *(f"{m}: {row.marks[m]}" for m in marks)]
    return "<br>".join(f"`{line}`" for line in lines) or "none"


def keeps(name: str) -> tuple[str, ...]:
    """What backward keeps for the gradient of the overwritten operand."""
    row = row_of(name)
    if row is None:
        return ()
    return tuple(f"`{what}`" if what in row.operands else what for what in needs_of(row.name + "_", [row.target]).what)


def _when(name: str) -> str:
    """What is held instead where another operand wants a gradient, which needs what is overwritten."""
    row = row_of(name)
    if row is None or name.startswith(INTEGERS) or len(row.rules_in_place) < 2:
        return ""
    alone, together = copies_held(name), copies_held(name, others_want=True)
    if alone == together:
        return ""
    asking = [operand for operand in row.rules_in_place if operand != row.target and row.target in row.needs(operand)]
    return f"{amount(together)} where " + ", ".join(f"`{operand}`" for operand in asking) + " wants a gradient"


def amount(copies: Fraction | None) -> str:
    """``1``, ``1/32``, or ``–`` for what can not be."""
    return "–" if copies is None else str(copies)


def paddle_copies(facts: Path) -> dict[str, str]:
    """Copies of x held, as recorded of Paddle 2.6.2; of 3.3.1 where 2.6.2 has no such name, or fails."""
    found: dict[str, str] = {}
    for version in ("2.6.2", "3.3.1"):
        for case in _fact(facts, f"goldens/paddle-{version}.json")["cases"]:
            held = (case.get("extra_memory_held_for_backward") or {}).get("copies_of_x_held")
            if held is not None:
                found.setdefault(case["name"], str(Fraction(held)) + (" (3.3.1)" if version == "3.3.1" else ""))
    return found


def torch_copies(facts: Path) -> dict[str, str]:
    """The same of PyTorch, under Paddle's names."""
    paddles = {"mul_ by a constant tensor": "multiply_", "div_ by a constant tensor": "divide_", "sub_": "subtract_"}
    copies = _fact(facts, "torch-copies.json")["copies"]
    return {paddles.get(name, name): str(Fraction(held)) for name, held in copies.items()}


# ---------- tables, as Markdown ----------


def numbered_differences() -> Iterator[tuple[int, differences.Group]]:
    """The differences as the appendix numbers them, from 1."""
    return enumerate(differences.groups(), 1)


def markdown(heads: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table. A vertical bar in a cell is escaped, so that it does not end the cell."""
    heads = list(heads)
    body = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
    return "\n".join(f"| {line} |" for line in (" | ".join(heads), " | ".join(["---"] * len(heads)), *body))


def in_place_table(entries: Iterable[Entry]) -> str:
    """What each operation keeps, and the copies of x that are held for it: here, and as recorded."""
    heads = ("Operation", "Gradient", "Keeps", "Paddle", "PyTorch", "Differs")
    lines = (
        (_operation(each), each.gradient, _kept(each), each.paddle, each.torch, _numbers(each)) for each in entries
    )
    return markdown(heads, lines)


def _kept(entry: Entry) -> str:
    when = f"; {entry.when}" if entry.when else ""
    return f"{entry.keeps}: {entry.held}{when}"


def changes_table(entries: Iterable[Entry]) -> str:
    """What each operation changes of a tensor that wants no gradient, and what becomes of a gradient."""
    heads = ("Operation", "Gradient", "Version", "Storage", "Changes", "Differs")
    lines = ((_operation(each), each.gradient, *changes(each.name), _numbers(each)) for each in entries)
    return markdown(heads, lines)


def changes(name: str) -> tuple[str, str, str]:
    """The version and the storage after ``name``, and what is another of shape, strides, dtype and stop_gradient."""
    x = full(0.5, name)
    given = arguments(name)
    if name == "detach_":
        x.stop_gradient = False
        x = x.scale(1.0)
    before, storage, shown = x.inplace_version, x._storage, ("shape", "strides", "dtype", "stop_gradient")
    was = [getattr(x, what) for what in shown]
    call(name, x, given)
    version = "stays" if x.inplace_version == before else f"{before} → {x.inplace_version}"
    changed = [what for what, old in zip(shown, was, strict=True) if getattr(x, what) != old]
    return version, "the same" if x._storage is storage else "another", ", ".join(changed) or "–"


def short_table(entries: Iterable[Entry]) -> str:
    """Only the names."""
    return markdown(("Operation", "Differs"), ((_operation(each), _numbers(each)) for each in entries))


def _operation(entry: Entry) -> str:
    same = f"; the same as `{entry.same_as}`" if entry.same_as else ""
    return f"`{entry.signature}`<br>{', '.join(SHORT[place] for place in entry.places)}{same}"


def _numbers(entry: Entry) -> str:
    return ", ".join(map(str, entry.differs)) or "–"


def left_out_table() -> str:
    """The names that are left out, and why."""
    return markdown(("Name", "Why, and what to use"), ((f"`{name}`", why + ".") for name, why in LEFT_OUT.items()))


def differences_table() -> str:
    """What minitensor does in another way on purpose, and why."""
    heads = ("", "Operations", "What differs", "Recorded of", "Why")
    lines = (
        (str(number), each.operations_text, "; ".join(each.seen), ", ".join(each.frameworks), each.reason)
        for number, each in numbered_differences()
    )
    return markdown(heads, lines)
