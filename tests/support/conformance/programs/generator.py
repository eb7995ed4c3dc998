"""Generate a program, one statement after the other.

The same seed generates the same text. Each statement fits the current state of the reference: its operands exist, have
matching shapes, and have values at which the operation is smooth. Some statements are wrong on purpose: the engine must
refuse them without changing anything. ``tags`` name the kinds of a statement, so that a test can check that every kind
occurs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate
from random import Random
from types import CodeType

from . import indices as ix
from .calculus import OutsideDomain
from .dtypes import FLOATS, SPACING
from .moves_history import Histories
from .moves_math import Mathematics
from .moves_memory import Memory
from .moves_whole import WHOLE, Whole
from .moves_wrong import Mistakes
from .tensor import CellTensor
from .vocabulary import World

#: The methods that generate statements, and how often each is chosen relative to the others.
MOVES = {
    "unary": 9,
    "unary_": 13,
    "binary": 12,
    "binary_": 16,
    "scalar": 4,
    "scalar_": 8,
    "reduction": 6,
    "matmul": 3,
    "where": 3,
    "join": 3,
    "copy": 5,
    "view": 18,
    "gather": 5,
    "index_tensor": 3,
    "setitem": 12,
    "overwrite": 3,
    "relayout": 4,
    "cast": 2,
    "load_leaf": 0.5,
    "optimizer_step": 1,
    "detach": 4,
    "cut": 0.7,
    "begin": 1,
    "hook": 1,
    "retain": 1,
    "backward": 3,
    "partial": 2,
    "clear": 1,
    "gradient_write": 1,
    "forget": 2,
    "change_policy": 5,
    "wrong": 5,
}
#: The names of the methods that generate statements about integers and bools, for programs with these dtypes.
OF_WHOLE = {"whole_new": 10, "whole_cast": 6, "whole_view": 6, "whole_made": 12, "whole_written": 14}
#: The relative tolerance in dtypes of 16 bits, as a multiple of ``SPACING``.
ROUNDINGS = 8
# These statements are left out of smooth programs, whose derivative is the limit of finite differences.
ROUGH = {"load_leaf", "optimizer_step", "detach", "cut", "begin", "hook", "retain", "backward", "partial", "clear"}
ROUGH |= {"wrong", "cast", "gradient_write"}
# These statements are never put into a block with no_grad, enable_grad or another policy.
BARE = ROUGH - {"detach", "cast", "load_leaf"} | {"forget", "change_policy"}


@lru_cache(maxsize=1 << 14)
def expression(text: str) -> CodeType:
    """Compile an operand once, because many statements have it."""
    return compile(text, "<operand>", "eval")


class Generator(Mathematics, Memory, Histories, Whole, Mistakes):
    """Generate statements for ``world``, whose names are in ``env``.

    ``smooth`` leaves out detach, no_grad and hooks, because they make the derivative differ from the limit of finite
    differences. A ``mixed`` program has tensors of several ``dtypes``, by default of float32 and float64. If ``dtypes``
    has integer dtypes or bool, the methods of :class:`Whole` generate statements about such tensors.
    """

    def __init__(
        self,
        rng: Random,
        world: World,
        env: dict,
        smooth: bool = False,
        policy: str = "2.6",
        dtypes: tuple[str, ...] = (),
    ):
        self.rng, self.world, self.env, self.smooth = rng, world, env, smooth
        #: The in-place policies that the program may set.
        self.policies = {"copy_on_write": (), "mixed": ("2.5", "2.6", "copy_on_write")}.get(policy, ("2.5", "2.6"))
        self.changes = policy == "mixed"
        self.mixed = not smooth and rng.random() < 0.1
        self.whole = tuple(dtype for dtype in dtypes if dtype in WHOLE)
        dtypes = tuple(dtype for dtype in dtypes if dtype not in WHOLE)
        self.dtypes = dtypes or (("float32", "float64") if self.mixed else ("float64",))
        self.mixed = self.mixed or len(self.dtypes) > 1
        self.made = 0
        self.tags: set[str] = set()
        moves = {move: weight for move, weight in MOVES.items() if not (smooth and move in ROUGH)}
        if not self.changes:
            del moves["change_policy"]
        if self.whole:
            moves |= OF_WHOLE
        self.moves, self.weights = list(moves), list(accumulate(moves.values()))

    @property
    def tolerance(self) -> float:
        spacing = max(SPACING.get(dtype, 0.0) for dtype in self.dtypes)
        in_float32 = self.mixed or self.whole or "float32" in self.dtypes  # functions of integers have float32 results
        return ROUNDINGS * spacing if spacing else 2e-4 if in_float32 else 1e-9

    # ---- the program -------------------------------------------------------------------------------------------------

    def opening(self) -> list[str]:
        """Return the statements that create the first tensors."""
        rng, lines, room = self.rng, [], 24
        if self.changes:
            lines.append(self.change_policy())
        for name in "xyz"[: rng.choice((1, 1, 2, 2, 3))]:
            shape = rng.choice([s for s in ix.SHAPES if math.prod(s) <= max(room // 3, 1)])
            room -= math.prod(shape)
            data = ix.numbers(rng, shape)
            lines.append(f"{name} = mt.to_tensor({data}, dtype='{self.dtype()}', stop_gradient=False)")
        for _ in range(rng.choice((0, 1, 1, 2))):
            lines.append(f"{self.fresh_name('c')} = {self.constant(rng.choice(ix.SHAPES))}")
        if rng.random() < 0.15:
            lines.append(f"{self.fresh_name('i')} = mt.to_tensor({rng.choice(([0, 1], [0, 0], [1, 0, 1], [-1]))})")
        return lines

    def dtype(self) -> str:
        return self.rng.choice(self.dtypes) if len(self.dtypes) > 1 else self.dtypes[0]

    def constant(self, shape) -> str:
        kind, dtype = self.rng.random(), self.dtype()
        if kind < 0.15:
            return f"mt.zeros({list(shape)}, dtype='{dtype}')"
        if kind < 0.2:
            return f"mt.ones({list(shape)}, dtype='{dtype}')"
        return f"mt.to_tensor({ix.numbers(self.rng, shape)}, dtype='{dtype}')"

    def statement(self) -> str:
        """Return the next statement, and set ``tags`` to its kinds."""
        while True:
            self.tags = set()
            move = self.rng.choices(self.moves, cum_weights=self.weights)[0]
            around = None if self.smooth or move in BARE else self.surroundings()
            with self.world.grad_mode(around != "with mt.no_grad()"):
                text = getattr(self, move)()
            if text is not None and around is not None:
                self.tags.add(f"inside {around}")
                return f"{around}:\n    {text}"
            if text is not None:
                return text

    def surroundings(self) -> str | None:
        chance = self.rng.random()
        if chance < 0.1:
            return "with mt.no_grad()"
        if chance < 0.11:
            return "with mt.no_grad(), mt.enable_grad()"
        if chance < 0.13 and self.policies:
            return f"with mt.set_inplace_policy('{self.rng.choice(self.policies)}')"
        return None

    def closing(self) -> list[str]:
        """Return calls of backward for up to six tensors that need a gradient, each with a random initial gradient."""
        wanting = self.floats(lambda t: t.group.wants)
        chosen = self.rng.sample(wanting, min(6, len(wanting)))
        return [self.backward_from(name, "retain_graph=True") for name in chosen]

    def backward_from(self, name: str, *options: str) -> str:
        t = self.env[name]
        alike = self.floats(lambda o: o.cells.shape == t.cells.shape and o.dtype == t.dtype)
        if self.rng.random() < 0.15:
            self.tags.add("a named tensor as seed of backward")
            seed = self.rng.choice(alike)
        elif 0 in t.cells.shape:
            seed = f"mt.zeros({t.shape}, dtype='{t.dtype.name}')"
        else:
            seed = f"mt.to_tensor({ix.numbers(self.rng, t.cells.shape)}, dtype='{t.dtype.name}')"
        return f"{name}.backward({', '.join((seed, *options))})"

    # ---- the current names, for the moves ----------------------------------------------------------------------------

    def tensors(self, condition=lambda t: True) -> list[str]:
        return [n for n, t in self.env.items() if type(t) is CellTensor and condition(t)]

    def floats(self, condition=lambda t: True) -> list[str]:
        return [
            name
            for name, t in self.env.items()
            if type(t) is CellTensor and t.storage.values.dtype.kind in FLOATS and condition(t)
        ]

    def pick(self, names: list[str]) -> str | None:
        """Return one of ``names``, with a preference for recent ones, or None if there are none."""
        if not names:
            return None
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def at(self, x):
        """Evaluate an operand's text: a name, a number, or an expression."""
        if not isinstance(x, str):
            return x
        return self.env[x] if x in self.env else eval(expression(x), self.env)

    def any_float(self) -> str:
        return self.unnamed(self.pick(self.floats()))

    def writable(self, condition=lambda t: True) -> str | None:
        """Return the text of a tensor that an in-place operation may overwrite, or None if there is none."""

        def allowed(t: CellTensor) -> bool:
            # A recorded write to a leaf's gradient could make a reference cycle: the leaf refers to its gradient, and
            # the record of the gradient could refer to the leaf.
            cycle = t.storage.is_gradient and self.world.grad_enabled
            return condition(t) and not self.world.unwritable(t) and not t.folded and not cycle

        x = self.pick(self.floats(allowed))
        if x is None:
            return None
        unnamed = self.unnamed(x)
        return unnamed if allowed(self.at(unnamed)) else x

    def unnamed(self, x: str) -> str:
        """Return ``x`` or, at random, an expression for a view or a detached alias of it. Python frees that tensor
        after the statement, because it has no name.
        """
        if self.rng.random() > 0.12:
            return x
        t = self.env[x]
        if t.cells.ndim and self.rng.random() < 0.6:
            view = f"{x}[{ix.basic_index(self.rng, t.cells.shape)}]"
        else:
            view = x + self.rng.choice((".T", ".flatten()", ".unsqueeze(0)", *[".detach()"] * (not self.smooth)))
        self.tags.add("a tensor without a name")
        return view

    def fresh_name(self, prefix: str = "t") -> str:
        if prefix == "t" and self.rng.random() < 0.12:
            old = [n for n in self.env if n[0] == "t"]
            if old:
                self.tags.add("a name bound anew")
                return self.rng.choice(old)
        self.made += 1
        return f"{prefix}{self.made}"

    def defined(self, name: str, *operands, **params) -> bool:
        """True if the shapes of the operands fit, and the operation is smooth and moderate at their values."""
        try:
            self.world.foresee(name, list(operands), params)
        except (OutsideDomain, ValueError):
            return False
        return True

    def perhaps_named(self, call: str) -> str:
        """Return the statement or, at random, one that binds the result of the in-place operation (the same tensor) to
        a name.
        """
        if self.rng.random() < 0.12:
            self.tags.add("the result of an in-place operation named")
            return f"{self.fresh_name()} = {call}"
        return call

    def about_target(self, x: str) -> set[str]:
        """Return tags for the kind of tensor that is written."""
        t = self.at(x)
        same = [o for o in self.env.values() if isinstance(o, CellTensor) and o.storage is t.storage and o is not t]
        tags = {
            "write to a tensor with views": any(o.group is t.group for o in same),
            "write to memory with a detached alias": any(o.group is not t.group for o in same),
            "write through a partial view": t.cells.size < t.storage.values.size and t.group.wants,
            "write through strides": not t.is_contiguous(),
            "write to a tensor without dimensions": t.cells.ndim == 0,
            "write to no elements": t.cells.size == 0,
        }
        return {tag for tag, holds in tags.items() if holds}
