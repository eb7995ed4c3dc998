"""Print an explanation on one screen, with colours in a terminal."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from memory_stage.explanation.whole_run.faults import Fault, HarmlessWrites
from memory_stage.messages import Text, columns, language, message, plural, render, said, wrapped
from memory_stage.messages.catalogues import codes
from memory_stage.watch.lines import ProgramLine

WIDTH = 100

#: Characters that would move the cursor, or change the direction of text, in a terminal.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NOTHING = message("no fault of an in-place operation was found.")


def described_fix(sentence: Text) -> Text:
    """Return the paragraph about a fix; with an empty sentence, only the word before it."""
    return message("Fix: {sentence}", sentence=sentence)


def as_text(
    faults: Sequence[Fault], unseen: Sequence[str], process: str = "", harmless: Sequence[HarmlessWrites] = ()
) -> str:
    """Return the text of an explanation: for each fault the verdict, its lines, the reason and the fixes.

    Args:
        unseen: sentences about things that could not be watched.
        process: words that name this process if the program runs in several processes; otherwise "".
        harmless: lines that write in place and are in no fault; the text lists them below the faults.
    """
    name = heading(process)
    parts = [text for fault in faults for text in ("", _fault(fault, name))] or [f"{name} {said(NOTHING)}"]
    parts += [_paragraph(message("Note: {sentence}", sentence=sentence)) for sentence in unseen]
    if harmless:
        count = message("{count}:", count=count_of(harmless))
        parts += ["", f"{name} {said(count)}", *_places(harmless)]
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], "\n".join(parts).lstrip("\n"))


def heading(process: str) -> str:
    """Return the words that begin a paragraph: ``memory-stage:``, or ``memory-stage, rank 1 of 4:``."""
    return said(message("memory-stage, {process}:", process=process)) if process else "memory-stage:"


def count_of(harmless: Sequence[HarmlessWrites]) -> Text:
    """Return a sentence, without a full stop, about lines that write in place and are in no fault."""
    lines, writes = len({each.line for each in harmless}), sum(each.count for each in harmless)
    return plural(
        "{count} line writes in place without a fault, {times}",
        "{count} lines write in place without a fault, {times}",
        lines,
        count=f"{lines:,}",
        times=_times(writes),
    )


def _times(count: int) -> Text:
    return plural("{count} time", "{count} times", count, count=f"{count:,}")


def _paragraph(text: Text, first: str = "", following: str = "") -> str:
    return "\n".join(wrapped(said(text), WIDTH, first, following))


def _places(harmless: Sequence[HarmlessWrites]) -> list[str]:
    """Return the lines of the program that write in place, below the names of their files."""
    rows = [
        (each.line, said(message("`{operation}`, {times}", operation=each.operation, times=_times(each.count))))
        for each in harmless
    ]
    return ["", *_quoted(sorted(rows, key=lambda row: (row[0].file, row[0].number)))]


def _quoted(rows: Sequence[tuple[ProgramLine, Text]]) -> list[str]:
    """Return lines of the program with a remark on each, below the names of their files."""
    found: list[str] = []
    file = ""
    width = max(len(line.text) for line, _ in rows)
    for line, remark in rows:
        if line.file != file:
            file = line.file
            found.append(f"  {_shown_name(file)}")
        source = line.text if len(line.text) <= 60 else f"{line.text[:57]}..."
        found.append(f"  {line.number:>5}  {source:<{min(width, 60)}}  # {remark}")
    return found


def _fault(fault: Fault, name: str) -> str:
    verdict: Text = fault.verdict
    if fault.count > 1:
        verdict = message("{verdict} ({count} times)", verdict=fault.verdict, count=f"{fault.count:,}")
    lines = [_paragraph(f"{name} {said(verdict)}"), ""]
    lines += _quoted([(each.line, each.role) for each in fault.evidence])
    if fault.reason:
        lines += ["", _paragraph(fault.reason, first="  ", following="  ")]
    indent = " " * columns(f"  {said(described_fix(''))}")
    for fix in fault.fixes:
        lines += ["", _paragraph(described_fix(fix.sentence), first="  ", following=indent)]
        lines += [f"    {line}" for line in fix.diff()]
    return "\n".join(lines)


def _shown_name(file: str) -> str:
    """Return ``Cell In[3]`` for a cell of a notebook, a relative path in the current folder, or an absolute path."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and (cell := shell.compile.format_code_name(file)):
        return " ".join(cell)
    inside = os.path.abspath(file).startswith(os.getcwd() + os.sep)
    return os.path.relpath(file) if inside else file


_BOLD, _RED, _GREEN, _DIM, _END = "\33[1m", "\33[31m", "\33[32m", "\33[2m", "\33[0m"


@functools.cache
def _styles() -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern and its replacement for each kind of line of an explanation, in all languages."""
    fixes = "|".join(re.escape(render(described_fix(""), language(code)).rstrip()) for code in codes())
    return [
        (re.compile(r"^(memory-stage[^:]*:)"), rf"{_BOLD}\1{_END}"),
        (re.compile(r"^(    - .*)$"), rf"{_RED}\1{_END}"),
        (re.compile(r"^(    \+ .*)$"), rf"{_GREEN}\1{_END}"),
        (re.compile(f"^(  (?:{fixes}))"), rf"{_BOLD}\1{_END}"),
        (re.compile(r"^( +\d+  .*?)(  # .*)$"), rf"\1{_DIM}\2{_END}"),
    ]


def are_colours_wanted(stream: TextIO) -> bool:
    """Return True if a stream is a terminal that shows colours and ``NO_COLOR`` is not set."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def coloured(text: str) -> str:
    """Return the text of an explanation with escape sequences for colours."""
    return "\n".join(_coloured_line(line) for line in text.split("\n"))


def _coloured_line(line: str) -> str:
    for pattern, style in _styles():
        line, count = pattern.subn(style, line, count=1)
        if count:
            return line
    return line


def rank_and_size() -> tuple[int, int]:
    """Return the rank of this process and the number of processes; 0 and 1 for a program that is not distributed.

    They come from the process group that the program has begun, or else from the environment variables that
    ``torchrun`` and other launchers set.
    """
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return (int(rank), int(size)) if rank.isdecimal() and size.isdecimal() else (0, 1)


def rank_words() -> str:
    """Return words that name this process: ``rank 1 of 4``, counted from 0; "" for a single process."""
    rank, size = rank_and_size()
    return said(message("rank {rank} of {size}", rank=rank, size=size)) if size > 1 else ""


def with_rank(file: Path) -> Path:
    """Return the name of this process's file: ``why.rank1.json`` for ``why.json``; unchanged for a single process."""
    rank, size = rank_and_size()
    return file.with_name(f"{file.stem}.rank{rank}{file.suffix}") if size > 1 else file
