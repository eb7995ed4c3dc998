"""Compare random programs of views, operations, reshapes and writes with facts/layout-programs.json.gz.

python facts/layout_programs.py minitensor      compares all programs
"""

from __future__ import annotations

import re

import pytest

from facts import layout_programs

#: The numbers of the programs that these tests compare.
NUMBERS = range(2_000)


def calls_contiguous(number: int) -> bool:
    """True if a program calls `contiguous`, which in Paddle moves the tensor itself to new memory and in minitensor
    returns a copy.
    """
    return any(".contiguous()" in line for line in layout_programs.program(number))


def test_programs_end_with_the_same_numbers_and_strides_as_in_pytorch():
    assert layout_programs.different("torch", NUMBERS) == []


def test_programs_end_with_the_same_numbers_and_strides_as_in_paddle():
    found = layout_programs.different("paddle", NUMBERS)
    assert [number for number in found if not calls_contiguous(number)] == []
    assert found, "minitensor's contiguous now moves the tensor itself, as Paddle's does, so remove this difference"


@pytest.mark.parametrize("library", layout_programs.MODULES)
def test_no_program_raises_an_error(library: str):
    module = layout_programs.MODULES[library]
    ends = [layout_programs.run(module, layout_programs.program(number)) for number in range(200)]
    assert all(end.startswith("a [") for end in ends)


def test_some_programs_reshape_a_result_of_transposed_operands_and_write_to_it():
    """At least ten programs transpose a tensor, compute with it, reshape the result, and write to the result or the
    reshaped tensor.
    """
    counted = 0
    for number in NUMBERS:
        transposed: set[str] = set()
        results: set[str] = set()
        reshaped: set[str] = set()
        for line in layout_programs.program(number):
            name, _, text = line.partition(" = ")
            used = set(re.findall(r"\b[a-j]\b", text))
            if line[1] != " ":  # the line is a write
                counted += bool(reshaped) and line[0] in reshaped | results
            elif "permuted" in text:
                transposed.add(name)
            elif used & transposed and "reshape" not in text and "flatten" not in text:
                results.add(name)
            elif used & results and ("reshape" in text or "flatten" in text):
                reshaped.add(name)
    assert counted >= 10


def test_a_result_with_other_strides_or_numbers_has_another_hash():
    result = layout_programs.run("minitensor", layout_programs.program(0))
    assert layout_programs.digest(result) != layout_programs.digest(result.replace("7.0", "3.0"))
    assert layout_programs.digest(result) != layout_programs.digest(result.replace("] [", "] [9, "))
