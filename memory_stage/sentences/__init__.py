"""Describe each step of a recording in one or two sentences. They use only facts that the ledger recorded.

:mod:`~memory_stage.sentences.sentences` has the rules for all sentences.
"""
