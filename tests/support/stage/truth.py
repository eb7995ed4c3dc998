"""Observe the real state of memory after each step of a recording, and judge whether the step's sentence is true.

Only the identifying numbers of storages come from the recorder. Everything else is read from the engine's storages,
tensors and nodes in the interpreter, from the variables of the program and of its running functions, and from the
meters of the devices.
"""

from __future__ import annotations

import gc
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from memory_stage.model.ledger import Ledger
from memory_stage.recorder import record
from memory_stage.recorder.reachable_tensors import local_variables
from memory_stage.recorder.recorder import Recorder
from memory_stage.recorder.steps import Steps
from minitensor.engine.core.history import Leaf, Node, peek
from minitensor.engine.core.storage import Storage
from minitensor.engine.device.arrays import address_of, host_array
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.saved.saved import FREED, is_intact

# ---------- observing ----------


@dataclass
class Memory:
    """The state of a storage."""

    version: int
    nbytes: int
    counted: int  # the bytes that the meter counts: 0 for borrowed memory
    numbers: bytes
    length: int
    tensors: set[int] = field(default_factory=set)


@dataclass
class Look:
    """The state of a tensor."""

    storage: str
    cells: tuple[Any, ...]  # the shape, and the strides and the offset in bytes
    group: int  # the id of the history that views share; 0 without one
    requires_grad: bool
    leaf: bool
    numbers: list[Any]


@dataclass
class Saved:
    """A tensor that a node saved."""

    op: str
    line: int
    storage: str
    version: int
    intact: bool  # True if backward would accept the saved tensor
    unchanged: bool  # True if the memory has the same numbers as when the saved tensor was first observed


@dataclass
class Moment:
    """The tensors, storages, nodes and names after a step."""

    storages: dict[str, Memory] = field(default_factory=dict)
    tensors: dict[int, Look] = field(default_factory=dict)
    # maps the code that reaches a tensor, such as `layers[0].grad`, to the tensor's id
    names: dict[str, int] = field(default_factory=dict)
    saved: list[Saved] = field(default_factory=list)
    # for each node the operation, the line, and True if it has saved something
    nodes: list[tuple[str, int, bool]] = field(default_factory=list)
    allocated: int = 0
    reserved: int = 0
    numbered: int = 0  # the number of storages that the recorder has numbered so far
    running: list[str] = field(default_factory=list)  # the names of the functions that are running
    # maps the name of a numpy array to the storage whose memory it shares
    arrays: dict[str, str] = field(default_factory=dict)


_REGISTERED = ("_parameters", "_buffers", "_modules", "_sub_layers")


class Witness:
    """Records the state of memory before the first step and after each step."""

    def __init__(self, namespace: dict[str, Any], file: str) -> None:
        self.namespace, self.file = namespace, file
        self.moments: list[Moment] = []
        self._first: weakref.WeakKeyDictionary[Node, dict[int, bytes]] = weakref.WeakKeyDictionary()

    def look(self, ledger: Ledger) -> None:
        """Record the state now."""
        now = Moment(allocated=cpu_meter.allocated)
        things = [each for each in gc.get_objects() if isinstance(each, (Storage, mt.Tensor, Node))]
        for storage in [each for each in things if isinstance(each, Storage) and not hasattr(each, "of")]:
            entry = ledger.storages.entries.get(ledger.engine.key(storage))
            if entry is not None:
                numbers = host_array(storage.buffer)
                block = ledger.engine.block(storage)
                for name, value in self.namespace.items():
                    if isinstance(value, np.ndarray) and np.may_share_memory(value, numbers):
                        now.arrays[name] = entry.id
                now.storages[entry.id] = Memory(
                    storage.version, storage.buffer.nbytes, block.counted, numbers.tobytes(), storage.buffer.size
                )
        for x in [each for each in things if isinstance(each, mt.Tensor)]:
            below = getattr(x._storage, "of", x._storage)
            entry = ledger.storages.entries.get(ledger.engine.key(below))
            if entry is None or entry.id not in now.storages:
                continue
            node, array = peek(x), x._array
            start = address_of(array) - address_of(below.buffer) if array.size else 0
            look = Look(
                entry.id,
                (array.shape, array.strides, start),
                id(x._history) if x._history is not None else 0,
                node is not None,
                node is None or type(node) is Leaf,
                host_array(array).tolist(),
            )
            now.tensors[id(x)] = look
            now.storages[entry.id].tensors.add(id(x))
        for node in [each for each in things if isinstance(each, Node) and type(each) is not Leaf]:
            keeps = [] if node.saved is FREED or not node.saved else list(node.saved)
            triples = [one for one in keeps if type(one) is tuple and len(one) == 3 and isinstance(one[1], Storage)]
            now.nodes.append((node.op.name, node.place.line, any(one[1].buffer.size for one in triples)))
            for i, saved in enumerate(triples):
                entry = ledger.storages.entries.get(ledger.engine.key(saved[1]))
                version = saved[2] if isinstance(saved[2], int) else getattr(saved[2], "version", -1)
                if entry is not None:
                    there = host_array(saved[0]).tobytes()
                    same = self._first.setdefault(node, {}).setdefault(i, there) == there
                    now.saved.append(Saved(node.op.name, node.place.line, entry.id, version, is_intact(saved), same))
        del things
        for path, value in self._reachable(self.namespace):
            now.names.setdefault(path, id(value))
        frame, own = sys._getframe(1), []
        while frame is not None:
            if frame.f_code.co_filename == self.file and frame.f_code.co_name != "<module>":
                own.append(frame)
            frame = frame.f_back
        counts: dict[str, int] = {}
        for frame in reversed(own):
            name = frame.f_code.co_name
            counts[name] = counts.get(name, 0) + 1
            now.running.append(name)
            place = name if counts[name] == 1 else f"{name} ({counts[name]})"
            for path, value in self._reachable(local_variables(frame)):
                now.names[f"{path} in {place}"] = id(value)
        del frame, own
        gpus = ledger.engine.gpus()
        now.numbered = ledger.journal._counts.get("", 0)
        now.reserved = sum(gpu.counters().reserved for gpu in gpus)
        self.moments.append(now)

    def _reachable(self, values: dict[str, Any], depth: int = 3) -> Iterator[tuple[str, Any]]:
        """Yield the tensors that can be reached from names, each with the code that reaches it."""
        for name, value in list(values.items()):
            if name.startswith("__") or isinstance(value, (types.ModuleType, type)):
                continue
            yield from self._below(name, value, depth)

    def _below(self, path: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
        if isinstance(value, mt.Tensor):
            yield path, value
            node = peek(value)
            box = getattr(getattr(value, "_extra", None), "box", None)
            gradient = node.saved if type(node) is Leaf else box.gradient if box is not None else None
            if isinstance(gradient, mt.Tensor):
                yield f"{path}.grad", gradient
            return
        if depth == 0:
            return
        if isinstance(value, (list, tuple)):
            for i, each in enumerate(value):
                yield from self._below(f"{path}[{i}]", each, depth - 1)
        elif isinstance(value, dict):
            for key, each in value.items():
                yield from self._below(f"{path}[{key!r}]", each, depth - 1)
        elif isinstance(value, types.FunctionType):
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
                try:
                    inside = cell.cell_contents
                except ValueError:
                    continue
                for found, x in self._below(name, inside, depth - 1):
                    yield f"{found} in {path}", x
        elif isinstance(value, types.GeneratorType):
            if value.gi_frame is not None:
                for name, each in local_variables(value.gi_frame).items():
                    for found, x in self._below(name, each, depth - 1):
                        yield f"{found} in {path}", x
        elif hasattr(value, "__dict__"):
            for name, each in list(vars(value).items()):
                # a layer stores its parameters in these dicts and shows them as attributes
                if name in _REGISTERED and isinstance(each, dict):
                    for own, one in each.items():
                        yield from self._below(f"{path}.{own}", one, depth - 1)
                else:
                    yield from self._below(f"{path}.{name}", each, depth - 1)


_frozen = 0  # how many contexts of `existing_objects_ignored` are active; `gc.get_freeze_count()` would be slower


@contextmanager
def existing_objects_ignored() -> Iterator[None]:
    """Ignore objects that exist before the recording, so that each of many recordings starts quickly."""
    global _frozen
    gc.collect()
    gc.freeze()
    _frozen += 1
    try:
        yield
    finally:
        _frozen -= 1
        if not _frozen:
            gc.unfreeze()


@contextmanager
def watched(namespace: dict[str, Any], file: str) -> Iterator[Witness]:
    """Yield a witness of the recording inside the ``with`` block."""
    witness = Witness(namespace, file)
    finish, begin = Steps.finish, Recorder.begin

    def finish_and_look(self: Steps, *arguments: Any, **settings: Any) -> None:
        steps = len(self.recorded)
        finish(self, *arguments, **settings)
        if len(self.recorded) > steps:
            witness.look(self.ledger)

    def begin_and_look(self: Recorder) -> None:
        begin(self)
        witness.look(self.ledger)

    with pytest.MonkeyPatch.context() as patched, existing_objects_ignored():
        patched.setattr(Steps, "finish", finish_and_look)
        patched.setattr(Recorder, "begin", begin_and_look)
        yield witness


# ---------- sentences ----------


@dataclass
class Said:
    """A sentence, and the states before and after its step."""

    line: int
    text: str
    before: Moment
    after: Moment
    source: list[str]
    then: Moment | None  # the state after the next step
    error: str = ""  # the error that the step raised

    def storage(self, number: str) -> Memory | None:
        return self.after.storages.get(number)

    def named(self, name: str) -> Look | None:
        """Return the tensor of a name after the step."""
        key = self.after.names.get(name)
        return self.after.tensors.get(key) if key is not None else None

    def was(self, name: str) -> Look | None:
        key = self.before.names.get(name)
        return self.before.tensors.get(key) if key is not None else None


def amount(text: str) -> tuple[float, float]:
    """Return the bytes of a text such as ``36 bytes`` or ``1.5 KiB``, and the largest rounding error."""
    number, unit = text.split()
    power = {"byte": 0, "bytes": 0, "B": 0, "KiB": 1, "MiB": 2, "GiB": 3}[unit]
    return float(number.replace(",", "")) * 1024**power, 0.06 * 1024**power if power else 0


def is_amount(text: str, nbytes: float) -> bool:
    reported, within = amount(text)
    return abs(reported - nbytes) <= within


Rule = Callable[[Said, re.Match[str]], bool]
RULES: list[tuple[re.Pattern[str], Rule]] = []

_PARTS = {
    "S": r"storage (\d+)",
    "N": r"`([^`]+)`",
    "A": r"(`[^`]+`(?:, `[^`]+`)*(?: and `[^`]+`)?)",
    "B": r"([\d,.]+ (?:bytes?|KiB|MiB|GiB))",
    "C": r"(all [\d,]+ cells|the one cell|no cell|[\d,]+ cells?|cells? [\d,]+(?: to [\d,]+)?)",
    "#": r"(\d+)",
    "L": r"`[^`]+` \((?:line \d+|earlier)\)",
    "G": r"(\[.*\]|[-\d.e]+|inf|nan)",
}


def rule(*texts: str) -> Callable[[Rule], Rule]:
    """Register a function that judges the clauses in ``texts``. In them, ``<S>`` stands for the number of a storage,
    ``<N>`` for code, and ``<B>`` for bytes.
    """

    def add(judge: Rule) -> Rule:
        for text in texts:
            pattern = re.sub(r"<(.)>", lambda m: _PARTS[m[1]], text)
            RULES.append((re.compile(pattern), judge))
        return judge

    return add


_BETWEEN = (
    r"(?<=[.]) (?=[A-Z`]|\d+ (?:storages|of them|operations) |[\d.]+ \w+ (?:was|were) copied)"
    r"|; then (?=`|line|it raises)|(?<=[.\w`)]); (?=storage |\d+ operations|`)"
)


def clauses(text: str) -> list[str]:
    """Return the claims of a sentence."""
    text = text.removeprefix("Again, ")
    text = text[:1].upper() + text[1:]
    parts = re.split(_BETWEEN, text)
    found = []
    for part in parts:
        part = re.sub(r"^Line \d+: (?=`|another)", "", part).rstrip(".")
        found += [each for each in re.split(r", and (?=storage \d+ is freed|its local names)", part)]
    return found


def holds(judge: Rule, said: Said, match: re.Match[str]) -> bool:
    """True if the claim is true; false if it mentions an object that does not exist."""
    try:
        return judge(said, match)
    except (AttributeError, KeyError, TypeError):
        return False


def judged(said: Said) -> Iterator[str]:
    """Yield the claims that are false, and those for which no rule exists."""
    for clause in clauses(said.text):
        for pattern, judge in RULES:
            match = pattern.fullmatch(clause)
            if match is not None:
                if not holds(judge, said, match):
                    yield f"false: {clause}"
                break
        else:
            yield f"unknown: {clause}"


def observed_sentences(program: str, namespace: dict[str, Any] | None = None, **settings: Any) -> list[Said]:
    """Return the sentences of a recording of ``program``, with the states before and after each step.

    Raises:
        AssertionError: if the recording ended early.
    """
    file = "<true?>"
    namespace = {"__name__": "__main__", "mt": mt} if namespace is None else namespace
    with watched(namespace, file) as witness:
        variant = record.run(program, namespace, file=file, **settings).variant
    steps, moments = variant["steps"], witness.moments
    assert not variant["truncated"], variant["truncated"]
    if len(moments) == 1:
        moments = moments * 2  # no statement ran, and one sentence says so
    assert len(moments) == len(steps) + 1
    said = []
    for k, step in enumerate(steps):
        then = moments[k + 2] if k + 2 < len(moments) else None
        error = next((event["text"] for event in step["events"] if event["do"] == "raise"), "")
        said.append(Said(step["line"], step["say"], moments[k], moments[k + 1], variant["code"], then, error))
    return said


def false_sentences(program: str) -> tuple[int, list[str]]:
    """Return the number of steps in a recording of ``program``, and its false sentences with their lines."""
    steps = observed_sentences(program)
    return len(steps), [f"line {said.line}: {wrong} | {said.text}" for said in steps for wrong in judged(said)]
