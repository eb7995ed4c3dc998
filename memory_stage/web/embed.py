"""Build the HTML of a cell's output: escaped texts, and the scripts and style sheets that it needs.

A script or style sheet is usually written into an output once per kernel session (see `page_assets`), or never if the
page links it. Every script checks if its element is already defined, and a repeated style sheet has no effect.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
from importlib.resources import files
from typing import Any

_CODE_SPAN = re.compile(r"`([^`]+)`")

# Maps the name of an asset to the cell id and the execution count of the run whose output includes it.
_included_by: dict[str, tuple[str | None, int | None]] = {}


def prose(text: str) -> str:
    """Return `text` as HTML: escaped, and with `<code>` for each part between two backticks."""
    pieces = _CODE_SPAN.split(text)
    pieces[0::2] = [html.escape(piece) for piece in pieces[0::2]]
    pieces[1::2] = [_code(span) for span in pieces[1::2]]
    return "".join(pieces)


def _code(span: str) -> str:
    several_lines = ' class="mt-lines"' if "\n" in span else ""
    return f"<code{several_lines}>{html.escape(span)}</code>"


def page_assets(*names: str, package: str) -> str:
    """Return the `<style>` and `<script>` elements of assets, which a cell's HTML output has to begin with.

    In the book (environment variable `MINITENSOR_BOOK=1`) the result is empty, because the pages link the same files.
    An asset is left out if an output already includes it in this kernel session. If the cell of that output runs again,
    its new output replaces the old one, so the new output includes the asset again. Colab shows each output in a
    separate frame, so every output in Colab includes all assets.

    Args:
        names: the names of files in the folders `css` and `built` of `package`.
    """
    return "".join(_element(name, package) for name in names if _must_include(name))


def bundles(name: str, language: str) -> tuple[str, ...]:
    """Return the scripts to load: the named bundle and, before it, the words of a language other than English."""
    return (name,) if language == "en" else ("words.js", name)


def asset(name: str, package: str = "memory_stage.web") -> str:
    """Return the text of a bundled script or a style sheet, from the folder `built` or `css` of `package`."""
    folder = "css" if name.endswith(".css") else "built"
    return (files(package) / folder / name).read_text(encoding="utf-8")


def source_module(name: str) -> str:
    """Return the text of a file in the folder `js` that is used without bundling."""
    return (files("memory_stage.web") / "js" / name).read_text(encoding="utf-8")


def _must_include(name: str) -> bool:
    if os.environ.get("MINITENSOR_BOOK") == "1":
        return False
    if "google.colab" in sys.modules:
        return True
    cell, count = _current_run()
    if name in _included_by:
        previous_cell, previous_count = _included_by[name]
        run_again = cell is not None and cell == previous_cell and count != previous_count
        if not run_again:
            return False
    _included_by[name] = cell, count
    return True


def _current_run() -> tuple[str | None, int | None]:
    """Return the id of the running cell (None if the front end does not send one) and its execution count."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return None, None
    request = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return request.get("metadata", {}).get("cellId"), shell.execution_count


def _element(name: str, package: str) -> str:
    if name.endswith(".js"):
        return _script(asset(name, package))
    if name.endswith(".css"):
        return f"<style>\n{asset(name, package)}</style>\n"
    raise ValueError(f"page_assets takes .css and .js files, not {name!r}")


def _script(source: str) -> str:
    # In a string of the script, "</" would end the element early; "<\/" means the same.
    return "<script>\n" + source.replace("</", "<\\/") + "</script>\n"


#: Pictures are laid out for letters as wide as Arial's. If the reader's machine has only wider fonts, as some Linux
#: systems do, the letters are scaled down so that words do not overlap.
_FONT = (
    "@font-face { font-family: as-wide-as-arial; src: local('DejaVu Sans'), local('Verdana'); size-adjust: 86% } "
    "@font-face { font-family: as-wide-as-arial; font-weight: 600 700; src: local('DejaVu Sans Bold'), local('Verdana "
    "Bold'); size-adjust: 82% } :root { --book-sans: -apple-system, 'Segoe UI', Arial, Helvetica, 'Liberation Sans', "
    "Arimo, 'Nimbus Sans', as-wide-as-arial, sans-serif }"
)


#: A script that gives the focus to the stage's main button, so that arrow keys work without a click.
_KEYS = """\
addEventListener("load", () => {
  const button = document.querySelector("memory-stage")?.shadowRoot?.querySelector(".next");
  button?.focus({ preventScroll: true, focusVisible: false });
});
"""


def whole_page(title: str, body: str, script: str, language: str = "en") -> str:
    """Return an HTML page that needs no other file or host. `title` is text, `body` is HTML.

    `language` is the value of the attribute `lang`.
    """
    return (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n"
        f"<style>{_FONT} html {{ color-scheme: light dark }} body {{ margin: 16px auto; max-width: 1100px; "
        "padding: 0 16px; font-family: var(--book-sans) } "
        "td, th, caption { padding: 2px 8px; text-align: left; vertical-align: top }</style></head>\n"
        f"<body><main>\n{body}</main>\n{_script(script)}{_script(_KEYS)}</body></html>\n"
    )


def as_data(data: dict[str, Any]) -> str:
    """Return the data of an element as JSON for a script element. Nothing in the data can end that element early."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # In JSON, the characters < and > and & occur only inside strings, where these escapes have the same meaning.
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
