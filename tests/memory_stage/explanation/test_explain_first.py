"""Test that `explain` begins with the write that makes a gradient wrong, names lines of the program, and says what
PyTorch refuses.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import minitensor as mt
from memory_stage.explanation.minitensor import Report, Verdict
from memory_stage.explanation.minitensor.pytorch_refusals import SAVES
from minitensor import torch
from tests.support.vocabulary.overwritten import RECORD, recorded_outcome

pytestmark = pytest.mark.cpu_only

RIGHT = [2.0, 4.0]  # the gradient of x ** 2 at 1 and 2


def report_of(program) -> Report:
    report = mt.explain(program, catch=True)
    assert report.cut_short == ""
    return report


def words(report: Report) -> str:
    return " ".join(str(report).split())


# ---------- writes without a version ----------


def squared(write, power=2):
    """Return a program that writes between forward and backward, and the list in which it stores its gradient."""
    found = []

    def program():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x**2 if power == 2 else x + 2
        write(x)
        y.sum().backward()
        found.append(x.grad.tolist())

    return program, found


def through_data(x):
    x.data += 10


def through_a_method_of_data(x):
    x.data.add_(10)


def through_numpy(x):
    x.detach().numpy()[:] = 11


@pytest.mark.parametrize("write", [through_data, through_a_method_of_data, through_numpy])
def test_an_unversioned_write_that_makes_the_gradient_wrong_is_reported_as_unnoticed(write):
    program, found = squared(write)
    report = report_of(program)
    assert found != [RIGHT], "the write should make the gradient wrong"
    assert [row.verdict for row in report.rows] == [Verdict.UNNOTICED]
    assert "y = x**2" in report.rows[0].happened
    assert report.totals.unnoticed == 1
    assert "detach()" in report.rows[0].instead or write is through_numpy


@pytest.mark.parametrize("write", [through_data, through_a_method_of_data, through_numpy])
def test_a_write_over_values_that_no_backward_needs_is_not_reported_as_unnoticed(write):
    program, found = squared(write, power=1)
    report = report_of(program)
    assert found == [[1.0, 1.0]]
    assert all(row.verdict is not Verdict.UNNOTICED for row in report.rows)
    assert report.totals.unnoticed == 0


def test_if_the_write_goes_through_detach_as_suggested_backward_raises_an_error():
    program, _ = squared(lambda x: x.detach().add_(10))
    report = report_of(program)
    assert isinstance(report.error, RuntimeError)
    assert report.rows[0].verdict is Verdict.STALE


def test_an_update_after_backward_is_not_reported_as_unnoticed():
    def program():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x**2).sum().backward()
        x.data.sub_(x.grad)
        x.data -= x.grad

    assert [row.verdict for row in report_of(program).rows] == [Verdict.UNRECORDED] * 2


def test_a_write_is_not_reported_as_unnoticed_if_check_foreign_writes_finds_it():
    def program():
        array = np.ones(2, np.float32)
        x = mt.from_numpy(array)
        x.stop_gradient = False
        with mt.check_foreign_writes():
            y = x * x
            array[0] = 5
            y.sum().backward()

    report = report_of(program)
    assert isinstance(report.error, RuntimeError)
    assert report.totals.unnoticed == 0


# ---------- the program's own lines ----------


def step_between():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    optimizer = torch.optim.Adam(net.parameters())
    loss = net(torch.ones(4, 2)).mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    loss.backward()


def generator_and_critic():
    generator, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    score = critic(generator(torch.ones(4, 2)))
    score.mean().backward(retain_graph=True)
    optimizer.step()
    (-score.mean()).backward()


@pytest.mark.parametrize(
    ("program", "saved"),
    [
        (step_between, "loss = net(torch.ones(4, 2)).mean()"),
        (generator_and_critic, "score = critic(generator(torch.ones(4, 2)))"),
    ],
)
def test_an_optimizer_step_before_backward_is_reported_with_lines_of_the_program(program, saved):
    report = report_of(program)
    text = words(report)
    first = text.partition("Read row ")[2]
    assert "optimizer.step()" in first[:120]
    assert f"`{saved}`" in first[:300]
    assert "`detach()`ed" in text
    assert "use `add`" not in text
    assert text.count("A layer fills its parameters.") <= 2, "each line that makes layers must have at most one row"
    for own in ("functional.py", "optim.py", "linear.py", "layers.py"):
        assert own not in text, own


@pytest.mark.parametrize("program", [step_between, generator_and_critic])
def test_the_error_about_a_stale_tensor_names_lines_of_the_program(program):
    with pytest.raises(RuntimeError) as caught:
        program()
    text = str(caught.value)
    assert "overwritten: by" in text
    assert "optimizer.step()" in text
    assert "test_explain_first.py" in text
    for own in ("functional.py", "optim.py"):
        assert own not in text


LAYERS = {
    "Linear": lambda: torch.nn.Linear(4, 4),
    "Softmax": lambda: torch.nn.Softmax(-1),
    "softplus": lambda: torch.nn.functional.softplus,
    "std": lambda: torch.std,
    "Sequential": lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()),
    "Paddle's Linear": lambda: mt.nn.Linear(4, 4),
    "Paddle's ReLU": lambda: mt.nn.ReLU(),
    "MSELoss": lambda: lambda x: torch.nn.MSELoss()(x, torch.ones(2, 4)),
    "CrossEntropyLoss": lambda: lambda x: torch.nn.CrossEntropyLoss()(x, torch.tensor([1, 2])),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_every_node_that_a_layer_or_a_loss_makes_has_the_line_that_called_it(layer):
    paddles = layer.startswith("Paddle")
    x = mt.ones([2, 4]) if paddles else torch.ones(2, 4)
    made = LAYERS[layer]()
    if paddles:
        x.stop_gradient = False
    else:
        x.requires_grad_()
    result = made(x)
    nodes, waiting = set(), [result._node]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            waiting += node.inputs
    files = {node.place.file for node in nodes if node.inputs}
    assert files == {"test_explain_first.py"}


# ---------- programs that PyTorch would refuse ----------

RECORDED = [
    (function, what, RECORD[f"{function}, its {what} written"])
    for function in ("exp", "sin", "softmax", "sqrt", "cos", "tanh", *SAVES)
    for what in ("input", "result")
    if f"{function}, its {what} written" in RECORD
]


@pytest.mark.parametrize(("function", "what", "record"), RECORDED, ids=[f"{f} {w}" for f, w, _ in RECORDED])
def test_explain_reports_programs_that_only_pytorch_refuses(function, what, record):
    names = {"torch": torch, "F": torch.nn.functional}
    lines = [line for line in record["program"].splitlines() if not line.startswith(("import", "from", "print"))]

    def program():
        exec("\n".join(lines), names)

    report = report_of(program)
    runs_here = report.error is None
    assert ("PyTorch would refuse here" in words(report)) == (recorded_outcome(record) == "refused" and runs_here)


def test_explain_reports_that_pytorch_refuses_to_multiply_a_tensor_by_itself_in_place():
    def program(other):
        x = torch.tensor([1.0, 2.0], requires_grad=True) * 1
        x *= x if other is None else other
        x.sum().backward()

    assert "PyTorch would refuse here" in words(report_of(lambda: program(None)))
    assert "PyTorch would refuse here" not in words(report_of(lambda: program(torch.ones(2, requires_grad=True))))


LOSSES = ("mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits", "kl_div", "cross_entropy")


@pytest.mark.parametrize("loss", LOSSES)
def test_explain_names_the_write_to_the_target_of_a_loss_before_backward(loss):
    """PyTorch 2.13.0 refuses each of these programs, in which the target is overwritten before backward."""

    def program():
        w = torch.tensor([0.3, 0.4, 0.5], requires_grad=True)
        target = torch.tensor([0.2, 0.5, 0.3])
        value = getattr(torch.nn.functional, loss)(w * 1, target)
        target.mul_(1.5)
        value.backward()

    report = report_of(program)
    (row,) = [row for row in report.rows if row.op == "multiply_"]
    lines = inspect.getsource(program).splitlines()
    assert row.where.text == "target.mul_(1.5)" and row.where.line == program.__code__.co_firstlineno + lines.index(
        "        target.mul_(1.5)"
    )
    assert (
        "getattr(torch.nn.functional, loss)" in row.happened or f"`{loss}` (line {row.where.line - 1})" in row.happened
    )
    assert "un backward before this line" in row.instead and "`multiply`" in row.instead


def test_explain_mentions_pytorch_only_if_its_backward_would_raise_after_the_write():
    def program(early, write):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        target = torch.zeros(2)
        value = torch.nn.functional.mse_loss(w * 1, target)
        if early:
            value.backward()
        write(target)
        if not early:
            value.backward()

    assert "PyTorch would refuse" in words(report_of(lambda: program(False, lambda x: x.add_(1))))
    assert "PyTorch would refuse" not in words(report_of(lambda: program(True, lambda x: x.add_(1))))
    assert "PyTorch would refuse" not in words(report_of(lambda: program(False, lambda x: x.data.add_(1))))


def test_parts_of_one_tensor_that_only_touch_do_not_overlap_for_pytorch():
    def program(write):
        write(torch.zeros(6))

    assert "PyTorch would refuse" not in words(report_of(lambda: program(lambda x: x[2:4].add_(x[:2]))))
    assert "PyTorch would refuse" not in words(report_of(lambda: program(lambda x: x[2:4].add_(x[4:]))))
    assert "PyTorch would refuse" in words(report_of(lambda: program(lambda x: x[2:4].add_(x[1:3]))))
