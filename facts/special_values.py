"""Record in special-values.json.gz values and gradients at nan, inf, -0.0, ties, and of empty and 0-d tensors.

python facts/special_values.py torch      in an environment that has torch
python facts/special_values.py paddle

A question is an expression of tensors `x` and `y`, which hold the numbers of one of INPUTS. `L` is the library, `F` its
`nn.functional`, `D` its distributions, and `I` makes a tensor. An answer has for each tensor of the result its shape,
dtype and numbers, and for each float input the gradient of the sum of the result. If the expression raises an error,
the answer is the type of the error. If only backward raises one, the type replaces the gradients. If the result is not
a tensor, the answer is its text.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import crashing
import numpy as np

FILE = Path(__file__).with_name("special-values.json.gz")

NAN, INF = float("nan"), float("inf")
POINTS = [NAN, INF, -INF, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 6.0, 100.0, -100.0, 1e-30]
LEFT = [NAN, INF, -INF, -0.0, 0.0, 1.0, -2.0, 3.0]
SHARES = [NAN, INF, -INF, -0.0, 0.0, 1.0, 0.5, 2.0]
ROWS = [
    *([1.0, 1.0, 0.0], [NAN, 1.0, 2.0], [1.0, NAN, NAN], [INF, 1.0, INF], [-INF, -INF, -INF], [INF, -INF, 0.0]),
    *([-0.0, 0.0, 0.0], [-0.0, -0.0, -0.0], [0.0, 0.0, 2.0], [3.0, 0.0, -1.0], [-INF, 2.0, -INF], [100.0, -100.0, 0.0]),
    [2.0, 2.0, 2.0],
]
#: The seconds after which a question's process is killed.
SECONDS = 10
FLOAT, LONG = "float32", "int64"

#: Maps the name of an input to the dtype and the numbers of each tensor.
INPUTS: dict[str, list[tuple[str, Any]]] = {
    "points": [(FLOAT, POINTS)],
    "pairs": [(FLOAT, [a for a in LEFT for _ in LEFT]), (FLOAT, LEFT * len(LEFT))],
    "shares": [(FLOAT, [a for a in SHARES for _ in SHARES]), (FLOAT, SHARES * len(SHARES))],
    "rows": [(FLOAT, ROWS)],
    "integers": [(LONG, [-2, 0, 1, 3])],
    "int32": [("int32", [-2, 0, 1, 3])],
    "bools": [("bool", [True, False])],
    "integer pairs": [(LONG, [a for a in (-2, 0, 3) for _ in range(3)]), (LONG, [1, -3, 2] * 3)],
    "integers and zero": [(LONG, [-2, 0, 3]), (LONG, [0, 0, 0])],
    "integer and float": [(LONG, [-2, 0, 3]), (FLOAT, [0.5, NAN, INF])],
    "[0]": [(FLOAT, [])],
    "[2, 0]": [(FLOAT, [[], []])],
    "[0, 3]": [(FLOAT, np.zeros((0, 3)))],
    "[]": [(FLOAT, 0.5)],
    "[], nan": [(FLOAT, NAN)],
    "[1]": [(FLOAT, [0.5])],
    "integer [0]": [(LONG, [])],
    "[0] and [0]": [(FLOAT, []), (FLOAT, [])],
    "[0] and []": [(FLOAT, []), (FLOAT, 2.0)],
    "[2, 0] and [1]": [(FLOAT, [[], []]), (FLOAT, [2.0])],
    "[] and []": [(FLOAT, 3.0), (FLOAT, 2.0)],
    "[1] and []": [(FLOAT, [3.0]), (FLOAT, 2.0)],
    "[0, 3] and [3, 2]": [(FLOAT, np.zeros((0, 3))), (FLOAT, np.ones((3, 2)))],
    "[2, 0] and [0, 3]": [(FLOAT, np.zeros((2, 0))), (FLOAT, np.zeros((0, 3)))],
    "logits and classes": [(FLOAT, ROWS), (LONG, [i % 3 for i in range(len(ROWS))])],
    "no logits": [(FLOAT, np.zeros((0, 3))), (LONG, [])],
    "images": [(FLOAT, np.reshape([*POINTS, NAN, *POINTS], (1, 1, -1, 1))[:, :, :16].reshape(1, 1, 4, 4))],
    "no images": [(FLOAT, np.zeros((0, 1, 4, 4)))],
    "nothing": [],
    "matrices": [(FLOAT, [[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]]), (FLOAT, [[2.0, 0.5], [-1.0, 4.0], [0.25, 1.0]])],
    "square": [(FLOAT, [[1.0, -2.0, 0.5], [0.0, 3.0, -1.0], [4.0, 0.25, 2.0]]), (FLOAT, [0.5, 2.0, -1.0])],
    "stacks": [(FLOAT, np.arange(12).reshape(2, 2, 3) - 4), (FLOAT, np.arange(12).reshape(2, 3, 2) % 5 - 2)],
    "ramp": [(FLOAT, np.arange(40).reshape(1, 2, 4, 5) % 7 - 3)],
    "patches": [(FLOAT, np.arange(96).reshape(1, 8, 12) % 5 - 2)],
    "positive": [(FLOAT, [[0.2, 0.5, 0.3], [1.0, 2.0, 1.0]]), (FLOAT, [[0.6, 0.1, 0.3], [0.25, 0.5, 0.25]])],
}

_UNARY = [
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf", "erfinv"),
    *("exp", "expm1", "floor", "frac", "i0", "lgamma", "log", "log10", "log1p", "log2", "logit", "nan_to_num", "neg"),
    *("reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
    *("isnan", "isinf", "isfinite", "logical_not", "clone", "round"),
]
_FUNCTIONAL = [
    *("relu", "relu6", "elu", "hardtanh", "gelu", "silu", "softplus", "softsign", "mish", "selu", "hardswish")
]
UNARY = [
    *(f"L.{name}(x)" for name in _UNARY),
    *(f"F.{name}(x)" for name in _FUNCTIONAL),
    *("L.logit(x, 0.25)", "F.leaky_relu(x, 0.1)", "F.leaky_relu(x, 0.0)", "F.elu(x, 2.0)", "F.hardtanh(x, 0.0, 1.0)"),
    *("x ** 2", "x ** 0", "x ** 1", "x ** 0.5", "x ** -1", "x ** 3", "2.0 ** x", "x * 0", "x / 0", "x // 2.0"),
    *("x % 2.0", "x + L.zeros_like(x)", "0 - x", "1 / x", "x > 0", "x == x", "-x", "x.round()", "x.sum()"),
    *("L.where(x > 0, x, L.zeros_like(x))", "L.maximum(x, L.zeros_like(x))", "L.minimum(x, L.zeros_like(x))"),
]
UNARY_OF = {
    "torch": [
        *("L.clamp(x, -1.0, 2.0)", "L.clamp(x, min=0.0)", "L.clamp(x, max=0.0)", "L.relu(x)", "L.polygamma(1, x)"),
        *("L.polygamma(2, x)", "L.round(x, decimals=1)", "F.threshold(x, 1.0, 0.0)", "F.gelu(x, approximate='tanh')"),
        *("L.nan_to_num(x, 1.0, 2.0, 3.0)", "x.masked_fill(x > 0, float('nan'))", "L.renorm(x[:, None], 2, 0, 1.0)"),
        *("L.clamp(x, float('nan'), 1.0)", "L.clamp(x, 2.0, 1.0)", "F.logsigmoid(x)", "F.softmin(x, 0)", "L.exp2(x)"),
        *("L.erfc(x)", "L.var(x)", "L.std(x)", "L.signbit(x)", "L.rad2deg(x)", "L.trunc(x).to(L.int64)"),
    ],
    "paddle": [
        *("L.clip(x, -1.0, 2.0)", "L.clip(x, min=0.0)", "L.clip(x, max=0.0)", "L.polygamma(x, 1)", "L.scale(x, 2.0)"),
        *("L.polygamma(x, 2)", "F.thresholded_relu(x)", "F.gelu(x, approximate=True)", "L.scale(x, 1.0, -1.0)"),
        *("L.nan_to_num(x, 1.0, 2.0, 3.0)", "L.masked_fill(x, x > 0, float('nan'))", "L.multigammaln(x, 2)"),
        *("F.log_sigmoid(x)", "L.lgamma(x)", "L.renorm(x.unsqueeze(1), 2.0, 0, 1.0)", "F.swish(x)", "L.std(x)"),
        *("L.var(x)", "L.sgn(x)", "L.rad2deg(x)", "L.clip(x, 2.0, 1.0)"),
    ],
}
_BINARY = [
    *("add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "hypot", "copysign", "ldexp"),
    *("floor_divide", "remainder", "logical_and", "logical_or", "logical_xor", "not_equal", "less_equal"),
    *("greater_equal", "atan2", "fmax", "fmin", "logaddexp"),
]
BINARY = [
    *(f"L.{name}(x, y)" for name in _BINARY),
    *("L.lerp(x, y, 0.5)", "L.lerp(x, y, L.full_like(x, 0.0))", "L.where(x > y, x, y)", "x < y", "x == y"),
    *("L.isclose(x, y)", "L.isclose(x, y, equal_nan=True)", "L.allclose(x, y, equal_nan=True)"),
]
BINARY_OF = {
    "torch": [
        "L.div(x, y, rounding_mode='floor')",
        "L.div(x, y, rounding_mode='trunc')",
        "L.fmod(x, y)",
        "L.xlogy(x, y)",
    ],
    "paddle": ["L.gammainc(x, y)", "L.gammaincc(x, y)", "L.mod(x, y)"],
}
#: In every row, "{}" is replaced by the dimension.
REDUCTIONS = [
    *(f"L.{name}(x, {{}})" for name in ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "logsumexp")),
    *(
        "L.cumsum(x, {})",
        "L.cumprod(x, {})",
        "F.softmax(x, {})",
        "F.log_softmax(x, {})",
        "L.all(x, {})",
        "L.any(x, {})",
    ),
    *(
        "L.sort(x, {})",
        "L.topk(x, 2, {})",
        "L.std(x, {})",
        "L.var(x, {})",
        "L.max(x, {})",
        "L.min(x, {})",
        "L.median(x, {})",
    ),
    *("L.argsort(x, {})", "L.norm(x, 2, {})", "L.norm(x, 1, {})", "L.norm(x, float('inf'), {})", "L.norm(x, 3, {})"),
    *("L.norm(x, 0, {})", "L.count_nonzero(x, {})", "L.cummax(x, {})", "L.cummin(x, {})", "L.logcumsumexp(x, {})"),
    *("L.nansum(x, {})", "L.nanmean(x, {})", "L.flip(x, [{}])", "L.kthvalue(x, 1, {})", "L.nanmedian(x, {})"),
]
_WHOLE = [
    *("sum", "mean", "prod", "max", "min", "amax", "amin", "argmax", "argmin", "std", "var", "all", "any", "norm"),
    *("median", "logsumexp"),
]
WHOLE = [
    *(f"L.{name}(x)" for name in _WHOLE),
    *(f"F.{name}(x, L.zeros_like(x))" for name in ("mse_loss", "l1_loss", "smooth_l1_loss")),
    *("L.reshape(x, [-1])", "x.tolist()", "L.unique(x)", "L.tril(x)", "L.matmul(x, x)", "x @ x", "L.flatten(x)"),
]
LOSSES = [
    *(f"F.{name}(x, y, reduction='none')" for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "kl_div")),
    *("F.binary_cross_entropy(x, y, reduction='none')", "F.binary_cross_entropy_with_logits(x, y, reduction='none')"),
    *("F.binary_cross_entropy(x.clip(0, 1), y.clip(0, 1), reduction='none')", "F.kl_div(x, y)"),
]
LOSSES_OF = {
    "torch": ["F.kl_div(x, y, reduction='none', log_target=True)", "F.huber_loss(x, y, reduction='none')"],
    "paddle": [],
}
CLASSES = [
    "F.cross_entropy(x, y, reduction='none')",
    "F.cross_entropy(x, y)",
    "F.cross_entropy(x, y, reduction='sum')",
    "F.nll_loss(x, y, reduction='none')",
    "F.nll_loss(x, y)",
    "F.cross_entropy(x, y, ignore_index=1)",
    "F.cross_entropy(x, y * 0 - 100)",
    "F.cross_entropy(x, F.softmax(x, -1){soft}, reduction='none')",
]
NORMS = ["F.layer_norm(x, [3])", "F.normalize(x)"]
IMAGES = [
    *("F.max_pool2d(x, 2)", "F.avg_pool2d(x, 2)", "F.adaptive_avg_pool2d(x, 1)", "F.conv2d(x, L.ones([1, 1, 2, 2]))"),
    *("F.instance_norm(x)", "F.group_norm(x, 1)", "F.interpolate(x, scale_factor=2)"),
]
CREATED = {
    "torch": [
        *(
            "L.logspace(0, 2, 3, dtype=L.int64)",
            "L.logspace(0, 1, 4, dtype=L.int32)",
            "L.logspace(0, 1, 4, 2, dtype=L.int64)",
        ),
        *("L.linspace(0, 1, 4, dtype=L.int64)", "L.linspace(-3, 3, 4, dtype=L.int64)", "L.linspace(0, 1, 0)"),
        *(
            "L.linspace(0, 1, 1)",
            "L.logspace(0, 1, 0)",
            "L.logspace(0, 1, 1)",
            "L.arange(0)",
            "L.arange(0.0, 1.0, 0.3)",
        ),
        *("L.eye(0)", "L.zeros(0)", "L.zeros(2, 0)", "L.full((), float('nan'))", "L.ones(())", "L.arange(3, 0, -1)"),
        *(
            "L.tensor([])",
            "L.tensor(float('-inf'))",
            "L.cat([L.zeros(0), L.ones(2)])",
            "L.stack([L.zeros(0), L.zeros(0)])",
        ),
        *("L.linspace(float('nan'), 1, 3)", "L.linspace(0, float('inf'), 3)", "L.tensor([-0.0, 0.0]).unique()"),
        *(
            "L.linspace(0, 10, 7, dtype=L.int32)",
            "L.logspace(-1, 1, 5, dtype=L.int64)",
            "L.tensor([float('nan')]).bool()",
        ),
    ],
    "paddle": [
        *("L.linspace(0, 1, 4, dtype='int64')", "L.linspace(-3, 3, 4, dtype='int64')", "L.linspace(0, 1, 1)"),
        *(
            "L.arange(0)",
            "L.arange(0.0, 1.0, 0.3)",
            "L.eye(1)",
            "L.zeros([0])",
            "L.zeros([2, 0])",
            "L.arange(3, 0, -1)",
        ),
        *("L.full([], float('nan'))", "L.ones([])", "L.to_tensor([])", "L.to_tensor(float('-inf'))", "L.eye(0)"),
        *("L.concat([L.zeros([0]), L.ones([2])])", "L.linspace(0, 10, 7, dtype='int32')", "L.linspace(0, 1, 0)"),
        *("L.logspace(0, 2, 3, dtype='int64')", "L.logspace(0, 1, 4, dtype='int32')", "L.logspace(0, 1, 1)"),
        *("L.to_tensor([float('nan')]).astype('bool')", "L.to_tensor([-0.0, 0.0]).unique()"),
    ],
}
EQUATIONS = {
    "matrices": ["ij,jk->ik", "ij,jk", "ij,jk->k", "ij,kl->", "ij,kl->kijl", "ij,ji->", "ab,bc->ca", "...i,ij->...j"],
    "square": ["ij,j->i", "ij,j->", "ii,i->i", "ij,j->ij", "ii,j->ij", "i...,i->..."],
    "stacks": ["bij,bjk->bik", "bij,bjk->b", "...ij,...jk->...ik", "bij,cjk->bcik", "bij,bjk->kij", "bij,bkl"],
}
ALONE = ["ii->i", "ij->ji", "ij->", "ij->j", "ii", "ji", "...->...", "i...->..."]
REARRANGED = [
    *("L.tile(x, [2, 3])", "L.tile(x, [2, 1, 1])", "x.tile([2])", "L.repeat_interleave(x, 2, 1)"),
    *("L.repeat_interleave(x, 3)", "x.unfold(1, 2, 1)", "x.unfold(0, 1, 1)", "L.cdist(x, x * 2)", "L.cdist(x, x)"),
    *("L.cdist(x, x, 1.0)", "L.cdist(x, x * 2, 3.0)", "L.cdist(x, x * 2, float('inf'))", "L.kthvalue(x, 2)"),
    *("L.kthvalue(x, 1, 0)", "L.kthvalue(x, 2, -1, True)", "L.diff(x)", "L.diff(x, 2)", "L.inner(x, x)", "L.median(x)"),
    *("L.meshgrid(x[0], x[1])", "L.outer(x[0], x[1])", "L.logsumexp(x)", "L.logsumexp(x, 1, True)", "L.median(x, 1)"),
    *("L.amax(x, 1, True)", "L.mv(x, x[0])", "L.vstack([x, x])", "L.hstack([x, x])"),
]
REARRANGED_OF = {
    "torch": [
        "L.meshgrid(x[0], x[1], indexing='xy')",
        "L.einsum(x, [0, 1], x, [2, 1], [0, 2])",
        "L.median(x, 0, True)",
    ],
    "paddle": ["L.median(x, 0, True)", "L.rank(x)"],
}
PATCHES_OF = {
    "torch": ["F.unfold(x, 2)", "F.unfold(x, (2, 3), dilation=1, padding=1, stride=2)", "F.unfold(x, 2, dilation=2)"],
    "paddle": [
        "F.unfold(x, 2)",
        "F.unfold(x, [2, 3], 2, 1, 1)",
        "F.unfold(x, 2, 1, 0, 2)",
        "F.unfold(x, 2, 1, [1, 0, 2, 1])",
    ],
}
FOLDED_OF = {
    "torch": ["F.fold(x, (4, 5), 2)", "F.fold(x, (3, 2), 2, padding=1)"],
    "paddle": ["F.fold(x, [4, 5], 2)", "F.fold(x, [3, 2], 2, paddings=1)"],
}
_NORMAL = "D.Normal(x, y)"
DISTRIBUTED = [
    *(f"{_NORMAL}.{asked}" for asked in ("log_prob(y * 2)", "entropy()", "mean", "variance", "stddev")),
    *("D.kl_divergence(D.Normal(x, y), D.Normal(y, x))", "D.Normal(x, 2.0).log_prob(y)", "D.Normal(0.0, y).entropy()"),
    *(f"D.Bernoulli(y).{asked}" for asked in ("log_prob(L.ones_like(y))", "entropy()", "mean", "variance")),
    *("D.Bernoulli(y).log_prob(L.zeros_like(y))", "D.kl_divergence(D.Bernoulli(y), D.Bernoulli(y / 2))"),
    *(f"D.Categorical(x).{asked}" for asked in ("log_prob(I([2, 0]))", "entropy()")),
    *("D.kl_divergence(D.Categorical(x), D.Categorical(y))", "D.Categorical(x[0]).log_prob(I([2, 0, 1]))"),
    *("D.Uniform(x, x + y).entropy()", "D.Uniform(x, x + y).mean", "D.Uniform(x, x + y).log_prob(x + y / 2)"),
    *("D.Normal(x, y).sample((4,)).shape", "D.Bernoulli(y).sample((4,)).shape", "D.Categorical(x).sample((4,)).shape"),
    *("D.Normal(x, y).batch_shape", "D.Categorical(x).batch_shape", "D.Normal(x, y).rsample((4,)).shape"),
    "D.Normal(x, y).sample().shape",
]
DISTRIBUTED_OF = {
    "torch": [
        *("D.Categorical(logits=x).log_prob(I([2, 0]))", "D.Categorical(logits=x).entropy()", "D.Categorical(y).probs"),
        *("D.Bernoulli(logits=x).log_prob(L.ones_like(x))", "D.Bernoulli(logits=x).entropy()", "repr(D.Normal(x, y))"),
        *("repr(D.Normal(0.0, 1.0))", "repr(D.Bernoulli(y))", "repr(D.Categorical(logits=x))", "D.Normal(x, -y)"),
        *("D.Bernoulli(x * 5)", "D.Normal(x, y).log_prob(2)", "D.Categorical(x).log_prob(I([3, 0]))"),
    ],
    "paddle": ["D.Categorical(x).probs(I([[2], [0]]))", "D.Normal(x, y).probs(y)", "D.Categorical(x[0]).probs(I([2]))"],
}
#: Operations that move, select or combine elements. Their operands have special numbers, or few or no elements.
MOVED = [
    *("L.roll(x, 1, 0)", "L.triu(x)", "L.squeeze(x)", "L.unsqueeze(x, 0)", "L.stack([x, x])", "L.concat([x, x])"),
    *("L.chunk(x, 2)", "L.split(x, 1)", "L.unbind(x)", "L.t(x)", "L.tile(x, [2])", "L.tile(x, [])"),
    *("L.repeat_interleave(x, 2)", "L.repeat_interleave(x, 0)", "L.nonzero(x)", "L.diff(x)", "L.inner(x, x)"),
    *(
        "L.outer(x, x)",
        "L.meshgrid(x, x)",
        "L.meshgrid(x)",
        "L.isin(x, x)",
        "L.flip(x, [0])",
        "x[..., None]",
        "x[None]",
    ),
    *("L.broadcast_to(x, [2, *x.shape])", "L.diagonal(x)", "L.trace(x)", "L.masked_select(x, x == x)", "x[x == x]"),
    *("L.where(x == x, x, x * 2)", "x.unfold(0, 1, 1)", "L.index_select(x, I([0]), 0)", "L.dot(x, x)", "L.mm(x, x)"),
    *("L.einsum('...->...', x)", "L.einsum('i->', x)", "L.einsum('i,i->i', x, x)", "L.einsum('ij->ji', x)"),
    *("L.einsum('ij,ij->i', x, x)", "L.einsum('ij,kj->ik', x, x)", "L.kthvalue(x, 1)", "L.cdist(x, x)"),
    *("L.numel(x)", "F.cosine_similarity(x, x, 0)", "F.normalize(x, 2, 0)", "L.heaviside(x, x)", "L.signbit(x)"),
    *("L.cummax(x, -1)", "L.cummin(x, -1)", "L.nansum(x)", "L.nanmean(x)", "L.count_nonzero(x)", "L.bincount(x)"),
    *("F.hardsigmoid(x)", "F.one_hot(x, 4)", "L.masked_fill(x, x == x, 1)", "L.ones_like(x)", "x.clone() * 2"),
    *("L.diag(x)", "L.diag(x, -1)", "L.diag(x, 3)", "L.diag_embed(x)", "L.diag_embed(x, 1, 0, 1)"),
    *("x.expand_as(x)", "x.expand_as(L.stack([x, x]))", "L.unflatten(x, 0, [1, -1])", "L.unflatten(x, -1, [-1, 1])"),
]
MOVED_OF = {
    "torch": [
        *("L.ravel(x)", "L.movedim(x, 0, -1)", "L.vstack([x, x])", "L.hstack([x, x])", "L.permute(x, (-1,))"),
        *("L.clamp_min(x, 0)", "L.clamp_max(x, 0)", "L.take_along_dim(x, I([0]), None)", "L.narrow(x, 0, 0, 1)"),
        *("L.narrow(x, 0, 0, 0)", "L.select(x, 0, 0)", "L.unflatten(x, 0, (1, -1))", "L.fmod(x, 2)", "L.exp2(x)"),
        *("L.meshgrid(x, x, indexing='xy')", "L.equal(x, x)", "L.addmm(x, x, x)", "L.argwhere(x)", "x.repeat(2, 2)"),
        "L.nonzero(x, as_tuple=True)",
    ],
    "paddle": [
        *("L.transpose(x, [*range(x.ndim)][::-1])", "L.add_n([x, x])", "L.equal_all(x, x)", "L.cast(x, 'float64')"),
        *("L.slice(x, [0], [0], [1])", "L.expand(x, [2, *x.shape])", "L.addmm(x, x, x)", "L.gather(x, I([0]))"),
        *("L.trace(x, 1)", "L.trace(x, -1, 1, 0)", "L.nonzero(x, True)", "L.diag(x, 0, 2.0)", "L.tolist(x)"),
        "L.diag(x, 1, float('nan'))",
    ],
}
#: Products and combinations of two operands with special numbers.
COMBINED = [
    *("L.heaviside(x, y)", "L.isin(x, y)", "L.einsum('i,i->i', x, y)", "L.einsum('i,i->', x, y)", "L.dot(x, y)"),
    *("L.outer(x[:4], y[:4])", "L.inner(x, y)", "F.cosine_similarity(x, y, 0)", "L.masked_fill(x, y > 0, 1.0)"),
    *("L.meshgrid(x[:2], y[:3])", "L.cdist(x[:, None], y[:, None])", "L.add(x, y) - x", "x.expand_as(y)"),
]
COMBINED_OF = {
    "torch": ["L.addcmul(x, x, y)", "L.addcdiv(x, x, y)", "L.addcmul(x, x, y, value=0)", "L.sub(x, y, alpha=0)"],
    "paddle": ["L.add_n([x, y])", "L.floor_mod(x, y)"],
}
WHOLE_PAIRS = [
    *(f"L.bitwise_{name}(x, y)" for name in ("and", "or", "xor")),
    *("L.gcd(x, y)", "L.lcm(x, y)", "L.bitwise_not(x)", "L.isin(x, y)", "L.einsum('i,i->', x, y)", "L.dot(x, y)"),
    *("L.outer(x, y)", "L.bincount(x)", "L.bincount(x.abs(), y)", "L.bincount(x.abs(), y * 0.5, 5)"),
]
_EMPTY = ("[0]", "[2, 0]", "[0, 3]", "[]", "[1]")
_EMPTY_PAIRS = ("[0] and [0]", "[0] and []", "[2, 0] and [1]", "[] and []", "[1] and []")


def questions(library: str) -> list[str]:
    """Return all questions to a library, as "INPUT: EXPRESSION"."""
    unary, binary = UNARY + UNARY_OF[library], BINARY + BINARY_OF[library]
    classes = [each.replace("{soft}", ", soft_label=True" if library == "paddle" else "") for each in CLASSES]
    shared: dict[str, list[str]] = {
        "points": unary,
        "pairs": binary,
        "shares": LOSSES + LOSSES_OF[library],
        "rows": [each.format(1) for each in REDUCTIONS] + NORMS,
        "integers": unary + [each.format(0) for each in REDUCTIONS] + WHOLE,
        "int32": unary,
        "bools": unary + [each.format(0) for each in REDUCTIONS] + WHOLE,
        **dict.fromkeys(("integer pairs", "integers and zero", "integer and float"), binary),
        **dict.fromkeys(_EMPTY, unary + WHOLE),
        "integer [0]": unary + WHOLE,
        "[], nan": WHOLE,
        **dict.fromkeys(_EMPTY_PAIRS, binary + LOSSES),
        "[0, 3] and [3, 2]": ["x @ y", "L.matmul(x, y)"],
        "[2, 0] and [0, 3]": ["x @ y", "L.matmul(x, y)"],
        "logits and classes": classes,
        "no logits": classes,
        **dict.fromkeys(("images", "no images"), IMAGES),
        "nothing": CREATED[library],
        **{name: [f"L.einsum('{equation}', x, y)" for equation in equations] for name, equations in EQUATIONS.items()},
        "ramp": PATCHES_OF[library],
        "patches": FOLDED_OF[library],
        "positive": DISTRIBUTED + DISTRIBUTED_OF[library],
    }
    shared["matrices"] += REARRANGED + REARRANGED_OF[library]
    moved = MOVED + MOVED_OF[library]
    for name in ("rows", "points", "bools", "integers", *_EMPTY, "integer [0]", "[], nan"):
        shared[name] = shared[name] + moved
    for name in ("pairs", *_EMPTY_PAIRS):
        shared[name] = shared[name] + COMBINED + COMBINED_OF[library]
    for name in ("integer pairs", "integers and zero"):
        shared[name] = shared[name] + WHOLE_PAIRS
    shared["square"] += [f"L.einsum('{equation}', x)" for equation in ALONE]
    dims = {"[0]": (0,), "[2, 0]": (0, 1), "[0, 3]": (0, 1), "[]": (0,), "[1]": (0,), "integer [0]": (0,)}
    for name, axes in dims.items():
        shared[name] = shared[name] + [each.format(dim) for each in REDUCTIONS for dim in axes]
    return [
        f"{name}: {expression}" for name, expressions in shared.items() for expression in dict.fromkeys(expressions)
    ]


def ask(library: str, module: Any, question: str) -> Any:
    """Return the answer of `module`, which has the names of `library`."""
    name, _, expression = question.partition(": ")
    arrays = [np.array(numbers, dtype) for dtype, numbers in INPUTS[name]]
    names: dict[str, Any] = {"L": module, "F": module.nn.functional}
    names["D"] = module.distributions if library == "torch" else module.distribution
    names["I"] = module.tensor if library == "torch" else module.to_tensor
    inputs = []
    for letter, array in zip("xy", arrays, strict=False):
        tensor = module.tensor(array) if library == "torch" else module.to_tensor(array)
        if array.dtype.kind == "f":
            if library == "torch":
                tensor.requires_grad_()
            else:
                tensor.stop_gradient = False
            inputs.append(tensor)
        names[letter] = tensor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(expression, names)
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            if not results or not all(hasattr(each, "shape") for each in results):
                return [result if isinstance(result, str) else repr(results)]
            answer = [text(each) for each in results]
        except Exception as error:
            return type(error).__name__
        roots = [each for each in results if requires_gradient(library, each)]
        try:
            for each in roots:
                (each * 1.0).sum().backward() if each.shape else each.backward(retain_graph=True)
        except Exception as error:
            return [*answer, type(error).__name__]
        return [*answer, *(None if not roots or x.grad is None else text(x.grad) for x in inputs)]


def requires_gradient(library: str, tensor: Any) -> bool:
    """True if a result requires a gradient."""
    return bool(tensor.requires_grad if library == "torch" else not tensor.stop_gradient)


def text(tensor: Any) -> str:
    """Return "float32 [2] 1 nan": dtype, shape and numbers, with seven digits."""
    array = np.array(tensor.detach().tolist(), str(tensor.dtype).rpartition(".")[2]).reshape(tuple(tensor.shape))
    numbers = " ".join(f"{number:.7g}" for number in array.ravel().tolist())
    return f"{array.dtype} {list(array.shape)} {numbers}".replace(", ", ",").strip()


def recorded() -> dict[str, dict[str, Any]]:
    """Return the answers of each library and version."""
    return crashing.recorded(FILE)


if __name__ == "__main__":
    # Paddle never finishes `x ** -1` of integers, so each question has a limit.
    crashing.record(FILE, questions, ask, str, SECONDS)
