"""The HTML element of a figure. It contains the figure's data and the content for a page without scripts.

The timeline, the map of the allocator, the stride explorer and the explorer of sizes all use one custom element,
`<memory-figure>`, and one script. A cell's output is that element with its data as JSON. The element also contains the
picture, the sentence and the numbers as tables. They are shown in print and in a page without JavaScript.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from memory_stage.messages import ENGLISH, Message, Text, aligned, default_language, message
from memory_stage.web.embed import as_data, asset, bundles, page_assets, prose, source_module
from memory_stage.web.v8 import Script

WIDTH = 760  # the width, in pixels, of a picture that is shown without scripts


def scripts(language: str = "en") -> tuple[str, ...]:
    """Return the names of the bundles for figures in a language."""
    return bundles("figures.js", language)


def script_source(language: str = "en") -> str:
    """Return the bundle of the figures, a classic script with its style sheet. A second load changes nothing."""
    return "".join(map(asset, scripts(language)))


def widget_source(language: str = "en") -> str:
    """Return the figures as an ES module for ``anywidget``. Its model has the traits ``data`` and ``chosen``."""
    return script_source(language) + source_module("widgets/figures-widget.js")


def in_language(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a figure, with the language of its texts unless that is English."""
    spoken = default_language()
    return data if spoken == ENGLISH else {**data, "language": spoken.tag}


def filled(template: Message, **values: Text | int) -> Message:
    """Return a text of a figure in which the placeholders are replaced by values."""
    return message(template.text, **values)


def templates(words: Mapping[str, Message]) -> dict[str, str]:
    """Return texts with placeholders in the current language, for the page's script."""
    spoken = default_language()
    return {key: spoken.template(text.text, None, 1) for key, text in words.items()}


@cache
def _script() -> Script:
    return Script(asset("words.js") + script_source(), "memoryFigures")


def picture(data: dict[str, Any], width: int = WIDTH, **chosen: Any) -> str:
    """Return the picture that the page draws at ``width`` px, as a complete SVG for light and dark schemes.

    Args:
        chosen: the reader's choices if they differ from the initial ones, such as ``step=3`` (counted from 0).

    Raises:
        ImportError: if mini-racer is not installed.
    """
    return ask_script("picture", data, {"width": width, **chosen})


def ask_script(function: str, *arguments: Any) -> Any:
    """Call a function of the page's script, such as ``"sentence"`` or ``"tables"``, with the data and the choices."""
    return _script().call(function, *arguments)


@dataclass(frozen=True)
class FigureTable:
    """Numbers for readers who do not see the picture: a caption, the column headings, and rows of text."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Figure:
    """A figure that a notebook shows if it is the last expression of a cell.

    Attributes:
        data: the input of the page's script. A JSON schema describes it for each kind of figure.
        sentence: a sentence that describes the first picture.
        tables: the figure's numbers as tables.
        steps: one sentence for each event; empty if the figure has no events, or too many.
        renew: in a live notebook, a function that returns new data for a reader's choices, or None to keep the old. The
            attribute is None if the data never change.
    """

    data: dict[str, Any]
    sentence: str
    tables: Sequence[FigureTable] = ()
    steps: Sequence[str] = ()
    renew: Callable[[dict[str, Any]], dict[str, Any] | None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.data = in_language(self.data)

    @property
    def _language(self) -> str:
        return self.data.get("language", "en")

    def widget(self) -> Any:
        """Return an ``anywidget`` for a notebook with a kernel. Its trait ``chosen`` has the reader's choices.

        Raises:
            ImportError: if the packages anywidget and traitlets are not installed.
        """
        import anywidget
        import traitlets

        class FigureWidget(anywidget.AnyWidget):
            _esm = widget_source(self._language)
            data = traitlets.Dict().tag(sync=True)
            chosen = traitlets.Dict().tag(sync=True)

        renew = self.renew
        shown = FigureWidget(data={**self.data, "live": True} if renew else self.data)
        if renew is not None:

            def answer(change: Any) -> None:
                data = renew(change["new"])
                if data is not None:
                    shown.data = data

            shown.observe(answer, names="chosen")
        return shown

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure as one HTML file that needs no other file or host."""
        script = script_source(self._language).replace("</", "<\\/")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f'<!doctype html>\n<html lang="{self._language}"><head><meta charset="utf-8">\n'
                '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                f"<title>{html.escape(self.data['title'])}</title>\n"
                "<style>html { color-scheme: light dark } "
                "body { margin: 16px auto; max-width: 1100px; padding: 0 16px }"
                f"</style></head><body><main>\n{self.as_html()}</main>\n<script>\n{script}</script></body></html>\n"
            )

    def as_text(self) -> str:
        """Return the sentence, the tables and the events as text for a terminal."""
        parts = [self.data["title"], *([self.data["ask"]] if self.data["ask"] else []), self.sentence]
        for table in self.tables:
            parts += [f"\n{table.caption}", *aligned([table.head, *table.rows])]
        parts += [f"{number:>4}. {step}" for number, step in enumerate(self.steps, 1)]
        return "\n".join(parts)

    def as_html(self) -> str:
        """Return the element with its data and with the HTML that is shown without JavaScript."""
        return (
            '<memory-figure class="mathjax_ignore">\n'
            f'<script type="application/json">{as_data(self.data)}</script>\n{self._fallback()}</memory-figure>'
        )

    def _fallback(self) -> str:
        parts = ['<div class="figure-fallback">\n', f"<p><strong>{html.escape(self.data['title'])}</strong></p>\n"]
        if self.data["ask"]:
            parts.append(f"<p>{prose(self.data['ask'])}</p>\n")
        with suppress(ImportError):  # without V8 the element contains no picture
            # An empty line would end the HTML for the page's Markdown reader.
            drawn = re.sub(r"\n\s*\n", "\n", picture(self.data))
            # An untrusted notebook removes only the SVG tags; the labels that remain should take no space.
            parts.append(f'<div style="font-size: 0px">{drawn}</div>\n')
        parts.append(f"<p>{prose(self.sentence)}</p>\n")
        parts += [_table(table) for table in self.tables]
        if self.steps:
            parts += ["<ol>\n", *(f"<li>{prose(step)}</li>\n" for step in self.steps), "</ol>\n"]
        return "".join([*parts, "</div>\n"])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = page_assets(*scripts(self._language), package="memory_stage.web") + self.as_html()
        return {"text/plain": self.as_text(), "text/html": page}


def _table(table: FigureTable) -> str:
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in table.head)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>\n"
        for row in table.rows
    )
    return (
        f'<div style="overflow-x: auto" tabindex="0" role="group" aria-label="{html.escape(table.caption)}">'
        f"<table><caption>{html.escape(table.caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}</tbody></table></div>\n"
    )
