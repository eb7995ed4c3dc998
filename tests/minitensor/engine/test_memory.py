"""Compare allocated bytes and peaks with numbers computed by hand, and test that unused memory is freed at once.

The garbage collector is off in tests that expect freed memory, so that a reference cycle in the engine fails a test.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.memory import KIB, SHAPE, allocated, leaf, peak, reset_peak

# ---------- one operation ----------


def test_a_tensor_holds_its_elements_and_frees_them_at_once(base: int):
    for dtype, size in (("float32", 4), ("float64", 8), ("int32", 4), ("int64", 8), ("bool", 1)):
        x = mt.zeros([10, 10], dtype)
        assert allocated() - base == 100 * size
        del x
        assert allocated() == base


def test_an_empty_tensor_has_0_bytes_and_a_scalar_tensor_has_the_bytes_of_one_element(base: int):
    empty, number = mt.zeros([0, 7]), mt.to_tensor(1.0)
    assert allocated() - base == 4
    del empty, number
    assert allocated() == base


def test_an_operation_allocates_its_result_but_views_and_writes_allocate_nothing(base: int):
    x = mt.ones(SHAPE)
    y = x.sin()
    assert allocated() - base == 2 * KIB
    views = [x.T, x[0], x.reshape([256]), x.detach(), x[None], x.diagonal(), x.as_strided([2, 2], [1, 1], 0)]
    x.sin_().exp_().add_(1.0)
    x[0] = 5.0
    x.copy_(y)
    x.set_value(y)
    x.reshape_([256])
    assert allocated() - base == 2 * KIB
    del x
    assert allocated() - base == 2 * KIB, "the views should keep the storage alive"
    del views
    assert allocated() - base == KIB
    del y
    assert allocated() == base


#: The copies of its target that an in-place operation keeps for backward. They follow from the derivatives: sin needs
#: x; exp and relu need their output, which exists already; add, scale and neg need nothing.
HELD = {
    "add_": (0, lambda x, c: x.add_(c)),
    "add_ number": (0, lambda x, c: x.add_(1.0)),
    "subtract_": (0, lambda x, c: x.subtract_(c)),
    "scale_": (0, lambda x, c: x.scale_(2.0)),
    "neg_": (0, lambda x, c: x.neg_()),
    "round_": (0, lambda x, c: x.round_()),
    "fill_": (0, lambda x, c: x.fill_(2.0)),
    "zero_": (0, lambda x, c: x.zero_()),
    "exp_": (0, lambda x, c: x.exp_()),
    "relu_": (0, lambda x, c: x.relu_()),
    "tanh_": (0, lambda x, c: x.tanh_()),
    "sigmoid_": (0, lambda x, c: x.sigmoid_()),
    "sqrt_": (0, lambda x, c: x.sqrt_()),
    "rsqrt_": (0, lambda x, c: x.rsqrt_()),
    "reciprocal_": (0, lambda x, c: x.reciprocal_()),
    "multiply_ by a constant": (0, lambda x, c: x.multiply_(c)),
    "divide_ by a constant": (0, lambda x, c: x.divide_(c)),
    "sin_": (1, lambda x, c: x.sin_()),
    "cos_": (1, lambda x, c: x.cos_()),
    "log_": (1, lambda x, c: x.log_()),
    "square_": (1, lambda x, c: x.square_()),
    "pow_": (1, lambda x, c: x.pow_(2.0)),
    "multiply_ by itself": (1, lambda x, c: x.multiply_(x)),
    "x[...] = c": (0, lambda x, c: x.__setitem__(..., c)),
    "x[0] = 1": (0, lambda x, c: x.__setitem__(0, 1.0)),
    "copy_": (0, lambda x, c: x.copy_(c)),
    "reshape_": (0, lambda x, c: x.reshape_([256])),
    "t_": (0, lambda x, c: x.t_()),
}


@pytest.mark.parametrize("name", HELD)
def test_an_in_place_operation_holds_the_expected_copies_for_backward(name: str, base: int):
    copies, run = HELD[name]
    w, c = leaf(), mt.ones(SHAPE)
    x = w * 1
    before = allocated()
    run(x, c)
    assert allocated() - before == copies * KIB
    del x
    assert allocated() - base == 2 * KIB, "the graph, to which no name refers, should be freed"


@pytest.mark.parametrize("name", HELD)
def test_under_no_grad_an_in_place_operation_holds_nothing(name: str, base: int):
    _, run = HELD[name]
    w, c = leaf(), mt.ones(SHAPE)
    x = w * 1
    before = allocated()
    with mt.no_grad():
        run(x, c)
    assert allocated() == before


def test_multiply_in_place_copies_its_target_only_when_the_other_operand_requires_a_gradient(base: int):
    w, v = leaf(), leaf()
    x = w * 1
    before = allocated()
    x.multiply_(v)
    assert allocated() - before == KIB
    y = v * 1
    before = allocated()
    y.divide_(w)
    assert allocated() == before, "divide should copy nothing, because its gradient follows from its output"


def test_a_normal_operation_saves_by_reference(base: int):
    w = leaf()
    x = w * 1
    y = x.sin()
    assert allocated() - base == 3 * KIB
    del x
    assert allocated() - base == 3 * KIB, "x should be kept, because sin's backward needs it"
    z = y.exp()
    del y
    assert allocated() - base == 3 * KIB, "y should be freed, because exp saves its own output"
    del z
    assert allocated() - base == KIB


def test_an_index_array_is_counted_as_long_as_a_node_keeps_it(base: int):
    w = leaf()
    index = np.array([0, 1, 2], np.int64)
    y = w[index]
    assert allocated() - base == KIB + 3 * 64 + 3 * 8
    y.backward()
    assert allocated() - base == 2 * KIB + 3 * 64
    del y
    x = w * 1
    before = allocated()
    x[index] = 0.0
    assert allocated() - before == 3 * 8
    del x, w
    assert allocated() == base


# ---------- backward ----------


def test_backward_frees_the_saved_tensors_and_keeps_the_gradient(base: int):
    w = leaf()
    y = w.sin().sin().sin().sum()
    assert allocated() - base == 3 * KIB + 4, "expected: w, two saved sines, the sum"
    y.backward()
    assert allocated() - base == 2 * KIB + 4, "expected: w, its gradient, the sum"
    w.clear_gradient(set_to_zero=False)
    assert allocated() - base == KIB + 4
    del w, y
    assert allocated() == base


def test_retain_graph_keeps_the_saved_tensors(base: int):
    w = leaf()
    y = w.sin().sin().sum()
    y.backward(retain_graph=True)
    assert allocated() - base == 3 * KIB + 4
    y.backward()
    assert allocated() - base == 2 * KIB + 4


def test_an_error_in_backward_frees_intermediate_gradients(base: int):
    w = leaf()
    x = w * 1
    y = (x * x).exp()
    x.add_(1.0)
    total = y.sum()
    for _ in range(3):
        before = allocated()
        with pytest.raises(RuntimeError):
            total.backward(retain_graph=True)
        assert allocated() == before
    del x, y, total, w
    assert allocated() == base


def test_a_hook_and_a_retained_gradient_hold_the_expected_bytes(base: int):
    w = leaf()
    x = w * 1
    x.retain_grads()
    handle = x.register_hook(lambda g: g * 2)
    (x * 3).sum().backward()
    assert allocated() - base == 4 * KIB, "expected: w, x, and a gradient for each"
    del x
    assert allocated() - base == 2 * KIB
    del handle, w
    assert allocated() == base


# ---------- peaks by hand ----------


def peak_of(program) -> float:
    """Return the peak during ``program()`` above the bytes allocated before, in KiB."""
    before = allocated()
    reset_peak()
    program()
    return (peak() - before) / KIB


def test_the_peak_is_reset_to_the_allocated_bytes(base: int):
    x = mt.ones(SHAPE)
    reset_peak()
    assert peak() == allocated() == base + KIB
    y = x + 1
    del y
    assert peak() == base + 2 * KIB and allocated() == base + KIB


def test_a_chain_of_normal_operations_peaks_at_two_results_and_an_in_place_chain_at_one(base: int):
    def normal():
        x = mt.ones(SHAPE)
        for _ in range(10):
            x = x + 1

    def in_place():
        x = mt.ones(SHAPE)
        for _ in range(10):
            x.add_(1.0)

    assert peak_of(normal) == 2 and peak_of(in_place) == 1


def test_recorded_chains_peak_at_the_bytes_that_backward_needs(base: int):
    w = leaf()

    def sines():  # each of the 10 operations saves its input; the first input, w, exists before
        x = w
        for _ in range(10):
            x = x.sin()
        assert allocated() - base == 11 * KIB

    def sums():  # nothing is saved
        x = w
        for _ in range(10):
            x = x + 1

    def in_place():  # the 10 saved inputs are copies, and the tensor has its own memory
        x = w * 1
        for _ in range(10):
            x.sin_()

    assert peak_of(sines) == 10 and peak_of(sums) == 2 and peak_of(in_place) == 11


def test_the_peak_of_backward_includes_a_gradient_and_the_incoming_gradient(base: int):
    x, w = leaf(), mt.ones(SHAPE)
    y = x * w

    def run():
        y.backward()

    assert peak_of(run) == 2, "expected: the initial gradient of ones, and its product with w"
    assert allocated() == base + 4 * KIB, "expected: x, w, y, and the gradient of x"


def test_backward_through_a_chain_peaks_at_two_gradients_while_it_frees(base: int):
    w = leaf()
    x = w + 0
    for _ in range(10):
        x = x.exp().scale(0.1)
    y = x.reshape([256])
    del x
    held = allocated()  # w, ten exponentials and the result
    assert held - base == 12 * KIB
    start = mt.ones([256])

    def run():
        y.backward(start)

    assert peak_of(run) <= 3, (
        "expected: a copy of the initial gradient, and the gradients of one operation's output and input"
    )
    assert allocated() - held == 2 * KIB - 10 * KIB, "w.grad and `start` should be alive, and the exponentials freed"


@pytest.mark.parametrize("held", [lambda g: None, lambda g: g, lambda g: g[:4], lambda g: g.detach()])
def test_a_second_gradient_is_added_in_place_even_if_the_program_holds_the_first(base: int, held):
    w = leaf()
    (w * 2).sum().backward()
    y = (w * 2).sum()
    address, seen = w.grad.data_ptr(), held(w.grad)

    def again():
        y.backward()

    # w.grad exists already. Backward allocates the gradient that it adds, and a few numbers.
    assert 1 <= peak_of(again) < 1.1
    assert allocated() - base == 2 * KIB + 4
    assert w.grad.data_ptr() == address and w.grad.inplace_version == 1 and (w.grad.numpy() == 4.0).all()
    assert seen is None or (seen.numpy() == 4.0).all()
