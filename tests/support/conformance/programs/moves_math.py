"""Generate statements that compute with one, two or three operands, reduce or join, in normal and in-place form."""

from __future__ import annotations

import math

import numpy as np

from . import indices as ix
from .calculus import BINARY, REDUCTIONS, UNARY, OutsideDomain, broadcast_shapes
from .tensor import CellTensor

SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "pow": "**"}
LARGEST_RESULT = 16  # elements


def fits(shape, t) -> bool:
    """True if the shapes of ``t`` and ``shape`` can be broadcast together."""
    try:
        broadcast_shapes(tuple(shape), np.shape(t.cells if isinstance(t, CellTensor) else t))
    except ValueError:
        return False
    return True


class Mathematics:
    """Methods of the generator that return a statement, or None if none fits."""

    # ---- one operand -------------------------------------------------------------------------------------------------

    def unary(self) -> str | None:
        name, x = self.rng.choice(list(UNARY)), self.any_float()
        if not self.defined(name, self.at(x)):
            return None
        self.tags.add(name)
        forms = [f"{x}.{name}()", f"mt.{name}({x})"]
        forms += {"neg": [f"-{x}"], "abs": [f"abs({x})"], "relu": [f"mt.nn.functional.relu({x})"]}.get(name, [])
        return f"{self.fresh_name()} = {self.rng.choice(forms)}"

    def unary_(self) -> str | None:
        x, name = self.writable(), self.rng.choice(list(UNARY))
        if x is None or not self.defined(name, self.at(x)):
            return None
        self.tags |= {name + "_", *self.about_target(x)}
        if name == "relu" and self.rng.random() < 0.4:
            return f"mt.nn.functional.relu_({x})"
        return self.perhaps_named(self.rng.choice((f"{x}.{name}_()", f"{x}.{name}_()", f"mt.{name}_({x})")))

    def with_numbers(self, names: tuple[str, ...]) -> tuple[str, str, dict]:
        """Return the name of an operation that takes numbers, and these numbers twice: as text and as a dictionary."""
        name, params = self.rng.choice(names), {}
        if name == "scale":
            params = {"scale": ix.number(self.rng)}
            if self.rng.random() < 0.4:
                params["bias"] = ix.number(self.rng)
        elif name == "clip":
            low = self.rng.randint(-150, 50) / 100
            params = {"min": low, "max": round(low + self.rng.randint(50, 200) / 100, 2)}
            if self.rng.random() < 0.3:
                del params[self.rng.choice(("min", "max"))]
        elif name == "fill":
            params = {"value": ix.number(self.rng)}
        if name == "clip" and "min" not in params:
            return name, f"max={params['max']}", params
        return name, ", ".join(f"bias={n}" if p == "bias" else str(n) for p, n in params.items()), params

    def scalar(self) -> str | None:
        name, arguments, params = self.with_numbers(("scale", "clip"))
        x = self.any_float()
        if not self.defined(name, self.at(x), **params):
            return None
        self.tags.add(name)
        call = self.rng.choice((f"{x}.{name}({arguments})", f"mt.{name}({x}, {arguments})"))
        return f"{self.fresh_name()} = {call}"

    def scalar_(self) -> str | None:
        name, arguments, params = self.with_numbers(("scale", "scale", "clip", "fill", "zero"))
        x = self.writable()
        if x is None or not self.defined(name, self.at(x), **params):
            return None
        self.tags |= {name + "_", *self.about_target(x)}
        return self.perhaps_named(f"{x}.{name}_({arguments})")

    # ---- two operands ------------------------------------------------------------------------------------------------

    def second(self, x: str, fits_into: bool):
        """Return an operand that can be broadcast with ``x``: a number, an array, or a tensor, which may share memory
        with ``x``.
        """
        shape = self.at(x).cells.shape
        chance = self.rng.random()
        if chance < 0.22:
            return ix.number(self.rng)
        if chance < 0.26 and not self.mixed and 0 not in shape:
            self.tags.add("an array as operand")
            return f"np.array({ix.numbers(self.rng, shape[self.rng.randint(0, len(shape)) :])})"

        def possible(t: CellTensor) -> bool:
            if not fits(shape, t):
                return False
            result = broadcast_shapes(t.cells.shape, shape)
            return result == shape if fits_into else math.prod(result) <= LARGEST_RESULT

        names = self.floats(possible)
        if not self.mixed and self.rng.random() < 0.1:
            names = self.tensors(lambda t: t.dtype.kind in "iu" and possible(t)) or names
        if self.rng.random() < 0.3:
            names = [n for n in names if self.env[n].storage is self.at(x).storage] or names
        y = self.pick(names)
        if y is None or self.env[y].dtype.kind in "iu":
            return y
        unnamed = self.unnamed(y)
        return unnamed if possible(self.at(unnamed)) else y

    def about_operands(self, x: str, y) -> set[str]:
        a, b = self.at(x), self.at(y)
        if not isinstance(b, CellTensor):
            return {"a number as operand"} if isinstance(b, (int, float)) else set()
        tags = {
            "broadcast": a.cells.shape != b.cells.shape,
            "an operand with itself": a is b,
            "operands in one memory": a.storage is b.storage and a is not b,
            "an integer operand": b.dtype.kind in "iu",
            "two groups that want gradients": a.group.wants and b.group.wants and a.group is not b.group,
        }
        return {tag for tag, holds in tags.items() if holds}

    def exponent(self):
        return self.rng.choice((2, 3, 2.0, 1, 0.5, -1.0, 1.5, 2.5))

    def binary(self) -> str | None:
        name, x = self.rng.choice(BINARY), self.any_float()
        y = self.exponent() if name == "pow" and self.rng.random() < 0.6 else self.second(x, fits_into=False)
        if y is None or not self.defined(name, self.at(x), self.at(y)):
            return None
        self.tags |= {name, *self.about_operands(x, y)}
        if name not in SYMBOLS or self.rng.random() < 0.6:
            call = self.rng.choice((f"{x}.{name}({y})", f"mt.{name}({x}, {y})"))
            return f"{self.fresh_name()} = {call}"
        if not isinstance(self.at(y), CellTensor) and self.rng.random() < 0.5:
            if not self.defined(name, self.at(y), self.at(x)):
                return None
            self.tags.add("an operator with a tensor on the right only")
            return f"{self.fresh_name()} = {y} {SYMBOLS[name]} {x}"
        if x in self.env and x[0] == "t" and self.rng.random() < 0.15:
            self.tags.add("augmented assignment")
            return f"{x} {SYMBOLS[name]}= {y}"
        return f"{self.fresh_name()} = {x} {SYMBOLS[name]} {y}"

    def binary_(self) -> str | None:
        x, name = self.writable(), self.rng.choice(BINARY)
        if x is None:
            return None
        y = self.exponent() if name == "pow" and self.rng.random() < 0.6 else self.second(x, fits_into=True)
        if y is None or not self.defined(name, self.at(x), self.at(y)):
            return None
        self.tags |= {name + "_", *self.about_target(x), *self.about_operands(x, y)}
        if self.at(x) is not self.at(y) and self.world.lies_in(self.at(y), self.at(x)):
            self.tags.add("an operand that overlaps the target")
        return self.perhaps_named(self.rng.choice((f"{x}.{name}_({y})", f"{x}.{name}_({y})", f"mt.{name}_({x}, {y})")))

    def matmul(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.cells.ndim > 0))
        if x is None:
            return None
        matrix = self.env[x].cells.ndim > 1
        flags = {flag: matrix and self.rng.random() < 0.2 for flag in ("transpose_x", "transpose_y")}
        least = 2 if any(flags.values()) else 1

        def possible(t: CellTensor) -> bool:
            return t.cells.ndim >= least and self.defined("matmul", self.env[x], t, **flags)

        y = self.pick(self.floats(possible))
        if y is None:
            return None
        self.tags.add("matmul")
        if self.env[x].cells.ndim == 1 or self.env[y].cells.ndim == 1:
            self.tags.add("matmul with a vector")
        if max(self.env[x].cells.ndim, self.env[y].cells.ndim) > 2:
            self.tags.add("matmul of a batch")
        if least == 2:
            options = "".join(f", {flag}=True" for flag, on in flags.items() if on)
            return f"{self.fresh_name()} = mt.matmul({x}, {y}{options})"
        call = self.rng.choice((f"{x} @ {y}", f"mt.matmul({x}, {y})", f"{x}.matmul({y})"))
        return f"{self.fresh_name()} = {call}"

    # ---- reductions, choices and joins -------------------------------------------------------------------------------

    def reduction(self) -> str | None:
        name, x = self.rng.choice(REDUCTIONS), self.any_float()
        axis, keepdim = ix.axes(self.rng, self.at(x).cells.ndim), self.rng.random() < 0.3
        if not self.defined(name, self.at(x), axis=axis, keepdim=keepdim):
            return None
        self.tags.add(name)
        arguments = [f"axis={axis}"] * (axis is not None) + ["keepdim=True"] * keepdim
        if self.rng.random() < 0.5:
            return f"{self.fresh_name()} = mt.{name}({', '.join([x, *arguments])})"
        return f"{self.fresh_name()} = {x}.{name}({', '.join(arguments)})"

    def where(self) -> str | None:
        x = self.any_float()
        shape = self.at(x).cells.shape
        y = self.second(x, fits_into=True)
        if y is None or isinstance(self.at(y), np.ndarray) or 0 in shape:
            return None
        masks = self.tensors(lambda t: t.dtype.kind == "b" and t.cells.shape == shape)
        kind = self.rng.random()
        if masks and kind < 0.5:
            condition = self.rng.choice(masks)
        elif shape and kind < 0.75:
            condition = ix.mask(self.rng, shape, rows=False)
        else:
            condition = self.comparison(x)
        if condition is None:
            return None
        self.tags.add("where")
        return f"{self.fresh_name()} = mt.where({condition}, {x}, {y})"

    def comparison(self, x: str) -> str | None:
        """Compare the elements with a number; None if the number is nearly equal to one of them."""
        text = f"{x} {self.rng.choice('<>')} {round(ix.number(self.rng) / 2, 3)}"
        try:
            self.at(text)
        except OutsideDomain:
            return None
        return text

    def join(self) -> str | None:
        name, x = self.rng.choice(("concat", "stack")), self.any_float()
        ndim = self.at(x).cells.ndim
        if name == "concat" and ndim == 0:
            return None
        axis = self.rng.randrange(-ndim, ndim) if name == "concat" else self.rng.randrange(ndim + 1)

        def possible(t: CellTensor) -> bool:
            small = t.cells.size + self.at(x).cells.size <= LARGEST_RESULT
            return small and self.defined(name, self.at(x), t, axis=axis)

        y = self.pick(self.floats(possible))
        if y is None:
            return None
        self.tags.add(name)
        return f"{self.fresh_name()} = mt.{name}([{x}, {y}], axis={axis})"

    def cast(self) -> str | None:
        """Cast between float dtypes."""
        if not self.mixed:
            return None
        self.tags.add("cast")
        return f"{self.fresh_name()} = {self.any_float()}.cast('{self.dtype()}')"
