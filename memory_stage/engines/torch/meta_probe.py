"""Find the tensors that a write through a view saves for backward.

Torch puts the node of such a write inside a node ``CopySlices``, which hides the saved tensors. Therefore this
module calls the same operation on tensors without memory (on the device ``meta``), and reads from the new node which
operands it saved. Such a call computes nothing and draws no random number. Each kind of call is probed once, in a
separate thread: for an argument that is a number, torch allocates a tensor, which the program's meters must not count.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import torch

from memory_stage.engines.torch.calls import tensors_in
from memory_stage.engines.torch.saved import saved_in

OWN = -1  # stands for the target after the write
BEFORE = -2  # stands for the target before the write, which overwrites the saved tensor, as in ``x.mul_(x)``


class ProbeResult(NamedTuple):
    """A saved operand.

    Attributes:
        what: its name in the backward rule.
        operand: its number among the tensors that follow the target; or :data:`OWN` or :data:`BEFORE`.
    """

    what: str
    operand: int


_found: dict[Hashable, list[ProbeResult]] = {}


def saved_by(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[ProbeResult]:
    """Return the operands that ``function(*args, **kwargs)`` saves if it writes through its first argument.

    The list is empty if torch cannot run the call without computing values, for example if an index is a mask.
    """
    seen: dict[int, int] = {}
    kind = function, *(_kind(each, seen) for each in args), *((name, _kind(kwargs[name], seen)) for name in kwargs)
    if kind not in _found:
        found: list[ProbeResult] = []
        thread = threading.Thread(target=lambda: found.extend(_probe(function, args, kwargs)))
        thread.start()
        thread.join()
        _found[kind] = found
    return _found[kind]


def _kind(value: Any, seen: dict[int, int]) -> Hashable:
    """Return the properties of an argument that decide which tensors are saved."""
    if isinstance(value, torch.Tensor):
        number = seen.setdefault(id(value), len(seen))
        return number, value.dtype, value.dim(), value.requires_grad
    if isinstance(value, (list, tuple)):
        return tuple(_kind(each, seen) for each in value)
    known: Hashable = value if isinstance(value, (bool, int, float, str)) else None
    return type(value), known


def _probe(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[ProbeResult]:
    stand_ins: dict[int, torch.Tensor] = {}
    target = args[0]
    try:
        with torch.enable_grad():
            stand_ins[id(target)] = _without_memory(target, {}).clone()
            mine = [_without_memory(each, stand_ins) for each in args]
            named = {name: _without_memory(each, stand_ins) for name, each in kwargs.items() if name != "generator"}
            version = mine[0]._version
            function(*mine, **named)
            fn = mine[0].grad_fn
            if fn is None or mine[0]._version == version:
                return []
            of = {mine[0].untyped_storage()._cdata: OWN}
            for number, x in enumerate(dict.fromkeys(tensors_in([*args[1:], *kwargs.values()]))):
                if x is not target:
                    of[stand_ins[id(x)].untyped_storage()._cdata] = number
            kept = [(what, _number_of(saved.data, of)) for what, saved in saved_in(fn)]
            return [
                ProbeResult(what, BEFORE if number == OWN and what != "out" else number)
                for what, number in kept
                if number is not None
            ]
    except Exception:  # torch cannot run this call without memory
        return []


def _without_memory(value: Any, stand_ins: dict[int, torch.Tensor], depth: int = 3) -> Any:
    """Return an argument with a stand-in without memory in place of each tensor, the same one at each occurrence."""
    if isinstance(value, torch.Tensor):
        if id(value) not in stand_ins:
            bare = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
            wants = value.requires_grad and (value.is_floating_point() or value.is_complex())
            stand_ins[id(value)] = bare.requires_grad_() if wants else bare
        return stand_ins[id(value)]
    if depth and isinstance(value, (list, tuple)) and any(True for _ in tensors_in(value)):
        made = [_without_memory(each, stand_ins, depth - 1) for each in value]
        return made if isinstance(value, list) else tuple(made)
    return value


def _number_of(data: Any, of: dict[int, int]) -> int | None:
    """Return the number of the operand that was saved as ``data``, or None."""
    if not isinstance(data, torch.Tensor) or data.device.type != "meta":
        return None
    return of.get(data.untyped_storage()._cdata)
