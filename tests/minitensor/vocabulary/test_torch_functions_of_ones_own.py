"""Compare `autograd.Function`, `autograd.functional` and `utils.checkpoint` of PyTorch's vocabulary with finite
differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor.torch as torch
from minitensor.torch.autograd.function import once_differentiable
from minitensor.torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from minitensor.torch.utils.checkpoint import checkpoint, checkpoint_sequential

STEP = 1e-6


def function(forward, backward, **more):
    names = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Mine", (torch.autograd.Function,), {**names, **more})


def leaf(*numbers, dtype=torch.float64):
    return torch.tensor(numbers, dtype=dtype, requires_grad=True)


def differences(f, *arrays):
    """Return the Jacobian of ``f`` by central differences: one matrix for each array."""
    found = []
    for k, array in enumerate(arrays):
        columns = []
        for i in range(array.size):
            moved = []
            for sign in (STEP, -STEP):
                other = array.copy()
                other.flat[i] += sign
                moved.append(f(*arrays[:k], other, *arrays[k + 1 :]))
            columns.append((moved[0] - moved[1]) / (2 * STEP))
        found.append(np.stack(columns, -1))
    return found


# ---- Function --------------------------------------------------------------------------------------------------------


def test_backward_returns_a_gradient_for_every_tensor_argument_and_none_for_others():
    def forward(ctx, x, power, y):
        ctx.save_for_backward(x, y)
        ctx.power = power
        return x**power * y

    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        x, y = ctx.saved_tensors
        return g * ctx.power * x ** (ctx.power - 1) * y, None, g * x**ctx.power

    x, y = leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64)
    made = function(forward, backward).apply(x, 3, y)
    assert made.grad_fn.name() == "MineBackward"
    first = torch.autograd.grad(made.sum(), x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x)[0]
    assert first.tolist() == [9.0, 48.0] and second.tolist() == [18.0, 48.0]
    assert seen[0] == (True, False, False)


def test_setup_context_may_save_the_values_for_backward():
    made = function(
        lambda x: x.exp(),
        lambda ctx, g: g * ctx.saved_tensors[0],
        setup_context=staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(output)),
    )
    x = leaf(0.5, 1.0)
    made.apply(x).sum().backward()
    assert np.allclose(x.grad.numpy(), np.exp([0.5, 1.0]))


@pytest.mark.parametrize("late", [False, True])
def test_mark_dirty_may_be_called_before_or_after_the_write(late):
    def forward(ctx, x):
        if not late:
            ctx.mark_dirty(x)
        x.mul_(5)
        if late:
            ctx.mark_dirty(x)
        return x

    x = leaf(1.0, 2.0)
    y = x * 1
    view = y[0]
    z = function(forward, lambda ctx, g: g * 5).apply(y)
    assert z is y and view.item() == 5.0
    (view * 10 + z[1]).backward()
    assert x.grad.tolist() == [50.0, 5.0]


@pytest.mark.parametrize("view", [False, True])
def test_a_function_that_writes_a_leaf_is_refused(view):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        function(forward, lambda ctx, g: g * 2).apply(x[:1] if view else x)
    assert x.tolist() == [1.0, 2.0]


def test_a_returned_gradient_is_summed_to_the_shape_of_its_input_or_refused():
    x = leaf(3.0)
    function(lambda ctx, x: x * 2, lambda ctx, g: torch.ones(4, 1, dtype=torch.float64)).apply(x).backward()
    assert x.grad.tolist() == [4.0]
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: torch.ones(3)).apply(leaf(1.0, 2.0))
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[3\] but expected"):
        wrong.sum().backward()


def test_backward_raises_if_saved_values_were_overwritten_or_freed():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    square = function(forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0])
    x = leaf(1.0, 2.0)
    y = x * 1
    z = square.apply(y).sum()
    y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    z = square.apply(x).sum()
    z.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.backward()


def test_once_differentiable_refuses_a_second_derivative():
    made = function(lambda ctx, x: x * 3, once_differentiable(lambda ctx, g: torch.from_numpy(g.detach().numpy() * 3)))
    x = leaf(1.0)
    made.apply(x).backward()
    assert x.grad.tolist() == [3.0]
    with pytest.raises(RuntimeError, match="@once_differentiable"):
        torch.autograd.grad(made.apply(x), x, create_graph=True)


# ---- functional ------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 3)), RNG.normal(size=3)
FUNCTIONS = [
    (lambda a, b: (a * b).sin(), lambda a, b: np.sin(a * b)),
    (lambda a, b: a @ b.exp(), lambda a, b: a @ np.exp(b)),
    (lambda a, b: a.sum(1) ** 3 * b[:2], lambda a, b: a.sum(1) ** 3 * b[:2]),
    (lambda a, b: b * 1, lambda a, b: b * 1),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_jacobians_and_their_products_agree_with_central_differences(number):
    f, on_arrays = FUNCTIONS[number]
    a, b = torch.tensor(A), torch.tensor(B)
    by_differences = differences(on_arrays, A, B)
    found = jacobian(f, (a, b))
    for each, wanted, array in zip(found, by_differences, (A, B), strict=True):
        assert np.allclose(each.numpy().reshape(wanted.shape), wanted, atol=1e-6)
        assert each.shape == (*f(a, b).shape, *array.shape)
    out = f(a, b)
    seed, moves = RNG.normal(size=tuple(out.shape)), (RNG.normal(size=A.shape), RNG.normal(size=B.shape))
    _, pulled = vjp(f, (a, b), torch.tensor(seed))
    _, pushed = jvp(f, (a, b), tuple(map(torch.tensor, moves)))
    rows = [each.reshape(out._array.size, -1) for each in by_differences]
    for each, row in zip(pulled, rows, strict=True):
        assert np.allclose(each.numpy().ravel(), seed.ravel() @ row, atol=1e-5)
    wanted = sum(row @ move.ravel() for row, move in zip(rows, moves, strict=True))
    assert np.allclose(pushed.numpy().ravel(), wanted, atol=1e-5)


def test_hessians_and_their_products_agree_with_central_differences():
    def f(a, b):
        return ((a @ b) ** 2).sin().sum()

    def gradient(b):
        x = torch.tensor(b, requires_grad=True)
        return torch.autograd.grad(f(torch.tensor(A), x), x)[0].numpy()

    wanted = differences(gradient, B)[0]
    v = RNG.normal(size=3)
    whole = hessian(f, (torch.tensor(A), torch.tensor(B)))
    assert np.allclose(whole[1][1].numpy(), wanted, atol=1e-5)
    assert np.allclose(whole[0][1].numpy().reshape(6, 3), whole[1][0].numpy().reshape(3, 6).T)
    for product in (hvp, vhp):
        _, found = product(lambda b: f(torch.tensor(A), b), torch.tensor(B), torch.tensor(v))
        assert np.allclose(found.numpy(), wanted @ v, atol=1e-5)


def test_a_jacobian_with_create_graph_can_be_differentiated():
    x = leaf(1.0, 2.0)
    assert not jacobian(lambda t: t**3, x).requires_grad
    made = jacobian(lambda t: t**3, x, create_graph=True)
    (grad,) = torch.autograd.grad(made.sum(), x)
    assert grad.tolist() == [6.0, 12.0]


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: jacobian(lambda t: 1.0, x), TypeError, "outputs of the user-provided function must be either"),
        (lambda x: hessian(lambda t: t, x), RuntimeError, "single Tensor with a single element"),
        (lambda x: vjp(lambda t: t, x, torch.ones(3)), RuntimeError, "v has invalid size"),
        (lambda x: vjp(lambda t: t, x), RuntimeError, "v can only be None"),
    ],
)
def test_autograd_functional_refuses_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2))


# ---- checkpoint ------------------------------------------------------------------------------------------------------


def network():
    torch.manual_seed(1)
    first, last = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
    return first, last, torch.nn.Dropout(0.5)


@pytest.mark.parametrize("wants", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_a_checkpoint_computes_the_same_gradients_as_the_function_without_it(wants, again):
    """Compare the loss, which depends on random numbers, and the gradients of the argument, of the weights and of `w`,
    from which `scale` is computed outside the function.
    """

    def gradients(wrapped):
        first, last, dropout = network()
        x = torch.ones(2, 3, requires_grad=wants)
        w = torch.full((2, 2), 0.5, requires_grad=True)
        scale = w.exp()

        def part(t):
            return dropout(last(first(t).sin())) * scale

        torch.manual_seed(3)
        out = checkpoint(part, x, use_reentrant=False) if wrapped else part(x)
        loss = (out * torch.rand(2, 2)).sum() + scale.sum()
        loss.backward(retain_graph=again)
        if again:
            loss.backward()
        leaves = [w, *first.parameters(), *last.parameters(), *([x] if wants else [])]
        return loss.item(), [each.grad.tolist() for each in leaves]

    plain, wrapped = gradients(False), gradients(True)
    assert wrapped[0] == plain[0]
    for one, other in zip(plain[1], wrapped[1], strict=True):
        assert np.allclose(one, other)


def test_a_second_derivative_of_a_checkpoint_is_right():
    x = leaf(1.0, 2.0)
    y = checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    sin, cos = np.sin([1.0, 2.0]), np.cos([1.0, 2.0])
    assert np.allclose(first.detach().numpy(), cos * np.exp(sin))
    assert np.allclose(second.numpy(), (cos**2 - sin) * np.exp(sin))


def test_a_checkpoint_keeps_fewer_bytes_until_backward():
    from minitensor import memory

    def held(wrapped):
        x = torch.ones(1000, requires_grad=True)

        def part(t):
            for _ in range(20):
                t = t.sin()
            return t

        with memory.measure() as meter:
            out = checkpoint(part, x, use_reentrant=False) if wrapped else part(x)
            kept = meter.allocated
        assert out.requires_grad
        return kept

    assert held(True) < held(False) / 10


@pytest.mark.parametrize("which", ["argument", "weight", "outside"])
def test_backward_raises_if_a_tensor_that_a_checkpoint_uses_was_overwritten(which):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    argument, outside = x * 1, w * 1
    y = checkpoint(lambda t: (t * w).sin() * outside, argument, use_reentrant=True).sum()
    with torch.no_grad():
        {"argument": argument, "weight": w, "outside": outside}[which].mul_(2)
    with pytest.raises(RuntimeError, match=r"written between forward and backward|modified by an inplace"):
        y.backward()
    assert x.grad is None and w.grad is None


def test_checkpoint_sequential_has_the_same_result_and_gradients():
    first, last, _ = network()
    net = torch.nn.Sequential(first, torch.nn.Tanh(), last)
    x = torch.ones(1, 3)
    out = checkpoint_sequential(net, 2, x, use_reentrant=False)
    assert torch.equal(out, net(x))
    out.sum().backward()
    kept = first.weight.grad.clone()
    first.weight.grad = None
    net(x).sum().backward()
    assert torch.equal(first.weight.grad, kept)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (2,)])
@pytest.mark.parametrize("before", [False, True])
def test_mark_dirty_may_be_called_before_or_after_the_write_of_an_empty_tensor(shape, before):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if before:
                ctx.mark_dirty(x)
            x.mul_(2)
            if not before:
                ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    w = torch.ones(shape, requires_grad=True)
    x = w * 1
    assert Twice.apply(x) is x
    x.sum().backward()
    assert torch.equal(w.grad, torch.full(shape, 2.0))


class _Lost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None


def test_a_leaf_gets_no_gradient_if_backward_returns_none_for_it():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1, weight_decay=0.1)
    _Lost.apply(x).sum().backward()
    optimizer.step()
    assert x.grad is None and x.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="at index 0 appears to not have been used in the graph"):
        torch.autograd.grad(_Lost.apply(x).sum(), x)
    assert torch.autograd.grad(_Lost.apply(x).sum(), x, allow_unused=True) == (None,)
    found = torch.autograd.grad(_Lost.apply(x).sum(), x, materialize_grads=True, create_graph=True)
    assert found[0].tolist() == [0, 0]
    (_Lost.apply(x) + x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_materialize_grads_is_refused_beside_allow_unused_false():
    x = torch.tensor([1.0], requires_grad=True)
    for given in (None, True):
        assert torch.autograd.grad(x * 2, x, allow_unused=given, materialize_grads=True)[0].tolist() == [2]
    y = x * 2
    with pytest.raises(ValueError, match="allow_unused to be True or not passed when materialize_grads=True"):
        torch.autograd.grad(y, x, allow_unused=False, materialize_grads=True)
    y.backward()
    assert x.grad.tolist() == [2]
