"""Test cast_, resize_, set_, apply_ and requires_grad_: storages, views, versions, histories and refused calls."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.autograd.gradcheck import gradcheck
from tests.support.engine.differences import leaf
from tests.support.engine.memory import allocated
from tests.support.engine.named import expect_named
from tests.support.engine.state import Moment

# ---------- cast_ ----------


def test_cast_gives_the_tensor_a_new_storage_and_its_views_keep_the_old_one():
    x = mt.to_tensor([1.5, -2.5, 3.0])
    view, alias = x[1:], x.detach()
    assert x.cast_("int64") is x
    assert x.dtype == "int64" and x.tolist() == [1, -2, 3] and x.inplace_version == 1
    x.add_(10)
    assert view.tolist() == [-2.5, 3.0] and alias.tolist() == [1.5, -2.5, 3.0] and view.inplace_version == 0
    view.zero_()
    assert x.tolist() == [11, 8, 13] and alias.tolist() == [1.5, 0, 0]


def test_cast_and_resize_raise_the_version_of_the_tensor_by_1():
    x = mt.ones([2]).add_(1.0).add_(1.0)
    assert x.cast_("float64").inplace_version == 3
    assert x.resize_([5]).inplace_version == 4


def test_cast_to_the_dtype_of_the_tensor_does_nothing():
    x = mt.ones([2])
    pointer = x.data_ptr()
    assert mt.cast_(x, "float32") is x and x.data_ptr() == pointer and x.inplace_version == 0


def test_the_old_storage_of_a_cast_tensor_is_freed_with_its_last_view(base: int):
    x = mt.ones([16, 16])
    x.cast_("float64")
    assert allocated() - base == 2048
    view = x[0]
    x.cast_("float32")
    assert allocated() - base == 2048 + 1024
    del view
    assert allocated() - base == 1024


def test_the_gradient_of_a_leaf_behind_a_cast_has_the_dtype_of_the_leaf():
    w = leaf([1.0, 2.0])
    x = w * 3
    before = x * x
    x.cast_("float32")
    assert not x.stop_gradient and x.grad_fn.name == "cast"
    (x * x).sum().backward(retain_graph=True)
    before.sum().backward()  # `before` saved the values in the old storage, which nothing has overwritten
    assert w.grad.tolist() == [36, 72] and w.grad.dtype == "float64"
    with mt.set_inplace_policy("copy_on_write"):
        assert gradcheck(lambda y: (y * 1).cast_("float32").cast_("float64") * y, leaf([0.5, 2.0]), order=2, atol=0.5)


def test_a_cast_under_no_grad_keeps_the_history_of_the_tensor():
    w = leaf([1.0])
    x = w * 2
    with mt.no_grad():
        x.cast_("float32")
    (x * 3).backward()
    assert w.grad.tolist() == [6] and w.grad.dtype == "float64"


def test_a_write_to_a_cast_view_does_not_change_the_base_and_both_get_gradients():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    view = x[1:]
    view.cast_("float32")
    view.scale_(10.0)
    x.scale_(2.0)
    assert x.tolist() == [2, 4, 6] and view.tolist() == [20, 30]
    (x.sum() + view.sum()).backward()
    assert w.grad.tolist() == [2, 12, 12]


def test_a_cast_view_of_a_leaf_may_be_written_because_it_has_its_own_storage():
    w = leaf([1.0, 2.0])
    view = w[0:1]
    view.cast_("float32")
    view.add_(1.0)
    assert w.tolist() == [1, 2] and view.tolist() == [2]
    view.backward()
    assert w.grad.tolist() == [1, 0]


def test_a_leaf_can_be_cast_only_under_no_grad_and_its_gradient_is_cast_too():
    w = leaf([1.0, 2.0])
    seen = []
    w.register_hook(lambda g: seen.append(g.dtype.name))
    early = w * 3
    view = w[0:1]
    (w * 2).sum().backward()
    before = Moment(w=w)
    with pytest.raises(ValueError, match=r"(?s)Leaf Var.*cast_"):
        w.cast_("float32")
    before.expect_unchanged()
    with mt.no_grad():
        w.cast_("float32")
    assert w.is_leaf and not w.stop_gradient and w.grad.dtype == "float32" and w.grad.tolist() == [2, 2]
    early.sum().backward()
    (w * 5).sum().backward()
    (view * 7).sum().backward()
    assert w.grad.tolist() == [17, 10] and w.grad.dtype == "float32" and set(seen) == {"float64", "float32"}


def test_cast_also_converts_a_retained_gradient():
    w = leaf([1.0])
    x = w * 2
    x.retain_grads()
    (x * 3).backward(retain_graph=True)
    x.cast_("float32")
    assert x.grad.tolist() == [3] and x.grad.dtype == "float32"
    (x * 4).backward()
    assert x.grad.tolist() == [4] and x.grad.dtype == "float32"


def test_cast_to_integers_is_refused_if_the_tensor_requires_a_gradient():
    for x in (leaf([1.5]), leaf([1.5]) * 1):
        before = Moment(x=x)
        with mt.no_grad():
            expect_named(lambda x=x: x.cast_("int32"), "cast_", "int32", "astype", "detach_")
        before.expect_unchanged()
    expect_named(lambda: mt.ones([2]).cast_("float8"), "float8", "float32")


# ---------- resize_ ----------


def test_resize_to_fewer_elements_keeps_the_storage():
    x = mt.to_tensor([1.0, 2.0, 3.0])
    view = x[0:2]
    assert x.resize_([2, 1]) is x
    assert x.tolist() == [[1], [2]] and x.inplace_version == 0
    view.scale_(10.0)
    assert x.tolist() == [[10], [20]]


def test_resize_to_more_elements_allocates_a_new_storage_padded_with_zeros():
    for fill_zero in (True, False):
        x = mt.to_tensor([1.0, 2.0, 3.0])
        view, pointer = x[0:2], x.data_ptr()
        x.resize_([2, 3], fill_zero=fill_zero)
        assert x.tolist() == [[1, 2, 3], [0, 0, 0]] and x.data_ptr() != pointer and x.inplace_version == 1
        x.zero_()
        assert view.tolist() == [1, 2]


def test_resize_of_a_transposed_tensor_keeps_its_elements_in_row_order():
    x = mt.to_tensor([[1.0, 2.0], [3.0, 4.0]]).t()
    base = x.t()
    assert x.resize_([3]).tolist() == [1, 3, 2]
    x.zero_()
    assert base.tolist() == [[1, 2], [3, 4]]


def test_resize_of_a_view_to_more_elements_does_not_show_the_rest_of_its_base():
    x = mt.to_tensor([1, 2, 3, 4])
    part = x[0:2]
    assert part.resize_([4]).tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize("shape", [[], [0], [0, 3], [1, 1], [5]])
def test_resize_accepts_any_shape(shape: list[int], base: int):
    x = mt.ones([16])
    x.resize_(shape)
    assert x.shape == shape and x.tolist() == np.ones(16)[: int(np.prod(shape))].reshape(shape).tolist()
    del x
    assert allocated() == base


def test_resize_is_refused_if_a_gradient_is_required_and_for_wrong_shapes():
    for x in (leaf([1.0, 2.0]), leaf([1.0, 2.0]) * 1):
        before = Moment(x=x)
        expect_named(lambda x=x: x.resize_([1]), "resize_", "gradient", "detach_", error=RuntimeError)
        before.expect_unchanged()
    x = mt.ones([2])
    before = Moment(x=x)
    expect_named(lambda: x.resize_([-3]), "resize_", "-3")
    expect_named(lambda: x.resize_("ab"), "resize_")
    expect_named(lambda: x.resize_([1], fill_zero=2), "resize_", "fill_zero", "2")
    before.expect_unchanged()


# ---------- set_ ----------


def test_set_makes_the_tensor_use_the_storage_of_the_source():
    x, source = mt.zeros([3]), mt.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    old = x[:]
    assert x.set_(source) is x and x.tolist() == source.tolist() and x.data_ptr() == source.data_ptr()
    source.scale_(10.0)
    assert x.tolist() == [[10, 20], [30, 40]] and x.inplace_version == source.inplace_version == 1
    x.zero_()
    assert source.tolist() == [[0, 0], [0, 0]] and old.tolist() == [0, 0, 0] and old.inplace_version == 0


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({}, [[2, 1], [5, 4]]),
        ({"shape": [4]}, [0, 1, 2, 3]),
        ({"shape": [2, 2], "offset": 2}, [[2, 3], [4, 5]]),
        ({"shape": [2], "stride": [3]}, [0, 3]),
        ({"shape": [2, 2], "stride": [1, 1], "offset": 1}, [[1, 2], [2, 3]]),
        ({"shape": [0]}, []),
    ],
)
def test_strides_and_offsets_in_a_call_of_set_are_numbers_of_elements(given, values):
    source = mt.to_tensor(np.arange(6.0).reshape(2, 3))
    strange = source[:, 1:].as_strided([2, 2], [3, 1], 1)
    x = mt.ones([7], "int32").set_(source if given else strange, **given)
    assert x.tolist() == (values if given else [[1, 2], [4, 5]]) and x.dtype == source.dtype


def test_set_without_a_source_makes_the_tensor_empty(base: int):
    x = mt.ones([16], "float64")
    x.set_()
    assert x.shape == [0] and x.dtype == "float64" and allocated() == base


def test_writes_to_tensor_or_source_after_a_call_of_set_are_recorded_for_both():
    w = leaf([1.0, 2.0])
    x, source = w * 100, w * 3
    y = x * 1
    x.set_(source)
    source[0:1].scale_(2.0)
    assert x.tolist() == [6, 6]
    x.scale_(5.0)
    (x.sum() + y.sum()).backward()
    assert w.grad.tolist() == [30 + 100, 15 + 100] and source.tolist() == [30, 30]


def test_set_under_no_grad_makes_the_tensor_a_detached_alias_of_the_source():
    w = leaf([1.0])
    x, source = w * 2, w * 3
    with mt.no_grad():
        x.set_(source)
    assert x.stop_gradient and x.tolist() == [3] and x.data_ptr() == source.data_ptr()


def test_a_tensor_with_a_retained_gradient_may_be_set_to_a_part_of_itself():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 2
    x.retain_grads()
    x.set_(x, [2], [1], 1)
    assert x.tolist() == [4, 6]
    (x * 5).sum().backward()
    assert w.grad.tolist() == [0, 10, 10] and x.grad.tolist() == [5, 5]


def test_set_refuses_a_leaf_as_target_and_a_tensor_set_to_a_leaf_cannot_be_written():
    w, source = leaf([1.0]), mt.ones([1], "float64")
    before = Moment(w=w, source=source)
    for mode in (mt.enable_grad, mt.no_grad):
        with mode():
            expect_named(lambda: w.set_(source), "set_", "Leaf", "set_value")
    before.expect_unchanged()
    x = mt.zeros([1], "float64").set_(w)
    with pytest.raises(ValueError, match="Leaf Var"):
        x.add_(1.0)
    assert w.tolist() == x.tolist() == [1]


def test_the_error_of_set_names_an_argument_that_does_not_fit():
    x, source = mt.zeros([2]), mt.ones([3])
    before = Moment(x=x)
    expect_named(lambda: x.set_([1.0]), "set_", "Tensor", "list")
    expect_named(lambda: x.set_(shape=[1]), "set_", "source")
    expect_named(lambda: x.set_(source, [4]), r"\[4\]")
    expect_named(lambda: x.set_(source, [1], [1], -1), "offset -1")
    before.expect_unchanged()


# ---------- apply_ and requires_grad_ ----------


def test_apply_calls_the_function_with_the_whole_tensor_and_writes_once():
    x = mt.to_tensor([1.0, 2.0])
    view, given = x[0:1], []
    assert x.apply_(lambda t: given.append(t.shape) or 3 * t + 2) is x
    assert x.tolist() == [5, 8] and view.tolist() == [5] and x.inplace_version == 1 and given == [[2]]
    y = x.apply(lambda t: t - 1)
    assert y.tolist() == [4, 7] and x.tolist() == [5, 8] and y is not x


def test_apply_under_no_grad_updates_a_leaf():
    w = leaf([1.0])
    with mt.no_grad():
        w.apply_(lambda t: t * 0.5)
    assert w.is_leaf and not w.stop_gradient and w.tolist() == [0.5]


def test_the_function_of_apply_may_use_a_leaf_which_then_gets_a_gradient():
    w, x = leaf([2.0]), mt.ones([1], "float64")
    x.apply_(lambda t: t + w * 3)
    x.backward()
    assert w.grad.tolist() == [3]


def test_the_error_of_apply_names_a_wrong_function_or_result_and_nothing_is_written():
    x = leaf([1.0, 2.0]) * 1
    for call in (x.apply_, x.apply):
        expect_named(lambda call=call: call(mt.sin), "apply", "gradient", "no_grad", error=RuntimeError)
    y = mt.ones([2])
    before = Moment(x=x, y=y)
    expect_named(lambda: y.apply_(lambda t: 1.0), "apply_", "float")
    expect_named(lambda: y.apply_("sin"), "apply_", "str")
    before.expect_unchanged()
    expect_named(lambda: y.apply_(lambda t: t.sum()), "apply_", r"\[\]", r"\[2\]")
    assert y.tolist() == [1, 1] and y.inplace_version == 0


def test_requires_grad_is_the_opposite_of_stop_gradient():
    x = mt.ones([2])
    assert x.requires_grad_() is x and not x.stop_gradient and x.is_leaf
    assert x.requires_grad_(False).stop_gradient and x.inplace_version == 0
    y = leaf([1.0]) * 2
    assert y.requires_grad_(requires_grad=False).stop_gradient and y.is_leaf
    expect_named(lambda: x.requires_grad_("yes"), "requires_grad_", "yes")
    expect_named(lambda: mt.ones([2], "int32").requires_grad_(), "int32")


# ---------- memory ----------


def test_cast_and_set_leave_no_reference_cycles(base: int):
    w = leaf(np.ones((8, 16)))
    x = w * 1
    x.retain_grads()
    x.cast_("float32")
    y = x * 2
    x.set_(y)
    z = mt.zeros([3]).set_(x)
    z.cast_("float64")
    z.sum().backward()
    with mt.no_grad():
        w.cast_("float32")
    w.sum().backward()
    del w, x, y, z
    assert allocated() == base
