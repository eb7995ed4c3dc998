"""Test elementwise functions, rounding, activations and scans where they are not smooth, not finite or not defined.

Their other values and gradients are tested with samples_functions.py, in test_operations.py and test_in_place.py.
"""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.kernels import special
from minitensor.engine.operations import FUNCTIONS
from tests.support.engine.differences import leaf
from tests.support.engine.named import expect_named

F = mt.nn.functional
INF, NAN = math.inf, math.nan


def gradient(function, values, incoming=1.0, recorded=False) -> list[float]:
    """Return the gradient of a leaf with these values if ``incoming`` is the gradient of every result element."""
    x = leaf(values)
    result = function(x)
    start = mt.full(result.shape, incoming, "float64")
    (found,) = mt.grad([result], [x], [start], create_graph=recorded)
    return found.tolist()


# ---------- kinks and masks ----------

#: A function, its inputs, and the documented slopes.
KINKS = [
    (F.relu6, [-1.0, 0.0, 3.0, 6.0, 7.0], [0, 0, 1, 0, 0]),
    (F.hardtanh, [-2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 1, 0, 0]),
    (F.thresholded_relu, [0.0, 1.0, 1.5], [0, 0, 1]),
    (F.leaky_relu, [-1.0, 0.0, 2.0], [0.01, 0.01, 1]),
    (lambda x: F.leaky_relu(x, 0.0), [-1.0, 0.0, 2.0], [0, 0, 1]),
    (F.elu, [0.0, 2.0], [1, 1]),
    (lambda x: F.elu(x, 0.0), [-1.0, 0.0, 2.0], [0, 0, 1]),
    (lambda x: mt.logit(x, 0.25), [0.1, 0.25, 0.5, 0.75, 0.9], [0, 16 / 3, 4, 16 / 3, 0]),
    (mt.nan_to_num, [NAN, INF, -INF, 2.0], [0, 0, 0, 1]),
    (lambda x: mt.copysign(x, mt.to_tensor([1.0, -1.0, -1.0, 1.0])), [0.0, 2.0, -2.0, -3.0], [0, -1, 1, -1]),
    (lambda x: mt.hypot(x, mt.to_tensor([0.0, 0.0, 4.0])), [0.0, -2.0, 3.0], [0, -1, 0.6]),
    (mt.sinc, [0.0, 1.0, -1.0], [0, -1, 1]),
    (mt.floor, [0.5, 1.0], [0, 0]),
    (mt.frac, [0.5, -1.0], [1, 1]),
    (lambda x: mt.floor_divide(x, 2.0), [0.5, 2.0], [0, 0]),
    (lambda x: mt.remainder(x, 2.0), [0.5, 2.0], [1, 1]),
]


@pytest.mark.parametrize("recorded", [False, True], ids=["", "recorded"])
@pytest.mark.parametrize(("function", "values", "slopes"), KINKS, ids=[str(i) for i in range(len(KINKS))])
def test_the_slope_of_a_function_at_a_kink_is_the_documented_one(function, values, slopes, recorded):
    np.testing.assert_allclose(gradient(function, values, recorded=recorded), slopes, rtol=1e-14)


@pytest.mark.parametrize("recorded", [False, True], ids=["", "recorded"])
def test_clamped_elements_have_gradient_0_even_if_the_incoming_gradient_is_infinite(recorded):
    masked = [
        (F.relu6, [-1.0, 7.0]),
        (F.hardtanh, [-2.0, 2.0]),
        (F.thresholded_relu, [0.5, -3.0]),
        (lambda x: F.leaky_relu(x, 0.0), [-1.0, -2.0]),
        (lambda x: F.elu(x, 0.0), [-1.0, -2.0]),
        (lambda x: mt.logit(x, 0.25), [0.1, 0.9]),
        (mt.nan_to_num, [NAN, INF]),
        (mt.round, [0.5, 1.2]),
        (lambda x: mt.floor_divide(x, 2.0), [1.0, 2.0]),
    ]
    for function, values in masked:
        for incoming in (INF, NAN):
            assert gradient(function, values, incoming, recorded) == [0, 0]


def test_a_negative_slope_or_swapped_limits_are_refused():
    x = mt.to_tensor([-1.0, 2.0])
    for name in ("elu", "leaky_relu"):
        for form in (name, name + "_"):
            for wrong in (-0.5, NAN):
                expect_named(lambda form=form, wrong=wrong: getattr(F, form)(x, wrong), name, "negative", str(wrong))
    expect_named(lambda: F.hardtanh_(x, 2.0, 1.0), "min", "max", "2.0", "1.0")
    assert x.tolist() == [-1, 2] and x.inplace_version == 0


# ---------- rounding and remainders ----------


def test_round_counts_negative_decimals_before_the_decimal_point():
    x = mt.to_tensor([1.25, -0.05, 149.5, 1e300, INF, NAN], "float64")
    np.testing.assert_array_equal(x.round(1).numpy(), [1.3, -0.1, 149.5, 1e300, INF, NAN])
    np.testing.assert_array_equal(x.round(-2).numpy()[[0, 2, 4]], [0, 100, INF])
    np.testing.assert_array_equal(x.round(400).numpy(), x.numpy())
    np.testing.assert_array_equal(x.round(-400).numpy(), [0, 0, 0, 0, INF, NAN])
    whole = mt.to_tensor([15, -25, 14, 99, 2**62])
    assert whole.round(1).tolist() == whole.tolist()
    assert whole.round(-1).tolist()[:4] == [20, -30, 10, 100]
    assert whole.round(-30).tolist() == [0] * 5
    assert whole.clone().round_(decimals=-1).tolist()[:4] == [20, -30, 10, 100]
    expect_named(lambda: x.round(0.5), "decimals", "0.5")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_are_rounded_to_powers_of_ten_beyond_their_dtype(dtype: str):
    limits = np.iinfo(dtype)
    numbers = [0, 1, 49, 50, 51, 99, limits.max, limits.max // 2, limits.min, limits.min // 2]
    x = mt.to_tensor(np.array(numbers, dtype))
    for digits in range(1, 23):
        power = 10**digits
        exact = [(abs(n) + power // 2) // power * power * (-1 if n < 0 else 1) for n in numbers]
        found = [x.round(-digits), x.clone().round_(-digits)]
        for rounded in found:
            for got, want in zip(rounded.tolist(), exact, strict=True):
                assert got % 2**limits.bits == want % 2**limits.bits  # a number beyond the dtype wraps around


def test_the_largest_number_below_a_half_is_rounded_to_zero():
    below = {"float32": 0.49999997, "float64": 0.49999999999999994}
    for dtype, half in below.items():
        odd = float(2 ** (23 if dtype == "float32" else 52) + 1)
        assert mt.to_tensor([half, -half, 0.5, odd], dtype).round_().tolist() == [0, 0, 1, odd]


def test_quotients_of_integers_are_rounded_down_or_to_zero():
    x, y = mt.to_tensor([7, -7, 7, -7]), mt.to_tensor([2, 2, -2, -2])
    assert x.divide(y, rounding_mode="floor").tolist() == x.floor_divide(y).tolist() == [3, -4, -4, 3]
    assert x.divide(y, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
    assert x.remainder(y).tolist() == x.mod(y).tolist() == x.floor_mod(y).tolist() == [1, 1, -1, -1]
    for mode, want in {"floor": [3, -4, -4, 3], "trunc": [3, -3, -3, 3]}.items():
        target = x.clone()
        assert target.divide_(y, rounding_mode=mode) is target and target.tolist() == want
        assert target.dtype == "int64" and target.inplace_version == 1
    expect_named(lambda: x.divide(y, rounding_mode="up"), "rounding_mode", "floor", "trunc", "up")


@pytest.mark.parametrize("name", ["floor_divide", "trunc_divide", "remainder"])
def test_integers_are_not_divided_by_zero(name: str):
    x, y = mt.to_tensor([7, 8]), mt.to_tensor([2, 0])
    for form in (name, name + "_"):
        expect_named(lambda form=form: FUNCTIONS[form](x, y), name, "divided by 0", error=ValueError)
    assert x.tolist() == [7, 8] and x.inplace_version == 0
    by_zero = FUNCTIONS[name](mt.to_tensor([1.0, -1.0]), 0.0).tolist()
    assert by_zero == [INF, -INF] or all(math.isnan(v) for v in by_zero)


def test_gcd_and_lcm_refuse_floats():
    x = mt.to_tensor([6, 8], "int32")
    assert x.gcd_(mt.to_tensor([4, 6])) is x and x.tolist() == [2, 2] and x.dtype == "int32"
    for other in (mt.to_tensor([1.0, 2.0]), 2.0):
        expect_named(lambda other=other: mt.gcd(x, other), "gcd", "integers", "float32")
        expect_named(lambda other=other: x.lcm_(other), "lcm_")
    assert x.tolist() == [2, 2] and x.inplace_version == 1


def test_an_intermediate_overflow_does_not_make_the_result_infinite():
    x = mt.to_tensor([1e-30, 3.0, 1e30])
    np.testing.assert_allclose(
        x.ldexp(mt.to_tensor([130, -2, -200])).numpy(), [1361129467.7, 0.75, 6.223e-31], rtol=1e-4
    )
    assert mt.to_tensor([1.0, 2.0, 0.0]).ldexp(mt.to_tensor([INF, -INF, 1.0])).tolist() == [INF, 0, 0]
    assert mt.hypot(mt.to_tensor([3e38]), mt.to_tensor([4e37])).tolist()[0] < INF


# ---------- nan and inf ----------


def test_nan_to_num_accepts_any_replacement_including_nan():
    x = mt.to_tensor([NAN, INF, -INF, 2.0])
    largest = float(np.finfo(np.float32).max)
    assert x.nan_to_num().tolist() == [0, largest, -largest, 2]
    assert x.nan_to_num(7.0, 8.0, -8.0).tolist() == [7, 8, -8, 2]
    np.testing.assert_array_equal(x.nan_to_num_(NAN, NAN, INF).numpy(), [NAN, NAN, INF, 2])
    assert x.inplace_version == 1
    assert mt.to_tensor([1, 2]).nan_to_num_().tolist() == [1, 2]


#: Functions of one tensor that do not need scipy.
PLAIN = [
    *("expm1", "log2", "log10", "log1p", "logit", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "asinh", "acosh", "atanh", "sinc"),
    *("ceil", "floor", "trunc", "frac", "round", "nan_to_num"),
    *("elu", "leaky_relu", "relu6", "hardtanh", "thresholded_relu", "softmax"),
]
KEEP_INTEGERS = {"ceil", "floor", "trunc", "frac", "round", "nan_to_num"}
HOSTILE = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.5, 1e30, -3e38, 1e-40]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_extreme_numbers_neither_warn_nor_raise_if_numpy_is_set_to_raise(name: str, dtype: str):
    x = mt.to_tensor(HOSTILE, dtype)
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name](x).numpy()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        np.testing.assert_array_equal(FUNCTIONS[name](x).numpy(), want)
        FUNCTIONS[name + "_"](x)
    np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.parametrize("name", PLAIN)
def test_rounding_functions_keep_integer_dtypes_and_the_others_return_float32(name: str):
    for dtype in ("int32", "int64"):
        x = mt.to_tensor([1, 2], dtype)
        if name in KEEP_INTEGERS:
            assert FUNCTIONS[name](x).dtype == FUNCTIONS[name + "_"](x.clone()).dtype == dtype
            continue
        with np.errstate(all="ignore"):
            assert FUNCTIONS[name](x).dtype == "float32"
        expect_named(lambda x=x: FUNCTIONS[name + "_"](x), name + "_", dtype, error=TypeError)
        assert x.tolist() == [1, 2] and x.inplace_version == 0


# ---------- scans ----------


def test_a_running_product_has_gradients_at_zeros_and_where_it_overflows():
    assert gradient(lambda x: x.cumprod(0), [2.0, 0.0, 3.0, 0.0]) == [1, 8, 0, 0]
    x = mt.to_tensor([1e30, 1e30, 1e30], stop_gradient=False)
    x.cumprod(0)[0].backward()
    assert x.grad.tolist() == [1, 0, 0]
    x = mt.to_tensor([1e-30, 1e-30, 2.0], stop_gradient=False)
    x.cumprod(0)[2].backward()
    np.testing.assert_allclose(x.grad.numpy(), [2e-30, 2e-30, 0])


def test_a_scan_without_an_axis_returns_a_vector_or_makes_its_target_a_vector():
    for name, numbers in (("cumsum", [1, 3, 6, 10]), ("cumprod", [1, 2, 6, 24])):
        x = mt.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        assert getattr(x, name)().tolist() == numbers and x.shape == [2, 2]
        for wrong, error in ((2, IndexError), (0.5, TypeError)):
            for dtype in (None, "float64"):
                with pytest.raises(error):
                    getattr(x, f"{name}_")(wrong, dtype=dtype)
        assert x.inplace_version == 0 and x.shape == [2, 2] and x.dtype == "float32"
        row = x[0]
        assert getattr(x, f"{name}_")() is x and x.tolist() == numbers and x.inplace_version == 1
        assert row.tolist() == numbers[:2]


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("dtype", [None, "float32", "float64"])
def test_an_in_place_scan_with_a_dtype_or_no_axis_has_the_right_gradient(name: str, axis: Any, dtype: Any):
    gradients = []
    for in_place in (False, True):
        w = leaf([[1.0, 2.0], [3.0, 4.0]])
        y = w * 2
        z = getattr(y, name)(axis, dtype=dtype) if in_place else getattr(y, name[:-1])(axis, dtype=dtype)
        (z * z).sum().backward()
        gradients.append(w.grad.tolist())
        assert w.grad.dtype == w.dtype
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-5)


@pytest.mark.parametrize("how", [{}, {"dtype": "float32"}])
def test_an_in_place_scan_of_a_leaf_is_refused_and_changes_nothing(how: dict):
    w = leaf([[1.0, 2.0]])
    with pytest.raises(ValueError, match="Leaf Var"):
        w.cumsum_(**how)
    assert w.tolist() == [[1, 2]] and w.dtype == "float64" and w.inplace_version == 0 and w.shape == [1, 2]


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_an_in_place_scan_that_cannot_flatten_its_tensor_names_itself(name: str):
    for x in (mt.ones([2, 3]).t(), leaf([[1.0, 2.0]])):
        with pytest.raises(ValueError, match=rf"{name}\b[\s\S]*\b[Uu]se") as refused:
            getattr(x, name)()
        assert "flatten" not in str(refused.value) and x.inplace_version == 0


def test_the_result_has_the_dtype_given_as_argument():
    whole = mt.to_tensor([1, 2], "int32")
    assert whole.cumsum().dtype == "int32" and whole.cumsum(dtype="float64").dtype == "float64"
    assert mt.to_tensor([True, True]).cumsum().tolist() == [1, 2]
    assert F.softmax(whole, dtype="float64").dtype == "float64"
    x = leaf([1.0, 2.0])
    x.cumsum(dtype="float32").sum().backward()
    assert x.grad.dtype == "float64" and x.grad.tolist() == [2, 1]
    expect_named(lambda: F.softmax_(whole, dtype="float32"), "float32", "int32", "in place", error=TypeError)
    assert whole.tolist() == [1, 2] and whole.cumsum_(dtype="int32").tolist() == [1, 3]


def test_a_softmax_of_large_numbers_does_not_overflow():
    assert F.softmax(mt.to_tensor([1000.0, 1000.0, -INF])).tolist() == [0.5, 0.5, 0]
    assert F.softmax(mt.zeros([0, 3]), 0).shape == [0, 3]


# ---------- the argument alpha ----------


def test_alpha_multiplies_a_second_operand_of_any_type():
    x = mt.to_tensor([1.0, 2.0], "float64")
    for other in (mt.to_tensor([1.0, 2.0], "float64"), [1, 2], np.array([1, 2])):
        np.testing.assert_allclose(x.add(other, alpha=0.1).numpy(), [1.1, 2.2], rtol=1e-7)
    assert x.subtract(3, alpha=2).tolist() == [-5, -4]
    assert x.add(mt.to_tensor([True, False]), alpha=3).tolist() == [4, 2]
    expect_named(lambda: x.add(x, alpha="a"), "alpha", "str")
    y = leaf([1.0, 2.0])
    x.add_(y, alpha=3)
    x.backward()
    assert x.tolist() == [4, 8] and y.grad.tolist() == [3, 3]


# ---------- functions of scipy ----------


def test_scipy_is_not_imported_by_functions_that_do_not_need_it():
    code = "import sys, minitensor; assert 'scipy' not in sys.modules; minitensor.ones([2]).sinc_()"
    subprocess.run([sys.executable, "-c", code + "; assert 'scipy' not in sys.modules"], check=True)


def test_without_scipy_the_error_names_the_package_and_no_tensor_changes(monkeypatch):
    special._scipy.cache_clear()
    monkeypatch.setitem(sys.modules, "scipy", None)
    x = leaf([0.5, 1.5]) * 1
    for name, arguments in {"erf": (), "lgamma": (), "digamma": (), "i0": (), "polygamma": (2,)}.items():
        for form in (name, name + "_"):
            with pytest.raises(ImportError, match=rf"{name} needs scipy.*pip install scipy"):
                FUNCTIONS[form](x, *arguments)
    assert x.tolist() == [0.5, 1.5] and x.inplace_version == 0 and x.grad_fn.name == "multiply"
    special._scipy.cache_clear()


def test_incomplete_gamma_functions_refuse_a_gradient_for_their_first_operand():
    pytest.importorskip("scipy")
    for name in ("gammainc", "gammaincc"):
        x, y = leaf([2.0, 3.0]), leaf([1.0, 2.0])
        for call in (
            lambda name=name, x=x, y=y: FUNCTIONS[name](x, y).backward(),
            lambda name=name, x=x, y=y: FUNCTIONS[name + "_"](x * 1, y).backward(),
            lambda name=name, x=x, y=y: mt.grad([FUNCTIONS[name](x, y)], [x, y], create_graph=True),
        ):
            expect_named(call, name, "for y only", "stop_gradient=True", error=RuntimeError)
        assert x.grad is None and y.grad is None
        held = x.detach()
        FUNCTIONS[name + "_"](held, y)
        held.backward()
        assert np.all(np.abs(y.grad.numpy()) > 0.1)


def test_polygamma_far_below_zero_agrees_with_the_reflection_formula():
    pytest.importorskip("scipy")
    x = leaf([-1e8 - 0.5, -1000.25])
    x.digamma().backward()
    # trigamma(x) + trigamma(1 - x) = (pi / sin(pi x)) ** 2, and trigamma(1 + y) is 1 / y - ... for large y
    np.testing.assert_allclose(x.grad.numpy(), [math.pi**2 - 1e-8, 2 * math.pi**2 - 1 / 1000.75], rtol=1e-9)
    assert mt.to_tensor([-31.0, 0.0]).polygamma(1).tolist() == [INF, INF]


def test_an_invalid_order_or_eps_of_a_special_function_is_refused():
    x = mt.to_tensor([2.5, 3.5])
    for wrong in (-1, 1.5, "a"):
        expect_named(lambda wrong=wrong: x.polygamma_(wrong), "polygamma", "n must be", error=(ValueError, TypeError))
    expect_named(lambda: x.multigammaln_(0), "multigammaln", "p must be", "0")
    expect_named(lambda: x.logit_(0.7), "eps", "0.7")
    assert x.tolist() == [2.5, 3.5] and x.inplace_version == 0
