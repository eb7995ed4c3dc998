"""Test that the help of a function agrees with its calls on mixed dtypes, and names only arguments and public names."""

from __future__ import annotations

import ast
import builtins
import inspect
import itertools
import keyword
import re
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitensor as mt
from minitensor import torch
from minitensor.engine.operations import FUNCTIONS as PADDLES
from minitensor.engine.table import ROWS
from minitensor.engine.table.rows import names_in
from minitensor.torch.compiling import FUNCTIONS as PYTORCHS

# ---------- mixed dtypes ----------

SHAPES = ((2, 2), (1, 2, 2), (2,), ())
#: Kinds of arguments for required parameters that are not tensors of numbers (see ``argument``).
OTHERS: tuple[Any, ...] = (0, 1.0, "index", "mask", "indices")
DTYPES = (torch.float32, torch.int64, torch.bool)
#: Functions that treat a tensor without dimensions as a number.
NUMBERS = {"linspace", "logspace", "arange", "full", "roll"}
#: Phrases of the help about operands of two dtypes.
PROMOTED, WITH_FLOATS = "Two dtypes are promoted to one", "a float dtype wins over integers"
SAME, CONVERTED = "must have the same dtype", "They are converted to the dtype of"


def argument(kind: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a tensor of ones, an index, a mask or a tuple of indices if ``kind`` names one, else ``kind``."""
    if kind == "tensor":
        return torch.ones(shape).to(dtype)
    if kind == "index":
        return torch.zeros(shape).long()
    if kind == "mask":
        return torch.ones(shape).bool()
    return (torch.zeros(1).long(),) if kind == "indices" else kind


def accepted(call: Callable[..., Any], count: int) -> tuple[list[Any], tuple[int, ...], Any] | None:
    """Return arguments that ``call`` accepts: a list of their kinds, a shape and a dtype.

    At least two of the kinds are tensors of numbers. Return None if ``call`` accepts no such arguments.
    """
    tried = itertools.product(*[("tensor", *OTHERS)] * count)
    for kinds in sorted(tried, key=lambda each: -each.count("tensor")):
        if kinds.count("tensor") < 2:
            return None
        for shape, dtype in itertools.product(SHAPES, DTYPES):
            try:
                call(*(argument(kind, shape, dtype) for kind in kinds))
            except Exception:
                continue
            return list(kinds), shape, dtype
    return None


def required(function: Any) -> int:
    """Return the number of parameters that have no default, or 0 if the function has no signature."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    return sum(each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD for each in found)


def functions() -> Iterator[tuple[str, Any]]:
    """Yield names and objects: minitensor.torch's functions and in-place methods with 2 to 4 required parameters."""
    for space in (torch, torch.nn.functional, torch.Tensor):
        for name in sorted(dir(space)):
            function = None if name.startswith("_") else getattr(space, name, None)
            in_place = name.endswith("_")
            if name in NUMBERS:
                continue
            is_function = callable(function) and not isinstance(function, type)
            if is_function and (in_place or space is not torch.Tensor) and 2 <= required(function) <= 4:
                yield f"{space.__name__.removeprefix('minitensor.')}.{name}", function


FUNCTIONS = dict(functions())


@pytest.fixture(scope="module")
def tried() -> dict[str, list[tuple[Any, Any, Any]]]:
    """Map each function to its calls: for each the dtype of all operands but one, the dtype of this operand, and the
    result or the error.
    """
    found: dict[str, list[tuple[Any, Any, Any]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in FUNCTIONS.items():
            base = accepted(function, required(function))
            if base is None:
                continue
            kinds, shape, dtype = base
            places = [i for i, kind in enumerate(kinds) if kind == "tensor"]
            answers = found[name] = []
            for other, place in itertools.product((torch.float32, torch.float64, torch.int64, torch.int32), places[1:]):
                if other is dtype:
                    continue
                given = [argument(kind, shape, dtype) for kind in kinds]
                given[place] = given[place].to(other)
                try:
                    answers.append((dtype, other, function(*given)))
                except Exception as error:
                    answers.append((dtype, other, error))
    return found


def test_operations_of_several_tensors_were_tried(tried: Any):
    assert len(tried) > 120
    assert {"torch.addmm", "torch.baddbmm", "torch.lerp", "torch.heaviside", "torch.gcd", "torch.matmul"} < set(tried)
    assert {"torch.index_add", "torch.scatter", "torch.masked_scatter", "torch.index_put"} < set(tried)


def test_a_function_that_refuses_mixed_dtypes_names_the_error_and_promises_no_promotion(tried: Any):
    wrong = {}
    for name, answers in tried.items():
        text = inspect.getdoc(FUNCTIONS[name]) or ""
        raises = text.partition("Raises:")[2]
        for dtype, other, answer in answers:
            if isinstance(answer, Exception):
                both_float = dtype.is_floating_point and other.is_floating_point
                if type(answer).__name__ not in raises:
                    wrong[name, dtype, other] = f"the help does not name {type(answer).__name__}"
                elif WITH_FLOATS in text or (PROMOTED in text and not other.is_floating_point):
                    wrong[name, dtype, other] = f"the help promises a promotion, but {answer!r}"
                elif CONVERTED in text and both_float:
                    wrong[name, dtype, other] = f"the help promises a conversion, but {answer!r}"
    assert wrong == {}


def test_a_function_that_promises_equal_dtypes_or_a_promotion_keeps_its_promise(tried: Any):
    wrong = {}
    for name, answers in tried.items():
        text = inspect.getdoc(FUNCTIONS[name]) or ""
        for dtype, other, answer in answers:
            if SAME in text and not isinstance(answer, Exception):
                wrong[name, dtype, other] = "accepted"
            if PROMOTED in text and isinstance(answer, torch.Tensor):
                joined = torch.bool if "; a bool tensor." in text else torch.promote_types(dtype, other)
                if answer.dtype is not joined and "of float32, if the operands hold integers" not in text:
                    wrong[name, dtype, other] = f"{answer.dtype} instead of {joined}"
    assert wrong == {}


# ---------- names ----------

VOCABULARIES = {"minitensor": (mt, PADDLES), "minitensor.torch": (torch, PYTORCHS)}
#: Names that the engine uses in its rules: helpers, and the operands and arguments of all rows.
INTERNAL = {
    name
    for row in ROWS.values()
    for expression in (*row.rules.values(), *row.marks.values())
    for name in (*names_in(expression), *row.operands, *row.argument_names)
}
#: Names in INTERNAL that also occur as English words in the gradient lines.
PROSE = {"above", "along", "below", "finite", "to", "where"}
GRADIENTS = "Gradient of each operand"


def public(module: Any) -> set[str]:
    """Return the names of a vocabulary's functions."""
    return {
        name for space in (module, module.nn.functional) for name in dir(space) if callable(getattr(space, name, None))
    }


def strange_names(text: str, has: set[str], marks: set[str], module: Any) -> set[str]:
    """Return names in the gradient lines, except arguments, functions, ``g``, ``out`` and the masks in ``marks``."""
    lines = text.partition(GRADIENTS)[2].partition("\n")[2]
    words = set(re.findall(r"\b[A-Za-z_]\w*\b", lines))
    called = set(re.findall(r"\b([A-Za-z_]\w*)\(", lines))
    suspicious = called | {word for word in words if "_" in word} | (words & INTERNAL - PROSE)
    return suspicious - has - marks - {"g", "out", "if", "else"} - public(module)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_gradient_lines_name_arguments_and_functions_of_their_vocabulary(vocabulary: str):
    module, table = VOCABULARIES[vocabulary]
    found, lines = {}, 0
    for name in table:
        text, marks = table[name].__doc__, set(table.forms[name].row.marks)
        lines += GRADIENTS in text
        found[name] = strange_names(text, set(inspect.signature(table[name]).parameters), marks, module)
    assert lines > 150 and {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_calls_in_gradient_lines_fit_the_functions(vocabulary: str):
    """A call has no more arguments than the public function, and each name of a parameter is at its position."""
    module, table = VOCABULARIES[vocabulary]
    wrong, count = {}, 0
    for name in table:
        for line in table[name].__doc__.partition(GRADIENTS)[2].splitlines()[1:]:
            for call in calls_in(line.partition(": ")[2] or line.partition(" is ")[2]):
                function = getattr(module, ast.unparse(call.func), None) or getattr(
                    module.nn.functional, ast.unparse(call.func)
                )
                names = list(inspect.signature(function).parameters)
                own = [ast.unparse(each) for each in call.args]
                count += 1
                if len(own) > len(names) or any(
                    each in names
                    and names.index(each) != i
                    and each not in ("input", "x", "y", "other", "values", "out")
                    for i, each in enumerate(own)
                ):
                    wrong[name, ast.unparse(call)] = names
    assert count > 100 and wrong == {}


def calls_in(line: str) -> list[ast.Call]:
    """Return the calls in a gradient line, or no calls if the line is not Python source."""
    try:
        return [each for each in ast.walk(ast.parse(line)) if isinstance(each, ast.Call)]
    except SyntaxError:
        return []


def test_internal_names_and_unknown_functions_are_reported():
    text = f"{GRADIENTS}:\n    input: matmul_left(g, other, shape, transpose_x)\n    other: g * cos(input) * depth"
    assert strange_names(text, {"input", "other"}, set(), torch) == {"matmul_left", "shape", "transpose_x", "depth"}


# ---------- names in back quotes ----------

SPACES = {"minitensor": mt, "minitensor.torch": torch}
#: Names in back quotes that are neither arguments nor found in a vocabulary: arguments of another overload, attributes
#: of another class, and names that the text itself explains.
EXPLAINED = {
    "minitensor create_parameter": {"XavierUniform"},
    "minitensor explain": {"explained", "error", "set_language"},
    "minitensor from_numpy": {"matrix", "memmap"},
    "minitensor save": {"state_dict"},
    "minitensor.torch arange": {"start", "end", "step"},
    "minitensor.torch load": {"storage"},
    "minitensor.torch randint": {"low", "high"},
    "minitensor.torch save": {"state_dict"},
    "minitensor.torch set_num_threads": {"MINITENSOR_NUM_THREADS"},
    "minitensor.torch smooth_l1_loss": {"d"},
}


def known_names(module: Any) -> set[str]:
    """Return all public names of a vocabulary, of Python, and of the modules and classes that a help text may name."""
    spaces = [module, module.Tensor, module.nn, module.nn.functional, module.autograd, builtins, keyword.kwlist]
    return {name for space in spaces for name in (space if isinstance(space, list) else dir(space))}


def quoted(text: str) -> set[str]:
    """Return the names in back quotes, without brackets or a module in front."""
    return {
        found.rpartition(".")[2] for found in re.findall(r"`([A-Za-z_][\w.]*)(?:\(\))?`", text) if "__" not in found
    }


@pytest.mark.parametrize("vocabulary", SPACES)
def test_names_in_back_quotes_are_arguments_or_public_names(vocabulary: str):
    module = SPACES[vocabulary]
    known, strange, count = known_names(module), {}, 0
    for space in (module, module.Tensor, module.nn.functional):
        for name in dir(space):
            function = None if name.startswith("_") else getattr(space, name, None)
            if not callable(function) or isinstance(function, (type, types.ModuleType)):
                continue
            names = quoted(inspect.getdoc(function) or "")
            count += len(names)
            names -= {*inspect.signature(function).parameters, "g", "out"} | known
            if names:
                strange[f"{vocabulary} {name}"] = names
    assert count > 300 and strange == {
        each: names for each, names in EXPLAINED.items() if each.startswith(f"{vocabulary} ")
    }
