"""What the recorder asks of an engine, and who answers.

* :mod:`~memory_stage.engines.protocol` is the protocol: every question, and nothing else is asked.
* :mod:`~memory_stage.engines.minitensor.engine` answers for this package's own tensors, in both vocabularies.
* :mod:`~memory_stage.engines.router` is what the recorder asks: it passes each question on to the engine of what
  is asked about, and takes in the engine of a framework once the program has imported it.

An engine more is a module more beside them: nothing in :mod:`~memory_stage.model`,
:mod:`~memory_stage.sentences` or :mod:`~memory_stage.recorder` knows which of them answers.
"""
