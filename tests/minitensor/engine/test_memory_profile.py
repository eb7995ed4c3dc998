"""Test memory.profile: a table with the bytes of each line. The sums over all lines equal the device's counters."""

from __future__ import annotations

import functools
import sys
import weakref
from typing import Any

import pytest

import minitensor as mt
from minitensor import memory
from minitensor.engine.events import watch
from tests.support.engine.memory import KIB, SHAPE, leaf
from tests.support.engine.watched import PROGRAMS, counters, report_of

# A garbage collection during a test would change the counted bytes, so the fixture collects before the test
# and turns the collector off.
pytestmark = pytest.mark.usefixtures("no_collector")


def quiet(function: Any) -> Any:
    return memory.profile(function, show=False)


def figures(table: memory.Table) -> dict[str, tuple[int, int, int | None, int, int]]:
    """Return a dict that maps the text of each line with events to the numbers in its row.

    The numbers are the allocations, then the allocated bytes, the peak, the written and the saved bytes.
    """
    return {
        row.text.strip(): (row.allocations, row.allocated, row.peak, row.written, row.saved)
        for row in table.rows
        if row.peak is not None
    }


# ---------- rows of the table ----------


@pytest.mark.cpu_only
def test_the_bytes_of_every_line_equal_those_counted_by_hand():
    @quiet
    def program(w: mt.Tensor) -> mt.Tensor:
        x = w * 2.0
        y = x * x
        x = x.detach()
        x.add_(1.0)
        x[0] = 5.0
        x[[1, 1]] = 0.0
        z = x.reshape([256])
        y.sin_()
        del z
        return y.sum()

    w = leaf()
    loss = program(w)
    assert figures(program.table) == {
        "x = w * 2.0": (1, KIB, KIB, 0, 0),
        "y = x * x": (1, KIB, 2 * KIB, 0, KIB),
        "x.add_(1.0)": (0, 0, 2 * KIB, KIB, 0),
        "x[0] = 5.0": (0, 0, 2 * KIB, 64, 0),
        "x[[1, 1]] = 0.0": (0, 0, 2 * KIB, 128, 0),
        "y.sin_()": (1, KIB, 3 * KIB, KIB, KIB),
        "return y.sum()": (1, 4, 3 * KIB + 4, 0, 0),
        # y is freed. x and the copy that sin_ made are saved in the history of the loss.
        "(on return)": (0, -KIB, 3 * KIB + 4, 0, 0),
    }
    del loss
    assert (program.table.total.allocated, program.table.total.peak) == (2 * KIB + 4, 3 * KIB + 4)


@pytest.mark.cpu_only
@pytest.mark.parametrize("place", ["cpu", "gpu:sim"])
def test_a_table_counts_only_the_bytes_of_its_device(place: str):
    @memory.profile(device=place, show=False)
    def program(here: mt.Tensor, there: mt.Tensor) -> tuple[mt.Tensor, mt.Tensor]:
        x = here * here
        y = there * there
        x.add_(1.0)
        y.add_(1.0)
        return x, y

    other = "cpu" if place == "gpu:sim" else "gpu:sim"
    here, there = (mt.to_tensor([1.0] * 256, place=each, stop_gradient=False) for each in (place, other))
    results = program(here, there)
    assert figures(program.table) == {"x = here * here": (1, KIB, KIB, 0, KIB), "x.add_(1.0)": (0, 0, KIB, KIB, 0)}
    del results
    assert sum(row.written for row in program.table.rows) == sum(row.saved for row in program.table.rows) == KIB


@pytest.mark.cpu_only
def test_the_row_of_a_line_in_a_loop_has_the_sums_and_the_highest_peak():
    @quiet
    def program() -> list[mt.Tensor]:
        held = []
        for n in (1, 4, 2):
            scratch = mt.zeros([n, *SHAPE])  # noqa: F841
            held.append(mt.ones(SHAPE))
        return held

    held = program()
    reported = figures(program.table)
    # While the loop binds `scratch` again, the old and the new tensor are both allocated.
    assert reported["scratch = mt.zeros([n, *SHAPE])  # noqa: F841"][:3] == (3, 2 * KIB, 8 * KIB)
    assert reported["held.append(mt.ones(SHAPE))"][:3] == (3, 3 * KIB, 6 * KIB)
    assert reported["(on return)"][1] == -2 * KIB
    del held


@pytest.mark.cpu_only
def test_the_bytes_of_a_called_function_are_in_the_row_of_the_calling_line():
    def helper() -> mt.Tensor:
        kept = mt.ones(SHAPE)
        return kept + kept

    @quiet
    def program() -> list[mt.Tensor]:
        x = helper()
        return [x + float(i) for i in range(3)]

    kept = program()
    reported = figures(program.table)
    assert reported["x = helper()"] == (2, KIB, 2 * KIB, 0, 0)
    assert reported["return [x + float(i) for i in range(3)]"][:2] == (3, 3 * KIB)
    assert reported["(on return)"][1] == -KIB
    del kept


@pytest.mark.cpu_only
def test_all_calls_of_a_recursion_are_in_one_table():
    @quiet
    def deeper(n: int) -> mt.Tensor:
        x = mt.ones(SHAPE)
        if n == 0:
            return x
        return x + deeper(n - 1)

    kept = deeper(3)
    reported = figures(deeper.table)
    assert reported["x = mt.ones(SHAPE)"][:3] == (4, 4 * KIB, 4 * KIB)
    # Each of the three outer calls allocates a sum. The tensors of an inner call are freed while this line runs.
    assert reported["return x + deeper(n - 1)"][0] == 3
    assert deeper.table.total.allocated == KIB == sum(row.allocated for row in deeper.table.rows)
    del kept
    first = deeper.table
    deeper(0)
    assert deeper.table is not first and deeper.table.total.allocations == 1


def test_the_table_has_a_row_for_each_line_of_the_source():
    def program() -> None:
        mt.ones([2])

    profiled = quiet(program)
    profiled()
    first = program.__code__.co_firstlineno
    assert [(row.line, row.text) for row in profiled.table.rows] == [
        (first, "def program() -> None:"),
        (first + 1, "    mt.ones([2])"),
        (None, "(on return)"),
    ]
    assert profiled.table.file == "test_memory_profile.py" and profiled.table.function.endswith("program")


@pytest.mark.cpu_only
def test_without_source_text_the_table_has_only_the_lines_with_events():
    scope: dict[str, Any] = {"mt": mt}
    exec(compile("def program():\n    x = mt.ones([2])\n    pass\n    return x\n", "<nowhere>", "exec"), scope)
    profiled = quiet(scope["program"])
    x = profiled()
    assert [(row.line, row.allocated) for row in profiled.table.rows] == [(2, 8), (None, 0)]
    assert profiled.table.file == ""
    del x


# ---------- the sums equal the counters ----------


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_sums_of_a_table_equal_the_counters(program, device):
    count = counters(device)
    base = count.memory_allocated()
    count.reset_max_memory_allocated()
    profiled = quiet(program)
    profiled(lambda *tensors: None)
    table = profiled.table
    assert table.device == device
    assert sum(row.allocated for row in table.rows) == table.total.allocated == count.memory_allocated() - base
    peaks = [row.peak for row in table.rows if row.peak is not None]
    assert max(peaks) == table.total.peak == count.max_memory_allocated() - base
    assert sum(row.allocations for row in table.rows) == table.total.allocations
    # The program "hooks" has no in-place operation.
    assert sum(row.written for row in table.rows) > 0 or program.__name__ == "hooks"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_profiling_does_not_change_a_program(program, device):
    assert report_of(quiet(program), device) == report_of(program, device)


def test_arguments_are_freed_at_the_same_time_as_without_a_profile():
    seen: list[bool] = []

    def program(x: mt.Tensor, *, y: mt.Tensor) -> None:
        links = weakref.ref(x), weakref.ref(y)
        del x
        seen.append(links[0]() is None)
        y = y + 1.0
        seen.append(links[1]() is None)

    program(mt.ones([3]), y=mt.ones([3]))
    unwatched = seen[:]
    quiet(program)(mt.ones([3]), y=mt.ones([3]))
    assert seen[2:] == unwatched
    # Before Python 3.11, the caller keeps its arguments alive during a call.
    assert unwatched == [sys.version_info >= (3, 11)] * 2


def test_a_profile_does_not_keep_the_result_alive():
    profiled = quiet(lambda: mt.ones([3]))
    x = profiled()
    link = weakref.ref(x)
    del x
    assert link() is None


# ---------- errors and wrong arguments ----------


def test_an_error_in_a_profiled_function_is_raised_and_the_table_is_kept(device, capsys):
    @memory.profile
    def program() -> None:
        x = mt.ones([4, *SHAPE])
        x.add_(mt.ones([3]))

    with pytest.raises(ValueError, match="add_"):
        program()
    assert watch.listener is None
    reported = figures(program.table)
    assert reported["x = mt.ones([4, *SHAPE])"][:2] == (1, 4 * KIB)
    assert program.table.error.startswith("ValueError: ")
    assert f"ended by {program.table.error}" in capsys.readouterr().out
    with pytest.raises(TypeError):
        program(1)
    assert program.table.total.allocations == 0 and watch.listener is None


@pytest.mark.cpu_only
def test_the_table_is_printed_after_each_call(capsys):
    @memory.profile
    def program(n: int) -> None:
        x = mt.ones([n, *SHAPE])
        x.add_(1.0)

    program(1000)
    lines = capsys.readouterr().out.splitlines()
    assert lines == str(program.table).splitlines()
    assert lines[0].startswith(
        "test_the_table_is_printed_after_each_call.program, test_memory_profile.py: bytes on cpu"
    )
    assert lines[1].split() == ["line", "allocations", "allocated", "peak", "written", "saved"]
    made = next(line for line in lines if "mt.ones" in line)
    assert made.split()[1:4] == ["1", "+1,024,000", "1,024,000"]
    assert lines[-1].split() == ["1", "+0", "1,024,000", "1,024,000", "in", "all"]
    program(1)
    assert capsys.readouterr().out.count("in all") == 1


@pytest.mark.cpu_only
def test_methods_and_wrapped_functions_are_profiled():
    class Layer:
        def __init__(self) -> None:
            self.w = mt.ones(SHAPE)

        @memory.profile(show=False)
        def forward(self, x: mt.Tensor) -> mt.Tensor:
            return x * self.w

        @staticmethod
        @memory.profile(show=False)
        def plain(x: mt.Tensor) -> mt.Tensor:
            return x + x

    def twice(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any) -> Any:
            function(*args)
            return function(*args)

        return inner

    layer, x = Layer(), mt.ones(SHAPE)
    layer.forward(x), layer.plain(x)
    assert figures(Layer.forward.table)["return x * self.w"][0] == 1
    assert figures(Layer.plain.table)["return x + x"][0] == 1

    @quiet
    @twice
    def program(x: mt.Tensor) -> mt.Tensor:
        return x + x

    program(x)
    assert figures(program.table)["return x + x"][0] == 2
    bound = quiet(Layer().forward.__wrapped__)
    assert bound.__name__ == "forward"
    given = quiet(lambda *args, **kwargs: (args, kwargs))
    assert given(1, 2, a=3, **{"not a name": 4, "class": 5}) == ((1, 2), {"a": 3, "not a name": 4, "class": 5})


def generator() -> Any:
    yield mt.ones([1])


async def coroutine() -> None:
    pass


async def stream() -> Any:
    yield 1


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    "what, reported",
    [
        (generator, "generator is a generator function"),
        (coroutine, "coroutine is a coroutine function"),
        (stream, "stream is an asynchronous generator"),
        (memory.Table, "not the class Table"),
        (len, "not len of type builtin_function_or_method"),
        (3, "not 3 of type int"),
        (staticmethod(generator), "write @staticmethod above @memory.profile"),
        (classmethod(generator), "write @classmethod above @memory.profile"),
    ],
    ids=["generator", "coroutine", "stream", "class", "builtin", "number", "staticmethod", "classmethod"],
)
def test_only_plain_functions_can_be_profiled(what, reported):
    with pytest.raises(TypeError, match=reported):
        memory.profile(what)


@pytest.mark.cpu_only
def test_profiles_can_be_nested_in_each_other_and_in_a_measure():
    @quiet
    def inner() -> mt.Tensor:
        return mt.ones(SHAPE)

    @quiet
    def outer() -> mt.Tensor:
        return inner() + 1.0

    with memory.measure() as m:
        kept = outer()
    assert inner.table.total.allocated == KIB and outer.table.total.peak == 2 * KIB == m.peak
    assert outer.table.total.allocated == KIB == m.allocated
    assert watch.listener is None
    del kept
