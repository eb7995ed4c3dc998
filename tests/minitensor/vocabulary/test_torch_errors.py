"""Test errors of PyTorch's vocabulary, which begin with PyTorch's message and then name the line and a remedy."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as paddle
from minitensor import torch


def test_the_error_about_a_stale_value_names_the_lines_of_save_and_write():
    x = torch.ones(2, requires_grad=True)
    a = x * 1
    y = a.sin()
    a.mul_(3)
    with pytest.raises(RuntimeError) as raised:
        y.sum().backward()
    text = str(raised.value)
    assert text.startswith(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor [2]], which is output 0 of Mul, is at version 1; expected version 0 instead. Hint: enable "
        "anomaly detection"
    )
    assert "y = a.sin()" in text
    assert "a.mul_(3)" in text
    assert "Ways out" in text
    assert x.grad is None


def test_the_error_of_a_second_backward_names_the_line_that_saved_the_freed_values():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time") as raised:
        y.backward()
    assert "y = (x * x).sum()" in str(raised.value)


def test_the_error_about_a_stale_value_names_an_assignment_to_an_index():
    x = torch.ones(2, requires_grad=True)
    a = x * 1
    y = a * a
    a[0] = 7
    with pytest.raises(RuntimeError, match="which is output 0 of CopySlices, is at version 1") as raised:
        y.sum().backward()
    assert "test_torch_errors.py" in str(raised.value)
    assert "a[0] = 7" in str(raised.value)


@pytest.mark.parametrize(
    "write",
    ["x.add_(1)", "x.zero_()", "x.uniform_()", "x[0:1].mul_(2)", "x.t_()", "x.copy_(torch.zeros(2))", "x[0] = 1"],
)
def test_a_refused_write_to_a_leaf_changes_nothing(write):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        exec(write, {"x": x, "torch": torch})
    assert x.tolist() == [1.0, 2.0]
    assert x._version == 0
    assert x.is_leaf
    with torch.no_grad():
        exec(write, {"x": x, "torch": torch})
    assert x.requires_grad
    assert x.is_leaf


def test_under_copy_on_write_a_write_to_a_saved_value_is_not_refused():
    with paddle.set_inplace_policy("copy_on_write"):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x * 1
        y = a * a
        a.add_(10)
        y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_under_policy_2_5_an_in_place_operation_that_needs_its_input_is_refused():
    x = torch.ones(2, requires_grad=True) * 1
    with paddle.set_inplace_policy("2.5"):
        with pytest.raises(RuntimeError, match="refused under the in-place policy"):
            x.sin_()
        x.exp_()
    assert x._version == 1


def test_anomaly_detection_names_the_forward_line():
    x = torch.tensor([-1.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = torch.sqrt(x)
        with (
            pytest.warns(UserWarning, match=r"y = torch.sqrt\(x\)"),
            pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0th output"),
        ):
            y.backward()
    torch.sqrt(x).backward()  # anomaly detection is off again, and nan is a valid value


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        ("torch.ones(2) + torch.ones(3)", RuntimeError, r"tensor a \(2\) must match the size of tensor b \(3\)"),
        ("torch.ones(2).add_(torch.ones(3, 2))", RuntimeError, r"output with shape \[2\] doesn't match"),
        (
            "torch.tensor([1]).add_(0.5)",
            RuntimeError,
            "result type Float can't be cast to the desired output type Long",
        ),
        ("torch.ones(1).expand(3).add_(1)", RuntimeError, "more than one element of the written-to tensor"),
        ("torch.ones(2) + [1, 2]", TypeError, "must be Tensor, not list"),
        ("torch.tensor('a')", TypeError, "invalid data type 'str'"),
        ("torch.ones(2, device='tpu')", RuntimeError, "Expected one of cpu, cuda"),
        ("torch.zeros(2, dtype='float8')", TypeError, "is not supported"),
        ("torch.ones(2).numpy(1)", TypeError, "positional"),
        ("torch.nn.Linear(2, 1)(torch.ones(3))", RuntimeError, "mat1 and mat2 shapes cannot be multiplied"),
        ("torch.nn.Linear(2, 1)(3)", TypeError, "must be Tensor, not int"),
        ("torch.ones(2, device='cuda:1')", RuntimeError, "invalid device ordinal"),
        ("setattr(torch.ones(2), 'grad', torch.ones(2))", RuntimeError, "a leaf that requires grad.*requires_grad_"),
        ("torch.ones(2, requires_grad=True).resize_(3)", RuntimeError, "cannot resize variables that require grad"),
        ("torch.optim.SGD([], lr=1)", ValueError, "empty parameter list"),
        ("torch.optim.SGD([torch.ones(1, requires_grad=True) * 2], lr=1)", ValueError, "non-leaf"),
        ("torch.optim.Adam([torch.ones(1)], lr=-1)", ValueError, "Invalid learning rate: -1"),
        ("torch.nn.Linear(2, 1).load_state_dict({})", RuntimeError, "Missing key"),
        ("torch.ones(2).backward(create_graph=True)", NotImplementedError, "autograd.grad"),
        ("torch.ones(2, requires_grad=True).sum().backward(torch.ones(3))", RuntimeError, "Mismatch in shape"),
        ("torch.sum(torch.ones(2, 3), dim=0, out=1.0)", TypeError, "must be Tensor, not float"),
        ("torch.where(torch.ones(2), 1.0, torch.ones(2))", RuntimeError, "boolean masks"),
    ],
)
def test_the_error_about_a_wrong_argument_says_what_is_wrong(program, error, text):
    with pytest.raises(error, match=text):
        eval(program, {"torch": torch})


def test_a_refused_load_state_dict_copies_nothing():
    layer = torch.nn.Linear(2, 1)
    before = layer.weight.tolist()
    with pytest.raises(RuntimeError, match="size mismatch for bias"):
        layer.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(5)})
    assert layer.weight.tolist() == before


@pytest.mark.parametrize("given", [{"a": 1}, 1.5, None, "2", [2]], ids=repr)
def test_one_hot_refuses_num_classes_that_is_no_integer(given):
    with pytest.raises(TypeError, match=r"one_hot\(\): num_classes must be an integer, not"):
        torch.nn.functional.one_hot(torch.tensor([0, 1]), given)


@pytest.mark.parametrize("given", [-(10**30), [3], "ab", None], ids=repr)
def test_grad_refuses_inputs_that_are_no_tensors(given):
    output = torch.ones(1, requires_grad=True).sum()
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got"):
        torch.autograd.grad(output, given)


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial_of_no_rows_returns_no_samples(replacement):
    drawn = torch.multinomial(torch.ones(0, 3), 2, replacement)
    assert drawn.shape == (0, 2) and drawn.dtype == torch.int64


def test_color_jitter_refuses_a_picture_of_one_channel_before_it_draws_or_writes():
    picture = paddle.ones([1, 4, 4])
    paddle.seed(3)
    wanted = paddle.rand([2]).tolist()
    paddle.seed(3)
    with pytest.raises(ValueError, match="color_jitter"):
        paddle.vision.transforms.color_jitter(picture, 0.5, 0.5, inplace=True)
    assert picture.inplace_version == 0 and paddle.rand([2]).tolist() == wanted
    paddle.vision.transforms.color_jitter(picture, 0.5, inplace=True)
    assert picture.inplace_version > 0


@pytest.mark.parametrize("given", [3, "a", [1.0, 2.0]], ids=repr)
def test_bincount_refuses_weights_that_are_no_tensor(given):
    with pytest.raises(TypeError, match=r"bincount\(\): argument 'weights' \(position 2\) must be Tensor, not"):
        torch.bincount(torch.tensor([1, 2]), given)


def test_diff_of_bools_is_true_where_neighbours_differ():
    assert torch.diff(torch.tensor([True, False, False])).tolist() == [True, False]
    assert paddle.diff(paddle.to_tensor([True, False, False])).tolist() == [True, False]


def test_an_array_without_dimensions_is_refused_as_sampler_and_as_parameters():
    data = paddle.io.TensorDataset([paddle.ones([4])])
    number = np.array(2)
    for make in (
        lambda: paddle.io.DataLoader(data, batch_sampler=number),
        lambda: torch.utils.data.DataLoader(data, batch_sampler=number),
        lambda: torch.utils.data.DataLoader(data, sampler=number),
        lambda: paddle.io.BatchSampler(sampler=number, batch_size=2),
        lambda: paddle.optimizer.SGD(0.1, parameters=number),
    ):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(TypeError, match="set_: offset must be an integer"):
        paddle.ones([2]).set_(offset=paddle.ones([3]))


@pytest.mark.parametrize("call", [lambda x: x.size(0), lambda x: x.size(-1), lambda x: x.roll(1, 0)])
def test_a_dimension_of_a_tensor_without_dimensions_is_refused(call):
    with pytest.raises(IndexError, match="but tensor has no dimensions"):
        call(torch.ones(()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.split([4, -1]), "only non-negative entries, but got split_sizes=[4, -1]"),
        (lambda x: x.split([1, 1]), "to sum exactly to 3"),
        (lambda x: x.split(0), "split_size can only be 0 if dimension size is 0, but got dimension size of 3"),
        (lambda x: x.split(-1), "split_size be non-negative, but got split_size=-1"),
        (
            lambda x: torch.cat([torch.empty(0), torch.ones(2, 3), torch.ones(3, 4)]),
            "Expected size 3 but got size 4 for tensor number 2 in the list",
        ),
    ],
)
def test_the_errors_of_split_and_cat_name_the_wrong_argument(call, message):
    with pytest.raises(RuntimeError) as raised:
        call(torch.ones(3))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("torch.randint('a', (2,))", "randint(): argument 'high' (position 1) must be int, not str"),
        ("torch.randint(1, 'a', (2,))", "randint(): argument 'high' (position 2) must be int, not str"),
        ("torch.randint(high='a', size=(2,))", "randint(): argument 'high' must be int, not str"),
        ("torch.randint(3)", "randint() takes (high, size) or (low, high, size)"),
        ("torch.randint(1, 2, (2,), 3)", "randint() takes (high, size) or (low, high, size)"),
        ("torch.randint(1, 2, (2,), size=(3,))", "randint() takes (high, size) or (low, high, size)"),
    ],
)
def test_an_error_about_a_bound_of_randint_names_the_argument_and_its_position(call, text):
    with pytest.raises(TypeError) as raised:
        eval(call)
    assert str(raised.value) == text


def test_the_bounds_of_randint_may_be_given_by_name():
    assert torch.randint(high=1, size=(2,)).tolist() == [0, 0]
    assert torch.randint(low=3, high=4, size=(2,)).tolist() == torch.randint(3, high=4, size=(2,)).tolist() == [3, 3]


@pytest.mark.parametrize("op", ["linspace", "logspace"])
@pytest.mark.parametrize("given", [("a", 1, 3), (0, None, 3), (0, 1, 2.5), (0, 1, 10**18)])
def test_the_errors_of_linspace_and_logspace_name_the_function(op: str, given: tuple):
    with pytest.raises((TypeError, RuntimeError), match=rf"^{op}\b"):
        getattr(torch, op)(*given)


def test_the_error_about_a_third_operand_names_the_length_0_of_the_first_two():
    with pytest.raises(RuntimeError, match=r"tensor a \(0\) must match the size of tensor b \(2\) at .* dimension 0"):
        torch.where(torch.ones(0) > 0, torch.ones(1), torch.ones(2))
