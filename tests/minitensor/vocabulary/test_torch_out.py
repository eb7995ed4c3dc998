"""Test that a function of PyTorch's vocabulary has an argument ``out`` if it has one in PyTorch.

out-arguments.txt lists the functions of `torch` 2.13.0 whose documented signature has `out=None`.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import minitensor.torch as torch

NAMES = [
    name
    for name in Path(__file__).with_name("out-arguments.txt").read_text(encoding="utf-8").splitlines()
    if name in dir(torch)
]
X = torch.tensor([[0.3, 0.1], [0.4, 0.6]])
AT = torch.tensor([[0, 1], [1, 0]])
#: Arguments that are tried, one tuple after the other, until a function accepts them.
ARGUMENTS = [
    *(
        (X,),
        (X, 1),
        (X, X),
        (X, X, X),
        (X, 0),
        (X, 0, AT[0]),
        (X, 0, AT),
        (X, AT, 0),
        ([X, X],),
        (2,),
        (X, 0.1),
        (X, X > 0.2),
    ),
    *((0, 3, 2), ((2, 2), 1.0), (AT, AT), (AT,), (X, 0.0, 1.0), (X[0], X[0]), (X, X[0]), (X[None], X[None])),
    *((X, X, 0.5), (X, 2, 0, 1.0), (X, 0, 0, X), (X, 0, 0, X[0]), (X > 0.2, X, X), (1, X), (X, 1, AT), (X, AT)),
    *((X[None], X[None], X[None]), (0, 2, (2, 2))),
]
#: Functions whose second call returns other numbers: those that draw random numbers, and `empty`.
RANDOM = {"bernoulli", "multinomial", "normal", "rand", "randint", "randn", "randperm", "empty"}
#: Functions that do not accept `out` in PyTorch although their documentation has it.
WITHOUT_OUT = {"empty_like", "ones_like", "rand_like", "randn_like", "zeros_like"}


def first_that_fits(function):
    for given in ARGUMENTS:
        try:
            return given, function(*given)
        except (TypeError, ValueError, RuntimeError, IndexError, AttributeError, NotImplementedError):
            continue
    raise AssertionError(f"no arguments fit {function}")


@pytest.mark.parametrize("name", sorted(set(NAMES) - WITHOUT_OUT))
@pytest.mark.filterwarnings("ignore")
def test_every_function_writes_its_result_into_out(name):
    function = getattr(torch, name)
    given, result = first_that_fits(function)
    several = isinstance(result, tuple)
    out = tuple(map(torch.empty_like, result)) if several else torch.empty_like(result)
    answer = function(*given, out=out)
    for one, target, returned in zip(*((each if several else (each,)) for each in (result, out, answer)), strict=True):
        assert returned is target
        assert name in RANDOM or torch.allclose(target, one, equal_nan=True)


def test_more_than_110_functions_have_an_argument_out():
    assert len(NAMES) > 110 and inspect.isfunction(torch.add)


@pytest.mark.parametrize("length", [0, 5])
def test_out_is_resized_to_the_shape_of_the_result(length):
    out = torch.empty(length)
    if length:
        with pytest.warns(UserWarning, match="was resized since it had shape"):
            torch.add(X, 1, out=out)
    else:
        torch.add(X, 1, out=out)
    assert out.shape == X.shape and torch.equal(out, X + 1)


def test_out_is_a_tuple_for_a_function_with_several_results():
    with pytest.raises(TypeError, match="tuple of Tensors, not Tensor"):
        torch.max(X, 1, out=torch.empty(2))
    with pytest.raises(TypeError, match="2 Tensors, not of 1"):
        torch.max(X, 1, out=(torch.empty(2),))
