"""Test that each stage of the page "Fifteen confusions" makes its point.

The tests run the page's cells and examine the traces. Each section of the page shows one fact, for example
that two names have one storage, or that a refused write changes nothing.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from book_kit.questions.quiz import Prediction
from memory_stage.api import Stage
from memory_stage.recorder import record
from minitensor.engine.device.places import current
from tests.support.chapters.chapter import FOLDER, Chapter
from tests.support.stage.replay import Memory

PAGE = Chapter.read("fifteen_confusions")
ONE_MORE = "One more: a step between forward and backward"


class Run:
    """One variant of a stage: its events, and the final state."""

    def __init__(self, variant: dict) -> None:
        self.steps = variant["steps"]
        self.end = Memory(variant)
        self.allocated = self.steps[-1]["allocated"]

    def events(self, do: str, line: int | None = None) -> list[dict]:
        """Return the events of a kind in all steps, or only in the steps of one line."""
        steps = [step for step in self.steps if line in (None, step["line"])]
        return [event for step in steps for event in step["events"] if event["do"] == do]

    def lines(self, do: str) -> list[int]:
        """Return the line of each event of a kind."""
        return [step["line"] for step in self.steps for event in step["events"] if event["do"] == do]

    def tensor(self, name: str) -> dict:
        return self.end.tensors[self.end.names[name]]

    def storage(self, name: str) -> dict:
        return self.end.storages[self.tensor(name)["storage"]]

    def same_tensor(self, *names: str) -> bool:
        return len({self.end.names[name] for name in names}) == 1

    def same_storage(self, *names: str) -> bool:
        return len({self.tensor(name)["storage"] for name in names}) == 1

    def numbers(self, name: str) -> list[float]:
        """Return the numbers of a tensor in row-major order."""
        seen = self.tensor(name)
        cells = [seen["offset"]]
        for n, stride in zip(seen["shape"], seen["strides"], strict=True):
            cells = [cell + i * stride for cell in cells for i in range(n)]
        return [float(self.storage(name)["values"][str(cell)]) for cell in cells]

    def written(self) -> set[str]:
        """Return the ids of the written storages."""
        return {event["storage"] for event in self.events("write")}

    def error(self) -> str:
        """Return the text of the raised errors, empty if nothing was raised."""
        return "\n".join(event["text"] for event in self.events("raise"))


@pytest.fixture(scope="module")
def shown() -> dict[str, list]:
    """Run the page once, as the book's build does. Return the stages and questions of sections, keyed by heading."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(record, "STRICT", True)
        patched.setattr(
            current, "simulated", None
        )  # a new GPU, because another test may have reserved memory on the old one
        patched.chdir(FOLDER)
        return _run_page()


def _run_page() -> dict[str, list]:
    names: dict = {}
    found, heading = defaultdict(list), ""
    for cell in PAGE.notebook.cells:
        if cell.cell_type == "markdown":
            heading = (re.findall(r"^## (.+)$", cell.source, re.MULTILINE) or [heading])[-1]
            continue
        body = ast.parse("\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        if last is not None:
            found[heading].append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))
    return found


@pytest.fixture
def runs(shown, request) -> list[dict[str, Run]]:
    """Return the runs of each stage of a section, keyed by label. The number in the test's name is the section's."""
    number = re.match(r"test_(?:with_)?(\d+|one_more)", request.node.name).group(1)
    begins = ONE_MORE if number == "one_more" else f"{number}. "
    (found,) = [values for heading, values in shown.items() if heading.startswith(begins)]
    stages = [value.data for value in found if isinstance(value, Stage)]
    return [{variant["label"]: Run(variant) for variant in stage["variants"]} for stage in stages]


# ---- the page ------------------------------------------------------------------------------------------------------


def test_every_confusion_has_a_question_a_stage_and_links(shown):
    numbered = [heading for heading in shown if re.match(r"\d", heading)]
    assert [int(heading.partition(".")[0]) for heading in numbered] == list(range(1, 16))
    for heading in (*numbered, ONE_MORE):
        asked, *rest = shown[heading]
        assert isinstance(asked, Prediction), heading
        assert any(isinstance(value, Stage) for value in rest), heading
        text = PAGE.section(heading)
        chapters = re.findall(r"Explained in .*?\]\((\w+)\.md", text)
        assert chapters and all((FOLDER / f"{name}.md").exists() for name in chapters), heading


def test_every_stage_has_a_title_and_a_question(shown):
    stages = [value.data for values in shown.values() for value in values if isinstance(value, Stage)]
    assert len({stage["title"] for stage in stages}) == len(stages) == 17
    assert all(stage["ask"].endswith("?") for stage in stages)


# ---- the fifteen, and one more ------------------------------------------------------------------------------------


def test_1_the_refused_write_changes_nothing_and_with_a_clone_the_wrong_numbers_are_updated(runs):
    (stage,) = runs
    normal, clone, refused = stage.values()
    assert "ValueError" in refused.error() and refused.written() == set()
    assert refused.numbers("x") == [1, 2, 3] and refused.storage("x")["version"] == 0
    assert clone.numbers("x.grad") == normal.numbers("x.grad") == [2, 4, 6]
    assert clone.numbers("h") == [0.5, 3, 7.5]  # x * x - update
    assert normal.numbers("x") == [0.5, 1, 1.5]  # x - update


def test_2_an_in_place_line_binds_the_name_to_a_new_tensor_or_is_refused_or_writes_the_leaf(runs):
    (stage,) = runs
    moved, refused, allowed = stage.values()
    assert not moved.same_storage("c", "leaf")
    assert moved.tensor("leaf")["leaf"] and not moved.tensor("c")["leaf"]
    assert "leaf.grad" in moved.end.names and "c.grad" not in moved.end.names
    assert "ValueError" in refused.error() and refused.storage("c")["version"] == 0
    assert allowed.same_tensor("c", "leaf") and allowed.tensor("c")["leaf"]
    assert allowed.numbers("c") == [2, 3] and "c.grad" in allowed.end.names


def test_3_the_stale_mark_is_at_the_line_that_overwrites_and_not_at_the_line_that_raises(runs):
    (stage,) = runs
    in_place, normal = stage.values()
    (node,) = [event for event in in_place.events("node", 3)]
    saved = {event["id"] for event in in_place.events("save") if event["node"] == node["id"]}
    (stale,) = in_place.events("stale")
    assert set(stale["ids"]) == saved and stale["lost"]
    assert in_place.lines("stale") == [4] and in_place.lines("raise") == [5]
    assert "line 3" in in_place.error() and "line 4" in in_place.error()
    assert normal.events("stale") == [] and normal.numbers("w.grad") == [8, 16]


def test_4_a_line_changes_the_tensor_of_both_names_or_binds_one_name_to_a_new_tensor(runs):
    (stage,) = runs
    in_torch, in_paddle, normal = stage.values()
    assert in_torch.same_tensor("x", "mine") and in_torch.numbers("mine") == [2, 3, 4]
    for run in (in_paddle, normal):
        assert not run.same_storage("x", "mine") and run.numbers("mine") == [1, 2, 3]
        assert run.allocated == 2 * in_torch.allocated


def test_5_the_same_write_is_an_error_after_sigmoid_and_allowed_after_its_formula(runs):
    (stage,) = runs
    sigmoid, formula = stage.values()
    assert sigmoid.lines("stale") == [3] and sigmoid.lines("raise") == [4]
    assert formula.written() and formula.events("stale") == [] and formula.error() == ""
    assert formula.numbers("a.grad") == pytest.approx([0.393], abs=1e-3)


def test_6_detach_and_data_share_the_storage_and_only_the_write_through_detach_is_noticed(runs):
    (stage,) = runs
    detach, data = stage.values()
    for run in (detach, data):
        assert run.same_storage("out", "c") and run.numbers("out") == [0, 0]
        assert run.lines("write") == [4]
    assert detach.lines("stale") == [4] and detach.lines("raise") == [5]
    assert [event.get("unnoticed", False) for event in detach.events("stale")] == [False]
    assert [event["unnoticed"] for event in data.events("stale")] == [True] and data.storage("out")["version"] == 0
    assert data.error() == "" and data.numbers("a.grad") == [0, 0]  # wrong, without an error


def test_7_whether_memory_is_shared_does_not_depend_on_whether_gradients_pass(runs):
    (stage,) = runs
    outcomes = {
        label: (run.same_storage("x", "y"), run.numbers("x"), run.numbers("x.grad")) for label, run in stage.items()
    }
    assert outcomes == {
        "x.clone()": (False, [1, 2], [2, 2]),
        "x.detach()": (True, [11, 12], [1, 1]),
        "x.clone().detach()": (False, [1, 2], [1, 1]),
        "x.detach().clone()": (False, [1, 2], [1, 1]),
    }


def test_8_numpy_writes_into_the_tensor_without_a_new_version(runs):
    (stage,) = runs
    shared, copied = stage.values()
    assert shared.same_storage("x", "n") and shared.lines("write") == [3]
    assert shared.numbers("x") == [7, 2, 3] and shared.storage("x")["version"] == 0
    assert shared.numbers("y") == [14, 4, 6]
    assert copied.written() == set() and copied.numbers("y") == [2, 4, 6]


def test_9_six_elements_share_two_cells(runs):
    (stage,) = runs
    in_torch, in_paddle, cloned = stage.values()
    assert in_torch.same_storage("x", "e") and in_torch.tensor("e")["strides"] == [0, 1]
    assert len(in_torch.numbers("e")) == 6 and in_torch.storage("e")["length"] == 2
    assert "RuntimeError" in in_torch.error() and in_torch.written() == set()
    for run in (in_paddle, cloned):
        assert run.storage("e")["length"] == 6 and run.numbers("x") == [1, 2]
        assert run.allocated == in_torch.allocated + 24


def test_10_one_operation_reads_all_numbers_before_it_writes_and_a_loop_reads_written_ones(runs):
    (stage,) = runs
    together, one_by_one = stage.values()
    assert together.same_storage("x", "left", "right")
    assert together.lines("write") == [4] and together.numbers("x") == [1, 3, 5, 7, 9]
    assert one_by_one.lines("write") == [3] * 4 and one_by_one.numbers("x") == [1, 3, 6, 10, 15]


def test_11_reshape_returns_a_view_or_a_copy_and_contiguous_returns_the_tensor_itself(runs):
    (stage,) = runs
    reshape, transposed, contiguous = stage.values()
    assert reshape.same_storage("x", "y") and not reshape.same_tensor("x", "y")
    assert not transposed.same_storage("x", "y")
    assert contiguous.same_tensor("x", "y")
    assert [sum(run.numbers("x")) for run in stage.values()] == [0, 21, 0]


def test_12_a_write_after_indexing_with_a_list_changes_a_copy_that_is_freed(runs):
    (stage,) = runs
    sliced, listed, assigned = stage.values()
    assert listed.numbers("x") == [1, 2, 3, 4] and listed.storage("x")["version"] == 0
    (written,) = listed.written()
    assert [written] in [event["storages"] for event in listed.events("free", 2)]
    for run in (sliced, assigned):
        assert run.numbers("x") == [0, 0, 3, 4] and run.written() == {run.tensor("x")["storage"]}


def test_13_detach_and_a_view_share_the_storage_of_x_and_a_clone_does_not(runs):
    (stage,) = runs
    (run,) = stage.values()
    assert run.same_storage("x", "d", "v") and not run.same_storage("x", "c")
    assert not run.same_tensor("x", "d") and run.tensor("v")["offset"] == 2
    printed = "".join(step.get("out", "") for step in run.steps).splitlines()
    assert printed == ["[False, False, False]", "[True, False, False]"]  # neither line distinguishes v from c


def test_14_the_write_changes_x_in_all_variants_and_the_gradient_in_two_of_them(runs):
    (stage,) = runs
    for run in stage.values():
        assert run.same_storage("x", "a") and run.numbers("x") == [10, 20, 3, 4]
    assert [run.numbers("w.grad") for run in stage.values()] == [[10, 10, 1, 1], [10, 10, 1, 1], [1, 1, 1, 1]]


def test_15_an_in_place_operation_frees_no_bytes_if_backward_needs_its_input(runs):
    stage, _ = runs
    normal, sine, relu, silent = stage.values()
    assert normal.allocated == sine.allocated == 48
    assert relu.allocated == silent.allocated == 32
    assert sine.lines("preserve") == [] or sine.lines("preserve") == [3]
    assert any(event.get("copy") for event in sine.events("save", 3))
    assert not any(event.get("copy") for run in (normal, relu, silent) for event in run.events("save"))


def test_15_freed_memory_stays_reserved_until_the_cache_is_emptied(runs):
    _, stage = runs
    (run,) = stage.values()
    mib = 1024 * 1024
    reported = [(step["line"], step["allocated"] // mib, step["reserved"] // mib) for step in run.steps[-3:]]
    assert reported == [(3, 32, 32), (4, 16, 32), (5, 16, 16)]


def test_one_more_an_optimizer_step_overwrites_values_that_the_next_backward_needs(runs):
    (stage,) = runs
    (run,) = stage.values()
    assert run.lines("stale") == [5] and run.lines("raise") == [6]
    assert run.numbers("w") == [0.5, 1] and run.numbers("w.grad") == [2, 4]
