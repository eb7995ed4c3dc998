"""Run the programs of two articles about in-place operations on a simulated GPU, and compare with the articles'
numbers.

test_paddle_programs.py compares the computed values with Paddle.
"""

from __future__ import annotations

import time

import pytest

import minitensor as paddle
import minitensor.nn.functional as F


class Block(paddle.nn.Layer):
    """The middle of a network, with a ReLU that writes into its input or into a new tensor."""

    def forward(self, x, inplace=True):
        return F.relu_(x) if inplace else F.relu(x)


@pytest.mark.parametrize("inplace, bytes_at_most", [(False, 134217728), (True, 67108864)])
def test_a_block_with_an_in_place_relu_has_half_the_peak(gpu, inplace, bytes_at_most):
    paddle.seed(0)
    block = Block()
    x = paddle.rand([1, 64, 512, 512], dtype="float32")
    y = block(x, inplace=inplace)
    assert paddle.device.cuda.max_memory_allocated() == bytes_at_most
    assert (y is x) == inplace


@pytest.mark.parametrize("inplace, mebibytes", [(False, "381.47"), (True, "0.00")])
def test_relu_of_a_large_matrix_allocates_the_mebibytes_of_the_article(gpu, inplace, mebibytes):
    memory = paddle.device.cuda
    t = paddle.zeros([10000, 10000])
    memory.synchronize()
    peak, now = memory.max_memory_allocated(), memory.memory_allocated()
    output = F.relu_(t) if inplace else F.relu(t)
    memory.synchronize()
    assert f"{(memory.max_memory_allocated() - peak) / 1024**2:.2f}" == mebibytes
    assert f"{(memory.memory_allocated() - now) / 1024**2:.2f}" == mebibytes
    assert output.shape == [10000, 10000]


@pytest.mark.parametrize("inplace, held", [(False, 4 * 1024**2), (True, 0)])
def test_an_in_place_relu_allocates_nothing_in_training(gpu, inplace, held):
    """The backward of ReLU needs only the output, so the input may be overwritten."""
    a = paddle.ones([1024, 1024])
    a.stop_gradient = False
    x = a * 2.0
    before = paddle.device.cuda.memory_allocated()
    y = Block()(x, inplace=inplace)
    assert paddle.device.cuda.memory_allocated() - before == held
    y.sum().backward()
    assert float(a.grad.sum()) == 2 * 1024**2


def test_the_articles_program_of_100_additions_has_the_same_result_in_place():
    paddle.disable_static()

    def normal(x):
        start = time.time()
        for _ in range(100):
            x = paddle.add(x, paddle.to_tensor(1.0))
        return x, time.time() - start

    def in_place(x):
        start = time.time()
        for _ in range(100):
            x.add_(paddle.to_tensor(1.0))
        return x, time.time() - start

    x = paddle.ones([100, 100], dtype="float32")
    y = paddle.ones_like(x)
    (z, _), (same, _) = normal(x), in_place(y)
    assert same is y and z is not x
    assert y.inplace_version == 100 and x.inplace_version == 0
    assert y.tolist() == z.tolist() == [[101.0] * 100] * 100


def test_a_program_that_selects_a_gpu_if_one_exists_runs():
    before = paddle.get_device()
    chosen = paddle.set_device("gpu:0" if paddle.is_compiled_with_cuda() else "cpu")
    assert paddle.to_tensor([1.0]).place == chosen
    paddle.set_device(before)
