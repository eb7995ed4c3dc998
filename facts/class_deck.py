"""Record in class-deck.json the results of the programs on the slides with PyTorch's names, in real PyTorch.

    python facts/class_deck.py torch      in an environment that has torch

Each answer is a text like the options of its question. A program of a stage runs line by line without a recorder. After
each statement the record has the layout of every named tensor, its version, its numbers (if there are few) and the
first name that shares its storage. Everything runs on a CPU, even the programs for a GPU.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from recording import Questions, write

#: Maps some words of each question of the class to a program, and to an expression for the right option.
ASKED = {
    "What is the first row of x now?": (
        "x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = x.reshape([3, 2])\ny[0] = 0.0",
        "str(x[0].tolist())",
    ),
    "Which of them changes what y holds?": (
        "changed = []\nfor line in ('x.t_()', 'x.mul_(2.0)'):\n"
        "    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\n    y = x.reshape([6])\n    before = y.clone()\n"
        "    exec(line)\n    changed += [] if torch.equal(y, before) else [line]",
        "{0: 'Neither', 1: 'Only ' + ''.join(changed), 2: 'Both'}[len(changed)]",
    ),
    "How many storages hold the numbers": (
        "x = torch.zeros([4])\na = x[0:2]\nb = x.add(1.0)\nc = x.add_(1.0)",
        "str(len({each.untyped_storage().data_ptr() for each in (x, a, b, c)}))",
    ),
    "What is in x?": ("x = torch.zeros([3])\nx[0:2][0] = 7.0\nx[[1, 2]][0] = 7.0", "str(x.tolist())"),
    "How many bytes does the program hold now?": (
        "x = torch.ones([1000, 1000])\nrow = x[0]\ndel x",
        "f'{row.untyped_storage().nbytes():,}'",
    ),
    "With which of them does backward raise?": (
        "raised = []\nfor line in ('h + 1', 'sin(h)', 'exp(h)'):\n"
        "    w = torch.tensor([1.0, 4.0], requires_grad=True)\n    h = w * 1.0\n"
        "    y = eval(line, {'h': h, 'sin': torch.sin, 'exp': torch.exp})\n    loss = y.sum()\n    h.fill_(0.0)\n"
        "    try:\n        loss.backward()\n    except RuntimeError:\n        raised.append(line)",
        "'all three' if len(raised) == 3 else ' and '.join(raised) or 'none'",
    ),
    "What does backward do?": (
        "w = torch.tensor([1.0, 4.0], requires_grad=True)\nh = w * 1.0\n"
        "end = 'it never starts, because line 2 raises'\ntry:\n    y = h.sin()\n"
        "    h.mul_(2.0).mul_(0.5)\n    end = 'it raises'\n"
        "    y.sum().backward()\n    right = torch.allclose(w.grad, w.detach().cos())\n"
        "    end = 'it gives the right gradient' if right else 'it gives a wrong gradient'\n"
        "except RuntimeError:\n    pass",
        "end",
    ),
    "Which of these would be different?": (
        "def step(in_place):\n    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n    h = w.clone()\n"
        "    y = h.pow_(2.0) if in_place else h.pow(2.0)\n    loss = y.sum()\n    loss.backward()\n"
        "    return {'the loss': loss, 'the gradient of w': w.grad, 'new_w': h.detach() - 0.25 * w.grad}\n"
        "one, two = step(False), step(True)\n"
        "different = [name for name in one if not torch.equal(one[name], two[name])]",
        "'the loss, the gradient and new_w' if len(different) == 3 else ' and '.join(different)",
    ),
    "Where does x hold a one at the end?": (
        "import numpy\nones = []\nfor library, zeros in (('NumPy', numpy.zeros), ('PyTorch', torch.zeros)):\n"
        "    x = zeros([1])\n    y = x\n    y += 1.0\n    ones += [library] if x.tolist() == [1.0] else []",
        "'in ' + ' and '.join(ones)",  # Paddle's answer is in three-kinds.json
    ),
}
#: Maps the title of a stage, followed by a colon and the variant if there are several, to the program.
STAGES: dict[str, str] = {
    "Somebody else's numbers": ("scores = torch.tensor([[3.0, 4.0], [6.0, 8.0]])\nfirst = scores[0]\nfirst.mul_(10.0)"),
    "Two tensors, six numbers": (
        "x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = x.reshape([3, 2])\ny[0] = 0.0"
    ),
    "Two ways to change a tensor: t_": (
        "x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = x.reshape([6])\nx.t_()"
    ),
    "Two ways to change a tensor: mul_": (
        "x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = x.reshape([6])\nx.mul_(2.0)"
    ),
    "Three kinds of operation: normal": ("x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = x.add(1.0)"),
    "Three kinds of operation: view": ("x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = x[0]"),
    "Three kinds of operation: in place": ("x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])\ny = x.add_(1.0)"),
    "View, normal and in place in one program": ("x = torch.zeros([4])\na = x[0:2]\nb = x.add(1.0)\nc = x.add_(1.0)"),
    "Four ways to add one: y += 1.0": ("x = torch.zeros([3])\ny = x\ny += 1.0"),
    "Four ways to add one: y = y + 1.0": ("x = torch.zeros([3])\ny = x\ny = y + 1.0"),
    "Four ways to add one: y.add_(1.0)": ("x = torch.zeros([3])\ny = x\ny.add_(1.0)"),
    "Four ways to add one: y[:] = y + 1.0": ("x = torch.zeros([3])\ny = x\ny[:] = y + 1.0"),
    "A write that is lost": ("x = torch.zeros([3])\nx[0:2][0] = 7.0\nx[[1, 2]][0] = 7.0\nx[[1, 2]] = 5.0"),
    "A row keeps the whole": ('x = torch.ones([1000, 1000], device="cuda")\nrow = x[0]\ndel x\nrow = row.clone()'),
    "A sine, and its operand overwritten": (
        "w = torch.tensor([1.0, 4.0], requires_grad=True)\nh = w * 1.0\ny = h.sin()\nh.fill_(0.0)\nloss = y.sum()"
    ),
    "One step of training: normal": (
        "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        "y = w.pow(2.0)\n"
        "y.sum().backward()\n"
        "with torch.no_grad():\n"
        "    w.sub_(0.25 * w.grad)"
    ),
    "One step of training: in place": (
        "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        "h = w.clone()\n"
        "y = h.pow_(2.0)\n"
        "y.sum().backward()\n"
        "with torch.no_grad():\n"
        "    h.sub_(0.25 * w.grad)"
    ),
    "ReLU, normal and in place, on a GPU: relu_": (
        'x = torch.rand([1, 64, 512, 512], device="cuda")\ny = torch.relu_(x)'
    ),
    "ReLU, normal and in place, on a GPU: relu": (
        'x = torch.rand([1, 64, 512, 512], device="cuda")\ny = torch.relu(x)'
    ),
    "ReLU, normal and in place, on a GPU: relu, del x": (
        'x = torch.rand([1, 64, 512, 512], device="cuda")\ny = torch.relu(x)\ndel x'
    ),
}
#: Maps the question of a slide to its program, which stops with an error.
ERRORS: dict[str, str] = {
    "Line 5 raises this error. Which line would you change?": (
        "w = torch.tensor([1.0, 2.0], requires_grad=True)\nh = w * 2.0\ny = h * h\nh.add_(1.0)\ny.sum().backward()"
    )
}
PROGRAMS = {f"stage: {name}": program for name, program in STAGES.items()}
PROGRAMS |= {f"error: {question}": program for question, program in ERRORS.items()}
QUESTIONS: Questions = {question: ({"torch": program}, [answer]) for question, (program, answer) in ASKED.items()} | {
    name: ({"torch": program}, []) for name, program in PROGRAMS.items()
}
MOST_NUMBERS = 16  # the largest size of a storage whose numbers are recorded


def _tensors(names: dict[str, Any]) -> dict[str, Any]:
    """Return the named tensors of a program, and their gradients."""
    import torch

    found = {name: x for name, x in sorted(names.items()) if isinstance(x, torch.Tensor)}
    return found | {f"{name}.grad": x.grad for name, x in found.items() if x.is_leaf and x.grad is not None}


def _look(x: Any, named: dict[str, Any]) -> dict[str, Any]:
    storage = x.untyped_storage()
    few = storage.nbytes() // x.element_size() <= MOST_NUMBERS
    return {
        "shape": list(x.shape),
        "strides": list(x.stride()),
        "offset": x.storage_offset(),
        "version": x._version,
        "requires_grad": x.requires_grad,
        "leaf": x.is_leaf,
        "bytes": storage.nbytes(),
        "shares with": min(n for n, y in named.items() if y.untyped_storage().data_ptr() == storage.data_ptr()),
        "numbers": x.detach().reshape(-1).tolist() if few else None,
    }


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Return the answer to a question, if there is an expression for it.

    Otherwise return the tensors of the program after each statement. If an error stops the program, or if backward
    from its `loss` raises one, also return this error.
    """
    import torch

    names: dict[str, Any] = {"torch": torch}
    if expressions:
        exec(program, names)
        return {"program": program, "answer": eval(expressions[0], names)}
    lines = {}
    answer: dict[str, Any] = {"program": program, "lines": lines}
    for statement in ast.parse(program.replace(', device="cuda"', "")).body:
        try:
            exec(ast.unparse(statement), names)
        except RuntimeError as error:
            return answer | {"message": str(error).splitlines()[0]}
        named = _tensors(names)
        lines[str(statement.end_lineno)] = {name: _look(x, named) for name, x in named.items()}
    if "loss" in names:
        try:
            names["loss"].backward()
        except RuntimeError as error:
            answer["backward raises"] = str(error).partition(":")[0]
    return answer


if __name__ == "__main__":
    write(Path(__file__).with_name("class-deck.json"), QUESTIONS, ask)
