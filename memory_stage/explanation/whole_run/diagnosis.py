"""Watch and diagnose a run in each framework that its program uses."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import Any, Protocol

from memory_stage.explanation.whole_run import refusals
from memory_stage.explanation.whole_run.faults import Fault, FaultCollector
from memory_stage.messages import Language, Text, message
from memory_stage.watch.lines import UNKNOWN_LINE, Lines, ProgramLine

#: Maps the module that a program imports to the module and the name of the class that watches it.
FRAMEWORKS = {
    "paddle": ("memory_stage.explanation.whole_run.paddle_diagnosis", "PaddleDiagnosis"),
    "torch": ("memory_stage.explanation.whole_run.torch_diagnosis", "TorchDiagnosis"),
}


class FrameworkDiagnosis(Protocol):
    """Watches one framework and diagnoses its faults."""

    @property
    def failure(self) -> Exception | None:
        """The error in this package that ended the watch, or None."""

    def begin(self) -> None:
        """Watch this thread. A call after :meth:`end` continues the logs."""

    def end(self) -> None:
        """Stop watching."""

    def diagnose_end(self, variables: dict[str, Any], file: str) -> list[Fault]:
        """Return the faults of the state in which the program ended."""

    def made_in(self, x: Any) -> ProgramLine:
        """Return the line that made a tensor, or ``UNKNOWN_LINE``."""

    def written_lines(self) -> Iterator[tuple[ProgramLine, str, int]]:
        """Yield each line that wrote in place, the name of the operation, and how often it ran."""

    def nodes_made(self) -> int:
        """Return how many nodes of the graph have been made; that is also the number of the next one."""


class Diagnosis:
    """Watches a run from :meth:`begin` to :meth:`end`.

    ``begin`` may be called again after ``end``, and then continues the logs.

    Args:
        note: called with a sentence about something that could not be watched or diagnosed.
    """

    def __init__(self, add: Callable[[Fault], None], note: Callable[[Text], None], language: Language) -> None:
        self._note = note
        self._collector = FaultCollector(add, note, language)
        self._thread = 0
        self._notices: list[_ImportNotice] = []
        #: The frameworks that are watched, by their names.
        self.frameworks: dict[str, FrameworkDiagnosis] = {}

    def begin(self) -> None:
        """Watch this thread in each framework that the program has imported, and in others once it imports them."""
        self._thread = threading.get_ident()
        self._collector.begin()
        for name in FRAMEWORKS:
            if name in self.frameworks:
                self.frameworks[name].begin()
            elif name in sys.modules:
                self._start(name)
            else:
                notice = _ImportNotice(name, self._start)
                self._notices.append(notice)
                sys.meta_path.insert(0, notice)

    def end(
        self, error: BaseException | None, traceback: TracebackType | None, variables: dict[str, Any], file: str
    ) -> None:
        """Stop watching. Diagnose the error that ended the program and the state at the end.

        The state is diagnosed only if there is no error, or if the error is a lack of memory.

        Args:
            error: the error, or None.
            variables: the variables of the program, which are searched for faults; {} to search none.
        """
        while self._notices:
            self._notices.pop().cancel()
        collector, parts = self._collector, list(self.frameworks.values())
        for each in reversed(parts):
            each.end()
        for each in parts:
            if each.failure is not None:
                self._note(
                    message("Watching ended early because of an error in this tool: {error}.", error=repr(each.failure))
                )
            is_end = error is None or isinstance(error, SystemExit) or type(error).__name__ == "OutOfMemoryError"
            if variables and is_end:
                collector.collect(message("the state at the end"), lambda each=each: each.diagnose_end(variables, file))  # type: ignore[misc]
        if error is not None:
            collector.explain(
                error,
                message("the error that ended the program"),
                lambda: [refusals.diagnose_error(Lines(), self._made_in, error, traceback)],
            )

    def _made_in(self, x: Any) -> ProgramLine:
        lines = [each.made_in(x) for each in self.frameworks.values()]
        return next((line for line in lines if line.number), UNKNOWN_LINE)

    def _start(self, name: str) -> None:
        if threading.get_ident() != self._thread:
            self._note(
                message("Another thread imported {module}, so the calls of that thread were not watched.", module=name)
            )
            return
        module, cls = FRAMEWORKS[name]
        try:
            made: FrameworkDiagnosis = getattr(importlib.import_module(module), cls)(self._collector, self._note)
            made.begin()
        except Exception as failure:
            self._note(message("{module} could not be watched: {error}", module=name, error=str(failure)))
            return
        self.frameworks[name] = made


class _ImportNotice(importlib.abc.MetaPathFinder):
    """A finder that finds nothing itself, and calls back once a module has been imported."""

    def __init__(self, name: str, imported: Callable[[str], None]) -> None:
        self._name, self._imported = name, imported

    def cancel(self) -> None:
        """Stop waiting for the import."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders find, with a loader that calls back; None for other modules."""
        if fullname != self._name:
            return None
        self.cancel()
        spec = importlib.util.find_spec(fullname)
        loader: Any = None if spec is None else spec.loader
        if loader is not None and hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._imported(self._name)

            loader.exec_module = exec_module
        return spec
