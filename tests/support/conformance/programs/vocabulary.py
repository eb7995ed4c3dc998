"""The names of the reference: every operation as a function of a world, as a method, and in place.

Names and orders of arguments are minitensor's, so that one text runs on both sides.
"""

from __future__ import annotations

from .calculus import BINARY, RULES, UNARY
from .tensor import CellTensor
from .world import World

OPERANDS = {name: 2 for name in (*BINARY, "matmul")} | {"where": 3}  # every other operation has one operand
PARAMETERS = {"scale": ("scale", "bias"), "clip": ("min", "max"), "fill": ("value",), "expand": ("shape",)}
IN_PLACE = (*UNARY, *BINARY, "scale", "clip", "fill", "zero")
VIEWS = ("reshape", "view", "transpose", "t", "squeeze", "unsqueeze", "flatten", "slice", "diagonal", "unbind")


def _function(name: str):
    def function(self, *args, **params):
        if name in ("concat", "stack"):
            operands, rest = list(args[0]), args[1:]
        else:
            count = OPERANDS.get(name, 1)
            operands, rest = list(args[:count]), args[count:]
        return self.normal(name, operands, dict(zip(PARAMETERS.get(name, ("axis",)), rest, strict=False)) | params)

    return function


def _method(name: str):
    def method(self, *args, **params):
        return getattr(self.world, name)(self, *args, **params)

    return method


def _inplace_method(name: str):
    def method(self, *args, **params):
        others = OPERANDS.get(name, 1) - 1
        params |= dict(zip(PARAMETERS.get(name, ()), args[others:], strict=False))
        return self.world.inplace(name, self, list(args[:others]), params)

    return method


for _name in RULES:
    setattr(World, _name, _function(_name))
    if _name not in ("where", "concat", "stack"):
        setattr(CellTensor, _name, _method(_name))
for _name in IN_PLACE:
    setattr(CellTensor, _name + "_", _inplace_method(_name))
    setattr(World, _name + "_", staticmethod(getattr(CellTensor, _name + "_")))
World.broadcast_to = World.expand
CellTensor.broadcast_to = CellTensor.expand
for _name in (*VIEWS, "as_strided", "unflatten", "split", "chunk", "cast"):
    setattr(World, _name, staticmethod(getattr(CellTensor, _name)))
