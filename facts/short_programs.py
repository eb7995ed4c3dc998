"""Record in short-programs.json what PyTorch and Paddle compute for each short program of chapter 15.

    python facts/short_programs.py torch                in an environment that has torch
    python facts/short_programs.py paddle
    python facts/short_programs.py torch --length 3     also judges longer programs, and records the counts
    python facts/short_programs.py minitensor --length 3     only the counts, for short-programs-minitensor.json

A program begins with a leaf `x` and `a = x * 1.0`; its statements are views and in-place operations on any of its
names. The exact gradient is computed with numpy alone: the numbers are complex, and the imaginary part of each is STEP
times its derivative. So if numpy copies or overwrites a number, its derivative is copied or overwritten too. This
computation needs no history, no saved values and no rule about views.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FILE = Path(__file__).with_name("short-programs.json")
OWN = FILE.with_name("short-programs-minitensor.json")
LENGTH = 2

X = [0.31, 0.83, 0.57, 0.22]
DIRECTION = np.array([0.74, -1.31, 0.92, 1.17])  # a direction in which a wrong gradient does not look right by chance
STEP = 1e-30  # so small that its square is negligible compared with every number
LARGEST = 1e3  # programs with larger numbers are left out, because rounding hides their gradients
CLOSE = 1e-9

#: Maps each statement, as Paddle and minitensor run it, to the same statement in numpy. For PyTorch see `IN_TORCH`.
STATEMENTS = {
    "{0}[:2]": "{0}[:2]",
    "{0}[1:]": "{0}[1:]",
    "{0}[::2]": "{0}[::2]",
    "{0}[0]": "{0}[0, ...]",  # a view; numpy's `{0}[0]` would be a number
    "{0}.detach()": "{0}.real",  # the same memory, without the derivatives
    "{0} * {1}": "{0} * {1}",
    "{0}.exp()": "numpy.exp({0})",
    "{0}.exp_()": "numpy.exp({0}, out={0})",
    "{0}.scale_(2.0, 0.5)": "{0}[...] = {0} * 2.0 + 0.5",
    "{0}.add_({1})": "numpy.add({0}, {1}, out={0})",
    "{0}.multiply_({1})": "numpy.multiply({0}, {1}, out={0})",
    "{0}[0] = 0.7": "{0}[0] = 0.7",
    "{0}[:] = {1}": "{0}[:] = {1}",
}
#: Statements whose operation has another name in PyTorch.
IN_TORCH = {".scale_(2.0, 0.5)": ".mul_(2.0).add_(0.5)"}

#: The number of characters that are enough to identify a message. Paddle adds a tensor's number after them.
MESSAGE_LENGTH = 40

Names = dict[str, Any]
Program = tuple[str, ...]


class Step(NamedTuple):
    """One statement: its entry in STATEMENTS, the names of its operands, and the name of its result or ""."""

    template: str
    operands: tuple[str, ...]
    result: str

    def __str__(self) -> str:
        text = self.template.format(*self.operands)
        return f"{self.result} = {text}" if self.result else text


#: A longer program. Its write reads a number that it has already overwritten, unless the library detects the overlap.
OVERLAP = Step("{0}[::2]", ("a",), "b"), Step("{0}[0]", ("a",), "c"), Step("{0}.add_({1})", ("b", "c"), "")


class NoSense(Exception):
    """Raised if a program is not part of the test.

    The reasons: shapes do not fit, a write goes through a detached alias, or a tensor is empty or has a number above
    LARGEST.
    """


def writes(statement: str) -> bool:
    """True if the statement overwrites numbers."""
    return "_(" in statement or "] =" in statement


@functools.cache
def compiled(statement: str) -> Any:
    """Return the statement as code, compiled once for all programs."""
    return compile(statement, statement, "exec")


def spelled(program: Program, library: str) -> Program:
    """Return the program as a user of the library writes it."""
    if library != "torch":
        return program
    return tuple(
        functools.reduce(lambda text, one: text.replace(*one), IN_TORCH.items(), statement) for statement in program
    )


# ---------- exact numbers ----------


def opening() -> Names:
    """Return the leaf and the tensor computed from it, with their derivatives along DIRECTION."""
    x = np.array(X) + 1j * STEP * DIRECTION
    return {"x": x, "a": x * 1.0}


def meant(program: Sequence[Step]) -> Names | None:
    """Map the name of each tensor to its exact numbers after a program; return None if the program overwrites the leaf.

    Raises:
        NoSense: if the program is not part of the test.
    """
    names, kept = opening(), True
    for template, operands, result in program:
        target, *others = (names[name] for name in operands)
        if not result and (not np.iscomplexobj(target) or any(t.shape not in ((), target.shape) for t in others)):
            raise NoSense  # a detached alias is real, and a write through it must not affect a gradient
        if "[:] =" in template and others[0].shape != target.shape:
            raise NoSense  # broadcast assignments are not part of the test
        meaning = STATEMENTS[template].format(*operands)
        try:
            exec(compiled(f"{result} = {meaning}" if result else meaning), {"numpy": np}, names)
        except (ValueError, IndexError) as error:
            raise NoSense from error
        if result:
            names[result] = np.asarray(names[result])
        elif np.shares_memory(target, names["x"]):
            kept = False
        if any(array.size == 0 or np.abs(array).max() > LARGEST for array in names.values()):
            raise NoSense
    return names if kept else None


def programs(length: int = LENGTH) -> Iterator[tuple[Program, Names | None]]:
    """Yield the programs of up to ``length`` statements with a write, short ones first, and their exact numbers.

    The numbers are None if the leaf is overwritten, which a library must refuse.
    """
    level: list[tuple[Step, ...]] = [()]
    for _ in range(length):
        longer = []
        for start in level:
            names = ["x", "a", *(step.result for step in start if step.result)]
            for step in steps(names):
                try:
                    exact_numbers = meant((*start, step))
                except NoSense:
                    continue
                if any(not each.result for each in (*start, step)):
                    yield tuple(map(str, (*start, step))), exact_numbers
                if exact_numbers is not None:
                    longer.append((*start, step))
        level = longer


def steps(names: Sequence[str]) -> Iterator[Step]:
    """Yield every statement over these names. Its result is named with the next letter."""
    for template in STATEMENTS:
        for operands in itertools.product(names, repeat=1 + ("{1}" in template)):
            yield Step(template, operands, "" if writes(template) else "abcdefg"[len(names) - 1])


def weights(number: int, shape: tuple[int, ...]) -> Any:
    """Return a weight for each number of a tensor, so that errors do not cancel out in the sum."""
    return 1 + 0.5 * np.cos(number + 1.7 * np.arange(np.prod(shape, dtype=int))).reshape(shape)


def exact(names: Names) -> tuple[float, float]:
    """Return the weighted sum of all numbers, and its derivative along DIRECTION."""
    total = sum((array * weights(number, array.shape)).sum() for number, array in enumerate(names.values()))
    return float(total.real), float(total.imag / STEP)


# ---------- answers of a library ----------


def answer(library: Any, program: Sequence[object], shown: str = "") -> dict[str, Any]:
    """Return the answer of a library: the weighted sum of all numbers and the gradient of `x`, or its refusal.

    Args:
        library: the module torch or paddle, or a module with the same names.
        program: the statements.
        shown: a name whose numbers are returned too; "" for none.
    """
    name, torch = library.__name__, library.__name__.endswith("torch")
    new = library.tensor if torch else library.to_tensor
    x = new(X, dtype=library.float64, **({"requires_grad": True} if torch else {"stop_gradient": False}))
    names = {"x": x, "a": x * 1.0}
    lines = [*spelled(tuple(map(str, program)), "torch" if torch else name), "backward"]
    for line in lines:
        try:
            if line != "backward":
                exec(compiled(line), {}, names)
                continue
            parts = [
                (tensor * new(weights(number, tuple(tensor.shape)), dtype=library.float64)).sum()
                for number, tensor in enumerate(names.values())
            ]
            total = functools.reduce(lambda one, other: one + other, parts)
            total.backward()
        except (RuntimeError, ValueError) as error:
            text = str(error).strip().splitlines()[0][:MESSAGE_LENGTH]
            return {"refused": line, "error": f"{type(error).__name__}: {text}"}
    numbers = {shown: [float(f"{n:.12g}") for n in names[shown].tolist()]} if shown else {}
    return numbers | {"sum": float(f"{total.item():.12g}"), "gradient": [float(f"{g:.12g}") for g in x.grad.tolist()]}


def verdict(answered: dict[str, Any], names: Names | None) -> str:
    """Return `right`, `refused` or `wrong`. A library that runs a program that overwrites the leaf is `wrong`."""
    if "refused" in answered:
        return "refused"
    if names is None:
        return "wrong"
    found = answered["sum"], np.array(answered["gradient"]) @ DIRECTION
    return "right" if np.allclose(found, exact(names), rtol=CLOSE, atol=CLOSE) else "wrong"


def counted(library: Any, length: int) -> dict[str, dict[str, int]]:
    """Count the programs that are right, refused and wrong, separately for those that overwrite the leaf."""
    count = {"leaf kept": Counter(right=0, refused=0, wrong=0), "leaf overwritten": Counter(refused=0, wrong=0)}
    for program, names in programs(length):
        count["leaf kept" if names is not None else "leaf overwritten"][verdict(answer(library, program), names)] += 1
    return {which: dict(each) for which, each in count.items()}


def record(library: str) -> dict[str, Any]:
    """Return the record of a library: its version, and its answer to each program."""
    module = importlib.import_module(library)
    return {
        "library": library,
        "version": module.__version__.partition("+")[0],
        "device": "CPU",
        "answers": {
            "; ".join(map(str, program)): answer(module, program, shown)
            for program, shown in [*((program, "") for program, _ in programs()), (OVERLAP, "b")]
        },
    }


def record_own(longest: int) -> None:
    """Count the verdicts on minitensor under two policies; chapter 15 runs the programs itself."""
    import minitensor

    counts = {}
    for policy in ("2.6", "copy_on_write"):
        with minitensor.set_inplace_policy(policy):
            counts[policy] = counted(minitensor, longest)
    command = f"python facts/short_programs.py minitensor --length {longest}"
    OWN.write_text(json.dumps({command: counts}, indent=1) + "\n", encoding="utf-8")


def main(library: str, longest: int) -> None:
    """Write the answers of a library to FILE, and the counts for each length above LENGTH, up to ``longest``."""
    records = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    new = record(library)
    key = f"{library} {new['version']}"
    new["counts"] = records.get(key, {}).get("counts", {})
    for length in range(LENGTH + 1, longest + 1):
        command = f"python facts/short_programs.py {library} --length {length}"
        new["counts"][command] = counted(importlib.import_module(library), length)
    records[key] = new
    FILE.write_text(json.dumps(dict(sorted(records.items())), separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    length = int(sys.argv[3]) if sys.argv[2:3] == ["--length"] else LENGTH
    record_own(length) if sys.argv[1] == "minitensor" else main(sys.argv[1], length)
