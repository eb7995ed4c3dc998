"""Mixed precision: ``torch.autocast`` casts operands to 16 bits, and ``GradScaler`` scales the loss so that small
gradients do not round to 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autocasting import TORCH_CPU, TORCH_CUDA, Casts, Context
from minitensor.engine.autograd.loss_scaling import LossScale, read_state
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import HALVES
from minitensor.engine.kernels.numbers import number
from minitensor.engine.modes import modes
from minitensor.torch.dtypes import BY_NUMPY, bfloat16, device, dtype_of, float16
from minitensor.torch.dtypes import dtype as DType  # `dtype` is the name of a parameter in this module
from minitensor.torch.errors import missing_in, warn
from minitensor.torch.operands import cast
from minitensor.torch.optim.optimizer import Optimizer

__all__ = ["GradScaler", "autocast", "is_autocast_available"]

#: Maps a device to ``autocast``'s lists of operations and its default dtype.
_LISTS = {"cpu": (TORCH_CPU, bfloat16), "cuda": (TORCH_CUDA, float16)}


class autocast(Context):
    """Cast the operands of products to 16 bits, and the operands of losses and some other functions to float32.

    Use it as ``with torch.autocast("cpu"): ...`` or ``@torch.autocast("cpu")``. The operands of in-place operations and
    float64 operands are not cast. A parameter is cast again only after a write has changed its version, and a product
    saves the cast copy for backward.

    Args:
        device_type: "cpu" or "cuda". The two devices have different lists of the operations whose operands are cast.
        dtype: float16 or bfloat16; by default bfloat16 on the CPU, and float16 on CUDA.
        enabled: False to cast nothing in the block, even if it is inside another ``autocast``.
        cache_enabled: False to cast a parameter at every use.

    Raises:
        RuntimeError: if ``device_type`` is another device.
        ValueError: if ``device_type`` is not text.
        ImportError: if ``dtype`` is bfloat16 and the package ml_dtypes is not installed.
    """

    __slots__ = ("_enabled", "device", "fast_dtype")

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        lists, usual = _LISTS[self.device]
        self.fast_dtype = usual if dtype is None else dtype_of(dtype)
        self._enabled = checks.flag("autocast()", "enabled", enabled)
        has_cache = cache_enabled is None or checks.flag("autocast()", "cache_enabled", cache_enabled)
        if self._enabled and self.fast_dtype.numpy not in HALVES:
            warn(
                f"In {self.device.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{self.device.upper()} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            self._enabled = False
        casts = Casts(self.fast_dtype, lists, cast, has_cache) if self._enabled else None
        super().__init__(casts)

    def __enter__(self) -> autocast:  # type: ignore[override]  # PyTorch's returns the context
        super().__enter__()
        return self


def is_autocast_available(device_type: str) -> bool:
    """True for "cpu" and "cuda".

    Raises:
        TypeError: if ``device_type`` is not text.
    """
    checks.text("is_autocast_available()", "device_type", device_type)
    return device_type in _LISTS


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """True if an ``autocast`` casts operands in this thread; with ``device_type``, only if it is for this device.

    Raises:
        TypeError: if ``device_type`` is not text.
    """
    if device_type is not None:
        checks.text("is_autocast_enabled()", "device_type", device_type)
    if modes.casts is None or device_type is None:
        return modes.casts is not None
    return device_type in _LISTS and modes.casts.lists is _LISTS[device_type][0]


def get_autocast_dtype(device_type: str) -> DType:
    """Return the dtype to which ``autocast`` casts the operands of products in this thread. If no ``autocast`` for this
    device is active, return its default dtype.

    Raises:
        RuntimeError: for a device other than "cpu" and "cuda".
        TypeError: if ``device_type`` is not text.
    """
    checks.text("get_autocast_dtype()", "device_type", device_type)
    lists, usual = _LISTS[device(device_type).type]
    return BY_NUMPY[modes.casts.low] if modes.casts is not None and modes.casts.lists is lists else usual


# Paddle's scaler has other names, errors and settings, so the two scalers share only the engine's rule, `LossScale`.
#: Maps the keys of a scaler's ``state_dict`` to attributes of ``LossScale``.
_STATE = {
    "scale": "scale",
    "growth_factor": "growth",
    "backoff_factor": "backoff",
    "growth_interval": "interval",
    "_growth_tracker": "good",
}
#: How deep a scaler searches nested iterables for tensors.
_DEEPEST = 64


class GradScaler:
    """Scale losses so that small 16-bit gradients do not round to 0, and skip steps whose gradients contain inf or nan.

    A step is ``scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()``, with
    ``scaler.unscale_(optimizer)`` in between if gradients are clipped.

    Args:
        device: has no effect.
        init_scale: the initial scale.
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
        checks.text("GradScaler()", "device", device)
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
        """Multiply a tensor, or all tensors in nested iterables, by the scale.

        The result for a list or a tuple has the same type. The result for any other iterable is an iterator.

        Raises:
            ValueError: if ``outputs`` is neither a tensor nor an iterable.
        """
        return self._scaled(outputs, 0) if self._enabled else outputs

    def _scaled(self, outputs: Any, depth: int) -> Any:
        if isinstance(outputs, BaseTensor):
            return outputs * self._rule.scale
        if depth < _DEEPEST and checks.is_iterable(outputs):
            scaled = (self._scaled(each, depth + 1) for each in outputs)
            if not isinstance(outputs, (list, tuple)):
                return scaled
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        raise ValueError(
            f"outputs must be a Tensor or an iterable of Tensors\nGradScaler.scale() got {shown(outputs)}"
            f"{f' inside {depth} iterables' if depth else ''}."
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place.

        Raises:
            RuntimeError: if the gradients of this optimizer were already divided since the last update.
            ValueError: if a gradient is float16. Mixed precision trains float32 parameters, whose gradients are
                float32.
            TypeError: if ``optimizer`` is not an optimizer.
        """
        _need_optimizer("unscale_", optimizer)
        if not self._enabled:
            return
        gradients = [x.grad for group in optimizer.param_groups for x in group["params"] if x.grad is not None]
        if any(g._array.dtype == float16.numpy for g in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        self._rule.unscale(optimizer, gradients)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``optimizer.step(...)`` unless a gradient contains inf or nan.

        The gradients are divided by the scale first, unless :meth:`unscale_` has already divided them.

        Returns:
            The result of the step; None if it was skipped.

        Raises:
            RuntimeError: if this optimizer has made a step since the last update, or if a closure is given.
            TypeError: if ``optimizer`` is not an optimizer.
        """
        _need_optimizer("step", optimizer)
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        is_own = type(optimizer).step is Optimizer.step
        if "closure" in kwargs or (is_own and args):
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if is_own and kwargs:
            raise TypeError(f"GradScaler.step() got an unexpected keyword argument '{next(iter(kwargs))}'")
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
        """Return the scale; 1.0 if the scaler is disabled."""
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
        """Return a dict of the scale, the settings for its changes, and the number of consecutive steps without inf or
        nan. The dict of a disabled scaler is empty.
        """
        return {key: getattr(self._rule, name) for key, name in _STATE.items()} if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the ``state_dict`` of another scaler.

        Raises:
            RuntimeError: if ``state_dict`` is empty, because the other scaler was disabled.
            TypeError, ValueError: if an entry has the wrong type or is missing. Nothing is loaded then.
        """
        if not self._enabled:
            return
        if isinstance(state_dict, dict) and not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        reals = ("scale", "growth_factor", "backoff_factor")
        checked = {key: checks.real if key in reals else checks.integer for key in _STATE}
        found = read_state("GradScaler.load_state_dict()", state_dict, checked)
        self._rule = replace(self._rule, bad=0, **{name: found[key] for key, name in _STATE.items()})


def _need_optimizer(method: str, given: Any) -> None:
    checks.instance(f"GradScaler.{method}()", "optimizer", given, Optimizer, "an optimizer of torch.optim")


__getattr__ = missing_in("torch.amp", lambda: __all__)
