"""Test `%%explain` in IPython's shell, and the HTML table of a report: its text, and what a browser shows."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import memory_stage as stage
import memory_stage.explanation.minitensor
import minitensor as mt
from book_kit.widgets.report_html import SIGNS, as_html
from memory_stage.explanation.minitensor import Report, Verdict
from memory_stage.web.embed import asset
from tests.support.accessibility import violations
from tests.support.waiting import drawn

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def run(shell, capsys, monkeypatch):
    """Return a function that runs a cell. It returns True if the cell passed, its error, its output and its reports."""
    shown: list[Report] = []
    monkeypatch.setattr("memory_stage.integrations.explain_magic.display", shown.append)
    shell.user_ns["mt"] = mt

    def run(cell: str):
        shown.clear()
        result = shell.run_cell(cell, store_history=True)
        return result.success, result.error_in_exec, capsys.readouterr().out, list(shown)

    return run


# ---------- the magic ----------


def test_a_cell_runs_as_usual_and_its_report_is_shown(run, shell):
    passed, _, out, (report,) = run("%%explain\nx = mt.ones([2])\nx.add_(1.0)\nprint('said')\nx.tolist()")
    assert passed and out.startswith("said\n") and "[2.0, 2.0]" in out
    assert shell.user_ns["x"].tolist() == [2, 2] and shell.user_ns["_"] == [2, 2]
    (row,) = report.rows
    assert (row.op, row.where.file, row.where.line, row.where.text) == ("add_", None, 3, "x.add_(1.0)")


def test_line_numbers_are_those_that_the_reader_sees(run):
    _, _, _, (report,) = run("%%explain\n\n\nx = mt.ones([2]); x.add_(1.0)")
    assert report.rows[0].where.line == 4


def test_a_semicolon_hides_the_last_value(run):
    _, _, out, _ = run("%%explain\nx = mt.ones([2])\nx.add_(1.0);")
    assert out == ""


def test_an_error_is_reported_and_raised(run, shell):
    passed, error, _, (report,) = run("%%explain\nw = mt.ones([2])\nw.stop_gradient = False\nw.add_(1.0)\nafter = 1")
    assert not passed and isinstance(error, ValueError) and "after" not in shell.user_ns
    assert [row.verdict for row in report.rows] == [Verdict.REFUSED]


def test_the_policy_of_a_cell_does_not_apply_to_later_cells(run):
    cell = "x = mt.ones([2], dtype='float32')\nx.stop_gradient = False\ny = x * 1\ny.sin_()"
    passed, _, _, (report,) = run(f"%%explain --policy 2.5\n{cell}")
    assert not passed and report.rows[0].policy == "2.5" and report.rows[0].verdict is Verdict.REFUSED
    assert mt.get_inplace_policy() == "2.6"
    assert run(f"%%explain\n{cell}")[0]


def test_a_cell_chooses_the_language_of_its_own_report(run):
    cell = "x = mt.ones([2])\nx.add_(1.0)"
    for line, said in (("--language zh", "1 个原位操作"), ("", "1 in-place operation")):
        *_, (report,) = run(f"%%explain {line}\n{cell}")
        assert str(report).startswith(said)


@pytest.mark.parametrize("line", ["--policy 3.0", "--language fr", "--polycy 2.5", '--policy "2.5'])
def test_an_unknown_option_is_refused_before_the_cell_runs(run, shell, line):
    _passed, _error, _, shown = run(f"%%explain {line}\nran = 1")
    assert not shown and "ran" not in shell.user_ns


def test_the_line_magic_explains_one_statement(run, shell):
    run("x = mt.ones([2])")
    passed, _, _, (report,) = run("%explain x.scale_(3.0)")
    assert passed and shell.user_ns["x"].tolist() == [3, 3]
    assert report.rows[0].tensor.name == "x"


def test_an_alias_of_an_earlier_cell_is_recognized(run):
    run("w = mt.ones([2])\nw.stop_gradient = False\nx = w * 1\nalias = x.detach()")
    _, _, _, (report,) = run("%%explain\nalias.add_(x.detach())")
    assert report.rows[0].verdict is Verdict.UNRECORDED and "`x` has new values" in report.rows[0].happened


# ---------- the table ----------


def program() -> None:
    w = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    x = w * 2
    y = x.exp()
    x.sin_()
    x.detach().clip_(0.0, 1.0)
    x.reshape_([3, 1])
    x.relu_()
    with mt.set_inplace_policy("copy_on_write"):
        z = x * x
        x.add_(1.0)
    y.add_(1.0)
    del z
    y.sum().backward()


class Reader(HTMLParser):
    """Collect the tags and the text of a page, and check that each closing tag matches its opening tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "br":
            self.opened.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_report_is_a_table_in_a_notebook_and_text_in_a_terminal(monkeypatch):
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    report = mt.explain(program, catch=True)
    bundle = report._repr_mimebundle_()
    assert bundle["text/plain"] == str(report)
    read = Reader(bundle["text/html"])
    assert read.opened == [] and read.tags.count("tr") == 1 + len(report.rows)
    for row in report.rows:
        assert row.where.text in read.text and row.verdict.word in read.text


def test_a_page_gets_its_style_once(monkeypatch):
    monkeypatch.delenv("MINITENSOR_BOOK", raising=False)
    monkeypatch.setattr("memory_stage.web.embed._included_by", {})
    report = mt.explain(program, catch=True)
    assert ".mt-report" in report._repr_mimebundle_()["text/html"]
    assert "<style>" not in report._repr_mimebundle_()["text/html"]


def test_every_verdict_has_a_sign():
    assert set(SIGNS) == set(Verdict)


HOSTILE = "</td><script>hostile()</script><img src=x onerror=hostile()>&amp;"


def test_text_of_the_program_never_becomes_markup():
    report = mt.explain(program, catch=True)
    row = report.rows[0]
    row.where.text = row.op = row.happened = row.why = row.instead = row.error = HOSTILE
    row.tensor.name = row.tensor.view_of = HOSTILE
    row.rules = row.needs = (HOSTILE,)
    report.cut_short = HOSTILE
    read = Reader(as_html(report))
    assert not {"script", "img"} & set(read.tags) and read.opened == []
    assert read.text.count(HOSTILE) == 10


def test_json_follows_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(memory_stage.explanation.__file__).with_name("report.schema.json")
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    for function in (program, lambda: None, lambda: mt.ones([2]).add_("a"), lambda: 1 / 0):
        check.validate(json.loads(mt.explain(function, catch=True).to_json()))


# ---------- in the browser ----------


@pytest.fixture
def page(open_page) -> Page:
    """Open a page that contains the report twice, and a report without rows."""
    report = mt.explain(program, catch=True)
    tables = as_html(report) * 2 + as_html(mt.explain(lambda: None))
    page = open_page(width=1280)
    styles = "".join(asset(name, "book_kit.web") for name in ("quiz.css", "explain.css"))
    page.set_content(
        f"<!doctype html><html lang='en'><head><title>Reports</title><style>{styles}</style></head>"
        f"<body><main><h1>Reports</h1>{tables}</main></body></html>"
    )
    return page


@pytest.mark.parametrize("width", [1100, 320])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_table_is_accessible(page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    drawn(page)
    page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.mark.parametrize("width", [1100, 320])
def test_a_screen_reader_finds_a_table_at_every_width(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    drawn(page)
    table = page.get_by_role("table").first
    assert table.get_by_role("columnheader").all_inner_texts() == ["Line", "Tensor", "Version", "Verdict", "Why"]
    heads = table.get_by_role("rowheader").all_inner_texts()
    assert [head.splitlines()[-1] for head in heads][:2] == ["x.sin_()", "x.detach().clip_(0.0, 1.0)"]
    assert table.get_by_role("row").nth(1).get_by_role("cell").nth(2).inner_text().endswith("copies 12 bytes")


def test_no_text_of_a_report_is_cut_off(page):
    page.set_viewport_size({"width": 700, "height": 900})
    drawn(page)
    cut = page.evaluate(
        "[...document.querySelectorAll('.mt-report th, .mt-report td, .mt-report dd, .mt-report pre')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    )
    assert cut == []


# ---------- together with a stage ----------


def test_explain_works_inside_a_stage_and_a_stage_inside_explain():
    source = "x = mt.ones([2])\nreport = mt.explain(x.add_, 1.0)\nx.scale_(2.0)"
    names: dict[str, object] = {}
    staged = stage.record(source, names)
    assert staged.error is None and names["report"].rows[0].op == "add_" and names["x"].tolist() == [4, 4]
    (variant,) = staged.data["variants"]
    written = [event for step in variant["steps"] for event in step["events"] if event["do"] == "write"]
    assert len(written) == 2 and variant["truncated"] is None

    report = mt.explain(lambda: stage.record("x = mt.ones([2])\nx.add_(1.0)"))
    assert [(row.op, row.where.text) for row in report.rows] == [("add_", "x.add_(1.0)")]
