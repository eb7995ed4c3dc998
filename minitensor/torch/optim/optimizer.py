"""The base class of ``torch.optim``: groups of parameters, and the state of each parameter."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.torch.autograd import enable_grad, no_grad
from minitensor.torch.errors import warn
from minitensor.torch.nn.parts import drop_gradient
from minitensor.torch.tensor import Tensor, as_torch


class Optimizer:
    """Groups of parameters with their settings, and the state of each parameter.

    Raises:
        TypeError: if ``params`` are not tensors.
        ValueError: if one of them is not a leaf, or there are none.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, BaseTensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{as_torch(params).type()}"
            )
        op = f"{type(self).__name__}()"
        checks.instance(op, "defaults", defaults, dict, "a dict of settings")
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        given = checks.elements(op, "params", params, "tensors or dicts")
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters. Its settings override the defaults of the optimizer.

        The parameters may be pairs of a name and a tensor, as ``named_parameters()`` yields them. The group then has
        the names as "param_names".
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        if "params" not in param_group:
            raise ValueError("add_param_group(): param_group has no 'params', the tensors of the group")
        params = param_group["params"]
        if isinstance(params, BaseTensor):
            params = [params]
        params = checks.elements("add_param_group()", "params", params, "tensors")
        names = [x[0] for x in params if isinstance(x, tuple) and len(x) == 2]
        params = [x[1] if isinstance(x, tuple) and len(x) == 2 else x for x in params]
        for x in params:
            if not isinstance(x, BaseTensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(x).__name__}")
            if not x.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        if names and len(names) < len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if len({id(x) for x in params}) < len(params):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        known = {id(x) for group in self.param_groups for x in group["params"]}
        if any(id(x) in known for x in params):
            raise ValueError("some parameters appear in more than one parameter group")
        group = {**param_group, "params": params, **({"param_names": names} if names else {})}
        self.param_groups.append({**group, **{name: each for name, each in self.defaults.items() if name not in group}})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients to None, or fill them with zeros (``set_to_none=False``)."""
        set_to_none = checks.flag("zero_grad()", "set_to_none", set_to_none)
        for group in self.param_groups:
            for x in group["params"]:
                drop_gradient(x, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        If ``closure`` is given, call it first, and return its result, which is the loss. Otherwise return None.
        """
        loss = None
        if closure is not None:
            checks.function("step()", "closure", closure)
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for x in group["params"]:
                    if x.grad is not None:
                        state = self.state.get(x, {})
                        self._update(x, x.grad, group, state)
                        if state:  # SGD without momentum has no state
                            self.state[x] = state
        return loss

    def _update(self, x: Any, gradient: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        raise checks.undefined(self, "_update")

    def state_dict(self) -> dict[str, Any]:
        """Return the state of each parameter and the settings of each group. Parameters are represented by their
        indices.

        The tensors of the state are not copied: later steps of the optimizer write into them.
        """
        every = [x for group in self.param_groups for x in group["params"]]
        numbers = {id(x): i for i, x in enumerate(every)}
        groups = [
            {
                **{name: each for name, each in group.items() if name != "params"},
                "params": [numbers[id(x)] for x in group["params"]],
            }
            for group in self.param_groups
        ]
        return {"state": {numbers[id(x)]: values for x, values in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of each parameter, and copies of the settings. The parameters themselves do not change.

        As in PyTorch, a tensor of the right dtype is not copied. If one optimizer loads the ``state_dict()`` of another
        without ``copy.deepcopy``, both write into the same tensors (such as the momentum) from then on.

        Raises:
            ValueError: if the groups differ in number or length, or if a tensor of the state differs from its parameter
                in shape.
                Nothing is loaded then.
        """
        for name, kind, called in (("param_groups", list, "a list of dicts"), ("state", dict, "a dict")):
            checks.instance("load_state_dict()", "state_dict", state_dict, dict, "a dict, as state_dict() returns it")
            if name not in state_dict:
                raise ValueError(f"load_state_dict(): state_dict has no {name!r}, which state_dict() writes")
            checks.instance("load_state_dict()", f"state_dict[{name!r}]", state_dict[name], kind, called)
        groups = copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(groups, self.param_groups, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                             "group")  # fmt: skip
        every = [x for group in self.param_groups for x in group["params"]]
        numbers = [number for group in groups for number in group["params"]]
        by_number = dict(zip(numbers, every, strict=True))
        wrong = [
            f"{name} of parameter {number} has shape {list(value.shape)}, the parameter {list(by_number[number].shape)}"
            for number, values in state_dict["state"].items()
            for name, value in values.items()
            if isinstance(value, BaseTensor) and value.ndim and value._array.shape != by_number[number]._array.shape
        ]
        if wrong:
            raise ValueError(f"loaded state dict does not fit: {'; '.join(wrong)}. Nothing was loaded.")
        loaded = {
            by_number[number]: {name: _like_parameter(by_number[number], value) for name, value in values.items()}
            for number, values in state_dict["state"].items()
        }
        self.state = defaultdict(dict, loaded)
        for own, group in zip(self.param_groups, groups, strict=True):
            own.update({name: value for name, value in group.items() if name != "params"})

    def __repr__(self) -> str:
        groups = [
            "\n".join(
                [f"Parameter Group {i}", *(f"    {name}: {group[name]}" for name in sorted(group) if name != "params")]
            )
            for i, group in enumerate(self.param_groups)
        ]
        return f"{type(self).__name__} (\n" + "\n\n".join(groups) + "\n)"


def _like_parameter(x: Any, value: Any) -> Any:
    """Return a tensor of the state with the dtype and device of ``x``; return a number or 0-d tensor unchanged."""
    return value.to(x) if isinstance(value, BaseTensor) and value.ndim else value
