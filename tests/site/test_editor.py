"""Test the editor of a program in a page: a long line that scrolls is hidden behind the line numbers."""

from __future__ import annotations

import pytest

from tests.support.site.looks import FAULTS
from tools import live, npm

ADDRESS = "http://editor.example/editor.js"
LONG = "x = mt.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], stop_gradient=False)\ny = x.add_(1.0)\n"
OPEN = """async ([address, doc]) => {
    const { makeEditor } = await import(address);
    makeEditor(document.querySelector('main'), { doc });
}"""
SCROLLED = """async left => {
    FAULTS
    document.querySelector('.cm-scroller').scrollLeft = left;
    await new Promise(requestAnimationFrame);
    return [...faultsAmong(textsIn(document.body).map(node => textOf(node)))];
}""".replace("FAULTS", FAULTS)


@pytest.fixture
def editor(open_page):
    """Open a page with an editor that is narrower than its program."""
    try:
        bundle = live.bundled_editor(npm.modules()).read_text(encoding="utf-8")
    except npm.MissingError as missing:
        pytest.skip(str(missing))
    page = open_page(width=400)
    headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "text/javascript"}
    page.route(ADDRESS, lambda route: route.fulfill(body=bundle, headers=headers))
    page.set_content("<!doctype html><style>:root { --paper: white }</style><main></main>")
    page.evaluate(OPEN, [ADDRESS, LONG])
    page.locator(".cm-gutters").wait_for()
    yield page
    page.unroute(ADDRESS)


@pytest.mark.parametrize("left", [0, 4, 8, 13, 120])
def test_a_long_line_scrolls_under_the_numbers(editor, left):
    assert editor.evaluate(SCROLLED, left) == []


def test_a_transparent_gutter_is_found(editor):
    editor.locator(".cm-gutters").evaluate("gutter => { gutter.style.backgroundColor = 'transparent' }")
    assert any('"1" overlaps' in fault or 'overlaps "1"' in fault for fault in editor.evaluate(SCROLLED, 13))
