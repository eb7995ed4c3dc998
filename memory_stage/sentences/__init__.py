"""Describe each step of a recording in one or two sentences. Everything in them is from the ledger.

:mod:`~memory_stage.sentences.sentences` has the rules for all sentences.
"""
