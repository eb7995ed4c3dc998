"""Record in fifteen.json the results of the programs about fifteen confusions in PyTorch, Paddle and NumPy.

python facts/fifteen.py torch      in an environment that has torch
python facts/fifteen.py paddle     in an environment that has paddle
python facts/fifteen.py numpy
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

#: Maps a library to the first line of its programs: LEAF makes a tensor that requires a gradient, PLAIN one that does
#: not.
LEAF = {
    "torch": "{0} = torch.tensor({1}, requires_grad=True)\n",
    "paddle": "{0} = paddle.to_tensor({1}, stop_gradient=False)\n",
}
PLAIN = {
    "torch": "{0} = torch.tensor({1})\n",
    "paddle": "{0} = paddle.to_tensor({1})\n",
    "numpy": "{0} = numpy.array({1})\n",
}


def with_first_line(start: dict[str, str], name: str, numbers: str, programs: dict[str, str]) -> dict[str, str]:
    """Return the program of each library, preceded by the line that makes the tensor `name`."""
    return {library: start[library].format(name, numbers) + text for library, text in programs.items()}


def leaf(name: str, numbers: str, torch: str, paddle: str | None = None) -> dict[str, str]:
    """Return each library's program on a leaf that requires a gradient. If only one text is given, both libraries run
    it.
    """
    return with_first_line(LEAF, name, numbers, {"torch": torch, "paddle": torch if paddle is None else paddle})


def plain(numbers: str, **programs: str) -> dict[str, str]:
    """Return each library's program on a tensor `x` that does not require a gradient."""
    return with_first_line(PLAIN, "x", numbers, programs)


SUM = "y.sum().backward()"
TWO, THREE = "[1.0, 2.0]", "[1.0, 2.0, 3.0]"
FOUR, FIVE, MATRIX = "[1.0, 2.0, 3.0, 4.0]", "[1.0, 2.0, 3.0, 4.0, 5.0]", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"
PARTS = "x = w * 1.0\n"
QUESTIONS: Questions = {
    "1": (leaf("x", THREE, "x.pow_(2.0)"), ["x.tolist()"]),
    "2": (leaf("c", TWO, "c += 1.0\nc.sum().backward()"), ["c.is_leaf", "c.grad is None"]),
    "2, a part": (leaf("c", TWO, "c[:] += 1.0"), ["c.tolist()"]),
    "3": (
        leaf(
            "w",
            TWO,
            "h = w * 2.0\ny = h * h\nh.add_(1.0)\n" + SUM,
            "h = w * 2.0\ny = h * h\nh.add_(paddle.ones([2]))\n" + SUM,
        ),
        ["w.grad is None"],
    ),
    "4": (plain(THREE, **dict.fromkeys(("torch", "paddle", "numpy"), "mine = x\nx += 1.0")), ["mine.tolist()"]),
    "5": (
        leaf(
            "a", "[1.0]", "y = a.sigmoid()\ny.mul_(2.0)\ny.backward()", "y = a.sigmoid()\ny.scale_(2.0)\ny.backward()"
        ),
        ["a.grad.tolist()"],
    ),
    "5, written out": (
        leaf(
            "a",
            "[1.0]",
            "y = 1 / (1 + torch.exp(-a))\ny.mul_(2.0)\ny.backward()",
            "y = 1 / (1 + paddle.exp(-a))\ny.scale_(2.0)\ny.backward()",
        ),
        ["a.grad.tolist()"],
    ),
    "6": (leaf("a", "[0.0, 1.0]", "y = a.sigmoid()\nc = y.data\nc.zero_()\n" + SUM), ["a.grad.tolist()"]),
    "6, detach": (leaf("a", "[0.0, 1.0]", "y = a.sigmoid()\nc = y.detach()\nc.zero_()\n" + SUM), ["a.grad.tolist()"]),
    **{
        f"7, {call}": (
            leaf(
                "x",
                TWO,
                f"y = x.{call}\ny.add_(10.0)\n(x + y).sum().backward()",
                f"y = x.{call}\ny.add_(paddle.full([2], 10.0))\n(x + y).sum().backward()",
            ),
            ["x.tolist()", "x.grad.tolist()"],
        )
        for call in ("clone()", "detach()", "clone().detach()", "detach().clone()")
    },
    "8": (plain(THREE, torch="n = x.numpy()\nn[0] = 7.0", paddle="n = x.numpy()\nn[0] = 7.0"), ["x.tolist()"]),
    "9": (
        plain(
            TWO,
            torch="e = x.expand(3, 2)\ne.add_(10.0)",
            paddle="e = x.expand([3, 2])\ne.add_(paddle.full([2], 10.0))",
            numpy="e = numpy.broadcast_to(x, (3, 2))\ne += 10.0",
        ),
        ["x.tolist()"],
    ),
    "10": (
        plain(FIVE, torch="x[1:].add_(x[:-1])", paddle="x[1:].add_(x[:-1])", numpy="x[1:] += x[:-1]"),
        ["x.tolist()"],
    ),
    "10, cloned": (
        plain(
            FIVE,
            torch="x[1:].add_(x[:-1].clone())",
            paddle="x[1:].add_(x[:-1].clone())",
            numpy="x[1:] += x[:-1].copy()",
        ),
        ["x.tolist()"],
    ),
    "11": (
        plain(
            MATRIX,
            torch="y = x.reshape(6)\ny.zero_()",
            paddle="y = x.reshape([6])\ny.zero_()",
            numpy="y = x.reshape(6)\ny[:] = 0.0",
        ),
        ["x.tolist()"],
    ),
    "11, transposed": (
        plain(
            MATRIX,
            torch="y = x.T.reshape(6)\ny.zero_()",
            paddle="y = x.T.reshape([6])\ny.zero_()",
            numpy="y = x.T.reshape(6)\ny[:] = 0.0",
        ),
        ["x.tolist()"],
    ),
    "12": (
        plain(FOUR, torch="x[[0, 1]].zero_()", paddle="x[[0, 1]].zero_()", numpy="x[[0, 1]][:] = 0.0"),
        ["x.tolist()"],
    ),
    "12, a slice": (
        plain(FOUR, torch="x[0:2].zero_()", paddle="x[0:2].zero_()", numpy="x[0:2][:] = 0.0"),
        ["x.tolist()"],
    ),
    "13": (plain(FOUR, **dict.fromkeys(("torch", "paddle", "numpy"), "same = id(x[0:2]) == id(x[2:4])")), ["same"]),
    "14": (
        leaf(
            "w",
            FOUR,
            PARTS + "a, b = x.split(2)\na.mul_(10.0)\nx.sum().backward()",
            PARTS + "a, b = x.split(2)\na.scale_(10.0)\nx.sum().backward()",
        ),
        ["x.tolist()", "w.grad.tolist()"],
    ),
    "14, no_grad": (
        leaf(
            "w",
            FOUR,
            PARTS + "with torch.no_grad():\n    a = x[0:2]\na.mul_(10.0)\nx.sum().backward()",
            PARTS + "with paddle.no_grad():\n    a = x[0:2]\na.scale_(10.0)\nx.sum().backward()",
        ),
        ["x.tolist()", "w.grad.tolist()"],
    ),
    "16": (
        leaf(
            "w",
            TWO,
            "sgd = torch.optim.SGD([w], lr=0.25)\ny = w * w\ny.sum().backward(retain_graph=True)\nsgd.step()\n" + SUM,
            "sgd = paddle.optimizer.SGD(0.25, parameters=[w])\ny = w * w\ny.sum().backward(retain_graph=True)\n"
            "sgd.step()\n" + SUM,
        ),
        ["w.grad.tolist()"],
    ),
}


if __name__ == "__main__":
    write(Path(__file__).with_suffix(".json"), QUESTIONS)
