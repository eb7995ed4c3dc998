"""Explain a whole run of a program of PyTorch or Paddle, however long it is.

* :mod:`.faults` defines a fault: a verdict, the lines that lead to it, the reason, and edits that mend it.
* :mod:`.diagnosis` watches each framework as soon as the program has imported it.
* :mod:`.torch_diagnosis` calls the diagnoses for PyTorch. :mod:`.overwritten`, :mod:`.freed_graph`,
  :mod:`.copied_losses`, :mod:`.references`, :mod:`.array_faults`, :mod:`.kept_objects`, :mod:`.aliased_averages` and
  :mod:`.aliased_networks` diagnose one kind of fault each.
* For Paddle, :mod:`.paddle_diagnosis` diagnoses shared memory, and :mod:`.paddle_faults` diagnoses backward passes.
* :mod:`.refusals` and :mod:`.leaks` serve both frameworks.
* :mod:`.explanation` collects the faults of a program; :mod:`.one_screen` prints them on one screen.
"""
