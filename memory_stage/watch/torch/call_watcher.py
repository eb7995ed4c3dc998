"""Log the nodes and writes of a program with a function mode, which observes the program's calls of torch's functions.

Before and after each call, the mode asks torch for the sequence number of the next node. If a call may write, the mode
also compares the versions of the arguments before and after the call. The mode reads no elements, except those that are
shared with NumPy, and keeps no tensor alive.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from memory_stage.engines.torch.calls import call_of, tensors_in, written_name
from memory_stage.engines.torch.frames import Caller, remove_recorder_frames
from memory_stage.watch.lines import Lines
from memory_stage.watch.node_log import NodeLog
from memory_stage.watch.torch.backward_graph import extent_of, is_wrapped, unwrapped
from memory_stage.watch.torch.shared_arrays import COPYING, EXPORTS, IMPORTS, NumberCopies, SharedArrays
from memory_stage.watch.write_log import ANYWHERE, WriteLog

_next_node = torch._C._autograd._get_sequence_nr
_no_function = torch._C.DisableTorchFunction
_address = torch._C._storage_address
_Tensor = torch.Tensor

#: Functions of layers that update running statistics in training and read them in evaluation.
_NORMS = frozenset(("batch_norm", "instance_norm", "native_batch_norm"))


#: The largest number of places in the program that a mode remembers. A warning names the line of the frame that calls
#: torch, which would be a line of this module. Therefore the first call in each place runs in a frame that imitates the
#: program's line. Such a frame doubles the cost of a call. Later calls need none, because Python prints a warning only
#: once for each line.
MOST_PLACES = 100_000


class _CallKind:
    """The properties of a function of torch that decide how its calls are logged.

    Attributes:
        is_silent: True if a call creates no node and writes nothing.
        runs_backward: True for ``Tensor.backward``.
        may_write: True if a call may write an argument and increment its version. This includes functions written in
            Python, which may have a parameter ``inplace``.
        is_in_place: True if the name of the function says that it writes its first argument.
        is_norm: True if a call may update running statistics without incrementing their versions.
        is_uncounted: True if a call writes its first argument without incrementing the version.
        is_data: True for ``x.data``, whose result counts versions separately.
        detaches: True for ``x.detach_()``, which writes nothing and removes the node of ``x``.
        written: the name that reports use for a write of the function, such as "relu_" or "setitem".
        shares: the name of the function if a call may share a tensor's memory with an array of NumPy; otherwise "".
        copies: True if a call may copy the numbers of tensors into a new leaf, without their history.
        warns_often: True if every call, and not only the first in each place, runs in a frame that imitates the
            program's line.
    """

    __slots__ = (
        "is_silent", "runs_backward", "may_write", "is_in_place", "is_norm", "is_uncounted", "is_data", "detaches",
        "written", "shares", "copies", "warns_often",
    )  # fmt: skip

    def __init__(self, function: Any) -> None:
        call = call_of(function)
        name = getattr(function, "__name__", "")
        self.runs_backward = name == "backward"
        self.is_silent = call.is_silent and not call.is_gradient
        is_special = name.startswith("__") and (name.startswith("__i") or name in ("__setitem__", "__set__"))
        self.is_in_place = is_special or (name.endswith("_") and not name.startswith("__"))
        self.may_write = self.is_in_place or isinstance(function, FunctionType)
        self.is_norm = call.name in _NORMS
        self.is_uncounted = call.is_uncounted and not self.is_norm
        self.is_data = call.is_data
        self.detaches = name == "detach_"
        self.written = written_name(call.name)
        self.shares = name if name in EXPORTS or name in IMPORTS else ""
        self.copies = name in COPYING
        self.warns_often = call.is_gradient or isinstance(function, FunctionType)


_kinds: dict[Any, _CallKind] = {}


def _kind_of(function: Any) -> _CallKind:
    try:
        return _kinds.setdefault(function, _CallKind(function))
    except TypeError:  # the function is not hashable
        return _CallKind(function)


class CallWatcher(TorchFunctionMode):
    """A function mode that fills the logs of one thread.

    Attributes:
        lines: the lines of the program, to which the logs refer by index.
        nodes: the log of the line that created each node.
        writes: the log of the lines that wrote each storage.
        arrays: the log of NumPy's arrays that share memory with tensors.
        copies: the log of leaves that were made from the numbers of other tensors.
        time: the number of writes so far.
        is_open: False once the watch has ended.
        failure: the error in this package that ended the watch, or None.
        is_off_stack: True while ``Tensor.backward`` runs, because torch has then taken this mode off its stack.
        open_functions: the number of running calls of the program's subclasses of ``torch.autograd.Function``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines, self.nodes, self.writes = Lines(), NodeLog(), WriteLog()
        self.arrays, self.copies = SharedArrays(), NumberCopies()
        self.time = 0
        self.is_open = True
        self.failure: Exception | None = None
        self.is_off_stack = False
        self.open_functions = 0
        #: The tensors in attributes of a ``ctx``, by the addresses of their storages.
        self._unchecked: dict[int, weakref.ref[torch.Tensor]] = {}
        self._caller = Caller()
        self._places: set[tuple[Any, int, int]] = set()
        self._has_read_statistics = False  # True once backward() needs running statistics that a call saved
        #: The results of ``x.data``, by id. They share the storage of ``x`` and count versions separately.
        self._with_own_versions: dict[int, weakref.ref[torch.Tensor]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            kind = _kinds[func]
        except (KeyError, TypeError):
            kind = _kind_of(func)
        given: list[tuple[torch.Tensor, int]] = []
        is_logged = not kind.is_silent and self.is_open
        if is_logged:
            try:
                if kind.may_write or kwargs:
                    given = _versions(types, args, kwargs)
                first = _next_node()
                if not self.open_functions:
                    self.nodes.add_gap(first, self.time)
            except Exception as failure:
                self._fail(failure)
                is_logged = False
        was, self.is_off_stack = self.is_off_stack, kind.runs_backward or self.is_off_stack
        try:
            if is_logged and (kind.warns_often or self._is_new_place(func, sys._getframe(1))):
                result = self._caller.call(sys._getframe(1), func, args, kwargs or {})
            else:
                result = func(*args, **(kwargs or {}))
        except BaseException as error:
            args = kwargs = None
            given = []
            remove_recorder_frames(error, sys._getframe(1))
            raise
        finally:
            self.is_off_stack = was
        if is_logged and self.is_open:
            try:
                made = _next_node() != first
                is_special = kind.is_data or kind.is_norm or kind.is_uncounted or kind.shares or kind.copies
                if made or given or is_special:
                    self._log(kind, types, given, first if made else -1, args, kwargs, result)
            except Exception as failure:
                self._fail(failure)
        return result

    def call_elsewhere(self, frame: FrameType, call: Callable[[], Any], func: Any, types: Any, given: Any) -> Any:
        """Run a call of torch by a thread other than the watched one, and log its writes.

        This method runs in that other thread.

        Args:
            frame: the frame of the call.
            call: runs the function.
            given: the arguments and the keyword arguments.
        """
        kind, before = _kind_of(func), []
        if self.is_open and kind.may_write:
            try:
                before = _versions(types, *given)
            except Exception as failure:
                self._fail(failure)
        result = call()
        if self.is_open and (before or kind.is_data or kind.is_uncounted):
            if kind.is_data and isinstance(result, _Tensor):
                self._remember(result)
            self.guarded(self._log_elsewhere, frame, kind, types, before, given[0])
        return result

    def _log_elsewhere(self, frame: FrameType, kind: _CallKind, types: Any, before: Any, args: Any) -> None:
        for x in tensors_in(args[:1], 2) if kind.is_uncounted else ():
            self._add(x, self.lines.number_of(frame), kind, False, x)
        for x in _written(kind, types, before):
            is_counted = not (self._with_own_versions and self._has_own_versions(x))
            self._add(x, self.lines.number_of(frame), kind, is_counted, x)

    def guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function of this package outside of the modes. If it raises an error, the watch ends."""
        try:
            with _no_function():
                function(*arguments)
        except Exception as failure:
            self._fail(failure)

    def log_function(self, node: int, frame: FrameType) -> None:
        """Log the node with the sequence number ``node``, which a function of the program made; ``frame`` called it."""
        self.nodes.fill_gap(node, self.lines.number_of(frame), self.time)

    def log_pass(self, first: int, end: int, frame: FrameType) -> None:
        """Log the nodes that a backward pass has made, given the frame that called it."""
        self.nodes.fill_gaps(first, end, self.lines.number_of(frame), self.time)

    def keep_unchecked(self, x: torch.Tensor) -> None:
        """Remember a tensor whose version torch does not compare when backward() reads it.

        After a write to this tensor, the watch checks the next backward passes itself.
        """
        storage, known = _address(unwrapped(x)), self._unchecked
        known[storage] = weakref.ref(x, lambda _: known.pop(storage, None))

    def _fail(self, failure: Exception) -> None:
        """End the watch because of an error in this package. The program continues. The error keeps no frame alive."""
        self.is_open, self.failure = False, failure.with_traceback(None)

    def _log(
        self,
        kind: _CallKind,
        types: Any,
        given: list[tuple[torch.Tensor, int]],
        first: int,
        args: Any,
        kwargs: Any,
        result: Any,
    ) -> None:
        """Log the writes of a call, and the nodes from the sequence number ``first`` on (none if it is -1)."""
        written = _written(kind, types, given)
        uncounted: list[torch.Tensor] = []
        if kind.is_norm:
            uncounted = self._statistics(first >= 0, args, kwargs or {})
        elif kind.is_uncounted:
            uncounted = list(tensors_in(args[:1], 2))
        if kind.shares and args:
            self.arrays.add(kind.shares, self.lines.number_of(sys._getframe(2)), args[0], result)
        if kind.copies and args:
            with _no_function():
                self.copies.add(self.lines.number_of(sys._getframe(2)), args[0], result)
        if written or uncounted or first >= 0:
            line = self.lines.number_of(sys._getframe(2))
            if first >= 0:
                self.nodes.add(first, _next_node(), line, self.time)
                if self.arrays:
                    self._read_shared(args, kwargs, first)
            for x in written:
                is_counted = not (self._with_own_versions and self._has_own_versions(x))
                is_whole = is_counted and not self._unchecked
                self._add(x, line, kind, is_counted, x if is_whole else _part(x, kind, args))
            for x in uncounted:
                self._add(x, line, kind, False, x)
        if kind.is_data and isinstance(result, _Tensor):
            self._remember(result)

    def _add(self, x: torch.Tensor, line: int, kind: _CallKind, is_counted: bool, part: torch.Tensor) -> None:
        try:
            storage, version = _address(unwrapped(x)), x._version
            is_unchecked = storage in self._unchecked
            extent = ANYWHERE if is_counted and not is_unchecked else extent_of(part)
        except RuntimeError:  # the tensor has no storage, or no version
            return
        self.time += 1
        if self.arrays:
            self.arrays.on_write(storage, line, kind.written)
        self.writes.add(storage, line, kind.written, self.time, version, is_counted, extent, not kind.detaches)
        if is_unchecked and not kind.detaches:
            self.writes.last_uncounted = self.time

    def _read_shared(self, args: Any, kwargs: Any, node: int) -> None:
        """Compute a checksum of each tensor argument that shares its memory with an array of NumPy."""
        for x in (*tensors_in(args, 2), *tensors_in(tuple((kwargs or {}).values()), 2)):
            if x.layout is torch.strided and x.device.type == "cpu":
                self.arrays.on_read(x, _address(x), extent_of(x), node)

    def _is_new_place(self, func: Any, frame: Any) -> bool:
        """True for the first call of a function from a place in the code, until ``MOST_PLACES`` are remembered."""
        key = (func, id(frame.f_code), frame.f_lasti)
        if key in self._places or len(self._places) >= MOST_PLACES:
            return False
        self._places.add(key)
        return True

    def _statistics(self, made_node: bool, args: Any, kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """Return the running statistics that a call of a normalization has written.

        The list is empty until a call in evaluation has saved running statistics for backward, because before that no
        backward pass needs the overwritten values.
        """
        training = kwargs.get("training", kwargs.get("use_input_stats", args[5] if len(args) > 5 else False))
        if not training:
            self._has_read_statistics = self._has_read_statistics or made_node
            return []
        if not self._has_read_statistics:
            return []
        named = [kwargs.get("running_mean"), kwargs.get("running_var")]
        return [x for x in (*args[1:3], *named) if isinstance(x, _Tensor)]

    def _remember(self, x: torch.Tensor) -> None:
        key, known = id(x), self._with_own_versions
        known[key] = weakref.ref(x, lambda _: known.pop(key, None))

    def _has_own_versions(self, x: torch.Tensor) -> bool:
        """True if ``x`` is a result of ``.data`` or a view of one."""
        base = x._base if x._is_view() else x
        known = self._with_own_versions
        return any(each is not None and (found := known.get(id(each))) and found() is each for each in (x, base))


def _written(kind: _CallKind, types: Any, given: list[tuple[torch.Tensor, int]]) -> list[torch.Tensor]:
    """Return those tensor arguments that a call has written or detached in place.

    Args:
        kind: the kind of the call.
        types: the arguments' classes that override torch's functions; empty if there are none.
        given: the tensor arguments, each with its version before the call.
    """
    if kind.detaches:
        return [x for x, _ in given[:1]]
    if types:
        with _no_function():
            written = [x for x, version in given if x._version != version]
    else:
        written = [x for x, version in given if x._version != version]
    if kind.is_in_place and not written and given and is_wrapped(given[0][0]):
        # In a transform such as vmap, the argument is a wrapper, and torch counts the write in the wrapped tensor.
        return [unwrapped(given[0][0])]
    return written


def _part(x: torch.Tensor, kind: _CallKind, args: Any) -> torch.Tensor:
    """Return the part of ``x`` that a call writes, if it assigns to an index of integers and slices; else ``x``."""
    if kind.written != "setitem" or len(args) < 2 or args[0] is not x:
        return x
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    return x[args[1]] if all(type(each) in (int, slice, type(Ellipsis)) for each in index) else x


def _versions(types: Any, args: Any, kwargs: Any) -> list[tuple[torch.Tensor, int]]:
    tensors = []
    for x in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(x, _Tensor):
            tensors.append(x)
        elif type(x) is list or type(x) is tuple:
            tensors += [each for each in x if isinstance(each, _Tensor)]
    if not tensors:
        return []
    try:
        if not types:
            return [(x, x._version) for x in tensors]
        with _no_function():
            return [(x, x._version) for x in tensors]
    except RuntimeError:  # tensors of inference mode have no version
        with _no_function():
            return [(x, x._version) for x in tensors if not x.is_inference()]
