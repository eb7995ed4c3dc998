"""Test stale saved tensors: backward raises if a saved tensor was overwritten, and the error explains the mistake.

The programs and their results were recorded from Paddle 2.6.2 and PyTorch. Where minitensor differs on purpose, the
name of the program gives the reason.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.views import indexing
from tests.support.engine.differences import leaf

STALE = "modified by an inplace operation"


def three() -> tuple[mt.Tensor, mt.Tensor]:
    w = leaf([1.0, 2.0, 3.0])
    return w, w * 1


def line() -> int:
    """Return the line number of the call."""
    return sys._getframe(1).f_lineno


# ---------- the text of the error ----------


def test_the_error_names_both_lines_and_both_versions_and_suggests_two_remedies():
    _w, a = three()
    y = a * a
    saved = line() - 1
    a.add_(1.0)
    written = line() - 1
    with pytest.raises(RuntimeError) as raised:
        y.backward()
    text = str(raised.value)
    assert f"multiply saved its first input at version 0 (test_stale.py, line {saved}: y = a * a" in text
    assert f"add_, which made version 1 (test_stale.py, line {written}: a.add_(1.0)" in text
    assert "received tensor_version:1 != wrapper_version_snapshot:0" in text  # these are Paddle's words
    assert "shape [3]" in text
    assert "normal operation" in text and "clone()" in text


def test_the_error_names_the_first_of_several_writes_and_the_current_version():
    _w, a = three()
    a.scale_(2.0)
    y = a.sin()
    a.add_(1.0)
    first = line() - 1
    a.subtract_(1.0)
    with pytest.raises(RuntimeError) as raised:
        y.backward()
    text = str(raised.value)
    assert "sin saved its input at version 1" in text
    assert "add_, which made version 2" in text and f"line {first}" in text
    assert "now at version 3" in text
    assert "received tensor_version:3 != wrapper_version_snapshot:1" in text


def test_the_error_calls_a_saved_output_an_output():
    _w, a = three()
    y = a.exp()
    y.add_(1.0)
    with pytest.raises(RuntimeError, match=r"exp saved its output at version 0") as raised:
        y.backward()
    assert "overwritten: by add_" in str(raised.value)


def test_the_error_about_a_saved_output_advises_to_write_into_a_clone_which_works():
    w, a = three()
    y = a.exp()
    y.add_(1.0)
    with pytest.raises(RuntimeError, match=r"or write into a `clone\(\)` of the output\.$") as raised:
        y.backward()
    assert "to save" not in str(raised.value)
    w, a = three()
    y = a.exp()
    z = y.clone()
    z.add_(1.0)
    z.backward()
    np.testing.assert_allclose(w.grad.numpy(), np.exp([1.0, 2.0, 3.0]), rtol=1e-6)


def test_the_error_about_a_saved_operand_advises_to_save_a_clone_which_works():
    w, a = three()
    y = a.sin()
    a.add_(1.0)
    with pytest.raises(RuntimeError, match=r"or give sin a `clone\(\)` to save\.$"):
        y.backward()
    w, a = three()
    y = a.clone().sin()
    a.add_(1.0)
    y.backward()
    np.testing.assert_allclose(w.grad.numpy(), np.cos([1.0, 2.0, 3.0]), rtol=1e-6)


@pytest.mark.parametrize(
    "write, name",
    [
        (lambda a: a.__setitem__(0, 1.0), "setitem"),
        (lambda a: a.__setitem__([0], 1.0), "setitem"),
        (lambda a: a.copy_(1.0), "copy_"),
        (lambda a: a.set_value(np.zeros(3)), "set_value"),
        (lambda a: a.fill_(1.0), "fill_"),
        (lambda a: a.zero_(), "zero_"),
        (lambda a: a[0:1].exp_(), "exp_"),
        (lambda a: a.reshape([3, 1]).relu_(), "relu_"),
        (lambda a: a.detach().sin_(), "sin_"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_the_error_names_a_write_of_any_kind(write, name: str):
    _w, a = three()
    y = a * a
    write(a)
    with pytest.raises(RuntimeError, match=rf"overwritten: by {name}, which made version 1 \(test_stale.py, line"):
        y.backward()


def test_a_write_inside_a_function_is_reported_at_its_line():
    def inner(x):
        x.add_(1.0)
        return line() - 1

    _w, a = three()
    y = a * a
    number = inner(a)
    with pytest.raises(RuntimeError, match=rf"line {number}: x.add_\(1.0\)"):
        y.backward()


def test_after_a_thousand_other_writes_the_error_names_the_write_or_says_it_is_not_logged():
    w, a = three()
    y = a * a
    a.add_(1.0)
    number = line() - 1
    part = w * 1
    front = part[:1]
    z = front * front
    part[2] = 0.0
    other = mt.zeros([1], "float64")
    saver = other * w[:1]  # saves `other`, so that the writes to it are logged
    for _ in range(1100):
        other.add_(1.0)
    assert not saver.stop_gradient
    with pytest.raises(RuntimeError) as raised:
        y.backward()
    text = str(raised.value)
    assert "multiply saved its first input at version 0" in text
    assert f"overwritten: by add_, which made version 1 (test_stale.py, line {number}: a.add_(1.0))" in text
    assert "received tensor_version:1 != wrapper_version_snapshot:0" in text
    # The saved bytes are intact, but only the write log could show it, and the log no longer has this write.
    with pytest.raises(RuntimeError) as raised:
        z.backward()
    text = str(raised.value)
    assert "multiply saved its first input at version 0" in text
    assert "by a write that the log does not have" in text
    assert "received tensor_version:1 != wrapper_version_snapshot:0" in text


def test_the_error_names_no_write_to_a_freed_storage_that_had_the_same_address():
    w, a = three()
    for _ in range(300):  # these tensors are freed, so that their memory and their ids are reused
        dead = mt.zeros([3], "float64")
        saver = dead * w
        dead.relu_()  # this write is logged, because an operation saved from the storage
        del dead, saver
    y = a * a
    a.add_(1.0)
    with pytest.raises(RuntimeError, match="by add_, which made version 1"):
        y.backward()


def test_the_error_names_the_line_if_the_code_has_no_file():
    names = {"mt": mt}
    exec("w = mt.to_tensor([1.0], stop_gradient=False)\na = w * 1\ny = a * a\na.add_(1.0)\n", names)
    with pytest.raises(RuntimeError) as raised:
        names["y"].backward()
    assert "(line 3" in str(raised.value) and "(line 4" in str(raised.value)


# ---------- programs that are right or refused ----------

RIGHT = {
    "y=exp(a); a.add_(1)": (lambda a: (a.exp(), a.add_(1.0)), lambda w: np.exp(w)),
    "y=relu(a); a.add_(1)": (lambda a: (a.relu(), a.add_(1.0)), lambda w: np.ones(3)),
    "y=a+1; a.scale_(5)": (lambda a: (a + 1, a.scale_(5.0)), lambda w: np.ones(3)),
    "y=a-a; a.scale_(5)": (lambda a: (a - a, a.scale_(5.0)), lambda w: np.zeros(3)),
    "y=sum(a); a.zero_()": (lambda a: (a.sum(), a.zero_()), lambda w: np.ones(3)),
    "y=a*constant; a.add_(1) (Paddle refuses: multiply saves both)": (
        lambda a: (a * mt.to_tensor([5.0, 6.0, 7.0], "float64"), a.add_(1.0)),
        lambda w: np.array([5.0, 6.0, 7.0]),
    ),
    "y=a/constant; y.add_(1) (Paddle refuses: divide saves its output)": (
        lambda a: ((a / mt.to_tensor([2.0, 4.0, 5.0], "float64")).add_(1.0),),
        lambda w: np.array([0.5, 0.25, 0.2]),
    ),
    "y=a*a; a.reshape_() (Paddle refuses: reshape_ raises the version)": (
        lambda a: (a * a, a.reshape_([3, 1])),
        lambda w: 2 * w,
    ),
    "y=a*a.clone()": (lambda a: (a * a.clone(),), lambda w: 2 * w),
    "a.multiply_(a) (Paddle refuses)": (lambda a: (a.multiply_(a),), lambda w: 2 * w),
    "sin_ cos_ exp_ in a chain": (
        lambda a: (a.sin_().cos_().exp_(),),
        lambda w: -np.exp(np.cos(np.sin(w))) * np.sin(np.sin(w)) * np.cos(w),
    ),
    "sin_ add_": (lambda a: (a.sin_().add_(1.0),), lambda w: np.cos(w)),
}


@pytest.mark.parametrize("program", RIGHT)
def test_backward_is_right_if_only_values_that_it_does_not_need_were_overwritten(program: str):
    run, slope = RIGHT[program]
    w, a = three()
    run(a)[0].backward()
    np.testing.assert_allclose(w.grad.numpy(), slope(np.array([1.0, 2.0, 3.0])))


REFUSED = {
    "y=a*a; a.add_(1)": lambda a: (a * a, a.add_(1.0)),
    "y=sin(a); a.add_(1)": lambda a: (a.sin(), a.add_(1.0)),
    "y=exp(a); y.add_(1)": lambda a: (a.exp().add_(1.0),),
    "y=relu(a); y.add_(1)": lambda a: (a.relu().add_(1.0),),
    "y=tanh(a); y.add_(1)": lambda a: (a.tanh().add_(1.0),),
    "y=sigmoid(a); y.add_(1)": lambda a: (a.sigmoid().add_(1.0),),
    "y=sqrt(a); y.add_(1)": lambda a: (a.sqrt().add_(1.0),),
    "exp_ add_": lambda a: (a.exp_().add_(1.0),),
    "relu_ scale_": lambda a: (a.relu_().scale_(2.0),),
    "tanh_ sin_": lambda a: (a.tanh_().sin_(),),
    "y=a*a; a.detach().add_(1)": lambda a: (a * a, a.detach().add_(1.0)),
    "y=a*a; a[0:1].add_(1)": lambda a: (a * a, a[0:1].add_(1.0)),
    "y=a*a; a.reshape(..).add_(1)": lambda a: (a * a, a.reshape([3, 1]).add_(1.0)),
    "v=a[0:2]; y=v*v; a.scale_(10)": lambda a: ((lambda v: v * v)(a[0:2]), a.scale_(10.0)),
    "y=a*a; a[0]=100": lambda a: (a * a, a.__setitem__(0, 100.0)),
    "y=a*a; a.zero_()": lambda a: (a * a, a.zero_()),
    "y=a*a; add_ and subtract_ restore the numbers": lambda a: (a * a, a.add_(1.0), a.subtract_(1.0)),
    "y=a*a; a.set_value(9) (Paddle: silently wrong)": lambda a: (a * a, a.set_value(np.full(3, 9.0))),
    "y=a*a; a.copy_(9) (Paddle: silently wrong)": lambda a: (a * a, a.copy_(9.0)),
    "y=a*m; m.add_(1)": lambda a: (lambda m: (a * m, m.add_(1.0)))(mt.ones([3], "float64")),
    "a.multiply_(m); m.add_(1)": lambda a: (lambda m: (a.multiply_(m), m.add_(1.0)))(mt.ones([3], "float64")),
    "y=where(c,a,0); c[0]=False": lambda a: (lambda c: (mt.where(c, a, 0.0), c.__setitem__(0, False)))(a > 1.5),
    "y=max(a); a.zero_()": lambda a: (a.max(), a.zero_()),
    "y=prod(a); a.zero_()": lambda a: (a.prod(), a.zero_()),
    "y=a@a; a.zero_()": lambda a: (a @ a, a.zero_()),
}


@pytest.mark.parametrize("program", REFUSED)
def test_backward_raises_if_a_value_that_it_needs_was_overwritten(program: str):
    w, a = three()
    y = REFUSED[program](a)[0]
    with pytest.raises(RuntimeError, match=STALE):
        y.backward()
    assert w.grad is None


def test_a_write_to_a_leaf_under_no_grad_makes_its_saved_values_stale():
    w = leaf([1.0, 2.0])
    y = w * w
    with mt.no_grad():
        w.scale_(10.0)
    with pytest.raises(RuntimeError, match=STALE):
        y.backward()


def test_values_that_no_required_gradient_needs_may_be_overwritten():
    w, a = three()
    constant = mt.to_tensor([1.0, 2.0, 3.0], "float64")
    y = mt.maximum(a, constant) + constant * constant
    constant_alone = constant.exp()
    constant_alone.add_(1.0)
    y.backward()
    assert w.grad is not None


def test_a_write_after_backward_is_allowed():
    w = leaf([1.0, 2.0, 3.0])
    a = w + 0
    (a * a).backward()
    a.add_(1.0)
    a.sum().backward()
    assert w.grad.tolist() == [3, 5, 7]


def test_backward_is_right_for_values_that_were_saved_after_the_write():
    w, a = three()
    a.add_(1.0)
    y = a * a
    y.backward()
    assert w.grad.tolist() == [4, 6, 8]


# ---------- the second backward ----------


def test_the_error_of_a_second_backward_names_the_freed_node_its_line_and_retain_graph():
    w = leaf([1.0, 2.0])
    y = w.exp()
    number = line() - 1
    y.backward()
    with pytest.raises(RuntimeError) as raised:
        y.backward()
    text = str(raised.value)
    assert "exp" in text and f"test_stale.py, line {number}" in text and "freed" in text and "retain_graph=True" in text
    assert w.grad.tolist() == np.exp([1.0, 2.0]).tolist()


def test_a_second_backward_raises_only_if_a_freed_value_is_needed():
    w = leaf([1.0, 2.0])
    y = ((w + 1) * 1 - w.reshape([2])).sum()
    z = (w + 1).sum()
    z.backward()
    z.backward()
    assert w.grad.tolist() == [2, 2]
    y.backward(retain_graph=True)
    y.backward()


@pytest.mark.parametrize("name", ["exp", "sin", "square", "log", "max", "prod"])
def test_with_retain_graph_backward_runs_again_and_its_gradients_are_added(name: str):
    w = leaf([1.0, 2.0])
    y = getattr(w, name)().sum()
    y.backward(retain_graph=True)
    once = w.grad.numpy()
    y.backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * once)
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_retain_graph_keeps_the_copy_that_sin_in_place_made():
    # Paddle and PyTorch also compute the right gradient both times.
    w = leaf([1.0, 2.0])
    a = w * 1
    a.sin_()
    a.backward(retain_graph=True)
    a.backward(retain_graph=True)
    np.testing.assert_allclose(w.grad.numpy(), 2 * np.cos([1.0, 2.0]))


def test_a_second_backward_through_advanced_indexing_raises():
    w = leaf([1.0, 2.0])
    y, x = w[[0, 0]], w * 1
    x[[1]] = 5.0
    for result in (y, x):
        result.backward()
        with pytest.raises(RuntimeError, match=r"(getitem|setitem).*freed"):
            result.backward()


@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
def test_an_interrupted_operation_counts_as_a_write(policy, monkeypatch):
    """It is unknown which cells were overwritten, so backward refuses all values that were saved before the write."""
    _w, a = three()
    y = a * a
    a.exp_()  # the first call compiles the operation
    _w, a = three()
    y = a * a
    forward = FUNCTIONS.namespaces["exp_"]["forward"]

    def interrupted(*arguments, **keywords):
        forward(*arguments, **keywords)
        raise KeyboardInterrupt

    monkeypatch.setitem(FUNCTIONS.namespaces["exp_"], "forward", interrupted)
    with mt.set_inplace_policy(policy):
        with pytest.raises(KeyboardInterrupt):
            a.exp_()
        assert a.inplace_version == 1
        with pytest.raises(RuntimeError, match="received tensor_version:1 != wrapper_version_snapshot:0"):
            y.backward()


@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
def test_an_interrupted_assignment_counts_as_a_write(policy, monkeypatch):
    real = indexing.overwrite

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    def assign(a):
        a[0] = 5.0

    monkeypatch.setattr(indexing, "overwrite", interrupted)
    for write in (assign, lambda a: a.set_value(mt.zeros(a.shape, a.dtype))):
        _w, a = three()
        y = a * a
        with mt.set_inplace_policy(policy):
            with pytest.raises(KeyboardInterrupt):
                write(a)
            with pytest.raises(RuntimeError, match="received tensor_version:1 != wrapper_version_snapshot:0"):
                y.backward()
