"""Random programs of aliases and in-place writes, each beside what PyTorch did with it.

    generator.py   writes the programs; a seed and a number name one
    running.py     runs a program, line by line, and looks at every name afterwards; the same for PyTorch and for here
    judging.py     compares, and names the kind of a difference
    __main__.py    does so from the command line

`facts/alias-programs.json.gz` is PyTorch's side (`facts/alias_programs.py` records it). Where PyTorch refuses by a rule
that the engine does not have, or counts a change of metadata as a write, a line has a second spelling that means the
same and that PyTorch accepts: `x.mul_(x.clone())` for `x.mul_(x)`. A program that has such lines was recorded in both
spellings. What happens here has to be what PyTorch does with the one or with the other: then the difference is of a
named kind, and the numbers that the engine answers are those of PyTorch all the same.
"""
