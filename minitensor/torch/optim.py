"""``torch.optim``: optimizers that write the parameters in place. A step counts as one write of each."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.torch.autograd import enable_grad, no_grad
from minitensor.torch.creation import tensor, zeros_like
from minitensor.torch.missing import missing_in
from minitensor.torch.nn.parts import drop_gradient
from minitensor.torch.tensor import Tensor
from minitensor.torch.warning import warn

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]


class Optimizer:
    """Groups of parameters with their settings, and what is remembered of each parameter.

    Raises:
        TypeError, ValueError: when the parameters are none, or no leaves.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, BaseTensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.Tensor"
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = {}
        self.param_groups: list[dict[str, Any]] = []
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """One group of parameters more, with settings of its own."""
        params = param_group["params"]
        params = [params] if isinstance(params, BaseTensor) else list(params)
        for x in params:
            if not isinstance(x, BaseTensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(x).__name__}")
            if not x.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        if len({id(x) for x in params}) < len(params):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        known = {id(x) for group in self.param_groups for x in group["params"]}
        if any(id(x) in known for x in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or fill them with zeros (``set_to_none=False``)."""
        for group in self.param_groups:
            for x in group["params"]:
                drop_gradient(x, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Write every parameter that has a gradient. ``closure`` computes the loss first, and is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for x in group["params"]:
                    if x.grad is not None:
                        self._update(x, x.grad, group, self.state.setdefault(x, {}))
        return loss

    def _update(self, x: Any, gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """What is remembered, with the parameters numbered, and the settings."""
        every = [x for group in self.param_groups for x in group["params"]]
        numbers = {id(x): i for i, x in enumerate(every)}
        groups = [{**group, "params": [numbers[id(x)] for x in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[id(x)]: dict(s) for x, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over settings and what is remembered, in copies; the parameters stay this optimizer's own.

        Raises:
            ValueError: when the groups are others, or not as long.
        """
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, self.param_groups, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                             "group")  # fmt: skip
        every = [x for group in self.param_groups for x in group["params"]]
        numbers = [number for group in groups for number in group["params"]]
        by_number = dict(zip(numbers, every, strict=True))
        self.state = {by_number[number]: copy.deepcopy(kept) for number, kept in state_dict["state"].items()}
        for own, group in zip(self.param_groups, groups, strict=True):
            own.update({name: copy.deepcopy(value) for name, value in group.items() if name != "params"})

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


def _not_differentiable(wanted: bool) -> bool:
    """False. How a step is carried out (``foreach``, ``fused``, ``capturable``) is kept and changes nothing here."""
    if wanted:
        raise NotImplementedError("differentiable=True: a step is no operation here, and has no gradient")
    return False


def _check(name: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or value < 0:
        raise ValueError(f"Invalid {name}: {value}")


class SGD(Optimizer):
    """Steps against the gradient, with momentum if asked for."""

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
            _check(name, value)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": _not_differentiable(differentiable),
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
    """Steps scaled by running means of the gradient and of its square (Kingma and Ba 2015).

    With ``amsgrad`` the mean square never falls (Reddi, Kale and Kumar 2018).
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
            _check(name, value)
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": bool(amsgrad),
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": _not_differentiable(differentiable),
                "fused": fused,
                "decoupled_weight_decay": self._decoupled,
            },
        )

    def _update(self, x: Any, gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        first, second = group["betas"]
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
        mean = state["exp_avg"].lerp_(gradient, 1 - first)
        square = state["exp_avg_sq"].mul_(second).add_(gradient * gradient, alpha=1 - second)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(largest.maximum(square))
        size = group["lr"] / (1 - first**step)
        spread = (square.sqrt() / math.sqrt(1 - second**step)).add_(group["eps"])
        change = (mean / spread).mul_(-size)
        if shrunk is x:
            x.add_(change)
        else:
            x.copy_(shrunk.add_(change))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters directly (Loshchilov and Hutter 2019)."""

    _decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **named: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **named)


__getattr__ = missing_in("torch.optim", lambda: __all__)
