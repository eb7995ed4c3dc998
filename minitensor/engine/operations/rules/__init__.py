"""The functions that gradient rules call.

A rule is an expression, such as ``g * cos(x)``. ``backward()`` evaluates it on arrays. ``grad(...,
create_graph=True)`` evaluates it on tensors and records its operations. Therefore every function in a rule exists
twice. The name of an operation refers to its function on arrays in the first case, and to the operation itself in the
second. Other functions, the *helpers*, are defined both in :mod:`minitensor.engine.operations.rules.on_arrays` and in
:mod:`minitensor.engine.autograd.rules.on_tensors`.
"""
