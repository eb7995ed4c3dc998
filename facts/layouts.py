"""Record in layouts.json the shapes and strides of the results of operations, in PyTorch and in Paddle.

    python facts/layouts.py torch       in an environment that has torch
    python facts/layouts.py paddle      in one that has Paddle 3.3, and again in one that has Paddle 2.6

A program runs once for each of its scenes. A scene lists the names of the layouts of the operands `x`, `y` and `z`.
The operand `xi` has the layout of `x`, but contains integers. An answer describes each result: `&` if it
shares the memory of an operand, then its shape. A colon and the strides follow if they are not those of a contiguous
tensor of that shape. Strides are counted in elements. The answer is True or False if the result is a bool, and null if
the program raised an error.

Where Paddle 2.6 and Paddle 3.3 differ, minitensor follows Paddle 3.3. `python facts/layouts.py` prints the programs for
which they differ.
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("layouts.json")

# ---------- scenes ----------

#: Maps the name of a layout to the shape, the strides and the offset of an operand.
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int]] = {
    "a number": ((), (), 0),
    "a vector": ((2,), (1,), 0),
    "every second element": ((3,), (2,), 1),
    "contiguous": ((3, 2), (2, 1), 0),
    "transposed": ((3, 2), (1, 3), 0),
    "every second row": ((3, 2), (4, 1), 2),
    "every second column": ((3, 2), (4, 2), 1),
    "without the first column": ((3, 2), (3, 1), 1),
    "part of a transposed": ((3, 2), (2, 12), 6),
    "expanded rows": ((3, 2), (0, 1), 0),
    "expanded columns": ((3, 2), (1, 0), 0),
    "a column": ((3, 1), (1, 1), 0),
    "a transposed row": ((3, 1), (1, 3), 0),
    "a row": ((1, 2), (2, 1), 0),
    "a transposed column": ((1, 2), (1, 1), 0),
    "2 by 3": ((2, 3), (3, 1), 0),
    "2 by 3, transposed": ((2, 3), (1, 2), 0),
    "cube": ((4, 2, 3), (6, 3, 1), 0),
    "last dimension first": ((4, 2, 3), (1, 12, 4), 0),
    "first dimension last": ((4, 2, 3), (2, 1, 8), 0),
    "reversed dimensions": ((4, 2, 3), (1, 4, 8), 0),
    "matrices transposed": ((4, 2, 3), (6, 1, 2), 0),
    "every second matrix": ((4, 2, 3), (12, 3, 1), 0),
    "every second of permuted": ((4, 2, 3), (2, 24, 8), 0),
    "permuted, one row each": ((4, 1, 3), (1, 12, 4), 0),
    "4 by 3 by 2": ((4, 3, 2), (6, 2, 1), 0),
    "4 by 3 by 2, transposed": ((4, 3, 2), (6, 1, 3), 0),
    "images": ((2, 3, 4, 4), (48, 16, 4, 1), 0),
    "channels last": ((2, 3, 4, 4), (48, 1, 12, 3), 0),
    "channels first": ((2, 3, 4, 4), (16, 32, 4, 1), 0),
    "images transposed": ((2, 3, 4, 4), (48, 16, 1, 4), 0),
}

Scenes = list[list[str]]


def _each(*names: str) -> Scenes:
    return [[name] for name in names]


ALL = _each(*(name for name, (shape, *_) in LAYOUTS.items() if len(shape) < 4 and "by" not in name))
FEW = _each("contiguous", "transposed", "every second column", "expanded rows")
SEVERAL = [*FEW, *_each("every second row", "a transposed row", "cube", "last dimension first", "matrices transposed")]
#: Operands with a dimension of length 1.
SINGLE = _each("a column", "a transposed row", "a row", "a transposed column")
MATRICES = [*FEW, *_each("part of a transposed", "a transposed row")]
IMAGES = _each("images", "channels last", "channels first", "images transposed")

#: Operands that are broadcast against each other.
PAIRS = [
    ["contiguous", "contiguous"],
    ["contiguous", "transposed"],
    ["transposed", "contiguous"],
    ["transposed", "transposed"],
    ["transposed", "every second column"],
    ["every second column", "transposed"],
    ["every second row", "without the first column"],
    ["part of a transposed", "expanded rows"],
    ["transposed", "expanded rows"],
    ["expanded rows", "transposed"],
    ["expanded rows", "expanded columns"],
    ["expanded columns", "contiguous"],
    ["cube", "last dimension first"],
    ["last dimension first", "cube"],
    ["last dimension first", "last dimension first"],
    ["last dimension first", "first dimension last"],
    ["first dimension last", "reversed dimensions"],
    ["matrices transposed", "every second of permuted"],
]
BROADCAST = [
    *PAIRS,
    ["transposed", "a number"],
    ["a number", "transposed"],
    ["transposed", "a vector"],
    ["a vector", "transposed"],
    ["transposed", "a column"],
    ["a transposed row", "transposed"],
    ["a column", "a row"],
    ["a transposed row", "a transposed column"],
    ["a transposed row", "a column"],
    ["last dimension first", "2 by 3, transposed"],
    ["2 by 3, transposed", "cube"],
    ["permuted, one row each", "last dimension first"],
    ["permuted, one row each", "a number"],
]
FEW_PAIRS = PAIRS[:6]
TRIPLES = [
    ["contiguous", "contiguous", "contiguous"],
    ["contiguous", "transposed", "transposed"],
    ["transposed", "contiguous", "contiguous"],
    ["transposed", "transposed", "transposed"],
    ["contiguous", "transposed", "contiguous"],
    ["contiguous", "contiguous", "transposed"],
    ["transposed", "a number", "a number"],
    ["a number", "transposed", "contiguous"],
    ["a vector", "transposed", "a number"],
    ["last dimension first", "cube", "reversed dimensions"],
    ["cube", "last dimension first", "reversed dimensions"],
    ["last dimension first", "last dimension first", "last dimension first"],
]
PRODUCTS = [
    [x, y] for x in ("contiguous", "transposed", "every second column") for y in ("2 by 3", "2 by 3, transposed")
]
BATCHES = [
    [x, y]
    for x in ("cube", "last dimension first", "matrices transposed")
    for y in ("4 by 3 by 2", "4 by 3 by 2, transposed")
]

# ---------- programs ----------

UNARY = [
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma"),
    *("erf", "erfinv", "exp", "expm1", "floor", "frac", "i0", "lgamma", "log", "log10", "log1p"),
    *("log2", "logit", "nan_to_num", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin"),
    *("sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "isfinite", "isinf", "isnan", "logical_not"),
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "pow",
    "maximum",
    "minimum",
    "copysign",
    "hypot",
    "floor_divide",
    "remainder",
    "logical_and",
    "logical_or",
    "logical_xor",
    "less",
    "greater_equal",
    "equal",
    "not_equal",
]
WHOLE = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"]
ACTIVATIONS = ["elu", "gelu", "hardtanh", "leaky_relu", "relu", "relu6", "sigmoid", "silu", "tanh"]
LOSSES = ["l1_loss", "mse_loss", "smooth_l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"]

#: Operations whose result elements depend on several elements of an operand, or are in another order.
OTHERS = [
    *("F.softmax(x, -1)", "L.cumsum(x, 0)", "L.sum(x, 0)", "L.flip(x, [0])", "L.sort(x, 0)[0]", "x[at([1, 0])]"),
    *("L.zeros_like(x)", "F.layer_norm(x, x.shape[1:])", "L.matmul(x, L.ones(x.shape[-1:]))", "L.concat([x, x])"),
]

#: A list of scenes, and the programs that run in each of them.
Asked = tuple[Scenes, tuple[str, ...]]


def _ask(scenes: Scenes, *texts: str) -> Asked:
    return scenes, texts


def _programs(*asked: Asked) -> dict[str, Scenes]:
    """Return each program with all of its scenes."""
    programs: dict[str, Scenes] = {}
    for scenes, texts in asked:
        for text in texts:
            known = programs.setdefault(text, [])
            known += [scene for scene in scenes if scene not in known]
    return programs


#: Programs with the same text for both libraries: `L` is the library, `F` its module of functions, `at` makes an index.
BOTH: list[Asked] = [
    _ask(FEW, *(f"L.{name}(x)" for name in UNARY), "L.bitwise_not(xi)", "xi + 1.5", "xi / 2", "L.tanh(xi)"),
    _ask(ALL, "x", "L.tanh(x)", "L.isnan(x)", "L.clone(x)", "x.contiguous()", "x + 1", "1 - x", "x == 1", "x ** 2"),
    _ask(SEVERAL, "-x", "x * 2.5", "2 / x", "2 ** x", "x // 2", "x % 2", "x > 0.5", "x.detach()", "copy.deepcopy(x)"),
    _ask(SEVERAL, "L.clip(x, 0.2, 0.8)", "L.clip(x, max=0.8)"),
    _ask(SEVERAL, *(f"F.{name}(x)" for name in ACTIVATIONS)),
    _ask(FEW_PAIRS, *(f"L.{name}(x, y)" for name in BINARY), *(f"L.{name}(xi, yi)" for name in WHOLE)),
    _ask(FEW_PAIRS, *(f"x {sign} y" for sign in ["+", "-", "*", "/", "**", "//", "%", "==", "<"]), "xi + y", "x + yi"),
    _ask(BROADCAST, "L.add(x, y)", "L.less(x, y)", "L.maximum(x, y)", "L.pow(x, y)", "L.lerp(x, y, 0.5)"),
    _ask(TRIPLES, "L.where(x > 0.5, y, z)", "L.lerp(x, y, z)"),
    _ask(FEW_PAIRS, "L.where(x > 0.5, y, 0.0)", "L.where(x > 0.5, 0.0, y)"),
    _ask(SEVERAL, "L.zeros_like(x)", "L.ones_like(x)", "L.full_like(x, 2.0)", "L.empty_like(x)", "L.rand_like(x)"),
    _ask(SEVERAL, "L.randn_like(x)", "L.bernoulli(x)"),
    # along dimensions
    _ask(SEVERAL, "L.sum(x)", "L.max(x)", "L.mean(x)", "L.argmax(x)", "L.prod(x)"),
    _ask(SEVERAL, *(f"L.{n}(x, {d})" for n in ("sum", "mean", "std", "var", "argmax", "argmin") for d in (0, -1))),
    _ask(SEVERAL, "L.prod(x, 0)", "L.all(x > 0.5, 0)", "L.any(x > 0.5, -1)", "L.norm(x, 2, 0)"),
    _ask(SEVERAL, *(f"L.{name}(x, {d})" for name in ("cumsum", "cumprod", "argsort") for d in (0, -1))),
    _ask(SEVERAL, *(f"F.{name}(x, {d})" for name in ("softmax", "log_softmax") for d in (0, -1))),
    _ask(SEVERAL, "L.sort(x, 0)", "L.sort(x, -1)", "L.topk(x, 1)", "L.topk(x, 2, 0)"),
    _ask(SEVERAL, "L.flip(x, [0])", "L.flip(x, [0, 1])", "L.roll(x, 1)", "L.roll(x, 1, 0)", "L.tril(x)", "L.triu(x)"),
    # indices
    _ask(SEVERAL, "x[1:]", "x[..., 0]", "x[..., None]", "x[at([1, 0])]", "x[:, at([0, 0])]", "x[at([[1, 0]])]"),
    _ask(MATRICES, "x[at([1, 0]), 0]", "x[x > 0.5]", "L.masked_select(x, x > 0.5)"),
    _ask(SEVERAL, "L.masked_fill(x, x > 0.5, 0.0)"),
    _ask(FEW_PAIRS, "L.masked_fill(x, y > 0.5, 0.0)", "L.masked_scatter(x, y > 0.5, y)"),
    _ask(FEW, "L.index_put(x, (at([0, 1]), at([1, 0])), x[:2, 0])"),
    # products
    _ask(PRODUCTS, "L.matmul(x, y)", "x @ y", "L.mm(x, y)", "L.addmm(L.ones([3, 3]), x, y)"),
    _ask(BATCHES, "L.bmm(x, y)", "L.matmul(x, y)"),
    _ask([["cube", "2 by 3, transposed"], ["last dimension first", "2 by 3"]], "L.matmul(x, y.T)"),
    _ask(SEVERAL, "L.matmul(x, L.ones(x.shape[-1:]))", "L.renorm(x, 2.0, 0, 0.1)"),
    # shapes
    _ask(SEVERAL, "x.reshape([-1])", "L.flatten(x)", "x.unsqueeze(0)", "x.squeeze()", "L.split(x, 1)"),
    _ask(MATRICES, "L.reshape(x, [2, 3])", "x.T", "L.t(x)", "L.chunk(x, 2, 1)", "L.unbind(x)", "L.diagonal(x)"),
    _ask(MATRICES, "L.stack([x, x])", "L.stack([x, x], 1)", "L.stack([x, x], 2)", "L.broadcast_to(x, [2, 3, 2])"),
    _ask(PAIRS, "L.concat([x, y])", "L.concat([x, y], 1)", "L.stack([x, y])"),
    _ask([*FEW, *IMAGES], "L.concat([x, x], 1)"),
    # layers and losses
    _ask(SEVERAL, "F.dropout(x, 0.5)", "F.dropout(x, 0.5, training=False)", "F.layer_norm(x, x.shape[1:])"),
    _ask(SEVERAL, "F.linear(x, L.ones([x.shape[-1], x.shape[-1]]))"),
    _ask(FEW_PAIRS, *(f"F.{name}(x, y, reduction='none')" for name in LOSSES)),
    _ask(FEW, "F.cross_entropy(x, at([0, 1, 0]), reduction='none')", "F.nll_loss(x, at([0, 1, 0]), reduction='none')"),
    _ask(FEW_PAIRS, "F.embedding(xi % 2, y)"),
    _ask(IMAGES, "L.tanh(x)", "x + 1", "F.conv2d(x, L.ones([2, 3, 3, 3]))", "F.conv2d(x, L.ones([2, 3, 1, 1]))"),
    _ask(IMAGES, "F.max_pool2d(x, 2)", "F.avg_pool2d(x, 2)", "F.adaptive_avg_pool2d(x, 2)", "F.group_norm(x, 3)"),
    _ask(IMAGES, "F.batch_norm(x, L.zeros([3]), L.ones([3]))", "F.instance_norm(x)", "F.softmax(x, 1)"),
    _ask(IMAGES, "F.batch_norm(x, L.zeros([3]), L.ones([3]), training=True)"),
    _ask([["images"] * 3, ["channels first"] * 3], "F.scaled_dot_product_attention(x, y, z)"),
    # Does a write to the result change a tensor of another shape that was made from it?
    _ask(ALL, *(f"follows({text}, lambda y: y.reshape([-1]))" for text in ("x", "L.tanh(x)", "x * 2", "L.clone(x)"))),
    _ask(ALL, "follows(L.exp(x), L.flatten)", "follows(x.contiguous(), lambda y: y.reshape([-1]))"),
    _ask(MATRICES, *(f"follows({text}, lambda y: y.T.reshape([-1]))" for text in ("x", "L.exp(x)", "F.relu(x)"))),
    _ask(
        MATRICES, "follows(L.exp(x), lambda y: y.reshape([2, 3]))", "follows(x - 1, lambda y: y.unsqueeze(0).flatten())"
    ),
    _ask(SEVERAL, *(f"follows({text}, lambda y: y.reshape([-1]))" for text in OTHERS)),
    _ask(PAIRS, *(f"follows({text}, lambda z: z.reshape([-1]))" for text in ("x + y", "L.where(x > 0.5, x, y)"))),
    # gradients of a leaf with this layout
    _ask(ALL, "gradient(lambda x: x * 2, x)", "gradient(lambda x: x.reshape([-1]) * 2, x)"),
    _ask(SEVERAL, "gradient(L.sum, x)", "gradient(L.tanh, x)", "gradient(lambda x: L.sum(x, 0), x)"),
    _ask(SEVERAL, "gradient(lambda x: x[1:] * 2, x)", "gradient(lambda x: x.T * 2, x)"),
    _ask(BROADCAST, "gradient(lambda x: x * y, x)", "gradient(lambda x: x + y, x)"),
    _ask(PRODUCTS, "gradient(lambda x: x @ y, x)", "gradient(lambda y: x @ y, y)"),
]
BOTH += [
    _ask(FEW, *(f"L.{name}(x, 0)" for name in ("cummax", "cummin", "amax", "amin", "logsumexp", "nansum", "nanmean"))),
    _ask(FEW, "L.median(x, 0)", "L.kthvalue(x, 1)", "L.count_nonzero(x, 0)", "L.diff(x)", "L.signbit(x)"),
    _ask(FEW, "L.tile(x, [2, 1])", "L.repeat_interleave(x, 2, 1)", "x.unfold(0, 2, 1)", "L.einsum('ij->ji', x)"),
    _ask(FEW, "L.inner(x, x)", "L.cdist(x, x)", "L.outer(x[:, 0], x[0])", "L.meshgrid(x[:, 0], x[0])"),
    _ask(FEW, *(f"F.{name}(x)" for name in ("hardsigmoid", "hardswish", "mish", "selu", "softsign", "normalize"))),
    _ask(FEW_PAIRS, *(f"L.{name}(x, y)" for name in ("atan2", "fmax", "fmin", "heaviside", "isclose"))),
    _ask(FEW_PAIRS, "L.einsum('ij,ij->ij', x, y)", "F.cosine_similarity(x, y)"),
    _ask(IMAGES, "F.unfold(x, 2)", "F.normalize(x)", "F.mish(x)"),
    _ask(
        SINGLE, *(f"L.{name}(x, 0)" for name in ("cummax", "cummin", "amax", "amin", "logsumexp", "nansum", "nanmean"))
    ),
    _ask(SINGLE, "L.kthvalue(x, 1)", "L.count_nonzero(x, 0)", "L.signbit(x)", "L.tile(x, [2, 1])", "L.inner(x, x)"),
    _ask(SINGLE, "L.repeat_interleave(x, 2, 1)", "x.unfold(0, 1, 1)", "x.unfold(1, 1, 1)", "L.einsum('ij->ji', x)"),
    _ask(SINGLE, "L.cdist(x, x)", "L.outer(x[:, 0], x[0])", "L.meshgrid(x[:, 0], x[0])", "L.einsum('ij,kj->ik', x, x)"),
    _ask(SINGLE, "F.normalize(x)", "F.mish(x)", "L.clip(x, 0.2, 0.8)", "L.sort(x, 0)", "L.cumsum(x, 0)", "L.tril(x)"),
    _ask(
        SINGLE, "L.sum(x, 0)", "L.mean(x, -1)", "L.concat([x, x])", "L.stack([x, x])", "L.roll(x, 1, 0)", "L.unbind(x)"
    ),
    _ask(SINGLE, "x.reshape([-1])", "L.squeeze(x)", "x.unsqueeze(1)", "L.matmul(x, x.T)", "F.softmax(x, 0)"),
    _ask(SINGLE, "x[at([0])]", "L.flip(x, [0])", "L.zeros_like(x)", "follows(x * 2, lambda y: y.reshape([-1]))"),
    _ask(
        FEW, "L.amax(x, -1)", "L.amin(x, -1)", "L.min(x)", "L.cummax(x, -1)", "L.cummin(x, -1)", "L.clamp(x, 0.2, 0.8)"
    ),
    _ask(FEW, "L.nansum(x, -1)", "L.nanmean(x, -1)", "L.tile(x, [1, 2])", "L.tile(x, [2, 1, 1])", "L.allclose(x, x)"),
    _ask(FEW, "L.einsum('ij->i', x)", "L.einsum('ij,kj->ik', x, x)", "L.einsum('ij->', x)", "x.unfold(1, 2, 1)"),
    _ask(FEW, "L.meshgrid(x[:, 0])", "L.bitwise_not(xi)", "L.meshgrid(x[:, 0], x[0], x[0])", "F.hardswish(x)"),
    _ask(PRODUCTS, "L.einsum('ij,jk->ik', x, y)", "L.einsum('ij,jk->ki', x, y)", "L.inner(x, y.T)"),
    _ask(BATCHES, "L.einsum('bij,bjk->bik', x, y)", "L.cdist(x, L.ones([4, 2, 3]))"),
    _ask(IMAGES, "F.fold(F.unfold(x, 2), [4, 4], 2)", "L.einsum('nchw->nhwc', x)", "L.tile(x, [1, 2, 1, 1])"),
    _ask(IMAGES, "L.amax(x, [2, 3])", "L.logsumexp(x, 1)", "F.cosine_similarity(x, x)"),
    _ask([*MATRICES, *SINGLE], "L.diag(x)", "L.diag(x, -1)", "L.diag(x[0])", "L.diag(x[:, 0], 1)", "L.trace(x)"),
    _ask([*MATRICES, *SINGLE], "L.nonzero(x)", "L.bincount(xi[0])", "x.expand_as(x)", "x.expand_as(L.stack([x, x]))"),
    _ask([*MATRICES, *SINGLE], "L.unflatten(x, 0, [1, -1])", "gradient(L.diag, x)", "gradient(L.trace, x)"),
    _ask(SEVERAL, "L.diag_embed(x)", "L.diag_embed(x, 1, 0, 1)", "gradient(L.diag_embed, x)"),
    _ask([*MATRICES, *SINGLE], "L.einsum('ij->ij', x)", "L.einsum('...->...', x)", "L.einsum('ij->ji', x)"),
    _ask([["a number"], ["a vector"], ["every second element"]], "L.einsum('...->...', x)"),
    _ask(IMAGES, "F.dropout2d(x, 0.5)", "F.dropout2d(x, 0.5, training=False)", "L.unflatten(x, 1, [3, -1])"),
]
TORCH: list[Asked] = [
    _ask(FEW, "L.exp2(x)", "F.logsigmoid(x)", "L.swapaxes(x, 0, 1)", "L.moveaxis(x, 0, 1)", "L.narrow(x, 0, 0, 2)"),
    _ask(FEW, "L.permute(x, (1, 0))", "L.transpose(x, 0, 1)", "L.unflatten(x, 0, (1, 3))", "L.hstack([x, x])"),
    _ask(FEW, "L.vstack([x, x])", "L.min(x, 0)", "L.isin(x, x[0])", "x.bfloat16()", "x.half()", "x.half() * 2"),
    _ask(FEW_PAIRS, "L.fmod(x, y)", "L.xlogy(x, y)", "L.ldexp(x, yi)", "x.bfloat16() + y.bfloat16()"),
    _ask(SEVERAL, "L.polygamma(1, x)", "L.threshold(x, 0.5, 0.0)", "L.amax(x, 0)", "L.max(x, 0)", "L.logsumexp(x, 0)"),
    _ask(SEVERAL, "x.double()", "x.to(L.float64)", "x.float()", "x.to(L.float64).clone()", "x.type_as(x)", "x.bool()"),
    _ask(SEVERAL, "L.empty_like(x, dtype=L.float64)", "x.new_zeros(x.shape)", "L.sum(x, 0, keepdim=True)"),
    _ask(SEVERAL, "L.std(x, -1, keepdim=True)", "x.repeat(2, 1) if x.dim() == 2 else x", "L.tile(x, [2])"),
    _ask(SEVERAL, "x.expand(x.shape)", "x.view(x.shape)", "L.ravel(x)", "L.movedim(x, 0, -1)", "L.select(x, 0, 0)"),
    _ask(SEVERAL, "F.threshold(x, 0.5, 0.0)", "F.softplus(x)", "F.softmin(x, 0)", "L.sort(x, stable=True, dim=0)"),
    _ask(SEVERAL, "L.index_select(x, 0, at([1, 0]))", "L.index_select(x, 1, at([0, 0]))", "L.nonzero(x)"),
    _ask(SEVERAL, "L.gather(x, 0, L.zeros_like(x, dtype=L.int64))", "L.isclose(x, x)", "L.clamp_min(x, 0.5)"),
    _ask(SEVERAL, "L.scatter(x, 0, L.zeros_like(x, dtype=L.int64), x)", "L.scatter(x, 0, at([[0]]), 1.0)"),
    _ask(MATRICES, "L.gather(x, 1, at([[0], [1], [0]]))", "L.gather(x, 1, at([[0, 1, 0], [1, 0, 1]]).T)"),
    _ask(MATRICES, "L.scatter_add(x, 0, at([[0, 1]]), x)", "L.take_along_dim(x, at([[0, 1]]), 0)"),
    _ask(MATRICES, "L.index_add(x, 0, at([1, 0]), x[:2])", "L.index_fill(x, 0, at([1]), 1.0)", "F.one_hot(xi)"),
    _ask(MATRICES, "L.trace(x)", "L.outer(x[:, 0], x[0])", "L.mv(x, L.ones(2))", "L.dot(x[0], x[1])", "L.unique(x)"),
    _ask(BATCHES, "L.baddbmm(L.ones(4, 2, 2), x, y)"),
    _ask(PRODUCTS, "F.linear(x, y.T)", "F.linear(x, y.T, L.ones(3))", "L.addmm(L.ones(3, 3).T, x, y)"),
    _ask(TRIPLES, "L.addcmul(x, y, z)", "L.addcdiv(x, y, z)", "L.clamp(x, y, z)"),
    _ask(FEW_PAIRS, "F.cross_entropy(x, y, reduction='none')"),
    _ask(FEW_PAIRS, "L.cat([x, y], 1)", "L.sub(x, y, alpha=2)", "L.div(x, y, rounding_mode='floor')", "x.type_as(y)"),
    _ask(FEW, "L.from_numpy(x.numpy())", "L.tensor(x.numpy())", "L.as_tensor(x.numpy())", "x.new_tensor(x)"),
    _ask(MATRICES, "L.normal(x, 1.0)", "L.normal(0.0, x)", "L.multinomial(x, 1)"),
    _ask(IMAGES, "x.clone()", "L.zeros_like(x)", "L.cat([x, x])", "L.cat([x, x.contiguous()])"),
    _ask(ALL, "L.zeros_like(x)", "x.flatten()", "L.sub(x, 1)"),
    _ask(
        [*FEW, *SINGLE], "L.exp2(x)", "L.isin(x, x[0])", "L.fmod(x, 0.3)", "L.moveaxis(x, 0, 1)", "L.narrow(x, 0, 0, 1)"
    ),
    _ask(
        [*FEW, *SINGLE],
        "L.meshgrid(x[:, 0], x[0], indexing='xy')",
        "L.take_along_dim(x, at([[0]]), 0)",
        "L.bincount(xi[0])",
    ),
    _ask(
        [*FEW, *SINGLE], "L.hstack([x, x])", "L.vstack([x, x])", "x.repeat(2, 1)", "L.permute(x, (1, 0))", "L.min(x, 0)"
    ),
    _ask(FEW_PAIRS, "L.mul(x, y)", "L.true_divide(x, y)", "L.gt(x, y)"),
    _ask([*MATRICES, *SINGLE], "L.argwhere(x)", "L.bincount(xi[0], x[0])"),
    _ask(
        [*IMAGES, ["transposed"]],
        *(
            f"x.{name}(memory_format=L.channels_last)"
            for name in ("contiguous", "to", "clone", "is_contiguous", "double")
        ),
        *(f"x.{name}(memory_format=L.contiguous_format)" for name in ("contiguous", "to", "clone", "double", "float")),
        *(f"x.{name}(memory_format=L.preserve_format)" for name in ("to", "clone", "is_contiguous")),
        *(f"L.{name}_like(x, memory_format=L.channels_last)" for name in ("zeros", "rand", "empty")),
        "L.ones_like(x, memory_format=L.contiguous_format)",
    ),
    _ask(IMAGES, "F.conv2d(L.ones(2, 3, 5, 5), x)", "L.empty(2, 3, 4, 4, memory_format=L.channels_last) + x"),
    _ask(IMAGES, "gradient(lambda x: x.contiguous(memory_format=L.channels_last) * 2, x)"),
    _ask(IMAGES, "L.nn.Conv2d(3, 2, 2).to(memory_format=L.channels_last).weight", "L.nn.Dropout2d()(x)"),
]
PADDLE: list[Asked] = [
    _ask(FEW, "F.log_sigmoid(x)", "F.softplus(x)", "F.swish(x)", "L.mv(x, x[0])", "x.astype('float16')"),
    _ask(
        SEVERAL,
        "L.assign(x)",
        "L.scale(x, 2.0, 1.0)",
        "x.astype('float64')",
        "x.astype('float32')",
        "L.cast(x, 'bool')",
    ),
    _ask(
        SEVERAL,
        "L.to_tensor(x)",
        "L.median(x, 0)",
        "L.polygamma(x, 1)",
        "L.add_n([x, x])",
        "L.multigammaln(x + 2, 2)",
        "L.gammaln(x)",
    ),
    _ask(SEVERAL, "L.sum(x, 0, keepdim=True)", "F.thresholded_relu(x)", "L.slice(x, [0], [0], [1])", "x.cpu()"),
    _ask(SEVERAL, "L.index_select(x, at([1, 0]))", "L.index_select(x, at([0, 0]), 1)", "L.gather(x, at([1, 0]))"),
    _ask(SEVERAL, "L.gather(x, at([0, 0]), 1)", "x.expand(x.shape)", "x.view(x.shape)"),
    _ask(SEVERAL, "L.transpose(x, [1, 0, *range(2, x.ndim)])"),
    _ask(MATRICES, "L.take_along_axis(x, at([[0, 1]]), 0)", "L.put_along_axis(x, at([[0], [1], [0]]), 1.0, 1)"),
    _ask(MATRICES, "L.scatter(x, at([1, 0]), x[:2])", "L.index_add(x, at([1, 0]), 0, x[:2])"),
    _ask(MATRICES, "L.index_fill(x, at([1]), 0, 1.0)", "L.matmul(x, x, transpose_y=True)", "F.one_hot(xi % 2, 2)"),
    _ask(MATRICES, "L.fill_diagonal_tensor(x, x[:2, 0])", "L.dot(x, x)", "L.unique(x)", "L.unique(x, axis=0)"),
    _ask(BATCHES, "L.baddbmm(L.ones([4, 2, 2]), x, y)"),
    _ask(PRODUCTS, "F.linear(x, y)", "F.linear(x, y, L.ones([3]))"),
    _ask(FEW_PAIRS, "F.cross_entropy(x, y, reduction='none', soft_label=True)"),
    _ask(FEW_PAIRS, "L.add_n([x, y])", "L.gammainc(x, y)", "L.gammaincc(x, y)", "L.ldexp(x, yi)"),
    _ask(FEW, "L.to_tensor(x.numpy())", "L.to_tensor(x.numpy().T)", "L.from_dlpack(x)"),
    _ask(FEW, "F.softmax_with_cross_entropy(x, at([[0], [1], [0]]))"),
    _ask(IMAGES, "x.clone()", "L.zeros_like(x)"),
    _ask(ALL, "L.assign(x)", "x.astype('float64')"),
    _ask([*FEW, *SINGLE], "L.isin(x, x[0])", "L.index_select(x, at([0]))", "L.transpose(x, [1, 0])", "L.min(x, 0)"),
    _ask(FEW_PAIRS, "L.mod(x, y)", "L.greater_than(x, y)"),
    _ask([*MATRICES, *SINGLE], "L.diag(x[0], 1, 2.0)", "L.trace(x, 1, 1, 0)", "L.nonzero(x, True)[1]"),
    _ask([*MATRICES, *SINGLE], "L.bincount(xi[0], x[0])", "L.expand_as(x, x)"),
    _ask(IMAGES, "F.dropout2d(x, 0.5, data_format='NHWC')"),
]
PROGRAMS = {"torch": _programs(*BOTH, *TORCH), "paddle": _programs(*BOTH, *PADDLE)}

# ---------- answers ----------


class Scene:
    """The global names of a program, for one list of layouts."""

    def __init__(self, module: str, library: str, scene: list[str]) -> None:
        """`module` is the library, or the module of minitensor that has the names of the library."""
        self.tensors = importlib.import_module(module)
        self.is_torch = library == "torch"
        self.names: dict[str, Any] = {
            "L": self.tensors,
            "F": importlib.import_module(f"{module}.nn.functional"),
            "at": self.index,
            "copy": copy,
            "follows": self.follows,
            "gradient": self.gradient,
        }
        self.memory: list[Any] = []
        for name, layout in zip("xyz", scene, strict=False):
            self.names[name] = self.operand(layout, "float32")
            self.names[f"{name}i"] = self.operand(layout, "int64")

    def _tensor(self, numbers: list[Any], dtype: str) -> Any:
        if self.is_torch:
            return self.tensors.tensor(numbers, dtype=getattr(self.tensors, dtype))
        return self.tensors.to_tensor(numbers, dtype)

    def operand(self, layout: str, dtype: str) -> Any:
        """Return a tensor of that layout, with numbers between 0 and 1, or whole numbers."""
        shape, strides, offset = LAYOUTS[layout]
        count = offset + 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        numbers = [i % 7 + 1 if dtype == "int64" else (i % 7 + 1) / 10 for i in range(count)]
        memory = self._tensor(numbers, dtype)
        self.memory.append(memory)
        if self.tensors.__name__ == "paddle":  # Paddle counts the offset in bytes
            offset *= memory.element_size()
        return self.tensors.as_strided(memory, list(shape), list(strides), offset)

    def index(self, numbers: list[Any]) -> Any:
        """Return a tensor of integers."""
        return self._tensor(numbers, "int64")

    def follows(self, y: Any, function: Callable[[Any], Any]) -> bool:
        """True if a write to all of `y` changes the tensor that `function` made from it."""
        made = function(y)
        before = made.tolist()
        y.fill_(9.0)
        return bool(made.tolist() != before)

    def gradient(self, function: Callable[[Any], Any], x: Any) -> Any:
        """Return the gradient of `function(leaf).sum()` for a leaf that has the layout of `x`."""
        leaf = x.detach()
        if self.is_torch:
            leaf.requires_grad_()
        else:
            leaf.stop_gradient = False
        function(leaf).sum().backward()
        return leaf.grad

    def strides_of(self, result: Any) -> list[int]:
        """Return the strides in elements."""
        return list(result.stride() if self.is_torch else result.strides)

    def described(self, result: Any) -> str:
        """Return the text of an answer."""
        if isinstance(result, (tuple, list)):
            return " and ".join(map(self.described, result))
        if isinstance(result, (int, bool)):
            return str(result)
        shape, strides = list(result.shape), self.strides_of(result)
        step, contiguous = 1, []
        for n in reversed(shape):
            contiguous.insert(0, step)
            step *= n
        first = result.data_ptr()
        inside = any(
            memory.data_ptr() <= first < memory.data_ptr() + memory.shape[0] * memory.element_size()
            for memory in self.memory
        )
        laid = "" if strides == contiguous else f":{','.join(map(str, strides))}"
        return f"{'&' if inside else ''}{','.join(map(str, shape))}{laid}"


def answer(module: str, library: str, program: str, scene: list[str]) -> str | None:
    """Return the answer to one program in one scene; None if the program raises an error."""
    asked = Scene(module, library, scene)
    try:
        return asked.described(eval(program, asked.names))
    except Exception:
        return None


def record(library: str, module: str = "") -> dict[str, Any]:
    """Return all answers of a library; with `module`, those of minitensor's module that has the library's names."""
    warnings.simplefilter("ignore")
    answers = {
        program: [answer(module or library, library, program, scene) for scene in scenes]
        for program, scenes in PROGRAMS[library].items()
    }
    version = importlib.import_module(library).__version__.partition("+")[0] if not module else ""
    return {"library": library, "version": version, "device": "CPU", "answers": answers}


def differing(one: dict[str, Any], other: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Return the programs for which two records have different answers, with the pairs of answers."""
    found = {}
    for program, answers in one["answers"].items():
        pairs = zip(answers, other["answers"].get(program, []), strict=False)
        if wrong := [(a, b) for a, b in pairs if a is not None and b is not None and a != b]:
            found[program] = wrong
    return found


def main() -> None:
    """Record the library that the command line names, or compare the recorded versions of Paddle if it names none."""
    records = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if len(sys.argv) > 1:
        new = record(sys.argv[1])
        records[f"{new['library']} {new['version']}"] = new
        for program, answers in new["answers"].items():
            if all(each is None for each in answers):
                print(f"always raises: {program}")
        records["layouts"] = LAYOUTS
        records["scenes"] = PROGRAMS
        lines = json.dumps(dict(sorted(records.items())), separators=(",", ":")).replace('],"', '],\n"')
        FILE.write_text(lines + "\n", encoding="utf-8")
        return
    for program, pairs in differing(records["paddle 2.6.2"], records["paddle 3.3.1"]).items():
        print(f"{program}: {pairs}")


if __name__ == "__main__":
    main()
