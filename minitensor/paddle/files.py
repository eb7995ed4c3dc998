"""``save`` and ``load`` under Paddle's names: tensors and plain values in a file, without pickle."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import to_tensor
from minitensor.engine.device.places import current
from minitensor.engine.dtypes import DType, dtype_of
from minitensor.engine.files.archive import Unreadable
from minitensor.engine.files.transfer import load_from, save_to


def save(obj: Any, path: Any, protocol: int = 4) -> None:
    """Write tensors, state dicts and plain values into the file ``path``, a path or an open file.

    As in Paddle, each tensor is written separately, so tensors that share memory do not share it after loading.
    Gradients are not saved. The old file at a path is replaced only when the new one is complete. Missing folders are
    created.

    Args:
        protocol: the version of the pickle format in Paddle (2, 3 or 4). It has no effect, because minitensor's file
            contains no pickle.

    Raises:
        TypeError: if ``obj`` contains anything but tensors and plain values.
        ValueError: if ``obj`` is a layer (save its ``state_dict()``), if ``path`` is not a path or an open file, or if
            ``protocol`` is another number.
        IsADirectoryError: if ``path`` is a folder.
    """
    if not isinstance(protocol, int) or not 1 < protocol < 5:
        raise ValueError(f"Expected 1<'protocol'<5, but received protocol={shown(protocol)}")
    if hasattr(obj, "state_dict") and hasattr(obj, "forward"):
        raise ValueError(
            f"paddle do not support saving `paddle.nn.Layer` object. This one is a {type(obj).__name__}: save its "
            "state_dict(), and load that into a new layer."
        )
    if isinstance(obj, dict) and not obj:
        warnings.warn("The input state dict is empty, no need to save.", stacklevel=2)
    if not hasattr(path, "write"):
        path = _need_path(path)
        folder, name = os.path.split(os.fsdecode(path))
        if not name:
            raise ValueError("The input path MUST be format of dirname/filename, but received filename is empty string")
        if os.path.isdir(path):
            raise IsADirectoryError(21, os.strerror(21), os.fsdecode(path))
        if folder:
            os.makedirs(folder, exist_ok=True)
    save_to("save", obj, path, _describe, keeps_sharing=False)


def load(path: Any, return_numpy: bool = False) -> Any:
    """Load a file that :func:`save` wrote. ``path`` is a path or an open file; the tensors are on the current device.

    Args:
        return_numpy: True to return numpy arrays instead of tensors; otherwise saved arrays are returned as tensors.

    Raises:
        ValueError: if there is no such file, or if it is damaged, truncated or a pickle. Nothing is loaded then.
    """
    return_numpy = checks.flag("load", "return_numpy", return_numpy)
    if not hasattr(path, "read"):
        path = _need_path(path)
        if not os.path.exists(path):
            raise ValueError(f"The ``path`` ({os.fsdecode(path)}) to load model not exists.")
        if os.path.isdir(path):
            raise ValueError(f"The ``path`` ({os.fsdecode(path)}) is a folder; load reads a file.")
    try:
        return load_from(
            path,
            restorers={"dtype": dtype_of},
            kinds={"": _array if return_numpy else _tensor},
            where=lambda place: None if return_numpy else current.gpu,
            array=(lambda array: array) if return_numpy else to_tensor,
        )
    except Unreadable as error:
        raise ValueError(f"load: {error}") from None


def _need_path(path: Any) -> str | bytes:
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ValueError(f"only supports saving objects to file and `BytesIO`, but got {type(path)}")
    return checks.path_or_empty("save() or load()", "path", path)


def _describe(value: Any) -> tuple[str, Any] | None:
    return ("dtype", value.name) if isinstance(value, DType) else None


def _tensor(x: Tensor, entry: dict[str, Any]) -> Tensor:
    if entry["name"] is not None:
        x.name = entry["name"]
    return x


def _array(x: Tensor, entry: dict[str, Any]) -> np.ndarray:
    return x.numpy()
