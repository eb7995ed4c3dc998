"""What gradient rules are made of.

A rule is one line, as ``g * cos(x)``. It is run on arrays by ``backward()``, and on tensors by
``grad(..., create_graph=True)``, where the operations in it are recorded in their turn. So every name in a rule stands
for two functions: an operation of the table is its function on arrays and the operation itself; the few helpers are
written twice, in :mod:`minitensor.operations.rules.on_arrays` and :mod:`minitensor.autograd.rules.on_tensors`.

May import: ``device``, ``kernels``, ``table``.
"""
