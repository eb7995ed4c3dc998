"""Advise a replacement for a line of PyTorch or Paddle. If possible, the advice is the rewritten line.

The rules depend on the text of the line and on its row in the report. They use PyTorch's names, which
:mod:`.rewrite` translates into Paddle's.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TypeVar

from memory_stage.explanation.report_rows import ReportRow
from memory_stage.explanation.rewrite import out_of_place, respelled
from memory_stage.explanation.verdict import Verdict
from memory_stage.messages import Text, joined, message, plural, said, sentences

Definition = TypeVar("Definition", ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class WriteFacts:
    """Facts that the rules need about a write and that its row does not have.

    Attributes:
        leaf: True if the write changed a leaf that requires a gradient.
        masks: True if a mask selected the elements.
        kept: True if code that the recorder does not observe had saved the written tensor for a backward pass.
        package: the package whose names the program uses.
        borrowed: True if the memory belongs to an array from which the tensor was made.
        attribute: the attribute, such as ``ctx.x``, in which a user-defined function keeps the tensor, or "".
        apart: the name of another tensor that shares the memory and whose history lacks the write, and True if that
            tensor is smaller than the written one. None if there is no such tensor.
    """

    leaf: bool = False
    masks: bool = False
    kept: bool = False
    package: str = "torch"
    borrowed: bool = False
    attribute: str = ""
    apart: tuple[str, bool] | None = None


NOTHING = WriteFacts()


def advise(row: ReportRow, code: list[str], about: WriteFacts = NOTHING) -> str:
    """Return a sentence that advises a replacement for the line of a row, or "" if no rule applies."""
    text = said(_advice_for(row, code, about))
    return respelled(text) if about.package == "paddle" else text


def _advice_for(row: ReportRow, code: list[str], about: WriteFacts) -> Text:
    text = row.where.text
    if row.error:
        return _for_error(row)
    if row.verdict is Verdict.UNNOTICED:
        return _for_unnoticed(row, text, about)
    if row.op in ("clear_gradient", "_zero_grads"):
        if not row.happened or row.tensor is None:
            return ""
        return message("`{name}.clone()` before this line keeps the numbers.", name=row.tensor.name)
    if row.op == ".grad":
        return _for_missing_gradient(row, code, about.package)
    if about.apart is not None and row.verdict is Verdict.UNRECORDED:
        return _for_separate_histories(*about.apart)
    if row.verdict is Verdict.UNRECORDED and about.package == "torch":
        advised = _advise_mark_dirty(code, row.where.line, row.op)
        if advised != "":
            return advised
    if row.verdict is not Verdict.STALE:
        return _rewritten(row, code, about) if about.kept else ""
    return _for_stale(row, code, about)


def _for_stale(row: ReportRow, code: list[str], about: WriteFacts) -> Text:
    text, saved = row.where.text, _lines_of(row)
    if about.leaf or re.search(r"\.step\(", text):
        return message(
            "Call every `backward()` before `{statement}`, or run the forward pass of {lines} again after it, with the "
            "new numbers.",
            statement=text,
            lines=saved,
        )
    rewritten = _rewritten(row, code, about)
    if rewritten != "":
        return rewritten
    if _is_item(text):
        return message(
            "Let {lines} read a copy, with `.clone()`. If a loop fills a tensor that is read only afterwards, collect "
            "the parts in a list and use `torch.stack` instead.",
            lines=saved,
        )
    return message("Let {lines} read a copy, with `.clone()`, or call `backward()` before this line.", lines=saved)


def _lines_of(row: ReportRow) -> Text:
    """Return the lines that saved the stale tensors: ``line 18``, or ``lines 18 and 28``."""
    lines = sorted({each.where.line for each in row.stale})
    return plural("line {lines}", "lines {lines}", len(lines), lines=joined(map(str, lines)))


def _for_separate_histories(name: str, is_part: bool) -> Text:
    """Return advice for a write that is not in the history of ``name``, another tensor on the same memory."""
    if is_part:
        return message("Take `{name}` after this line, so that its history contains the write.", name=name)
    return message(
        "Assign to `{name}` itself, `{name}[...] = ...`, so that its history contains the write. Or make a new tensor "
        "of the old part and the new one, for example with `torch.concat`.",
        name=name,
    )


def _rewritten(row: ReportRow, code: list[str], about: WriteFacts) -> Text:
    text = row.where.text
    new = out_of_place(text, about.masks) or (re.sub(r",?\s*inplace=True", "", text) if "inplace=True" in text else "")
    new = new or _without_underscore(text, row.op)
    if not new:
        return ""
    new_memory = message("`{statement}` puts the new numbers into new memory.", statement=new)
    return sentences([new_memory, *_advise_return(code, row.where.line, new)])


def _advise_return(code: list[str], line: int, statement: str) -> list[Text]:
    """Advise to return the argument that ``statement`` rebinds, if no later line of the function reads it."""
    name = statement.partition(" = ")[0]
    around = [each for each in _all_in(code, ast.FunctionDef) if each.lineno <= line <= (each.end_lineno or 0)]
    if not around:
        return []
    function = max(around, key=lambda each: each.lineno)
    if name not in {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}:
        return []
    later = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name]
    if any(each.lineno > line for each in later):
        return []
    advised = message(
        "`{name}` is an argument, so the caller's tensor would not change: `return {name}` from `{function}`, and let "
        "the caller use the returned tensor.",
        name=name,
        function=function.name,
    )
    return [advised]


def _advise_mark_dirty(code: list[str], line: int, op: str) -> Text:
    """Advise ``mark_dirty`` if the ``forward`` of a user-defined function writes an argument; else return ""."""
    write = re.compile(rf"\b(\w+)(?:\.{re.escape(op)}\(|\[[^]]*\]\s*[-+*/@%&|^]{{0,2}}=|\s*[-+*/@%&|^]{{1,2}}=)[^=]")
    written = {found[1] for found in write.finditer(code[line - 1])}
    for each in _all_in(code, ast.ClassDef):
        if not any(ast.unparse(base).rpartition(".")[2] == "Function" for base in each.bases):
            continue
        for function in each.body:
            if not isinstance(function, ast.FunctionDef) or function.name != "forward":
                continue
            arguments = written & {each.arg for each in function.args.args}
            if function.lineno <= line <= (function.end_lineno or 0) and arguments:
                name = min(arguments)
                return message(
                    "`ctx.mark_dirty({name})` in `{function}.forward` reports this write to autograd, if `{name}` "
                    "itself is returned. Or write into a copy: `{name} = {name}.clone()` before this line.",
                    name=name,
                    function=each.name,
                )
    return ""


def _all_in(code: list[str], kind: type[Definition]) -> list[Definition]:
    """Return the definitions of the class ``kind`` in a program; [] if its lines cannot be parsed together."""
    try:
        return [each for each in ast.walk(ast.parse("\n".join(code))) if isinstance(each, kind)]
    except SyntaxError:
        return []


def _is_item(text: str) -> bool:
    return re.match(r"^\w[\w.]*\[.*\]\s*[-+*/@%&|^]{0,2}=[^=]", text) is not None


def _without_underscore(text: str, op: str) -> str:
    """Return a statement with the normal function in place of ``op``.

    Return "" unless the statement calls ``op`` exactly once and uses the result.
    """
    calls = re.findall(rf"\.{re.escape(op)}\(", text) if op.endswith("_") else []
    used = re.match(r"(return\b|[\w., ]+=[^=])", text) is not None
    return text.replace(f".{op}(", f".{op[:-1]}(") if len(calls) == 1 and used else ""


def _for_unnoticed(row: ReportRow, text: str, about: WriteFacts) -> Text:
    saved = _lines_of(row)
    if about.attribute:
        return message(
            "Autograd does not check the version of an attribute. With `ctx.save_for_backward({tensor})` in place of "
            "`{attribute}`, backward raises an error. For the right gradient, call `backward()` before this line, or "
            "keep `{tensor}.clone()`.",
            tensor=about.attribute.rpartition(".")[2],
            attribute=about.attribute,
        )
    checked = text.replace(".data", "")
    if ".data" in text and about.leaf:
        return message(
            "Call every `backward()` before `{statement}`, or run it before the forward pass of {lines}. `{checked}` "
            "under `with torch.no_grad():` raises the version, so that backward raises an error.",
            statement=text,
            lines=saved,
            checked=checked,
        )
    if "batch_norm" in row.op or "instance_norm" in row.op:
        return message(
            "A pass in evaluation mode reads the averages that a pass in training mode writes, so run the pass in "
            "training first, or call `backward()` before this line."
        )
    if ".data" in text:
        return message(
            "`{checked}` under `with torch.no_grad():` raises the version, so that backward raises an error. With "
            "`{name} = {name}.detach().clone()` before this line, it writes into other memory.",
            checked=checked,
            name=text.split(".data")[0].split()[-1],
        )
    if row.op == "numpy" and about.borrowed:
        is_named = row.tensor is not None and row.tensor.name != ""
        return message(
            "Make {tensor} with `torch.tensor(...)`, which copies the array, or call `backward()` before this line.",
            tensor=f"`{row.tensor.name}`" if is_named and row.tensor is not None else message("the tensor"),
        )
    if row.op == "numpy":
        return message("Give NumPy its own memory: use `.numpy().copy()`, or `.clone()` the tensor first.")
    if ".step(" in text and about.package == "paddle":
        return message(
            "Call every `backward()` before `{statement}`. A step does not increase the version, so backward raises "
            "no error.",
            statement=text,
        )
    if ".step(" in text:
        return message(
            "Call every `backward()` before `{statement}`. A fused step does not increase the version, so backward "
            "raises no error.",
            statement=text,
        )
    return message("Call `backward()` before this line, because it reads the tensors saved in {lines}.", lines=saved)


def _for_missing_gradient(row: ReportRow, code: list[str], package: str) -> Text:
    """Return advice for a line that reads ``.grad`` of a tensor that is not a leaf."""
    name = row.tensor.name if row.tensor is not None else ""
    for number, line in enumerate(code[: row.where.line], 1):
        found = (
            re.match(rf"^{re.escape(name)}\s*=\s*{re.escape(name)}\s*([-+])\s*(.*\.grad.*)$", line.strip())
            if name
            else None
        )
        if found:
            return message(
                "Line {line} binds the name `{name}` to a new tensor, which is not a leaf. Update the leaf itself: "
                "`{update}`.",
                line=number,
                name=name,
                update=f"with torch.no_grad(): {name} {found[1]}= {found[2]}",
            )
        again = re.match(rf"^{re.escape(name)}\s*([-+*/])=[^=]", line.strip()) if name and package == "paddle" else None
        if again:
            return message(
                "Line {line} binds the name `{name}` to a new tensor, because `{sign}=` does not write in place in "
                "Paddle. Give the new tensor another name, and read the gradient of the leaf.",
                line=number,
                name=name,
                sign=again[1],
            )
    return message(
        "`{name}.retain_grad()` before `backward()` keeps the gradient of this tensor, too.", name=name or "x"
    )


#: Advice for a hook that writes into a gradient.
NEW_GRADIENT = message(
    "Return a new gradient from the hook, and do not write into the given one: it may share its memory with others."
)

#: Parts of the messages of refused writes.
_REFUSED_WRITES = ("more than one element of the written-to tensor", "leaf Variable", "Leaf Var", "Leaf Tensor")


def _for_error(row: ReportRow) -> Text:
    error, text = row.error, row.where.text
    if re.search(r"\bbackward\(|\bgrad\(", text) and any(words in error for words in _REFUSED_WRITES):
        return NEW_GRADIENT
    if "more than one element of the written-to tensor" in error:
        found = re.match(r"^(\w+)(?:\.\w+_\(|\[|\s*[-+*/]=)", text)
        if found is None:  # the line only calls the function that writes
            return message("Elements share memory: write into a `.clone()` of the tensor.")
        return message(
            "Elements share memory: `{name} = {name}.clone()` before this line gives each element its own.",
            name=found[1],
        )
    if "returns multiple views" in error:
        rewritten = out_of_place(text)
        if rewritten:
            return message(
                "PyTorch refuses writes into views that one call returned together. Use `{statement}`, or take each by "
                "an index, such as `x[0]`.",
                statement=rewritten,
            )
        return message(
            "PyTorch refuses writes into views that one call returned together: take each by an index, such as `x[0]`."
        )
    if any(words in error for words in _REFUSED_WRITES):
        rewritten = out_of_place(text)
        leaf = message(
            "`with torch.no_grad(): {statement}` changes the leaf itself, without recording the change.", statement=text
        )
        new = message("`{statement}` makes a new tensor.", statement=rewritten)
        return sentences([new, leaf] if rewritten else [leaf])
    if "backward through the graph a second time" in error or "backward twice for the same subgraph" in error:
        return message(
            "Run the forward pass again before the second `backward()`, or pass `retain_graph=True` to the first. If "
            "the program carries a state from one pass to the next, `.detach()` it in between."
        )
    return ""
