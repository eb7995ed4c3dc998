"""Views that read the bytes of a storage as elements of another dtype: ``x.view("int32")``.

Nothing is converted. The result is a detached alias: it shares the storage and its version, and no gradient passes
through it, because bytes of another dtype have no derivative. PyTorch's view requires no gradient either. Paddle's view
requires one, and backward reads the bytes of the view's gradient as the dtype of the source, which gives meaningless
numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from minitensor.engine.core.regions import locked, steps_of
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of
from minitensor.engine.dtypes import BY_NUMPY, DType, bool_
from minitensor.engine.events import ViewCreated, watch


def read_as(x: Tensor, dtype: DType, error: Callable[[str, str, int], Exception]) -> Tensor:
    """Return a detached alias of ``x`` that reads the same bytes as elements of ``dtype``.

    The last dimension becomes longer or shorter by the ratio of the two element sizes; the other dimensions
    keep their lengths.

    Args:
        error: a function that creates the exception from three values: the part of the layout that prevents the view, a
            text with the required number or divisor, and the actual number.

    Raises:
        TypeError: if ``dtype`` is bool and ``x`` is not, because a byte may be another number than 0 and 1.
        error: if the element sizes differ, and ``x`` has no dimensions, a last stride other than 1, or bytes that do
            not divide into elements of ``dtype``.
    """
    array = x._array
    if dtype.numpy == bool_.numpy != array.dtype:
        raise TypeError(
            f"view: the bytes of a {x.dtype.name} tensor cannot be read as bool, because a byte may hold another "
            f"number than 0 and 1. Compare instead, as in x != 0, which makes a new tensor."
        )
    size, new_size = array.itemsize, dtype.numpy.itemsize
    if size != new_size:
        steps = steps_of(array)
        if array.ndim == 0:
            raise error("dim()", "", 0)
        if steps[-1] != 1:
            raise error("stride(-1)", "1", steps[-1])
        ratio = new_size // size
        if ratio:
            begin = (address_of(array) - address_of(x._storage.buffer)) // size
            checked = {"size(-1)": array.shape[-1], "storage_offset()": begin}
            checked |= {f"stride({i})": step for i, step in enumerate(steps[:-1])}
            for part, number in checked.items():
                if number % ratio:
                    raise error(part, f"divisible by {ratio}", number)
    alias = type(x)._alias(locked(array.view(dtype.numpy)), x._storage)
    if watch.listener is not None:
        watch.listener(ViewCreated(alias, "view", (x,)))
    return alias


def _refusal(x: Tensor, dtype: DType) -> Callable[[str, str, int], Exception]:
    def error(part: str, needed: str, number: int) -> Exception:
        before, after = BY_NUMPY[x._array.dtype], dtype
        sizes = f"{before.name} has {before.itemsize} bytes and {after.name} has {after.itemsize}"
        if part == "dim()":
            return ValueError(
                f"view: a tensor without dimensions cannot be read as {after.name}, because {sizes}. Use "
                f"`unsqueeze(0)` first."
            )
        return ValueError(
            f"view: the bytes of a {before.name} tensor of shape {x.shape}, strides {x.strides} and offset {x.offset} "
            f"cannot be read as {after.name}: {sizes}, so {part} must be {needed}, not {number}. `contiguous()` or "
            f"`clone()` makes a tensor whose elements follow each other."
        )

    return error


def view_as_dtype(x: Tensor, dtype: DType) -> Tensor:
    """Return the bytes of ``x`` as elements of ``dtype``; ``x`` itself if it has that dtype, as in Paddle.

    Raises:
        ValueError: if the bytes do not divide into elements of ``dtype``.
        TypeError: if ``dtype`` is bool and ``x`` is not.
    """
    return x if dtype.numpy == x._array.dtype else read_as(x, dtype, _refusal(x, dtype))
