"""Test a reader's program in the page: errors at their lines, endless programs, and limits with their messages."""

from __future__ import annotations

import pytest

from tests.support.site.editing import ALIASES, Stage, needs_python

pytestmark = needs_python


def test_an_error_is_shown_at_its_line(on_page):
    _, stages = on_page(ALIASES)
    stage = stages[0]
    stage.run("x = mt.ones([2])\nx.add_(mt.ones([3]))")
    assert len(stage.errors) == 1 and "add_" in stage.errors[0]
    stage.run("x = mt.ones([2])\ny = (x")
    assert stage.errors[0].startswith("SyntaxError")
    assert any("no line has run" in said for variant in stage.said for said in variant)
    stage.run("\0")
    assert len(stage.errors) == 1
    stage.run("")
    assert stage.errors == [] or stage.errors[0]


def test_the_button_ends_a_loop_and_the_page_continues(on_page):
    visit, stages = on_page(ALIASES)
    stage = stages[0]
    stage.edit("while True:\n    pass")
    stage.press("Run")
    stage.element.get_by_role("button", name="Stop", exact=True).wait_for()
    assert visit.page.evaluate("1 + 1") == 2
    stage.press("Stop")
    assert stage.status == "Stopped."
    stage.press("Close")
    stage.run("x = mt.ones([2])")
    assert stage.errors == []


def test_a_loop_is_ended_after_20_seconds(on_page):
    _, stages = on_page(ALIASES)
    stages[0].run("while True:\n    pass")
    assert "it ran for 20 seconds" in stages[0].status
    stages[0].press("Close")


@pytest.mark.parametrize(
    "program, reason",
    [
        ("import os\nos._exit(3)", "exit(3)"),
        ("class A:\n    def __add__(self, other):\n        return self + other\nA() + 1", "too deep"),
    ],
)
def test_a_program_that_ends_python_is_reported_and_the_next_one_runs(site, visit, program, reason):
    seen = visit(f"{site}{ALIASES}.html", width=1440)
    stage = Stage(seen.page, seen.page.locator("memory-stage").first)
    stage.run(program)
    assert stage.status.startswith("The program has ended Python: ") and reason in stage.status
    stage.run("x = mt.ones([2])")
    assert stage.errors == [] and seen.foreign == []


SAID = {
    "def f(n):\n    return f(n + 1)\nf(0)": "RecursionError: maximum recursion depth exceeded",
    "x = mt.zeros([100_000, 100_000, 100])": "more than can be addressed",
    "name = input('who? ')": "a program in a page gets no input: write the value into the program",
    "import asyncio\nawait asyncio.Event().wait()": "RuntimeError: the program waits forever",
    "breakpoint()\nx = mt.ones([1])": "RuntimeError: a program in a page gets no input",
    "import threading\nthreading.Thread(target=print).start()": "RuntimeError: can't start new thread",
    "def f():\n    await g()": "SyntaxError: 'await' outside async function",
    "import torchvision": "ModuleNotFoundError: No module named 'torchvision'",
}


@pytest.mark.parametrize("program", SAID)
def test_a_program_that_a_page_cannot_run_raises_an_explained_error(on_page, program):
    _, stages = on_page(ALIASES)
    stages[0].run(program)
    assert [SAID[program] in error for error in stages[0].errors] == [True], stages[0].status


def test_long_and_unusual_programs_run(on_page):
    _, stages = on_page(ALIASES)
    stages[0].run("\n".join(f"x{i} = mt.ones([2])" for i in range(300)))
    assert stages[0].errors == [] and len(stages[0].data["variants"][0]["steps"]) == 300
    stages[0].run("for i in range(100_000):\n    print(i)")
    assert stages[0].errors == [] and stages[0].printed.startswith("0\n1\n")
    stages[0].run("gr\u00f6\u00dfe = mt.ones([2])\n\u5f20\u91cf = gr\u00f6\u00dfe.add_(1.0)\nprint(\u5f20\u91cf)")
    assert stages[0].errors == [] and "2., 2." in stages[0].printed


def test_integers_have_64_bits_except_those_that_numpy_creates(on_page):
    """The playground page states this. The last line of the program prints the dtype that numpy chooses, int32."""
    _, stages = on_page(ALIASES)
    ours = "mt.to_tensor([1]), mt.arange(3), mt.ones([2]).argmax(), mt.randint(0, 5, [2]), mt.ones([2]).argsort()"
    ours += ", torch.tensor([1]), torch.arange(2), torch.randint(5, (2,)), torch.ones(2).nonzero(), torch.full((1,), 2)"
    stages[0].run(f"print({{str(each.dtype).split('.')[-1] for each in ({ours})}})\nprint(np.array([1]).dtype)")
    assert stages[0].errors == [] and stages[0].printed == "{'int64'}\nint32\n"


def test_a_program_may_use_await(on_page):
    _, stages = on_page(ALIASES)
    stage = stages[0]
    begin = "import asyncio, time\nx = mt.zeros([2])\n"
    begin += "async def late(t, s):\n    await asyncio.sleep(s)\n    return t.add_(s)\n"
    end = "print(time.monotonic() - began >= 0.2, x.tolist())"
    stage.run(f"{begin}began = time.monotonic()\nawait asyncio.gather(late(x, 0.25), late(x, 0.125))\n{end}")
    assert stage.errors == [] and stage.printed == "True [0.375, 0.375]\n"
    stage.run(f"{begin}asyncio.run(late(x, 0.25))\nprint(x.tolist())")
    assert stage.errors == [] and stage.printed == "[0.25, 0.25]\n"


def test_a_program_is_independent_of_the_one_before(on_page):
    _, stages = on_page(ALIASES)
    stages[0].run("import builtins\ndel builtins.print\nmt.ones = None\nnp.seterr(all='raise')")
    assert stages[0].errors == []
    stages[0].run("x = mt.ones([2])\nprint(np.ones(1) / 0)\nimport warnings\nwarnings.warn('look out')")
    assert stages[0].errors == []
    assert stages[0].printed.splitlines()[-1] == "UserWarning: look out (line 4)" and "[inf]" in stages[0].printed


# ---------- memory ----------

FILLS = """
kept, taken = [], 0
try:
    while True:
        kept.append(bytearray(2**24))
        taken += 2**24
except MemoryError:
    del kept
print(taken)
"""
GREEDY = {
    "kept = [np.ones(2**25) for _ in range(12)]": "MemoryError: Unable to allocate 256. MiB",  # 3 GB
    "x = mt.ones([300_000_000])": "MemoryError: Unable to allocate 1.12 GiB",
    "x = mt.ones([750_000_000])": "more than can be addressed",  # 32 bits
    "text = 'x'\nwhile True:\n    text += text": "MemoryError",
}


def test_a_program_can_allocate_less_than_a_gigabyte(on_page):
    _, stages = on_page(ALIASES)
    stages[0].run(FILLS)
    assert 2**28 < int(stages[0].printed) < 2**30


@pytest.mark.parametrize("program", GREEDY)
def test_a_program_that_wants_more_memory_gets_an_error_and_the_next_one_runs(on_page, program):
    _, stages = on_page(ALIASES)
    stages[0].run(program)
    assert [GREEDY[program] in error for error in stages[0].errors] == [True], stages[0].status
    stages[0].run("x = mt.ones([2])")
    assert stages[0].errors == []


def test_of_a_long_program_the_first_steps_and_the_last_printed_lines_are_shown(on_page):
    _, stages = on_page(ALIASES)
    stage = stages[0]
    stage.run("x = mt.zeros([2])\nfor i in range(20_000):\n    x.add_(1.0)\nprint(x.tolist())")
    variant = stage.shown
    assert len(variant["steps"]) == 500 and variant["truncated"].endswith("[20000.0, 20000.0]\n")
    stage.element.evaluate("stage => stage.go(500)")
    assert "[20000.0, 20000.0]" in stage.element.locator(".cut").text_content()
    stage.run("for i in range(100_000):\n    print(i)")
    variant = stage.shown
    assert variant["truncated"].endswith("\n99998\n99999\n") and len(str(variant)) < 200_000


def test_a_step_that_prints_without_end_is_ended(on_page):
    _, stages = on_page(ALIASES)
    stages[0].run("list(map(lambda i: print('x' * 10_000), iter(int, 1)))")
    assert stages[0].errors == [] or "MemoryError" in stages[0].errors[-1]
    ways = ("it ran for 20 seconds", "too large to show", "has ended Python", "Python was ended")
    cut = stages[0].shown["truncated"] or ""  # names the error even if the recorder ran out of memory
    ended = stages[0].errors or "It ended with MemoryError" in cut
    assert ended or any(way in stages[0].status for way in ways), (stages[0].status, cut)
    if not ended:
        stages[0].press("Close")
    stages[0].run("x = mt.ones([2])")
    assert stages[0].errors == []
