"""Predictions and exercises: their texts, their checks and their HTML."""
