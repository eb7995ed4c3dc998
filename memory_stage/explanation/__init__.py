"""Report the in-place operations of a program, with reasons and advice, and explain its faults.

* :mod:`~memory_stage.explanation.step_reporter` makes the report of a recorded program of PyTorch or Paddle.
* :mod:`~memory_stage.explanation.minitensor` makes the report of a program of minitensor from the engine's events.
* :mod:`~memory_stage.explanation.whole_run` explains the faults of a whole run of PyTorch or Paddle.
"""
