"""Diagonals of matrices, and triangles on one side of them. Overwritten elements have gradient 0."""

from minitensor.engine.kernels import diagonals as kernels
from minitensor.engine.table.rows import op

_MATRICES = "x [..., n, m]"

op("tril", kernels.tril, "x", "x, with 0 above the diagonal of its last two dimensions.", arguments=("diagonal=0",),
   takes=_MATRICES, prepare=kernels.diagonal_argument, refuses=("TypeError: for diagonal that is not an integer.",),
   writes="side(x, diagonal, True)", x="tril(g, diagonal)")  # fmt: skip
op("triu", kernels.triu, "x", "x, with 0 below the diagonal of its last two dimensions.", arguments=("diagonal=0",),
   takes=_MATRICES, prepare=kernels.diagonal_argument, refuses=("TypeError: for diagonal that is not an integer.",),
   writes="side(x, diagonal, False)", x="triu(g, diagonal)")  # fmt: skip
op("fill_diagonal", kernels.fill_diagonal, "x",
   "x, with value on its main diagonal, which is moved by offset columns; with wrap, the diagonal of a matrix with "
   "more rows than columns restarts after one skipped row.",
   arguments=("value", "offset=0", "wrap=False"), prepare=kernels.fill_diagonal_arguments, elementwise=False,
   refuses=("TypeError: for value that is not a number.",),
   takes="x [n, m], or of more dimensions, all equally long",
   writes="main(x, offset, wrap)", x="fill_diagonal(g, 0, offset, wrap)")  # fmt: skip
op("fill_diagonal_tensor", kernels.fill_diagonal_tensor, "x y",
   "x, with y on the diagonals of the matrices in its dimensions dim1 and dim2. The last dimension of y has the length "
   "of a diagonal.",
   arguments=("offset=0", "dim1=0", "dim2=1"), prepare=kernels.matrix_diagonal_arguments, promote=(),
   prologue="x, y = storable('fill_diagonal_tensor{_}', x, y)", elementwise=False,
   takes="x of two dimensions or more, y [..., length], without the dimensions dim1 and dim2 of x",
   writes="diagonal(x, offset, dim1, dim2)",
   x="emptied_diagonal(g, offset, dim1, dim2)", y="diagonal_of(g, offset, dim1, dim2)")  # fmt: skip
op("diag_embed", kernels.diag_embed, "input",
   "Matrices in the dimensions dim1 and dim2 of the result: input is on their diagonals, which are moved by offset "
   "columns, and all other elements are 0.",
   arguments=("offset=0", "dim1=-2", "dim2=-1"), prepare=kernels.matrix_diagonal_arguments, in_place=False,
   elementwise=False, takes="input [..., n]",
   gives="shape [..., m, m] for the default dim1 and dim2, where m is n + abs(offset)",
   input="diagonal_of(g, offset, dim1, dim2)")  # fmt: skip
