"""A plugin for pytest in each process of `tools/run_tests.py`: runs one unit of tests after another, as they are given.

A unit is a file of tests, or a share of one. Only what is given is collected; what a process has set up for a session
(a browser, a server) is there for all its units. The process that asks for units hears of every failure at once.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

CONNECTION = "TESTS_CONNECTION"  # the number of the open file over which units come
SHARED = "TESTS_FOLDER"  # what the processes of one run share
NOW = "TESTS_NOW"  # the file in which a process notes which test it is at
WIDEST = 1000  # bytes of a test's name in that file

#: A file, which share of it this is, and of how many.
Unit = tuple[str, int, int]


class Turns:
    """What a process has been given, and how it went."""

    def __init__(self, connection: Connection, now: Path) -> None:
        self.connection = connection
        self.now = os.open(now, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.counts: Counter[str] = Counter()
        self.modules: dict[Path, pytest.Item | pytest.Collector] = {}

    def take(self, session: pytest.Session) -> tuple[Unit | None, list[pytest.Item]]:
        """The next unit, and its tests; None when there is no further one."""
        self.connection.send(("next",))
        unit: Unit | None = self.connection.recv()
        if unit is None:
            return None, []
        path, share, shares = unit
        items = list(session.genitems(self.modules[session.config.rootpath / path]))
        session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
        session.items = items
        session.testscollected += len(items)
        session.config.hook.pytest_collection_finish(session=session)
        return unit, items[len(items) * share // shares : len(items) * (share + 1) // shares]

    # ---- what pytest calls ----

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Files are looked up, and none is read before it is given."""
        session.perform_collect(genitems=False)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item | pytest.Collector]) -> None:
        if not self.modules:
            self.modules = {node.path: node for node in items}
            items.clear()  # they are no tests, which others expect here

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        unit, items = self.take(session)
        while unit is not None:
            began = time.perf_counter()
            for item, following in zip(items, [*items[1:], session], strict=False):
                # After the last one comes the session itself: what was set up for a session stays, all else goes.
                os.pwrite(self.now, item.nodeid.encode().ljust(WIDEST), 0)
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
            self.connection.send(("ran", unit, self.counts, time.perf_counter() - began))
            self.counts = Counter()
            unit, items = self.take(session)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.counts["failed" if report.when == "call" else "error"] += 1
            self.connection.send(("failed", report.nodeid))
        elif report.skipped:
            self.counts["skipped" if not hasattr(report, "wasxfail") else "xfailed"] += 1
        elif report.when == "call":
            self.counts["passed"] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.counts["error"] += 1
            self.connection.send(("failed", report.nodeid))
        elif report.skipped:
            self.counts["skipped"] += 1

    def pytest_unconfigure(self) -> None:
        """The run is over, and all of it was written down."""
        self.connection.send(("done",))


def pytest_configure(config: pytest.Config) -> None:
    turns = Turns(Connection(int(os.environ[CONNECTION])), Path(os.environ[NOW]))
    config.pluginmanager.register(turns)
