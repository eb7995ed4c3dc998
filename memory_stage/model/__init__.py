"""The books of a recording: which storages, tensors, groups and nodes there are, and what each step did to them.

* :mod:`~memory_stage.model.ledger` is all of them; :mod:`~memory_stage.model.changes` is what happened in a step.
* Nobody is asked here but the engine, through its protocol; nothing is said in sentences.

May import: ``stage.cells``, and of ``stage.engines`` the protocol.
"""
