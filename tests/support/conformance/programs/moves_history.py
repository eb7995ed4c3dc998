"""Generate statements that run backward, use gradients, or detach tensors."""

from __future__ import annotations

import math

from . import indices as ix
from .calculus import DIRECTIONS
from .cells import layout, overlaps_itself
from .tensor import CellTensor


class Histories:
    """Methods of the generator that return a statement, or None if none fits."""

    def room(self, count: int) -> bool:
        """True if the program may create leaves with ``count`` elements in addition to its present ones."""
        return self.world.directions + count <= DIRECTIONS

    # ---- leaves ------------------------------------------------------------------------------------------------------

    def load_leaf(self) -> str | None:
        """Write a leaf with set_value, as a program that loads weights does."""
        x = self.pick(self.floats(lambda t: t.group.leaf is t))
        if x is None:
            return None
        self.tags.add("set_value on a leaf")
        return self.set_value(x)

    def optimizer_step(self) -> str | None:
        """Write a leaf under no_grad."""
        x = self.pick(self.floats(lambda t: t.group.leaf is t))
        if x is None:
            return None
        self.tags.add("a leaf written under no_grad")
        return f"with mt.no_grad():\n    {x}.scale_({ix.number(self.rng)})"

    def detach(self) -> str | None:
        self.tags.add("detach")
        name, x = self.fresh_name(), self.any_float()
        t = self.at(x)
        if self.rng.random() < 0.2 and self.room(t.cells.size) and not overlaps_itself(t.cells):
            self.tags.add("a detached alias made a leaf")
            return f"{name} = {x}.detach(); {name}.stop_gradient = False"
        return f"{name} = {x}.detach()"

    def cut(self) -> str | None:
        """Detach a result in place, by stop_gradient = True or detach_. It then no longer belongs to its group."""

        def allowed(t: CellTensor) -> bool:
            return t.group.wants and t.group.leaf is None and t not in self.world.retained

        x = self.pick(self.floats(allowed))
        if x is None:
            return None
        self.tags.add("stop_gradient = True")
        return self.rng.choice((f"{x}.stop_gradient = True", f"{x}.detach_()"))

    def begin(self) -> str | None:
        """Set stop_gradient = False. On the first tensor of a group this makes the whole group a leaf, on another
        tensor it makes only this view a leaf.
        """

        def allowed(t: CellTensor) -> bool:
            if t.group.wants or not self.room(t.cells.size) or overlaps_itself(t.cells):
                return False
            if t.group.first is t:
                return layout(t.cells) == t.group.base
            return t.cells.size < math.prod(t.group.base[1])

        x = self.pick(self.floats(allowed))
        if x is None:
            return None
        self.tags.add("stop_gradient = False")
        return f"{x}.stop_gradient = False"

    # ---- policies ----------------------------------------------------------------------------------------------------

    def change_policy(self) -> str:
        """Change the policy, so that values saved under one policy are written under another."""
        self.tags.add("another policy from now on")
        return f"mt.set_inplace_policy('{self.rng.choice(self.policies)}')"

    # ---- gradients ---------------------------------------------------------------------------------------------------

    def hook(self) -> str | None:
        x = self.any_float()
        if not self.at(x).group.wants or not self.defined("scale", self.at(x), scale=1.5):
            return None
        name = self.fresh_name()
        self.tags.add("register_hook")
        return f"{name} = {x}.scale(1.5); {name}.register_hook(lambda g: g * 2.0)"

    def retain(self) -> str | None:
        x = self.any_float()
        t = self.at(x)
        if not t.group.wants or not self.defined("square", t) or not self.room(t.cells.size):
            return None
        name = self.fresh_name("r")
        self.tags.add("retain_grads")
        return f"{name} = {x}.square(); {name}.retain_grads()"

    def backward(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.group.wants))
        if x is None:
            return None
        self.tags.add("backward")
        if self.rng.random() < 0.2:
            return f"{x}.backward()"
        text = self.backward_from(x, *["retain_graph=True"] * (self.rng.random() < 0.6))
        if self.rng.random() < 0.1:
            self.tags.add("backward under no_grad")
            return f"with mt.no_grad():\n    {text}"
        return text

    def partial(self) -> str | None:
        """Call mt.grad, which returns gradients and does not change the ``.grad`` of leaves."""
        y = self.pick(self.floats(lambda t: t.group.wants))
        if y is None:
            return None
        reached = set(self.env[y].group.record.ancestry())
        names = self.floats(lambda t: bool(t.directions) and t.group.record in reached)
        if not names:
            return None
        self.tags.add("grad")
        if len(names) > 1 and self.rng.random() < 0.7:
            self.tags.add("grad of two")
            inputs = self.rng.sample(names, 2)
            results = [self.fresh_name(), self.fresh_name()]
            return f"{', '.join(results)} = mt.grad([{y}], [{', '.join(inputs)}], retain_graph=True)"
        return f"({self.fresh_name()},) = mt.grad([{y}], [{self.pick(names)}], retain_graph=True)"

    def gradient_write(self) -> str | None:
        """Write into a gradient, or bind a gradient to a name."""
        x = self.pick(self.floats(lambda t: t.grad is not None))
        if x is None:
            return None
        if self.rng.random() < 0.4:
            self.tags.add("a gradient named")
            return f"{self.fresh_name()} = {x}.grad"
        self.tags.add("write to a gradient")
        return x + ".grad" + self.rng.choice((".scale_(0.5)", ".zero_()", ".clip_(-1.0, 1.0)", ".add_(0.25)"))

    def clear(self) -> str | None:
        x = self.pick(self.floats(lambda t: t.grad is not None))
        if x is None:
            return None
        self.tags.add("clear_grad")
        return self.rng.choice((f"{x}.clear_grad()", f"{x}.clear_gradient(set_to_zero=False)"))

    def forget(self) -> str | None:
        names = [n for n in self.env if n[0] in "tr"]
        if len(names) < 3:
            return None
        self.tags.add("del")
        if self.rng.random() < 0.1 and "y" in self.env:
            self.tags.add("del of a leaf")
            return "del y"
        return f"del {self.rng.choice(names)}"
