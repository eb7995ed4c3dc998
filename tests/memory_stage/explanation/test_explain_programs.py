"""Test that backward() refuses exactly the values that a report calls stale, in random programs with changing
policies.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

import minitensor as mt
from memory_stage.explanation.minitensor import Verdict
from minitensor.autograd import PyLayer
from minitensor.engine.modes import POLICIES
from tests.support.engine.memory import allocated, leaf

FIRST = int(os.environ.get("MINITENSOR_SEED", "0"))


class Program:
    """A program that writes and saves views of one storage at random. ``raised`` and ``refused`` count its errors."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.raised = self.refused = 0

    def __call__(self) -> None:
        x = leaf([4, 4]) * 1.0
        views = [x, x[0], x[1:3], x.T[1], x.detach(), x.reshape([16])[::3], x[2:]]
        saved: list[mt.Tensor] = []
        for _ in range(self.random.randint(2, 9)):
            view = self.random.choice(views)
            turn = self.random.random()
            if turn < 0.15:
                mt.set_inplace_policy(self.random.choice(list(POLICIES)))
            elif turn < 0.6:
                self.write(view, saved)
            elif not view.stop_gradient:
                saved.append(
                    self.random.choice([lambda v=view: v * v, lambda v=view: v.exp(), lambda v=view: v.sin()])()
                )
        for y in saved:
            self.run_backward(y)

    def write(self, view: mt.Tensor, saved: list[mt.Tensor]) -> None:
        """Run one in-place operation, which the policy "2.5" may refuse."""
        writes: list[Callable[[], object]] = [
            *(
                lambda: view.add_(1.0),
                lambda: view.sin_(),
                lambda: view.clip_(0.0, 1.0),
                lambda: mt.no_grad()(view.scale_)(1.5),
            ),
            *(
                lambda: view.__setitem__(0, 2.0),
                lambda: view.__setitem__([0], 1.0),
                lambda: saved and saved[0].scale_(2.0),
            ),
        ]
        try:
            self.random.choice(writes)()
        except ValueError:
            self.refused += 1

    def run_backward(self, y: mt.Tensor) -> None:
        """Run the backward function of the operation that made ``y``. Skip calls of ``scale_``, which saves nothing."""
        node = y.grad_fn
        while node.op.name == "scale_":
            node = node.inputs[0]
        try:
            node.op.backward(node, mt.ones(list(node.shape))._array)
        except RuntimeError:
            self.raised += 1


def test_backward_refuses_exactly_the_values_that_a_report_calls_stale(no_collector):
    raised = refused = 0
    for seed in range(FIRST, FIRST + 400):
        base, program = allocated(), Program(seed)
        with mt.set_inplace_policy("2.6"):
            report = mt.explain(program)
        reported = [saved for row in report.rows for saved in row.stale if saved.op in ("multiply", "exp", "sin")]
        assert len(reported) == program.raised == sum(saved.asked_for for saved in reported), seed
        errors = [row for row in report.rows if row.verdict is Verdict.RAISES]
        assert len(errors) == program.raised and all(report.rows[row.cause - 1].stale for row in errors), seed
        assert report.totals.refused == program.refused and report.cut_short == "", seed
        assert allocated() == base, seed
        raised, refused = raised + program.raised, refused + program.refused
    assert raised > 100 and refused > 10


class Squared(PyLayer):
    """Compute x * x in place."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.clone())
        x.square_()
        return x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * 2 * x


@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
def test_a_write_of_a_user_defined_operation_is_not_called_unrecorded(policy):
    def program():
        x = leaf() * 3
        Squared.apply(x)
        x.sum().backward()

    with mt.set_inplace_policy(policy):
        (row,) = mt.explain(program).rows
    assert row.verdict is Verdict.FREE and "user-defined" in row.happened and not row.stale
