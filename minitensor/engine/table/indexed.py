"""Reading and writing the parts that an index lists.

An index and a mask have no gradient. Overwritten elements have gradient 0. If a position is listed more than once, an
assignment keeps the last value, which gets the gradient; a sum includes all values.
"""

from collections.abc import Callable
from typing import Any

from minitensor.engine.kernels import along_axis, indexed
from minitensor.engine.table.rows import op


def _first(name: str, stores: str = "", x: str = "x", index: str = "index") -> str:
    """Return a prologue that makes the index a tensor, and converts the operand ``stores``, if any, to x's dtype."""
    text = f"{index} = as_index('{name}{{_}}', {index}, '{index}')"
    return text if not stores else f"{text}; {x}, {stores} = storable('{name}{{_}}', {x}, {stores})"


# ---------- parts along one axis ----------

_PICKED = "the shape of x, with the length of index along axis"

op("index_select", indexed.index_select, "x index", "The parts of x along axis that index lists.",
   takes="x any, index [n]", gives=_PICKED,
   arguments=("axis=0",), prepare=indexed.axis_argument, prologue=_first("index_select"), promote=(), elementwise=False,
   in_place=False, x="added_rows(g, index, axis, shape)")  # fmt: skip
op("gather", indexed.gather, "x index",
   "The parts of x along axis (by default 0) that index lists; an index without dimensions selects one part and drops "
   "the axis.",
   takes="x any, index [n] or []", gives=_PICKED,
   arguments=("axis=None",), prepare=indexed.gather_arguments, prologue=_first("gather"), promote=(), elementwise=False,
   in_place=False, x="added_rows(g, index, axis, shape)")  # fmt: skip
op("index_add", indexed.index_add, "x index value",
   "x, with alpha * value added to the parts along axis that index lists, twice to a part that is listed twice.",
   takes="x any, index [n], value shaped as x except for length n along axis",
   arguments=("axis", "alpha=1"), prepare=indexed.index_add_arguments, prologue=_first("index_add"),
   promote=("x", "value"), elementwise=False, signature="x, index, axis, value, alpha=1, name=None",
   writes="rows_at(x, index, axis)", x="g", value="index_select(g, index, axis) * alpha")  # fmt: skip
op("index_fill", indexed.index_fill, "x index value",
   "x, with value (one number) in the parts along axis that index lists.", takes="x any, index [n], value []",
   arguments=("axis",), prepare=indexed.axis_argument, prologue=_first("index_fill", "value"), promote=(),
   elementwise=False, signature="x, index, axis, value, name=None",
   writes="rows_at(x, index, axis)", x="emptied_rows(g, index, axis)", value="rows_once(g, index, axis)")  # fmt: skip
op("scatter", indexed.scatter, "x index updates",
   "x, with updates in the rows that index lists; with overwrite=False, each of these rows is the sum of its updates.",
   takes="x any, index [n], updates shaped as x except for n rows",
   arguments=("overwrite=True",), prepare=indexed.overwrite_argument, prologue=_first("scatter", "updates"), promote=(),
   elementwise=False, writes="rows_at(x, index, 0)",
   x="emptied_rows(g, index, 0)", updates="written_rows(g, index, overwrite, shape)")  # fmt: skip

# ---------- elements that several indices select together ----------

op("index_put", indexed.index_put, "x rows value",
   "x, with value (broadcast) assigned to the elements that indices selects; if accumulate is true, value is added to "
   "these elements instead. indices is a tuple of index tensors or masks.",
   takes="x any; index tensors are broadcast together, a mask has the shape of the dimensions that it indexes; "
   "value is broadcast to the selected elements",
   arguments=("accumulate=False", "depth"), prepare=indexed.index_put_arguments, promote=(), elementwise=False,
   prologue="rows, depth = as_rows('index_put{_}', x, indices); x, value = storable('index_put{_}', x, value)",
   signature="x, indices, value, accumulate=False, name=None",
   writes="places_at(x, rows, depth)", x="g if accumulate else emptied_places(g, rows, depth)",
   value="written_places(g, rows, accumulate, depth)")  # fmt: skip

# ---------- single elements along an axis ----------

_ALONG = "{0} any, {1} with as many dimensions as {0}"
_PUT = f"{_ALONG.format('arr', 'indices')}, values broadcast to indices"

op("take_along_axis", along_axis.take_along_axis, "arr indices",
   "The elements of arr at the positions along axis that indices contains. If broadcast is true, indices and arr are "
   "broadcast along all other dimensions.",
   takes=_ALONG.format("arr", "indices"), gives="the shape of indices, after broadcasting",
   arguments=("axis", "broadcast=True"), prepare=along_axis.take_arguments,
   prologue=_first("take_along_axis", index="indices"), promote=(), elementwise=False, in_place=False,
   signature="arr, indices, axis, broadcast=True", arr="added_along(g, indices, axis, broadcast, shape)")  # fmt: skip
op("put_along_axis", along_axis.put_along_axis, "arr indices values",
   "arr, with values at the positions along axis that indices contains. reduce='add', 'multiply', 'mean', 'amin' or "
   "'amax' combines all values for one element and, if include_self is true, the old element.",
   takes=_PUT,
   arguments=("axis", "broadcast=True"), prepare=along_axis.take_arguments, promote=(), elementwise=False,
   prologue="if type(reduce) is not str or reduce != 'assign': return redirect(reducing('put_along_axis{_}', reduce), "
         "arr, indices, values, axis, include_self, broadcast)\n"
         + _first("put_along_axis", "values", "arr", "indices"),
   signature="arr, indices, values, axis, reduce='assign', include_self=True, broadcast=True",
   writes="elements_at(arr, indices, axis, broadcast)", arr="emptied_along(g, indices, axis, broadcast)",
   values="last_along(g, indices, axis, broadcast, shape)")  # fmt: skip
op("scatter_add", along_axis.scatter_add, "input index src",
   "input, with src added at the positions along dim that index contains; elements of src beyond the shape of index "
   "are ignored.",
   takes=f"{_ALONG.format('input', 'index')}, none of them longer than in src",
   arguments=("dim",), prepare=along_axis.dim_argument, prologue=_first("scatter_add"), promote=("input", "src"),
   elementwise=False, signature="input, dim, index, src",
   writes="elements_at(input, index, dim, False)",
   input="g", src="taken_along(g, index, dim, False, shape)")  # fmt: skip

_REDUCED = "arr, with {} at the positions along axis that indices contains: put_along_axis with reduce='{}'."
_ELEMENT = "axis, include_self, broadcast"


def _reduction(name: str, forward: Callable[..., Any], doc: str, *, arr: str, values: str, **settings: object) -> None:
    op(f"put_along_axis_{name}", forward, "arr indices values", _REDUCED.format(doc, name), namespaces="", takes=_PUT,
       arguments=("axis", "include_self=True", "broadcast=True"), prepare=along_axis.reduce_arguments,
       prologue=_first(f"put_along_axis_{name}", index="indices"), promote=("arr", "values"), elementwise=False,
       writes="elements_at(arr, indices, axis, broadcast)", arr=arr, values=values, **settings)  # fmt: skip


_reduction("add", along_axis.put_along_axis_add, "values added",
           arr="g if include_self else emptied_along(g, indices, axis, broadcast)",
           values="taken_along(g, indices, axis, broadcast, shape)")  # fmt: skip
_reduction("mean", along_axis.put_along_axis_mean, "the mean of values and the old element",
           arr="(g if include_self else emptied_along(g, indices, axis, broadcast)) "
               f"* shares_along(g, indices, {_ELEMENT})",
           values=f"taken_along(g * shares_along(g, indices, {_ELEMENT}), indices, axis, broadcast, shape)",
           )  # fmt: skip
_reduction("multiply", along_axis.put_along_axis_multiply, "the product of values and the old element",
           arr="g * multiplied_ones(g, indices, values, axis, broadcast) if include_self "
               "else emptied_along(g, indices, axis, broadcast)",
           values=f"multiplied_along(g, arr, indices, values, {_ELEMENT}, shape)")  # fmt: skip
for _name, _forward, _doc in (
    ("amax", along_axis.put_along_axis_amax, "the largest of values and the old element"),
    ("amin", along_axis.put_along_axis_amin, "the smallest of values and the old element"),
):
    _reduction(_name, _forward, _doc,
               marks={"kept": f"arr == put_along_axis_{_name}(arr, indices, values, {_ELEMENT})"},
               arr=f"extreme_self(g, kept, out, indices, values, {_ELEMENT})",
               values=f"extreme_along(g, kept, out, indices, values, {_ELEMENT}, shape)")  # fmt: skip
