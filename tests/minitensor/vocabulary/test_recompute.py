"""Compare two ways to use less memory in training: in-place operations and recomputing."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as paddle
from minitensor import memory, torch
from minitensor.engine.device.counters import cpu_meter
from minitensor.torch import nn
from minitensor.torch.utils.checkpoint import checkpoint

ROWS, WIDTH, BLOCKS = 256, 64, 8
ACTIVATION = ROWS * WIDTH * 4  # bytes of a layer's output


class Network(nn.Module):
    """Eight blocks of a linear map, a sigmoid whose output is saved, and a ReLU."""

    def __init__(self, way):
        super().__init__()
        torch.manual_seed(0)
        self.way = way
        self.maps = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(BLOCKS)])

    def block(self, linear, x):
        h = torch.sigmoid(linear(x)) - 0.5
        return nn.functional.relu(h, inplace=self.way == "in place")

    def forward(self, x):
        for linear in self.maps:
            if self.way == "checkpoint":
                x = checkpoint(self.block, linear, x, use_reentrant=False)
            else:
                x = self.block(linear, x)
        return x


def step(way):
    """Return the loss of one step, the gradients, the bytes kept between forward and backward, the peak and the sum
    of the allocated bytes.
    """
    network = Network(way)
    x = torch.tensor(np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype("float32"))
    with memory.measure() as meter:
        loss = network(x).square().sum()
        held = meter.allocated
        loss.backward()
    return loss.item(), [p.grad.tolist() for p in network.parameters()], held, meter.peak, meter.extra_bytes


@pytest.fixture(scope="module")
def steps():
    return {way: step(way) for way in ("normal", "in place", "checkpoint")}


@pytest.mark.parametrize("way", ["in place", "checkpoint"])
def test_the_loss_and_the_gradients_equal_those_of_normal_operations_bit_for_bit(steps, way):
    assert steps[way][:2] == steps["normal"][:2]


def test_only_recomputing_keeps_fewer_bytes_between_forward_and_backward(steps):
    """Backward of a block needs the outputs of sigmoid and ReLU, even if the ReLU is in place. Recomputing a block
    needs only its input.
    """
    held = {way: found[2] for way, found in steps.items()}
    outputs = BLOCKS * ACTIVATION
    assert held["normal"] == held["in place"] == 2 * outputs + 4  # two outputs for each block, and the loss
    assert held["checkpoint"] == outputs + 4


def test_recomputing_lowers_the_peak_and_an_in_place_relu_lowers_the_sum_of_allocated_bytes(steps):
    peak = {way: found[3] for way, found in steps.items()}
    made = {way: found[4] for way, found in steps.items()}
    assert peak["checkpoint"] < peak["in place"] <= peak["normal"]
    assert made["normal"] - made["in place"] == BLOCKS * ACTIVATION  # ReLU allocates nothing
    assert made["checkpoint"] > made["normal"]  # every block runs twice


# ---- Paddle's recompute --------------------------------------------------------------------------------------------


def paddle_step(again, drops=0.0):
    """Return the loss, the gradients and the bytes kept before backward, for a step of eight blocks under Paddle's
    names.
    """
    paddle.seed(0)
    maps = [paddle.nn.Linear(WIDTH, WIDTH) for _ in range(BLOCKS)]
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype("float32"))
    with memory.measure() as meter:
        h = x
        for linear in maps:

            def block(h, linear=linear):
                h = paddle.nn.functional.sigmoid(linear(h)) - 0.5
                return paddle.nn.functional.dropout(paddle.nn.functional.relu(h), drops)

            h = paddle.distributed.fleet.utils.recompute(block, h) if again else block(h)
        loss = (h * h).sum()
        del h
        held = meter.allocated
        loss.backward()
    return loss.item(), [p.grad.tolist() for linear in maps for p in linear.parameters()], held


@pytest.mark.parametrize("drops", [0.0, 0.5])
def test_paddles_recompute_has_the_same_gradients_and_draws_the_same_random_numbers(drops):
    normal, again = paddle_step(False, drops), paddle_step(True, drops)
    assert again[:2] == normal[:2]


def test_paddles_recompute_keeps_only_the_input_of_each_block():
    """Without recompute, the outputs of sigmoid and ReLU of each block are kept, too."""
    assert paddle_step(False)[2] == 2 * BLOCKS * ACTIVATION + 4
    assert paddle_step(True)[2] == BLOCKS * ACTIVATION + 4


def test_second_derivatives_of_paddles_recompute_are_right():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = paddle.distributed.fleet.utils.recompute(lambda t: t.sin().exp(), x).sum()
    (first,) = paddle.grad(y, x, create_graph=True)
    (second,) = paddle.grad(first.sum(), x)
    sin, cos = np.sin([1.0, 2.0]), np.cos([1.0, 2.0])
    np.testing.assert_allclose(second.numpy(), (cos**2 - sin) * np.exp(sin), rtol=1e-5)


@pytest.mark.parametrize("which", ["weight", "outside"])
def test_backward_raises_if_a_tensor_that_paddles_recompute_uses_was_overwritten(which):
    """Paddle silently computes with the current values."""
    x, w = (paddle.to_tensor(numbers, stop_gradient=False) for numbers in ([1.0, 2.0], [3.0, 4.0]))
    outside = w * 1
    y = paddle.distributed.fleet.utils.recompute(lambda t: (t * w).sin() * outside, x).sum()
    with paddle.no_grad():
        {"weight": w, "outside": outside}[which].scale_(2.0)
    with pytest.raises(RuntimeError, match="recompute: a tensor that the function uses was written between forward"):
        y.backward()
    assert x.grad is None and w.grad is None


def test_an_argument_that_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match="recompute: function must be a function, not 1"):
        paddle.distributed.fleet.utils.recompute(1, paddle.ones([2]))


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoint_returns_the_result_of_the_function_without_copying_it(use_reentrant):
    x = torch.ones(100, 50, requires_grad=True)

    def measured(run):
        cpu_meter.peak = before = cpu_meter.allocated
        y = run(lambda a: a.t() * 2, x)
        return y.stride(), cpu_meter.peak - before, cpu_meter.allocated - before

    plain = measured(lambda function, x: function(x))
    assert measured(lambda *given: checkpoint(*given, use_reentrant=use_reentrant)) == plain


DTYPES_OF_OPERANDS = [
    ("float64", "float32"),
    ("float32", "float64"),
    ("float32", "float16"),
    ("bfloat16", "float16"),
    ("float64", "float64"),
]


@pytest.mark.parametrize(("of_argument", "of_outside"), DTYPES_OF_OPERANDS)
def test_a_tensor_from_outside_the_function_may_have_another_dtype_than_the_result(of_argument: str, of_outside: str):
    def gradients(call):
        x = paddle.to_tensor([1 / 7], of_argument, stop_gradient=False)
        w = paddle.to_tensor([1 / 3], of_outside, stop_gradient=False)
        call(lambda x: x * w, x).sum().backward()
        return [(each.grad.dtype, each.grad.item()) for each in (x, w)]

    plain = gradients(lambda function, x: function(x))
    assert gradients(paddle.distributed.fleet.utils.recompute) == plain
    x = torch.tensor([1 / 7], dtype=getattr(torch, of_argument), requires_grad=True)
    w = torch.tensor([1 / 3], dtype=getattr(torch, of_outside), requires_grad=True)
    checkpoint(lambda x: x * w, x, use_reentrant=False).sum().backward()
    assert [(str(each.grad.dtype)[len("torch.") :], each.grad.item()) for each in (x, w)] == plain


def test_the_results_may_have_both_16_bit_dtypes():
    w = [paddle.to_tensor([2.0], dtype, stop_gradient=False) for dtype in ("float16", "bfloat16")]
    x = paddle.to_tensor([3.0], stop_gradient=False)
    both = paddle.distributed.fleet.utils.recompute(lambda x: tuple(x.astype(each.dtype) * each for each in w), x)
    sum(each.astype("float32") for each in both).backward()
    assert [each.grad.item() for each in (*w, x)] == [3, 3, 4]
