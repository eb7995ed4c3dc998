"""Fixture for the stage's web tests: a stage alone on a page of the shared browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.web import pages

PROBES = Path(pages.__file__).with_name("probes.js").read_text(encoding="utf-8")


@pytest.fixture
def show(open_page):
    """Return a function that opens a page with the stage of a trace. An error on the page or its console fails the
    test.
    """

    def show_stage(name=None, *, body=None, width=760, scheme="light", motion="no-preference", js=True, **look):
        page = open_page(width=width, scheme=scheme, motion=motion, js=js)
        page.set_content(pages.page(body or pages.element(pages.trace(name)), **look))
        if js:
            page.evaluate("Promise.all([...document.fonts].map(face => face.load()))")
            page.add_script_tag(content=PROBES)
        return page

    return show_stage
