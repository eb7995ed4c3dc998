"""Decide whether an error was raised by a check of the package, or escaped from code inside it."""

from __future__ import annotations

import dis
import re
from types import CodeType, TracebackType

from tests.support.vocabulary.wrong_arguments.hostile import RefusedByCallback

#: The kinds of errors that the package documents. MemoryError is raised for sizes that do not fit.
KINDS = (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, NotImplementedError, MemoryError)
KINDS += (OSError, OverflowError, AssertionError, ImportError, EOFError, BufferError, ZeroDivisionError)
#: Messages of numpy and Python that do not help a user of the public function.
INSIDE = re.compile(
    r"'_(?!mean'|variance')\w+'|\b_array\b|\b_storage\b|not iterable|int\(\) argument|\bufunc|can't multiply|"
    r"has no attribute '(?!\w+' of)|cannot be interpreted|unhashable|invalid literal|could not convert|has no len|"
    r"object is not (callable|iterable|subscriptable|an iterator|reversible)|setting an array|too large to convert|"
    r"only length-1|must be real|expected at most|not supported between|truth value of an|NaN to integer|"
    r"infinity to integer|descriptor '|slice indices|bad operand|to unpack|could not broadcast|inhomogeneous|"
    r"core dimension|SeedSequence|DTypes|(?<!<class ')numpy\.dtypes|neither true nor false|list index out of range|"
    r"tuple index out of range|maximum recursion|local variable|division by zero|\bNoneType object\b|"
    r"argument must be a string|arg 2 must be|expected str, bytes"
)
#: Errors that Python raises about a call, which are allowed if they name the public function.
BINDING = re.compile(
    r"missing \d+ required|takes (from )?\d+|takes no (keyword )?arguments|unexpected keyword|multiple values for|"
    r"positional-only|takes exactly|takes at most|expected \d+ arguments?"
)


#: The special methods of comparisons, for which Python may also call the method of the other operand.
OPERATED = frozenset(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge"))


def _raises(code: CodeType, at: int) -> bool:
    """True if the instruction of ``code`` at the offset ``at`` is a ``raise`` statement."""
    return dis.opname[code.co_code[at]] == "RAISE_VARARGS"


def _is_own(frame_code: CodeType) -> bool:
    return "/minitensor/" in frame_code.co_filename or frame_code.co_filename.startswith("<minitensor")


def frames_of(traceback: TracebackType | None) -> list[tuple[CodeType, int, int]]:
    """Return code, instruction and line of each frame of a traceback, outermost first."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


def fault_of(error: BaseException, names: set[str]) -> str:
    """Return the reason why the error is not clear; empty if it is clear.

    Args:
        names: the names of the public function. An error that Python raises about a call must contain one of them.
    """
    if isinstance(error, RefusedByCallback):
        return ""
    text, kind = str(error), type(error).__name__
    frames = frames_of(error.__traceback__)
    code, at, line = frames[-1]
    where = f"{code.co_filename.partition('/minitensor/')[2] or code.co_filename}:{line} in {code.co_name}"
    own = [frame for frame in frames if _is_own(frame[0])]
    if not text.strip():
        return f"{kind} without a text ({where})"
    if not isinstance(error, KINDS):
        return f"{kind} ({where}): {text}"
    if not own and "/numpy/" in code.co_filename:
        return ""  # one operand is an object of NumPy, and NumPy's own operator raised the error
    if re.match(r"(Made|.*<lambda>|list\.append)\(\) takes", text):
        return ""  # Python's error about a callback of the program
    if BINDING.search(text) and not _raises(code, at):
        named = re.match(r"[A-Z]\w*\.(forward|__init__|__call__)\(\)", text) or any(
            re.search(rf"\b{re.escape(name)}_?\b", text) for name in names
        )
        return "" if named else f"unnamed call error ({where}): {text}"
    if isinstance(error, MemoryError) and "Unable to allocate" in text:
        return ""  # the size is valid, but this machine does not have so much memory
    if code.co_name == "_sample":
        return ""  # a data set of the program raised the error
    if own and isinstance(error, OSError) and not isinstance(error, (ConnectionError, TimeoutError)) and error.errno:
        return ""  # the operating system's error, which names the path
    if text.startswith("__len__() should return") or (not own and "iter() returned non-iterator" in text):
        return ""  # Python's error about a method of the program
    if not own and "sub-views" in text:
        return ""  # Python's error about the elements of a memoryview
    if "Invalid format specifier" in text:
        return ""  # Python's error, which contains the given format
    if not own and any(text.startswith(f"{name} expected") for name in names):
        return ""
    if not own and names & OPERATED:
        return ""  # the other operand raised the error, for example numpy
    if not own:
        # Python itself raises an error about an operator. It is allowed, because its message has only public names.
        return (
            ""
            if re.search(r"unsupported operand|not supported between|object|iteration over", text)
            else f"{kind} ({where}): {text}"
        )
    if not (_is_own(code) and _raises(code, at)):
        return f"{kind} escaped ({where}): {text}"
    if "__bool__" in names and "neither true nor false" in text:
        return ""
    if INSIDE.search(text):
        return f"{kind} with a text of numpy or Python that helps no user ({where}): {text}"
    return ""
