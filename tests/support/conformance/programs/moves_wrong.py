"""Generate wrong statements. The engine must refuse each with the right error and change nothing."""

from __future__ import annotations

import numpy as np

from . import indices as ix
from .cells import overlaps_itself
from .moves_math import fits


class Mistakes:
    """Methods of the generator that return a wrong statement, or None if none fits."""

    def wrong(self) -> str | None:
        move = self.rng.choice(WRONG)
        self.tags.add(move.replace("_", " "))
        return getattr(self, move)()

    def wrong_leaf(self) -> str | None:
        """Write to a leaf, or to a view of one."""
        x = self.pick(self.floats(lambda t: t.group.leaf is not None and t.cells.size))
        if x is None:
            return None
        calls = [".scale_(2.0)", ".add_(1.0)", ".zero_()", "[...] = 1.0", ".relu_()", ".fill_(3.0)", ".unsqueeze_(0)"]
        if self.env[x].cells.ndim:
            row = ix.mask(self.rng, self.env[x].cells.shape[:1])
            calls += ["[0] = 5.0", f".multiply_({x})", f"[{row}] = 1.0", "[0:1].sin_()", ".T.add_(1.0)"]
        return x + self.rng.choice(calls)

    def wrong_shape(self) -> str | None:
        """Call an in-place operation with an operand whose shape cannot be broadcast to that of the target."""
        x = self.any_float()
        shape = self.at(x).cells.shape
        y = self.pick(self.floats(lambda t: not fits(shape, t) or np.broadcast_shapes(shape, t.cells.shape) != shape))
        name = self.rng.choice(("add", "subtract", "multiply", "divide", "maximum", "minimum", "pow"))
        return None if y is None else f"{x}.{name}_({y})"

    def wrong_fit(self) -> str | None:
        """Use two operands whose shapes cannot be broadcast together."""
        x = self.any_float()
        y = self.pick(self.floats(lambda t: not fits(self.at(x).cells.shape, t)))
        name = self.rng.choice(("add", "multiply", "maximum"))
        return None if y is None else f"{self.fresh_name()} = mt.{name}({x}, {y})"

    def wrong_dtype(self) -> str | None:
        """Write a float result into an integer or boolean target."""
        x = self.pick(self.tensors(lambda t: t.dtype.kind in "iub"))
        if x is None:
            return None
        calls = [".add_(0.5)", ".sin_()", ".scale_(0.5)"]
        if self.env[x].dtype.kind in "iu":
            calls += [".divide_(2)", ".clip_(0.5, 2.5)", ".sqrt_()", ".reciprocal_()", ".exp_()"]
            calls += [f".add_({y})" for y in self.floats(lambda t: t.cells.shape == ())]
        return x + self.rng.choice(calls)

    def wrong_overlap(self) -> str | None:
        """Create a tensor whose elements share memory (allowed), or write through such a tensor (refused)."""
        x = self.pick(self.floats(lambda t: overlaps_itself(t.cells)))
        if x is None or self.rng.random() < 0.5:
            x = self.pick(self.floats(lambda t: t.cells.size == t.storage.values.size > 2))
            if x is None:
                return None
            x += f".as_strided([2, 2], [1, {self.rng.randrange(2)}])"
        if self.rng.random() < 0.3:
            return f"{self.fresh_name()} = {x}"
        calls = (".add_(1.0)", ".fill_(1.0)", ".zero_()", "[...] = 1.0", ".exp_()", ".scale_(2.0)")
        return x + self.rng.choice(calls)

    def wrong_index(self) -> str | None:
        """Use an index that is out of range or has too many parts."""
        x = self.pick(self.floats(lambda t: t.cells.size))
        index = ix.bad_index(self.rng, self.env[x].cells.shape)
        return self.rng.choice((f"{x}[{index}] = 1.0", f"{self.fresh_name()} = {x}[{index}]"))

    def wrong_value(self) -> str | None:
        """Store a value that does not fit the elements."""
        x = self.pick(self.floats(lambda t: t.cells.size))
        y = self.pick(self.floats(lambda t: not fits(self.env[x].cells.shape, t)))
        return None if y is None else f"{x}[...] = {y}"

    def wrong_layout(self) -> str | None:
        """Reshape in place to another number of elements, or transpose in place to an invalid order of dimensions."""
        x = self.any_float()
        size = self.at(x).cells.size
        calls = [f"reshape_([{size + 1}])", "transpose_([0, 0])", "transpose_([0, 1, 2, 3])"]
        calls += ["reshape_([5, -1])"] * (size % 5 > 0)
        return f"{x}.{self.rng.choice(calls)}"

    def wrong_type(self) -> str | None:
        x = self.any_float()
        return f"{x}.{self.rng.choice(('add', 'multiply', 'maximum'))}_({self.rng.choice(('None', repr('a')))})"


WRONG = [name for name in vars(Mistakes) if name.startswith("wrong_")]
