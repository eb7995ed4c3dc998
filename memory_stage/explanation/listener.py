"""What the in-place operations of a program of PyTorch or Paddle did: a report made of what the stage's recorder saw.

    >>> import torch
    >>> print(stage.explain(program, x))

It has the rows, words and looks of ``minitensor.explain``, which hears this package's own operations. A row names the
line that wrote, what was saved of those bytes by which line, and what to write instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memory_stage.api import run_and_let_go
from memory_stage.explanation import advice
from memory_stage.explanation.report import Report
from memory_stage.explanation.report_words import (
    called,
    has_history,
    is_leaf,
    kept_by_hand,
    other_names,
    row_of_saved,
    the_saved,
    versions_in,
    view_of,
    what_became_stale,
    who_wrote,
)
from memory_stage.explanation.rows import Look, Row, Spot, Totals
from memory_stage.explanation.separate_histories import histories_apart, of_histories, package_of, size_of
from memory_stage.explanation.verdicts import Verdict, in_order
from memory_stage.model.changes import UNTOLD, Asked, Refused, Reshaped, Unversioned, Viewed, Wrote
from memory_stage.model.entries import SaveEntry, TensorEntry
from memory_stage.model.finished_step import Done

MOST_ROWS = 1000  # the totals count what happens after them

NOT_KNOWN = "The history does not know of it."


class Explaining:
    """Takes the steps of a recording as they end. ``report`` makes rows of them when it is over."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._causes: dict[SaveEntry, Row] = {}  # by what it made stale
        self._about: dict[int, advice.About] = {}  # by the numbers of rows
        self._in_forward: dict[int, TensorEntry] = {}  # by the numbers of rows, what a `forward` wrote
        self._report = Report()
        self._package = ""
        #: Tensors on memory that was written, in whose histories the write does not appear; through which, and its row.
        self._apart: list[tuple[TensorEntry, TensorEntry, Row]] = []

    def take(self, done: Done) -> None:
        """A step is over."""
        self._package = self._package or package_of(done)
        for fact in done.facts:
            self._use(fact)
            if isinstance(fact, Wrote):
                self._marked_dirty(fact)
                masks = any(each.look["dtype"] == "bool" for each in fact.reads)
                row = self._wrote(done, fact)
                about = advice.About(is_leaf(fact.tensor), masks, attribute=kept_by_hand(fact.taken))
                self._add(row, about)
                self._apart += [(each, fact.tensor, row) for each in histories_apart(fact)]
                if done.statement.function == "forward":
                    self._in_forward[row.number] = fact.tensor
            elif isinstance(fact, Unversioned):
                leaf = any(is_leaf(each) for each in fact.storage.aliases.values())
                borrowed = fact.storage.root.is_borrowed
                about = advice.About(leaf, borrowed=borrowed, attribute=kept_by_hand(fact.used))
                self._add(self._unversioned(done, fact), about)
            elif isinstance(fact, Asked):
                self._add(self._asked(done, fact))
            elif isinstance(fact, Reshaped):
                self._add(self._new(done, fact.called, fact.tensor, Verdict.METADATA))
        if done.error is not None:
            self._add(self._failed(done))

    def _marked_dirty(self, fact: Wrote) -> None:
        """A function written by hand tells torch of its write by a version more: the history knows of that write."""
        last = self._rows[-1] if self._rows else None
        if last is None or fact.op != UNTOLD or self._in_forward.get(last.number) is not fact.tensor:
            return
        if last.after == fact.before and Verdict.UNRECORDED in last.verdicts:
            last.verdicts = in_order(each for each in last.verdicts if each is not Verdict.UNRECORDED)
            last.happened = "" if last.happened == NOT_KNOWN else last.happened

    def report(self, variant: dict[str, Any]) -> Report:
        """All of it; ``variant``: the trace."""
        code = variant["code"]
        self._report.cut_short = variant["truncated"] or ""
        for row in self._rows:
            row.where.text = code[row.where.line - 1].strip() if row.where.line <= len(code) else ""
            for saved in row.stale:
                saved.where.text = code[saved.where.line - 1].strip() if saved.where.line <= len(code) else ""
            row.by = who_wrote(row)
            about = self._about.get(row.number, advice.NOTHING)
            row.instead = advice.instead(row, code, replace(about, package=self._package or about.package))
        self._tell_unasked()
        self._report.totals = Totals()
        for row in self._rows:
            self._report.totals.add(row)
        self._report.rows = self._rows[:MOST_ROWS]
        self._report.left_out = len(self._rows) - len(self._report.rows)
        return self._report

    def _tell_unasked(self) -> None:
        """A program that came to its end without an error was asked for nothing that is stale."""
        if any(row.error for row in self._rows):
            return
        for row in self._rows:
            if row.verdict is Verdict.STALE:
                row.happened += " No backward has asked for it."
                if row.instead:
                    row.instead = f"Nothing, unless a backward is still to go through it; then: {row.instead}"

    # ---------- rows ----------

    def _add(self, row: Row, about: advice.About = advice.NOTHING) -> None:
        last = self._rows[-1] if self._rows else None
        if last is not None and last.verdicts == row.verdicts == (Verdict.METADATA,) and last.where == row.where:
            return
        row.number = len(self._rows) + 1
        if about != advice.NOTHING:
            self._about[row.number] = about
        self._rows.append(row)

    def _use(self, fact: Any) -> None:
        """Where a value goes on whose history does not know of a write, gradients through it will be wrong."""
        used = [*getattr(fact, "inputs", ()), *getattr(fact, "reads", ())]
        used += [fact.base] if isinstance(fact, Viewed) and fact.base is not None else []
        for apart, written, row in [each for each in self._apart if each[0] in used]:
            self._apart = [each for each in self._apart if each[0] is not apart or each[2] is not row]
            if Verdict.UNRECORDED in row.verdicts or row.stale:
                continue
            row.verdicts = in_order({*row.verdicts, Verdict.UNRECORDED} - {Verdict.FREE})
            row.happened = of_histories(apart)
            about = self._about.get(row.number, advice.NOTHING)
            name = apart.short_name
            self._about[row.number] = replace(about, apart=(name, size_of(apart) < size_of(written)))

    def _new(self, done: Done, op: str, tensor: TensorEntry | None, *verdicts: Verdict) -> Row:
        look = None
        if tensor is not None:
            shape = tensor.look.get("elements", tensor.look)["shape"]
            size = math.prod(tensor.look["shape"]) * tensor.storage.event["itemsize"]
            look = Look(tensor.short_name, shape, tensor.look["dtype"], size, view_of(tensor))
        return Row(0, op, Spot(None, done.line, ""), "by versions", look, verdicts=in_order(verdicts))

    def _wrote(self, done: Done, fact: Wrote) -> Row:
        verdicts = []
        if fact.victims:
            verdicts.append(Verdict.STALE)
        if fact.taken:
            verdicts.append(Verdict.UNNOTICED)
        aliases = [each for each in fact.storage.aliases.values() if each is not fact.tensor and not each.is_array]
        unknown = fact.tensor.look["stop_gradient"] and any(has_history(each) for each in aliases)
        by_hand = fact.node is None and has_history(fact.tensor) and fact.op != UNTOLD
        if unknown or by_hand:
            verdicts.append(Verdict.UNRECORDED)
        row = self._new(done, fact.called, fact.tensor, *verdicts)
        row.before, row.after, row.recorded = fact.before, fact.storage.version, fact.node is not None
        row.stale = [row_of_saved(save) for save in [*fact.taken, *fact.victims]]
        for save in fact.victims:
            self._causes[save] = row
        row.happened = what_became_stale(fact.victims) or (NOT_KNOWN if verdicts else "")
        if fact.taken:
            told = (
                f"It overwrites {the_saved(fact.taken)}. No version of that is compared: backward will use the new "
                f"numbers, and its gradients will be wrong."
            )
            row.happened = f"{told} {what_became_stale(fact.victims)}".strip()
        if fact.victims:
            row.happened += other_names(fact.tensor)
        return row

    def _unversioned(self, done: Done, fact: Unversioned) -> Row:
        verdicts = [Verdict.UNNOTICED] if fact.used and not fact.checked else []
        tensor = fact.tensor or next(iter(fact.storage.aliases.values()), None)
        row = self._new(done, fact.called or "numpy", tensor, *verdicts)
        row.before = row.after = fact.storage.version
        row.stale = [row_of_saved(save) for save in fact.used]
        others = [each for each in fact.storage.aliases.values() if each is not tensor and each.names]
        if row.op in ("clear_gradient", "_zero_grads") and others:
            row.happened = f"`{others[0].names[0]}` is the same memory: it has the zeros, too."
        for saved in row.stale:
            saved.lost = True
        if fact.used:
            row.happened = (
                f"It overwrites {the_saved(fact.used)}, and no version tells: backward will use the new numbers, and "
                f"its gradients will be wrong."
            )
        return row

    def _asked(self, done: Done, fact: Asked) -> Row:
        row = self._new(done, ".grad", fact.tensor, Verdict.UNRECORDED)
        row.happened = (
            f"`{fact.tensor.short_name or fact.tensor.op}` is no leaf: `{fact.tensor.op or 'an operation'}` "
            f"made it. Its `.grad` is None, for backward leaves gradients at leaves only."
        )
        return row

    def _failed(self, done: Done) -> Row:
        refused = done.all(Refused)
        of_write = bool(refused) and refused[-1].reason != "stale"
        row = self._new(done, "", None, Verdict.REFUSED if of_write else Verdict.RAISES)
        row.error = f"{type(done.error).__name__}: {done.error}"
        row.op = refused[-1].reason if of_write else "backward" if done.phase == "backward" else "raises"
        of_node = [save for save in done.node.saves if save.stale] if refused and done.node is not None else []
        stale = of_node or self._asked_for(row.error)
        if stale:
            save = stale[0]
            by = self._causes.get(save)
            row.cause = by.number if by is not None else None
            taken = f" Row {by.number}, in line {by.where.line}, wrote it since." if by is not None else ""
            row.happened = (
                f"`{save.node.called}` in line {save.node.line} asks for `{called(save)}` as it was at version "
                f"{save.version}, and its storage is at version {save.storage.version}.{taken}"
            )
        elif row.op == "backward":
            self._fitting(row)
        return row

    def _asked_for(self, error: str) -> list[SaveEntry]:
        """What an error that came from the program's own code in backward asks for, where only one thing fits."""
        shape, now, saved = versions_in(error)
        fit = [save for save in self._causes if save.stale and (save.version, save.storage.version) == (saved, now)]
        return fit if len(fit) == 1 and fit[0].event["shape"] in (shape, shape[::-1]) else []

    def _fitting(self, error: Row) -> None:
        """Lead an error to the write that fits what it says, where nobody is known to have saved the tensor."""
        shape, now, saved = versions_in(error.error)
        fit = [
            row
            for row in self._rows
            if row.tensor is not None
            and row.tensor.shape in (shape, shape[::-1])
            and row.before is not None
            and row.after is not None
            and row.before <= saved < row.after <= now
        ]
        if not fit:
            return
        by = fit[-1]
        error.cause = by.number
        self._about[by.number] = replace(self._about.get(by.number, advice.NOTHING), kept=True)
        by.happened = by.happened or f"A backward asks for a tensor of the shape {shape} as it was before."
        error.happened = (
            f"A tensor of the shape {shape} was kept at version {saved}, where the recorder does not see it, as "
            f"`checkpoint` keeps what it is given. Row {by.number}, in line {by.where.line}, is the last write that "
            f"fits."
        )


def explain(function: Callable[..., Any], /, *args: Any, catch: bool = False, **kwargs: Any) -> Report:
    """Call ``function(*args, **kwargs)``, record it, and report what its in-place operations did.

    For programs of PyTorch or Paddle; ``minitensor.explain`` reports those of this package, and costs less.

    Args:
        catch: return the report when the program raises an error, which is in ``report.error``.

    Raises:
        whatever the program raises, unless ``catch`` is True. The report is then in the error's attribute
        ``explained``.
    """
    explaining = Explaining()
    names = {"__name__": "__main__", "function": function, "args": args, "kwargs": kwargs}
    done = run_and_let_go("function(*args, **kwargs)", names, functions=(function,), limit=10_000, told=explaining.take)
    report = explaining.report(done.variant)
    if done.error is None:
        return report
    if not (catch and isinstance(done.error, Exception)):
        done.error.explained = report  # type: ignore[attr-defined]  # a tool finds the report there
        raise done.error
    report.error = done.error
    return report
