"""Record in gradients.json whether `.grad` of PyTorch and Paddle remains one tensor, or is replaced by a new one.

python facts/gradients.py torch      in an environment that has torch
python facts/gradients.py paddle

A program calls `look(step, x, kept)` after each step. The call records the gradient of `x`: its numbers, its version,
its strides, and whether it requires a gradient itself. It also records the gradient `kept` that the program read
earlier: its numbers, its version, whether `x.grad` is still the same object, and whether both have the same address.
`note(what, value)` adds one value.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recording import Questions, apart, write

LEAF = {
    "torch": "x = torch.tensor([1.0, 2.0], requires_grad=True)\n",
    "paddle": "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\n",
}
MATRIX = {
    "torch": "x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)\n",
    "paddle": "x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], stop_gradient=False)\n",
}
FIRST = "(x * 2.0).sum().backward()\nkept = x.grad\nlook('first backward', x, kept)\n"
AGAIN = "(x * 3.0).sum().backward()\nlook('next backward', x, kept)\n"


def both(
    torch: str | None, paddle: str | None = None, start: dict[str, str] = LEAF
) -> tuple[dict[str, str], list[str]]:
    """Return the program for both libraries, on a leaf `x` that requires a gradient. Paddle's defaults to PyTorch's."""
    lines = {"torch": torch, "paddle": torch if paddle is None else paddle}
    return {library: start[library] + text for library, text in lines.items() if text}, []


def only(library: str, text: str) -> tuple[dict[str, str], list[str]]:
    """Return a program for one library, because the other lacks the name."""
    return {library: LEAF[library] + text}, []


def clear_between(torch: str | None, paddle: str | None = None) -> tuple[dict[str, str], list[str]]:
    """Return a program with a backward, lines that clear or replace the gradient, and another backward."""
    programs, _ = both(torch, paddle)
    return {
        library: LEAF[library] + FIRST + text[len(LEAF[library]) :] + "\nlook('emptied', x, kept)\n" + AGAIN
        for library, text in programs.items()
    }, []


def looks() -> tuple[Callable[..., None], Callable[[str, Any], None], list[dict[str, Any]]]:
    """Return `look`, `note` and the list that they fill. Tests also use this function."""
    steps: list[dict[str, Any]] = []

    def version(tensor: Any) -> int:
        return tensor._version if hasattr(tensor, "_version") else tensor.inplace_version

    def look(step: str, tensor: Any, kept: Any = None) -> None:
        gradient = tensor.grad
        row: dict[str, Any] = {"after": step, "grad": None if gradient is None else gradient.tolist()}
        if gradient is not None:
            row["version"] = version(gradient)
            row["wants gradient"] = (
                gradient.requires_grad if hasattr(gradient, "requires_grad") else not gradient.stop_gradient
            )
            if callable(getattr(gradient, "stride", None)):
                row["strides"] = list(gradient.stride())
        if kept is not None:
            # Paddle may free the memory of a tensor that is still referenced, and then shows no number.
            gone = hasattr(kept, "_is_initialized") and not kept._is_initialized()
            row["kept"] = "no memory" if gone else kept.tolist()
            row["kept version"] = version(kept)
            row["same object"] = gradient is kept
            row["same memory"] = gradient is not None and not gone and gradient.data_ptr() == kept.data_ptr()
        steps.append(row)

    def note(what: str, value: Any) -> None:
        steps.append({what: value})

    return look, note, steps


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Run the program with `look` and `note` in a separate process, and record its warnings."""
    importlib.import_module(library)
    return {"program": program, **apart(lambda: run_and_look(library, program))}


def run_and_look(library: str, program: str) -> dict[str, Any]:
    """Run a program in this process, and return its error, its steps and its warnings."""
    names: dict[str, Any] = {library: importlib.import_module(library)}
    look, note, steps = looks()
    names |= {"look": look, "note": note}
    answer: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(program, names)
        except Exception as error:
            text = str(error).strip() or "(no message)"
            answer["error"] = f"{type(error).__name__}: {text.splitlines()[0]}"
    answer["steps"] = steps
    if caught:
        answer["warnings"] = [f"{w.category.__name__}: {str(w.message).strip().splitlines()[0]}" for w in caught]
    return answer


QUESTIONS: Questions = {
    # One tensor, or a new one each time?
    "three backwards, each gradient kept": both(
        "saved = []\nfor i in range(3):\n    (x * (i + 1)).sum().backward()\n    saved.append(x.grad)\n"
        "note('saved', [g.tolist() for g in saved])\nnote('one object', saved[0] is saved[1] is saved[2])\n"
        "note('one address', len({g.data_ptr() for g in saved}) == 1)"
    ),
    "repeated backward": both(FIRST + AGAIN + AGAIN),
    "the same graph twice": both(
        "y = (x * x).sum()\ny.backward(retain_graph=True)\nkept = x.grad\nlook('first', x, kept)\n"
        "y.backward()\nlook('second', x, kept)"
    ),
    "grad is grad": both("(x * 2.0).sum().backward()\nnote('x.grad is x.grad', x.grad is x.grad)"),
    "a leaf used twice in one graph": both(
        "(x * 2.0 + x * 3.0).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n" + AGAIN
    ),
    "a view of the kept gradient": both(
        "(x * 2.0).sum().backward()\nview = x.grad[0:1]\nalias = x.grad.detach()\n(x * 3.0).sum().backward()\n"
        "note('view', view.tolist())\nnote('detached', alias.tolist())"
    ),
    "the kept gradient as a numpy array": both(
        "(x * 2.0).sum().backward()\narray = x.grad.numpy()\n(x * 3.0).sum().backward()\nnote('array', array.tolist())"
    ),
    "a clone of the gradient": both(
        "(x * 2.0).sum().backward()\nkept = x.grad.clone()\n(x * 3.0).sum().backward()\nlook('next', x, kept)"
    ),
    "a gradient kept in a sum": both(
        "total = 0.0\nfor i in range(3):\n    (x * (i + 1)).sum().backward()\n    total = total + x.grad\n"
        "note('total', total.tolist())"
    ),
    # The gradient is cleared.
    "optimizer.zero_grad()": clear_between(
        "torch.optim.SGD([x], lr=0.1).zero_grad()",
        "paddle.optimizer.SGD(learning_rate=0.1, parameters=[x]).clear_grad()",
    ),
    "optimizer.zero_grad, zeros": clear_between(
        "torch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=False)",
        "paddle.optimizer.SGD(learning_rate=0.1, parameters=[x]).clear_grad(set_to_zero=True)",
    ),
    "optimizer.zero_grad, none": clear_between(
        "torch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=True)",
        "paddle.optimizer.SGD(learning_rate=0.1, parameters=[x]).clear_grad(set_to_zero=False)",
    ),
    "optimizer.clear_gradients": clear_between(
        None, "paddle.optimizer.SGD(learning_rate=0.1, parameters=[x]).clear_gradients()"
    ),
    "x.clear_grad()": clear_between(None, "x.clear_grad()"),
    "x.clear_gradient()": clear_between(None, "x.clear_gradient()"),
    "x.clear_gradient, zeros": clear_between(None, "x.clear_gradient(set_to_zero=True)"),
    "x.clear_gradient, none": clear_between(None, "x.clear_gradient(set_to_zero=False)"),
    "x.grad = None": clear_between("x.grad = None"),
    "x.grad.zero_()": clear_between("x.grad.zero_()"),
    "x.grad.data.zero_()": clear_between("x.grad.data.zero_()"),
    "x.grad.detach_().zero_()": clear_between("x.grad.detach_().zero_()"),
    "x.grad.fill_(0)": clear_between("x.grad.fill_(0.0)"),
    "x.grad *= 0": clear_between("x.grad *= 0.0"),
    "set_value of the gradient": clear_between(None, "x.grad.set_value(paddle.zeros([2]))"),
    "a module's gradients, zeros": both(
        "m = torch.nn.Linear(2, 1)\nm(x).sum().backward()\nkept = m.bias.grad\n"
        "look('first', m.bias, kept)\nm.zero_grad(set_to_none=False)\nlook('emptied', m.bias, kept)\n"
        "m(x).sum().backward()\nlook('next', m.bias, kept)",
        "m = paddle.nn.Linear(2, 1)\nm(x).sum().backward()\nkept = m.bias.grad\n"
        "look('first', m.bias, kept)\nm.clear_gradients()\nlook('emptied', m.bias, kept)\n"
        "m(x).sum().backward()\nlook('next', m.bias, kept)",
    ),
    "a module's gradients, none": both(
        "m = torch.nn.Linear(2, 1)\nm(x).sum().backward()\nkept = m.bias.grad\n"
        "look('first', m.bias, kept)\nm.zero_grad()\nlook('emptied', m.bias, kept)\n"
        "m(x).sum().backward()\nlook('next', m.bias, kept)",
        "m = paddle.nn.Linear(2, 1)\nm(x).sum().backward()\nkept = m.bias.grad\n"
        "look('first', m.bias, kept)\nm.clear_gradients(False)\nlook('emptied', m.bias, kept)\n"
        "m(x).sum().backward()\nlook('next', m.bias, kept)",
    ),
    "emptied twice": both(
        FIRST + "x.grad.zero_()\nx.grad.zero_()\nlook('emptied', x, kept)\n" + AGAIN,
        FIRST + "x.clear_grad()\nx.clear_grad()\nlook('emptied', x, kept)\n" + AGAIN,
    ),
    "emptied before there was one": both(
        "torch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=False)\nlook('emptied', x)",
        "x.clear_grad()\nlook('emptied', x)",
    ),
    # The user writes to the gradient.
    "the kept gradient written in place": both(
        FIRST + "kept.mul_(10.0)\nlook('written', x, kept)\n" + AGAIN,
        FIRST + "kept.scale_(10.0)\nlook('written', x, kept)\n" + AGAIN,
    ),
    "one element of the gradient assigned": both(FIRST + "x.grad[0] = 7.0\nlook('written', x, kept)\n" + AGAIN),
    "a gradient kept, then x.grad = None, then written": both(
        FIRST + "x.grad = None\nkept.mul_(10.0)\n" + AGAIN + "kept.mul_(10.0)\nlook('written', x, kept)",
        FIRST + "x.grad = None\nkept.scale_(10.0)\n" + AGAIN + "kept.scale_(10.0)\nlook('written', x, kept)",
    ),
    "clipped": both(
        FIRST + "torch.nn.utils.clip_grad_norm_([x], 1.0)\nlook('clipped', x, kept)\n" + AGAIN,
        FIRST + "paddle.nn.utils.clip_grad_norm_([x], 1.0)\nlook('clipped', x, kept)\n" + AGAIN,
    ),
    "clipped by value": both(
        FIRST + "torch.nn.utils.clip_grad_value_([x], 1.0)\nlook('clipped', x, kept)\n" + AGAIN,
        FIRST + "paddle.nn.utils.clip_grad_value_([x], 1.0)\nlook('clipped', x, kept)\n" + AGAIN,
    ),
    "an optimizer step": both(
        FIRST + "torch.optim.SGD([x], lr=0.1).step()\nlook('stepped', x, kept)\n" + AGAIN,
        FIRST + "paddle.optimizer.SGD(learning_rate=0.1, parameters=[x]).step()\nlook('stepped', x, kept)\n" + AGAIN,
    ),
    "a step with momentum, the gradient written": both(
        FIRST + "o = torch.optim.SGD([x], lr=0.1, momentum=0.9)\no.step()\nx.grad.zero_()\no.step()\n"
        "note('x', x.tolist())",
        FIRST + "o = paddle.optimizer.Momentum(learning_rate=0.1, momentum=0.9, parameters=[x])\no.step()\n"
        "x.grad.zero_()\no.step()\nnote('x', x.tolist())",
    ),
    # The user assigns another gradient.
    "an own tensor assigned": both(
        "kept = torch.ones(2)\nx.grad = kept\nlook('assigned', x, kept)\n" + AGAIN,
        "kept = paddle.ones([2])\nx.grad = kept\nlook('assigned', x, kept)\n" + AGAIN,
    ),
    "one gradient assigned to two leaves": both(
        FIRST
        + "z = torch.tensor([1.0, 2.0], requires_grad=True)\nz.grad = x.grad\n"
        + AGAIN
        + "look('the other', z, kept)"
        "\n(z * 5.0).sum().backward()\nlook('x', x, kept)\nlook('z', z, kept)",
        FIRST
        + "z = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\nz.grad = x.grad\n"
        + AGAIN
        + "look('the other', z, kept)\n(z * 5.0).sum().backward()\nlook('x', x, kept)\nlook('z', z, kept)",
    ),
    "an expanded tensor assigned": both(
        "kept = torch.ones(1).expand(2)\nx.grad = kept\nlook('assigned', x, kept)\n" + AGAIN,
        "kept = paddle.ones([1]).expand([2])\nx.grad = kept\nlook('assigned', x, kept)\n" + AGAIN,
    ),
    "a gradient of another shape assigned": both("x.grad = torch.ones(3)", "x.grad = paddle.ones([3])"),
    "a gradient of another dtype assigned": both(
        "x.grad = torch.ones(2, dtype=torch.float64)", "x.grad = paddle.ones([2], dtype='float64')\nlook('assigned', x)"
    ),
    "a number assigned": both("x.grad = 1.0"),
    "itself assigned": both("x.grad = x", "x.grad = x\nlook('assigned', x, x)"),
    "a gradient that requires a gradient assigned": both(
        "kept = torch.ones(2, requires_grad=True)\nx.grad = kept\nlook('assigned', x, kept)\n" + AGAIN,
        "kept = paddle.ones([2])\nkept.stop_gradient = False\nx.grad = kept\nlook('assigned', x, kept)\n" + AGAIN,
    ),
    "del x.grad": both(FIRST + "del x.grad\nlook('deleted', x, kept)\n" + AGAIN),
    # create_graph.
    "create_graph twice": both(
        "(x ** 3).sum().backward(create_graph=True)\nkept = x.grad\nlook('first', x, kept)\n"
        "(x ** 3).sum().backward(create_graph=True)\nlook('second', x, kept)",
        "y = (x ** 3).sum()\npaddle.autograd.backward([y], retain_graph=True)\nkept = x.grad\nlook('first', x, kept)\n"
        "y = (x ** 3).sum()\npaddle.autograd.backward([y], retain_graph=True)\nlook('second', x, kept)",
    ),
    "create_graph, then plain": only(
        "torch", "(x ** 3).sum().backward(create_graph=True)\nkept = x.grad\nlook('first', x, kept)\n" + AGAIN
    ),
    "plain, then create_graph": only(
        "torch", FIRST + "(x ** 3).sum().backward(create_graph=True)\nlook('create_graph', x, kept)\n" + AGAIN
    ),
    "plain with create_graph of a linear program": only(
        "torch", FIRST + "(x * 3.0).sum().backward(create_graph=True)\nlook('create_graph', x, kept)"
    ),
    "grad with create_graph, then backward of it": both(
        "g = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)[0]\ng.sum().backward()\nkept = x.grad\n"
        "look('first', x, kept)\nnote('g wants gradient', g.requires_grad)\n" + AGAIN,
        "g = paddle.grad((x ** 3).sum(), x, create_graph=True)[0]\ng.sum().backward()\nkept = x.grad\n"
        "look('first', x, kept)\nnote('g wants gradient', not g.stop_gradient)\n" + AGAIN,
    ),
    "grad leaves .grad alone": both(
        "g = torch.autograd.grad((x * 2.0).sum(), x)[0]\nlook('grad', x)\nnote('wants', g.requires_grad)\n"
        "h = torch.autograd.grad((x * 2.0).sum(), x)[0]\nnote('one object', g is h)",
        "g = paddle.grad((x * 2.0).sum(), x)[0]\nlook('grad', x)\nnote('wants', not g.stop_gradient)\n"
        "h = paddle.grad((x * 2.0).sum(), x)[0]\nnote('one object', g is h)",
    ),
    # Grad mode during backward.
    "backward under no_grad": both(
        FIRST + "y = (x * 3.0).sum()\nwith torch.no_grad():\n    y.backward()\nlook('next', x, kept)",
        FIRST + "y = (x * 3.0).sum()\nwith paddle.no_grad():\n    y.backward()\nlook('next', x, kept)",
    ),
    "a gradient read by a program that records": both(
        FIRST + "y = (x.grad * x).sum()\ny.backward()\nlook('next', x, kept)"
    ),
    "a gradient saved by a product, then added to": both(
        FIRST + "y = (x.grad * x).sum()\n" + AGAIN + "y.backward()\nlook('last', x, kept)"
    ),
    # Layouts.
    "first gradient through a transpose": both(
        "w = torch.arange(6.0).reshape(3, 2)\n(x.t() * w).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n"
        "(x * 2.0).sum().backward()\nlook('next', x, kept)",
        "w = paddle.arange(6.0).reshape([3, 2])\n(x.t() * w).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n"
        "(x * 2.0).sum().backward()\nlook('next', x, kept)",
        MATRIX,
    ),
    "next gradient through a transpose": both(
        "(x * 2.0).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n"
        "w = torch.arange(6.0).reshape(3, 2)\n(x.t() * w).sum().backward()\nlook('next', x, kept)",
        "(x * 2.0).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n"
        "w = paddle.arange(6.0).reshape([3, 2])\n(x.t() * w).sum().backward()\nlook('next', x, kept)",
        MATRIX,
    ),
    "an expanded gradient": both(
        "x.sum().backward()\nkept = x.grad\nlook('first', x, kept)\nx.sum().backward()\nlook('next', x, kept)"
    ),
    "an expanded gradient, then one element written": both("x.sum().backward()\nx.grad[0] = 7.0\nlook('written', x)"),
    "a gradient seeded with an expanded tensor": both(
        "seed = torch.ones(1).expand(2)\n(x + 0.0).backward(seed)\nkept = seed\nlook('first', x, kept)",
        "seed = paddle.ones([1]).expand([2])\n(x + 0.0).backward(seed)\nkept = seed\nlook('first', x, kept)",
    ),
    "a leaf that is a transposed tensor": both(
        "z = x.detach().t().requires_grad_()\n(z * 2.0).sum().backward()\nkept = z.grad\nlook('first', z, kept)\n"
        "note('strides of the leaf', list(z.stride()))\n(z * torch.ones(3, 2)).sum().backward()\nlook('next', z, kept)",
        "z = x.detach().t()\nz.stop_gradient = False\n(z * 2.0).sum().backward()\nkept = z.grad\n"
        "look('first', z, kept)\n(z * paddle.ones([3, 2])).sum().backward()\nlook('next', z, kept)",
        MATRIX,
    ),
    "a product of matrices": both(
        "w = torch.ones(4, 2)\n(w @ x).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n"
        "(w @ x).sum().backward()\nlook('next', x, kept)",
        "w = paddle.ones([4, 2])\n(w @ x).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n"
        "(w @ x).sum().backward()\nlook('next', x, kept)",
        MATRIX,
    ),
    "a slice": both(
        "(x[0:1] * 2.0).sum().backward()\nkept = x.grad\nlook('first', x, kept)\n"
        "(x[1:2] * 2.0).sum().backward()\nlook('next', x, kept)"
    ),
    # Reused or copied memory.
    "the seed itself": both(
        "seed = torch.ones(2)\nx.backward(seed)\nkept = seed\nlook('first', x, kept)\nx.backward(seed)\n"
        "look('next', x, kept)",
        "seed = paddle.ones([2])\nx.backward(seed)\nkept = seed\nlook('first', x, kept)\nx.backward(seed)\n"
        "look('next', x, kept)",
    ),
    "the seed handed through an addition": both(
        "seed = torch.ones(2)\n(x + 0.0).backward(seed)\nkept = seed\nlook('first', x, kept)\n"
        "(x + 0.0).backward(seed)\nlook('next', x, kept)",
        "seed = paddle.ones([2])\n(x + 0.0).backward(seed)\nkept = seed\nlook('first', x, kept)\n"
        "(x + 0.0).backward(seed)\nlook('next', x, kept)",
    ),
    "an arriving gradient that nobody keeps": both(
        "where = []\ny = x + 0.0\ny.register_hook(lambda g: where.append(g.data_ptr()))\n(y * 2.0).sum().backward()\n"
        "note('where it arrived', where[0] == x.grad.data_ptr())"
    ),
    "an arriving gradient that a hook keeps": both(
        "seen = []\ny = x + 0.0\ny.register_hook(lambda g: seen.append(g))\n(y * 2.0).sum().backward()\n"
        "kept = seen[0]\n"
        "look('first', x, kept)\n" + AGAIN
    ),
    "one gradient for two leaves": both(
        "z = torch.tensor([5.0, 6.0], requires_grad=True)\n((x + z) * 2.0).sum().backward()\nkept = z.grad\n"
        "look('x beside z', x, kept)\n(x * 3.0).sum().backward()\nlook('x again', x, kept)\nx.grad.zero_()\n"
        "note('z.grad', z.grad.tolist())",
        "z = paddle.to_tensor([5.0, 6.0], stop_gradient=False)\n((x + z) * 2.0).sum().backward()\nkept = z.grad\n"
        "look('x beside z', x, kept)\n(x * 3.0).sum().backward()\nlook('x again', x, kept)\nx.grad.zero_()\n"
        "note('z.grad', z.grad.tolist())",
    ),
    "one expanded gradient for two leaves": both(
        "z = torch.tensor([5.0, 6.0], requires_grad=True)\n(x + z).sum().backward()\nkept = z.grad\n"
        "look('x beside z', x, kept)",
        "z = paddle.to_tensor([5.0, 6.0], stop_gradient=False)\n(x + z).sum().backward()\nkept = z.grad\n"
        "look('x beside z', x, kept)",
    ),
    "one gradient for two leaves, through two additions": both(
        "z = torch.tensor([5.0, 6.0], requires_grad=True)\nseed = torch.ones(2)\n"
        "((x + 1.0) + (z + 1.0)).backward(seed)\n"
        "kept = z.grad\nlook('x beside z', x, kept)\nnote('seed', [x.grad.data_ptr() == seed.data_ptr(), "
        "z.grad.data_ptr() == seed.data_ptr()])",
        "z = paddle.to_tensor([5.0, 6.0], stop_gradient=False)\nseed = paddle.ones([2])\n"
        "((x + 1.0) + (z + 1.0)).backward(seed)\nkept = z.grad\nlook('x beside z', x, kept)\n"
        "note('seed', [x.grad.data_ptr() == seed.data_ptr(), z.grad.data_ptr() == seed.data_ptr()])",
    ),
    "a gradient and a reshaped one": both(
        "z = torch.ones(2, 1, requires_grad=True)\n((x + z.reshape(2)) * 2.0).sum().backward()\nkept = z.grad\n"
        "look('x beside z', x, kept)",
        "z = paddle.ones([2, 1])\nz.stop_gradient = False\n((x + z.reshape([2])) * 2.0).sum().backward()\n"
        "kept = z.grad\n"
        "look('x beside z', x, kept)",
    ),
    # Hooks.
    "a hook that keeps what it is given": both(
        "seen = []\nx.register_hook(lambda g: seen.append(g))\n(x * 2.0).sum().backward()\nkept = seen[0]\n"
        "look('first', x, kept)\n(x * 3.0).sum().backward()\nlook('next', x, kept)\n"
        "note('seen', [g.tolist() for g in seen])"
    ),
    "a hook that returns another": both("x.register_hook(lambda g: g * 10.0)\n" + FIRST + AGAIN),
    "a hook that returns the same tensor each time": both(
        "own = torch.ones(2)\nx.register_hook(lambda g: own)\n(x * 2.0).sum().backward()\nkept = own\n"
        "look('first', x, kept)\n(x * 2.0).sum().backward()\nlook('next', x, kept)",
        "own = paddle.ones([2])\nx.register_hook(lambda g: own)\n(x * 2.0).sum().backward()\nkept = own\n"
        "look('first', x, kept)\n(x * 2.0).sum().backward()\nlook('next', x, kept)",
    ),
    "a hook that writes what it is given": both(
        "def hook(g):\n    g.mul_(10.0)\nx.register_hook(hook)\n" + FIRST + AGAIN,
        "def hook(g):\n    g.scale_(10.0)\nx.register_hook(hook)\n" + FIRST + AGAIN,
    ),
    "what x.grad is while a hook runs": both(
        "(x * 2.0).sum().backward()\nx.register_hook(lambda g: note('in the hook', [x.grad.tolist(), g.tolist()]))\n"
        "(x * 3.0).sum().backward()\nlook('after', x)"
    ),
    "a hook after the gradient is added": both(
        "x.register_post_accumulate_grad_hook(lambda t: note('in the hook', t.grad.tolist()))\n" + FIRST + AGAIN,
        "x._register_backward_hook(lambda: note('in the hook', x.grad.tolist()))\n" + FIRST + AGAIN,
    ),
    "a hook after the gradient is added empties it": both(
        "def hook(t):\n    t.grad = None\nx.register_post_accumulate_grad_hook(hook)\n(x * 2.0).sum().backward()\n"
        "look('first', x)",
        "x._register_backward_hook(lambda: x.clear_gradient(False))\n(x * 2.0).sum().backward()\nlook('first', x)",
    ),
    # Not a leaf.
    "a retained gradient, twice": both(
        "y = x * 2.0\ny.retain_grad()\n(y * 2.0).sum().backward(retain_graph=True)\nkept = y.grad\n"
        "look('first', y, kept)\n(y * 3.0).sum().backward()\nlook('next', y, kept)",
        "y = x * 2.0\ny.retain_grads()\n(y * 2.0).sum().backward(retain_graph=True)\nkept = y.grad\n"
        "look('first', y, kept)\n(y * 3.0).sum().backward()\nlook('next', y, kept)",
    ),
    "a retained gradient beside the leaf's": both(
        "y = x + 0.0\ny.retain_grad()\n(y * 2.0).sum().backward()\nkept = y.grad\nlook('x beside y', x, kept)\n"
        "(x * 3.0).sum().backward()\nlook('next', x, kept)",
        "y = x + 0.0\ny.retain_grads()\n(y * 2.0).sum().backward()\nkept = y.grad\nlook('x beside y', x, kept)\n"
        "(x * 3.0).sum().backward()\nlook('next', x, kept)",
    ),
    "a retained gradient written in place": both(
        "y = x + 0.0\ny.retain_grad()\n(y * 2.0).sum().backward()\ny.grad.mul_(10.0)\nlook('x', x)",
        "y = x + 0.0\ny.retain_grads()\n(y * 2.0).sum().backward()\ny.grad.scale_(10.0)\nlook('x', x)",
    ),
    "a retained gradient with create_graph": only(
        "torch",
        "y = x * 2.0\ny.retain_grad()\n(y ** 3).sum().backward(create_graph=True)\nkept = y.grad\n"
        "look('first', y, kept)\n"
        "(y * 3.0).sum().backward()\nlook('next', y, kept)",
    ),
    "a retained gradient emptied": both(
        "y = x * 2.0\ny.retain_grad()\n(y * 2.0).sum().backward(retain_graph=True)\nkept = y.grad\ny.grad = None\n"
        "look('emptied', y, kept)\n(y * 3.0).sum().backward()\nlook('next', y, kept)",
        "y = x * 2.0\ny.retain_grads()\n(y * 2.0).sum().backward(retain_graph=True)\nkept = y.grad\n"
        "y.clear_gradient(False)\n"
        "look('emptied', y, kept)\n(y * 3.0).sum().backward()\nlook('next', y, kept)",
    ),
    "the gradient of what is not a leaf": both("y = x * 2.0\ny.sum().backward()\nnote('y.grad', y.grad)"),
    "retain_grad of a leaf": both("x.retain_grad()\n" + FIRST + AGAIN, "x.retain_grads()\n" + FIRST + AGAIN),
    # Printed text.
    "printed after backward": both("(x * 2.0).sum().backward()\nnote('repr', repr(x.grad))\nnote('x', repr(x))"),
    "printed after a second backward": both(
        "(x * 2.0).sum().backward()\n(x * 2.0).sum().backward()\nnote('repr', repr(x.grad))"
    ),
    "printed after a product": both("(x * x).sum().backward()\nnote('repr', repr(x.grad))"),
    "printed after a sum alone": both("x.sum().backward()\nnote('repr', repr(x.grad))"),
    "printed after two uses": both("(x * x + x * 3.0).sum().backward()\nnote('repr', repr(x.grad))"),
    "printed after it was emptied": both(
        "(x * 2.0).sum().backward()\nx.grad.zero_()\nnote('repr', repr(x.grad))",
        "(x * 2.0).sum().backward()\nx.clear_grad()\nnote('repr', repr(x.grad))",
    ),
    "printed after create_graph": only(
        "torch", "(x ** 3).sum().backward(create_graph=True)\nnote('repr', repr(x.grad))"
    ),
    "printed, of grad()": both(
        "note('repr', repr(torch.autograd.grad((x * x).sum(), x)))\n"
        "note('create_graph', repr(torch.autograd.grad((x * x).sum(), x, create_graph=True)))",
        "note('repr', repr(paddle.grad((x * x).sum(), x)))\n"
        "note('create_graph', repr(paddle.grad((x * x).sum(), x, create_graph=True)))",
    ),
    "printed, retained": both(
        "y = x * 2.0\ny.retain_grad()\ny.sum().backward()\nnote('repr', repr(y.grad))",
        "y = x * 2.0\ny.retain_grads()\ny.sum().backward()\nnote('repr', repr(y.grad))",
    ),
    "printed, of a hook": both("x.register_hook(lambda g: note('repr', repr(g)))\n(x * 2.0).sum().backward()"),
    "printed, of a linear layer": both(
        "m = torch.nn.Linear(2, 1, bias=True)\nm(x).sum().backward()\nnote('bias', repr(m.bias.grad))\n"
        "note('weight', repr(m.weight.grad))",
        "m = paddle.nn.Linear(2, 1)\nm(x).sum().backward()\nnote('bias', repr(m.bias.grad))\n"
        "note('weight', repr(m.weight.grad))",
    ),
    "stop_gradient of x.grad": both(
        None,
        "note('none yet', x.grad is None)\n(x * 2.0).sum().backward()\nnote('stop_gradient', x.grad.stop_gradient)\n"
        "note('is_leaf', x.grad.is_leaf)\n(x.grad * 2.0).sum().backward()\nlook('after backward of the gradient', x)",
    ),
    "arithmetic on x.grad": both(
        "(x * 2.0).sum().backward()\ny = x.grad * 2.0\nnote('wants gradient', y.requires_grad)",
        "(x * 2.0).sum().backward()\ny = x.grad * 2.0\nnote('wants gradient', not y.stop_gradient)",
    ),
    # Updates by hand.
    "x -= lr * x.grad, three times": both(
        "for i in range(3):\n    (x * x).sum().backward()\n    with torch.no_grad():\n        x -= 0.1 * x.grad\n"
        "    look(str(i), x)\n    x.grad.zero_()\nnote('x', x.tolist())",
        "for i in range(3):\n    (x * x).sum().backward()\n    with paddle.no_grad():\n"
        "        x.subtract_(0.1 * x.grad)\n    look(str(i), x)\n    x.clear_grad()\nnote('x', x.tolist())",
    ),
    "a history of gradients": both(
        "history = []\nfor i in range(3):\n    x.grad = None\n    (x * (i + 1)).sum().backward()\n"
        "    history.append(x.grad)\n"
        "note('history', [g.tolist() for g in history])"
    ),
    "a history of gradients, emptied in place": both(
        "history = []\nfor i in range(3):\n    if x.grad is not None:\n        x.grad.zero_()\n"
        "    (x * (i + 1)).sum().backward()\n    history.append(x.grad)\n"
        "note('history', [g.tolist() for g in history])",
        "history = []\nfor i in range(3):\n    x.clear_grad()\n    (x * (i + 1)).sum().backward()\n"
        "    history.append(x.grad)\nnote('history', [g.tolist() for g in history])",
    ),
}

if __name__ == "__main__":
    write(Path(__file__).with_name("gradients.json"), QUESTIONS, ask)
