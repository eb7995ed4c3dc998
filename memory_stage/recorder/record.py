"""Run a program statement by statement, and record the changes of memory.

* Values, versions, lifetimes, bytes and errors are the same as without a recorder.
* After a limited number of steps the program continues without hooks, and the trace has a sentence about the limit.
* Statements that await at the top level run in a separate event loop, because the notebook's loop is busy with the
  cell. As in a notebook, the loop runs only during such statements. When the program ends, the remaining tasks are
  cancelled, as in ``asyncio.run``.
* The result is a variant of a trace (``trace.schema.json``): plain data, without references to the program's objects.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import linecache
import sys
import types
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, TracebackType
from typing import Any

from memory_stage.engines.protocol import Engine
from memory_stage.engines.router import Router
from memory_stage.messages import Text, message, sentences
from memory_stage.messages.message import PlacedText, texts_of
from memory_stage.model.finished_step import FinishedStep
from memory_stage.recorder import instrument
from memory_stage.recorder.recorder import Recorder
from memory_stage.recorder.source import ProgramSource
from memory_stage.recorder.window import EndOfWindow, RecordingWindow


class Awaiting:
    """The event loop of one program, created when a statement first needs it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def finish(self, statement: Coroutine[Any, Any, None]) -> None:
        """Run a statement that awaits, until it ends.

        Raises:
            BaseException: the error that the statement raises.
        """
        with _no_other_loop():
            self._loop = self._loop or asyncio.new_event_loop()
            error = self._loop.run_until_complete(_outcome(statement))
        if error is not None:
            try:
                raise error
            finally:
                del error  # the traceback refers to the program's frames and to this one

    def close(self) -> None:
        """Cancel the remaining tasks and close the loop, at the end of the program."""
        if self._loop is None:
            return
        with _no_other_loop(), contextlib.closing(self._loop) as loop:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(_ended(left))
            loop.run_until_complete(loop.shutdown_asyncgens())


async def _outcome(statement: Coroutine[Any, Any, None]) -> BaseException | None:
    """Return the error of a statement, or None. Raising it in the loop would add the loop's frames to its traceback."""
    try:
        await statement
    except BaseException as error:
        return error
    return None


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _no_other_loop() -> Iterator[None]:
    """Hide this thread's running loop, which is busy with the caller, so that another loop can run inside the block."""
    busy = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(busy)


LIMIT = 500  # the largest number of steps of a recording, unless the caller gives another

#: True to raise errors of the recorder itself, for tests. Otherwise such an error ends only the recording.
STRICT = False


@dataclass
class RecordedRun:
    """The result of a run.

    Attributes:
        variant: the run as a variant of a trace.
        texts: the texts of the variant, each with its place. They are in English.
        error: the error that ended the program, or None.
        device: the device whose memory the trace shows.
        frameworks: True if the program used a framework whose tensors can be recorded.
    """

    variant: dict[str, Any]
    texts: list[PlacedText]
    error: BaseException | None
    device: str
    frameworks: bool = False

    @property
    def verdict(self) -> Text | None:
        """The verdict on the run."""
        return next((each.text for each in self.texts if each.key == "verdict"), self.variant["verdict"])

    def set_verdict(self, verdict: Text | None) -> None:
        """Replace the verdict on the run."""
        self.variant["verdict"] = verdict
        others = [each for each in self.texts if each.key != "verdict"]
        self.texts = others + texts_of([self.variant], ["verdict"])


def run(
    source: str,
    namespace: dict[str, Any],
    *,
    file: str,
    id_: str = "only",
    label: str = "",
    policy: str | None = None,
    ignore: frozenset[str] = frozenset(),
    limit: int = LIMIT,
    flags: int = 0,
    show_last: bool = False,
    functions: Sequence[Any] = (),
    engine: Engine | None = None,
    echo: bool = False,
    on_step: Callable[[FinishedStep], None] | None = None,
    window: RecordingWindow | None = None,
) -> RecordedRun:
    """Run ``source`` in ``namespace``, statement by statement, as IPython runs a cell.

    Args:
        file: the name under which tracebacks find the source; registered with ``linecache``.
        policy: the in-place policy during the run; None keeps the current one.
        ignore: names that the trace leaves out.
        limit: the largest number of steps to record.
        flags: the flags for ``compile``. With ``PyCF_ALLOW_TOP_LEVEL_AWAIT`` the program may await at its top level, as
            a cell may.
        show_last: True to pass the value of a last expression to ``sys.displayhook``, as a notebook does.
        functions: values whose Python functions are also recorded, including functions that are defined in other files.
        engine: the engine whose tensors are recorded; by default minitensor and the frameworks that the program
            imports.
        echo: True to print the program's output in addition to recording it in the steps.
        on_step: called with each finished step.
        window: the part of the run to record; None to record from its first statement on.

    Raises:
        SyntaxError: if the source cannot be compiled. Errors of the program are in the result.
    """
    register(file, source)
    text = ProgramSource(source, file, flags)
    engine = engine or Router()
    recorder = Recorder(engine, text, namespace, ignore, limit)
    recorder.steps.on_step = on_step
    recorder.names.read_program(text.tree, text.plain)
    awaiting = Awaiting()
    text.requested = {each.__code__.co_filename for value in functions for each in instrument.functions_of(value)}
    with engine.policy(policy) if policy else contextlib.nullcontext():
        try:  # inside ``try``, because an interrupt may arrive while the recording begins
            _hook_functions(text, namespace, functions, engine)
            if window is None:
                recorder.begin()
            else:
                recorder.wait(window)
            with _printing_to(recorder, echo):
                done = _run_all(recorder, awaiting, namespace, show_last)
        finally:
            recorder.stop()
            awaiting.close()
    steps = recorder.steps
    if steps.failure is not None and STRICT:
        raise steps.failure
    steps.failure = None  # the error's traceback refers to the program's frames
    if done and isinstance(done[0], EndOfWindow):
        done.clear()
    if window is not None and not steps.recorded:
        steps.truncated = message("The run ended before {part}, so nothing was recorded.", part=window.describe())
    elif done and steps.truncated:
        steps.truncated = sentences([steps.truncated, _describe_late_error(done[0], file)])
    # No local name may refer to the error: its traceback refers to this frame, and the cycle would keep tensors alive.
    variant, texts = steps.variant(id_, label, recorder.names.verdict(bool(done)))
    used = engine.has_framework
    return RecordedRun(variant, texts, done.pop() if done else None, recorder.ledger.storages.meters.device, used)


def _run_all(recorder: Recorder, awaiting: Awaiting, namespace: dict[str, Any], show_last: bool) -> list[BaseException]:
    """Run the statements; return a list with the error that ended the run, or an empty list."""
    source = recorder.source
    for node in source.tree.body:
        last = show_last and node is source.tree.body[-1] and isinstance(node, ast.Expr)
        if last:
            recorder.names.expect_output()
        if recorder.steps.active or recorder.is_waiting:
            index, code = source.compile(node, last)
            recorder.begin_statement(index)
        else:
            code = source.compile_plain(node, last)
        try:
            made = eval(code, namespace)  # the result is a coroutine if the statement awaits
            if made is not None:
                recorder.tracer.suspended = True
                awaiting.finish(made)
        except BaseException as error:  # this includes a KeyboardInterrupt or SystemExit of the program
            recorder.end_statement(error)
            # The program's traceback has no frames of the recorder.
            return [error.with_traceback(_of_program(error.__traceback__, recorder.engine))]
        recorder.end_statement()
    return []


def _describe_late_error(error: BaseException, file: str) -> Text:
    """Return a sentence about an error that the program raised after the recording had ended."""
    line = line_in(error, file)
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if line > 0:
        return message("It ended with {error}, at line {line}.", error=text, line=line)
    return message("It ended with {error}", error=text)


def line_in(error: BaseException, file: str) -> int:
    """Return the innermost line of ``file`` in the error's traceback; 0 if there is none."""
    line, traceback = 0, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _of_program(traceback: TracebackType | None, engine: Engine) -> TracebackType | None:
    """Return a traceback without the recorder's frames and the frames of a framework that called the recorder.

    A framework's function may pass its call to the recorder, which calls the function again. Only one of the two frames
    of that function remains.
    """
    kept: list[TracebackType] = []
    again = False
    while traceback is not None:
        if str(traceback.tb_frame.f_globals.get("__name__")).startswith("memory_stage."):
            again = True
        else:
            same = [each.tb_frame.f_code is traceback.tb_frame.f_code for each in kept[-2:]]
            if again and True in same and engine.is_library_frame(kept[-len(same) + same.index(True)].tb_frame):
                del kept[-len(same) + same.index(True) :]
            again = False
            kept.append(traceback)
        traceback = traceback.tb_next
    for each, after in zip(kept, [*kept[1:], None], strict=True):
        each.tb_next = after
    return kept[0] if kept else None


def register(file: str, source: str) -> None:
    """Register the source of ``file`` with ``linecache``, from which tracebacks quote lines."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)


def _hook_functions(source: ProgramSource, namespace: dict[str, Any], also: Sequence[Any], engine: Engine) -> None:
    """Insert hooks into functions of ``namespace`` that a program can reach by name, and into those in ``also``."""
    requested = [inspect.unwrap(function) for value in also for function in instrument.functions_of(value)]
    found = {id(function): function for function in requested if isinstance(function, FunctionType)}
    names = [node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)]
    seen: set[str] = set()
    while names:
        name = names.pop()
        if name in seen or name not in namespace:
            continue
        seen.add(name)
        value = namespace[name]
        if isinstance(value, types.ModuleType) or engine.is_tensor(value):
            continue
        for function in instrument.functions_of(value):
            function = inspect.unwrap(function)
            if isinstance(function, FunctionType) and function.__globals__ is namespace:
                found[id(function)] = function
                names += function.__code__.co_names
    for function in found.values():
        source.hook(function)


# ---------- printed text ----------


class _Printed:
    """A stdout that adds text to the running step. It prints the text with ``echo``, or if no step is recorded."""

    def __init__(self, recorder: Recorder, stdout: Any, echo: bool) -> None:
        self._recorder, self._stdout, self._echo = recorder, stdout, echo

    def write(self, text: str) -> int:
        kept = self._recorder.steps.write(text)
        return len(text) if kept and not self._echo else self._stdout.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stdout, name)


@contextlib.contextmanager
def _printing_to(recorder: Recorder, echo: bool) -> Iterator[None]:
    """Replace ``sys.stdout`` inside the block. The notebook still displays values on the original stream."""
    stdout, show = sys.stdout, sys.displayhook
    printed = _Printed(recorder, stdout, echo)

    def displayhook(value: Any) -> None:
        now, sys.stdout = sys.stdout, stdout
        try:
            show(value)
        finally:
            sys.stdout = now

    sys.stdout, sys.displayhook = printed, displayhook
    try:
        yield
    finally:
        # The program may have replaced the streams.
        sys.stdout = stdout if sys.stdout is printed else sys.stdout
        sys.displayhook = show if sys.displayhook is displayhook else sys.displayhook
