"""``torch.utils.checkpoint``: free the saved tensors of a part of the network, and recompute them in backward.

Only the arguments of the part are saved. ``backward()`` runs the part again, by default with the same random numbers.
If a tensor that the part reads was written after the first run, ``backward()`` raises an error, because the result
would differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autograd.recomputing import Recomputed, Repeatable
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.modes import modes
from minitensor.torch.autograd import grad
from minitensor.torch.autograd.function import Function
from minitensor.torch.errors import missing_in, warn
from minitensor.torch.generator import default_generator
from minitensor.torch.tensor import Tensor, as_torch

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)``. Only the arguments are saved for backward. ``backward()`` calls the
    function again.

    Both values of ``use_reentrant`` do the same in minitensor: gradients reach the arguments and every other tensor
    that the function uses.

    Raises:
        RuntimeError: in backward, if a tensor that the function reads was written after the first call.
    """
    checks.function("checkpoint()", "function", function)
    preserve_rng_state = checks.flag("checkpoint()", "preserve_rng_state", preserve_rng_state)
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants."
        )
    if not modes.grad:
        return function(*args, **kwargs)
    repeatable = _Repeatable(function, args, kwargs, preserve_rng_state)
    results = repeatable.first()
    tensors = [x for x in args if isinstance(x, BaseTensor)]
    return _Checkpoint.apply(repeatable, lambda: results, *tensors, *repeatable.placeholders(results))


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None) -> Any:
    """Call the functions in order, each with the result of the previous one. They are divided into ``segments`` parts,
    and all parts except the last run under :func:`checkpoint`.
    """
    given = functions.children() if hasattr(type(functions), "children") else functions
    steps = checks.elements("checkpoint_sequential()", "functions", given, "functions")
    for step in steps:
        checks.function("checkpoint_sequential()", "an element of functions", step)
    segments = checks.integer("checkpoint_sequential()", "segments", segments, least=1)
    if segments > len(steps):
        raise ValueError(f"checkpoint_sequential(): segments must be at most {len(steps)}, the number of functions")
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


class _Repeatable(Repeatable):
    """A function that ``backward()`` calls again, with PyTorch's tensors and random numbers."""

    called = "torch.utils.checkpoint"
    kind = Tensor

    def detached(self, x: BaseTensor, wants: bool) -> Tensor:
        """Return an alias of ``x`` without history. It requires grad if ``wants`` is true."""
        return as_torch(x.detach()).requires_grad_(wants)

    def back(self, outputs: list[Any], inputs: list[Any], grads: list[Any], recorded: bool, ends: list[Any]) -> Any:
        """Return the gradients of ``outputs``, weighted by ``grads``, with respect to ``inputs``. Stop at ``ends``."""
        return grad(outputs, inputs, grads, recorded, recorded, allow_unused=True, no_grad_vars=ends)

    def random_state(self) -> Any:
        """Return the state of the random numbers."""
        return default_generator.get_state()

    def set_random_state(self, state: Any) -> None:
        """Continue from a state that :meth:`random_state` returned."""
        default_generator.set_state(state)


class _Checkpoint(Function):
    """The checkpointed part as one operation. Its inputs are all tensors that the part reads, such as its arguments."""

    forward = staticmethod(Recomputed.forward)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the part again and propagate the gradients through it."""
        wanted = ctx.needs_input_grad[2:]
        return None, None, *ctx.repeatable.gradients(ctx, ctx.saved_tensors, wanted, grads, modes.grad)


__getattr__ = missing_in("torch.utils.checkpoint", lambda: __all__)
