"""Recording a program: hooks before its statements, steps cut where one ends, and a trace of them.

What each step did is kept by :mod:`memory_stage.model` and told by :mod:`memory_stage.sentences`.
"""
