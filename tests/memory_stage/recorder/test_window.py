"""Test recording a part of a run: some of its statements, one iteration of a loop, or the run from a line on."""

from __future__ import annotations

import time

import pytest

from memory_stage import api
from memory_stage.recorder import instrument
from memory_stage.recorder.counted_run import CountedRun
from memory_stage.recorder.key_step import step_of_line
from memory_stage.recorder.window import IterationWindow, LineWindow, StatementWindow, head_of_loop
from memory_stage.trace.validation import validate
from tests.support.stage.fixtures import strict_recorder  # noqa: F401  (fixture)

FILE = "<program>"

PROGRAM = """\
import minitensor as mt

class Net:
    def __init__(self):
        self.w = mt.to_tensor([1.0, 2.0], stop_gradient=False)

    def forward(self, x):
        h = x * self.w
        return h

def train(net, i):
    x = mt.ones([2])
    for _ in range(2):
        x.add_(mt.ones([2]))
    y = net.forward(x)
    if i == 30:
        y.scale_(2.0)
    loss = y.sum()
    loss.backward()
    net.w.clear_gradient()

net = Net()
count = 0
for i in range(40):
    train(net, i)
    count += 1
last = mt.ones([1])
"""


def recorded(window, source: str = PROGRAM, limit: int = 500):
    names: dict[str, object] = {"__name__": "__main__"}
    done = api.run(source, names, file=FILE, window=window, limit=limit)
    assert instrument.listener is None
    validate(api.Stage([done]).data)
    return done, names


def lines(done) -> list[int]:
    return [step["line"] for step in done.variant["steps"]]


class NoWindow:
    """A window that never begins. It counts the statements of the run up to the first statement at a line."""

    is_alone = False

    def __init__(self, line: int) -> None:
        self.line, self.count, self.reached = line, 0, 0

    def advance(self, statement, index, moment) -> bool:
        self.count += moment == "before"
        if moment == "before" and statement.line == self.line and not self.reached:
            self.reached = self.count
        return False

    def describe(self) -> str:
        return "nothing"


def number_of(line: int) -> int:
    """Return the number, in the order of the run, of the first statement that runs at a line."""
    window = NoWindow(line)
    recorded(window)
    return window.reached


def test_statements_are_recorded_inside_functions_with_the_names_and_iterations_around_them():
    first = number_of(17)
    done, names = recorded(StatementWindow(first, first + 3))
    assert done.error is None and names["count"] == 40
    steps = done.variant["steps"]
    assert [step["line"] for step in steps][:2] == [17, 18] and steps[0]["passes"] == [[24, 31]]
    bound = {event["name"] for event in done.variant["before"] if event["do"] == "name"}
    assert {"net.w", "x in train", "y in train"} <= bound
    assert "`scale_` writes" in steps[0]["say"]
    assert done.variant["truncated"] == f"The stage shows statements {first} to {first + 3} of the run."


def test_an_iteration_is_counted_in_the_innermost_loop_around_a_line():
    assert head_of_loop(PROGRAM, 14) == 13 and head_of_loop(PROGRAM, 25) == 24
    done, _ = recorded(IterationWindow(31, 24, FILE))
    assert (
        17 in lines(done) and lines(done)[-1] == 26 and {step["passes"][0][1] for step in done.variant["steps"]} == {31}
    )
    done, _ = recorded(IterationWindow(31, None, FILE))
    assert lines(done)[0] == 14 and done.variant["steps"][0]["passes"] == [[24, 16], [13, 1]]
    with pytest.raises(ValueError, match="line 8 is in no loop"):
        head_of_loop(PROGRAM, 8)


def test_a_recording_begins_the_first_time_that_the_line_of_its_window_runs():
    done, _ = recorded(LineWindow(17, FILE), limit=5)
    assert lines(done)[:2] == [17, 18] and len(lines(done)) == 5
    assert "Only the first 5 steps of the run from line 17 on are shown" in done.variant["truncated"]


def test_a_window_may_begin_at_the_top_level_or_after_the_end_of_the_run():
    done, _ = recorded(LineWindow(27, FILE))
    assert lines(done) == [27]
    done, names = recorded(StatementWindow(10_000, 10_010))
    assert done.variant["truncated"].startswith("The run ended before statements 10,000 to 10,010 of the run")
    assert names["last"].tolist() == [1]


def test_a_program_ends_at_the_end_of_its_window_if_the_caller_requests_it():
    done, names = recorded(StatementWindow(100, 110, is_alone=True))
    assert done.error is None and "last" not in names and 0 < names["count"] < 20


def test_values_and_errors_are_those_of_the_unrecorded_program():
    failing = PROGRAM.replace("last = mt.ones([1])", "last = mt.ones([1]).reshape([2])")
    done, names = recorded(StatementWindow(200, 220), failing)
    assert isinstance(done.error, ValueError) and "last" not in names
    plain: dict[str, object] = {"__name__": "__main__"}
    exec(PROGRAM, plain)
    done, names = recorded(StatementWindow(200, 220))
    assert names["net"].w.tolist() == plain["net"].w.tolist() and names["count"] == plain["count"]


def test_a_stage_opens_at_the_last_write_of_a_line():
    done, _ = recorded(IterationWindow(31, 24, FILE))
    step = step_of_line(done.variant, 14)
    assert step is not None and done.variant["steps"][step - 1]["passes"][-1] == [13, 2]
    assert step_of_line(done.variant, 5) is None


# ---------- counting ----------


def test_the_window_of_a_counted_run_begins_with_the_iteration_that_made_the_node():
    made = [0]
    source = "for i in range(50):\n    for k in range(3):\n        k\n    made[0] += 1\n    i\ni\n"
    run = CountedRun(source, FILE, lambda: made[0])
    run.run({"made": made})
    # An iteration runs six statements: the head of the inner loop, `k` three times, `made[0] += 1` and `i`. The head of
    # the outer loop and the last `i` run once.
    each = (run.count - 2) // 50
    first, last = run.window(40, 1 + 42 * each)
    assert last == 1 + 42 * each + 3 and first == 2 + 40 * each
    assert run.window(-1, 1 + 42 * each)[0] == 2 + 41 * each
    # The node is older than the longest window, so the window begins at most 200 statements before the last one.
    assert run.window(0, run.count)[0] >= run.count - 200


def test_the_statements_before_a_window_run_almost_at_full_speed():
    source = "total = 0\nfor i in range(20000):\n    total += i\n"
    begun = time.process_time()
    exec(source, {})
    alone = time.process_time() - begun
    begun = time.process_time()
    done, names = recorded(StatementWindow(19_990, 19_995), source)
    assert names["total"] == sum(range(20000)) and done.error is None
    # Allow 100 microseconds for each of the 20,000 statements. Recording a statement takes milliseconds.
    assert time.process_time() - begun < alone + 2.0


def test_a_recording_begins_at_a_statement_if_it_is_given_the_second_line_of_the_statement():
    done, _ = recorded(LineWindow(4, FILE), "import minitensor as mt\ny = 1\nx = mt.ones(\n    [2],\n)\nx.add_(x)\n")
    assert lines(done) == [3, 6]
