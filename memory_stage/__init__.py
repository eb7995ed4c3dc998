r"""The stage: memory, step by step, as a recording that a page, a notebook or a file shows.

    import memory_stage as stage
    stage.record("x = mt.ones([3])\nx.add_(1.0)")

* :mod:`~memory_stage.engines` says what is asked of an engine, and answers for this one;
* :mod:`~memory_stage.model` keeps what each line of a program did to memory;
* :mod:`~memory_stage.sentences` says it in sentences;
* :mod:`~memory_stage.recorder` runs the program, and makes a trace of both;
* the picture is drawn by one script, ``web/js/stage*.js``, in a page and, for what is shown without scripts, in V8;
* :mod:`~memory_stage.figures` are the figures beside it.

May import: all that stands below ``stage``, and ``minitensor`` itself. Nothing in the engine imports this package.
"""

from memory_stage.api import Stage, compare, explain, record, save, trace

__all__ = ["Stage", "compare", "explain", "record", "save", "trace"]
