"""Test deprecated names, hooks and other functions of PyTorch's vocabulary that the recorded programs do not use."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import minitensor.torch as torch
from minitensor.torch.nn import functional as F


def test_variable_returns_a_leaf_that_shares_the_memory_of_its_tensor():
    data = torch.ones(2)
    x = torch.autograd.Variable(data, requires_grad=True)
    data += 1
    (x * 3).sum().backward()
    assert x.tolist() == [2.0, 2.0] and x.grad.tolist() == [3.0, 3.0]
    assert isinstance(data, torch.autograd.Variable) and not data.requires_grad


@pytest.mark.parametrize("name, dtype", [("Float", "float32"), ("Double", "float64"), ("Long", "int64")])
def test_tensor_types_such_as_float_tensor_create_and_convert_tensors(name, dtype):
    kind = getattr(torch, f"{name}Tensor")
    assert kind([1, 2]).tolist() == [1, 2] and kind(2, 3).shape == (2, 3)
    x = torch.ones(2, dtype=torch.bool).type(kind)
    assert str(x.dtype) == f"torch.{dtype}" and x.type() == f"torch.{name}Tensor" and isinstance(x, kind)
    assert x.type(x.type()) is x


def test_forward_hooks_replace_inputs_and_outputs_until_they_are_removed():
    layer = torch.nn.Identity()
    with layer.register_forward_pre_hook(lambda module, args: args[0] + 1):
        after = layer.register_forward_hook(lambda module, args, output: output * args[0])
        assert layer(torch.tensor(2.0)).item() == 9.0
    assert layer(torch.tensor(2.0)).item() == 4.0
    after.remove()
    after.remove()
    assert layer(torch.tensor(2.0)).item() == 2.0


def test_multinomial_without_replacement_draws_each_class_once_and_in_proportion():
    torch.manual_seed(3)
    assert sorted(torch.multinomial(torch.tensor([0.2, 0.5, 0.3]), 3).tolist()) == [0, 1, 2]
    first = [torch.multinomial(torch.tensor([0.1, 0.9]), 1).item() for _ in range(400)]
    assert 0.05 < 1 - np.mean(first) < 0.16
    with_replacement = torch.multinomial(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), 50, replacement=True)
    assert with_replacement.tolist() == [[0] * 50, [1] * 50]


@pytest.mark.parametrize("classes", [3, 5])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_with_label_smoothing_is_equal_for_classes_and_probabilities(classes, reduction):
    """A class label and a probability of 1 for this class are the same target, so both losses must be equal."""
    torch.manual_seed(classes)
    logits, labels = torch.randn(4, classes), torch.tensor([0, 2, 1, 2])
    named = F.cross_entropy(logits, labels, reduction=reduction, label_smoothing=0.2)
    reported = F.cross_entropy(logits, F.one_hot(labels, classes).float(), reduction=reduction, label_smoothing=0.2)
    if reduction == "mean":
        reported = F.cross_entropy(logits, F.one_hot(labels, classes).float(), reduction="sum", label_smoothing=0.2) / 4
    assert np.allclose(named.numpy(), reported.numpy(), atol=1e-6)


def test_the_gradient_of_std_is_0_where_all_numbers_are_equal():
    """As in PyTorch, the gradient is 0. The chain rule through the square root of 0 would compute nan."""
    x = torch.tensor([[2.0, 2.0], [1.0, 3.0]], requires_grad=True)
    x.std(1).sum().backward()
    assert np.allclose(x.grad.numpy(), [[0, 0], [-np.sqrt(0.5), np.sqrt(0.5)]])


def test_a_tensor_as_bound_of_clamp_gets_the_gradient_of_the_clamped_elements():
    x = torch.tensor([1.0, 5.0, 3.0], requires_grad=True)
    low, high = torch.tensor([2.0, 2.0, 2.0], requires_grad=True), torch.tensor(4.0, requires_grad=True)
    y = x.clamp(low, high)
    y.sum().backward()
    assert y.tolist() == [2.0, 4.0, 3.0]
    assert (x.grad.tolist(), low.grad.tolist(), high.grad.item()) == ([0, 0, 1], [1, 0, 0], 1.0)


def test_clamp_in_place_accepts_tensor_bounds():
    x = torch.tensor([1.0, 5.0, 3.0])
    assert x.clamp_(min=torch.tensor([2.0, 2.0, 4.0])) is x and x.tolist() == [2.0, 5.0, 4.0]


def test_an_optimizer_shares_the_tensors_of_a_loaded_state_as_in_pytorch():
    w = torch.ones(1, requires_grad=True)
    one, other = torch.optim.Adam([w], lr=0.1), torch.optim.Adam([w], lr=0.2)
    w.sum().backward()
    one.step()
    other.load_state_dict(one.state_dict())
    one.step()
    assert other.state[w]["step"].item() == 2 and one.state[w]["step"].item() == 2  # the numbers of PyTorch 2.13
    with pytest.raises(ValueError, match="different number of parameter groups"):
        other.load_state_dict({"state": {}, "param_groups": []})


def test_a_forward_hook_that_raises_is_not_called_again_although_always_call_is_true():
    layer, calls = torch.nn.Identity(), []

    def failing(module, args, output):
        calls.append("failing")
        raise ValueError("no")

    layer.register_forward_hook(failing, always_call=True)
    layer.register_forward_hook(lambda module, args, output: calls.append(output), always_call=True)
    x = torch.ones(1)
    with pytest.raises(ValueError, match="no"):
        layer(x)
    assert calls == ["failing", x]


@pytest.mark.parametrize("raising", ["a pre-hook", "forward"])
def test_hooks_with_always_call_get_the_results_of_earlier_ones_after_an_error_as_in_pytorch(raising):
    layer, outputs = torch.nn.Identity(), []

    def fail(module, *given):
        raise ValueError(raising)

    if raising == "forward":
        layer.forward = fail
    else:
        layer.register_forward_pre_hook(fail)
    for answer in (None, 5, 7):
        layer.register_forward_hook(lambda m, a, out, answer=answer: outputs.append(out) or answer, always_call=True)
    layer.register_forward_hook(lambda m, a, out: outputs.append("not always"))
    layer.register_forward_hook(lambda m, a, out: 1 / 0, always_call=True)
    with (
        pytest.warns(UserWarning, match="raised an exception that was silenced as another error was raised in forward"),
        pytest.raises(ValueError, match=raising),
    ):
        layer(torch.ones(1))
    assert outputs == [None, None, 5]


def test_a_dict_of_parameters_sorts_the_names_of_a_plain_dict_only():
    entries = [(name, torch.ones(1)) for name in "ba"]
    assert list(torch.nn.ParameterDict(dict(entries))) == ["a", "b"]
    assert list(torch.nn.ParameterDict(OrderedDict(entries))) == ["b", "a"]


def test_an_assigned_parameter_requires_no_gradient_if_the_replaced_one_required_none():
    frozen, trained = torch.nn.Linear(1, 1).requires_grad_(False), torch.nn.Linear(1, 1)
    given = dict(trained.named_parameters())
    frozen.load_state_dict(given, assign=True)
    assert all(each is given[name] and not each.requires_grad for name, each in frozen.named_parameters())


def test_the_step_of_a_loaded_state_keeps_its_dtype():
    """A number of steps in float16 would stop at 2048."""
    w = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    optimizer = torch.optim.Adam([w])
    w.grad = torch.ones_like(w)
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.state[w]["step"].dtype is torch.float32 and optimizer.state[w]["exp_avg"].dtype is torch.float16
