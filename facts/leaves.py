"""Record in leaves.json the results of the programs of chapter 8 in PyTorch and Paddle.

python facts/leaves.py torch      in an environment that has torch
python facts/leaves.py paddle
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

LEAF = {
    "torch": "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n",
    "paddle": "w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\n",
}
SQUARES = "y = w * w\n"
SUM = "y.sum().backward()"
WRITTEN = ["w.tolist()", "w.inplace_version", "w._version"]
GRADIENT = ["w.grad.tolist()"]


def both(torch: str, paddle: str | None = None, after: str = "") -> dict[str, str]:
    """Return the program of each library on a leaf `w` that requires a gradient, by default the same program."""
    lines = {"torch": torch, "paddle": torch if paddle is None else paddle}
    return {library: LEAF[library] + text + after for library, text in lines.items()}


# In-place methods without arguments that both libraries have. Each is called on a leaf.
METHODS = """acos_ asin_ atan_ ceil_ cos_ cosh_ digamma_ exp_ floor_ i0_ lgamma_ log_ log10_ log1p_
log2_ logit_ neg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinh_ sqrt_ tan_ tanh_ trunc_ zero_ logical_not_"""
EVERY_METHOD = """
outcomes = {{}}
for method in METHODS.split():
    w = {leaf}
    before = w.tolist()
    try:
        getattr(w, method)()
        outcomes[method] = "allowed"
    except (RuntimeError, ValueError):
        outcomes[method] = "untouched" if w.tolist() == before else "overwritten"
"""
# Optimizers that make one step. "fused" after a name means that the optimizer is created with `fused=True`.
OPTIMIZERS = {
    "torch": ["SGD", "Adam", "AdamW", "SGD fused", "Adam fused", "AdamW fused", "Adagrad fused"],
    "paddle": ["SGD", "Momentum", "Adam", "AdamW", "RMSProp", "Adagrad", "Lamb"],
}
EVERY_OPTIMIZER = {
    "torch": """
versions = {}
for name in OPTIMIZERS:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    kind, _, fused = name.partition(" ")
    optimizer = getattr(torch.optim, kind)([w], lr=0.1, **({"fused": True} if fused else {}))
    (w * w).sum().backward()
    optimizer.step()
    versions[name] = w._version
""",
    "paddle": """
versions = {}
for name in OPTIMIZERS:
    w = paddle.create_parameter([3], "float32")
    optimizer = getattr(paddle.optimizer, name)(learning_rate=0.1, parameters=[w])
    (w * w).sum().backward()
    optimizer.step()
    versions[name] = w.inplace_version
""",
}
QUARTERS = {
    "torch": "torch.tensor([0.25, 0.5, 0.75], requires_grad=True)",
    "paddle": "paddle.to_tensor([0.25, 0.5, 0.75], stop_gradient=False)",
}

QUESTIONS: Questions = {
    "an operation": (both("w.mul_(2.0)", "w.scale_(2.0)"), WRITTEN),
    "an assignment": (both("w[0] = 100.0"), WRITTEN),
    "an operation through a view": (both("v = w[0:2]; v.mul_(10.0)", "v = w[0:2]; v.scale_(10.0)"), WRITTEN),
    "an assignment through a view": (both("v = w[0:2]; v[0] = 100.0"), WRITTEN),
    "a change of shape": (both("w.t_()", "w.reshape_([3, 1])"), ["w.shape"]),
    "augmented assignment": (both("y = w; y += 1.0"), ["y is w", *WRITTEN]),
    "through detach": (both("w.detach().mul_(10.0)", "w.detach().scale_(10.0)"), WRITTEN),
    "through a view made under no_grad": (
        both(
            "with torch.no_grad():\n    v = w[0:2]\nv.mul_(10.0)",
            "with paddle.no_grad():\n    v = w[0:2]\nv.scale_(10.0)",
        ),
        WRITTEN,
    ),
    "through data": (both("w.data.mul_(10.0)", "w.data.scale_(10.0)"), WRITTEN),
    "what data is": (
        both(
            "d = w.data\nwith torch.no_grad():\n    w.mul_(2.0)",
            "d = w.data\nwith paddle.no_grad():\n    w.scale_(2.0)",
        ),
        ["d is w", "d.data_ptr() == w.data_ptr()", "d.inplace_version", "d._version"],
    ),
    "under no_grad": (
        both("with torch.no_grad():\n    w.mul_(2.0)", "with paddle.no_grad():\n    w.scale_(2.0)"),
        ["w.is_leaf", "w.stop_gradient", "w.requires_grad", *WRITTEN],
    ),
    "set_value": (
        {"paddle": LEAF["paddle"] + "w.set_value(paddle.to_tensor([7.0, 8.0, 9.0]))"},
        ["w.is_leaf", *WRITTEN],
    ),
    "set_value through numpy": (
        {"paddle": "import numpy\n" + LEAF["paddle"] + "w.set_value(numpy.array([7.0, 8.0, 9.0], numpy.float32))"},
        ["w.is_leaf", *WRITTEN],
    ),
    "a copy into the leaf": ({"torch": LEAF["torch"] + "w.copy_(torch.full([3], 0.5))"}, WRITTEN),
    "a copy into the leaf under no_grad": (
        {"torch": LEAF["torch"] + "with torch.no_grad():\n    w.copy_(torch.full([3], 0.5))"},
        ["w.is_leaf", *WRITTEN],
    ),
    "a leaf without gradient": (
        {
            "torch": "w = torch.tensor([1.0, 2.0, 3.0])\ny = w + 1.0\nw.mul_(2.0)",
            "paddle": "w = paddle.to_tensor([1.0, 2.0, 3.0])\ny = w + 1.0\nw.scale_(2.0)",
        },
        ["w.is_leaf", "y.is_leaf", *WRITTEN],
    ),
    "the gradient of what is not a leaf": (both("y = w * 2.0\n", after=SUM), ["w.grad.tolist()", "y.grad is None"]),
    "a clone in its place": (both("h = w.clone()\nh.pow_(2.0)\nh.sum().backward()"), ["h.tolist()", *GRADIENT]),
    "a saved leaf, written through detach": (both(SQUARES + "w.detach().fill_(9.0)\n", after=SUM), GRADIENT),
    "a saved leaf, written through data": (both(SQUARES + "w.data.fill_(9.0)\n", after=SUM), [*GRADIENT, "w.tolist()"]),
    "a saved leaf, written by set_value": (
        {"paddle": LEAF["paddle"] + SQUARES + "w.set_value(paddle.full([3], 9.0))\n" + SUM},
        GRADIENT,
    ),
    "a saved leaf, written under no_grad": (
        both(
            SQUARES + "with torch.no_grad():\n    w.fill_(9.0)\n",
            SQUARES + "with paddle.no_grad():\n    w.fill_(9.0)\n",
            after=SUM,
        ),
        GRADIENT,
    ),
    "an optimizer step between two backward": (
        both(
            "y = (w * w).sum()\n"
            "optimizer = torch.optim.SGD([w], lr=0.1)\n"
            "y.backward(retain_graph=True)\noptimizer.step()\ny.backward()",
            "y = (w * w).sum()\n"
            "optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=[w])\n"
            "y.backward(retain_graph=True)\noptimizer.step()\ny.backward()",
        ),
        [*GRADIENT, *WRITTEN],
    ),
    "a fused optimizer's step between two backward": (
        {
            "torch": LEAF["torch"] + "y = (w * w).sum()\noptimizer = torch.optim.SGD([w], lr=0.1, fused=True)\n"
            "y.backward(retain_graph=True)\noptimizer.step()\noptimizer.zero_grad()\ny.backward()"
        },
        [*GRADIENT, *WRITTEN],
    ),
    "versions after an optimizer's step": (
        {library: f"OPTIMIZERS = {OPTIMIZERS[library]!r}" + EVERY_OPTIMIZER[library] for library in LEAF},
        ["versions"],
    ),
    "a product with a constant, its other operand overwritten": (
        both(
            "c = torch.tensor([3.0, 4.0, 5.0]); h = w * 1.0; y = h * c; h.fill_(0.0)\n",
            "c = paddle.to_tensor([3.0, 4.0, 5.0]); h = w * 1.0; y = h * c; h.fill_(0.0)\n",
            after=SUM,
        ),
        GRADIENT,
    ),
    "an update written with -=": (
        both(
            "v = w\n(w * w).sum().backward()\nwith torch.no_grad():\n    w -= 0.25 * w.grad",
            "v = w\n(w * w).sum().backward()\nwith paddle.no_grad():\n    w -= 0.25 * w.grad",
        ),
        ["w is v", "v.tolist()", "w.tolist()", "w.stop_gradient", "w.requires_grad", "w.is_leaf"],
    ),
    "another backward after an update written with -=": (
        both(
            "(w * w).sum().backward()\nwith torch.no_grad():\n    w -= 0.25 * w.grad\n    w.grad.zero_()\n"
            "(w * w).sum().backward()",
            "(w * w).sum().backward()\nwith paddle.no_grad():\n    w -= 0.25 * w.grad\n(w * w).sum().backward()",
        ),
        ["w.grad is None", "w.grad.tolist()", "w.tolist()"],
    ),
    "relu in place on an input": (both("torch.nn.functional.relu_(w)", "paddle.nn.functional.relu_(w)"), WRITTEN),
    "an update written with an underscore": (
        both(
            "v = w\n(w * w).sum().backward()\nwith torch.no_grad():\n    w.sub_(0.25 * w.grad)",
            "v = w\n(w * w).sum().backward()\nwith paddle.no_grad():\n    w.subtract_(0.25 * w.grad)",
        ),
        ["w is v", "v.tolist()", "w.stop_gradient", "w.requires_grad", "w.is_leaf"],
    ),
    "after sin, y += 1.0": (
        both("y = torch.sin(w); before = y; y += 1.0", "y = paddle.sin(w); before = y; y += 1.0"),
        ["y is before", "y.data_ptr() == before.data_ptr()"],
    ),
    "many methods": (
        {library: f"METHODS = {METHODS!r}" + EVERY_METHOD.format(leaf=leaf) for library, leaf in QUARTERS.items()},
        ["outcomes"],
    ),
}

if __name__ == "__main__":
    write(Path(__file__).with_name("leaves.json"), QUESTIONS)
