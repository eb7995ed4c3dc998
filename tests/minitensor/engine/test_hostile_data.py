"""Invalid data is refused at once, and views that are larger than any memory allocate none."""

from __future__ import annotations

import copy
import pickle

import pytest

import minitensor as mt
from minitensor import torch


def holds_itself() -> list:
    lists: list = []
    lists.append(lists)
    return lists


@pytest.mark.parametrize("make", [mt.to_tensor, lambda data: mt.ones([2]) + data])
def test_a_list_that_holds_itself_is_refused(make):
    with pytest.raises((ValueError, TypeError), match="contain itself"):
        make(holds_itself())


def test_a_list_that_holds_itself_is_refused_in_pytorchs_words():
    with pytest.raises(ValueError, match=r"^too many dimensions 'list'"):
        torch.tensor(holds_itself())


def test_lists_as_deep_as_an_array_may_be_are_taken():
    lists: list = [1.0]
    for _ in range(63):
        lists = [lists]
    assert mt.to_tensor(lists).ndim == torch.tensor(lists).ndim == 64
    for make in (mt.to_tensor, torch.tensor):
        with pytest.raises(ValueError, match="dimensions"):
            make([copy.copy(lists)])


@pytest.mark.cpu_only
def test_a_view_larger_than_any_memory_takes_none():
    x = torch.ones(1)
    view = x.expand(2**40)
    assert view.shape == (2**40,) and view.data_ptr() == x.data_ptr() and view[2**39].item() == 1.0
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        view.add_(1)
    assert x.tolist() == [1.0]


def test_scale_gives_no_negative_zero():
    """Paddle adds the bias even if it is 0."""
    for x in (mt.to_tensor([0.0, 2.0]), mt.to_tensor(0.0), mt.to_tensor([0.0], dtype="float64")):
        assert str(mt.scale(x, -1.0).numpy().reshape(-1)[0]) == "0.0"
        assert str(x.scale_(-1.0).numpy().reshape(-1)[0]) == "0.0"


@pytest.mark.parametrize("make", [mt.ones, torch.ones])
def test_a_result_is_not_pickled_and_the_error_names_its_operation(make):
    x = make([2])
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match=r"can be pickled: this one was made by multiply and would lose its history"):
        pickle.dumps(x * 2)
