"""The state of a module: ``state_dict`` collects it and ``load_state_dict`` restores it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.torch.autograd import no_grad
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.nn.parts import IncompatibleKeys


def _registered(module: Any, prefix: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """For each parameter and persistent buffer, yield its full name, and the dict and the key under which it is
    registered.

    The parameters and buffers of inner layers are included.
    """
    left_out = module.__dict__.get("_non_persistent_buffers_set", ())
    for home in (module._parameters, module._buffers):
        for name, value in home.items():
            if value is not None and not (home is module._buffers and name in left_out):
                yield prefix + name, home, name
    for name, inner in module._inside():
        yield from _registered(inner, f"{prefix}{name}.")


def state_of(module: Any, prefix: str, keep_vars: bool) -> OrderedDict[str, Any]:
    """Return parameters and persistent buffers, keyed by name, and detached unless ``keep_vars`` is true."""
    return OrderedDict(
        (full, home[name] if keep_vars else home[name].detach()) for full, home, name in _registered(module, prefix)
    )


def load_into(module: Any, given: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Copy the tensors of a state dict into the tensors of ``module``. With ``assign``, replace the module's tensors.

    Raises:
        TypeError: if ``given`` is not a dict.
        RuntimeError: if ``strict`` is true and the names differ, or if a value does not fit. Nothing is loaded then.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(given)}.")
    own = {full: (home, name) for full, home, name in _registered(module, "")}
    keys = IncompatibleKeys([full for full in own if full not in given], [full for full in given if full not in own])
    wrong = []
    for what, names in (("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys)):
        if strict and names:
            wrong.append(f"{what} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in names) + ". ")
    for full, (home, name) in own.items():
        if full in given:
            wrong += _misfit(full, given[full], home[name])
    if wrong:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(wrong))
    with no_grad():
        for full, (home, name) in own.items():
            if full in given and assign:
                home[name] = _replacement(home[name], given[full])
            elif full in given:
                home[name].copy_(given[full])
    return keys


def _misfit(name: str, value: Any, here: Any) -> list[str]:
    """Return a list with an error message if ``value`` cannot be loaded into ``here``, else an empty list."""
    if not isinstance(value, BaseTensor):
        return [
            f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(value)}"
        ]
    if value._array.shape == here._array.shape:
        return []
    return [
        f"size mismatch for {name}: copying a param with shape {value.shape} from checkpoint, the shape in current "
        f"model is {here.shape}."
    ]


def _replacement(here: Any, value: Any) -> Any:
    """Return the tensor that replaces ``here``: ``value``, or a parameter on its memory if ``here`` is a parameter."""
    if not isinstance(here, Parameter):
        return value
    if not isinstance(value, Parameter):
        value = Parameter(value, requires_grad=here.requires_grad)
    return value.requires_grad_(here.requires_grad)
