"""Run some of the engine's tests and random programs in a page. `python -m tests.in_the_browser` runs all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.in_the_browser.driving import Python, python_in
from tools import live

pytestmark = pytest.mark.skipif(not live.is_requested(), reason="needs the files of Python in a page: make test LIVE=1")
SHARE = [f"tests/minitensor/engine/test_{name}.py" for name in ("views", "dtypes", "sharing", "copy_on_write_policies")]
SHARE += ["tests/minitensor/vocabulary/test_torch_gradients.py"]


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
    """Modules that need CuPy, PyTorch or Paddle are excepted, because a page has none of these libraries."""
    lacking = {name: error.rpartition(" ")[2] for name, error in python.modules().items()}
    assert set(lacking.values()) <= {"'cupy'", "'torch'", "'paddle'"}, lacking
    assert "book_kit" not in lacking
