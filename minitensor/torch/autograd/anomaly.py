"""Anomaly detection: if the backward of an operation fails or computes nan, report the call of the operation."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.device.arrays import host_array
from minitensor.engine.events import Event, NodeEntered, NodeVisited, listening, watch
from minitensor.torch import errors
from minitensor.torch.errors import anomaly
from minitensor.torch.grad_fn import function_name


class set_detect_anomaly:
    """Switch anomaly detection on or off immediately. As a context manager, restore the former state at the end.

    Args:
        mode: True to switch it on.
        check_nan: False to accept nan in gradients.
    """

    __slots__ = ("_before",)

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        mode = checks.flag("set_detect_anomaly()", "mode", mode)
        check_nan = checks.flag("set_detect_anomaly()", "check_nan", check_nan)
        self._before = anomaly.on, anomaly.check_nan
        anomaly.on, anomaly.check_nan = mode, check_nan

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        anomaly.on, anomaly.check_nan = self._before


class detect_anomaly(set_detect_anomaly):
    """Switch anomaly detection on inside the ``with`` block."""

    __slots__ = ()

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


@contextlib.contextmanager
def pytorch_errors() -> Iterator[None]:
    """In a block that runs ``backward()``, raise PyTorch's errors about overwritten and freed tensors instead of the
    engine's.

    If anomaly detection is on, also report the operation whose backward failed.
    """
    try:
        with _detection() if anomaly.on else contextlib.nullcontext():
            yield
    except RuntimeError as error:
        if not hasattr(error, "lost"):
            raise
        raise errors.lost(error) from None


@contextlib.contextmanager
def _detection() -> Iterator[None]:
    before = watch.listener
    current: Any = None

    def listen(event: Event) -> None:
        nonlocal current
        match event:
            case NodeEntered(node):
                current = node
            case NodeVisited(node, _, sent) if anomaly.check_nan:
                for i, (_, g) in enumerate(sent):
                    if np.isnan(host_array(g)).any():
                        raise RuntimeError(f"Function '{function_name(node)}' returned nan values in its {i}th output.")
        if before is not None:
            before(event)

    try:
        with listening(listen):
            yield
    except RuntimeError:
        if current is not None:
            warnings.warn(
                f"Error detected in {function_name(current)}. Traceback of forward call that caused the error:\n"
                f"  {current.place}",
                UserWarning,
                stacklevel=4,
            )
        raise
