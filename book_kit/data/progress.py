"""A progress bar for a loop. It is a widget in a notebook that has ipywidgets, and a line of text elsewhere.

When the loop ends, a line of text replaces the widget. A saved notebook then shows the result even without widgets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")

#: The number of characters of the bar.
WIDTH = 30


def progress(items: Sequence[Item], label: str = "", note: Callable[[], str] | None = None) -> Iterator[Item]:
    """Yield the items, and show a bar that grows with each item.

    Args:
        label: the text that is shown before the bar.
        note: a function that is called after each item and returns the text to show after the bar, such as the loss.

    Raises:
        TypeError: if ``items`` has no length. The bar shows the finished fraction of the length.
    """
    try:
        total = len(items)
    except TypeError:
        raise TypeError(
            f"progress: items must have a length, and a {type(items).__name__} has none; pass a list"
        ) from None
    bar = _widget(total, label) or _Line()
    for done, item in enumerate(items):
        yield item
        bar.show(_text(done + 1, total, label, note() if note else ""), done + 1)
    bar.end()


def _text(done: int, total: int, label: str, note: str) -> str:
    full = WIDTH * done // max(total, 1)
    parts = [label, f"[{'=' * full}{' ' * (WIDTH - full)}]", f"{done}/{total}", note]
    return " ".join(part for part in parts if part)


class _Line:
    """One line of text. A terminal shows every text, each in place of the previous; other outputs get only the last."""

    def __init__(self) -> None:
        self.last, self.overwrites = "", sys.stdout.isatty()

    def show(self, text: str, done: int) -> None:
        if self.overwrites:
            sys.stdout.write(f"\r{text:{len(self.last)}}")
            sys.stdout.flush()
        self.last = text

    def end(self) -> None:
        sys.stdout.write("\n" if self.overwrites else f"{self.last}\n" if self.last else "")


class _Widget(_Line):
    """A bar of ipywidgets. At the end of the loop the last text replaces it."""

    def __init__(self, widgets: Any, display: Any, total: int, label: str) -> None:
        self.last, self.overwrites = "", False
        self.bar = widgets.IntProgress(min=0, max=total, description=label)
        self.beside = widgets.Label()
        self.box = widgets.HBox([self.bar, self.beside])
        display(self.box)

    def show(self, text: str, done: int) -> None:
        self.bar.value, self.beside.value, self.last = done, text.partition("] ")[2], text

    def end(self) -> None:
        self.box.close()
        super().end()


def _widget(total: int, label: str) -> _Widget | None:
    """Return a widget. Return None if ipywidgets is not installed, if no kernel runs, or in a build of the book."""
    if os.environ.get("MINITENSOR_BOOK") == "1":
        return None
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    try:
        import ipywidgets
    except ImportError:
        return None
    from IPython.display import display

    return _Widget(ipywidgets, display, total, label)
