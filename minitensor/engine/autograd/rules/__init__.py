"""Gradient rules on tensors for ``grad(..., create_graph=True)``, in which each operation is recorded.

The helpers have the names of those in :mod:`minitensor.engine.operations.rules`, but call operations on tensors.
"""
