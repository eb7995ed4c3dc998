"""Reading and writing elements where a mask is true. Masks have no gradient; overwritten elements have gradient 0."""

from minitensor.engine.kernels import masked as kernels
from minitensor.engine.table.rows import op

op("masked_fill", kernels.masked_fill, "x mask value", "value (one number) where mask is true, else x.", promote=(),
   prologue="mask = as_mask('masked_fill{_}', mask); x, value = storable('masked_fill{_}', x, value)",
   writes="where_true(x, mask)", x="where(mask, 0, g)", value="where(mask, g, 0)")  # fmt: skip
op("masked_scatter", kernels.masked_scatter, "x mask value",
   "x, in which the elements where mask is true are replaced, in order, by the first elements of value.",
   takes="x any, mask broadcast to x, value any (at least one element for each true element of mask)",
   prologue="mask = as_mask('masked_scatter{_}', mask); x, value = storable('masked_scatter{_}', x, value)", promote=(),
   elementwise=False, writes="where_true(x, mask)",
   x="where(mask, 0, g)", value="first_taken(g, mask, shape)")  # fmt: skip
op("masked_select", kernels.masked_select, "x mask", "The elements of x where mask is true, in one dimension.",
   takes="x any, mask broadcast to x", gives="shape [n], where n is the number of elements where mask is true",
   prologue="mask = as_mask('masked_select{_}', mask)", promote=(), elementwise=False, in_place=False,
   x="put_back(g, mask, shape)")  # fmt: skip
