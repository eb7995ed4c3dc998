"""Explain a whole run of a program of PyTorch, however long it is.

* :mod:`.faults` defines a fault: a verdict, the lines that lead to it, the reason, and edits that mend it.
* :mod:`.overwritten`, :mod:`.freed_graph`, :mod:`.refusals`, :mod:`.leaks` and :mod:`.references` diagnose one kind of
  fault each; :mod:`.diagnosis` calls them.
* :mod:`.explanation` watches a program and collects the faults; :mod:`.one_screen` prints them on one screen.
"""
