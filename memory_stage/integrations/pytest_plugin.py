"""A pytest plugin: ``pytest --memory-stage-explain`` explains, below a failing test, why its backward pass failed.

Each test is watched as ``with memory_stage.explain():`` does. The report is a section of a failing test. At the
end, tests are listed that pass although a line made gradients silently wrong.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from memory_stage.messages import message, said

OPTION = "--memory-stage-explain"
SECTION = "memory-stage"
SILENT_SECTION = message("memory-stage: wrong gradients")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that turns the plugin on."""
    parser.getgroup("memory-stage").addoption(
        OPTION,
        action="store_true",
        help="explain failing tests of PyTorch and Paddle: which line overwrote a tensor that a backward pass needed",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch a test, and add the explanation of its faults to the test's report."""
    if not item.config.getoption(OPTION):
        return (yield)
    # The import is here so that runs without the option stay fast.
    from memory_stage.explanation.whole_run.explanation import watching

    try:
        explanation = watching({}, str(item.path))
    except ImportError as error:
        raise pytest.UsageError(f"{OPTION}: {error}") from None
    try:
        with explanation:
            return (yield)
    finally:
        name = said(SILENT_SECTION) if explanation.is_silently_wrong else SECTION
        if explanation.faults or explanation.unseen:
            item.add_report_section("call", name, str(explanation))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the tests that passed with wrong gradients."""
    found = [
        (report.nodeid, text)
        for report in terminalreporter.stats.get("passed", [])
        for name, text in report.sections
        if said(SILENT_SECTION) in name
    ]
    if found:
        terminalreporter.section(said(message("passed with wrong gradients (memory-stage)")))
    for test, text in found:
        terminalreporter.write_line(test, bold=True)
        terminalreporter.write_line(text)
