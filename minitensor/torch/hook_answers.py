"""What a hook on a gradient may answer: nothing, or a gradient of the same shape and dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.torch.dtypes import SCALAR_NAMES


def answered(hook: Callable[[Any], Any], g: BaseTensor) -> Any:
    """What ``hook`` says to the gradient ``g``: what it returns, or what it wrote into ``g``, which is a copy.

    Raises:
        TypeError: when that is neither None nor a tensor.
        RuntimeError: when it is one of another shape or dtype.
    """
    version = g._storage.version
    answer = hook(g)
    if answer is None:
        return None if g._storage.version == version else g
    if not isinstance(answer, BaseTensor):
        raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")
    name, was, got = getattr(hook, "__name__", type(hook).__name__), g._array, answer._array
    if was.shape != got.shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value\n"
            f"The gradient has shape {list(was.shape)}; what the hook returned, {list(got.shape)}."
        )
    if was.dtype != got.dtype:
        kinds = [f"torch.{SCALAR_NAMES[array.dtype]}Tensor" for array in (was, got)]
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {kinds[0]} got {kinds[1]})")
    return answer
