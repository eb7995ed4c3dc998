"""Derivatives: backward, gradients as results, user-defined operations, and a check against finite differences.

This package registers the gradient rules on tensors, so that second derivatives are made of operations. Its public
names are in :mod:`minitensor.autograd`.
"""

from minitensor.engine.autograd.rules import compiling as _compiling

__all__: list[str] = []
