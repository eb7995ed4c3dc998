"""In-place names of Paddle that there is no operation for here, each with the reason and what to use instead.

This is the only table of them. Asking a tensor for one raises an ``AttributeError`` that says so. Each name is a
descriptor of its own, which costs nothing elsewhere. A ``__getattr__`` on the class would be called for every attribute
that a tensor does not have yet: it made asking for an absent one 4 times slower, and the engine asks for some.
"""

from __future__ import annotations

from typing import Any

from minitensor.core.tensor import Tensor

#: Why a name is left out, and what to use.
LEFT_OUT: dict[str, str] = {
    "grad_": (
        "in Paddle it is no operation but a second name of the property `grad`, for what holds a gradient inside the "
        "framework. Use `x.grad`"
    ),
    "reconstruct_from_": (
        "in Paddle it is `self = other` carried out inside the framework: it takes storage and history over from the "
        "other tensor, and both are one value under two identities. Use the other tensor itself, `x.set_(other)` to "
        "look at its storage, or `x.copy_(other)` to take its numbers"
    ),
}


class LeftOut:
    """Raises when the name is asked for, on a tensor or on the class."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__} has no {self.name}: {LEFT_OUT[self.name]}.", name=self.name, obj=instance
        )


for _name in LEFT_OUT:
    setattr(Tensor, _name, LeftOut(_name))
