"""A stage on a page of its own, opened in the shared browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stage import pages

PROBES = (Path(__file__).parent / "probes.js").read_text(encoding="utf-8")


@pytest.fixture
def show(browser):
    """show(name, ...) opens a page with the stage of that trace; a page error or a console error fails the test."""
    contexts, errors = [], []

    def open_page(name=None, *, body=None, width=760, scheme="light", motion="no-preference", js=True, **look):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion=motion,
            java_script_enabled=js,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.set_content(pages.page(body or pages.element(pages.trace(name)), **look))
        if js:
            page.add_script_tag(content=PROBES)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
