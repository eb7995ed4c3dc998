"""``torch.save`` and ``torch.load``: tensors and plain values in a file, without pickle."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.places import device_named
from minitensor.engine.dtypes import DType
from minitensor.engine.files.archive import Unreadable
from minitensor.engine.files.transfer import load_from, save_to
from minitensor.torch.dtypes import Size, device, dtype_of, engine_place
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.tensor import as_torch


def save(obj: Any, f: Any) -> None:
    """Write tensors, state dicts and plain values to the file ``f``, a path or an open file.

    As in PyTorch, a storage is written once and completely. Therefore tensors that share memory share it again after
    loading. A small view needs as many bytes in the file as its whole storage. To avoid that, save ``x.clone()``.
    Gradients and histories are not saved. An old file at the path is replaced only when the new one is complete.

    Raises:
        TypeError: if a value is neither a tensor nor a plain value. A module is refused, for example: save its
            ``state_dict()``.
        RuntimeError: if the folder does not exist.
        AttributeError: if ``f`` is neither a path nor an open file.
    """
    if not hasattr(f, "write"):
        if not isinstance(f, (str, bytes, os.PathLike)):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        f = checks.path_or_empty("torch.save()", "f", f)
        folder = os.path.dirname(os.fsdecode(f))
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
    save_to("torch.save", obj, f, _describe, keeps_sharing=True)


def load(f: Any, map_location: Any = None, *, weights_only: bool | None = None) -> Any:
    """Return the content of a file that :func:`save` wrote. Tensors are created on the devices on which they were
    saved.

    Loading never runs code from the file, whether ``weights_only`` is true or false.

    Args:
        f: a path or an open file.
        map_location: the device for all tensors, or a dict from device to device such as ``{"cuda:0": "cpu"}``, or a
            function ``f(storage, device)``. The function returns ``storage`` for the host, ``storage.cuda()`` for the
            GPU, or None for the device on which the tensor was saved.

    Raises:
        OSError: if there is no such file.
        RuntimeError: if the file is damaged, truncated or a pickle. Nothing is loaded then.
        AttributeError: if ``f`` is neither a path nor an open file.
    """
    if not hasattr(f, "read") and not isinstance(f, (str, bytes, os.PathLike)):
        raise AttributeError(
            f"torch.load(): f must be a path or an open file, not {type(f).__name__}: it has no 'seek'. You can only "
            "torch.load from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO and try "
            "to load from it instead."
        )
    f = f if hasattr(f, "read") else checks.path_or_empty("torch.load()", "f", f)
    kinds = {"Parameter": _parameter, "": _tensor}
    try:
        return load_from(f, restorers=_RESTORERS, kinds=kinds, where=lambda place: _gpu_for(map_location, place))
    except Unreadable as error:
        raise RuntimeError(f"torch.load: {error}") from None


def _describe(value: Any) -> tuple[str, Any] | None:
    if isinstance(value, Size):
        return "Size", list(value)
    if isinstance(value, DType):
        return "dtype", value.name
    return ("device", str(value)) if isinstance(value, device) else None


_RESTORERS: dict[str, Callable[[Any], Any]] = {"Size": Size, "dtype": dtype_of, "device": device}


def _tensor(x: BaseTensor, entry: dict[str, Any]) -> Any:
    loaded = as_torch(x)
    if entry["wants"]:
        loaded.requires_grad = True
    return loaded


def _parameter(x: BaseTensor, entry: dict[str, Any]) -> Parameter:
    return Parameter(as_torch(x), requires_grad=entry["wants"])


# ---------- devices ----------


class _Storage:
    """The argument ``storage`` of a function ``map_location``. Its methods return a storage on the chosen device."""

    def __init__(self, place: str = "cpu") -> None:
        self.place = place

    def cpu(self) -> _Storage:
        return self

    def cuda(self, device: Any = None) -> _Storage:
        return _Storage("cuda" if device is None else str(_device(device)))


def _gpu_for(given: Any, place: str) -> Any:
    """Return the GPU for a tensor that was saved on ``place``; None means the host."""
    tag = "cpu" if place == "cpu" else "cuda:0"
    if isinstance(given, dict):
        given = given.get(tag, tag)
    elif callable(given):
        chosen = given(_Storage(), tag)
        if chosen is not None and not isinstance(chosen, _Storage):
            raise RuntimeError(f"map_location returns the storage, or storage.cuda(), not {type(chosen).__name__}")
        given = tag if chosen is None else chosen.place
    return device_named("load", engine_place(_device(tag if given is None else given)))


def _device(given: Any) -> device:
    try:
        return device(given)
    except RuntimeError:
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {given})\n"
            "minitensor has 'cpu' and 'cuda'."
        ) from None
