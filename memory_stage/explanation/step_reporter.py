"""Report the in-place operations of a program of PyTorch or Paddle from the steps of its recording.

    >>> import memory_stage
    >>> print(memory_stage.explain(program, x))

The report has the format of ``minitensor.explain``, which listens to minitensor's own operations. A row names the line
that wrote, the lines that had saved the overwritten bytes, and a statement to write instead.

PyTorch records a write to a view in the history of its base, too. In Paddle each view has a separate history, so a row
names the tensors on the written memory whose own history lacks the write.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memory_stage.explanation import advice, entry_phrases
from memory_stage.explanation.report import Report
from memory_stage.explanation.report_rows import ReportRow, SourceLine, TensorView
from memory_stage.explanation.verdict import Verdict, in_order
from memory_stage.messages import Language, Text, default_language, message, said, sentences, speaking
from memory_stage.model.changes import UNREPORTED_WRITE, Asked, Refused, Reshaped, Unversioned, Viewed, Wrote
from memory_stage.model.entries import SaveEntry, TensorEntry
from memory_stage.model.finished_step import FinishedStep

NOT_RECORDED = message("The write is not in the history, so gradients ignore it.")


class StepReporter:
    """Collect rows while the recorder runs a program and calls ``on_step``; ``report`` completes the rows.

    Args:
        language: the language of the report; None for the default language.
    """

    def __init__(self, language: Language | None = None) -> None:
        self._rows: list[ReportRow] = []
        self._causes: dict[SaveEntry, ReportRow] = {}  # the row of the write that made a saved tensor stale
        self._about: dict[int, advice.WriteFacts] = {}  # facts for the advice, by the row's number
        self._in_forward: dict[int, TensorEntry] = {}  # the tensor that a `forward` wrote, by the number of the row
        self._report = Report(language=language or default_language())
        self._package = ""
        #: A tensor whose history lacks a write to its memory, the tensor that was written, and the row of the write.
        self._apart: list[tuple[TensorEntry, TensorEntry, ReportRow]] = []

    def on_step(self, done: FinishedStep) -> None:
        """Add the rows of a finished step."""
        with speaking(self._report.language):
            self._add_rows_of(done)

    def _add_rows_of(self, done: FinishedStep) -> None:
        self._package = self._package or package_of(done)
        refused = _written_by_refused(done)
        for fact in done.facts:
            self._use(fact)
            if isinstance(fact, Wrote):
                self._correct_dirty(fact)
                masks = any(each.properties["dtype"] == "bool" for each in fact.reads)
                row = self._report_write(done, fact)
                about = advice.WriteFacts(
                    entry_phrases.is_leaf(fact.tensor), masks, attribute=entry_phrases.attribute_of(fact.taken)
                )
                self._add(row, about)
                self._apart += [(each, fact.tensor, row) for each in histories_apart(fact)]
                if done.statement.function == "forward":
                    self._in_forward[row.number] = fact.tensor
            elif isinstance(fact, Unversioned) and fact not in refused:
                leaf = any(entry_phrases.is_leaf(each) for each in fact.storage.aliases.values())
                borrowed = fact.storage.root.is_borrowed
                about = advice.WriteFacts(leaf, borrowed=borrowed, attribute=entry_phrases.attribute_of(fact.used))
                self._add(self._report_unversioned(done, fact), about)
            elif isinstance(fact, Asked):
                self._add(self._report_missing_gradient(done, fact))
            elif isinstance(fact, Reshaped):
                self._add(self._new(done, fact.called, fact.tensor, Verdict.METADATA))
        if done.error is not None:
            self._add(self._report_error(done, refused))

    def _correct_dirty(self, fact: Wrote) -> None:
        """Correct the last row, about a write in a ``forward``, if ``ctx.mark_dirty`` has now reported the write.

        A reported write is in the history of the user-defined function.
        """
        last = self._rows[-1] if self._rows else None
        if last is None or fact.op != UNREPORTED_WRITE or self._in_forward.get(last.number) is not fact.tensor:
            return
        if last.after == fact.before and Verdict.UNRECORDED in last.verdicts:
            last.verdicts = in_order(each for each in last.verdicts if each is not Verdict.UNRECORDED)
            last.happened = "" if last.happened == said(NOT_RECORDED) else last.happened

    def report(self, variant: dict[str, Any]) -> Report:
        """Complete the rows and return the report; ``variant`` is the trace of the recording."""
        with speaking(self._report.language):
            self._complete(variant)
        return self._report

    def _complete(self, variant: dict[str, Any]) -> None:
        code = variant["code"]
        self._report.cut_short = variant["truncated"] or ""
        for row in self._rows:
            row.where.text = code[row.where.line - 1].strip() if row.where.line <= len(code) else ""
            for saved in row.stale:
                saved.where.text = code[saved.where.line - 1].strip() if saved.where.line <= len(code) else ""
            row.by = entry_phrases.caller_of_write(row)
            about = self._about.get(row.number, advice.NOTHING)
            row.instead = advice.advise(row, code, replace(about, package=self._package or about.package))
        self._note_unread()
        for row in self._rows:
            self._report.add(row)

    def _note_unread(self) -> None:
        """If the program ended without an error, say in each row that no backward pass has read its stale tensors."""
        if any(row.error for row in self._rows):
            return
        for row in self._rows:
            if row.verdict is Verdict.STALE:
                row.happened = said(sentences([row.happened, message("No backward pass has read it since.")]))
                if row.instead:
                    unless = message(
                        "Nothing, unless a backward pass is still to run through it. In that case: {advice}",
                        advice=row.instead,
                    )
                    row.instead = said(unless)

    # ---------- rows ----------

    def _add(self, row: ReportRow, about: advice.WriteFacts = advice.NOTHING) -> None:
        last = self._rows[-1] if self._rows else None
        if last is not None and last.verdicts == row.verdicts == (Verdict.METADATA,) and last.where == row.where:
            return
        row.number = len(self._rows) + 1
        if about != advice.NOTHING:
            self._about[row.number] = about
        self._rows.append(row)

    def _use(self, fact: Any) -> None:
        """Correct the row of a write if the program uses a tensor whose history lacks the write.

        Gradients through that tensor are then wrong.
        """
        used = [*getattr(fact, "inputs", ()), *getattr(fact, "reads", ())]
        used += [fact.base] if isinstance(fact, Viewed) and fact.base is not None else []
        for apart, written, row in [each for each in self._apart if each[0] in used]:
            self._apart = [each for each in self._apart if each[0] is not apart or each[2] is not row]
            if Verdict.UNRECORDED in row.verdicts or row.stale:
                continue
            row.verdicts = in_order({*row.verdicts, Verdict.UNRECORDED} - {Verdict.FREE})
            row.happened = said(sentence_about(apart))
            about = self._about.get(row.number, advice.NOTHING)
            name = apart.short_name
            self._about[row.number] = replace(about, apart=(name, size_of(apart) < size_of(written)))

    def _new(self, done: FinishedStep, op: str, tensor: TensorEntry | None, *verdicts: Verdict) -> ReportRow:
        view = None
        if tensor is not None:
            shape = tensor.properties.get("elements", tensor.properties)["shape"]
            size = math.prod(tensor.properties["shape"]) * tensor.storage.event["itemsize"]
            view = TensorView(tensor.short_name, shape, tensor.properties["dtype"], size, entry_phrases.view_of(tensor))
        return ReportRow(0, op, SourceLine(None, done.line, ""), "by versions", view, verdicts=in_order(verdicts))

    def _report_write(self, done: FinishedStep, fact: Wrote) -> ReportRow:
        verdicts = []
        if fact.victims:
            verdicts.append(Verdict.STALE)
        if fact.taken:
            verdicts.append(Verdict.UNNOTICED)
        aliases = [each for each in fact.storage.aliases.values() if each is not fact.tensor and not each.is_array]
        unknown = fact.tensor.properties["stop_gradient"] and any(entry_phrases.has_history(each) for each in aliases)
        by_hand = fact.node is None and entry_phrases.has_history(fact.tensor) and fact.op != UNREPORTED_WRITE
        if unknown or by_hand:
            verdicts.append(Verdict.UNRECORDED)
        row = self._new(done, fact.called, fact.tensor, *verdicts)
        row.before, row.after, row.recorded = fact.before, fact.storage.version, fact.node is not None
        row.stale = [entry_phrases.describe_saved(save) for save in [*fact.taken, *fact.victims]]
        for save in fact.victims:
            self._causes[save] = row
        happened: list[Text] = []
        if fact.taken:
            overwrites = message(
                "It overwrites {saved}. Autograd does not check the version of that tensor, so backward will use the "
                "new numbers without an error, and its gradients will be wrong.",
                saved=entry_phrases.name_saved(fact.taken),
            )
            happened.append(overwrites)
        happened += entry_phrases.describe_stale(fact.victims)
        if fact.victims:
            happened += entry_phrases.other_names(fact.tensor)
        if not happened and verdicts:
            happened.append(NOT_RECORDED)
        row.happened = said(sentences(happened)) if happened else ""
        return row

    def _report_unversioned(self, done: FinishedStep, fact: Unversioned) -> ReportRow:
        verdicts = [Verdict.UNNOTICED] if fact.used and not fact.checked else []
        tensor = fact.tensor or next(iter(fact.storage.aliases.values()), None)
        row = self._new(done, fact.called or "numpy", tensor, *verdicts)
        row.before = row.after = fact.storage.version
        row.stale = [entry_phrases.describe_saved(save) for save in fact.used]
        others = [each for each in fact.storage.aliases.values() if each is not tensor and each.names]
        if row.op in ("clear_gradient", "_zero_grads") and others:
            zeros = message("`{name}` uses the same memory, so it is zero now, too.", name=others[0].names[0])
            row.happened = said(zeros)
        for saved in row.stale:
            saved.lost = True
        if fact.used:
            unnoticed = message(
                "It overwrites {saved}. The write does not increase the version, so backward will use the new numbers "
                "without an error, and its gradients will be wrong.",
                saved=entry_phrases.name_saved(fact.used),
            )
            row.happened = said(unnoticed)
        return row

    def _report_missing_gradient(self, done: FinishedStep, fact: Asked) -> ReportRow:
        row = self._new(done, ".grad", fact.tensor, Verdict.UNRECORDED)
        name, operation = fact.tensor.short_name or fact.tensor.op, fact.tensor.op
        not_leaf = message("`{name}` is the result of an operation, and not a leaf.", name=name)
        if operation:
            not_leaf = message("`{name}` is not a leaf: `{operation}` made it.", name=name, operation=operation)
        reason = message("Its `.grad` is None, because backward stores gradients in leaves only.")
        row.happened = said(sentences([not_leaf, reason]))
        return row

    def _report_error(self, done: FinishedStep, written: Sequence[Unversioned]) -> ReportRow:
        """Return the row of the error that ended a step.

        Args:
            written: the writes of the refused operation before it raised the error.
        """
        refused = done.all(Refused)
        of_write = bool(refused) and refused[-1].reason != "stale"
        row = self._new(done, "", None, Verdict.REFUSED if of_write else Verdict.RAISES)
        if written:
            row = self._report_unversioned(done, written[-1])
            row.verdicts = in_order({*row.verdicts, Verdict.REFUSED} - {Verdict.FREE})
            late = message("It overwrote the numbers of its target, and raised the error afterwards.")
            if row.tensor is not None and row.tensor.name:
                late = message(
                    "It overwrote the numbers of `{name}`, and raised the error afterwards.", name=row.tensor.name
                )
            row.happened = said(sentences([late, *([row.happened] if row.happened else [])]))
        row.error = f"{type(done.error).__name__}: {done.error}"
        row.op = refused[-1].reason if of_write else "backward" if done.phase == "backward" else "raises"
        of_node = [save for save in done.node.saves if save.stale] if refused and done.node is not None else []
        stale = of_node or self._find_stale(row.error)
        if stale:
            save = stale[0]
            by = self._causes.get(save)
            row.cause = by.number if by is not None else None
            happened = [
                message(
                    "`{operation}` in line {line} saved `{name}` at version {saved}, and its memory is now at version "
                    "{now}.",
                    operation=save.node.called,
                    line=save.node.line,
                    name=entry_phrases.name_of(save),
                    saved=save.version,
                    now=save.storage.version,
                )
            ]
            if by is not None:
                happened.append(
                    message("Row {row}, in line {line}, overwrote it in between.", row=by.number, line=by.where.line)
                )
            row.happened = said(sentences(happened))
        elif row.op == "backward":
            self._find_write(row)
        return row

    def _find_stale(self, error: str) -> list[SaveEntry]:
        """Return the stale tensor whose shape and versions fit the text of an error; [] if none or several fit."""
        shape, now, saved = entry_phrases.versions_in(error)
        fit = [save for save in self._causes if save.stale and (save.version, save.storage.version) == (saved, now)]
        return fit if len(fit) == 1 and fit[0].event["shape"] in (shape, shape[::-1]) else []

    def _find_write(self, error: ReportRow) -> None:
        """Describe the write that may have caused an error about a tensor that an unobserved operation saved."""
        shape, now, saved = entry_phrases.versions_in(error.error)
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
        needed = message("A backward pass needs a tensor of the shape {shape} as it was before.", shape=str(shape))
        by.happened = by.happened or said(needed)
        fitting = message(
            "Code that the recorder does not observe, such as `checkpoint`, saved a tensor of the shape {shape} at "
            "version {saved}. Row {row}, in line {line}, is the last write that fits.",
            shape=str(shape),
            saved=saved,
            row=by.number,
            line=by.where.line,
        )
        error.happened = said(fitting)


def _written_by_refused(done: FinishedStep) -> list[Unversioned]:
    """Return the writes that a refused operation has made: Paddle computes before it raises the error."""
    refused = [number for number, fact in enumerate(done.facts) if isinstance(fact, Refused)]
    after = done.facts[refused[-1] + 1 :] if refused and done.error is not None else []
    return [fact for fact in after if isinstance(fact, Unversioned)]


def package_of(done: FinishedStep) -> str:
    """Return the package of the program's tensors, ``paddle`` or ``torch``; "" before the program has made one."""
    for entry in done.ledger.tensors.entries.values():
        x = entry.ref()
        package = "" if x is None else type(x).__module__.partition(".")[0]
        if package in ("paddle", "torch"):
            return package
    return ""


def histories_apart(fact: Wrote) -> list[TensorEntry]:
    """Return the other named tensors on the written memory whose histories lack the write."""
    if fact.node is None or not fact.cover.count:
        return []
    found = []
    for each in fact.storage.aliases.values():
        apart = each is not fact.tensor and not each.is_array and each.group is not fact.tensor.group
        if not apart or not each.names or "detach" in (each.op, fact.tensor.op):
            continue
        wants = not each.properties["stop_gradient"]
        if (wants and not each.properties["leaf"]) or (not wants and not fact.wanted_gradient):
            found.append(each)
    return found


def sentence_about(apart: TensorEntry) -> Text:
    """Describe the gradients through a tensor whose history lacks the write."""
    if apart.properties["stop_gradient"]:
        return message(
            "`{name}` uses the same memory and has no history, so no gradient flows through it to the written values.",
            name=apart.short_name,
        )
    return message(
        "`{name}` uses the same memory, but its history does not contain the write, so gradients through it are those "
        "of the program without this line.",
        name=apart.short_name,
    )


def size_of(tensor: TensorEntry) -> int:
    """Return the number of elements."""
    return math.prod(tensor.properties["shape"])
