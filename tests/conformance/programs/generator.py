"""Writes a program, one statement after the other.

Promises: the same seed gives the same text. Each statement is written for the state in which the reference stands: its
operands exist, fit, and lie where the operation is smooth. Some statements are wrong on purpose: they must be refused
and leave no trace. ``tags`` name what a statement is about, so that a test can ask whether everything was reached.
"""

from __future__ import annotations

from random import Random

import numpy as np

from . import indices as ix
from .calculus import BINARY, REDUCTIONS, UNARY, OutsideDomain
from .cells import overlaps_itself
from .tensor import CellTensor, layout
from .world import World

SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "pow": "**"}


class Generator:
    """Writes statements for ``world``, whose names are in ``env``.

    ``smooth`` leaves out what makes the derivative differ from the limit of differences: detach, no_grad, constants
    written by set_value, and so on. ``statements`` is how many statements follow those that make the first tensors.
    """

    def __init__(self, rng: Random, world: World, env: dict, statements: int, smooth: bool = False):
        self.rng, self.world, self.env = rng, world, env
        self.statements, self.smooth = statements, smooth
        self.mixed = not smooth and rng.random() < 0.1
        self.made = 0
        self.tags: set[str] = set()
        moves = dict(MOVES)
        if smooth:
            moves = {move: w for move, w in moves.items() if move not in ROUGH}
        self.moves, self.weights = list(moves), list(moves.values())

    @property
    def tolerance(self) -> float:
        return 2e-4 if self.mixed else 1e-9

    # ---- what there is -----------------------------------------------------------------------------------------------

    def tensors(self, condition=lambda t: True) -> list[str]:
        return [n for n, t in self.env.items() if isinstance(t, CellTensor) and condition(t)]

    def floats(self, condition=lambda t: True) -> list[str]:
        return self.tensors(lambda t: t.dtype.kind == "f" and condition(t))

    def pick(self, names: list[str]) -> str | None:
        """One of the names; what was made last is likelier."""
        if not names:
            return None
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def any_float(self) -> str:
        return self.pick(self.floats())

    def writable(self, condition=lambda t: True) -> str | None:
        """A tensor that an in-place operation may overwrite."""
        return self.pick(self.floats(lambda t: condition(t) and not self.world.unwritable(t)))

    def fresh_name(self, prefix: str = "t") -> str:
        if prefix == "t" and self.rng.random() < 0.12:
            old = [n for n in self.env if n[0] == "t"]
            if old:
                self.tags.add("a name bound anew")
                return self.rng.choice(old)
        self.made += 1
        return f"{prefix}{self.made}"

    def defined(self, name: str, *operands, **params) -> bool:
        """Whether the operation is smooth and moderate at these operands."""
        try:
            self.world.evaluate(name, list(operands), params)
        except (OutsideDomain, ValueError):
            return False
        return True

    # ---- the program -------------------------------------------------------------------------------------------------

    def opening(self) -> list[str]:
        """The statements that make the first tensors."""
        rng, lines = self.rng, []
        room = 24
        for name in "xyz"[: rng.choice((1, 1, 2, 2, 3))]:
            shape = rng.choice(SHAPES_THAT_FIT[room // 6])
            room -= int(np.prod(shape))
            dtype = rng.choice(("float32", "float64")) if self.mixed else "float64"
            lines.append(f"{name} = mt.to_tensor({ix.numbers(rng, shape)}, dtype='{dtype}', stop_gradient=False)")
        for _ in range(rng.choice((0, 1, 1, 2))):
            lines.append(f"{self.fresh_name('c')} = {self.constant(rng.choice(ix.SHAPES))}")
        if rng.random() < 0.15:
            lines.append(f"{self.fresh_name('i')} = mt.to_tensor({rng.choice(([0, 1], [0, 0], [1, 0, 1], [-1]))})")
        return lines

    def constant(self, shape) -> str:
        kind = self.rng.random()
        dtype = self.rng.choice(("float32", "float64")) if self.mixed else "float64"
        if kind < 0.15:
            return f"mt.zeros({list(shape)}, dtype='{dtype}')"
        if kind < 0.2:
            return f"mt.ones({list(shape)}, dtype='{dtype}')"
        return f"mt.to_tensor({ix.numbers(self.rng, shape)}, dtype='{dtype}')"

    def statement(self) -> str:
        """The next statement. ``tags`` then tells what it is about."""
        while True:
            self.tags = set()
            move = self.rng.choices(self.moves, self.weights)[0]
            no_grad = not self.smooth and move not in ALWAYS_RECORDED and self.rng.random() < 0.1
            with self.world.grad_mode(not no_grad):
                text = getattr(self, move)()
            if text is None:
                continue
            if no_grad:
                self.tags.add("under no_grad")
                return f"with mt.no_grad():\n    {text}"
            if not self.smooth and move not in ALWAYS_RECORDED and self.rng.random() < 0.01:
                self.tags.add("under enable_grad inside no_grad")
                return f"with mt.no_grad(), mt.enable_grad():\n    {text}"
            return text

    def closing(self) -> list[str]:
        """A backward from up to six tensors that want a gradient, each with its own random seed."""
        wanting = self.floats(lambda t: t.family.wants)
        chosen = self.rng.sample(wanting, min(6, len(wanting)))
        return [self.backward_from(name, "retain_graph=True") for name in chosen]

    def backward_from(self, name: str, *options: str) -> str:
        t = self.env[name]
        if 0 in t.cells.shape:
            seed = f"mt.zeros({t.shape}, dtype='{t.dtype.name}')"
        else:
            seed = f"mt.to_tensor({ix.numbers(self.rng, t.cells.shape)}, dtype='{t.dtype.name}')"
        return f"{name}.backward({', '.join((seed, *options))})"

    # ---- operations --------------------------------------------------------------------------------------------------

    def unary(self) -> str | None:
        name, x = self.rng.choice(list(UNARY)), self.any_float()
        if not self.defined(name, self.env[x]):
            return None
        self.tags.add(name)
        call = self.rng.choice((f"{x}.{name}()", f"mt.{name}({x})"))
        if name in ("neg", "abs") and self.rng.random() < 0.3:
            call = f"-{x}" if name == "neg" else f"abs({x})"
        if name == "relu" and self.rng.random() < 0.3:
            call = f"mt.nn.functional.relu({x})"
        return f"{self.fresh_name()} = {call}"

    def unary_(self) -> str | None:
        x, name = self.writable(), self.rng.choice(list(UNARY))
        if x is None or not self.defined(name, self.env[x]):
            return None
        self.tags |= {name + "_", *self.about_target(x)}
        if name == "relu" and self.rng.random() < 0.4:
            return f"mt.nn.functional.relu_({x})"
        return self.perhaps_named(f"{x}.{name}_()")

    def perhaps_named(self, call: str) -> str:
        """Sometimes give what an in-place operation returns a name: it is the same tensor."""
        if self.rng.random() < 0.12:
            self.tags.add("the result of an in-place operation named")
            return f"{self.fresh_name()} = {call}"
        return call

    def about_target(self, x: str) -> set[str]:
        """What kind of tensor is being written."""
        t, world = self.env[x], self.world
        same = [o for o in self.env.values() if isinstance(o, CellTensor) and o.storage is t.storage and o is not t]
        tags = set()
        if any(o.family is t.family for o in same):
            tags.add("write to a tensor with views")
        if any(o.family is not t.family for o in same):
            tags.add("write to memory with a detached alias")
        if world.grad_enabled and t.family.leaf is None and t.cells.size < t.storage.values.size and t.family.wants:
            tags.add("write through a partial view")
        if not t.is_contiguous():
            tags.add("write through strides")
        if t.cells.ndim == 0:
            tags.add("write to a tensor without dimensions")
        if t.cells.size == 0:
            tags.add("write to no elements")
        return tags

    def second(self, x: str, fits_into: bool) -> str | float | None:
        """An operand that broadcasts with ``x``: a number, a tensor, or a tensor in the same memory."""
        if self.rng.random() < 0.25:
            return ix.number(self.rng)
        shape = self.env[x].cells.shape

        def fits(t: CellTensor) -> bool:
            try:
                result = np.broadcast_shapes(t.cells.shape, shape)
            except ValueError:
                return False
            return result == shape if fits_into else int(np.prod(result)) <= 16

        names = self.floats(fits)
        if not self.mixed and self.rng.random() < 0.1:
            names = self.tensors(lambda t: t.dtype.kind == "i" and fits(t)) or names
        if self.rng.random() < 0.3:
            names = [n for n in names if self.env[n].storage is self.env[x].storage] or names
        return self.pick(names)

    def operand(self, y) -> object:
        return self.env[y] if isinstance(y, str) else y

    def about_operands(self, x: str, y) -> set[str]:
        a, b = self.env[x], self.operand(y)
        if not isinstance(b, CellTensor):
            return {"a number as operand"}
        tags = set()
        if a.cells.shape != b.cells.shape:
            tags.add("broadcast")
        if a.storage is b.storage:
            tags.add("an operand with itself" if a is b else "operands in one memory")
        if b.dtype.kind == "i":
            tags.add("an integer operand")
        if a.family.wants and b.family.wants and a.family is not b.family:
            tags.add("two families that want gradients")
        return tags

    def binary(self) -> str | None:
        name, x = self.rng.choice(BINARY), self.any_float()
        y = self.exponent() if name == "pow" and self.rng.random() < 0.6 else self.second(x, fits_into=False)
        if y is None or not self.defined(name, self.env[x], self.operand(y)):
            return None
        self.tags |= {name, *self.about_operands(x, y)}
        if name in SYMBOLS and self.rng.random() < 0.4:
            if not isinstance(y, str) and name != "pow" and self.rng.random() < 0.5:
                if not self.defined(name, y, self.env[x]):
                    return None
                x, y = y, x
            if isinstance(x, str) and x[0] == "t" and self.rng.random() < 0.15:
                self.tags.add("augmented assignment")
                return f"{x} {SYMBOLS[name]}= {y}"
            return f"{self.fresh_name()} = {x} {SYMBOLS[name]} {y}"
        return f"{self.fresh_name()} = " + self.rng.choice((f"{x}.{name}({y})", f"mt.{name}({x}, {y})"))

    def exponent(self):
        return self.rng.choice((2, 3, 2.0, 1, 0.5, -1.0, 1.5, 2.5))

    def binary_(self) -> str | None:
        x, name = self.writable(), self.rng.choice(BINARY)
        if x is None:
            return None
        y = self.exponent() if name == "pow" and self.rng.random() < 0.6 else self.second(x, fits_into=True)
        if y is None or not self.defined(name, self.env[x], self.operand(y)):
            return None
        self.tags |= {name + "_", *self.about_target(x), *self.about_operands(x, y)}
        if isinstance(y, str) and self.world.lies_in(self.env[y], self.env[x]) and x != y:
            self.tags.add("an operand that overlaps the target")
        return self.perhaps_named(f"{x}.{name}_({y})")

    def with_numbers(self, names: tuple[str, ...]) -> tuple[str, str, dict]:
        name = self.rng.choice(names)
        if name == "scale":
            params = {"scale": ix.number(self.rng)}
            if self.rng.random() < 0.4:
                params["bias"] = ix.number(self.rng)
            return name, f"{params['scale']}" + (f", bias={params['bias']}" if "bias" in params else ""), params
        if name == "clip":
            low = self.rng.randint(-150, 50) / 100
            params = {"min": low, "max": low + self.rng.randint(50, 200) / 100}
            return name, f"{params['min']}, {params['max']}", params
        if name == "fill":
            params = {"value": ix.number(self.rng)}
            return name, str(params["value"]), params
        return name, "", {}

    def scalar(self) -> str | None:
        name, arguments, params = self.with_numbers(("scale", "clip"))
        x = self.any_float()
        if not self.defined(name, self.env[x], **params):
            return None
        self.tags.add(name)
        return f"{self.fresh_name()} = " + self.rng.choice((f"{x}.{name}({arguments})", f"mt.{name}({x}, {arguments})"))

    def scalar_(self) -> str | None:
        name, arguments, params = self.with_numbers(("scale", "scale", "clip", "fill", "zero"))
        x = self.writable()
        if x is None or not self.defined(name, self.env[x], **params):
            return None
        self.tags |= {name + "_", *self.about_target(x)}
        return self.perhaps_named(f"{x}.{name}_({arguments})")

    def reduction(self) -> str | None:
        name, x = self.rng.choice(REDUCTIONS), self.any_float()
        axis, keepdim = ix.axes(self.rng, self.env[x].cells.ndim), self.rng.random() < 0.3
        if not self.defined(name, self.env[x], axis=axis, keepdim=keepdim):
            return None
        self.tags.add(name)
        arguments = [f"axis={axis}"] * (axis is not None) + ["keepdim=True"] * keepdim
        if self.rng.random() < 0.5:
            return f"{self.fresh_name()} = mt.{name}({', '.join([x, *arguments])})"
        return f"{self.fresh_name()} = {x}.{name}({', '.join(arguments)})"

    def matmul(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.cells.ndim > 0))
        if x is None:
            return None
        flags = {"transpose_x": self.rng.random() < 0, "transpose_y": self.rng.random() < 0}
        if self.env[x].cells.ndim < 2:
            flags = {}
        names = self.floats(lambda t: t.cells.ndim > (1 if flags else 0) and self.defined("matmul", self.env[x], t, **flags))
        y = self.pick(names)
        if y is None:
            return None
        self.tags.add("matmul")
        if self.env[x].cells.ndim == 1 or self.env[y].cells.ndim == 1:
            self.tags.add("matmul with a vector")
        if not any(flags.values()):
            call = self.rng.choice((f"{x} @ {y}", f"mt.matmul({x}, {y})", f"{x}.matmul({y})"))
        else:
            call = f"mt.matmul({x}, {y}{''.join(f', {flag}=True' for flag, on in flags.items() if on)})"
        return f"{self.fresh_name()} = {call}"

    def where(self) -> str | None:
        x = self.any_float()
        y = self.second(x, fits_into=True)
        masks = self.tensors(lambda t: t.dtype.kind == "b" and t.cells.shape == self.env[x].cells.shape)
        if not isinstance(y, str) or not self.env[x].cells.size:
            return None
        if masks and self.rng.random() < 0.5:
            condition = self.rng.choice(masks)
        elif self.env[x].cells.ndim and self.rng.random() < 0.5:
            condition = ix.mask(self.rng, self.env[x].cells.shape)
            if np.array(eval(condition, {"mt": self.world}).numpy()).shape != self.env[x].cells.shape:
                return None
        else:
            condition = self.comparison(x)
            if condition is None:
                return None
        self.tags.add("where")
        return f"{self.fresh_name()} = mt.where({condition}, {x}, {y})"

    def comparison(self, x: str) -> str | None:
        text = f"{x} {self.rng.choice('<>')} {ix.number(self.rng) / 2}"
        try:
            eval(text, {}, self.env)
        except OutsideDomain:
            return None
        return text

    def join(self) -> str | None:
        name, x = self.rng.choice(("concat", "stack")), self.any_float()
        ndim = self.env[x].cells.ndim
        if name == "concat" and ndim == 0:
            return None
        axis = self.rng.randrange(-ndim, ndim) if name == "concat" else self.rng.randrange(ndim + 1)
        others = self.floats(lambda t: t.cells.size + self.env[x].cells.size <= 16 and self.defined(name, self.env[x], t, axis=axis))
        y = self.pick(others)
        if y is None:
            return None
        self.tags.add(name)
        return f"{self.fresh_name()} = mt.{name}([{x}, {y}], axis={axis})"

    def copy(self) -> str | None:
        """Operations of Paddle's vocabulary that copy, though PyTorch's namesakes are views."""
        x = self.any_float()
        t = self.env[x]
        name = self.rng.choice(("clone", "split", "chunk", "expand", "broadcast_to"))
        self.tags.add(name)
        if name == "clone":
            return f"{self.fresh_name()} = {x}.clone()"
        if name in ("expand", "broadcast_to"):
            shape = [self.rng.randint(1, 3) if n == 1 else n for n in t.cells.shape]
            shape = [2] * (len(shape) < 3 and self.rng.random() < 0.5) + shape
            if name == "expand" and t.cells.ndim and self.rng.random() < 0.2 and t.cells.shape[-1] != 1:
                shape[-1] = -1
            return f"{self.fresh_name()} = {x}.{name}({shape})"
        axes = [a for a, n in enumerate(t.cells.shape) if n in (2, 4)]
        if not axes:
            return None
        first, second = self.fresh_name(), self.fresh_name()
        if first == second:
            return None
        axis = self.rng.choice(axes)
        sections = self.rng.choice((2, [1, t.cells.shape[axis] - 1])) if name == "split" else 2
        return f"{first}, {second} = {x}.{name}({sections}, axis={axis})"

    # ---- views -------------------------------------------------------------------------------------------------------

    def view(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.family.leaf is t or not t.directions))
        if x is None:
            return None
        t, rng = self.env[x], self.rng
        ndim = t.cells.ndim
        if any(o.family is t.family and o is not t and o.cells.size == t.storage.values.size for o in self.values()):
            if t.cells.size < t.storage.values.size:
                self.tags.add("a view of a view")
        name = rng.choice(VIEWS)
        call = self.view_call(name, t, rng, ndim)
        if call is None:
            return None
        self.tags.add(name)
        if name == "unbind":
            names = [self.fresh_name() for _ in range(t.cells.shape[int(call[-2])])]
            return f"{', '.join(names)} = {x}{call}" if len(set(names)) == len(names) else None
        return f"{self.fresh_name()} = {x}{call}"

    def values(self) -> list[CellTensor]:
        return [o for o in self.env.values() if isinstance(o, CellTensor)]

    def view_call(self, name: str, t: CellTensor, rng: Random, ndim: int) -> str | None:
        if name == "basic index":
            return f"[{ix.basic_index(rng, t.cells.shape)}]"
        if name == "reshape":
            return f".reshape({ix.new_shape(rng, t.cells.size)})"
        if name == "view":
            return f".view({ix.new_shape(rng, t.cells.size)})" if t.is_contiguous() else None
        if name == "transpose":
            return f".transpose({rng.sample(range(ndim), ndim)})" if ndim else None
        if name == "t":
            return ".t()" if ndim <= 2 else None
        if name == "T":
            return ".T"
        if name == "squeeze":
            ones = [a for a, n in enumerate(t.cells.shape) if n == 1]
            return f".squeeze({rng.choice(ones) if ones and rng.random() < 0.7 else ''})"
        if name == "unsqueeze":
            return f".unsqueeze({rng.randint(-ndim - 1, ndim)})" if ndim < 4 else None
        if name == "flatten":
            start = rng.randrange(ndim) if ndim else 0
            return f".flatten({start}, {rng.randrange(start, ndim)})" if ndim and rng.random() < 0.5 else ".flatten()"
        if name == "slice":
            axes = [a for a in range(ndim) if rng.random() < 0.7 and t.cells.shape[a]]
            if not axes:
                return None
            starts = [rng.randrange(t.cells.shape[a]) for a in axes]
            ends = [rng.randint(s + 1, t.cells.shape[a] + 1) for s, a in zip(starts, axes, strict=True)]
            return f".slice({axes}, {starts}, {ends})"
        if name == "diagonal":
            return f".diagonal(offset={rng.randint(-1, 1)})" if ndim >= 2 and min(t.cells.shape[:2]) > 1 else None
        if name == "unbind":
            axes = [a for a, n in enumerate(t.cells.shape) if n in (2, 3)]
            return f".unbind({rng.choice(axes)})" if axes else None
        if t.storage.values.size < 3 or t.cells.size < 3:
            return None
        return ".as_strided({}, {}, {})".format(*ix.strided(rng, t.storage.values.size))

    def gather(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.cells.ndim > 0 and t.cells.size > 0))
        if x is None:
            return None
        index = self.advanced(x)
        return None if index is None else f"{self.fresh_name()} = {x}[{index}]"

    def advanced(self, x: str) -> str | None:
        shape = self.env[x].cells.shape
        kind = self.rng.random()
        if kind < 0.3:
            self.tags.add("a mask as index")
            return ix.mask(self.rng, shape)
        if kind < 0.5:
            self.tags.add("a comparison as index")
            return self.comparison(x)
        arrays = self.tensors(lambda t: t.dtype.kind == "i" and (abs(t.storage.values[t.cells]) < shape[0]).all())
        masks = self.tensors(lambda t: t.dtype.kind == "b" and t.cells.shape == shape)
        if (arrays or masks) and self.rng.random() < 0.6:
            self.tags.add("a named index tensor")
            return self.rng.choice(arrays + masks)
        self.tags.add("whole numbers as index")
        return ix.array_index(self.rng, shape)

    def index_tensor(self) -> str | None:
        """Make or change a tensor that serves as an index."""
        names = self.tensors(lambda t: t.dtype.kind == "i" and t.cells.ndim == 1)
        masks = self.tensors(lambda t: t.dtype.kind == "b" and t.cells.size and t.cells.ndim)
        if masks and self.rng.random() < 0.4:
            self.tags.add("write to a mask")
            return f"{self.rng.choice(masks)}[0] = {self.rng.random() < 0.5}"
        if names and self.rng.random() < 0.6:
            name = self.rng.choice(names)
            self.tags.add("write to an index tensor")
            return self.rng.choice((f"{name}[0] = {self.rng.randrange(2)}", f"{name}.fill_(0)", f"{name}.scale_(-1)"))
        if self.rng.random() < 0.5:
            text = self.comparison(self.any_float())
            return None if text is None else f"{self.fresh_name('m')} = {text}"
        return f"{self.fresh_name('i')} = mt.to_tensor({ix.whole_numbers(self.rng, 2, self.rng.randint(1, 3))})"

    # ---- other writes ------------------------------------------------------------------------------------------------

    def setitem(self) -> str | None:
        x = self.writable(lambda t: t.cells.size > 0)
        if x is None:
            return None
        self.tags.add("setitem")
        advanced = self.env[x].cells.ndim > 0 and self.rng.random() < 0.45
        index = self.advanced(x) if advanced else ix.basic_index(self.rng, self.env[x].cells.shape)
        if index is None:
            return None
        try:
            cells, _ = self.env[x].select(eval(f"_[{index}]", {"mt": self.world, "_": AsIndex(), **self.env}))
        except OutsideDomain:
            return None
        self.tags |= self.about_target(x)
        if len(np.unique(cells)) < cells.size:
            self.tags.add("setitem that repeats an index")
        return f"{x}[{index}] = {self.value_for(x, cells.shape)}"

    def value_for(self, x: str, shape) -> str:
        kind = self.rng.random()
        if kind < 0.25 or 0 in shape:
            return str(ix.number(self.rng))
        if kind < 0.35:
            self.tags.add("setitem of an array")
            return f"np.array({ix.numbers(self.rng, shape)})"
        names = self.floats(lambda t: shape == np.broadcast_shapes(shape, t.cells.shape) if fits(shape, t) else False)
        if self.rng.random() < 0.4:
            names = [n for n in names if self.env[n].storage is self.env[x].storage] or names
        name = self.pick(names)
        if name is None:
            return str(ix.number(self.rng))
        if self.env[name].storage is self.env[x].storage:
            self.tags.add("setitem from the same memory")
        self.tags.add("setitem of a tensor")
        return name

    def overwrite(self) -> str | None:
        """copy_ and set_value."""
        x = self.writable(lambda t: t.cells.size > 0)
        if x is None:
            return None
        self.tags |= self.about_target(x)
        if self.rng.random() < 0.5:
            self.tags.add("set_value")
            return self.set_value(x)
        y = self.pick(self.floats(lambda t: t.cells.shape == self.env[x].cells.shape and t is not self.env[x]))
        self.tags.add("copy_")
        return None if y is None else f"{x}.copy_({y})"

    def load_leaf(self) -> str | None:
        """set_value on a leaf: how weights are loaded."""
        x = self.pick(self.floats(lambda t: t.family.leaf is t and t.cells.ndim))
        if x is None:
            return None
        self.tags.add("set_value on a leaf")
        return self.set_value(x)

    def set_value(self, x: str) -> str:
        t = self.env[x]
        return f"{x}.set_value(np.array({ix.numbers(self.rng, t.cells.shape)}, dtype='{t.dtype.name}'))"

    def optimizer_step(self) -> str | None:
        """A write to a leaf under no_grad."""
        x = self.pick(self.floats(lambda t: t.family.leaf is t))
        if x is None:
            return None
        self.tags.add("a leaf written under no_grad")
        return f"with mt.no_grad():\n    {x}.scale_({ix.number(self.rng)})"

    def relayout(self) -> str | None:
        """In-place operations that change the shape only."""
        grad_on = self.world.grad_enabled
        names = self.floats(lambda t: not (grad_on and t.family.leaf is not None) and not t.directions)
        x = self.pick(names)
        if x is None:
            return None
        t, rng, ndim = self.env[x], self.rng, self.env[x].cells.ndim
        name = rng.choice(("reshape", "transpose", "t", "squeeze", "unsqueeze", "flatten"))
        call = self.view_call(name, t, rng, ndim)
        if call is None:
            return None
        call = call.replace("(", "_(", 1)
        before = t.cells
        try:
            eval("t" + call, {"t": t})
        except Exception:
            return None
        finally:
            t.cells = before
        self.tags.add(name + "_")
        return self.perhaps_named(f"{x}{call}")

    # ---- histories ---------------------------------------------------------------------------------------------------

    def detach(self) -> str | None:
        self.tags.add("detach")
        name, x = self.fresh_name(), self.any_float()
        if self.rng.random() < 0.2 and self.room(self.env[x].cells.size) and not overlaps_itself(self.env[x].cells):
            self.tags.add("a detached alias made a leaf")
            return f"{name} = {x}.detach(); {name}.stop_gradient = False"
        return f"{name} = {x}.detach()"

    def room(self, count: int) -> bool:
        """Whether so many elements can become elements of a leaf."""
        return self.world.directions + count <= 30

    def cut(self) -> str | None:
        """stop_gradient = True on a result: it leaves its family."""
        x = self.pick(self.floats(lambda t: t.family.wants and t.family.leaf is None and not t.directions))
        if x is None:
            return None
        self.tags.add("stop_gradient = True")
        return f"{x}.stop_gradient = True"

    def begin(self) -> str | None:
        """stop_gradient = False: on the first of a family the whole family becomes a leaf, else the view alone."""
        x = self.pick(self.floats(lambda t: not t.family.wants and self.room(t.cells.size) and self.can_begin(t)))
        if x is None:
            return None
        self.tags.add("stop_gradient = False")
        return f"{x}.stop_gradient = False"

    def can_begin(self, t: CellTensor) -> bool:
        if overlaps_itself(t.cells):
            return False
        if t.family.first is t:
            return layout(t.cells) == t.family.founder
        return t.cells.size < int(np.prod(t.family.founder[1]))

    def hook(self) -> str | None:
        x = self.any_float()
        if not self.env[x].family.wants or not self.defined("scale", self.env[x], scale=1.5):
            return None
        name = self.fresh_name()
        self.tags.add("register_hook")
        return f"{name} = {x}.scale(1.5); {name}.register_hook(lambda g: g * 2.0)"

    def retain(self) -> str | None:
        x = self.any_float()
        if not self.env[x].family.wants or not self.defined("square", self.env[x]) or not self.room(self.env[x].cells.size):
            return None
        self.made += 1
        self.tags.add("retain_grads")
        return f"r{self.made} = {x}.square(); r{self.made}.retain_grads()"

    def backward(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.family.wants))
        if x is None:
            return None
        self.tags.add("backward")
        if self.rng.random() < 0.2:
            return f"{x}.backward()"
        return self.backward_from(x, *["retain_graph=True"] * (self.rng.random() < 0.6))

    def partial(self) -> str | None:
        """mt.grad: gradients as a result, leaving ``.grad`` alone."""
        y = self.pick(self.floats(lambda t: t.family.wants))
        if y is None:
            return None
        reached = set(self.env[y].family.record.ancestry())
        x = self.pick(self.floats(lambda t: t.family.leaf is t and t.family.record in reached))
        if x is None:
            return None
        self.tags.add("grad")
        return f"({self.fresh_name()},) = mt.grad([{y}], [{x}], retain_graph=True)"

    def clear(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.grad is not None))
        if x is None:
            return None
        self.tags.add("clear_grad")
        return f"{x}.clear_grad()"

    def forget(self) -> str | None:
        names = [n for n in self.env if n[0] in "tr"]
        if len(names) < 3:
            return None
        self.tags.add("del")
        return f"del {self.rng.choice(names)}"

    # ---- statements that are wrong on purpose ------------------------------------------------------------------------

    def wrong(self) -> str | None:
        self.tags.add("wrong on purpose")
        return getattr(self, self.rng.choice(WRONG))()

    def wrong_leaf(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.family.leaf is not None and t.cells.size))
        if x is None:
            return None
        call = self.rng.choice((".scale_(2.0)", ".add_(1.0)", ".zero_()", "[...] = 1.0", ".relu_()", ".fill_(3.0)", ".exp_()"))
        if self.env[x].cells.ndim:
            call = self.rng.choice((call, "[0] = 5.0", f".multiply_({x})", f"[{ix.mask(self.rng, [self.env[x].cells.shape[0]])}] = 1.0"))
        return x + call

    def wrong_shape(self) -> str | None:
        x = self.any_float()
        shape = self.env[x].cells.shape
        others = self.floats(lambda t: not fits(shape, t) or np.broadcast_shapes(shape, t.cells.shape) != shape)
        y = self.pick(others)
        if y is None:
            return None
        return f"{x}.{self.rng.choice(('add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum', 'pow'))}_({y})"

    def wrong_fit(self) -> str | None:
        x = self.any_float()
        shape = self.env[x].cells.shape
        name = self.rng.choice(("add", "multiply", "maximum"))
        y = self.pick(self.floats(lambda t: not fits(shape, t)))
        return None if y is None else f"{self.fresh_name()} = mt.{name}({x}, {y})"

    def wrong_dtype(self) -> str | None:
        x = self.pick(self.tensors(lambda t: t.dtype.kind in "ib"))
        if x is None:
            return None
        calls = [".divide_(2)", ".add_(0.5)", ".scale_(0.5)", ".clip_(0.5, 2.5)", ".sin_()", ".sqrt_()", ".reciprocal_()"]
        if self.env[x].dtype.kind == "b":
            calls = [".add_(0.5)", ".sin_()", ".scale_(0.5)"]
        y = self.pick(self.floats(lambda t: t.cells.shape == ()))
        return x + self.rng.choice(calls + [f".add_({y})"] * (y is not None))

    def wrong_overlap(self) -> str | None:
        x = self.pick(self.floats(lambda t: overlaps_itself(t.cells)))
        if x is None:
            x = self.pick(self.floats(lambda t: t.cells.size > 2))
            return None if x is None else f"{self.fresh_name()} = {x}.as_strided([2, 2], [1, {self.rng.randrange(2)}])"
        return x + self.rng.choice((".add_(1.0)", ".fill_(1.0)", ".zero_()", "[...] = 1.0", ".exp_()", ".scale_(2.0)"))

    def wrong_index(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.cells.size))
        index = ix.bad_index(self.rng, self.env[x].cells.shape)
        return self.rng.choice((f"{x}[{index}] = 1.0", f"{self.fresh_name()} = {x}[{index}]"))

    def wrong_value(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.cells.size))
        y = self.pick(self.floats(lambda t: not fits(self.env[x].cells.shape, t)))
        return None if y is None else f"{x}[...] = {y}"

    def wrong_reshape(self) -> str | None:
        x = self.any_float()
        size = self.env[x].cells.size
        call = self.rng.choice((f"reshape_([{size + 1}])", "reshape_([5, -1])", "transpose_([0, 0])", "transpose_([0, 1, 2, 3])"))
        if call == "reshape_([5, -1])" and size % 5 == 0:
            return None
        return f"{x}.{call}"

    def wrong_type(self) -> str | None:
        x = self.any_float()
        return f"{x}.{self.rng.choice(('add', 'multiply', 'maximum'))}_({self.rng.choice(('None', repr('a')))})"


def fits(shape, t: CellTensor) -> bool:
    try:
        np.broadcast_shapes(shape, t.cells.shape)
    except ValueError:
        return False
    return True


class AsIndex:
    """``AsIndex()[1:2, 0]`` is the index itself."""

    def __getitem__(self, index):
        return index


VIEWS = ("basic index", "basic index", "basic index", "basic index", "reshape", "view", "transpose", "t", "T", "squeeze")
VIEWS += ("unsqueeze", "flatten", "slice", "diagonal", "unbind", "as_strided")
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
    "load_leaf": 0.5,
    "optimizer_step": 1,
    "relayout": 4,
    "detach": 4,
    "cut": 0.7,
    "begin": 1,
    "hook": 1,
    "retain": 1,
    "backward": 3,
    "partial": 1.5,
    "clear": 1,
    "forget": 2,
    "wrong": 5,
}
ROUGH = {"detach", "cut", "begin", "hook", "backward", "partial", "clear", "wrong", "load_leaf", "optimizer_step", "retain"}
ALWAYS_RECORDED = {"backward", "partial", "optimizer_step", "wrong", "hook", "retain", "cut", "begin", "clear", "forget"}
WRONG = [name for name in vars(Generator) if name.startswith("wrong_")]
SHAPES_THAT_FIT = [[s for s in ix.SHAPES if int(np.prod(s)) <= 6 * fit] or [[1]] for fit in range(5)]
