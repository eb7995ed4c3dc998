"""Print an explanation on one screen."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence

from memory_stage.explanation.whole_run.faults import Fault

WIDTH = 100
NOTHING = "memory-stage: no fault of an in-place operation was found."


def as_text(faults: Sequence[Fault], unseen: Sequence[str]) -> str:
    """Return the text of an explanation: for each fault the verdict, its lines, the reason and the fixes.

    Args:
        faults: the faults of a run.
        unseen: sentences about things that could not be watched.
    """
    parts = [text for fault in faults for text in ("", _fault(fault))] or [NOTHING]
    parts += [textwrap.fill(f"Note: {sentence}", WIDTH) for sentence in unseen]
    return "\n".join(parts).lstrip("\n")


def _fault(fault: Fault) -> str:
    times = f" ({fault.count:,} times)" if fault.count > 1 else ""
    lines = [textwrap.fill(f"memory-stage: {fault.verdict}{times}", WIDTH), ""]
    file = ""
    width = max(len(each.line.text) for each in fault.evidence)
    for each in fault.evidence:
        if each.line.file != file:
            file = each.line.file
            lines.append(f"  {_short_path(file)}")
        lines.append(f"  {each.line.number:>5}  {each.line.text[:60]:<{min(width, 60)}}  # {each.role}")
    if fault.reason:
        lines += ["", textwrap.fill(fault.reason, WIDTH, initial_indent="  ", subsequent_indent="  ")]
    for fix in fault.fixes:
        lines += ["", textwrap.fill(fix.sentence, WIDTH, initial_indent="  Fix: ", subsequent_indent="       ")]
        lines += [f"    {line}" for line in fix.diff()]
    return "\n".join(lines)


def _short_path(file: str) -> str:
    """Return a path relative to the current folder if it is inside it."""
    inside = os.path.abspath(file).startswith(os.getcwd() + os.sep)
    return os.path.relpath(file) if inside else file
