"""Records in leaves.json what PyTorch and Paddle do with the programs of chapter 8.

python facts/leaves.py torch      in an environment that has torch
python facts/leaves.py paddle
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

LEAF = {
    "torch": "x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n",
    "paddle": "x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\n",
}
SQUARES = "y = x * x\n"
SUM = "y.sum().backward()"
WRITTEN = ["x.tolist()", "x.inplace_version", "x._version"]
GRADIENT = ["x.grad.tolist()"]


def both(torch: str, paddle: str | None = None, after: str = "") -> dict[str, str]:
    """The same program in both vocabularies, on a leaf `x` that wants a gradient."""
    lines = {"torch": torch, "paddle": torch if paddle is None else paddle}
    return {library: LEAF[library] + text + after for library, text in lines.items()}


# In-place methods that take no argument and exist in both; what each does to a leaf.
METHODS = """acos_ asin_ atan_ ceil_ cos_ cosh_ digamma_ exp_ floor_ i0_ lgamma_ log_ log10_ log1p_
log2_ logit_ neg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinh_ sqrt_ tan_ tanh_ trunc_ zero_ logical_not_"""
EVERY_METHOD = """
outcomes = {{}}
for method in METHODS.split():
    x = {leaf}
    before = x.tolist()
    try:
        getattr(x, method)()
        outcomes[method] = "allowed"
    except (RuntimeError, ValueError):
        outcomes[method] = "untouched" if x.tolist() == before else "overwritten"
"""
QUARTERS = {
    "torch": "torch.tensor([0.25, 0.5, 0.75], requires_grad=True)",
    "paddle": "paddle.to_tensor([0.25, 0.5, 0.75], stop_gradient=False)",
}

QUESTIONS: Questions = {
    "an operation": (both("x.mul_(2.0)", "x.scale_(2.0)"), WRITTEN),
    "an assignment": (both("x[0] = 100.0"), WRITTEN),
    "an operation through a view": (both("v = x[0:2]; v.mul_(10.0)", "v = x[0:2]; v.scale_(10.0)"), WRITTEN),
    "an assignment through a view": (both("v = x[0:2]; v[0] = 100.0"), WRITTEN),
    "a change of shape": (both("x.t_()", "x.reshape_([3, 1])"), ["x.shape"]),
    "augmented assignment": (both("y = x; y += 1.0"), ["y is x", *WRITTEN]),
    "through detach": (both("x.detach().mul_(10.0)", "x.detach().scale_(10.0)"), WRITTEN),
    "through a view made under no_grad": (
        both(
            "with torch.no_grad():\n    v = x[0:2]\nv.mul_(10.0)",
            "with paddle.no_grad():\n    v = x[0:2]\nv.scale_(10.0)",
        ),
        WRITTEN,
    ),
    "through data": (both("x.data.mul_(10.0)", "x.data.scale_(10.0)"), WRITTEN),
    "what data is": (
        both(
            "d = x.data\nwith torch.no_grad():\n    x.mul_(2.0)",
            "d = x.data\nwith paddle.no_grad():\n    x.scale_(2.0)",
        ),
        ["d is x", "d.data_ptr() == x.data_ptr()", "d.inplace_version", "d._version"],
    ),
    "under no_grad": (
        both("with torch.no_grad():\n    x.mul_(2.0)", "with paddle.no_grad():\n    x.scale_(2.0)"),
        ["x.is_leaf", "x.stop_gradient", "x.requires_grad", *WRITTEN],
    ),
    "set_value": (
        {"paddle": LEAF["paddle"] + "x.set_value(paddle.to_tensor([7.0, 8.0, 9.0]))"},
        ["x.is_leaf", *WRITTEN],
    ),
    "set_value through numpy": (
        {"paddle": "import numpy\n" + LEAF["paddle"] + "x.set_value(numpy.array([7.0, 8.0, 9.0], numpy.float32))"},
        ["x.is_leaf", *WRITTEN],
    ),
    "a leaf without gradient": (
        {
            "torch": "x = torch.tensor([1.0, 2.0, 3.0])\ny = x + 1.0\nx.mul_(2.0)",
            "paddle": "x = paddle.to_tensor([1.0, 2.0, 3.0])\ny = x + 1.0\nx.scale_(2.0)",
        },
        ["x.is_leaf", "y.is_leaf", *WRITTEN],
    ),
    "the gradient of what is not a leaf": (both("y = x * 2.0\n", after=SUM), ["x.grad.tolist()", "y.grad is None"]),
    "a clone in its place": (
        both("h = x.clone()\nh.pow_(2.0)\nh.sum().backward()"),
        ["h.tolist()", *GRADIENT],
    ),
    "a saved leaf, written through detach": (
        both(SQUARES + "x.detach().fill_(9.0)\n", after=SUM),
        GRADIENT,
    ),
    "a saved leaf, written through data": (
        both(SQUARES + "x.data.fill_(9.0)\n", after=SUM),
        [*GRADIENT, "x.tolist()"],
    ),
    "a saved leaf, written by set_value": (
        {"paddle": LEAF["paddle"] + SQUARES + "x.set_value(paddle.full([3], 9.0))\n" + SUM},
        GRADIENT,
    ),
    "a saved leaf, written under no_grad": (
        both(
            SQUARES + "with torch.no_grad():\n    x.fill_(9.0)\n",
            SQUARES + "with paddle.no_grad():\n    x.fill_(9.0)\n",
            after=SUM,
        ),
        GRADIENT,
    ),
    "an optimizer step between two backward": (
        both(
            "y = (x * x).sum()\n"
            "optimizer = torch.optim.SGD([x], lr=0.1)\n"
            "y.backward(retain_graph=True)\noptimizer.step()\ny.backward()",
            "y = (x * x).sum()\n"
            "optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=[x])\n"
            "y.backward(retain_graph=True)\noptimizer.step()\ny.backward()",
        ),
        [*GRADIENT, *WRITTEN],
    ),
    "after sin, y += 1.0": (
        both("y = torch.sin(x); before = y; y += 1.0", "y = paddle.sin(x); before = y; y += 1.0"),
        ["y is before", "y.data_ptr() == before.data_ptr()"],
    ),
    "many methods": (
        {library: f"METHODS = {METHODS!r}" + EVERY_METHOD.format(leaf=leaf) for library, leaf in QUARTERS.items()},
        ["outcomes"],
    ),
}

if __name__ == "__main__":
    write(Path(__file__).with_name("leaves.json"), QUESTIONS)
