"""Recording a program: hooks before its statements, steps cut where one ends, and a trace of them.

What each step did is kept by :mod:`minitensor.stage.books` and told by :mod:`minitensor.stage.wording`.

May import: ``stage.wording``, ``stage.books``, ``stage.cells``; of ``stage.engines`` the protocol, and what stands for
all engines together.
"""
