"""Generate statements that take views, copy, make indices, or write without arithmetic."""

from __future__ import annotations

import numpy as np

from . import indices as ix
from .calculus import OutsideDomain
from .cells import overlaps_itself
from .moves_math import fits
from .tensor import CellTensor

VIEWS = ("reshape", "view", "transpose", "t", "T", "squeeze", "unsqueeze", "flatten", "slice", "diagonal", "unbind")
VIEWS += ("as_strided", "unflatten", *["basic index"] * 4)


class AsIndex:
    """Convert index syntax to an object: ``AsIndex()[1:2, 0]`` returns the index."""

    def __getitem__(self, index):
        return index


class Memory:
    """Methods of the generator that return a statement, or None if none fits."""

    # ---- views -------------------------------------------------------------------------------------------------------

    def view(self) -> str | None:
        x = self.any_float()
        name, t = self.rng.choice(VIEWS), self.at(x)
        call = self.view_call(name, t)
        if call is None:
            return None
        self.tags |= {name, *(["a view of a view"] * (t.group.first is not t))}
        if name != "unbind":
            return f"{self.fresh_name()} = {x}{call}"
        names = [self.fresh_name() for _ in range(t.cells.shape[int(call[-2])])]
        if len(set(names)) < len(names):
            return None
        if call == ".unbind(0)" and self.rng.random() < 0.3:
            call = ""  # unpacking the tensor itself creates the same views
        return f"{', '.join(names)} = {x}{call}"

    def view_call(self, name: str, t: CellTensor) -> str | None:
        rng, shape, ndim = self.rng, t.cells.shape, t.cells.ndim
        if name == "basic index":
            return f"[{ix.basic_index(rng, shape)}]"
        if name == "reshape":
            return f".reshape({ix.new_shape(rng, t.cells.size)})"
        if name == "view":
            return f".view({ix.new_shape(rng, t.cells.size)})" if t.is_contiguous() and ndim else None
        if name == "transpose":
            return f".transpose({rng.sample(range(ndim), ndim)})" if ndim else None
        if name == "t":
            return ".t()" if ndim <= 2 else None
        if name == "T":
            return ".T"
        if name == "squeeze":
            ones = [a for a, n in enumerate(shape) if n == 1]
            return f".squeeze({rng.choice(ones) if ones and rng.random() < 0.7 else ''})"
        if name == "unsqueeze":
            return f".unsqueeze({rng.randint(-ndim - 1, ndim)})" if ndim < 4 else None
        if name == "flatten":
            start = rng.randrange(ndim) if ndim else 0
            return f".flatten({start}, {rng.randrange(start, ndim)})" if ndim and rng.random() < 0.5 else ".flatten()"
        if name == "unflatten":
            return self.unflatten_call(shape)
        if name == "slice":
            return self.slice_call(shape)
        if name == "diagonal":
            return f".diagonal(offset={rng.randint(-1, 1)})" if ndim >= 2 and min(shape[:2]) > 1 else None
        if name == "unbind":
            axes = [a for a, n in enumerate(shape) if n in (2, 3)]
            return f".unbind({rng.choice(axes)})" if axes else None
        if t.cells.size < max(3, t.storage.values.size) or overlaps_itself(t.cells):
            return None  # as_strided is called only on a tensor that covers its storage
        return ".as_strided({}, {}, {})".format(*ix.strided(rng, t.storage.values.size))

    def unflatten_call(self, shape) -> str | None:
        axes = [a for a, n in enumerate(shape) if n]
        if not axes:
            return None
        axis = self.rng.choice(axes)
        named = axis - len(shape) if self.rng.random() < 0.3 else axis
        return f".unflatten({named}, {ix.new_shape(self.rng, shape[axis])})"

    def slice_call(self, shape) -> str | None:
        axes = [a for a, n in enumerate(shape) if n and self.rng.random() < 0.7]
        if not axes:
            return None
        starts = [self.rng.randrange(shape[a]) for a in axes]
        ends = [self.rng.randint(s + 1, shape[a] + 1) for s, a in zip(starts, axes, strict=True)]
        return f".slice({axes}, {starts}, {ends})"

    def relayout(self) -> str | None:
        """Change only the shape of a tensor in place."""

        def allowed(t: CellTensor) -> bool:
            protected = self.world.grad_enabled and t.group.leaf is not None
            return not protected and t not in self.world.retained

        x = self.pick(self.floats(allowed))
        if x is None:
            return None
        name = self.rng.choice(("reshape", "transpose", "t", "squeeze", "unsqueeze", "flatten"))
        call = self.view_call(name, self.env[x])
        if call is None or self.at(x + call).storage is not self.env[x].storage:
            return None
        self.tags.add(name + "_")
        return self.perhaps_named(x + call.replace("(", "_(", 1))

    # ---- copies ------------------------------------------------------------------------------------------------------

    def copy(self) -> str | None:
        """Copy with clone, or with an operation whose namesake in PyTorch returns a view."""
        x, name = self.any_float(), self.rng.choice(("clone", "split", "chunk", "expand", "broadcast_to"))
        shape = list(self.at(x).cells.shape)
        self.tags.add(name)
        if name == "clone":
            return f"{self.fresh_name()} = {x}.clone()"
        if name in ("expand", "broadcast_to"):
            target = [self.rng.randint(1, 3) if n == 1 else n for n in shape]
            target = [2] * (len(shape) < 3 and self.rng.random() < 0.5) + target
            if name == "expand" and shape and shape[-1] != 1 and self.rng.random() < 0.2:
                target[-1] = -1
            return f"{self.fresh_name()} = {x}.{name}({target})"
        axes = [a for a, n in enumerate(shape) if n in (2, 4)]
        first, second = self.fresh_name(), self.fresh_name()
        if not axes or first == second:
            return None
        axis = self.rng.choice(axes)
        sections = self.rng.choice((2, [1, shape[axis] - 1])) if name == "split" else 2
        return f"{first}, {second} = {x}.{name}({sections}, axis={axis})"

    def gather(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.cells.ndim > 0 and t.cells.size > 0))
        index = None if x is None else self.advanced(x)
        return None if index is None else f"{self.fresh_name()} = {x}[{index}]"

    def advanced(self, x: str) -> str | None:
        """Return an index that selects a copy: integers, a mask or a comparison; None for a comparison near a tie."""
        shape = self.at(x).cells.shape
        kind = self.rng.random()
        if kind < 0.3:
            self.tags.add("a mask as index")
            return ix.mask(self.rng, shape)
        if kind < 0.5:
            self.tags.add("a comparison as index")
            return self.comparison(x)
        arrays = self.tensors(lambda t: t.dtype == np.int64 and t.cells.ndim and (np.abs(t.numpy()) < shape[0]).all())
        masks = self.tensors(lambda t: t.dtype.kind == "b" and t.cells.shape == shape)
        if arrays + masks and self.rng.random() < 0.6:
            self.tags.add("a named index tensor")
            return self.rng.choice(arrays + masks)
        self.tags.add("whole numbers as index")
        return ix.array_index(self.rng, shape)

    def index_tensor(self) -> str | None:
        """Create or change a tensor that is used as an index."""
        numbers = self.tensors(lambda t: t.dtype == np.int64 and t.cells.ndim == 1)
        masks = self.tensors(lambda t: t.dtype.kind == "b" and t.cells.size and t.cells.ndim)
        if masks and self.rng.random() < 0.4:
            self.tags.add("write to a mask")
            return f"{self.rng.choice(masks)}[0] = {self.rng.random() < 0.5}"
        if numbers and self.rng.random() < 0.6:
            name = self.rng.choice(numbers)
            self.tags.add("write to an index tensor")
            writes = (
                f"[0] = {self.rng.randrange(2)}",
                ".fill_(0)",
                ".scale_(-1)",
                ".add_(0)",
                "[0] = 1.7",
                ".fill_(-0.9)",
            )
            return name + self.rng.choice(writes)
        if self.rng.random() < 0.5:
            text = self.comparison(self.any_float())
            return None if text is None else f"{self.fresh_name('m')} = {text}"
        return f"{self.fresh_name('i')} = mt.to_tensor({ix.whole_numbers(self.rng, 2, self.rng.randint(1, 3))})"

    # ---- writes ------------------------------------------------------------------------------------------------------

    def setitem(self) -> str | None:
        x = self.writable(lambda t: t.cells.size > 0)
        if x is None:
            return None
        t = self.at(x)
        advanced = t.cells.ndim > 0 and self.rng.random() < 0.45
        index = self.advanced(x) if advanced else ix.basic_index(self.rng, t.cells.shape)
        if index is None:
            return None
        try:
            cells, _ = t.select(eval(f"_[{index}]", {**self.env, "_": AsIndex()}))
        except OutsideDomain:
            return None
        self.tags |= {"setitem", *self.about_target(x)}
        if overlaps_itself(cells):
            self.tags.add("setitem that repeats an index")
        return f"{x}[{index}] = {self.value_for(t, cells.shape)}"

    def value_for(self, target: CellTensor, shape) -> str:
        """Return a value to store: a number, a list, an array or a tensor that broadcasts to ``shape``."""
        kind = self.rng.random()
        if kind < 0.25 or 0 in shape:
            return str(ix.number(self.rng))
        if kind < 0.35:
            self.tags.add("setitem of an array")
            values = repr(ix.numbers(self.rng, shape))
            return values if self.rng.random() < 0.3 else f"np.array({values})"
        names = self.floats(lambda t: fits(shape, t) and np.broadcast_shapes(shape, t.cells.shape) == shape)
        if self.rng.random() < 0.4:
            names = [n for n in names if self.env[n].storage is target.storage] or names
        name = self.pick(names)
        if name is None:
            return str(ix.number(self.rng))
        self.tags.add("setitem of a tensor")
        if self.env[name].storage is target.storage:
            self.tags.add("setitem from the same memory")
        return name

    def overwrite(self) -> str | None:
        """Overwrite with copy_ or set_value."""
        x = self.writable(lambda t: t.cells.size > 0)
        if x is None:
            return None
        self.tags |= self.about_target(x)
        if self.rng.random() < 0.5:
            self.tags.add("set_value")
            return self.set_value(x)
        y = self.pick(self.floats(lambda t: t.cells.shape == self.at(x).cells.shape and t is not self.at(x)))
        self.tags.add("copy_")
        return None if y is None else f"{x}.copy_({y})"

    def set_value(self, x: str) -> str:
        t = self.at(x)
        if t.dtype.name == "bfloat16":  # numpy has no such dtype
            return None
        return f"{x}.set_value(np.array({ix.numbers(self.rng, t.cells.shape)}, dtype='{t.dtype.name}'))"
