"""The functions that gradient rules call.

A rule is one line, such as ``g * cos(x)``. ``backward()`` runs it on arrays, and ``grad(..., create_graph=True)`` on
tensors, which records the operations in it. So every name in a rule has two meanings. The name of an operation is its
function on arrays, or the operation itself. Helpers are written twice, in
:mod:`minitensor.engine.operations.rules.on_arrays` and :mod:`minitensor.engine.autograd.rules.on_tensors`.
"""
