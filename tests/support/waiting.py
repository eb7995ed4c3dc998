"""Wait until a condition holds for something that changes: a page after a click, a process, a file that grows.

A busy machine makes everything late, so a test neither pauses for a fixed time nor reads a page once after an action.
It reads again until the condition holds. `tests/architecture/test_waiting.py` finds tests that do not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Locator, Page

PATIENCE = 60.0  # seconds until a condition counts as false
PAGE_PATIENCE = 120_000  # milliseconds for the work of a page; long, because a busy machine is not a fault of the page
PAUSE = 0.01  # seconds before the second read; each further pause is twice as long, up to the longest
LONGEST_PAUSE = 0.2
# A page applies the size of its window, its media and its scrolling when it draws its next frame.
TWO_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def until(condition: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Return True as soon as a condition holds; False if it still does not hold after ``patience`` seconds."""
    end = time.monotonic() + patience
    pause = PAUSE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
    return True


def drawn(page: Page) -> None:
    """Wait until a page with scripts has been drawn again, and its listeners have been called."""
    page.evaluate(TWO_FRAMES)


def box_of(element: Locator) -> FloatRect:
    """Return the place and the size of an element as soon as it is visible and rests.

    Playwright returns None for an element that is being replaced, as the picture of a stage is after scrolling.
    """
    boxes: list[FloatRect | None] = [None]

    def rests() -> bool:
        boxes.append(element.bounding_box())
        return boxes[-1] is not None and boxes[-1] == boxes[-2]

    assert until(rests), f"{element} is not visible, or does not rest: {boxes[-1]}"
    assert boxes[-1] is not None
    return boxes[-1]


class soon:
    """A value that is read again until a comparison holds: ``assert soon(page.evaluate, "step") == 3``.

    The name is in lower case, so that an assertion reads as a sentence. The value can be compared with ``==``, ``<``,
    ``<=``, ``>``, ``>=`` and ``in``, or asserted itself. For other conditions, pass a function:
    ``assert soon(lambda: "x" not in page.content())``. A read that raises an error is repeated, because the page may be
    loading another one. A failed assertion shows the last value.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, read: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self._read = lambda: read(*arguments, **named)
        self._last: Any = None

    def _holds(self, condition: Callable[[Any], Any]) -> bool:
        raised: list[Exception] = []

        def look() -> bool:
            raised.clear()
            try:
                self._last = self._read()
            except Exception as error:
                raised.append(error)
                return False
            return bool(condition(self._last))

        held = until(look)
        if raised:
            raise raised[0]
        return held

    def __bool__(self) -> bool:
        return self._holds(bool)

    def __eq__(self, other: object) -> bool:
        return self._holds(lambda value: value == other)

    def __lt__(self, other: Any) -> bool:
        return self._holds(lambda value: value < other)

    def __le__(self, other: Any) -> bool:
        return self._holds(lambda value: value <= other)

    def __gt__(self, other: Any) -> bool:
        return self._holds(lambda value: value > other)

    def __ge__(self, other: Any) -> bool:
        return self._holds(lambda value: value >= other)

    def __contains__(self, item: Any) -> bool:
        return self._holds(lambda value: item in value)

    def __repr__(self) -> str:
        return f"soon({self._last!r})"


def scrolled(page: Page) -> None:
    """Scroll a little, and wait until the stages stick: at this first scroll they move, so a click could miss them."""
    page.evaluate("scrollBy(0, 1)")
    page.locator("body.scrolled").wait_for()


def wait_for_script(page: Page, script: str, argument: Any = None) -> None:
    """Wait until a script returns a true value in a page.

    Playwright's ``wait_for_function`` evaluates the text of a script in the page whenever it waits, which the served
    book's policy forbids.
    """
    assert soon(page.evaluate, script, argument), script
