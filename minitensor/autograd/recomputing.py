"""Computing a part of a program again in backward, in place of keeping what its operations saved.

The part keeps its arguments only. Backward runs it again, with the random numbers that it drew, and refuses where what
it reads has been written since: it would compute something else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from minitensor.autograd.gradients import gradients_of, nodes_of
from minitensor.autograd.py_layer import PyLayer
from minitensor.core.history import Leaf, Node
from minitensor.core.storage import Storage
from minitensor.core.tensor import Tensor
from minitensor.dtypes import FLOATS
from minitensor.modes import enable_grad, modes
from minitensor.randomness import source
from minitensor.saving.saved import FREED


class Repeatable:
    """A function with its arguments that can be run again.

    Attributes:
        outside: what the function uses besides its arguments: nodes that lived on when those of its run were gone.
        read: storages that its backward reads and that belong to somebody else, with their versions.
    """

    #: What a vocabulary may have otherwise: what errors call it, and its tensors.
    called = "recompute"
    kind: type[Tensor] = Tensor

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], draws_again: bool = True
    ) -> None:
        """``draws_again``: whether backward gives it the random numbers that it had."""
        self.function, self.kwargs = function, kwargs
        self.drawn = self.random_state() if draws_again else None
        self.is_tensor = tuple(isinstance(x, Tensor) for x in args)
        self.others = tuple(None if isinstance(x, Tensor) else x for x in args)
        self.given: tuple[Any, ...] = args
        self.outside: list[Node] = []
        self.read: list[tuple[ref[Storage], int]] = []

    def first(self) -> Any:
        """Run it, forget what its operations saved, and return the results without history."""
        shadows = tuple(self.detached(x, x._current() is not None) if isinstance(x, Tensor) else x for x in self.given)
        self.given = ()
        with enable_grad():
            result = self._run(shadows)
        own = {x._current() for x in shadows if isinstance(x, Tensor)}
        many = result if isinstance(result, (list, tuple)) else [result]
        self._look(many, own)
        bare = [x.detach() if isinstance(x, Tensor) else x for x in many]
        was_one = many is not result
        del result, many, shadows, own
        self._keep_what_lives()
        return bare[0] if was_one else tuple(bare)

    def _run(self, args: tuple[Any, ...]) -> Any:
        return self.function(*args, **self.kwargs)

    def _look(self, results: Any, own: set[Node | None]) -> None:
        """Note every node that the results come from, and every storage that was saved, weakly."""
        self._met: list[tuple[ref[Node], list[ref[Node]]]] = []
        seen: set[Node] = set()
        stack = [node for x in results if isinstance(x, Tensor) and (node := x._current()) is not None]
        self._roots = [ref(node) for node in stack]
        while stack:
            node = stack.pop()
            if node in seen or node in own:
                continue
            seen.add(node)
            parents = [each for each in node.inputs if each is not None and each not in own]
            self._met.append((ref(node), [ref(each) for each in parents]))
            stack += parents
            if type(node) is not Leaf and node.saved is not FREED:
                for each in node.saved:
                    if isinstance(each, tuple) and len(each) == 3 and isinstance(each[1], Storage):
                        self.read.append((ref(each[1]), each[1].version))

    def _keep_what_lives(self) -> None:
        """Of the nodes that were met, those that others hold and that nodes of the run led to."""
        led_to = [*self._roots, *(each for node, parents in self._met if node() is None for each in parents)]
        found = {id(node): node for each in led_to if (node := each()) is not None}
        self.outside = list(found.values())
        self.read = [(storage, version) for storage, version in self.read if storage() is not None]
        del self._met, self._roots

    def stand_ins(self, results: Any = None) -> list[Tensor]:
        """A tensor for each node outside, of no memory to speak of, in the dtype of the results."""
        many = results if isinstance(results, tuple) else [results]
        floats = [x._array.dtype for x in many if isinstance(x, Tensor) and x._array.dtype in FLOATS]
        self.dtype = np.result_type(*floats) if floats else self.dtype
        made: list[Any] = []
        for node in self.outside:
            standing: Any = self.kind._made(np.zeros((), self.dtype))
            standing._array, standing._node = np.broadcast_to(standing._array, node.shape), node
            made.append(standing)
        return made

    dtype: np.dtype[Any] = np.dtype(np.float32)

    def again(self, tensors: tuple[Tensor, ...]) -> list[Tensor]:
        """Run it again on the same arguments, recorded.

        Raises:
            RuntimeError: if what it reads has been written since.
        """
        for storage, version in self.read:
            now = storage()
            if now is not None and now.version != version:
                raise RuntimeError(
                    f"{self.called}: a tensor that the function uses was written between forward and "
                    f"backward (version {version} became {now.version}), so computing it again would give something "
                    f"else. Write it after backward, or compute this part without {self.called}."
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
        self, saved: Sequence[Any], wanted: Sequence[bool], grads: Sequence[Any], recorded: bool
    ) -> list[Tensor | None]:
        """Run it again on ``saved`` and go back through it: the gradient of each tensor ``wanted``, None for another.

        ``grads`` are those of its results; ``recorded`` says whether its gradients are to have gradients themselves.
        """
        args = tuple(
            x if recorded and wants else self.detached(x, wants) for x, wants in zip(saved, wanted, strict=False)
        )
        outputs = self.again(args)
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if y._current() is not None and g is not None]
        outside = self.stand_ins()
        inputs = [x for x, wants in zip((*args, *outside), wanted, strict=True) if wants]
        with enable_grad():
            found = iter(self.back([y for y, _ in pairs], inputs, [g for _, g in pairs], recorded, outside))
        return [next(found) if wants else None for wants in wanted]

    def _drawing_again(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.drawn is None else self._drawing_from(self.drawn)

    @contextlib.contextmanager
    def _drawing_from(self, state: Any) -> Iterator[None]:
        """Draw from ``state`` on, and go on afterwards as if nothing had been drawn."""
        before = self.random_state()
        self.set_random_state(state)
        try:
            yield
        finally:
            self.set_random_state(before)

    # ---------- what a vocabulary may have otherwise ----------

    def detached(self, x: Tensor, wants: bool) -> Tensor:
        """Another look at ``x`` without its history, which is a leaf where a gradient is wanted."""
        made: Tensor = x.detach()
        made.stop_gradient = not wants
        return made

    def back(self, outputs: list[Any], inputs: list[Any], grads: list[Any], recorded: bool, ends: list[Any]) -> Any:
        """The gradients of ``outputs`` for ``inputs``; none passes through ``ends``."""
        return gradients_of(outputs, inputs, grads, recorded, recorded, True, nodes_of(ends))

    def random_state(self) -> Any:
        """All that the next random numbers depend on."""
        return source.generator.bit_generator.state

    def set_random_state(self, state: Any) -> None:
        """Go on from a state that :meth:`random_state` gave."""
        source.generator.bit_generator.state = state


class Recomputed(PyLayer):
    """The part as one operation of its arguments and of what it uses besides."""

    @staticmethod
    def forward(ctx: Any, repeatable: Repeatable, results: Callable[[], Any], *tensors: Any) -> Any:
        """Nothing is left to compute."""
        ctx.repeatable = repeatable
        ctx.save_for_backward(*tensors[: len(tensors) - len(repeatable.outside)])
        return results()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the part again and go back through it."""
        wanted = [each is not None for each in ctx._node.inputs]
        return tuple(ctx.repeatable.gradients(ctx.saved_tensor(), wanted, grads, modes.grad))


def recompute(
    function: Callable[..., Any],
    *args: Any,
    preserve_rng_state: bool = True,
    use_reentrant: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which backward keeps the arguments only and computes the rest again.

    Args:
        preserve_rng_state: whether it draws the same random numbers again.
        use_reentrant: both settings do the same here: gradients reach the arguments and every tensor that the function
            uses besides.

    Raises:
        TypeError: if ``function`` cannot be called.
        RuntimeError: in backward, if a tensor that the function reads has been written since.
    """
    if not callable(function):
        raise TypeError(f"recompute: function is a layer or another function, not {type(function).__name__}")
    if not modes.grad:
        return function(*args, **kwargs)
    repeatable = Repeatable(function, args, kwargs, preserve_rng_state)
    results = repeatable.first()
    tensors = [x for x in args if isinstance(x, Tensor)]
    return Recomputed.apply(repeatable, lambda: results, *tensors, *repeatable.stand_ins(results))
