"""Watch a program and collect its faults."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, TypeVar

from memory_stage.explanation.whole_run.diagnosis import FRAMEWORKS, Diagnosis
from memory_stage.explanation.whole_run.faults import Fault, HarmlessWrites
from memory_stage.explanation.whole_run.one_screen import as_text, rank_words
from memory_stage.messages import Language, Text, default_language, render, speaking
from memory_stage.messages import language as find_language
from memory_stage.recorder.reachable_tensors import local_variables

#: The largest number of different faults in an explanation; later ones are left out.
MOST_FAULTS = 20

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Explanation:
    """The faults of a run.

    It is a context manager that watches the program in its block::

        with watching() as why:
            train()
        print(why)

    It is also a decorator that watches each call of a function and prints new faults when the call ends. A decorator
    does not search for graphs that outlive the calls::

        @watching()
        def step(batch): ...

    It may be entered again, and collects the faults of all its blocks and calls. A block inside another block, or in a
    second thread at the same time, is not watched separately.

    Args:
        variables: where to look for kept graphs and shared memory; by default the variables around the block.
        file: the file of the program; by default the one of the code around the block.
        language: the language of the explanation; by default the one that ``memory_stage.set_language`` has set.

    Attributes:
        faults: the faults, in the order of the run.
        on_fault: called with each new fault as soon as it is found; None to call nothing.
        unseen: a sentence for each thing that could not be watched or diagnosed.
        ended_by: the error that ended the latest block or call early, such as "SystemExit: 3"; None without an error.
    """

    def __init__(
        self, variables: dict[str, Any] | None = None, file: str | None = None, language: Language | None = None
    ) -> None:
        self.variables, self.file = variables, file
        self.language = language or default_language()
        self.faults: list[Fault] = []
        self.on_fault: Callable[[Fault], None] | None = None
        self.unseen: list[str] = []
        self.ended_by: str | None = None
        self._diagnosis: Diagnosis | None = None
        self._depth = 0
        self._thread = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Explanation:
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        frame = sys._getframe(1)
        variables = _around(frame) if self.variables is None else self.variables
        file = self.file or str(variables.get("__file__") or frame.f_code.co_filename)
        self._end(error, traceback, variables, file)

    def __call__(self, function: _Function) -> _Function:
        """Return a function that calls ``function`` and watches each call.

        Raises:
            TypeError: if ``function`` cannot be called, or is a generator or a coroutine, whose body runs after the
                call has ended.
        """
        if not callable(function):
            raise TypeError(f"explain() must decorate a function, not {function!r}")
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError(
                "explain() must decorate a function whose body has run when the call returns, but "
                f"{function.__name__} is a "
                "generator or a coroutine. Use `with explain():` inside it"
            )

        code = getattr(inspect.unwrap(function), "__code__", None)
        file = "" if code is None else code.co_filename

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            known = len(self.faults)
            self._begin()
            error: BaseException | None = None
            try:
                return function(*args, **kwargs)
            except BaseException as raised:
                error = raised
                raise
            finally:
                self._end(error, None if error is None else error.__traceback__, {}, file)
                if len(self.faults) > known:
                    print(self.text_of(self.faults[known:]), file=sys.stderr)
                del error  # its traceback refers to this frame

        watched.explanation = self  # type: ignore[attr-defined]
        return watched  # type: ignore[return-value]

    @property
    def is_silently_wrong(self) -> bool:
        """True if the program continued with wrong numbers."""
        return any(each.is_silent for each in self.faults)

    @property
    def harmless(self) -> list[HarmlessWrites]:
        """The lines that write in place and are in no fault, in the order in which they first ran."""
        if self._diagnosis is None:
            return []
        blamed = {each.line for fault in self.faults for each in fault.evidence}
        return [
            HarmlessWrites(line, operation, count)
            for each in self._diagnosis.frameworks.values()
            for line, operation, count in each.written_lines()
            if line.number and line not in blamed
        ]

    def nodes_made(self) -> int:
        """Return how many nodes of the graph have been made, in the first framework that is watched."""
        frameworks = {} if self._diagnosis is None else self._diagnosis.frameworks
        return next((each.nodes_made() for each in frameworks.values()), 0)

    def add(self, fault: Fault) -> None:
        """Add a fault, or count it if the same one was found before."""
        for number, known in enumerate(self.faults):
            if known == fault:
                self.faults[number] = dataclasses.replace(known, count=known.count + 1)
                return
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(fault)
            if self.on_fault is not None:
                self.on_fault(fault)

    def text(self, with_harmless: bool = False) -> str:
        """Return the explanation as text, for one screen.

        Args:
            with_harmless: if True, also list the lines that write in place and are in no fault.
        """
        return self.text_of(self.faults, self.unseen, self.harmless if with_harmless else ())

    def text_of(
        self, faults: Sequence[Fault], unseen: Sequence[str] = (), harmless: Sequence[HarmlessWrites] = ()
    ) -> str:
        """Return the text about these faults."""
        with speaking(self.language):
            return as_text(faults, unseen, rank_words(), harmless)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the faults and the harmless writes as texts, numbers and lists, for tools."""
        return {
            "faults": [each.to_dict() for each in self.faults],
            "harmless": [each.to_dict() for each in self.harmless],
            "unseen": list(self.unseen),
            "ended_by": self.ended_by,
        }

    def _begin(self) -> None:
        """Watch this thread, unless a block watches this or another thread already."""
        with self._lock:
            if self._depth and self._thread != threading.get_ident():
                return
            self._thread = threading.get_ident()
            self._depth += 1
            if self._depth > 1:
                return
        if self._diagnosis is None:
            self._diagnosis = Diagnosis(self.add, self._note, self.language)
        self._diagnosis.begin()

    def _end(
        self, error: BaseException | None, traceback: TracebackType | None, variables: dict[str, Any], file: str
    ) -> None:
        """At the end of the outermost block, stop watching, and diagnose its error and the state at the end."""
        if self._thread != threading.get_ident() or self._diagnosis is None:
            return
        if self._depth == 1:
            self.ended_by = None if error is None else f"{type(error).__name__}: {error}".removesuffix(": ")
            self._diagnosis.end(error, traceback, variables, file)
        with self._lock:
            self._depth -= 1

    def _note(self, text: Text) -> None:
        sentence = render(text, self.language)
        if sentence not in self.unseen:
            self.unseen.append(sentence)


def watching(
    variables: dict[str, Any] | None = None, file: str | None = None, language: str | None = None
) -> Explanation:
    """Return a context manager, and decorator, that watches a program and explains its faults.

    Args:
        variables: where to look, at the end, for kept graphs and shared memory; by default the variables of the code
            around the block.
        file: the file of the program; by default the one of the code around the block.
        language: the language of the explanation, ``"en"`` or ``"zh"``; by default the one that
            ``memory_stage.set_language`` has set, or English.

    Raises:
        ValueError: if there is no such language.
        ImportError: if neither PyTorch nor Paddle is installed.
    """
    chosen = find_language(language)
    if not any(name in sys.modules or importlib.util.find_spec(name) for name in FRAMEWORKS):
        raise ImportError("neither PyTorch nor Paddle is installed in this environment, so no program can be explained")
    return Explanation(variables, file, chosen)


def _around(frame: FrameType) -> dict[str, Any]:
    return frame.f_globals if frame.f_code.co_name == "<module>" else local_variables(frame)
