"""Test unusual data: lists that contain themselves, very deep lists, huge views, zeros, and non-leaf tensors."""

from __future__ import annotations

import copy
import pickle

import pytest

import minitensor as mt
from minitensor import torch


def list_in_itself() -> list:
    lists: list = []
    lists.append(lists)
    return lists


@pytest.mark.parametrize("make", [mt.to_tensor, lambda data: mt.ones([2]) + data])
def test_a_list_that_contains_itself_is_refused(make):
    with pytest.raises((ValueError, TypeError), match="contain itself"):
        make(list_in_itself())


def test_a_list_that_contains_itself_is_refused_with_pytorchs_message():
    with pytest.raises(ValueError, match=r"^too many dimensions 'list'"):
        torch.tensor(list_in_itself())


def test_lists_are_accepted_up_to_64_dimensions():
    lists: list = [1.0]
    for _ in range(63):
        lists = [lists]
    assert mt.to_tensor(lists).ndim == torch.tensor(lists).ndim == 64
    for make in (mt.to_tensor, torch.tensor):
        with pytest.raises(ValueError, match="dimensions"):
            make([copy.copy(lists)])


@pytest.mark.cpu_only
def test_a_view_larger_than_any_memory_allocates_nothing():
    x = torch.ones(1)
    view = x.expand(2**40)
    assert view.shape == (2**40,) and view.data_ptr() == x.data_ptr() and view[2**39].item() == 1.0
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        view.add_(1)
    assert x.tolist() == [1.0]


def test_scale_returns_no_negative_zero():
    """Paddle adds the bias even if it is 0, and -0.0 + 0.0 is 0.0."""
    for x in (mt.to_tensor([0.0, 2.0]), mt.to_tensor(0.0), mt.to_tensor([0.0], dtype="float64")):
        assert str(mt.scale(x, -1.0).numpy().reshape(-1)[0]) == "0.0"
        assert str(x.scale_(-1.0).numpy().reshape(-1)[0]) == "0.0"


@pytest.mark.parametrize("make", [mt.ones, torch.ones])
def test_the_error_about_pickling_a_non_leaf_names_its_operation(make):
    x = make([2])
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match=r"can be pickled: this one was made by multiply and would lose its history"):
        pickle.dumps(x * 2)
