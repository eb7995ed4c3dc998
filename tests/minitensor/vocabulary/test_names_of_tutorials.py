"""Test functions that tutorials use: diagonals, dropout of channels, memory formats, and deprecated names.

Other tests compare their values, gradients, layouts and errors with the records of PyTorch and Paddle in facts/.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minitensor as paddle
from minitensor import memory, torch
from minitensor.autograd import gradcheck
from minitensor.torch.cuda.amp import GradScaler, autocast

FORMATS = (torch.channels_last, torch.contiguous_format, torch.preserve_format)


# ---------- diagonals, splits, counts ----------


@pytest.mark.parametrize("offset", [-4, -1, 0, 2])
def test_diag_makes_a_matrix_from_a_vector_and_returns_the_vector_of_the_matrix(offset: int, device: Any):
    x = paddle.to_tensor([1.0, 2.0, 3.0])
    matrix = paddle.diag(x, offset)
    assert matrix.shape == [3 + abs(offset)] * 2 and matrix.inplace_version == 0
    assert paddle.diag(matrix, offset).tolist() == x.tolist() == torch.diag(torch.diag(x, offset), offset).tolist()
    np.testing.assert_array_equal(matrix.numpy(), np.diag(x.numpy(), offset))


def test_the_padding_value_of_diag_has_no_gradient_and_is_converted_to_the_dtype():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    matrix = paddle.diag(x, 1, float("nan"))
    (matrix[:2] * 1.0).diagonal(1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert paddle.diag(paddle.to_tensor([1, 2]), padding_value=6.5).tolist() == [[1, 6], [6, 2]]


@pytest.mark.parametrize(
    "function",
    [
        paddle.diag,
        paddle.trace,
        lambda x: paddle.diag(x[0], -1, 3.0),
        lambda x: paddle.diag_embed(x, 1, 0, 2) ** 2,
        lambda x: paddle.trace(paddle.stack([x, x * x]), 1, 1, 2),
        lambda x: paddle.unflatten(x.t(), 0, [2, -1]) * 2,
        lambda x: paddle.expand_as(x[:, :1], x) * x,
    ],
)
def test_second_derivatives_are_right(function: Any):
    x = paddle.to_tensor(np.arange(8.0).reshape(2, 4) + 1, stop_gradient=False)
    assert gradcheck(function, x, order=2)


@pytest.mark.parametrize("name", ["diag_", "trace_", "expand_as_", "unflatten_", "nonzero_", "diag_embed_"])
def test_operations_have_no_in_place_form_that_the_frameworks_lack(name: str):
    assert not hasattr(paddle.Tensor, name) and not hasattr(torch.Tensor, name)


def test_the_trace_of_bools_is_int64_in_paddle_and_refused_in_pytorch():
    bools = np.array([[True, False], [True, True]])
    assert paddle.trace(paddle.to_tensor(bools)).dtype == paddle.int64
    with pytest.raises(NotImplementedError, match="\"trace\" not implemented for 'Bool'"):
        torch.trace(torch.tensor(bools))


def test_nonzero_and_bincount_return_constants():
    x = paddle.to_tensor([[0.0, 2.0], [3.0, 0.0]], stop_gradient=False)
    assert [each.tolist() for each in paddle.nonzero(x, as_tuple=True)] == [[0, 1], [1, 0]]
    assert paddle.nonzero(x).stop_gradient and x[paddle.nonzero(x, True)].tolist() == [2.0, 3.0]
    assert paddle.bincount(paddle.to_tensor([2, 2, 0]), minlength=4).tolist() == [1, 0, 2, 0]


# ---------- dropout of channels ----------


@pytest.mark.parametrize(
    ("dropped", "x", "is_last"),
    [
        (paddle.nn.functional.dropout2d, paddle.ones([8, 16, 3, 5]), False),
        (lambda x: paddle.nn.functional.dropout2d(x, data_format="NHWC"), paddle.ones([8, 3, 5, 16]), True),
        (torch.nn.functional.dropout2d, torch.ones(8, 16, 3, 5), False),
    ],
)
def test_dropout2d_drops_whole_channels(dropped: Any, x: Any, is_last: bool):
    found = dropped(x).numpy()
    channels = found.transpose(0, 3, 1, 2) if is_last else found
    assert set(np.unique(channels)) == {0.0, 2.0}
    np.testing.assert_array_equal(channels, np.broadcast_to(channels[:, :, :1, :1], channels.shape))


@pytest.mark.parametrize("name", ["dropout", "dropout2d"])
def test_dropout_saves_one_number_for_each_element_and_dropout2d_for_each_channel(name: str):
    x = paddle.ones([8, 16, 32, 32])
    x.stop_gradient = False
    y = getattr(paddle.nn.functional, name)(x)
    (mask,) = (saved.nbytes for saved in _saved(y))
    assert mask == (8 * 16 * 4 if name == "dropout2d" else x.nbytes)


def _saved(y: Any) -> list[np.ndarray]:
    return [each[0]._array if hasattr(each[0], "_array") else each[0] for each in y._node.saved if each is not None]


@pytest.mark.parametrize(
    ("given", "error"), [(2, ValueError), (-0.5, ValueError), (float("nan"), ValueError), ("0.5", TypeError)]
)
@pytest.mark.parametrize(
    "drop",
    [
        paddle.nn.Dropout,
        paddle.nn.Dropout2D,
        lambda p: paddle.nn.MultiHeadAttention(4, 2, p),
        lambda p: paddle.nn.functional.dropout(paddle.ones([2]), p),
        lambda p: paddle.nn.functional.dropout2d(paddle.ones([1, 1, 2, 2]), p, training=False),
        torch.nn.Dropout,
        torch.nn.Dropout2d,
        lambda p: torch.nn.MultiheadAttention(4, 2, p),
        lambda p: torch.nn.functional.dropout(torch.ones(2), p),
        lambda p: torch.nn.functional.dropout2d(torch.ones(1, 1, 2, 2), p, training=False),
    ],
)
def test_every_dropout_refuses_a_number_that_is_no_probability(drop: Any, given: Any, error: type[Exception]):
    with pytest.raises(error, match=r"probability|must be a number"):
        drop(given)


def test_dropout2d_returns_its_input_in_evaluation_mode():
    for vocabulary, name in ((paddle, "Dropout2D"), (torch, "Dropout2d")):
        layer, x = getattr(vocabulary.nn, name)(), vocabulary.ones([1, 2, 2, 2])
        layer.eval()
        assert layer(x) is x


# ---------- memory formats ----------


def test_copies_and_pickles_of_a_memory_format_are_the_same_object():
    assert [copy.deepcopy(each) for each in FORMATS] == list(FORMATS)
    assert [pickle.loads(pickle.dumps(each)) for each in FORMATS] == list(FORMATS)


def test_a_copy_of_images_with_one_channel_allocates_memory_once():
    x = torch.zeros(2, 1, 4, 5).to(memory_format=torch.channels_last)
    for copied, size in ((lambda: x.clone(), 160), (lambda: x.to(torch.float64), 320)):
        with memory.record() as recording:
            y = copied()
        assert y.stride() == (20, 1, 5, 1)
        assert [event.requested for event in recording.events if event.kind == "alloc"] == [size]


def test_to_channels_last_returns_a_recorded_copy_with_other_strides():
    x = torch.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    y = x.to(memory_format=torch.channels_last)
    assert y.stride() == (24, 1, 8, 2) and torch.equal(x, y) and y.data_ptr() != x.data_ptr()
    (y * y).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach()) and x.grad.is_contiguous()


def test_to_channels_last_of_a_module_keeps_its_parameter_objects(device: Any):
    layer = torch.nn.Conv2d(2, 3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    before = layer.weight.detach().clone()
    layer(torch.ones(1, 2, 3, 3)).sum().backward()
    weight = layer.weight
    layer.to(memory_format=torch.channels_last)
    assert layer.weight is weight and torch.equal(weight, before)
    assert weight.is_contiguous(memory_format=torch.channels_last) and weight.grad.stride() == weight.stride()
    optimizer.step()
    assert torch.equal(weight, before - 0.5 * weight.grad)


# ---------- deprecated names, gradcheck, saved tensors ----------


def test_the_deprecated_names_of_mixed_precision_warn_and_work_like_the_current_ones():
    with pytest.warns(FutureWarning, match=r"Please use `torch.amp.autocast\('cuda', args...\)`"), autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float16
    with pytest.warns(FutureWarning, match=r"Please use `torch.amp.GradScaler\('cuda', args...\)`"):
        scaler = GradScaler(init_scale=8.0)
    assert isinstance(scaler, torch.amp.GradScaler) and scaler.get_scale() == 8.0
    assert torch.cuda.amp.autocast is autocast


class _Wrong(torch.autograd.Function):
    """A product whose gradient is wrong."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


def test_gradcheck_accepts_right_gradients_and_reports_wrong_ones():
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.nn.Linear(3, 2, dtype=torch.float64), (x,))
    assert torch.autograd.gradgradcheck(lambda x: x.sum(dim=0).exp(), x)
    assert not torch.autograd.gradcheck(_Wrong.apply, x, raise_exception=False)
    with pytest.raises(RuntimeError, match="is wrong in 6 of 36 elements"):
        torch.autograd.gradcheck(_Wrong.apply, x)


def test_in_a_block_that_allows_mutation_a_write_to_a_saved_tensor_keeps_the_gradient_right():
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    z = y * y
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y.mul_(3)
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and paddle.get_inplace_policy() == "2.6"
