"""Operations that turn into another one: nodes, the log of writes and errors still name the line that asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.core.storage import caller, write_log
from minitensor.core.tensor import Tensor
from minitensor.saving.saved import FREED, Lost


def redirected(function: Callable[..., Tensor], *operands: Any) -> Tensor:
    """``function(*operands)``, placed where the program called the operation that turned into it."""
    code, instruction = caller()
    logged = write_log[-1] if write_log else None
    result = function(*operands)
    if result._node is not None:
        result._node.code, result._node.instruction = code, instruction
    if write_log and write_log[-1] is not logged:
        storage, version, op, _, _ = write_log[-1]
        write_log[-1] = storage, version, op, code, instruction
        for link in result._storage.savers or ():
            _place_losses(link(), version, code, instruction)
    return result


def _place_losses(node: Any, version: int, code: Any, instruction: int) -> None:
    """What ``node`` lost to the write that made ``version`` was lost at this place."""
    for saved in () if node is None or node.saved is FREED else node.saved:
        if type(saved) is tuple and len(saved) == 3 and type(saved[2]) is Lost and saved[2].made == version:
            saved[2].code, saved[2].instruction = code, instruction
