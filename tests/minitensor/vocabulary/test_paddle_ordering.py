"""Compare variances, norms, products, sorting and similar functions of Paddle's vocabulary with numpy, and their
gradients with finite differences.
"""

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
def test_values_equal_those_of_numpy_and_gradients_equal_finite_differences(function, expected):
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
def test_argsort_keeps_the_order_of_equal_elements(descending):
    order = paddle.to_tensor([1.0, 2.0, 1.0, 2.0]).argsort(descending=descending)
    assert order.tolist() == ([1, 3, 0, 2] if descending else [0, 2, 1, 3])


def test_the_norm_of_zeros_has_the_gradient_0():
    x = paddle.zeros([2])
    x.stop_gradient = False
    x.norm().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_contiguous_returns_the_tensor_itself_if_it_is_contiguous():
    x = tensor()
    assert x.contiguous() is x and x.T.contiguous().is_contiguous()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: x.topk(4), "length of axis 1, which is 3, not 4"),
        (lambda x: x.dot(x[0]), "x and y must be vectors of one length"),
        (lambda x: x.bmm(x), "of 3 dimensions"),
        (lambda x: x.norm("max"), "a number or 'fro'"),
        (lambda x: paddle.add_n([]), "must have at least one tensor"),
        (lambda x: paddle.add_n([x, x[0]]), "the tensors must have one shape"),
        (
            lambda x: paddle.bmm(paddle.ones([2, 2, 3]), paddle.ones([1, 3, 2])),
            "equally many matrices, but they hold 2 and 1",
        ),
        (lambda x: paddle.zeros([0]).std(), "there is no element"),
    ],
)
def test_invalid_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(tensor())


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: x.dot(2.0), "dot: y must be a Tensor, not float"),
        (lambda x: paddle.bmm(paddle.ones([1, 2, 2]), "a"), "bmm: y must be a Tensor, not str"),
        (lambda x: paddle.add_n([x, 1.0]), r"a list of Tensors, not \['Tensor', 'float'\]"),
        (lambda x: x.topk("a"), "k must be an integer, not 'a'"),
        (lambda x: paddle.sort([3, 1]), "sort: x must be a Tensor, not list"),
    ],
)
def test_the_type_error_about_a_wrong_operand_names_the_operation(call, words):
    with pytest.raises(TypeError, match=words):
        call(tensor())


def test_a_tensor_without_dimensions_can_be_sorted():
    x = paddle.to_tensor(2.0)
    assert [x.argsort().shape, x.sort().item(), *(each.item() for each in x.topk(1))] == [[], 2.0, 2.0, 0]
    with pytest.raises(IndexError, match="axis 1"):
        x.argsort(1)


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_treats_a_tensor_in_no_grad_vars_as_a_constant(create_graph):
    x, y = tensor(), tensor(OTHER)
    first, second = paddle.grad((x * y).sum(), [x, y], None, None, create_graph, True, True, [y])
    assert np.allclose(first.numpy(), OTHER) and second is None
    with pytest.raises(RuntimeError, match="do not depend on input 1"):
        paddle.grad((x * y).sum(), [x, y], no_grad_vars=y)


def test_bitwise_operations_accept_tensors_and_numbers_in_either_order():
    i = paddle.to_tensor([5, 6])
    assert [(i & 3).tolist(), (3 & i).tolist(), (8 | i).tolist(), (i ^ i).tolist(), (~i).tolist()] == [
        *([1, 2], [1, 2], [13, 14], [0, 0], [-6, -7])
    ]


@pytest.mark.parametrize("shape", [(5,), (4,), (2, 3), (3, 4), ()])
def test_the_median_equals_numpys_and_only_the_middle_elements_get_its_gradient(shape):
    numbers = np.random.default_rng(0).standard_normal(shape).astype("float32")
    for axis in (None, *range(len(shape))):
        for keepdim in (False, True):
            x = paddle.to_tensor(numbers, stop_gradient=False)
            found = paddle.median(x, axis, keepdim)
            np.testing.assert_allclose(found.numpy(), np.median(numbers, axis, keepdims=keepdim), rtol=1e-6)
            found.sum().backward()
            assert abs(float(x.grad.sum()) - found.size) < 1e-6
            assert (x.grad.numpy() > 0).sum() == found.size * (1 if numbers.shape == () else _middles(numbers, axis))


def _middles(numbers, axis):
    return 1 if (numbers.size if axis is None else numbers.shape[axis]) % 2 else 2


def test_the_median_of_nan_is_nan_and_of_an_empty_tensor_is_refused():
    assert np.isnan(paddle.median(paddle.to_tensor([float("nan"), 2.0, 1.0])).item())
    assert paddle.median(paddle.to_tensor([1, 2, 3, 4])).item() == 2.5
    with pytest.raises(ValueError, match="should not be 0"):
        paddle.median(paddle.zeros([0]))


def test_unique_values_equal_those_of_numpy():
    numbers = np.random.default_rng(0).integers(0, 4, (6, 2))
    x = paddle.to_tensor(numbers)
    for axis in (None, 0, 1):
        found = paddle.unique(x, True, True, True, axis, "int32")
        right = np.unique(numbers, True, True, True, axis)
        assert all((a.numpy() == b.reshape(a.shape)).all() for a, b in zip(found, right, strict=True))
        assert [each.dtype for each in found] == ["int64", "int32", "int32", "int32"]
    assert x.unique().tolist() == np.unique(numbers).tolist()
    with pytest.raises(TypeError, match="int32 or int64, not float32"):
        paddle.unique(x, dtype="float32")


def test_one_hot_has_a_1_at_the_class_and_refuses_invalid_classes():
    labels = paddle.to_tensor([[2, 0], [1, 3]], dtype="int32")
    hot = paddle.nn.functional.one_hot(labels, 4)
    assert hot.dtype == "float32" and (hot.numpy() == np.eye(4)[labels.numpy()]).all()
    for wrong in (4, -1):
        with pytest.raises(ValueError, match=f"{wrong} is not a class; with num_classes=4, classes are from 0 to 3"):
            paddle.nn.functional.one_hot(paddle.to_tensor([wrong]), 4)
    for dtype in ("float32", "uint8", "int16", "bool"):  # Paddle 3.3.1 has no kernel for them, either
        with pytest.raises(TypeError, match=f"x must be int32 or int64, not {dtype}"):
            paddle.nn.functional.one_hot(paddle.ones([1], dtype), 4)


def test_softmax_with_cross_entropy_keeps_the_axis_and_has_the_gradient_of_cross_entropy():
    F = paddle.nn.functional
    numbers = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")
    labels = paddle.to_tensor([3, 0, -100])
    a, b = (paddle.to_tensor(numbers, stop_gradient=False) for _ in range(2))
    losses, shares = F.softmax_with_cross_entropy(a, labels.unsqueeze(1), return_softmax=True)
    assert losses.shape == [3, 1] and losses[2].item() == 0.0
    np.testing.assert_allclose(shares.numpy().sum(1), 1.0, rtol=1e-6)
    losses.sum().backward()
    F.cross_entropy(b, labels, reduction="sum").backward()
    assert a.grad.tolist() == b.grad.tolist()
    assert F.softmax_with_cross_entropy(a.t(), labels.unsqueeze(0), axis=0).tolist() == [losses.flatten().tolist()]


def test_minimize_updates_the_parameters_with_their_current_gradients():
    w, v = (paddle.to_tensor([1.0], stop_gradient=False) for _ in range(2))
    optimizer = paddle.optimizer.SGD(0.5, parameters=[w, v])
    loss = (w * w + v).sum()
    assert optimizer.minimize(loss) == ([], []) and w.item() == 1.0  # because minimize does not call backward
    loss.backward()
    _, pairs = optimizer.minimize(loss, parameters=[w])
    assert [pair[0] is w for pair in pairs] == [True] and (w.item(), v.item()) == (0.0, 1.0)
    assert w.inplace_version == 1 and v.inplace_version == 0


def test_flip_and_roll_equal_numpys_and_backward_reverses_them():
    for moved, right in (
        (lambda x: paddle.flip(x, [1]), np.flip(NUMBERS, 1)),
        (lambda x: x.flip([0, -1]), np.flip(NUMBERS)),
        (lambda x: paddle.roll(x, 1), np.roll(NUMBERS, 1)),
        (lambda x: x.roll([1, -2], [0, 1]), np.roll(NUMBERS, (1, -2), (0, 1))),
        (lambda x: x.roll(5, 1), np.roll(NUMBERS, 5, 1)),
    ):
        x = tensor()
        out = moved(x)
        assert (out.numpy() == right).all() and not out._is_shared_buffer_with(x)
        (out * paddle.to_tensor(right)).sum().backward()
        assert (x.grad.numpy() == NUMBERS).all()
    with pytest.raises(ValueError, match="2 shifts and 1 axes"):
        paddle.roll(tensor(), [1, 2], [0])
