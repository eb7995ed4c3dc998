"""List every public callable of a vocabulary: functions, classes, methods of instances, setters and operators."""

from __future__ import annotations

import importlib
import inspect
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from tests.support.vocabulary.wrong_arguments.values import Values

#: The public modules of both vocabularies, without the package's name.
MODULES = {
    "minitensor": (
        *("", "autograd", "device", "device.cpu", "device.cuda", "distributed", "distributed.fleet.utils", "io"),
        *("memory", "nn", "nn.functional", "nn.initializer", "nn.utils", "optimizer", "optimizer.lr"),
        "vision.transforms",
    ),
    "minitensor.torch": (
        *("", "accelerator", "autograd", "autograd.functional", "cuda", "nn", "nn.functional", "nn.init", "nn.utils"),
        *("optim", "optim.lr_scheduler", "random", "utils.checkpoint", "utils.data"),
    ),
}  # fmt: skip
#: Names that are not called, because they end or change the process, with the reasons.
LEFT_OUT = {
    "minitensor.explain": "belongs to the package memory_stage",
    "minitensor.distributed.init_parallel_env": "starts to wait for other processes",
}
#: Members of a tensor or a layer that are not called, with the reasons.
_LEFT_OUT = """
    __class__ __init_subclass__ __subclasshook__ __new__ __del__ __dict__ __doc__ __getattribute__ __setattr__
    __delattr__ __module__ __slots__ __weakref__ __dir__ __sizeof__ __reduce__ __reduce_ex__ __getstate__ __setstate__
    __annotations__ __orig_bases__ __parameters__ __class_getitem__ __init__ __repr__ __str__ __hash__ __getattr__
    __match_args__ __replace__ __dataclass_fields__ __dataclass_params__ __abstractmethods__ __array_priority__
    __firstlineno__ __static_attributes__ __type_params__ __array_interface__
"""
MEMBERS_LEFT_OUT = frozenset(_LEFT_OUT.split())
#: Operators by the name of their special method. The operator is called, not the method, so that Python's rules apply.
OPERATORS: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow",
       "matmul", "lshift", "rshift", "xor", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul",
       "ilshift", "irshift", "ixor", "iand", "ior", "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert",
       "index")},
    "__and__": operator.and_, "__or__": operator.or_,
    "__radd__": lambda x, y: y + x, "__rsub__": lambda x, y: y - x, "__rmul__": lambda x, y: y * x,
    "__rtruediv__": lambda x, y: y / x, "__rpow__": lambda x, y: y**x, "__rmatmul__": lambda x, y: y @ x,
    "__rfloordiv__": lambda x, y: y // x, "__rmod__": lambda x, y: y % x, "__rand__": lambda x, y: y & x,
    "__ror__": lambda x, y: y | x, "__rxor__": lambda x, y: y ^ x,
    "__getitem__": operator.getitem, "__setitem__": operator.setitem, "__delitem__": operator.delitem,
    "__contains__": operator.contains, "__len__": len, "__bool__": bool, "__float__": float, "__int__": int,
    "__complex__": complex, "__iter__": lambda x: list(iter(x)), "__divmod__": divmod,
    "__round__": round, "__reversed__": lambda x: list(reversed(x)),
}  # fmt: skip
#: The operators of one operand.
_ALONE = """
    __neg__ __pos__ __abs__ __invert__ __index__ __len__ __bool__ __float__ __int__ __complex__ __iter__ __reversed__
    __round__
"""
ALONE = frozenset(_ALONE.split())


@dataclass(frozen=True)
class Entry:
    """One public callable.

    Attributes:
        name: the full name, for reports.
        names: the public names. An error that Python raises about a call must contain one of them.
        receiver: a function that creates the object whose method is called; None for a function.
        call: the function to call with the receiver, if there is one, and the arguments.
        parameters: the names of the parameters, without the receiver.
        required: the number of parameters that have no default.
        group: a name that is equal for entries which run the same code, such as a method that many layers inherit.
        is_setter: true for the assignment of an attribute, which takes exactly one argument.
    """

    name: str
    names: frozenset[str]
    receiver: Callable[[], Any] | None
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    required: int
    group: str
    is_setter: bool = False


def _parameters(function: Any, is_method: bool) -> tuple[tuple[str, ...], int]:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return ("x", "y"), 1
    if is_method and found and found[0].kind in (found[0].POSITIONAL_ONLY, found[0].POSITIONAL_OR_KEYWORD):
        found = found[1:]
    names, required = [], 0
    for each in found:
        if each.kind is each.VAR_POSITIONAL:
            names += [each.name, each.name]
        elif each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            names.append(each.name)
            required += each.default is each.empty
    return tuple(names), required


def _public(module: ModuleType, package: str) -> Iterator[tuple[str, Any]]:
    listed = getattr(module, "__all__", None)
    for name in sorted(listed or dir(module)):
        if name.startswith("_"):
            continue
        found = getattr(module, name)
        home = getattr(found, "__module__", None) or ""
        is_facade = hasattr(module, "__path__")
        is_own = home.startswith("minitensor") and (listed is not None or is_facade or home == module.__name__)
        if not isinstance(found, ModuleType) and callable(found) and is_own:
            yield name, found


def entries(package: str, values: Values) -> list[Entry]:
    """Return every public callable of ``package``, "minitensor" or "minitensor.torch"."""
    found: list[Entry] = []
    classes: dict[str, type] = {}
    for part in MODULES[package]:
        module_name = f"{package}.{part}".rstrip(".")
        for name, function in _public(importlib.import_module(module_name), package):
            full = f"{module_name}.{name}"
            if full in LEFT_OUT:
                continue
            if inspect.isclass(function):
                classes.setdefault(name, function)
            parameters, required = _parameters(function, False)
            names = frozenset({name, labelled(function), name.rstrip("_"), *_builtin_bases(function)})
            found.append(Entry(full, names, None, function, parameters, required, full))
    for kind, receivers in instances(package, values).items():
        for receiver in receivers:
            found += _members(kind, receiver)
    return found


def _builtin_bases(function: Any) -> list[str]:
    """Return the names of Python's built-in classes from which a class inherits; it may have their constructor."""
    return [each.__name__ for each in getattr(function, "__mro__", ()) if each.__module__ == "builtins"]


def labelled(function: Any) -> str:
    """Return the name of a function."""
    return getattr(function, "__name__", type(function).__name__)


def _members(kind: str, receiver: Callable[[], Any]) -> Iterator[Entry]:
    cls = type(receiver())
    for name in dir(cls):
        if name in MEMBERS_LEFT_OUT or (name.startswith("_") and not name.endswith("__")):
            continue
        member = inspect.getattr_static(cls, name)
        if member is getattr(object, name, None) or member is object.__dict__.get(name):
            continue  # Python defines this method
        names = frozenset({name, name.strip("_"), name.rstrip("_"), cls.__name__, labelled(getattr(cls, name, None))})
        full = f"{kind}.{name}"
        home = next(each for each in cls.__mro__ if name in vars(each))
        if not home.__module__.startswith("minitensor"):
            continue
        group = f"{home.__module__}.{home.__qualname__}.{name}"
        if name in OPERATORS:
            count = 0 if name in ALONE else 2 if name == "__setitem__" else 1
            parameters = ("key", "value")[:count] if "item" in name else ("other",) * count
            yield Entry(full, names, receiver, OPERATORS[name], parameters, count, group, is_setter=True)
        elif isinstance(member, property) or (inspect.isdatadescriptor(member) and not callable(member)):
            yield Entry(full, names, receiver, partial(_assigned, name), (name,), 1, group, is_setter=True)
        elif callable(getattr(cls, name, None)):
            parameters, required = _parameters(getattr(cls, name), not isinstance(member, (staticmethod, classmethod)))
            yield Entry(full, names, receiver, partial(_called, name), parameters, required, group)


def _assigned(name: str, x: Any, /, value: Any) -> None:
    getattr(x, name)
    setattr(x, name, value)


def _called(name: str, x: Any, /, *given: Any, **named: Any) -> Any:
    return getattr(x, name)(*given, **named)


def instances(package: str, values: Values) -> dict[str, list[Callable[[], Any]]]:
    """Return for each class a function that creates an object whose methods are called, by the name of the class."""
    vocabulary = values.vocabulary
    nn = vocabulary.nn
    shared: dict[str, list[Callable[[], Any]]] = {"Tensor": [values.some_tensor]}

    def add(name: str, make: Callable[[], Any]) -> None:
        shared.setdefault(name, []).append(make)

    add("Linear", lambda: nn.Linear(3, 2))
    add("Embedding", lambda: nn.Embedding(5, 3))
    add("LayerNorm", lambda: nn.LayerNorm(3))
    add("GroupNorm", lambda: nn.GroupNorm(2, 4))
    add("Dropout", lambda: nn.Dropout(0.5))
    add("Flatten", lambda: nn.Flatten())
    for name in ("ReLU", "ReLU6", "Sigmoid", "Tanh", "LeakyReLU", "ELU", "Hardtanh", "LogSoftmax", "Softmax", "GELU"):
        add(name, lambda name=name: getattr(nn, name)(**({"dim": 0} if "max" in name and values.is_torch else {})))
    for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "BCELoss", "BCEWithLogitsLoss", "KLDivLoss", "NLLLoss",
                 "CrossEntropyLoss"):  # fmt: skip
        add(name, lambda name=name: getattr(nn, name)())
    for name in ("LSTM", "GRU", "LSTMCell", "GRUCell"):
        add(name, lambda name=name: getattr(nn, name)(3, 2))
    add("Sequential", lambda: nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    if values.is_torch:
        _torch_instances(vocabulary, values, add)
    else:
        _paddle_instances(vocabulary, values, add)
    return shared


def _torch_instances(torch: Any, values: Values, add: Callable[..., None]) -> None:
    nn, data, schedulers = torch.nn, torch.utils.data, torch.optim.lr_scheduler
    add("Parameter", lambda: nn.Parameter(torch.ones(2, 3)))
    add("SiLU", lambda: nn.SiLU())
    add("Identity", lambda: nn.Identity())
    add("Conv2d", lambda: nn.Conv2d(3, 2, 2))
    add("BatchNorm1d", lambda: nn.BatchNorm1d(3))
    add("BatchNorm2d", lambda: nn.BatchNorm2d(3))
    add("InstanceNorm2d", lambda: nn.InstanceNorm2d(3))
    add("MaxPool2d", lambda: nn.MaxPool2d(2))
    add("AvgPool2d", lambda: nn.AvgPool2d(2))
    add("AdaptiveAvgPool2d", lambda: nn.AdaptiveAvgPool2d(2))
    add("RNN", lambda: nn.RNN(3, 2))
    add("RNNCell", lambda: nn.RNNCell(3, 2))
    add("MultiheadAttention", lambda: nn.MultiheadAttention(4, 2))
    add("ModuleList", lambda: nn.ModuleList([nn.Linear(3, 2), nn.ReLU()]))
    for name in ("SGD", "Adam", "AdamW", "RMSprop"):
        add(name, lambda name=name: getattr(torch.optim, name)(list(nn.Linear(3, 2).parameters()), lr=0.1))
    add("LambdaLR", lambda: schedulers.LambdaLR(values.optimizer(), lambda step: 1.0))
    add("StepLR", lambda: schedulers.StepLR(values.optimizer(), 2))
    add("MultiStepLR", lambda: schedulers.MultiStepLR(values.optimizer(), [1, 2]))
    add("ExponentialLR", lambda: schedulers.ExponentialLR(values.optimizer(), 0.9))
    add("CosineAnnealingLR", lambda: schedulers.CosineAnnealingLR(values.optimizer(), 5))
    add("LinearLR", lambda: schedulers.LinearLR(values.optimizer()))
    add("TensorDataset", values.dataset)
    add("ConcatDataset", lambda: data.ConcatDataset([values.dataset(), values.dataset()]))
    add("Subset", lambda: data.Subset(values.dataset(), [0, 2]))
    add("DataLoader", lambda: data.DataLoader(values.dataset(), batch_size=2))
    add("RandomSampler", lambda: data.RandomSampler(values.dataset()))
    add("SequentialSampler", lambda: data.SequentialSampler(values.dataset()))
    add("SubsetRandomSampler", lambda: data.SubsetRandomSampler([0, 1]))
    add("WeightedRandomSampler", lambda: data.WeightedRandomSampler([0.1, 0.9], 3))
    add("BatchSampler", lambda: data.BatchSampler(data.SequentialSampler(values.dataset()), 2, False))
    add("Generator", lambda: torch.Generator())
    add("Size", lambda: torch.Size([2, 3]))
    add("device", lambda: torch.device("cpu"))
    add("dtype", lambda: torch.float32)
    add("finfo", lambda: torch.finfo(torch.float32))


def _paddle_instances(mt: Any, values: Values, add: Callable[..., None]) -> None:
    nn, io, lr = mt.nn, mt.io, mt.optimizer.lr
    add("Parameter", lambda: mt.create_parameter([2, 3], "float32"))
    add("Silu", lambda: nn.Silu())
    add("ThresholdedReLU", lambda: nn.ThresholdedReLU())
    add("Conv2D", lambda: nn.Conv2D(3, 2, 2))
    add("BatchNorm1D", lambda: nn.BatchNorm1D(3))
    add("BatchNorm2D", lambda: nn.BatchNorm2D(3))
    add("SyncBatchNorm", lambda: nn.SyncBatchNorm(3))
    add("InstanceNorm2D", lambda: nn.InstanceNorm2D(3))
    add("MaxPool2D", lambda: nn.MaxPool2D(2))
    add("AvgPool2D", lambda: nn.AvgPool2D(2))
    add("AdaptiveAvgPool2D", lambda: nn.AdaptiveAvgPool2D(2))
    add("SimpleRNN", lambda: nn.SimpleRNN(3, 2))
    add("SimpleRNNCell", lambda: nn.SimpleRNNCell(3, 2))
    add("MultiHeadAttention", lambda: nn.MultiHeadAttention(4, 2))
    add("LayerList", lambda: nn.LayerList([nn.Linear(3, 2), nn.ReLU()]))
    add("ClipGradByNorm", lambda: nn.ClipGradByNorm(1.0))
    add("ClipGradByGlobalNorm", lambda: nn.ClipGradByGlobalNorm(1.0))
    add("ClipGradByValue", lambda: nn.ClipGradByValue(1.0))
    for name in ("SGD", "Momentum", "Adam", "AdamW", "RMSProp"):
        add(name, lambda name=name: getattr(mt.optimizer, name)(
            learning_rate=0.1, parameters=nn.Linear(3, 2).parameters()))  # fmt: skip
    add("StepDecay", lambda: lr.StepDecay(0.1, 2))
    add("CosineAnnealingDecay", lambda: lr.CosineAnnealingDecay(0.1, 5))
    add("LinearWarmup", lambda: lr.LinearWarmup(0.1, 2, 0.0, 0.1))
    for name in ("Normal", "Uniform", "XavierNormal", "XavierUniform", "KaimingNormal", "KaimingUniform", "Constant"):
        add(name, lambda name=name: getattr(nn.initializer, name)())
    add("Assign", lambda: nn.initializer.Assign([[1.0, 2.0], [3.0, 4.0]]))
    add("TensorDataset", values.dataset)
    add("ConcatDataset", lambda: io.ConcatDataset([values.dataset(), values.dataset()]))
    add("Subset", lambda: io.Subset(values.dataset(), [0, 2]))
    add("DataLoader", lambda: io.DataLoader(values.dataset(), batch_size=2))
    add("RandomSampler", lambda: io.RandomSampler(values.dataset()))
    add("SequenceSampler", lambda: io.SequenceSampler(values.dataset()))
    add("BatchSampler", lambda: io.BatchSampler(values.dataset(), batch_size=2))

    class Double(mt.autograd.PyLayer):  # type: ignore[misc,name-defined]
        """A layer that returns twice its input."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return mt.multiply(x, 2)  # `mul` names itself in its error if x is not a tensor

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    add("PyLayer", lambda: Double())
