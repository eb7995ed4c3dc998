"""Test the two modes that a program sets: grad mode and the in-place policy."""

from __future__ import annotations

import threading

import pytest

import minitensor as mt
from minitensor import torch
from tests.support.engine.differences import leaf


def test_under_no_grad_nothing_is_recorded():
    w = leaf([1.0, 2.0])
    with mt.no_grad():
        assert not mt.is_grad_enabled()
        assert (w * 2).stop_gradient and w[0].stop_gradient and w.reshape([2, 1]).stop_gradient
        assert not w.stop_gradient, "a leaf should still require a gradient"
    assert mt.is_grad_enabled()


def test_enable_grad_works_inside_no_grad():
    w = leaf([1.0])
    with mt.no_grad():
        with mt.enable_grad():
            y = w * 2
        assert (w * 2).stop_gradient
    y.backward()
    assert w.grad.tolist() == [2]


def test_modes_are_restored_after_an_error():
    with pytest.raises(KeyError), mt.no_grad(), mt.enable_grad(), mt.no_grad():
        raise KeyError
    assert mt.is_grad_enabled()


def test_the_same_no_grad_object_may_be_entered_inside_itself_and_again_later():
    guard = mt.no_grad()
    for _ in range(2):
        with guard:
            with guard:
                assert not mt.is_grad_enabled()
            assert not mt.is_grad_enabled()
        assert mt.is_grad_enabled()


def test_no_grad_is_a_decorator_with_and_without_parentheses_and_keeps_the_name():
    @mt.no_grad()
    def first(depth: int) -> bool:
        """First."""
        return mt.is_grad_enabled() if depth == 0 else first(depth - 1)

    @mt.no_grad
    def second() -> None:
        assert not mt.is_grad_enabled()
        raise KeyError

    assert first(3) is False and first.__name__ == "first" and first.__doc__ == "First."
    with pytest.raises(KeyError):
        second()
    assert mt.is_grad_enabled()


def test_set_inplace_policy_works_as_a_function_and_as_a_context_manager():
    assert mt.get_inplace_policy() == "2.6"
    mt.set_inplace_policy("2.5")
    assert mt.get_inplace_policy() == "2.5"
    with mt.set_inplace_policy("2.6"):
        assert mt.get_inplace_policy() == "2.6"
    assert mt.get_inplace_policy() == "2.5"
    mt.set_inplace_policy("2.6")


def test_the_policy_is_restored_after_an_error_and_by_nested_contexts():
    with pytest.raises(KeyError), mt.set_inplace_policy("2.5"):
        with mt.set_inplace_policy("2.6"):
            pass
        assert mt.get_inplace_policy() == "2.5"
        raise KeyError
    assert mt.get_inplace_policy() == "2.6"


def test_a_policy_object_sets_its_policy_again_when_it_is_entered_later():
    policy = mt.set_inplace_policy("2.5")
    mt.set_inplace_policy("2.6")
    with policy:
        assert mt.get_inplace_policy() == "2.5"
    mt.set_inplace_policy("2.6")


@pytest.mark.parametrize("wrong", ["2.7", "", None, 2.6, [], ["2.5"], {}], ids=str)
def test_the_error_about_an_unknown_policy_lists_the_known_ones(wrong: object):
    with pytest.raises((ValueError, TypeError), match=r"set_inplace_policy.*'2\.5', '2\.6'"):
        mt.set_inplace_policy(wrong)
    assert mt.get_inplace_policy() == "2.6"


def test_operations_work_in_a_second_thread():
    w = leaf([1.0, 2.0])
    thread = threading.Thread(target=lambda: (w * w).sum().backward())
    thread.start()
    thread.join()
    assert w.grad.tolist() == [2, 4]


@pytest.mark.parametrize("kind", [mt.no_grad, mt.enable_grad, torch.no_grad, torch.inference_mode])
def test_exiting_a_mode_that_was_not_entered_raises(kind):
    with pytest.raises(RuntimeError, match="the context was not entered"):
        kind().__exit__(None, None, None)
    with pytest.raises(TypeError, match=f"{kind.__name__}: function must be a function, not 3"):
        kind()(3)
