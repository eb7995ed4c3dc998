"""The script of the stage, and pictures that it draws without a browser.

One script draws every picture: in the page, in the notebook, and in V8 for the SVG that a page shows without
JavaScript. So a picture from V8 equals, byte for byte, the one that the page draws for the same step and width.

* `script_source()` is a classic script. A page loads it once (`<script src>`, also from file://), and it starts every
  `<memory-stage>` element. Its texts are English; `scripts(language)` returns the names of the scripts that another
  language needs.
* `widget_source()` is an ES module with the same stage for `anywidget`, because a classic script has no `export`.

`tools/bundle.js` builds the script from the modules in the folder `js`.
"""

from __future__ import annotations

from functools import cache

from memory_stage.web.embed import asset, bundles, source_module
from memory_stage.web.v8 import Script

__all__ = ["available", "script_source", "scripts", "svg", "widget_source"]


def scripts(language: str = "en") -> tuple[str, ...]:
    """Return the names of the bundles for stages in a language."""
    return bundles("stage.js", language)


def script_source(language: str = "en") -> str:
    """Return the bundle of the stage, a classic script with its style sheet. A second load changes nothing."""
    return "".join(map(asset, scripts(language)))


def widget_source(language: str = "en") -> str:
    """Return the stage as an ES module for `anywidget`; the only trait of its model, `trace`, is a trace as a dict."""
    return script_source(language) + source_module("widgets/stage-widget.js")


def available() -> bool:
    """True if mini-racer is installed, so that `svg` can run."""
    try:
        _v8()
    except ImportError:
        return False
    return True


@cache
def _v8() -> Script:
    return Script(asset("words.js") + script_source(), "memoryStage")


def svg(trace: dict, variant: int = 0, step: int | None = None, width: int = 760, room: int | None = None) -> str:
    """Return the picture that the page draws of one step at `width` px, as a complete SVG for light and dark schemes.

    Args:
        step: the number of the step, counted from 0; None for the last.
        room: the largest height in px, or None. A picture that does not fit shows only the names of some storages.

    Raises:
        ImportError: if mini-racer is not installed.
        IndexError: if the trace has no such step or variant.
    """
    steps = trace["variants"][variant]["steps"]
    step = len(steps) - 1 if step is None else range(len(steps))[step]
    options = {"variant": variant, "step": step, "width": width}
    return _v8().call("picture", trace, options if room is None else {**options, "room": room})
