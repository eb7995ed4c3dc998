"""The list of what does not run in the browser stays true."""

from __future__ import annotations

from tests.in_the_browser.files import LEFT_OUT, runs
from tools.build import ROOT


def test_what_is_left_out_is_there_and_most_runs():
    assert [path for path in LEFT_OUT if not (ROOT / path).exists()] == []
    assert not set(LEFT_OUT) & set(runs())
    assert len(runs()) > 3 * len(LEFT_OUT)
