"""Name the line that spoiled a program: reports of in-place operations, with reasons and advice.

* :mod:`~memory_stage.explanation.step_reporter` makes a report of a program of PyTorch or Paddle from its recording.
* :mod:`~memory_stage.explanation.minitensor` makes one of a program of minitensor from the engine's events.
"""
