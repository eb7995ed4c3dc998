"""Run a program on the engine and on the reference, statement by statement, and return the verdict.

After every statement all visible properties of every tensor are compared: values, shape, strides, offset, dtype,
version, shared memory, ``stop_gradient``, ``is_leaf``, the gradient, and which names refer to the same object.
Therefore, if a refused statement changed something, the comparison notices this immediately, or when a later gradient
is wrong. A program is *right*, or *refused* (the engine raised at least one error, each for a reason that the reference
also found); anything else is a ``Disagreement``.
"""

from __future__ import annotations

import gc
import re
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from random import Random
from types import CodeType

import numpy as np

from . import cells as c
from .calculus import OutsideDomain
from .dtypes import NAMES
from .generator import Generator
from .tensor import CellTensor
from .vocabulary import World

WORDS = {
    c.LEAF: "doesn't stop gradient can't use inplace strategy",
    c.SHAPE: "shape",
    c.STALE_BYTES: "wrapper_version_snapshot",
    c.STALE_VERSION: "wrapper_version_snapshot",
}


class Disagreement(Exception):
    """Raised if the engine is wrong. ``kind`` names the fault in one word; the message has the place and the expected
    value.
    """

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


class Invalid(Exception):
    """Raised if the program is invalid (a name is missing, or a shape does not fit), so that it has no verdict."""


@dataclass
class Outcome:
    """The result of one program.

    ``verdict`` is right, refused, wrong, idle (no gradient was requested), ended (a statement would have left the
    domain of its operation) or invalid.
    """

    program: list[str]
    verdict: str = "right"
    kind: str = ""
    message: str = ""
    refusals: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    attempted: list[str] = field(default_factory=list)
    statements_run: int = 0
    refused_at: list[int] = field(default_factory=list)
    tolerance: float = 1e-9


#: A number that is no part of a name or a string.
NUMBER = re.compile(r"(?<![\w'.])\d+(?:\.\d+)?")
#: The name by which a compiled statement finds its numbers.
NUMBERS = "_"
#: The names in a namespace that are not the program's.
HIDDEN = {"mt", "np", NUMBERS, "__builtins__"}


@lru_cache(maxsize=1 << 16)
def compiled(text: str) -> CodeType:
    """Compile a statement once, because many programs share it."""
    return compile(text, "<program>", "exec")


def without_numbers(text: str) -> tuple[CodeType, list[int | float]]:
    """Return the code of a statement without its numbers, and the numbers. Statements that differ only in their numbers
    share the code.

    Compiling is slow, and most statements differ from earlier ones in their numbers only. The body of a hook runs in
    a later statement, so it keeps its numbers.
    """
    if "lambda" in text:
        return compiled(text), []
    numbers: list[int | float] = []

    def named(found: re.Match[str]) -> str:
        numbers.append(float(found[0]) if "." in found[0] else int(found[0]))
        return f"{NUMBERS}[{len(numbers) - 1}]"

    return compiled(NUMBER.sub(named, text)), numbers


class Duel:
    """One program that runs on the engine and on the reference. ``engine`` is a module with minitensor's vocabulary."""

    def __init__(self, engine, policy: str, tolerance: float):
        # A program with mixed policies sets the first one in its first statement.
        self.world = World("2.6" if policy == "mixed" else policy)
        self.ours = {"mt": self.world, "np": np}
        self.theirs = {"mt": engine, "np": np}
        self.tolerance = tolerance
        self.refusals: list[str] = []
        self.allocated_before = allocated(engine)

    def step(self, text: str) -> bool:
        """Run one statement on both sides and compare them. Return True if it was executed, False if it was refused."""
        code, numbers = without_numbers(text)
        self.ours[NUMBERS] = self.theirs[NUMBERS] = numbers
        error = None
        try:
            exec(code, self.theirs)
        except Exception as raised:  # every error of an engine has to be judged
            error = raised.with_traceback(None)
            error.__context__ = None
        self.world.engine_error = error
        refused = self.run_reference(code)
        self.world.foreseen = None  # a refused operation did not use its precomputed result, and operands may change
        self.judge(error, refused)
        self.world.engine_error = None
        self.compare()
        return refused is None

    def run_reference(self, code) -> c.Refused | None:
        try:
            exec(code, self.ours)
        except c.Refused as refused:
            return refused
        except OutsideDomain:
            raise
        except Exception as bad:
            raise Invalid(f"the reference cannot run it: {bad!r}") from bad
        return None

    def judge(self, error: Exception | None, refused: c.Refused | None) -> None:
        if error is None and refused is None:
            return
        if error is None:
            raise Disagreement("accepted", f"continued where it must refuse: {refused}")
        if refused is None:
            raise Disagreement("unjustified", f"refused without a reason: {type(error).__name__}: {error}")
        fitting = [r for r in refused.refusals if isinstance(error, r.errors)]
        if not fitting:
            expected = " or ".join(sorted({e.__name__ for r in refused.refusals for e in r.errors}))
            raise Disagreement("error", f"{refused}: expected {expected}, not {type(error).__name__}: {error}")
        spoken = [r for r in fitting if WORDS.get(r, "") in str(error)]
        if not spoken:
            raise Disagreement("error", f"the message does not say that {refused}: {error}")
        if c.STALE_BYTES in spoken or c.STALE_VERSION in spoken:
            self.judge_versions(str(error))
        self.refusals.append(min(spoken, key=list(SEVERITY).index).reason)

    def judge_versions(self, message: str) -> None:
        """Check that the message about a stale tensor names possible versions, and that it says correctly whether bytes
        were lost.
        """
        named = re.search(r"tensor_version:(\d+) != wrapper_version_snapshot:(\d+)", message)
        reason = (c.STALE_VERSION if c.NOTHING_LOST in message else c.STALE_BYTES).reason
        if named is None or (int(named[1]), int(named[2]), reason) not in self.world.stale_versions:
            raise Disagreement("error", f"versions {sorted(self.world.stale_versions)} are stale, but: {message}")

    # ---- visible properties ---------------------------------------------------------------------------------

    def compare(self) -> None:
        named = {n: t for n, t in self.ours.items() if isinstance(t, CellTensor)}
        if self.theirs.keys() - HIDDEN != named.keys():
            raise Disagreement("names", f"names bound: {sorted(self.theirs.keys() - HIDDEN)}, expected {sorted(named)}")
        objects, memories = Pairs("tensor"), Pairs("memory")
        for name, ours in named.items():
            theirs = self.theirs[name]
            self.compare_tensor(name, ours, theirs)
            objects.match(name, id(ours), id(theirs))
            if ours.cells.size:  # both layouts are equal, so the reference's offset is also that of the engine
                start = theirs.data_ptr() - ours.cells.item(0) * ours.storage.values.itemsize
                memories.match(name, id(ours.storage), start)
        self.compare_memory(list(named.values()))

    def compare_memory(self, living: list[CellTensor]) -> None:
        """Check that the engine keeps the storages of all names and, if there is no graph, allocates no other byte."""
        now = allocated(self.theirs["mt"])
        if now is None:
            return
        gradients = [t.grad for t in living if t.grad is not None]
        storages = {id(t.storage): t.storage for t in (*living, *gradients)}
        expected, held = sum(s.values.nbytes for s in storages.values()), now - self.allocated_before
        graph = any(t.group.wants and t.group.leaf is not t for t in living)
        if held < expected or (held > expected and not graph):
            raise Disagreement("memory", f"{held} bytes are held, expected {'at least ' * graph}{expected}")

    def compare_tensor(self, name: str, ours: CellTensor, theirs) -> None:
        if looked_at(ours) != looked_at(theirs):
            for what, expected, actual in zip(LOOKED_AT, looked_at(ours), looked_at(theirs), strict=True):
                if expected != actual:
                    raise Disagreement(what, f"{name}.{what} is {actual}, expected {expected}")
        actual = theirs.numpy()
        if not ours.accepted.covers(ours, actual):
            if NAMES[ours.dtype] != theirs.dtype.name:
                raise Disagreement("dtype", f"{name}.dtype is {theirs.dtype.name}, expected {ours.dtype.name}")
            if ours.cells.size and ours.settled_cells is not ours.cells:
                self.compare_layout(name, ours, theirs)
                ours.settled_cells = ours.cells  # valid until the shape is changed in place
            self.compare_numbers(name, "value", ours.numpy(), actual)
            ours.accepted = c.Accepted.of(ours, actual)
        expected, actual = ours.grad, theirs.grad
        if expected is not None and actual is not None:
            if expected.inplace_version != actual.inplace_version:
                message = (
                    f"{name}.grad.inplace_version is {actual.inplace_version}, expected {expected.inplace_version}"
                )
                raise Disagreement("inplace_version", message)
            numbers = actual.numpy()
            if not ours.accepted_gradient.covers(expected, numbers):
                self.compare_numbers(name + ".grad", "gradient", expected.numpy(), numbers, expected.noise)
                ours.accepted_gradient = c.Accepted.of(expected, numbers)
        elif expected is not actual:
            wanted = None if expected is None else expected.numpy().tolist()
            raise Disagreement("gradient", f"{name}.grad is {actual}, expected {wanted}")

    @staticmethod
    def compare_layout(name: str, ours: CellTensor, theirs) -> None:
        """Check that offsets and strides are equal, except for strides of a dimension of size 1, which are never used.

        The memory order of a new result depends on the operands, as in numpy. The reference adopts the engine's order.
        """
        offset, shape, strides = c.layout(ours.cells)
        expected = [s for n, s in zip(shape, strides, strict=True) if n > 1]
        actual = [s for n, s in zip(shape, theirs.strides, strict=True) if n > 1]
        settled = expected == actual and offset == theirs.offset
        if not settled and not ours.storage.settled and theirs.offset == 0:
            settled = ours.rearrange(theirs.strides)
        ours.storage.settled = True
        if not settled:
            raise Disagreement(
                "layout",
                f"{name}: offset {theirs.offset}, strides {theirs.strides}; expected {offset}, {list(strides)}",
            )

    def compare_numbers(self, name: str, kind: str, expected: np.ndarray, actual: np.ndarray, noise=0.0) -> None:
        if expected.shape != actual.shape or expected.dtype != actual.dtype:
            raise Disagreement(
                kind, f"{name} is {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
            )
        if expected.size == 0 or expected.tobytes() == actual.tobytes():
            return
        if expected.dtype.kind in "iub":
            raise Disagreement(kind, f"{name} is {actual.tolist()}, expected {expected.tolist()}")
        expected, actual = expected.astype(np.float64), actual.astype(np.float64)
        allowed = self.tolerance * (1 + np.abs(expected).max() + np.max(noise))
        if not np.abs(expected - actual).max() <= allowed:  # also if it is NaN
            raise Disagreement(kind, f"{name} is {actual.tolist()}, expected {expected.tolist()}")


LOOKED_AT = ("shape", "stop_gradient", "is_leaf", "inplace_version")
looked_at = attrgetter(*LOOKED_AT)
SEVERITY = (c.ARGUMENT, c.LEAF, c.SHAPE, c.MISFIT, c.DTYPE, c.INDEX, c.OVERLAP, c.OWN_INPUT)
SEVERITY += (c.STALE_BYTES, c.STALE_VERSION, c.FREED, c.OTHER_SHAPE)


class Pairs:
    """Pairs of corresponding objects on both sides. The sides agree if each object has exactly one partner."""

    def __init__(self, what: str):
        self.what = what
        self.forward: dict[int, tuple[int, str]] = {}
        self.backward: dict[int, tuple[int, str]] = {}

    def match(self, name: str, ours: int, theirs: int) -> None:
        partner, first = self.forward.setdefault(ours, (theirs, name))
        if partner != theirs:
            raise Disagreement("sharing", f"{first} and {name} are one {self.what}, but not in the engine")
        partner, first = self.backward.setdefault(theirs, (ours, name))
        if partner != ours:
            raise Disagreement("sharing", f"{first} and {name} are one {self.what} in the engine, but must not be")


def allocated(engine) -> int | None:
    """Return the bytes that the engine reports, or None if it does not count."""
    cpu = getattr(getattr(engine, "device", None), "cpu", None)
    return None if cpu is None else cpu.memory_allocated()


def run_program(engine, rng: Random, policy: str, statements: int, dtypes: tuple[str, ...] = ()) -> Outcome:
    """Generate a program and run it statement by statement."""
    duel = Duel(engine, policy, 1e-9)
    writer = Generator(rng, duel.world, duel.ours, policy=policy, dtypes=dtypes)
    duel.tolerance = writer.tolerance
    outcome = Outcome([], tolerance=writer.tolerance)

    def perform():
        for text in writer.opening():
            run_statement(duel, outcome, text)
        for _ in range(statements):
            text = writer.statement()
            tags = writer.tags
            outcome.attempted += tags
            if run_statement(duel, outcome, text):
                outcome.tags += tags
        closing = writer.closing()
        for text in closing:
            run_statement(duel, outcome, text)
        if not closing:
            outcome.verdict = "idle"

    judged(engine, duel, outcome, perform)
    return outcome


def replay(engine, program: list[str], policy: str, tolerance: float) -> Outcome:
    """Run the statements of a given program."""
    duel = Duel(engine, policy, tolerance)
    outcome = Outcome([], tolerance=tolerance)

    def perform():
        for text in program:
            run_statement(duel, outcome, text)

    judged(engine, duel, outcome, perform)
    return outcome


def run_statement(duel: Duel, outcome: Outcome, text: str) -> bool:
    """Run one more statement; return True if it was executed."""
    outcome.program.append(text)
    done = duel.step(text)
    if not done:
        outcome.refused_at.append(outcome.statements_run)
    outcome.statements_run += 1
    return done


def judged(engine, duel: Duel, outcome: Outcome, perform) -> None:
    """Run ``perform`` without the garbage collector, and complete ``outcome``."""
    gc.disable()
    before = allocated(engine)
    try:
        with engine.set_inplace_policy(duel.world.policy):
            perform()
        if duel.refusals and outcome.verdict == "right":
            outcome.verdict = "refused"
    except OutsideDomain:
        outcome.verdict = "ended"
    except Invalid as invalid:
        outcome.verdict, outcome.message = "invalid", str(invalid)
    except Disagreement as wrong:
        outcome.verdict, outcome.kind, outcome.message = "wrong", wrong.kind, str(wrong)
    outcome.refusals = duel.refusals
    duel.theirs.clear()
    duel.world.engine_error = None
    after = allocated(engine)
    gc.enable()
    if after != before and outcome.verdict not in ("wrong", "invalid"):
        outcome.verdict, outcome.kind = "wrong", "memory"
        outcome.message = f"{after - before} bytes are still allocated after the last name is deleted"
