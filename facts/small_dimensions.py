"""Record in small-dimensions.json strides of dimensions of length 1 or 0, and gradients of comparisons in place.

python facts/small_dimensions.py torch      in an environment that has torch

The answer to a question about strides is a list of strides. A question about results has an operand `x`; its answer has
the strides of the result of each operation on `x`, except for operations that raise an error. For a comparison, `x`,
`y` or both require a gradient; the answer for each of these cases says whether `x` requires a gradient afterwards, and
has the gradients of the leaves after `x.sum().backward()`.
"""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from typing import Any

import numpy
from recording import Questions, write

STRIDES = [
    *("L.zeros(1, 3)", "L.zeros(3, 1)", "L.zeros(3, 1, 2).squeeze(1).unsqueeze(0)", "L.zeros(3, 2).unsqueeze(0)"),
    *("L.zeros(3, 2).unsqueeze(1)", "L.zeros(3, 2).unsqueeze(2)", "L.zeros(3, 2).t().unsqueeze(0)"),
    *("L.zeros(3, 2).t().unsqueeze(1)", "L.zeros(3, 2)[None]", "L.zeros(3, 2)[:, None]", "L.zeros(3, 2)[..., None]"),
    *("L.zeros(3, 2).t()[None]", "L.zeros(4, 3)[1:2]", "L.zeros(4, 3)[:, 1:2]", "L.zeros(4, 3)[::2, :1]"),
    *("L.zeros(4, 3)[3:4:2]", "L.zeros(4, 3).sum(0, keepdim=True)", "L.zeros(4, 3).sum(1, keepdim=True)"),
    *("L.zeros(1, 1, 1)", "L.zeros(1, 3).t()", "L.zeros(3, 1).t()", "L.zeros(1, 3).expand(4, 3)"),
    *("L.zeros(3, 1).expand(3, 1)", "L.zeros(3, 1).expand(2, 3, 1)", "L.zeros(6).view(1, 6)", "L.zeros(6).view(6, 1)"),
    *("L.zeros(6).view(2, 1, 3)", "L.zeros(2, 3).permute(1, 0)[:, :1]", "L.zeros(2, 0)", "L.zeros(0, 3)"),
    *("L.zeros(2, 0, 3)", "L.zeros(1, 0)", "L.zeros(2, 3).narrow(0, 1, 1)", "L.zeros(2, 3).split(1)[1]"),
    *("L.zeros(2, 3).chunk(2, 1)[1]", "L.zeros(()).unsqueeze(0)", "L.zeros(()).view(1, 1)"),
    *("L.zeros(3, 4).diagonal().unsqueeze(0)", "L.zeros(5)[1:2]", "L.zeros(5)[::5]", "L.zeros(2, 5)[:, ::5]"),
    *("L.zeros(1, 5).clone()", "L.zeros(3, 1, 2).flatten(0, 1)", "L.zeros(6, 1).unflatten(0, (2, 3))"),
    *("L.zeros(2, 3)[L.tensor([0])]", "L.stack([L.zeros(3)])", "L.cat([L.zeros(1, 3)])", "L.eye(1)"),
    *("L.zeros(4, 1, 3)[:, 0]", "L.zeros(2, 1, 3).squeeze().unsqueeze(1)", "L.zeros(2, 3).detach()[None]"),
    *("L.from_numpy(numpy.zeros((1, 3)))", "L.from_numpy(numpy.zeros((4, 3))[1:2])", "L.tensor([[1.0]])"),
    *("L.zeros(2, 3).unfold(1, 1, 1)", "L.zeros(2, 3).swapaxes(0, 1)[None]"),
]
#: Images in another memory order, and operations on them. Copies keep the strides of an image, and elementwise results
#: may have other strides.
STRIDES += [
    program.format(f"L.zeros{shape}.{order}")
    for shape in [
        *((2, 1, 4, 5), (2, 3, 1, 5), (2, 3, 4, 1), (2, 3, 1, 1), (1, 3, 1, 1), (1, 1, 4, 5), (2, 1, 1, 1)),
        *((1, 1, 1, 1), (2, 1, 4, 1)),
    ]
    for order in ("to(memory_format=L.channels_last)", "permute(0, 2, 3, 1)", "permute(3, 1, 0, 2)")
    for program in [
        *("{}", "{}.to(L.float64)", "{}.clone()", "{}.to(L.bool).to(L.float32)", "{}.to(L.float64, copy=True)"),
        *("{}[:1].clone()", "{}[:1].to(L.float64)", "L.zeros_like({})", "{}.exp()", "{}.to(L.float64).abs()"),
        *("(lambda x: x + x)({})", "{}.contiguous()", "{}.clone(memory_format=L.channels_last)"),
    ]
]
#: Tensors with dimensions of length 1 whose strides differ from those of a new tensor, and some other tensors.
OPERANDS = [
    *(
        f"L.zeros{shape}.{order}"
        for shape in ((2, 1, 4, 5), (2, 3, 4, 1), (2, 3, 1, 1), (1, 3, 4, 5), (1, 1, 1, 1))
        for order in ("to(memory_format=L.channels_last)", "permute(0, 2, 3, 1)", "permute(3, 1, 0, 2)")
    ),
    *(f"L.zeros(2, 1, 4, 5){index}" for index in ("[::2]", "[:, :1]", "[..., :1]", "[..., ::2]")),
    *("L.zeros(2, 1, 3).permute(2, 0, 1)", "L.zeros(1, 2, 3).transpose(0, 2)", "L.zeros(2, 3, 1)[::2]"),
    *("L.zeros(3, 1).t()", "L.zeros(1, 3).t()", "L.zeros(3, 1).t().unsqueeze(0)", "L.zeros(3, 4)[1:2]"),
    *("L.zeros(5)[::5]", "L.zeros(5)[None]", "L.from_numpy(numpy.zeros((4, 3))[1:2])"),
    *("L.zeros(3, 1).as_strided((3, 1), (1, 7))", "L.zeros(2, 3, 4, 5).to(memory_format=L.channels_last)"),
]
OPERATIONS = [
    *("x.exp()", "x.relu()", "x.neg()", "x.isnan()", "x.logical_not()", "x.clamp(0, 1)", "x.nan_to_num()"),
    *("x + x", "x + 1", "1 - x", "x * 2", "x / 2", "x // 2", "x.fmod(2)", "x > 0", "x == 0", "x >= x", "x + x[:1]"),
    *("x.pow(2)", "x.lerp(x, 0.5)", "x.addcmul(x, x)", "L.maximum(x, x)", "L.where(x > 0, x, x + 1)"),
    *("L.where(x > 0, x, 0.0)", "x.masked_fill(x > 0, 1.0)", "L.nn.functional.gelu(x)"),
    *("L.nn.functional.softplus(x)", "L.nn.functional.dropout(x, 0.5)", "x.bool()", "x.double()", "x.clone()"),
    *("x.double().abs()", "x[:1].clone()", "L.zeros_like(x)", "L.empty_like(x)", "L.full_like(x, 2.0)"),
    *("x.sum(0)", "x.sum(-1, keepdim=True)", "x.mean(0, keepdim=True)", "x.sum(1, keepdim=True) + x"),
    *("x.max(0).values", "x.argmax(0)", "x.softmax(-1)", "x.log_softmax(0)", "x.cumsum(0)", "x.sort(0).values"),
    *("x.topk(1, 0).values", "x.diff(dim=0)", "x.diff(0)", "x.flip(0)", "x.roll(1, 0)", "x.roll(0, 0)", "x.tril()"),
    *("L.cat([x, x])", "L.stack([x])", "L.stack([x, x], 1)", "x.repeat(1, 1, 1, 1)", "x[L.tensor([0])]"),
    *("x[:, L.tensor([0])]", "x.index_select(0, L.tensor([0]))", "x[0]", "x[None]", "x[None].movedim(0, -1)"),
    *("x.unsqueeze(1)", "x.squeeze()", "x.squeeze(1)", "x.squeeze_()", "x.unsqueeze_(1)", "x.flatten(0, 1)"),
    *("x.reshape(-1)", "x.view(-1)", "x.view(x.shape)", "x.unflatten(0, (-1, 1))", "x.contiguous()"),
    *("x.expand(2, *x.shape)", "x.transpose(0, -1).exp()", "x.split(1)[0]", "x.unbind()[0]", "x.unfold(0, 1, 1)"),
    *("x.movedim(0, -1)", "x.transpose(0, -1)", "x.fill_(1.0)", "x.resize_(x.shape)", "x.resize_as_(x)"),
    *("x.detach() * 2", "L.nn.functional.scaled_dot_product_attention(x, x, x)"),
]
COMPARISONS = ["eq_", "ne_", "lt_", "le_", "gt_", "ge_"]
QUESTIONS: Questions = {
    **{f"strides: {program}": ({"torch": program}, []) for program in STRIDES},
    **{f"results of {program}": ({"torch": program}, []) for program in OPERANDS},
    **{f"in place: {name}": ({"torch": name}, []) for name in COMPARISONS},
}


def answer(module: Any, program: str) -> Any:
    """Return the answer of `module`, which has PyTorch's names."""
    if program in COMPARISONS:
        return _compared(module, program)
    names = {"L": module, "numpy": numpy}
    if program not in OPERANDS:
        return list(eval(program, names).stride())
    found = {}
    for operation in OPERATIONS:
        with contextlib.suppress(RuntimeError, IndexError, ValueError):  # operands of some shapes are refused
            result = eval(operation, {**names, "x": eval(program, names)})
            found[operation] = ",".join(map(str, result.stride()))
    return found


def _compared(module: Any, program: str) -> list[Any]:
    found = []
    for wants in ((False, True), (True, False), (True, True)):
        leaf, y = (
            module.tensor([1.0, number], requires_grad=want) for number, want in zip((2.0, 3.0), wants, strict=True)
        )
        x = leaf * 1.0
        getattr(x, program)(y)
        if x.requires_grad:
            x.sum().backward()
        found.append([x.requires_grad, *(None if each.grad is None else each.grad.tolist() for each in (leaf, y))])
    return found


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Return the program and its answer."""
    return {"program": program, "answer": answer(importlib.import_module(library), program)}


if __name__ == "__main__":
    write(Path(__file__).with_name("small-dimensions.json"), QUESTIONS, ask)
