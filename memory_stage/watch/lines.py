"""Lines of the watched program, each represented by a small number.

A log stores the index of a line, because a training runs the same few lines millions of times.
"""

from __future__ import annotations

import linecache
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType

#: Files in the standard library and in the folders of installed packages do not belong to the program.
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_PACKAGES = {"site-packages", "dist-packages"}

FEWEST_REPETITIONS = 4


@dataclass(frozen=True)
class ProgramLine:
    """A line of the program.

    Attributes:
        file: the file's path, or the name that Python gives a cell of a notebook.
        number: the line's number, counted from 1; 0 if Python does not know it.
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


def is_library_file(file: str) -> bool:
    """True for a file of the standard library or of an installed package."""
    return file.startswith(("<frozen ", _STANDARD_LIBRARY)) or bool(_PACKAGES & set(file.split(os.sep)))


class Lines:
    """The lines that a log refers to.

    Args:
        own_packages: names of packages whose frames are never lines of the program.

    Attributes:
        count: how often a line was looked up, which happens for each logged operation.
        on_repeated: called with the frame of a line that has been looked up 4 times, 8 times, 16 times and so on; None
            for nothing.
    """

    def __init__(self, own_packages: tuple[str, ...] = ("memory_stage",)) -> None:
        self._own = own_packages
        self._lines = [UNKNOWN_LINE]
        # Code objects are identified by their ids, because hashing one takes time. A reference keeps each id valid.
        self._numbers: dict[tuple[int, int], int] = {}
        self._codes: dict[int, tuple[CodeType, bool]] = {}
        self._counts = [0]
        self._lock = threading.Lock()
        self.count = 0
        self.on_repeated: Callable[[FrameType], None] | None = None

    def number_of(self, frame: FrameType | None) -> int:
        """Return the index of the innermost line of the program at or around ``frame``; 0 if there is none."""
        codes, numbers = self._codes, self._numbers
        while frame is not None:
            code = frame.f_code
            known = codes.get(id(code))
            if known[1] if known is not None else self.is_program(frame):
                key = (id(code), frame.f_lineno or 0)
                number = numbers.get(key)
                if number is None:
                    number = self._add(key, ProgramLine(code.co_filename, frame.f_lineno or 0, code.co_name))
                self.count += 1
                count = self._counts[number] = self._counts[number] + 1
                if not count & (count - 1) and count >= FEWEST_REPETITIONS and self.on_repeated is not None:
                    self.on_repeated(frame)
                return number
            frame = frame.f_back
        return 0

    def _add(self, key: tuple[int, int], line: ProgramLine) -> int:
        """Add a line, which another thread may have added in the meantime, and return its index."""
        with self._lock:
            number = self._numbers.get(key)
            if number is None:
                number = len(self._lines)
                self._lines.append(line)
                self._counts.append(0)
                self._numbers[key] = number
            return number

    def __getitem__(self, number: int) -> ProgramLine:
        """Return the line with the index ``number``."""
        return self._lines[number]

    def files(self) -> set[str]:
        """Return the files of the program whose frames were looked up so far."""
        return {code.co_filename for code, is_program in self._codes.values() if is_program}

    def program_frames(self, frame: FrameType | None) -> list[FrameType]:
        """Return the frames of the program, from ``frame`` outwards."""
        found = []
        while frame is not None:
            if self.is_program(frame):
                found.append(frame)
            frame = frame.f_back
        return found

    def is_program(self, frame: FrameType) -> bool:
        """True if a frame belongs to the program, and not to a library or to this package."""
        code = frame.f_code
        known = self._codes.get(id(code))
        if known is None:
            is_library = is_library_file(code.co_filename)
            package = str(frame.f_globals.get("__name__")).partition(".")[0]
            known = self._codes[id(code)] = code, not is_library and package not in self._own
        return known[1]
