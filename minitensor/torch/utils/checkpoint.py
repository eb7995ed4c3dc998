"""``torch.utils.checkpoint``: forget what a part of the network saved, and compute it again in backward.

The part keeps its arguments only. Backward runs it again, with the random numbers that it drew, and refuses where what
it reads has been written since: it would compute something else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import numpy as np

from minitensor.core.history import Leaf, Node
from minitensor.core.storage import Storage
from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.dtypes import FLOATS
from minitensor.modes import modes
from minitensor.saving.saved import FREED
from minitensor.torch.autograd import enable_grad, grad
from minitensor.torch.autograd.function import Function
from minitensor.torch.generator import default_generator
from minitensor.torch.missing import missing_in
from minitensor.torch.tensor import Tensor, as_kind
from minitensor.torch.warning import warn

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which backward keeps the arguments only and computes the rest again.

    Both settings of ``use_reentrant`` do the same here: gradients reach the arguments and every tensor that the
    function uses besides.

    Raises:
        RuntimeError: in backward, when a tensor that the function reads has been written since.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants."
        )
    if not modes.grad:
        return function(*args, **kwargs)
    part = _Part(function, args, kwargs, default_generator.state() if preserve_rng_state else None)
    results = part.first()
    tensors = [x for x in args if isinstance(x, BaseTensor)]
    return _Checkpoint.apply(part, results, *tensors, *part.stand_ins(results))


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None) -> Any:
    """Run a sequence in ``segments`` parts, each but the last under :func:`checkpoint`."""
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def run(begin: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for step in steps[begin:end]:
                x = step(x)
            return x

        return forward

    begin = 0
    for _ in range(segments - 1):
        input = checkpoint(run(begin, begin + size), input, use_reentrant=use_reentrant)
        begin += size
    return run(begin, len(steps))(input)


class _Part:
    """A function with its arguments that can be run again.

    Attributes:
        outside: what the function uses besides its arguments: nodes that lived on when those of its run were gone.
        read: storages that its backward reads and that belong to somebody else, with their versions.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], drawn: Any) -> None:
        self.function, self.kwargs, self.drawn = function, kwargs, drawn
        self.is_tensor = tuple(isinstance(x, BaseTensor) for x in args)
        self.others = tuple(None if isinstance(x, BaseTensor) else x for x in args)
        self.given: tuple[Any, ...] = args
        self.outside: list[Node] = []
        self.read: list[tuple[ref[Storage], int]] = []

    def first(self) -> Any:
        """Run it, forget what its operations saved, and return the results without history."""
        shadows = tuple(_shadow(x) for x in self.given)
        self.given = ()
        with enable_grad():
            result = self._run(shadows)
        own = {x._current() for x in shadows if isinstance(x, BaseTensor)}
        many = result if isinstance(result, (list, tuple)) else [result]
        self._look(many, own)
        bare = [x.detach() if isinstance(x, BaseTensor) else x for x in many]
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
        stack = [node for x in results if isinstance(x, BaseTensor) and (node := x._current()) is not None]
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
        floats = [x._array.dtype for x in many if isinstance(x, BaseTensor) and x._array.dtype in FLOATS]
        self.dtype = np.result_type(*floats) if floats else self.dtype
        made: list[Any] = []
        for node in self.outside:
            standing: Any = Tensor._made(np.zeros((), self.dtype))
            standing._array, standing._node = np.broadcast_to(standing._array, node.shape), node
            made.append(standing)
        return made

    dtype = np.dtype(np.float32)

    def again(self, tensors: tuple[Tensor, ...]) -> list[Tensor]:
        """Run it again on the same arguments, recorded.

        Raises:
            RuntimeError: when what it reads has been written since.
        """
        for storage, version in self.read:
            now = storage()
            if now is not None and now.version != version:
                raise RuntimeError(
                    f"torch.utils.checkpoint: a tensor that the function uses was written between forward and "
                    f"backward (version {version} became {now.version}), so computing it again would give something "
                    f"else. Write it after backward, or compute this part without checkpoint."
                )
        given = iter(tensors)
        args = tuple(
            next(given) if is_tensor else other for other, is_tensor in zip(self.others, self.is_tensor, strict=True)
        )
        with enable_grad(), _drawing_again(self.drawn):
            result = self._run(args)
        many = result if isinstance(result, (list, tuple)) else [result]
        return [x for x in many if isinstance(x, Tensor)]


def _shadow(x: Any) -> Any:
    return as_kind(x.detach()).requires_grad_(x._current() is not None) if isinstance(x, BaseTensor) else x


@contextlib.contextmanager
def _drawing_again(state: Any) -> Iterator[None]:
    """Draw from ``state`` on, and go on afterwards as if nothing had been drawn."""
    if state is None:
        yield
        return
    before = default_generator.state()
    default_generator.set_state(state)
    try:
        yield
    finally:
        default_generator.set_state(before)


class _Checkpoint(Function):
    """The part as one operation of its arguments and of what it uses besides."""

    @staticmethod
    def forward(ctx: Any, part: _Part, results: Any, *tensors: Any) -> Any:
        """Nothing is left to compute."""
        ctx.part = part
        ctx.save_for_backward(*tensors[: len(tensors) - len(part.outside)])
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the part again and go back through it."""
        part = ctx.part
        recorded = modes.grad
        saved = ctx.saved_tensors
        wanted = ctx.needs_input_grad[2:]
        args = tuple(x if recorded and wants else _given(x, wants) for x, wants in zip(saved, wanted, strict=False))
        outputs = part.again(args)
        pairs = [(out, g) for out, g in zip(outputs, grads, strict=True) if out.requires_grad and g is not None]
        outside = part.stand_ins()
        inputs = [x for x, wants in zip((*args, *outside), wanted, strict=True) if wants]
        with enable_grad():
            found = iter(
                grad(
                    [out for out, _ in pairs],
                    inputs,
                    [g for _, g in pairs],
                    create_graph=recorded,
                    retain_graph=recorded,
                    allow_unused=True,
                    no_grad_vars=outside,
                )
            )
        return None, None, *(next(found) if wants else None for wants in wanted)


def _given(x: Tensor, wants: bool) -> Tensor:
    return x.detach().requires_grad_(wants)


__getattr__ = missing_in("torch.utils.checkpoint", lambda: __all__)
