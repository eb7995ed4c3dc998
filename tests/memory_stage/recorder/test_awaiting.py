"""Test that a cell under `%%stage` may await at its top level and runs as it would without the magic."""

from __future__ import annotations

import ast
import asyncio
import traceback
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import minitensor as mt
from memory_stage.recorder.record import run
from memory_stage.trace.validation import problems

TASKS = """
import asyncio
x = mt.zeros([2])
def double(t):
    t.scale_(2.0)
    return t
async def work(amount):
    x.add_(amount)
    await asyncio.sleep(0)
    double(x)
    x.add_(amount)
    return amount
made = await asyncio.gather(work(1.0), work(10.0))
x.add_(100.0)
""".strip()


def recorded(source: str, names: dict | None = None):
    names = {"mt": mt} if names is None else names
    return run(source, names, file="<awaiting>", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names


def in_a_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a new thread, because an earlier test may have left a loop running in the main thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def without_magic(source: str) -> dict:
    """Return the names of the program after an event loop has run it without a recorder."""
    names = {"mt": mt}
    code = compile(source, "<unwatched>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    in_a_loop(eval(code, names))
    return names


def writes(variant: dict) -> list[tuple[int, int]]:
    """Return the line of each write, and the version after it."""
    return [
        (step["line"], event["version"])
        for step in variant["steps"]
        for event in step["events"]
        if event["do"] == "write"
    ]


def test_a_cell_that_awaits_is_recorded(cell, shell):
    result, shown, out = cell("%%stage\nimport asyncio\nawait asyncio.sleep(0)\nx = mt.ones([2])\nx.add_(1)")
    assert result.success and shell.user_ns["x"].tolist() == [2.0, 2.0] and "Out[" in out
    assert [step["line"] for step in shown.data["variants"][0]["steps"]][-2:] == [3, 4]
    assert list(problems(shown.data)) == []


def test_tasks_run_in_the_same_order_as_without_a_recorder():
    done, names = recorded(TASKS)
    alone = without_magic(TASKS)
    assert done.error is None
    assert (names["x"].tolist(), names["made"]) == (alone["x"].tolist(), alone["made"])


def test_writes_in_coroutines_are_shown_at_the_await_and_writes_in_functions_at_their_lines():
    done, _ = recorded(TASKS)
    awaits, inside, after = 12, 4, 13
    lines = [awaits, awaits, inside, awaits, inside, awaits, after]
    assert writes(done.variant) == [(line, version) for version, line in enumerate(lines, 1)]


def test_async_for_and_async_with_are_stepped_through():
    done, names = recorded("""
import contextlib
async def numbers():
    for i in range(3):
        yield float(i)
@contextlib.asynccontextmanager
async def opened():
    yield mt.zeros([1])
async with opened() as total:
    async for number in numbers():
        total.add_(number)
    doubled = [n * 2 async for n in numbers()]
""")
    assert done.error is None and names["total"].tolist() == [3.0] and names["doubled"] == [0.0, 2.0, 4.0]
    assert writes(done.variant) == [(11, 1), (11, 2), (11, 3)]


def test_an_error_is_shown_at_its_line_and_raised_without_frames_of_the_event_loop(cell, shell):
    text = "%%stage\nimport asyncio\nasync def fails():\n    await asyncio.sleep(0)\n    1 / 0\nx = mt.ones([2])\n"
    result, shown, _ = cell(f"{text}await fails()\ny = 1")
    error = result.error_in_exec
    assert isinstance(error, ZeroDivisionError) and "y" not in shell.user_ns
    last = shown.data["variants"][0]["steps"][-1]
    assert last["line"] == 6 and last["events"][-1]["text"] == "ZeroDivisionError: division by zero"
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert not [name for name in files if "asyncio" in name or "memory_stage" in name], files


def test_the_value_of_a_last_line_that_awaits_is_displayed(cell, shell):
    _, _, out = cell("%%stage\nasync def two():\n    return mt.ones([2])\nawait two()")
    assert "Out[" in out and shell.user_ns["_"].tolist() == [1.0, 1.0]


def test_variants_may_await(cell):
    text = "%%stage --compare\nimport asyncio\nx = mt.ones([2])\nawait asyncio.sleep(0)\n"
    result, shown, _ = cell(f"{text}# --- a\nx.add_(1.0)\n# --- b\nx = await asyncio.sleep(0, x + 1)")
    assert result.success and [len(writes(variant)) for variant in shown.data["variants"]] == [1, 0]


def test_unfinished_tasks_are_cancelled_at_the_end():
    done, names = recorded("""
import asyncio
told = []
async def for_ever():
    try:
        await asyncio.sleep(3600)
    finally:
        told.append("cancelled")
async def begin():
    global left
    left = asyncio.create_task(for_ever())
    await asyncio.sleep(0)
await begin()
""")
    assert done.error is None and names["told"] == ["cancelled"] and names["left"].cancelled()


def test_an_event_loop_that_already_runs_continues_after_the_recording():
    async def around() -> str:
        loop = asyncio.get_running_loop()
        done, names = recorded("import asyncio\nawait asyncio.sleep(0)\nx = await asyncio.sleep(0.001, mt.ones([2]))")
        assert done.error is None and names["x"].tolist() == [1.0, 1.0]
        assert asyncio.get_running_loop() is loop
        await asyncio.sleep(0)
        return "goes on"

    assert in_a_loop(around()) == "goes on"
