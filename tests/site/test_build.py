"""Test that a valid book builds, that a faulty book does not, and that requests to other hosts are noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.site.small_book import built, cell, write
from tools import build, live


@pytest.fixture
def small_book(tmp_path):
    """Return a function that writes a book of one page."""
    return lambda text: write(tmp_path, text)


def test_a_valid_book_builds_and_a_request_to_another_host_is_caught(
    small_book, serve_folder, visit, monkeypatch, capfd
):
    monkeypatch.delenv("LIVE", raising=False)
    printing = cell(r'print("first", end="", flush=True); print("\nsecond")')
    source = "A source {cite}`known`.\n\n```{bibliography}\n```"
    picture = '<img alt="" src="https://example.org/pixel.png">'
    book = small_book(f"{printing}\n\n{source}\n\n{picture}")
    status = build.build(book)
    log = (book / "_build" / "build.log").read_text(encoding="utf-8")
    assert status == 0, log
    assert capfd.readouterr().out.splitlines()[-1] == build.NOT_LIVE
    assert build.is_fresh(book)
    assert "first\nsecond\n</pre>" in (book / "_build" / "html" / "index.html").read_text(encoding="utf-8")

    seen = visit((book / "_build" / "html" / "index.html").as_uri())
    assert seen.foreign == ["https://example.org/pixel.png"]
    assert len(seen.complaints) == 1  # the browser reports that the picture did not load
    seen = visit(f"{serve_folder(book / '_build' / 'html')}index.html")
    assert seen.foreign == []  # the page's policy forbids the request, and the browser reports this
    assert "Content Security Policy" in seen.complaints[0]

    (book / "index.md").write_text("# Another", encoding="utf-8")
    assert not build.is_fresh(book)


def test_a_live_book_contains_the_downloaded_files_and_lists_its_components(small_book, monkeypatch):
    def write_parts(fetched: str, folder: Path) -> None:
        folder.mkdir()
        (folder / "live.json").write_text(fetched)

    monkeypatch.setenv("LIVE", "1")
    monkeypatch.setattr(live, "fetch_parts", lambda: '{"files": {}}')
    monkeypatch.setattr(live, "write_parts", write_parts)
    book = small_book("Text.")
    status, log = built(book)
    assert status == 0, log
    assert (book / "_build" / "html" / "_static" / "live" / "live.json").read_text() == '{"files": {}}'
    assert "licences.txt" in (book / "_build" / "html" / "index.html").read_text(encoding="utf-8")
    monkeypatch.delenv("LIVE")
    assert not build.is_fresh(book)


def test_a_failed_download_stops_the_build_before_anything_is_deleted(small_book, monkeypatch):
    def fetch_parts() -> None:
        raise live.MissingError("no network")

    monkeypatch.setenv("LIVE", "1")
    monkeypatch.setattr(live, "fetch_parts", fetch_parts)
    book = small_book("Text.")
    (book / "_build").mkdir()
    with pytest.raises(live.MissingError):
        build.build(book, quiet=True)
    assert (book / "_build").exists()


def test_a_failing_cell_stops_the_build(small_book):
    status, log = built(small_book(cell("1 / 0")))
    assert status != 0
    assert "ZeroDivisionError" in log


def test_a_broken_reference_stops_the_build(small_book):
    faults = {
        "A link to [nothing](nowhere.md).": "'nowhere.md'",
        "A link to [no heading](#no-heading).": "'no-heading'",
        "![a picture](no-picture.png)": "no-picture.png",
        "A source that is not listed {cite}`no-source`.\n\n```{bibliography}\n```": '"no-source"',
    }
    status, log = built(small_book("\n\n".join(faults)))
    assert status != 0
    warnings = [line for line in log.splitlines() if "WARNING" in line]
    assert len(warnings) == len(faults)
    for said in faults.values():
        assert any(said in warning for warning in warnings), f"{said}\n{warnings}"


def test_a_mark_of_a_step_that_does_not_exist_stops_the_build(small_book):
    stage = cell('%%stage --title "A program"\nx = mt.zeros([2])\nx.add_(1.0)')
    setup = cell("%load_ext book_kit\nimport minitensor as mt")
    marks = "{step}`2` is right.\n\n{step}`5` is wrong.\n\n{step}`two` is wrong."
    status, log = built(small_book(f"## One\n\n{setup}\n\n{stage}\n\n{marks}\n\n## Two\n\n{{step}}`1` is alone."))
    assert status != 0
    warnings = [line.partition("WARNING: ")[2] for line in log.splitlines() if "WARNING" in line]
    assert [warning.partition(": ")[0] for warning in warnings] == ["{step}`5`", "{step}`two`", "{step}`1`"]
    assert "lines 1, 2 have one" in warnings[0]
    assert "this section has no stage" in warnings[2]


def test_the_times_of_pages_are_read_from_the_log_with_the_longest_first():
    log = (
        "/book/chapters/01_a.md: Executed notebook in 1.50 seconds [mystnb]\n"
        "reading sources...\n"
        "/book/index.md: Executed notebook in 0.50 seconds [mystnb]\n"
        "/book/chapters/02_b.md: Executed notebook in 4.00 seconds [mystnb]\n"
    )
    assert build.seconds_of_pages(log) == {"chapters/01_a": 1.5, "index": 0.5, "chapters/02_b": 4.0}
    assert build.table_of_times(log).splitlines() == [
        "    4.0 s  chapters/02_b",
        "    1.5 s  chapters/01_a",
        "    0.5 s  index",
        "    6.0 s  in all, 1.5 s in the median",
    ]
