"""Hooks of modules: functions that are called before and after a module's forward, and after its backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.modes import modes
from minitensor.torch.nn.parts import RemovableHandle
from minitensor.torch.tensor import Tensor


class Hooked:
    """What can be called, with hooks around the call. Places for them are made when the first one is registered."""

    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kept = self.__dict__
        before, after, back = (kept.get(name) for name in ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks"))
        for hook in list(before.values()) if before else ():
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        call = _Backward(self, back) if back and modes.grad else None
        if call is not None:
            args = call.given(args)
        result = self.forward(*args, **kwargs)
        for hook in list(after.values()) if after else ():
            changed = hook(self, args, result)
            result = result if changed is None else changed
        return result if call is None else call.made(result)

    def register_forward_hook(self, hook: Callable[[Any, tuple[Any, ...], Any], Any]) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after every call; what it returns, if anything, takes the output's place.

        Returns:
            A handle; ``handle.remove()`` takes the hook away.
        """
        return RemovableHandle(self.__dict__.setdefault("_forward_hooks", {}), hook)

    def register_forward_pre_hook(self, hook: Callable[[Any, tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``hook(module, args)`` before every call; what it returns, if anything, takes the arguments' place.

        Returns:
            A handle; ``handle.remove()`` takes the hook away.
        """
        return RemovableHandle(self.__dict__.setdefault("_forward_pre_hooks", {}), hook)

    def register_full_backward_hook(
        self, hook: Callable[[Any, tuple[Any, ...], tuple[Any, ...]], Any]
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when backward has passed the module.

        ``grad_output`` has the gradient of each tensor that came out, ``grad_input`` that of each positional argument,
        None for one that wants none. What the hook returns, if anything, takes the place of ``grad_input``.

        Returns:
            A handle; ``handle.remove()`` takes the hook away.
        """
        return RemovableHandle(self.__dict__.setdefault("_backward_hooks", {}), hook)


class _Backward:
    """One call of a module with backward hooks: gathers the gradients of what came out and of what went in."""

    def __init__(self, module: Any, hooks: dict[int, Any]) -> None:
        self.module, self.hooks = module, hooks
        self.outputs: list[Any] = []
        self.inputs: list[Any] = []
        self.waiting = 0

    def given(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments; those that want gradients as views of themselves, so that others' gradients stay apart."""
        passed = []
        for position, x in enumerate(args):
            if isinstance(x, Tensor) and x.requires_grad:
                x = x.view_as(x)
                x.register_hook(lambda g, position=position: self._arrived(position, g))
                self.waiting += 1
            passed.append(x)
            self.inputs.append(None)
        self.count = self.waiting
        return tuple(passed)

    def made(self, result: Any) -> Any:
        """The results, whose gradients are noted on their way in."""
        many = result if isinstance(result, tuple) else (result,)
        self.outputs = [None for _ in many]
        passed = []
        for position, x in enumerate(many):
            if isinstance(x, Tensor) and x.requires_grad:
                x = x.view_as(x)
                x.register_hook(lambda g, position=position: self._came(position, g))
            passed.append(x)
        return tuple(passed) if isinstance(result, tuple) else passed[0]

    def _came(self, position: int, g: Any) -> None:
        self.outputs[position] = g
        if self.count == 0:  # nothing that went in wants a gradient
            self._call()

    def _arrived(self, position: int, g: Any) -> Any:
        self.inputs[position] = g
        self.waiting -= 1
        if self.waiting:
            return None
        self.waiting = self.count  # for a second backward
        changed = self._call()
        return None if changed is None else changed[position]

    def _call(self) -> Any:
        changed = None
        for hook in list(self.hooks.values()):
            now = tuple(self.inputs) if changed is None else changed
            found = hook(self.module, now, tuple(self.outputs))
            if found is not None:
                changed = found if isinstance(found, tuple) else (found,)
        return changed
