"""The stage's script, and its pictures without a browser.

One JavaScript source draws everything: the page, the notebook, and, run here in V8, the finished SVG that a page
shows where JavaScript is off. So there is one drawing, and the picture made here is, byte for byte, the one the page
draws for the same step and width.

* `script_source()` is a classic script: load it once per page (`<script src>`, also from file://), and every
  `<memory-stage>` element comes alive.
* `widget_source()` is the same text as an ES module for `anywidget`: a classic script cannot hold an `export`, so the
  line is added here.
* `svg(trace)` needs the optional package mini-racer (V8); `available()` tells whether it is there.

Measured on two cores of a small machine: V8 starts in .3 s, once a process; a picture then takes 10 to 20 ms for
programs of ten steps, 50 to 100 ms for eighty steps.
"""

from __future__ import annotations

from functools import cache

from minitensor.stage.embed import asset
from minitensor.stage.lighten import one_script
from minitensor.stage.v8 import Script

__all__ = ["available", "script_source", "svg", "widget_source"]

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


@cache
def script_source() -> str:
    """The stage as one classic script, style sheet included. Loaded twice, the second copy does nothing."""
    names = [f"stage-{part}.js" for part in _PARTS] + ["stage.js"]
    return one_script("The stage", "memoryStage", names, "stage.css", "picture, chart, answer, ways")


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
