"""Test `%%stage`, `record` and `trace`, which run a program and show its stage."""

from __future__ import annotations

import gc
import sys

import nbclient
import nbformat
import pytest

import minitensor as mt
from memory_stage import api as stage
from memory_stage.recorder import instrument
from memory_stage.recorder.record import LIMIT
from memory_stage.trace.validation import problems
from memory_stage.web import embed, picture
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.events import watch
from tests.support.stage.programs import PROGRAMS
from tests.support.stage.stages import hostile_stage, sentences_of
from tests.support.waiting import soon

# ---------- the magic ----------


def test_a_cell_runs_in_the_namespace_of_the_notebook_and_its_stage_is_shown(cell, shell):
    result, shown, _ = cell(
        "%%stage --title 'Two names' --ask \"How many?\" --ignore z\nx = mt.ones([2])\ny = x\nz = x + 1\n"
    )
    assert result.success
    assert shell.user_ns["y"] is shell.user_ns["x"]
    assert (shown.data["title"], shown.data["ask"]) == ("Two names", "How many?")
    assert shown.data["variants"][0]["code"] == ["x = mt.ones([2])", "y = x", "z = x + 1"]
    assert "`z`" not in " ".join(sentences_of(shown))
    assert list(problems(shown.data)) == []


def test_the_last_expression_is_displayed_and_printed_text_belongs_to_its_step(cell, shell):
    _result, shown, out = cell("%%stage\nprint('hello')\nx = mt.ones([2])\nx + 1")
    assert "Out[" in out and "2." in out and "hello" not in out
    assert [step.get("out") for step in shown.data["variants"][0]["steps"]] == ["hello\n", None, None]
    assert sentences_of(shown)[-1].endswith("The notebook keeps it as its output, `_`.")
    assert shell.user_ns["_"].tolist() == [2.0, 2.0]


def test_a_semicolon_hides_the_last_value_and_is_removed_from_the_shown_code(cell):
    _, shown, out = cell("%%stage\nx = mt.ones([2])\nx + 1;\n")
    assert "Out[" not in out
    assert shown.data["variants"][0]["code"] == ["x = mt.ones([2])", "x + 1"]


def test_an_error_is_shown_at_its_step_and_then_raised(cell, shell):
    result, shown, out = cell("%%stage\nx = mt.ones([2])\nx.reshape([3])\ny = 1")
    assert isinstance(result.error_in_exec, ValueError)
    assert "y" not in shell.user_ns
    assert shown.data["variants"][0]["steps"][-1]["events"][-1]["do"] == "raise"
    assert "x.reshape([3])" in out and "book_kit" not in out


def test_an_error_keeps_no_more_memory_alive_than_in_a_plain_cell(cell, shell):
    def held_after(first_line: str) -> int:
        gc.collect()
        start = cpu_meter.allocated
        result, shown, _ = cell(f"{first_line}x = mt.ones([1000])\nx.reshape([7])")
        assert isinstance(result.error_in_exec, ValueError)
        del result, shown, shell.user_ns["x"]
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):
                delattr(sys, name)
        return cpu_meter.allocated - start

    gc.disable()
    try:
        # IPython's frames refer to the error, so even in a plain cell only the garbage collector frees the tensors.
        assert held_after("%%stage\n") == held_after("")
        gc.collect()
        assert held_after("%%stage\n") == held_after("")
    finally:
        gc.enable()


def test_a_syntax_error_of_the_cell_is_raised(cell):
    result, shown, _ = cell("%%stage\nx = = 3")
    assert isinstance(result.error_in_exec or result.error_before_exec, SyntaxError) and shown is None


@pytest.mark.parametrize(
    "options", ["--nonsense", "--title", "--ask 'open", "--steps 0", "--steps many", "--heading h"]
)
def test_a_wrong_option_is_refused(cell, options):
    result, shown, _ = cell(f"%%stage {options}\nx = 1")
    assert type(result.error_in_exec).__name__ == "UsageError" and shown is None


def test_a_cell_with_another_magic_runs_and_explains_why_it_is_not_recorded(cell, shell):
    result, shown, _ = cell("%%stage\n%%capture said\nprint('x')\ny = 3")
    assert result.success and shell.user_ns["y"] == 3 and shell.user_ns["said"].stdout == "x\n"
    assert "%%capture" in shown.text


def test_line_magics_and_functions_of_earlier_cells_are_part_of_the_program(cell):
    cell("def grow(a):\n    b = a + 1\n    return b\n")
    result, shown, _ = cell("%%stage\nx = mt.ones([2])\n%who_ls Tensor\ny = grow(x)")
    assert result.success
    variant = shown.data["variants"][0]
    assert variant["code"][-4:] == ["# from an earlier cell", "def grow(a):", "    b = a + 1", "    return b"]
    inner = [step for step in variant["steps"] if "`b in grow`" in step["say"]]
    assert variant["code"][inner[0]["line"] - 1] == "    b = a + 1"


def test_the_magic_works_inside_a_cell_that_expects_an_error(shell, capsys):
    result = shell.run_cell(
        "%%expect_error ValueError 3 elements|shape\n%%stage\nimport minitensor as mt\nx = mt.ones([2])\nx.reshape([3])"
    )
    assert result.success, capsys.readouterr().out


def test_a_tensor_of_an_earlier_cell_is_in_the_stage_only_if_the_cell_reads_its_name(cell):
    cell("x = mt.ones([2])\ny = mt.ones([50])")
    _, shown, _ = cell("%%stage\nz = x + 1\ny = z")
    variant = shown.data["variants"][0]
    assert [event["name"] for event in variant["before"] if event["do"] == "name"] == ["x"]
    assert [step["allocated"] for step in variant["steps"]] == [16, 16]
    assert [step["peak"] for step in variant["steps"]] == [16, 16]


# ---------- programs as text, functions, variants ----------


def test_the_recording_of_a_long_program_ends_and_the_program_continues_at_full_speed():
    namespace = {"mt": mt}
    source = "x = mt.zeros([2])\nfor i in range(20_000):\n    x.add_(1)\nprint('end')\nraise KeyError('late')"
    shown = stage.record(source, namespace)
    variant = shown.data["variants"][0]
    assert len(variant["steps"]) == LIMIT and f"{LIMIT} steps" in variant["truncated"]
    assert namespace["x"].tolist() == [20_000.0, 20_000.0]
    assert isinstance(shown.error, KeyError)


@pytest.mark.parametrize(
    "line", ["x = x + 1.0", "x = f(x)", "x = x.reshape([2]) * 1.0 + 1.0", "F.relu(x); x = x + 1.0"]
)
def test_the_end_of_a_recording_does_not_disturb_the_program(line):
    namespace = {"mt": mt, "F": mt.nn.functional, "f": lambda x: x + 1.0}
    shown = stage.record(f"x = mt.zeros([2])\nfor i in range(700):\n    {line}", namespace)
    assert shown.error is None and namespace["x"].tolist() == [700.0, 700.0]


def test_the_caller_chooses_the_number_of_steps(cell, shell):
    result, shown, _ = cell("%%stage --steps 3\nx = mt.zeros([2])\nfor i in range(9):\n    x.add_(1)")
    assert result.success and shell.user_ns["x"].tolist() == [9.0, 9.0]
    counts = [
        len(each.data["variants"][0]["steps"])
        for each in (
            shown,
            stage.record("x = mt.zeros([2])\nfor i in range(9):\n    x.add_(1)", steps=4),
            stage.compare({"a": "x = mt.zeros([2])\nfor i in range(9):\n    x.add_(1)"}, steps=5),
            stage.trace(lambda: [mt.zeros([2]).add_(i) for i in range(9)], steps=1),
        )
    ]
    assert counts == [3, 4, 5, 1]


@pytest.mark.parametrize("steps", [0, -1, 2.5, "7", True, None])
def test_an_invalid_number_of_steps_is_refused(steps):
    with pytest.raises(ValueError, match="steps must be the number of steps"):
        stage.record("x = 1", steps=steps)


def test_text_printed_after_the_last_recorded_step_is_printed(capsys):
    stage.record("for i in range(40):\n    j = i\nprint('late')", steps=20)
    assert capsys.readouterr().out == "late\n"


def test_a_function_is_called_and_its_lines_are_steps():
    def scaled(x, by):
        y = x * by
        y.add_(1)
        return y

    shown = stage.trace(scaled, mt.ones([2]), 3.0)
    assert shown.result.tolist() == [4.0, 4.0]
    assert any("`y in scaled`" in sentence for sentence in sentences_of(shown))
    assert list(problems(shown.data)) == []


def test_a_stage_keeps_no_tensor_alive():
    gc.collect()
    start = cpu_meter.allocated
    gc.disable()
    try:
        shown = stage.compare({"a": "x = mt.ones([1000])\nx.reshape([7])", "b": "y = mt.ones([1000])"})
        assert cpu_meter.allocated == start
        assert [variant["verdict"] for variant in shown.data["variants"]] == ["raises", "shares nothing"]
    finally:
        gc.enable()


def test_the_engine_has_no_listener_before_and_after_a_recording(cell, shell):
    cell("def grow(a):\n    return a + 1\n")
    code = shell.user_ns["grow"].__code__

    def is_quiet() -> bool:
        return watch.listener is None and instrument.listener is None and shell.user_ns["grow"].__code__ is code

    assert is_quiet()
    for text in (
        "%%stage\nx = grow(mt.ones([2]))",
        "%%stage\nx = grow(mt.ones([2]))\nx.reshape([3])",
        "%%stage\nraise KeyboardInterrupt",
        "%%stage --steps 1\nx = grow(mt.ones([2]))\ny = grow(x)",
        "%%stage --compare\n# --- a\nx = grow(mt.ones([2]))\n# --- b\nraise KeyboardInterrupt",
        "%%stage\nx = = 1",
    ):
        cell(text)
        assert is_quiet(), text


def test_recordings_may_be_nested_and_the_outer_one_continues():
    source = "x = mt.ones([2])\ninner = stage.record('a = mt.ones([3])')\nx.add_(1)\n"
    shown = stage.record(source, {"mt": mt, "stage": stage})
    assert sentences_of(shown)[-1].startswith("`add_` writes all 2 cells")
    assert list(problems(shown.data)) == []


def test_a_trace_function_of_the_program_is_not_removed():
    seen = []

    def tracer(frame, event, argument):
        if frame.f_code.co_filename == __file__:
            seen.append(event)
        return None

    def below():
        return 1

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        stage.record("x = mt.ones([2])\ny = below()", {"mt": mt, "below": below})
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert seen


# ---------- the output of the cell ----------


def test_the_script_is_sent_once_per_kernel_and_never_in_the_book(monkeypatch):
    shown = stage.record("x = mt.ones([2])")
    monkeypatch.setattr(embed, "_included_by", {})
    monkeypatch.delenv("MINITENSOR_BOOK", raising=False)
    first, second = (shown._repr_mimebundle_()["text/html"] for _ in range(2))
    assert first.startswith("<script>") and second.startswith("<memory-stage")
    monkeypatch.setattr(embed, "_included_by", {})
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    assert shown._repr_mimebundle_()["text/html"].startswith("<memory-stage")


def test_a_widget_has_the_trace_and_the_script_of_a_page():
    pytest.importorskip("anywidget")
    shown = stage.record("x = mt.ones([2])")
    widget = shown.widget()
    assert widget.trace == shown.data
    assert str(widget._esm).startswith(picture.script_source()[:200])


def test_the_last_output_of_a_cell_in_a_kernel_is_the_stage():
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell("%load_ext book_kit\nimport minitensor as mt"),
        nbformat.v4.new_code_cell("%%stage\nx = mt.ones([2])\nprint('inside')\nx.add_(1)"),
        nbformat.v4.new_code_cell("x.tolist()"),
    ]
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown, value = notebook.cells[1].outputs[-1], notebook.cells[1].outputs[0]
    assert "<memory-stage" in shown.data["text/html"] and shown.data["text/plain"].startswith("Stage:")
    assert value.output_type == "execute_result" and "2." in value.data["text/plain"]
    assert notebook.cells[2].outputs[0].data["text/plain"] == "[2.0, 2.0]"


def test_a_kernel_continues_after_a_recorded_cell_that_awaited():
    notebook = nbformat.v4.new_notebook()
    cells = ["%load_ext book_kit\nimport asyncio, minitensor as mt"]
    cells += ["%%stage\nx = mt.ones([2])\nawait asyncio.sleep(0.01)\nx.add_(1.0)"]
    cells += ["await asyncio.sleep(0.01)\nx.tolist()"]
    notebook.cells = [nbformat.v4.new_code_cell(text) for text in cells]
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    assert "<memory-stage" in notebook.cells[1].outputs[-1].data["text/html"]
    assert notebook.cells[2].outputs[0].data["text/plain"] == "[2.0, 2.0]"


# ---------- in a browser ----------

SHOWN = ("normal", "stale", "write through a view", "training", "function", "setitem", "large", "containers", "caught")


def test_recorded_traces_can_be_stepped_to_their_end(open_page):
    page = open_page(width=1280)
    script = picture.script_source().replace("</", "<\\/")
    stages = [stage.record(PROGRAMS[name]) for name in SHOWN] + [hostile_stage()]
    body = "".join(stage.as_html(shown.data) for shown in stages)
    page.set_content(f"<!doctype html><meta charset=utf-8>{body}<script>{script}</script>")
    for number, shown in enumerate(stages):
        element = page.locator("memory-stage").nth(number)
        spoken = element.locator("[aria-live=polite]").first
        element.evaluate("stage => stage.go(0)")  # the slider is visible after the first step
        element.get_by_label("Step", exact=True).focus()
        page.keyboard.press("Home")
        for index, sentence in enumerate(sentences_of(shown)):
            assert (
                soon(lambda spoken=spoken: spoken.text_content().split()[:4]) == sentence.replace("`", "").split()[:4]
            ), (SHOWN[number:], index)
            page.keyboard.press("ArrowRight")
    assert soon(page.evaluate, "typeof hacked") == "undefined"


def test_sentences_at_depth_memory_mention_no_version():
    program = "x = mt.ones([3])\nfor i in range(3):\n    x.add_(1.0)\ny = x.add_(x[0:1])\nx[0:2] = x[0:2] + 1.0"
    deep, low = (
        [step["say"] for step in stage.record(program, {"mt": mt}, depth=depth).data["variants"][0]["steps"]]
        for depth in ("tensors", "memory")
    )
    assert len(deep) == len(low)
    assert sum("version" in said for said in deep) == 5 and not any("version" in said for said in low)
    assert low[1] == low[3] == "`add_` writes all 3 cells of storage 1."
    assert low[2] == "Again, `add_` writes all 3 cells of storage 1."  # a screen reader must not read a sentence twice
    assert not any(" ." in said or ".." in said or " ," in said for said in low)
