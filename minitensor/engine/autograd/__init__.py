"""Derivatives: backward, gradients as results, user-defined operations, and a check against finite differences.

Importing this package registers the gradient rules on tensors. A backward pass by these rules consists of recorded
operations, which second derivatives need. The public names are in :mod:`minitensor.autograd`.
"""

from minitensor.engine.autograd.rules import compiling as _compiling

__all__: list[str] = []
