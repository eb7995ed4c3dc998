"""Judge every short program that can be written with a small set of statements, by an exact derivative.

Random programs are long and cover many cases by chance. The programs of this package are short and complete: a fixed
opening, followed by statements of the alphabet in every order in which each name is bound before it is used. Nothing is
random, and a number identifies a program. The same text runs twice, with ``mt`` bound to the engine under test and with
``mt`` bound to the reference of this folder, which keeps tangents in the memory cells instead of a graph.

    alphabet.py   the statements, and the numbers of the programs
    reference.py  numbers with tangents on numpy views, and the values that backward needs
    saved.py      which of those values were overwritten, and the errors that the engine must therefore raise
    judge.py      runs a program on both sides under a plan of policies and returns the verdict
    faults.py     references with one planted mistake each, which the judge must notice
    __main__.py   python -m tests.support.conformance.exhaustive --length 4 --policy 2.6 --limit 100000
"""
