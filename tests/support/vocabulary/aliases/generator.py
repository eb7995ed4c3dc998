"""Generate programs of views, writes, detached aliases, backward passes and kept gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

T = TypeVar("T")

SEED = "aliases"
#: How many programs keep no gradient in a variable, and how many programs keep one.
PLAIN, KEEPING = 4_000, 1_000
COUNT = PLAIN + KEEPING

START = {
    (4,): "torch.tensor([0.5, -1.0, 2.0, 1.5]{})",
    (2, 2): "torch.tensor([[0.5, -1.0], [2.0, 1.5]]{})",
    (2, 3): "torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]{})",
}
UNARY = ("sin()", "cos()", "exp()", "tanh()", "sigmoid()", "relu()", "abs()", "square()", "clone()", "neg()")
IN_PLACE = ("sin_()", "cos_()", "exp_()", "tanh_()", "sigmoid_()", "relu_()", "neg_()", "square_()", "zero_()")
IN_PLACE_WITH_NUMBERS = ("add_(1)", "mul_(2)", "sub_(0.5)", "div_(2)", "fill_(3)", "pow_(2)", "clamp_(-1, 1)")
BINARY = ("+", "-", "*")
IN_PLACE_BINARY = ("add_", "mul_", "sub_", "copy_")


@dataclass(frozen=True)
class Line:
    """A statement. If a `rule` of PyTorch refuses it, `accepted` is a spelling that PyTorch accepts."""

    text: str
    accepted: str = ""
    rule: str = ""


@dataclass(frozen=True)
class Name:
    """A tensor as the generator knows it: its name, shape and memory, and properties that PyTorch checks."""

    name: str
    shape: tuple[int, ...]
    memory: int
    leaf: bool = False
    wants: bool = False
    view: bool = False


@dataclass
class Writer:
    """Generate one program, statement by statement."""

    chance: Random
    keeping: bool
    lines: list[Line] = field(default_factory=list)
    names: dict[str, Name] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    memories: int = 0

    # `Random.random` returns the same numbers in every version of Python; the methods built on it may not.
    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.chance.random() * len(choices))]

    def happens(self, share: float) -> bool:
        return self.chance.random() < share

    def memory(self) -> int:
        self.memories += 1
        return self.memories

    def fresh(self) -> str:
        for letter in "abdefghijklmnopqrs":
            if letter not in self.names:
                return letter
        return "z"

    def any(self) -> Name:
        return self.pick(list(self.names.values()))

    def say(self, text: str, accepted: str = "", rule: str = "") -> None:
        self.lines.append(Line(text, accepted, rule))

    def call(self, name: Name) -> None:
        self.names[name.name] = name

    # ---- statements --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        shape = self.pick(list(START))
        self.say(f"x = {START[shape].format(', requires_grad=True')}")
        self.call(Name("x", shape, self.memory(), leaf=True, wants=True))
        if self.happens(0.4):
            other = shape if self.happens(0.7) else self.pick(list(START))
            wants = self.happens(0.5)
            self.say(f"c = {START[other].format(', requires_grad=True' if wants else '')}")
            self.call(Name("c", other, self.memory(), leaf=wants, wants=wants))
        first = self.fresh()
        self.say(f"{first} = x * {self.pick(('1', '2', '0.5'))}")
        self.call(Name(first, shape, self.memory(), wants=True))

    def normal(self) -> None:
        source, new = self.any(), self.fresh()
        function = self.pick(UNARY)
        if self.happens(0.1):
            function = self.pick(("log_softmax(0)", "std()")) if source.shape else "sin()"
        text = f"{new} = {source.name}.{function}"
        shape = () if function == "std()" else source.shape
        accepted = {
            "log_softmax(0)": f"{new} = {source.name}.log_softmax(0) * 1",
            "std()": f"{new} = {source.name}.clone().std()",
        }.get(function, "")
        self.say(text, accepted, "needs less" if accepted else "")
        self.call(Name(new, shape, self.memory(), wants=source.wants))

    def product(self) -> None:
        one, new = self.any(), self.fresh()
        fitting = [name for name in self.names.values() if name.shape == one.shape]
        other = self.pick(fitting)
        self.say(f"{new} = {one.name} {self.pick(BINARY)} {other.name}")
        self.call(Name(new, one.shape, self.memory(), wants=one.wants or other.wants))

    def view(self) -> None:
        source, new = self.any(), self.fresh()
        text, shape = self.a_view_of(source)
        if text is None:
            return
        silent = self.happens(0.08)
        if silent:
            hidden = text.replace(source.name, f"{source.name}.detach()", 1) if source.wants else text
            self.say(f"with torch.no_grad(): {new} = {text}", f"{new} = {hidden}", "a view made under no_grad")
        else:
            self.say(f"{new} = {text}")
        copies = ".t().reshape" in text
        memory = self.memory() if copies else source.memory
        self.call(Name(new, shape, memory, wants=source.wants and not silent, view=not copies))

    def a_view_of(self, source: Name) -> tuple[str | None, tuple[int, ...]]:
        name, shape = source.name, source.shape
        if not shape:
            return f"{name}.unsqueeze(0)", (1,)
        choices: list[tuple[str, tuple[int, ...]]] = [
            (f"{name}[0]", shape[1:]),
            (f"{name}[:1]", (1, *shape[1:])),
            (f"{name}.unsqueeze(0)", (1, *shape)),
        ]
        if shape[0] > 1:
            choices += [(f"{name}[1:]", (shape[0] - 1, *shape[1:])), (f"{name}[-1]", shape[1:])]
        if len(shape) == 1 and shape[0] == 4:
            choices += [
                (f"{name}.view(2, 2)", (2, 2)),
                (f"{name}.unflatten(0, (2, -1))", (2, 2)),
                (f"{name}[::2]", (2,)),
                (f"{name}[:2]", (2,)),
                (f"{name}[2:]", (2,)),
            ]
        if len(shape) == 2:
            choices += [
                (f"{name}.t()", shape[::-1]),
                (f"{name}[:, 0]", shape[:1]),
                (f"{name}[:, 1:]", (shape[0], shape[1] - 1)),
            ]
            if shape[1] == 1:
                choices.pop()
            if self.happens(0.3):
                choices = [(f"{name}.t().reshape(-1)", (shape[0] * shape[1],))]
        if self.happens(0.08):
            choices = [(f"{name}.unsqueeze(0).expand(2{', -1' * len(shape)})", (2, *shape))]
        return self.pick(choices)

    def alias(self) -> None:
        source, new = self.any(), self.fresh()
        self.say(f"{new} = {source.name}.{self.pick(('detach()', 'detach()', 'data'))}")
        self.call(replace(source, name=new, leaf=False, wants=False))

    def several(self) -> None:
        fitting = [name for name in self.names.values() if name.shape and name.shape[0] in (2, 4)]
        if not fitting:
            return
        source = self.pick(fitting)
        one = self.fresh()
        self.call(Name(one, (), 0))
        two = self.fresh()
        half = source.shape[0] // 2
        how = f"split({half})" if self.happens(0.5) else "chunk(2)"
        if source.shape[0] == 2 and self.happens(0.5):
            shape, pair = source.shape[1:], f"{source.name}[0], {source.name}[1]"
            how = "unbind()"
        else:
            shape, pair = (half, *source.shape[1:]), f"{source.name}[:{half}], {source.name}[{half}:]"
        self.say(f"{one}, {two} = {source.name}.{how}", f"{one}, {two} = {pair}", "several views")
        for new in (one, two):
            self.call(replace(source, name=new, shape=shape, leaf=False, view=True))

    def write(self) -> None:
        target = self.any()
        if target.leaf and self.happens(0.7):  # most writes to a leaf raise, which ends the program
            target = self.any()
        name = target.name
        if self.happens(0.4):
            self.write_from_another(target)
            return
        function = self.pick(IN_PLACE) if self.happens(0.5) else self.pick(IN_PLACE_WITH_NUMBERS)
        text = f"{name}.{function}"
        if target.shape and self.happens(0.25):
            text = self.pick((f"{name}[0] = 5", f"{name}[:1] *= 2", f"{name}[-1] += 1"))
        elif self.happens(0.1):
            text = f"{name}.masked_fill_({name}.detach() > 0, 0.5)"
        elif self.happens(0.15):
            text = f"{name} {self.pick(('+=', '*=', '-='))} 2"
        self.say_in_a_mode(text, "", "", name)
        return None

    def write_from_another(self, target: Name) -> None:
        fitting = [name for name in self.names.values() if name.shape == target.shape]
        other = self.pick(fitting)
        function = self.pick(IN_PLACE_BINARY)
        overlaps = other.memory == target.memory
        text, accepted = f"{target.name}.{function}({other.name})", f"{target.name}.{function}({other.name}.clone())"
        if self.happens(0.2):
            sign = self.pick(("+=", "*=", "-="))
            text, accepted = f"{target.name} {sign} {other.name}", f"{target.name} {sign} {other.name}.clone()"
        elif target.shape and self.happens(0.2):
            text, accepted = f"{target.name}[:] = {other.name}", f"{target.name}[:] = {other.name}.clone()"
        self.say_in_a_mode(text, accepted if overlaps else "", "reads what it writes" if overlaps else "", target.name)
        if other.wants and not target.wants and "no_grad" not in self.lines[-1].text:
            self.call(replace(target, wants=True))

    def say_in_a_mode(self, text: str, accepted: str, rule: str, name: str) -> None:
        """Add the line unchanged, under no_grad, or through `data`."""
        if self.happens(0.12):
            self.say(f"with torch.no_grad(): {text}", f"with torch.no_grad(): {accepted}" if accepted else "", rule)
        elif self.happens(0.06) and text.startswith(f"{name}."):
            self.say(f"{name}.data{text[len(name) :]}")
        else:
            self.say(text, accepted, rule)

    def metadata(self) -> None:
        target = self.pick([name for name in self.names.values() if not name.leaf])
        if len(target.shape) == 2 and self.happens(0.7):
            change, shape = "t_()", target.shape[::-1]
        else:
            change, shape = "unsqueeze_(0)", (1, *target.shape)
        leaves = {name.memory for name in self.names.values() if name.leaf and name.wants}
        self.say(f"{target.name}.{change}")
        if not (target.wants and target.memory in leaves):  # otherwise both libraries refuse the line
            self.call(replace(target, shape=shape))

    def gradient(self) -> None:
        wanting = [name for name in self.names.values() if name.wants and not name.leaf]
        if not wanting:
            return
        source = self.pick(wanting)
        choice = self.chance.random()
        if choice < 0.5:
            self.say(f"{source.name}.sum().backward(retain_graph=True)")
        elif choice < 0.75:
            self.say(f"{source.name}.sum().backward()")
        else:
            new = self.fresh()
            call = f"torch.autograd.grad({source.name}.sum(), x, retain_graph=True)"
            self.say(f"{new} = {call}[0]", f"{new} = {call}[0].clone()", "a gradient that is expanded")
            self.call(Name(new, self.names["x"].shape, self.memory()))

    def keep(self) -> None:
        new = f"k{len(self.kept)}"
        self.say(f"{new} = x.grad")
        self.kept.append(new)

    def change_the_gradient(self) -> None:
        choice = self.chance.random()
        if choice < 0.3:
            self.say("x.grad = None")
        elif choice < 0.6:
            self.say("if x.grad is not None: x.grad.zero_()")
        elif choice < 0.8:
            self.say("if x.grad is not None: x.grad.mul_(10)")
        else:
            self.say("if x.grad is not None: x.grad[0] = 7")

    def detach_in_place(self) -> None:
        target = self.pick([name for name in self.names.values() if not name.leaf])
        if target.view:  # both libraries refuse detach_ on a view
            self.say(f"{target.name}.detach_()")
            return
        self.say(f"{target.name}.detach_()", f"{target.name} = {target.name}.detach()", "detach_")
        self.call(replace(target, wants=False))

    def step(self) -> None:
        choice = self.chance.random()
        shares = (
            (0.2, self.normal),
            (0.32, self.product),
            (0.52, self.view),
            (0.57, self.alias),
            (0.61, self.several),
            (0.9, self.write),
            (0.925, self.metadata),
            (0.935, self.detach_in_place),
            (1.0, self.gradient),
        )
        next(move for share, move in shares if choice < share)()

    def end(self) -> None:
        wanting = [name for name in self.names.values() if name.wants and not name.leaf] or list(self.names.values())
        self.say(f"{self.pick(wanting[-3:]).name}.sum().backward()")

    def keeping_steps(self) -> None:
        """Add several backward passes, between which the program keeps gradients in variables."""
        for _ in range(2 + int(self.chance.random() * 3)):
            if self.happens(0.5):
                self.step()
            self.say(
                f"(x * {self.pick(('1', '2', '3'))}).sum().backward()" if self.happens(0.6) else "x.sum().backward()"
            )
            if self.happens(0.7):
                self.keep()
            if self.happens(0.35):
                self.change_the_gradient()


def program(number: int) -> list[Line]:
    """Return the lines of program `number`, which are the same on every machine."""
    writer = Writer(Random(f"{SEED} {number}"), keeping=number >= PLAIN)
    writer.start()
    for _ in range(2 + int(writer.chance.random() * 8)):
        writer.step()
    if writer.keeping:
        writer.keeping_steps()
    writer.end()
    return writer.lines
