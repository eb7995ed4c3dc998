"""Random tensor programs, judged by an exact derivative.

A program is a list of Python statements over ``mt``. The same text runs twice: with ``mt`` bound to the engine under
test, and with ``mt`` bound to the reference of this folder. The reference keeps no graph of gradients. Every memory
cell holds a value and, beside it, the derivative of that value in every direction of every leaf. Names that share
memory share cells, so views, overlaps and writes through aliases are right without any rule about them.

    calculus.py    what each operation means: its value and its derivative, and where both are smooth
    needs.py       which operands backward may need: the reference's own notion of a justified refusal
    cells.py       storages, groups of views, and the records from which a refusal is judged
    world.py       one run of a program: modes, operations, writes, gradients
    tensor.py      the tensor; views.py and elements.py hold parts of it
    vocabulary.py  the names: what ``mt`` is when the reference runs a program
    generator.py   writes programs, one statement after the other; moves_*.py hold the kinds of statements
    indices.py     writes indices and shapes
    compare.py     runs a program on both sides and gives the verdict
    shrink.py      makes a failing program as short as it can be
    batch.py       runs many programs and counts; __main__.py does so from the command line
    differences.py checks the reference by central differences
    second_order.py judges gradients of gradients, by differences of the exact gradient
    faults.py      references with one planted mistake each: what the comparison must notice
"""
