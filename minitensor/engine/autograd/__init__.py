"""Derivatives: `backward`, `grad`, user-defined operations, and a check against finite differences.

Importing this package registers the gradient rules on tensors. With `create_graph`, backward uses these rules and
records its own operations, so that it can be differentiated again. The public names are in :mod:`minitensor.autograd`.
"""

from minitensor.engine.autograd.rules import compiling as _compiling

__all__: list[str] = []
