"""Test the functions of `nn.utils` in both vocabularies that clip gradients in place.

test_gradients_recorded.py tests whether clipping also changes a gradient to which the program still refers.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import minitensor as paddle
from minitensor import torch


def leaves_with(*gradients: list[float]) -> list[paddle.Tensor]:
    leaves = [paddle.ones([len(g)]) for g in gradients]
    for x, g in zip(leaves, gradients, strict=True):
        x.stop_gradient = False
        x.grad = paddle.to_tensor(g)
    return leaves


@pytest.mark.parametrize(("norm_type", "norm"), [(2.0, 13.0), (1, 19.0), (math.inf, 12.0), (0, 2.0)])
def test_clip_grad_norm_in_paddle_scales_all_gradients_by_one_factor(norm_type, norm):
    # The 2-norm, 1-norm and inf-norm of the gradients 3, 4 and 12 are 13, 19 and 12. The 0-norm is the number of leaves
    # with a gradient that is not 0.
    leaves = leaves_with([3.0, 4.0], [12.0])
    reported = paddle.nn.utils.clip_grad_norm_(leaves, norm / 2, norm_type)
    assert reported.item() == pytest.approx(norm) and reported.shape == []
    assert np.allclose(leaves[0].grad.tolist() + leaves[1].grad.tolist(), [1.5, 2, 6], rtol=1e-5)


def test_clip_grad_norm_in_paddle_does_not_change_small_gradients():
    (x,) = leaves_with([3.0, 4.0])
    assert paddle.nn.utils.clip_grad_norm_(x, 10.0).item() == pytest.approx(5.0)
    assert x.grad.tolist() == [3, 4]


def test_clip_grad_norm_in_paddle_returns_zero_if_no_tensor_has_a_gradient():
    assert paddle.nn.utils.clip_grad_norm_([paddle.ones([2])], 1.0).item() == 0


def test_with_error_if_nonfinite_an_infinite_norm_is_refused_and_nothing_is_written():
    (x,) = leaves_with([3.0, math.inf])
    with pytest.raises(RuntimeError, match="error_if_nonfinite=False"):
        paddle.nn.utils.clip_grad_norm_(x, 1.0, error_if_nonfinite=True)
    assert x.grad.tolist() == [3, math.inf]


def test_an_unknown_kind_of_norm_is_refused():
    with pytest.raises(ValueError, match="norm_type only support"):
        paddle.nn.utils.clip_grad_norm_(leaves_with([3.0]), 1.0, norm_type=3)


def test_clipping_in_pytorch_writes_small_gradients_too_and_clamps_with_two_writes():
    # clip_grad_norm_ multiplies by a factor of at most 1. clip_grad_value_ writes twice: it clamps the values to the
    # lower bound, and then to the upper bound.
    x = torch.ones(2, requires_grad=True)
    (x * 2.0).sum().backward()
    before = x.grad._version
    torch.nn.utils.clip_grad_norm_([x], 100.0)
    assert x.grad.tolist() == [2, 2] and x.grad._version == before + 1
    torch.nn.utils.clip_grad_value_([x], 1.0)
    assert x.grad.tolist() == [1, 1] and x.grad._version == before + 3
