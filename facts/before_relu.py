"""Record in before-relu.json if backward fails after a layer and `relu_`, or after a write to a checkpoint's input.

python facts/before_relu.py torch      in an environment that has torch
python facts/before_relu.py paddle
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

LAYERS = {
    "torch": [
        "Linear(8, 8)", "BatchNorm1d(8)", "LayerNorm(8)", "Dropout(0.5)", "LeakyReLU(0.1)",
        "Sigmoid()", "Tanh()", "Softmax(-1)", "ReLU()",
    ],
    "paddle": [
        "Linear(8, 8)", "BatchNorm1D(8)", "LayerNorm(8)", "Dropout(0.5)", "LeakyReLU(0.1)",
        "Sigmoid()", "Tanh()", "Softmax()", "ReLU()",
    ],
}  # fmt: skip
INPUT = {
    "torch": "torch.randn(4, 8, requires_grad=True) * 1.0",
    "paddle": "paddle.create_parameter([4, 8], 'float32') * 1.0",
}
EVERY_LAYER = """
ends = {{}}
for layer in LAYERS:
    y = eval("{library}.nn." + layer)({input})
    {library}.nn.functional.relu_(y)
    try:
        y.sum().backward()
        ends[layer.partition("(")[0]] = "works"
    except RuntimeError:
        ends[layer.partition("(")[0]] = "raises"
"""
OVERWRITTEN = """import torch.utils.checkpoint
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 1.0
y = torch.utils.checkpoint.checkpoint(torch.sin, h, use_reentrant={reentrant})
h.mul_(2.0)
y.sum().backward()
"""

QUESTIONS: Questions = {
    "layers before relu_": (
        {
            library: f"LAYERS = {layers!r}" + EVERY_LAYER.format(library=library, input=INPUT[library])
            for library, layers in LAYERS.items()
        },
        ["ends"],
    ),
    **{
        f"a checkpoint's input overwritten, use_reentrant={reentrant}": (
            {"torch": OVERWRITTEN.format(reentrant=reentrant)},
            ["w.grad is None"],
        )
        for reentrant in (False, True)
    },
}

if __name__ == "__main__":
    write(Path(__file__).with_name("before-relu.json"), QUESTIONS)
