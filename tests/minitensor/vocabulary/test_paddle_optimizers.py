"""Test optimizers: a step writes each parameter once, needs only a small buffer, and writes all parameters or none.

test_paddle_programs.py compares the computed values with Paddle.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import minitensor as paddle
from minitensor.optimizer import optimizer as base

MAKERS = {
    "SGD": lambda parameters: paddle.optimizer.SGD(0.1, parameters, weight_decay=0.1),
    "Momentum": lambda parameters: paddle.optimizer.Momentum(0.1, 0.9, parameters, weight_decay=0.1),
    "Nesterov": lambda parameters: paddle.optimizer.Momentum(0.1, 0.9, parameters, True, weight_decay=0.1),
    "Adam": lambda parameters: paddle.optimizer.Adam(0.1, parameters=parameters, weight_decay=0.1),
    "AdamW": lambda parameters: paddle.optimizer.AdamW(0.1, parameters=parameters),
}


def leaf(numbers) -> paddle.Tensor:
    return paddle.to_tensor(numbers, stop_gradient=False)


def trained(make, w, steps: int = 3) -> list:
    optimizer = make([w])
    for _ in range(steps):
        (w * w).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    return w.numpy()


@pytest.mark.parametrize("name", MAKERS)
def test_a_step_writes_the_parameter_in_place_once_and_keeps_it_a_leaf(name, device):
    w = leaf([1.0, -2.0])
    where = w.data_ptr()
    trained(MAKERS[name], w)
    assert w.inplace_version == 3 and w.data_ptr() == where and w.is_leaf and not w.stop_gradient


@pytest.mark.parametrize("name", MAKERS)
def test_a_step_in_pieces_or_on_a_transposed_parameter_has_the_same_result(name, monkeypatch):
    numbers = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    once = trained(MAKERS[name], leaf(numbers))
    monkeypatch.setattr(base, "PIECE", 4)
    np.testing.assert_array_equal(trained(MAKERS[name], leaf(numbers)), once)
    transposed = leaf(numbers.T)
    with paddle.no_grad():
        transposed.transpose_([1, 0])
    assert not transposed.is_contiguous()
    np.testing.assert_array_equal(trained(MAKERS[name], transposed), once)


@pytest.mark.parametrize("name", MAKERS)
def test_a_loaded_state_continues_the_training(name):
    w = leaf([1.0, -2.0, 3.0])
    w.name = "w"
    whole = trained(MAKERS[name], leaf([1.0, -2.0, 3.0]), 4)
    first = MAKERS[name]([w])
    for _ in range(2):
        (w * w).sum().backward()
        first.step()
        first.clear_grad()
    state = first.state_dict()
    second = MAKERS[name]([w])
    second.set_state_dict(state)
    for _ in range(2):
        (w * w).sum().backward()
        second.step()
        second.clear_grad()
    np.testing.assert_array_equal(w.numpy(), whole)
    if first.slots:
        with pytest.raises(ValueError, match=r"'w_\w+_0' has shape \[2\], its parameter \[3\]"):
            second.set_state_dict({key: paddle.ones([2]) for key in state})


def test_a_gradient_that_shares_memory_with_its_parameter_is_read_before_the_write():
    def updated(gradient_of) -> list[float]:
        w = leaf([1.0, 2.0, 4.0])
        w.grad = gradient_of(w)
        # AdamW's weight decay shrinks the parameter. If AdamW read the gradient only after that, it would read smaller
        # values. With this large epsilon, the update depends on the size of the gradient, so the result would be wrong.
        paddle.optimizer.AdamW(0.5, epsilon=1.0, parameters=[w], weight_decay=1.0).step()
        return w.tolist()

    assert updated(lambda w: w.detach()) == updated(lambda w: paddle.to_tensor([1.0, 2.0, 4.0]))


def test_a_step_allocates_at_most_two_pieces():
    w = paddle.zeros([1 << 20])
    w.stop_gradient = False
    w.grad = paddle.ones([1 << 20])
    optimizer = paddle.optimizer.SGD(0.1, [w])
    optimizer.step()
    tracemalloc.start()
    optimizer.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * base.PIECE * 4 + 50_000 < w.nbytes


def test_a_step_that_runs_out_of_memory_writes_nothing():
    before = paddle.get_device()
    paddle.set_device("gpu:sim", capacity="60 MiB")
    try:
        w = paddle.zeros([1 << 22])
        w.stop_gradient = False
        w.grad = paddle.ones([1 << 22])
        optimizer = paddle.optimizer.Adam(0.1, parameters=[w])
        with pytest.raises(paddle.device.OutOfMemoryError):
            optimizer.step()
        assert w.inplace_version == 0 and float(w.sum()) == 0.0 and not optimizer.state_dict()
    finally:
        paddle.set_device("gpu:sim", capacity="8 GiB")
        paddle.set_device(before)


def test_a_step_under_copy_on_write_preserves_the_values_that_backward_needs():
    w = leaf([1.0, 2.0, 3.0])
    optimizer = paddle.optimizer.SGD(0.1, [w])
    y = (w * w).sum()
    with paddle.set_inplace_policy("copy_on_write"):
        y.backward(retain_graph=True)
        optimizer.step()
        optimizer.clear_grad()
        y.backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0]


def test_parameters_without_gradients_are_skipped():
    trained_one, frozen, unused = leaf([1.0]), leaf([1.0]), leaf([1.0])
    optimizer = paddle.optimizer.SGD(1.0, [trained_one, frozen, unused])
    (trained_one * frozen).sum().backward()
    frozen.stop_gradient = True
    optimizer.step()
    assert [trained_one.item(), frozen.item(), unused.item()] == [0.0, 1.0, 1.0]
    assert [x.inplace_version for x in (trained_one, frozen, unused)] == [1, 0, 0]


def test_clear_grad_of_an_optimizer_fills_gradients_with_zeros_or_frees_them():
    w = leaf([1.0, 2.0])
    optimizer = paddle.optimizer.SGD(0.1, [w])
    (w * w).sum().backward()
    before = paddle.device.cpu.memory_allocated()
    optimizer.clear_grad()
    assert w.grad.tolist() == [0.0, 0.0] and paddle.device.cpu.memory_allocated() == before
    optimizer.clear_grad(set_to_zero=False)
    assert w.grad is None and paddle.device.cpu.memory_allocated() == before - w.nbytes


def test_the_learning_rate_can_be_changed():
    w = leaf([1.0])
    optimizer = paddle.optimizer.SGD(parameters=[w])
    assert optimizer.get_lr() == 0.001
    optimizer.set_lr(1.0)
    w.sum().backward()
    optimizer.step()
    assert w.item() == 0.0


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: paddle.optimizer.SGD(0.1, None), TypeError, "not NoneType"),
        (lambda: paddle.optimizer.SGD(0.1, paddle.ones([2])), TypeError, "a list of tensors"),
        (lambda: paddle.optimizer.SGD(0.1, [np.ones(2)]), TypeError, "parameter 0 must be a Tensor, not ndarray"),
        (lambda: paddle.optimizer.SGD(0.1, [leaf([1.0])] * 2), ValueError, "parameter 1 .* is listed twice"),
        (lambda: paddle.optimizer.SGD("x", []), TypeError, "learning_rate must be a number, not 'x'"),
        (lambda: paddle.optimizer.SGD(-1.0, []), ValueError, "must be at least 0, not -1.0"),
        (
            lambda: paddle.optimizer.Adam(beta1=1.0, parameters=[]),
            ValueError,
            "beta1 must be at least 0 and less than 1",
        ),
        (lambda: paddle.optimizer.SGD(0.1, [], weight_decay=float("nan")), ValueError, "weight_decay"),
    ],
)
def test_the_error_names_a_wrong_setting_of_an_optimizer(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_step_writes_nothing_if_the_elements_of_one_parameter_share_memory():
    w, shared = leaf([1.0]), paddle.ones([2]).as_strided([3], [0])
    shared.stop_gradient = False
    w.grad, shared.grad = paddle.ones([1]), paddle.ones([3])
    with pytest.raises(RuntimeError, match=r"SGD.step"):
        paddle.optimizer.SGD(0.1, [w, shared]).step()
    assert w.item() == 1.0 and w.inplace_version == 0


def test_an_interrupted_step_counts_as_a_write(monkeypatch):
    """It is unknown which elements were written, so backward refuses tensors that were saved before the step."""
    w = leaf([1.0, -2.0])
    optimizer = paddle.optimizer.SGD(0.1, [w])
    w.grad = paddle.ones([2])
    y = w * w
    real = type(optimizer)._write

    def interrupted(self, *arguments):
        real(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(optimizer), "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    assert w.inplace_version == 1
    with pytest.raises(RuntimeError, match="received tensor_version:1 != wrapper_version_snapshot:0"):
        y.sum().backward()


def test_the_step_after_a_warm_up_has_the_given_rate_and_not_the_last_rate_of_the_warm_up():
    rate = paddle.optimizer.lr.LinearWarmup(0.25, warmup_steps=2, start_lr=0.0, end_lr=1.0)
    rates = [rate()]
    for _ in range(2):
        rate.step()
        rates.append(rate())
    assert rates == [0.0, 0.5, 0.25]
