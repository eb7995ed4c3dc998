"""The model of a recording: storages, tensors, groups and nodes, and the changes of each step.

* :class:`~memory_stage.model.ledger.Ledger` has all of them; :mod:`~memory_stage.model.changes` has the changes.
* The model reads the program's objects through the engine's protocol only, and writes no sentences.
"""
