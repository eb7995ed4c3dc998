"""Derivatives: backward, gradients as results, user-defined operations, and a check against finite differences.

Importing this package registers the gradient rules on tensors, by which backward itself is recorded for second
derivatives. The public names are in :mod:`minitensor.autograd`.
"""

from minitensor.engine.autograd.rules import compiling as _compiling

__all__: list[str] = []
