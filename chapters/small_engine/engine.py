"""Tensors with views, in-place operations, and gradients that are right or refused.

A Storage holds numbers, a History records the operations on them, and a Tensor is a view of them.
"""

import contextlib
import itertools
import weakref

import numpy as np

policy = "copy_on_write"  # or "2.6": an operation copies only its own saved tensors
recording = True


# ---------- the derivative table ----------


class Operation:
    """A function, and a gradient rule for each operand. Backward needs the values that the rule names."""

    def __init__(self, name, function, **rules):
        self.name, self.function = name, function
        self.rules = {operand: compile(rule, rule, "eval") for operand, rule in rules.items()}

    def needs(self, operands):
        return {name for operand in operands for name in self.rules[operand].co_names}

    def gradient(self, operand, values):
        return eval(self.rules[operand], vars(np), values)


TABLE = [
    Operation("add", np.add, x="g", y="g"),
    Operation("subtract", np.subtract, x="g", y="-g"),
    Operation("multiply", np.multiply, x="g * y", y="g * x"),
    Operation("divide", np.divide, x="g / y", y="-g * out / y"),
    Operation("matmul", np.matmul, x="g @ swapaxes(y, -1, -2)", y="swapaxes(x, -1, -2) @ g"),
    Operation("scale", lambda x, factor, bias: x * factor + bias, x="g * factor", factor="g * x", bias="g"),
    Operation("exp", np.exp, x="g * out"),
    Operation("log", np.log, x="g / x"),
    Operation("sin", np.sin, x="g * cos(x)"),
    Operation("tanh", np.tanh, x="g * (1 - out * out)"),
    Operation("relu", lambda x: np.maximum(x, 0), x="g * (out > 0)"),
    Operation("sum", np.sum, x="g"),
    Operation("clone", np.copy, x="g"),
    Operation("assign", lambda x, y: np.broadcast_to(y, x.shape), x="zeros_like(g)", y="g"),
]


# ---------- storage, history, tensor ----------


class Storage:
    """Memory: a row of cells, a log of the writes to them, and the saved tensors that read them."""

    def __init__(self, cells):
        self.cells, self.writes, self.readers = cells, [], weakref.WeakSet()

    @property
    def version(self):
        return len(self.writes)

    def write(self, index, numbers, writer):
        self.cells[index] = numbers
        self.writes.append(writer)


class History:
    """The operations on some numbers: the newest node, or None if no gradient is required."""

    def __init__(self, newest=None):
        self.newest = newest


class Tensor:
    """A view of a storage: an array of cell numbers, in the shape of the tensor."""

    def __init__(self, storage, index, history):
        self.storage, self.index, self.history = storage, index, history

    def __repr__(self):
        return f"Tensor({self.numpy()}, version={self.storage.version})"

    @property
    def shape(self):
        return self.index.shape

    @property
    def tracked(self):
        return recording and self.history.newest is not None

    @property
    def grad(self):
        leaf = self.history.newest
        return leaf.gradient[self.index] if isinstance(leaf, Leaf) and leaf.gradient is not None else None

    def numpy(self):
        return self.storage.cells[self.index]

    def backward(self):
        backward(self)

    def detach(self):
        return Tensor(self.storage, self.index, History())

    def view(self, look):
        """Apply a function of numpy to the cell numbers; return a view, or a copy if numpy copies."""
        seen = self.part(look(self.index))
        return seen if np.shares_memory(seen.index, self.index) else seen.clone()

    def part(self, index):
        return Tensor(self.storage, np.asarray(index), self.history)

    def __getitem__(self, key):
        return self.view(lambda index: index[(*np.index_exp[key], ...)])  # "...": an array even for one number

    def __setitem__(self, key, value):
        self.part(self.index[key]).assign_(value)

    def reshape(self, *shape):
        return self.view(lambda index: index.reshape(shape))

    @property
    def T(self):
        return self.view(np.transpose)


def tensor(data, stop_gradient=True):
    """Return a tensor with a new storage; it is a leaf that requires a gradient, unless stop_gradient."""
    array = np.array(data, float)
    index = np.arange(array.size).reshape(array.shape)
    return Tensor(Storage(array.ravel()), index, History(None if stop_gradient else Leaf(array.size)))


def as_tensors(values):
    """Convert numbers and arrays to tensors."""
    return [value if isinstance(value, Tensor) else tensor(value) for value in values]


# ---------- the nodes of a history ----------


class Saved:
    """Cells that backward will read, and the version at which they were saved."""

    def __init__(self, tensor):
        self.storage, self.index, self.version = tensor.storage, tensor.index, tensor.storage.version
        self.storage.readers.add(self)

    def read(self, reader):
        if self.version != self.storage.version:
            writer = self.storage.writes[self.version]
            raise RuntimeError(f"{reader} needs version {self.version} of what {writer} has overwritten")
        return self.storage.cells[self.index]

    def outlive(self, target):
        """Copy the saved cells if a write to target is about to overwrite one of them."""
        if self.storage is not target.storage or self.version != self.storage.version:
            return  # another storage, or already overwritten
        if np.isin(self.index, target.index).any():
            copy = tensor(self.storage.cells[self.index])
            self.storage, self.index, self.version = copy.storage, copy.index, copy.storage.version
        else:
            self.version += 1  # the write does not change these cells


class Node:
    """One step of a history: an operation has written some cells and left the others unchanged."""

    clock = itertools.count(1)

    def __init__(self, operation, operands, target):
        self.order, self.operation, self.size = next(Node.clock), operation, target.storage.cells.size
        self.before, self.written = target.history.newest, target.index
        named = dict(zip(operation.rules, operands, strict=True))
        self.inputs = {name: (x.history.newest, x.index) for name, x in named.items() if x.tracked}
        self.needs = operation.needs(self.inputs)
        self.saved = {name: Saved(x) for name, x in named.items() if name in self.needs}

    def join(self, target):
        """Append this node to the history of target, if an input requires a gradient."""
        if "out" in self.needs:
            self.saved["out"] = Saved(target)
        if self.inputs:
            target.history.newest = self

    def pull(self, gradient):
        """Yield (node, cells, gradient) for each earlier node, given the gradient of all cells after this step."""
        values = {name: saved.read(self.operation.name) for name, saved in self.saved.items()}
        values["g"] = gradient[self.written]
        for name, (node, index) in self.inputs.items():
            yield node, *np.broadcast_arrays(index, self.operation.gradient(name, values))
        if self.before:
            gradient[self.written] = 0
            yield self.before, ..., gradient


class Leaf:
    """The beginning of a history: numbers that require a gradient."""

    order = 0  # older than every node, so a refusal comes before any leaf receives a part of its gradient

    def __init__(self, size):
        self.size, self.gradient = size, None

    def pull(self, gradient):
        self.gradient = gradient if self.gradient is None else self.gradient + gradient
        return ()


def backward(loss):
    """Visit the nodes of the history, the newest first, because its gradient is complete."""
    start = loss.history.newest
    if start is None:
        raise RuntimeError("backward from a tensor that was computed from nothing that wants a gradient")
    gradients = {start: np.zeros(start.size)}
    np.add.at(gradients[start], loss.index, 1)
    while gradients:
        newest = max(gradients, key=lambda node: node.order)
        for node, index, gradient in newest.pull(gradients.pop(newest)):
            np.add.at(gradients.setdefault(node, np.zeros(node.size)), index, gradient)


# ---------- each row of the table becomes two methods ----------


def normal(operation):
    """Return the method that writes its result to a new storage."""

    def method(*operands):
        operands = as_tensors(operands)
        out = tensor(operation.function(*[x.numpy() for x in operands]))
        Node(operation, operands, out).join(out)
        return out

    return method


def in_place(operation):
    """Return the method that writes its result to the cells of its first operand."""

    def method(x, *others):
        operands = as_tensors((x, *others))
        numbers = operation.function(*[each.numpy() for each in operands])
        check(operation, x, numbers)
        node = Node(operation, operands, x)
        for saved in x.storage.readers if policy == "copy_on_write" else node.saved.values():
            saved.outlive(x)
        x.storage.write(x.index, numbers, operation.name + "_")
        node.join(x)
        return x

    return method


def check(operation, x, numbers):
    """Raise ValueError if a write is not allowed, before anything is written."""
    if x.tracked and isinstance(x.history.newest, Leaf):
        raise ValueError(f"{operation.name}_ would overwrite a leaf that wants a gradient")
    if numbers.shape != x.shape:
        raise ValueError(f"{operation.name}_ cannot put the shape {numbers.shape} into the shape {x.shape}")
    if np.unique(x.index).size < x.index.size:
        raise ValueError(f"{operation.name}_ would put two numbers into one cell")


@contextlib.contextmanager
def no_grad():
    """Record no history inside, so that an optimizer may overwrite leaves."""
    global recording
    outside, recording = recording, False
    try:
        yield
    finally:
        recording = outside


for operation in TABLE:
    setattr(Tensor, operation.name, normal(operation))
    setattr(Tensor, operation.name + "_", in_place(operation))

Tensor.__add__ = Tensor.__radd__ = Tensor.add
Tensor.__mul__ = Tensor.__rmul__ = Tensor.multiply
Tensor.__sub__, Tensor.__truediv__, Tensor.__matmul__ = Tensor.subtract, Tensor.divide, Tensor.matmul
