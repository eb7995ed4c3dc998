"""Engines, which answer the recorder's questions about the tensors of minitensor, PyTorch and Paddle.

* :mod:`~memory_stage.engines.protocol` declares all questions of the recorder.
* :mod:`~memory_stage.engines.minitensor.engine` answers for minitensor's tensors, in both vocabularies.
* :mod:`~memory_stage.engines.router` passes each question to all engines, or to the one that the tensor, storage or
  node in it belongs to. It adds the engine of a framework once the program has imported the framework.

To add an engine, add a module to this package and a line to ``FRAMEWORKS`` in the router. :mod:`~memory_stage.model`,
:mod:`~memory_stage.sentences` and :mod:`~memory_stage.recorder` contain no code for a particular engine.
"""
