"""Helpers for tests that edit and run the programs of a page in the browser."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page

from tests.support.site.visit import Visit
from tests.support.site.words import edition_of, said
from tests.support.waiting import wait_for_script
from tools import live

#: A mark for tests that press a button which needs Python.
needs_python = pytest.mark.skipif(
    not live.is_requested(), reason="needs a book built with Python for the browser: make test LIVE=1"
)
THREE = "chapters/02_three_kinds_of_operation"
ALIASES = "chapters/04_aliases"
CONFUSIONS = "chapters/fifteen_confusions"
OWN = "chapters/your_own_program"  # its stages show recorded runs of PyTorch and Paddle
PYTHON = "pyodide"  # part of the names of the files that the first click on a button loads


@dataclass
class Stage:
    """A stage of a page, used as a reader uses it."""

    page: Page
    element: Locator

    def edit(self, text: str | None = None) -> None:
        self.element.locator(".live-edit").click()
        self.editor.wait_for()
        if text is not None:
            self.write(text)

    def write(self, text: str) -> None:
        self.editor.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def choose(self, what: str, which: str) -> None:
        self.element.get_by_role("combobox", name=what, exact=True).select_option(which)

    def press(self, name: str) -> None:
        """Click the button that has this name in the English book."""
        own_name = said(name, edition_of(self.page.url))
        self.element.get_by_role("button", name=own_name, exact=True).click()

    def run(self, text: str | None = None) -> None:
        """Press Run, and wait until the stage shows the new recording, or the reason why there is none."""
        self.element.evaluate("stage => stage.removeAttribute('edited')")
        if text is not None:
            self.edit(text)
        self.press("Run")
        wait_for_script(
            self.page,
            "stage => stage.hasAttribute('edited') || !stage.querySelector('.live-actions button').disabled",
            self.element.element_handle(),
        )

    @property
    def editor(self) -> Locator:
        return self.element.locator(".cm-content")

    @property
    def status(self) -> str:
        return self.element.locator(".live-told").text_content() or ""

    @property
    def data(self) -> dict:
        return self.element.evaluate("stage => stage.data")

    @property
    def shown(self) -> dict:
        """Return the variant that the stage opens with."""
        data = self.data
        return next(each for each in data["variants"] if each["id"] == data["opens"])

    @property
    def said(self) -> list[list[str]]:
        return [[step["say"] for step in variant["steps"]] for variant in self.data["variants"]]

    @property
    def errors(self) -> list[str]:
        events = [e for variant in self.data["variants"] for step in variant["steps"] for e in step["events"]]
        return [event["text"] for event in events if event["do"] == "raise"]

    @property
    def printed(self) -> str:
        return "".join(step.get("out", "") for variant in self.data["variants"] for step in variant["steps"])


def python_requests(visit: Visit) -> list[str]:
    return [request.url for request in visit.finished if PYTHON in request.url]
