"""Watch a program that uses PyTorch from its first line to its last.

Functions of this module run before each backward pass, and after it has failed or succeeded. No mode observes ``apply``
of subclasses of ``torch.autograd.Function``, so this method is patched, to log the nodes that the subclasses create.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.events import ignore
from memory_stage.engines.framework import Patches
from memory_stage.engines.torch.monkeypatches import COMPILED, SCRIPTED, TRACED, TorchPatches
from memory_stage.engines.torch.saved import is_custom, unchecked_in
from memory_stage.engines.torch.threads import ELSEWHERE, Bystander, remove_mode
from memory_stage.messages import Text, message
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.node_log import BackwardPass
from memory_stage.watch.torch.call_watcher import CallWatcher

MOST_PASSES = 1_000

#: Maps the engine's sentences about code that it does not record to sentences about code that is not watched.
_NOT_WATCHED: dict[Text, Text] = {
    COMPILED: message(
        "Code that `torch.compile` has compiled is not watched, so its lines are unknown. `memory-stage explain "
        "--eager` runs and watches it uncompiled."
    ),
    SCRIPTED: message("Code that TorchScript runs is not watched: only its results are known."),
    TRACED: message("Code that `torch.jit.trace` traces is not watched."),
    ELSEWHERE: message("Another thread computes with tensors: only its writes are watched, and no other operations."),
}

#: How many backward passes are checked after an unversioned write, because the next may start from another loss.
CHECKED_PASSES = 4


class _WritesElsewhere(Bystander):
    """A mode for other threads, which logs their writes."""

    stays = True

    def __init__(self, note: Callable[[Text], None], watcher: CallWatcher) -> None:
        super().__init__(note)
        self._watcher = watcher

    def call(self, frame: FrameType, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call a function of torch, and log its writes."""
        run = functools.partial(super().call, frame, func, types, args, kwargs)
        return self._watcher.call_elsewhere(frame, run, func, types, (args, kwargs))


class WatchedRun:
    """A context manager that watches this thread's program inside its block. It may be entered again.

    Args:
        on_failure: called with this object, the tensors that a backward pass started from, its error, and the frame
            that called backward.
        on_suspicion: called before a backward pass with this object, the tensors that the pass starts from and the
            frame. It is called only if a recent write may escape torch's check of versions, a node has read memory
            shared with NumPy, or a leaf was recently made from the numbers of other tensors.
        on_unseen: called with a sentence if the program does something that is not watched, as in other threads or in
            compiled code.

    Attributes:
        lines, nodes, writes, arrays, copies: the lines and the logs of the :class:`CallWatcher`.
        passes: the latest backward passes that succeeded.
        first_unretained: the number of the first node that is newer than every pass that retained its graph.
    """

    def __init__(
        self,
        on_failure: Callable[[WatchedRun, Any, BaseException, FrameType], None],
        on_suspicion: Callable[[WatchedRun, Any, FrameType], None],
        on_unseen: Callable[[Text], None],
    ) -> None:
        self._on_failure, self._on_suspicion = on_failure, on_suspicion
        calls = self._calls = CallWatcher()
        self.lines, self.nodes, self.writes = calls.lines, calls.nodes, calls.writes
        self.arrays, self.copies = calls.arrays, calls.copies
        self._backward = BackwardPasses(self._calls, self._before, self._failed, self._after)
        self._functions = FunctionCalls(self._calls)
        note = _named(on_unseen)
        self._bystander, self._on_unseen = _WritesElsewhere(note, self._calls), note
        modes: Any = (self._calls, self._bystander)
        self._patches = TorchPatches(modes, note, ignore, self._imported, lambda real: real)
        self._checked = -1
        self._suspicious_passes = 0  # how many of the next passes to check
        self.passes: deque[BackwardPass] = deque(maxlen=MOST_PASSES)
        self.first_unretained = 0

    @property
    def failure(self) -> Exception | None:
        """The error in this package that ended the watch, or None."""
        return self._calls.failure

    def __enter__(self) -> WatchedRun:
        self._calls.is_open = self.failure is None
        self._bystander.note = self._on_unseen
        self._backward.subscribe()
        self._functions.subscribe()
        self._patches.patch()
        self._calls.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._calls.is_open = False
        self._bystander.note = None
        self._patches.restore()
        remove_mode(self._calls)
        self._functions.unsubscribe()
        self._backward.unsubscribe()

    def line_of(self, frame: FrameType) -> ProgramLine:
        """Return the innermost line of the program, from ``frame`` outwards."""
        return self.lines[self.lines.number_of(frame)]

    def line_of_node(self, node: Any) -> ProgramLine:
        """Return the line that created a node of the graph."""
        return self.lines[self.nodes.find(node._sequence_nr())[0]]

    def program_frames(self, frame: FrameType | None) -> list[FrameType]:
        """Return the frames of the program, from ``frame`` outwards."""
        return self.lines.program_frames(frame)

    def _imported(self, name: str, x: Any, args: tuple[Any, ...]) -> None:
        """Log the result of a function that no mode observes, such as ``from_numpy``."""
        if args and self._calls.is_open:
            self._calls.arrays.add(name, self.lines.number_of(sys._getframe(2)), args[0], x)

    def _before(self, roots: Any, frame: FrameType) -> None:
        if self.writes.last_uncounted > self._checked:
            self._checked, self._suspicious_passes = self._calls.time, CHECKED_PASSES
        if self.arrays.has_sums:
            self._suspicious_passes = max(self._suspicious_passes, 1)
        if self._suspicious_passes or self.copies.unchecked_passes:
            self._suspicious_passes = max(self._suspicious_passes - 1, 0)
            self.copies.unchecked_passes = max(self.copies.unchecked_passes - 1, 0)
            self._on_suspicion(self, roots, frame)

    def _failed(self, roots: Any, error: BaseException, frame: FrameType) -> None:
        self._on_failure(self, roots, error, frame)

    def _after(self, frame: FrameType, keeps_graph: bool) -> None:
        next_node = torch._C._autograd._get_sequence_nr()
        self.passes.append(BackwardPass(self.lines.number_of(frame), self._calls.time, next_node, keeps_graph))
        if keeps_graph:
            self.first_unretained = next_node


def _named(on_unseen: Callable[[Text], None]) -> Callable[[Text], None]:
    """Return a function that calls ``on_unseen`` with the sentence of ``_NOT_WATCHED`` for an engine's sentence."""
    return lambda sentence: on_unseen(_NOT_WATCHED.get(sentence, sentence))


class FunctionCalls:
    """A patch of ``torch.autograd.Function.apply``.

    Args:
        watcher: the mode of the watched thread, whose logs get the nodes.
    """

    def __init__(self, watcher: CallWatcher) -> None:
        self._watcher = watcher
        self._thread = 0
        self._patches = Patches()

    def subscribe(self) -> None:
        """Replace the method, for the calls of this thread."""
        self._thread = threading.get_ident()
        self._patches.place(torch.autograd.Function, "apply", lambda real: classmethod(self._patch_of(real.__func__)))

    def unsubscribe(self) -> None:
        """Restore the method."""
        self._patches.restore()

    def _patch_of(self, real: Callable[..., Any]) -> Callable[..., Any]:
        watcher = self._watcher

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not watcher.is_open or threading.get_ident() != self._thread:
                return real(cls, *args, **kwargs)
            watcher.open_functions += 1
            try:
                result = real(cls, *args, **kwargs)
            finally:
                watcher.open_functions -= 1
            watcher.guarded(self._log, result, sys._getframe(1))
            return result

        return apply

    def _log(self, result: Any, frame: FrameType) -> None:
        for x in result if isinstance(result, (tuple, list)) else (result,):
            node = x.grad_fn if isinstance(x, torch.Tensor) else None
            if node is not None and is_custom(node):
                self._watcher.log_function(node._sequence_nr(), frame)
                for _, kept in unchecked_in(node):
                    self._watcher.keep_unchecked(kept)
                return


_next_node = torch._C._autograd._get_sequence_nr


class BackwardPasses:
    """A patch of the one function of torch that runs every backward pass.

    Args:
        watcher: the mode of the watched thread. It is on the stack during a pass, so that it observes the program's
            hooks.
        before: called with the tensors that a pass is about to start from, and the frame.
        failed: called with these tensors, the error, and the frame that called backward. The program's frames still
            exist during this call, so that ``failed`` can search their variables.
        after: called after a pass has succeeded, with the frame, and True if the pass retains the graph.
    """

    def __init__(
        self,
        watcher: CallWatcher,
        before: Callable[[Any, FrameType], None],
        failed: Callable[[Any, BaseException, FrameType], None],
        after: Callable[[FrameType, bool], None],
    ) -> None:
        self._watcher, self._before, self._failed, self._after = watcher, before, failed, after
        self._thread = 0
        self._patches = Patches()

    def subscribe(self) -> None:
        """Replace torch's function, for the backward passes of this thread."""
        self._thread = threading.get_ident()
        self._patches.place(torch.autograd, "_engine_run_backward", lambda real: functools.partial(self._run, real))

    def unsubscribe(self) -> None:
        """Restore torch's function."""
        self._patches.restore()

    def _run(self, real: Any, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        watcher = self._watcher
        if not watcher.is_open or threading.get_ident() != self._thread:
            return real(t_outputs, *args, **kwargs)
        frame = sys._getframe(1)
        is_off_stack = watcher.is_off_stack
        keeps_graph = any(each is True for each in args[1:3])  # the positional arguments retain_graph and create_graph
        with torch._C.DisableTorchFunction():
            self._before(t_outputs, frame)
        if is_off_stack:  # torch has taken the mode off its stack, but it must observe the program's hooks
            watcher.__enter__()
            watcher.is_off_stack = False
        first = _next_node()
        try:
            result = real(t_outputs, *args, **kwargs)
        except BaseException as error:
            with torch._C.DisableTorchFunction():
                self._failed(t_outputs, error, frame)
            t_outputs = args = kwargs = None  # type: ignore[assignment]  # the traceback refers to this frame
            raise
        finally:
            if is_off_stack:
                remove_mode(watcher)
                watcher.is_off_stack = True
            del frame
        frame, end = sys._getframe(1), _next_node()
        if end != first and watcher.is_open:  # create_graph=True has recorded the pass
            watcher.guarded(watcher.log_pass, first, end, frame)
        with torch._C.DisableTorchFunction():
            self._after(frame, keeps_graph)
        del frame
        return result
