"""Compare first and second derivatives of functions of PyTorch's vocabulary with central differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minitensor import torch

F = torch.nn.functional

#: Functions of one tensor that have another derivative rule, or save other tensors, than under Paddle's names.
FUNCTIONS = {
    "div": lambda x: 3 / x + x / (x + 2),
    "clamp": lambda x: x.clamp(0.5, 1.6) * x,
    "copysign": lambda x: x.copysign(-x) * x,
    "maximum": lambda x: torch.maximum(x, x * x),
    "minimum": lambda x: torch.minimum(x, x * x),
    "erfinv": lambda x: (x / 4).erfinv(),
    "norm": lambda x: x.norm(),
    "norm of order 3": lambda x: x.norm(3),
    "var": lambda x: x.var(),
    "std": lambda x: x.std(0).sum(),
    "log_softmax": lambda x: F.log_softmax(x, -1) * x,
    "logsumexp": lambda x: x.logsumexp(0),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([1, 0])),
    "silu": lambda x: F.silu(x),
    "softplus": lambda x: F.softplus(x),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x * x),
    "linear": lambda x: F.linear(x, x[:, :3], x[:, 0]),
    "expand": lambda x: x.expand(4, 2, 3) * torch.arange(4.0, dtype=torch.float64).view(4, 1, 1) * x,
    "max along an axis": lambda x: x.max(1)[0] ** 2,
    "write to a split": lambda x: (x * 1).split(1)[0].mul_(x[1]),
    "gather": lambda x: x.gather(1, torch.tensor([[2, 2], [0, 1]])) ** 2,
    "scatter": lambda x: (x * 1).scatter_(1, torch.tensor([[2, 0], [0, 1]]), x[:, :2] ** 2) * x,
    "repeat": lambda x: x.repeat(2, 1) * torch.arange(4.0, dtype=torch.float64).view(4, 1),
    "round": lambda x: (x * 3).round() * x,
    "movedim": lambda x: x.movedim(0, 1) @ x,
}
POINT = np.array([[0.7, 1.9, 0.3], [1.1, 2.3, 0.9]])


def value(function, numbers):
    return function(torch.tensor(numbers)).sum().item()


def differences(of, numbers, step=1e-6):
    found = np.zeros_like(numbers)
    for i in np.ndindex(numbers.shape):
        up, down = numbers.copy(), numbers.copy()
        up[i] += step
        down[i] -= step
        found[i] = (of(up) - of(down)) / (2 * step)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_derivatives_equal_central_differences(name):
    x = torch.tensor(POINT, requires_grad=True)
    FUNCTIONS[name](x).sum().backward()
    expected = differences(lambda numbers: value(FUNCTIONS[name], numbers), POINT)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_equal_central_differences_of_the_first(name):
    weights = torch.tensor(np.cos(np.arange(6.0)).reshape(2, 3))

    def slope(numbers):
        x = torch.tensor(numbers, requires_grad=True)
        (g,) = torch.autograd.grad(FUNCTIONS[name](x).sum(), x, create_graph=True)
        return x, (g * weights).sum()

    x, total = slope(POINT)
    (second,) = (
        torch.autograd.grad(total, x, allow_unused=True, materialize_grads=True)
        if total.requires_grad
        else (torch.zeros(2, 3),)
    )
    expected = differences(lambda numbers: slope(numbers)[1].item(), POINT, 1e-5)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_training_a_module_writes_each_parameter_once_per_step():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, 1))
    x = torch.rand(64, 2)
    target = (x[:, :1] * x[:, 1:]).sin()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
    assert {p._version for p in net.parameters()} == {61}  # the version counts one fill, and one write per step


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
@pytest.mark.parametrize("in_place", [False, True])
def test_the_second_derivative_of_relu_and_leaky_relu_is_0(name, in_place):
    """As in PyTorch, `grad(g.sum(), x)` returns zeros and raises no error."""
    x = torch.tensor([0.5, -1.5, 2.5], requires_grad=True)
    y = getattr(torch.nn.functional, name)(x * 1.0, inplace=in_place)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.requires_grad
    assert torch.autograd.grad(g.sum(), x, create_graph=True)[0].tolist() == [0.0, 0.0, 0.0]
    weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = getattr(torch.nn.functional, name)(x) * weight
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (g * g).sum().backward()
    slope = [1.0, 0.01 if name == "leaky_relu" else 0.0, 1.0]
    assert weight.grad.tolist() == pytest.approx([2 * s * s * w for s, w in zip(slope, [1.0, 2.0, 3.0], strict=True)])


def test_unique_has_no_derivative():
    x = torch.tensor([3.0, 1.0, 1.0], requires_grad=True)
    for dim, name, missing in ((None, "Unique2Backward0", "_unique2"), (0, "UniqueDimBackward0", "unique_dim")):
        values = x.unique(dim=dim)
        assert values.tolist() == [1.0, 3.0] and type(values.grad_fn).__name__ == name
        with pytest.raises(NotImplementedError, match=f"the derivative for '{missing}' is not implemented"):
            values.sum().backward()
    with torch.no_grad():
        assert x.unique().grad_fn is None
    assert x.unique(return_counts=True)[1].grad_fn is None


@pytest.mark.parametrize("call", ["x.clamp()", "x.clamp_()", "torch.clip(x)", "x.clamp(None, None)", "torch.clamp_(x)"])
def test_clamp_without_a_bound_is_refused(call):
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be None"):
        eval(call, {"x": x, "torch": torch})
    assert x._version == 0


NAN, INF = float("nan"), float("inf")


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("name", "values", "gradient"),
    [
        ("median", [1.0, 1.0, 2.0], [0.5, 0.5, 0.0]),
        ("median", [2.0, 1.0, 3.0], [1.0, 0.0, 0.0]),
        ("median", [NAN, 1.0, NAN], [0.5, 0.0, 0.5]),
        ("median", [], []),
        ("max", [1.0, NAN, 2.0], [0.0, 1.0, 0.0]),
        ("min", [INF, NAN, NAN], [0.0, 0.5, 0.5]),
        ("max", [2.0, 1.0, 2.0], [0.5, 0.0, 0.5]),
    ],
)
def test_elements_that_equal_a_median_maximum_or_minimum_share_its_gradient(name, values, gradient):
    """The expected gradients are those of PyTorch 2.13."""
    for create_graph in (False, True):
        x = torch.tensor(values, requires_grad=True)
        result = getattr(x, name)()
        (found,) = torch.autograd.grad(result * 3, x, create_graph=create_graph)
        assert found.tolist() == [3 * each for each in gradient]


def test_the_second_derivative_of_a_median_is_right():
    x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(x.median() ** 2, x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x)
    assert (gradient.tolist(), second.tolist()) == ([1.0, 1.0, 0.0], [1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    "name", ["add_", "sub_", "mul_", "div_", "lt_", "le_", "gt_", "ge_", "eq_", "ne_", "copysign_", "copy_"]
)
@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float16", "float32"), ("float64", "float16")])
def test_target_and_source_of_a_write_get_gradients_of_their_own_dtypes(name, dtypes):
    """As in PyTorch, a gradient has the dtype of its tensor, even if the target has another dtype than the source."""
    target, source = (torch.tensor([1.0, 2.0], dtype=getattr(torch, each), requires_grad=True) for each in dtypes)
    loss = getattr(target * 1, name)(source).sum()
    for create_graph in (True, False):
        found = torch.autograd.grad(
            loss, [target, source], create_graph=create_graph, retain_graph=True, allow_unused=True
        )
        assert [None if g is None else g.dtype for g in found] in ([target.dtype, source.dtype], [None, source.dtype])
    loss.backward()
    assert source.grad.dtype is source.dtype


def test_a_result_whose_gradient_is_set_to_none_still_retains_the_next_gradient():
    y = torch.ones(2, requires_grad=True) * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.grad = None
    assert y.grad is None and y.retains_grad
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_the_gradient_of_a_certain_prediction_is_the_same_with_and_without_a_recorded_backward():
    x, y = torch.tensor([0.0, 1.0, 0.0], requires_grad=True), torch.tensor([0.0, 1.0, 1.0])
    loss = F.binary_cross_entropy(x, y, reduction="sum")
    (plain,) = torch.autograd.grad(loss, x, retain_graph=True)
    (recorded,) = torch.autograd.grad(loss, x, create_graph=True)
    assert recorded.tolist() == plain.tolist() == pytest.approx([0.0, 0.0, -1e12])


@pytest.mark.parametrize(
    "values", [(1.0, math.nan, None), (1.0, None, math.nan), (1.0, math.nan, 2.0), (math.nan, 0.0, 2.0)]
)
def test_clamp_gives_nan_without_a_gradient_if_an_element_or_its_bound_is_nan(values):
    x, low, high = (None if each is None else torch.tensor([each], requires_grad=True) for each in values)
    y = torch.clamp(x, low, high)
    y.sum().backward()
    # PyTorch 2.13 gives these gradients.
    assert y.isnan().item()
    assert all(each.grad.item() == 0 for each in (x, low, high) if each is not None)
