"""Test that nothing changes if an operation is refused for a dtype, number, index or shape, or if backward raises."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS
from tests.support.engine.scenes import (
    ALL,
    ARITHMETIC,
    BINARY,
    RECORDED,
    TARGETS,
    Attempt,
    Scene,
    expect_no_trace,
    member,
    plain,
    plain_view,
    run,
)

FLOATING = sorted(name for name in ALL if ROWS[name].floats)


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
@pytest.mark.parametrize("make", [plain, plain_view], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", FLOATING)
def test_a_floating_result_is_not_stored_in_integers(name: str, make, dtype: str):
    def attempt(x: mt.Tensor) -> object:
        return run(name, x, *(mt.ones([2, 3], dtype) for _ in ROWS[name].operands[1:]))

    expect_no_trace(lambda: make(dtype), attempt, TypeError, rf"`{name}_`.*dtype {dtype}.*dtype never changes in place")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("operand", [0.5, 2.0, np.float32(1), [0.5], mt.to_tensor([1.0])], ids=str)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_floating_operand_is_not_stored_in_integers(name: str, operand: object, dtype: str):
    expect_no_trace(lambda: plain(dtype), lambda x: run(name, x, operand), TypeError, rf"`{name}_`.*{dtype}")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: x.scale_(0.5),
        lambda x: x.scale_(2, bias=0.5),
        lambda x: x.clip_(0.5, 2),
        lambda x: x.clip_(max=1.5),
        lambda x: x.scale_(float("nan")),
    ],
    ids=["scale_", "bias", "clip_", "clip_ max", "nan"],
)
def test_a_floating_argument_is_not_stored_in_integers(attempt: Attempt):
    expect_no_trace(lambda: plain("int64"), attempt, TypeError, "int64")


BIG = [2**40, np.int64(2**40), -(2**40), 10**400]


TAKE_A_NUMBER = {
    **{name + "_": lambda x, n, name=name: run(name, x, n) for name in BINARY if name != "divide"},
    "scale_": lambda x, n: x.scale_(n),
    "bias": lambda x, n: x.scale_(3, n),
    "bias first": lambda x, n: x.scale_(3, n, bias_after_scale=False),
    "clip_": lambda x, n: x.clip_(max=n) if n < 0 else x.clip_(min=n),
    "fill_": lambda x, n: x.fill_(n),
    "x[0]": lambda x, n: x.__setitem__(0, n),
    "x[[0, 1]]": lambda x, n: x.__setitem__([0, 1], n),
    "copy_": lambda x, n: x.copy_(n),
}


@pytest.mark.parametrize("number", BIG, ids=lambda n: f"{type(n).__name__} of {int(n).bit_length()} bits")
@pytest.mark.parametrize("name", TAKE_A_NUMBER)
def test_a_number_that_does_not_fit_into_int32_is_refused(name: str, number: int):
    attempt = TAKE_A_NUMBER[name]
    expect_no_trace(lambda: plain("int32"), lambda x: attempt(x, number), (ValueError, OverflowError), r"(?s).")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: x.scale_(2.0, 10**400),
        lambda x: x.scale_(10**400),
        lambda x: x.add_(10**400),
        lambda x: x.clip_(0.5, 10**400),
        lambda x: x.fill_(10**400),
        lambda x: x.__setitem__(0, 10**400),
    ],
    ids=["bias", "scale_", "add_", "clip_", "fill_", "setitem"],
)
def test_a_number_that_does_not_fit_into_a_float_is_refused(attempt: Attempt, target: str):
    expect_no_trace(TARGETS[target], attempt, (ValueError, OverflowError), r"(?s).")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize(
    "attempt",
    [lambda x, n: x.fill_(n), lambda x, n: x.__setitem__(0, n), lambda x, n: x.copy_(n)],
    ids=["fill_", "setitem", "copy_"],
)
def test_a_float_that_int64_cannot_represent_is_refused(attempt, number):
    expect_no_trace(lambda: plain("int64"), lambda x: attempt(x, number), (ValueError, OverflowError), r"(?s).")


def test_an_error_in_the_middle_of_the_elements_leaves_the_first_elements_unchanged():
    # numpy raises an error when it reaches the negative power.
    expect_no_trace(
        lambda: Scene(mt.to_tensor([2, 3, 4])), lambda x: x.pow_(mt.to_tensor([2, 2, -1])), ValueError, "pow_"
    )


@pytest.mark.parametrize("target", RECORDED)
@pytest.mark.parametrize("name", ["abs", "square", "log", "sin", "cos", "clip", "pow", "maximum", "minimum"])
def test_a_write_refused_by_policy_2_5_leaves_no_trace(name: str, target: str):
    with mt.set_inplace_policy("2.5"):
        expect_no_trace(TARGETS[target], lambda x: run(name, x), ValueError, r'`\w+_` is refused .*"2\.5"')


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ALL)
def test_too_many_or_unknown_arguments_leave_no_trace(name: str, target: str):
    expect_no_trace(TARGETS[target], lambda x: FUNCTIONS[name + "_"](x, *[1] * 9), TypeError, "argument")
    expect_no_trace(TARGETS[target], lambda x: FUNCTIONS[name + "_"](x, unknown=1), TypeError, "unknown")


@pytest.mark.parametrize(
    "attempt, match",
    [
        (lambda x: x.scale_("2"), "scale.*str"),
        (lambda x: x.scale_(None), "scale.*NoneType"),
        (lambda x: x.scale_(2.0, "1"), "scale.*bias.*str"),
        (lambda x: x.scale_(mt.ones([2])), "scale.*number"),
        (lambda x: x.clip_("0"), "clip.*min.*str"),
        (lambda x: x.clip_(0.0, [1.0]), "clip.*max.*list"),
        (lambda x: x.fill_("7"), "fill_.*str"),
        (lambda x: x.fill_(None), "fill_.*NoneType"),
        (lambda x: x.fill_(mt.ones([2])), "fill_.*number"),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_the_error_names_an_argument_that_is_not_a_number(attempt: Attempt, match: str, target: str):
    expect_no_trace(TARGETS[target], attempt, TypeError, match)


# ---------- numpy's settings for floating-point errors ----------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "attempt",
    [lambda x: x.divide_(0.0), lambda x: x.scale_(-1.0).log_(), lambda x: x.scale_(1e4).exp_()],
    ids=["divide_", "log_", "exp_"],
)
@pytest.mark.parametrize("switch", ["errstate", "warnings"])
def test_a_write_is_complete_or_does_not_happen_if_numpy_raises(attempt: Attempt, target: str, switch: str):
    """If numbers changed without a new version, backward would compute with wrong saved values."""
    scene = TARGETS[target]()
    x = scene.target
    values, version = x.numpy(), x.inplace_version
    with np.errstate(all="raise" if switch == "errstate" else "warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with contextlib.suppress(FloatingPointError, RuntimeWarning):
            attempt(x)
    if x.inplace_version == version:
        assert x.numpy().tobytes() == values.tobytes()


# ---------- x[...] = v ----------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "index, error, match",
    [
        (5, IndexError, r"5 is out of bounds.*\[2, 3\]"),
        ((0, -4), IndexError, r"-4 is out of bounds.*\[2, 3\]"),
        ((0, 0, 0), IndexError, r"too many indices.*\[2, 3\]"),
        ([0, 7], IndexError, r"7 is out of bounds.*\[2, 3\]"),
        ([[True, False]], IndexError, r"\[2, 3\]"),
        ("a", TypeError, "index.*'a'"),
        (1.5, TypeError, "index.*1.5"),
        ([0.5], TypeError, "index"),
        (slice("a", None), TypeError, "index.*'a'"),
        (slice(None, None, 0), ValueError, "step"),
        ((..., ...), IndexError, "ellipsis"),
        (2**70, IndexError, r"(?s)."),
    ],
    ids=str,
)
def test_a_wrong_index_leaves_no_trace(index: object, error: type[Exception], match: str, target: str):
    expect_no_trace(TARGETS[target], lambda x: x.__setitem__(index, 1.0), error, match)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", [0, slice(None), [0, 1], (slice(None), [0, 2]), ...], ids=str)
@pytest.mark.parametrize(
    "value, error, match",
    [
        (np.ones(4), ValueError, r"shape \[4\] cannot be broadcast to shape"),
        (np.ones((5, 1, 1)), ValueError, r"shape \[5, 1, 1\] cannot be broadcast to shape"),
        ("text", TypeError, "setitem.*str"),
        (None, TypeError, "setitem.*NoneType"),
        ([[1.0], [2.0, 3.0]], ValueError, "ragged"),
        (np.array([None]), TypeError, "object"),
        (10**400, (ValueError, OverflowError), r"(?s)."),
    ],
    ids=["too long", "too many dimensions", "text", "None", "ragged", "objects", "huge"],
)
def test_a_value_that_cannot_be_stored_leaves_no_trace(index, value, error, match, target):
    expect_no_trace(TARGETS[target], lambda x: x.__setitem__(index, value), error, match)


@pytest.mark.parametrize("target", TARGETS)
def test_a_refused_set_value_or_copy_leaves_no_trace(target: str):
    make = TARGETS[target]
    expect_no_trace(make, lambda x: x.set_value(np.ones([3])), ValueError, r"set_value.*\[2, 3\].*\[3\]")
    expect_no_trace(make, lambda x: x.set_value(mt.ones([2, 3], "int64")), TypeError, "set_value.*float64.*int64")
    expect_no_trace(make, lambda x: x.set_value("a"), TypeError, "str")
    expect_no_trace(make, lambda x: x.copy_(np.ones([3, 3])), ValueError, r"copy_.*\[3, 3\]")
    expect_no_trace(make, lambda x: x.copy_(None), TypeError, "copy_.*NoneType")


# ---------- shapes in place ----------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "attempt, error, match",
    [
        (lambda x: x.reshape_([4]), ValueError, r"reshape_.*\[2, 3\].*6 elements.*\[4\]"),
        (lambda x: x.reshape_([-1, -1]), ValueError, "reshape_"),
        (lambda x: x.reshape_([-1, 4]), ValueError, "reshape_"),
        (lambda x: x.reshape_("ab"), TypeError, "reshape_.*'ab'"),
        (lambda x: x.reshape_(None), TypeError, "reshape_"),
        (lambda x: x.reshape_([2.0, 3.0]), TypeError, "reshape_"),
        (lambda x: x.transpose_([0]), ValueError, r"transpose_.*\[0\]"),
        (lambda x: x.transpose_([0, 0]), ValueError, "transpose_"),
        (lambda x: x.transpose_([0, 2]), IndexError, "transpose_.*2"),
        (lambda x: x.transpose_(None), TypeError, "transpose_"),
        (lambda x: x.unsqueeze_(9), IndexError, "unsqueeze_.*9"),
        (lambda x: x.unsqueeze_("a"), TypeError, "unsqueeze_.*'a'"),
        (lambda x: x.squeeze_(9), IndexError, "squeeze_.*9"),
        (lambda x: x.flatten_(1, 0), ValueError, "flatten_"),
        (lambda x: x.flatten_(0, 7), IndexError, "flatten_.*7"),
    ],
)
def test_a_wrong_shape_leaves_no_trace(attempt: Attempt, error: type[Exception], match: str, target: str):
    expect_no_trace(TARGETS[target], attempt, error, match)


@pytest.mark.parametrize("name", ["reshape_", "flatten_"])
def test_a_shape_that_needs_a_copy_is_refused_in_place(name: str):
    arguments = {"reshape_": ([6],), "flatten_": ()}[name]
    expect_no_trace(member, lambda x: getattr(x, name)(*arguments), ValueError, rf"{name}.*without a copy")


# ---------- backward ----------


def test_an_error_in_backward_changes_no_gradient():
    u, v = (mt.to_tensor([1.0, 2.0], stop_gradient=False) for _ in range(2))
    ((u * 3).sum() + (v * 4).sum()).backward()
    x = u * v
    good, bad = (u * 2).sum(), (x * x).sum()
    x.add_(1.0)
    total = good + bad
    u_before, v_before = u.grad, v.grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    assert u.grad is u_before and v.grad is v_before
    assert u.grad.tolist() == [3, 3] and v.grad.tolist() == [4, 4]


def test_an_error_in_a_hook_changes_no_leaf_gradient_and_no_retained_gradient():
    w = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    x = w * 1
    x.retain_grads()

    def fails(gradient: mt.Tensor) -> None:
        raise ZeroDivisionError("mine")

    late = w * 2
    late.register_hook(fails)
    with pytest.raises(ZeroDivisionError, match="mine"):
        (x * 5 + late).sum().backward()
    assert w.grad is None and x.grad is None


def test_the_graph_can_be_used_after_a_call_of_grad_that_found_no_path():
    w = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    other = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    y = (w * w).sum()
    with pytest.raises(RuntimeError, match="do not depend on input 1"):
        mt.grad(y, [w, other])
    assert mt.grad(y, [w])[0].tolist() == [2, 4]
