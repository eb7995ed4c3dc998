"""Test top-level names of Paddle's vocabulary: modes, devices, creation, queries, and errors about missing names."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import minitensor as paddle

# ---------- missing names ----------


@pytest.mark.parametrize(
    "module, name, words",
    [
        (paddle, "zeross", "module 'minitensor' has no attribute 'zeross'; the nearest name is 'zeros'"),
        (paddle, "optimizers", "the nearest name is 'optimizer'"),
        (paddle, "matmul_", "the nearest name is 'matmul'"),
        (paddle, "exponential", "tensors have it, as `x.exponential_`"),
        (paddle, "exponential_", "tensors have it, as `x.exponential_`"),
        (paddle, "fluid", "which Paddle itself has removed$"),
        (paddle, "qqqqqq", "has no attribute 'qqqqqq'$"),
        (paddle, "svd", "has no attribute 'svd'$"),
        (paddle, "flops", "has no attribute 'flops': no function counts arithmetic operations$"),
        (paddle.nn, "HingeEmbeddingLoss", "of its kind minitensor has BCELoss, "),
        (paddle.nn, "Linaer", "module 'minitensor.nn' has no attribute 'Linaer'; the nearest name is 'Linear'"),
        (paddle.nn.functional, "cros_entropy", "the nearest name is 'cross_entropy'"),
    ],
)
def test_the_error_for_a_missing_name_suggests_the_nearest(module, name, words):
    with pytest.raises(AttributeError, match=words) as raised:
        getattr(module, name)
    assert raised.value.name == name and not hasattr(module, name)


def test_every_name_that_dir_lists_exists():
    for module in (paddle, paddle.nn, paddle.nn.functional, paddle.optimizer):
        for name in dir(module):
            assert hasattr(module, name), f"{module.__name__}.{name}"


def test_the_import_does_not_load_rarely_used_modules():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, minitensor; print(*sorted(m for m in sys.modules if 'minitensor' in m))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "minitensor.paddle.inspection" in loaded
    for later in ("optimizer", "nn.layers", "engine.layers.convolution", "paddle.names"):
        assert importlib.util.find_spec(f"minitensor.{later}") and f"minitensor.{later}" not in loaded


# ---------- modes ----------


def test_there_is_no_static_graph():
    paddle.disable_static()
    assert paddle.in_dynamic_mode()
    with pytest.raises(RuntimeError, match="enable_static: there is no static graph"):
        paddle.enable_static()


def test_grad_mode_can_be_set():
    with paddle.set_grad_enabled(False):
        assert not paddle.is_grad_enabled()
        with paddle.set_grad_enabled(True):
            assert paddle.is_grad_enabled()
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()
    paddle.set_grad_enabled(False)
    try:
        assert not paddle.is_grad_enabled()
    finally:
        paddle.set_grad_enabled(True)
    with pytest.raises(TypeError, match="True or False, not 1"):
        paddle.set_grad_enabled(1)


def test_to_tensor_accepts_places():
    assert paddle.to_tensor([1.0], place=paddle.CPUPlace()).place == "Place(cpu)"
    assert paddle.CUDAPlace(0) == "Place(gpu:0)"
    assert paddle.is_compiled_with_cuda() in (False, True)


# ---------- creation ----------


def test_the_function_assign_writes_an_output_once_and_refuses_another_shape_or_dtype():
    out = paddle.zeros([2, 2])
    view = out[0]
    assert paddle.assign([[1.0, 2.0], [3.0, 4.0]], out) is out
    assert out.inplace_version == 1 and view.tolist() == [1.0, 2.0]
    for wrong, error in ((paddle.zeros([2]), ValueError), (paddle.zeros([2, 2], "float64"), TypeError)):
        with pytest.raises(error, match="they must be equal"):
            paddle.assign(wrong, out)
    leaf = paddle.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(ValueError, match="can't use inplace strategy"):
        paddle.assign(paddle.zeros([1]), leaf)
    assert leaf.tolist() == [1.0] and out.inplace_version == 1


def test_assign_returns_a_copy():
    x = paddle.ones([2])
    y = paddle.assign(x)
    x.zero_()
    assert y.tolist() == [1.0, 1.0]
    array = np.ones(2, "float32")
    z = paddle.assign(array)
    array[:] = 0
    assert z.tolist() == [1.0, 1.0]


def test_random_tensors_follow_the_seed(device):
    drawn = []
    for _ in range(2):
        paddle.seed(7)
        drawn.append([paddle.randint(-3, 5, [50]).tolist(), paddle.randperm(6).tolist()])
    assert drawn[0] == drawn[1]
    assert set(drawn[0][0]) == set(range(-3, 5)) and sorted(drawn[0][1]) == list(range(6))
    assert paddle.randint(3, shape=[2], dtype="int32").dtype == "int32"
    assert paddle.eye(2).place == paddle.linspace(0, 1, 3).place == paddle.randperm(2).place


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: paddle.linspace(0.0, 1.0, 0), ValueError, "num must be at least 1"),
        (lambda: paddle.linspace(0.0, float("inf"), 3), TypeError, "a finite number, not inf"),
        (lambda: paddle.randint(3, 3), ValueError, "low must be below high, but they are 3 and 3"),
        (lambda: paddle.randint("a"), TypeError, "low must be an integer, not 'a'"),
        (lambda: paddle.randint(1, "a"), TypeError, "high must be an integer, not 'a'"),
        (lambda: paddle.randint(0), ValueError, "^If high is None, low must be greater than 0, but received low = 0.$"),
        (lambda: paddle.eye(-1), ValueError, "negative length"),
        (lambda: paddle.assign(paddle.ones([1]), [0.0]), TypeError, "assign: output: x must be a Tensor, not list"),
        (lambda: paddle.zeros([0]).argmax(), ValueError, r"a tensor of shape \[0\] has no elements"),
        (lambda: paddle.ones([2]).argmax(1), IndexError, "axis 1 is out of range"),
        (lambda: paddle.numel([1.0]), TypeError, "numel: x must be a Tensor, not list"),
    ],
)
def test_the_error_names_a_wrong_argument_of_creation_and_queries(make, error, words):
    with pytest.raises(error, match=words):
        make()


# ---------- queries ----------


def test_results_of_queries_require_no_gradient_and_are_on_the_device_of_the_tensor(device):
    x = paddle.to_tensor([[1.0, 3.0], [3.0, 2.0]], stop_gradient=False)
    answers = [x.argmax(), x.argmin(1), x.all(), x.any(0), x.equal_all(x), x.allclose(x), x.numel(), paddle.numel(x)]
    assert all(answer.stop_gradient and answer.place == x.place for answer in answers)
    assert [x.argmax().item(), x.argmax(0).tolist(), x.argmax(keepdim=True).shape] == [1, [1, 0], [1, 1]]
    assert not paddle.equal_all(x, x[0]) and paddle.allclose(x, x + 1e-7) and not paddle.allclose(x, x + 1e-3)
    (x * x).sum().backward()
    assert isinstance(x.gradient(), np.ndarray) and x.gradient().tolist() == [[2.0, 6.0], [6.0, 4.0]]
    assert paddle.ones([1]).gradient() is None


def test_bump_inplace_version_makes_saved_values_stale_under_every_policy():
    for policy in ("2.5", "2.6", "copy_on_write"):
        with paddle.set_inplace_policy(policy):
            x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
            a = x * 1.0
            y = a * a
            a._bump_inplace_version()
            with pytest.raises(RuntimeError, match="_bump_inplace_version, which made version 1"):
                y.sum().backward()
            assert x.grad is None and a._inplace_version() == 1


def test_tensors_on_one_storage_are_recognized():
    x = paddle.ones([2, 3])
    assert x._is_shared_buffer_with(x.detach()) and x[0]._is_shared_buffer_with(x[1])
    assert not x._is_shared_buffer_with(x.clone())
