"""Run some of the engine's tests and random programs in a page. `python -m tests.in_the_browser` runs all tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.in_the_browser.driving import Python, python_in
from tools import live
from tools.environment import PACKAGES

pytestmark = pytest.mark.skipif(not live.is_requested(), reason="needs the files of Python in a page: make test LIVE=1")
SHARE = [f"tests/minitensor/engine/test_{name}.py" for name in ("views", "dtypes", "sharing", "copy_on_write_policies")]
SHARE += ["tests/minitensor/vocabulary/test_torch_gradients.py"]
#: The errors of modules that need a library without a version for pages, or a part that the wheel for pages lacks.
LIBRARIES = ("cupy", "torch", "paddle", "matplotlib", "IPython", "pytorch_lightning", "transformers")
NOT_IN_A_PAGE = re.compile(
    rf"ModuleNotFoundError: No module named '({'|'.join(LIBRARIES)}|memory_stage\.engines\.(torch|paddle))'"
)


@pytest.fixture(scope="module")
def python(browser: Browser) -> Iterator[Python]:
    with python_in(browser, live.fetch_parts()) as python:
        yield python


def test_the_python_of_the_browser_has_32_bits(python):
    assert python.versions() == {"python": "3.13.2", "numpy": "2.2.5", "platform": "emscripten", "intp": 4}


def test_the_tests_of_the_engine_pass_in_the_browser(python):
    found = python.tests(paths=SHARE)
    assert not found["failed"], "\n\n".join(found["failed"].values())
    assert found["counts"]["passed"] >= 2_000


def test_a_test_that_fails_in_the_browser_is_reported(python):
    """If failures were lost on their way, the tests above would prove nothing."""
    found = python.broken()
    assert found["counts"] == {"passed": 1, "failed": 1, "left out": 1}
    assert "assert 1 == 2" in next(iter(found["failed"].values()))
    assert found["reasons"] == {"starts a process": 1}


@pytest.mark.parametrize("policy", ["2.6", "2.5", "copy_on_write", "mixed"])
def test_random_programs_are_right_or_refused_in_the_browser(python, policy):
    found = python.programs(seed="in the page", first=0, count=100, policy=policy, lengths=[2, 9])
    assert not found["wrong"], "\n\n".join(found["wrong"])
    assert found["verdicts"]["right"] >= 50


def test_a_long_history_is_freed_on_the_small_stack(python):
    found = python.tests(paths=["tests/minitensor/engine/test_depth.py"], options=["-k", "default_stack"])
    assert found["counts"] == {"passed": 17}, found["failed"]


def test_every_module_of_the_wheel_can_be_imported_in_the_browser(python):
    """Modules are excepted if they need a library that a page lacks, or a part that the wheel for pages leaves out."""
    modules = python.modules()
    assert {name.partition(".")[0] for name in modules["found"]} == set(PACKAGES)
    lacking = {name: error for name, error in modules["lacking"].items() if not NOT_IN_A_PAGE.fullmatch(error)}
    assert not lacking
    assert "book_kit" not in {name.partition(".")[0] for name in modules["lacking"]}
