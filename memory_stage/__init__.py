r"""Show the memory of a program step by step, in a page, a notebook or a file.

    import memory_stage as stage
    stage.record("x = mt.ones([3])\nx.add_(1.0)")

* :mod:`~memory_stage.engines` adapts minitensor, PyTorch and Paddle to one protocol.
* :mod:`~memory_stage.model` keeps the storages, tensors, saved tensors and the graph of a run.
* :mod:`~memory_stage.sentences` describes each step.
* :mod:`~memory_stage.recorder` runs the program and writes a trace.
* :mod:`~memory_stage.web` shows a trace. One script draws the pictures: the browser runs it, and
  for readers without JavaScript V8 runs it when the page is written.
* :mod:`~memory_stage.explanation` reports each in-place operation with reasons and advice.
* :mod:`~memory_stage.figures` draws further figures in the same style.
"""

from memory_stage.api import Stage, compare, explain, record, save, trace

__all__ = ["Stage", "compare", "explain", "record", "save", "trace"]
