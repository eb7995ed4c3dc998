"""Describe each step of a recording in one or two sentences. The sentences use only facts from the ledger.

:mod:`~memory_stage.sentences.sentences` has the rules for all sentences.
"""
