"""``torch.cuda.amp``: older names of ``torch.amp.autocast("cuda")`` and ``torch.amp.GradScaler("cuda")``."""

from __future__ import annotations

from typing import Any

from minitensor.torch import amp
from minitensor.torch.dtypes import float16
from minitensor.torch.errors import missing_in, warn

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """The older name of ``torch.amp.autocast("cuda", ...)``. Its use causes a FutureWarning.

    Args:
        enabled: False to cast nothing in the block, even if it is inside another ``autocast``.
        dtype: float16 or bfloat16.
        cache_enabled: False to cast a parameter at every use.
    """

    __slots__ = ()

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True) -> None:
        _warn("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """The older name of ``torch.amp.GradScaler("cuda", ...)``. Its use causes a FutureWarning.

    The arguments are those of ``torch.amp.GradScaler``, without the device.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn("GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def _warn(name: str) -> None:
    warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
    )


__getattr__ = missing_in("torch.cuda.amp", lambda: __all__)
