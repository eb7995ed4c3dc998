"""The state of a layer: ``state_dict`` collects it and ``set_state_dict`` restores it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor


def _registered(layer: Any, prefix: str, inside: bool) -> Iterator[tuple[str, Tensor]]:
    """Yield each parameter and persistable buffer with its path."""
    for name, each in layer._parameters.items():
        if each is not None:
            yield prefix + name, each
    for name, each in layer._buffers.items():
        if each is not None and name not in layer._not_saved:
            yield prefix + name, each
    if inside:
        for name, sublayer in layer._inside():
            yield from _registered(sublayer, f"{prefix}{name}.", inside)


def state_of(layer: Any, include_sublayers: bool, prefix: str) -> dict[str, Tensor]:
    """Return parameters and persistable buffers, keyed by path."""
    return dict(_registered(layer, prefix, include_sublayers))


def load_into(layer: Any, given: Mapping[str, Any], by_path: bool) -> tuple[list[str], list[str]]:
    """Write the values of a state dict into the parameters and buffers. Return the missing and the unexpected names.

    Args:
        given: the state dict. Its keys are paths, or the names of the tensors if ``by_path`` is false.

    Raises:
        TypeError, ValueError: if a value does not fit. Nothing is written then.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"set_state_dict: state_dict must be a dict, as state_dict() returns it, not {type(given).__name__}"
        )
    own: dict[str, Tensor] = {}
    paths: dict[str, str] = {}
    for path, each in _registered(layer, "", True):
        name = path if by_path else each.name
        own[name], paths[name] = each, path
    missing, extra = [name for name in own if name not in given], [name for name in given if name not in own]
    values = {
        name: given[name] if isinstance(given[name], Tensor) else np.asarray(given[name])
        for name in own
        if name in given
    }
    misshapen = [name for name in values if list(values[name].shape) != own[name].shape]
    mistyped = [name for name in values if _dtype(values[name]) != own[name].dtype.name and name not in misshapen]
    if misshapen or mistyped:
        wrong = [f"{name!r} has shape {own[name].shape}, the value {list(values[name].shape)}" for name in misshapen]
        wrong += [f"{name!r} has dtype {own[name].dtype.name}, the value {_dtype(values[name])}" for name in mistyped]
        wrong += [f"{name!r} is missing" for name in missing]
        wrong += [f"{name!r} is unknown" for name in extra]
        raise (ValueError if misshapen else TypeError)(f"set_state_dict: {'; '.join(wrong)}. Nothing was loaded.")
    for name in missing:
        warnings.warn(f"Skip loading for {paths[name]}. {name} is not found in the provided dict.", stacklevel=3)
    for each, value in {id(own[name]): (own[name], value) for name, value in values.items()}.values():
        each.set_value(value)  # a tensor with two paths is written once, with the value for the last path
    return missing, extra


def _dtype(value: Any) -> str:
    return str(getattr(value.dtype, "name", value.dtype))
