"""Programs with operations, copies, deletions, hooks and gradients between the writes.

Their parameters are leaves of four different numbers.
"""

from __future__ import annotations

import copy

import minitensor as mt
from tests.support.engine.programs import right, right_or_refused

# ---------- normal operations between writes ----------


@right
def a_copy_between_writes_keeps_its_values(w):
    b = w * 1
    parts = b.split(2)
    taken = b[[0, 2]]
    joined = mt.concat([b[::-1], parts[0]])
    b.sin_()
    parts[0].scale_(3.0)
    return (joined * joined).sum() + (b * b).sum() + (parts[0] * taken).sum()


@right
def expand_returns_a_copy(w):
    b = w * 1
    e = b.expand([3, 4])
    e[0].sin_()
    e.add_(b)
    return e * e


@right
def a_write_does_not_change_an_earlier_comparison(w, u):
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
def positional_arguments_of_in_place_operations(w):
    b = w * 1
    b.scale_(2.0, 1.0, False)
    b.scale_(3.0, 2.0)
    b.clip_(1.0, 14.0)
    b.abs_()
    b.rsqrt_()
    return b


# ---------- copies and deletions ----------


@right
def a_shallow_copy_shares_memory_and_history(w):
    b = w * 1
    c = copy.copy(b)
    c.sin_()
    b.add_(c)
    d = copy.copy(c[1:3])
    d.scale_(2.0)
    c.reshape_([2, 2])
    return b * c.reshape([4])


@right
def a_computed_tensor_is_freed_before_its_views(w):
    b = w * 1
    v = b[0:2]
    del b
    v.sin_()
    u = v.reshape([2, 1])
    del v
    u.scale_(3.0)
    return u * u


@right_or_refused
def only_the_views_of_unbind_are_alive(w):
    a, b, c, d = (w * 1).unbind()
    a.multiply_(b)
    b.sin_()
    c.add_(a)
    a.scale_(2.0)
    return a + b + c * d


@right
def a_written_view_is_freed_before_another_view_is_read(w):
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


# ---------- hooks, retained gradients and backward between writes ----------


@right
def hooks_and_retained_gradients_change_no_value(w):
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
def gradients_are_requested_between_writes(w):
    a = w * 1
    v = a[0:2]
    v.sin_()
    (middle,) = mt.grad(a.sum(), w, retain_graph=True)
    assert middle.stop_gradient
    v.scale_(2.0)
    return a * a


@right
def gradients_are_requested_before_a_write(w):
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
