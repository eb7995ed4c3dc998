"""Test `nn.utils` of both vocabularies, which scale gradients in place. facts/gradients.json records the gradients that
a program keeps meanwhile.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import minitensor as paddle
from minitensor import torch


def of_paddle(*gradients: list[float]) -> list[paddle.Tensor]:
    leaves = [paddle.ones([len(g)]) for g in gradients]
    for x, g in zip(leaves, gradients, strict=True):
        x.stop_gradient = False
        x.grad = paddle.to_tensor(g)
    return leaves


@pytest.mark.parametrize(("norm_type", "norm"), [(2.0, 13.0), (1, 19.0), (math.inf, 12.0), (0, 2.0)])
def test_paddle_scales_all_gradients_by_one_factor_to_the_largest_allowed_norm(norm_type, norm):
    # the 2-norm, 1-norm and inf-norm of the gradients 3, 4 and 12 are 13, 19 and 12; the 0-norm counts those that are
    # not 0
    leaves = of_paddle([3.0, 4.0], [12.0])
    reported = paddle.nn.utils.clip_grad_norm_(leaves, norm / 2, norm_type)
    assert reported.item() == pytest.approx(norm) and reported.shape == []
    assert np.allclose(leaves[0].grad.tolist() + leaves[1].grad.tolist(), [1.5, 2, 6], rtol=1e-5)


def test_paddle_leaves_small_gradients_unchanged_and_accepts_a_single_tensor():
    (x,) = of_paddle([3.0, 4.0])
    assert paddle.nn.utils.clip_grad_norm_(x, 10.0).item() == pytest.approx(5.0)
    assert x.grad.tolist() == [3, 4]


def test_paddles_norm_of_no_gradients_is_zero():
    assert paddle.nn.utils.clip_grad_norm_([paddle.ones([2])], 1.0).item() == 0


def test_a_norm_that_is_not_finite_is_refused_on_request_and_writes_nothing():
    (x,) = of_paddle([3.0, math.inf])
    with pytest.raises(RuntimeError, match="error_if_nonfinite=False"):
        paddle.nn.utils.clip_grad_norm_(x, 1.0, error_if_nonfinite=True)
    assert x.grad.tolist() == [3, math.inf]


def test_an_unknown_kind_of_norm_is_refused():
    with pytest.raises(ValueError, match="norm_type only support"):
        paddle.nn.utils.clip_grad_norm_(of_paddle([3.0]), 1.0, norm_type=3)


def test_pytorch_writes_small_gradients_too_and_each_bound_is_one_write():
    # PyTorch multiplies by the factor limited to 1. It clamps values with two writes: first to the lower bound, then to
    # the upper.
    x = torch.ones(2, requires_grad=True)
    (x * 2.0).sum().backward()
    before = x.grad._version
    torch.nn.utils.clip_grad_norm_([x], 100.0)
    assert x.grad.tolist() == [2, 2] and x.grad._version == before + 1
    torch.nn.utils.clip_grad_value_([x], 1.0)
    assert x.grad.tolist() == [1, 1] and x.grad._version == before + 3
