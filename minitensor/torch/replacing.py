"""In-place names that change what a tensor is, instead of writing its numbers: ``resize_``, ``set_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.core.history import Leaf
from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.torch.creation import size_of
from minitensor.torch.naming import need_tensor
from minitensor.torch.tensor import Tensor
from minitensor.views import replacing as engine


def resize_(input: Tensor, *sizes: Any) -> Tensor:
    """Give the tensor another size, with more or fewer elements; the first ones stay.

    Elements that come to it are 0; PyTorch leaves them as memory happens to be.

    Args:
        sizes: the new shape, as numbers or as one list.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: when it requires grad.
    """
    if input._current() is not None:
        raise RuntimeError(
            "cannot resize variables that require grad\n"
            "The elements that it loses or gains would have no gradient. Use reshape, an index or torch.cat."
        )
    engine.resize_(input, list(size_of("resize_", sizes)))
    return input


def resize_as_(input: Tensor, the_template: Tensor) -> Tensor:
    """Give the tensor the shape of another; see :func:`resize_`, which says what is refused.

    Raises:
        TypeError: when the other is no tensor.
    """
    need_tensor("resize_as_", the_template, name="the_template")
    return resize_(input, *the_template._array.shape)


def set_(
    input: Tensor, source: Tensor | None = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let the tensor look at the storage of ``source``. Nothing is written; its former views keep the old storage.

    Args:
        source: a tensor of any shape; without one, the tensor becomes empty.
        storage_offset, size, stride: in elements; by default those of ``source``.

    Raises:
        RuntimeError: when it is a leaf that requires grad.
    """
    if source is not None and not isinstance(source, BaseTensor):
        raise TypeError(f"set_(): argument 'source' (position 1) must be Tensor, not {type(source).__name__}")
    if type(input._current()) is Leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation.\n"
            "Its gradient belongs to the numbers that it has. Nothing was changed."
        )
    try:
        engine.set_(input, source, None if size is None else list(size), stride, storage_offset)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    return input


def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Overwrite every element with what a function of one number makes of it. One write.

    Raises:
        TypeError: when the tensor requires grad: what the function does cannot be recorded.
    """
    if input._current() is not None:
        raise TypeError("can't use apply_ on a tensor that requires grad: what a function does is not recorded")
    if not hasattr(callable, "__call__"):  # noqa: B004  # the name is that of PyTorch's argument
        raise TypeError(f"apply_(): argument 'callable' (position 1) must be a function, not {callable!r}")
    numbers = [callable(number) for number in input._array.ravel().tolist()]
    made = input.new_tensor(numbers).reshape(input._array.shape)
    return input.copy_(made)


for _function in (resize_, resize_as_, set_, apply_):
    setattr(Tensor, _function.__name__, _function)
