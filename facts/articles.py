"""Record in articles.json the results of programs that test those claims of the articles which no other record tests.

python facts/articles.py torch      in an environment that has torch
python facts/articles.py paddle
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

LEAF = "x = torch.ones(2, 3, requires_grad=True)\n"
QUESTIONS: Questions = {
    "add_ as a function": ({"paddle": "import paddle"}, ["hasattr(paddle, 'add_')", "hasattr(paddle.Tensor, 'add_')"]),
    "relu_ as a function": (
        {
            "paddle": "x = paddle.to_tensor([-1.0, 2.0])\ny = paddle.nn.functional.relu_(x)",
            "torch": "x = torch.tensor([-1.0, 2.0])\ny = torch.nn.functional.relu_(x)",
        },
        ["y is x", "x.tolist()"],
    ),
    "subtract_ with alpha": (
        {"paddle": "x = paddle.ones([2])\nx.subtract_(paddle.ones([2]), alpha=2)"},
        ["x.tolist()"],
    ),
    "transpose_ on a clone": ({"torch": f"{LEAF}y = x.clone()\ny.transpose_(0, 1)"}, ["y.shape == (3, 2)"]),
    "transpose_ on a detached": ({"torch": f"{LEAF}y = x.detach()\ny.transpose_(0, 1)"}, ["y.shape == (3, 2)"]),
    "set_ on a clone": ({"torch": f"{LEAF}y = x.clone()\ny.set_(torch.zeros(4))"}, ["y.shape == (4,)"]),
    "set_ on a detached": ({"torch": f"{LEAF}y = x.detach()\ny.set_(torch.zeros(4))"}, ["y.shape == (4,)"]),
    "resize_ on a clone": ({"torch": f"{LEAF}y = x.clone()\ny.resize_(6)"}, ["y.shape == (6,)"]),
    "resize_ on a detached": ({"torch": f"{LEAF}y = x.detach()\ny.resize_(6)"}, ["y.shape == (6,)"]),
    "a comparison in place": (
        {"paddle": "x = paddle.to_tensor([1.0, 3.0])\nx.greater_than_(paddle.to_tensor([2.0, 2.0]))"},
        ["x.astype('int32').tolist()"],
    ),
    "each rank for itself": (
        {
            "paddle": "one, other = paddle.ones([2]), paddle.ones([2])\none.scale_(0.5)\n"
            "step = paddle.ones([2])\none = one - step\nother = other - step",
            "torch": "one, other = torch.ones(2), torch.ones(2)\none.mul_(0.5)\nstep = torch.ones(2)\n"
            "one = one - step\nother = other - step",
        },
        ["one.tolist()", "other.tolist()"],
    ),
}

if __name__ == "__main__":
    write(Path(__file__).with_suffix(".json"), QUESTIONS)
