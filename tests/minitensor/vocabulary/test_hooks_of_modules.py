"""Test hooks that a module calls before and after its backward: arguments and effects, as observed in PyTorch."""

from __future__ import annotations

import gc

import pytest

from minitensor import torch
from minitensor.torch import nn


def noted(seen):
    def hook(module, grad_input, grad_output):
        lists = [[None if g is None else g.tolist() for g in grads] for grads in (grad_input, grad_output)]
        seen.append((type(module).__name__, *lists))

    return hook


def test_hooks_get_gradients_of_inputs_and_outputs_from_the_last_module_to_the_first():
    torch.manual_seed(0)
    net, seen = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)), []
    handles = [net[i].register_full_backward_hook(noted(seen)) for i in (0, 2)]
    net(torch.tensor([[1.0, 2.0, -3.0]])).sum().backward()
    # PyTorch 2.13 printed these numbers for the same seed.
    assert seen == [
        ("Linear", [[[-0.06275151669979095, 0.1871093362569809]]], [[[1.0]]]),
        ("Linear", [None], [[[-0.06275151669979095, 0.0]]]),
    ]
    for handle in handles:
        handle.remove()
    net(torch.ones(1, 3)).sum().backward()
    assert len(seen) == 2


class Two(nn.Module):
    def forward(self, a, b, k):
        return a * b, a + k


def test_a_hook_of_a_module_with_several_inputs_is_called_once():
    two, seen = Two(), []
    two.register_full_backward_hook(noted(seen))
    a, b = (torch.tensor([x], requires_grad=True) for x in (2.0, 3.0))
    product, total = two(a, b, 1.0)
    (product * 2 + total + a).backward()
    assert seen == [("Two", [[7.0], [4.0], None], [[2.0], [1.0]])]
    assert (a.grad.item(), b.grad.item()) == (8.0, 4.0)
    two(a, b, 1.0)[0].backward()
    assert seen[1] == ("Two", [[3.0], [2.0], None], [[1.0], None])


class Product(nn.Module):
    def forward(self, a, b):
        return a * b


def test_a_hook_is_called_if_only_some_gradients_are_requested():
    """As in torch 2.13, the hook gets the gradients of all inputs, whichever one is requested."""
    product, seen = Product(), []
    product.register_full_backward_hook(noted(seen))
    a, b = (torch.tensor(numbers, requires_grad=True) for numbers in ([1.0, 2.0], [3.0, 4.0]))
    twice, thrice = a * 2, b * 3
    assert torch.autograd.grad(product(twice, thrice).sum(), [twice])[0].tolist() == [9.0, 12.0]
    assert torch.autograd.grad(product(twice, thrice).sum(), [a])[0].tolist() == [18.0, 24.0]
    assert seen == [("Product", [[9.0, 12.0], [2.0, 4.0]], [[1.0, 1.0]])] * 2
    product(a, b).sum().backward(inputs=[b])
    assert seen[2:] == [("Product", [[3.0, 4.0], [1.0, 2.0]], [[1.0, 1.0]])]
    assert a.grad is None and b.grad.tolist() == [1.0, 2.0]
    linear = nn.Linear(2, 1)
    linear.register_full_backward_hook(noted(seen))
    torch.autograd.grad(linear(a).sum(), [linear.weight])
    assert len(seen) == 3  # the hook is not called, because no gradient of the module's inputs is requested


def test_a_hook_that_replaces_a_gradient_which_backward_has_already_used_is_refused():
    product = Product()
    a, b = (torch.tensor([x], requires_grad=True) for x in (2.0, 3.0))
    product.register_full_backward_hook(lambda module, given, _: tuple(g * 10 for g in given))
    with pytest.raises(RuntimeError, match=r"returned another gradient for input \d, which has already been passed on"):
        product(a, b).backward()


@pytest.mark.parametrize("inplace", [False, True])
def test_the_return_value_of_a_hook_replaces_the_gradient_of_the_input(inplace):
    layer = nn.ReLU(inplace=inplace)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
    x = torch.tensor([1.0, -1.0, 2.0], requires_grad=True)
    layer(x * 1).sum().backward()
    assert x.grad.tolist() == [10.0, 0.0, 10.0]


def test_hooks_keep_nothing_alive_after_backward():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *_: None)
    gc.collect()
    gc.disable()
    try:
        from minitensor import memory

        with memory.measure() as meter:
            for _ in range(3):
                layer(torch.ones(1000, 2, requires_grad=True)).sum().backward()
                layer.zero_grad()
            assert meter.allocated < 1000
    finally:
        gc.enable()


def test_a_hook_is_not_called_under_no_grad():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(noted(seen))
    with torch.no_grad():
        assert layer(torch.ones(1, 2)).grad_fn is None
    assert seen == []


def test_a_pre_hook_replaces_the_gradient_of_the_output():
    """The expected numbers are those that PyTorch 2.13 printed."""
    layer, seen = nn.Linear(2, 1, bias=False), []
    with torch.no_grad():
        layer.weight.fill_(2.0)
    handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
    layer.register_full_backward_hook(noted(seen))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert seen == [("Linear", [[[20.0, 20.0]]], [[[10.0]]])]
    assert x.grad.tolist() == [[20.0, 20.0]] and layer.weight.grad.tolist() == [[10.0, 10.0]]
    handle.remove()
    layer(x).sum().backward()
    assert seen[1:] == [("Linear", [[[2.0, 2.0]]], [[[1.0]]])] and x.grad.tolist() == [[22.0, 22.0]]


def test_pre_hooks_run_in_order_and_prepend_registers_a_hook_before_the_others():
    layer, order = nn.Linear(1, 1), []
    for number, first in ((1, False), (2, False), (0, True)):
        layer.register_full_backward_pre_hook(lambda *_, number=number: order.append(number), prepend=first)
    layer(torch.ones(1, 1)).sum().backward()
    assert order == [0, 1, 2]
    layer.register_full_backward_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="a tuple of one gradient, not int"):
        layer(torch.ones(1, 1)).sum().backward()


def test_a_hook_of_a_module_whose_inputs_require_no_gradients_warns_as_in_pytorch():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(noted(seen))
    with pytest.warns(UserWarning, match="Full backward hook is firing when gradients are computed with respect to"):
        layer(torch.ones(1, 2)).sum().backward()
    assert seen == [("Linear", [None], [[[1.0]]])]
