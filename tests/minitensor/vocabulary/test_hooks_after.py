"""Test hooks that run after a gradient is stored: `_register_backward_hook`, `register_post_accumulate_grad_hook`."""

from __future__ import annotations

import gc
import weakref

import pytest

import minitensor as paddle
import minitensor.torch as torch


def test_a_backward_hook_in_paddle_runs_when_the_gradient_is_accumulated():
    x = paddle.ones([2])
    x.stop_gradient = False
    seen = []
    assert x._register_backward_hook(lambda: seen.append(x.grad.tolist())) is None
    for _ in range(2):
        (x * 3 + x * 2).sum().backward()
    paddle.grad((x * 2).sum(), x)
    assert seen == [[5.0, 5.0], [10.0, 10.0]]
    with pytest.raises(ValueError, match="for leaf Tensor"):
        (x * 2)._register_backward_hook(lambda: None)
    with pytest.raises(ValueError, match="that stop gradient"):
        paddle.ones([2])._register_backward_hook(lambda: None)


def test_a_post_accumulate_hook_in_pytorch_may_update_the_leaf_and_remove_its_gradient():
    x = torch.ones(2, requires_grad=True)

    def step(tensor):
        with torch.no_grad():
            tensor.sub_(tensor.grad, alpha=0.5)
        tensor.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert x.tolist() == [0.0, 0.0] and x.grad is None
    handle.remove()
    (x * 2).sum().backward()
    assert x.tolist() == [0.0, 0.0] and x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(step)


def test_a_hook_keeps_no_tensor_alive():
    gc.disable()
    try:
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda tensor: None)
        gone = weakref.ref(x)
        del x
        assert gone() is None
    finally:
        gc.enable()
