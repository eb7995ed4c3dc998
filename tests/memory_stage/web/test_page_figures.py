"""Test that the benchmark of pages with stages measures every number that it reports.

No test sets an upper limit for a time.
"""

from __future__ import annotations

import sys

from benchmarks import stage_page
from tools import chromium


def test_the_benchmark_measures_every_number_that_it_reports(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(stage_page, "PRESSES", 3)
    short = stage_page._page(stage_page.five_stages()[:2], tmp_path, "short")
    paint = stage_page._first_paint(browser, short)
    answers, work = stage_page._answers(browser, stage_page._page([stage_page.long_stage()], tmp_path, "long"))
    assert set(answers) == set(work) == {"a step", "end to end", "a search"}
    assert all(len(seconds) == 3 and min(seconds) >= 0.016 for seconds in answers.values())
    assert all(seconds > 0 for seconds in (paint, *work.values()))
    figures = {"chromium": "1", "first paint": {"short": [paint]}, "key press": answers, "work for a key": work}
    shown = stage_page.table(figures)
    for name in ("short", *answers):
        assert f"  {name} " in shown


def test_a_missing_browser_is_reported(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(stage_page, "RESULT", tmp_path / "figures.json")
    monkeypatch.setattr(chromium, "NAMES", ("no-such-browser",))
    monkeypatch.delenv("CHROMIUM", raising=False)
    stage_page.main()
    assert "No Chromium found" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    stage_page.main()
    assert "playwright" in capsys.readouterr().out
    assert not (tmp_path / "figures.json").exists()
