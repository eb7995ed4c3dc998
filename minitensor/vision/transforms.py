"""Flip, crop, colour and normalize pictures, which are tensors of shape [..., channels, height, width].

The functions have the names and arguments that Paddle and torchvision share. The argument ``inplace`` is an addition of
minitensor, except in ``normalize``, where torchvision has it, too. With ``inplace=False``, the functions for colours
and normalization copy the picture and write into the copy, so both settings run the same operations and return the same
values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.random import source
from minitensor.paddle.missing import missing

#: Weights for the brightness of red, green and blue (ITU-R BT.601), as in torchvision and Paddle.
LUMA = (0.2989, 0.587, 0.114)


def _check_picture(op: str, img: Any, channels: int | None = None) -> Any:
    if not isinstance(img, Tensor):
        raise TypeError(f"{op}: a picture must be a Tensor [..., channels, height, width], not {type(img).__name__}")
    if img.ndim < 3 or img._array.dtype not in FLOATS:
        raise ValueError(
            f"{op}: a picture must be [..., channels, height, width] of floats, but this has shape {list(img.shape)} "
            "and dtype "
            f"{img._array.dtype.name}"
        )
    if channels is not None and img.shape[-3] != channels:
        raise ValueError(f"{op}: the picture must have {channels} channels, but its shape is {list(img.shape)}")
    return img


def _target(op: str, img: Any, inplace: bool, channels: int | None = None) -> Any:
    """Return the tensor to write: the picture itself if ``inplace`` is true, otherwise a copy."""
    inplace = checks.flag(op, "inplace", inplace)
    return _check_picture(op, img, channels) if inplace else _check_picture(op, img, channels).clone()


# ---------- positions ----------


def hflip(img: Any, inplace: bool = False) -> Any:
    """Mirror a picture horizontally. With ``inplace``, a mirrored copy is created and then overwrites the picture.

    Args:
        img: a picture of floats, of shape [..., channels, height, width]; the result has that shape.

    Raises:
        ValueError: if ``img`` has another shape, or does not hold floats.
        TypeError: if ``img`` is not a tensor.
    """
    return _mirror("hflip", img, -1, inplace)


def vflip(img: Any, inplace: bool = False) -> Any:
    """Mirror a picture vertically. With ``inplace``, a mirrored copy is created and then overwrites the picture.

    Args:
        img: a picture of floats, of shape [..., channels, height, width]; the result has that shape.

    Raises:
        ValueError: if ``img`` has another shape, or does not hold floats.
        TypeError: if ``img`` is not a tensor.
    """
    return _mirror("vflip", img, -2, inplace)


def _mirror(op: str, img: Any, axis: int, inplace: Any) -> Any:
    img, inplace = _check_picture(op, img), checks.flag(op, "inplace", inplace)
    order = np.arange(img.shape[axis])[::-1].copy()
    mirrored = img[..., order] if axis == -1 else img[..., order, :]
    return img.copy_(mirrored) if inplace else mirrored


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return a part of a picture as a view, as torchvision does.

    A write into the view changes the picture; a write into ``crop(...).clone()`` does not.

    Args:
        img: a picture of floats, of shape [..., channels, height, width].
        top, left: the position of the first pixel.
        height, width: the size of the part, in pixels.

    Raises:
        ValueError: if the part is not inside the picture.
        TypeError: if ``img`` is not a tensor.
    """
    rows, columns = _check_picture("crop", img).shape[-2:]
    top, left = checks.integer("crop", "top", top), checks.integer("crop", "left", left)
    height, width = checks.integer("crop", "height", height), checks.integer("crop", "width", width)
    if min(top, left) < 0 or min(height, width) < 1 or top + height > rows or left + width > columns:
        raise ValueError(
            f"crop: {height} x {width} pixels from row {top} and column {left} on are not inside a picture of {rows} x "
            f"{columns} pixels"
        )
    return img[..., top : top + height, left : left + width]


# ---------- colours ----------


def adjust_brightness(img: Any, brightness_factor: float, inplace: bool = False) -> Any:
    """Multiply every element by ``brightness_factor``, and limit the result to the range 0 to 1.

    Args:
        img: a picture of floats, of shape [..., channels, height, width]; the result has that shape.

    Raises:
        ValueError: if the factor is below 0; if ``img`` has another shape, or does not hold floats.
        TypeError: if ``img`` is not a tensor.
    """
    _check_factor("adjust_brightness", "brightness_factor", brightness_factor)
    out = _target("adjust_brightness", img, inplace)
    return FUNCTIONS["clip_"](FUNCTIONS["scale_"](out, float(brightness_factor)), 0.0, 1.0)


def adjust_contrast(img: Any, contrast_factor: float, inplace: bool = False) -> Any:
    """Multiply every element's distance from its picture's mean grey by ``contrast_factor``.

    The result is limited to the range 0 to 1.

    Args:
        img: a picture of floats, of shape [..., 3, height, width]; the result has that shape.

    Raises:
        ValueError: if the factor is below 0; if ``img`` has another shape, or does not hold floats.
        TypeError: if ``img`` is not a tensor.
    """
    _check_factor("adjust_contrast", "contrast_factor", contrast_factor)
    out = _target("adjust_contrast", img, inplace, 3)
    return _blend(out, FUNCTIONS["mean"](_grey(out), [-3, -2, -1], True), contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float, inplace: bool = False) -> Any:
    """Multiply every element's distance from the grey of its pixel by ``saturation_factor``.

    The result is limited to the range 0 to 1.

    Args:
        img: a picture of floats, of shape [..., 3, height, width]; the result has that shape.

    Raises:
        ValueError: if the factor is below 0; if ``img`` has another shape, or does not hold floats.
        TypeError: if ``img`` is not a tensor.
    """
    _check_factor("adjust_saturation", "saturation_factor", saturation_factor)
    out = _target("adjust_saturation", img, inplace, 3)
    return _blend(out, _grey(out), saturation_factor)


def color_jitter(
    img: Any, brightness: float = 0.0, contrast: float = 0.0, saturation: float = 0.0, inplace: bool = False
) -> Any:
    """Change brightness, contrast and saturation, in this order, by random factors.

    Each factor is between ``1 - s`` (but at least 0) and ``1 + s``, where ``s`` is the argument ``brightness``,
    ``contrast`` or ``saturation``. The engine's generator draws the factors; ``minitensor.seed`` seeds it.

    Args:
        img: a picture of floats, of shape [..., 3, height, width]; the result has that shape. If only the brightness
            changes, any number of channels is allowed.

    Raises:
        ValueError: if ``img`` has another shape, or if a setting is not a number of at least 0.
        TypeError: if ``img`` is not a tensor.
    """
    changes = ((adjust_brightness, brightness), (adjust_contrast, contrast), (adjust_saturation, saturation))
    # All settings are checked before the first draw, so that a wrong one leaves the generator unchanged.
    for change, most in changes:
        _check_factor("color_jitter", change.__name__.removeprefix("adjust_"), most)
    out = _target("color_jitter", img, inplace, 3 if contrast or saturation else None)
    for change, most in changes:
        if most:
            change(out, source.generator.uniform(max(0.0, 1 - most), 1 + most), inplace=True)
    return out


def _grey(img: Any) -> Any:
    red, green, blue = (img[..., i : i + 1, :, :] for i in range(3))
    return red * LUMA[0] + green * LUMA[1] + blue * LUMA[2]


def _blend(out: Any, other: Any, factor: float) -> Any:
    """Write ``factor * out + (1 - factor) * other``, limited to the range 0 to 1, into ``out``."""
    FUNCTIONS["add_"](FUNCTIONS["scale_"](out, float(factor)), other * (1 - float(factor)))
    return FUNCTIONS["clip_"](out, 0.0, 1.0)


def _check_factor(op: str, name: str, factor: Any) -> None:
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 <= factor < math.inf:
        raise ValueError(f"{op}: {name} must be a finite number of at least 0, not {shown(factor)}")


# ---------- normalization ----------


def normalize(img: Any, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Any:
    """Return ``(img - mean) / std`` for each channel.

    Args:
        img: a picture of floats, of shape [..., channels, height, width]; the result has that shape.
        mean, std: one number for each channel, or one for all.

    Raises:
        ValueError: if ``mean`` or ``std`` has neither one number nor one for each channel, or if a deviation is 0.
        TypeError: if ``img`` is not a tensor.
    """
    channels = _check_picture("normalize", img).shape[-3]
    mean, std = (checks.elements("normalize", name, given, "numbers") for name, given in (("mean", mean), ("std", std)))
    for name, numbers in (("mean", mean), ("std", std)):
        for each in numbers:
            checks.real("normalize", name, each)
        if len(numbers) not in (1, channels):
            raise ValueError(f"normalize: {name} must have one number for each of {channels} channels, not {numbers}")
    if any(each == 0 for each in std):
        raise ValueError(f"normalize: std must not contain 0, because the picture is divided by it, but it is {std}")
    out = _target("normalize", img, inplace)
    means, deviations = (Tensor._made(_per_channel(out, numbers)) for numbers in (mean, std))
    return FUNCTIONS["divide_"](FUNCTIONS["subtract_"](out, means), deviations)


def _per_channel(out: Any, numbers: Sequence[float]) -> Any:
    """Return ``numbers`` as an array of shape [len(numbers), 1, 1], in the dtype and on the device of ``out``."""
    array = np.empty_like(out._array, shape=(len(numbers), 1, 1), order="C")
    for i, number in enumerate(numbers):
        array[i] = number
    return array


def instance_normalize(img: Any, eps: float = 1e-5, inplace: bool = False) -> Any:
    """Normalize each channel of each picture to mean 0 and variance 1, as style transfer networks do with features.

    If the picture requires no gradient, the function allocates only a few numbers for each channel and, unless
    ``inplace`` is true, the result. If the picture requires a gradient, use ``nn.functional.instance_norm`` instead:
    the backward pass of this function raises an error, because the function overwrites elements that the gradient of
    the variance needs.

    Args:
        img: a picture of floats, of shape [..., channels, height, width]; the result has that shape.

    Raises:
        ValueError: if ``img`` has another shape, or does not hold floats.
        TypeError: if ``img`` is not a tensor.
    """
    eps = checks.real("instance_normalize", "eps", eps)  # check `eps` before the picture is overwritten
    out = _target("instance_normalize", img, inplace)
    FUNCTIONS["subtract_"](out, FUNCTIONS["mean"](out, [-2, -1], True))
    if out.stop_gradient:
        square = np.einsum("...ij,...ij->...", out._array, out._array)[..., None, None] / math.prod(out.shape[-2:])
        spread: Any = Tensor._made(square.astype(out._array.dtype))
    else:
        spread = FUNCTIONS["mean"](FUNCTIONS["square"](out), [-2, -1], True)
    return FUNCTIONS["multiply_"](out, FUNCTIONS["rsqrt"](spread + eps))


def __getattr__(name: str) -> object:
    raise missing(__name__, name, [each for each in globals() if not each.startswith("_")])
