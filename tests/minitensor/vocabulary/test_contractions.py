"""Test einsum, sliding windows and similar functions, truncated normal values and the default device, as in Paddle and
in PyTorch.

Values are compared with numpy, and gradients with finite differences. test_special_values.py compares values and
gradients with those of PyTorch and Paddle.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from minitensor.engine.autograd.gradcheck import gradcheck

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji,jk->ki", (2, 3), (2, 4)),
    ("ii->i", (3, 3)),
    ("iij,j->ij", (2, 2, 3), (3,)),
    ("iii->i", (3, 3, 3)),
    ("i,j->ij", (2,), (3,)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...,...", (2, 3), (3,)),
    ("ijk,jl,kl->il", (2, 3, 4), (3, 5), (4, 5)),
    ("ab,c->a", (2, 3), (4,)),
    (",->", (), ()),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ij,jk->ik", (2, 0), (0, 4)),
    ("ij->", (0, 3)),
]


def tensors(shapes, seed=0):
    random = np.random.default_rng(seed)
    return [mt.to_tensor(random.standard_normal(shape), "float64", stop_gradient=False) for shape in shapes]


@pytest.mark.parametrize("case", EQUATIONS, ids=str)
def test_einsum_agrees_with_numpy(case):
    equation, *shapes = case
    operands = tensors(shapes)
    arrays = [x.numpy() for x in operands]
    np.testing.assert_allclose(mt.einsum(equation, *operands).numpy(), np.einsum(equation, *arrays), rtol=1e-12)
    found = torch.einsum(equation, [torch.tensor(array) for array in arrays])
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), rtol=1e-12)


@pytest.mark.parametrize("case", [case for case in EQUATIONS if all(0 not in shape for shape in case[1:])], ids=str)
def test_the_gradient_of_einsum_equals_finite_differences(case):
    equation, *shapes = case
    assert gradcheck(lambda *operands: mt.einsum(equation, *operands), tensors(shapes))


@pytest.mark.parametrize(
    ("equation", "shapes", "names"),
    [
        ("ij,jk", [(2, 3)], "2 operands, but 1"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "'j' in 'ij,jk->ik' has the lengths 3 and 4"),
        ("ij->k", [(2, 3)], "'k', which no operand has"),
        ("ij->ii", [(2, 3)], "more than once"),
        ("ijk", [(2, 3)], "3 letters for an operand of 2 dimensions"),
        ("i", [(2, 3)], "1 letters for an operand of 2 dimensions"),
        ("i?", [(2, 3)], "'\\?'"),
        ("ii", [(2, 3)], "lengths 2 and 3"),
        ("......", [(2, 3)], "more than one"),
    ],
)
def test_einsum_refuses_an_equation_that_does_not_fit_its_operands(equation, shapes, names):
    operands = tensors(shapes)
    with pytest.raises(ValueError, match=f"einsum: .*{names}"):
        mt.einsum(equation, *operands)
    with pytest.raises(RuntimeError, match=f"einsum: .*{names}"):
        torch.einsum(equation, *[torch.tensor(x.numpy()) for x in operands])


def test_einsum_refuses_operands_that_are_not_tensors_and_an_equation_that_is_not_text():
    with pytest.raises(TypeError, match="einsum: operands must be tensors, not list"):
        mt.einsum("i,i", mt.ones([2]), [1.0, 2.0])
    with pytest.raises(TypeError, match="equation must be a text"):
        mt.einsum(3, mt.ones([2]))


def test_einsum_of_a_diagonal_is_a_view_in_torch_and_a_copy_in_paddle():
    x = torch.zeros(2, 2)
    torch.einsum("ii->i", x).fill_(1.0)
    assert x.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    y = mt.zeros([2, 2])
    mt.einsum("ii->i", y).fill_(1.0)
    assert y.tolist() == [[0.0, 0.0], [0.0, 0.0]]


BOOLS = torch.ones(2, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    ("product", "kernel"),
    [
        (lambda b: b @ b, "addmm_impl_cpu_"),
        (lambda b: b[0] @ b, "addmm_impl_cpu_"),
        (lambda b: b @ b[0], "addmv_impl_cpu"),
        (lambda b: torch.dot(b[0], b[0]), "dot"),
        (lambda b: torch.inner(b[0], b[0]), "dot"),
        (lambda b: torch.bmm(b[None], b[None]), "bmm"),
        (lambda b: torch.addmm(b, b, b), "addmm_impl_cpu_"),
        (lambda b: torch.baddbmm(b[None], b[None], b[None]), "baddbmm"),
        (lambda b: torch.nn.functional.linear(b, b), "addmm_impl_cpu_"),
        (lambda b: torch.einsum("ij,jk", b, b), "bmm"),
    ],
)
def test_torch_refuses_matrix_products_of_bools(product, kernel):
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Bool'"):
        product(BOOLS)


def test_torch_accepts_products_of_empty_matrices_and_outer_products_of_bools():
    assert (torch.zeros(0, 2, dtype=torch.bool) @ BOOLS).shape == (0, 2)
    assert torch.outer(BOOLS[0], BOOLS[0]).dtype is torch.einsum("i,j->ij", BOOLS[0], BOOLS[0]).dtype is torch.bool


def test_torch_refuses_to_contract_different_dtypes():
    x, y = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.einsum("ij,jk->ik", x, y)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.einsum("ij,jk,kl->il", x, x, y)
    assert torch.einsum("ij,ij->ij", x, y).dtype is torch.float64  # nothing is summed over a common dimension
    with pytest.raises(RuntimeError, match="cdist only supports floating-point dtypes, X1 got: Long"):
        torch.cdist(x.long(), x)


def test_einsum_that_reorders_nothing_returns_a_view():
    x = torch.ones(2, 2, requires_grad=True)
    view = torch.einsum("ij->ij", x)
    assert view is not x and not view.is_leaf and view.data_ptr() == x.data_ptr()
    assert type(view.grad_fn).__name__ == "PermuteBackward0"


# ---------- sliding windows ----------


def test_unfold_returns_a_view_that_can_be_written_unless_its_windows_overlap():
    x = torch.arange(6.0)
    windows = x.unfold(0, 2, 2)
    windows.zero_()
    assert x.tolist() == [0.0] * 6
    assert x.unfold(0, 3, 1).stride() == (1, 1)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.unfold(0, 3, 1).zero_()


@pytest.mark.parametrize(
    ("size", "step", "names"), [(7, 1, "size must be from 0 to the length 6"), (2, 0, "step must be at least 1")]
)
def test_unfold_refuses_windows_that_do_not_fit(size, step, names):
    with pytest.raises(RuntimeError, match=names):
        torch.arange(6.0).unfold(0, size, step)
    with pytest.raises(ValueError, match=names):
        mt.arange(6).unfold(0, size, step)


def test_a_write_to_a_window_changes_the_gradient_of_the_elements_of_the_window_only():
    x = torch.ones(4, requires_grad=True)
    y = x * 1.0
    y.unfold(0, 2, 2)[0].mul_(3.0)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: mt.nn.functional.unfold(x, 2, 1, [1, 0, 0, 1], 1),
        lambda x: mt.nn.functional.fold(mt.nn.functional.unfold(x, 2, 2, 1), [4, 4], 2, 2, 1),
        lambda x: mt.tile(x, [2, 1, 1, 2]),
        lambda x: mt.repeat_interleave(x, 2, 2),
        lambda x: mt.cdist(x, x * 2.0 + 1.0),
        lambda x: mt.logsumexp(x, [1, 2]),
        lambda x: mt.diff(x, 2, 2),
        lambda x: mt.inner(x, x),
        lambda x: mt.kthvalue(x, 2)[0],
        lambda x: mt.nn.functional.normalize(x, 3.0, 2),
        lambda x: mt.nn.functional.cosine_similarity(x, x * x + 1.0, 2),
        lambda x: mt.nn.functional.mish(x) + mt.nn.functional.selu(x) + mt.nn.functional.softsign(x),
        lambda x: mt.nn.functional.log_sigmoid(x) + mt.nn.functional.softplus(x, 2.0) + mt.nn.functional.hardswish(x),
    ],
)
def test_gradients_of_windows_and_similar_functions_equal_finite_differences(function):
    assert gradcheck(function, tensors([(1, 2, 4, 4)], seed=3))


@pytest.mark.parametrize(
    ("call", "error", "names"),
    [
        (lambda: mt.nn.functional.unfold(mt.ones([1, 2, 3]), 2), ValueError, "images, channels, height, width"),
        (lambda: mt.nn.functional.unfold(mt.ones([1, 1, 3, 3]), 4), ValueError, "does not fit"),
        (lambda: mt.nn.functional.unfold(mt.ones([1, 1, 3, 3]), 2, 1, [1, 1, 1, -1]), ValueError, "at least 0"),
        (lambda: mt.nn.functional.fold(mt.ones([1, 4, 5]), [3, 3], 2), ValueError, "4 patches, not 5"),
        (lambda: mt.tile(mt.ones([2]), [-1]), ValueError, "at least 0"),
        (lambda: mt.repeat_interleave(mt.ones([3]), [1, 2], 0), ValueError, "for 3 positions"),
        (lambda: mt.cdist(mt.ones([2, 3]), mt.ones([2, 4])), ValueError, "rows of x and y must be equally long"),
        (lambda: mt.kthvalue(mt.ones([3]), 4), ValueError, "k must be from 1 to the length 3"),
        (lambda: mt.meshgrid(mt.ones([2, 2])), ValueError, "one dimension"),
        (lambda: torch.meshgrid(torch.ones(2), indexing="yx"), RuntimeError, "'yx'"),
        (lambda: torch.kthvalue(torch.ones(3), 0), RuntimeError, "out of range"),
        (lambda: torch.cdist(torch.ones(2, 3), torch.ones(2, 4)), RuntimeError, "X1: 3 X2: 4"),
        (lambda: torch.nn.functional.fold(torch.ones(1, 4, 5), (3, 3), 2), RuntimeError, "4 patches, not 5"),
        (lambda: torch.einsum(), ValueError, "at least one operand"),
    ],
)
def test_unsuitable_arguments_are_refused(call, error, names):
    with pytest.raises(error, match=names):
        call()


# ---------- initial values of parameters; the default device ----------


def test_truncated_normal_numbers_are_between_the_bounds_with_the_right_mean_and_deviation():
    torch.manual_seed(0)
    weight = torch.nn.init.trunc_normal_(torch.empty(200, 50), 1.0, 2.0, -1.0, 2.0)
    numbers = weight.numpy()
    assert numbers.min() >= -1.0 and numbers.max() <= 2.0
    grid = np.linspace(-1.0, 2.0, 100_001)
    weights = np.exp(-(((grid - 1.0) / 2.0) ** 2) / 2.0)
    mean = np.average(grid, weights=weights)
    deviation = np.average((grid - mean) ** 2, weights=weights) ** 0.5
    # The deviation of a mean of 10,000 numbers is 0.008.
    assert numbers.mean() == pytest.approx(mean, abs=0.02) and numbers.std() == pytest.approx(deviation, abs=0.02)
    mt.seed(0)
    drawn = mt.nn.initializer.TruncatedNormal(0.0, 0.5)(mt.zeros([200, 50])).numpy()
    assert abs(drawn).max() <= 1.0 and drawn.std() == pytest.approx(0.5 * 0.8796, abs=0.01)
    with pytest.raises(ValueError, match="above 0"):
        torch.nn.init.trunc_normal_(torch.empty(2), 0.0, 0.0)


def test_new_tensors_are_made_on_the_default_device():
    try:
        torch.set_default_device("cuda")
        assert torch.get_default_device().type == "cuda" and torch.ones(2).device.type == "cuda"
    finally:
        torch.set_default_device("cpu")
    assert torch.ones(2).device.type == "cpu"
    with pytest.raises(RuntimeError, match="device"):
        torch.set_default_device("tpu")


def test_the_patches_of_a_single_image_are_those_of_a_batch_of_one_image():
    image = torch.arange(30.0).reshape(2, 3, 5)
    settings = {"kernel_size": 2, "dilation": 2, "padding": 1, "stride": (1, 2)}
    patches = torch.nn.functional.unfold(image, **settings)
    assert patches.shape == (8, 9) and patches.equal(torch.nn.functional.unfold(image[None], **settings)[0])
