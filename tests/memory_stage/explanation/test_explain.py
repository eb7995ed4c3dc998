"""Test that `explain` reports each in-place operation and does not change the program."""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memory_stage.explanation
import minitensor as mt
from memory_stage.api import run_and_release
from memory_stage.explanation.minitensor import Report, ReportRow, Verdict
from memory_stage.explanation.minitensor.listener import Listener
from memory_stage.explanation.step_reporter import StepReporter
from minitensor import torch
from minitensor.engine import events
from minitensor.engine.events import listening, watch
from minitensor.engine.operations import FUNCTIONS
from tests.support.engine.memory import KIB, SHAPE, allocated, leaf
from tests.support.engine.samples import IN_PLACE_ONCE
from tests.support.engine.watched import PROGRAMS, run

POLICIES = ("2.5", "2.6", "copy_on_write")


def rows_of(program: Callable[[], Any]) -> list[ReportRow]:
    """Return the rows of the report on a program, which may raise an error."""
    report = mt.explain(program, catch=True)
    assert report.cut_short == ""
    return report.rows


def words(program: Callable[[], Any]) -> list[str]:
    return [row.verdict.word for row in rows_of(program)]


# ---------- one program for each verdict ----------


def test_an_operation_that_needs_only_its_output_is_free():
    def program():
        x = leaf() * 1
        x.exp_()

    (row,) = rows_of(program)
    assert row.verdict is Verdict.FREE and row.nbytes == 0
    assert row.rules == ("x: g * out",) and row.needs == ("its output",)
    assert (row.op, row.where.text, row.before, row.after, row.recorded) == ("exp_", "x.exp_()", 0, 1, True)
    assert (row.tensor.name, row.tensor.shape, row.tensor.dtype, row.tensor.nbytes) == ("x", SHAPE, "float32", KIB)


def test_an_operation_that_needs_its_input_copies_it():
    def program():
        x = leaf() * 1
        before = allocated()
        x.sin_()
        held.append(allocated() - before)

    held: list[int] = []
    (row,) = rows_of(program)
    assert row.verdict is Verdict.COPIES and row.copied == KIB == held[0]
    assert row.rules == ("x: g * cos(x)",) and row.needs == ("its input",)
    assert "`sin`" in row.instead and "saves no memory" in row.instead


def test_the_operand_whose_gradient_needs_the_copy_is_named():
    def program():
        x, y = leaf() * 1, leaf()
        x.multiply_(y)
        x.multiply_(y.detach())

    wanted, unwanted = rows_of(program)
    assert wanted.verdict is Verdict.COPIES and "gradient of y" in wanted.why and "`y.detach()`" in wanted.instead
    assert unwanted.verdict is Verdict.FREE and unwanted.rules == ("x: g * y",)
    assert "`y: g * x`" in unwanted.why and "y requires no gradient" in unwanted.why


def test_a_mask_that_an_operation_saves_takes_one_bit_for_each_element():
    def program():
        x = leaf() * 1
        x.clip_(-1.0, 1.0)

    (row,) = rows_of(program)
    assert row.verdict is Verdict.MARKS and row.marked == KIB // 32
    assert row.rules == ("x: where(passed, g, 0)", "passed: inside(x, min, max)")


def test_an_advanced_index_is_saved_and_a_basic_index_is_not():
    def program():
        x = leaf() * 1
        x[0] = 1.0
        x[[0, 1, 2]] = 1.0

    basic, advanced = rows_of(program)
    assert (basic.op, basic.verdict, basic.nbytes) == ("setitem", Verdict.FREE, 0)
    assert (advanced.verdict, advanced.indexed) == (Verdict.MARKS, 3 * 8)
    assert [row.tensor.name for row in (basic, advanced)] == ["x", "x"]


def saved_then_written() -> mt.Tensor:
    x = leaf() * 1
    y = x * x
    x.add_(1.0)
    return y


@pytest.mark.parametrize("policy", ["2.5", "2.6"])
def test_a_write_into_a_tensor_saved_by_another_operation_makes_it_stale(policy):
    with mt.set_inplace_policy(policy):
        (row,) = rows_of(saved_then_written)
    assert row.verdict is Verdict.STALE and row.policy == policy
    (saved,) = row.stale
    assert (saved.op, saved.what, saved.shape, saved.nbytes) == ("multiply", "inputs x and y", SHAPE, KIB)
    assert saved.where.text == "y = x * x" and saved.lost and not saved.asked_for
    assert "would preserve 1.0 KiB" in row.instead


def test_a_write_under_copy_on_write_copies_the_saved_tensor_first():
    with mt.set_inplace_policy("copy_on_write"):
        (row,) = rows_of(saved_then_written)
    assert row.verdict is Verdict.PRESERVES and row.preserved == KIB and not row.stale
    assert [saved.where.text for saved in row.preserved_for] == ["y = x * x"]


def test_the_predicted_copies_are_those_that_copy_on_write_makes():
    def program():
        x = leaf() * 1
        row, column = x[0], x.T[1]
        kept = row * row, column * column, x[3:5] * x[3:5]
        x[0:4] = 1.0
        del kept

    (stale,) = rows_of(program)
    with mt.set_inplace_policy("copy_on_write"):
        (preserving,) = rows_of(program)
    cells = 16 + 3 + 16  # row 0, the column in rows 1 to 3, and row 3, which shares one cell with the column
    elements = (cells - 1) * 4
    assert f"would preserve {elements} bytes" in stale.instead
    assert preserving.preserved >= elements


def test_the_copy_that_an_operation_makes_also_preserves_bytes_for_other_nodes():
    def program():
        x = leaf() * 1
        y = x * x
        x.sin_()
        return y

    with mt.set_inplace_policy("copy_on_write"):
        (row,) = rows_of(program)
    assert row.verdicts == (Verdict.COPIES, Verdict.PRESERVES) and (row.copied, row.preserved) == (KIB, 0)
    assert "same copy" in row.happened


@pytest.mark.parametrize(("policy", "word"), [("2.6", "stale"), ("copy_on_write", "free")])
def test_a_write_to_other_cells_than_the_saved_ones_changes_only_the_version(policy, word):
    def program():
        x = leaf() * 1
        y = x[1] * x[1]
        x[0].add_(1.0)
        y.sum().backward()

    with mt.set_inplace_policy(policy):
        rows = rows_of(program)
    assert rows[0].verdict.word == word
    if word == "stale":
        assert [saved.lost for saved in rows[0].stale] == [False]
        assert "nothing would have to be preserved" in rows[0].instead
        assert rows[1].verdict is Verdict.RAISES and rows[1].cause == 1


def test_a_freed_node_is_not_reported_as_a_saver():
    def program():
        x = leaf() * 1
        x * x
        x.add_(1.0)

    assert words(program) == ["free"]


def test_a_write_under_no_grad_is_unrecorded():
    def program():
        w = leaf()
        x = w * 1
        with mt.no_grad():
            w.subtract_(0.1)
            x.add_(1.0)

    update, other = rows_of(program)
    assert update.verdict is other.verdict is Verdict.UNRECORDED and not update.recorded
    assert "optimizer" in update.happened and "`x`" in other.happened


def test_a_write_through_a_detached_alias_is_unrecorded():
    def program():
        x = leaf() * 1
        alias = x.detach()
        alias.add_(1.0)
        other = x[0].detach()
        other.add_(1.0)

    whole, part = rows_of(program)
    assert whole.verdict is part.verdict is Verdict.UNRECORDED
    assert whole.tensor.view_of == "detached alias of x" and "`x` has new values" in whole.happened
    assert part.tensor.shape == [16]


def test_an_alias_made_before_the_program_is_found_by_the_names_in_scope():
    x = leaf() * 1
    alias = x.detach()

    def program():
        alias.add_(x.detach())

    assert words(program) == ["unrecorded"]
    assert [row.verdict.word for row in mt.explain(lambda a, b: a.add_(1.0), alias, {"of": x}).rows] == ["unrecorded"]


def test_a_write_to_a_detached_view_is_unrecorded_only_if_its_base_requires_a_gradient():
    def program():
        x = leaf()
        part, rest = x.detach()[0], x[1]
        part.add_(1.0)
        rest.detach()
        del x

    first = rows_of(program)[0]
    assert first.verdict is Verdict.UNRECORDED  # x requires a gradient and contains the written cells

    def beside():
        y = mt.ones(SHAPE)
        part, other = y[0].detach(), y[1]
        other.stop_gradient = False
        part.add_(1.0)

    assert words(beside) == ["free"]


def test_a_set_value_that_overwrites_a_leaf_is_unrecorded():
    def program():
        w = leaf()
        w.set_value(mt.zeros(SHAPE))
        x = w * 1
        x.set_value(mt.zeros(SHAPE))

    on_leaf, on_other = rows_of(program)
    assert on_leaf.verdict is Verdict.UNRECORDED and "loading" not in on_leaf.happened
    assert "leaf" in on_leaf.happened and "weights" in on_leaf.instead
    assert on_other.verdict is Verdict.FREE and on_other.recorded


def test_a_write_to_a_tensor_without_gradients_is_free():
    def program():
        x = mt.ones(SHAPE)
        x.sin_()

    (row,) = rows_of(program)
    assert row.verdict is Verdict.FREE and not row.recorded and row.rules == ()


def test_an_operation_on_shape_and_strides_writes_nothing():
    def program():
        x = leaf() * 1
        x.reshape_([256])

    (row,) = rows_of(program)
    assert row.verdict is Verdict.METADATA and row.before == row.after == 0 and row.tensor.shape == [256]


# ---------- refusals and errors ----------


def test_a_write_to_a_leaf_is_refused_and_the_error_contains_the_report():
    def program():
        w = leaf()
        w.add_(1.0)

    with pytest.raises(ValueError, match="can't use inplace strategy") as caught:
        mt.explain(program)
    (row,) = caught.value.explained.rows
    assert row.verdict is Verdict.REFUSED and row.op == "add_" and row.tensor.name == "w"
    assert row.error == f"ValueError: {caught.value}" and row.before == row.after == 0
    assert caught.value.explained.error is None


def test_with_catch_the_report_contains_the_error_without_its_traceback():
    report = mt.explain(lambda: leaf().add_(1.0), catch=True)
    assert isinstance(report.error, ValueError) and report.error.__traceback__ is None
    assert [row.verdict for row in report.rows] == [Verdict.REFUSED]


def test_policy_2_5_refuses_an_operation_that_copies_its_input_under_policy_2_6():
    def program():
        x = leaf() * 1
        x.sin_()

    with mt.set_inplace_policy("2.5"):
        (row,) = rows_of(program)
    assert row.verdict is Verdict.REFUSED and row.rules == ("x: g * cos(x)",) and row.needs == ("its input",)
    assert "1.0 KiB" in row.instead and "`sin`" in row.instead


def refusals() -> None:
    w = leaf()
    x = w * 1
    spread = mt.as_strided(mt.ones([3]), [3, 3], [1, 0])
    whole = mt.to_tensor([1, 2])
    for attempt in (
        lambda: w.add_(1.0),
        lambda: w[0].add_(1.0),
        lambda: w.reshape_([256]),
        lambda: x.add_(mt.ones([2, 16, 16])),
        lambda: spread.add_(1.0),
        lambda: whole.divide_(2),
        lambda: w.set_value(mt.ones([3])) if False else w.__setitem__(0, 1.0),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            attempt()


def test_each_refusal_that_the_program_catches_is_reported_once():
    rows = rows_of(refusals)
    assert [row.op for row in rows] == ["add_", "add_", "reshape_", "add_", "add_", "divide_", "setitem"]
    assert {row.verdict for row in rows} == {Verdict.REFUSED}
    assert all(row.before == row.after == 0 and row.error for row in rows)
    assert [row.tensor.shape for row in rows] == [SHAPE, [16], SHAPE, SHAPE, [3, 3], [2], SHAPE]


def test_an_invalid_operand_is_reported_as_a_refusal():
    rows = rows_of(lambda: mt.ones([2]).add_("a"))
    assert [(row.op, row.verdict) for row in rows] == [("add_", Verdict.REFUSED)]
    assert "TypeError" in rows[0].error


def test_an_error_of_the_program_is_reported_last():
    def program():
        x = mt.ones([2])
        x.add_(1.0)
        raise KeyError("missing")

    rows = rows_of(program)
    assert [row.verdict.word for row in rows] == ["free", "raises"]
    assert rows[1].error == "KeyError: 'missing'" and rows[1].where.text == 'raise KeyError("missing")'


@pytest.mark.parametrize("caught", [False, True])
def test_an_error_of_backward_names_the_write_that_caused_it(caught):
    def program():
        x = leaf() * 1
        y = x.exp()
        z = x * 2
        y.add_(1.0)
        z.add_(1.0)
        try:
            y.sum().backward()
        except RuntimeError:
            if not caught:
                raise

    write, other, raised = rows_of(program)
    assert write.verdict is Verdict.STALE and other.verdict is Verdict.FREE
    assert raised.op == "backward" and raised.cause == write.number and "row 1 made it stale" in raised.happened
    assert [saved.asked_for for saved in write.stale] == [True]
    assert raised.where.text == "y.sum().backward()"


def test_catch_never_catches_an_interrupt():
    def program():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        mt.explain(program, catch=True)
    assert caught.value.explained.rows[0].verdict is Verdict.RAISES


def test_an_interrupt_under_memory_stage_explain_has_the_report_and_the_traceback_of_the_program():
    def program():
        torch.ones(2).add_(1.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        memory_stage.explain(program, catch=True)
    assert [row.op for row in caught.value.explained.rows][:1] == ["add_"]
    assert any(entry.name == "program" for entry in caught.traceback), "the traceback should end in the program"


# ---------- names and places ----------


def test_tensors_have_the_names_that_the_program_gives_them():
    class Model:
        weight = mt.ones([2, 2])

    model, many = Model(), [mt.ones([2]), mt.ones([2])]

    def program(given):
        given.add_(1.0)
        mt.tanh_(given)
        mt.nn.functional.relu_(given)
        model.weight.add_(1.0).scale_(2.0)
        many[1].add_(1.0)
        model.weight[0].add_(1.0)
        model.weight[1] = 0.0
        mt.ones([2]).add_(1.0)

    report = mt.explain(program, mt.ones([2, 2]))
    names = [row.tensor.name for row in report.rows]
    assert names == [
        *("given", "given", "given", "model.weight", "model.weight", "many[1]"),
        *("model.weight[0]", "model.weight", "mt.ones([2])"),
    ]
    assert report.rows[6].tensor.view_of.startswith("view of ")
    assert [row.where.file for row in report.rows] == ["test_explain.py"] * 9


def test_an_operation_called_by_the_engine_has_the_line_of_the_program():
    def program():
        w = leaf()
        w.sum().backward()
        w.clear_grad()

    (row,) = rows_of(program)
    assert (row.op, row.where.text) == ("zero_", "w.clear_grad()")


def test_a_function_of_the_engine_can_be_explained():
    (row,) = mt.explain(mt.tanh_, mt.ones([2])).rows
    assert row.op == "tanh_" and row.where.text.endswith("mt.explain(mt.tanh_, mt.ones([2])).rows")


# ---------- the report ----------


def program_of_many() -> None:
    x = leaf() * 1
    y = x * x
    x.sin_()
    x.clip_(0.0, 1.0)
    alias = x.detach()
    alias.add_(1.0)
    x[[0]] = 1.0
    leaf().add_(1.0)
    del y


def test_totals_are_the_sums_of_the_rows():
    report = mt.explain(program_of_many, catch=True)
    totals, rows = report.totals, report.rows
    assert totals.operations == len(rows) == 5
    assert (totals.copied, totals.marked, totals.indexed) == (KIB, KIB // 32, 8)
    assert (totals.stale, totals.unrecorded, totals.refused) == (sum(len(row.stale) for row in rows), 1, 1)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_report_survives_json_unchanged(policy):
    with mt.set_inplace_policy(policy):
        report = mt.explain(program_of_many, catch=True)
    data = json.loads(report.to_json())
    assert data == report.to_dict() and json.loads(report.to_json(indent=2)) == data
    assert data["schema"] == "explain/1" and len(data["rows"]) == len(report.rows)
    assert set(data["verdicts"]) == {verdict.word for verdict in Verdict}
    assert [row["verdict"] for row in data["rows"]] == [row.verdict.word for row in report.rows]


def test_the_schema_has_every_verdict_and_every_field():
    path = Path(memory_stage.explanation.__file__).with_name("report.schema.json")
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$defs"]["verdict"]["enum"] == [verdict.word for verdict in Verdict]
    data = mt.explain(saved_then_written).to_dict()
    (row,) = data["rows"]
    for name, value in (("row", row), ("tensor", row["tensor"]), ("saved", row["stale"][0]), ("place", row["where"])):
        assert set(value) == set(schema["$defs"][name]["required"]) == set(schema["$defs"][name]["properties"])
    assert set(data) == set(schema["required"])
    assert set(data["totals"]) == set(schema["properties"]["totals"]["required"])


def test_reports_from_events_and_from_recorded_steps_fit_the_schema():
    """Reports on programs of PyTorch and Paddle are made from recorded steps."""
    import jsonschema

    path = Path(memory_stage.explanation.__file__).with_name("report.schema.json")
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(mt.explain(program_of_many, catch=True).to_dict(), schema)
    reporter = StepReporter()
    program = "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.add_(1.0)\ny.sum().backward()\n"
    done = run_and_release(program, {"torch": torch}, on_step=reporter.on_step)
    data = reporter.report(done.variant).to_dict()
    assert [(row["op"], row["verdict"]) for row in data["rows"]] == [("add_", "stale"), ("backward", "raises")]
    jsonschema.validate(data, schema)


def test_a_loop_is_one_row_in_text_and_many_in_data():
    def program():
        x = leaf() * 1
        for _ in range(7):
            x.add_(1.0)
            x.tanh_()

    report = mt.explain(program)
    # The first add_ overwrites no saved tensor. Each later add_ overwrites the output that the previous tanh_ saved.
    assert len(report.rows) == 14
    assert [(row.op, row.verdict.word, number) for row, _, number in report.folded()] == [
        ("add_", "free", 1),
        ("tanh_", "free", 7),
        ("add_", "stale", 6),
    ]
    assert "7 times" in str(report)


def test_the_report_on_a_long_program_has_the_right_totals(monkeypatch):
    monkeypatch.setattr("memory_stage.explanation.report.MOST_ROWS", 3)

    def program():
        x = leaf() * 1
        for _ in range(10):
            x.sin_()

    report = mt.explain(program)
    assert (len(report.rows), report.left_out) == (3, 7)
    assert report.totals.operations == 10 and report.totals.copied == 10 * KIB
    assert "7 more operations" in str(report)


def test_a_report_without_writes_says_that_there_are_none():
    assert str(mt.explain(lambda: None)) == "No in-place operation."


def test_the_lines_of_a_report_have_at_most_120_characters():
    for policy in POLICIES:
        with mt.set_inplace_policy(policy):
            for program in (program_of_many, refusals):
                assert max(map(len, str(mt.explain(program, catch=True)).splitlines())) <= 120


def didactic() -> None:
    w = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    x = w * 2
    y = x.exp()
    x.sin_()
    y.add_(1.0)
    y.sum().backward()


def test_the_text_of_a_report_is_equal_to_the_expected_text():
    import inspect

    report = mt.explain(didactic, catch=True)
    first = inspect.getsourcelines(didactic)[1]
    for line in range(first, first + 8):
        for_reader = f"line {line - first}"
        report = _renumbered(report, f"line {line}", for_reader)
    shown = str(report).partition("     error")[0]
    assert shown == textwrap.dedent(
        """\
        2 in-place operations; 12 bytes copied; 1 saved tensor made stale.

          1  line 4: x.sin_()            x [3] float32  version 0 -> 1  copies 12 bytes
             needs    its input: `x: g * cos(x)`. The input is overwritten.
             happened It copied its input first: 12 bytes.
             instead  `sin` needs no copy of its input, and its result takes 12 bytes. Writing in place saves no
                      memory here.

          2  line 5: y.add_(1.0)         y [3] float32  version 0 -> 1  stale
             needs    nothing: `x: g`. The rule names no tensor.
             happened It overwrote the output [3] of `exp` (line 3: `y = x.exp()`).
             instead  Run backward before this line, or use `add`, whose result takes 12 bytes, or
                      `set_inplace_policy("copy_on_write")`, which would preserve 12 bytes here.

          3  line 6: y.sum().backward()                                 raises
             happened Backward needs the output [3] of `exp` (line 3: `y = x.exp()`); row 2 made it stale.
        """
    )


def _renumbered(report: Report, before: str, after: str) -> Report:
    """Replace the line `before` of the file by the line `after` of the function, and return the report."""
    for row in report.rows:
        row.happened = row.happened.replace(f"test_explain.py, {before}:", f"{after}:")
        if f"line {row.where.line}" == before and row.where.file is not None:
            row.where.file, row.where.line = None, int(after.split()[1])
    return report


# ---------- watching changes nothing ----------


def writes_of_all_kinds(report: Callable[..., None]) -> None:
    w = leaf()
    x = w * 1
    saved = x * x, x[0].exp(), x.T[1] * x.T[2]
    row, alias = x[1], x.detach()
    report(x, row)
    for write in (
        *(lambda: x.exp_(), lambda: x.sin_(), lambda: x.clip_(0.0, 1.0), lambda: row.multiply_(row)),
        *(lambda: alias[2:4].add_(1.0), lambda: x.__setitem__([0, 3], 2.0), lambda: x.__setitem__(5, row)),
        *(lambda: x.set_value(mt.ones(SHAPE)), lambda: w.add_(1.0), lambda: x.copy_(w), lambda: x.reshape_([256])),
    ):
        try:
            write()
        except ValueError:
            report(w)
        report(x, row, alias, w)
    with mt.no_grad():
        w.subtract_(0.5)
    row = None
    for y in saved:
        try:
            y.sum().backward(retain_graph=True)
        except RuntimeError:
            report(y)
        report(w)
    saved = y = None
    report(w)


def report_of(program: Callable[..., None], watching: Any) -> list[Any]:
    with watching:
        return run(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_an_explained_program_computes_the_same_as_without_explain(program):
    listener = Listener()
    assert report_of(program, listener) == report_of(program, contextlib.nullcontext())
    assert listener.report.cut_short == ""


@pytest.mark.parametrize("policy", POLICIES)
def test_explain_does_not_change_a_program_of_all_kinds_of_writes_under_any_policy(policy):
    listener = Listener()
    with mt.set_inplace_policy(policy):
        unwatched = report_of(writes_of_all_kinds, contextlib.nullcontext())
        assert report_of(writes_of_all_kinds, listener) == unwatched
    report = listener.report
    assert report.cut_short == "" and report.totals.operations == 12 and report.totals.unrecorded
    assert bool(report.totals.preserved) == (policy == "copy_on_write") != bool(report.totals.stale)


def test_a_report_keeps_no_tensor_alive(base):
    report = mt.explain(program_of_many, catch=True)
    assert allocated() == base and report.rows
    x = mt.ones(SHAPE)
    report = mt.explain(mt.Tensor.add_, x, 1.0)
    del x
    assert allocated() == base and len(report.rows) == 1


def test_tensors_that_the_program_drops_are_freed_at_once(base):
    def program():
        x = leaf() * 1
        y = x * x
        x.sin_()
        with pytest.raises(RuntimeError):
            y.sum().backward()
        alias = x.detach()
        alias.add_(1.0)
        with pytest.raises(ValueError, match="Leaf"):
            leaf().add_(1.0)
        del x, y, alias
        assert allocated() == base

    mt.explain(program)
    assert allocated() == base


def test_the_error_of_an_explained_program_keeps_no_tensor_alive_once_the_error_is_deleted(base):
    with pytest.raises(ValueError, match="Leaf"):
        mt.explain(lambda: leaf().add_(1.0))
    assert allocated() == base


def test_an_earlier_listener_receives_every_event_during_and_after_a_report():
    received: list[type] = []

    def note(event: events.Event) -> None:
        if not isinstance(event, events.AllocatorChanged):  # the allocator of a GPU emits additional events
            received.append(type(event))

    with listening(note):
        report = mt.explain(lambda: mt.ones([2]).add_(1.0))
        assert watch.listener is note
    kinds = [events.StorageCreated, events.TensorCreated, events.TensorWritten, events.StorageReleased]
    assert received == kinds and len(report.rows) == 1
    assert watch.listener is None


def test_an_outer_report_contains_the_rows_of_a_nested_report():
    inner: list[Report] = []

    def program():
        inner.append(mt.explain(lambda: mt.ones([2]).add_(1.0)))
        mt.ones([2]).add_(1.0)

    assert len(mt.explain(program).rows) == 2 and len(inner[0].rows) == 1


def test_an_error_inside_explain_ends_the_report_but_not_the_program(monkeypatch):
    def broken(*_: Any) -> None:
        raise LookupError("broken")

    monkeypatch.setattr("memory_stage.explanation.minitensor.listener.needs_of", broken)
    done = []

    def program():
        x = leaf() * 1
        x.add_(1.0)
        done.append(x.inplace_version)

    report = mt.explain(program)
    assert done == [1] and "LookupError: broken" in report.cut_short and report.cut_short in str(report)


# ---------- the report equals the meter ----------


@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
@pytest.mark.parametrize("given", IN_PLACE_ONCE, ids=str)
def test_the_bytes_of_a_row_are_those_that_the_meter_counts(given, policy, no_collector):
    tensors = []
    for array in given.arrays:
        x = mt.to_tensor(array)
        if array.dtype.kind == "f":
            x.stop_gradient = False
            x = x * 1
        tensors.append(x)
    more = []

    def program():
        before = allocated()
        FUNCTIONS[given.name + "_"](*tensors, **given.arguments)
        more.append(allocated() - before)

    with mt.set_inplace_policy(policy):
        (row,) = rows_of(program)
    assert row.nbytes == more[0] and row.recorded == any(not x.stop_gradient for x in tensors)
    assert row.verdict in (Verdict.COPIES, Verdict.MARKS) if more[0] else row.verdict is Verdict.FREE


@pytest.mark.parametrize(
    ("op", "arguments", "text"),
    [("cast_", ("float64",), "another dtype"), ("resize_", ([2],), "another number"), ("set_", (), "another storage")],
)
def test_an_operation_that_replaces_a_storage_is_not_reported_as_a_change_of_shape(op, arguments, text):
    def program():
        x = mt.ones([4])
        getattr(x, op)(*arguments)

    (row,) = rows_of(program)
    assert row.verdict is Verdict.METADATA and text in row.happened
    assert row.after - row.before == (op == "cast_")


def test_no_module_of_explain_uses_f_locals():
    texts = [
        path.read_text(encoding="utf-8")
        for path in Path(memory_stage.explanation.minitensor.__file__).parent.glob("*.py")
    ]
    assert texts and not any("f_locals" in text for text in texts)


def test_an_index_out_of_range_is_a_refused_write():
    x = mt.ones([3])

    def program():
        x[5] = 1.0

    (row,) = mt.explain(program, catch=True).rows
    assert (row.op, row.verdict, row.tensor.name) == ("setitem", Verdict.REFUSED, "x") and "IndexError" in row.error


def test_a_write_through_the_mask_of_a_single_number_is_explained():
    def program():
        x = torch.tensor(2.5)
        x[x > 1] = torch.tensor(0.0)

    report = mt.explain(program)
    assert report.cut_short == "" and [row.verdict for row in report.rows] == [Verdict.FREE]


def test_a_refused_write_in_pytorchs_vocabulary_is_reported():
    def program():
        w = torch.ones(3, requires_grad=True)
        x = w * 1
        with mt.set_inplace_policy("2.5"):
            x.mul_(w)

    (row,) = mt.explain(program, catch=True).rows
    assert (row.op, row.verdict, row.tensor.name) == ("multiply_", Verdict.REFUSED, "x")
    assert row.rules == ("x: g * y", "y: g * x") and row.before == row.after == 0


def test_a_step_that_a_gradient_scaler_runs_is_reported_as_that_of_an_optimizer():
    w = torch.ones(2, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([w], lr=0.1), torch.amp.GradScaler("cpu")

    def program():
        scaler.scale((w * w).sum()).backward()
        scaler.step(optimizer)

    assert rows_of(program)[-1].by == "an optimizer"
