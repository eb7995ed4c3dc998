"""``GradScaler``: multiply losses, divide gradients, and skip steps whose gradients contain inf or nan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minitensor.engine import checks
from minitensor.engine.autograd.loss_scaling import LossScale, read_state
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.optimizer.optimizer import Optimizer

#: Maps the keys of a scaler's ``state_dict`` to attributes of the engine's ``LossScale``.
_STATE = {
    "scale": "scale",
    "incr_ratio": "growth",
    "decr_ratio": "backoff",
    "incr_every_n_steps": "interval",
    "decr_every_n_nan_or_inf": "patience",
    "incr_count": "good",
    "decr_count": "bad",
}


class GradScaler:
    """Scale losses so that small 16-bit gradients do not round to 0, and skip steps whose gradients contain inf or nan.

    A training step is ``scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()``, or
    ``scaled = scaler.scale(loss); scaled.backward(); scaler.minimize(optimizer, scaled)``.

    Args:
        enable: False for a scaler that changes nothing.
        init_loss_scaling: the initial scale, by which losses are multiplied.
        incr_ratio, incr_every_n_steps: the scale is multiplied by ``incr_ratio`` after ``incr_every_n_steps`` steps in
            a row without inf or nan.
        decr_ratio, decr_every_n_nan_or_inf: the scale is multiplied by ``decr_ratio`` after ``decr_every_n_nan_or_inf``
            steps in a row with inf or nan.
        use_dynamic_loss_scaling: False to keep the scale constant.

    Raises:
        ValueError: if ``incr_ratio`` is not above 1, or ``decr_ratio`` is not between 0 and 1.
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 2.0**16,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        op = "GradScaler"
        self._enabled = checks.flag(op, "enable", enable)
        self._is_dynamic = checks.flag(op, "use_dynamic_loss_scaling", use_dynamic_loss_scaling)
        scale = checks.real(op, "init_loss_scaling", init_loss_scaling)
        growth, backoff = checks.real(op, "incr_ratio", incr_ratio), checks.real(op, "decr_ratio", decr_ratio)
        if not growth > 1.0:
            raise ValueError(f"GradScaler: incr_ratio must be above 1, not {shown(incr_ratio)}")
        if not 0.0 < backoff < 1.0:
            raise ValueError(f"GradScaler: decr_ratio must be between 0 and 1, not {shown(decr_ratio)}")
        interval = checks.integer(op, "incr_every_n_steps", incr_every_n_steps)
        patience = checks.integer(op, "decr_every_n_nan_or_inf", decr_every_n_nan_or_inf)
        self._rule = LossScale(float(scale), growth, backoff, interval, patience)

    def scale(self, var: Any) -> Any:
        """Return the loss times the scale; the loss itself if the scaler is disabled.

        Raises:
            TypeError: if ``var`` is not a tensor.
        """
        if not isinstance(var, Tensor):
            raise TypeError(f"GradScaler.scale: the loss must be a Tensor, not {type(var).__name__}")
        return var * self._rule.scale if self._enabled else var

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place.

        Raises:
            RuntimeError: if the gradients of this optimizer were already divided since the last update.
            TypeError: if ``optimizer`` is not an optimizer.
        """
        _need_optimizer("unscale_", optimizer)
        if self._enabled:
            self._rule.unscale(optimizer, (x.grad for x in optimizer._parameters if x.grad is not None))

    def step(self, optimizer: Any) -> None:
        """Call ``optimizer.step()`` unless a gradient contains inf or nan.

        The gradients are divided by the scale first, unless :meth:`unscale_` has already divided them.

        Raises:
            RuntimeError: if :meth:`step` was already called for this optimizer since the last update.
            TypeError: if ``optimizer`` is not an optimizer.
        """
        _need_optimizer("step", optimizer)
        if not self._enabled or self._rule.may_step(optimizer, self.unscale_):
            optimizer.step()

    def update(self) -> None:
        """Adapt the scale. Call this once per iteration, after the steps of all optimizers."""
        if self._enabled and self._is_dynamic and self._rule.found:
            self._rule.update(any(self._rule.found.values()))
        self._rule.next_step()

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        """Call ``step(optimizer)`` and ``update()``. The other arguments, such as the scaled loss, have no effect.

        Raises:
            RuntimeError, TypeError: as :meth:`step` does.
        """
        _need_optimizer("minimize", optimizer)
        self.step(optimizer)
        self.update()

    def is_enable(self) -> bool:
        """True if the scaler scales losses; False if it was created with ``enable=False``."""
        return self._enabled

    def is_use_dynamic_loss_scaling(self) -> bool:
        """True if the scale adapts to inf and nan in the gradients."""
        return self._is_dynamic

    def get_loss_scaling(self) -> float:
        """Return the scale."""
        return self._rule.scale

    def state_dict(self) -> dict[str, Any]:
        """Return the scale, its settings, and the numbers of consecutive steps without and with inf or nan.

        If the scaler was created with ``enable=False``, the state is empty.
        """
        if not self._enabled:
            return {}
        own = {key: getattr(self._rule, name) for key, name in _STATE.items()}
        return {**own, "use_dynamic_loss_scaling": self._is_dynamic}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the ``state_dict`` of another scaler. If this scaler is disabled, do nothing.

        Raises:
            RuntimeError: if ``state_dict`` is empty, because the other scaler was disabled.
            TypeError, ValueError: if an entry has the wrong type or is missing. Nothing is loaded then.
        """
        if not self._enabled:
            return
        op = "GradScaler.load_state_dict"
        if isinstance(state_dict, dict) and not state_dict:
            raise RuntimeError(f"{op}: the state is empty, so it belongs to a disabled scaler")
        reals = ("scale", "incr_ratio", "decr_ratio")
        checked = {key: checks.real if key in reals else checks.integer for key in _STATE}
        found = read_state(op, state_dict, {**checked, "use_dynamic_loss_scaling": checks.flag})
        self._rule = replace(self._rule, **{name: found[key] for key, name in _STATE.items()})
        self._is_dynamic = found["use_dynamic_loss_scaling"]


def _need_optimizer(method: str, given: Any) -> None:
    checks.instance(f"GradScaler.{method}", "optimizer", given, Optimizer, "an optimizer of minitensor.optimizer")
