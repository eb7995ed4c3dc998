"""Read a program, set up its run and return its exit status, as Python does for a script."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path

#: The exit status of a program that ended with an error, that was interrupted, or that could not be run.
FAILED, INTERRUPTED, REFUSED = 1, 130, 2


class ScriptError(Exception):
    """Raised for a file that cannot be run. The message says why."""


def read_script(name: str) -> tuple[Path, str]:
    """Return the path of a program, in the form that Python shows in tracebacks, and its source.

    Raises:
        ScriptError: if the file cannot be read or does not compile.
    """
    program = Path(os.path.abspath(name))
    try:
        read = program.read_bytes()
        try:
            source = importlib.util.decode_source(read)
        except SyntaxError:
            read.decode("utf-8")  # its error names the first byte that is not UTF-8
            raise  # the file declares an unknown encoding
        compile(source, str(program), "exec", dont_inherit=True)
    except (OSError, UnicodeDecodeError, LookupError) as error:
        raise ScriptError(f"{name} cannot be read: {error}") from None
    except (SyntaxError, ValueError) as error:
        raise ScriptError(f"{name} is not a program: {error}") from None
    return program, source


@contextlib.contextmanager
def as_main(program: Path, argv: list[str]) -> Iterator[dict[str, object]]:
    """Set up ``__main__``, ``sys.argv`` and ``sys.path`` for a program inside the block. Yield its global names."""
    module = types.ModuleType("__main__")
    module.__file__ = str(program)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv = argv
    sys.path[0] = str(program.resolve().parent)  # if the program is a link, this is the folder of its target
    sys.modules["__main__"] = module
    try:
        yield module.__dict__
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before


def report_error(error: BaseException | None) -> int:
    """Print the error that ended a program, as Python does. Return the exit status that Python would return."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return int(error.code or 0)
        print(error.code, file=sys.stderr)
        return FAILED
    sys.excepthook(type(error), error, error.__traceback__)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
