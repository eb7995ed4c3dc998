"""The stage's script, and its pictures without a browser.

One JavaScript source draws everything: the page, the notebook, and, run here in V8, the finished SVG that a page
shows where JavaScript is off. So there is one drawing, and the picture made here is, byte for byte, the one the page
draws for the same step and width.

* `script_source()` is a classic script: load it once per page (`<script src>`, also from file://), and every
  `<memory-stage>` element comes alive.
* `widget_source()` is the same text as an ES module for `anywidget`: a classic script cannot hold an `export`, so the
  line is added here.
* `svg(trace)` needs the optional package mini-racer (V8); `available()` tells whether it is there.
* `text(trace)` is everything the stage says, without markup; it needs nothing.

Measured on two cores of a small machine: V8 starts in .3 s, once a process; a picture then takes 10 to 20 ms for
programs of ten steps, 50 to 100 ms for eighty steps.
"""

from __future__ import annotations

from functools import cache

from minitensor.stage.lighten import one_script
from minitensor.stage.v8 import Script

__all__ = ["available", "script_source", "svg", "text", "widget_source"]

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
    return one_script("The stage", "memoryStage", names, "stage.css", "picture, chart, text, answer, ways, render")


def widget_source() -> str:
    """The stage as an ES module for `anywidget`: its model has one trait, `trace`, a trace as a dict."""
    return script_source() + "export default { render: memoryStage.render };\n"


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


def text(trace: dict) -> dict:
    """Everything the stage says, as plain strings: title, ask, and for each variant code, sentences and bytes.

    Needs no V8.
    """

    def said(step: dict) -> dict:
        errors = [event["text"] for event in step["events"] if event["do"] == "raise"]
        keys = ("line", "end", "phase", "say", "note", "out", "allocated", "peak", "reserved")
        return {key: step.get(key) for key in keys} | {"error": errors[0] if errors else None}

    variants = [
        {key: v[key] for key in ("id", "label", "code", "verdict", "truncated")}
        | {"steps": [said(step) for step in v["steps"]]}
        for v in trace["variants"]
    ]
    return {key: trace[key] for key in ("title", "ask", "device", "compare")} | {"variants": variants}
