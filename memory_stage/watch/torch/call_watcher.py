"""Log the nodes and the writes of a program from its calls of torch's functions.

The mode compares the versions of the tensors that a call is given before and after it, and asks torch for the sequence
number of the next node. It reads no tensor, copies nothing and holds no tensor.
"""

from __future__ import annotations

import os
import sys
import weakref
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from memory_stage.engines.torch.calls import Call, call_of, tensors_in, written_name
from memory_stage.engines.torch.frames import Caller, without_ours
from memory_stage.watch.lines import Lines
from memory_stage.watch.node_log import NodeLog
from memory_stage.watch.write_log import WriteLog

_next_node = torch._C._autograd._get_sequence_nr
_no_function = torch._C.DisableTorchFunction
_address = torch._C._storage_address

#: Positions of the arguments that a call in training writes without raising their versions: the running statistics.
_STATISTICS = slice(1, 3)


class CallWatcher(TorchFunctionMode):
    """A function mode that fills the logs of one thread.

    Attributes:
        lines: the lines that the logs refer to.
        nodes: the line that made each node.
        writes: the lines that wrote each storage.
        time: the number of writes so far.
        is_open: False once watching has ended.
        failure: the fault of this package that ended watching, or None.
        is_inside: True while a call of torch runs, during which torch has this mode off its stack.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines, self.nodes, self.writes = Lines(), NodeLog(), WriteLog()
        self.time = 0
        self.is_open = True
        self.failure: Exception | None = None
        self.is_inside = False
        self._caller = Caller()
        self._process = os.getpid()
        #: Results of ``x.data``, by id: they share the storage of ``x`` and count their own versions.
        self._with_own_versions: dict[int, weakref.ref[torch.Tensor]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        call = call_of(func)
        given: list[tuple[torch.Tensor, int]] | None = None
        if self.is_open and not call.is_silent:
            with _no_function():
                given = self._given(args, kwargs)
            first = _next_node()
        was, self.is_inside = self.is_inside, True
        try:
            result = self._caller.call(sys._getframe(1), func, args, kwargs)
        except BaseException as error:
            args = kwargs = given = None
            without_ours(error, sys._getframe(1))
            raise
        finally:
            self.is_inside = was
        if given is not None and self.is_open:
            try:
                with _no_function():
                    self._log(call, given, first, args, kwargs, result)
            except Exception as failure:  # a fault of this package ends the watching and not the program
                self.is_open, self.failure = False, failure
        return result

    @staticmethod
    def _given(args: Any, kwargs: dict[str, Any]) -> list[tuple[torch.Tensor, int]]:
        """Return the tensors that a call is given, each with its version."""
        tensors = tensors_in([*args, *kwargs.values()] if kwargs else args, 2)
        try:
            return [(x, x._version) for x in tensors]
        except RuntimeError:  # inference tensors count no versions
            tensors = tensors_in([*args, *kwargs.values()], 2)
            return [(x, x._version) for x in tensors if not x.is_inference()]

    def _log(
        self,
        call: Call,
        given: list[tuple[torch.Tensor, int]],
        first: int,
        args: Any,
        kwargs: dict[str, Any],
        result: Any,
    ) -> None:
        """Log what a call has made and written."""
        written = [x for x, version in given if x._version != version]
        uncounted = _written_without_version(call, args, kwargs) if call.is_uncounted else ()
        if written or uncounted or _next_node() != first:
            line = self.lines.number_of(sys._getframe(2))
            if _next_node() != first:
                self.nodes.add(first, line, self.time)
            for x in written:
                self._add(x, line, call, not (self._with_own_versions and self._has_own_versions(x)))
            for x in uncounted:
                self._add(x, line, call, False)
        if call.is_data and isinstance(result, torch.Tensor):
            self._remember(result)

    def _add(self, x: torch.Tensor, line: int, call: Call, is_counted: bool) -> None:
        try:
            storage = _address(x)
        except RuntimeError:  # a tensor without a storage
            return
        self.time += 1
        self.writes.add(storage, line, written_name(call.name), self.time, x._version, is_counted)

    def _remember(self, x: torch.Tensor) -> None:
        key, known = id(x), self._with_own_versions
        known[key] = weakref.ref(x, lambda _: known.pop(key, None))

    def _has_own_versions(self, x: torch.Tensor) -> bool:
        """Return True if ``x`` is a result of ``.data`` or a view of one."""
        base = x._base if x._is_view() else x
        known = self._with_own_versions
        return any(each is not None and (found := known.get(id(each))) and found() is each for each in (x, base))


def _written_without_version(call: Call, args: Any, kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Return the tensors that a call may have written without raising their versions."""
    if call.name in ("batch_norm", "instance_norm", "native_batch_norm"):
        named = [kwargs.get("running_mean"), kwargs.get("running_var")]
        return [x for x in (*args[_STATISTICS], *named) if isinstance(x, torch.Tensor)]
    return list(tensors_in(args[:1], 2))
