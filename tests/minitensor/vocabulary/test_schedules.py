"""Test that learning rates change step by step as recorded from PyTorch and Paddle in facts/schedules.json."""

from __future__ import annotations

import json

import pytest

import minitensor as mt
from minitensor import torch
from tests.support.vocabulary.programs.running import FACTS, facts_module

recorder = facts_module("schedules")
ANSWERS = {
    question: (record["library"], answer)
    for record in json.loads((FACTS / "schedules.json").read_text(encoding="utf-8")).values()
    for question, answer in record["answers"].items()
}


@pytest.mark.parametrize("question", ANSWERS)
def test_rates_equal_those_of_the_framework_at_every_step(question):
    library, answer = ANSWERS[question]
    found = recorder.rates_of(library, {"torch": torch, "paddle": mt}[library], answer["program"])
    assert found == pytest.approx(answer["rates"], rel=1e-9, abs=1e-12)


def test_the_record_contains_every_program():
    assert set(ANSWERS) == set(recorder.QUESTIONS)


@pytest.mark.parametrize(
    ("make", "error", "names"),
    [
        (lambda o, s: s.ConstantLR(o, 2.0), ValueError, "between 0 and 1"),
        (lambda o, s: s.OneCycleLR(o, 1.0), ValueError, "total_steps"),
        (lambda o, s: s.OneCycleLR(o, 1.0, 5, anneal_strategy="sine"), ValueError, "sine"),
        (lambda o, s: s.CosineAnnealingWarmRestarts(o, 0), ValueError, "T_0"),
        (lambda o, s: s.ReduceLROnPlateau(o, "least"), ValueError, "least"),
        (lambda o, s: s.ReduceLROnPlateau(o, factor=1.0), ValueError, "1.0"),
        (lambda o, s: s.SequentialLR(o, [s.StepLR(o, 1)], [3]), ValueError, "milestone"),
    ],
)
def test_torch_refuses_unsuitable_settings(make, error, names):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    with pytest.raises(error, match=names):
        make(optimizer, torch.optim.lr_scheduler)
    assert optimizer.param_groups[0]["lr"] == 0.1


@pytest.mark.parametrize(
    ("make", "error", "names"),
    [
        (lambda s: s.PiecewiseDecay([1], [0.1]), ValueError, "PiecewiseDecay"),
        (lambda s: s.MultiStepDecay(0.1, [3, 2]), ValueError, "increase"),
        (lambda s: s.LambdaDecay(0.1, 2), TypeError, "lr_lambda"),
        (lambda s: s.MultiplicativeDecay(0.1, 2), TypeError, "lr_lambda"),
        (lambda s: s.NoamDecay(0, 4), ValueError, "d_model"),
        (lambda s: s.PolynomialDecay(0.1, 0), ValueError, "decay_steps"),
        (lambda s: s.ReduceOnPlateau(0.1, "least"), ValueError, "least"),
        (lambda s: s.ReduceOnPlateau(0.1).step("good"), TypeError, "metrics"),
    ],
)
def test_paddle_refuses_unsuitable_settings(make, error, names):
    with pytest.raises(error, match=names):
        make(mt.optimizer.lr)


def test_the_state_of_reduce_lr_on_plateau_is_restored():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    schedule.step(1.0)
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    other.load_state_dict(schedule.state_dict())
    other.step(torch.tensor(2.0))
    assert other.get_last_lr() == pytest.approx([0.01])


def test_one_cycle_changes_the_momentum_and_refuses_a_step_after_the_last():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    for _ in range(10):
        schedule.step()
    with pytest.raises(ValueError, match="total steps is 10"):
        schedule.step()


def test_a_resumed_multiplicative_schedule_begins_with_the_rate_of_the_optimizer():
    """A schedule that is resumed after 10 million steps must not call its function 10 million times."""
    steps = []

    def factor(step: int) -> float:
        steps.append(step)
        return 0.5

    w = torch.nn.Parameter(torch.ones(1))
    sgd = torch.optim.SGD([{"params": [w], "lr": 0.25, "initial_lr": 1.0}])
    schedule = torch.optim.lr_scheduler.MultiplicativeLR(sgd, factor, last_epoch=10**7)
    assert schedule.get_last_lr() == [0.25] and steps == []  # as in PyTorch 2.13
    sgd.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.125] and steps == [10**7 + 2]


def test_a_step_to_an_infinite_rate_is_refused_and_changes_nothing():
    schedule = mt.optimizer.lr.InverseTimeDecay(0.5, -1)
    with pytest.raises(ValueError, match="the rate of step 1 is larger than any float"):
        schedule.step()
    assert schedule.last_epoch == 0 and schedule() == 0.5


def with_groups(*rates: float) -> torch.optim.Optimizer:
    return torch.optim.SGD([{"params": [torch.nn.Parameter(torch.ones(1))], "lr": rate} for rate in rates])


def two_schedules(optimizer: torch.optim.Optimizer) -> list[torch.optim.lr_scheduler.LRScheduler]:
    made = torch.optim.lr_scheduler
    return [made.LinearLR(optimizer, 0.5, 1.0, 3), made.ExponentialLR(optimizer, 0.9)]


@pytest.mark.parametrize(
    "make",
    [
        lambda o: torch.optim.lr_scheduler.SequentialLR(o, two_schedules(o), [2]),
        lambda o: torch.optim.lr_scheduler.ChainedScheduler(two_schedules(o)),
    ],
)
def test_a_combined_schedule_continues_from_its_loaded_state(make):
    optimizer, other = with_groups(0.4, 0.2), with_groups(0.4, 0.2)
    schedule, resumed = make(optimizer), make(other)
    for _ in range(3):
        schedule.step()
    resumed.load_state_dict(schedule.state_dict())
    other.load_state_dict(optimizer.state_dict())
    for _ in range(3):
        schedule.step()
        resumed.step()
    assert resumed.get_last_lr() == schedule.get_last_lr()


def test_a_user_defined_schedule_returns_the_rates_of_all_groups():
    class Halved(torch.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [group["lr"] / 2 if self.last_epoch else group["lr"] for group in self.optimizer.param_groups]

    optimizer = with_groups(0.4, 0.2)
    schedule = Halved(optimizer)
    schedule.step()
    assert schedule.get_last_lr() == [group["lr"] for group in optimizer.param_groups] == [0.2, 0.1]


def test_lambda_lr_uses_a_separate_function_for_each_group():
    optimizer = with_groups(0.4, 0.2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda step: 1 / (step + 1), lambda step: 1.0])
    schedule.step()
    assert schedule.get_last_lr() == [0.2, 0.2]
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda step: 1.0])


def test_a_schedule_with_last_epoch_requires_the_initial_rate_of_each_group():
    optimizer = with_groups(0.4)
    with pytest.raises(KeyError, match="'initial_lr' is not specified"):
        torch.optim.lr_scheduler.StepLR(optimizer, 2, last_epoch=3)
    assert optimizer.param_groups[0]["lr"] == 0.4 and "initial_lr" not in optimizer.param_groups[0]


def test_chained_scheduler_refuses_schedules_of_two_optimizers():
    one, other = with_groups(0.4), with_groups(0.4)
    made = torch.optim.lr_scheduler
    with pytest.raises(ValueError, match="same optimizer; number 1 does not"):
        made.ChainedScheduler([made.StepLR(one, 1), made.StepLR(other, 1)])


def test_get_lr_of_a_combined_schedule_raises_and_names_get_last_lr():
    optimizer, made = with_groups(0.4), torch.optim.lr_scheduler
    for schedule in (
        made.ChainedScheduler(two_schedules(optimizer)),
        made.SequentialLR(optimizer, two_schedules(optimizer), [2]),
    ):
        with pytest.raises(NotImplementedError, match=r"get_last_lr\(\) returns them"):
            schedule.get_lr()
