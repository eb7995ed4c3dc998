"""The subjects of the benchmarks: a file for each, with the programs of each library.

A file has a ``TITLE``; ``PROGRAMS``, which maps a library to a function that returns its programs, in a dictionary with
their names as keys; and ``ROWS``, the lines to print with their targets. It may also have:

* ``SECONDS``: the time for which each program runs to find its fastest call, 0.25 by default.
* ``PEAKS``: the names of the programs whose peak bytes are also measured, each in a separate process.
* ``STEPS``: after this number of calls, every program must return the same number in every library.
* ``FIGURES``: used instead of ``PROGRAMS``; it maps a library to a function that measures, and returns a dictionary of
  figures.
* ``PARTS``: arguments for the function in ``FIGURES``, each measured in a separate process.
* ``ROUNDS``: the largest number of measurements of each library.
"""
