"""A pytest plugin for the process of a mutant. It writes the failing tests and their messages as JSON lines.

``MUTATION_REPORT`` names the file. A failure in a test's body is distinguished from one in its setup or in an import.
If ``MUTATION_DEVICES`` is "host", the plugin deselects the tests on a GPU; if it is "gpu", the plugin deselects all
other tests.
"""

from __future__ import annotations

import json
import os
from typing import Any


def _note(entry: dict[str, Any]) -> None:
    with open(os.environ["MUTATION_REPORT"], "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def pytest_sessionstart() -> None:
    import minitensor

    _note({"package": os.path.dirname(minitensor.__file__)})


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    wanted = os.environ.get("MUTATION_DEVICES")
    if not wanted:
        return
    parameters = [(getattr(item, "callspec", None) and item.callspec.params) or {} for item in items]
    on_gpu = [parameter.get("device", "cpu") != "cpu" for parameter in parameters]
    chosen = [on == (wanted == "gpu") for on in on_gpu]
    config.hook.pytest_deselected(items=[item for item, keep in zip(items, chosen, strict=True) if not keep])
    items[:] = [item for item, keep in zip(items, chosen, strict=True) if keep]


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _note({"broken": report.nodeid, "message": str(report.longrepr)[-400:]})


def pytest_runtest_logreport(report: Any) -> None:
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash is not None else str(report.longrepr)[-400:]
        _note({"failed" if report.when == "call" else "broken": report.nodeid, "message": message})
