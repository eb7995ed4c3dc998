"""Fixtures: the built book, a server of it on this machine, and pages opened in the browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.support.site.editing import Stage
from tests.support.site.visit import REPORT_REFUSED, Visit
from tests.support.waiting import PAGE_PATIENCE
from tools import build, serve

ROOT = build.ROOT


@pytest.fixture(scope="session")
def book(building: str) -> Path:
    """Return the folder of built pages."""
    if building == "failed":
        log = (ROOT / "_build" / "build.log").read_text(encoding="utf-8", errors="replace")
        pytest.fail(f"The book does not build.\n{log[-6000:]}", pytrace=False)
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def serve_folder() -> Iterator[Callable[[Path], str]]:
    """Return a function that serves a folder on a free port, and returns an address that ends in a slash."""
    servers = []

    def start(folder: Path) -> str:
        server = serve.open_server(folder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://{serve.HOST}:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def site(book: Path, serve_folder: Callable[[Path], str]) -> str:
    """Return the address of the served book."""
    return serve_folder(book)


@pytest.fixture(scope="session")
def idle_tabs() -> dict[bool, list[Page]]:
    """Return the tabs that no visit is using, keyed by True (with scripts) and False (without)."""
    return {True: [], False: []}


@contextmanager
def visits(browser: Browser, idle: dict[bool, list[Page]]) -> Iterator[Callable[..., Visit]]:
    """Yield a function that opens an address as in a fresh profile, records its requests, and blocks other hosts.

    A new profile has a new process, whose start takes three times as long as opening a page. Therefore visits reuse the
    tab of an earlier visit, from which everything stored was deleted.
    """
    begun: list[tuple[Visit, bool]] = []

    def open_address(
        address: str, *, width: int = 1280, scheme: str = "light", scripts: bool = True, whole: bool = True
    ) -> Visit:
        tab = idle[scripts].pop() if idle[scripts] else new_tab(browser, scripts)
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(media="null", color_scheme=scheme, reduced_motion="reduce")
        seen = Visit(tab, address, whole)
        begun.append((seen, scripts))
        seen.open()
        return seen

    yield open_address
    for seen, scripts in begun:
        if seen.leave():
            idle[scripts].append(seen.page)


def new_tab(browser: Browser, scripts: bool) -> Page:
    context = browser.new_context(java_script_enabled=scripts, service_workers="block")
    context.set_default_timeout(PAGE_PATIENCE)
    context.add_init_script(f"({REPORT_REFUSED})()")
    return context.new_page()


@pytest.fixture
def visit(browser: Browser, idle_tabs: dict[bool, list[Page]]) -> Iterator[Callable[..., Visit]]:
    """Return the function with which one test opens pages."""
    with visits(browser, idle_tabs) as open_address:
        yield open_address


@pytest.fixture(scope="module")
def opened(
    request: pytest.FixtureRequest, browser: Browser, idle_tabs: dict[bool, list[Page]], site: str
) -> Iterator[Visit]:
    """Return a visit of the page that the parameter names. All tests of the page share it."""
    with visits(browser, idle_tabs) as open_address:
        yield open_address(f"{site}{request.param}.html")


@pytest.fixture(scope="module")
def on_a_phone(
    request: pytest.FixtureRequest, browser: Browser, idle_tabs: dict[bool, list[Page]], book: Path
) -> Iterator[Visit]:
    """Return a visit of the page that the parameter names, on a phone and opened from the disk."""
    with visits(browser, idle_tabs) as open_address:
        yield open_address((book / f"{request.param}.html").as_uri(), width=360)


@pytest.fixture(scope="module")
def on_page(browser: Browser, site: str) -> Iterator[Callable[..., tuple[Visit, list[Stage]]]]:
    """Return a function that returns the visit of a page and the page's stages, and opens the page only once.

    The tests that use the page share its tab, and therefore also the Python that one of them loads.
    """
    kept: dict[str, Visit] = {}
    with visits(browser, {True: [], False: []}) as open_address:

        def opened(name: str) -> tuple[Visit, list[Stage]]:
            if name not in kept:
                kept[name] = open_address(f"{site}{name}.html", width=1440)
            visit = kept[name]
            return visit, [Stage(visit.page, each) for each in visit.page.locator("memory-stage").all()]

        yield opened
        for visit in kept.values():
            assert visit.foreign == visit.complaints == visit.refused == []
