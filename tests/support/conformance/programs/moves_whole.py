"""Generate statements that make, cast, view and compute with tensors of integers or bools, also in place."""

from __future__ import annotations

import math

import numpy as np

from . import indices as ix
from .calculus import MARGIN
from .dtypes import DTYPES, NAMES, is_float
from .tensor import CellTensor

#: Operations that return integers for integers, and have an in-place form.
OF_ONE = ("neg", "abs", "square", "relu", "round")
OF_TWO = ("add", "subtract", "multiply", "maximum", "minimum")
#: Operations whose in-place form wraps numbers of the second operand around if they do not fit into the dtype. The
#: others in ``OF_TWO`` refuse such an operand.
_WRAPPING = ("add", "subtract", "multiply")
REDUCING = ("sum", "prod", "max", "min")
FLOATING = ("sin", "exp", "sqrt", "sigmoid", "reciprocal", "tanh")


def is_whole(t: object) -> bool:
    """True for a tensor of integers."""
    return isinstance(t, CellTensor) and t.dtype.kind in "iu"


class Whole:
    """Methods of the generator that return a statement about integers and bools, or None if none fits."""

    def whole_number(self, dtype: np.dtype) -> int | bool:
        """Return a number of ``dtype``: usually small, sometimes a bound (2**40 for int64) or half of it."""
        if dtype.kind == "b":
            return self.rng.random() < 0.5
        bounds = np.iinfo(dtype)
        far = min(bounds.max, 2**40)
        if self.rng.random() < 0.2:
            return self.rng.choice((far, -far - 1 if bounds.min else 0, far // 2))
        return self.rng.randint(-5 if bounds.min else 0, 9)

    def whole_numbers(self, shape: tuple[int, ...], dtype: np.dtype):
        if not shape:
            return self.whole_number(dtype)
        return [self.whole_numbers(shape[1:], dtype) for _ in range(shape[0])]

    def a_whole(self, condition=lambda t: True) -> str | None:
        return self.pick(self.tensors(lambda t: is_whole(t) and t.cells.size <= 16 and condition(t)))

    def whole_new(self) -> str | None:
        """Create a tensor of integers or bools from numbers, or by a cast of floats."""
        if not self.whole:
            return None
        name = self.rng.choice(self.whole)
        dtype = DTYPES[name]
        if self.rng.random() < 0.3:
            x = self.any_float()
            v = self.at(x).numpy().astype(np.float64)
            # Close to an integer, a different rounding of the float would change the result of the cast.
            near = np.abs(v) if name == "bool" else np.abs(v - np.round(v))
            least = 0 if name == "uint8" else -100
            if v.size and not ((near > 20 * self.tolerance + MARGIN) & (v > least) & (v < 100)).all():
                return None
            self.tags.add("a cast to whole numbers")
            return f"{self.fresh_name('w')} = {x}.cast('{name}')"
        shape = self.rng.choice(ix.SHAPES)
        self.tags.add("whole numbers")
        return (
            f"{self.fresh_name('w')} = mt.to_tensor({self.whole_numbers(shape, dtype)}, dtype='{name}')"
            if (math.prod(shape))
            else f"{self.fresh_name('w')} = mt.zeros({list(shape)}, dtype='{name}')"
        )

    def whole_cast(self) -> str | None:
        """Cast integers or bools to any dtype. Numbers that are too large wrap around."""
        x = self.pick(self.tensors(lambda t: t.dtype.kind in "iub"))
        if x is None or not self.whole:
            return None
        name = self.rng.choice((*self.whole, *self.dtypes))
        if is_float(DTYPES[name]) and np.abs(self.env[x].numpy().astype(np.float64)).max(initial=0) > 100:
            return None
        self.tags.add("a cast of whole numbers")
        return f"{self.fresh_name('t' if is_float(DTYPES[name]) else 'w')} = {x}.cast('{name}')"

    def whole_view(self) -> str | None:
        x = self.a_whole(lambda t: t.cells.ndim > 0)
        if x is None or not self.whole:
            return None
        self.tags.add("a view of whole numbers")
        form = self.rng.choice((f"[{ix.basic_index(self.rng, self.env[x].cells.shape)}]", ".T", ".flatten()"))
        return f"{self.fresh_name('w')} = {x}{form}"

    def second_whole(self, x: str, fits_into: bool, exact: bool):
        """Return a second operand for a tensor of integers: a number, or a tensor of integers or bools.

        Args:
            fits_into: True if it must broadcast to the shape of ``x``.
            exact: True if its numbers must fit into the dtype of ``x``.
        """
        t = self.env[x]
        if self.rng.random() < 0.3:
            return self.whole_number(t.dtype)

        def possible(o: CellTensor) -> bool:
            try:
                shape = np.broadcast_shapes(o.cells.shape, t.cells.shape)
            except ValueError:
                return False
            small = shape == t.cells.shape if fits_into else math.prod(shape) <= 16
            values = o.numpy()
            return small and (not exact or bool((values.astype(t.dtype) == values).all()))

        return self.pick(self.tensors(lambda o: o.dtype.kind in "iub" and possible(o)))

    def whole_made(self) -> str | None:
        """Compute a new tensor from integers."""
        x = self.a_whole()
        if x is None or not self.whole:
            return None
        kind = self.rng.random()
        if kind < 0.25:
            name = self.rng.choice((*OF_ONE, *FLOATING))
            if not self.defined(name, self.env[x]):
                return None
            text = f"mt.{name}({x})"
        elif kind < 0.65:
            name, y = self.rng.choice((*OF_TWO, "divide")), self.second_whole(x, fits_into=False, exact=False)
            if y is None or not self.defined(name, self.env[x], self.at(y)):
                return None
            text = self.rng.choice((f"mt.{name}({x}, {y})", f"{x}.{name}({y})"))
        elif kind < 0.85:
            name = self.rng.choice(REDUCING)
            axis = ix.axes(self.rng, self.env[x].cells.ndim)
            if not self.defined(name, self.env[x], axis=axis):
                return None
            text = f"{x}.{name}(axis={axis})"
        else:
            y = self.a_whole(lambda t: t.dtype == self.env[x].dtype and t.cells.shape == self.env[x].cells.shape)
            name = self.rng.choice(("concat", "stack", "where"))
            if y is None or (name == "concat" and not self.env[x].cells.ndim):
                return None
            number = self.whole_number(self.env[x].dtype)
            text = f"mt.where({x} > {number}, {x}, {y})" if name == "where" else f"mt.{name}([{x}, {y}])"
        self.tags.add(f"{name} of whole numbers")
        return f"{self.fresh_name('w')} = {text}"

    def whole_written(self) -> str | None:
        """Write integers in place."""
        x = self.a_whole(lambda t: not self.world.unwritable(t) and not t.folded)
        if x is None or not self.whole:
            return None
        t = self.env[x]
        kind = self.rng.random()
        if kind < 0.2:
            name = self.rng.choice(OF_ONE)
            if not self.defined(name, t):
                return None
            text = f"{x}.{name}_()"
        elif kind < 0.6:
            name = self.rng.choice(OF_TWO)
            y = self.second_whole(x, fits_into=True, exact=name not in _WRAPPING)
            if y is None:
                return None
            text = f"{x}.{name}_({y})"
        elif kind < 0.8 or not t.cells.size:
            low, high = sorted(self.whole_number(t.dtype) for _ in range(2))
            name, given = self.rng.choice(
                (("clip", f"{low}, {high}"), ("fill", f"{low}"), ("zero", ""), ("scale", f"{abs(low) % 4}"))
            )
            text = f"{x}.{name}_({given})"
        else:
            name = "setitem"
            text = f"{x}[{ix.basic_index(self.rng, t.cells.shape) if t.cells.ndim else '...'}] = "
            text += str(self.whole_number(t.dtype))
        self.tags.add(f"{name}_ of whole numbers")
        return text


#: The names of the dtypes of integers and bools.
WHOLE = tuple(name for dtype, name in NAMES.items() if dtype.kind in "iub")
