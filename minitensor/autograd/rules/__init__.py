"""Gradient rules on tensors: what ``grad(..., create_graph=True)`` runs, where each operation is recorded in its turn.

The other half of :mod:`minitensor.operations.rules`: the same names, made of operations.

May import: all that stands below ``autograd``, and of it what runs such a rule (``higher_order``).
"""
