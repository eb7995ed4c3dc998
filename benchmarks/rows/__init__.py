"""What is measured: one file for a subject, and in it the programs of each library.

A file has a ``TITLE``; ``PROGRAMS``, library -> a function that prepares the programs and gives name -> program; and
``ROWS``, which say what is printed and what the targets are. It may say more:

* ``SECONDS``: how long each program is run to find its fastest call, 0.25 unless it says otherwise.
* ``PEAKS``: the names of the programs whose peak bytes are measured, too, in a process of their own.
* ``STEPS``: every program, called so often, must give the same number in every library.
* ``FIGURES`` in place of ``PROGRAMS``: library -> a function that measures for itself and gives name -> figure.
* ``PARTS``: each is measured in a process of its own, and given to the function of ``FIGURES``.
* ``ROUNDS``: how often at most each library is measured.
"""
