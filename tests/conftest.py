"""Fixtures for several folders: the built book, one browser for each process, and reused pages.

``--operation sin`` runs the tests of one operation.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import PAGE_PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page


# ---- the tests of one operation --------------------------------------------------------------------------------------

#: Replaces the missing ``callspec`` of a test without parameters.
NOTHING = SimpleNamespace(params={})
PARAM = type(pytest.param())
#: Folders and files of tests whose parameters are operations.
OF_OPERATIONS = (
    *("tests/minitensor/engine", "tests/minitensor/vocabulary", "tests/memory_stage/explanation"),
    "tests/minitensor/conformance/test_goldens.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--operation", metavar="NAME", help="the tests of one operation, normal and in place")


def pytest_configure(config: pytest.Config) -> None:
    wanted = config.getoption("--operation")
    if wanted is None:
        return
    from minitensor.engine.table import ROWS

    if wanted.removesuffix("_") not in ROWS:
        raise pytest.UsageError(f"--operation {wanted}: the table has no operation of that name")
    config.pluginmanager.register(OneOperation(wanted.removesuffix("_"), set(ROWS), config.rootpath))


class OneOperation:
    """Collect only tests that have the operation as a parameter.

    Collecting all tests and deselecting most of them would take ten times as long.
    """

    def __init__(self, name: str, all_names: set[str], root: Path) -> None:
        self.name = name
        self.all_names = all_names
        self.folders = [root / part for part in OF_OPERATIONS]

    def names(self, value: object) -> set[str]:
        """Return the operations that a parameter or, for a tuple, its elements contain: as text or as a ``name``."""
        values = value.values if isinstance(value, PARAM) else value if isinstance(value, tuple) else (value,)
        names = {each if isinstance(each, str) else getattr(each, "name", None) for each in values}
        return self.all_names & {name.removesuffix("_") for name in names if isinstance(name, str)}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        inside = any(folder in (collection_path, *collection_path.parents) for folder in self.folders)
        left_out = collection_path.name == "test_benchmarks.py"  # its imports take a second
        return None if (inside and not left_out) or collection_path.is_dir() else True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, name: str, obj: object) -> list[pytest.Item] | None:
        """Skip a function by returning an empty list, unless one of its parameters is the operation."""
        marks = [mark for mark in getattr(obj, "pytestmark", ()) if mark.name == "parametrize"]
        lists = [[*mark.args, mark.kwargs.get("argvalues")][1] for mark in marks]
        if not name.startswith("test") or any(iter(values) is values for values in lists):
            return None  # an iterator can be read only once, so leave it to pytest
        return None if any(self.name in self.names(value) for values in lists for value in values) else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        parametrize = metafunc.parametrize

        def parametrize_with_operation(parameters, values, *more, ids=None, **options):
            values = list(values)
            about = [self.names(value) for value in values]
            if any(about):
                kept = [at for at, names in enumerate(about) if self.name in names]
                values = [values[at] for at in kept]
                ids = [list(ids)[at] for at in kept] if ids is not None and not callable(ids) else ids
            parametrize(parameters, values, *more, ids=ids, **options)

        metafunc.parametrize = parametrize_with_operation

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        selected = [
            item
            for item in items
            if any(self.name in self.names(value) for value in getattr(item, "callspec", NOTHING).params.values())
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(selected)])
        items[:] = selected


# ---- the garbage collector -------------------------------------------------------------------------------------------


def settle() -> None:
    """Collect garbage, and let the collector ignore the remaining objects from now on.

    Hundreds of tests run the collector. If it visited the objects of all imported modules and earlier tests, each run
    would take a quarter of a second.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    settle()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    fail_if_a_listener_is_left()
    fail_if_anomaly_detection_is_left_on()
    if nextitem is not None and nextitem.path != item.path:
        settle()


# ---- leftovers of a test ---------------------------------------------------------------------------------------------


def fail_if_a_listener_is_left() -> None:
    """Fail the test that leaves a listener, and remove it. Otherwise it would receive the events of all later tests."""
    events = sys.modules.get("minitensor.engine.events")  # not every test needs the engine
    if events is not None and (left := events.watch.listener) is not None:
        events.watch.listener = None
        pytest.fail(f"the test has not removed its listener: {left!r}", pytrace=False)


def fail_if_anomaly_detection_is_left_on() -> None:
    """Fail the test that leaves anomaly detection on, and switch it off. Otherwise it could fail a later test."""
    errors = sys.modules.get("minitensor.torch.errors")
    if errors is not None and errors.anomaly.on:
        errors.anomaly.on = False
        pytest.fail("the test has not switched off anomaly detection", pytrace=False)


# ---- the book and the browser ----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def building(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the book once for all processes of a test run. Return "done", "failed", or "kept" if it was up to date."""
    from filelock import FileLock  # imported here, so that the engine's tests run without the packages for the book

    from tools import build
    from tools.taking_turns import SHARED

    shared = Path(os.environ.get(SHARED) or tmp_path_factory.getbasetemp())
    if "PYTEST_XDIST_WORKER" in os.environ:  # pytest -n 2
        shared = shared.parent
    outcome = shared / "building"
    with FileLock(shared / "building.lock"):
        if not outcome.exists():
            fresh = build.is_fresh(build.ROOT)
            outcome.write_text("kept" if fresh else "failed" if build.build(build.ROOT, quiet=True) else "done")
    return outcome.read_text()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return a headless Chromium for the whole process, because Playwright cannot be started twice in a thread."""
    from playwright.sync_api import expect, sync_playwright  # imported here, so that the engine's tests run without it

    from tools import chromium

    try:
        found = chromium.find()
    except FileNotFoundError as error:
        pytest.fail(str(error))
    expect.set_options(timeout=PAGE_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=chromium.FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def idle_pages() -> dict[bool, list[Page]]:
    """Return the empty pages that can be reused, keyed by True (with JavaScript) and False (without)."""
    return {True: [], False: []}


@pytest.fixture
def open_page(browser: Browser, idle_pages: dict[bool, list[Page]]) -> Iterator[Callable[..., Page]]:
    """Return a function that opens an empty page. An error on the page or in its console fails the test.

    A new page takes a process and most of a second, so tests reuse pages. Documents and windows do not outlive a test,
    but cookies and stored data do. Use ``visit`` to open a page without stored data.
    """
    taken: list[tuple[Page, bool]] = []
    errors: list[str] = []

    def note_error(error: Error) -> None:
        errors.append(str(error))

    def note_message(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    def take(
        *, width: int = 760, height: int = 900, scheme: str = "light", motion: str = "no-preference", js: bool = True
    ) -> Page:
        page = idle_pages[js].pop() if idle_pages[js] else browser.new_context(java_script_enabled=js).new_page()
        page.set_default_timeout(PAGE_PATIENCE)
        taken.append((page, js))
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(media="null", color_scheme=scheme, reduced_motion=motion)
        page.on("pageerror", note_error)
        page.on("console", note_message)
        return page

    yield take
    for page, js in taken:
        page.goto("about:blank")  # a new document in a new window
        page.remove_listener("pageerror", note_error)
        page.remove_listener("console", note_message)
        idle_pages[js].append(page)
    assert errors == []
