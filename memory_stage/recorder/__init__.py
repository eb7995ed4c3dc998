"""Record a program: insert hooks before its statements, finish a step where a statement ends, and return a trace.

:mod:`memory_stage.model` has the changes of each step, and :mod:`memory_stage.sentences` describes them.
"""
