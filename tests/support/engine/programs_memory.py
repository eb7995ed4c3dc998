"""Programs that write through views of views, from several leaves, at indices, and with other shapes and strides.

Their parameters are leaves of four different numbers.
"""

from __future__ import annotations

import minitensor as mt
from tests.support.engine.programs import right, right_or_refused

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
def a_view_multiplies_a_part_of_its_base(w):
    b = (w * 1).reshape([2, 2])
    column = b.T[::-1][:, 1]
    column.exp_()
    b.T[0].multiply_(column)
    return b.sin()


@right
def a_clone_of_a_reversed_view(w):
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
def in_place_operations_with_operands_that_overlap_the_target(w):
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
def leaves_are_written_into_slices(w, u):
    b = w * 1
    v = b[0:3]
    v[1:].multiply_(u[0:2])
    v.add_(w[1:])
    b[2:].divide_(u[2:])
    return b.exp() * u


@right
def leaves_are_written_into_a_constant(w, u):
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
def values_that_overlap_the_target_are_stored(w):
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
def an_index_repeats_an_element(w, u):
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
def augmented_assignment_at_an_index(w):
    b = w * 1
    b[1:] += b[:-1]
    b[[0, 2]] *= b[[3, 1]]
    b[b > 1] -= w[0]
    return b * b


@right
def empty_selections_are_written(w):
    b = w * 1
    b[4:] = b[4:]
    b[[]] = 3.0
    b[b > 100] = w[0]
    b[2:2].multiply_(b[4:])
    return b * b


# ---------- shapes in place ----------


@right
def a_base_and_its_views_change_their_shapes(w):
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
def strided_groups_of_a_reversed_view(w):
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
