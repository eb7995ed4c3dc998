"""Test that under "copy_on_write" a write first preserves just the bytes that a living saved tensor needs.

Bytes are read from the memory counters of the device. A cell is an element of float32, which has 4 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.memory import KIB, SHAPE, allocated

N = 16
WRITE = 7.5  # the value that the tests write, which no saved tensor contains


@pytest.fixture(autouse=True)
def copy_on_write(no_collector: None) -> Iterator[None]:
    with mt.set_inplace_policy("copy_on_write"):
        yield


def numbers() -> tuple[mt.Tensor, mt.Tensor]:
    """Return a leaf of 1 KiB with the numbers 0, 1, 2, ..., and a non-leaf copy, which can be written in place."""
    w = mt.to_tensor(np.arange(N * N, dtype=np.float32).reshape(SHAPE), stop_gradient=False)
    return w, w * 1.0


def added_bytes(action: Callable[[], object]) -> int:
    """Return the number of bytes by which ``action`` raises the allocated bytes."""
    before = allocated()
    action()
    return allocated() - before


def squares(x: mt.Tensor) -> mt.Tensor:
    """Return the square of ``x``; the operation saves ``x``. The gradient is twice the saved values."""
    return x * x


def expect_twice(result: mt.Tensor, w: mt.Tensor, saved: np.ndarray) -> None:
    """Assert that the gradient of ``result`` for ``w`` is twice ``saved``, which is 0 where nothing was saved."""
    (gradient,) = mt.grad([result], [w], retain_graph=True)
    np.testing.assert_array_equal(gradient.numpy(), 2 * saved)


# ---------- written cells ----------

MASK = np.zeros(SHAPE, bool)
MASK[3, 4] = MASK[9, 1] = MASK[9, 2] = True
MANY = np.random.default_rng(1).random(SHAPE) < 0.5
MANY[0, 0] = MANY[-1, -1] = True
FEW = np.array([0, 1, 2, 3, 5, 6, 9, 11, 13, 15])

#: Each write into a saved tensor, the number of cells that it overwrites, and the bytes of the index arrays that list
#: these cells (0 if the cells form a grid or at most eight runs of consecutive cells).
WRITES: dict[str, tuple[Callable[[mt.Tensor], object], int, int]] = {
    "a row": (lambda x: x.__setitem__(3, WRITE), N, 0),
    "two rows": (lambda x: x.__setitem__(slice(2, 4), WRITE), 2 * N, 0),
    "every other row": (lambda x: x.__setitem__(slice(0, None, 2), WRITE), N * N // 2, 0),
    "reversed rows": (lambda x: x[::-1][2:5].fill_(WRITE), 3 * N, 0),
    "a column": (lambda x: x.__setitem__((slice(None), 5), WRITE), N, 0),
    "a column of the transposed": (lambda x: x.t()[:, 5].fill_(WRITE), N, 0),
    "the transposed": (lambda x: x.t().scale_(0.0, WRITE), N * N, 0),
    "the diagonal": (lambda x: x.diagonal().fill_(WRITE), N, 0),
    "an antidiagonal": (lambda x: x[::-1].diagonal().fill_(WRITE), N, 0),
    "a block": (lambda x: x[2:5, 3:7].fill_(WRITE), 12, 0),
    "a spaced block": (lambda x: x[1::5, ::3].fill_(WRITE), 18, 0),
    "one element": (lambda x: x.__setitem__((3, 4), WRITE), 1, 0),
    "all of it": (lambda x: x.fill_(WRITE), N * N, 0),
    "strided": (lambda x: x.as_strided([4], [17], 2).fill_(WRITE), 4, 0),
    "listed rows at equal distances": (lambda x: x.__setitem__([4, 1, 7], WRITE), 3 * N, 0),
    "a row listed twice": (lambda x: x.__setitem__([4, 4], WRITE), N, 0),
    "a few listed elements": (lambda x: x.__setitem__(([0, 3, 3], [1, 7, 9]), WRITE), 3, 0),
    "a mask of few": (lambda x: x.__setitem__(mt.to_tensor(MASK), WRITE), 3, 0),
    "listed rows": (lambda x: x.__setitem__([0, 1, 9], WRITE), 3 * N, 0),
    "many listed elements": (lambda x: x.__setitem__((FEW, FEW * 3 % N), WRITE), 10, 10),  # a byte for each position
    "a mask of many": (lambda x: x.__setitem__(mt.to_tensor(MANY), WRITE), MANY.sum(), 32),  # a bit for each cell
    "a mask of rows": (lambda x: x.__setitem__(mt.to_tensor(MASK[:, 1]), WRITE), N, 0),
    "nothing": (lambda x: x[0:0].fill_(WRITE), 0, 0),
    "an empty list": (lambda x: x.__setitem__([], WRITE), 0, 0),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_preserves_the_cells_that_it_overwrites(name: str):
    write, cells, index_bytes = WRITES[name]
    w, x = numbers()
    result = squares(x)
    with mt.no_grad():
        assert added_bytes(lambda: write(x)) == 4 * cells + index_bytes
    assert (x.numpy() == WRITE).sum() == cells
    expect_twice(result, w, w.numpy())
    expect_twice(result, w, w.numpy())  # backward can read the preserved bytes again


@pytest.mark.parametrize("name", WRITES)
def test_a_second_write_to_the_same_cells_preserves_nothing(name: str):
    write, _, _ = WRITES[name]
    w, x = numbers()
    result = squares(x)
    with mt.no_grad():
        write(x)
        assert added_bytes(lambda: [write(x) for _ in range(5)]) == 0
    expect_twice(result, w, w.numpy())


def test_a_write_to_one_row_of_a_large_saved_tensor_preserves_one_row():
    w = mt.ones([1000, 1024])
    w.stop_gradient = False
    x = w * 2.0
    result = x * x
    with mt.no_grad():
        assert added_bytes(lambda: x.__setitem__(500, 0.0)) == 4 * 1024
    expect_twice(result, w, np.full([1000, 1024], 4.0))


def test_the_same_row_written_a_hundred_times_preserves_one_row():
    w, x = numbers()
    result = squares(x)

    def write() -> None:
        with mt.no_grad():
            for i in range(100):
                x[3] = float(i)

    assert added_bytes(write) == 4 * N
    expect_twice(result, w, w.numpy())


def test_rows_written_one_after_another_are_preserved_once_each():
    w, x = numbers()
    result = squares(x)
    with mt.no_grad():
        for i in range(N):
            assert added_bytes(lambda i=i: x.__setitem__(i, WRITE)) == 4 * N
            assert added_bytes(lambda i=i: x[: i + 1].fill_(WRITE)) == 0
    expect_twice(result, w, w.numpy())


def test_the_index_arrays_of_elements_written_one_by_one_stay_small():
    w, x = numbers()
    result = squares(x)
    order = np.random.default_rng(0).permutation(N * N)
    before = allocated()
    with mt.no_grad():
        for count, at in enumerate(order, 1):
            x[int(at) // N, int(at) % N] = WRITE
            extra = allocated() - before - 4 * count
            assert 0 <= extra <= count  # the index arrays of such a small tensor have at most one byte for each cell
    assert allocated() - before == KIB
    expect_twice(result, w, w.numpy())


# ---------- views that an operation saves ----------

SAVERS: dict[str, tuple[Callable[[mt.Tensor], mt.Tensor], int]] = {
    "a row": (lambda x: x[3], N),
    "a column": (lambda x: x[:, 3], N),
    "a diagonal": (lambda x: x.diagonal(2), N - 2),
    "the transposed": (lambda x: x.t(), N * N),
    "reversed": (lambda x: x[::-1, ::-1], N * N),
    "a reversed block": (lambda x: x[8:2:-2, 9:3:-1], 18),
    "a reshaped view": (lambda x: x.reshape([4, 64]), N * N),
    "windows that overlap": (lambda x: x.as_strided([10, 3], [1, 1], 4), 12),
    "windows with gaps": (lambda x: x.as_strided([3, 2], [5, 2], 1), 6),
    "one element": (lambda x: x[3, 4], 1),
    "one element repeated by a stride of 0": (lambda x: x.as_strided([5], [0], 7), 1),
}


@pytest.mark.parametrize("name", SAVERS)
def test_a_write_to_the_whole_tensor_preserves_only_the_cells_of_a_saved_view(name: str):
    look, cells = SAVERS[name]
    w, x = numbers()
    seen = look(x)
    result = seen * seen
    (want,) = mt.grad([result], [w], retain_graph=True)
    with mt.no_grad():
        assert added_bytes(lambda: x.fill_(WRITE)) == 4 * cells
        assert added_bytes(lambda: x.fill_(WRITE + 1)) == 0
    for _ in range(2):
        (gradient,) = mt.grad([result], [w], retain_graph=True)
        np.testing.assert_array_equal(gradient.numpy(), want.numpy())


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("write", WRITES)
def test_backward_reads_the_values_of_every_saved_view_after_every_write(saver: str, write: str):
    w, x = numbers()
    seen = SAVERS[saver][0](x)
    result = seen * seen
    (want,) = mt.grad([result], [w], retain_graph=True)
    cells = np.unique(seen.numpy())  # each element is the number of its cell
    with mt.no_grad():
        extra = added_bytes(lambda: WRITES[write][0](x))
    needed = 4 * (x.numpy().ravel()[cells.astype(int)] == WRITE).sum()
    covered = 4 * WRITES[write][1] + WRITES[write][2]
    assert needed <= extra <= min(covered, needed + KIB // 4 // 8)  # the index arrays take at most one bit per cell
    (gradient,) = mt.grad([result], [w], retain_graph=True)
    np.testing.assert_array_equal(gradient.numpy(), want.numpy())


def test_several_operations_that_saved_the_same_cells_share_one_copy():
    w, x = numbers()
    results = [squares(x), squares(x), squares(x.reshape([N * N]))]
    with mt.no_grad():
        assert added_bytes(lambda: x.__setitem__(3, WRITE)) == 4 * N
        # One cell of the column is preserved already. It is copied again, because an index array that leaves out this
        # cell would be larger than the second copy.
        assert added_bytes(lambda: x.__setitem__((slice(None), 3), WRITE)) == 4 * N
    for result in results:
        expect_twice(result, w, w.numpy())


def test_operations_that_saved_different_versions_each_read_their_own_numbers():
    w, x = numbers()
    first = squares(x)
    with mt.no_grad():
        x[0] = 1.0
    second = squares(x)
    with mt.no_grad():
        x[0] = 2.0
        x[1] = 2.0
    third = squares(x)
    with mt.no_grad():
        # The write preserves row 0 for `third`, row 1 for `third` and `second`, and the other rows for all three.
        assert added_bytes(lambda: x.fill_(WRITE)) == KIB
    want = w.numpy()
    expect_twice(first, w, want)
    want[0] = 1.0
    expect_twice(second, w, want)
    want[:2] = 2.0
    expect_twice(third, w, want)


def test_bytes_preserved_for_one_result_only_are_freed_with_that_result():
    w, x = numbers()
    whole, row = squares(x), x[2] * x[2]
    before = allocated()
    with mt.no_grad():
        x.fill_(WRITE)
    assert allocated() - before == KIB
    del whole
    assert allocated() - before == 4 * N - KIB  # the result `whole` itself, which has 1 KiB, is also freed
    want = np.zeros(SHAPE, np.float32)
    want[2] = w.numpy()[2]
    expect_twice(row, w, want)
    del row
    assert allocated() - before == -KIB - 4 * N


def test_a_write_preserves_nothing_for_an_operation_whose_result_is_freed():
    _, x = numbers()
    result = squares(x)
    del result
    with mt.no_grad():
        assert added_bytes(lambda: x.fill_(WRITE)) == 0
    assert x._storage.savers is None


def test_a_write_preserves_nothing_after_backward_has_freed_the_saved_tensors():
    _, x = numbers()
    result = squares(x)
    result.backward()
    with mt.no_grad():
        assert added_bytes(lambda: x.fill_(WRITE)) == 0
    assert result.shape == SHAPE


def test_a_tensor_saved_a_million_times_keeps_a_short_list_of_savers():
    x = mt.ones([1])
    x.stop_gradient = False
    alive = [x * x for _ in range(63)]  # one fewer than the length at which freed savers are removed from the list
    longest = 0
    for _ in range(1_000_000):
        x * x
        longest = max(longest, len(x._storage.savers))
    assert len(alive) < longest <= 8 * 64


@pytest.mark.parametrize("end", ["dropped", "backward"])
def test_preserved_bytes_are_freed_with_their_node(end: str):
    w, x = numbers()
    results = [squares(x), squares(x)]
    before = allocated()
    with mt.no_grad():
        x[3] = WRITE
        x[5:7] = WRITE
    assert allocated() - before == 4 * 3 * N
    results.pop()
    assert allocated() - before == 4 * 3 * N - KIB
    if end == "backward":
        results[0].backward()
        assert allocated() - before == 0  # a result was freed, and a gradient of the same size was made
        w.grad = None
    results.pop()
    assert allocated() - before == -2 * KIB
