"""The pytest plugin that requests and runs one unit of tests after another, in each process of `tools/run_tests.py`.

A unit is a file of tests, or a share of a file. A process collects only the units that it receives, and uses the
fixtures of its session (a browser, a server) for all of them. It reports each failure immediately.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

# Names of environment variables.
CONNECTION = "TESTS_CONNECTION"  # the file descriptor of the connection that delivers units
SHARED = "TESTS_FOLDER"  # the folder that the processes of one run share
NOW = "TESTS_NOW"  # the file to which a process writes the name of its current test
WIDEST = 1000  # the bytes to which the name is padded, so that it overwrites the whole previous name

#: A unit: the file, the index of the share, and the number of shares.
Unit = tuple[str, int, int]


class Turns:
    """Request units, run them, and report the results."""

    def __init__(self, connection: Connection, now: Path) -> None:
        self.connection = connection
        self.now = os.open(now, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.counts: Counter[str] = Counter()
        self.modules: dict[Path, pytest.Item | pytest.Collector] = {}

    def take(self, session: pytest.Session) -> tuple[Unit | None, list[pytest.Item]]:
        """Return the next unit and its tests; None and no tests if all units are assigned."""
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

    # ---- hooks of pytest ----

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """List the files without reading them, because a process reads only the files that it receives."""
        session.perform_collect(genitems=False)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item | pytest.Collector]) -> None:
        if not self.modules:
            self.modules = {node.path: node for node in items}
            items.clear()  # other plugins expect tests here, but these items are files

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        unit, items = self.take(session)
        while unit is not None:
            began = time.perf_counter()
            for item, following in zip(items, [*items[1:], session], strict=False):
                # The session counts as the item after the last test, so pytest keeps only the session's fixtures.
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
        """Report that the run is over and its output is complete."""
        self.connection.send(("done",))


def pytest_configure(config: pytest.Config) -> None:
    turns = Turns(Connection(int(os.environ[CONNECTION])), Path(os.environ[NOW]))
    config.pluginmanager.register(turns)
