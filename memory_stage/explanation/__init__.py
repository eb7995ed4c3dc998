"""Name the line that spoiled a program: reports of in-place operations, with reasons and advice.

May import: ``api``, ``model``, ``recorder``.
"""
