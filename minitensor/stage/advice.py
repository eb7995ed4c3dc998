"""What to write instead of a line whose write spoilt something: the line itself, rewritten where that can be done.

Rules are told by what the line says and what happened, in PyTorch's names.
"""

from __future__ import annotations

import ast
import re

from minitensor.explaining.rows import Row
from minitensor.explaining.verdicts import Verdict

#: In place of these, a new tensor that has the numbers.
_FILLS = {
    "zero_": "torch.zeros_like({x})",
    "fill_": "torch.full_like({x}, {args})",
    "copy_": "{args}.clone()",
    "normal_": "torch.randn_like({x})",
    "uniform_": "torch.rand_like({x})",
}

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@", ast.Mod: "%",
    ast.FloorDiv: "//", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


def instead(row: Row, code: list[str]) -> str:
    """A sentence on what to write instead; empty where nothing is wrong."""
    text = row.where.text
    if row.error:
        return _of_error(row, code)
    if row.verdict is Verdict.UNNOTICED:
        return _unnoticed(row, text)
    if row.op == ".grad":
        return _of_gradient(row, code)
    if row.verdict is not Verdict.STALE:
        return ""
    saved = row.stale[0].where
    if re.search(r"\.step\(", text):
        return (
            f"Call every `backward()` before `{text}`; or run the forward of line {saved.line} again after it, with "
            f"the new numbers."
        )
    rewritten = out_of_place(text) or (re.sub(r",?\s*inplace=True", "", text) if "inplace=True" in text else "")
    if rewritten:
        return f"`{rewritten}`: new numbers in new memory."
    if _is_item(text):
        return (
            f"Collect the parts in a list and `torch.stack` them after the loop; or let line {saved.line} read a copy: "
            f"`.clone()` what it reads."
        )
    return f"`.clone()` what line {saved.line} reads, or call `backward()` before this line."


def out_of_place(text: str) -> str:
    """The statement with a new tensor in place of the write; empty where it is none of the known kinds."""
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        sign = _SIGNS.get(type(statement.op), "")
        return f"{statement.target.id} = {statement.target.id} {sign} {_operand(statement.value)}" if sign else ""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and _is_mask(target.slice):
            x = target.value.id
            return f"{x} = torch.where({ast.unparse(target.slice)}, {ast.unparse(statement.value)}, {x})"
        value = _call(statement.value)
        return f"{ast.unparse(target)} = {value}" if value else ""
    if isinstance(statement, ast.Return) and statement.value is not None:
        value = _call(statement.value)
        return f"return {value}" if value else ""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        name = _written(statement.value)
        value = _call(statement.value)
        return f"{name} = {value}" if name and value else ""
    return ""


def _operand(value: ast.expr) -> str:
    text = ast.unparse(value)
    return f"({text})" if isinstance(value, (ast.BinOp, ast.BoolOp, ast.IfExp, ast.Compare)) else text


def _is_item(text: str) -> bool:
    return re.match(r"^\w[\w.]*\[.*\]\s*[-+*/@%&|^]{0,2}=[^=]", text) is not None


def _is_mask(index: ast.expr) -> bool:
    """Whether an index seems to be a mask: a comparison, or a name that says so."""
    if isinstance(index, ast.Compare):
        return True
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        return True
    return isinstance(index, ast.Name) and "mask" in index.id.lower()


def _written(call: ast.Call) -> str:
    """The name that a call writes: of ``x.add_(1)``, ``torch.relu_(x)``, ``F.relu(x, inplace=True)``."""
    target = call.args[0] if _is_function(call) and call.args else getattr(call.func, "value", None)
    return target.id if isinstance(target, ast.Name) else ""


def _is_function(call: ast.Call) -> bool:
    """Whether it is a function of a package, and no method of a tensor."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return True
    return ast.unparse(function.value) in ("torch", "F", "nn.functional", "torch.nn.functional")


def _call(value: ast.expr) -> str:
    """A call that writes in place as the one that does not; empty for any other expression."""
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
    if name in _FILLS:
        return _FILLS[name].format(x=x, args=given)
    plain = ast.Attribute(value.func.value, name.removesuffix("_"), ast.Load())
    return ast.unparse(ast.Call(plain, value.args, value.keywords))


def _unnoticed(row: Row, text: str) -> str:
    saved = row.stale[0].where
    if ".data" in text:
        return (
            f"`{text.replace('.data', '')}` under `with torch.no_grad():` raises the version, so backward raises and "
            f"tells; `{text.split('.data')[0].split()[-1]} = {text.split('.data')[0].split()[-1]}.detach().clone()` "
            f"before the line writes other memory."
        )
    if row.op == "numpy":
        return "Give numpy memory of its own: `.numpy().copy()`, or `.clone()` the tensor before."
    if ".step(" in text:
        return f"Call every `backward()` before `{text}`; a fused step raises no version, so nothing will tell."
    return f"Call `backward()` before this line; it reads what line {saved.line} saved."


def _of_gradient(row: Row, code: list[str]) -> str:
    name = row.tensor.name if row.tensor is not None else ""
    for number, line in enumerate(code[: row.where.line], 1):
        found = (
            re.match(rf"^{re.escape(name)}\s*=\s*{re.escape(name)}\s*([-+])\s*(.*\.grad.*)$", line.strip())
            if name
            else None
        )
        if found:
            return (
                f"Line {number} gives the name `{name}` to another tensor, which is no leaf. Write the leaf itself: "
                f"`with torch.no_grad(): {name} {found[1]}= {found[2]}`."
            )
    return f"`{name or 'x'}.retain_grad()` before `backward()` keeps the gradient of this tensor, too."


def _of_error(row: Row, code: list[str]) -> str:
    error, text = row.error, row.where.text
    if "more than one element of the written-to tensor" in error:
        found = re.match(r"^(\w+)\.", text)
        name = found[1] if found else "x"
        return f"Elements share memory: `{name} = {name}.clone()` before this line gives each its own."
    if "returns multiple views" in error:
        rewritten = out_of_place(text)
        rest = f" `{rewritten}` writes nothing; or" if rewritten else ""
        return f"Views that one call has given are not written.{rest} take each by an index, such as `x[0]`."
    if "leaf Variable" in error:
        rewritten = out_of_place(text)
        new = f"`{rewritten}` makes a new tensor; " if rewritten else ""
        return f"{new}`with torch.no_grad(): {text}` changes the leaf itself, which no history will tell."
    if "backward through the graph a second time" in error:
        return "Pass `retain_graph=True` to the first `backward()`, or run the forward again before the second."
    return ""
