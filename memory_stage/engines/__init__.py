"""Engines: answers to the recorder's questions about tensors of minitensor, PyTorch and Paddle.

* :mod:`~memory_stage.engines.protocol` declares every question. The recorder asks nothing else.
* :mod:`~memory_stage.engines.minitensor.engine` answers for minitensor's tensors, in both vocabularies.
* :mod:`~memory_stage.engines.router` passes each question to the engine of the tensor, storage or node in it, and adds
  the engine of a framework once the program has imported the framework.

To add an engine, add a module beside them: :mod:`~memory_stage.model`, :mod:`~memory_stage.sentences` and
:mod:`~memory_stage.recorder` do not depend on a single engine.
"""
