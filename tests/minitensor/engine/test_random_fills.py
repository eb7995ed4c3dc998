"""Test random fills: seeds, distributions, one version increment per fill, and zero gradients for overwritten values.

The mean and standard deviation of 200,000 seeded samples are compared with the formulas of the distributions.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf
from tests.support.engine.named import expect_named
from tests.support.engine.state import Moment

FILLS = {
    "bernoulli_": {},
    "cauchy_": {"loc": 1.0, "scale": 2.0},
    "exponential_": {"lam": 0.5},
    "geometric_": {"probs": 0.25},
    "log_normal_": {"mean": 0.5, "std": 0.25},
    "normal_": {"mean": -1.0, "std": 3.0},
    "random_": {"from_": -5, "to": 5},
    "uniform_": {"min": -2.0, "max": 6.0},
}
fill = pytest.mark.parametrize("name", FILLS)
N = 200_000

#: The mean and the standard deviation of each distribution.
MOMENTS = {
    "bernoulli_": (0.5, 0.5),
    "exponential_": (2.0, 2.0),
    "geometric_": (4.0, math.sqrt(0.75) / 0.25),
    "log_normal_": (math.exp(0.5 + 0.25**2 / 2), math.sqrt((math.exp(0.25**2) - 1) * math.exp(2 * 0.5 + 0.25**2))),
    "normal_": (-1.0, 3.0),
    "random_": (-0.5, math.sqrt(99 / 12)),
    "uniform_": (2.0, 8 / math.sqrt(12)),
}


def filled(name: str, shape=(N,), dtype: str = "float64", **arguments: object) -> np.ndarray:
    x = mt.zeros(list(shape), dtype)
    return getattr(x, name)(**(arguments or FILLS[name])).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_standard_deviation_match_the_distribution(name: str, dtype: str):
    mt.seed(11)
    numbers = filled(name, dtype=dtype).astype(np.float64)
    mean, deviation = MOMENTS[name]
    assert abs(numbers.mean() - mean) < 5 * deviation / math.sqrt(N)
    assert abs(numbers.std() / deviation - 1) < 0.03


def test_cauchy_samples_match_the_quartiles():
    mt.seed(12)
    numbers = filled("cauchy_")
    quarters = np.histogram(numbers, [-np.inf, -1.0, 1.0, 3.0, np.inf])[0] / N
    assert (abs(quarters - 0.25) < 0.005).all()


def test_random_values_are_in_the_range_of_their_distribution():
    mt.seed(13)
    assert set(np.unique(filled("bernoulli_"))) == {0.0, 1.0}
    assert set(np.unique(filled("random_"))) == set(range(-5, 5))
    geometric = filled("geometric_")
    assert geometric.min() == 1 and (geometric == np.floor(geometric)).all()
    uniform = filled("uniform_", dtype="float32")
    assert uniform.min() >= -2 and uniform.max() <= 6
    assert filled("exponential_").min() >= 0


@fill
def test_a_second_fill_draws_other_numbers_unless_the_seed_is_set_again(name: str):
    runs = []
    for _ in range(2):
        mt.seed(7)
        runs.append([filled(name, (4, 50)), filled(name, (4, 50))])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0][0], runs[0][1])
    mt.seed(8)
    assert not np.array_equal(filled(name, (4, 50)), runs[0][0])


def test_uniform_with_a_seed_does_not_advance_the_global_sequence():
    mt.seed(1)
    first, after = filled("uniform_", (9,), seed=5), mt.rand([3]).tolist()
    mt.seed(2)
    np.testing.assert_array_equal(filled("uniform_", (9,), seed=5), first)
    assert not np.array_equal(filled("uniform_", (9,), seed=6), first)
    mt.seed(1)
    assert mt.rand([3]).tolist() == after, "uniform_(seed=5) advanced the global sequence"


@fill
def test_a_random_fill_returns_its_target_and_raises_the_version_by_1(name: str):
    x = mt.zeros([3, 4])
    pointer = x.data_ptr()
    assert getattr(x, name)(**FILLS[name]) is x
    assert x.inplace_version == 1 and x.data_ptr() == pointer and x.dtype == "float32"


@fill
def test_memory_layout_does_not_affect_the_samples(name: str):
    arguments = FILLS[name]
    mt.seed(3)
    want = getattr(mt.zeros([3, 4], "float64"), name)(**arguments).numpy()
    for make_view in (lambda: mt.zeros([4, 3], "float64").T, lambda: mt.zeros([6, 8], "float64")[::-2, ::2]):
        mt.seed(3)
        x = make_view()
        np.testing.assert_array_equal(getattr(x, name)(**arguments).numpy(), want)
    whole = mt.zeros([6, 8], "float64")
    getattr(whole[::2, ::2], name)(**arguments)
    assert (whole.numpy()[1::2] == 0).all() and (whole.numpy()[:, 1::2] == 0).all()
    mt.seed(3)
    assert getattr(mt.zeros([], "float64"), name)(**arguments).shape == []
    assert getattr(mt.zeros([0, 3], "float64"), name)(**arguments).inplace_version == 1


@fill
def test_overwritten_elements_have_gradient_0_even_for_infinite_gradients(name: str):
    for create_graph in (False, True):
        w = leaf([1.0, np.nan, np.inf])
        x = getattr(w * 1, name)(**FILLS[name])
        assert not x.stop_gradient
        (gradient,) = mt.grad(x, [w], mt.full([3], np.inf, "float64"), create_graph=create_graph)
        assert gradient.tolist() == [0, 0, 0]


@pytest.mark.usefixtures("no_collector")
@fill
def test_filling_a_leaf_raises_and_filling_a_saved_tensor_makes_backward_raise(name: str):
    w = leaf([1.0, 2.0])
    moment = Moment(w=w)
    mt.seed(4)
    with pytest.raises(ValueError, match="Leaf Var"):
        getattr(w, name)(**FILLS[name])
    moment.expect_unchanged()
    x = w * 1
    y = x * x
    getattr(x, name)(**FILLS[name])
    with pytest.raises(RuntimeError, match=name):
        y.backward()
    with mt.no_grad():
        assert getattr(w, name)(**FILLS[name]).is_leaf and w.inplace_version == 1


def test_a_fill_that_raises_draws_no_random_numbers():
    mt.seed(6)
    want = mt.rand([2]).tolist()
    wide = mt.zeros([1]).as_strided([3], [0])
    mt.seed(6)
    for name in FILLS:
        with pytest.raises(RuntimeError, match="same memory cell"):
            getattr(wide, name)(**FILLS[name])
    expect_named(lambda: mt.zeros([2], "int64").normal_(), "int64", error=TypeError)
    assert mt.rand([2]).tolist() == want and wide.tolist() == [0, 0, 0]


def test_probabilities_may_be_a_tensor():
    p = mt.to_tensor([0.0, 0.3, 1.0])
    numbers = mt.zeros([40_000, 3]).bernoulli_(p).numpy()
    assert (numbers[:, 0] == 0).all() and (numbers[:, 2] == 1).all() and abs(numbers[:, 1].mean() - 0.3) < 0.02
    trials = mt.zeros([40_000, 2]).geometric_(mt.to_tensor([1.0, 0.5])).numpy()
    assert (trials[:, 0] == 1).all() and abs(trials[:, 1].mean() - 2) < 0.05
    expect_named(lambda: mt.zeros([2]).bernoulli_(p), r"\[3\]", r"\[2\]", error=ValueError)
    expect_named(lambda: mt.zeros([3]).bernoulli_(p + 0.5), "probability", error=ValueError)


def test_only_discrete_fills_accept_integer_and_bool_tensors():
    assert set(filled("random_", dtype="int32").tolist()) == set(range(-5, 5))
    assert set(filled("bernoulli_", dtype="bool").tolist()) == {True, False}
    assert filled("geometric_", dtype="int64").min() == 1
    assert set(mt.zeros([50], "bool").random_().tolist()) == {True, False}
    for name in ("cauchy_", "exponential_", "log_normal_", "normal_", "uniform_"):
        x = mt.zeros([2], "int64")
        expect_named(lambda x=x, name=name: getattr(x, name)(), name, "int64", error=TypeError)
        assert x.inplace_version == 0 and x.tolist() == [0, 0]


def test_random_accepts_zero_one_or_two_bounds():
    assert set(mt.zeros([300]).random_(3).tolist()) == {0, 1, 2}
    assert set(mt.zeros([300], "int64").random_(-2, 1).tolist()) == {-2, -1, 0}
    numbers = mt.zeros([1000]).random_().numpy()
    assert numbers.min() >= 0 and 2**23 < numbers.max() < 2**24, "up to 2 ** 24, float32 represents every integer"
    assert mt.zeros([1000], "int64").random_().numpy().max() > 2**61
    expect_named(lambda: mt.zeros([2]).random_(3, 3), "3", error=ValueError)
    expect_named(lambda: mt.zeros([2], "int32").random_(0, 2**40), "int32", error=ValueError)
    expect_named(lambda: mt.zeros([2]).random_(0, 2**30), "float32", error=ValueError)
    expect_named(lambda: mt.zeros([2]).random_(1.5), "from_", "1.5", error=TypeError)
    expect_named(lambda: mt.zeros([2]).random_(generator=object()), "generator", error=TypeError)


WRONG = {
    "std below 0": (lambda x: x.normal_(0.0, -1.0), ["std", "-1"]),
    "nan as mean": (lambda x: x.log_normal_(math.nan), ["mean", "nan"]),
    "min above max": (lambda x: x.uniform_(1.0, -1.0), ["min", "max", "1.0", "-1.0"]),
    "infinite bound": (lambda x: x.uniform_(0, math.inf), ["max", "inf"]),
    "rate of 0": (lambda x: x.exponential_(0), ["lam", "0"]),
    "scale below 0": (lambda x: x.cauchy_(0, -2), ["scale", "-2"]),
    "probability of 2": (lambda x: x.bernoulli_(2), ["p must be a probability", "2"]),
    "probability of 0": (lambda x: x.geometric_(0), ["probs", "0"]),
    "probability of nan": (lambda x: x.bernoulli_(math.nan), ["p must be", "nan"]),
    "a text": (lambda x: x.normal_("a"), ["mean", "str"]),
    "negative seed": (lambda x: x.uniform_(seed=-1), ["seed", "-1"]),
}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("what", WRONG)
def test_the_error_names_a_wrong_parameter_and_nothing_is_written(what: str):
    call, given = WRONG[what]
    x = mt.zeros([2])
    moment = Moment(x=x)
    expect_named(lambda: call(x), *given, error=(ValueError, TypeError))
    moment.expect_unchanged()


def test_creation_functions_and_fills_draw_the_same_numbers():
    for make, name, arguments in (
        (lambda: mt.uniform([5], min=-1.0, max=2.0), "uniform_", {"min": -1.0, "max": 2.0}),
        (lambda: mt.normal(1.0, 2.0, [5]), "normal_", {"mean": 1.0, "std": 2.0}),
        (lambda: mt.log_normal(0.0, 1.0, [5]), "log_normal_", {"mean": 0.0, "std": 1.0}),
        (lambda: mt.bernoulli(mt.full([5], 0.5)), "bernoulli_", {"p": 0.5}),
    ):
        mt.seed(5)
        drawn = make()
        mt.seed(5)
        np.testing.assert_array_equal(drawn.numpy(), filled(name, (5,), "float32", **arguments))
        assert drawn.stop_gradient and drawn.dtype == "float32"
    many = mt.normal(mt.to_tensor([0.0, 100.0]), mt.to_tensor([[1.0], [0.0]]))
    assert many.shape == [2, 2] and many.tolist()[1] == [0, 100]
    expect_named(lambda: mt.normal(0.0, 1.0), "shape", error=TypeError)
    expect_named(lambda: mt.bernoulli(mt.full([2], 1.5)), "probability", error=ValueError)
    expect_named(lambda: mt.bernoulli(mt.ones([2], "int64")), "int64", error=TypeError)
