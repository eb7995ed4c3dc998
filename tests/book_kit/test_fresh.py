"""Test that each request of a page starts in the state of a new process, whatever earlier programs changed."""

from __future__ import annotations

import asyncio
import builtins
import json
import sys
import time

import pytest

import minitensor as mt
from book_kit.in_page import page_kernel, reset_state
from book_kit.in_page.page_loop import PageLoop

#: Programs that change the state of Python, each with a later program whose output would show the change.
CHANGES = {
    "import builtins\ndel builtins.print": "print('there')",
    "import builtins\nbuiltins.sum = max": "print(sum([1, 2]))",
    "np.ones = None\nnp.seterr(all='raise')\nnp.set_printoptions(precision=1)": "print(np.ones(2) / 3, np.ones(2) / 0)",
    "mt.ones = mt.zeros\nmt.Tensor.add_ = mt.Tensor.add": "x = mt.ones([2])\nx.add_(1.0)\nprint(x.tolist())",
    "torch.Tensor.mul_ = None\ntorch.ones = print": "print(torch.ones(2).mul_(3.0))",
    "mt.set_printoptions(precision=1)": "print(mt.ones([1]) / 3)",
    "torch.set_printoptions(precision=1)": "print(torch.ones(1) / 3)",
    "import sys\nsys.setrecursionlimit(150)": "import sys\nprint(sys.getrecursionlimit() > 500)",
    "import sys\nseen = []\nsys.settrace(lambda *_: seen.append(1))": "import sys\nprint(sys.gettrace() is None)",
    "import random\nrandom.seed(7)\nmt.seed(7)": "import random\nprint(random.random(), mt.rand([1]).tolist())",
    "import warnings\nwarnings.simplefilter('ignore')": "import warnings\nwarnings.warn('seen')",
    "import sys\nsys.stdout = sys.stderr = sys.stdin = None": "print('there')",
    "from minitensor.engine.modes import modes\nmodes.grad = False": "print(mt.is_grad_enabled())",
}


def trace(code: str) -> dict:
    one = {"id": "a", "label": "", "code": code, "policy": "2.6"}
    asked = {"do": "record", "variants": [one], "device": "cpu", "title": "t", "ask": None, "heading": "h"}
    (variant,) = json.loads(page_kernel.answer(json.dumps(asked)))["trace"]["variants"]
    return variant


def printed(code: str) -> str:
    return "".join(step.get("out", "") for step in trace(code)["steps"])


def error(code: str) -> str:
    ends = [event["text"] for step in trace(code)["steps"] for event in step["events"] if event["do"] == "raise"]
    return ends[-1] if ends else ""


@pytest.mark.parametrize("change", CHANGES)
def test_a_program_does_not_see_what_earlier_programs_changed(change):
    before = printed(CHANGES[change])
    assert before
    assert trace(change)["steps"]
    assert printed(CHANGES[change]) == before
    assert error(CHANGES[change]) == ""


def test_a_request_restores_the_earlier_state_of_python():
    asked = (builtins.input, sys.stdin, sys.stdout, sys.stderr, sys.gettrace(), sys.getrecursionlimit())
    trace("import sys\nsys.setrecursionlimit(5000)\nsys.settrace(None)\ninput()")
    now = (builtins.input, sys.stdin, sys.stdout, sys.stderr, sys.gettrace(), sys.getrecursionlimit())
    assert now == asked


@pytest.mark.parametrize(
    "code",
    ["input('who? ')", "import builtins\nbuiltins.input()", "import sys\nsys.stdin.readline()"]
    + ["import sys\nfor line in sys.stdin:\n    pass", "import sys\nsys.stdin.read()", "breakpoint()\nx = mt.ones([1])"]
    + ["import pdb\npdb.set_trace()\nx = 1"],
)
def test_a_program_that_asks_for_input_gets_an_error(code, monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)  # pytest replaces this hook
    assert error(code) == f"RuntimeError: {reset_state.NO_INPUT}"


def test_a_warning_is_shown_at_its_step_with_its_line():
    steps = trace("x = mt.ones([2])\nimport warnings\nwarnings.warn('look out')")["steps"]
    assert [step.get("out") for step in steps][-1] == "UserWarning: look out (line 3)\n"
    assert printed("import sys\nprint('to stderr', file=sys.stderr)") == "to stderr\n"
    of_torch = "w = torch.ones(2, requires_grad=True)\ny = w * 2\nprint(y.grad)"
    assert "UserWarning: The .grad attribute of a Tensor that is not a leaf" in printed(of_torch)
    assert printed(of_torch) == printed(of_torch)  # the next run warns again, as a new process does


def test_output_after_the_last_shown_step_is_reported():
    variant = trace("x = mt.zeros([1])\nfor i in range(2_000):\n    x.add_(1.0)\nprint('in the end', x.item())")
    assert len(variant["steps"]) == 500
    assert variant["truncated"].endswith("The end of its later output:\nin the end 2000.0\n")
    long = trace("for i in range(300_000):\n    print(i)")
    assert long["truncated"].endswith("\n299998\n299999\n") and len(long["truncated"]) < 2_000


# ---------- asyncio ----------

ASYNC = """
import asyncio
async def work(t, n):
    await asyncio.sleep(n / 100)
    t.add_(float(n))
    return n
x = mt.zeros([2])
"""


@pytest.fixture
def page_loops(monkeypatch):
    """Make each new event loop one that waits by sleeping, as in a page, and register no loop as running."""
    monkeypatch.setattr("asyncio.new_event_loop", PageLoop)
    monkeypatch.setattr("asyncio.events.new_event_loop", PageLoop)
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


@pytest.mark.usefixtures("page_loops")
def test_a_program_may_await():
    assert printed(f"{ASYNC}print(await asyncio.gather(work(x, 2), work(x, 1)), x.tolist())") == "[2, 1] [3.0, 3.0]\n"
    for_ever = "await asyncio.Event().wait()"
    assert "TimeoutError" in error(f"{ASYNC}await asyncio.wait_for(asyncio.Event().wait(), 0.01)")
    assert error(f"{ASYNC}{for_ever}").startswith("RuntimeError: the program waits forever")
    asked = {"do": "explain", "code": f"{ASYNC}await work(x, 1)", "policy": "2.6", "device": "cpu"}
    (row,) = json.loads(page_kernel.answer(json.dumps(asked)))["report"]["rows"]
    assert (row["code"], row["verdict"]) == ("t.add_(float(n))", "free")


@pytest.mark.usefixtures("page_loops")
def test_a_program_in_a_page_may_call_asyncio_run():
    assert printed(f"{ASYNC}print(asyncio.run(work(x, 1)), x.tolist())") == "1 [1.0, 1.0]\n"


@pytest.mark.usefixtures("page_loops")
def test_the_event_loop_of_a_page_waits_for_the_requested_time():
    async def slowly() -> list[int]:
        async def after(seconds: float, what: int) -> int:
            await asyncio.sleep(seconds)
            return what

        return [await each for each in asyncio.as_completed([after(0.06, 2), after(0.02, 1)])]

    loop, began = PageLoop(), time.monotonic()
    assert loop.run_until_complete(slowly()) == [1, 2]
    assert time.monotonic() - began >= 0.06
    loop.close()


def test_a_device_that_no_page_offers_is_refused_before_anything_is_changed():
    with pytest.raises(ValueError, match="device must be one of cpu"), reset_state.afresh("tpu"):
        pass
    assert mt.get_device() == "cpu"
