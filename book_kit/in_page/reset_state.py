"""What a request of a page begins with: the state of a new process, as far as a program can change it by its names.

One Python answers all requests of a page. Before each of them the packages that a program finds, and Python's own
names, are what they were; so are the policy, recording, the device, random numbers, how numbers print, what is warned
of, and how deep calls may go. Files stay, and what a program has done to other modules.
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

#: What a page offers to run a program on: the word for it -> the arguments of ``set_device``.
DEVICES: dict[str, dict[str, Any]] = {
    "cpu": {"device": "cpu"},
    "gpu:sim": {"device": "gpu:sim", "profile": "torch"},
    "gpu:sim paddle": {"device": "gpu:sim", "profile": "paddle"},
}
BEGINNING, END = 20_000, 1_000  # characters of what is printed and no step shows


def names() -> dict[str, Any]:
    """The global names that a program finds."""
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
def afresh(device: str) -> Iterator[Printed]:
    """The state that a new process has, with new tensors on ``device``; gives what is printed that no step shows."""
    if device not in DEVICES:
        raise ValueError(f"a page offers the devices {', '.join(DEVICES)}, not {device!r}")
    _put_back()
    modes.grad, modes.policy = True, DEFAULT_POLICY
    minitensor.seed(0)
    random.seed(0)
    minitensor.set_device(**DEVICES[device])
    printed = Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(_ToStdout()), _restored(), _nobody_to_ask():
        try:
            yield printed
        finally:
            modes.grad, modes.policy = True, DEFAULT_POLICY
            minitensor.set_device("cpu")


# ---------- what is put back ----------

_OWNERS = (builtins, np, minitensor, minitensor.torch, minitensor.nn, minitensor.nn.functional)
_GIVEN = [(owner, dict(vars(owner))) for owner in (*_OWNERS, minitensor.Tensor, minitensor.torch.Tensor)]


def _put_back() -> None:
    """Names that a program has set anew or deleted stand for what they stood for."""
    for owner, given in _GIVEN:
        now = vars(owner)
        for name in [name for name, value in given.items() if now.get(name, _GIVEN) is not value]:
            setattr(owner, name, given[name])


#: What is warned of, as in a new process: of kinds that are for who maintains a library, nothing.
_WARNED: list[tuple[Any, type[Warning]]] = [("default", Warning), ("ignore", DeprecationWarning)]
_WARNED += [("ignore", kind) for kind in (PendingDeprecationWarning, ImportWarning, ResourceWarning)]


@contextlib.contextmanager
def _restored() -> Iterator[None]:
    """What a program may set for all of Python is as it was, afterwards."""
    limit, trace, profile = sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()
    announced, places.current.announced = places.current.announced, True  # a page says itself that its GPU is simulated
    options, of_torch = printing._options, dict(vars(printing_of_torch.options))
    with warnings.catch_warnings(), np.errstate(), np.printoptions():
        for action, category in _WARNED:
            warnings.simplefilter(action, category)
        warnings.showwarning = _warned  # type: ignore[assignment]  # mypy takes it for a constant
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)
            places.current.announced = announced
            sys.settrace(trace)
            sys.setprofile(profile)
            printing._options = options
            vars(printing_of_torch.options).update(of_torch)


def _warned(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    """A warning as one line; where it is of the program, with its line there."""
    place = f" (line {lineno})" if filename.startswith("<") else ""
    print(f"{category.__name__}: {message}{place}", file=sys.stderr)


# ---------- what is printed ----------


class Printed(io.StringIO):
    """Keeps the beginning and the end of what is printed. A program may close it; what it has printed stays."""

    def __init__(self) -> None:
        super().__init__()
        self.beginning = self.end = ""

    def write(self, text: str) -> int:
        """Characters that were printed, kept or not."""
        room = BEGINNING - len(self.beginning)
        if room > 0:
            self.beginning += text[:room]
        self.end = (self.end + text[-END:])[-END:]
        return len(text)

    def forget(self) -> None:
        """As if nothing had been printed so far."""
        self.beginning = self.end = ""

    def close(self) -> None:
        """It stays open."""


class _ToStdout(io.StringIO):
    """What goes to stderr stands among what is printed: a page has one place for both."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def close(self) -> None:
        """It stays open."""


# ---------- nobody answers ----------

NOBODY = "input asks a reader, who cannot answer here: write the value into the program"


@contextlib.contextmanager
def _nobody_to_ask() -> Iterator[None]:
    """``input``, what reads from stdin, and a debugger are told that there is nobody who could answer."""
    before = builtins.input, sys.stdin
    builtins.input, sys.stdin = _refuse, _Nobody()
    try:
        yield
    finally:
        builtins.input, sys.stdin = before


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError(NOBODY)


class _Nobody(io.StringIO):
    """Stands in for stdin."""

    def read(self, *_: Any) -> str:
        return _refuse()

    def readline(self, *_: Any) -> str:  # type: ignore[override]  # it takes whatever it is given
        return _refuse()

    def __next__(self) -> Any:
        return _refuse()
