"""Generate random tensor programs and judge their gradients by an exact derivative.

A program is a list of Python statements over ``mt``. The same text runs twice: with ``mt`` bound to the engine under
test, and with ``mt`` bound to the reference of this folder. The reference has no graph. Every memory cell contains a
value and its derivatives with respect to every element of every leaf. Names that share memory share cells, so the
reference needs no rules about views, overlaps and writes through aliases.

    calculus.py    the meaning of each operation: its value and its derivative, and where both are smooth
    needs.py       the operands that backward may need, from which the reference derives justified refusals
    cells.py       storages, groups of views, and the records that justify a refusal
    world.py       one run of a program: modes, operations, writes, gradients
    tensor.py      the tensor; views.py and elements.py contain parts of it
    vocabulary.py  the names of ``mt`` when the reference runs a program
    generator.py   generates programs, one statement after the other; moves_*.py contain the kinds of statements
    indices.py     generates indices and shapes
    compare.py     runs a program on both sides and returns the verdict
    shrink.py      makes a failing program as short as possible
    batch.py       runs many programs and counts; __main__.py does this from the command line
    record.py      runs programs for a while, and adds the counts to facts/random-programs.json
    differences.py checks the reference by central differences
    second_order.py judges gradients of gradients, by finite differences of the exact gradient
    faults.py      references with one planted mistake each, which the comparison must notice
"""
