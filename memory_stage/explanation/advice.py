"""Advise a replacement for a line of PyTorch or Paddle: if possible, the line itself, rewritten.

The rules depend on the text of the line and on the row. They use PyTorch's names; :mod:`.paddle_spelling` translates.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TypeVar

from memory_stage.explanation.paddle_spelling import respelled
from memory_stage.explanation.report_rows import ReportRow
from memory_stage.explanation.rewrite import out_of_place
from memory_stage.explanation.verdict import Verdict

Definition = TypeVar("Definition", ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class WriteFacts:
    """Facts that the rules need about a write and that its row does not have.

    Attributes:
        leaf: True if it wrote a leaf that wants a gradient.
        masks: True if a mask selected the elements.
        kept: True if a backward has read the written tensor, which was saved in a way that the recorder does not
            observe.
        package: the package whose names the program uses.
        borrowed: True if the memory belongs to an array from which the tensor was made.
        attribute: the attribute, such as ``ctx.x``, in which a user-defined function keeps the tensor, or "".
        apart: a name on the same memory whose history lacks the write, and True if it shows only a part of the memory.
    """

    leaf: bool = False
    masks: bool = False
    kept: bool = False
    package: str = "torch"
    borrowed: bool = False
    attribute: str = ""
    apart: tuple[str, bool] | None = None


NOTHING = WriteFacts()


def instead(row: ReportRow, code: list[str], about: WriteFacts = NOTHING) -> str:
    """Return a sentence that advises a replacement for the line, or "" if nothing is wrong."""
    said = _instead(row, code, about)
    return respelled(said) if about.package == "paddle" else said


def _instead(row: ReportRow, code: list[str], about: WriteFacts) -> str:
    text = row.where.text
    if row.error:
        return _of_error(row, code)
    if row.verdict is Verdict.UNNOTICED:
        return _for_unnoticed(row, text, about)
    if row.op in ("clear_gradient", "_zero_grads"):
        return f"`{row.tensor.name}.clone()` before this line keeps the numbers." if row.happened and row.tensor else ""
    if row.op == ".grad":
        return _of_gradient(row, code, about.package)
    if about.apart is not None and row.verdict is Verdict.UNRECORDED:
        return _of_histories(row, *about.apart)
    if row.verdict is Verdict.UNRECORDED and about.package == "torch":
        announced = _advise_mark_dirty(code, row.where.line, row.op)
        if announced:
            return announced
    if row.verdict is not Verdict.STALE:
        return _rewritten(row, code, about) if about.kept else ""
    saved = _lines_of(row)
    if about.leaf or re.search(r"\.step\(", text):
        again = f"or run the forward of {saved} again after it, with the new numbers"
        return f"Call every `backward()` before `{text}`; {again}."
    rewritten = _rewritten(row, code, about)
    if rewritten:
        return rewritten
    if _is_item(text):
        return (
            f"Have {saved} read a copy: `.clone()` what is read there. Where a loop fills a tensor that is read only "
            f"afterwards, collect the parts in a list and `torch.stack` them instead."
        )
    return f"`.clone()` what is read in {saved}, or call `backward()` before this line."


def _lines_of(row: ReportRow) -> str:
    """Return the lines that saved the stale tensors: ``line 18``, or ``lines 18 and 28``."""
    lines = sorted({each.where.line for each in row.stale})
    *others, last = map(str, lines)
    return f"lines {', '.join(others)} and {last}" if others else f"line {last}"


def _of_histories(row: ReportRow, name: str, is_part: bool) -> str:
    """Advise a replacement for a write that the history of another tensor on the same memory lacks."""
    if is_part:
        return f"Take `{name}` after this line: what is taken then has the history of the write, too."
    return (
        f"Assign to `{name}` itself, `{name}[...] = ...`: its history knows of that. Or make a tensor of the old part "
        f"and the new one, as with `torch.concat`."
    )


def _rewritten(row: ReportRow, code: list[str], about: WriteFacts) -> str:
    text = row.where.text
    new = out_of_place(text, about.masks) or (re.sub(r",?\s*inplace=True", "", text) if "inplace=True" in text else "")
    new = new or _without_underscore(text, row.op)
    if not new:
        return ""
    return f"`{new}`: new numbers in new memory.{_advise_return(code, row.where.line, new)}"


def _advise_return(code: list[str], line: int, statement: str) -> str:
    """Advise to return an argument that ``statement`` binds to a new tensor, if its function does not return it."""
    name = statement.partition(" = ")[0]
    around = [each for each in _all_in(code, ast.FunctionDef) if each.lineno <= line <= (each.end_lineno or 0)]
    if not around:
        return ""
    function = max(around, key=lambda each: each.lineno)
    if name not in {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}:
        return ""
    later = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name]
    if any(each.lineno > line for each in later):
        return ""
    return (
        f" `{name}` is an argument, and the caller's tensor stays as it was: `return {name}` from `{function.name}`, "
        f"and have the caller use the returned tensor."
    )


def _advise_mark_dirty(code: list[str], line: int, op: str) -> str:
    """Advise ``mark_dirty`` if the ``forward`` of a user-defined function writes one of its arguments."""
    written = re.compile(rf"\b(\w+)(?:\.{re.escape(op)}\(|\[[^]]*\]\s*[-+*/@%&|^]{{0,2}}=|\s*[-+*/@%&|^]{{1,2}}=)[^=]")
    names = {found[1] for found in written.finditer(code[line - 1])}
    for each in _all_in(code, ast.ClassDef):
        if not any(ast.unparse(base).rpartition(".")[2] == "Function" for base in each.bases):
            continue
        for function in each.body:
            if not isinstance(function, ast.FunctionDef) or function.name != "forward":
                continue
            given = names & {each.arg for each in function.args.args}
            if function.lineno <= line <= (function.end_lineno or 0) and given:
                name = min(given)
                return (
                    f"`ctx.mark_dirty({name})` in `{each.name}.forward` tells autograd of this write, where "
                    f"`{name}` itself is returned. Or write a copy: `{name} = {name}.clone()` before this line."
                )
    return ""


def _all_in(code: list[str], kind: type[Definition]) -> list[Definition]:
    """Return the functions or the classes of a program, or none if its lines cannot be parsed together."""
    try:
        return [each for each in ast.walk(ast.parse("\n".join(code))) if isinstance(each, kind)]
    except SyntaxError:
        return []


def _is_item(text: str) -> bool:
    return re.match(r"^\w[\w.]*\[.*\]\s*[-+*/@%&|^]{0,2}=[^=]", text) is not None


def _without_underscore(text: str, op: str) -> str:
    """Replace the only in-place call of a statement that uses its result by the normal function; otherwise ""."""
    calls = re.findall(rf"\.{re.escape(op)}\(", text) if op.endswith("_") else []
    used = re.match(r"(return\b|[\w., ]+=[^=])", text) is not None
    return text.replace(f".{op}(", f".{op[:-1]}(") if len(calls) == 1 and used else ""


def _for_unnoticed(row: ReportRow, text: str, about: WriteFacts) -> str:
    saved = _lines_of(row)
    if about.attribute:
        what = about.attribute.rpartition(".")[2]
        return (
            f"Nobody compares the version of an attribute: `ctx.save_for_backward({what})` in place of "
            f"`{about.attribute}` lets backward raise, and tell. For the right gradient call `backward()` before this "
            f"line, or keep `{what}.clone()`."
        )
    if ".data" in text and about.leaf:
        return (
            f"Call every `backward()` before `{text}`, or write it before the forward of {saved}. "
            f"`{text.replace('.data', '')}` under `with torch.no_grad():` raises the version, so backward raises and "
            f"tells."
        )
    if "batch_norm" in row.op or "instance_norm" in row.op:
        return (
            "A pass in evaluation reads the averages that a pass in training writes: run the pass in training first, "
            "or call `backward()` before this line."
        )
    if ".data" in text:
        return (
            f"`{text.replace('.data', '')}` under `with torch.no_grad():` raises the version, so backward raises and "
            f"tells; `{text.split('.data')[0].split()[-1]} = {text.split('.data')[0].split()[-1]}.detach().clone()` "
            f"before the line writes other memory."
        )
    if row.op == "numpy" and about.borrowed:
        name = f"`{row.tensor.name}`" if row.tensor is not None and row.tensor.name else "the tensor"
        return (
            f"Give {name} memory of its own where it is made: `torch.tensor(...)` copies; or call `backward()` before."
        )
    if row.op == "numpy":
        return "Give numpy memory of its own: `.numpy().copy()`, or `.clone()` the tensor before."
    if ".step(" in text:
        return f"Call every `backward()` before `{text}`; a fused step raises no version, so nothing will tell."
    return f"Call `backward()` before this line; it reads what was saved in {saved}."


def _of_gradient(row: ReportRow, code: list[str], package: str) -> str:
    name = row.tensor.name if row.tensor is not None else ""
    for number, line in enumerate(code[: row.where.line], 1):
        found = (
            re.match(rf"^{re.escape(name)}\s*=\s*{re.escape(name)}\s*([-+])\s*(.*\.grad.*)$", line.strip())
            if name
            else None
        )
        if found:
            return (
                f"Line {number} gives the name `{name}` to another tensor, which is not a leaf. Write the leaf itself: "
                f"`with torch.no_grad(): {name} {found[1]}= {found[2]}`."
            )
        again = re.match(rf"^{re.escape(name)}\s*([-+*/])=[^=]", line.strip()) if name and package == "paddle" else None
        if again:
            return (
                f"Line {number} gives the name `{name}` to another tensor, for `{again[1]}=` writes nothing in Paddle. "
                f"Give that tensor a name of its own, and ask the leaf for its gradient."
            )
    return f"`{name or 'x'}.retain_grad()` before `backward()` keeps the gradient of this tensor, too."


def _of_error(row: ReportRow, code: list[str]) -> str:
    error, text = row.error, row.where.text
    if "more than one element of the written-to tensor" in error:
        found = re.match(r"^(\w+)(?:\.\w+_\(|\[|\s*[-+*/]=)", text)
        if found is None:  # the line only calls the function that writes
            return "Elements share memory: `.clone()` what is written before it is."
        name = found[1]
        return f"Elements share memory: `{name} = {name}.clone()` before this line gives each its own."
    if "returns multiple views" in error:
        rewritten = out_of_place(text)
        rest = f" `{rewritten}` writes nothing; or" if rewritten else ""
        return f"Views that one call has given are not written.{rest} take each by an index, such as `x[0]`."
    if any(words in error for words in ("leaf Variable", "Leaf Var", "Leaf Tensor")):
        rewritten = out_of_place(text)
        new = f"`{rewritten}` makes a new tensor; " if rewritten else ""
        return f"{new}`with torch.no_grad(): {text}` changes the leaf itself, which no history will tell."
    if "backward through the graph a second time" in error or "backward twice for the same subgraph" in error:
        return (
            "Run the forward again before the second `backward()`, or pass `retain_graph=True` to the first. Where a "
            "state is carried from one pass to the next, `.detach()` it in between."
        )
    return ""
