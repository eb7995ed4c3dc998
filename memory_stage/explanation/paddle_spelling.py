"""Translate advice from PyTorch's names into Paddle's.

Two differences are more than names: ``x -= y`` makes a new tensor in Paddle, and in Paddle 2.6 a number next to a
tensor in ``paddle.where`` changes the dtype of the result.
"""

from __future__ import annotations

import ast
import re

_NAMES = (
    (re.compile(r"\btorch\.tensor\("), "paddle.to_tensor("),
    (re.compile(r"\btorch\."), "paddle."),
    (re.compile(r"\.retain_grad\(\)"), ".retain_grads()"),
)
_METHODS = {"+": "add_", "-": "subtract_", "*": "multiply_", "/": "divide_"}
_AUGMENTED = re.compile(r"(with paddle\.no_grad\(\): )([\w.]+) ([-+*/])= ([^`]+)`")
_WHERE = re.compile(r"`([\w.]+) = paddle\.where\((.*), (-?[\d.]+), \1\)`")


def respelled(text: str) -> str:
    """Return the same sentence with Paddle's names."""
    for name, ours in _NAMES:
        text = name.sub(ours, text)
    text = _AUGMENTED.sub(lambda m: f"{m[1]}{m[2]}.{_METHODS[m[3]]}({_plain(m[4])})`", text)
    return _WHERE.sub(r"`\1 = paddle.where(\2, paddle.full_like(\1, \3), \1)`", text)


def respelled_code(source: str) -> str:
    """Return a statement with Paddle's names."""
    return respelled(f"`{source}`")[1:-1]


def _plain(text: str) -> str:
    """Return an expression without parentheses around it."""
    try:
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except SyntaxError:
        return text
