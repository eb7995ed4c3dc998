"""Test how Python loads into a page: after a click, from the site's files, with size and progress, and only once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request

from tests.support.site.editing import ALIASES, THREE, Stage, needs_python
from tests.support.waiting import PAGE_PATIENCE

pytestmark = needs_python

#: Records the texts of a stage's editor and the values of its progress bar.
WATCH = """() => {
    globalThis.said = [];
    const [told, bar] = ['.live-told', 'progress'].map(name => document.querySelector(`memory-stage ${name}`));
    const look = () => said.push([told.textContent, bar.hidden ? null : bar.value]);
    new MutationObserver(look).observe(told, { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Open a new profile without stored files."""
    with browser.new_context() as context:
        context.set_default_timeout(PAGE_PATIENCE)
        yield context


def opened(context: BrowserContext, address: str) -> tuple[Page, Stage, list[Request]]:
    """Open a page; return it, its first stage, and the files that the page and its worker have loaded."""
    page, loaded = context.new_page(), []
    # Playwright sets an attribute on the function, which the built-in method `loaded.append` does not allow.
    context.on("requestfinished", lambda request: loaded.append(request))
    page.goto(address)
    return page, Stage(page, page.locator("memory-stage").first), loaded


def test_the_announced_size_is_the_downloaded_size_and_progress_is_shown(site, context, book):
    page, stage, loaded = opened(context, f"{site}{ALIASES}.html")
    stage.edit("x = mt.ones([2])")
    (said,) = re.findall(r"Python is loaded into this page: (\d+) MB, once", stage.status)
    assert not [each.url for each in loaded if "pyodide" in each.url]
    page.evaluate(WATCH)
    stage.run()
    assert stage.errors == []
    parts = json.loads((book / "_static" / "live" / "live.json").read_text(encoding="utf-8"))["files"]
    came = {each.url.rpartition("/")[2]: each.sizes()["responseBodySize"] for each in loaded}
    assert abs(sum(came[name] for name in parts if name in came) / 1e6 - int(said)) < 1.5
    assert {name for name in parts if name not in came} <= {"pyodide-lock.json"}
    shares = [share for text, share in page.evaluate("said") if text.startswith("Loading Python: ")]
    assert len(shares) > 5 and shares == sorted(shares) and shares[0] < 0.5 < shares[-1]
    assert page.evaluate("said").pop()[0] == "Running."


def test_downloaded_files_are_stored_for_other_pages_and_visits(site, context):
    page, stage, _ = opened(context, f"{site}{ALIASES}.html")
    stage.run("x = mt.ones([2])")
    page.close()
    _, stage, loaded = opened(context, f"{site}{THREE}.html")
    stage.run("x = mt.ones([3])")
    assert stage.errors == []
    again = [each for each in loaded if re.search(r"/live/.*\.(whl|wasm|zip)$", each.url)]
    assert [each.url for each in again] == []


def test_without_the_files_a_page_reports_that_python_does_not_load_and_can_retry(site, context):
    _, stage, _ = opened(context, f"{site}{ALIASES}.html")
    stage.edit("x = mt.ones([2])")
    context.route("**/python_stdlib.zip", lambda route: route.abort())
    stage.run()
    assert stage.status.startswith("Python does not load here: ")
    context.unroute("**/python_stdlib.zip")
    stage.run()
    assert stage.errors == [] and stage.data["variants"][0]["code"] == ["x = mt.ones([2])"]
