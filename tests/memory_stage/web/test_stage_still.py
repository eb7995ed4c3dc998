"""Test the stage without its script (text, tables and pictures), and the files to which it is saved.

Neither in the stage nor in the files does text of the program become markup.
"""

from __future__ import annotations

import gzip
import json
import re

import pytest

from memory_stage import api as stage
from memory_stage.trace.validation import problems
from memory_stage.web import embed, picture, static_html
from tests.support.accessibility import violations
from tests.support.stage.stages import HOSTILE, Page, hostile_comparison, hostile_stage
from tests.support.waiting import box_of, soon

THREE = {
    "normal": "x = mt.ones([3])\ny = x + 1",
    "view": "x = mt.ones([3])\ny = x[0:2]",
    "in place": "x = mt.ones([3])\n\n\ny = x.add_(\n    1)",
}


@pytest.mark.parametrize("make", [hostile_stage, hostile_comparison])
def test_text_of_the_program_never_becomes_markup(make):
    shown = make()
    assert list(problems(shown.data)) == []
    page = Page(stage.as_html(shown.data))
    outside = [tag for tag, _ in page.tags]
    assert outside.count("script") == 1 and "img" not in outside
    assert json.loads(page.data) == json.loads(json.dumps(shown.data))
    assert "<" not in embed.as_data(shown.data) and "\u2028" not in embed.as_data(shown.data)


def test_everything_can_be_read_without_javascript():
    shown = stage.compare(
        {"a": "x = mt.ones([2])\nprint('said')", "b": "x = mt.ones([2])\nx.reshape([3])"}, ask="Why `x`?"
    )
    text = stage.as_html(shown.data).split("</script>")[1]
    for variant in shown.data["variants"]:
        for step in variant["steps"]:
            assert embed.prose(step["say"]) in text
    assert "said" in text and "ValueError" in text and "<code>x</code>" in text
    plain = shown._repr_mimebundle_()["text/plain"]
    assert "said" in plain and "ValueError" in plain and "Why `x`?" in plain


def test_the_fallback_contains_a_picture_of_an_informative_step():
    if not picture.available():
        pytest.fail("mini-racer is missing: the book's pages would have no picture without JavaScript")
    shown = stage.record(
        "x = mt.to_tensor([1., 2.], stop_gradient=False)\na = x * 1\ny = a * a\na.add_(1)\ny.backward()"
    )
    page = Page(stage.as_html(shown.data))
    # the write that makes the saved tensor stale
    assert picture.svg(shown.data, step=3) in stage.as_html(shown.data)
    assert [tag for tag, _ in page.tags].count("svg") == 1


def test_without_v8_the_picture_is_left_out(monkeypatch):
    monkeypatch.setattr(picture, "available", lambda: False)
    assert "<svg" not in stage.as_html(stage.record("x = mt.ones([2])").data)


def test_every_step_is_a_row_with_its_line_and_its_bytes(open_page):
    shown = stage.compare(THREE, heading="kind of operation")
    page = open_page(js=False)
    page.set_content(f"<!doctype html>{stage.as_html(shown.data)}")
    first, *others = page.locator("table").all()

    def rows(table) -> list[list[str]]:
        return [[cell.inner_text() for cell in row.locator("th, td").all()] for row in table.locator("tr").all()]

    assert rows(first) == [
        ["kind of operation", "allocated", "peak", "in the end"],
        ["normal", "24 B", "24 B", "shares nothing"],
        ["view", "12 B", "12 B", "shares the storage"],
        ["in place", "12 B", "12 B", "shares the tensor"],
    ]
    difference = (
        "After the last step, compared with “normal”: “view” allocates 12 B less, “in place” allocates 12 B less."
    )
    assert page.get_by_text(difference).is_visible()
    for table, variant in zip(others, shown.data["variants"], strict=True):
        head, *reported = rows(table)
        assert head == ["step", "line", "what happens", "allocated", "peak"]
        assert table.locator("caption").inner_text() == f"All steps of {variant['label']}"
        assert table.locator("thead th[scope=col]").count() == 5
        assert table.locator("tbody th[scope=row]").count() == len(variant["steps"])
        for row, step in zip(reported, variant["steps"], strict=True):
            assert row[2] == step["say"].replace("`", "")
            assert row[3:] == [f"{step['allocated']} B", f"{step['peak']} B"]
    assert [row[1] for row in rows(others[2])] == ["line", "1", "4 to 5"]


def test_reserved_bytes_have_a_column_if_there_are_any():
    shown = stage.record("x = mt.ones([3]).cuda()", title="On a GPU")
    assert '<th scope="col">reserved</th>' in stage.as_html(shown.data)
    assert re.search(r"peak .*, reserved .* after the last step\.", stage.as_text(shown.data))


def test_a_number_stays_on_one_line_with_its_unit():
    text = stage.as_html(stage.record("x = mt.ones([3])").data)
    assert '<td style="white-space: nowrap">12 B</td>' in text


def test_the_plain_text_contains_the_table_of_variants():
    lines = stage.as_text(stage.compare(THREE).data).splitlines()
    assert lines[2:6] == [
        "  variant   allocated  peak  in the end",
        "  normal         24 B  24 B  shares nothing",
        "  view           12 B  12 B  shares the storage",
        "  in place       12 B  12 B  shares the tensor",
    ]
    assert lines[6].startswith("After the last step, compared with “normal”: “view” allocates 12 B less")


def test_variants_that_allocate_the_same_bytes_are_described_as_equal():
    data = stage.compare({"a": "x = mt.ones([1])", "b": "x = mt.zeros([1])"}).data
    assert static_html.difference(data) == "After the last step, compared with “a”: “b” allocates the same."


def test_no_line_is_empty_because_markdown_would_split_the_html():
    shown = stage.record("x = mt.ones([2])\n\n\n\nprint('a\\n\\n \\nb')\nraise ValueError('c\\n\\nd')")
    text = stage.as_html(shown.data)
    assert not re.search(r"\n[ \t]*\n", text)
    assert "a&#10;&#10; \nb" in text


@pytest.mark.parametrize("width", [320, 760])
def test_a_narrow_page_without_javascript_does_not_scroll_sideways(open_page, width):
    page = open_page(width=width, js=False)
    longest = stage.compare({"a" * 40: f"x = mt.ones([2])  {'#' * 300}", "b": "raise ValueError('m' * 300)"})
    page.set_content(
        '<!doctype html><meta name=viewport content="width=device-width"><style>body { margin: 8px }</style>'
        f"{stage.as_html(longest.data)}<hr>"
    )
    assert box_of(page.locator("hr"))["width"] == width - 16
    reach = [box_of(box) for box in page.locator(".stage-fallback > *").all()]
    assert max(box["x"] + box["width"] for box in reach) <= width


@pytest.mark.parametrize("width", [320, 900])
def test_the_stage_without_javascript_is_accessible(open_page, width):
    page = open_page(width=width)
    body = stage.as_html(stage.compare({**THREE, "wrong": f"raise ValueError({'m' * 200!r})"}).data)
    page.set_content(f"<!doctype html><html lang=en><title>A stage</title><main><h1>A stage</h1>{body}</main>")
    assert violations(page) == []


# ---------- a saved file ----------


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a file from the disk in a new browser profile.

    The attribute ``asked`` of the returned page has the addresses that it requested, and ``errors`` its errors.
    """
    contexts = []

    def open_file(path, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.asked, page.errors = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()


def test_a_saved_stage_works_from_the_disk_without_a_request(opened, tmp_path):
    path = tmp_path / "stage.html"
    stage.compare(THREE, title="Add one").save(path)
    page = opened(path, viewport={"width": 360, "height": 800})
    assert page.title() == "Add one"
    assert page.locator("memory-stage output").inner_text().startswith("step 2 of 2")  # the stage opens at its key step
    page.get_by_role("button", name="Step from line 1").click()
    page.get_by_role("button", name="Next").click()
    assert soon(lambda: page.locator("memory-stage output").inner_text().startswith("step 2 of 2"))
    assert soon(page.evaluate, "document.documentElement.scrollWidth") == 360
    assert page.asked == [path.as_uri()] and page.errors == []


def test_the_arrow_keys_step_a_saved_stage_without_a_click(opened, tmp_path):
    path = tmp_path / "stage.html"
    stage.record("x = mt.zeros([2])\nx.add_(1.0)\nx.add_(2.0)\n").save(path)
    page = opened(path)
    page.keyboard.press("ArrowLeft")
    assert soon(lambda: page.locator("memory-stage output").inner_text().startswith("step 2 of 3"))


def test_a_saved_stage_without_javascript_shows_pictures_and_tables(opened, tmp_path):
    path = tmp_path / "stage.html"
    stage.compare(THREE).save(path)
    page = opened(path, java_script_enabled=False)
    assert page.locator("svg").count() == 3 and page.locator("table").count() == 4
    assert page.locator("svg").first.is_visible()


def test_hostile_text_in_a_saved_file_does_not_become_markup(opened, tmp_path):
    path = tmp_path / "stage.html"
    shown = hostile_comparison()
    shown.save(str(path))
    page = opened(path)
    assert page.title() == HOSTILE.replace("\u2028", " ") or page.title() == HOSTILE
    assert page.locator("memory-stage").count() == 1 and page.locator("img").count() == 0
    page.get_by_role("combobox").select_option(index=1)
    page.keyboard.press("End")
    assert soon(page.evaluate, "typeof hacked") == "undefined" and page.errors == []


def test_the_last_stage_is_saved_when_none_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "_last", None)
    with pytest.raises(ValueError, match="no stage has been made"):
        stage.save(tmp_path / "none.html")
    first = stage.record("x = 1", title="first")
    stage.record("x = 2", title="second")
    stage.save(tmp_path / "last.html")
    stage.save(tmp_path / "given.html", first)
    with pytest.raises(TypeError, match="not str"):
        stage.save(tmp_path / "wrong.html", "second")
    titles = [
        re.search("<title>(.*)</title>", (tmp_path / f"{name}.html").read_text())[1] for name in ("last", "given")
    ]
    assert titles == ["second", "first"]
    assert {path.name for path in tmp_path.iterdir()} == {"last.html", "given.html"}


def test_an_existing_file_is_replaced_and_a_missing_folder_is_refused(tmp_path):
    shown = stage.record("x = 1", title="new")
    path = tmp_path / "stage.html"
    path.write_text("old")
    shown.save(path)
    assert "<title>new</title>" in path.read_text()
    with pytest.raises(FileNotFoundError):
        shown.save(tmp_path / "nowhere" / "stage.html")


def test_an_iteration_of_a_loop_adds_few_bytes_to_a_saved_file(tmp_path):
    """A pass of a loop adds only its changes to the trace, the picture and the table."""
    sizes = []
    for passes in (1, 200):
        stage.record(f"x = mt.zeros([4])\nfor i in range({passes}):\n    x.add_(1)").save(tmp_path / "stage.html")
        sizes.append(len(gzip.compress((tmp_path / "stage.html").read_bytes(), mtime=0)))
    assert (sizes[1] - sizes[0]) / 199 < 60
