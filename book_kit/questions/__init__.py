"""Predictions and exercises: what they ask, how they check an answer, and how they look in a page."""
