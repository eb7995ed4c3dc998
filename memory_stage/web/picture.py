"""The stage's script, and its pictures without a browser.

One JavaScript source draws everything: the page, the notebook, and, run here in V8, the finished SVG that a page
shows where JavaScript is off. So there is one drawing, and the picture made here is, byte for byte, the one the page
draws for the same step and width.

* `script_source()` is a classic script: load it once per page (`<script src>`, also from file://), and every
  `<memory-stage>` element comes alive.
* `page_scripts()` is the same in two files, for pages of the book.
* `widget_source()` is the same text as an ES module for `anywidget`: a classic script cannot hold an `export`, so the
  line is added here.
* `svg(trace)` needs the optional package mini-racer (V8); `available()` tells whether it is there.

Measured on two cores of a small machine: V8 starts in .3 s, once a process; a picture then takes 10 to 20 ms for
programs of ten steps, 50 to 100 ms for eighty steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from memory_stage.web.embed import asset
from memory_stage.web.minify import lighten, one_script
from memory_stage.web.v8 import Script

__all__ = ["available", "page_scripts", "script_source", "svg", "widget_source"]

# In this order they are one program: later parts use earlier ones.
_PARTS = (
    "replay",
    "kit",
    "plan",
    "memory",
    "cells",
    "history",
    "bands",
    "picture",
    *("find", "ask", "legend", "controls"),
)
_EXPORTS = "picture, chart, answer, ways"
# What the legend is drawn with.
_FOR_THE_LEGEND = (
    "C, MOST_CELLS, P, R, T, cross, generationsOf, head, isGone, isStale, overlap, patternDef, planOf, runsText, "
    "stripesDef, stroke, touchedOf"
)


@cache
def script_source() -> str:
    """The stage as one classic script, style sheet included. Loaded twice, the second copy does nothing."""
    return _script(_PARTS, _EXPORTS)


@cache
def page_scripts() -> dict[str, str]:
    """The stage as the files that a page of the book names or loads later: by name, the stage and its legend.

    The legend, a twentieth of all, is asked for when a reader opens it.
    """
    parts = ["later" if part == "legend" else part for part in _PARTS]
    legend = lighten(asset("stage-legend.js"))
    return {
        "stage.js": _script(parts, f"{_EXPORTS}, kit: {{ {_FOR_THE_LEGEND} }}"),
        "stage-legend.js": f"memoryStage.legendOf ??= (() => {{\n'use strict';\n"
        f"const {{ {_FOR_THE_LEGEND} }} = memoryStage.kit;\n{legend}return legendOf;\n}})();\n",
    }


def _script(parts: Iterable[str], exports: str) -> str:
    names = [f"stage-{part}.js" for part in parts] + ["stage.js"]
    return one_script("The stage", "memoryStage", names, "stage.css", exports)


def widget_source() -> str:
    """The stage as an ES module for `anywidget`: its model has one trait, `trace`, a trace as a dict."""
    return script_source() + asset("stage-widget.js")


def available() -> bool:
    """Whether `svg` can run: mini-racer is installed and its V8 starts."""
    try:
        _v8()
    except ImportError:
        return False
    return True


@cache
def _v8() -> Script:
    return Script(script_source(), "memoryStage")


def svg(trace: dict, variant: int = 0, step: int | None = None, width: int = 760) -> str:
    """The picture of one step as a complete SVG, light and dark, equal to what the page draws at `width` px.

    `step` counts from 0; None is the last. Raises ImportError without mini-racer, IndexError for a step or variant
    that the trace does not have.
    """
    steps = trace["variants"][variant]["steps"]
    step = len(steps) - 1 if step is None else range(len(steps))[step]
    return _v8().call("picture", trace, {"variant": variant, "step": step, "width": width})
