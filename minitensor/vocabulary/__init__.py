"""Names that are no operations, most of them Paddle's: modes, devices, what a program asks about tensors.

With them ``import minitensor as paddle`` runs programs written for Paddle's dynamic graph. What is called alike and
means something else elsewhere is in :mod:`minitensor.vocabulary.names`, from which appendix C is made.

May import: all that stands below ``autograd``.
"""

from __future__ import annotations

import importlib

#: Where the names are defined that ``minitensor`` loads when they are first looked up.
_DEFINED = {
    "minitensor.sharing.foreign_writes": ("check_foreign_writes",),
    "minitensor.nn.parameter": ("ParamAttr", "create_parameter"),
    "minitensor.vocabulary.files": ("load", "save"),
    "minitensor.vocabulary.making": ("assign", "empty", "empty_like", "eye", "linspace", "randint", "randperm"),
    "minitensor.vocabulary.modes": ("disable_static", "enable_static", "in_dynamic_mode", "set_grad_enabled"),
    "minitensor.vocabulary.places": ("CPUPlace", "CUDAPlace", "is_compiled_with_cuda"),
}
NAMES = {name: module for module, names in _DEFINED.items() for name in names}
MODULES = ("autograd", "distributed", "io", "memory", "optimizer", "vision")


def found(name: str) -> object:
    """What ``minitensor`` has under a name of :data:`NAMES` or :data:`MODULES`."""
    if name in MODULES:
        return importlib.import_module(f"minitensor.{name}")
    return getattr(importlib.import_module(NAMES[name]), name)
