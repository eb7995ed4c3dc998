"""Gradient rules on tensors for ``grad(..., create_graph=True)``, in which each operation is recorded.

The helpers have the same names as those in :mod:`minitensor.engine.operations.rules`, and are made of operations.
"""
