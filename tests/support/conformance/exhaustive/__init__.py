"""Every short program over a small alphabet of statements, judged by an exact derivative.

Random programs are long and meet much by chance; these are short, and none is left out. A program is a fixed opening
and then statements of the alphabet, in every order in which each name is bound before it is used. Nothing is random:
a program is known by its number. The same text runs twice, with ``mt`` bound to the engine under test and with ``mt``
bound to the reference of this folder, which keeps tangents in the memory cells instead of a graph.

    alphabet.py   the statements, and how programs are counted and numbered
    reference.py  numbers with tangents on numpy views, and which values backward needs
    saved.py      what became of those values, and so what must be refused, and in which words
    judge.py      runs a program on both sides under a plan of policies and gives the verdict
    faults.py     references with one planted mistake each: what the judge must notice
    __main__.py   python -m tests.support.conformance.exhaustive --length 4 --policy 2.6 --limit 100000
"""
