"""A matplotlib figure that is shown as SVG in the stage's light and dark colours, with a label for screen readers.

This module imports matplotlib, so it is imported only when the first figure is drawn.
"""

from __future__ import annotations

import html
import io
import json
import re
import warnings
from functools import cache

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from memory_stage.web.embed import source_module

#: Matches a Chinese character.
_WIDE = re.compile("[\u4e00-\u9fff]")

#: Styles that remove the background that a dark page gives to outputs, and use the light colours in print.
_STYLE = """<style>
.mt-inked { color-scheme: light dark; overflow-x: auto; }
.mt-inked svg { width: 100%; min-width: 30em; max-width: 44em; height: auto; fill: light-dark(INK); }
html[data-theme="light"] .mt-inked { color-scheme: light; }
html[data-theme="dark"] .mt-inked { color-scheme: dark; }
html[data-theme="dark"] .bd-content div.cell_output .text_html.text_html:has(> .mt-inked) {
  padding: 0; background: none;
}
@media print { html .mt-inked { color-scheme: light !important; } }
</style>"""


@cache
def colours(scheme: str) -> dict[str, str]:
    """Return the stage's colours by name, for the scheme "light" or "dark"."""
    found: dict[str, str] = json.loads(source_module("shared/colors.json"))[scheme]
    return found


class InkedFigure(Figure):
    """A figure with a size in inches that opens no window. Notebooks and pages show it as SVG."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained", facecolor=colours("light")["paper"])
        FigureCanvasAgg(self)

    def _repr_html_(self) -> str:
        text = io.StringIO()
        # The salt gives elements the same names in every build. Matplotlib's own font has no Chinese characters, so the
        # browser draws a Chinese text in a font of the reader's system.
        shown = "".join(part.get_text() for part in self.findobj(Text))
        fonts = "none" if _WIDE.search(shown) else "path"
        with rc_context({"svg.hashsalt": "minitensor", "svg.fonttype": fonts}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from")
            self.savefig(text, format="svg", metadata={"Date": None})
        drawn = re.sub(
            r"<metadata>.*?</metadata>", "", text.getvalue()[text.getvalue().index("<svg") :], flags=re.DOTALL
        )
        drawn = re.sub(r'<g id="[^"]*"(/?)>', r"<g\1>", drawn)  # the ids of several figures in one page would collide
        night = colours("dark")
        for name, day in colours("light").items():
            drawn = drawn.replace(day, f"light-dark({day}, {night[name]})")
        style = _STYLE.replace("INK", f"{colours('light')['ink']}, {night['ink']}")
        said = html.escape("; ".join(axes.get_title(loc="left") for axes in self.axes if axes.get_title(loc="left")))
        return f'<div class="mt-inked" role="img" tabindex="0" aria-label="{said or "figure"}">{style}{drawn}</div>'
