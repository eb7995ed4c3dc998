"""Random programs of aliases and in-place writes, with PyTorch's recorded results.

    generator.py   generates the programs; a seed and a number identify one
    running.py     runs a program line by line, here or in PyTorch, and records every name afterwards
    judging.py     compares the results and names the kind of each difference
    __main__.py    does this from the command line

`facts/alias_programs.py` records PyTorch's results in `facts/alias-programs.json.gz`. PyTorch refuses some lines by
rules that the engine does not have, and counts some changes of metadata as writes. Such a line has a second spelling
with the same meaning, which PyTorch accepts: `x.mul_(x.clone())` for `x.mul_(x)`. A program with such lines is recorded
in both spellings. The engine's result has to equal PyTorch's result of one of the two. If it equals the second, the
difference has a named kind, and the numbers are still PyTorch's.
"""
