"""Run random programs of aliases and in-place writes, and compare them with PyTorch's recorded results.

    generator.py   generates the programs; a seed and a number identify each
    running.py     runs a program line by line, in PyTorch or minitensor, and records the state of every name
    judging.py     compares the results and names the kind of each difference
    __main__.py    does this from the command line

`facts/alias_programs.py` records PyTorch's results in `facts/alias-programs.json.gz`. PyTorch refuses some lines that
the engine accepts. For such a line the generator also gives a second spelling with the same meaning, which PyTorch
accepts: `x.mul_(x.clone())` for `x.mul_(x)`. A program with such lines is recorded in both spellings. The engine's
result has to equal PyTorch's result of one of the two. If it equals only that of the second spelling, the engine
differs from PyTorch in a way that `judging.py` names, but its numbers are still PyTorch's.
"""
