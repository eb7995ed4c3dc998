"""Programs that write through aliases, each as nasty as a person could make it: right, or refused.

Every program is run with the leaves moved a little up and down; the slope must be what backward gives. A
program in which something needed may be overwritten may be refused; a wrong number is never excused. Programs with `detach` or
`no_grad` have gradients worked out by hand, because there a difference means something else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from tests.engine.differences import leaf, slopes

Program = Callable[..., mt.Tensor]

RIGHT: list[Program] = []
REFUSABLE: list[Program] = []


def right(program: Program) -> Program:
    """Backward must give the derivative."""
    RIGHT.append(program)
    return program


def right_or_refused(program: Program) -> Program:
    """Something that backward needs may be overwritten: then it must say so."""
    REFUSABLE.append(program)
    return program


def leaves_of(program: Program) -> list[np.ndarray]:
    """Four different numbers for every parameter."""
    count = program.__code__.co_argcount
    return [np.array([0.4, 1.7, 0.9, 1.3]) + 0.13 * k for k in range(count)]


def run(program: Program, *arrays: np.ndarray) -> tuple[list[mt.Tensor], mt.Tensor]:
    given = [mt.to_tensor(array, stop_gradient=False) for array in arrays]
    return given, program(*given)


def expect_right(program: Program) -> None:
    arrays = leaves_of(program)
    given, result = run(program, *arrays)
    result.sum().backward()
    wanted = slopes(lambda *moved: run(program, *moved)[1].sum().item(), arrays)
    for x, want in zip(given, wanted, strict=True):
        got = np.zeros(4) if x.grad is None else x.grad.numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


# ---------- views of views ----------


@right
def reversed_slices(w):
    b = w * 1
    r = b[::-1]
    r[0:2].scale_(3.0)
    b[1:].multiply_(r[1:])
    return b * r


@right
def views_of_views_of_views(w):
    b = (w * 1).reshape([2, 2])
    column = b.T[::-1][:, 1]
    column.sin_()
    b.T[0].scale_(3.0)
    column.unsqueeze(0)[0, ::-1].add_(column)
    return b.sin()


@right_or_refused
def a_view_multiplies_what_it_lies_in(w):
    b = (w * 1).reshape([2, 2])
    column = b.T[::-1][:, 1]
    column.exp_()
    b.T[0].multiply_(column)
    return b.sin()


@right
def a_reversed_founder(w):
    b = (w * 1)[::-1].clone()
    b[::2].sin_()
    b[::-1][1:3].scale_(2.0)
    return b * b


@right
def transposed_and_added_to_itself(w):
    a = (w * 1).reshape([2, 2])
    a.add_(a.t())
    a.multiply_(a.t())
    a.divide_(a[0])
    return a


@right_or_refused
def everything_with_itself(w):
    a = w * 1
    a.multiply_(a)
    a.divide_(a[::-1])
    a.pow_(a)
    a.maximum_(a[::-1])
    a.subtract_(a[0])
    return a * a


@right
def diagonals(w):
    b = (w * 1).reshape([2, 2])
    b.diagonal().sin_()
    b.diagonal(1).scale_(4.0)
    b.T.diagonal(-1).scale_(2.0)
    b.diagonal().add_(b[0])
    return b * b


@right
def outer_and_inner_views_take_turns(w):
    b = w * 1
    inner, outer = b[1:3], b[0:3]
    for _ in range(3):
        inner.scale_(1.5)
        outer.add_(b[1])
        b.sin_()
    return inner.sum() + (outer * outer).sum()


# ---------- several leaves ----------


@right
def leaves_meet_in_slices(w, u):
    b = w * 1
    v = b[0:3]
    v[1:].multiply_(u[0:2])
    v.add_(w[1:])
    b[2:].divide_(u[2:])
    return b.exp() * u


@right
def a_constant_takes_in_one_leaf_after_another(w, u):
    b = mt.zeros([4], "float64")
    front, back = b[0:2], b[2:]
    front.add_(u[1:3])
    b.multiply_(w)
    back.zero_()
    back[1:].add_(u[0])
    return b * b


@right_or_refused
def three_leaves_in_one_storage(w, u, s):
    b = mt.zeros([3, 4], "float64")
    for row, x in zip(b, (w, u, s), strict=True):
        row.copy_(x)
    b.T[1].multiply_(b.T[2])
    b[0:2].subtract_(b[1:3])
    return (b * b).sum(axis=0)


@right_or_refused
def a_stored_view_of_another_leaf(w, u):
    a = w * 1
    v = a[1:3]
    v.copy_(u[0])
    a.copy_(a[::-1])
    v.copy_(a[0:2])
    v[0] = u[3] * a[1]
    return a * a


# ---------- storing ----------


@right
def storing_what_overlaps(w):
    b = w * 1
    b[1:] = b[:-1]
    b[::-1] = b
    b[[0, 1, 2, 3]] = b[[3, 2, 1, 0]]
    b[[0, 0, 1]] = b[1:]
    return b * b.exp()


@right
def rows_become_columns(w):
    b = (w * 1).reshape([2, 2])
    b[0] = b[:, 1]
    b[:] = b.T
    b[:, ::-1] = b
    return b * w.reshape([2, 2])


@right
def one_element_named_often(w, u):
    b = w * 1
    b[[2, 2, 2, 0]] = u
    c = b[[1, 1, 2]]
    c.multiply_(c.exp())
    return (b * b).sum() + c.sum()


@right
def masks(w, u):
    b = w * 1
    mask = b > 0.8
    b[mask] = (u * 2)[mask]
    b[~mask.numpy()] = 5.0
    b[b > 3] = b[b > 3] * u.sum()
    return b * b


@right
def values_with_leading_ones(w, u):
    b = (w * 1).reshape([2, 2])
    b[:] = u[0:2]
    b[0] = u[3]
    b[[1, 0], :] = u[1:3].reshape([1, 1, 2])
    b[1] = (u * w)[0:2].reshape([1, 2])
    return b * b * w.sum()


@right
def sums_at_an_index(w):
    b = w * 1
    b[1:] += b[:-1]
    b[[0, 2]] *= b[[3, 1]]
    b[b > 1] -= w[0]
    return b * b


@right
def nothing_is_stored_nowhere(w):
    b = w * 1
    b[4:] = b[4:]
    b[[]] = 3.0
    b[b > 100] = w[0]
    b[2:2].multiply_(b[4:])
    return b * b


# ---------- shapes in place ----------


@right
def members_and_founders_change_their_shapes(w):
    b = w * 1
    v = b[0:4]
    v.reshape_([2, 2])
    v.t_()
    v[0].sin_()
    b.reshape_([2, 2])
    u = b.T
    u.transpose_([1, 0])
    u.scale_(2.0)
    v.flatten_(1)
    return b.reshape([4]) * v.reshape([4])


@right
def a_shape_changes_between_a_write_and_a_read(w):
    b = w * 1
    v = b.unsqueeze(0)
    v.squeeze_()
    v.unsqueeze_([0, 1])
    v.scale_(2.0)
    b.unsqueeze_(1)
    v.flatten_(0)
    v.reshape_([2, 2])
    b[1:3] = v[0].unsqueeze(1)
    return b.squeeze() * v.flatten()


# ---------- as_strided ----------


@right
def windows_that_overlap_are_read(w):
    b = w * 1
    windows = b.as_strided([3, 2], [1, 1], 0)
    y = windows * windows
    b2 = (w * 2).as_strided([3, 2], [1, 1], 0)
    return y + b2


@right
def windows_see_later_writes(w):
    b = w * 1
    windows = b.as_strided([3, 2], [1, 1], 0)
    b.add_(1.0)
    b[2].scale_(2.0)
    return windows * windows


@right
def strided_families_of_a_reversed_view(w):
    b = (w * 1)[::-1]
    up, down = b.as_strided([4], [1], 0), b.as_strided([4], [-1], 3)
    up[0:2].sin_()
    down[0:2].scale_(3.0)
    b.as_strided([2], [2], 1).add_(up[2:])
    return b * up * down


@right_or_refused
def a_block_and_its_transpose(w):
    b = w * 1
    block = b[2:].as_strided([2, 2], [2, 1], 0)
    block[1].scale_(3.0)
    b[2:].exp_()
    block.T.multiply_(block.clone())
    return b * b


# ---------- normal operations between ----------


@right
def a_copy_taken_in_between_keeps_its_past(w):
    b = w * 1
    parts = b.split(2)
    taken = b[[0, 2]]
    joined = mt.concat([b[::-1], parts[0]])
    b.sin_()
    parts[0].scale_(3.0)
    return (joined * joined).sum() + (b * b).sum() + (parts[0] * taken).sum()


@right
def expanding_copies(w):
    b = w * 1
    e = b.expand([3, 4])
    e[0].sin_()
    e.add_(b)
    return e * e


@right
def a_condition_from_the_old_value(w, u):
    b = w * 1
    condition = b > 1.0
    b.scale_(3.0)
    r = mt.where(condition, b, u)
    b.sin_()
    return r * b


@right_or_refused
def a_condition_that_is_overwritten(w, u):
    condition = w > 1.0
    r = mt.where(condition, w, u)
    condition[0] = True
    return r


@right
def reductions_of_views(w):
    a = (w * 1).reshape([2, 2])
    products, largest = a.prod(axis=0), a.T.max(axis=1, keepdim=True)
    return products * largest * a.min() * a.mean(axis=[0, 1])


@right_or_refused
def a_matrix_is_written_after_it_was_multiplied(w, u):
    a, b = (w * 1).reshape([2, 2]), (u * 1).reshape([2, 2])
    c = a @ b
    a.T[0].scale_(2.0)
    return c


@right
def vectors_and_matrices(w, u):
    a, b = w.reshape([2, 2]), u.reshape([2, 2])
    return w @ u + (a @ u[0:2]).sum() + (w[0:2] @ b).square().sum() + a.matmul(b, transpose_x=True).sin().sum()


@right
def arguments_in_every_order(w):
    b = w * 1
    b.scale_(2.0, 1.0, False)
    b.scale_(3.0, 2.0)
    b.clip_(1.0, 14.0)
    b.abs_()
    b.rsqrt_()
    return b


# ---------- copies, deaths ----------


@right
def copies_are_members(w):
    b = w * 1
    c = copy.copy(b)
    c.sin_()
    b.add_(c)
    d = copy.copy(c[1:3])
    d.scale_(2.0)
    c.reshape_([2, 2])
    return b * c.reshape([4])


@right
def the_founder_dies_first(w):
    b = w * 1
    v = b[0:2]
    del b
    v.sin_()
    u = v.reshape([2, 1])
    del v
    u.scale_(3.0)
    return u * u


@right_or_refused
def only_the_elements_live(w):
    a, b, c, d = (w * 1).unbind()
    a.multiply_(b)
    b.sin_()
    c.add_(a)
    a.scale_(2.0)
    return a + b + c * d


@right
def a_writer_dies_and_a_reader_lives(w):
    a = w * 1
    v, c = a[0:2], a[1:3]
    del a
    v.multiply_(c)
    del v
    return c.exp()


@right
def a_graph_outlives_its_tensors(w):
    total = mt.zeros([], "float64")
    for i in range(4):
        b = w * (i + 1.0)
        b[i].sin_()
        total = total + b[0:3].prod()
        del b
    return total


# ---------- hooks, retained gradients, backward in between ----------


@right
def hooks_and_retained_gradients_disturb_nobody(w):
    a = w * 1
    a.retain_grads()
    a.register_hook(lambda g: None)
    v = a[1:3]
    v.retain_grads()
    v.sin_()
    v.register_hook(lambda g: g.fill_(99.0) and None)
    a.scale_(2.0)
    v.add_(a[0])
    return a * a


@right
def gradients_are_asked_for_in_the_middle(w):
    a = w * 1
    v = a[0:2]
    v.sin_()
    (middle,) = mt.grad(a.sum(), w, retain_graph=True)
    assert middle.stop_gradient
    v.scale_(2.0)
    return a * a


@right
def weights_that_are_gradients(w):
    (slope,) = mt.grad((w * w).sum(), w)
    assert slope.stop_gradient
    del slope
    b = w * 1
    b.retain_grads()
    mt.grad(b.exp().sum(), b, retain_graph=True)
    b[0:2].multiply_(b[2:])
    return b


# ---------- dimensions and elements of length 0 and 1 ----------


@right_or_refused
def numbers_without_dimensions(w):
    b = w * 1
    number = b[1]
    number.sin_()
    number.unsqueeze_(0)
    number.add_(b[0:1])
    number[0].multiply_(number[0].clone())
    b[1] = b[2] * number[0]
    return b.prod()


@right
def empty_views_at_the_end_of_memory(w):
    b = (w * 1).reshape([2, 2])
    nothing = b[2:, 1:]
    nothing.scale_(2.0)
    b[2:2, 1:] = 4.0
    b[2:][:, 1:].add_(1.0)
    b.sin_()
    return b.sum() + (nothing * nothing).sum()


@pytest.mark.parametrize("program", RIGHT, ids=lambda p: p.__name__)
def test_the_gradient_is_right(program: Program):
    expect_right(program)


@pytest.mark.parametrize("program", REFUSABLE, ids=lambda p: p.__name__)
def test_the_gradient_is_right_or_refused(program: Program):
    try:
        expect_right(program)
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)


@pytest.mark.parametrize("program", RIGHT, ids=lambda p: p.__name__)
def test_the_memory_comes_back(program: Program, no_collector):
    before = mt.device.cpu.memory_allocated()
    given, result = run(program, *leaves_of(program))
    result.sum().backward()
    del given, result
    assert mt.device.cpu.memory_allocated() == before


# ---------- by hand: detach, no_grad, stop_gradient ----------


def test_a_write_through_a_detached_alias_changes_values_not_history():
    w = leaf([1.0, 2.0])
    x = w * 3
    x.detach().fill_(10.0)
    assert x.tolist() == [10, 10]
    (x * x).sum().backward()
    assert w.grad.tolist() == [60, 60]  # 2x * 3, with the x that is there now


def test_a_detached_alias_that_takes_in_a_leaf_has_a_history_of_its_own():
    w, u = leaf([1.0, 2.0]), leaf([5.0, 6.0])
    x = w * 1
    alias = x.detach()
    alias.add_(u)
    assert x.tolist() == [6, 8] and not alias.stop_gradient
    (x.sum() + 10 * alias.sum()).backward()
    assert w.grad.tolist() == [1, 1] and u.grad.tolist() == [10, 10]


def test_two_families_over_one_storage_do_not_mix():
    w, u = leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0])
    x = w * 1
    alias = x.detach()[::-1]
    alias.multiply_(u)
    view = x[0:2]
    view.scale_(2.0)
    (alias * 100 + x).sum().backward()
    assert w.grad.tolist() == [2, 2, 1]
    assert u.grad.tolist() == [300, 200, 100]


def test_no_grad_writes_are_values_that_the_history_does_not_know():
    w = leaf([1.0, 2.0, 3.0, 4.0])
    x = w * 1
    view = x[0:2]
    with mt.no_grad():
        view.set_value(np.array([7.0, 7.0]))
        x[3] = 9.0
    (x * x).sum().backward()
    assert w.grad.tolist() == [14, 14, 6, 18]


def test_a_view_taken_under_no_grad_of_a_constant_joins_its_family():
    x, w = mt.zeros([4], "float64"), leaf([1.0, 2.0])
    with mt.no_grad():
        view = x[2:4]
    view.add_(w)
    assert not x.stop_gradient
    (x * x).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_a_frozen_and_thawed_leaf_still_gets_the_gradient_of_what_was_computed_before():
    w = leaf([1.0, 2.0])
    y = (w * w).sum()
    w.stop_gradient = True
    w.stop_gradient = False
    y.backward()
    assert w.grad is not None and w.grad.tolist() == [2, 4]


def test_a_frozen_leaf_keeps_the_gradient_it_has():
    w = leaf([1.0, 2.0])
    (w * 3).sum().backward()
    w.stop_gradient = True
    assert (w * 2).stop_gradient
    w.stop_gradient = False
    assert w.grad.tolist() == [3, 3]


def test_a_gradient_may_be_written_like_any_tensor():
    w = leaf([1.0, 2.0])
    (w * w).sum().backward()
    w.grad.add_(w.grad)
    w.grad[0:1].fill_(9.0)
    (w * w).sum().backward()
    assert w.grad.tolist() == [11, 12]
