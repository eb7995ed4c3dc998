"""Compare recordings of short programs with the contents of memory after each line, which a person worked out by hand.

The comment after each line describes the memory after the line has run:

    names storage[shape]+offset(strides) dtype, ... | storage v version numbers, ... | operation storage v version, ...
    | allocated/peak

``x=y`` are two names of one tensor, ``-`` is a tensor without a name. ``*`` marks a leaf that requires a gradient,
``'`` a tensor with a history, ``np`` a numpy array, ``b`` borrowed memory. Dense strides, float32 and offset 0 are not
written. The third part lists the tensors saved for backward with their storage and version. ``lost`` means that a write
has overwritten the saved cells, ``moved`` that only the version of the storage has changed. A saved copy has a separate
storage, at version 0. If nothing is saved, there is no third part.
"""

from __future__ import annotations

import math
import warnings

import pytest

import memory_stage
import minitensor as mt
import minitensor.torch
from memory_stage.recorder import record
from tests.support.stage.replay import Memory

TRUTHS: dict[str, str] = {}

TRUTHS["an operation allocates a storage"] = """
x = mt.ones([3])                # x 1[3] | 1v0 1 1 1 | 12/12
y = x + 1                       # x 1[3], y 2[3] | 1v0 1 1 1, 2v0 2 2 2 | 24/24
"""
TRUTHS["a temporary counts in the peak"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
y = (x + 1) * 3                 # x 1[2], y 3[2] | 1v0 1 1, 3v0 6 6 | 16/24
"""
TRUTHS["a result without a name is freed at the end of its line"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
x + 1                           # x 1[2] | 1v0 1 1 | 8/16
z = 1                           # x 1[2] | 1v0 1 1 | 8/16
"""
TRUTHS["del frees at once"] = """
x = mt.ones([4])                # x 1[4] | 1v0 1 1 1 1 | 16/16
del x                           # | | 0/16
y = mt.ones([1])                # y 2[1] | 2v0 1 | 4/16
"""
TRUTHS["rebinding a name frees a tensor that has no other name"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
x = x + 1                       # x 2[2] | 2v0 2 2 | 8/16
y = x                           # x=y 2[2] | 2v0 2 2 | 8/16
x = x + 1                       # x 3[2], y 2[2] | 2v0 2 2, 3v0 3 3 | 16/16
"""
TRUTHS["a view allocates no storage"] = """
x = mt.arange(6)                # x 1[6] int64 | 1v0 0 1 2 3 4 5 | 48/48
y = x.reshape([2, 3])           # x 1[6] int64, y 1[2,3] int64 | 1v0 0 1 2 3 4 5 | 48/48
z = y.t()                       # x 1[6] int64, y 1[2,3] int64, z 1[3,2](1,3) int64 | 1v0 0 1 2 3 4 5 | 48/48
del x, y                        # z 1[3,2](1,3) int64 | 1v0 0 1 2 3 4 5 | 48/48
w = z[1]                        # z 1[3,2](1,3) int64, w 1[2]+1(3) int64 | 1v0 0 1 2 3 4 5 | 48/48
"""
TRUTHS["a view keeps the storage alive"] = """
x = mt.ones([4])                # x 1[4] | 1v0 1 1 1 1 | 16/16
v = x[2:]                       # x 1[4], v 1[2]+2 | 1v0 1 1 1 1 | 16/16
del x                           # v 1[2]+2 | 1v0 1 1 1 1 | 16/16
v = None                        # | | 0/16
"""
TRUTHS["a reshape that cannot be a view makes a copy"] = """
x = mt.to_tensor([[1., 2.], [3., 4.]])  # x 1[2,2] | 1v0 1 2 3 4 | 16/16
y = x.t().reshape([4])          # x 1[2,2], y 2[4] | 1v0 1 2 3 4, 2v0 1 3 2 4 | 32/32
"""
TRUTHS["an in-place operation returns its tensor"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
y = x.add_(1)                   # x=y 1[2] | 1v1 2 2 | 8/8
y.scale_(3)                     # x=y 1[2] | 1v2 6 6 | 8/8
"""
TRUTHS["a write through a view"] = """
x = mt.zeros([4])               # x 1[4] | 1v0 0 0 0 0 | 16/16
v = x[1:3]                      # x 1[4], v 1[2]+1 | 1v0 0 0 0 0 | 16/16
v.add_(5)                       # x 1[4], v 1[2]+1 | 1v1 0 5 5 0 | 16/16
x[1] = 7                        # x 1[4], v 1[2]+1 | 1v2 0 7 5 0 | 16/16
"""
TRUTHS["a view with a stride skips cells"] = """
x = mt.zeros([5])               # x 1[5] | 1v0 0 0 0 0 0 | 20/20
e = x[::2]                      # x 1[5], e 1[3](2) | 1v0 0 0 0 0 0 | 20/20
e.fill_(9)                      # x 1[5], e 1[3](2) | 1v1 9 0 9 0 9 | 20/20
x[[1, 3]] = 4                   # x 1[5], e 1[3](2) | 1v2 9 4 9 4 9 | 20/20
x[x > 5] = 1                    # x 1[5], e 1[3](2) | 1v3 1 4 1 4 1 | 20/25
"""
TRUTHS["an assignment reads its source before it writes"] = """
x = mt.to_tensor([1., 2., 3.])  # x 1[3] | 1v0 1 2 3 | 12/12
x[1:] = x[:-1]                  # x 1[3] | 1v1 1 1 2 | 12/12
"""
TRUTHS["a change of the shape in place writes nothing"] = """
x = mt.ones([2, 3])             # x 1[2,3] | 1v0 1 1 1 1 1 1 | 24/24
x.reshape_([3, 2])              # x 1[3,2] | 1v0 1 1 1 1 1 1 | 24/24
x.unsqueeze_(1)                 # x 1[3,1,2] | 1v0 1 1 1 1 1 1 | 24/24
x.flatten_()                    # x 1[6] | 1v0 1 1 1 1 1 1 | 24/24
"""
TRUTHS["detach shares, clone copies"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
d = x.detach()                  # x 1[2], d 1[2] | 1v0 1 1 | 8/8
c = x.clone()                   # x 1[2], d 1[2], c 2[2] | 1v0 1 1, 2v0 1 1 | 16/16
d.zero_()                       # x 1[2], d 1[2], c 2[2] | 1v1 0 0, 2v0 1 1 | 16/16
"""
TRUTHS["expand in Paddle's vocabulary copies"] = """
x = mt.ones([1])                # x 1[1] | 1v0 1 | 4/4
e = x.expand([3])               # x 1[1], e 2[3] | 1v0 1, 2v0 1 1 1 | 16/16
"""
TRUTHS["expand in PyTorch's vocabulary makes a view with stride 0"] = """
import minitensor.torch as torch # | | 0/0
x = torch.tensor([7.])          # x 1[1] | 1v0 7 | 4/4
e = x.expand(3)                 # x 1[1], e 1[3](0) | 1v0 7 | 4/4
"""
TRUTHS["tensors of int64 and bool"] = """
x = mt.arange(3)                # x 1[3] int64 | 1v0 0 1 2 | 24/24
b = x > 0                       # x 1[3] int64, b 2[3] bool | 1v0 0 1 2, 2v0 False True True | 27/27
"""
TRUTHS["setting stop_gradient to False makes a leaf"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
x.stop_gradient = False         # x* 1[2] | 1v0 1 1 | 8/8
y = x + 1                       # x* 1[2], y' 2[2] | 1v0 1 1, 2v0 2 2 | 16/16
"""
TRUTHS["multiply saves both inputs"] = """
x = mt.to_tensor([3.], stop_gradient=False)   # x* 1[1] | 1v0 3 | 4/4
y = x * x                       # x* 1[1], y' 2[1] | 1v0 3, 2v0 9 | multiply 1v0, multiply 1v0 | 8/8
"""
TRUTHS["exp keeps its output alive after the name of the output is deleted"] = """
x = mt.to_tensor([0.], stop_gradient=False)   # x* 1[1] | 1v0 0 | 4/4
y = x.exp()                     # x* 1[1], y' 2[1] | 1v0 0, 2v0 1 | exp 2v0 | 8/8
z = y + 1                       # x* 1[1], y' 2[1], z' 3[1] | 1v0 0, 2v0 1, 3v0 2 | exp 2v0 | 12/12
del y                           # x* 1[1], z' 3[1] | 1v0 0, 2v0 1, 3v0 2 | exp 2v0 | 12/12
del z                           # x* 1[1] | 1v0 0 | 4/12
"""
TRUTHS["a write overwrites a saved tensor"] = """
x = mt.to_tensor([3.], stop_gradient=False)   # x* 1[1] | 1v0 3 | 4/4
a = x + 0                       # x* 1[1], a' 2[1] | 1v0 3, 2v0 3 | 8/8
y = a.square()                  # x* 1[1], a' 2[1], y' 3[1] | 1v0 3, 2v0 3, 3v0 9 | square 2v0 | 12/12
a.add_(1)                       # x* 1[1], a' 2[1], y' 3[1] | 1v0 3, 2v1 4, 3v0 9 | square 2v0 lost | 12/12
"""
TRUTHS["a write to other cells than the saved cells changes only the version"] = """
x = mt.to_tensor([3., 4.], stop_gradient=False)   # x* 1[2] | 1v0 3 4 | 8/8
a = x + 0                       # x* 1[2], a' 2[2] | 1v0 3 4, 2v0 3 4 | 16/16
y = a[0:1].square()             # x* 1[2], a' 2[2], y' 3[1] | 1v0 3 4, 2v0 3 4, 3v0 9 | square 2v0 | 20/20
a[1] = 8                        # x* 1[2], a' 2[2], y' 3[1] | 1v0 3 4, 2v1 3 8, 3v0 9 | square 2v0 moved | 20/20
"""
TRUTHS["sin_ copies its input before it writes"] = """
x = mt.to_tensor([0.], stop_gradient=False)   # x* 1[1] | 1v0 0 | 4/4
a = x + 0                       # x* 1[1], a' 2[1] | 1v0 0, 2v0 0 | 8/8
a.sin_()                        # x* 1[1], a' 2[1] | 1v0 0, 2v1 0, 3v0 0 | sin_ 3v0 | 12/12
"""
TRUTHS["exp_ saves its output without a copy"] = """
x = mt.to_tensor([0.], stop_gradient=False)   # x* 1[1] | 1v0 0 | 4/4
a = x + 0                       # x* 1[1], a' 2[1] | 1v0 0, 2v0 0 | 8/8
a.exp_()                        # x* 1[1], a' 2[1] | 1v0 0, 2v1 1 | exp_ 2v1 | 8/8
"""
TRUTHS["copy on write copies saved cells before a write"] = """
mt.set_inplace_policy("copy_on_write")        # | | 0/0
x = mt.to_tensor([3., 4.], stop_gradient=False)   # x* 1[2] | 1v0 3 4 | 8/8
a = x + 0                       # x* 1[2], a' 2[2] | 1v0 3 4, 2v0 3 4 | 16/16
y = a.square()                  # x* 1[2], a' 2[2], y' 3[2] | 1v0 3 4, 2v0 3 4, 3v0 9 16 | square 2v0 | 24/24
del x                           # a' 2[2], y' 3[2] | 2v0 3 4, 3v0 9 16 | square 2v0 | 16/24
a.zero_()                       # a' 2[2], y' 3[2] | 2v1 0 0, 3v0 9 16, 4v0 3 4 | square 4v0 | 24/24
a.zero_()                       # a' 2[2], y' 3[2] | 2v2 0 0, 3v0 9 16, 4v0 3 4 | square 4v0 | 24/24
"""
TRUTHS["copy on write copies only the cells that a write covers"] = """
mt.set_inplace_policy("copy_on_write")        # | | 0/0
x = mt.to_tensor([3., 4.], stop_gradient=False)   # x* 1[2] | 1v0 3 4 | 8/8
a = x + 0                       # x* 1[2], a' 2[2] | 1v0 3 4, 2v0 3 4 | 16/16
y = a.square()                  # x* 1[2], a' 2[2], y' 3[2] | 1v0 3 4, 2v0 3 4, 3v0 9 16 | square 2v0 | 24/24
a[1] = 0                        # x* 1[2], a' 2[2], y' 3[2] | 1v0 3 4, 2v1 3 0, 3v0 9 16, 4v0 4 | square 2v0 | 28/28
"""
TRUTHS["backward frees saved tensors and allocates a gradient"] = """
x = mt.to_tensor([3.], stop_gradient=False)   # x* 1[1] | 1v0 3 | 4/4
y = x.square()                  # x* 1[1], y' 2[1] | 1v0 3, 2v0 9 | square 1v0 | 8/8
y.backward()                    # x* 1[1], y' 2[1], x.grad 3[1] | 1v0 3, 2v0 9, 3v0 6 | 12/16
"""
TRUTHS["clear_grad writes zeros"] = """
x = mt.to_tensor([3.], stop_gradient=False)   # x* 1[1] | 1v0 3 | 4/4
(x + x).backward()              # x* 1[1], x.grad 3[1] | 1v0 3, 3v0 2 | 8/16
x.clear_grad()                  # x* 1[1], x.grad 3[1] | 1v0 3, 3v1 0 | 8/16
"""
TRUTHS["a leaf may be written under no_grad"] = """
w = mt.to_tensor([3.], stop_gradient=False)   # w* 1[1] | 1v0 3 | 4/4
with mt.no_grad(): w.subtract_(1)             # w* 1[1] | 1v1 2 | 4/4
"""
TRUTHS["an operation under no_grad saves nothing"] = """
w = mt.to_tensor([3.], stop_gradient=False)   # w* 1[1] | 1v0 3 | 4/4
with mt.no_grad(): y = w * w    # w* 1[1], y 2[1] | 1v0 3, 2v0 9 | 8/8
"""
TRUTHS["a write connects a tensor to the history of its operand"] = """
x = mt.to_tensor([3.], stop_gradient=False)   # x* 1[1] | 1v0 3 | 4/4
a = mt.zeros([1])               # x* 1[1], a 2[1] | 1v0 3, 2v0 0 | 8/8
a.add_(x)                       # x* 1[1], a' 2[1] | 1v0 3, 2v1 3 | 8/8
"""
TRUTHS["cast_ moves a tensor to another storage"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
v = x[0:1]                      # x 1[2], v 1[1] | 1v0 1 1 | 8/8
x.cast_('float64')              # x 2[2] float64, v 1[1] | 1v0 1 1, 2v1 1 1 | 24/24
x.add_(1)                       # x 2[2] float64, v 1[1] | 1v0 1 1, 2v2 2 2 | 24/24
"""
TRUTHS["resize_ allocates a storage only to grow a tensor"] = """
x = mt.ones([3])                # x 1[3] | 1v0 1 1 1 | 12/12
x.resize_([2])                  # x 1[2] | 1v0 1 1 1 | 12/12
x.resize_([4])                  # x 2[4] | 2v1 1 1 0 0 | 16/28
"""
TRUTHS["set_ moves a tensor to the storage of another tensor"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
y = mt.zeros([3])               # x 1[2], y 2[3] | 1v0 1 1, 2v0 0 0 0 | 20/20
x.set_(y, [2], [1], 1)          # x 2[2]+1, y 2[3] | 2v0 0 0 0 | 12/20
x.fill_(5)                      # x 2[2]+1, y 2[3] | 2v1 0 5 5 | 12/20
"""
TRUTHS["memory borrowed from numpy is not counted"] = """
import numpy as np              # | | 0/0
a = np.zeros(2, 'float32')      # | | 0/0
x = mt.from_numpy(a)            # np a 1[2], x 1[2] | 1v0b 0 0 | 0/0
y = mt.from_numpy(a[1:])        # np a 1[2], x 1[2], y 1[1]+1 | 1v0b 0 0 | 0/0
y.add_(1)                       # np a 1[2], x 1[2], y 1[1]+1 | 1v1b 0 1 | 0/0
a[0] = 7                        # np a 1[2], x 1[2], y 1[1]+1 | 1v1b 7 1 | 0/0
del x                           # np a 1[2], y 1[1]+1 | 1v1b 7 1 | 0/0
del y                           # | | 0/0
"""
TRUTHS["a numpy array keeps the storage of a deleted tensor alive"] = """
x = mt.ones([2])                # x 1[2] | 1v0 1 1 | 8/8
n = x.numpy(share=True)         # x 1[2], np n 1[2] | 1v0 1 1 | 8/8
n[1] = 4                        # x 1[2], np n 1[2] | 1v0 1 4 | 8/8
del x                           # np n 1[2] | 1v0 1 4 | 8/8
n = None                        # | | 0/8
"""
TRUTHS["x.data has a separate version counter"] = """
import minitensor.torch as torch # | | 0/0
x = torch.tensor([1.])          # x 1[1] | 1v0 1 | 4/4
d = x.data                      # x 1[1], d 1[1] | 1v0 1 | 4/4
d.add_(1)                       # x 1[1], d 1[1] | 1v0 2 | 4/4
x.add_(1)                       # x 1[1], d 1[1] | 1v1 3 | 4/4
"""
TRUTHS["lists, tuples, dicts and attributes name tensors"] = """
class Box: pass                 # | | 0/0
b = Box()                       # | | 0/0
b.t = mt.ones([1])              # b.t 1[1] | 1v0 1 | 4/4
xs = [b.t, (mt.zeros([1]),)]    # b.t=xs[0] 1[1], xs[1][0] 2[1] | 1v0 1, 2v0 0 | 8/8
d = {'w': xs[1]}                # b.t=xs[0] 1[1], xs[1][0]=d['w'][0] 2[1] | 1v0 1, 2v0 0 | 8/8
del xs, b                       # d['w'][0] 2[1] | 2v0 0 | 4/8
"""
TRUTHS["a tensor in a set has no name"] = """
s = {mt.ones([1])}              # - 1[1] | 1v0 1 | 4/4
s.clear()                       # | | 0/4
"""
TRUTHS["a refused write changes nothing"] = """
x = mt.to_tensor([1., 2.], stop_gradient=False)   # x* 1[2] | 1v0 1 2 | 8/8
try: x[0:1].add_(1)             # x* 1[2], line 2' 1[1] | 1v0 1 2 | 8/8
except ValueError: y = 3        # x* 1[2] | 1v0 1 2 | 8/8
"""
TRUTHS["an optimizer's step writes a parameter once"] = """
w = mt.to_tensor([1.], stop_gradient=False)       # w* 1[1] | 1v0 1 | 4/4
opt = mt.optimizer.Momentum(0.5, 0.9, parameters=[w])   # w* 1[1] | 1v0 1 | 4/4
(w + w).backward()              # w* 1[1], w.grad 3[1] | 1v0 1, 3v0 2 | 8/16
opt.step()                      # w* 1[1], w.grad 3[1], opt.velocity of w 4[1] | 1v1 0, 3v0 2, 4v1 2 | 12/16
"""
TRUTHS["a layer's parameters are named by its attributes"] = """
net = mt.nn.Linear(1, 1)        # net.weight* 1[1,1], net.bias* 2[1] | 1v0 ?, 2v0 0 | 8/8
net.bias.set_value(mt.ones([1]))   # net.weight* 1[1,1], net.bias* 2[1] | 1v0 ?, 2v1 1 | 8/12
"""


def dense(shape: list[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def frame(memory: Memory, step: dict) -> str:
    """Return the state of memory in the notation of the comments."""
    tensors = []
    for id_, tensor in memory.tensors.items():
        names = "=".join(name for name, of in memory.names.items() if of == id_) or "-"
        outside = "np " if "outside" in tensor else ""
        mark = "" if tensor["stop_gradient"] else "*" if tensor["leaf"] else "'"
        text = f"{outside}{names}{mark} {tensor['storage']}[{','.join(map(str, tensor['shape']))}]"
        text += f"+{tensor['offset']}" if tensor["offset"] else ""
        if tensor["strides"] != dense(tensor["shape"]):
            text += f"({','.join(map(str, tensor['strides']))})"
        tensors.append(text + (f" {tensor['dtype']}" if tensor["dtype"] != "float32" else ""))
    storages = []
    for id_, storage in sorted(memory.storages.items(), key=lambda item: int(item[0])):
        numbers = " ".join(storage["values"][str(i)] for i in range(storage["length"]))
        storages.append(f"{id_}v{storage['version']}{'b' if 'borrowed' in storage else ''} {numbers}")
    saved = []
    for save in memory.saved.values():
        where = f"{memory.nodes[save['node']]['op']} {save['storage']}v{save['version']}"
        saved.append(where + (f" {save['stale']}" if save["stale"] else ""))
    parts = [", ".join(sorted(tensors)), ", ".join(storages), *([", ".join(sorted(saved))] if saved else [])]
    return " | ".join([*parts, f"{step['allocated']}/{step['peak']}"])


def wanted(text: str) -> str:
    parts = [part.strip() for part in text.split("|")]
    parts[0] = ", ".join(sorted(_split(parts[0])))
    if len(parts) == 4:
        parts[2] = ", ".join(sorted(parts[2].split(", ")))
    return " | ".join(parts)


def _split(tensors: str) -> list[str]:
    return tensors.split(", ") if tensors else []


def with_masks(reported: str, truth: str) -> str:
    """Replace random numbers by ``?``, as in the comments."""
    return " ".join("?" if right == "?" or right == "?," else left for left, right in zip_words(reported, truth))


def zip_words(reported: str, truth: str) -> list[tuple[str, str]]:
    left, right = reported.split(" "), truth.split(" ")
    return [(word, right[i] if i < len(right) else "") for i, word in enumerate(left)]


@pytest.mark.parametrize("text", TRUTHS.values(), ids=TRUTHS)
def test_memory_after_each_line_equals_the_comment_on_the_line(text: str) -> None:
    rows = [row.partition("  # ") if "  # " in row else row.partition(" # ") for row in text.strip("\n").splitlines()]
    source = "\n".join(row[0].rstrip() for row in rows)
    with warnings.catch_warnings(), mt.set_inplace_policy("2.6"):
        warnings.simplefilter("ignore")
        done = record.run(source, {"__name__": "__main__", "mt": mt}, file="<truth>")
    assert done.error is None, done.error
    memory = Memory({"steps": [], "before": []})
    steps = iter([*done.variant["steps"], None])
    step, last = next(steps), {"allocated": 0, "peak": 0}
    for number, (line, _, truth) in enumerate(rows, 1):
        while step is not None and step["line"] <= number:
            for event in step["events"]:
                memory.apply(event)
            step, last = next(steps), step
        reported, right = frame(memory, last), wanted(truth)
        assert with_masks(reported, right) == right.replace("?,", "?"), f"after line {number}: {line}"


@pytest.mark.parametrize(
    ("call", "happened"),
    [
        ("t_()", "changes the shape of `x` from [2, 3] to [3, 2] and its strides from [3, 1] to [1, 3]"),
        ("transpose_(0, 1)", "changes the shape of `x` from [2, 3] to [3, 2] and its strides from [3, 1] to [1, 3]"),
        ("swapaxes_(0, 1)", "changes the shape of `x` from [2, 3] to [3, 2] and its strides from [3, 1] to [1, 3]"),
        ("unsqueeze_(0)", "changes the shape of `x` from [2, 3] to [1, 2, 3]"),
        ("squeeze_()", "changes neither shape nor strides of `x`"),
    ],
)
def test_a_change_of_the_layout_in_pytorchs_vocabulary_increments_the_version_and_writes_no_cell(call, happened):
    recorded = memory_stage.record(f"x = torch.ones([2, 3])\nx.{call}", {"torch": minitensor.torch})
    last = recorded.data["variants"][0]["steps"][-1]
    (write,) = (event for event in last["events"] if event["do"] == "write")
    assert write == {"do": "write", "storage": "1", "cells": {}, "count": 0, "version": 1}
    name = call.partition("(")[0]
    assert last["say"] == f"`{name}` {happened}. It writes no cell, but storage 1 goes from version 0 to version 1."


def test_a_change_of_the_layout_names_the_saved_tensors_that_become_stale():
    program = "x = torch.ones([2, 3], requires_grad=True)\ny = x * 1\nz = y * y\ny.t_()"
    last = memory_stage.record(program, {"torch": minitensor.torch}).data["variants"][0]["steps"][-1]
    assert last["say"] == (
        "`t_` changes the shape of `y` from [2, 3] to [3, 2]. None of the bytes that `mul` (line 3) saved are "
        "overwritten, but the version moved: `backward` will be refused."
    )


def test_several_changes_of_the_layout_in_one_line_are_not_called_writes():
    program = "x = torch.ones([2, 3, 1])\nx.squeeze_().t_().unsqueeze_(0)"
    last = memory_stage.record(program, {"torch": minitensor.torch}).data["variants"][0]["steps"][-1]
    assert "`squeeze_` changes the shape of `x`; then `t_` changes the shape of `x`" in last["say"]
    assert "write" not in last["say"]
