"""PyTorch's names and parameters for the rows of the derivative table, and PyTorch's rules if Paddle's are different.

A *spelling* gives a row PyTorch's names. It also replaces fields of the row if PyTorch computes another result than
Paddle (``round``) or another derivative (at a tie of ``maximum``, at the bounds of ``clamp``), or if it saves other
tensors (division).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from minitensor.engine.core.history import Node
from minitensor.engine.kernels import reducing
from minitensor.engine.operations.operands import CONSTANT
from minitensor.engine.saved.saved import FREED
from minitensor.engine.table import ROWS, Row
from minitensor.torch import kernels

#: Maps the engine's names of operands and arguments to PyTorch's.
RENAMED = {"x": "input", "y": "other", "axis": "dim", "arr": "input", "indices": "index"}


@dataclass(frozen=True, eq=False)
class Spelling:
    """A row of the derivative table under PyTorch's names.

    Attributes:
        names: PyTorch's names of the function; the first is the main one.
        row: the row of the table. Fields that differ between PyTorch and Paddle are PyTorch's.
        parameters: the parameters before ``*``, as source text.
        keywords: the parameters after ``*``, as source text.
        prologue: the first statements of the function. ``{_}`` becomes "_" in the in-place form, and "" in the normal.
        renamed: maps the row's names of operands and arguments to PyTorch's.
        out: True if the normal function has a keyword ``out``.
        found: words for the namespaces of the function. ``Tensor``, ``torch`` and ``F`` mean that the normal function
            is a method of tensors, in the module ``torch`` and in nn.functional; ``Tensor_``, ``torch_`` and ``F_``
            mean the same of the in-place function. With ``F``, the normal function has a keyword ``inplace``; with
            ``f``, it is in nn.functional without this keyword. A single in-place name, such as ``abs_``, adds only that
            name to the module ``torch``.
        grad_name: the name of ``grad_fn``, or a function that takes the node and returns the name. If it is None, the
            name is made from the row's name.
    """

    names: tuple[str, ...]
    row: Row
    parameters: str
    keywords: str
    prologue: str
    renamed: dict[str, str]
    out: bool
    found: frozenset[str]
    grad_name: str | Callable[[Node], str] | None

    def found_in(self, namespace: str) -> list[str]:
        """Return the function's names in ``namespace``, one of the words that :attr:`found` explains; [] if none."""
        last = "_" if namespace.endswith("_") else ""
        if not (self.row.in_place if last else self.row.normal):
            return []
        if namespace in self.found:
            return [name + last for name in self.names]
        return [f"{name}_" for name in self.names if namespace == "torch_" and f"{name}_" in self.found]

    def text(self, in_place: bool) -> tuple[str, str]:
        """Return the signature and the first statements of the normal or the in-place function, as source text."""
        keywords = [self.keywords] if self.keywords else []
        first = []
        if "keepdim=" in self.parameters:  # PyTorch accepts NumPy's names, too
            keywords.append("axis=None, keepdims=None")
            first += ["if axis is not None: dim = axis", "if keepdims is not None: keepdim = keepdims"]
        if self.out and not in_place:
            names = re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", self.parameters)
            given = [*names, *(f"{name}={name}" for name in re.findall(r"(\w+)\s*=", self.keywords))]
            keywords.append("out=None")
            first.append(
                f"if out is not None: return write_into_out({self.names[0]!r}, redirect, out, {', '.join(given)})"
            )
        known = [name for name in (*self.row.operands, *self.row.argument_names) if name in self.renamed]
        if known:
            first.append(f"{', '.join(known)} = {', '.join(self.renamed[name] for name in known)}")
        first += [self.prologue] if self.prologue else []
        signature = ", ".join([self.parameters, *(["*", *keywords] if keywords else [])])
        return signature, "\n".join(first)


SPELLINGS: list[Spelling] = []


def spell(
    names: str,
    row: str = "",
    parameters: str = "",
    *,
    keywords: str = "",
    prologue: str = "",
    renamed: dict[str, str] | None = None,
    out: bool = True,
    found: str = "Tensor Tensor_ torch",
    grad_name: Any = None,
    **changes: Any,
) -> None:
    """Add a :class:`Spelling` to ``SPELLINGS``.

    Args:
        names: PyTorch's names, separated by blanks.
        row: the name of the row; by default the first of ``names``.
        parameters: by default the row's operands and arguments, renamed by ``RENAMED``.
        found: the words of :attr:`Spelling.found`, separated by blanks.
        changes: fields of the row to replace.

    Raises:
        ValueError: if another spelling has one of the names.
    """
    own = tuple(names.split())
    if twice := {name for spelling in SPELLINGS for name in spelling.names}.intersection(own):
        raise ValueError(f"PyTorch's vocabulary spells {', '.join(sorted(twice))} already")
    source = ROWS[row or own[0]]
    if changes:
        source = replace(source, **changes)
    given = (*source.operands, *source.arguments)
    if not parameters:
        parameters = ", ".join(re.sub(r"^\w+", lambda m: RENAMED.get(m[0], m[0]), each) for each in given)
    here = set(re.findall(r"\b[a-z]\w*\b", parameters))
    renamed = renamed or {}
    renamed = {name: renamed.get(name, RENAMED.get(name, name)) for name in (*source.operands, *source.argument_names)}
    renamed = {name: new for name, new in renamed.items() if new != name and new in here | set(keywords.split("="))}
    SPELLINGS.append(
        Spelling(own, source, parameters, keywords, prologue, renamed, out, frozenset(found.split()), grad_name)
    )


#: The namespaces of most functions of one operand.
_ALSO_IN_PLACE = "Tensor Tensor_ torch torch_"

# ---------- arithmetic ----------


def _pow_name(node: Node) -> str:
    """Return the name of ``grad_fn`` for a power, which depends on whether the exponent is a number or a tensor."""
    if node.inputs[1] is None and (node.saved is FREED or node.saved[1] is None or node.saved[1][1] is CONSTANT):
        return "PowBackward0"
    return "PowBackward1"


def _matmul_name(node: Node) -> str:
    return f"{('Dot', 'Mv', 'Mm')[len(node.shape)] if len(node.shape) < 3 else 'UnsafeView'}Backward0"


def _narrow(name: str, arguments: str) -> str:
    """Return the prologue of a reduction or scan that computes integers of fewer than 64 bits in int64."""
    call = f"redirect('{name}', in_dtype(x, dtype), {arguments})"
    return f"if dtype is not None and not '{{_}}' and is_narrow(dtype): return in_dtype({call}, dtype)"


def _reduction_name(name: str) -> Callable[[Node], str]:
    """Return a function that takes the node of a reduction and returns the name of ``grad_fn``.

    The name ends in 0 if all dimensions are reduced, and in 1 if the call names dimensions.
    """
    return lambda node: f"{name}Backward{0 if node.saved is FREED or node.saved[-2] is None else 1}"


_SCALED = "if not (type(alpha) in (int, float) and alpha == 1): y = scale_operand('{}{{_}}', redirect, x, y, alpha)"
_ROUNDED = "if rounding_mode is not None: return redirect(rounded('div{_}', rounding_mode), x, y)"

spell("add", keywords="alpha=1", prologue=_SCALED.format("add"))
spell(
    "sub subtract", "subtract", keywords="alpha=1", prologue=f"refuse_bool_subtraction(x, y)\n{_SCALED.format('sub')}"
)
spell("mul multiply", "multiply")
spell("div divide true_divide", "divide", keywords="rounding_mode=None", prologue=_ROUNDED,
      rules={"x": "g / y", "y": "-g * (x / y) / y"})  # fmt: skip
spell("pow", "pow", "input, exponent", renamed={"y": "exponent"}, grad_name=_pow_name, forward=kernels.power)
spell("floor_divide", in_place=True)
spell("trunc_divide", found="", grad_name="DivBackward0")
spell("remainder", forward=kernels.remainder)
spell("fmod", grad_name=lambda node: f"FmodBackward{0 if node.inputs[1] is None else 1}")
# If one operand is nan, the result is nan. As in PyTorch, both operands then get the whole gradient.
spell("maximum", in_place=False, doc="The larger of two elements; at a tie each gets half of the gradient.",
      rules={"x": "where(x < y, 0, where(x == y, g * 0.5, g))",
             "y": "where(y < x, 0, where(y == x, g * 0.5, g))"})  # fmt: skip
spell("minimum", in_place=False, doc="The smaller of two elements; at a tie each gets half of the gradient.",
      rules={"x": "where(x > y, 0, where(x == y, g * 0.5, g))",
             "y": "where(y > x, 0, where(y == x, g * 0.5, g))"})  # fmt: skip
spell("neg negative", "neg", found=_ALSO_IN_PLACE)
spell("abs absolute", "abs", found="Tensor Tensor_ torch abs_")
spell("clamp clip", "clip", marks={"passed": "within_bounds(x, min, max)"}, grad_name="ClampBackward1",
      prologue="if min is None and max is None: raise no_bounds_error()\n"
               "if isinstance(min, BaseTensor) or isinstance(max, BaseTensor): "
               "return clamp_by_tensors('clamp{_}', redirect, x, min, max)\n"
               "check_numbers(x, min, max)",
      found=_ALSO_IN_PLACE)  # fmt: skip
spell("sign", in_place=True, forward=kernels.sign)
for _name in ("square", "sqrt", "rsqrt", "reciprocal"):
    spell(_name, grad_name="PowBackward0" if _name == "square" else None, found=_ALSO_IN_PLACE)
spell("matmul", "matmul", "input, other", prologue="transpose_x = transpose_y = False", grad_name=_matmul_name,
      doc="Matrix product over the last two dimensions.",
      takes="x [..., n, k] and y [..., k, m], or [k] for a vector; leading dimensions are broadcast")  # fmt: skip
spell("addmm", "addmm", "input, mat1, mat2", keywords="beta=1, alpha=1", renamed={"x": "mat1", "y": "mat2"},
      same_dtype=("input", "x", "y"),
      prologue="need_same_dtypes('addmm', input, x, y)\ncheck_numbers(input, beta, alpha, wide=True)")  # fmt: skip
spell("baddbmm", "baddbmm", "input, batch1, batch2", keywords="beta=1, alpha=1",
      renamed={"x": "batch1", "y": "batch2"}, same_dtype=("input", "x", "y"),
      prologue="need_same_dtypes('baddbmm', input, x, y)\ncheck_numbers(input, beta, alpha, wide=True)")  # fmt: skip
spell("renorm", "renorm", "input, p, dim, maxnorm", renamed={"max_norm": "maxnorm"})

# ---------- functions of one number or two ----------

for _name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinc", "sinh", "cosh",
              "erf", "i0", "ldexp", "floor", "ceil", "gcd", "lcm"):  # fmt: skip
    spell(_name, found=_ALSO_IN_PLACE)
for _name in ("sigmoid", "tanh"):
    spell(_name, found=f"{_ALSO_IN_PLACE} f")
for _name in ("lgamma", "digamma", "hypot", "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor",
              "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"):  # fmt: skip
    spell(_name, out=not _name.startswith("is"))
spell("copysign", marks={}, rules={"x": "where(x == 0, 0, g * (out / where(x == 0, 1, x)))", "y": "zeros_like(g)"})
spell("atan2 arctan2", "atan2", in_place=True, marks={"origin": "logical_and(x == 0, y == 0)"},
      rules={"x": "g * (y * where(origin, 0, reciprocal(x * x + y * y)))",
             "y": "g * (-x * where(origin, 0, reciprocal(x * x + y * y)))"})  # fmt: skip
for _name in ("fmax", "fmin", "signbit"):
    spell(_name)
spell("heaviside", "heaviside", "input, values", renamed={"y": "values"}, in_place=True,
      same_dtype=("x", "y"), prologue="need_same_dtype('heaviside', x, y, 'values')",
      rules={"x": "no_slope('heaviside')", "y": "no_slope('heaviside')"})  # fmt: skip
spell("erfinv", rules={"x": "g * 0.8862269254527580 * exp(square(erfinv(x)))"})
spell("asin arcsin", "asin", found=_ALSO_IN_PLACE)
spell("acos arccos", "acos", found=_ALSO_IN_PLACE)
spell("atan arctan", "atan", found=_ALSO_IN_PLACE)
spell("asinh arcsinh", "asinh", found=_ALSO_IN_PLACE)
spell("acosh arccosh", "acosh", found=_ALSO_IN_PLACE)
spell("atanh arctanh", "atanh", found=_ALSO_IN_PLACE)
spell("trunc fix", "trunc", found=_ALSO_IN_PLACE)
spell("round", keywords="decimals=0", parameters="input", forward=kernels.round_half_to_even,
      found=_ALSO_IN_PLACE,
      doc="x rounded to as many decimal places as decimals says (-2 means hundreds); halves are rounded to the even "
          "neighbour.")  # fmt: skip
spell("frac", prologue="need_floats_for_kernel('frac_cpu', x)", forward=kernels.frac, found=_ALSO_IN_PLACE)
spell("logit", found=_ALSO_IN_PLACE)
spell("polygamma", "polygamma", "n, input", grad_name="PolygammaBackward0")
spell("xlogy", found=_ALSO_IN_PLACE)
spell("lerp", "lerp", "input, end, weight", renamed={"y": "end"}, floats=False,
      doc="x + weight * (y - x): x for weight 0, y for weight 1. A weight without dimensions may have any dtype.",
      same_dtype=("x", "y", "weight"), refuses=("NotImplementedError: for integers and bools.",),
      prologue="need_same_dtype('lerp', x, y)\n"
               "if isinstance(weight, BaseTensor) and weight._array.ndim: "
               "need_same_dtype('lerp', x, weight, 'weight')\nneed_floats_for_kernel("
               "'lerp_kernel_tensor' if isinstance(weight, BaseTensor) else 'lerp_kernel_scalar', x)",
      forward=kernels.lerp)  # fmt: skip
spell("nan_to_num", found=_ALSO_IN_PLACE)
spell("bitwise_left_shift", "bitwise_left_shift", "input, other", prologue="is_arithmetic = True",
      doc="The bits of x, y places to the left; zeros enter from the right.")  # fmt: skip
spell("bitwise_right_shift", "bitwise_right_shift", "input, other", prologue="is_arithmetic = True",
      doc="The bits of x, y places to the right; the sign bit enters from the left.")  # fmt: skip
for _names, _row in {"gt greater": "greater_than", "ge greater_equal": "greater_equal", "lt less": "less_than",
                     "le less_equal": "less_equal", "eq": "equal", "ne not_equal": "not_equal"}.items():  # fmt: skip
    # As in PyTorch, the in-place result requires a gradient if an operand does, although both gradients are 0.
    spell(_names, _row, zero_slopes=("x", "y"), promote=("x", "y"),
          prologue="if '{_}': y = with_gradient_like(x, y)")  # fmt: skip

# ---------- reductions and scans ----------

_IN_DTYPE = "if dtype is not None: x = in_dtype(x, dtype)"
_REDUCED = "input, dim=None, keepdim=False"
_DIM = "axis = reduction_dims(x, axis)"
_ONE_DIM = "axis = reduction_dims(x, axis if axis is None else need_one_dim('prod', axis))"
spell("sum", "sum", _REDUCED, forward=reducing.sum_long, keywords="dtype=None", grad_name=_reduction_name("Sum"),
      prologue=f"{_narrow('sum', 'axis, keepdim')}\n{_IN_DTYPE}\n{_DIM}")  # fmt: skip
spell("prod", "prod", _REDUCED, forward=reducing.prod_long, keywords="dtype=None",
      prologue=f"{_narrow('prod', 'axis, keepdim')}\n{_IN_DTYPE}\n{_ONE_DIM}",
      grad_name=_reduction_name("Prod"))  # fmt: skip
spell("mean", "mean", _REDUCED, keywords="dtype=None", floats=False,
      doc="Mean along axis (by default, of all elements).",
      prologue=f"{_IN_DTYPE}\nx = need_floats('mean', x)\n{_DIM}", grad_name=_reduction_name("Mean"))  # fmt: skip
spell("amax", "max", "input, dim=(), keepdim=False", prologue=_DIM, grad_name="AmaxBackward0")
spell("amin", "min", "input, dim=(), keepdim=False", prologue=_DIM, grad_name="AminBackward0")
_SCAN = "The {} of each element and those before it along dim; dtype, if given, is the dtype of the result."
_CHECKED = "if '{{_}}' or dtype is not None: check_scan('{0}{{_}}', x, dtype)"
_SCANNED = f"{_IN_DTYPE}\nelse: x = as_long(x, '{{_}}')"
spell("cumsum", "cumsum", "input, dim", keywords="dtype=None",
      prologue=f"{_CHECKED.format('cumsum')}\n{_narrow('cumsum', 'axis')}\n{_SCANNED}\nneed_one_dim('cumsum', axis)",
      gives="", doc=_SCAN.format("sum"))  # fmt: skip
spell("cumprod", "cumprod", "input, dim", keywords="dtype=None",
      prologue=f"{_CHECKED.format('cumprod')}\n{_narrow('cumprod', 'dim')}\n{_SCANNED}\nneed_one_dim('cumprod', dim)",
      gives="", doc=_SCAN.format("product"))  # fmt: skip
spell("log_sigmoid", found="")
spell("softmax", "softmax", "input, dim, dtype=None", found="Tensor torch",
      prologue=f"{_IN_DTYPE}\nneed_floats_for_kernel('softmax_kernel_impl', x)\n"
               "need_one_dim('softmax', axis)")  # fmt: skip

# ---------- networks ----------

# As in PyTorch, if backward is recorded (`create_graph=True`), the graph connects the gradients of these functions with
# the tensors that they saved, although the derivative with respect to the saved tensors is 0. Comparisons with nan are
# false. Therefore these functions have the slope 1 at nan, except `leaky_relu`, which has `negative_slope`.
spell("relu", found=f"{_ALSO_IN_PLACE} F F_", rules={"x": "with_no_slope(where(out <= 0, 0, g), out)"})
spell("relu6", "relu6", "input", out=False, found="F", grad_name="HardtanhBackward0",
      marks={"outside": "at_or_beyond_bounds(x, 0, 6)"}, rules={"x": "where(outside, 0, g)"},
      forward=kernels.relu6, floats=False)  # fmt: skip
spell("leaky_relu", "leaky_relu", "input, negative_slope=0.01", out=False, found="F F_", rules={
      "x": "with_no_slope(where(out > 0, g, g * negative_slope if negative_slope else 0), out)"})  # fmt: skip
spell("elu", "elu", "input, alpha=1.0", out=False, found="F F_",
      rules={"x": "where(out <= 0, g * (out + alpha) if alpha else 0, g)"})  # fmt: skip
spell("hardtanh", "hardtanh", "input, min_val=-1.0, max_val=1.0", renamed={"min": "min_val", "max": "max_val"},
      marks={"outside": "at_or_beyond_bounds(x, min, max)"}, rules={"x": "where(outside, 0, g)"},
      forward=kernels.hardtanh, floats=False,
      prepare=kernels.hardtanh_arguments, prologue="check_numbers(x, min, max)", out=False, found="F F_")  # fmt: skip
spell("threshold", "thresholded_relu", "input, threshold, value", out=False, grad_name="ThresholdBackward0",
      marks={"below": "x <= threshold"}, rules={"x": "where(below, 0, g)"},
      prologue="check_numbers(x, threshold, value)", found="torch torch_ F F_")  # fmt: skip

# ---------- choosing, overwriting ----------

spell("where", "where", "condition, input, other", in_place=False, prologue="condition = as_mask('where', condition)",
      doc="x where condition is true, else y.", out=False)  # fmt: skip
spell("clone", out=False, found="")
spell("fill", "fill", "input, value", out=False, prologue="check_numbers(x, value)", found=_ALSO_IN_PLACE,
      grad_name="FillBackward2")  # fmt: skip
spell("zero", "zero", "input", out=False, found=_ALSO_IN_PLACE, forward=kernels.zero)
spell("diag_embed", out=False, found="Tensor torch",
      prologue="offset = need_int('diag_embed', 'offset', offset, 2)")  # fmt: skip
for _name in ("tril", "triu"):
    spell(_name, prologue=f"diagonal = need_int('{_name}{{_}}', 'diagonal', diagonal)")
spell("fill_diagonal", "fill_diagonal", "input, fill_value, wrap=False", renamed={"value": "fill_value"},
      doc="x, with value on its main diagonal; with wrap, the diagonal of a tall matrix starts again after skipping "
          "a row.",
      prologue="offset = 0", normal=False, out=False)  # fmt: skip

# ---------- parts selected by an index or a mask ----------


def _index(name: str, stores: str = "", how: str = "storable", index: str = "index") -> str:
    """Return a prologue that checks ``index`` and, if ``stores`` names two operands, converts these with ``how``."""
    text = f"{index} = as_index('{name}{{_}}', index)"
    return text if not stores else f"{text}\n{stores} = {how}('{name}{{_}}', {stores})"


_EXACT = "broadcast = False"
_SCATTERED = (
    "{0} any, {1} with as many dimensions as {0}, of which none is longer than in {2}; {2} has the dtype of {0}"
)

spell("index_select", "index_select", "input, dim, index", prologue=_index("index_select"))
spell("index_add", "index_add", "input, dim, index, source", keywords="alpha=1", renamed={"value": "source"},
      takes="x any, index [n], value shaped as x except for length n along axis, and of the dtype of x", promote=(),
      prologue=_index("index_add", "x, value", "same_dtype"))  # fmt: skip
spell("index_fill", "index_fill", "input, dim, index, value", prologue=_index("index_fill", "x, value"), out=False)
spell("gather", "take_along_axis", "input, dim, index", gives="the shape of indices",
      prologue=f"{_index('gather', index='indices')}\n{_EXACT}",
      doc="The elements of arr at the positions along axis that indices contains.",
      grad_name="GatherBackward0")  # fmt: skip
spell("take_along_dim", "take_along_axis", "input, indices, dim=None", renamed={"indices": "indices"},
      doc="The elements of arr at the positions along axis that indices contains; both are broadcast along all other "
      "dimensions. If axis is None, indices contains positions in the flattened arr.",
      prologue="indices = as_index('take_along_dim', indices)\nbroadcast = True\n"
      "arr, indices, axis = flat_without_dim('take_along_dim', arr, indices, axis)",
      grad_name="GatherBackward0")  # fmt: skip
spell("scatter", "put_along_axis", "input, dim, index, src", renamed={"values": "src"},
      takes=_SCATTERED.format("arr", "indices", "values"),
      doc="arr, with values at the positions along axis that indices contains; of several values for one position, the "
      "last remains.",
      prologue=f"need_same_ndim('scatter', index, src)\n"
            f"{_index('scatter', 'arr, values', 'same_dtype', 'indices')}\n{_EXACT}",
      grad_name="ScatterBackward0")  # fmt: skip
spell("scatter_add", "scatter_add", "input, dim, index, src", takes=_SCATTERED.format("input", "index", "src"),
      promote=(),
      prologue="need_same_ndim('scatter_add', index, src)\n"
               + _index("scatter_add", "input, src", "same_dtype"))  # fmt: skip
spell("masked_fill", "masked_fill", "input, mask, value", out=False,
      prologue="mask = as_mask('masked_fill{_}', mask)\nx, value = storable('masked_fill{_}', x, value)")  # fmt: skip
spell("masked_scatter", "masked_scatter", "input, mask, source", renamed={"value": "source"}, out=False,
      takes=f"{ROWS['masked_scatter'].takes}, and of the dtype of x",
      prologue="mask = as_mask('masked_scatter{_}', mask)\n"
            "x, value = same_dtype('masked_scatter{_}', x, value)")  # fmt: skip
spell("masked_select", "masked_select", "input, mask", prologue="mask = as_mask('masked_select', mask)")
spell("index_put", "index_put", "input, indices, values, accumulate=False", out=False,
      found=_ALSO_IN_PLACE,
      renamed={"value": "values", "indices": "indices"}, takes=f"{ROWS['index_put'].takes}, and has the dtype of x",
      prologue="x, value = same_dtype('index_put{_}', x, value)\nneed_index_sequence('index_put{_}', indices)\n"
            "rows, depth = as_rows('index_put{_}', x, indices)")  # fmt: skip

# ---------- random numbers ----------

spell("uniform", "uniform", "input, from_=0.0, to=1.0", keywords="generator=None", out=False,
      forward=kernels.uniform, renamed={"min": "from_", "max": "to"}, prologue="seed = generator", prepare=None,
      doc="Uniform random numbers between min and max, from generator or, if it is None, from the default generator.",
      arguments=("min", "max", "seed"))  # fmt: skip
spell("normal", "normal", "input, mean=0.0, std=1.0", keywords="generator=None", out=False, forward=kernels.normal,
      arguments=("mean", "std", "generator"), prepare=kernels.normal_arguments)  # fmt: skip
spell("bernoulli", "bernoulli", "input, p=0.5", keywords="generator=None", out=False, forward=kernels.bernoulli,
      arguments=("p", "generator"), prepare=kernels.bernoulli_arguments)  # fmt: skip
spell("exponential", "exponential", "input, lambd=1.0", keywords="generator=None", out=False,
      forward=kernels.exponential, arguments=("lambd", "generator"), prepare=None,
      doc="Numbers from the exponential distribution of rate lambd (mean 1 / lambd).",
      refuses=("ValueError: for lambd that is not above 0.", ROWS["exponential"].refuses[1]))  # fmt: skip
spell("random", "random", "input, from_=0, to=None", keywords="generator=None", out=False, forward=kernels.random,
      prepare=kernels.random_arguments)  # fmt: skip


def found_in(namespace: str) -> list[str]:
    """Return the names of all functions in ``namespace``, a word of :attr:`Spelling.found`."""
    return [name for spelling in SPELLINGS for name in spelling.found_in(namespace)]
