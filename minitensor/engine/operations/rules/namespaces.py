"""Dicts of the functions that a rule on arrays may call. The keys are their names."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Any

import numpy as np

from minitensor.engine.operations import rules
from minitensor.engine.table import ROWS


def helpers(package: ModuleType, prefix: str) -> dict[str, Any]:
    """Return the public functions of those modules in ``package`` whose module name begins with ``prefix``."""
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith(prefix):
            found.update(public(importlib.import_module(f"{package.__name__}.{module.name}")))
    return found


def public(module: ModuleType) -> dict[str, Any]:
    """Return a dict of the public functions that a module defines. The keys are their names."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }


@functools.cache
def on_arrays() -> dict[str, Any]:
    """Return the operations of the table as functions on arrays, and the helpers on arrays, by name."""
    operations = {row.name: row.forward for row in ROWS.values() if row.normal}
    return {**operations, "zeros_like": np.zeros_like, **helpers(rules, "on_arrays")}
