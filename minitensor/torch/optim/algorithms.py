"""Optimizers. Each step writes once, in place, into every parameter that has a gradient.

The options ``foreach``, ``fused`` and ``capturable`` are stored but have no effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minitensor.engine import checks
from minitensor.torch.creation import tensor
from minitensor.torch.creation_like import zeros_like
from minitensor.torch.optim.optimizer import Optimizer


def _refuse_differentiable(differentiable: bool) -> bool:
    """Return False. Raise NotImplementedError if ``differentiable`` is true."""
    if differentiable:
        raise NotImplementedError("differentiable must be False: minitensor does not record the steps of an optimizer")
    return False


def _refuse_negative(name: str, value: Any) -> None:
    """Raise ValueError if a setting is negative, nan or not a number."""
    if not isinstance(value, (int, float)) or not value >= 0:
        raise ValueError(f"Invalid {name}: {checks.shown(value)}")


def _flags(op: str, **given: Any) -> dict[str, bool]:
    """Return the given flags as bools. Raise TypeError if one is not True, False, 1 or 0."""
    return {name: checks.flag(op, name, value) for name, value in given.items()}


class SGD(Optimizer):
    """Gradient descent, optionally with momentum (Polyak 1964) or Nesterov's momentum (1983).

    Parameters may have any shape. Each step writes a parameter once if it has a gradient.

    Raises:
        TypeError, ValueError: if ``params`` are not parameters or not leaves.
        ValueError: if a setting other than ``dampening`` is negative, or if ``nesterov`` is true without momentum or
            with dampening.
        NotImplementedError: if ``differentiable`` is true.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            _refuse_negative(name, value)
        dampening = checks.real("SGD()", "dampening", dampening)
        switches = _flags("SGD()", nesterov=nesterov, maximize=maximize)
        if switches["nesterov"] and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                **switches,
                "foreach": foreach,
                "differentiable": _refuse_differentiable(differentiable),
                "fused": fused,
            },
        )

    def _update(self, x: Any, gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"]:
            gradient = gradient.add(x, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum:
            if state.get("momentum_buffer") is None:
                buffer = state["momentum_buffer"] = gradient.clone()
            else:
                buffer = state["momentum_buffer"].mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
            gradient = gradient.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        x.add_(gradient, alpha=-group["lr"])


class Adam(Optimizer):
    """Move each element by the learning rate times the running mean of its gradient, divided by the root of the running
    mean of the squared gradient (Kingma and Ba 2015).

    With ``amsgrad`` the divisor never decreases (Reddi, Kale and Kumar 2018).

    Parameters may have any shape. Each step writes a parameter once if it has a gradient.

    Raises:
        TypeError, ValueError: if ``params`` are not parameters or not leaves.
        ValueError: if a setting is negative, or one of ``betas`` is not in [0, 1).
        NotImplementedError: if ``differentiable`` is true.
    """

    _decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        for name, value in (("learning rate", lr), ("epsilon value", eps), ("weight_decay value", weight_decay)):
            _refuse_negative(name, value)
        op = f"{type(self).__name__}()"
        betas = tuple(checks.elements(op, "betas", betas, "two numbers"))
        if len(betas) != 2:
            raise ValueError(f"{op}: betas must be two numbers, not {len(betas)}")
        switches = _flags(op, amsgrad=amsgrad, maximize=maximize)
        for i, beta in enumerate(betas):
            if not 0 <= checks.real(op, f"betas[{i}]", beta) < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                **switches,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": _refuse_differentiable(differentiable),
                "fused": fused,
                "decoupled_weight_decay": self._decoupled,
            },
        )

    def _update(self, x: Any, gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if not state:
            state.update(step=tensor(0.0, device="cpu"), exp_avg=zeros_like(x), exp_avg_sq=zeros_like(x))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(x)
        state["step"] += 1
        step = state["step"].item()
        if group["maximize"]:
            gradient = -gradient
        shrunk = x
        if group["weight_decay"] and self._decoupled:
            shrunk = x * (1 - group["lr"] * group["weight_decay"])
        elif group["weight_decay"]:
            gradient = gradient.add(x, alpha=group["weight_decay"])
        mean = state["exp_avg"].lerp_(gradient, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).add_(gradient * gradient, alpha=1 - beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(largest.maximum(square))
        step_size = group["lr"] / (1 - beta1**step)
        divisor = (square.sqrt() / math.sqrt(1 - beta2**step)).add_(group["eps"])
        change = (mean / divisor).mul_(-step_size)
        if shrunk is x:
            x.add_(change)
        else:
            x.copy_(shrunk.add_(change))


class AdamW(Adam):
    """Adam with a decoupled weight decay, which shrinks the parameters directly (Loshchilov and Hutter 2019).

    Parameters may have any shape. Each step writes a parameter once if it has a gradient.

    Raises:
        TypeError, ValueError: if ``params`` are not parameters or not leaves.
        ValueError: if a setting is negative, or one of ``betas`` is not in [0, 1).
        NotImplementedError: if ``differentiable`` is true.
    """

    _decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        switches: dict[str, Any] = {"foreach": foreach, "maximize": maximize, "capturable": capturable, "fused": fused}
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, differentiable=differentiable, **switches)


class RMSprop(Optimizer):
    """Move each element by the learning rate times its gradient, divided by the root of the running mean of the squared
    gradient (Hinton 2012).

    With ``centered`` the divisor is the root of the gradient's running variance. The step optionally has momentum.

    Parameters may have any shape. Each step writes a parameter once if it has a gradient.

    Raises:
        TypeError, ValueError: if ``params`` are not parameters or not leaves.
        ValueError: if a setting is negative.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        for name, value in (
            *(("learning rate", lr), ("epsilon value", eps), ("momentum value", momentum)),
            *(("weight_decay value", weight_decay), ("alpha value", alpha)),
        ):
            _refuse_negative(name, value)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                **_flags("RMSprop()", centered=centered, maximize=maximize),
            },
        )

    def _update(self, x: Any, gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state.update(step=tensor(0.0, device="cpu"), square_avg=zeros_like(x))
            if group["momentum"]:
                state["momentum_buffer"] = zeros_like(x)
            if group["centered"]:
                state["grad_avg"] = zeros_like(x)
        state["step"] += 1
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"]:
            gradient = gradient.add(x, alpha=group["weight_decay"])
        share = 1 - group["alpha"]
        square = state["square_avg"].mul_(group["alpha"]).add_(gradient * gradient, alpha=share)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(gradient, share)
            square = square - mean * mean
        change = gradient / square.sqrt().add_(group["eps"])
        if group["momentum"]:
            change = state["momentum_buffer"].mul_(group["momentum"]).add_(change)
        x.add_(change, alpha=-group["lr"])
