"""Matrix products."""

from minitensor.kernels import matrices as kernels
from minitensor.table.rows import op

op("matmul", kernels.matmul, "x y", "Matrix product over the last two dimensions, each operand transposed on request.",
   arguments=("transpose_x=False", "transpose_y=False"), prepare=kernels.matmul_arguments, in_place=False,
   x="matmul_left(g, y, shape, transpose_x, transpose_y)",
   y="matmul_right(g, x, shape, transpose_x, transpose_y)")  # fmt: skip
