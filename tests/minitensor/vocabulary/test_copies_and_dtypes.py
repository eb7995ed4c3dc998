"""Test the shared memory of deep copies, modules that change their dtype, `float` as a dtype, and promoted dtypes."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import pickle

import numpy as np
import pytest

import minitensor as paddle
import minitensor.torch as torch

VIEWS = {
    "the whole": lambda a: a,
    "a slice": lambda a: a[1:],
    "a column": lambda a: a[:, 1],
    "transposed": lambda a: a.T,
    "every second row": lambda a: a[::2],
    "reshaped": lambda a: a.reshape([-1]),
    "detached": lambda a: a.detach(),
    "a copy": lambda a: a.clone(),
}


def sharing(tensors):
    """Return a matrix that says for each pair of tensors whether they share memory."""
    arrays = [each._array for each in tensors]
    return [[np.shares_memory(a, b) for a in arrays] for b in arrays]


def test_deep_copies_of_pytorch_tensors_share_memory_as_the_originals_do():
    a = torch.arange(12.0).reshape(4, 3)
    tensors = [view(a) for view in VIEWS.values()]
    copies = copy.deepcopy({"inside": [tensors]})["inside"][0]
    assert sharing(copies) == sharing(tensors)
    assert not any(np.shares_memory(x._array, y._array) for x in tensors for y in copies)
    for one, other in zip(tensors, copies, strict=True):
        assert torch.equal(one, other) and one.stride() == other.stride()
        assert one.storage_offset() == other.storage_offset()


def test_the_last_positional_argument_of_the_method_to_is_copy():
    a = torch.ones(2)
    assert a.to(torch.float32, True) is a and a.to(torch.float32, False, False) is a
    copied = a.to(torch.float32, False, True)
    assert torch.equal(copied, a) and not np.shares_memory(copied._array, a._array)


def test_a_deep_copy_of_a_paddle_tensor_shares_no_memory():
    a = paddle.arange(12.0).reshape([4, 3])
    tensors = [view(a) for view in VIEWS.values()]
    copies = copy.deepcopy(tensors)
    assert sharing(copies) == np.eye(len(copies), dtype=bool).tolist()
    assert all(one.tolist() == other.tolist() for one, other in zip(tensors, copies, strict=True))


@pytest.mark.parametrize("library", [torch, paddle])
def test_a_deep_copy_of_a_module_has_no_gradients_and_trains_separately(library):
    layer = library.nn.Linear(2, 1)
    layer(library.ones([1, 2])).sum().backward()
    twin = copy.deepcopy(layer)
    assert twin.weight.grad is None and layer.weight.grad is not None
    assert type(twin.weight) is type(layer.weight) and twin.weight.is_leaf
    twin(library.ones([1, 2])).sum().backward()
    assert twin.weight.grad.tolist() == layer.weight.grad.tolist()


def test_a_deep_copy_of_views_allocates_each_storage_once():
    from minitensor import memory

    a = torch.zeros(100)
    with memory.measure() as meter:
        kept = copy.deepcopy([a, a[:10], a[50:]])
        assert meter.allocated == 400 and len(kept) == 3


# ---- another dtype ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [lambda m: m.double(), lambda m: m.to(torch.float64), lambda m: m.to(float)])
def test_a_module_converts_its_gradients_to_the_new_dtype(change):
    module = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU())
    module.register_buffer("steps", torch.zeros(1, dtype=torch.int64))
    module.register_buffer("mean", torch.zeros(1))
    weight = module[0].weight
    module(torch.ones(1, 2)).sum().backward()
    before = weight.grad.tolist(), weight.tolist()
    assert change(module) is module
    assert module[0].weight is weight and weight.dtype == torch.float64 and weight.grad.dtype == torch.float64
    assert (weight.grad.tolist(), weight.tolist()) == before
    assert module.mean.dtype == torch.float64 and module.steps.dtype == torch.int64
    out = module(torch.ones(1, 2, dtype=torch.float64))
    out.sum().backward()
    assert out.dtype == torch.float64 and weight.grad.dtype == torch.float64
    assert module.float()[0].weight.dtype == torch.float32


def test_a_module_refuses_integer_dtypes_and_mixed_dtypes():
    with pytest.raises(TypeError, match=r"only accepts floating point .* desired dtype=torch.int64"):
        torch.nn.Linear(1, 1).to(torch.int64)
    with pytest.raises(RuntimeError, match="same dtype, but got Float and Double"):
        torch.nn.Linear(1, 1).double()(torch.ones(1, 1))


def test_backward_refuses_a_parameter_whose_dtype_changed_after_the_forward():
    layer = torch.nn.Linear(2, 1)
    loss = layer(torch.ones(1, 2)).sum()
    layer.double()
    with pytest.raises(RuntimeError, match="has been set to a tensor of another shape or dtype"):
        loss.backward()
    assert layer.weight.grad is None and layer.bias.grad is None


def test_a_leaf_without_a_gradient_accepts_data_of_another_shape():
    w = torch.ones(2, requires_grad=True)
    w.data = torch.ones(3)
    (w * 2).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"its gradient has shape \[3\]"):
        w.data = torch.ones(4)


# ---- Python's float as dtype -----------------------------------------------------------------------------------------


def takes_dtype(library):
    """Yield the names of all functions of ``library`` that have a parameter ``dtype``."""
    for name in sorted(dir(library)):
        each = getattr(library, name)
        if inspect.isfunction(each) and "dtype" in inspect.signature(each).parameters:
            yield name


ARGUMENTS = [([2],), (2,), ([2, 2], 1), (0, 1, 2), (0, 2, [2]), (2, 2)]


def made(function, tensor, **named):
    """Return the result for the first arguments that the function accepts, or None if it accepts none of them."""
    for given in (*ARGUMENTS, (tensor,), (tensor, 1), (tensor, 0)):
        try:
            return function(*given, **named)
        except (TypeError, ValueError, RuntimeError, AttributeError, IndexError):
            continue
    return None


@pytest.mark.parametrize(
    ("library", "name"),
    [pytest.param(each, name, id=f"{each.__name__}.{name}") for each in (torch, paddle) for name in takes_dtype(each)],
)
def test_the_type_float_means_float64_as_a_dtype(library, name):
    out = made(getattr(library, name), library.ones([2]), dtype=float)
    if out is not None:
        assert out.dtype == library.float64
        assert made(getattr(library, name), library.ones([2]), dtype=library.float32).dtype == library.float32


def test_more_than_20_functions_accept_a_dtype_in_these_tests():
    tried = [n for n in takes_dtype(torch) if made(getattr(torch, n), torch.ones(2), dtype=float) is not None]
    assert len(tried) > 20


@pytest.mark.parametrize("name", ["complex64", "complex128", "cfloat"])
def test_the_error_for_an_unsupported_dtype_lists_the_supported_ones(name):
    with pytest.raises(AttributeError, match=r"bools, integers or floats"):
        getattr(torch, name)
    with pytest.raises(TypeError, match=r"(torch.)?int64, (torch.)?float16, (torch.)?bfloat16, (torch.)?float32"):
        torch.ones(2, dtype=name)


@pytest.mark.parametrize("shape", [(2,), (2, 3), (1, 2, 2)])
@pytest.mark.parametrize("dim", [0, -1])
def test_cat_includes_the_dtype_of_an_empty_vector_which_gets_an_empty_gradient(shape, dim):
    """As in PyTorch 2.13, the result of `torch.cat` is floating if one input is `torch.tensor([])`."""
    none = torch.tensor([], dtype=torch.float64, requires_grad=True)
    for numbers in (torch.ones(shape), torch.ones(shape, dtype=torch.int64)):
        for joined in (torch.cat([none, numbers], dim), torch.cat([numbers, none], dim), torch.cat([none] * 2, 0)):
            assert joined.dtype is torch.float64 and joined.requires_grad
            (gradient,) = torch.autograd.grad(joined.sum(), [none], create_graph=True)
            assert gradient.shape == none.shape
        assert torch.cat([none, numbers], dim).tolist() == numbers.tolist()
    assert torch.cat([torch.tensor([]), torch.arange(2)]).dtype is torch.float32


DTYPES = [torch.float64, torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool]
KINDS = {torch.float64: 2, torch.float32: 2, torch.float16: 2, torch.int64: 1, torch.uint8: 1, torch.bool: 0}


def promoted(operands):
    """Return the common dtype by PyTorch's rule: a tensor without dimensions counts only if its kind (float above
    integer above bool) is higher than that of the tensors with dimensions.
    """
    with_dimensions = [x.dtype for x in operands if x.ndim]
    without = [x.dtype for x in operands if not x.ndim]
    groups = [functools.reduce(torch.promote_types, group) for group in (with_dimensions, without) if group]
    first, *rest = groups
    return torch.promote_types(first, rest[0]) if rest and KINDS[rest[0]] > KINDS[first] else first


#: Functions, each with the number of operands that it promotes.
OF_OPERANDS = {
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z), 3),
    "addcmul with a factor": (lambda x, y, z: torch.addcmul(x, y, z, value=2), 3),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z), 3),
    "clamp": (lambda x, y, z: torch.clamp(x, y, z), 3),
    "clamp from below": (lambda x, y, z: x.clamp(min=y), 2),
    "add with a factor": (lambda x, y, z: torch.add(x, y, alpha=2), 2),
    "where": (lambda x, y, z: torch.where(x > 0, x, y), 2),
    "maximum": (lambda x, y, z: torch.maximum(x, y), 2),
}


@pytest.mark.parametrize("shapes", list(itertools.product([(), (2,)], repeat=3)))
@pytest.mark.parametrize("name", OF_OPERANDS)
def test_operands_with_and_without_dimensions_are_promoted_by_pytorchs_rule(shapes, name):
    function, count = OF_OPERANDS[name]
    tried = 0
    for dtypes in itertools.product(DTYPES, repeat=3):
        operands = [torch.ones(shape).to(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
        try:
            found = function(*operands)
        except (RuntimeError, TypeError, NotImplementedError):
            continue  # the function refuses these dtypes, for example bools
        assert found.dtype == promoted(operands[:count]), dtypes
        tried += 1
    assert tried > 30


@pytest.mark.parametrize("name", ["max", "min", "sort", "topk", "cummax", "cummin", "kthvalue", "median"])
def test_a_pair_of_values_and_indices_can_be_copied_and_pickled(name: str):
    given = (2,) if name in ("topk", "kthvalue") else ()
    x = torch.tensor([[1.0, 3.0, 2.0], [3.0, 1.0, 3.0]])
    pair = getattr(torch, name)(x, *given, dim=1)
    for again in (copy.copy(pair), copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert type(again) is type(pair)
        assert torch.equal(again.values, pair.values) and torch.equal(again.indices, pair.indices)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32])
def test_sums_and_products_have_the_dtype_that_the_program_names(dtype):
    x = torch.tensor([[100, 100], [50, 7]])
    for function, expected in (("sum", [150, 107]), ("prod", [5000, 700])):
        found = getattr(torch, function)(x, 0, dtype=dtype)
        wrapped = np.array(expected).astype(dtype.numpy)  # as in PyTorch, 150 as int8 is -106
        scanned = getattr(torch, f"cum{function}")(x, 0, dtype=dtype)
        assert found.dtype == scanned.dtype == dtype
        assert found.tolist() == scanned[-1].tolist() == wrapped.tolist()
    assert torch.nansum(x, 0, dtype=dtype).dtype == dtype
    assert torch.sum(x > 60, dtype=torch.bool).dtype == torch.bool


def test_a_scan_in_place_keeps_its_dtype():
    x = torch.tensor([1, 2, 3], dtype=torch.int8)
    assert x.cumsum_(0) is x and x.tolist() == [1, 3, 6] and x.dtype == torch.int8
