"""Read the state of a stage or a figure on a page, and move the focus inside it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from tests.support.web import pages

#: A JavaScript expression for the current step of the stage.
STEP = "host().at.step"


def steps_of(name: str, variant: int = 0) -> list[dict[str, Any]]:
    """Return the steps of a variant of an example."""
    return pages.trace(name)["variants"][variant]["steps"]


def sentence(page: Page) -> str:
    """Return the sentence that a screen reader announces."""
    return page.locator("[aria-live=polite] .sentence").inner_text()


def squeezed(text: str) -> str:
    """Return the text with each run of white space replaced by one space."""
    return " ".join(text.split())


def tab_to(page: Page, selector: str, focused: str = "focused") -> None:
    """Press Tab until the focused element matches ``selector``.

    Args:
        focused: the function of the page's probes that returns the focused element.
    """
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(f"{focused}()?.matches('{selector}')"):
            return
    raise AssertionError(f"Tab does not reach {selector}")
