"""Test that a hook gets the gradient of the value that its tensor had at the registration, and may replace it."""

from __future__ import annotations

import pytest

import minitensor as mt
from tests.support.engine.differences import leaf


def noting(notes: list) -> object:
    return lambda gradient: notes.append(gradient.tolist())


def test_a_hook_is_called_once_with_the_sum_of_the_gradients():
    w, notes = leaf([1.0, 2.0]), []
    x = w * 1
    x.register_hook(noting(notes))
    (x * 2 + x * 3).sum().backward()
    assert notes == [[5, 5]]


def test_the_result_of_a_hook_replaces_the_gradient():
    w = leaf([1.0, 2.0])
    x = w * 3
    x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    x.sum().backward()
    assert w.grad.tolist() == [33, 33]


def test_a_hook_on_a_leaf_gets_the_new_gradient_without_the_accumulated_one():
    w, notes = leaf([1.0, 2.0]), []
    w.register_hook(noting(notes))
    for _ in range(2):
        (w * 2 + w * w).sum().backward()
    assert notes == [[4, 6], [4, 6]] and w.grad.tolist() == [8, 12]


def test_a_hook_gets_the_gradient_of_the_value_from_before_or_after_an_in_place_write():
    # Hooks in Paddle and in PyTorch get the same gradients, 10 and 1.
    w, before, after = leaf([1.0, 2.0]), [], []
    x = w * 1
    x.register_hook(noting(before))
    x.scale_(10.0)
    x.register_hook(noting(after))
    x.sum().backward()
    assert before == [[10, 10]] and after == [[1, 1]]


def test_a_hook_on_a_view_is_not_called_if_only_its_base_is_used():
    w, whole, part = leaf([1.0, 2.0]), [], []
    x = w * 1
    view = x[0:1]
    x.register_hook(noting(whole))
    view.register_hook(noting(part))
    x.scale_(3.0)  # the result does not depend on the old value of the view
    (x * 2).sum().backward()
    assert whole == [[6, 6]] and part == []


def test_a_hook_on_a_view_gets_the_gradient_of_the_view():
    w, part = leaf([1.0, 2.0, 3.0]), []
    x = w * 1
    view = x[0:2]
    view.register_hook(noting(part))
    (view * 5).sum().backward(retain_graph=True)
    assert part == [[5, 5]]
    view.scale_(2.0)
    (x * 7).sum().backward()
    assert part == [[5, 5], [14, 14]], "the view's old value should get the gradient 7 times 2"


def test_a_removed_hook_is_not_called():
    w, notes = leaf([1.0]), []
    handle = w.register_hook(noting(notes))
    assert handle.remove() is True and handle.remove() is False
    (w * 2).backward()
    assert notes == []


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda x: x.retain_grads(),
        lambda x: (x.retain_grads(), x.add_(1.0)),
        lambda x: x.add_(1.0),
        lambda x: x[0:1].add_(1.0),
        lambda x: x.reshape_([2, 1]),
        lambda x: (x.retain_grads(), x.reshape_([2, 1])),
        lambda x: x.register_hook(lambda g: None).remove(),
    ],
    ids=["retain", "retain and write", "write", "write a view", "reshape", "retain and reshape", "another hook"],
)
def test_a_hook_can_be_removed_after_any_change_of_the_tensor(meanwhile):
    w, notes = leaf([1.0, 2.0]), []
    x = w * 1
    handle = x.register_hook(noting(notes))
    meanwhile(x)
    assert handle.remove() is True
    x.sum().backward()
    assert notes == []


def test_a_function_registered_twice_is_two_hooks():
    w = leaf([1.0])

    def double(g: mt.Tensor) -> mt.Tensor:
        return g * 2

    first, second = w.register_hook(double), w.register_hook(double)
    assert first.remove() is True
    assert first.remove() is False, "a handle should remove only its own hook"
    w.sum().backward()
    assert w.grad.tolist() == [2]
    assert second.remove() is True


def test_a_hook_that_writes_into_its_argument_changes_no_gradient():
    w, kept = leaf([1.0, 2.0]), []

    def overwrite(g: mt.Tensor) -> None:
        kept.append(g)
        g.zero_()

    x = w * 1
    x.retain_grads()
    x.register_hook(overwrite)
    x.sum().backward()
    kept[0].fill_(9.0)
    assert w.grad.tolist() == [1, 1] and x.grad.tolist() == [1, 1]


def test_the_result_of_a_hook_is_copied():
    w, mine = leaf([1.0, 2.0]), mt.to_tensor([5.0, 6.0], "float64")
    w.register_hook(lambda g: mine)
    w.sum().backward()
    mine.fill_(0.0)
    assert w.grad.tolist() == [5, 6]
    w.grad.fill_(1.0)
    assert mine.tolist() == [0, 0]


def test_a_hook_may_return_another_dtype_and_a_recorded_tensor():
    w, u = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    w.register_hook(lambda g: mt.to_tensor([1, 2]))
    w.sum().backward()
    assert w.grad.tolist() == [1, 2] and w.grad.dtype == "float64"
    x = u * 1
    x.register_hook(lambda g: g * u)
    x.sum().backward()
    assert u.grad.tolist() == [3, 4] and u.grad.stop_gradient


@pytest.mark.parametrize("wrong", [lambda g: g.sum(), lambda g: 2.0, lambda g: [1.0, 1.0], lambda g: g.unsqueeze(0)])
def test_a_hook_with_a_wrong_result_raises_an_error(wrong):
    w = leaf([1.0, 2.0])
    w.register_hook(wrong)
    with pytest.raises(TypeError, match=r"hook must return None or a Tensor of shape \[2\]"):
        (w * 2).backward()
    assert w.grad is None


def test_register_hook_needs_a_function_and_a_tensor_that_requires_a_gradient():
    with pytest.raises(RuntimeError, match="requires no gradient"):
        mt.ones([2]).register_hook(print)
    with pytest.raises(TypeError, match=r"function.*str"):
        leaf([1.0]).register_hook("print")


# ---------- hooks with side effects ----------


def test_a_hook_may_run_backward_of_another_graph():
    w, u = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x = w * u
    other = (u * u).sum()
    x.register_hook(lambda g: other.backward())
    (x * x).sum().backward()
    assert w.grad.tolist() == [18, 64] and u.grad.tolist() == [2 * 3 + 2 * 3, 2 * 4 * 4 + 2 * 4]


def test_a_hook_may_run_backward_into_the_same_leaf():
    w = leaf([1.0, 2.0])
    x = w * w
    x.register_hook(lambda g: (w * w).sum().backward())
    (x * x).sum().backward()
    assert w.grad.tolist() == [4 + 2, 32 + 4]


def test_a_hook_may_call_grad_on_its_own_graph():
    w, notes = leaf([2.0]), []
    x = w * w
    y = x * x
    y.register_hook(lambda g: notes.append(mt.grad(x, w, retain_graph=True)[0].tolist()))
    y.backward()
    assert notes == [[4]] and w.grad.tolist() == [32]


@pytest.mark.parametrize("grad_mode", [True, False])
def test_a_hook_that_overwrites_saved_values_makes_backward_raise(grad_mode: bool):
    w = leaf([1.0, 2.0])
    x = w * 1
    y = (x * x).sum()

    def overwrite(g: mt.Tensor) -> None:
        if grad_mode:
            x.add_(1.0)
        else:
            with mt.no_grad():
                x.add_(1.0)

    y.register_hook(overwrite)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    assert w.grad is None


def test_a_hook_may_update_its_leaf_without_changing_the_gradient():
    w = leaf([1.0, 2.0])

    def step(g: mt.Tensor) -> None:
        with mt.no_grad():
            w.subtract_(g)

    w.register_hook(step)
    (w * 3).sum().backward()
    assert w.tolist() == [-2, -1] and w.grad.tolist() == [3, 3] and w.is_leaf


def test_a_hook_may_clear_a_gradient_remove_itself_and_register_another_hook():
    w, notes = leaf([1.0]), []

    def once(g: mt.Tensor) -> None:
        notes.append("once")
        handle.remove()
        w.clear_grad()
        w.register_hook(lambda g: notes.append("later"))

    handle = w.register_hook(once)
    (w * 2).backward()
    assert notes[0] == "once"
    (w * 2).backward()
    assert notes.count("once") == 1 and notes[-1] == "later" and w.grad.tolist() == [4]


def test_hooks_run_even_if_backward_is_called_under_no_grad():
    w, notes = leaf([1.0]), []
    w.register_hook(noting(notes))
    y = w * 2
    with mt.no_grad():
        y.backward()
    assert notes == [[2]] and w.grad.tolist() == [2]


def test_a_retained_gradient_is_the_result_of_earlier_hooks():
    w = leaf([1.0])
    x = w * 1
    x.register_hook(lambda g: g * 10)
    x.retain_grads()
    x.backward()
    assert x.grad.tolist() == [10] and w.grad.tolist() == [10]


@pytest.mark.parametrize("change", [lambda x: x.t_(), lambda x: x.cast_("float32")], ids=["t_", "cast_"])
@pytest.mark.parametrize("first", [True, False], ids=["before the gradient", "after the gradient"])
def test_a_hook_that_changes_shape_or_dtype_of_a_leaf_makes_backward_raise(first, change):
    x, w = leaf([[1.0, 2.0]]), leaf([[3.0, 4.0]])
    u = w * 1

    def hook(g):
        with mt.no_grad():
            change(x)

    u.register_hook(hook)
    # Backward visits the last operand first.
    loss = (x * 2 + u).sum() if first else (u + x * 2).sum()
    with pytest.raises(
        RuntimeError, match="changed the shape or dtype of a leaf while its gradient was being computed"
    ):
        loss.backward()
    assert x.grad is None and w.grad is None
