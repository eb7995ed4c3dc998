"""Test recorded stages of programs whose frameworks are not installed."""

from __future__ import annotations

import importlib
import json
import re
import types
from pathlib import Path

import pytest

from book_kit.tables import own_program
from memory_stage.api import Stage
from memory_stage.messages import set_language
from memory_stage.trace.validation import TraceError, validate

RECORD = Path(__file__).parents[2] / "facts" / "own-programs.json"
KEPT = [
    (record["library"], name, answer)
    for record in json.loads(RECORD.read_text(encoding="utf-8")).values()
    for name, answer in record["answers"].items()
]


def run_here(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


@pytest.mark.parametrize(("library", "name", "answer"), KEPT, ids=[f"{library}-{name}" for library, name, _ in KEPT])
def test_a_recorded_program_is_shown_as_a_stage_of_that_program(library, name, answer):
    validate(answer["stage"])
    lines = [line for line in answer["program"].splitlines() if line.strip() and not line.startswith("# ---")]
    shown = [line for variant in answer["stage"]["variants"] for line in variant["code"] if line.strip()]
    assert shown == lines


@pytest.mark.skipif(run_here("torch"), reason="torch is installed here: the program runs")
def test_a_recorded_stage_says_that_it_is_recorded_and_with_which_version():
    shown = own_program.show(RECORD, "a recurrent state", "torch")
    bundle = shown._repr_mimebundle_()
    assert shown.where.startswith("Recorded with PyTorch 2.") and shown.where.endswith(", on its CPU.")
    assert bundle["text/plain"].startswith(shown.where) and shown.where in bundle["text/html"]
    assert "<memory-stage" in bundle["text/html"] and "state += weight * state" in bundle["text/html"]


@pytest.fixture
def chinese():
    set_language("zh")
    yield
    set_language(None)


@pytest.mark.skipif(run_here("torch"), reason="torch is installed here: the program runs")
def test_a_recorded_stage_is_in_the_language_of_the_notebook(chinese):
    shown = own_program.show(RECORD, "a recurrent state", "torch")
    assert shown.where == "用 PyTorch 2.13.0 在 CPU 上记录。"
    assert shown.stage.data["language"] == "zh-CN" and shown.stage.data["title"] == "循环状态（PyTorch）"


def without_phrase(event):
    """Return the event, without the saved tensor's name if this is a phrase such as "input 1", which is translated."""
    return {key: value for key, value in event.items() if key != "what" or " " not in value}


@pytest.mark.parametrize(("library", "name", "answer"), KEPT, ids=[f"{library}-{name}" for library, name, _ in KEPT])
def test_a_recorded_stage_has_the_same_steps_in_each_language(library, name, answer):
    for code, translated in answer["translated"].items():
        validate(translated)
        assert translated["language"].startswith(code)
        for variant, other in zip(answer["stage"]["variants"], translated["variants"], strict=True):
            for step, other_step in zip(variant["steps"], other["steps"], strict=True):
                assert [*map(without_phrase, step["events"])] == [*map(without_phrase, other_step["events"])]
                assert step["say"] != other_step["say"]


def test_a_program_runs_if_its_framework_is_installed(monkeypatch, tmp_path):
    framework = types.ModuleType("torch")
    framework.__version__, framework.__spec__ = "9.9.1+cpu", types.SimpleNamespace()
    monkeypatch.setitem(own_program.importlib.sys.modules, "torch", framework)
    record = {"torch 2.13.0": {"library": "torch", "version": "2.13.0", "device": "CPU", "answers": {}}}
    record["torch 2.13.0"]["answers"]["one"] = {"program": "x = mt.ones([2])\nprint(x)", "stage": {}}
    (tmp_path / "kept.json").write_text(json.dumps(record))
    monkeypatch.setattr(own_program, "stage_of", lambda program, title: (program, str(title)))
    shown = own_program.show(tmp_path / "kept.json", "one", "torch")
    assert shown.where == "Run just now with PyTorch 9.9.1." and shown.stage == (
        "x = mt.ones([2])\nprint(x)",
        "One, in PyTorch",
    )


def test_a_program_prints_nothing_while_its_stage_is_made(capsys):
    alone = own_program.stage_of("x = mt.ones([2])\nprint(x)")
    assert len(alone.data["variants"]) == 1 and capsys.readouterr().out == ""


def test_an_unknown_program_is_refused_with_a_list_of_the_known_ones():
    with pytest.raises(LookupError, match=r"no program 'nothing' of torch; it has .*'a recurrent state' of torch"):
        own_program.show(RECORD, "nothing", "torch")
    with pytest.raises(FileNotFoundError):
        own_program.show("nowhere.json", "nothing", "torch")


def test_a_stage_is_made_from_recorded_data_and_refuses_invalid_data():
    data = own_program.stage_of("x = mt.ones([2])").data
    again = Stage.of(json.loads(json.dumps(data)))
    assert again._repr_mimebundle_()["text/html"].count("<memory-stage") == 1 and again.error is None
    with pytest.raises(TraceError):
        Stage.of({**data, "variants": 3})


# ---- the page's statements about the recorded programs -------------------------------------------------------------


def of(name: str, library: str = "torch") -> list[dict]:
    return next(answer for lib, each, answer in KEPT if (lib, each) == (library, name))["stage"]["variants"]


def raised(variant: dict) -> list[str]:
    return [event["text"] for step in variant["steps"] for event in step["events"] if event["do"] == "raise"]


def test_the_first_program_fails_at_the_node_that_its_stage_mentions():
    (program,) = of("a recurrent state")
    (error,) = raised(program)
    assert "[torch.FloatTensor [1]]" in error
    writes = [step for step in program["steps"] if "will be refused" in step["say"]]
    assert [step["line"] for step in writes] == [5, 5] and program["key"] == program["steps"].index(writes[1])
    assert "needs `state` at version 1 but finds version 2" in program["steps"][-1]["say"]


def test_backward_after_an_optimizer_step_names_the_changed_parameter():
    (program,) = of("a step between two backwards")
    (error,) = raised(program)
    assert "[torch.FloatTensor [1]]" in error
    assert "needs `a` at version 0 but finds version 1" in program["steps"][-1]["say"]


def test_a_write_by_numpy_is_shown_although_it_increments_no_version():
    (program,) = of("memory that NumPy shares")
    said = " ".join(step["say"] for step in program["steps"])
    assert "from outside, but the version stays 0" in said and not raised(program)
    assert program["steps"][-1]["out"] == "tensor([20., 40., 60.])\n"


def test_backward_in_paddle_silently_uses_the_new_weights():
    (program,) = of("a step between two backwards", "paddle")
    assert not raised(program) and "`w.grad` is [-2, -4, -6]" in program["steps"][-1]["say"]
    (step,) = [step for step in program["steps"] if step["line"] == 6]
    assert "but the version stays 0" in step["say"] and "`multiply` (line 4) saved them" in step["say"]


@pytest.mark.parametrize(("library", "name", "answer"), KEPT, ids=[f"{library}-{name}" for library, name, _ in KEPT])
def test_the_report_on_a_terminal_mentions_the_line_that_the_stage_shows_first(library, name, answer):
    shown = answer["stage"]["variants"][0]
    line = shown["steps"][shown["key"]]["line"]
    assert f"line {line}: " in answer["explained"]["en"]
    assert f"第 {line} 行：" in answer["explained"]["zh"]
    assert own_program.explained(RECORD, name, library)


@pytest.mark.parametrize(("library", "name", "answer"), KEPT, ids=[f"{library}-{name}" for library, name, _ in KEPT])
def test_the_report_on_a_terminal_is_in_the_language_of_the_notebook(library, name, answer, chinese):
    said = own_program.explained(RECORD, name, library)
    assert said.splitlines()[0].startswith(f"{answer['explained']['en'].split()[0]} 个原位操作")
    numbers = [sorted(re.findall(r"\d+", text)) for text in answer["explained"].values()]
    assert numbers[0] == numbers[1]
