r"""The stage: memory, step by step, as a recording that a page, a notebook or a file shows.

    from minitensor import stage
    stage.record("x = mt.ones([3])\nx.add_(1.0)")

* :mod:`~minitensor.stage.engines` says what is asked of an engine, and answers for this one;
* :mod:`~minitensor.stage.books` keeps what each line of a program did to memory;
* :mod:`~minitensor.stage.wording` says it in sentences;
* :mod:`~minitensor.stage.recording` runs the program, and makes a trace of both;
* the picture is drawn by one script, ``assets/stage*.js``, in a page and, for what is shown without scripts, in V8;
* :mod:`~minitensor.stage.figures` are the figures beside it.

May import: all that stands below ``stage``, and ``minitensor`` itself. Nothing in the engine imports this package.
"""

from minitensor.stage.explained import explain
from minitensor.stage.stages import Stage, compare, record, save, trace

__all__ = ["Stage", "compare", "explain", "record", "save", "trace"]
