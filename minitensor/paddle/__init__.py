"""Paddle's functions that are not operations of the derivative table: modes, devices, inspection of tensors and others.

With these functions, programs for Paddle's dynamic mode run after ``import minitensor as paddle``.
:mod:`minitensor.paddle.names`, the source of the book's appendix C, compares names with those of other libraries.
"""

from __future__ import annotations

import importlib

#: Maps a module to the names that ``minitensor`` loads from it at the first access.
_DEFINED = {
    "memory_stage.explanation.minitensor": ("explain",),
    "minitensor.engine.sharing.foreign_writes": ("check_foreign_writes",),
    "minitensor.nn.parameter": ("ParamAttr", "create_parameter"),
    "minitensor.paddle.files": ("load", "save"),
    "minitensor.paddle.making": ("assign", "empty", "empty_like", "eye", "linspace", "randint", "randperm"),
    "minitensor.paddle.modes": ("disable_static", "enable_static", "in_dynamic_mode", "set_grad_enabled"),
    "minitensor.paddle.places": ("CPUPlace", "CUDAPlace", "is_compiled_with_cuda"),
}
NAMES = {name: module for module, names in _DEFINED.items() for name in names}
MODULES = ("amp", "autograd", "distribution", "distributed", "io", "memory", "optimizer", "vision")


def found(name: str) -> object:
    """Return the object for a name in :data:`NAMES` or :data:`MODULES`.

    Raises:
        ImportError: if the name is defined in the package memory-stage, which is not installed.
    """
    if name in MODULES:
        return importlib.import_module(f"minitensor.{name}")
    try:
        module = importlib.import_module(NAMES[name])
    except ModuleNotFoundError as error:
        if error.name != "memory_stage":
            raise
        raise ImportError(f"minitensor.{name} needs the package memory-stage: pip install memory-stage") from None
    return getattr(module, name)
