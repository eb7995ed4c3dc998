"""Hooks of modules: functions that are called before and after a module's forward, and after its backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autograd.pruning import JointHook
from minitensor.engine.modes import modes
from minitensor.torch.errors import warn
from minitensor.torch.grad_fn import call_hook
from minitensor.torch.handles import RemovableHandle
from minitensor.torch.nn.parts import add_hook
from minitensor.torch.tensor import Tensor, as_torch


class Hooked:
    """Base class of modules: it calls their hooks. The dict for a kind of hook is created with the first such hook."""

    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self.__dict__
        before, after = state.get("_forward_pre_hooks"), state.get("_forward_hooks")
        back, pre_hooks = state.get("_backward_hooks"), state.get("_backward_pre_hooks")
        call, result = None, None
        called: set[int] = set()
        try:
            for hook in list(before.values()) if before else ():
                args, kwargs = hook.prepare(self, args, kwargs)
            if (back or pre_hooks) and modes.grad:
                call = _Backward(self, back or {}, pre_hooks or {})
                args = call.mark_inputs(args)
            result = self.forward(*args, **kwargs)
            for number, hook in list(after.items()) if after else ():
                called.add(number)
                result = hook.replace(self, args, kwargs, result)
        except Exception:
            for number, hook in list(after.items()) if after else ():
                if hook.always and number not in called:
                    try:
                        result = hook.replace(self, args, kwargs, result)
                    except Exception as error:
                        warn(
                            "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                            f"another error was raised in forward: {error}"
                        )
            raise
        return result if call is None else call.mark_outputs(result)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after every call of the module.

        If the hook returns something other than None, that replaces the output. To remove the hook, call ``remove()``
        of the returned handle.

        Args:
            prepend: True to call the hook before those that are already registered.
            with_kwargs: True to call ``hook(module, args, kwargs, output)``, with the arguments given by name.
            always_call: True to call the hook even if another hook or ``forward`` raises an error. The output is None
                if ``forward`` has not returned. If the hook raises a second error, that error becomes a warning.
        """
        op = "register_forward_hook()"
        by_name, always = checks.flag(op, "with_kwargs", with_kwargs), checks.flag(op, "always_call", always_call)
        made = _ForwardHook(checks.function(op, "hook", hook), by_name, always)
        return _registered(self, "_forward_hooks", made, checks.flag(op, "prepend", prepend))

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before every call of the module.

        If the hook returns something other than None, that replaces the arguments. To remove the hook, call
        ``remove()`` of the returned handle.

        Args:
            prepend: True to call the hook before those that are already registered.
            with_kwargs: True to call ``hook(module, args, kwargs)``, with the arguments given by name. The hook then
                returns None or a tuple of the new ``args`` and ``kwargs``.
        """
        op = "register_forward_pre_hook()"
        made = _ForwardHook(checks.function(op, "hook", hook), checks.flag(op, "with_kwargs", with_kwargs))
        return _registered(self, "_forward_pre_hooks", made, checks.flag(op, "prepend", prepend))

    def register_full_backward_hook(
        self, hook: Callable[[Any, tuple[Any, ...], tuple[Any, ...]], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after ``backward()`` has computed the gradients of the
        module's inputs. To remove the hook, call ``remove()`` of the returned handle.

        ``grad_output`` contains the gradient of each output tensor. ``grad_input`` contains the gradient of each
        positional argument, or None if the argument does not require grad. If the hook returns something other than
        None, that replaces ``grad_input``. With several inputs, only the gradient that ``backward()`` computes last can
        be replaced; a hook that replaces another gradient raises RuntimeError.

        Args:
            prepend: True to call the hook before those that are already registered.
        """
        op = "register_full_backward_hook()"
        checks.function(op, "hook", hook)
        return _registered(self, "_backward_hooks", hook, checks.flag(op, "prepend", prepend))

    def register_full_backward_pre_hook(
        self, hook: Callable[[Any, tuple[Any, ...]], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` after ``backward()`` has computed the gradients of the module's outputs,
        and before it computes the gradients of the inputs. To remove the hook, call ``remove()`` of the returned
        handle.

        If the hook returns a tuple, the tuple replaces ``grad_output``. If the module has several output tensors, the
        hook is called once for the gradient of each.

        Args:
            prepend: True to call the hook before those that are already registered.
        """
        checks.function("register_full_backward_pre_hook()", "hook", hook)
        prepend = checks.flag("register_full_backward_pre_hook()", "prepend", prepend)
        return _registered(self, "_backward_pre_hooks", hook, prepend)


class _ForwardHook:
    """A hook that is called before or after forward, and how it is to be called."""

    def __init__(self, hook: Callable[..., Any], by_name: bool, always: bool = False) -> None:
        self.hook, self.by_name, self.always = hook, by_name, always

    def prepare(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Call the hook before forward, and return the arguments with which forward is to be called."""
        if not self.by_name:
            changed = self.hook(module, args)
            if changed is None:
                return args, kwargs
            return (changed if isinstance(changed, tuple) else (changed,)), kwargs
        changed = self.hook(module, args, kwargs)
        if changed is None:
            return args, kwargs
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        return changed

    def replace(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """Call the hook after forward. Return the hook's result; if it is None, the module's output ``result``."""
        changed = self.hook(module, args, kwargs, result) if self.by_name else self.hook(module, args, result)
        return result if changed is None else changed


def _registered(module: Any, kind: str, hook: Any, prepend: bool) -> RemovableHandle:
    """Add a hook to the module's hooks of this kind, at the end or before all others. Return its handle."""
    hooks = module.__dict__.setdefault(kind, {})
    others = dict(hooks) if prepend else {}
    handle = add_hook(hooks, hook)
    for number in others:  # move the older hooks behind the new one: a dict keeps the order of insertion
        hooks[number] = hooks.pop(number)
    return handle


class _Backward:
    """One call of a module with backward hooks. It collects the gradients of the call's outputs and inputs."""

    def __init__(self, module: Any, hooks: dict[int, Any], pre_hooks: dict[int, Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.outputs: list[Any] = []
        self.inputs: list[Any] = []
        self.pending = 0

    def mark_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, with a view in place of each tensor that requires grad.

        A view gets only the gradient from this call of the module, not from other uses of the argument.
        """
        passed: list[Any] = []
        nodes: list[weakref.ref[Any]] = []
        for position, x in enumerate(args):
            if isinstance(x, Tensor) and x.requires_grad:
                x = x.view_as(x)
                node: Any = x._current()
                nodes.append(weakref.ref(node))
                node.add_hook(JointHook(partial(self._check_input_gradient, position), nodes))
                self.pending += 1
            passed.append(x)
            self.inputs.append(None)
        self.count = self.pending
        return tuple(passed)

    def mark_outputs(self, result: Any) -> Any:
        """Return the results, with a view in place of each tensor that requires grad.

        Each view has a hook that collects the view's gradient.
        """
        many = result if isinstance(result, tuple) else (result,)
        self.outputs = [None for _ in many]
        passed = []
        for position, x in enumerate(many):
            if isinstance(x, Tensor) and x.requires_grad:
                x = x.view_as(x)
                x.register_hook(lambda g, position=position: self._on_output_gradient(position, g))
            passed.append(x)
        return tuple(passed) if isinstance(result, tuple) else passed[0]

    def _on_output_gradient(self, position: int, g: Any) -> Any:
        changed = None
        for hook in list(self.pre_hooks.values()):
            found = hook(self.module, (g if changed is None else changed,))
            if found is None:
                continue
            if not isinstance(found, tuple) or len(found) != 1:
                raise RuntimeError(
                    f"a full backward pre-hook returns None or a tuple of one gradient, not {type(found).__name__}"
                )
            (changed,) = found
        self.outputs[position] = g if changed is None else changed
        if self.count == 0 and self.hooks:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#"
                "torch.nn.Module.register_full_backward_hook for more details."
            )
            self._call_hooks()
        return changed

    def _check_input_gradient(self, position: int, g: Any) -> Any:
        return call_hook(partial(self._on_input_gradient, position), as_torch(g))

    def _on_input_gradient(self, position: int, g: Any) -> Any:
        self.inputs[position] = g
        self.pending -= 1
        if self.pending:
            return None
        self.pending = self.count  # start again for the next backward pass
        changed = self._call_hooks()
        if changed is None:
            return None
        for other, (was, now) in enumerate(zip(self.inputs, changed, strict=False)):
            if other != position and was is not None and now is not was:
                raise RuntimeError(
                    f"a full backward hook of {type(self.module).__name__} returned another gradient for input "
                    f"{other}, which has already been passed on. If there are several inputs, only the last gradient, "
                    f"here that of input {position}, can be replaced. Use a hook of the input: x.register_hook(...)."
                )
        return changed[position]

    def _call_hooks(self) -> Any:
        changed = None
        for hook in list(self.hooks.values()):
            now = tuple(self.inputs) if changed is None else changed
            found = hook(self.module, now, tuple(self.outputs))
            if found is not None:
                changed = found if isinstance(found, tuple) else (found,)
        return changed
