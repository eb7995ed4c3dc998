"""A table with the names of each function in minitensor, Paddle, PyTorch, NumPy and JAX.

It is the source of the book's appendix C. A cell is a line of code for one library, which runs after the library's
start code. ``facts/names.py`` ran the cells of the other libraries and recorded the results. The cells of minitensor
run in the tests and when the appendix is built. If the results in a row differ, the row has a note that says how.

This module imports nothing of minitensor, so that ``facts/names.py`` can import it without minitensor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The columns. minitensor has Paddle's names, so most rows have one cell for both.
LIBRARIES = ("minitensor", "paddle", "torch", "numpy", "jax")

#: The start code: ``x`` and ``y`` are matrices, ``w`` is a leaf that needs a gradient, ``a`` is a numpy array.
_TENSORS = (
    "import numpy as np\nimport {module}\na = np.array([1.0, 2.0, 3.0], np.float32)\n"
    "plain = lambda t: t.detach() if hasattr(t, 'detach') else t\n"
    "numbers = lambda t: np.asarray(plain(t)).tolist()\n"
    "x = {make}([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = {make}([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])\n"
)
STARTS = {
    "minitensor": _TENSORS.format(module="minitensor as mt", make="mt.to_tensor")
    + "w = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\naddress = lambda t: t.data_ptr()\n",
    "paddle": _TENSORS.format(module="paddle", make="paddle.to_tensor")
    + "w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\naddress = lambda t: t.data_ptr()\n",
    "torch": _TENSORS.format(module="torch", make="torch.tensor")
    + "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\naddress = lambda t: t.data_ptr()\n",
    "numpy": _TENSORS.format(module="numpy", make="np.float32")
    + "w = np.float32([1.0, 2.0, 3.0])\naddress = lambda t: t.ctypes.data\n",
    "jax": _TENSORS.format(module="jax", make="jax.numpy.float32")
    + "import jax.numpy as jnp\nw = jnp.float32([1.0, 2.0, 3.0])\naddress = lambda t: t.unsafe_buffer_pointer()\n",
}
_END = """\
before = x
where = address(x)
{cell}
"""

#: The results to compare, in words and as expressions. ``z`` is the value of the cell. If the cell is a statement,
#: ``z`` is the variable that the cell or the code before it assigns, or else ``x``.
ASKS = {
    "numbers": ("the result", "numbers(z)"),
    "x": ("x afterwards", "numbers(before)"),
    "w": ("w afterwards", "numbers(w)"),
    "gradient": ("the gradient", "None if w.grad is None else numbers(w.grad)"),
    "shares": ("does the result share the memory of x?", "address(z) == where"),
    "of a": ("does the result share the memory of the array?", "address(z) == a.ctypes.data"),
    "same": ("is the result x itself?", "z is before"),
    "dtype": ("the dtype", "str(z.dtype).rpartition('.')[2]"),
    "shape": ("shape", "list(z.shape)"),
    "value": ("the value", "z"),
    "truth": ("the value", "numbers(z)"),
    "array": ("the numbers of the array", "z.tolist()"),
    "array shares": ("does the array share the memory of x?", "z.ctypes.data == where"),
    "writable": ("can the array be written?", "z.flags.writeable"),
    "error": ("does it raise?", ""),
    "list": ("the value", "list(z)"),
    "is there": ("is there such a name?", "z is not None"),
}


@dataclass(frozen=True)
class NameRow:
    """The names of one function.

    Attributes:
        section: the heading under which the row appears.
        what: the function, in a few words.
        cells: one line of code for each library that has the function.
        ask: the results to compare, as keys of :data:`ASKS`.
        given: code that runs between the start code and the cell, for each library.
        note: the difference between the results; "" if they agree.
    """

    section: str
    what: str
    cells: dict[str, str]
    ask: tuple[str, ...]
    given: dict[str, str]
    note: str = ""

    def shown(self, library: str) -> str:
        """Return the cell for display; "" if the library lacks the function."""
        return self.cells.get(library, "").replace("z = ", "")

    @property
    def expressions(self) -> list[str]:
        """The expressions to evaluate after the cell."""
        return [ASKS[ask][1] for ask in self.ask if ask not in ("error", "")]

    def program(self, library: str) -> str:
        """Return the program for ``library``."""
        cell = _calls(self.cells[library], library)
        try:
            compile(cell, "<cell>", "eval")
            cell = f"z = {cell}"
        except SyntaxError:
            pass  # the cell is a statement
        given = _calls(self.given.get(library, ""), library)
        if "z = " not in given + cell:
            cell += "\nz = x"
        return STARTS[library] + _END.format(cell=f"{given}\n{cell}" if given else cell)


def _calls(code: str, library: str) -> str:
    """Return the code for ``library``: in Paddle's, ``mt`` is replaced by ``paddle``."""
    return re.sub(r"\bmt\.", "paddle.", code) if library == "paddle" else code


ROWS: list[NameRow] = []


def _row(section: str, what: str, both: str, torch: str, numpy: str, jax: str, ask: str, note: str = "", *,
         given: dict[str, str] | str = "", paddle: str | None = None) -> None:  # fmt: skip
    """Add a row. ``both`` is the cell of minitensor and, if ``paddle`` is None, of Paddle; "" means no cell."""
    cells = {
        "minitensor": both, "paddle": both if paddle is None else paddle, "torch": torch, "numpy": numpy, "jax": jax,
    }  # fmt: skip
    cells = {library: cell for library, cell in cells.items() if cell}
    if isinstance(given, str):
        given = dict.fromkeys(cells, given)
    elif "minitensor" in given:
        given = {"paddle": given["minitensor"], **given}
    ROWS.append(NameRow(section, what, cells, tuple(ask.split(", ")), given, note))


# The rows of the table, by section:
# fmt: off
# ---------- making tensors ----------

_S = "Making tensors"
_row(_S, "from numbers", "mt.to_tensor([1.0, 2.0])", "torch.tensor([1.0, 2.0])", "np.array([1.0, 2.0])",
     "jnp.array([1.0, 2.0])", "numbers, dtype",
     "Python's floats become float64 in NumPy and float32 elsewhere. A float64 array needs twice the bytes.")
_row(_S, "from an array, as a copy", "mt.to_tensor(a)", "torch.tensor(a)", "np.array(a)", "jnp.array(a)",
     "numbers, of a")
_row(_S, "from an array, sharing its memory", "mt.from_numpy(a)", "torch.from_numpy(a)", "np.asarray(a)", "",
     "of a, error", "Paddle 2.6.2 has no such name. In Paddle 3.3.1 the tensor is a copy, and does not see later "
     "writes into the array.")
_row(_S, "from a tensor of any library, sharing its memory", "mt.from_dlpack(x)", "torch.from_dlpack(x)",
     "np.from_dlpack(x)", "jnp.from_dlpack(x)", "numbers, shares",
     "DLPack is a protocol by which libraries hand each other arrays. In Paddle 2.6.2 the result is a copy on the CPU.",
     paddle="mt.utils.dlpack.from_dlpack(mt.utils.dlpack.to_dlpack(x))")
_row(_S, "zeros", "mt.zeros([2, 3])", "torch.zeros(2, 3)", "np.zeros((2, 3))", "jnp.zeros((2, 3))", "numbers, dtype",
     "NumPy makes float64 unless a dtype is given.")
_row(_S, "ones, like another", "mt.ones_like(x)", "torch.ones_like(x)", "np.ones_like(x)", "jnp.ones_like(x)",
     "numbers, dtype")
_row(_S, "filled with one number", "mt.full([2], 7.0)", "torch.full((2,), 7.0)", "np.full(2, 7.0)", "jnp.full(2, 7.0)",
     "numbers")
_row(_S, "integer range", "mt.arange(0, 6, 2)", "torch.arange(0, 6, 2)", "np.arange(0, 6, 2)", "jnp.arange(0, 6, 2)",
     "numbers, dtype", "JAX has no 64-bit integers unless `jax_enable_x64` is set.")
_row(_S, "evenly spaced numbers", "mt.linspace(0.0, 1.0, 5)", "torch.linspace(0.0, 1.0, 5)", "np.linspace(0.0, 1.0, 5)",
     "jnp.linspace(0.0, 1.0, 5)", "numbers")
_row(_S, "identity matrix", "mt.eye(2)", "torch.eye(2)", "np.eye(2)", "jnp.eye(2)", "numbers")
_row(_S, "random numbers, uniform", "mt.rand([2, 3])", "torch.rand(2, 3)", "np.random.rand(2, 3)",
     "jax.random.uniform(jax.random.key(0), (2, 3))", "shape")
_row(_S, "random numbers, normal", "mt.randn([2, 3])", "torch.randn(2, 3)", "np.random.randn(2, 3)",
     "jax.random.normal(jax.random.key(0), (2, 3))", "shape")
_row(_S, "random integers", "mt.randint(0, 9, [2, 3])", "torch.randint(0, 9, (2, 3))",
     "np.random.randint(0, 9, (2, 3))", "jax.random.randint(jax.random.key(0), (2, 3), 0, 9)", "shape")
_row(_S, "seed of the random numbers", "mt.seed", "torch.manual_seed", "np.random.seed", "jax.random.key",
     "is there")

# ---------- looking at a tensor ----------

_S = "Looking at a tensor"
_row(_S, "shape", "x.shape", "x.shape", "x.shape", "x.shape", "list")
_row(_S, "number of elements", "x.size", "x.numel()", "x.size", "x.size", "value")
_row(_S, "`size`", "x.size", "x.size()", "x.size", "x.size", "value",
     "In PyTorch `size` is a method and gives the shape. Elsewhere it is the number of elements.")
_row(_S, "number of dimensions", "x.ndim", "x.ndim", "x.ndim", "x.ndim", "value")
_row(_S, "strides", "x.strides", "x.stride()", "x.strides", "", "list",
     "NumPy counts strides in bytes, the others in elements. JAX has no name for them.")
_row(_S, "offset", "x.offset", "x.storage_offset()", "", "", "value",
     "Paddle counts the offset in bytes. minitensor and PyTorch count it in elements.",
     given={"minitensor": "x = x[1]", "torch": "x = x[1]"})
_row(_S, "dtype", "x.dtype", "x.dtype", "x.dtype", "x.dtype", "is there")
_row(_S, "address of the first element", "x.data_ptr()", "x.data_ptr()", "x.ctypes.data", "x.unsafe_buffer_pointer()",
     "is there")
_row(_S, "whether it is contiguous", "x.is_contiguous()", "x.is_contiguous()", "x.flags.c_contiguous", "", "value")
_row(_S, "version: the writes so far", "x.inplace_version", "x._version", "", "", "value",
     given={"minitensor": "x.zero_()", "torch": "x.zero_()"})
_row(_S, "device", "x.place", "x.device", "x.device", "x.device", "is there")
_row(_S, "one element as a number", "x[0, 0].item()", "x[0, 0].item()", "x[0, 0].item()", "x[0, 0].item()", "value")
_row(_S, "as lists", "x.tolist()", "x.tolist()", "x.tolist()", "x.tolist()", "value")
_row(_S, "as a NumPy array", "x.numpy()", "x.numpy()", "np.asarray(x)", "np.asarray(x)",
     "array, array shares, writable",
     "`numpy()` copies in minitensor and Paddle. In PyTorch the array shares the tensor's memory: a write into the "
     "array changes the tensor, and its version does not rise. In JAX the array shares the memory and is read-only.")

_row(_S, "as a NumPy array on the same memory", "x.numpy(share=True)", "x.numpy()", "np.asarray(x)", "np.asarray(x)",
     "array, array shares", paddle="")

# ---------- views and copies ----------

_S = "Views and copies"
_row(_S, "another shape", "x.reshape([3, 2])", "x.reshape(3, 2)", "x.reshape(3, 2)", "x.reshape(3, 2)",
     "numbers, shares",
     "A copy in JAX. It costs memory, and makes no other difference: JAX never writes into an array.")
_row(_S, "transposed", "x.transpose([1, 0])", "x.permute(1, 0)", "x.transpose(1, 0)", "x.transpose(1, 0)",
     "numbers, shares",
     "A copy in JAX. PyTorch has two names: `permute` takes the order of all dimensions, `transpose` exchanges two.")
_row(_S, "a slice", "x[:, 0:2]", "x[:, 0:2]", "x[:, 0:2]", "x[:, 0:2]", "numbers, shares", "A copy in JAX.")
_row(_S, "rows by an index list", "x[[0, 1]]", "x[[0, 1]]", "x[[0, 1]]", "x[jnp.array([0, 1])]", "numbers, shares")
_row(_S, "elements by a mask", "x[x > 2.0]", "x[x > 2.0]", "x[x > 2.0]", "x[x > 2.0]", "numbers")
_row(_S, "`split`", "x.split(3, axis=1)[0]", "x.split(3, dim=1)[0]", "np.split(x, 3, axis=1)[0]",
     "jnp.split(x, 3, axis=1)[0]", "numbers, shares",
     "In PyTorch the 3 is the length of each part, elsewhere it is the number of parts. The parts are views in "
     "PyTorch and NumPy: a write into one changes `x`. In minitensor, Paddle and JAX they are copies.")
_row(_S, "`chunk`", "x.chunk(3, axis=1)[0]", "x.chunk(3, dim=1)[0]", "np.array_split(x, 3, axis=1)[0]",
     "jnp.array_split(x, 3, axis=1)[0]", "numbers, shares",
     "The parts are views in PyTorch and NumPy, and copies in minitensor, Paddle and JAX.")
_row(_S, "broadcast to a shape", "x.expand([2, 2, 3])", "x.expand(2, 2, 3)", "np.broadcast_to(x, (2, 2, 3))",
     "jnp.broadcast_to(x, (2, 2, 3))", "numbers, shares",
     "A copy in minitensor, Paddle and JAX. In PyTorch and NumPy it is a view, in which several elements are one "
     "cell of memory.")
_row(_S, "a view of each row", "x.unbind(0)[0]", "x.unbind(0)[0]", "", "", "numbers, shares")
_row(_S, "one more dimension", "x.unsqueeze(0)", "x.unsqueeze(0)", "np.expand_dims(x, 0)", "jnp.expand_dims(x, 0)",
     "numbers, shares", "A copy in JAX.")
_row(_S, "`flatten`", "x.flatten()", "x.flatten()", "x.flatten()", "x.flatten()", "numbers, shares",
     "A view of this `x` in minitensor, Paddle and PyTorch. NumPy and JAX copy.")
_row(_S, "detached: requires no gradient", "x.detach()", "x.detach()", "", "jax.lax.stop_gradient(x)",
     "numbers, shares")
_row(_S, "a copy", "x.clone()", "x.clone()", "x.copy()", "x.copy()", "numbers, shares")
_row(_S, "joined along an axis", "mt.concat([x, y])", "torch.cat([x, y])", "np.concatenate([x, y])",
     "jnp.concatenate([x, y])", "numbers")
_row(_S, "stacked along a new axis", "mt.stack([x, y])", "torch.stack([x, y])", "np.stack([x, y])", "jnp.stack([x, y])",
     "numbers")
_row(_S, "rows by an index tensor", "x.index_select(mt.to_tensor([1]), axis=0)", "x.index_select(0, torch.tensor([1]))",
     "x.take([1], axis=0)", "x.take(jnp.array([1]), axis=0)", "numbers")
_row(_S, "`gather`", "x.gather(mt.to_tensor([1]))", "x.gather(0, torch.tensor([[1]]))", "", "", "numbers",
     "In minitensor and Paddle it takes whole rows, as `index_select` does. In PyTorch it takes single elements, as "
     "`take_along_axis` does elsewhere.")
_row(_S, "elements along an axis", "mt.take_along_axis(x, mt.to_tensor([[1, 0, 1]]), 0)",
     "torch.take_along_dim(x, torch.tensor([[1, 0, 1]]), 0)", "np.take_along_axis(x, np.array([[1, 0, 1]]), 0)",
     "jnp.take_along_axis(x, jnp.array([[1, 0, 1]]), 0)", "numbers")
_row(_S, "another dtype", 'x.astype("int32")', "x.to(torch.int32)", "x.astype(np.int32)", "x.astype(jnp.int32)",
     "numbers, dtype")

# ---------- computing ----------

_S = "Computing"
_row(_S, "matrix product", "mt.matmul(x, y.t())", "torch.matmul(x, y.t())", "np.matmul(x, y.T)", "jnp.matmul(x, y.T)",
     "numbers")
_row(_S, "sum along an axis", "x.sum(axis=0)", "x.sum(dim=0)", "x.sum(axis=0)", "x.sum(axis=0)", "numbers")
_row(_S, "largest along an axis", "x.max(axis=0)", "x.max(dim=0).values", "x.max(axis=0)", "x.max(axis=0)", "numbers")
_row(_S, "index of the largest", "x.argmax(axis=1)", "x.argmax(dim=1)", "x.argmax(axis=1)", "x.argmax(axis=1)",
     "numbers")
_row(_S, "one or the other by mask", "mt.where(x > 2.0, x, y)", "torch.where(x > 2.0, x, y)", "np.where(x > 2.0, x, y)",
     "jnp.where(x > 2.0, x, y)", "numbers")
_row(_S, "equal, element by element", "mt.equal(x, y)", "torch.eq(x, y)", "np.equal(x, y)", "jnp.equal(x, y)",
     "truth")
_row(_S, "`equal`", "mt.equal(x, y)", "torch.equal(x, y)", "np.equal(x, y)", "jnp.equal(x, y)", "truth",
     "PyTorch gives one truth value, and has `eq` for the comparison of elements. The others compare element by "
     "element.")
_row(_S, "whether all are equal", "mt.equal_all(x, y)", "torch.equal(x, y)", "np.array_equal(x, y)",
     "jnp.array_equal(x, y)", "truth")
_row(_S, "`round`", "mt.round(mt.to_tensor([0.5, 1.5, 2.5]))", "torch.round(torch.tensor([0.5, 1.5, 2.5]))",
     "np.round(np.float32([0.5, 1.5, 2.5]))", "jnp.round(jnp.array([0.5, 1.5, 2.5]))", "numbers",
     "A half is rounded away from zero in minitensor and Paddle 2.6.2. Elsewhere, Paddle 3.3.1 included, it is "
     "rounded to the even number.")
_row(_S, "integers, divided", "mt.to_tensor([1]) / mt.to_tensor([2])", "torch.tensor([1]) / torch.tensor([2])",
     "np.array([1]) / np.array([2])", "jnp.array([1]) / jnp.array([2])", "numbers, dtype",
     "The quotient is float64 in NumPy and float32 elsewhere.")
_row(_S, "float32 and float64 together", 'x + mt.ones([1], "float64")', "x + torch.ones(1, dtype=torch.float64)",
     "x + np.ones(1)", "", "numbers, dtype")

# ---------- writing in place ----------

_S = "Writing in place"
_NO_WRITES = "JAX never writes into an array: the name gets a new array, and the old one does not change."
_row(_S, "add", "x.add_(y)", "x.add_(y)", "np.add(x, y, out=x)", "", "x, same")
_row(_S, "`+=`", "x += y", "x += y", "x += y", "x += y", "x, same",
     "In PyTorch and NumPy it writes in place: every tensor on the same memory changes. In minitensor, Paddle and JAX "
     "the name gets a new tensor, and the old one does not change.")
_row(_S, "subtract", "x.subtract_(y)", "x.sub_(y)", "np.subtract(x, y, out=x)", "", "x, same")
_row(_S, "multiply", "x.multiply_(y)", "x.mul_(y)", "np.multiply(x, y, out=x)", "", "x, same")
_row(_S, "divide", "x.divide_(y)", "x.div_(y)", "np.divide(x, y, out=x)", "", "x, same")
_row(_S, "multiply by a number", "x.scale_(2.0)", "x.mul_(2.0)", "np.multiply(x, 2.0, out=x)", "", "x, same")
_row(_S, "a function, such as the sine", "x.sin_()", "x.sin_()", "np.sin(x, out=x)", "", "x, same")
_row(_S, "clip to two bounds", "x.clip_(2.0, 4.0)", "x.clamp_(2.0, 4.0)", "np.clip(x, 2.0, 4.0, out=x)", "",
     "x, same")
_row(_S, "ReLU", "mt.nn.functional.relu_(x)", "torch.nn.functional.relu_(x)", "np.maximum(x, 0, out=x)", "",
     "x, same")
_row(_S, "a part, by an index", "x[0] = 7.0", "x[0] = 7.0", "x[0] = 7.0", "x = x.at[0].set(7.0)", "x", _NO_WRITES)
_row(_S, "fill with one number", "x.fill_(7.0)", "x.fill_(7.0)", "x.fill(7.0)", "", "x")
_row(_S, "zeros", "x.zero_()", "x.zero_()", "x.fill(0.0)", "", "x")
_row(_S, "copy the numbers of another", "mt.assign(y, x)", "x.copy_(y)", "np.copyto(x, y)", "", "x")
_row(_S, "a result into another tensor", "mt.assign(x + y, y)", "torch.add(x, y, out=y)", "np.add(x, y, out=y)", "",
     "numbers")
_row(_S, "random numbers", "x.uniform_(0.0, 1.0)", "x.uniform_(0.0, 1.0)", "", "", "same")
_row(_S, "another shape", "x.reshape_([3, 2])", "", "x.shape = (3, 2)", "", "x")
_row(_S, "transposed", "x.transpose_([1, 0])", "x.transpose_(0, 1)", "", "", "x, same")
_row(_S, "add a number", "x.add_(1.0)", "x.add_(1.0)", "np.add(x, 1.0, out=x)", "", "x, error",
     "In Paddle the operand has to be a tensor.")

# ---------- gradients ----------

_S = "Gradients"
_row(_S, "requires a gradient", "w.stop_gradient", "w.requires_grad", "", "", "value",
     "The two names are opposites: `stop_gradient=False` means the same as `requires_grad=True`.")
_row(_S, "backward", "(w * w).sum().backward()", "(w * w).sum().backward()", "", "", "gradient")
_row(_S, "backward from many elements", "(w * w).backward()", "(w * w).backward()", "", "", "gradient, error",
     "minitensor and Paddle start backward with a gradient of ones. PyTorch refuses, and wants that gradient as an "
     "argument.")
_row(_S, "gradients that a call returns", "mt.grad((w * w).sum(), w)[0]", "torch.autograd.grad((w * w).sum(), w)[0]",
     "", "jax.grad(lambda w: (w * w).sum())(w)", "numbers")
_row(_S, "without recording", "mt.no_grad", "torch.no_grad", "", "", "is there")
_row(_S, "whether it records", "mt.is_grad_enabled()", "torch.is_grad_enabled()", "", "", "value")
_row(_S, "keep the gradient of a non-leaf", "(w * 1.0).retain_grads", "(w * 1.0).retain_grad", "", "",
     "is there")
_row(_S, "a hook on the gradient", "w.register_hook", "w.register_hook", "", "", "is there")
_row(_S, "stop requiring a gradient", "(w * 1.0).detach_()", "(w * 1.0).detach_()", "", "", "numbers")
_row(_S, "clear the gradient", "w.clear_gradient()", "w.grad = None", "", "", "gradient",
     "minitensor and Paddle fill the gradient with zeros, and its memory stays in use. In PyTorch there is no "
     "gradient afterwards. In minitensor and Paddle `clear_gradient(False)` does that.",
     given="(w * w).sum().backward()")
_row(_S, "a write into a leaf", "w.add_(mt.ones([3]))", "w.add_(torch.ones(3))", "", "", "w, error",
     "All three refuse it. Paddle raises the error after it has overwritten the numbers.")
_row(_S, "load numbers into a leaf", "w.set_value(np.zeros(3, np.float32))", "w.data.copy_(torch.zeros(3))", "", "",
     "w")
_row(_S, "a write hidden from backward", "b.detach().add_(mt.ones([3])); z.sum().backward()",
     "b.data.add_(torch.ones(3)); z.sum().backward()", "", "", "gradient, error",
     "The right gradient is [2, 4, 6]. PyTorch's `.data` has a separate version, so backward does not notice the "
     "write and computes a wrong gradient. Paddle notices it: in 2.6.2 `x.data` is `x` itself, in 3.3.1 an alias "
     "that shares the version. minitensor has no `.data` under Paddle's names; it notices a write through "
     "`detach()`.",
     given="b = w * 1.0\nz = b * b", paddle="b.data.add_(mt.ones([3])); z.sum().backward()")
_row(_S, "keep overwritten numbers for backward", 'mt.set_inplace_policy("copy_on_write")',
     "torch.autograd.graph.allow_mutation_on_saved_tensors()", "", "", "is there", paddle="")

# ---------- networks ----------

_S = "Layers and optimizers"
_row(_S, "base class of layers", "mt.nn.Layer", "torch.nn.Module", "", "", "is there")
_row(_S, "linear layer: shape of its weight", "mt.nn.Linear(3, 2).weight.shape", "torch.nn.Linear(3, 2).weight.shape",
     "", "", "list",
     "The shape is [in, out] in minitensor and Paddle, and [out, in] in PyTorch. Weights have to be transposed on "
     "the way from one to the other.")
_row(_S, "convolution: shape of its weight", "mt.nn.Conv2D(3, 8, 5).weight.shape",
     "torch.nn.Conv2d(3, 8, 5).weight.shape", "", "", "list")
_BATCH = {
    "minitensor": "norm, batch = mt.nn.BatchNorm2D(1), mt.arange(4, dtype='float32').reshape([1, 1, 2, 2])",
    "torch": "norm, batch = torch.nn.BatchNorm2d(1), torch.arange(4.0).reshape(1, 1, 2, 2)",
}
_row(_S, "running mean after a batch", "norm(batch); z = norm._mean", "norm(batch); z = norm.running_mean", "", "",
     "numbers", given=_BATCH)
_row(_S, "running variance after a batch", "norm(batch); z = norm._variance", "norm(batch); z = norm.running_var", "",
     "", "numbers",
     "For the variance PyTorch divides by one less than the number of elements. `momentum` also differs: in "
     "minitensor and Paddle 0.9 is the share of the old value, in PyTorch 0.1 is the share of the new one.",
     given=_BATCH)
_row(_S, "ReLU as a layer", "mt.nn.ReLU()(x)", "torch.nn.ReLU()(x)", "", "", "numbers, same")
_row(_S, "ReLU in place, as a layer", "mt.nn.functional.relu_(x)", "torch.nn.ReLU(inplace=True)(x)", "", "",
     "x, same")
_row(_S, "one after another", "mt.nn.Sequential", "torch.nn.Sequential", "", "", "is there")
_row(_S, "a list of layers", "mt.nn.LayerList", "torch.nn.ModuleList", "", "", "is there")
_row(_S, "names of parameters", "[name for name, _ in mt.nn.Linear(2, 1).named_parameters()]",
     "[name for name, _ in torch.nn.Linear(2, 1).named_parameters()]", "", "", "list")
_row(_S, "load a state", "mt.nn.Linear(2, 1).set_state_dict", "torch.nn.Linear(2, 1).load_state_dict", "", "",
     "is there")
_row(_S, "cross entropy", "mt.nn.functional.cross_entropy(x, mt.to_tensor([2, 0]))",
     "torch.nn.functional.cross_entropy(x, torch.tensor([2, 0]))", "", "", "numbers")
_row(_S, "gradient descent", "mt.optimizer.SGD(0.5, parameters=[w])", "torch.optim.SGD([w], lr=0.5)", "", "",
     "is there")
_OPTIMIZER = {
    "minitensor": "(w * w).sum().backward()\nopt = mt.optimizer.SGD(0.5, parameters=[w])",
    "torch": "(w * w).sum().backward()\nopt = torch.optim.SGD([w], lr=0.5)",
}
_row(_S, "a step", "opt.step()", "opt.step()", "", "", "w", given=_OPTIMIZER)
_row(_S, "writes counted after a step", "opt.step(); z = w.inplace_version", "opt.step(); z = w._version", "", "",
     "value",
     "A step writes into the weights. Paddle does not count that write. A backward that still needs the old weights "
     "then uses the new ones without an error.",
     given=_OPTIMIZER)
_row(_S, "gradients after clearing them", "opt.clear_grad()", "opt.zero_grad()", "", "", "gradient",
     "The gradient is zeros in minitensor and Paddle, and None in PyTorch.", given=_OPTIMIZER)
_row(_S, "momentum", "mt.optimizer.Momentum(0.1, 0.9, parameters=[w])", "torch.optim.SGD([w], lr=0.1, momentum=0.9)",
     "", "", "is there")
_row(_S, "Adam with weight decay", "mt.optimizer.AdamW(parameters=[w])", "torch.optim.AdamW([w])", "", "",
     "is there")

# ---------- devices ----------

_S = "Devices and memory"
_row(_S, "where new tensors are made", 'mt.set_device("cpu")', 'torch.set_default_device("cpu")', "",
     'jax.default_device(jax.devices("cpu")[0])', "")
_row(_S, "to the host", "x.cpu()", "x.cpu()", "", 'jax.device_put(x, jax.devices("cpu")[0])', "numbers")
_row(_S, "to a GPU", "x.cuda", "x.cuda", "", "jax.device_put", "is there")
_row(_S, "bytes in use", "mt.device.cuda.memory_allocated", "torch.cuda.memory_allocated", "", "", "is there")
_row(_S, "most bytes at once", "mt.device.cuda.max_memory_allocated", "torch.cuda.max_memory_allocated", "", "",
     "is there")
_row(_S, "bytes that the allocator holds", "mt.device.cuda.memory_reserved", "torch.cuda.memory_reserved", "", "",
     "is there")
_row(_S, "give unused memory back", "mt.device.cuda.empty_cache", "torch.cuda.empty_cache", "", "", "is there")
_row(_S, "wait for the device", "mt.device.cuda.synchronize", "torch.cuda.synchronize", "", "jax.block_until_ready",
     "is there")
