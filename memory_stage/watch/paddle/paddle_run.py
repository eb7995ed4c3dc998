"""Watch a program that uses Paddle from its first line to its last."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from memory_stage.engines.paddle.hooking import without_frames
from memory_stage.engines.paddle.monkeypatches import PaddlePatches, Runners
from memory_stage.messages import Text
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.node_log import BackwardPass
from memory_stage.watch.paddle.paddle_calls import PaddleCallWatcher, nodes_behind

#: The number of backward passes that are checked after a write, because the next pass may start from another loss.
CHECKED_PASSES = 4


class WatchedPaddleRun:
    """Watches this thread from :meth:`begin` to :meth:`end`.

    Args:
        on_failure: called with the tensors from which a backward pass started, its error, and the frame that called
            backward.
        on_suspicion: called before a backward pass with its tensors and the frame, if an earlier write may have made
            its gradients wrong.
        on_unseen: called with a sentence about a part of the program that is not watched.
    """

    def __init__(
        self,
        paddle: Any,
        on_failure: Callable[[list[Any], BaseException, FrameType], None],
        on_suspicion: Callable[[list[Any], FrameType], None],
        on_unseen: Callable[[Text], None],
    ) -> None:
        self._paddle, self._on_failure, self._on_suspicion = paddle, on_failure, on_suspicion
        self.calls = PaddleCallWatcher(paddle, on_unseen)
        calls = self.calls
        self._patches = PaddlePatches(
            Runners(
                calls.single, calls.pass_on, self._backward, calls.pass_on, calls.custom, calls.pass_on, calls.pass_on
            )
        )
        self._checked = 0
        self._suspicious_passes = 0

    def begin(self) -> None:
        """Patch Paddle's functions for this thread. It may be called again after :meth:`end`."""
        self.calls.open()
        self._patches.apply(self._paddle)

    def end(self) -> None:
        """Restore Paddle's functions."""
        self.calls.is_open = False
        self._patches.restore()

    def line_of(self, frame: FrameType) -> ProgramLine:
        """Return the innermost line of the program, from ``frame`` outwards."""
        return self.calls.lines[self.calls.lines.number_of(frame)]

    def program_frames(self, frame: FrameType | None) -> list[FrameType]:
        """Return the frames of the program, from ``frame`` outwards."""
        return self.calls.lines.program_frames(frame)

    def _backward(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run ``run_backward`` or ``run_partial_grad``. Report an error, or log the nodes that were freed."""
        calls = self.calls
        if not calls.is_watched():
            return function(*arguments, **keywords)
        frame = sys._getframe(1)
        roots = [x for x in arguments[0] if calls.is_tensor(x)]
        is_partial = name == "run_partial_grad"
        keeps_graph = bool(arguments[3] or arguments[4] if is_partial else arguments[2])
        visited = [node.node_ptr() for node in nodes_behind(roots)]
        self._check(roots, frame)
        try:
            result = function(*arguments, **keywords)
        except BaseException as error:
            without_frames(error)
            self._on_failure(roots, error, frame)
            del arguments, keywords, roots, frame
            raise
        if not keeps_graph:
            passed = BackwardPass(calls.lines.number_of(frame), calls.time, calls.graph.count, keeps_graph)
            for address in visited:
                calls.graph.free(address, passed)
        return result

    def _check(self, roots: list[Any], frame: FrameType) -> None:
        calls = self.calls
        if calls.time > self._checked:
            self._checked, self._suspicious_passes = calls.time, CHECKED_PASSES
        if self._suspicious_passes:
            self._suspicious_passes -= 1
            self._on_suspicion(roots, frame)
