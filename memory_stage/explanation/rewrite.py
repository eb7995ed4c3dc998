"""Rewrite a statement that writes in place into one that makes a new tensor, with PyTorch's names or with Paddle's.

Two differences of Paddle are more than names: ``x -= y`` makes a new tensor there, and in Paddle 2.6 a number next to a
tensor in ``paddle.where`` changes the dtype of the result.
"""

from __future__ import annotations

import ast
import re

#: For each of these operations, an expression that makes a new tensor with the content that the operation would write.
_FILLS = {
    "zero_": "torch.zeros_like({x})",
    "fill_": "torch.full_like({x}, {args})",
    "copy_": "{args}.clone()",
    "normal_": "torch.randn_like({x})",
    "uniform_": "torch.rand_like({x})",
}

#: Operations of PyTorch that exist in place only.
_ONLY_IN_PLACE = frozenset(
    ("apply_", "cauchy_", "exponential_", "fill_diagonal_", "geometric_", "log_normal_", "map_", "map2_", "random_")
    + ("resize_as_sparse_", "set_", "share_memory_", "sparse_resize_", "sparse_resize_and_clear_")
)

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@", ast.Mod: "%",
    ast.FloorDiv: "//", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


def out_of_place(text: str, masks: bool = False) -> str:
    """Return a statement that makes a new tensor instead of writing in place, or "" for an unknown kind of statement.

    Args:
        masks: True if the index of an item assignment is known to be a mask.
    """
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    if isinstance(statement, ast.AugAssign) and (x := _path(statement.target)):
        sign = _SIGNS.get(type(statement.op), "")
        return f"{x} = {x} {sign} {_operand(statement.value)}" if sign else ""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and (x := _path(target.value)) and (masks or _is_mask(target.slice)):
            return f"{x} = torch.where({ast.unparse(target.slice)}, {ast.unparse(statement.value)}, {x})"
        value = _call(statement.value)
        return f"{ast.unparse(target)} = {value}" if value else ""
    if isinstance(statement, ast.Return) and statement.value is not None:
        value = _call(statement.value)
        return f"return {value}" if value else ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        name = _written_name(statement.value)
        value = _call(statement.value)
        return f"{name} = {value}" if name and value else ""
    return ""


def _operand(value: ast.expr) -> str:
    text = ast.unparse(value)
    return f"({text})" if isinstance(value, (ast.BinOp, ast.BoolOp, ast.IfExp, ast.Compare)) else text


def _is_mask(index: ast.expr) -> bool:
    """True if an index seems to be a mask: a comparison, an inversion, or a name with ``mask`` in it."""
    if isinstance(index, ast.Compare):
        return True
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        return True
    return isinstance(index, ast.Name) and "mask" in index.id.lower()


def _written_name(call: ast.Call) -> str:
    """Return the name of the tensor that a call writes: ``x`` in ``x.mul_(2).add_(1)`` and in ``torch.relu_(x)``."""
    target = call.args[0] if _is_function(call) and call.args else getattr(call.func, "value", None)
    if isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.func.attr.endswith("_"):
        return _written_name(target)
    return _path(target)


def _path(target: ast.expr | None) -> str:
    """Return ``x`` or ``self.x``, or "" if the target cannot be bound to another tensor."""
    owner = target
    while isinstance(owner, ast.Attribute):
        if owner.attr in ("data", "grad", "real", "imag"):  # an assignment to these writes the tensor
            return ""
        owner = owner.value
    return ast.unparse(target) if isinstance(target, (ast.Name, ast.Attribute)) and isinstance(owner, ast.Name) else ""


def _is_function(call: ast.Call) -> bool:
    """True for a function of a package, False for a method of a tensor."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return True
    names = ("torch", "paddle", "F", "nn.functional", "torch.nn.functional", "paddle.nn.functional")
    return ast.unparse(function.value) in names


def _call(value: ast.expr) -> str:
    """Rewrite a call that writes in place into one that does not; return "" for any other expression."""
    if not isinstance(value, ast.Call):
        return ""
    named = [each for each in value.keywords if each.arg != "inplace"]
    if len(named) < len(value.keywords):
        return ast.unparse(ast.Call(value.func, value.args, named))
    if not isinstance(value.func, ast.Attribute) or not value.func.attr.endswith("_"):
        return ""
    name, arguments = value.func.attr, [*value.args, *value.keywords]
    x = ast.unparse(value.args[0] if _is_function(value) and value.args else value.func.value)
    given = ", ".join(map(ast.unparse, value.args[1:] if _is_function(value) else arguments))
    if name in _ONLY_IN_PLACE:
        return ""
    if name in _FILLS:
        return _FILLS[name].format(x=x, args=given)
    before = value.func.value
    before = ast.parse(_call(before) or ast.unparse(before), mode="eval").body  # the previous write of a chain
    plain = ast.Attribute(before, name.removesuffix("_"), ast.Load())
    return ast.unparse(ast.Call(plain, value.args, value.keywords))


_NAMES = (
    (re.compile(r"\btorch\.tensor\("), "paddle.to_tensor("),
    (re.compile(r"\btorch\."), "paddle."),
    (re.compile(r"\.retain_grad\(\)"), ".retain_grads()"),
)
_METHODS = {"+": "add_", "-": "subtract_", "*": "multiply_", "/": "divide_"}
_AUGMENTED = re.compile(r"(with paddle\.no_grad\(\): )([\w.]+) ([-+*/])= ([^`]+)`")
_WHERE = re.compile(r"`([\w.]+) = paddle\.where\((.*), (-?[\d.]+), \1\)`")


def respelled(text: str) -> str:
    """Return a sentence with Paddle's names."""
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
