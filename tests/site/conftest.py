"""The built book, a server of it on this machine, and pages opened in the browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.site.visit import Visit
from tools import build, serve

ROOT = build.ROOT


@pytest.fixture(scope="session")
def book(building: str) -> Path:
    """The folder of built pages."""
    if building == "failed":
        log = (ROOT / "_build" / "build.log").read_text(encoding="utf-8", errors="replace")
        pytest.fail(f"The book does not build.\n{log[-6000:]}", pytrace=False)
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def serve_folder() -> Iterator[Callable[[Path], str]]:
    """Serves a folder on a free port of this machine; gives its address, ending in a slash."""
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
    """The address of the served book."""
    return serve_folder(book)


@contextmanager
def visits(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens an address in a fresh profile; notes what it asks for, and cuts off every other host."""
    contexts: list[BrowserContext] = []

    def open_address(
        address: str, *, width: int = 1280, scheme: str = "light", scripts: bool = True, whole: bool = True
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
            reduced_motion="reduce",
            service_workers="block",
        )
        contexts.append(context)
        seen = Visit(context.new_page(), address, whole)
        seen.open()
        return seen

    yield open_address
    for context in contexts:
        context.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Visits of one test."""
    with visits(browser) as open_address:
        yield open_address


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest, browser: Browser, site: str) -> Iterator[Visit]:
    """One visit of a page, named by the parameter, for all tests that leave the page as they found it."""
    with visits(browser) as open_address:
        yield open_address(f"{site}{request.param}.html")
