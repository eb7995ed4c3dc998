"""Record in aliases.json the results of the programs of chapter 4 in NumPy, PyTorch and Paddle.

python facts/aliases.py numpy      in an environment that has numpy
python facts/aliases.py torch
python facts/aliases.py paddle
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

LIBRARIES = ("numpy", "torch", "paddle")
MATRIX = {
    "numpy": "import numpy as np\nx = np.arange(1.0, 7.0).reshape(2, 3)\n",
    "torch": "import numpy as np\nx = torch.arange(1.0, 7.0).reshape(2, 3)\n",
    "paddle": "import numpy as np\nx = paddle.arange(1.0, 7.0).reshape([2, 3])\n",
}
# Shared memory is detected by a write and not by addresses: does `y` change if the numbers of `x` are overwritten?
SEEN = "before = np.array(y).tolist()\n{write}\nseen = np.array(y).tolist() != before"
WRITE = {"numpy": "x[:] = 0.0", "torch": "x.zero_()", "paddle": "x.zero_()"}


def makes(**programs: str) -> tuple[dict[str, str], list[str]]:
    """Return programs that make `y` from `x`, overwrite `x`, and check if `y` has changed."""
    return {
        library: MATRIX[library] + line + "\n" + SEEN.format(write=WRITE[library]) for library, line in programs.items()
    }, ["seen"]


def everywhere(line: str) -> tuple[dict[str, str], list[str]]:
    """Return programs that make `y` with the same line in all three libraries."""
    return makes(**dict.fromkeys(LIBRARIES, line))


def from_array(**programs: str) -> tuple[dict[str, str], list[str]]:
    """Return programs that make `y` from the array `x`, overwrite `x`, and check if `y` has changed."""
    start = "import numpy as np\nx = np.arange(1.0, 7.0)\n"
    return {library: start + line + "\n" + SEEN.format(write=WRITE["numpy"]) for library, line in programs.items()}, [
        "seen"
    ]


NUMBERS = {
    "numpy": "x = numpy.arange({0}, {1})\n",
    "torch": "x = torch.arange({0}, {1})\n",
    "paddle": "x = paddle.arange({0}, {1})\n",
}


def overlap(
    numpy: str, torch: str, paddle: str, first: float = 1.0, end: float = 6.0
) -> tuple[dict[str, str], list[str]]:
    """Return programs with a write to `x` that reads some of the cells that it overwrites."""
    lines = {"numpy": numpy, "torch": torch, "paddle": paddle}
    return {library: NUMBERS[library].format(first, end) + line for library, line in lines.items()}, ["x.tolist()"]


SQUARE = {
    "numpy": "x = numpy.arange(9.0).reshape(3, 3)\n",
    "torch": "x = torch.arange(9.0).reshape(3, 3)\n",
    "paddle": "x = paddle.arange(9.0).reshape([3, 3])\n",
}
PAIR = {
    "numpy": "x = numpy.array([1.0, 2.0])\ne = numpy.broadcast_to(x, (3, 2))\n",
    "torch": "x = torch.tensor([1.0, 2.0])\ne = x.expand(3, 2)\n",
    "paddle": "x = paddle.to_tensor([1.0, 2.0])\ne = x.expand([3, 2])\n",
}


def write_to_expanded(numpy: str, torch: str, paddle: str) -> tuple[dict[str, str], list[str]]:
    """Return programs with a write to `e`, which is `x` expanded to three rows."""
    lines = {"numpy": numpy, "torch": torch, "paddle": paddle}
    return {library: PAIR[library] + line for library, line in lines.items()}, ["x.tolist()", "e.tolist()"]


def square(lines: dict[str, str]) -> dict[str, str]:
    """Return programs that work on a matrix `x` of 3 x 3."""
    return {library: SQUARE[library] + line for library, line in lines.items()}


ASSIGNED = ["y.tolist()", "y is before", "address(y) == where", "y.inplace_version", "y._version"]


def assigned(**lines: str) -> tuple[dict[str, str], list[str]]:
    """Return programs with a line that computes `x + y` and assigns or writes it to `y`."""
    start = {
        "numpy": "address = lambda a: a.ctypes.data\nx, y = numpy.ones(2), numpy.ones(2)\n",
        "torch": "address = lambda a: a.data_ptr()\nx, y = torch.ones(2), torch.ones(2)\n",
        "paddle": "address = lambda a: a.data_ptr()\nx, y = paddle.ones([2]), paddle.ones([2])\n",
    }
    return {
        library: start[library] + "before, where = y, address(y)\n" + line for library, line in lines.items()
    }, ASSIGNED


QUESTIONS: Questions = {
    # Does a write to `x` change `y`?
    "y = x": everywhere("y = x"),
    "reshape": makes(numpy="y = x.reshape(6)", torch="y = x.reshape(6)", paddle="y = x.reshape([6])"),
    "view": makes(torch="y = x.view(6)", paddle="y = x.view([6])"),
    "transpose": everywhere("y = x.T"),
    "x[:]": everywhere("y = x[:]"),
    "slice": everywhere("y = x[:, 0:2]"),
    "one row": everywhere("y = x[0]"),
    "detach": makes(torch="y = x.detach()", paddle="y = x.detach()"),
    "numpy()": makes(torch="y = x.numpy()", paddle="y = x.numpy()"),
    "asarray of a tensor": makes(torch="y = np.asarray(x)", paddle="y = np.asarray(x)"),
    "from_numpy": from_array(torch="y = torch.from_numpy(x)", paddle="y = paddle.from_numpy(x)"),
    "to_tensor of an array": from_array(torch="y = torch.tensor(x)", paddle="y = paddle.to_tensor(x)"),
    "from_dlpack": makes(
        torch="y = torch.from_dlpack(x)", paddle="y = paddle.utils.dlpack.from_dlpack(paddle.utils.dlpack.to_dlpack(x))"
    ),
    "from_dlpack of an array": from_array(
        numpy="y = np.from_dlpack(x)", torch="y = torch.from_dlpack(x)", paddle="y = paddle.from_dlpack(x)"
    ),
    "a model's output": makes(
        torch="with torch.no_grad():\n    y = torch.nn.Linear(3, 2)(x)",
        paddle="with paddle.no_grad():\n    y = paddle.nn.Linear(3, 2)(x)",
    ),
    "a model that only reshapes": makes(torch="y = torch.nn.Flatten(0)(x)", paddle="y = paddle.nn.Flatten(0)(x)"),
    "index_select": makes(
        numpy="y = x.take([0, 2], axis=1)",
        torch="y = x.index_select(1, torch.tensor([0, 2]))",
        paddle="y = x.index_select(paddle.to_tensor([0, 2]), axis=1)",
    ),
    "masked_select": makes(
        numpy="y = x.compress((x > 2.0).ravel())",
        torch="y = x.masked_select(x > 2.0)",
        paddle="y = x.masked_select(x > 2.0)",
    ),
    "gather": makes(
        torch="y = x.gather(0, torch.tensor([[1, 0, 1]]))", paddle="y = x.gather(paddle.to_tensor([1, 0]))"
    ),
    "an index array": makes(numpy="y = x[[0, 1]]", torch="y = x[[0, 1]]", paddle="y = x[paddle.to_tensor([0, 1])]"),
    "a mask": everywhere("y = x[x > 2.0]"),
    "clone": makes(numpy="y = x.copy()", torch="y = x.clone()", paddle="y = x.clone()"),
    "split": makes(
        numpy="y = np.split(x, 3, axis=1)[0]", torch="y = x.split(1, dim=1)[0]", paddle="y = x.split(3, axis=1)[0]"
    ),
    "chunk": makes(torch="y = x.chunk(2)[0]", paddle="y = x.chunk(2)[0]"),
    "expand": makes(
        numpy="y = np.broadcast_to(x, (4, 2, 3))", torch="y = x.expand(4, 2, 3)", paddle="y = x.expand([4, 2, 3])"
    ),
    "reshape of a transposed": makes(
        numpy="y = x.T.reshape(6)", torch="y = x.T.reshape(6)", paddle="y = x.T.reshape([6])"
    ),
    # Writes to an array that shares the memory of `x`.
    "a write through numpy()": (
        {
            "torch": "x = torch.ones(3)\nn = x.numpy()\nn[0] = 7.0",
            "paddle": "x = paddle.ones([3])\nn = x.numpy()\nn[0] = 7.0",
        },
        ["x.tolist()", "x._version", "x.inplace_version"],
    ),
    "a saved tensor, written through numpy": (
        {
            "torch": "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\nx = w * 1.0\ny = x * x\n"
            "x.detach().numpy()[:] = 9.0\ny.sum().backward()",
            "paddle": "w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\nx = w * 1.0\ny = x * x\n"
            "x.detach().numpy()[:] = 9.0\ny.sum().backward()",
        },
        ["w.grad.tolist()"],
    ),
    # Identity.
    "ids of dead temporaries": (
        {
            "numpy": "x = numpy.zeros(4)\nsame = id(x[0:2]) == id(x[2:4])",
            "torch": "x = torch.zeros(4)\nsame = id(x[0:2]) == id(x[2:4])",
            "paddle": "x = paddle.zeros([4])\nsame = id(x[0:2]) == id(x[2:4])",
        },
        ["same"],
    ),
    "id of detach": (
        {"torch": "x = torch.zeros(4)\ny = x.detach()", "paddle": "x = paddle.zeros([4])\ny = x.detach()"},
        ["id(y) == id(x)", "y.data_ptr() == x.data_ptr()"],
    ),
    "calls that tell": (
        {
            "numpy": "x = numpy.zeros(4)\nsame = numpy.shares_memory",
            "torch": "x = torch.zeros(4)\n"
            "same = lambda a, b: a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()",
            "paddle": "x = paddle.zeros([4])\nsame = lambda a, b: a._is_shared_buffer_with(b)",
        },
        ["same(x, x[2:4])", "same(x[0:2], x[2:4])", "same(x, x + 0.0)"],
    ),
    # Writes to the same memory.
    "y = y + x": assigned(**dict.fromkeys(LIBRARIES, "y = y + x")),
    "y += x": assigned(**dict.fromkeys(LIBRARIES, "y += x")),
    "y[:] = y + x": assigned(**dict.fromkeys(LIBRARIES, "y[:] = y + x")),
    "add with out": assigned(
        numpy="numpy.add(x, y, out=y)", torch="torch.add(x, y, out=y)", paddle="paddle.add(x, y, out=y)"
    ),
    "add_": assigned(torch="y.add_(x)", paddle="y.add_(x)"),
    "a saved tensor, written by out": (
        {
            "torch": "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\nx = w * 1.0\ny = x * x\n"
            "with torch.no_grad():\n    torch.add(torch.ones(3), torch.ones(3), out=x)\n"
            "y.sum().backward()",
            "paddle": "w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\nx = w * 1.0\ny = x * x\n"
            "with paddle.no_grad():\n    paddle.add(paddle.ones([3]), paddle.ones([3]), out=x)\n"
            "y.sum().backward()",
        },
        ["x.tolist()", "w.grad.tolist()"],
    ),
    # Writes that read the cells they overwrite.
    "neighbors": overlap("x[1:] += x[:-1]", "x[1:].add_(x[:-1])", "x[1:].add_(x[:-1])"),
    "neighbors assigned": overlap("x[1:] = x[:-1]", "x[1:] = x[:-1]", "x[1:] = x[:-1]"),
    "its own first": overlap("x -= x[0]", "x.sub_(x[0])", "x.subtract_(x[0])"),
    "its own first, cloned": overlap("x -= x[0].copy()", "x.sub_(x[0].clone())", "x.subtract_(x[0].clone())"),
    "every second": overlap("x[2:] *= x[::2]", "x[2:].mul_(x[::2])", "x[2:].multiply_(x[::2])", 2.0, 6.0),
    "a column into a row": (square(dict.fromkeys(LIBRARIES, "x[1] = x[:, 2]")), ["x[1].tolist()"]),
    "a transposed": (
        square({"numpy": "x += x.T", "torch": "x.add_(x.t())", "paddle": "x.add_(x.t())"}),
        ["x.tolist()"],
    ),
    # Writes to cells that a tensor has more than once.
    "expand, then add": write_to_expanded("e += 10.0", "e.add_(10.0)", "e.add_(paddle.full([1], 10.0))"),
    "expand, then fill": write_to_expanded("e.fill(7.0)", "e.fill_(7.0)", "e.fill_(7.0)"),
    "expand, then assign": write_to_expanded("e[0, 0] = 7.0", "e[0, 0] = 7.0", "e[0, 0] = 7.0"),
    "stride zero": (
        {
            "numpy": "x = numpy.array([1.0, 2.0])\n"
            "e = numpy.lib.stride_tricks.as_strided(x, (3, 2), (0, 8))\ne += 10.0",
            "torch": "x = torch.tensor([1.0, 2.0])\ne = x.as_strided((3, 2), (0, 1))\ne.add_(10.0)",
            "paddle": "x = paddle.to_tensor([1.0, 2.0])\ne = paddle.as_strided(x, [3, 2], [0, 1])\n"
            "e.add_(paddle.full([1], 10.0))",
        },
        ["x.tolist()"],
    ),
}

if __name__ == "__main__":
    write(Path(__file__).with_name("aliases.json"), QUESTIONS)
