"""Helpers of the gradient rules on tensors, for ``grad(..., create_graph=True)``.

They have the names of the helpers in :mod:`minitensor.engine.operations.rules`, but call operations on tensors, which
are recorded.
"""
