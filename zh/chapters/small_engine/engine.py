"""带视图、原位操作和梯度的张量；梯度要么正确，要么被拒绝。

Storage 存放数，History 记录对这些数的操作，Tensor 是它们的视图。
"""

import contextlib
import itertools
import weakref

import numpy as np

policy = "copy_on_write"  # 或者 "2.6"：操作只复制自己保存的张量
recording = True


# ---------- 导数表 ----------


class Operation:
    """一个函数，以及每个操作数的梯度规则。规则里出现的名字，就是反向需要的值。"""

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


# ---------- 存储、计算图、张量 ----------


class Storage:
    """内存：一行单元、写入日志，以及读这些单元的保存的张量。"""

    def __init__(self, cells):
        self.cells, self.writes, self.readers = cells, [], weakref.WeakSet()

    @property
    def version(self):
        return len(self.writes)

    def write(self, index, numbers, writer):
        self.cells[index] = numbers
        self.writes.append(writer)


class History:
    """对一些数做过的操作：最新的节点；不需要梯度时是 None。"""

    def __init__(self, newest=None):
        self.newest = newest


class Tensor:
    """存储的视图：单元编号组成的数组，形状与张量相同。"""

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
        """把 numpy 的函数用在单元编号上；返回视图，如果 numpy 会复制就返回拷贝。"""
        seen = self.part(look(self.index))
        return seen if np.shares_memory(seen.index, self.index) else seen.clone()

    def part(self, index):
        return Tensor(self.storage, np.asarray(index), self.history)

    def __getitem__(self, key):
        return self.view(lambda index: index[(*np.index_exp[key], ...)])  # “...”使单个数也得到数组

    def __setitem__(self, key, value):
        self.part(self.index[key]).assign_(value)

    def reshape(self, *shape):
        return self.view(lambda index: index.reshape(shape))

    @property
    def T(self):
        return self.view(np.transpose)


def tensor(data, stop_gradient=True):
    """返回一个有新存储的张量；除非 stop_gradient 为真，它是需要梯度的叶子节点。"""
    array = np.array(data, float)
    index = np.arange(array.size).reshape(array.shape)
    return Tensor(Storage(array.ravel()), index, History(None if stop_gradient else Leaf(array.size)))


def as_tensors(values):
    """把数和数组转换成张量。"""
    return [value if isinstance(value, Tensor) else tensor(value) for value in values]


# ---------- 计算图的节点 ----------


class Saved:
    """反向要读的单元，以及保存时的版本。"""

    def __init__(self, tensor):
        self.storage, self.index, self.version = tensor.storage, tensor.index, tensor.storage.version
        self.storage.readers.add(self)

    def read(self, reader):
        if self.version != self.storage.version:
            writer = self.storage.writes[self.version]
            raise RuntimeError(f"{reader} needs version {self.version} of what {writer} has overwritten")
        return self.storage.cells[self.index]

    def outlive(self, target):
        """如果对 target 的写入即将覆盖保存的单元，就先复制它们。"""
        if self.storage is not target.storage or self.version != self.storage.version:
            return  # 是别的存储，或者已经被覆盖
        if np.isin(self.index, target.index).any():
            copy = tensor(self.storage.cells[self.index])
            self.storage, self.index, self.version = copy.storage, copy.index, copy.storage.version
        else:
            self.version += 1  # 这次写入不会改变这些单元


class Node:
    """计算图里的一步：一次操作写了一些单元，其余的没有动。"""

    clock = itertools.count(1)

    def __init__(self, operation, operands, target):
        self.order, self.operation, self.size = next(Node.clock), operation, target.storage.cells.size
        self.before, self.written = target.history.newest, target.index
        named = dict(zip(operation.rules, operands, strict=True))
        self.inputs = {name: (x.history.newest, x.index) for name, x in named.items() if x.tracked}
        self.needs = operation.needs(self.inputs)
        self.saved = {name: Saved(x) for name, x in named.items() if name in self.needs}

    def join(self, target):
        """如果有输入需要梯度，就把这个节点接到 target 的计算图上。"""
        if "out" in self.needs:
            self.saved["out"] = Saved(target)
        if self.inputs:
            target.history.newest = self

    def pull(self, gradient):
        """已知这一步之后所有单元的梯度，为每个更早的节点给出（节点，单元，梯度）。"""
        values = {name: saved.read(self.operation.name) for name, saved in self.saved.items()}
        values["g"] = gradient[self.written]
        for name, (node, index) in self.inputs.items():
            yield node, *np.broadcast_arrays(index, self.operation.gradient(name, values))
        if self.before:
            gradient[self.written] = 0
            yield self.before, ..., gradient


class Leaf:
    """计算图的起点：需要梯度的数。"""

    order = 0  # 比所有节点都早，所以拒绝发生在任何叶子节点得到部分梯度之前

    def __init__(self, size):
        self.size, self.gradient = size, None

    def pull(self, gradient):
        self.gradient = gradient if self.gradient is None else self.gradient + gradient
        return ()


def backward(loss):
    """从最新的节点开始访问计算图，因为它的梯度已经完整。"""
    start = loss.history.newest
    if start is None:
        raise RuntimeError("backward from a tensor that was computed from nothing that wants a gradient")
    gradients = {start: np.zeros(start.size)}
    np.add.at(gradients[start], loss.index, 1)
    while gradients:
        newest = max(gradients, key=lambda node: node.order)
        for node, index, gradient in newest.pull(gradients.pop(newest)):
            np.add.at(gradients.setdefault(node, np.zeros(node.size)), index, gradient)


# ---------- 表的每一行变成两个方法 ----------


def normal(operation):
    """返回把结果写进新存储的方法。"""

    def method(*operands):
        operands = as_tensors(operands)
        out = tensor(operation.function(*[x.numpy() for x in operands]))
        Node(operation, operands, out).join(out)
        return out

    return method


def in_place(operation):
    """返回把结果写进第一个操作数的单元的方法。"""

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
    """如果不允许这次写入，就在写任何数之前抛出 ValueError。"""
    if x.tracked and isinstance(x.history.newest, Leaf):
        raise ValueError(f"{operation.name}_ would overwrite a leaf that wants a gradient")
    if numbers.shape != x.shape:
        raise ValueError(f"{operation.name}_ cannot put the shape {numbers.shape} into the shape {x.shape}")
    if np.unique(x.index).size < x.index.size:
        raise ValueError(f"{operation.name}_ would put two numbers into one cell")


@contextlib.contextmanager
def no_grad():
    """其中不记录计算图，这样优化器就可以覆盖叶子节点。"""
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
