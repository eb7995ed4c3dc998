"""Compute a part of a program again in backward, instead of keeping the tensors that the part's operations save.

Only the arguments of the part are kept. Backward runs the part again with the same random numbers. If a tensor that the
part reads was written since forward, the result would differ, so backward raises an error.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from minitensor.engine import checks
from minitensor.engine.autograd.gradients import gradients_of, nodes_of
from minitensor.engine.autograd.py_layer import PyLayer
from minitensor.engine.core.history import Leaf, Node
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.dtypes import FLOATS, promoted
from minitensor.engine.modes import enable_grad, modes
from minitensor.engine.random import source
from minitensor.engine.saved.saved import FREED


class Repeatable:
    """A call that can be repeated: a function and its arguments.

    Attributes:
        outside: the nodes of tensors that the function uses although they are not arguments, such as parameters.
        read: weak references to the storages that the function's operations saved and that outlive the first run, each
            with its version.
    """

    #: The name in errors, and the type of tensors. Each framework's subclass overrides them.
    called = "recompute"
    kind: type[Tensor] = Tensor
    #: The dtype of the placeholders. If some results are floats, :meth:`placeholders` sets it to their dtype.
    dtype: np.dtype[Any] = np.dtype(np.float32)

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], draws_again: bool = True
    ) -> None:
        """Store the call. If ``draws_again`` is true, the second run draws the same random numbers as the first."""
        self.function, self.kwargs = function, kwargs
        self.drawn = self.random_state() if draws_again else None
        self.is_tensor = tuple(isinstance(x, Tensor) for x in args)
        self.others = tuple(None if isinstance(x, Tensor) else x for x in args)
        self.given: tuple[Any, ...] = args
        self.outside: list[Node] = []
        self.read: list[tuple[ref[Storage], int]] = []

    def first(self) -> Any:
        """Run the function, drop the tensors that its operations saved, and return the results without history."""
        aliases = tuple(self.detached(x, x._current() is not None) if isinstance(x, Tensor) else x for x in self.given)
        self.given = ()
        with enable_grad():
            result = self._run(aliases)
        own = {x._current() for x in aliases if isinstance(x, Tensor)}
        many = result if isinstance(result, (list, tuple)) else [result]
        self._register(many, own)
        without_history = [x.detach() if isinstance(x, Tensor) else x for x in many]
        was_one = many is not result
        del result, many, aliases, own
        self._keep_survivors()
        return without_history[0] if was_one else tuple(without_history)

    def _run(self, args: tuple[Any, ...]) -> Any:
        return self.function(*args, **self.kwargs)

    def _register(self, results: Any, own: set[Node | None]) -> None:
        """Store weak references to the nodes behind the results, and to the storages that these nodes saved."""
        self._registered: list[tuple[ref[Node], list[ref[Node]]]] = []
        seen: set[Node] = set()
        stack = [node for x in results if isinstance(x, Tensor) and (node := x._current()) is not None]
        self._roots = [ref(node) for node in stack]
        while stack:
            node = stack.pop()
            if node in seen or node in own:
                continue
            seen.add(node)
            parents = [each for each in node.inputs if each is not None and each not in own]
            self._registered.append((ref(node), [ref(each) for each in parents]))
            stack += parents
            if type(node) is not Leaf and node.saved is not FREED:
                for each in node.saved:
                    if isinstance(each, tuple) and len(each) == 3 and isinstance(each[1], Storage):
                        self.read.append((ref(each[1]), each[1].version))

    def _keep_survivors(self) -> None:
        """Set ``outside`` and ``read`` to the nodes and storages that survived the release of the results' history."""
        led_to = [*self._roots, *(each for node, parents in self._registered if node() is None for each in parents)]
        found = {id(node): node for each in led_to if (node := each()) is not None}
        self.outside = list(found.values())
        self.read = [(storage, version) for storage, version in self.read if storage() is not None]
        del self._registered, self._roots

    def placeholders(self, results: Any = None) -> list[Tensor]:
        """Return a tensor for each outside node. As inputs of the layer, these tensors connect it with the nodes.

        They have the dtype of the results, and the memory of a single element.
        """
        many = results if isinstance(results, tuple) else [results]
        floats = [x._array.dtype for x in many if isinstance(x, Tensor) and x._array.dtype in FLOATS]
        self.dtype = functools.reduce(promoted, floats) if floats else self.dtype
        placeholders: list[Any] = []
        for node in self.outside:
            placeholder: Any = self.kind._made(np.zeros((), self.dtype))
            placeholder._array, placeholder._node = np.broadcast_to(placeholder._array, node.shape), node
            placeholders.append(placeholder)
        return placeholders

    def again(self, tensors: tuple[Tensor, ...]) -> list[Tensor]:
        """Run the function again and record it; raise RuntimeError if a tensor that it reads was written since forward.

        Returns:
            The tensors among the results.
        """
        for storage, version in self.read:
            now = storage()
            if now is not None and now.version != version:
                raise RuntimeError(
                    f"{self.called}: a tensor that the function uses was written between forward and "
                    f"backward (version {version} became {now.version}), so the function would now return another "
                    f"result. Write the tensor after backward, or compute this part without {self.called}."
                )
        given = iter(tensors)
        args = tuple(
            next(given) if is_tensor else other for other, is_tensor in zip(self.others, self.is_tensor, strict=True)
        )
        with enable_grad(), self._drawing_again():
            result = self._run(args)
        many = result if isinstance(result, (list, tuple)) else [result]
        return [x for x in many if isinstance(x, Tensor)]

    def gradients(
        self, ctx: Any, saved: Sequence[Any], wanted: Sequence[bool], grads: Sequence[Any], recorded: bool
    ) -> list[Tensor | None]:
        """Run the function again on the tensors ``saved``; return the gradients of these tensors and of outside nodes.

        Args:
            ctx: the context of the layer. This method replaces the dtypes that the context stores for the layer's
                inputs by the dtypes of the gradients.
            wanted: for each tensor argument and each outside node, True if its gradient is required.
            grads: the gradients of the results.
            recorded: True to return gradients with a history.

        Returns:
            One gradient for each entry of ``wanted``; None where it is False.
        """
        args = tuple(
            x if recorded and wants else self.detached(x, wants) for x, wants in zip(saved, wanted, strict=False)
        )
        outputs = self.again(args)
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if y._current() is not None and g is not None]
        outside = self.placeholders()
        inputs = [x for x, wants in zip((*args, *outside), wanted, strict=True) if wants]
        with enable_grad():
            found = iter(self.back([y for y, _ in pairs], inputs, [g for _, g in pairs], recorded, outside))
        answers = [next(found) if wants else None for wants in wanted]
        # A node does not store the dtype of its value, so the placeholder of an outside node may have another dtype.
        ctx._inputs = tuple(
            (shape, dtype if g is None else g._array.dtype, gpu)
            for (shape, dtype, gpu), g in zip(ctx._inputs, answers, strict=True)
        )
        return answers

    @contextlib.contextmanager
    def _drawing_again(self) -> Iterator[None]:
        """In the ``with`` block, draw the random numbers of the first run again, unless ``draws_again`` was false."""
        if self.drawn is None:
            yield
            return
        before = self.random_state()
        self.set_random_state(self.drawn)
        try:
            yield
        finally:
            self.set_random_state(before)

    # ---------- overridden by subclasses of a framework ----------

    def detached(self, x: Tensor, wants: bool) -> Tensor:
        """Return an alias of ``x`` without its history: a leaf that requires a gradient if ``wants`` is true."""
        alias: Tensor = x.detach()
        alias.stop_gradient = not wants
        return alias

    def back(self, outputs: list[Any], inputs: list[Any], grads: list[Any], recorded: bool, ends: list[Any]) -> Any:
        """Return the gradients of ``outputs`` for ``inputs``; no gradient passes beyond the nodes of ``ends``."""
        return gradients_of(outputs, inputs, grads, recorded, recorded, True, nodes_of(ends))

    def random_state(self) -> Any:
        """Return the state of the random generator."""
        return source.generator.bit_generator.state

    def set_random_state(self, state: Any) -> None:
        """Restore a state that :meth:`random_state` returned."""
        source.generator.bit_generator.state = state


class Recomputed(PyLayer):
    """A recomputed part of a program as one operation on its tensor arguments and on the outside nodes."""

    @staticmethod
    def forward(ctx: Any, repeatable: Repeatable, results: Callable[[], Any], *tensors: Any) -> Any:
        """Save the tensor arguments, and return ``results()``, which have been computed already."""
        ctx.repeatable = repeatable
        ctx.save_for_backward(*tensors[: len(tensors) - len(repeatable.outside)])
        return results()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the part again and return the gradients of its inputs."""
        wanted = [each is not None for each in ctx._node.inputs]
        return tuple(ctx.repeatable.gradients(ctx, ctx.saved_tensor(), wanted, grads, modes.grad))


def recompute(
    function: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, use_reentrant: bool = True, **kwargs: Any
) -> Any:
    """Call ``function(*args, **kwargs)`` and keep only the arguments for backward, which calls the function again.

    Args:
        preserve_rng_state: True to draw the same random numbers in the second call.
        use_reentrant: ignored. With both settings, gradients reach the arguments and all other tensors that the
            function uses.

    Raises:
        TypeError: if ``function`` cannot be called.
        RuntimeError: in backward, if a tensor that the function reads was written since forward.
    """
    checks.function("recompute", "function", function)
    if not modes.grad:
        return function(*args, **kwargs)
    repeatable = Repeatable(function, args, kwargs, preserve_rng_state)
    results = repeatable.first()
    tensors = [x for x in args if isinstance(x, Tensor)]
    return Recomputed.apply(repeatable, lambda: results, *tensors, *repeatable.placeholders(results))
