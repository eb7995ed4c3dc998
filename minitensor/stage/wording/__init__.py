"""Saying in one sentence what a step of a recording did."""
