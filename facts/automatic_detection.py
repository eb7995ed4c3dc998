"""Record in automatic-detection.json the gradients of PyTorch and Paddle for the programs of chapter 9.

    python facts/automatic_detection.py torch      in an environment that has torch
    python facts/automatic_detection.py paddle

Every program makes a leaf `w` of [1, 2, 3], overwrites something and runs backward; the record has the gradient of `w`.
"""

from __future__ import annotations

from pathlib import Path

import recording

LEAF = {
    "paddle": "w = paddle.to_tensor([1., 2., 3.], stop_gradient=False)",
    "torch": "w = torch.tensor([1., 2., 3.], requires_grad=True)",
}

PROGRAMS: dict[str, dict[str, list[str]]] = {
    "`x.sin_()`": {
        "paddle": ["x = w.scale(2.0)", "x.sin_()", "x.sum().backward()"],
        "torch": ["x = w * 2.0", "x.sin_()", "x.sum().backward()"],
    },
    "`y = x * x`, then `x.scale_(10)`": {
        "paddle": ["x = w.scale(1.0)", "y = x.multiply(x)", "x.scale_(10.0)", "y.sum().backward()"],
        "torch": ["x = w * 1.0", "y = x * x", "x.mul_(10.0)", "y.sum().backward()"],
    },
    "`x.exp_()`, then `x.scale_(2)`": {
        "paddle": ["x = w.scale(1.0)", "x.exp_()", "x.scale_(2.0)", "x.sum().backward()"],
        "torch": ["x = w * 1.0", "x.exp_()", "x.mul_(2.0)", "x.sum().backward()"],
    },
    "`v = x[0:2]`, then `v.scale_(10)`; backward from `x`": {
        "paddle": ["x = w.scale(1.0)", "v = x[0:2]", "v.scale_(10.0)", "x.sum().backward()"],
        "torch": ["x = w * 1.0", "v = x[0:2]", "v.mul_(10.0)", "x.sum().backward()"],
    },
    "`v = x[0:2]`, then `x.scale_(10)`; backward from `v`": {
        "paddle": ["x = w.scale(1.0)", "v = x[0:2]", "x.scale_(10.0)", "v.sum().backward()"],
        "torch": ["x = w * 1.0", "v = x[0:2]", "x.mul_(10.0)", "v.sum().backward()"],
    },
    "`y = x * x`, then `x.set_value(...)`": {
        "paddle": [
            "x = w.scale(1.0)",
            "y = x.multiply(x)",
            "x.set_value(paddle.to_tensor([9., 9., 9.]))",
            "y.sum().backward()",
        ]
    },
    "`y = x * x`, then `x.copy_(...)`": {
        "paddle": [
            "x = w.scale(1.0)",
            "y = x.multiply(x)",
            "x.copy_(paddle.to_tensor([9., 9., 9.]), True)",
            "y.sum().backward()",
        ],
        "torch": ["x = w * 1.0", "y = x * x", "x.copy_(torch.tensor([9., 9., 9.]))", "y.sum().backward()"],
    },
    "`y = w * w`, backward, an optimizer's step, backward again": {
        "paddle": [
            "y = w.multiply(w).sum()",
            "y.backward(retain_graph=True)",
            "paddle.optimizer.SGD(0.1, parameters=[w]).step()",
            "y.backward()",
        ],
        "torch": [
            "y = (w * w).sum()",
            "y.backward(retain_graph=True)",
            "torch.optim.SGD([w], 0.1).step()",
            "y.backward()",
        ],
    },
}

QUESTIONS: recording.Questions = {
    question: (
        {library: "\n".join([LEAF[library], *lines]) for library, lines in programs.items()},
        ["w.grad.tolist()"],
    )
    for question, programs in PROGRAMS.items()
}

if __name__ == "__main__":
    recording.write(Path(__file__).with_name("automatic-detection.json"), QUESTIONS)
