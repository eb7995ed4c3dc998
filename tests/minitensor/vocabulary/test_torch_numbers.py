"""Compare operations of a tensor and a number, bounds, and the dtypes of comparisons, ranges and scans with PyTorch."""

from __future__ import annotations

import math

import pytest

import minitensor as mt
import minitensor.torch as torch
import minitensor.torch.nn.functional as F

NAN = math.nan
BYTES = torch.tensor([44, 2], dtype=torch.uint8)


# ---------- comparisons ----------


def test_operands_are_compared_in_their_promoted_dtype():
    narrow = torch.tensor([0.1])
    assert (narrow == torch.tensor(0.1, dtype=torch.float64)).item() is True
    assert (narrow == torch.tensor([0.1], dtype=torch.float64)).item() is False
    assert torch.eq(narrow.half(), torch.tensor(0.1)).item() is True
    assert torch.isin(narrow, 0.1).item() is True and torch.isin(0.1, narrow).item() is True
    assert torch.isin(narrow, torch.tensor([0.1], dtype=torch.float64)).item() is False
    whole = torch.tensor([2**24 + 1])
    for number in (2.0**24, torch.tensor(2.0**24), torch.tensor([2.0**24])):
        assert torch.gt(whole, number).item() is False and (whole == number).item() is True
    assert (whole > torch.tensor(2.0**24, dtype=torch.float64)).item() is True


def test_a_comparison_in_place_converts_an_operand_only_to_the_dtype_of_its_target():
    assert torch.tensor([0.1]).eq_(torch.tensor(0.1, dtype=torch.float64)).item() == 1
    assert torch.tensor([44], dtype=torch.uint8).eq_(torch.tensor(300)).item() == 1
    assert torch.tensor([44], dtype=torch.uint8).eq_(torch.tensor([300])).item() == 0
    assert torch.tensor([1, 2]).lt_(torch.tensor([1.5, 2.0])).tolist() == [1, 0]


# ---------- operations of an integer tensor and a number ----------


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x: torch.eq(x, 300), [True, False]),
        (lambda x: x < 300, [False, True]),
        (lambda x: torch.ge(x, -1), [False, False]),
        (lambda x: x == torch.tensor(300), [True, False]),
        (lambda x: torch.isin(x, 300), [True, False]),
        (lambda x: x.clone().eq_(300), [1, 0]),
        (lambda x: x + 300, [88, 46]),
        (lambda x: x - 300, [0, 214]),
        (lambda x: 300 - x, [0, 42]),
        (lambda x: x * -1, [212, 254]),
        (lambda x: x // 300, [1, 0]),
        (lambda x: x & -1, [44, 2]),
        (lambda x: x.clone().add_(300), [88, 46]),
        (lambda x: torch.where(x > 2, x, -1), [44, 255]),
        (lambda x: x.masked_fill(x > 2, -1), [255, 2]),
        (lambda x: torch.add(x, 1, alpha=-1), [43, 1]),
    ],
)
def test_a_number_that_an_integer_dtype_cannot_hold_wraps_around(call, wanted):
    assert call(BYTES).tolist() == wanted


def test_a_quotient_is_computed_with_the_number_itself():
    x = torch.tensor([150, 30], dtype=torch.uint8)
    for call in (lambda: x / 300, lambda: torch.div(x, 300)):
        assert call().dtype is torch.float32 and call().tolist() == torch.tensor([0.5, 0.1]).tolist()
    assert (x / -1).tolist() == [-150, -30]
    assert torch.copysign(x, -300).tolist() == [-150, -30]
    assert torch.div(x, 300, rounding_mode="floor").tolist() == [3, 0]  # as integers, 300 is 44


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x**300,
        lambda x: x**-1,
        lambda x: torch.where(x > 2, x, 300),
        lambda x: x.masked_fill(x > 2, 300),
        lambda x: x.index_fill(0, torch.tensor([0]), -256),
        lambda x: torch.add(x, 1, alpha=300),
        lambda x: torch.addcmul(x, x, x, value=300),
    ],
)
def test_a_number_that_is_stored_or_that_is_an_exponent_has_to_fit(call):
    with pytest.raises(RuntimeError, match=r"uint8_t without overflow: .*\(\) got .*, and uint8 holds 0 to 255"):
        call(BYTES)


def test_an_integer_of_more_than_64_bits_is_refused_beside_integers():
    for call in (lambda: BYTES + 2**64, lambda: torch.tensor([1]) < -(2**63) - 1):
        with pytest.raises(OverflowError, match=r"int too big to convert: -?\d+ needs more than 64 bits"):
            call()


@pytest.mark.filterwarnings("error")
def test_a_float_beyond_the_dtype_of_the_tensor_compares_like_infinity():
    assert (torch.tensor([math.inf, 1.0]) == 1e39).tolist() == [True, False]
    assert (torch.tensor([math.inf, 1.0]).half() > 7e4).tolist() == [False, False]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("given", [2**63, 2**64 - 1, -(2**63)])
def test_an_integer_of_64_bits_compares_with_a_tensor_of_floats(dtype, given):
    pytest.importorskip("ml_dtypes")
    x = torch.tensor([1.0, 3.0], dtype=getattr(torch, dtype))
    assert (x == given).tolist() == [False, False] and (x != given).tolist() == [True, True]
    assert (x < given).tolist() == (given > x).tolist() == [given > 0] * 2
    p = mt.to_tensor([1.0, 3.0], dtype)
    assert mt.equal(p, given).tolist() == (p == given).tolist() == [False, False]


def test_an_integer_of_64_bits_is_rounded_beside_bfloat16():
    pytest.importorskip("ml_dtypes")
    x = torch.tensor([1.0, 3.0], dtype=torch.bfloat16)
    assert (x + 2**63).tolist() == torch.where(x > 5, x, 2**63).tolist() == [2.0**63] * 2
    assert x.fill_(2**63).tolist() == [2.0**63] * 2
    with pytest.raises(ValueError, match=r"add: .* does not fit into dtype bfloat16"):
        mt.ones([1], "bfloat16") + 10**400


def test_a_number_is_shifted_by_the_elements_of_a_tensor():
    shifts = torch.tensor([1, 2])
    assert (2 << shifts).tolist() == [4, 8] and (64 >> shifts).tolist() == [32, 16]
    assert (2 << torch.tensor([True, False])).tolist() == [4, 2]
    assert (True << shifts).tolist() == torch.bitwise_left_shift(True, shifts).tolist() == [2, 4]


# ---------- bounds ----------


@pytest.mark.parametrize("element", [0.0, 1.0, 2.0])
def test_a_lower_bound_has_a_gradient_only_below_the_upper_bound(element):
    x, low, high = (torch.tensor([n] * 3, requires_grad=True) for n in (element, 1.0, 1.0))
    with torch.no_grad():
        low[1], low[2] = 0.5, 2.0
    y = x.clamp(low, high)
    y.sum().backward()
    assert y.tolist() == [1, 1 if element else 0.5, 1] and type(y.grad_fn).__name__ == "ClampBackward0"
    assert low.grad.tolist() == [0, float(element < 0.5), 0]
    assert high.grad.tolist() == [float(element > 1), float(element > 1), 1]
    assert x.grad.tolist() == [float(element == 1), float(element == 1), 0]


@pytest.mark.parametrize(
    ("low", "high", "slopes"), [(NAN, 1.0, [1, 1, 0]), (0.0, NAN, [0, 1, 1]), (NAN, NAN, [1, 1, 1])]
)
def test_hardtanh_with_a_bound_that_is_nan_gives_nan(low, high, slopes):
    for function in (F.hardtanh, lambda x, *bounds: F.hardtanh_(x * 1, *bounds)):
        x = torch.tensor([0.0, 0.5, 2.0], requires_grad=True)
        y = function(x, low, high)
        y.sum().backward()
        assert all(map(math.isnan, y.tolist())) and x.grad.tolist() == slopes


def test_hardtanh_and_relu6_keep_integers():
    x = torch.tensor([-3, 0, 7])
    for y, wanted in (
        (F.hardtanh(x, -1.5, 1.7), [-1, 0, 1]),
        (F.hardtanh_(x.clone()), [-1, 0, 1]),
        (F.relu6(x), [0, 0, 6]),
    ):
        assert y.dtype is torch.int64 and y.tolist() == wanted
    with pytest.raises(RuntimeError, match="Bool inputs not supported for hardtanh"):
        F.relu6(x > 0)
    for low, high in ((-1, 1), (0, 300), (0, NAN)):
        with pytest.raises(RuntimeError, match="cannot be stored in a tensor of dtype uint8"):
            F.hardtanh(BYTES, low, high)


# ---------- ranges and scans ----------


@pytest.mark.parametrize(
    ("bounds", "long", "short"),
    [
        ((0.5, 4, 1.5), [0, 1, 2, 3], [0, 1, 2]),
        ((-0.5, 3), [0, 1, 2], [0, 1, 2, 3]),
        ((4.7, 0.5, -1.5), [4, 3, 2, 1], [4, 3, 2]),
        ((0, 3, 0.9), None, [0, 0, 0, 0]),
    ],
)
def test_arange_truncates_its_bounds_for_integers(bounds, long, short):
    assert torch.arange(*bounds, dtype=torch.int32).tolist() == short
    if long is not None:
        assert torch.arange(*bounds, dtype=torch.int64).tolist() == long
        return
    with pytest.raises(ValueError, match="step must be nonzero"):
        torch.arange(*bounds, dtype=torch.int64)


def test_ranges_and_scans_of_bools_are_refused():
    with pytest.raises(NotImplementedError, match="\"arange_cpu\" not implemented for 'Bool'"):
        torch.arange(3, dtype=torch.bool)
    for name in ("cumsum", "cumprod"):
        function, error = getattr(torch, name), f"\"{name}_out_cpu\" not implemented for 'Bool'"
        calls = (
            lambda f=function: f(torch.tensor([1, 2]), 0, dtype=torch.bool),
            lambda f=function: f(torch.tensor([1, 2]), 0, out=torch.empty(2, dtype=torch.bool)),
            lambda n=name: getattr(torch.tensor([True]), f"{n}_")(0),
        )
        for call in calls:
            with pytest.raises(NotImplementedError, match=error):
                call()
        assert function(torch.tensor(1), 0, dtype=torch.bool).item() is True
        assert function(torch.tensor([]), 0, dtype=torch.bool).shape == (0,)


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_a_scan_in_place_never_changes_the_dtype(name):
    x = torch.tensor([1, 2, 3])
    with pytest.raises(RuntimeError, match="input tensor dtype long int and output tensor dtype float should match"):
        getattr(x, name)(0, dtype=torch.float32)
    assert x.tolist() == [1, 2, 3] and x._version == 0
    assert getattr(x, name)(0, dtype=torch.int64) is x and x._version == 1


def test_accelerator_synchronize_accepts_only_the_accelerator():
    for device in (None, 0, "cuda", torch.device("cuda:0")):
        assert torch.accelerator.synchronize(device) is None
    for device in ("cpu", torch.device("cpu")):
        with pytest.raises(ValueError, match="cpu doesn't match the current accelerator cuda"):
            torch.accelerator.synchronize(device)


# ---------- kinds of errors ----------


@pytest.mark.parametrize("kind", [int, float, complex])
def test_only_one_element_is_converted_to_a_number(kind):
    assert kind(torch.tensor([[2.0]])) == 2
    for x in (torch.tensor([1, 2]), torch.tensor([])):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            kind(x)


IMAGES = torch.ones(1, 1, 4, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.conv2d(IMAGES, torch.ones(1, 2, 2, 2)),
        lambda: F.conv2d(IMAGES, torch.ones(1, 1, 5, 5)),
        lambda: F.conv2d(IMAGES, torch.ones(1, 1, 2, 2), stride=0),
        lambda: F.conv2d(IMAGES, torch.ones(1, 1, 2, 2, dtype=torch.float64)),
        lambda: F.conv2d(IMAGES, torch.ones(1, 1, 2, 2), torch.ones(1, dtype=torch.float64)),
        lambda: F.max_pool2d(IMAGES, 5),
        lambda: F.avg_pool2d(IMAGES, 2, padding=2),
        lambda: F.adaptive_avg_pool2d(IMAGES[0, 0], 2),
        lambda: F.layer_norm(IMAGES, (3,)),
        lambda: F.group_norm(torch.ones(2, 3), 2),
        lambda: F.scaled_dot_product_attention(IMAGES[0], IMAGES[0], IMAGES[0, :, :2]),
    ],
)
def test_shapes_and_dtypes_that_do_not_fit_a_layer_are_runtime_errors(call):
    with pytest.raises(RuntimeError):
        call()


def test_a_negative_index_of_an_embedding_is_refused():
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(torch.tensor([0, -1]), torch.ones(3, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, at: torch.gather(x, 0, at),
        lambda x, at: torch.index_select(x, 0, at),
        lambda x, at: x.index_add(0, at, x[:1]),
        lambda x, at: x.index_add_(0, at, x[:1].clone()),
        lambda x, at: x.index_copy_(0, at, x[:1].clone()),
        lambda x, at: x.scatter(0, at, 1.0),
        lambda x, at: x.scatter_(0, at, 1.0),
        lambda x, at: x.scatter_add(0, at, x[:1]),
        lambda x, at: x.scatter_add_(0, at, x[:1].clone()),
    ],
)
def test_a_negative_index_is_not_counted_from_the_end(call):
    x = torch.tensor([1.0, 2.0, 3.0])
    with pytest.raises((IndexError, RuntimeError)):
        call(x, torch.tensor([-1]))
    assert x.tolist() == [1, 2, 3] and x._version == 0


def test_index_fill_and_take_along_dim_count_a_negative_index_from_the_end():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.take_along_dim(x, torch.tensor([-1]), 0).item() == 3
    assert x.index_fill(0, torch.tensor([-1]), 0).tolist() == [1, 2, 0]


WIDE = torch.ones(2, 4, dtype=torch.float64)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.nn.LayerNorm(4)(WIDE),
        lambda: torch.nn.BatchNorm1d(4)(WIDE),
        lambda: torch.nn.BatchNorm1d(4).eval()(WIDE),
        lambda: torch.nn.GroupNorm(2, 4)(WIDE),
        lambda: F.instance_norm(WIDE[None], weight=torch.ones(2)),
        lambda: F.layer_norm(WIDE.float(), (4,), bias=torch.ones(4).half()),
        lambda: F.scaled_dot_product_attention(WIDE[None], WIDE[None], WIDE[None].float()),
        lambda: F.binary_cross_entropy(WIDE, WIDE.float()),
        lambda: torch.nn.LSTMCell(4, 3)(WIDE),
        lambda: torch.nn.GRUCell(4, 3)(WIDE.float(), torch.ones(2, 3).double()),
    ],
)
def test_a_layer_refuses_an_input_of_another_dtype_than_its_weights(call):
    with pytest.raises(RuntimeError, match="type"):
        call()


@pytest.mark.parametrize("kind", [torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU])
def test_a_recurrent_layer_names_both_dtypes(kind):
    with pytest.raises(ValueError, match=r"torch.float64\) does not match weight dtype \(torch.float32\)"):
        kind(4, 3)(WIDE)


def test_weights_of_32_bits_are_allowed_beside_an_input_of_16_bits():
    weight = torch.ones(4)
    for dtype in (torch.float16, torch.bfloat16):
        assert F.layer_norm(WIDE.to(dtype), (4,), weight, weight).tolist() == [[1] * 4] * 2
