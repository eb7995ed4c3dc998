"""Record in view-gradients.json the results of the programs of chapter 10 in PyTorch and Paddle.

    python facts/view_gradients.py torch      in an environment that has torch
    python facts/view_gradients.py paddle

Each program writes through a view, and computes the gradient of a leaf ``w``. A record has the program, and either its
numbers and the gradient, or its error.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

START = {
    "torch": "w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True); b = w * 1.0; ",
    "paddle": "w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False); b = w * 1.0; ",
}
END = {
    "torch": "; numbers = b.tolist(); gradient = None if w.grad is None else w.grad.tolist()",
    "paddle": "; numbers = b.tolist(); gradient = None if w.grad is None else w.grad.tolist()",
}
EXPRESSIONS = ["numbers", "gradient"]


def program(torch: str, paddle: str = "") -> tuple[dict[str, str], list[str]]:
    """Return the program for both libraries: the same lines, unless others are given for Paddle."""
    lines = {"torch": torch, "paddle": paddle or torch.replace(".mul_(10)", ".scale_(10.0)")}
    return {library: START[library] + lines[library] + END[library] for library in lines}, EXPRESSIONS


QUESTIONS: Questions = {
    "write through a slice, backward from the whole": program("v = b[0:2]; v.mul_(10); b.sum().backward()"),
    "write through another shape": program(
        "v = b.reshape(3, 1); v.mul_(10); b.sum().backward()",
        "v = b.reshape([3, 1]); v.scale_(10.0); b.sum().backward()",
    ),
    "write to the whole, backward from a slice": program("v = b[0:2]; b.mul_(10); v.sum().backward()"),
    "write through one slice, backward from another": program("v = b[0:2]; u = b[1:3]; v.mul_(10); u.sum().backward()"),
    "assign through a slice": program("v = b[0:2]; v[0] = 100.0; b.sum().backward()"),
    "assign at an index of the whole": program(
        "b[0:2] = b[0:2] * 10; b.sum().backward()", "b[0:2] = b[0:2] * 10.0; b.sum().backward()"
    ),
    "assign at an index of the whole, times a tensor": (
        {
            library: START[library]
            + f"m = {library}.{make}([10.0, 10.0]); b[0:2] = b[0:2] * m; b.sum().backward()"
            + END[library]
            for library, make in {"torch": "tensor", "paddle": "to_tensor"}.items()
        },
        EXPRESSIONS,
    ),
    "assign at an index of the whole, a clone times a tensor": (
        {
            library: START[library]
            + f"m = {library}.{make}([10.0, 10.0]); b[0:2] = b[0:2].clone() * m; b.sum().backward()"
            + END[library]
            for library, make in {"torch": "tensor", "paddle": "to_tensor"}.items()
        },
        EXPRESSIONS,
    ),
    "sine through a slice": program("v = b[0:2]; v.sin_(); b.sum().backward()"),
    "a constant takes a gradient in": (
        {
            "torch": "w = torch.tensor([1.0, 2.0], requires_grad=True); b = torch.zeros(3); v = b[0:2]; v.add_(w); "
            "b.sum().backward()" + END["torch"],
            "paddle": "w = paddle.to_tensor([1.0, 2.0], stop_gradient=False); b = paddle.zeros([3]); v = b[0:2]; "
            "v.add_(w); b.sum().backward()" + END["paddle"],
        },
        EXPRESSIONS,
    ),
    "saved by an operation, then written through a slice": program(
        "y = b * b; v = b[0:2]; v.mul_(10); y.sum().backward()"
    ),
    "through a detached tensor": program("d = b.detach(); d.mul_(10); b.sum().backward()"),
    "one of several views of split": program(
        "p = b.split(1); p[0].mul_(10); b.sum().backward()", "p = b.split(3); p[0].scale_(10.0); b.sum().backward()"
    ),
    "one of several views of unbind": program("p = b.unbind(0); p[0].mul_(10); b.sum().backward()"),
    "a view taken under no_grad": (
        {
            "torch": START["torch"]
            + "exec('with torch.no_grad(): v = b[0:2]'); v.mul_(10); b.sum().backward()"
            + END["torch"],
            "paddle": START["paddle"]
            + "exec('with paddle.no_grad(): v = b[0:2]'); v.scale_(10.0); b.sum().backward()"
            + END["paddle"],
        },
        EXPRESSIONS,
    ),
}


if __name__ == "__main__":
    write(Path(__file__).with_name("view-gradients.json"), QUESTIONS)
