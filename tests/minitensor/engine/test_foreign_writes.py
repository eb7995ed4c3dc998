"""Test that under check_foreign_writes backward raises exactly if it would use bytes that other code has written.

A foreign write, or write from outside, changes shared memory through an object of another library, such as an array.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.sharing.foreign_writes import CopyingSavers
from tests.support.engine.memory import allocated, leaf
from tests.support.engine.samples import DIFFERENTIABLE
from tests.support.engine.state import Moment

pytestmark = pytest.mark.cpu_only

NUMBERS = [1.0, 2.0, 3.0]


def shared() -> tuple[np.ndarray, mt.Tensor]:
    array = np.array(NUMBERS)
    return array, mt.from_numpy(array)


# ---------- foreign writes that the check finds ----------


def test_without_the_check_backward_uses_values_written_from_outside():
    array, x = shared()
    w = leaf([3]).astype("float64")
    y = (w * x).sum()
    array[1] = 9.0
    assert mt.grad(y, w)[0].tolist() == [1, 9, 3], (
        "without the check, backward should use the 9, although y was computed with 2"
    )


def test_the_error_names_the_saver_and_the_changed_bytes():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w * x  # saved here
        array[1], array[2] = 9.0, 8.0
        with pytest.raises(RuntimeError, match="overwritten from outside the engine") as caught:
            y.sum().backward()
    lines = str(caught.value).splitlines()
    assert "multiply saved its second input at version 0" in lines[1] and "saved here" in lines[1]
    assert "test_foreign_writes.py" in lines[1]
    assert "element [1] (bytes 8 to 15 of the storage) was 2.0 and is 9.0; 1 more of its 3 elements changed" in lines[2]
    assert w.grad is None, "no gradient should be written"


def test_the_error_counts_the_bytes_of_a_view_from_the_beginning_of_its_storage():
    array = np.arange(12.0, dtype=np.float32)
    w = leaf([2, 2])
    with mt.check_foreign_writes():
        y = w * mt.from_numpy(array).reshape([3, 4])[1:, ::-2]  # [[7, 5], [11, 9]]
        array[9] = 0.0
        with pytest.raises(
            RuntimeError, match=r"element \[1, 1\] \(bytes 36 to 39 of the storage\) was 9.0 and is 0.0"
        ):
            y.sum().backward()


@pytest.mark.parametrize("policy", ["2.5", "2.6", "copy_on_write"])
@pytest.mark.parametrize("given", {s.name: s for s in reversed(DIFFERENTIABLE)}.values(), ids=lambda s: s.name)
def test_no_operation_uses_values_written_from_outside(given, policy: str):
    """If other code has written to all operands and the output, backward returns the unchanged gradient or raises."""
    mt.set_inplace_policy(policy)

    def result(arrays) -> tuple[mt.Tensor, list[mt.Tensor]]:
        tensors = [mt.from_numpy(a) for a in arrays]
        for i in given.wanting():
            tensors[i].stop_gradient = False
        return given.run(tensors), [tensors[i] for i in given.wanting()]

    out, wanting = result([a.copy() for a in given.arrays])
    right = [g if g is None else g.tolist() for g in mt.grad(out, wanting, allow_unused=True)]
    arrays = [a.copy() for a in given.arrays]
    with mt.check_foreign_writes():
        out, wanting = result(arrays)
        lent = out.detach().numpy(share=True)
        for array in (*arrays, lent):
            array.view(np.uint8 if array.flags.c_contiguous and array.ndim else array.dtype)[...] = 1
        try:
            got = mt.grad(out, wanting, allow_unused=True)
        except RuntimeError as error:
            assert "overwritten from outside the engine" in str(error)
        else:
            assert [g if g is None else g.tolist() for g in got] == right


def test_an_output_that_is_exported_after_it_was_saved_is_checked():
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w.exp()
        z = y * 2
        array = y.detach().numpy(share=True)
        array[0] = 5.0
        with pytest.raises(RuntimeError, match="exp saved its output at version 0"):
            z.sum().backward()


def test_memory_that_is_exported_a_second_time_is_checked():
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w.exp()
        y.detach().numpy(share=True)  # the array is freed at once
        z = y * 2
        array = y.detach().numpy(share=True)
        array[0] = 5.0
        with pytest.raises(RuntimeError, match="exp saved its output"):
            z.sum().backward()
        v = w.exp()
        first = v.detach().numpy(share=True)
        del first
        u = v.square()  # saves values while the memory is not shared
        array = v.detach().numpy(share=True)
        array[1] = 5.0
        with pytest.raises(RuntimeError, match="square saved its input"):
            u.sum().backward()


def test_an_in_place_operation_that_saves_its_output_is_checked():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        x.multiply_(w).exp_()
        array[2] = 5.0
        with pytest.raises(RuntimeError, match="exp_ saved its output at version 2"):
            x.sum().backward()


def test_gradients_of_gradients_are_checked():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        (first,) = mt.grad((w * x).square().sum(), w, create_graph=True)
        array[0] = 5.0
        with pytest.raises(RuntimeError, match="overwritten from outside the engine"):
            first.sum().backward()


def test_values_saved_by_a_py_layer_are_checked():
    class Scaled(mt.autograd.PyLayer):
        @staticmethod
        def forward(ctx, w, x):
            ctx.save_for_backward(x)
            return w * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return g * x, None

    array, x = shared()
    w = mt.ones([3], "float64")
    w.stop_gradient = False
    with mt.check_foreign_writes():
        Scaled.apply(w, x).sum().backward()
        assert w.grad.tolist() == NUMBERS
        y = Scaled.apply(w, x)
        array[0] = 5.0
        with pytest.raises(RuntimeError, match="Scaled saved its saved tensor 0 at version 0"):
            y.sum().backward()


def test_a_write_by_a_py_layer_to_shared_memory_is_no_foreign_write():
    class Doubled(mt.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.multiply_(2.0)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    w = leaf([3])
    h = w * 1.0
    array = h.detach().numpy(share=True)
    with mt.check_foreign_writes():
        Doubled.apply(h).sum().backward()
    assert w.grad.tolist() == [2, 2, 2] and array.tolist() == [2, 2, 2]


def test_a_changed_sign_of_zero_or_of_nan_is_reported():
    for before, after in ((0.0, -0.0), (np.nan, -np.nan), (np.nan, 1.0)):
        array = np.array([before])
        w = leaf([1])
        with mt.check_foreign_writes():
            y = w * mt.from_numpy(array)
            array[0] = after
            with pytest.raises(RuntimeError, match=r"element \[0\]"):
                y.backward()


def test_an_unchanged_nan_is_not_reported():
    array = np.array([np.nan])
    w = leaf([1])
    with mt.check_foreign_writes():
        (w * mt.from_numpy(array)).backward()
    assert np.isnan(w.grad.numpy()).all()


@pytest.mark.parametrize("written_first", ["outside", "engine"])
def test_copy_on_write_reports_a_foreign_write_only_if_it_precedes_the_write_by_the_engine(written_first: str):
    mt.set_inplace_policy("copy_on_write")
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w * x
        if written_first == "outside":
            array[0] = 5.0
        x.zero_()
        array[2] = 7.0
        if written_first == "outside":
            with pytest.raises(RuntimeError, match=r"element \[0\].* was 1.0 and is 5.0"):
                y.sum().backward()
        else:
            y.sum().backward()
            assert w.grad.tolist() == NUMBERS, "the saved values should be preserved before the foreign write"


def test_after_a_partial_write_under_copy_on_write_the_rest_is_still_checked():
    mt.set_inplace_policy("copy_on_write")
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w * x
        x[0] = 0.0
        array[0] = 4.0
        assert mt.grad(y.sum(), w, retain_graph=True)[0].tolist() == NUMBERS
        array[1] = 4.0
        with pytest.raises(RuntimeError, match=r"element \[1\].* was 2.0 and is 4.0"):
            y.sum().backward()


def test_a_write_by_torch_is_reported():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = mt.to_tensor(NUMBERS)
    theirs = torch.from_dlpack(x)
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w * x
        theirs.add_(1)
        with pytest.raises(RuntimeError, match=r"was 1.0 and is 2.0; 2 more"):
            y.sum().backward()


# ---------- harmless foreign writes ----------


def test_values_that_backward_does_not_need_may_be_written():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        y = (w + x) * 2.0
        array[...] = 7.0
        y.sum().backward()
        z = w * x  # the product saves the new numbers of x
        z.sum().backward()
        array[...] = 8.0
    assert w.grad.tolist() == [9, 9, 9]


def test_a_write_that_was_undone_is_not_reported():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w * x
        array[0] = 7.0
        array[0] = 1.0
        y.sum().backward()
    assert w.grad.tolist() == NUMBERS


def test_each_of_two_operations_is_checked_against_the_values_it_read():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        first = w * x
        array[0] = 7.0
        second = w * x
        second.sum().backward()
        assert w.grad.tolist() == [7, 2, 3]
        with pytest.raises(RuntimeError, match=r"was 1.0 and is 7.0"):
            first.sum().backward()


@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
def test_a_write_by_the_engine_has_the_same_effect_with_and_without_the_check(policy: str):
    outcomes = []
    for on in (False, True):
        mt.set_inplace_policy(policy)
        _, x = shared()
        w = leaf([3])
        with mt.check_foreign_writes(on):
            y, part = w * x, w[:2] * x[:2]
            x[2] = 4.0
            for result in (y, part):
                try:
                    result.sum().backward()
                    outcomes.append(w.grad.tolist())
                except RuntimeError as error:
                    outcomes.append(str(error).split("saved:")[0])
    assert outcomes[:2] == outcomes[2:]


def test_the_check_changes_no_memory_counter(base: int):
    counts = []
    for on in (False, True):
        mt.device.cpu.reset_max_memory_allocated()
        with mt.check_foreign_writes(on):
            x = mt.ones([256])
            lent = x.numpy(share=True)
            w = leaf([256])
            y = (w * x).exp().sum()
            y.backward()
            counts.append((allocated() - base, mt.device.cpu.max_memory_allocated() - base))
            del x, lent, w, y
        assert allocated() == base
    assert counts[0] == counts[1]


def test_unshared_memory_is_not_copied():
    w, x = leaf([3]), mt.to_tensor(NUMBERS)
    with mt.check_foreign_writes():
        y = w * x
        assert type(x._storage.savers) is list and type(y.grad_fn.saved[1][2]) is int


def test_memory_whose_sharing_has_ended_is_not_copied():
    w, x = leaf([3]), mt.to_tensor(NUMBERS)
    with mt.check_foreign_writes():
        array = x.numpy(share=True)
        first = w * x
        del array
        second = w * x
        assert [type(y.grad_fn.saved[1][2]).__name__ for y in (first, second)] == ["Preserved", "int"]


# ---------- turning the check on and off ----------


def test_the_check_covers_values_saved_before_it_was_turned_on():
    array, x = shared()
    w = leaf([3])
    y = w * x
    with mt.check_foreign_writes():
        array[0] = 5.0
        with pytest.raises(RuntimeError, match=r"was 1.0 and is 5.0"):
            y.sum().backward()


def test_when_the_check_is_off_again_only_values_saved_while_it_was_on_are_compared():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w * x
        assert type(x._storage.savers) is CopyingSavers
    later = w * x
    assert type(x._storage.savers) is list
    array[0] = 5.0
    later.sum().backward()
    with pytest.raises(RuntimeError, match=r"was 1.0 and is 5.0"):
        y.sum().backward()


@pytest.mark.parametrize("saved", ["before the check", "while it is on"])
def test_turning_the_check_on_or_off_keeps_the_list_of_savers_for_copy_on_write(saved: str):
    mt.set_inplace_policy("copy_on_write")
    _, x = shared()
    w = leaf([3])
    if saved == "before the check":
        y = w * x
        with mt.check_foreign_writes():
            x.zero_()
    else:
        with mt.check_foreign_writes():
            y = w * x
        x.zero_()
    y.sum().backward()
    assert w.grad.tolist() == NUMBERS, "saved values should be preserved"


def test_the_check_works_as_a_function_and_as_nested_blocks():
    array, x = shared()
    w = leaf([3])

    def raises() -> bool:
        y = w * x
        array[0] += 1
        try:
            y.sum().backward()
        except RuntimeError:
            return True
        return False

    assert not raises()
    mt.check_foreign_writes()
    assert raises()
    with mt.check_foreign_writes(False):
        assert not raises()
        with mt.check_foreign_writes():
            assert raises()
        assert not raises()
    assert raises()
    mt.check_foreign_writes(False)
    assert not raises()
    with pytest.raises(TypeError, match="on must be True or False, not 1"):
        mt.check_foreign_writes(1)


def test_the_copies_are_freed_with_the_saved_values(no_collector: None):
    _, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        results = [w * x for _ in range(100)]
        assert len(x._storage.savers.copies) == 1, (
            "all products should share one copy, because they saved the same values"
        )
        for result in results:
            result.sum().backward()
        assert len(x._storage.savers.copies) == 0


def test_an_error_of_the_check_leaves_everything_unchanged():
    array, x = shared()
    w = leaf([3])
    with mt.check_foreign_writes():
        y = w * x
        array[0] = 5.0
        moment = Moment(x=x, w=w, y=y)
        with pytest.raises(RuntimeError, match="from outside"):
            y.sum().backward()
        moment.expect_unchanged()
