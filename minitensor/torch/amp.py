"""Mixed precision: ``torch.autocast`` casts operands to 16 bits, and ``GradScaler`` scales the loss so that small
gradients do not round to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autocasting import TORCH_CPU, TORCH_CUDA, Casts, Context
from minitensor.engine.autograd.loss_scaling import LossScale
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import HALVES
from minitensor.engine.kernels.numbers import number
from minitensor.engine.modes import modes
from minitensor.torch.dtypes import BY_NUMPY, bfloat16, device, dtype_of, float16
from minitensor.torch.dtypes import dtype as DType  # `device` is the name of a parameter in this module
from minitensor.torch.errors import missing_in, warn
from minitensor.torch.operands import cast

__all__ = ["GradScaler", "autocast", "is_autocast_available"]

_LISTS = {"cpu": (TORCH_CPU, bfloat16), "cuda": (TORCH_CUDA, float16)}


class autocast:
    """Cast the operands of products to 16 bits, and those of losses and other functions to float32, in a block or a
    function.

    Use it as ``with torch.autocast("cpu"): ...`` or ``@torch.autocast("cpu")``. The operands of in-place operations and
    float64 operands are not cast. A parameter is cast once for each of its versions, and a product saves that copy for
    backward.

    Args:
        device_type: "cpu" or "cuda", whose lists of operations apply.
        dtype: float16 or bfloat16; by default bfloat16 on the CPU, and float16 on CUDA.
        enabled: False to cast nothing in the block, even within another context.
        cache_enabled: False to cast a parameter at every use.

    Raises:
        RuntimeError: if ``device_type`` is another device.
        ImportError: if ``dtype`` is bfloat16 and the package ml_dtypes is not installed.
    """

    __slots__ = ("_context", "_enabled", "device", "fast_dtype")

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        lists, usual = _LISTS[self.device]
        self.fast_dtype = usual if dtype is None else dtype_of(dtype)
        self._enabled = bool(enabled)
        if self._enabled and self.fast_dtype.numpy not in HALVES:
            warn(
                f"In {self.device.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{self.device.upper()} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            self._enabled = False
        casts = Casts(self.fast_dtype, lists, cast, cache_enabled is not False) if self._enabled else None
        self._context = Context(casts)

    def __enter__(self) -> autocast:
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs ``function`` inside the context."""
        return self._context.decorated(function)


def is_autocast_available(device_type: str) -> bool:
    """True for "cpu" and "cuda".

    Raises:
        TypeError: if ``device_type`` is not text.
    """
    checks.text("is_autocast_available()", "device_type", device_type)
    return device_type in _LISTS


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """True if operands are cast in this thread.

    Raises:
        TypeError: if ``device_type`` is not text.
    """
    if device_type is not None:
        checks.text("is_autocast_enabled()", "device_type", device_type)
    lists = TORCH_CPU if device_type == "cpu" else TORCH_CUDA
    return modes.casts is not None and (device_type is None or modes.casts.lists is lists)


def get_autocast_dtype(device_type: str) -> DType:
    """Return the dtype to which ``autocast`` casts products in this thread, or its default outside of such a context.

    Raises:
        RuntimeError: for a device other than "cpu" and "cuda".
    """
    lists, usual = _LISTS[device(device_type).type]
    return BY_NUMPY[modes.casts.low] if modes.casts is not None and modes.casts.lists is lists else usual


class GradScaler:
    """Multiply losses, divide gradients, and skip steps with inf or nan.

    A step is ``scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()``, with
    ``scaler.unscale_(optimizer)`` in between if gradients are clipped.

    Args:
        device: is not used.
        init_scale: the first factor of a loss.
        growth_factor, growth_interval: the scale is multiplied by ``growth_factor`` after ``growth_interval`` steps in
            a row without inf or nan.
        backoff_factor: the scale is multiplied by this number after a step with inf or nan.
        enabled: False for a scaler that changes nothing.

    Raises:
        AssertionError: if ``growth_factor`` is not above 1, or ``backoff_factor`` is not below 1.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        enabled = checks.flag("GradScaler()", "enabled", enabled)
        init_scale = checks.real("GradScaler()", "init_scale", init_scale)
        growth_factor = checks.real("GradScaler()", "growth_factor", growth_factor)
        backoff_factor = checks.real("GradScaler()", "backoff_factor", backoff_factor)
        growth_interval = checks.integer("GradScaler()", "growth_interval", growth_interval)
        if enabled and not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._rule = LossScale(float(init_scale), growth_factor, backoff_factor, growth_interval)

    def scale(self, outputs: Any) -> Any:
        """Return a tensor multiplied by the scale, or a list or tuple with each tensor multiplied.

        Raises:
            ValueError: if ``outputs`` is anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, BaseTensor):
            return outputs * self._rule.scale
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place.

        Raises:
            RuntimeError: if that was done since the last update.
            ValueError: if a gradient is float16. Mixed precision trains float32 parameters, whose gradients are
                float32.
        """
        if not self._enabled:
            return
        gradients = [x.grad for group in optimizer.param_groups for x in group["params"] if x.grad is not None]
        if any(g._array.dtype == float16.numpy for g in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        self._rule.unscale(optimizer, gradients)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``optimizer.step(*args, **kwargs)`` with unscaled gradients, unless one of them contains inf or nan.

        Raises:
            RuntimeError: if that was done since the last update.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        return optimizer.step(*args, **kwargs) if self._rule.may_step(optimizer, self.unscale_) else None

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale after the steps of all optimizers, or set it to ``new_scale``.

        Raises:
            AssertionError: if no gradient was unscaled since the last update.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._rule.scale = float(number("GradScaler.update()", "new_scale", new_scale))
        elif not self._rule.found:
            raise AssertionError("No inf checks were recorded prior to update.")
        else:
            self._rule.update(any(self._rule.found.values()))
        self._rule.next_step()

    def get_scale(self) -> float:
        """Return the scale."""
        return self._rule.scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._rule.growth

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale is reduced."""
        return self._rule.backoff

    def get_growth_interval(self) -> int:
        """Return the number of consecutive steps without inf or nan after which the scale grows."""
        return self._rule.interval

    def is_enabled(self) -> bool:
        """True if the scaler scales losses; False if it was created with ``enabled=False``."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, the settings by which it changes, and the number of consecutive steps without inf or
        nan.
        """
        rule = self._rule
        if not self._enabled:
            return {}
        return {
            "scale": rule.scale,
            "growth_factor": rule.growth,
            "backoff_factor": rule.backoff,
            "growth_interval": rule.interval,
            "_growth_tracker": rule.good,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the ``state_dict`` of another scaler.

        Raises:
            RuntimeError: if ``state_dict`` is empty, because the other scaler was disabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._rule = replace(
            self._rule,
            scale=state_dict["scale"],
            growth=state_dict["growth_factor"],
            backoff=state_dict["backoff_factor"],
            interval=state_dict["growth_interval"],
            good=state_dict["_growth_tracker"],
            bad=0,
        )


__getattr__ = missing_in("torch.amp", lambda: __all__)
