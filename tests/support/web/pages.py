"""Pages that contain a stage, and the traces to show on them."""

from __future__ import annotations

import base64
import html
import json
import re
from functools import cache
from pathlib import Path

from memory_stage.web.picture import script_source

FOLDER = Path(__file__).parent / "traces"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))

# Styles of a book's theme for all tables, buttons, lists and pictures of a page. They must not affect the stage.
THEME_CSS = """
* { letter-spacing: .02em } svg { display: inline; vertical-align: middle; fill: red } text { font-size: 31px }
table { width: 50px; font-size: 9px } td, th { padding: 30px; border: 5px solid red } li { margin: 40px }
button { background: red; text-transform: uppercase } code { color: magenta; background: yellow }
p { margin: 3em; font-size: 40px } input { display: none } ol { padding: 99px } details { display: none }
"""


FONTS = Path(__file__).resolve().parents[3] / "_ext" / "book_pages" / "theme" / "static" / "fonts"


@cache
def faces() -> str:
    """Return a style sheet with the fonts of the book's pages, so that a stage does not depend on the machine's
    fonts.
    """
    reported = [':root { --book-sans: "Book Sans"; --book-mono: "Book Mono" }']
    for name, family, weight in (
        ("BookSans-Regular", "Book Sans", "400"),
        ("BookSans-SemiBold", "Book Sans", "600 700"),
        ("BookMono-Regular", "Book Mono", "400"),
        ("BookMono-SemiBold", "Book Mono", "600 700"),
    ):
        data = base64.b64encode((FONTS / f"{name}.woff2").read_bytes()).decode()
        reported.append(
            f'@font-face {{ font-family: "{family}"; font-weight: {weight}; src: url(data:font/woff2;base64,{data}) }}'
        )
    return "\n".join(reported)


def trace(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def element(data: dict, fallback: str = "", attributes: str = "") -> str:
    """Return the HTML of a stage. "<" is escaped, because only this character could end the script element early."""
    script = f'<script type="application/json">{json.dumps(data).replace("<", chr(92) + "u003c")}</script>'
    return f"<memory-stage {attributes}>{script}{fallback}</memory-stage>"


def page(body: str, *, css: str = "", script: bool = True, theme: str = "") -> str:
    loaded = f"<script>{script_source()}</script>" if script else ""
    return (
        f'<!doctype html><html lang="en"{f" data-theme={theme}" if theme else ""}><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>A stage</title>'
        "<style>body { margin: 0; font-family: serif } html[data-theme=dark] body { background: #14181e }"
        f"{faces()}{css}</style></head><body><main><h1>A stage</h1>{body}</main>{loaded}</body></html>"
    )


def spoken(say: str) -> str:
    """Return a sentence as a screen reader reads it, without the backticks that mark code."""
    return re.sub(r"`([^`]+)`", r"\1", say)


def escaped(text: str) -> str:
    return html.escape(text)
