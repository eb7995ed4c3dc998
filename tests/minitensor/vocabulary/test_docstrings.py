"""Test that docstrings name only parameters that exist, and describe the shapes and errors that a call really has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitensor as mt
import minitensor.nn.functional
import minitensor.torch.nn.functional
from minitensor import torch
from minitensor.engine.operations import FUNCTIONS as PADDLES
from minitensor.torch.compiling import FUNCTIONS as PYTORCHS
from tools.build import ROOT

SPACES = {
    "minitensor": mt,
    "minitensor.Tensor": mt.Tensor,
    "minitensor.nn.functional": mt.nn.functional,
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn.functional": torch.nn.functional,
}


def functions_of(space: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(space):
        value = None if name.startswith("_") else getattr(space, name, None)
        if (
            callable(value)
            and not isinstance(value, type)
            and value.__module__.startswith(("minitensor", "memory_stage"))
        ):
            yield name, value


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


#: The names of all parameters of all functions.
EVERY = {name for space in SPACES.values() for _, function in functions_of(space) for name in parameters(function)}
#: Names that the docstring of a function mentions although they are parameters of another function.
OF_OTHERS = {("minitensor", "CUDAPlace"): {"place"}, ("minitensor.Tensor", "requires_grad_"): {"stop_gradient"}}


def mentioned(text: str) -> set[str]:
    """Return the names that a docstring has in backticks, or before a colon under ``Args:``."""
    found = set(re.findall(r"`([a-z_]\w*)`", text))
    for block in re.findall(r"^Args:\n((?: +.*\n?)+)", text, re.M):
        for names in re.findall(r"^    ([\w*, ]+):", block, re.M):
            found |= set(re.findall(r"\w+", names))
    return found


def unknown(space: str, name: str, function: Any) -> set[str]:
    has = parameters(function)
    if any(each.kind is each.VAR_KEYWORD for each in has.values()):
        return set()  # the function has **kwargs, and only its docstring lists their names
    return mentioned(inspect.getdoc(function) or "") & EVERY - set(has) - OF_OTHERS.get((space, name), set())


@pytest.mark.parametrize("space", SPACES)
def test_a_docstring_names_only_parameters_of_its_function(space: str):
    found = {name: unknown(space, name, function) for name, function in functions_of(SPACES[space])}
    assert len(found) > 20 and {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize("space", SPACES)
def test_every_function_has_a_docstring(space: str):
    assert [name for name, function in functions_of(SPACES[space]) if not inspect.getdoc(function)] == []


def test_a_documented_name_that_is_not_a_parameter_is_reported():
    def wrong(other):
        """Adds ``dim``.

        Args:
            axis, other: as their names suggest.
        """

    assert unknown("torch", "wrong", wrong) == {"dim", "axis"}


@pytest.mark.parametrize(
    ("vocabulary", "others"), [(PADDLES, {"input", "dim", "other"}), (PYTORCHS, {"x", "y", "axis", "arr"})]
)
def test_the_help_of_an_operation_uses_the_names_of_its_vocabulary(vocabulary: Any, others: set[str]):
    words = {name: set(re.findall(r"\b[a-z]\w*\b", vocabulary[name].__doc__)) for name in vocabulary}
    strange = {name: used & others - set(parameters(vocabulary[name])) for name, used in words.items()}
    prose = {"other", "input"}  # these parameter names are also English words
    assert {name: found - prose for name, found in strange.items() if found - prose} == {}


def test_help_on_add_names_its_parameters_shapes_dtypes_errors_and_gradients():
    text = torch.add.__doc__
    assert text.startswith("Elementwise sum of input and alpha * other.\n")
    assert list(parameters(torch.add))[:2] == ["input", "other"]
    for part in ("    input, other: tensors", "broadcast", "dtype", "RuntimeError: for shapes", "    other: g"):
        assert part in text
    assert "    x, y: tensors" in mt.add.__doc__ and "ValueError: for shapes" in mt.add.__doc__


@pytest.mark.parametrize("name", ["add_", "exp_", "relu_", "divide_", "equal_", "masked_fill_"])
def test_in_place_operations_raise_the_documented_errors(name: str):
    leaf = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    rest = {"add_": (1.0,), "divide_": (2.0,), "equal_": (leaf,), "masked_fill_": (leaf > 1, 0.0)}.get(name, ())
    assert "ValueError: for a leaf that requires a gradient" in getattr(mt.Tensor, name).__doc__
    with pytest.raises(ValueError, match="Leaf Var"):
        getattr(leaf, name)(*rest)


#: Files whose error messages quote the frameworks, which write `can not`.
THEIRS = {"torch/nn/init.py", "torch/nn/loss_functions.py", "torch/slicing_joining.py", "engine/views/reshaping.py"}


def test_cannot_is_one_word():
    files = [
        *ROOT.glob("minitensor/**/*.py"),
        *ROOT.glob("chapters/*.md"),
        *ROOT.glob("*.md"),
        *ROOT.glob("facts/*.py"),
    ]
    found = {str(path.relative_to(ROOT)) for path in files if re.search(r"\bcan\s+not\b", path.read_text(), re.I)}
    assert len(files) > 300 and found == {f"minitensor/{path}" for path in THEIRS}


@pytest.mark.parametrize("vocabulary", [PADDLES, PYTORCHS], ids=["Paddle's", "PyTorch's"])
def test_docstrings_describe_shapes_that_are_not_broadcast(vocabulary: Any):
    reported = [name for name in vocabulary if "Shapes: " in vocabulary[name].__doc__]
    rows = {name: vocabulary.forms[name].row for name in vocabulary}
    assert len(reported) > 20
    assert [
        name
        for name, row in rows.items()
        if not row.elementwise and len(row.operands) > 1 and "Shapes: " not in vocabulary[name].__doc__
    ] == []


@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod", "cumsum", "tril", "softmax", "renorm"])
def test_operations_raise_the_documented_errors_about_axes_and_shapes(name: str):
    axis = {"tril": {}, "renorm": {"p": 2.0, "max_norm": 1.0}}.get(name, {})
    function = getattr(mt, name, None) or getattr(mt.nn.functional, name)
    if "axis" in parameters(function):
        assert "IndexError: for axis that is not a dimension of x." in function.__doc__
        with pytest.raises(IndexError):
            function(mt.ones([2, 3]), axis=7, **axis)
    if "Shapes: x [..., n, m]" in function.__doc__:
        with pytest.raises(ValueError, match="two dimensions"):
            function(mt.ones([3]))


#: Calls with shapes that do not fit. `m` is the module of a vocabulary, `x` a matrix, and `i` a tensor of indices.
MISFITS = {
    "matmul": lambda m, x, i: m.matmul(x, x),
    "addmm": lambda m, x, i: m.addmm(x, x, x),
    "baddbmm": lambda m, x, i: m.baddbmm(x, x, x),
    "gather": lambda m, x, i: m.gather(x, i.reshape([1, 1, 2]), 0) if m is mt else m.gather(x, 0, i),
    "index_add": lambda m, x, i: m.index_add(x, i, 0, x) if m is mt else m.index_add(x, 0, i, x),
    "index_put": lambda m, x, i: m.index_put(x, (i,), m.ones([7])),
    "masked_scatter": lambda m, x, i: m.masked_scatter(x, x > 0, m.ones([2])),
    "masked_select": lambda m, x, i: m.masked_select(x, (m.ones([3]) > 0)),
    "scatter": lambda m, x, i: m.scatter(x, i, x) if m is mt else m.scatter(x, 0, i, x),
    "tril": lambda m, x, i: m.tril(m.ones([3])),
}


@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.parametrize(("module", "kind"), [(mt, ValueError), (torch, RuntimeError)], ids=["Paddle's", "PyTorch's"])
def test_shapes_that_a_docstring_does_not_allow_are_refused(name: str, module: Any, kind: type[Exception]):
    doc = (PADDLES if module is mt else PYTORCHS)[name].__doc__
    assert "Shapes: " in doc and f"{kind.__name__}: for other shapes." in doc
    index = mt.to_tensor([0, 1]) if module is mt else torch.tensor([0, 1])
    with pytest.raises(kind):
        MISFITS[name](module, module.ones([3, 4]), index)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_a_result_has_the_documented_shape(name: str):
    function, x = getattr(mt, name), mt.ones([2, 3])
    assert "without the reduced dimensions (with keepdim, they have length 1)" in function.__doc__
    assert function(x, axis=0).shape == [3] and function(x, axis=0, keepdim=True).shape == [1, 3]


#: Refused calls under PyTorch's names, with the type of the error, which the docstring of the function must name.
REFUSED = {
    "mm": (RuntimeError, lambda x: torch.mm(x, x)),
    "matmul": (RuntimeError, lambda x: torch.matmul(x, x)),
    "mv": (RuntimeError, lambda x: torch.mv(x, torch.ones(9))),
    "bmm": (RuntimeError, lambda x: torch.bmm(x, x)),
    "dot": (RuntimeError, lambda x: torch.dot(torch.ones(2), torch.ones(3))),
    "var": (RuntimeError, lambda x: torch.var(torch.tensor([1, 2]))),
    "std": (IndexError, lambda x: torch.std(x, 5)),
    "norm": (IndexError, lambda x: torch.norm(x, dim=5)),
    "log_softmax": (IndexError, lambda x: torch.log_softmax(x, 5)),
    "logsumexp": (IndexError, lambda x: torch.logsumexp(x, 5)),
    "cat": (RuntimeError, lambda x: torch.cat([x, torch.ones(2, 2)])),
    "stack": (RuntimeError, lambda x: torch.stack([x, torch.ones(1)])),
    "isclose": (RuntimeError, lambda x: torch.isclose(x, x.double())),
    "allclose": (RuntimeError, lambda x: torch.allclose(x, torch.ones(9))),
    "where": (RuntimeError, lambda x: torch.where(x, x, x)),
    "flip": (IndexError, lambda x: x.flip(5)),
    "roll": (IndexError, lambda x: x.roll(1, 5)),
    "argsort": (IndexError, lambda x: x.argsort(5)),
    "sort": (IndexError, lambda x: x.sort(5)),
    "trace": (RuntimeError, lambda x: torch.trace(torch.ones(3))),
    "diag": (RuntimeError, lambda x: torch.diag(torch.ones(1, 2, 3))),
    "argwhere": (TypeError, lambda x: torch.argwhere(3)),
    "clone": (RuntimeError, lambda x: torch.clone(x, memory_format=torch.channels_last)),
    "addcmul": (RuntimeError, lambda x: torch.addcmul(x, x, torch.ones(9))),
    "addcdiv": (RuntimeError, lambda x: torch.addcdiv(x, x, torch.ones(9))),
    "bincount": (NotImplementedError, lambda x: torch.bincount(x)),
    "reshape": (RuntimeError, lambda x: x.reshape(5)),
    "flatten": (RuntimeError, lambda x: x.flatten(1, 0)),
    "unflatten": (RuntimeError, lambda x: x.unflatten(0, (2, 2))),
    "squeeze": (IndexError, lambda x: x.squeeze(5)),
    "unsqueeze": (IndexError, lambda x: x.unsqueeze(5)),
    "transpose": (IndexError, lambda x: x.transpose(0, 5)),
    "permute": (RuntimeError, lambda x: x.permute(0, 0)),
    "t": (RuntimeError, lambda x: torch.ones(1, 2, 3).t()),
    "movedim": (IndexError, lambda x: x.movedim(0, 7)),
    "broadcast_to": (RuntimeError, lambda x: torch.broadcast_to(x, (5, 4))),
    "select": (IndexError, lambda x: x.select(0, 9)),
    "narrow": (RuntimeError, lambda x: x.narrow(0, 2, 5)),
    "split": (RuntimeError, lambda x: x.split([1, 1])),
    "chunk": (RuntimeError, lambda x: x.chunk(0)),
    "unbind": (IndexError, lambda x: x.unbind(6)),
    "diagonal": (IndexError, lambda x: torch.ones(3).diagonal()),
    "tensor": (ValueError, lambda x: torch.tensor([[1], [1, 2]])),
    "eye": (RuntimeError, lambda x: torch.eye(-1)),
    "linspace": (RuntimeError, lambda x: torch.linspace(0, 1, -1)),
    "randint": (RuntimeError, lambda x: torch.randint(3, 3, (2,))),
    "randperm": (RuntimeError, lambda x: torch.randperm(-1)),
    "bernoulli": (RuntimeError, lambda x: torch.bernoulli(x * 2)),
    "zeros": (RuntimeError, lambda x: torch.zeros(-1)),
    "ones": (TypeError, lambda x: torch.ones("a")),
    "full": (RuntimeError, lambda x: torch.full((2,), 1e30, dtype=torch.int64)),
    "zeros_like": (TypeError, lambda x: torch.zeros_like(3)),
    "full_like": (RuntimeError, lambda x: torch.full_like(torch.tensor([1]), 1e30)),
    "arange": (RuntimeError, lambda x: torch.arange(0, 1, 0)),
    "logspace": (RuntimeError, lambda x: torch.logspace(0, 1, -1)),
    "rand": (RuntimeError, lambda x: torch.rand(2, dtype=torch.int64)),
    "randn": (RuntimeError, lambda x: torch.randn(-1)),
    "rand_like": (RuntimeError, lambda x: torch.rand_like(torch.tensor([1]))),
    "randn_like": (TypeError, lambda x: torch.randn_like(3)),
    "normal": (RuntimeError, lambda x: torch.normal(0.0, -1.0, (2,))),
    "multinomial": (TypeError, lambda x: torch.multinomial(3, 1)),
    "manual_seed": (TypeError, lambda x: torch.manual_seed("a")),
    "all": (IndexError, lambda x: torch.all(x, 5)),
    "any": (TypeError, lambda x: torch.any(3)),
    "argmax": (IndexError, lambda x: torch.argmax(torch.ones(0))),
    "max": (RuntimeError, lambda x: torch.max(x, torch.ones(9))),
    "min": (IndexError, lambda x: torch.min(x, 5)),
    "count_nonzero": (TypeError, lambda x: torch.count_nonzero(3)),
    "nonzero": (TypeError, lambda x: torch.nonzero(3)),
    "numel": (TypeError, lambda x: torch.numel(3)),
    "is_floating_point": (TypeError, lambda x: torch.is_floating_point(3)),
    "equal": (TypeError, lambda x: torch.equal(x, 3)),
    "outer": (RuntimeError, lambda x: torch.outer(x, x)),
    "ravel": (TypeError, lambda x: torch.ravel(3)),
    "tile": (RuntimeError, lambda x: torch.tile(x, -1)),
    "topk": (IndexError, lambda x: torch.topk(x, 1, 7)),
    "unique": (IndexError, lambda x: torch.unique(x, dim=5)),
    "clamp_min": (TypeError, lambda x: torch.clamp_min(x, "a")),
    "polygamma": (RuntimeError, lambda x: torch.polygamma(-1, x)),
    "logit": (RuntimeError, lambda x: torch.logit(x, 2)),
    "renorm": (RuntimeError, lambda x: torch.renorm(x, -1, 0, 1)),
    "nan_to_num": (TypeError, lambda x: torch.nan_to_num(x, "a")),
    "round": (TypeError, lambda x: torch.round(x, decimals=1.5)),
    "tril": (TypeError, lambda x: torch.tril(x, 1.5)),
    "bitwise_left_shift": (RuntimeError, lambda x: torch.bitwise_left_shift(torch.tensor([1]), -1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_docstrings_of_pytorchs_functions_name_the_errors_of_refused_calls(name: str):
    kind, call = REFUSED[name]
    assert f"    {kind.__name__}: " in inspect.getdoc(getattr(torch, name)).partition("Raises:")[2]
    with pytest.raises(kind):
        call(torch.ones(3, 4))


def test_docstrings_describe_how_numbers_are_promoted_in_each_vocabulary():
    """A Python number does not widen a tensor; in PyTorch's vocabulary a tensor without dimensions does not, either."""
    assert "A number counts by its kind, not by its width." in mt.add.__doc__
    assert "A number, or a tensor without dimensions, counts by its kind, not by its width." in torch.add.__doc__
    wide = np.float64(1.0)
    assert (mt.ones([2]) + mt.to_tensor(wide, dtype="float64")).dtype is mt.float64
    assert (torch.ones(2) + torch.tensor(wide)).dtype is torch.float32
    assert (torch.ones(2) + torch.tensor([wide, wide])).dtype is torch.float64
    assert (mt.ones([2], dtype="int64") + 1.0).dtype is mt.float32


#: Refused calls under Paddle's names, with the type of the error.
REFUSED_BY_PADDLES = {
    "mm": (ValueError, lambda x: mt.mm(x, x)),
    "bmm": (ValueError, lambda x: mt.bmm(mt.ones([2, 3, 4]), mt.ones([2, 3, 4]))),
    "allclose": (ValueError, lambda x: mt.allclose(x, mt.ones([9]))),
    "argmax": (IndexError, lambda x: mt.argmax(x, 5)),
    "argsort": (IndexError, lambda x: mt.argsort(x, 5)),
    "sort": (IndexError, lambda x: mt.sort(x, 5)),
    "flip": (IndexError, lambda x: mt.flip(x, 5)),
    "var": (IndexError, lambda x: mt.var(x, 5)),
    "norm": (IndexError, lambda x: mt.norm(x, 2, 5)),
    "broadcast_to": (ValueError, lambda x: mt.broadcast_to(x, [5, 4])),
    "expand": (ValueError, lambda x: mt.expand(x, [5, 4])),
    "chunk": (ValueError, lambda x: mt.chunk(x, 5)),
    "split": (ValueError, lambda x: mt.split(x, [1, 1])),
    "concat": (ValueError, lambda x: mt.concat([x, mt.ones([2, 2])])),
    "stack": (ValueError, lambda x: mt.stack([x, mt.ones([1])])),
    "diagonal": (ValueError, lambda x: mt.diagonal(mt.ones([3]))),
    "trace": (IndexError, lambda x: mt.trace(x, 0, 0, 5)),
    "diag": (ValueError, lambda x: mt.diag(mt.ones([1, 2, 3]))),
    "expand_as": (ValueError, lambda x: mt.expand_as(x, mt.ones([5, 4]))),
    "unflatten": (ValueError, lambda x: mt.unflatten(x, 1, [3, 2])),
    "nonzero": (ValueError, lambda x: mt.nonzero(mt.ones([]))),
    "bincount": (TypeError, lambda x: mt.bincount(x)),
    "tolist": (TypeError, lambda x: mt.tolist([1])),
    "unbind": (IndexError, lambda x: mt.unbind(x, 6)),
    "reshape": (ValueError, lambda x: mt.reshape(x, [5])),
    "flatten": (ValueError, lambda x: mt.flatten(x, 1, 0)),
    "unsqueeze": (IndexError, lambda x: mt.unsqueeze(x, 5)),
    "transpose": (ValueError, lambda x: mt.transpose(x, [0, 0])),
    "eye": (ValueError, lambda x: mt.eye(-1)),
    "linspace": (ValueError, lambda x: mt.linspace(0, 1, -1)),
    "randint": (ValueError, lambda x: mt.randint(3, 3, [2])),
    "randperm": (ValueError, lambda x: mt.randperm(-1)),
    "arange": (ValueError, lambda x: mt.arange(0, 1, 0)),
    "full": (ValueError, lambda x: mt.full([-1], 0)),
    "zeros": (TypeError, lambda x: mt.zeros("a")),
    "zeros_like": (TypeError, lambda x: mt.zeros_like(3)),
    "rand": (TypeError, lambda x: mt.rand([2], "int64")),
    "randn": (ValueError, lambda x: mt.randn([-1])),
    "randn_like": (TypeError, lambda x: mt.randn_like(3)),
    "uniform": (TypeError, lambda x: mt.uniform([2], "int64")),
    "normal": (TypeError, lambda x: mt.normal(0, 1)),
    "all": (IndexError, lambda x: mt.all(x, 5)),
    "any": (TypeError, lambda x: mt.any(3)),
    "argmin": (ValueError, lambda x: mt.argmin(mt.ones([0]))),
    "numel": (TypeError, lambda x: mt.numel(3)),
    "equal_all": (TypeError, lambda x: mt.equal_all(x, "a")),
    "median": (IndexError, lambda x: mt.median(x, 5)),
    "topk": (IndexError, lambda x: mt.topk(x, 1, 5)),
    "roll": (IndexError, lambda x: mt.roll(x, 1, 5)),
    "dot": (TypeError, lambda x: mt.dot(x, 3)),
    "unique": (TypeError, lambda x: mt.unique(x, dtype="float32")),
    "slice": (IndexError, lambda x: mt.slice(x, [5], [0], [1])),
    "squeeze_": (IndexError, lambda x: mt.squeeze_(x, 5)),
    "unsqueeze_": (IndexError, lambda x: mt.unsqueeze_(x, 7)),
    "flatten_": (ValueError, lambda x: mt.flatten_(x, 1, 0)),
    "transpose_": (ValueError, lambda x: mt.transpose_(x, [0, 0])),
    "t": (ValueError, lambda x: mt.t(mt.ones([1, 2, 3]))),
    "t_": (ValueError, lambda x: mt.t_(mt.ones([1, 2, 3]))),
    "view": (ValueError, lambda x: mt.view(x, [5])),
    "cumsum_": (IndexError, lambda x: mt.cumsum_(mt.ones([2]), 5)),
    "polygamma": (ValueError, lambda x: mt.polygamma(x, -1)),
    "multigammaln": (ValueError, lambda x: mt.multigammaln(x, 0)),
    "clip": (TypeError, lambda x: mt.clip(x, "a")),
    "scale": (TypeError, lambda x: mt.scale(x, "a")),
    "cauchy_": (ValueError, lambda x: mt.cauchy_(x, 0, -1)),
    "geometric_": (ValueError, lambda x: mt.geometric_(x, 2)),
    "log_normal_": (TypeError, lambda x: mt.log_normal_(mt.ones([2], dtype="int64"))),
}


@pytest.mark.parametrize(
    "name", ["erf", "erfinv", "lgamma", "digamma", "polygamma", "multigammaln", "gammainc", "gammaincc", "i0"]
)
def test_the_docstring_of_a_special_function_names_its_source(name: str):
    for module in (mt, torch):
        if module is mt or name in PYTORCHS:
            assert re.search(r"NIST DLMF \d+\.\d+", getattr(module, name).__doc__)


def test_docstrings_of_the_memory_counters_name_bytes_as_the_unit():
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        for module in (mt.device.cuda, torch.cuda):
            assert re.search(r"\bbytes\b", getattr(module, name).__doc__, re.I)


@pytest.mark.parametrize("name", REFUSED_BY_PADDLES)
def test_docstrings_of_paddles_functions_name_the_errors_of_refused_calls(name: str):
    kind, call = REFUSED_BY_PADDLES[name]
    assert f"    {kind.__name__}: " in inspect.getdoc(getattr(mt, name)).partition("Raises:")[2]
    with pytest.raises(kind, match=rf"^{name}\b"):  # the error must begin with the function's name
        call(mt.ones([3, 4]))
