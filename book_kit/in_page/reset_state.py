"""Reset Python to the state of a new process for each request of a page.

One Python process answers all requests of a page. For each request this module restores the attributes of `builtins`
and of the packages that a program uses, the in-place policy, gradient recording, the device, the seeds, print options,
warning filters and the recursion limit. It restores neither files nor other modules, and it does not remove attributes
that a program has added.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import random
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

import minitensor
import minitensor.torch
from minitensor.engine.core import printing
from minitensor.engine.device import places
from minitensor.engine.modes import DEFAULT_POLICY, modes
from minitensor.torch import printing as printing_of_torch

#: Maps the devices that a page offers to the arguments of ``set_device``.
DEVICES: dict[str, dict[str, Any]] = {
    "cpu": {"device": "cpu"},
    "gpu:sim": {"device": "gpu:sim", "profile": "torch"},
    "gpu:sim paddle": {"device": "gpu:sim", "profile": "paddle"},
}
BEGINNING, END = 20_000, 1_000  # how many characters are kept of the beginning and of the end of a program's output


def names() -> dict[str, Any]:
    """Return the initial global names of a program."""
    return {
        "__name__": "__main__",
        "mt": minitensor,
        "np": np,
        "nn": minitensor.nn,
        "F": minitensor.nn.functional,
        "torch": minitensor.torch,
        "paddle": minitensor,
    }


@contextlib.contextmanager
def afresh(device: str) -> Iterator[CapturedOutput]:
    """Run a block in the state of a new process, and create new tensors on ``device``. Yield the captured output.

    The captured output lacks the output of recorded steps, which the recorder captures.

    Raises:
        ValueError: if ``device`` is not one of `DEVICES`.
    """
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {device!r}")
    _restore_names()
    modes.grad, modes.policy = True, DEFAULT_POLICY
    minitensor.seed(0)
    random.seed(0)
    minitensor.set_device(**DEVICES[device])
    printed = CapturedOutput()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(_ToStdout()),
        _settings_restored(),
        _no_input(),
    ):
        try:
            yield printed
        finally:
            modes.grad, modes.policy = True, DEFAULT_POLICY
            minitensor.set_device("cpu")


# ---------- restored state ----------

_OWNERS = (builtins, np, minitensor, minitensor.torch, minitensor.nn, minitensor.nn.functional)
_ORIGINALS = [(owner, dict(vars(owner))) for owner in (*_OWNERS, minitensor.Tensor, minitensor.torch.Tensor)]


def _restore_names() -> None:
    """Restore the attributes of modules and classes that a program has set or deleted."""
    for owner, originals in _ORIGINALS:
        now = vars(owner)  # the default of `get` below is `_ORIGINALS`, because no attribute has this value
        for name in [name for name, value in originals.items() if now.get(name, _ORIGINALS) is not value]:
            setattr(owner, name, originals[name])


#: The warning filters during a request. Like those of a new process, they ignore warnings for the maintainers of
#: libraries.
_FILTERS: list[tuple[Any, type[Warning]]] = [("default", Warning), ("ignore", DeprecationWarning)]
_FILTERS += [("ignore", kind) for kind in (PendingDeprecationWarning, ImportWarning, ResourceWarning)]


@contextlib.contextmanager
def _settings_restored() -> Iterator[None]:
    """Set the warning filters, and restore the settings of the whole process at the end of the block."""
    limit, trace, profile = sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()
    announced = places.current.announced
    places.current.announced = True  # hides minitensor's note on the simulated GPU, because the page has such a note
    options, of_torch = printing._options, dict(vars(printing_of_torch.options))
    with warnings.catch_warnings(), np.errstate(), np.printoptions():
        for action, category in _FILTERS:
            warnings.simplefilter(action, category)
        warnings.showwarning = _print_warning  # type: ignore[assignment]  # mypy regards it as a constant
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)
            places.current.announced = announced
            sys.settrace(trace)
            sys.setprofile(profile)
            printing._options = options
            vars(printing_of_torch.options).update(of_torch)


def _print_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    """Print a warning on one line, with the line number if the program caused it."""
    place = f" (line {lineno})" if filename.startswith("<") else ""
    print(f"{category.__name__}: {message}{place}", file=sys.stderr)


# ---------- output ----------


class CapturedOutput(io.StringIO):
    """A stream that keeps the beginning and the end of its output, even if a program closes the stream."""

    def __init__(self) -> None:
        super().__init__()
        self.beginning = self.end = ""

    def write(self, text: str) -> int:
        """Append as much of ``text`` as fits to the beginning and to the end. Return the length of all of ``text``."""
        room = BEGINNING - len(self.beginning)
        if room > 0:
            self.beginning += text[:room]
        self.end = (self.end + text[-END:])[-END:]
        return len(text)

    def forget(self) -> None:
        """Discard the output so far."""
        self.beginning = self.end = ""

    def close(self) -> None:
        """Do nothing, so that the stream stays open."""


class _ToStdout(io.StringIO):
    """A stream that writes stderr to stdout, because a page shows both in one place."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def close(self) -> None:
        """Do nothing, so that the stream stays open."""


# ---------- input ----------

NO_INPUT = "a program in a page gets no input: write the value into the program"


@contextlib.contextmanager
def _no_input() -> Iterator[None]:
    """Let ``input``, a read of stdin and the start of a debugger raise RuntimeError, because a page has no input."""
    before = builtins.input, sys.stdin
    builtins.input, sys.stdin = _refuse, _NoInput()
    try:
        yield
    finally:
        builtins.input, sys.stdin = before


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError(NO_INPUT)


class _NoInput(io.StringIO):
    """A replacement for stdin that raises an error when it is read."""

    def read(self, *_: Any) -> str:
        return _refuse()

    def readline(self, *_: Any) -> str:  # type: ignore[override]  # it accepts any arguments
        return _refuse()

    def __next__(self) -> Any:
        return _refuse()
