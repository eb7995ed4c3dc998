"""Matrix products, and operations that scale slices of a tensor down to a norm."""

from minitensor.engine.kernels import matrices as kernels
from minitensor.engine.table.rows import op

op("matmul", kernels.matmul, "x y", "Matrix product over the last two dimensions. With transpose_x or transpose_y, the "
   "last two dimensions of that operand are exchanged first.",
   arguments=("transpose_x=False", "transpose_y=False"), prepare=kernels.matmul_arguments, in_place=False,
   elementwise=False, takes="x [..., n, k] and y [..., k, m] after a transposition, or [k] for a vector; leading "
   "dimensions are broadcast", gives="shape [..., n, m], without n if x is a vector and without m if y is one",
   x="matmul_left(g, y, shape, transpose_x, transpose_y)",
   y="matmul_right(g, x, shape, transpose_x, transpose_y)")  # fmt: skip

_ADDED = {
    "arguments": ("beta=1.0", "alpha=1.0"),
    "elementwise": False,
    "input": "g * beta if beta else zeros_like(g)",
    "x": "matmul(g, y, False, True) * alpha",
    "y": "matmul(x, g, True, False) * alpha",
}
op("addmm", kernels.addmm, "input x y", "beta * input + alpha * (x @ y) for matrices; input is broadcast.",
   takes="x [n, k], y [k, m], and input, which is broadcast to [n, m]", gives="shape [n, m]",
   prepare=kernels.addmm_arguments, **_ADDED)  # fmt: skip
op("baddbmm", kernels.baddbmm, "input x y",
   "beta * input + alpha * (x @ y) for stacks of matrices, in three dimensions; input is broadcast.",
   takes="x [b, n, k], y [b, k, m], and input, which is broadcast to [b, n, m]", gives="shape [b, n, m]",
   prepare=kernels.baddbmm_arguments, **_ADDED)  # fmt: skip

op("renorm", kernels.renorm, "x",
   "x, with every slice along axis scaled down to the p-norm max_norm if its p-norm is larger.", floats=True,
   arguments=("p", "axis", "max_norm"), prepare=kernels.renorm_arguments, signature="x, p, axis, max_norm",
   refuses=("ValueError: for p that is not above 0, or max_norm below 0.",),
   elementwise=False, x="renorm_gradient(g, x, p, axis, max_norm)")  # fmt: skip
op("embedding_renorm", kernels.embedding_renorm, "x weight",
   "weight, with every row that x (integers) lists scaled down to the norm max_norm if its norm is larger. As under "
   "no_grad, weight may be a leaf, and the write is not recorded.",
   target="weight", arguments=("max_norm", "norm_type=2.0"), prepare=kernels.embedding_renorm_arguments,
   signature="x, weight, max_norm, norm_type=2.0", prologue="x = as_index('embedding_renorm{_}', x, 'x')", promote=(),
   writes="rows_at(weight, x, 0)", takes="x any, weight [rows, length]",
   elementwise=False, normal=False, namespaces="F")  # fmt: skip
