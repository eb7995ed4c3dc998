"""Describe each step of a recording in one or two sentences. All facts in them are from the ledger.

:mod:`~memory_stage.sentences.sentences` has the rules for all sentences.
"""
