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


@pytest.mark.parametrize(
    "call",
    [
        lambda out: torch.argmin(X, out=out),
        lambda out: torch.argmax(X, 1, out=out),
        lambda out: torch.nonzero(X, out=out),
        lambda out: torch.max(X, 1, out=(torch.empty(2), out)),
        lambda out: torch.sort(X, out=(torch.empty(2, 2), out)),
    ],
)
def test_positions_are_written_only_to_an_argument_out_with_dtype_int64(call):
    out = torch.full((3,), 7.0)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int, but got float instead"):
        call(out)
    assert out.tolist() == [7.0] * 3


def test_if_one_of_several_outs_is_refused_none_is_written():
    values, positions = torch.full((2,), 7.0), torch.zeros(2)
    with pytest.raises(RuntimeError, match="dtype long int"):
        torch.max(X, 1, out=(values, positions))
    assert values.tolist() == [7.0, 7.0]


def test_products_and_extremes_refuse_an_argument_out_with_another_float_dtype():
    for call in (lambda out: torch.mm(X, X, out=out), lambda out: torch.amax(X, 0, out=out)):
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
            call(torch.empty(2, 2, dtype=torch.float64))


@pytest.mark.parametrize(
    "call",
    [
        lambda out: torch.scatter(X, 0, AT, X, out=out),
        lambda out: torch.index_add(X, 0, AT[0], X, out=out),
        lambda out: torch.softmax(X, 0, out=out),
        lambda out: torch.norm(X, dim=0, out=out),
        lambda out: torch.sum(X, 0, dtype=torch.float32, out=out),
        lambda out: torch.zeros(2, 2, dtype=torch.float32, out=out),
    ],
)
def test_an_argument_out_that_is_refused_for_its_dtype_is_unchanged(call):
    out = torch.full((2, 2), 7.0, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
        call(out)
    assert torch.equal(out, torch.full((2, 2), 7.0, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8])
def test_all_and_any_write_into_bools_or_uint8(dtype):
    holds_uint8 = AT.to(torch.uint8)
    for x in (AT, AT > 0, holds_uint8):
        assert torch.any(x, 0, out=torch.zeros(2, dtype=dtype)).tolist() == [1, 1]
        assert torch.all(x, 0, out=torch.ones(2, dtype=dtype)).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype bool, but got long int instead"):
        torch.any(AT, 0, out=torch.zeros(2, dtype=torch.int64))


def test_sums_products_and_new_tensors_are_computed_in_the_dtype_of_out():
    x, out = torch.tensor([[1.5, 2.5], [3.5, -4.0]]), torch.empty(2, dtype=torch.int64)
    # The numbers are those of PyTorch 2.13.
    assert torch.sum(x, 0, out=out).tolist() == [4, -2]
    assert torch.prod(x, 0, out=out).tolist() == [3, -8]
    assert torch.full((2,), 1.5, out=out).tolist() == [1, 1]
    assert torch.linspace(0, 3.7, 5, out=torch.empty(5, dtype=torch.int64)).tolist() == [0, 0, 1, 2, 3]
    assert torch.arange(0.5, 2.0, out=out).tolist() == [0, 1]
    torch.manual_seed(0)
    wide = torch.rand(2, dtype=torch.float64)
    torch.manual_seed(0)
    assert torch.rand(2, out=torch.empty(2, dtype=torch.float64)).tolist() == wide.tolist()


@pytest.mark.parametrize(
    "call",
    [
        *(lambda x, out, name=name: getattr(torch, name)(x, 0.2, out=out) for name in ("eq", "ne", "lt", "le", "gt")),
        lambda x, out: torch.ge(x, x, out=out),
        lambda x, out: torch.logical_not(x, out=out),
        *(lambda x, out, name=name: getattr(torch, f"logical_{name}")(x, x, out=out) for name in ("and", "or", "xor")),
        *(lambda x, out, name=name: getattr(torch, name)(x, 1, out=out) for name in ("all", "any")),
        *(lambda x, out, name=name: getattr(torch, name)(x, 1, out=out.long()) for name in ("argmax", "argmin")),
        lambda x, out: torch.isin(x, x[0], out=out),
        lambda x, out: torch.signbit(x, out=out),
        lambda x, out: torch.nonzero(x, out=out.long()),
        lambda x, out: torch.multinomial(x, 2, out=out.long()).sort().values,
    ],
)
def test_a_function_without_a_gradient_accepts_inputs_that_require_grad(call):
    result = call(X.clone().requires_grad_(), torch.empty(0, dtype=torch.bool))
    assert result.requires_grad is False and result.tolist() == call(X, torch.empty(0, dtype=torch.bool)).tolist()


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
def test_a_tensor_of_a_list_that_requires_grad_is_refused(join):
    out = torch.empty(0)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        join([X, X.clone().requires_grad_()], out=out)
    assert out.shape == (0,)


def test_the_argument_out_of_clamp_abs_and_lerp_needs_the_dtype_of_the_result_if_it_does_in_pytorch():
    out = torch.empty(2, 2, dtype=torch.float64)
    for call in (
        lambda: torch.clamp(X, 0.2, out=out),
        lambda: torch.clamp_min(X, 0.2, out=out),
        lambda: torch.clamp_max(X, 0.2, out=out),
        lambda: torch.clip(AT, 0, 1, out=out),
        lambda: torch.abs(X, out=out),
        lambda: torch.lerp(X, X, X, out=out),
    ):
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
            call()
        assert out._version == 0
    assert torch.clamp(X, X, X, out=out).dtype is torch.float64
    assert torch.lerp(X, X, 0.5, out=out).dtype is torch.lerp(X, X, torch.tensor(0.5), out=out).dtype is torch.float64


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_pytorch_has_no_out_for_tests_of_floats(name):
    with pytest.raises(TypeError, match="out"):
        getattr(torch, name)(X, out=torch.empty(2, 2, dtype=torch.bool))
