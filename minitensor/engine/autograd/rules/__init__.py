"""Helpers of the gradient rules on tensors, for ``grad(..., create_graph=True)``: their operations are recorded.

They have the names of the helpers in :mod:`minitensor.engine.operations.rules`, but call operations on tensors.
"""
