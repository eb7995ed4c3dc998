"""Functions of torch that are others while a recording goes on, so that the program does not notice it.

* ``torch.compile``: what is compiled runs with the mode off the stack; with it on, torch would compile the mode, too.
* ``torch.utils.swap_tensors``, which refuses tensors that somebody refers to weakly: the recording ends before it.
* ``torch.from_numpy`` and others that no mode hears of: what they make is told.
* ``torch.overrides.has_torch_function`` as layers ask it: with a mode on the stack they would take a slower way, whose
  results differ in the last digit.
* ``torch.utils.hooks.BackwardHook``: the hooks of layers tell when they have run.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.hooks

_DYNAMO = "torch._dynamo.eval_frame"

#: Functions of torch that make tensors and that no mode hears of.
_UNHEARD = ("from_numpy", "from_dlpack", "frombuffer")

COMPILED = "What `torch.compile` has compiled is not recorded: it runs on its own, and its results are shown."
SWAPPED = (
    "The recording ends here: `swap_tensors` exchanges what two tensors are, and refuses those that a recorder refers "
    "to. The program ran on."
)


class StandIns:
    """What stands in for functions of torch.

    Args:
        take_off: takes the mode off the stack, and says whether it was there.
        put_on: puts it back.
        tell: told of what is not recorded.
        made: told of a tensor that a function has made, and of its name.
        of_layer: makes what stands in for the making of torch's hooks of layers.
    """

    def __init__(
        self,
        take_off: Callable[[], bool],
        put_on: Callable[[], None],
        tell: Callable[..., None],
        made: Callable[[str, torch.Tensor], None],
        of_layer: Callable[[Any], Any],
    ) -> None:
        self._take_off, self._put_on, self._tell, self._made = take_off, put_on, tell, made
        self._of_layer = of_layer
        self._placed: list[tuple[Any, str, Any, Any]] = []
        self._off_for = 0  # id of the frame that runs compiled code, and that gives back; it lives until then

    def stand_in(self) -> None:
        """Put all in place."""
        self._place(torch, "compile", self._compile)
        self._place(torch.utils, "swap_tensors", self._swap)
        self._place(torch.overrides, "has_torch_function", self._has)
        self._place(torch.utils.hooks.BackwardHook, "__init__", self._of_layer)
        for name in _UNHEARD:
            self._place(torch, name, functools.partial(self._telling, name))
        self._know_compiled()

    def stand_aside(self) -> None:
        """Put torch's own back."""
        while self._placed:
            owner, name, mine, real = self._placed.pop()
            if getattr(owner, name) is mine:
                setattr(owner, name, real)

    def _place(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        real = getattr(owner, name)
        mine = make(real)
        self._placed.append((owner, name, mine, real))
        setattr(owner, name, mine)

    # ---------- compiled functions ----------

    def _compile(self, real: Any) -> Any:
        def compile(*args: Any, **kwargs: Any) -> Any:
            made = real(*args, **kwargs)
            self._know_compiled()
            return made

        return compile

    def _know_compiled(self) -> None:
        """From the moment that torch's compiler is loaded, hear when it takes over and gives back."""
        dynamo = sys.modules.get(_DYNAMO)
        if dynamo is not None and all(owner is not dynamo for owner, *_ in self._placed):
            self._place(dynamo, "_maybe_set_eval_frame", self._take_over)

    def _take_over(self, real: Any) -> Any:
        def set_eval_frame(callback: Any) -> Any:
            caller = id(sys._getframe(1))
            if callable(callback) and not self._off_for and self._take_off():
                self._off_for = caller
                self._tell("unseen", COMPILED)
            elif self._off_for == caller:
                self._off_for = 0
                self._put_on()
            return real(callback)

        return set_eval_frame

    # ---------- others ----------

    def _telling(self, name: str, real: Any) -> Any:
        @functools.wraps(real)
        def function(*args: Any, **kwargs: Any) -> Any:
            given = real(*args, **kwargs)
            self._made(name, given)
            return given

        return function

    def _swap(self, real: Any) -> Any:
        def swap_tensors(one: Any, other: Any) -> Any:
            self._tell("ended", SWAPPED)
            return real(one, other)

        return swap_tensors

    def _has(self, real: Any) -> Any:
        def has_torch_function(arguments: Any) -> Any:
            taken = self._take_off()
            try:
                return real(arguments)
            finally:
                if taken:
                    self._put_on()

        return has_torch_function
