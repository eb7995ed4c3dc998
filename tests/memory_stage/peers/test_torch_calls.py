"""Compare random calls in minitensor and in PyTorch. Each kind of difference is listed here with its reason."""

from __future__ import annotations

import os
import re

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")

from minitensor import torch as ours  # noqa: E402
from tests.support.peers.random_calls import Calls, Difference, difference  # noqa: E402

COUNT = int(os.environ.get("RANDOM_CALLS", "4000"))
SEED = int(os.environ.get("RANDOM_SEED", "21"))

#: Intended differences: the kind, patterns for the function's name and for PyTorch's or our error, and the reason.
ON_PURPOSE = [
    ("we refuse", r".", r"ImportError", "needs a package that is not installed here"),
    ("we answer", r".", r"not implemented for|Boolean inputs not|does not support bool",
     "PyTorch has no kernel for the dtype"),
    ("we answer", r".", r"must be bool, not int", "we accept 0 and 1 as bools"),
    ("we answer", r".", r"received an invalid combination|must be (int|tuple of ints), not (Tensor|NoneType)|"
     r"must be Number, not Tensor", "we accept a tensor of one integer as a number, and None as the default"),
    ("we answer", r"^(reshape|tile|flip|broadcast_to)$", r"must be tuple of ints, not int|takes 2 positional",
     "we accept a single length"),
    ("we answer", r"^as_tensor$", r"positional argument", "dtype and device may be given by position"),
    ("we answer", r"^meshgrid$", r"same dtype", "the results need not have one dtype"),
    ("we answer", r"^copy_$", r"non_blocking", "it has no effect in minitensor"),
    ("we answer", r"^(squeeze|where|norm|chunk|index_put_?|max|min)$", r".", "the argument is unambiguous"),
    ("we answer", r"_$|^lerp|^clamp|^clip", r"can't be cast|expected", "a number gets the dtype of the target"),
    ("we refuse", r".", r"bools have no arithmetic|Subtraction", "bools are not numbers in the engine's kernels"),
    ("we refuse", r".", r"must be a number|must be Tensor, not", "a number is no tensor"),
    ("we refuse", r".", r"positional argument", "an older order of PyTorch's arguments"),
    ("we refuse", r".", r"eps must be between", "this eps of logit limits no value"),
    ("we refuse", r"shift", r"0 or more places", "a shift by a negative number has no meaning in C"),
    ("we refuse", r".", r"length 0|numel\(\) == 0|no largest|no smallest|without elements", "no element is an extreme"),
    ("we refuse", r".", r"must be int, not|must be tuple of ints|out of range|Calling nonzero on 0d|"
     r"can't be cast|0-dim",
     "an argument of another kind than documented"),
    ("values", r"^topk$", r"^\[(\(.*?\]\)), .* and \[\1, ", "equal elements have no order: only the indices differ"),
    ("values", r"^norm$", r"nan", "PyTorch ignores an order of nan for a single number"),
    ("we answer", r"^cdist$", r"floating-point", "we convert integers"),
    ("we answer", r".", r"must be int, not bool", "we accept False and True as 0 and 1"),
    ("we refuse", r"^masked_select$", r"cannot be spread over", "a mask is broadcast to a tensor, never the reverse"),
    ("we refuse", r"^median$", r"nan cannot be stored", "the median of no elements is nan, which no integer dtype has"),
    ("we refuse", r"^einsum$", r"must follow each operand", "an equation is a text"),
    ("we refuse", r"^take_along_dim$", r"out of bounds", "an index is not broadcast over another dimension"),
    ("we refuse", r"^take_along_dim$", r"Expected dtype int", "an index without elements also needs integers"),
    ("we answer", r"^take_along_dim$", r"out of bounds", "a negative index counts from the end"),
    ("values", r"^threshold_?$", r"float32.* and \('int", "an activation of integers returns float32, as in Paddle"),
    ("we answer", r"^threshold_?$", r"without overflow", "an activation of integers returns float32, as in Paddle"),
    ("we refuse", r"^threshold_$", r"can't be cast", "an activation of integers returns float32, as in Paddle"),
    ("we refuse", r"^matmul$", r"the same dtype", "matrices without elements also need one dtype"),
    ("we refuse", r"softmax$|^median$", r"not implemented for", "we refuse bools even without elements"),
    ("we answer", r"^pow_?$", r"negative integer powers", "there is no element to raise to that power"),
    ("values", r"^(chunk|stride|to|new_tensor)$", r".", "a dimension of length 0, or a list of tensors"),
]  # fmt: skip


def is_on_purpose(found: Difference) -> bool:
    return any(
        found.kind == kind and re.search(name, found.call.name) and re.search(error, found.text)
        for kind, name, error, _ in ON_PURPOSE
    )


def test_every_difference_between_random_calls_is_of_a_listed_kind():
    calls, unnamed, answered = Calls(ours, torch, SEED), [], 0
    for _ in range(COUNT):
        call = calls.next()
        found = difference(call, ours, torch)
        if found is not None and not is_on_purpose(found):
            unnamed.append(f"{found.kind}: {call}: {found.text[:200]}")
        answered += found is None
    assert unnamed == [], f"seed {SEED}"
    assert answered > COUNT * 0.95


REFUSED = """
maximum(x, 1)|logical_and(x, 1)|argmax(x > 0)|softmax(x.int(), 0)|tile(x)|addcmul(x, x, 2)|mv(x, x)|sub(x, True)
isin(x, True)|full(2, 1.0)|addcdiv(x, x.int(), x.int())|clip(x, x[0], 5)
neg(x > 0)|mm(x, x.double())|addmm(x, x, x.double())|select(x, 0, 2)|diagonal(x, True)
cdist(x, x.double())|Tensor.half(x, None)|diag(x, True)|diag_embed(x, 1, 0, 0)|argwhere([1])
"""


@pytest.mark.parametrize("call", REFUSED.strip().replace("\n", "|").split("|"))
def test_minitensor_and_pytorch_both_raise_an_error(call: str):
    for library in (ours, torch):
        with pytest.raises((TypeError, RuntimeError, IndexError, NotImplementedError)):
            eval(f"library.{call}", {"library": library, "x": library.ones(2, 2)})
