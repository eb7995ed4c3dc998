"""Prepare programs for recording: their text, their syntax tree, and names for the arguments of a function."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def check_syntax(label: str, source: str, flags: int = 0) -> ast.Module:
    """Return the syntax tree of a variant. This is called before any variant runs, to find syntax errors early.

    Raises:
        SyntaxError: if the variant cannot be compiled; the message names the variant.
    """
    try:
        return compile(source, f"<variant {label}>", "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    except SyntaxError as error:
        error.msg = f"{error.msg} (in the variant {label!r})"
        raise


def dedented(source: str) -> str:
    """Return a program without common indentation.

    Raises:
        TypeError: if ``source`` is not a str.
    """
    if not isinstance(source, str):
        raise TypeError(
            f"a program must be given as a str, not as a {type(source).__name__}; use trace(function) for a function"
        )
    return textwrap.dedent(source).strip("\n")


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Return names for the first ``count`` arguments of a function."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return names + [f"argument_{i}" for i in range(len(names) + 1, count + 1)]
