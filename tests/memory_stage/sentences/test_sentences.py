"""Test the sentences of each kind of step, word for word, and the rules for all sentences."""

from __future__ import annotations

import re

import pytest

import minitensor as mt
from memory_stage.recorder import record
from memory_stage.trace.cells import text_of
from tests.support.stage import fuzz
from tests.support.stage.programs import PROGRAMS

LEAF = "x = mt.to_tensor([1., 2., 3.], stop_gradient=False)\n"


def sentences(source: str, namespace: dict | None = None, **settings) -> list[str]:
    namespace = {"__name__": "__main__", "mt": mt} if namespace is None else namespace
    done = record.run(source, namespace, file="<program>", **settings)
    return [step["say"] for step in done.variant["steps"]]


SAYS = {
    # normal operations: a tensor on a new storage
    "mt.ones([2, 3])": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [2, 3]. "
        "Nothing names the tensor, so both are freed at once."
    ],
    "x = mt.ones([2, 3])\ny = x + 1\ndel x": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [2, 3]. `x` is"
        " a name for that tensor.",
        "`x + 1` allocates storage 2, 24 bytes, for the tensor `y`. `x` and `y` share nothing.",
        "`del x` removes the last name of a tensor, so storage 1 is freed at once: 24 bytes fewer are allocated.",
    ],
    LEAF + "y = x * x": [
        "Line 1 makes a leaf: `x` requires a gradient, and storage 1 holds its 3 numbers, 12 bytes.",
        "`x * x` allocates storage 2, 12 bytes, for the tensor `y`. `multiply` saves `x@0`, because its gradient "
        "needs those numbers.",
    ],
    "x = mt.ones([2])\nx = x + 1\nx += 1\ny = x\nx = x * 2\nx = 0": [
        "Line 1 allocates storage 1, 2 numbers in 8 bytes, for a tensor of shape [2]. `x` is a name for that tensor.",
        "`x + 1` allocates storage 2, 8 bytes, for a new tensor. `x` moves to it, and storage 1 is freed: 8 bytes.",
        "`x += 1` allocates storage 3, 8 bytes, for a new tensor. `x` moves to it, and storage 2 is freed: 8 bytes.",
        "`y` becomes a second name for the tensor of `x`. No tensor, no storage and no byte is added.",
        "`x * 2` allocates storage 4, 8 bytes, for a new tensor. `x` moves to it; `y` still names the old tensor.",
        "Line 6 removes the last name of a tensor, so storage 4 is freed at once: 8 bytes fewer are allocated.",
    ],
    "x = mt.ones([2])\ny = (x + 1) * 2": [
        "Line 1 allocates storage 1, 2 numbers in 8 bytes, for a tensor of shape [2]. `x` is a name for that tensor.",
        "Line 2: `add` allocates storage 2, 8 bytes; then `multiply` allocates storage 3, 8 bytes. `y` names the last"
        " result. Storage 2 is freed again: nothing needs it.",
    ],
    # views
    "x = mt.ones([6])\na, b = x[:3], x[2:]\na.scale_(2.)": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [6]. `x` is a name for that tensor.",
        "`x[:3]` makes 2 tensors on storage 1, `a` and `b`: no number is copied.",
        "`scale_` writes 3 cells of storage 1 through `a`: version 1. `x` and `b` see the new numbers, too.",
    ],
    "x = mt.ones([6])\ny = x.reshape([2, 3])\nv = x[1:3]\ndel x": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [6]. `x` is a name for that tensor.",
        "`reshape` makes a second tensor on storage 1: no number is copied, no byte is added. `x` and `y` "
        "read the same cells.",
        "`x[1:3]` makes a tensor on 2 of the 6 cells of storage 1. No byte is added.",
        "`del x` removes a name and its tensor. Storage 1 stays, because `y` still uses it.",
    ],
    "x = mt.ones([2, 3])\ny = x.t().reshape([6])": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [2, 3]. `x` is"
        " a name for that tensor.",
        "Line 2: `t` makes a view on storage 1; then `reshape` allocates storage 2, 24 bytes. `y` names the last "
        "result.",
    ],
    # in-place operations
    "x = mt.ones([6])\ny = x.add_(1)\nv = x[0:2]\nv.scale_(3)\nx[5] = 7": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [6]. `x` is a name for that tensor.",
        "`add_` writes all 6 cells of storage 1, which goes from version 0 to version 1, and returns `x` "
        "itself: `y` is a second name for the same tensor.",
        "`x[0:2]` makes a tensor on 2 of the 6 cells of storage 1. No byte is added.",
        "`scale_` writes 2 cells of storage 1 through `v`: version 2. `x` sees the new numbers, too.",
        "Line 5 writes 1 cell of storage 1, which goes from version 2 to version 3. `y` names the same tensor.",
    ],
    LEAF + "a = x * 1\ny = a * a\na.add_(1)\ny.backward()": [
        "Line 1 makes a leaf: `x` requires a gradient, and storage 1 holds its 3 numbers, 12 bytes.",
        "`x * 1` allocates storage 2, 12 bytes, for the tensor `a`. `multiply` saves nothing for backward.",
        "`a * a` allocates storage 3, 12 bytes, for the tensor `y`. `multiply` saves `a@0`, because its gradient "
        "needs those numbers.",
        "`add_` writes all 3 cells of storage 2, which goes from version 0 to version 1. `multiply` (line 3) "
        "saved version 0, and those numbers are gone: `backward` through it will be refused.",
        "`backward` starts at `y@0` with the gradient [1, 1, 1].",
        "`multiply` (line 3) needs `a` at version 0 but finds version 1, so `backward` raises.",
    ],
    LEAF + "y = x * 2\ny.sin_()": [
        "Line 1 makes a leaf: `x` requires a gradient, and storage 1 holds its 3 numbers, 12 bytes.",
        "`x * 2` allocates storage 2, 12 bytes, for the tensor `y`. `multiply` saves nothing for backward.",
        "`sin_` needs its input for backward, so it first copies 12 bytes to storage 3. Then it writes all 3 "
        "cells of storage 2: version 1.",
    ],
    "x = mt.ones([2, 3])\nx.reshape_([3, 2])": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [2, 3]. `x` is"
        " a name for that tensor.",
        "`reshape_` changes the shape of `x` from [2, 3] to [3, 2] and its strides from [3, 1] to [2, 1]. It writes "
        "nothing: storage 1 stays at version 0.",
    ],
    # leaves and histories
    LEAF + "v = x[0:2]\nv.add_(1)": [
        "Line 1 makes a leaf: `x` requires a gradient, and storage 1 holds its 3 numbers, 12 bytes.",
        "`x[0:2]` makes a tensor on 2 of the 3 cells of storage 1. `x` and `v` share one history from now on.",
        "`add_` is refused: it would write the leaf `x` through its view `v` while gradients are recorded."
        " Nothing is written.",
    ],
    LEAF + "with mt.no_grad():\n    x.subtract_(1)\nd = x.detach()\nd.zero_()\nc = x.clone()": [
        "Line 1 makes a leaf: `x` requires a gradient, and storage 1 holds its 3 numbers, 12 bytes.",
        "Under `no_grad` a leaf may be written: `subtract_` writes all 3 cells of storage 1, which goes from "
        "version 0 to version 1, and leaves no history.",
        "`detach` makes a second tensor on storage 1, one that requires no gradient. A write through `d` will "
        "change `x`, and no history will record it.",
        "`zero_` writes all 3 cells of storage 1 through `d`: version 2. `x` changes too, but its history does not "
        "record it.",
        "`x.clone()` copies 3 numbers into a new storage 2, 12 bytes. `clone` saves nothing for backward.",
    ],
    "x = mt.ones([2])\nx.stop_gradient = False\nx.stop_gradient = True": [
        "Line 1 allocates storage 1, 2 numbers in 8 bytes, for a tensor of shape [2]. `x` is a name for that tensor.",
        "From line 2 on, `x` is a leaf that requires a gradient. Memory does not change.",
        "From line 3 on, `x` requires no gradient and belongs to no history.",
    ],
    # backward
    LEAF + "b = x * 1\nv = b[0:2]\nv.scale_(10)\nb.sum().backward()": [
        "Line 1 makes a leaf: `x` requires a gradient, and storage 1 holds its 3 numbers, 12 bytes.",
        "`x * 1` allocates storage 2, 12 bytes, for the tensor `b`. `multiply` saves nothing for backward.",
        "`b[0:2]` makes a tensor on 2 of the 3 cells of storage 2. `b` and `v` share one history from now on.",
        "`scale_` writes 2 cells of storage 2 through `v`: version 1. The write joins the history they share,"
        " so `b` gets a new state, too.",
        "`sum` allocates storage 3, 4 bytes, for a new tensor, held by the running line. `sum` saves nothing for "
        "backward.",
        "`backward` starts at `sum@0` with the gradient 1.",
        "`sum` (line 5) receives 1 and sends [1, 1, 1] to `b@1`.",
        "`scale_` (line 4) wrote a part of `b@1`: [1, 1] of the gradient belongs to that part, and [0, 0, 1] goes to "
        "`b@0` for the remaining elements.",
        "`scale_` (line 4) receives [1, 1] and sends [10, 10] to `v`.",
        "`getitem` (line 3) puts the gradient [10, 10] into the cells of `v` and 0 elsewhere: [10, 10, 0] to `b@0`,"
        " which now has [10, 10, 1].",
        "`multiply` (line 2) receives [10, 10, 1] and sends [10, 10, 1] to `x@0`.",
        "`backward` is done: `x.grad` is [10, 10, 1], in storage 4, 12 bytes. Storage 3 is freed.",
    ],
    LEAF + "y = x * x\ny.backward()": [
        "Line 1 makes a leaf: `x` requires a gradient, and storage 1 holds its 3 numbers, 12 bytes.",
        "`x * x` allocates storage 2, 12 bytes, for the tensor `y`. `multiply` saves `x@0`, because its gradient "
        "needs those numbers.",
        "`backward` starts at `y@0` with the gradient [1, 1, 1].",
        "`multiply` (line 2) sends [1, 2, 3] and [1, 2, 3] to `x@0`: [2, 4, 6] together.",
        "`backward` is done: `x.grad` is [2, 4, 6], in storage 3, 12 bytes.",
    ],
    # other storages
    "x = mt.ones([3])\nv = x[0:2]\nx.cast_('float64')\nv.set_(x)\nx.resize_([4])\nx.set_()": [
        "Line 1 allocates storage 1, 3 numbers in 12 bytes, for a tensor of shape [3]. `x` is a name for that tensor.",
        "`x[0:2]` makes a tensor on 2 of the 3 cells of storage 1. No byte is added.",
        "`cast_` copies the numbers of `x` as float64 to a new storage 2, 24 bytes, at version 1. Storage 1 stays, "
        "because "
        "`v` still uses it.",
        "`set_` moves `v` to the storage of `x`, storage 2: nothing is copied. Storage 1 is freed: 12 bytes.",
        "`resize_` needs 4 cells for `x`, so it copies the numbers to a new storage 3, 32 bytes, at version 2. "
        "Storage 2 stays, because `v` still uses it.",
        "`set_` leaves `x` empty, on a storage of 0 bytes. Storage 3 is freed: 32 bytes.",
    ],
    # memory that is shared with numpy
    "import numpy as np\na = np.ones(3, 'float32')\nx = mt.from_numpy(a)\nx.stop_gradient = False\ny = x * x\n"
    "a[1] = 5\nn = x.detach().numpy(share=True)\ndel a\nz = mt.ones([2])\nm = z.numpy(share=True)\ndel z\ndel m": [
        "Line 2 touches no tensor, so memory does not change.",
        "`mt.from_numpy(a)` makes the tensor `x` on the 3 numbers of `a`: nothing is copied. Storage 1 is borrowed "
        "memory: 12 bytes that its owner has allocated.",
        "From line 4 on, `x` is a leaf that requires a gradient. Memory does not change.",
        "`x * x` allocates storage 2, 12 bytes, for the tensor `y`. `multiply` saves `x@0`, because its gradient needs "
        "those numbers.",
        "Line 6 writes 1 cell of storage 1 from outside, but the version stays 0. `multiply` (line 5) saved "
        "it: `backward` will silently use the new one. `x` sees the new number.",
        "`n` names a numpy array on storage 1, the memory of `x`: no number is copied. Writes through the "
        "array do not raise the version.",
        "`del a` removes the last name of a numpy array. It stays, because storage 1 borrows its memory.",
        "Line 9 allocates storage 3, 2 numbers in 8 bytes, for a tensor of shape [2]. `z` is a name for that tensor.",
        "`m` names a numpy array on storage 3, the memory of `z`: no number is copied. Writes through the "
        "array do not raise the version.",
        "`del z` removes a name and its tensor. Storage 3 stays, because the numpy array `m` still uses it.",
        "`del m` removes the last name of a numpy array, so storage 3 is freed at once: 8 bytes fewer are allocated.",
    ],
    # PyTorch's vocabulary
    "import minitensor.torch as torch\na = torch.tensor([0., 1.], requires_grad=True)\nout = a.sigmoid()\n"
    "c = out.data\nc.zero_()\nx = torch.ones(2)\nn = x.numpy()\nn[0] = 7\ne = x.expand(3, 2)\ne.mul_(2)": [
        "Line 2 makes a leaf: `a` requires a gradient, and storage 1 holds its 2 numbers, 8 bytes.",
        "`a.sigmoid()` allocates storage 2, 8 bytes, for the tensor `out`. `sigmoid` saves `out@0`, because its "
        "gradient "
        "needs those numbers.",
        "`data` makes a second tensor on storage 2, with its own version counter. Neither version nor history will "
        "record a write through `c`.",
        "`zero_` writes all 2 cells of storage 2 through `c`, which has its own version counter: storage 2 stays at "
        "version 0. `sigmoid` (line 3) saved them: `backward` will silently use the new ones.",
        "Line 6 allocates storage 3, 2 numbers in 8 bytes, for a tensor of shape [2]. `x` is a name for that tensor.",
        "`n` names a numpy array on storage 3, the memory of `x`: no number is copied. Writes through the "
        "array do not raise the version.",
        "Line 8 writes 1 cell of storage 3 from outside, but the version stays 0. `x` sees the new number.",
        "`expand` makes a tensor whose 6 elements share 2 cells of storage 3. No byte is added.",
        "`mul_` is refused: it would write `e`, whose 6 elements share 2 cells. Nothing is written.",
    ],
    # a write whose operand is a view of its target; a write to a copy that is then freed
    "x = mt.arange(5)\nx[1:].add_(x[:-1])\nx[[0, 1]][0] = 7": [
        "Line 1 allocates storage 1, 5 numbers in 40 bytes, for a tensor of shape [5]. `x` is a name for that tensor.",
        "`add_` writes 4 cells of storage 1, which goes from version 0 to version 1. Its operand reads 3 of them "
        "before anything is written. `x` sees the new numbers.",
        "Line 3: `x[[0, 1]]` allocates storage 2, 16 bytes; then `setitem` writes 1 cell of storage 2, version 1. "
        "Storage "
        "2 is freed again: nothing needs it. `x` keeps its numbers.",
    ],
    # a custom layer
    "class Twice(mt.autograd.PyLayer):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n"
    "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"
    "x = mt.to_tensor([1., 2.], stop_gradient=False)\ny = Twice.apply(x)\ny.backward()": [
        "Line 9 makes a leaf: `x` requires a gradient, and storage 1 holds its 2 numbers, 8 bytes.",
        "Line 10 calls `Twice.forward`. `x in forward` is a name for the tensor of `x`.",
        "Line 4 touches no tensor, so memory does not change.",
        "`multiply` allocates storage 2, 8 bytes, for a new tensor, held by the running line.",
        "`Twice.forward` is done. `y` is its result, recorded as the output of `Twice`. `Twice` saves `x@0`, "
        "because its gradient needs those numbers.",
        "`backward` starts at `y@0` with the gradient [1, 1].",
        "`Twice` (line 10) receives the gradient [1, 1] and calls its own `backward`. `g in backward` names it, in "
        "storage 3.",
        "`multiply` allocates storage 4, 8 bytes, for a new tensor, held by the running line.",
        "The `backward` of `Twice` (line 10) is done: it sends [2, 2] to `x@0`. Storages 3 and 4 are freed.",
        "`backward` is done: `x.grad` is [2, 2], in storage 5, 8 bytes.",
    ],
    # the parameters of a network and the state of its optimizer
    "net = mt.nn.Linear(1, 1)\nnet.weight.set_value(mt.ones([1, 1]))\n"
    "opt = mt.optimizer.Momentum(0.5, 0.9, parameters=net.parameters())\nnet(mt.ones([1, 1])).backward()\nopt.step()": [
        "Line 1: `create_parameter` allocates storage 1, 4 bytes; then `create_parameter` allocates storage 2, 4 "
        "bytes. "
        "`net.bias` names the last result.",
        "Line 2: `ones` allocates storage 3, 4 bytes; then `set_value` writes the one cell of storage 1, version 1. "
        "Storage 3 is freed again: nothing needs it.",
        "Line 3 touches no tensor, so memory does not change.",
        "Line 4: `ones` allocates storage 4, 4 bytes; then `linear` allocates storage 5, 4 bytes. Storage 4 stays, "
        "because "
        "`linear` (line 4) saved it for backward.",
        "`backward` starts at `linear@0` with the gradient [[1]].",
        "`linear` (line 4) receives [[1]] and sends [[1]] to `net.weight@1` and [1] to `net.bias@0`.",
        "`backward` is done: `net.weight.grad` is [[1]] and `net.bias.grad` is [1], in 2 new storages, 8 bytes. "
        "Storage 5 is freed.",
        "Line 5: `Momentum.step` writes 4 storages, of `net.weight`, `net.bias` and 2 more, and each version "
        "increases by 1.",
    ],
    # objects that refer to a tensor without a name
    "xs = {mt.ones([2])}\nx = next(iter(xs))\nx = None\ndef rows():\n    y = mt.ones([3])\n    yield y\ng = rows()\n"
    "a = next(g)\na = None\ndel g": [
        "Line 1 allocates storage 1, 2 numbers in 8 bytes, for a tensor of shape [2].",
        "`x` names an existing tensor.",
        "Line 3 removes the last name of a tensor. It stays, because a set still holds it.",
        "Line 7 touches no tensor, so memory does not change.",
        "Line 5 allocates storage 2, 3 numbers in 12 bytes, for a tensor of shape [3]. `y in rows` is a "
        "name for that tensor.",
        "`rows` yields, and line 8 continues: `a` names the yielded value.",
        "Line 9 removes a name. The tensor and its storage stay, because `y in g` still names it.",
        "`del g` removes the last name of a tensor, so storage 2 is freed at once: 12 bytes fewer are allocated.",
    ],
    # lines that touch no tensor
    "n = 3\nprint(n)\nprint(n)\nx = mt.ones([1])\na = x.numpy()": [
        "Line 1 touches no tensor, so memory does not change.",
        "Line 2 prints and changes no memory.",
        "Line 3 prints and changes no memory.",
        "Line 4 allocates storage 1, 1 number in 4 bytes, for a tensor of shape [1]. `x` is a name for that tensor.",
        "`x.numpy()` copies the numbers into a separate numpy array. No tensor is made.",
    ],
    "for i in range(2):\n    print(i)": [
        "Line 2 prints and changes no memory.",
        "Again, line 2 prints and changes no memory.",
    ],
    "x = mt.ones([2, 3])\nfor row in x:\n    row.zero_()": [
        "Line 1 allocates storage 1, 6 numbers in 24 bytes, for a tensor of shape [2, 3]. `x` is"
        " a name for that tensor.",
        "The loop in line 2 makes a tensor on 3 of the 6 cells of storage 1: `row` for this round. No byte is added.",
        "`zero_` writes 3 cells of storage 1 through `row`: version 1. `x` sees the new numbers, too.",
        "The loop in line 2 makes a tensor on 3 of the 6 cells of storage 1: `row` for this round. No byte is added.",
        "`zero_` writes 3 cells of storage 1 through `row`: version 2. `x` sees the new numbers, too.",
    ],
    # functions
    "def f(h):\n    k = h + 1\n    return k\nx = mt.ones([2])\ny = f(x)": [
        "Line 4 allocates storage 1, 2 numbers in 8 bytes, for a tensor of shape [2]. `x` is a name for that tensor.",
        "Line 5 calls `f`. `h in f` is a name for the tensor of `x`.",
        "`h + 1` allocates storage 2, 8 bytes, for the tensor `k in f`. `h in f` and `k in f` share nothing.",
        "`f` is done, and its local names are deleted. `y` names its return value.",
    ],
    # other errors
    "x = mt.ones([3])\nx.add_(mt.ones([2, 3]))": [
        "Line 1 allocates storage 1, 3 numbers in 12 bytes, for a tensor of shape [3]. `x` is a name for that tensor.",
        "`add_` is refused: its result is larger than its target, and a shape never grows in place. "
        "Nothing is written.",
    ],
    "x = mt.ones([3])\nx.boo()": [
        "Line 1 allocates storage 1, 3 numbers in 12 bytes, for a tensor of shape [3]. `x` is a name for that tensor.",
        "Line 2 raises `AttributeError`. Memory does not change.",
    ],
}


@pytest.mark.parametrize("source", SAYS, ids=range(len(SAYS)))
def test_each_kind_of_step_has_its_sentence(source):
    assert sentences(source) == SAYS[source]


def test_the_sentence_about_a_refusal_under_the_old_policy_omits_the_reason():
    """The error below the sentence gives the reason."""
    said = sentences(LEAF + "y = x * 2\ny.sin_()", policy="2.5")
    assert said[-1] == '`sin_` is refused under the policy "2.5". Nothing is written.'


COW = {
    # one copy serves two operations that read it
    LEAF + "a = x * 2\ny = a * a\na.sin_()": [
        "`sin_` needs its input for backward, so it first copies 12 bytes to storage 4. Then it writes all 3 cells of "
        "storage 2: version 1. `multiply` (line 3) reads the copy, too."
    ],
    # a write copies only the saved bytes that it covers, and copies no byte twice
    LEAF + "a = x * 2\ny = a * a\na[1] = 0\na[1] = 5\na.add_(1)\ny.sum().backward()": [
        "Line 4 writes 1 cell of storage 2, which goes from version 0 to version 1. Just before, 4 bytes were copied "
        "to storage 4: `multiply` (line 3) still needs them.",
        "Line 5 writes 1 cell of storage 2, which goes from version 1 to version 2. The cells that `multiply` (line "
        "3) needs were copied earlier, so nothing is copied now.",
        "`add_` writes all 3 cells of storage 2, which goes from version 2 to version 3. Just before, 8 bytes were "
        "copied and joined with earlier copies: `multiply` (line 3) still needs them.",
        "`sum` allocates storage 7, 4 bytes, for a new tensor, held by the running line. `sum` saves nothing for "
        "backward.",
        "`backward` starts at `sum@0` with the gradient 1.",
        "`sum` (line 7) receives 1 and sends [1, 1, 1] to `y@0`.",
        "`multiply` (line 3) sends [2, 4, 6] and [2, 4, 6] to `a@0`: [4, 8, 12] together. Storage 6, its copy, "
        "is freed: 12 bytes.",
        "`multiply` (line 2) receives [4, 8, 12] and sends [8, 16, 24] to `x@0`.",
        "`backward` is done: `x.grad` is [8, 16, 24], in storage 8, 12 bytes. Storage 7 is freed.",
    ],
    # cells that no node has saved
    LEAF + "a = x * 2\ny = a[0:2] * a[0:2]\na[2] = 0": [
        "Line 4 writes 1 cell of storage 2, which goes from version 0 to version 1. No byte that `multiply` (line 3) "
        "saved is overwritten, so nothing is copied."
    ],
    # a mask with one bit for each element
    LEAF + "a = x * 2\na.clip_(3, 5)": [
        "`clip_` saves marks of its input, 1 bit per element, 1 byte in storage 3, then writes all 3 cells of storage "
        "2: version 1."
    ],
}


@pytest.mark.parametrize("source", COW, ids=range(len(COW)))
def test_sentences_under_copy_on_write(source):
    said = sentences(source, policy="copy_on_write")
    assert said[-len(COW[source]) :] == COW[source]


def test_sentences_about_a_write_to_cells_next_to_saved_cells_say_that_only_the_version_moved():
    source = LEAF + "a = x * 1\ny = a[0:2] * a[0:2]\na[2] = 8\ny.sum().backward()"
    said = sentences(source)
    assert said[3] == (
        "Line 4 writes 1 cell of storage 2, which goes from version 0 to version 1. None of the bytes that `multiply` "
        "(line 3) saved are overwritten, but the version moved: `backward` will be refused."
    )
    assert said[-1] == (
        "`multiply` (line 3) needs `a` at version 0 but finds version 1, so `backward` raises. None of its bytes "
        "were overwritten: only the version moved."
    )


def test_the_sentence_about_an_operation_of_an_earlier_cell_has_the_word_earlier():
    namespace = {"__name__": "__main__", "mt": mt}
    exec(LEAF + "a = x * 2\ny = a * a", namespace)
    assert sentences("a[0] = 1", namespace, policy="copy_on_write") == [
        "Line 1 writes 1 cell of storage 1, which goes from version 0 to version 1. Just before, 4 bytes were copied "
        "to storage 2: an earlier `multiply` still needs them."
    ]


def test_the_effect_of_a_write_on_saved_tensors_is_always_mentioned():
    """This includes sentences that are shortened because they would have too many words."""
    for policy in ("2.6", "copy_on_write"):
        for source in [*PROGRAMS.values(), *map(fuzz.program, range(40))]:
            mt.seed(0)
            done = record.run(source, {"__name__": "__main__", "mt": mt}, file="<program>", policy=policy, limit=1000)
            for step in done.variant["steps"]:
                did = {event["do"] for event in step["events"]}
                stale = [event.get("unnoticed", False) for event in step["events"] if event["do"] == "stale"]
                if "raise" not in did:
                    assert False not in stale or "refuse" in step["say"], step["say"]
                    assert True not in stale or re.search("not notice|silently", step["say"]), step["say"]
                    assert "preserve" not in did or "cop" in step["say"], step["say"]


def test_a_sentence_names_the_result_that_an_operation_saves():
    assert sentences(LEAF + "y = x * 2\ny.tanh_()")[-1] == (
        "`tanh_` writes all 3 cells of storage 2, which goes from version 0 to version 1. `tanh_` saves `y@1`, because "
        "its gradient needs those numbers."
    )


def test_a_sentence_about_a_large_storage_names_only_tensors_that_certainly_see_the_write():
    said = sentences("x = mt.zeros([1000, 1000])\nv = x[10]\nc = x[:, 3]\nx[5, [1, 5]] = 2\nv[3] = 1\nc.fill_(7)")
    assert said[3:] == [
        "Line 4 writes 2 cells of storage 1, which goes from version 0 to version 1.",
        "Line 5 writes cell 10,003 of storage 1, which goes from version 1 to version 2. `x` sees the new number, too.",
        "`fill_` writes 1,000 cells of storage 1 through `c`: version 3. `x` sees the new numbers, too.",
    ]


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_every_sentence_follows_the_rules_for_sentences(source):
    said = sentences(source)
    for before, sentence in zip(["", *said], said, strict=False):
        assert len(sentence.split()) <= 35, sentence
        assert sentence != before, "a screen reader does not announce a repeated sentence"
        assert sentence.endswith("."), sentence
        assert sentence.count("`") % 2 == 0, sentence
        prose = re.sub(r"`[^`]*`", "CODE", sentence)
        assert not re.search(r"\b(here|blue|red|green|arrow|[tmn]\d+)\b|None|  ", prose), sentence


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1"),
        (2.5, "2.5"),
        (0.8414709848, "0.841"),
        (-0.0, "0"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (True, "True"),
        (12345678, "12345678"),
        (1234.5, "1234"),
        (123456.7, "1.23e5"),
        (16777216.0, "1.68e7"),
        (1e-9, "1e-9"),
        (100.5, "100.5"),
    ],
)
def test_the_text_of_a_number_is_short(number, text):
    assert text_of(number) == text


def test_an_operation_that_has_released_a_storage_is_not_named_as_the_reason_why_it_stays():
    said = sentences(LEAF + "y = (x * x).sum()\nview = lambda v=x[:2]: v\ny.backward()\ndel x")
    assert said[-1] == (
        "`del x` removes a name and its tensor. Storage 1 stays, because a tuple still holds a tensor on it."
    )
