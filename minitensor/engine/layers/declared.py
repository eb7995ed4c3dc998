"""Layers without parameters, declared once for Paddle and PyTorch: activations and losses.

A declaration has the function that a layer calls, and the signature of the layer's class in both vocabularies (Paddle's
and PyTorch's names). :func:`source` writes the source of the class, and :func:`classes` compiles it, so that each class
has the signature, docstring and module of its vocabulary. Layers with parameters are not declared: the two frameworks
initialize, name and check these parameters differently.
"""

from __future__ import annotations
import __future__

import linecache
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from minitensor.engine import checks


@dataclass(frozen=True)
class Vocabulary:
    """The words of one framework that complete the source text and docstring of a declared layer.

    Attributes:
        error: the name of the error for arguments that do not fit.
        requires: the framework's words for "requires a gradient".
        see: the text with which docstrings refer to a function.
        inputs: the names of the inputs: first of an activation, then of a loss.
        ignored: parameters that a class accepts and ignores.
        has_twins: True if ``F.relu_`` is the in-place form, False if it is ``F.relu(..., inplace=True)``.
        keeps_tensor: the statement with which a constructor stores a tensor argument.
    """

    error: str
    requires: str
    see: str
    inputs: tuple[str, str]
    ignored: frozenset[str]
    has_twins: bool
    keeps_tensor: str


PADDLE = Vocabulary(
    error="ValueError",
    requires="requires a gradient",
    see=":func:`~minitensor.nn.functional.{}`",
    inputs=("x", "input, label"),
    ignored=frozenset(["name"]),
    has_twins=True,
    keeps_tensor="self.{0} = {0}",
)
TORCH = Vocabulary(
    error="RuntimeError",
    requires="requires grad",
    see="``functional.{}``",
    inputs=("input", "input, target"),
    ignored=frozenset(["size_average", "reduce"]),
    has_twins=False,
    keeps_tensor="self.register_buffer({0!r}, {0})",
)


@dataclass(frozen=True)
class DeclaredLayer:
    """One layer.

    In its texts, ``{x}`` and ``{y}`` stand for the names of the inputs, and ``{Error}`` for ValueError or RuntimeError.
    A setting in braces has Paddle's name, which is replaced by the setting's name in the vocabulary.

    Attributes:
        function: the name of the function in ``nn.functional`` that the layer calls.
        text: the first sentence of the docstring.
        shape: the text about the shapes of the inputs and of the result.
        paddle, torch: the name and the parameters of the class, as source text; empty if the framework has no such
            class.
        raises: the lines under "Raises" in the docstring, for Paddle and for PyTorch.
        inputs: the names of the inputs in Paddle if they differ from ``Vocabulary.inputs``.
    """

    function: str
    text: str
    shape: str
    paddle: str
    torch: str
    raises: tuple[tuple[str, ...], ...]
    inputs: str = ""

    @property
    def is_loss(self) -> bool:
        """True if the layer has two inputs and the setting ``reduction``. The repr of a loss shows no settings."""
        return "reduction" in self.paddle

    def spelled(self, vocabulary: Vocabulary) -> str:
        """Return the name and the parameters of the class in one vocabulary; "" if there is no such class."""
        return self.paddle if vocabulary is PADDLE else self.torch

    def inputs_in(self, vocabulary: Vocabulary) -> list[str]:
        """Return the names of the inputs."""
        usual = vocabulary.inputs[self.is_loss]
        return (self.inputs or usual if vocabulary is PADDLE else usual).split(", ")

    def settings(self, vocabulary: Vocabulary) -> dict[str, str]:
        """Return the parameters of the class that are passed to the function, with their types."""
        found = dict(re.findall(r"(\w+): ([^=]+?) =", self.spelled(vocabulary)))
        return {name: kind for name, kind in found.items() if name not in vocabulary.ignored}

    def docstring(self, vocabulary: Vocabulary) -> str:
        """Return the text of ``help`` for the class."""
        words = dict(zip(("x", "y"), self.inputs_in(vocabulary), strict=False))
        words |= {"Error": vocabulary.error, "requires": vocabulary.requires}
        words["see"] = vocabulary.see.format(self.function)
        words |= dict(zip(self.settings(PADDLE), self.settings(vocabulary), strict=False))
        raises = [f"    {line}" for line in self.raises[vocabulary is TORCH]]
        paragraphs = [textwrap.fill(self.text.format(**words), 110), self.shape, "\n".join(["Raises:", *raises])]
        return "\n\n".join(paragraphs[:1] + [each.format(**words) for each in paragraphs[1:]])


def source(declared: DeclaredLayer, vocabulary: Vocabulary) -> str:
    """Return the source of a class, whose namespace has ``Base``, ``F``, ``Tensor``, ``checks`` and ``shown``."""
    name, parameters = declared.spelled(vocabulary).rstrip(")").split("(", 1)
    inputs, settings = declared.inputs_in(vocabulary), declared.settings(vocabulary)
    function, given = f"F.{declared.function}", [*inputs, *(f"{each}=self.{each}" for each in settings)]
    if vocabulary.has_twins and "inplace" in settings and declared.function != "silu":  # there is no `silu_`
        given.remove("inplace=self.inplace")
        function = f"({function}_ if self.inplace else {function})"
    lines = [
        f"class {name}(Base):",
        textwrap.indent(f'"""{declared.docstring(vocabulary)}\n"""', "    "),
        *(["", f"    def __init__(self, {parameters}) -> None:", "        super().__init__()"] if parameters else []),
        *(f"        {_setting_statement(name, each, kind, vocabulary)}" for each, kind in settings.items()),
        "",
        f"    def forward(self, {', '.join(f'{each}: Tensor' for each in inputs)}) -> Tensor:",
        f"        return {function}({', '.join(given)})",
    ]
    if settings and not declared.is_loss:
        names = ", ".join(repr(each) for each in settings)
        lines += ["", "    def extra_repr(self) -> str:", f"        return shown(self, {names})"]
    return "\n".join(lines) + "\n"


def _setting_statement(layer: str, name: str, kind: str, vocabulary: Vocabulary) -> str:
    """Return the statement of a constructor that checks and stores a setting."""
    if "Tensor" in kind:
        return vocabulary.keeps_tensor.format(name)
    if kind in _CHECKS:
        return f"self.{name} = {_CHECKS[kind]}({layer!r}, {name!r}, {name})"
    return f"self.{name} = {name}"


#: The checks of settings by their type, as source text. Settings of other types are checked when the function is
#: called.
_CHECKS = {"bool": "checks.flag", "float": "checks.real", "int": "checks.integer"}


def shown(layer: Any, *names: str) -> str:
    """Return the text of a layer's settings for its repr; ``inplace`` is included only if it is true."""
    values = [(name, getattr(layer, name)) for name in names]
    return ", ".join(
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={value}"
        for name, value in values
        if name != "inplace" or value
    )


def classes(vocabulary: Vocabulary, module: str, base: type, tensor: type, functions: ModuleType) -> dict[str, type]:
    """Return a dict of all classes that the vocabulary declares. The keys are their names.

    Args:
        module: the name of the module that contains the classes.
        base: the base class.
        functions: the module ``nn.functional`` of the vocabulary.
    """
    # Frames of this package are skipped, so nodes record the line that calls the layer instead of a line of `forward`.
    names = {"__name__": module, "__package__": module.rpartition(".")[0]}
    return dict(_compile(vocabulary, {**names, "Base": base, "F": functions, "Tensor": tensor, "checks": checks}))


def names_of(vocabulary: Vocabulary) -> list[str]:
    """Return the names of the classes that the vocabulary declares."""
    return [name for each in DECLARED if (name := each.spelled(vocabulary).partition("(")[0])]


def _compile(vocabulary: Vocabulary, namespace: dict[str, Any]) -> Iterator[tuple[str, type]]:
    namespace["shown"] = shown
    for declared in DECLARED:
        name = declared.spelled(vocabulary).partition("(")[0]
        if name:
            text, file = source(declared, vocabulary), f"<{namespace['__name__']} {name}>"
            linecache.cache[file] = len(text), None, text.splitlines(True), file  # so that tracebacks show the lines
            exec(compile(text, file, "exec", __future__.annotations.compiler_flag), namespace)
            yield name, checks.with_own_methods(namespace[name])


# ---------- activations ----------


def _activation(
    function: str,
    text: str,
    paddle: str = "",
    torch: str = "",
    takes: tuple[str, str] = ("floats in place", "any"),
    raises: tuple[str, ...] = (),
    torch_raises: tuple[str, ...] = (),
) -> DeclaredLayer:
    """Declare an activation.

    Args:
        takes: for each vocabulary, the dtypes that the activation accepts: "any", "floats", or "floats in place" if
            only its in-place form is limited to floats.
        raises: further lines under "Raises" for both vocabularies.
        torch_raises: further lines for PyTorch's vocabulary.
    """
    leaf = "{Error}: if ``inplace`` is true and ``{x}`` is a leaf that {requires}, or a view of one, in grad mode."
    floats = "TypeError: if ``{x}`` is not a tensor of floats."
    kinds = (
        {"floats": [floats], "floats in place": ["TypeError: if ``inplace`` is true and ``{x}`` holds integers."]},
        {"floats": [floats], "any": ["TypeError: if ``{x}`` is not a tensor."]},
    )
    both = tuple(
        (*([leaf] if "inplace" in spelled else []), *kind.get(taken, []), *raises, *more)
        for spelled, kind, taken, more in zip((paddle, torch), kinds, takes, ((), torch_raises), strict=True)
    )
    shape = "Takes a tensor of any shape and returns one of that shape."
    return DeclaredLayer(function, text, shape, paddle, torch, both)


_NAME = "name: str | None = None"
_IN_PLACE = "inplace: bool = False"

_ACTIVATIONS = [
    _activation("relu", "``{x}`` where it is positive, else 0.", f"ReLU({_NAME}, {_IN_PLACE})", f"ReLU({_IN_PLACE})",
                ("any", "any")),
    _activation("relu6", "``{x}``, but not below 0 nor above 6.", f"ReLU6({_NAME}, {_IN_PLACE})",
                f"ReLU6({_IN_PLACE})"),
    _activation("sigmoid", "``1 / (1 + exp(-{x}))``.", f"Sigmoid({_NAME}, {_IN_PLACE})", "Sigmoid()"),
    _activation("tanh", "The hyperbolic tangent.", f"Tanh({_NAME}, {_IN_PLACE})", "Tanh()"),
    _activation("silu", "``{x} * sigmoid({x})``.", f"Silu({_NAME}, {_IN_PLACE})", f"SiLU({_IN_PLACE})",
                ("floats", "floats")),
    _activation("leaky_relu", "``{x}`` where it is positive, else ``{negative_slope} * {x}``.",
                f"LeakyReLU(negative_slope: float = 0.01, {_NAME}, {_IN_PLACE})",
                f"LeakyReLU(negative_slope: float = 0.01, {_IN_PLACE})",
                raises=("{Error}: on a call, if ``{negative_slope}`` is negative.",)),
    _activation("elu", "``{x}`` where it is positive, else ``{alpha} * (exp({x}) - 1)``.",
                f"ELU(alpha: float = 1.0, {_NAME}, {_IN_PLACE})", f"ELU(alpha: float = 1.0, {_IN_PLACE})",
                raises=("{Error}: on a call, if ``{alpha}`` is negative.",)),
    _activation("hardtanh", "``{x}``, but not below ``{min}`` nor above ``{max}``.",
                f"Hardtanh(min: float = -1.0, max: float = 1.0, {_NAME}, {_IN_PLACE})",
                f"Hardtanh(min_val: float = -1.0, max_val: float = 1.0, {_IN_PLACE})",
                raises=("{Error}: on a call, if ``{min}`` is above ``{max}``.",)),
    _activation("thresholded_relu", "``{x}`` where it is above ``{threshold}``, else ``{value}``.",
                f"ThresholdedReLU(threshold: float = 1.0, value: float = 0.0, {_NAME}, {_IN_PLACE})",
                raises=("TypeError: on a call, if a setting is not a number.",)),
    _activation("softmax", "Exponentials of ``{x}``, over their sum along ``{axis}``.",
                f"Softmax(axis: int = -1, {_NAME}, {_IN_PLACE})", "Softmax(dim: int | None = None)",
                raises=("IndexError: if ``{axis}`` is not a dimension of ``{x}``.",)),
    _activation("softplus", "``log(1 + exp({beta} * {x})) / {beta}``, or ``{x}`` where ``{beta} * {x}`` is above "
                "``{threshold}``.", f"Softplus(beta: float = 1.0, threshold: float = 20.0, {_NAME})",
                "Softplus(beta: float = 1.0, threshold: float = 20.0)", ("floats", "any")),
    _activation("softsign", "``{x} / (1 + abs({x}))``.", f"Softsign({_NAME})", "Softsign()", ("floats", "any")),
    _activation("mish", "``{x} * tanh(softplus({x}))``.", f"Mish({_NAME})", f"Mish({_IN_PLACE})",
                ("floats", "floats")),
    _activation("hardswish", "``{x} * relu6({x} + 3) / 6``.", f"Hardswish({_NAME})", f"Hardswish({_IN_PLACE})",
                ("floats", "floats")),
    _activation("log_sigmoid", "The logarithm of ``1 / (1 + exp(-{x}))``.", f"LogSigmoid({_NAME})", "",
                ("any", "any"), raises=("TypeError: if ``{x}`` is not a tensor.",)),
    _activation("log_softmax", "The logarithm of softmax along ``{axis}``.", f"LogSoftmax(axis: int = -1, {_NAME})",
                "LogSoftmax(dim: int | None = None)", ("floats", "any"),
                raises=("IndexError: if ``{axis}`` is not a dimension of ``{x}``.",)),
    _activation("gelu", "``{x}`` times the probability that a standard normal number is below it: see {see}.",
                f"GELU(approximate: bool = False, {_NAME})", "GELU(approximate: str = 'none')", ("floats", "floats"),
                torch_raises=('{Error}: on a call, if ``approximate`` is neither "none" nor "tanh".',)),
]  # fmt: skip

# ---------- losses ----------

_REDUCTION = "reduction: str = 'mean'"
_WEIGHT = "weight: Tensor | None = None"
_OLD = "size_average: None = None, reduce: None = None"
_OLD_AROUND_INDEX = "size_average: None = None, ignore_index: int = -100, reduce: None = None"

_ONE_SHAPE = (
    "``{x}`` and ``{y}`` have one shape.\n\n"
    'Returns:\n    A tensor without dimensions; with ``reduction="none"``, one of that shape.'
)
_CLASSES = (
    "``{x}`` has the shape [rows, classes], ``{y}`` the shape [rows]; {see} describes other shapes.\n\n"
    'Returns:\n    A tensor without dimensions; with ``reduction="none"``, one loss for each row.'
)
_NO_REDUCTION = "ValueError: on a call, if ``reduction`` is unknown."
_DIFFER = "ValueError: on a call, if the shapes differ or ``reduction`` is unknown."
_FLOATS = "TypeError: if an input is not a tensor of floats."
_BROADCAST = ((_DIFFER, _FLOATS), ("RuntimeError: if the shapes cannot be broadcast.", _NO_REDUCTION))
_ALIKE = ((_DIFFER, _FLOATS), (_DIFFER,))
_OF_CLASSES = (
    (
        "ValueError: on a call, if the shapes do not fit or ``reduction`` is unknown.",
        "IndexError: if an element of ``{y}`` is not a class.",
        "TypeError: if an input is not a tensor, or ``{y}`` does not hold integers.",
    ),
    (
        "ValueError: on a call, if ``{y}`` does not have one class for each row, or if ``reduction`` is unknown.",
        "IndexError: if an element of ``{y}`` is not a class.",
        "RuntimeError: for a dtype or a shape of ``{y}`` that {see} does not accept.",
    ),
)

_LOSSES = [
    DeclaredLayer("mse_loss", "The mean square difference: see {see}.", _ONE_SHAPE, f"MSELoss({_REDUCTION})",
                  f"MSELoss({_REDUCTION})", _BROADCAST),
    DeclaredLayer("l1_loss", "The mean absolute difference: see {see}.", _ONE_SHAPE, f"L1Loss({_REDUCTION}, {_NAME})",
                  f"L1Loss({_REDUCTION})", _BROADCAST),
    DeclaredLayer("smooth_l1_loss", "Half the square of a small difference, and the size of a large one: see {see}.",
                  _ONE_SHAPE, f"SmoothL1Loss({_REDUCTION}, delta: float = 1.0, {_NAME})",
                  f"SmoothL1Loss({_REDUCTION})", _BROADCAST),
    DeclaredLayer("binary_cross_entropy", "Minus the log-probability of ``{y}``, if ``{x}`` is the probability of 1: "
                  "see {see}.", _ONE_SHAPE, f"BCELoss({_WEIGHT}, {_REDUCTION}, {_NAME})",
                  f"BCELoss({_WEIGHT}, {_OLD}, {_REDUCTION})",
                  tuple((*lines, "{Error}: if an element of ``{x}`` is not a probability.") for lines in _ALIKE)),
    DeclaredLayer("binary_cross_entropy_with_logits", "Minus the log-probability of ``{y}``, if ``sigmoid({x})`` is "
                  "the probability of 1: see {see}.", _ONE_SHAPE,
                  f"BCEWithLogitsLoss({_WEIGHT}, {_REDUCTION}, pos_weight: Tensor | None = None, {_NAME})",
                  f"BCEWithLogitsLoss({_WEIGHT}, {_OLD}, {_REDUCTION}, pos_weight: Tensor | None = None)",
                  _ALIKE, "logit, label"),
    DeclaredLayer("kl_div", "The Kullback-Leibler divergence of log-probabilities ``{x}`` from probabilities ``{y}``: "
                  "see {see}.", _ONE_SHAPE, f"KLDivLoss({_REDUCTION}, log_target: bool = False)",
                  f"KLDivLoss({_OLD}, {_REDUCTION}, log_target: bool = False)", _BROADCAST),
    DeclaredLayer("nll_loss", "Minus the log-probability of each class in ``{y}``; ``{x}`` holds log-probabilities.",
                  _CLASSES, f"NLLLoss({_WEIGHT}, ignore_index: int = -100, {_REDUCTION}, {_NAME})",
                  f"NLLLoss({_WEIGHT}, {_OLD_AROUND_INDEX}, {_REDUCTION})", _OF_CLASSES),
    DeclaredLayer("cross_entropy", "Minus the log-probability that softmax of ``{x}`` gives each class in ``{y}``.",
                  _CLASSES, f"CrossEntropyLoss(*, ignore_index: int = -100, {_REDUCTION}, soft_label: bool = False, "
                  f"axis: int = -1)",
                  f"CrossEntropyLoss({_WEIGHT}, {_OLD_AROUND_INDEX}, {_REDUCTION}, label_smoothing: float = 0.0)",
                  _OF_CLASSES),
]  # fmt: skip

#: All declared layers.
DECLARED = (*_ACTIVATIONS, *_LOSSES)
