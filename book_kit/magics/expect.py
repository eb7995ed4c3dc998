"""The cell magic `%%expect_error`, for a cell that must fail with the error that the text of the page explains.

    %%expect_error ValueError doesn't stop gradient
    w = mt.to_tensor([1.0, 1.0], stop_gradient=False)
    w.add_(mt.ones([2]))

* If the cell raises this error, the cell passes, and its output shows the error and the line that raised it. If it
  raises no error or another one, the cell fails, and so does the build of the book.
* The output contains no path of this machine. Lines are counted as the reader sees them: the magic is line 1.
* Names to which the cell assigned something before it failed keep their values, as after any failing cell. The magic
  drops the error object, because it would keep tensors alive.

The tag `raises-exception` cannot replace this magic, because a cell with the tag passes even if it raises nothing.
"""

from __future__ import annotations

import builtins
import html
import linecache
import re
import traceback
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from IPython.display import display

from memory_stage.integrations.magic_options import numbered_as_seen
from memory_stage.messages import Text, message, said
from memory_stage.web.embed import page_assets

USAGE = "%%expect_error ErrorType [regular expression for its message]"
FRAMES = 4  # how many of the innermost frames are shown
LINES_BEFORE = 1  # how many lines are shown before the line that raised the error


@dataclass(frozen=True)
class ExpectedError:
    """The frames and the message of an expected error, as text."""

    frames: str
    message: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        heading = said(message("Expected error"))
        page = (
            f'<div class="mt-note mt-error mathjax_ignore"><p class="mt-kind">{heading}</p>\n'
            f"<pre>{html.escape(self.frames)}\n"
            f'<span class="mt-message">{html.escape(self.message)}</span></pre></div>'
        )
        return {
            "text/plain": f"{self.frames}\n{self.message}",
            "text/html": page_assets("quiz.css", package="book_kit.web") + page,
        }


@magics_class
class ExpectError(Magics):
    """The class that contains the cell magic `%%expect_error`."""

    shell: InteractiveShell

    @no_var_expand
    @cell_magic
    def expect_error(self, line: str, cell: str) -> None:
        """%%expect_error ErrorType regular expression: run the cell, which has to raise this error.

        ErrorType is a built-in name or a name of the notebook. An error of a subclass also passes. The regular
        expression must match a part of the error's message. Raises AssertionError if the cell raises no error or
        another one.
        """
        expected, pattern = self._parse(line)
        source = numbered_as_seen(cell, self.shell.transform_cell(cell))
        name = self.shell.compile.cache(source, self.shell.execution_count)
        try:
            code = compile(source, name, "exec", self.shell.compile.flags, dont_inherit=True)
            exec(code, self.shell.user_ns)
        except (Exception, expected) as error:
            if not isinstance(error, expected):
                raise AssertionError(
                    f"this cell has to raise {expected.__name__}, but it raised {type(error).__name__}: {error}"
                ) from error
            if not re.search(pattern, str(error)):
                raise AssertionError(
                    f"this cell has to raise {expected.__name__} with a message that matches {pattern!r}, "
                    f"but the message is: {error}"
                ) from error
            shown = _describe(error, name, self.shell)
        else:
            raise AssertionError(f"this cell has to raise {expected.__name__}, but it raised nothing")
        display(shown)

    def _parse(self, line: str) -> tuple[type[BaseException], str]:
        name, _, pattern = line.strip().partition(" ")
        first, *rest = name.split(".")
        found: Any = self.shell.user_ns.get(first, getattr(builtins, first, None))
        for attribute in rest:
            found = getattr(found, attribute, None)
        if not (isinstance(found, type) and issubclass(found, BaseException)):
            raise UsageError(f"{name!r} is not an error type here. Usage: {USAGE}")
        try:
            re.compile(pattern.strip())
        except re.error as error:
            raise UsageError(f"{pattern.strip()!r} is not a regular expression ({error}). Usage: {USAGE}") from None
        return found, pattern.strip()


_THIS = message("this cell")


def _describe(error: BaseException, this_cell: str, shell: InteractiveShell) -> ExpectedError:
    """Return the message of an error and its innermost frames in cells of the notebook.

    Neither contains a file name: a cell is called "this cell" or "an earlier cell".
    """
    if isinstance(error, SyntaxError) and error.filename == this_cell:
        return ExpectedError(_frame(_THIS, this_cell, error.lineno or 1), f"{type(error).__name__}: {error.msg}")
    places: dict[str, Text] = {this_cell: _THIS}
    frames: list[str] = []
    for frame in traceback.extract_tb(error.__traceback__):
        if shell.compile.format_code_name(frame.filename):  # the frame runs a cell and not a file
            place = places.setdefault(frame.filename, message("an earlier cell"))
            within = "" if frame.name == "<module>" else frame.name
            frames.append(_frame(place, frame.filename, frame.lineno or 1, within))
    raised = "".join(traceback.format_exception_only(type(error), error)).rstrip()
    for filename, place in places.items():
        raised = raised.replace(filename, said(place))
    return ExpectedError("\n".join(frames[-FRAMES:]), raised)


def _frame(place: Text, filename: str, line: int, within: str = "") -> str:
    """Return the place of a frame as text: a heading, the lines before the frame's line, and that line with a mark."""
    where = message("{place}, line {line}", place=place, line=line)
    if within:
        where = message("{place}, line {line}, in {function}", place=place, line=line, function=within)
    rows = [said(where)]
    for number in range(max(1, line - LINES_BEFORE), line + 1):
        source = linecache.getline(filename, number).rstrip()
        if source:
            rows.append(f"{'-->' if number == line else '':<3}{number:>4}  {source}")
    return "\n".join(rows)
