"""An explorer that shows which batches and sizes fit on a device, for several programs.

    def normal(batch, size):
        x = mt.zeros([batch, 64, size, size])
        return mt.relu(x)

    def in_place(batch, size):
        return mt.relu_(mt.zeros([batch, 64, size, size]))

    what_fits.show({"normal": normal, "in place": in_place}, sizes=[128, 256, 512], batches=[1, 2, 4, 8, 16])

With ``dtypes=["float32", "float16"]`` a program takes a third argument, the dtype, and the figure has a control for it.

The figure does not need the memory that it shows. Each program runs at a few small sizes, from which its allocations at
any other size are computed (see `Law`). A simulated allocator then replays every choice
byte by byte, with its rounding and its segments, and finds the operation at which memory runs out.
"""

from __future__ import annotations

import functools
from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from memory_stage.messages import Text, message, said, sentences
from memory_stage.trace.amounts import bytes_shown
from memory_stage.web.element import Figure, FigureTable, filled, in_language, templates
from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.places import bytes_in
from minitensor.engine.device.profiles import Profile
from minitensor.engine.dtypes import dtype_of
from minitensor.engine.modes import set_inplace_policy
from minitensor.memory import record

TITLE = message("What fits on a device (simulated)")
CAPACITIES = ("2 GiB", "4 GiB", "8 GiB", "12 GiB", "16 GiB", "24 GiB", "40 GiB", "80 GiB")

# The figure's texts, for Python and for the page's script, which replaces each {key} by a value.
WORDS = {
    "fits": message(
        "With {batchName} {batch} and {sizeName} {size}, {kind} allocates {peak} at its peak and reserves {reserved}: "
        "it fits in {capacity}, and {left} are left."
    ),
    "released": message(
        "With {batchName} {batch} and {sizeName} {size}, {kind} allocates {peak} at its peak: it fits in {capacity} "
        "only because the allocator gives unused segments back on the way."
    ),
    "fails": message(
        "With {batchName} {batch} and {sizeName} {size}, {kind} would allocate {peak} at its peak: it does not fit in "
        "{capacity}, and `{op}` runs out of memory."
    ),
    "refused": message("{kind} is refused at every size: {error}"),
    "most": message("The largest {batchName} of the list that fits is {batch}."),
    "none": message("No {batchName} of the list fits at this {sizeName}."),
}

# The result of a choice: it fits, it fits if unused segments are released, or memory runs out at operation number n
# (``STOPPED + n``).
FITS, RELEASED, STOPPED = 0, 1, 2


def show(
    programs: Mapping[str, Callable[..., Any]],
    *,
    batches: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128),
    sizes: Sequence[int] = (64, 128, 256, 512, 1024),
    capacities: Sequence[Any] = CAPACITIES,
    policies: Sequence[str] | None = None,
    dtypes: Sequence[str] | None = None,
    profile: str | Profile = "torch",
    run_at: Sequence[int] = (4, 8, 12, 16),
    batch_name: str | None = None,
    size_name: str | None = None,
    batch: int | None = None,
    size: int | None = None,
    capacity: Any = None,
    title: str | None = None,
    ask: str | None = None,
    compare: str | None = None,
) -> Figure:
    """Return an explorer for several programs.

    Args:
        programs: maps labels to functions of a batch and a size. Their return values are not used.
        batches, sizes: the batches and the sizes from which the reader chooses.
        capacities: the capacities of the device, in bytes or as "8 GiB".
        policies: in-place policies to run each program under; by default the current one.
        dtypes: the names of dtypes from which the reader chooses. Each program gets one as its third argument.
        profile: the allocator to replay: "torch", "paddle", or a ``Profile``.
        run_at: the four small sizes at which the programs run.
        batch_name, size_name: the names of the two numbers in the figure, by default "batch" and "size".
        batch, size, capacity: the first choice; by default the middle of each list.
        title: the name of the figure for a screen reader and in print.
        ask: a question to think about before choosing; backticks mark code.
        compare: the heading of the table of programs.

    Raises:
        ValueError: if a program's allocations do not follow the law, or there is nothing to choose from.
        TypeError: if an entry of ``dtypes`` is not a dtype that a tensor can have.
    """
    if not (programs and batches and sizes and capacities):
        raise ValueError("what_fits.show takes at least one program, one batch, one size and one capacity")
    if len(set(run_at)) != 4:
        raise ValueError(
            f"run_at must have four different sizes, three to compute the law and one to check it, not {run_at!r}"
        )
    names = [dtype_of(dtype).name for dtype in dtypes or ()]
    in_turn: Sequence[str | None] = names or [None]
    laws = [law for dtype in in_turn for law in _laws(programs, policies or [None], dtype, run_at)]
    asked = _Asked(laws, sorted(set(batches)), sorted(set(sizes)), sorted({bytes_in(c) for c in capacities}), profile)
    data: dict[str, Any] = {
        "schema": "fits/1",
        "title": title or said(TITLE),
        "ask": ask,
        "compare": compare
        or said(message("program and policy") if policies and len(policies) > 1 else message("program")),
        "batchName": batch_name or said(message("batch")),
        "sizeName": size_name or said(message("size")),
        "words": templates(WORDS),
        **asked.answers(),
    }
    if len(names) > 1:
        data["dtypes"] = names
    data["opens"] = {
        "kind": 0,
        "batch": _position("batch", data["batches"], batch),
        "size": _position("size", data["sizes"], size),
        "capacity": _position("capacity", data["capacities"], None if capacity is None else bytes_in(capacity)),
        **({"dtype": 0} if len(names) > 1 else {}),
    }

    def renew(chosen: dict[str, Any]) -> dict[str, Any] | None:
        wish = chosen.get("wish")
        if not isinstance(wish, int) or isinstance(wish, bool) or wish < 1:
            return None
        if wish not in asked.batches:
            insort(asked.batches, wish)
        return in_language({**data, **asked.answers(), "live": True})

    return Figure(data, sentence=_sentence(data), tables=[_kinds_table(data), _grid_table(data)], renew=renew)


def _laws(
    programs: Mapping[str, Callable[..., Any]], policies: Sequence[str | None], dtype: str | None, run_at: Sequence[int]
) -> Iterator[Law]:
    """Learn the law of each program under each policy. ``dtype``, if given, is the program's third argument."""
    for label, program in programs.items():
        given = program if dtype is None else functools.partial(_with_dtype, program, dtype)
        for policy in policies:
            yield learn(f"{label}, {policy}" if policy and len(policies) > 1 else label, given, policy, run_at)


def _with_dtype(program: Callable[..., Any], dtype: str, batch: int, size: int) -> Any:
    return program(batch, size, dtype)


def _position(name: str, values: Sequence[int], chosen: int | None) -> int:
    if chosen is None:
        return len(values) // 2
    if chosen not in values:
        raise ValueError(f"{name} must be one of {', '.join(map(str, values))}, not {chosen}")
    return list(values).index(chosen)


@dataclass
class _Asked:
    """The choices of a reader, and the answer for each combination."""

    laws: list[Law]
    batches: list[int]
    sizes: list[int]
    capacities: list[int]
    profile: str | Profile

    def answers(self) -> dict[str, Any]:
        """Return the part of the figure's data that depends on the choices."""
        ops: dict[str, int] = {}
        kinds = []
        for law in self.laws:
            grid = [[self._answer(law, batch, size, ops) for batch in self.batches] for size in self.sizes]
            kinds.append(
                {
                    "label": law.label,
                    "error": law.error,
                    "peaks": [[peak for peak, _, _ in row] for row in grid],
                    "reserved": [[reserved for _, reserved, _ in row] for row in grid],
                    "ends": [[[ends[c] for _, _, ends in row] for row in grid] for c in range(len(self.capacities))],
                }
            )
        return {
            "batches": list(self.batches),
            "sizes": self.sizes,
            "capacities": self.capacities,
            "ops": list(ops),
            "kinds": kinds,
        }

    def _answer(self, law: Law, batch: int, size: int, ops: dict[str, int]) -> tuple[int, int, list[int]]:
        """Return the peak and the reserved bytes on an unlimited device, and the result for each capacity."""
        nbytes = law.sizes(batch, size)
        allocator, _ = replay(law.events, nbytes, self.profile, 1 << 62)
        ends = []
        for capacity in self.capacities:
            if allocator.max_reserved <= capacity:
                ends.append(FITS)
                continue
            _, stopped = replay(law.events, nbytes, self.profile, capacity)
            ends.append(RELEASED if stopped is None else STOPPED + ops.setdefault(stopped, len(ops)))
        return allocator.max_allocated, allocator.max_reserved, ends


def _whole(capacity: int) -> str:
    return bytes_shown(capacity).replace(".0 ", " ")


def _kinds(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the programs that run in the first dtype."""
    kinds: list[dict[str, Any]] = data["kinds"]
    return kinds[: len(kinds) // len(data.get("dtypes", [""]))]


def _name(data: dict[str, Any], kind: dict[str, Any]) -> str:
    """Return the program's label, followed by the first dtype if there are several."""
    label: str = kind["label"]
    return said(message("{program} in {dtype}", program=label, dtype=data["dtypes"][0])) if "dtypes" in data else label


def _end(data: dict[str, Any], kind: dict[str, Any], batch: int, size: int) -> int:
    return kind["ends"][data["opens"]["capacity"]][size][batch]


def _verdict(kind: dict[str, Any], end: int) -> str:
    if kind["error"]:
        return said(message("refused"))
    if end == FITS:
        return said(message("fits"))
    return said(message("fits, cache given back") if end == RELEASED else message("does not fit"))


def _sentence(data: dict[str, Any]) -> str:
    """Return the first sentence of the figure. The page's script makes it from the same texts."""
    opens = data["opens"]
    kind, batch, size = _kinds(data)[opens["kind"]], opens["batch"], opens["size"]
    capacity = data["capacities"][opens["capacity"]]
    end = _end(data, kind, batch, size)
    values: dict[str, Text | int] = {
        "kind": _name(data, kind),
        "error": kind["error"] or "",
        "batchName": data["batchName"],
        "sizeName": data["sizeName"],
        "batch": data["batches"][batch],
        "size": data["sizes"][size],
        "peak": bytes_shown(kind["peaks"][size][batch]),
        "reserved": bytes_shown(kind["reserved"][size][batch]),
        "capacity": _whole(capacity),
        "left": bytes_shown(max(0, capacity - kind["reserved"][size][batch])),
        "op": data["ops"][end - STOPPED] if end >= STOPPED else "",
    }
    if kind["error"]:
        return said(filled(WORDS["refused"], **values))
    outcome = WORDS["fits" if end == FITS else "released" if end == RELEASED else "fails"]
    fitting = [b for i, b in enumerate(data["batches"]) if _end(data, kind, i, size) < STOPPED]
    most = {**values, "batch": fitting[-1]} if fitting else values
    following = WORDS["most" if fitting else "none"]
    return said(sentences([filled(outcome, **values), filled(following, **most)]))


def _kinds_table(data: dict[str, Any]) -> FigureTable:
    opens = data["opens"]
    batch, size = opens["batch"], opens["size"]
    caption = message(
        "{batchName} {batch}, {sizeName} {size}, on a device of {capacity}",
        batchName=data["batchName"],
        batch=data["batches"][batch],
        sizeName=data["sizeName"],
        size=data["sizes"][size],
        capacity=_whole(data["capacities"][opens["capacity"]]),
    )
    rows = [
        (
            kind["label"],
            bytes_shown(kind["peaks"][size][batch]),
            bytes_shown(kind["reserved"][size][batch]),
            _verdict(kind, _end(data, kind, batch, size)),
        )
        for kind in _kinds(data)
    ]
    head = [*map(said, (message("peak"), message("reserved"), message("result")))]
    return FigureTable(said(caption), (data["compare"], *head), rows)


def _grid_table(data: dict[str, Any]) -> FigureTable:
    kind = data["kinds"][0]
    capacity = _whole(data["capacities"][data["opens"]["capacity"]])
    rows = [
        (
            str(size),
            *(
                said(
                    message(
                        "{size}, {result}",
                        size=bytes_shown(kind["peaks"][s][b]),
                        result=_verdict(kind, _end(data, kind, b, s)),
                    )
                )
                for b in range(len(data["batches"]))
            ),
        )
        for s, size in enumerate(data["sizes"])
    ]
    head = (f"{data['sizeName']} \\ {data['batchName']}", *map(str, data["batches"]))
    caption = message(
        "{program}: bytes at the peak, and whether they fit in {capacity}", program=_name(data, kind), capacity=capacity
    )
    return FigureTable(said(caption), head, rows)


Program = Callable[[int, int], Any]


@dataclass
class Law:
    """The allocations of a program as a function of batch and size, from eight small runs.

    The bytes of each block are assumed to be linear in the batch and at most quadratic in the size. Six runs determine
    the coefficients and two more runs check them. A program that does not follow this rule is refused. On the host, the
    law counts storages and unfinished gradients; on a GPU, also scratch memory inside an operation.

    Attributes:
        label: the program's name.
        at: the sizes at which the program ran.
        events: pairs of a block's number and the operation that allocates it, or None if the block is freed.
        bytes_of: for each block and each size in ``at``, the bytes of the block at batch 1 and at batch 2.
        error: the error that ended the program, in one line, or None.
    """

    label: str
    at: tuple[int, ...]
    events: list[tuple[int, str | None]]
    bytes_of: list[list[tuple[int, int]]]
    error: str | None

    def sizes(self, batch: int, size: int) -> list[int]:
        """Return the bytes of every block, with -1 for a block whose computed bytes are not a whole number."""
        weights = []
        for i, a in enumerate(self.at):
            weight = Fraction(1)
            for j, b in enumerate(self.at):
                if i != j:
                    weight *= Fraction(size - b, a - b)
            weights.append(weight)
        result = []
        for values in self.bytes_of:
            total = sum(w * (one + (batch - 1) * (two - one)) for w, (one, two) in zip(weights, values, strict=True))
            result.append(int(total) if total.denominator == 1 else -1)
        return result


def learn(label: str, program: Program, policy: str | None, run_at: Sequence[int]) -> Law:
    """Run a program at three small sizes, compute its law, and check the law at a third batch and a fourth size.

    Args:
        label: the program's name, which errors mention.
        program: a function of a batch and a size.
        policy: the in-place policy during the runs; None for the current one.
        run_at: the four sizes, which must differ.

    Raises:
        ValueError: if the program's allocations do not follow such a law.
    """
    at = tuple(run_at[:3])
    runs = {(batch, size): run(program, batch, size, policy) for batch in (1, 2) for size in at}
    events, _, error = runs[1, at[0]]
    for (batch, size), (others, _, _) in runs.items():
        if others != events:
            raise ValueError(
                f"{label!r} allocates other blocks at batch {batch}, size {size} than at batch 1, size {at[0]}; "
                f"the program must run the same operations at every batch and size"
            )
    count = len(runs[1, at[0]][1])
    bytes_of = [[(runs[1, size][1][i], runs[2, size][1][i]) for size in at] for i in range(count)]
    law = Law(label, at, events, bytes_of, error)
    for batch, size in ((3, at[1]), (3, run_at[3])):
        others, found, _ = run(program, batch, size, policy)
        if others != events or law.sizes(batch, size) != found:
            raise ValueError(
                f"{label!r} allocates other numbers of bytes at batch {batch}, size {size} than its smaller runs "
                f"predict; the bytes must be linear in the batch and at most quadratic in the size"
            )
    return law


def run(program: Program, batch: int, size: int, policy: str | None) -> tuple[list[Any], list[int], str | None]:
    """Run and record a program. Return its events, the bytes of its blocks, and its error as one line or None."""
    error = None
    with record() as recording:
        try:
            with nullcontext() if policy is None else set_inplace_policy(policy):
                program(batch, size)
        except (RuntimeError, ValueError) as failure:
            error = str(failure).strip().split("\n")[0][:160] or type(failure).__name__
    events: list[tuple[int, str | None]] = []
    sizes: list[int] = []
    block_at: dict[tuple[str, int], int] = {}
    for event in recording.events:
        if event.kind == "alloc":
            block_at[event.device, event.address] = len(sizes)
            events.append((len(sizes), event.op))
            sizes.append(event.requested)
        elif event.kind == "free" and (event.device, event.address) in block_at:
            events.append((block_at.pop((event.device, event.address)), None))
    return events, sizes, error


def replay(
    events: Sequence[tuple[int, str | None]], nbytes: Sequence[int], profile: str | Profile, capacity: int
) -> tuple[CachingAllocator, str | None]:
    """Replay ``events`` in a new allocator. Return the allocator, and the operation at which memory ran out or None."""
    allocator = CachingAllocator(capacity, profile)
    blocks: dict[Any, Any] = {}
    for block, op in events:
        if op is None:
            allocator.free(blocks.pop(block))
            continue
        try:
            blocks[block] = allocator.allocate(nbytes[block])
        except OutOfMemoryError:
            return allocator, op
    return allocator, None
