"""Spread, norms, products and order under Paddle's names: values beside numpy, gradients beside finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as paddle

NUMBERS = np.array([[3.0, 1.0, 2.5], [-4.0, 0.5, 2.0]])
OTHER = np.array([[1.0, 2.0, 0.25], [0.5, -1.0, 4.0]])


def tensor(array: np.ndarray = NUMBERS) -> paddle.Tensor:
    return paddle.to_tensor(array, dtype="float64", stop_gradient=False)


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: x.var(), NUMBERS.var(ddof=1)),
        (lambda x: x.std(axis=1, keepdim=True), NUMBERS.std(1, ddof=1, keepdims=True)),
        (lambda x: x.std(unbiased=False), NUMBERS.std()),
        (lambda x: x.norm(), np.linalg.norm(NUMBERS)),
        (lambda x: x.norm(3, axis=1), (np.abs(NUMBERS) ** 3).sum(1) ** (1 / 3)),
        (lambda x: x.norm(np.inf, axis=0), np.abs(NUMBERS).max(0)),
        (lambda x: x.norm(p=1), np.abs(NUMBERS).sum()),
        (lambda x: x.dot(tensor(OTHER)), (NUMBERS * OTHER).sum(1)),
        (lambda x: x.mm(tensor(OTHER.T)), NUMBERS @ OTHER.T),
        (lambda x: paddle.bmm(x.unsqueeze(0), tensor(OTHER.T).unsqueeze(0)), (NUMBERS @ OTHER.T)[None]),
        (lambda x: paddle.add_n([x, x, tensor(OTHER)]), 2 * NUMBERS + OTHER),
        (lambda x: x.sort(), np.sort(NUMBERS)),
        (lambda x: x.sort(0, descending=True), -np.sort(-NUMBERS, 0)),
        (lambda x: x.topk(2)[0], -np.sort(-NUMBERS)[:, :2]),
        (lambda x: x.topk(1, 0, largest=False)[0], NUMBERS.min(0, keepdims=True)),
        (lambda x: x.T.contiguous(), NUMBERS.T),
    ],
)
def test_values_are_numpys_and_gradients_those_of_finite_differences(function, expected):
    assert np.allclose(function(tensor()).numpy(), expected)
    x = tensor()
    function(x).sum().backward()
    step, slopes = 1e-6, np.empty_like(NUMBERS)
    for i in np.ndindex(*NUMBERS.shape):
        moved = [NUMBERS.copy(), NUMBERS.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        above, below = (function(tensor(array)).sum().item() for array in moved)
        slopes[i] = (above - below) / (2 * step)
    assert np.allclose(x.grad.numpy(), slopes, atol=1e-6)


@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_stay_in_their_order(descending):
    order = paddle.to_tensor([1.0, 2.0, 1.0, 2.0]).argsort(descending=descending)
    assert order.tolist() == ([1, 3, 0, 2] if descending else [0, 2, 1, 3])


def test_the_norm_of_zeros_has_the_gradient_0():
    x = paddle.zeros([2])
    x.stop_gradient = False
    x.norm().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_contiguous_is_the_tensor_itself_where_it_can_be():
    x = tensor()
    assert x.contiguous() is x and x.T.contiguous().is_contiguous()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: x.topk(4), "length of axis 1, which is 3, not 4"),
        (lambda x: x.dot(x[0]), "two vectors of one length"),
        (lambda x: x.bmm(x), "of 3 dimensions"),
        (lambda x: x.norm("max"), "a number or 'fro'"),
        (lambda x: paddle.add_n([]), "no tensor to add"),
    ],
)
def test_what_cannot_be_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call(tensor())


def test_bits_of_tensors_and_numbers_join_in_either_order():
    i = paddle.to_tensor([5, 6])
    assert [(i & 3).tolist(), (3 & i).tolist(), (8 | i).tolist(), (i ^ i).tolist(), (~i).tolist()] == [
        *([1, 2], [1, 2], [13, 14], [0, 0], [-6, -7]),
    ]
