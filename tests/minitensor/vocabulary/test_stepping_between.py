"""Step between forward and backward: backward refuses, with every optimizer, because the weights have changed.

PyTorch refuses too. Paddle computes the gradients of the new weights (`optimizer_step_between` in facts/programs.json).
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as paddle
from minitensor import nn, optimizer, torch

PADDLE = {
    "SGD": lambda w: optimizer.SGD(0.001, parameters=w),
    "Momentum": lambda w: optimizer.Momentum(0.001, parameters=w),
    "Momentum, Nesterov": lambda w: optimizer.Momentum(0.001, parameters=w, use_nesterov=True),
    "Adam": lambda w: optimizer.Adam(0.001, parameters=w),
    "AdamW": lambda w: optimizer.AdamW(0.001, parameters=w),
    "RMSProp": lambda w: optimizer.RMSProp(0.001, parameters=w),
    "SGD, clipped": lambda w: optimizer.SGD(0.001, parameters=w, grad_clip=nn.ClipGradByNorm(0.1)),
    "SGD, decayed": lambda w: optimizer.SGD(0.001, parameters=w, weight_decay=0.1),
}
TORCH = {
    "SGD": lambda w: torch.optim.SGD(w, 0.001),
    "SGD, momentum": lambda w: torch.optim.SGD(w, 0.001, momentum=0.9, nesterov=True),
    "Adam": lambda w: torch.optim.Adam(w, 0.001),
    "Adam, amsgrad": lambda w: torch.optim.Adam(w, 0.001, amsgrad=True),
    "AdamW": lambda w: torch.optim.AdamW(w, 0.001),
    "RMSprop": lambda w: torch.optim.RMSprop(w, 0.001, momentum=0.9, centered=True),
}
#: The library, and a function that returns an optimizer of the weights.
CASES = [(paddle, make) for make in PADDLE.values()] + [(torch, make) for make in TORCH.values()]
IDS = [f"paddle-{name}" for name in PADDLE] + [f"torch-{name}" for name in TORCH]


def network(library):
    """Return two layers, the loss of some rows, and numpy's gradients at the first weights."""
    rng = np.random.default_rng(0)
    first, second, x = (rng.normal(size=shape) for shape in ((3, 4), (4, 1), (5, 3)))
    if library is torch:
        weights = [torch.tensor(each, requires_grad=True) for each in (first, second)]
        given = torch.tensor(x)
    else:
        weights = [paddle.to_tensor(each, stop_gradient=False) for each in (first, second)]
        given = paddle.to_tensor(x)
    hidden = x @ first
    slopes = [x.T @ (2 * hidden @ second @ second.T), hidden.T @ (2 * hidden @ second)]

    def loss():
        out = (given @ weights[0]) @ weights[1]
        return (out * out).sum()

    return weights, loss, slopes


@pytest.mark.parametrize(("library", "make"), CASES, ids=IDS)
def test_a_step_between_forward_and_backward_is_refused_at_backward(library, make, device):
    weights, loss, slopes = network(library)
    steps = make(weights)
    before = loss()
    loss().backward()
    for weight, slope in zip(weights, slopes, strict=True):
        np.testing.assert_allclose(weight.grad.tolist(), slope, rtol=1e-9)
    gradients = [weight.grad.tolist() for weight in weights]
    steps.step()
    with pytest.raises(RuntimeError, match=r"received tensor_version:1 != wrapper_version_snapshot:0") as caught:
        before.backward()
    assert "overwritten: by " in str(caught.value)
    for weight, gradient in zip(weights, gradients, strict=True):
        np.testing.assert_array_equal(weight.grad.tolist(), gradient)


@pytest.mark.parametrize(("library", "make"), CASES, ids=IDS)
def test_a_step_after_backward_is_not_refused_and_the_next_forward_sees_it(library, make):
    weights, loss, _ = network(library)
    steps = make(weights)
    first = loss()
    first.backward()
    steps.step()
    second = loss()
    second.backward()
    assert second.item() < first.item()


@pytest.mark.parametrize(("library", "make"), CASES, ids=IDS)
def test_under_copy_on_write_the_step_is_allowed_and_the_gradients_are_those_of_the_old_weights(library, make):
    weights, loss, slopes = network(library)
    steps = make(weights)
    with paddle.set_inplace_policy("copy_on_write"):
        before = loss()
        loss().backward()
        steps.step()
        for weight in weights:
            weight.grad = None if library is torch else weight.clear_gradient(False)
        before.backward()
    for weight, slope in zip(weights, slopes, strict=True):
        np.testing.assert_allclose(weight.grad.tolist(), slope, rtol=1e-9)
