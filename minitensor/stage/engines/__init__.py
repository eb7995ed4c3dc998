"""What the recorder asks of an engine, and who answers.

* :mod:`~minitensor.stage.engines.engine` is the protocol: every question, and nothing else is asked.
* :mod:`~minitensor.stage.engines.of_minitensor` answers for this package's own tensors, in both vocabularies.
* :mod:`~minitensor.stage.engines.together` is what the recorder asks: it passes each question on to the engine of what
  is asked about, and takes in the engine of a framework once the program has imported it.

An engine more is a module more beside them: nothing in :mod:`~minitensor.stage.books`,
:mod:`~minitensor.stage.wording` or :mod:`~minitensor.stage.recording` knows which of them answers.

May import: all that stands below ``stage``, and ``stage.cells``; a framework, once the program has. The engines of two
frameworks know nothing of each other.
"""
