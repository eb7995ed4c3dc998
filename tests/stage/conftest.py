"""A stage on a page of its own, opened in the shared browser."""

from __future__ import annotations

import pytest

from tests.stage import pages


@pytest.fixture
def show(browser):
    """show(name, ...) opens a page with the stage of that trace and gives the page; a page error fails the test."""
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
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
