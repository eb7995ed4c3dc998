"""What to write instead, in Paddle's names where it was said in PyTorch's.

Two things are more than names: ``x -= y`` makes a new tensor in Paddle, and a number beside a tensor in
``paddle.where`` changes the dtype of the result in Paddle 2.6.
"""

from __future__ import annotations

import ast
import re

_NAMES = (
    (re.compile(r"\btorch\.tensor\("), "paddle.to_tensor("),
    (re.compile(r"\btorch\."), "paddle."),
    (re.compile(r"\.retain_grad\(\)"), ".retain_grads()"),
    (re.compile(r"a fused step raises no version"), "a step raises no version"),
)
_METHODS = {"+": "add_", "-": "subtract_", "*": "multiply_", "/": "divide_"}
_AUGMENTED = re.compile(r"(with paddle\.no_grad\(\): )([\w.]+) ([-+*/])= ([^`]+)`")
_WHERE = re.compile(r"`([\w.]+) = paddle\.where\((.*), (-?[\d.]+), \1\)`")


def respelled(text: str) -> str:
    """The same sentence, in Paddle's names."""
    for name, ours in _NAMES:
        text = name.sub(ours, text)
    text = _AUGMENTED.sub(lambda m: f"{m[1]}{m[2]}.{_METHODS[m[3]]}({_plain(m[4])})`", text)
    return _WHERE.sub(r"`\1 = paddle.where(\2, paddle.full_like(\1, \3), \1)`", text)


def _plain(text: str) -> str:
    """An expression without brackets around it."""
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except SyntaxError:
        return text
