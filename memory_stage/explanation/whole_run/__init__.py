"""Explain a whole run of a program of PyTorch or Paddle, however long it is.

* :mod:`.faults` defines a fault: a verdict, the lines that lead to it, the reason, and edits that mend it.
* :mod:`.diagnosis` watches each framework as soon as the program has imported it, and calls the diagnoses.
* :mod:`.torch_diagnosis`: :mod:`.overwritten`, :mod:`.freed_graph`, :mod:`.references`, :mod:`.array_faults` and
  :mod:`.replaced_parameters` diagnose one kind of fault each.
* :mod:`.paddle_diagnosis`: :mod:`.paddle_faults` diagnoses backward passes, and :mod:`.paddle_views` shared memory.
* :mod:`.refusals`, :mod:`.leaks` and :mod:`.kept_objects` serve both.
* :mod:`.explanation` collects the faults of a program; :mod:`.one_screen` prints them on one screen.
"""
