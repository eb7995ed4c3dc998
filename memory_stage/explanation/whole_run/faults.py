"""A fault of a program, the edits that mend it, and a collector of the faults that diagnoses find.

The sentences of a fault are messages. They are rendered in the language of the report when the fault is made.
"""

from __future__ import annotations

import difflib
import linecache
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_stage.messages import Language, Text, joined, message, said, speaking
from memory_stage.watch.lines import ProgramLine


@dataclass(frozen=True)
class Edit:
    """A change of the program's source.

    Attributes:
        first: the number of the first line to replace, from 1.
        count: how many lines to replace; 0 inserts before ``first``.
        lines: the new lines, with their indentation and without line ends.
    """

    first: int
    count: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Fix:
    """A way to mend a program.

    Attributes:
        sentence: the effect of the change, for a reader.
        file: the file to edit; "" if there are no edits.
        edits: the changes, whose lines do not overlap.
    """

    sentence: Text
    file: str = ""
    edits: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        _set(self, sentence=said(self.sentence), file=self.file if self.edits else "")

    def apply(self, source: str) -> str:
        """Return the source with the edits applied."""
        lines = source.removesuffix("\n").split("\n")
        for edit in sorted(self.edits, key=lambda each: each.first, reverse=True):
            lines[edit.first - 1 : edit.first - 1 + edit.count] = edit.lines
        return "\n".join(lines) + "\n"

    def diff(self) -> list[str]:
        """Return the changed lines as a diff, each with its sign and its number; [] if there are no edits."""
        if not self.edits:
            return []
        before = [line.rstrip("\n") for line in linecache.getlines(self.file)]
        after = self.apply("\n".join(before)).removesuffix("\n").split("\n")
        shown = []
        for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                shown += [f"- {number + 1:>4}  {before[number]}" for number in range(i, j)]
                shown += [f"+ {number + 1:>4}  {after[number]}" for number in range(k, m)]
        return shown


@dataclass(frozen=True)
class Evidence:
    """A line of the program and its part in a fault.

    Attributes:
        line: the line.
        role: a phrase about the line's part, such as "overwrites it".
        is_culprit: True if the line overwrites a tensor that a backward pass needs.
    """

    line: ProgramLine
    role: Text
    is_culprit: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        _set(self, role=said(self.role))


@dataclass(frozen=True)
class Fault:
    """A fault of a program.

    Attributes:
        kind: a word for tools: "overwritten", "overwritten silently", "history cut", "graph freed", "leak",
            "reference", "shared", "replaced" or "refused".
        verdict: the fault in one sentence.
        evidence: the lines that lead to it, in the order of the program's run. Unknown lines are left
            out, unless all are unknown.
        reason: why the fault matters, such as the derivative that needs a tensor; "" if the verdict says it.
        fixes: ways to mend the program, the best first.
        is_silent: True if the program continues with wrong numbers.
    """

    kind: str
    verdict: Text
    evidence: Sequence[Evidence]
    reason: Text = ""
    fixes: Iterable[Fix] = ()
    is_silent: bool = False
    #: The number of the first node of the graph in which the fault is; -1 if there is none.
    first_node: int = field(default=-1, compare=False)
    #: How often the same fault was found.
    count: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        known = tuple(each for each in self.evidence if each.line.number)
        _set(self, verdict=said(self.verdict), reason=said(self.reason))
        _set(self, evidence=known or tuple(self.evidence), fixes=tuple(self.fixes))

    def to_dict(self) -> dict[str, Any]:
        """Return the fault as texts, numbers and lists, for tools."""
        return {
            "kind": self.kind,
            "is_silent": self.is_silent,
            "verdict": self.verdict,
            "reason": self.reason,
            "count": self.count,
            "lines": [
                {"file": each.line.file, "line": each.line.number, "text": each.line.text, "role": each.role}
                for each in self.evidence
            ],
            "fixes": [{"text": fix.sentence, "file": fix.file, "diff": fix.diff()} for fix in self.fixes],
        }


@dataclass(frozen=True)
class HarmlessWrites:
    """The writes that one operation made in one line of the program. No fault names this line.

    Attributes:
        line: the line of the program.
        operation: the name of the operation, such as ``add_``.
        count: how often it ran.
    """

    line: ProgramLine
    operation: str
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Return the writes as texts and numbers, for tools."""
        line = self.line
        return {
            "file": line.file,
            "line": line.number,
            "text": line.text,
            "operation": self.operation,
            "count": self.count,
        }


def _set(frozen: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def named_lines(lines: Iterable[ProgramLine]) -> Text:
    """Return words for some lines: ``line 3 and line 5``."""
    return joined(message("line {line}", line=line.number) for line in lines)


def named(name: str) -> Text:
    """Return the name of a tensor as code, or ``a tensor`` for a tensor without a name."""
    return f"`{name}`" if name else message("a tensor")


class FaultCollector:
    """Passes on the faults that diagnoses find, and notes the diagnoses that fail.

    Args:
        note: called with a sentence about something that could not be diagnosed.
    """

    def __init__(self, add: Callable[[Fault], None], note: Callable[[Text], None], language: Language) -> None:
        self.add, self._note, self.language = add, note, language
        self._explained = 0  # the id of the last error that was diagnosed

    def begin(self) -> None:
        """Forget which error was explained, because a later error may get its id."""
        self._explained = 0

    def collect(self, what: Text, diagnose: Callable[[], list[Any]]) -> bool:
        """Add the faults of a diagnosis and return True if there are any. If the diagnosis fails, note that."""
        try:
            with speaking(self.language):
                found = [fault for fault in diagnose() if fault is not None]
        except Exception as failure:
            self._note(
                message(
                    "An error in this tool prevented the diagnosis of {part}: {error}.", part=what, error=repr(failure)
                )
            )
            return False
        for fault in found:
            self.add(fault)
        return bool(found)

    def explain(self, error: BaseException, what: Text, diagnose: Callable[[], list[Any]]) -> None:
        """Add the faults behind an error, unless it has been explained."""
        if not self.is_explained(error) and self.collect(what, diagnose):
            self._explained = id(error)

    def is_explained(self, error: BaseException) -> bool:
        """Return True if a fault was found for an error."""
        return id(error) == self._explained
