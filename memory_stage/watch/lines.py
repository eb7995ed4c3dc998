"""Lines of the watched program, as small numbers.

A log holds a line as an index, because a training runs the same few lines millions of times.
"""

from __future__ import annotations

import linecache
import sysconfig
from dataclasses import dataclass
from types import CodeType, FrameType

#: Folders of installed code: a frame in one of them belongs to a library and not to the program.
_INSTALLED = tuple(
    sorted({path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))})
)


@dataclass(frozen=True)
class ProgramLine:
    """A line of the program.

    Attributes:
        file: the file's path, or the name that Python gives a cell of a notebook.
        number: counted from 1; 0 if Python has no line for it.
        function: the function that contains the line, or "<module>".
    """

    file: str
    number: int
    function: str

    @property
    def text(self) -> str:
        """Return the source of the line without its indentation, or "" if it cannot be read."""
        return linecache.getline(self.file, self.number).strip()


UNKNOWN_LINE = ProgramLine("", 0, "")


class Lines:
    """The lines that a log refers to.

    Args:
        own_packages: names of packages whose frames are never lines of the program.
    """

    def __init__(self, own_packages: tuple[str, ...] = ("memory_stage",)) -> None:
        self._own = own_packages
        self._numbers: dict[tuple[CodeType | None, int], int] = {(None, 0): 0}
        self._is_program: dict[CodeType, bool] = {}

    def number_of(self, frame: FrameType | None) -> int:
        """Return the index of the innermost line of the program at or around ``frame``; 0 if there is none."""
        known = self._is_program
        while frame is not None:
            code = frame.f_code
            is_program = known.get(code)
            if is_program or (is_program is None and self.is_program(frame)):
                key = (code, frame.f_lineno or 0)
                numbers = self._numbers
                try:
                    return numbers[key]
                except KeyError:
                    return numbers.setdefault(key, len(numbers))
            frame = frame.f_back
        return 0

    def __getitem__(self, number: int) -> ProgramLine:
        """Return the line with an index."""
        code, line = list(self._numbers)[number]
        return UNKNOWN_LINE if code is None else ProgramLine(code.co_filename, line, code.co_name)

    def is_program(self, frame: FrameType) -> bool:
        """Return True if a frame belongs to the program and not to a library or to this package."""
        code = frame.f_code
        if code not in self._is_program:
            is_library = code.co_filename.startswith(("<frozen ", *_INSTALLED))
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            self._is_program[code] = not is_library and package not in self._own
        return self._is_program[code]
