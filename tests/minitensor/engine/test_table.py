"""Test that the derivative table and PyTorch's spellings name each operation once."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor.torch as torch
from minitensor.engine.table import ROWS, op
from minitensor.torch.operation_table import SPELLINGS, spell


@pytest.mark.parametrize("name, aliases", [("sin", ()), ("sub", ()), ("a_new_one", ("exp",))])
def test_a_second_row_with_the_same_name_or_alias_is_refused(name: str, aliases: tuple[str, ...]):
    before = dict(ROWS)
    with pytest.raises(ValueError, match=r"called (sin|sub|exp) already"):
        op(name, np.sin, "x", "Twice.", aliases=aliases)
    assert before == ROWS


@pytest.mark.parametrize("names", ["mul", "a_new_one multiply"])
def test_a_second_operation_with_the_same_name_in_pytorch_is_refused(names: str):
    count = len(SPELLINGS)
    with pytest.raises(ValueError, match=r"spells mul(tiply)? already"):
        spell(names, "multiply")
    assert len(SPELLINGS) == count


def test_each_function_of_pytorchs_vocabulary_is_in_the_modules_of_its_spelling():
    functional = torch.nn.functional
    assert hasattr(torch, "relu_") and hasattr(functional, "relu_") and hasattr(torch.Tensor, "relu_")
    assert not hasattr(torch, "leaky_relu") and not hasattr(torch.Tensor, "leaky_relu_")
    assert functional.leaky_relu_.__name__ == "leaky_relu_" and hasattr(torch, "abs_") and not hasattr(torch, "add_")
