r"""Show the memory of a program step by step, in a page, a notebook or a file.

    import memory_stage as stage
    stage.record("x = mt.ones([3])\nx.add_(1.0)")

* :mod:`~memory_stage.engines` adapts minitensor, PyTorch and Paddle to one protocol.
* :mod:`~memory_stage.model` records the storages, tensors, saved tensors and the graph of a run.
* :mod:`~memory_stage.sentences` describes each step.
* :mod:`~memory_stage.recorder` runs the program and writes a trace.
* :mod:`~memory_stage.web` shows a trace. One script draws the pictures in the browser. When a page is
  written, V8 runs the same script to draw pictures for browsers without JavaScript.
* :mod:`~memory_stage.explanation` reports each in-place operation with reasons and advice.
* :mod:`~memory_stage.figures` draws further figures in the same style.
* :mod:`~memory_stage.integrations` has the magic ``%%explain``, a plugin for pytest and callbacks for trainers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_stage.api import Stage, compare, explain, record, save, set_depth, trace
from memory_stage.messages import set_language

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["Stage", "compare", "explain", "record", "save", "set_depth", "set_language", "trace"]


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the magic ``%%explain``; IPython calls this for ``%load_ext memory_stage``."""
    from memory_stage.integrations.explain_magic import ExplainMagic

    ipython.register_magics(ExplainMagic)
