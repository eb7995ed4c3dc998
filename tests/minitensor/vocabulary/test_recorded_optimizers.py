"""Compare optimizers and schedules of both vocabularies with PyTorch's record; test clipping and optimizer states."""

from __future__ import annotations

import json

import numpy as np
import pytest

import minitensor as paddle
from facts.optimizers import CASES, answer
from minitensor import nn, optimizer, torch
from tools.build import ROOT

RECORD = json.loads((ROOT / "facts" / "optimizers.json").read_text(encoding="utf-8"))["answers"]


def same(found, recorded):
    np.testing.assert_allclose(found["rate"], recorded["rate"], rtol=1e-12)
    for what in ("w", "gradients"):
        for one, other in zip(found[what], recorded[what], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[name for name, *_ in CASES])
def test_each_step_updates_the_parameters_as_recorded_from_pytorch(number):
    steps, recorded = answer(torch, number)["steps"], RECORD[CASES[number][0]]["steps"]
    for found, expected in zip(steps, recorded, strict=True):
        same(found, expected)


#: Schedules of Paddle's vocabulary that correspond to the recorded schedules of PyTorch. All begin with a rate of 0.1.
SCHEDULES = {
    "steps": lambda: optimizer.lr.StepDecay(0.1, 2, 0.5),
    "cosine": lambda: optimizer.lr.CosineAnnealingDecay(0.1, 4, 0.01),
    "warm-up": lambda: optimizer.lr.LinearWarmup(0.1, 4, 0.01, 0.1),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_of_paddles_vocabulary_has_the_rates_recorded_from_pytorch(name):
    schedule = SCHEDULES[name]()
    sgd = optimizer.SGD(schedule, parameters=[paddle.ones([2])])
    rates = []
    for _ in RECORD[name]["steps"]:
        rates.append(sgd.get_lr())
        schedule.step()
    np.testing.assert_allclose(rates, [step["rate"] for step in RECORD[name]["steps"]], rtol=1e-12)


def test_a_schedule_sets_the_rate_of_each_step_and_set_lr_is_refused():
    schedule = optimizer.lr.StepDecay(1.0, 1, 0.5)
    w = paddle.to_tensor([8.0], stop_gradient=False)
    sgd = optimizer.SGD(schedule, parameters=[w])
    for expected in (7.0, 6.5, 6.25):
        w.sum().backward()
        sgd.step()
        sgd.clear_grad()
        schedule.step()
        assert w.tolist() == [expected]
    with pytest.raises(RuntimeError, match="StepDecay determines the rate"):
        sgd.set_lr(0.1)


CLIPS = {
    "norm of each": (nn.ClipGradByNorm(1.0), lambda g: [x / max(1.0, np.linalg.norm(x)) for x in g]),
    "value": (nn.ClipGradByValue(0.5), lambda g: [np.clip(x, -0.5, 0.5) for x in g]),
    "norm of all": (
        nn.ClipGradByGlobalNorm(1.0),
        lambda g: [x / max(1.0, np.sqrt(sum((y**2).sum() for y in g))) for x in g],
    ),
}


@pytest.mark.parametrize("name", CLIPS)
def test_clipping_changes_the_step_but_not_the_stored_gradients(name, device):
    clip, expected = CLIPS[name]
    start = [np.array([3.0, -4.0]), np.array([0.25])]
    parameters = [paddle.to_tensor(each, stop_gradient=False) for each in start]
    sum((each * each).sum() for each in parameters).backward()
    optimizer.SGD(1.0, parameters, grad_clip=clip).step()
    for parameter, before, slope in zip(parameters, start, expected([2 * x for x in start]), strict=True):
        np.testing.assert_allclose(parameter.numpy(), before - slope, rtol=1e-12)
        np.testing.assert_array_equal(parameter.grad.numpy(), 2 * before)
        assert parameter.inplace_version == 1


@pytest.mark.parametrize("wrong", [0, -1.0])
def test_clip_grad_by_norm_refuses_a_limit_of_0_or_less(wrong):
    with pytest.raises(ValueError, match="clip_norm must be above 0"):
        nn.ClipGradByNorm(wrong)


def test_rmsprop_follows_its_formula():
    w = paddle.to_tensor([1.0, -2.0], dtype="float64", stop_gradient=False)
    x, square, moved = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    rms = optimizer.RMSProp(0.1, rho=0.9, momentum=0.5, parameters=[w])
    for _ in range(4):
        (w * w).sum().backward()
        rms.step()
        rms.clear_grad()
        g = 2 * x
        square = 0.9 * square + 0.1 * g * g
        moved = 0.5 * moved + 0.1 * g / np.sqrt(square + 1e-6)
        x = x - moved
        np.testing.assert_allclose(w.numpy(), x, rtol=1e-12)


def test_backward_raises_after_a_step_between_forward_and_backward():
    w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    rms = optimizer.RMSProp(0.1, parameters=[w])
    (w * w).sum().backward()
    loss = (w * w).sum()
    rms.step()
    with pytest.raises(RuntimeError, match="tensor_version:1 != wrapper_version_snapshot:0"):
        loss.backward()


def test_sgd_without_momentum_keeps_no_state():
    w = torch.nn.Parameter(torch.ones(2))
    for momentum, names in ((0.0, {}), (0.9, {0: ["momentum_buffer"]})):
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=momentum)
        w.sum().backward()
        optimizer.step()
        assert {number: list(values) for number, values in optimizer.state_dict()["state"].items()} == names


def test_a_user_defined_optimizer_begins_with_an_empty_state_for_each_parameter():
    class Counting(torch.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for x in group["params"]:
                    state = self.state[x]
                    if not state:
                        state["step"] = 0
                    state["step"] += 1
                    x.sub_(x.grad, alpha=group["lr"] / state["step"])

    w = torch.nn.Parameter(torch.ones(2))
    optimizer, other = Counting([w], 0.5), Counting([w], 0.5)
    for _ in range(2):
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
    assert w.tolist() == [0.25, 0.25] and optimizer.state_dict()["state"] == {0: {"step": 2}}
    other.load_state_dict(optimizer.state_dict())
    other.step()
    assert other.state[w] == {"step": 3}
