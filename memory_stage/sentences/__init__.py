"""Saying in one sentence, or two, what a step of a recording did. Nothing is looked up but in the books.

The rules that every sentence keeps stand in :mod:`~memory_stage.sentences.sentences`.
"""
