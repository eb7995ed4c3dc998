"""Paddle's in-place methods that minitensor deliberately lacks, each with the reason and an alternative.

Access to such a name on a tensor raises an ``AttributeError`` with the reason and the alternative. Each name is a
descriptor, which does not slow down other attributes. In contrast, a ``__getattr__`` on the class slowed down the
look-up of missing attributes by a factor of 4, and the engine looks up attributes that a tensor may lack.
"""

from __future__ import annotations

from typing import Any

from minitensor.engine.core.tensor import Tensor

#: The reason why a name is left out, and an alternative.
LEFT_OUT: dict[str, str] = {
    "grad_": (
        "in Paddle it is not an operation but a second name of the property `grad`, for code inside the framework "
        "that holds a gradient. Use `x.grad`"
    ),
    "reconstruct_from_": (
        "in Paddle it is `self = other` inside the framework: it takes storage and history from the other tensor, so "
        "that both are one value under two identities. Use the other tensor itself, `x.set_(other)` to share its "
        "storage, or `x.copy_(other)` to copy its numbers"
    ),
}


class LeftOut:
    """Descriptor that raises AttributeError on access, on a tensor or on the class."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__} has no {self.name}: {LEFT_OUT[self.name]}.", name=self.name, obj=instance
        )


for _name in LEFT_OUT:
    setattr(Tensor, _name, LeftOut(_name))
