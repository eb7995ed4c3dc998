"""Test both vocabularies in one program: the class of a result, and the names of modules and tensors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import minitensor as paddle
from minitensor import torch


@pytest.fixture
def p():
    return paddle.to_tensor([1.0, 2.0])


@pytest.fixture
def t():
    return torch.tensor([3.0, 4.0])


OPERATORS = ["+", "-", "*", "/", "**", "@", "//", "%"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_left_operand_decides_the_class_of_the_result(operator, p, t):
    left, right = eval(f"p {operator} t"), eval(f"t {operator} p")
    assert type(left) is paddle.Tensor
    assert type(right) is torch.Tensor
    numbers = {"p": p.numpy(), "t": t.numpy()}
    np.testing.assert_allclose(left.numpy(), eval(f"p {operator} t", {}, numbers))
    np.testing.assert_allclose(right.numpy(), eval(f"t {operator} p", {}, numbers))


def test_a_function_returns_the_class_of_its_vocabulary_and_a_method_that_of_its_tensor(p, t):
    assert type(torch.add(p, t)) is type(torch.cat([p, t])) is type(torch.exp(p)) is torch.Tensor
    assert type(paddle.add(t, p)) is type(paddle.concat([t, p])) is type(paddle.exp(t)) is paddle.Tensor
    assert type(t.add(p)) is type(t[p > 0]) is torch.Tensor
    assert type(p.add(t)) is type(p[t > 0]) is paddle.Tensor


def test_a_write_does_not_change_the_class_of_the_target(p, t):
    before = p
    p.add_(t)
    t += p
    assert p is before
    assert type(p) is paddle.Tensor
    assert type(t) is torch.Tensor
    assert t.tolist() == [7.0, 10.0]


def test_augmented_addition_writes_in_place_in_pytorch_and_rebinds_in_paddle(p, t):
    old_p, old_t = p, t
    p += 1
    t += 1
    assert p is not old_p
    assert t is old_t
    assert (old_p.inplace_version, t._version) == (0, 1)


def test_leaves_of_both_vocabularies_get_gradients_of_one_loss(p):
    w = torch.tensor([10.0, 20.0], requires_grad=True)
    v = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (v * w).sum().backward()
    (w * v).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    assert v.grad.tolist() == [20.0, 40.0]
    assert type(w.grad) is torch.Tensor
    assert type(v.grad) is paddle.Tensor


def test_as_tensor_of_a_paddle_tensor_shares_its_storage_and_history(p):
    leaf = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    seen = torch.as_tensor(leaf * 2)
    assert type(seen) is torch.Tensor
    seen.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]
    same = torch.as_tensor(p)
    same.mul_(3)
    assert p.tolist() == [3.0, 6.0]
    assert p.inplace_version == 1


def test_every_way_to_make_a_tensor_from_a_pytorch_tensor_returns_pytorchs_class():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    made = [x + 1, 1 - x, x[0], x[[0]], x[None], x.view(4), x.T, x.detach(), x.data, x.double(), x.sum(), x.max(0)[0]]
    made += [*x.split(1), *x.unbind(), x.expand(3, 2, 2), torch.stack([x]), x == x, x.argmax(), x.std(), x.norm()]
    made += [y.add_(1), y.t_(), y.fill_(2), copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))]
    x.sum().backward()
    made += [x.grad, *torch.autograd.grad(x.sum(), x, create_graph=True), torch.tensor([1, 2]) / 2, 2 / torch.tensor(3)]
    assert {type(each) for each in made} == {torch.Tensor}
    hooked = []
    x.register_hook(hooked.append)
    (x * 2).sum().backward()
    assert type(hooked[0]) is torch.Tensor


def test_dtypes_of_both_vocabularies_are_equal_but_print_differently():
    assert torch.float32 == paddle.float32
    assert torch.ones(1).dtype is torch.float32
    assert (repr(torch.float32), repr(paddle.float32)) == ("torch.float32", "minitensor.float32")
    assert torch.zeros(2, dtype=paddle.float64).dtype is torch.float64


# ---------- names ----------


@pytest.mark.parametrize(
    ("owner", "name", "nearest"),
    [
        (torch, "randnn", "randn"),
        (torch, "squeez", "squeeze"),
        (torch, "add_", "add"),
        (torch.nn, "Lineer", "Linear"),
        (torch.nn.functional, "reluu", "relu"),
        (torch.optim, "Sgd", "SGD"),
        (torch.cuda, "memory_alocated", "memory_allocated"),
        (torch.autograd, "gradd", "grad"),
        (torch.ones(1), "requires_grd", "requires_grad"),
        (torch.ones(1), "unsqeeze", "unsqueeze"),
        (torch.ones(1), "scale_", "mul_"),
        (torch.ones(1), "set_value", "copy_"),
        (torch.nn.Linear(1, 1), "weigth", "weight"),
    ],
)
def test_the_error_for_a_missing_name_suggests_the_nearest_name(owner, name, nearest):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'.*'{nearest}'"):
        getattr(owner, name)
    assert not hasattr(owner, name)


@pytest.mark.parametrize(
    ("owner", "name", "kin"),
    [
        (torch.nn, "HingeEmbeddingLoss", "CrossEntropyLoss, KLDivLoss, L1Loss, MSELoss"),
        (torch.nn.functional, "poisson_nll_loss", "l1_loss, mse_loss"),
        (torch, "poisson_like", "empty_like, full_like"),
    ],
)
def test_the_error_for_a_missing_name_lists_related_names(owner, name, kin):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; of its kind minitensor has .*{kin}"):
        getattr(owner, name)


@pytest.mark.parametrize("name", ["stft", "fft", "vander", "polar", "histc", "cov", "bucketize"])
def test_the_error_for_a_name_whose_similar_names_do_something_else_has_no_hint(name):
    """These are names of PyTorch, and minitensor's names with a similar spelling do something else."""
    with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
        getattr(torch, name)


@pytest.mark.parametrize("name", ["jit", "compile"])
def test_the_error_for_a_name_that_is_left_out_gives_the_reason(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': nothing is compiled: every operation runs when"):
        getattr(torch, name)


def test_a_pytorch_tensor_lacks_names_that_only_paddle_has():
    x = torch.ones(2)
    for name in ("cast", "clear_gradient", "fill_diagonal_tensor_", "put_along_axis", "reshape_", "take_along_axis"):
        assert not hasattr(x, name)
        assert hasattr(paddle.ones([2]), name)


def test_every_public_name_can_be_looked_up():
    for owner in (torch, torch.nn, torch.nn.functional, torch.optim, torch.cuda, torch.autograd, torch.Tensor):
        names = [name for name in dir(owner) if not name.startswith("_")]
        found = [name for name in names if hasattr(owner, name)]
        assert len(found) > 3
        if owner is not torch.Tensor:
            assert found == names


def test_python_can_look_up_special_names_that_do_not_exist():
    assert copy.copy(torch.nn.Linear(1, 1)).in_features == 1
    assert not hasattr(torch, "__wrapped__")
    assert getattr(torch.ones(1), "_no_such_slot", None) is None


def test_apply_visits_submodules_first_and_in_order():
    inner = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU())
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), inner, torch.nn.Linear(2, 2))
    seen: list = []
    assert net.apply(seen.append) is net
    expected = [net[0], inner[0], inner[1], inner, net[2], net]
    assert len(seen) == len(expected) and all(a is b for a, b in zip(seen, expected, strict=True))
