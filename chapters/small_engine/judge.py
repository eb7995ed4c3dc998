"""Run every short program over a small vocabulary on an engine, and judge it: right, refused or wrong.

    python judge.py engine.py                              all programs of at most two statements
    python judge.py engine.py --show                       and the first program of each fault, with its numbers
    python judge.py engine.py --also "{0}.sqrt_()"         with one more statement
    python judge.py engine.py --length 3 --vocabulary wide

A program is Python text and runs twice: on the engine, and on numpy's arrays of complex numbers. Those numbers are
x + i STEP d, so that the imaginary parts have the derivative in the direction d, and keep it if numpy moves, views or
overwrites a number. This reference has no history, saves nothing, and has no rule for views that could be wrong.
"""

import argparse
import functools
import importlib.util
import itertools
from collections import Counter

import numpy as np

X = np.array([0.31, 0.83, 0.57, 0.22])
DIRECTION = np.array([0.74, -1.31, 0.92, 1.17])  # in this direction a wrong gradient does not look right by chance
STEP = 1e-30  # the error of the derivative is of the order STEP squared, far below rounding
LARGEST = 1e3  # programs with larger numbers are skipped, because rounding hides their gradients

SMALL = """{0}[:2] | {0}[1:] | {0}[::2] | {0}[0] | {0}.detach() | {0} * {1} | {0}.exp() |
           {0}.exp_() | {0}.scale_(2.0, 0.5) | {0}.add_({1}) | {0}.multiply_({1}) | {0}[0] = 0.7 | {0}[:] = {1}"""
WIDE = SMALL + " | {0} + {1} | {0}.sin_() | {0}.reshape(2, 2)"
VOCABULARIES = {"small": SMALL, "wide": WIDE}


# ---------- the reference ----------


class NoSense(Exception):
    """The statement does not apply: shapes do not fit, the result is empty, or the write must not affect a gradient."""


class LeafWritten(Exception):
    """The statement overwrites the leaf. An engine must refuse it."""


class Exact(np.ndarray):
    """numpy's array with the engine's names; numpy decides which results are views and which cells are overwritten."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array, complex).view(Exact)  # complex even if all operands are detached

    def __getitem__(self, key):
        return super().__getitem__((key, ...))  # "...": an array even for one number

    def __setitem__(self, key, value):
        if isinstance(value, Exact) and value.shape != self[key].shape:
            raise NoSense
        self[key].write(value)

    def write(self, numbers):
        """Overwrite the whole array."""
        if np.shape(numbers) not in ((), self.shape) or not np.iscomplexobj(self):
            raise NoSense  # a detached alias is real; a write through it must not affect a gradient
        if not self.flags.writeable:
            raise LeafWritten
        np.copyto(self, numbers)

    def detach(self):
        """Return the same memory without the derivatives."""
        return self.real


NAMES = ("add", "subtract", "multiply", "divide", "exp", "log", "sin", "cos", "tanh", "sqrt")
FUNCTIONS = {**{name: getattr(np, name) for name in NAMES}, "scale": lambda x, factor, bias: x * factor + bias}
for name, function in FUNCTIONS.items():
    setattr(Exact, name, lambda x, *others, function=function: function(x, *others))
    setattr(Exact, name + "_", lambda x, *others, function=function: x.write(function(x, *others)))


# ---------- programs ----------


@functools.cache
def compiled(statement):
    """Return the statement as code, compiled once for all programs."""
    return compile(statement, statement, "exec")


def run(program, x):
    """Return the tensors after the program, by name. It begins with a leaf and a tensor computed from it."""
    names = {"x": x, "a": x * 1.0}
    for statement in program:
        exec(compiled(statement), {}, names)
    return names


def exactly(program, direction=DIRECTION):
    """Return the arrays after the program on the reference; None if it overwrites the leaf."""
    x = (X + STEP * 1j * direction).view(Exact)
    x.flags.writeable = False
    try:
        names = run(program, x)
    except LeafWritten:
        return None
    except (ValueError, IndexError) as error:
        raise NoSense from error
    for array in map(np.asarray, names.values()):
        if array.size == 0 or not np.abs(array).max() <= LARGEST or np.abs(array.imag).max() > STEP**0.5:
            raise NoSense  # an imaginary part that is not tiny: the square root or logarithm of a negative number
    return names


def writes(statement):
    """True if a statement overwrites numbers."""
    return "_(" in statement or "] =" in statement


def statements(vocabulary, names):
    """Yield every statement of the vocabulary over these names. A result gets the next letter."""
    for template in map(str.strip, vocabulary.split("|")):
        for operands in itertools.product(names, repeat=2 if "{1}" in template else 1):
            statement = template.format(*operands)
            yield statement if writes(statement) else f"{'abcdefg'[len(names) - 1]} = {statement}"


def programs(length, vocabulary=SMALL):
    """Yield all programs of up to ``length`` statements that write, the short ones first, with their exact numbers."""
    level = [((), ("x", "a"))]
    for _ in range(length):
        longer = []
        for program, names in level:
            for statement in statements(vocabulary, names):
                try:
                    longer.append(((*program, statement), exactly((*program, statement))))
                except NoSense:
                    continue
        yield from (each for each in longer if any(map(writes, each[0])))
        level = [each for each in longer if each[1] is not None]


# ---------- the verdict ----------


@functools.cache
def weights(number, shape):
    """Return a weight for each number of a tensor; ``number`` is the position of the tensor in the program."""
    return 1 + 0.5 * np.cos(number + 1.7 * np.arange(np.prod(shape, dtype=int))).reshape(shape)


def total(names):
    """Return a weighted sum of all numbers of all names, with a different weight for each."""
    return sum((tensor * weights(number, tuple(tensor.shape))).sum() for number, tensor in enumerate(names.values()))


def ran(engine, program):
    """Return the numbers by name and the gradient of x after a program, or the exception that stopped it."""
    try:
        x = engine.tensor(X, stop_gradient=False)
        names = run(program, x)
        total(names).backward()
        gradient = None if x.grad is None else np.asarray(x.grad)
        return {name: np.asarray(tensor.numpy()) for name, tensor in names.items()}, gradient
    except Exception as error:
        return error


def verdict(engine, program, expected):
    """Run a program on an engine, and return "right", "refused", "crashed" or "wrong".

    engine: it has `tensor(data, stop_gradient=False)`, and its tensors have the statements, `numpy()`, `backward()` and
            `grad`. It refuses with a ValueError or a RuntimeError; any other exception is a crash.
        expected: the exact numbers by name, or None if the leaf is overwritten.
    """
    found = ran(engine, program)
    if isinstance(found, Exception):
        is_refusal = isinstance(found, ValueError | RuntimeError) and not isinstance(found, RecursionError)
        return "refused" if is_refusal else "crashed"
    if expected is None:
        return "wrong"
    numbers, gradient = found
    derivative = np.asarray(total(expected)).imag / STEP
    right = np.shape(gradient) == X.shape and np.isclose(gradient @ DIRECTION, derivative, rtol=1e-9, atol=1e-9)
    return "right" if right and same(numbers, expected) else "wrong"


def same(numbers, expected):
    """True if an engine's numbers are the exact ones."""
    exact = {name: np.asarray(array).real for name, array in expected.items()}
    return all(numbers[name].shape == exact[name].shape and np.allclose(numbers[name], exact[name]) for name in exact)


def judge(engine, judged, first=None):
    """Count the programs that are right, refused and wrong; "leaf" counts those that overwrite the leaf and ran.

    A program that crashes is refused, and "crashed" counts it too. The dict `first` gets one program of each kind.
    """
    count = Counter(right=0, refused=0, wrong=0, leaf=0)
    for program, expected in judged:
        kind = found = verdict(engine, program, expected)
        if found == "crashed":
            count["crashed"] += expected is not None
            found = "refused"
        if expected is not None or found == "wrong":
            count[found if expected is not None else "leaf"] += 1
        if first is not None and (kind != "refused" or expected is not None):
            kind = "leaf" if expected is None and kind == "wrong" else kind
            first.setdefault(kind, (program, expected))
    return dict(count)


# ---------- the command line ----------

FIRST = "The first program that {}:\n{}"
FAULTS = {
    "wrong": "is silently wrong",
    "leaf": "overwrites the leaf x without an error",
    "crashed": "crashes, which counts as refused",
    "refused": "is refused",
}


def shown(engine, program, expected):
    """Return a program with the numbers of an engine and the exact ones, or with the error."""
    lines = [f"x = tensor({X.tolist()}, stop_gradient=False)", "a = x * 1.0", *program]
    found = ran(engine, program)
    if isinstance(found, Exception):
        return "\n".join([*lines, f"  {type(found).__name__}: {found}"])
    numbers, gradient = found
    lines.append(f"  gradient of x       {rounded(gradient)}")
    if expected is None:
        return "\n".join(lines)
    exact = [np.asarray(total(exactly(program, unit))).imag / STEP for unit in np.eye(X.size)]
    lines.append(
        f"  exactly             {rounded(exact)}   (x.grad after the weighted sum of all numbers of all tensors)"
    )
    for name, array in expected.items():
        if not same(numbers, {name: array}):
            lines += [
                f"  {name:<20}{rounded(numbers[name])}",
                f"  exactly             {rounded(np.asarray(array).real)}",
            ]
    return "\n".join(lines)


def rounded(numbers):
    """Return numbers as text with four digits, or "None"."""
    return "None" if numbers is None else np.array2string(np.asarray(numbers, float), precision=4, separator=", ")


def main():
    """Judge the file that the command line names, and print the counts."""
    parser = argparse.ArgumentParser(description="Judge an engine by every short program.")
    parser.add_argument("engine", help="a Python file")
    parser.add_argument("--length", type=int, default=2, help="the most statements of a program")
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="small")
    parser.add_argument("--also", metavar="STATEMENTS", help="more statements, as in '{0}.sqrt_() | {0}[::-1]'")
    parser.add_argument("--show", action="store_true", help="print the first program of each fault, with its numbers")
    chosen = parser.parse_args()
    vocabulary = VOCABULARIES[chosen.vocabulary] + (f" | {chosen.also}" if chosen.also else "")
    specification = importlib.util.spec_from_file_location("engine", chosen.engine)
    engine = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(engine)
    np.seterr(all="ignore")  # programs with infinite numbers are skipped
    first = {}
    try:
        print(judge(engine, programs(chosen.length, vocabulary), first))
    except (AttributeError, IndexError, KeyError, NameError, SyntaxError, TypeError, ValueError) as error:
        known = ", ".join(FUNCTIONS)
        parser.error(
            f"--also {chosen.also!r}: {error}. Allowed are names of numpy's arrays, and {known}, with or without _"
        )
    for kind, title in FAULTS.items():
        if kind in first and (chosen.show or kind == "crashed"):
            print("\n" + FIRST.format(title, shown(engine, *first[kind])))


if __name__ == "__main__":
    main()
