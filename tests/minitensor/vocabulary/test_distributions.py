"""Test distributions in both vocabularies: moments of samples, gradients of rsample, refused arguments.

test_special_values.py compares densities, entropies, divergences and their gradients with those of the frameworks.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor import distribution as paddle
from minitensor import torch

pytorch = torch.distributions


@pytest.mark.parametrize(
    ("make", "mean", "variance"),
    [
        (lambda: pytorch.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0])), [0.0, 1.0], [1.0, 4.0]),
        (lambda: pytorch.Bernoulli(torch.tensor([0.2, 0.7])), [0.2, 0.7], [0.16, 0.21]),
        (lambda: pytorch.Uniform(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0])), [0.5, 2.0], [1 / 12, 1 / 3]),
        (lambda: paddle.Normal([0.0, 1.0], [1.0, 2.0]), [0.0, 1.0], [1.0, 4.0]),
        (lambda: paddle.Bernoulli([0.2, 0.7]), [0.2, 0.7], [0.16, 0.21]),
        (lambda: paddle.Uniform([0.0, 1.0], [1.0, 3.0]), [0.5, 2.0], [1 / 12, 1 / 3]),
    ],
)
def test_samples_have_the_moments_of_the_distribution(make, mean, variance):
    torch.manual_seed(0)
    mt.seed(0)
    made = make()
    np.testing.assert_allclose(made.mean.numpy(), mean, rtol=1e-6)
    np.testing.assert_allclose(made.variance.numpy(), variance, rtol=1e-5)
    drawn = made.sample((20000,)).numpy()
    assert drawn.shape == (20000, 2)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.05)
    np.testing.assert_allclose(drawn.var(0), variance, rtol=0.1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pytorch.Categorical(torch.tensor([[1.0, 2.0, 1.0], [0.0, 1.0, 3.0]])),
        lambda: pytorch.Categorical(logits=torch.tensor([[0.25, 0.5, 0.25], [1e-30, 0.25, 0.75]]).log()),
        lambda: paddle.Categorical(mt.to_tensor([[1.0, 2.0, 1.0], [0.0, 1.0, 3.0]])),
    ],
)
def test_categories_are_drawn_with_their_probabilities(make):
    torch.manual_seed(0)
    mt.seed(0)
    drawn = make().sample((20000,)).numpy()
    assert drawn.shape == (20000, 2)
    shares = [[(drawn[:, row] == category).mean() for category in range(3)] for row in range(2)]
    np.testing.assert_allclose(shares, [[0.25, 0.5, 0.25], [0.0, 0.25, 0.75]], atol=0.02)


def test_the_parameters_get_gradients_through_rsample_and_not_through_sample():
    loc, scale = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    drawn = pytorch.Normal(loc, scale).rsample((2,))
    drawn.sum().backward()
    assert loc.grad.tolist() == [2.0, 2.0, 2.0]
    np.testing.assert_allclose(scale.grad.numpy(), drawn.detach().numpy().sum(0), rtol=1e-6)
    assert not pytorch.Normal(loc, scale).sample().requires_grad

    middle = mt.zeros([3])
    middle.stop_gradient = False
    paddle.Normal(middle, 1.0).rsample([2]).sum().backward()
    assert middle.grad.tolist() == [2.0, 2.0, 2.0]
    assert paddle.Normal(middle, 1.0).sample([2]).stop_gradient


@pytest.mark.parametrize("kind", [pytorch.Bernoulli, pytorch.Categorical, paddle.Categorical])
def test_discrete_distributions_refuse_rsample(kind):
    ones = torch.ones(2) if kind.__module__.endswith("distributions") else mt.ones([2])
    with pytest.raises(NotImplementedError, match=r"rsample: its outcomes have no gradient; use sample\(\)"):
        kind(ones).rsample()


@pytest.mark.parametrize(
    ("call", "error", "names"),
    [
        (lambda: pytorch.Normal(0.0, -1.0), ValueError, "scale .*GreaterThan"),
        (lambda: pytorch.Normal("a", 1.0), ValueError, "'a'"),
        (lambda: pytorch.Normal(torch.zeros(2), torch.ones(3)), RuntimeError, r"\[2\], \[3\]"),
        (lambda: pytorch.Normal(0.0, 1.0).log_prob(0.5), ValueError, "must be a Tensor"),
        (lambda: pytorch.Bernoulli(torch.tensor(2.0)), ValueError, "probs"),
        (lambda: pytorch.Bernoulli(torch.tensor(0.5)).log_prob(torch.tensor(0.5)), ValueError, "Boolean"),
        (lambda: pytorch.Categorical(torch.tensor([-1.0, 2.0])), ValueError, "Simplex"),
        (lambda: pytorch.Categorical(), ValueError, "Either `probs` or `logits`"),
        (lambda: pytorch.Categorical(torch.ones(2)).log_prob(torch.tensor(2)), ValueError, "upper_bound=1"),
        (lambda: pytorch.Uniform(1.0, 0.0), ValueError, "low"),
        (
            lambda: pytorch.kl_divergence(pytorch.Normal(0.0, 1.0), pytorch.Uniform(0.0, 1.0)),
            NotImplementedError,
            "Normal",
        ),
        (lambda: pytorch.register_kl(int, int), TypeError, "subclasses"),
        (lambda: pytorch.Normal(0.0, 1.0).icdf(0.5), TypeError, "icdf.*'value'.*must be Tensor"),
        (lambda: pytorch.Normal(0.0, 1.0).sample((-1,)), RuntimeError, r"sample_shape \[-1\] has a negative length"),
        (lambda: pytorch.Normal(0.0, 10**400), ValueError, "a number that a float can hold"),
        (lambda: pytorch.Categorical([0.5, 0.5]), TypeError, "argument 'probs' must be Tensor"),
        (lambda: pytorch.Distribution().entropy(), NotImplementedError, "Distribution does not define entropy"),
        (lambda: paddle.Distribution(2.5), TypeError, "Distribution: batch_shape: a shape must be a list of integers"),
        (lambda: paddle.Normal([1.0, 2.0], 1.0).log_prob(mt.ones([3])), ValueError, r"shape \[3\] of value cannot be"),
        (lambda: paddle.Normal(0.0, 1.0).sample([2], "a"), TypeError, "Normal.sample: seed must be an integer"),
        (lambda: paddle.Bernoulli(0.5).rsample([2], "a"), TypeError, "temperature must be a number, not 'a'"),
        (lambda: paddle.Normal("a", 1.0), TypeError, "Normal: loc"),
        (lambda: paddle.Normal([1.0, 2.0], [1.0, 2.0, 3.0]), ValueError, "cannot be broadcast"),
        (lambda: paddle.Normal(0.0, 1.0).log_prob(0.5), TypeError, "value must be a Tensor"),
        (lambda: paddle.Bernoulli(2.0), ValueError, "from 0 to 1"),
        (
            lambda: paddle.Bernoulli(mt.to_tensor([2.0], place="gpu:sim")),
            ValueError,
            "from 0 to 1, but they go from 2 to",
        ),
        (lambda: paddle.Bernoulli(0.5).rsample([2], 0.0), ValueError, "temperature"),
        (lambda: paddle.Categorical(1.0), ValueError, "dimension"),
        (lambda: paddle.Categorical(mt.ones([2])).log_prob(mt.to_tensor([2])), ValueError, "from 0 to 1"),
        (lambda: paddle.kl_divergence(paddle.Normal(0.0, 1.0), 3), TypeError, "distributions"),
        (
            lambda: paddle.kl_divergence(paddle.Normal(0.0, 1.0), paddle.Uniform(0.0, 1.0)),
            NotImplementedError,
            "must be of one class",
        ),
    ],
)
def test_unsuitable_parameters_and_outcomes_are_refused(call, error, names):
    with pytest.raises(error, match=names):
        call()


def test_rsample_of_bernoulli_in_paddle_is_near_0_or_1_at_a_low_temperature():
    mt.seed(0)
    probability = mt.to_tensor([0.3], stop_gradient=False)
    drawn = paddle.Bernoulli(probability).rsample([1000], 0.01)
    numbers = drawn.numpy()
    assert ((numbers < 0.01) | (numbers > 0.99)).mean() > 0.9 and numbers.mean() == pytest.approx(0.3, abs=0.05)
    drawn.sum().backward()
    assert probability.grad.item() > 0


def test_the_gradient_of_log_prob_raises_the_score_of_the_chosen_action():
    scores = torch.zeros(3, requires_grad=True)
    action = torch.tensor(1)
    (-pytorch.Categorical(logits=scores).log_prob(action)).backward()
    np.testing.assert_allclose(scores.grad.numpy(), [1 / 3, -2 / 3, 1 / 3], rtol=1e-6)
