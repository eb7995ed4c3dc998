"""Test for every optimizer that backward raises an error if a step has changed the weights after forward.

PyTorch also raises an error. Paddle silently uses the new weights to compute the gradients (`optimizer_step_between` in
facts/programs.json).
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as paddle
from minitensor import nn, torch

PADDLE = {
    "SGD": lambda w: paddle.optimizer.SGD(0.001, parameters=w),
    "Momentum": lambda w: paddle.optimizer.Momentum(0.001, parameters=w),
    "Momentum, Nesterov": lambda w: paddle.optimizer.Momentum(0.001, parameters=w, use_nesterov=True),
    "Adam": lambda w: paddle.optimizer.Adam(0.001, parameters=w),
    "AdamW": lambda w: paddle.optimizer.AdamW(0.001, parameters=w),
    "RMSProp": lambda w: paddle.optimizer.RMSProp(0.001, parameters=w),
    "SGD, clipped": lambda w: paddle.optimizer.SGD(0.001, parameters=w, grad_clip=nn.ClipGradByNorm(0.1)),
    "SGD, decayed": lambda w: paddle.optimizer.SGD(0.001, parameters=w, weight_decay=0.1),
}
TORCH = {
    "SGD": lambda w: torch.optim.SGD(w, 0.001),
    "SGD, momentum": lambda w: torch.optim.SGD(w, 0.001, momentum=0.9, nesterov=True),
    "Adam": lambda w: torch.optim.Adam(w, 0.001),
    "Adam, amsgrad": lambda w: torch.optim.Adam(w, 0.001, amsgrad=True),
    "AdamW": lambda w: torch.optim.AdamW(w, 0.001),
    "RMSprop": lambda w: torch.optim.RMSprop(w, 0.001, momentum=0.9, centered=True),
}
#: For each case: the library, and a function that creates an optimizer for the weights.
CASES = [(paddle, make) for make in PADDLE.values()] + [(torch, make) for make in TORCH.values()]
IDS = [f"paddle-{name}" for name in PADDLE] + [f"torch-{name}" for name in TORCH]


def network(library):
    """Return two weight matrices, a function that computes the loss, and gradients expected at the initial weights."""
    rng = np.random.default_rng(0)
    first, second, x = (rng.normal(size=shape) for shape in ((3, 4), (4, 1), (5, 3)))
    if library is torch:
        weights = [torch.tensor(each, requires_grad=True) for each in (first, second)]
        given = torch.tensor(x)
    else:
        weights = [paddle.to_tensor(each, stop_gradient=False) for each in (first, second)]
        given = paddle.to_tensor(x)
    hidden = x @ first
    expected_gradients = [x.T @ (2 * hidden @ second @ second.T), hidden.T @ (2 * hidden @ second)]

    def loss():
        out = (given @ weights[0]) @ weights[1]
        return (out * out).sum()

    return weights, loss, expected_gradients


@pytest.mark.parametrize(("library", "make"), CASES, ids=IDS)
def test_backward_raises_after_a_step_between_forward_and_backward(library, make, device):
    weights, loss, expected_gradients = network(library)
    optimizer = make(weights)
    before = loss()
    loss().backward()
    for weight, expected in zip(weights, expected_gradients, strict=True):
        np.testing.assert_allclose(weight.grad.tolist(), expected, rtol=1e-9)
    gradients = [weight.grad.tolist() for weight in weights]
    optimizer.step()
    with pytest.raises(RuntimeError, match=r"received tensor_version:1 != wrapper_version_snapshot:0") as caught:
        before.backward()
    assert "overwritten: by " in str(caught.value)
    for weight, gradient in zip(weights, gradients, strict=True):
        np.testing.assert_array_equal(weight.grad.tolist(), gradient)


@pytest.mark.parametrize(("library", "make"), CASES, ids=IDS)
def test_a_step_after_backward_is_allowed_and_lowers_the_next_loss(library, make):
    weights, loss, _ = network(library)
    optimizer = make(weights)
    first = loss()
    first.backward()
    optimizer.step()
    second = loss()
    second.backward()
    assert second.item() < first.item()


@pytest.mark.parametrize(("library", "make"), CASES, ids=IDS)
def test_under_copy_on_write_backward_after_a_step_uses_the_old_weights(library, make):
    weights, loss, expected_gradients = network(library)
    optimizer = make(weights)
    with paddle.set_inplace_policy("copy_on_write"):
        before = loss()
        loss().backward()
        optimizer.step()
        for weight in weights:
            weight.grad = None if library is torch else weight.clear_gradient(False)
        before.backward()
    for weight, expected in zip(weights, expected_gradients, strict=True):
        np.testing.assert_allclose(weight.grad.tolist(), expected, rtol=1e-9)
