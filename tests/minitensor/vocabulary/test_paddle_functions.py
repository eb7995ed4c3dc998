"""Test the functions of layers: derivatives of both orders, saved bytes, refused calls, results on a simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as paddle
import minitensor.nn.functional as F
from minitensor.engine.autograd.gradcheck import gradcheck
from minitensor.engine.device.places import device_named, using
from minitensor.engine.layers.recurrent import gru_step, lstm_step, rnn_step


def leaf(*shape: int, seed: int = 0) -> paddle.Tensor:
    return paddle.to_tensor(np.random.default_rng(seed).normal(size=shape), stop_gradient=False)


def batch(x, w, b, training=True):
    return F.batch_norm(x, paddle.full([3], 0.5, "float64"), paddle.full([3], 2.0, "float64"), w, b, training=training)


LABEL = [0, 2, 1, -100]
SOFT = np.random.default_rng(5).random((4, 3))
#: Functions, each with the shapes of the tensors that it gets.
CASES = {
    "linear": (F.linear, (4, 3), (3, 2), (2,)),
    "linear of a stack": (F.linear, (2, 4, 3), (3, 2)),
    "linear of a vector": (F.linear, (3,), (3, 2), (2,)),
    "conv2d": (F.conv2d, (2, 2, 4, 5), (3, 2, 3, 2), (3,)),
    "conv2d with all arguments": (
        lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        (2, 4, 4, 5),
        (4, 2, 3, 2),
        (4,),
    ),
    "batch_norm": (batch, (4, 3, 2, 2), (3,), (3,)),
    "batch_norm of rows": (batch, (4, 3), (3,), (3,)),
    "batch_norm in evaluation": (lambda x, w, b: batch(x, w, b, False), (4, 3, 2, 2), (3,), (3,)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, 3, w, b), (4, 3), (3,), (3,)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, weight=w, bias=b), (2, 4, 2, 2), (4,), (4,)),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, weight=w, bias=b), (2, 3, 2, 3), (3,), (3,)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (2, 2, 4, 4)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 2, 4, 5)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, [2, 3]), (1, 2, 5, 4)),
    "gelu": (F.gelu, (4, 3)),
    "silu": (F.silu, (4, 3)),
    "silu in place": (lambda x: F.silu(x * 1.0, inplace=True), (4, 3)),
    "log_softmax": (F.log_softmax, (4, 3)),
    "embedding": (lambda w: F.embedding(paddle.to_tensor([[0, 2], [2, 3]]), w, padding_idx=1), (4, 3)),
    "attention": (F.scaled_dot_product_attention, (2, 3, 2, 4), (2, 5, 2, 4), (2, 5, 2, 4)),
    "rnn_step": (lambda x, h, *weights: rnn_step(x, h, weights), (2, 3), (2, 4), (3, 4), (4, 4), (4,), (4,)),
    "gru_step": (lambda x, h, *weights: gru_step(x, h, weights), (2, 3), (2, 2), (3, 6), (2, 6), (6,), (6,)),
    "lstm_step": (
        lambda x, h, c, *weights: lstm_step(x, (h, c), weights)[0],
        *((2, 3), (2, 2), (2, 2), (3, 8), (2, 8), (8,), (8,)),
    ),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy(F.sigmoid(x), F.sigmoid(y)), (4, 3), (4, 3)),
    "binary_cross_entropy_with_logits": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, F.sigmoid(y)),
        *((4, 3), (4, 3)),
    ),
    "nll_loss": (lambda x: F.nll_loss(F.log_softmax(x), paddle.to_tensor([0, 2, 1, 2])), (4, 3)),
    "kl_div": (lambda x, y: F.kl_div(F.log_softmax(x), F.softmax(y)), (4, 3), (4, 3)),
    "smooth_l1_loss": (lambda x, y: F.smooth_l1_loss(x, y, delta=0.7), (4, 3), (4, 3)),
    "mse_loss": (F.mse_loss, (4, 3), (4, 3)),
    "l1_loss": (F.l1_loss, (4, 3), (4, 3)),
    **{
        f"cross_entropy, {reduction}": (
            lambda x, reduction=reduction: F.cross_entropy(x, paddle.to_tensor(LABEL), reduction=reduction),
            (4, 3),
        )
        for reduction in ("mean", "sum", "none")
    },
    "cross_entropy along axis 1": (
        lambda x: F.cross_entropy(x, paddle.to_tensor([LABEL]), axis=1, reduction="none"),
        (1, 3, 4),
    ),
    "cross_entropy, soft": (lambda x: F.cross_entropy(x, paddle.to_tensor(SOFT), soft_label=True), (4, 3)),
}


def inputs(shapes) -> list[paddle.Tensor]:
    return [leaf(*shape, seed=number) for number, shape in enumerate(shapes)]


@pytest.mark.parametrize("case", CASES)
def test_first_derivatives_agree_with_finite_differences(case):
    function, *shapes = CASES[case]
    assert gradcheck(function, inputs(shapes))


@pytest.mark.parametrize("case", CASES)
def test_second_derivatives_agree_with_finite_differences(case):
    function, *shapes = CASES[case]

    def squared_slopes(*tensors):
        y = function(*tensors)
        slopes = paddle.grad([(y * y).sum()], list(tensors), create_graph=True)
        return sum((slope * slope).sum() for slope in slopes)

    assert gradcheck(squared_slopes, inputs(shapes))


@pytest.mark.parametrize("case", CASES)
def test_the_simulated_gpu_computes_the_same(case):
    function, *shapes = CASES[case]

    def computed() -> list[np.ndarray]:
        tensors = inputs(shapes)
        y = function(*tensors)
        y.sum().backward()
        assert y.place == tensors[0].grad.place == tensors[0].place
        return [y.numpy(), *(x.grad.numpy() for x in tensors)]

    on_host = computed()
    with using(device_named("the test", "gpu:sim")):
        on_gpu = computed()
    for host, gpu in zip(on_host, on_gpu, strict=True):
        np.testing.assert_array_equal(host, gpu)


def test_conv2d_equals_a_sum_over_windows():
    x, w = leaf(2, 3, 6, 5).numpy(), leaf(4, 3, 3, 2, seed=1).numpy()
    y = F.conv2d(paddle.to_tensor(x), paddle.to_tensor(w), stride=2, padding=1).numpy()
    around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for image, kernel, i, j in np.ndindex(y.shape):
        window = around[image, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        assert y[image, kernel, i, j] == pytest.approx((window * w[kernel]).sum())


def test_conv2d_computed_in_blocks_equals_conv2d_of_the_whole_batch(monkeypatch):
    from minitensor.engine.layers import convolution

    def gradients():
        x, w = leaf(5, 2, 6, 6), leaf(3, 2, 3, 3, seed=1)
        y = F.conv2d(x, w, padding=1)
        (y * y).sum().backward()
        return y.numpy(), x.grad.numpy(), w.grad.numpy()

    whole = gradients()
    # With this limit, the five images are computed in blocks of two, two and one.
    monkeypatch.setitem(convolution.COLUMNS, "host", 2 * 2 * 9 * 36 * 8)
    for once, parts in zip(whole, gradients(), strict=True):
        np.testing.assert_allclose(once, parts, rtol=1e-12)


def test_results_and_gradients_of_views_and_strided_inputs_are_right():
    whole = leaf(8, 6)
    y = F.linear(whole[::2].transpose([1, 0]), leaf(4, 2, seed=1))
    y.sum().backward()
    assert (whole.grad.numpy()[1::2] == 0).all() and (whole.grad.numpy()[::2] != 0).all()
    images = leaf(2, 6, 5, 3).transpose([0, 3, 1, 2])
    w = leaf(2, 3, 2, 2, seed=1)
    np.testing.assert_allclose(F.conv2d(images, w).numpy(), F.conv2d(paddle.to_tensor(images.numpy()), w).numpy())


# ---------- saved bytes ----------


def held_by(make) -> int:
    before = paddle.device.cpu.memory_allocated()
    y = make()
    held = paddle.device.cpu.memory_allocated() - before - y.nbytes
    del y
    assert paddle.device.cpu.memory_allocated() == before
    return held


def test_layers_save_their_inputs_by_reference():
    x, w, b = leaf(64, 32), leaf(32, 16, seed=1), leaf(16, seed=2)
    images, kernels = leaf(2, 3, 9, 9), leaf(4, 3, 3, 3, seed=1)
    label = paddle.to_tensor(np.arange(64) % 16)
    scores = paddle.to_tensor(np.ones((64, 16)), stop_gradient=False)
    assert held_by(lambda: F.linear(x, w, b)) == 0
    assert held_by(lambda: F.conv2d(images, kernels)) == 0
    # cross_entropy keeps two numbers for each row: the largest score, and the sum of exponentials.
    assert held_by(lambda: F.cross_entropy(scores, label)) == 64 * 2 * 8
    channels = 2 * 3 * 8  # bytes for a mean and a standard deviation of each channel
    stay = [paddle.zeros([3], "float64"), paddle.ones([3], "float64")]
    assert held_by(lambda: F.batch_norm(images, *stay, training=True)) == channels


def test_only_values_that_a_requested_gradient_needs_are_saved():
    x = paddle.ones([4, 3])
    w = paddle.ones([3, 2])
    w.stop_gradient = False
    y = F.linear(x, w)
    with paddle.no_grad():
        w.scale_(2.0)  # a write to w is allowed, because only the gradient of x needs w
    y.sum().backward()
    assert w.grad.tolist() == [[4.0, 4.0]] * 3


@pytest.mark.parametrize(
    "function, shapes, written",
    [
        (F.linear, ((4, 3), (3, 2)), 0),
        (F.linear, ((4, 3), (3, 2)), 1),
        (F.conv2d, ((1, 2, 4, 4), (2, 2, 2, 2)), 0),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1])), ((2, 3),), 0),
        (batch, ((4, 3), (3,), (3,)), 0),
    ],
)
def test_backward_raises_about_an_overwritten_value_or_uses_the_preserved_one(function, shapes, written):
    def run(overwrite: bool):
        leaves = inputs(shapes)
        tensors = [x * 1.0 for x in leaves]
        y = function(*tensors)
        if overwrite:
            tensors[written].fill_(7.0)
        (y * y).sum().backward()
        return [x.grad.numpy() for x in leaves]

    right = run(False)
    with pytest.raises(RuntimeError, match=r"received tensor_version:1 != wrapper_version_snapshot:0"):
        run(True)
    with paddle.set_inplace_policy("copy_on_write"):
        for found, wanted in zip(run(True), right, strict=True):
            np.testing.assert_allclose(found, wanted)


def test_parameters_get_gradients_if_the_input_requires_none():
    x = leaf(4, 3, 2, 2)
    x.stop_gradient = True
    w, b = leaf(3, seed=1), leaf(3, seed=2)
    batch(x, w, b).sum().backward()
    normal = (x.numpy() - x.numpy().mean((0, 2, 3), keepdims=True)) / np.sqrt(
        x.numpy().var((0, 2, 3), keepdims=True) + 1e-5
    )
    np.testing.assert_allclose(w.grad.numpy(), normal.sum((0, 2, 3)), atol=1e-12)
    assert b.grad.tolist() == [16.0] * 3
    images, kernels = paddle.ones([1, 1, 3, 3]), leaf(1, 1, 3, 3)
    F.conv2d(images.astype("float64"), kernels).sum().backward()
    assert kernels.grad.tolist() == np.ones((1, 1, 3, 3)).tolist()


def test_backward_raises_if_a_label_was_overwritten():
    x, label = leaf(2, 3), paddle.to_tensor([0, 1])
    loss = F.cross_entropy(x, label)
    label.fill_(2)
    with pytest.raises(RuntimeError, match="cross_entropy saved its label"):
        loss.backward()


def test_batch_norm_writes_its_running_values_once_per_batch_in_training():
    norm = paddle.nn.BatchNorm2D(3)
    x = paddle.to_tensor(leaf(4, 3, 2, 2).numpy().astype("float32"))
    norm(x)
    assert (norm._mean.inplace_version, norm._variance.inplace_version) == (1, 1)
    np.testing.assert_allclose(norm._mean.numpy(), 0.1 * x.numpy().mean(axis=(0, 2, 3)), rtol=1e-5)
    norm.eval()
    norm(x)
    assert norm._mean.inplace_version == 1


def test_a_loss_whose_rows_are_all_ignored_is_zero():
    x = leaf(2, 3)
    loss = F.cross_entropy(x, paddle.to_tensor([-100, -100]))
    loss.backward()
    assert float(loss) == 0.0 and not x.grad.numpy().any()


def test_cross_entropy_of_large_scores_does_not_overflow():
    x = paddle.to_tensor([[1e4, 0.0], [-1e4, 1e4]], stop_gradient=False)
    loss = F.cross_entropy(x, paddle.to_tensor([0, 0]), reduction="none")
    loss.backward()
    assert loss.tolist() == [0.0, 2e4] and x.grad.tolist() == [[0.0, 0.0], [-1.0, 1.0]]


# ---------- refusals ----------


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: F.linear(paddle.ones([2, 3]), paddle.ones([2, 3])), ValueError, r"weight must be \[in, out\] and x"),
        (
            lambda: F.linear(paddle.ones([2, 3]), paddle.ones([3, 4]), paddle.ones([3])),
            ValueError,
            r"must have the shape \[4\]",
        ),
        (lambda: F.linear([[1.0]], paddle.ones([1, 1])), TypeError, "x must be a Tensor, not list"),
        (
            lambda: F.linear(paddle.ones([1, 1], "int64"), paddle.ones([1, 1])),
            TypeError,
            "x must hold floats, not int64",
        ),
        (lambda: F.conv2d(paddle.ones([2, 3]), paddle.ones([1, 1, 1, 1])), ValueError, "images, channels, height"),
        (lambda: F.conv2d(paddle.ones([1, 3, 4, 4]), paddle.ones([1, 2, 2, 2])), ValueError, "images of 2 channels"),
        (lambda: F.conv2d(paddle.ones([1, 1, 2, 2]), paddle.ones([1, 1, 3, 3])), ValueError, "does not fit into"),
        (lambda: F.conv2d(paddle.ones([1, 1, 2, 2]), paddle.ones([1, 1, 1, 1]), stride=0), ValueError, "at least 1"),
        (lambda: F.conv2d(paddle.ones([1, 1, 2, 2]), paddle.ones([1, 1, 1, 1]), padding=1.5), TypeError, "1.5"),
        (
            lambda: F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0.0, 1.0])),
            TypeError,
            "labels must be classes",
        ),
        (lambda: F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0])), ValueError, r"in the shape \[2\]"),
        (lambda: F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 3])), IndexError, "label 3 is not a class"),
        (
            lambda: F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, -1])),
            IndexError,
            "label -1 is not a class",
        ),
        (lambda: F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 1]), reduction="all"), ValueError, "'all'"),
        (lambda: F.cross_entropy(paddle.ones([2, 3]), paddle.ones([2, 2]), soft_label=True), ValueError, "soft labels"),
        (lambda: F.cross_entropy(leaf(2, 3), leaf(2, 3), soft_label=True), TypeError, "no gradient is computed"),
        (lambda: F.mse_loss(paddle.ones([2]), paddle.ones([2, 1])), ValueError, r"theirs are \[2\] and \[2, 1\]"),
        (lambda: batch(paddle.ones([4]), None, None), ValueError, r"its shape is \[4\]"),
        (lambda: batch(paddle.ones([4, 2]), None, None), ValueError, "x of shape"),
    ],
)
def test_the_error_names_a_wrong_argument(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_nll_loss_ignores_only_rows_of_the_ignored_class():
    scores = paddle.to_tensor([[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]])
    labels = paddle.to_tensor([0, 1, 0])
    assert F.nll_loss(scores, labels, ignore_index=1).item() == 3
    assert F.nll_loss(scores, labels, ignore_index=0).item() == 4
    with pytest.raises(IndexError, match="label -5 is not a class"):
        F.nll_loss(scores, paddle.to_tensor([0, -5, 0]))


def test_smooth_l1_loss_is_linear_beyond_delta():
    losses = F.smooth_l1_loss(paddle.to_tensor([0.25, 2.0]), paddle.zeros([2]), reduction="none", delta=0.5)
    assert losses.tolist() == [0.03125, 0.875]


def test_a_recorded_gradient_of_binary_cross_entropy_has_bounded_logarithms():
    certain, label = paddle.to_tensor([0.0, 1.0]), leaf(2)
    loss = F.binary_cross_entropy(certain, label, reduction="sum")
    (gradient,) = paddle.grad(loss, [label], create_graph=True)
    assert (
        gradient.tolist() == paddle.grad(F.binary_cross_entropy(certain, label, reduction="sum"), [label])[0].tolist()
    )
    assert gradient.tolist() == [100, -100]


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_a_padding_of_more_than_half_of_the_window_is_refused(pool):
    assert pool(paddle.ones([1, 1, 4, 4]), 4, padding=2).shape == [1, 1, 2, 2]
    for padding in ([2, 0], [0, 2]):
        with pytest.raises(ValueError, match="more than half of the kernel"):
            pool(paddle.ones([1, 1, 4, 4]), 3, padding=padding)


def test_kl_div_is_nan_where_the_label_is_nan_and_0_where_it_is_0():
    label = paddle.to_tensor([float("nan"), 0.0, 1.0])
    losses = F.kl_div(paddle.to_tensor([-1.0, -1.0, -1.0]), label, reduction="none").tolist()
    assert np.isnan(losses[0]) and losses[1:] == [0, 1]


def test_backward_raises_about_a_foreign_write_if_foreign_writes_are_checked():
    array = np.ones((4, 3))
    w = leaf(3, 2)
    with paddle.check_foreign_writes():
        y = F.linear(paddle.from_numpy(array), w)
        array[2, 1] = 5.0
        with pytest.raises(RuntimeError, match=r"linear saved its first input(.|\n)*element \[2, 1\]"):
            y.sum().backward()
    assert w.grad is None
