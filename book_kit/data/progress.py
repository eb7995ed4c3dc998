"""A progress bar for a loop: a widget in a notebook that has ipywidgets, a line of text elsewhere.

At the end the line of text remains, so that a page and a notebook without widgets show it too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")

#: Characters of the bar.
WIDTH = 30


def progress(items: Sequence[Item], label: str = "", note: Callable[[], str] | None = None) -> Iterator[Item]:
    """Yield the items, with a bar that grows with each.

    Args:
        label: the text before the bar.
        note: returns the text after it, called after each item: the loss, for example.

    Raises:
        TypeError: if ``items`` has no length, because the bar needs the end of the loop.
    """
    try:
        total = len(items)
    except TypeError:
        raise TypeError(f"progress: a {type(items).__name__} has no length; give it as a list") from None
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
    """One line of text, overwritten until the end; if the output is not a terminal, the last one only."""

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
    """A bar of ipywidgets, which is removed once the text is printed."""

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
    """Return a widget if a kernel runs and ipywidgets is installed; None on a page of the book, which has no kernel."""
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
