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

#: The vocabularies, as names of packages.
VOCABULARIES = ("minitensor", "minitensor.torch")
#: Modules that belong to no vocabulary, with the reasons.
MODULES_LEFT_OUT = {
    "minitensor.engine": "the engine, which both vocabularies call",
    "minitensor.paddle": "the home of functions that minitensor shows under their public names",
    "minitensor.torch": "the other vocabulary",
}
_BY_RECORDER = "the recorder calls it while a program runs, with values of the engine"
_NAMED_TUPLE = "an event is a named tuple, whose fields cannot be set"
#: The names and groups of callables that are not called, with the reasons.
LEFT_OUT = {
    "minitensor.explain": "belongs to the package memory_stage",
    "minitensor.distributed.init_parallel_env": "starts to wait for other processes",
    "minitensor.memory.measuring.Bytes.add": _BY_RECORDER,
    "minitensor.memory.measuring.Measure.on_event": _BY_RECORDER,
    "minitensor.memory.profiling.ProfileRow.reach": _BY_RECORDER,
    "minitensor.memory.recording.Recording.memory_of": _BY_RECORDER,
    "minitensor.memory.recording.Recording.on_event": _BY_RECORDER,
    "minitensor.memory.recording.Recording.register": _BY_RECORDER,
    "minitensor.optimizer.lr.LRScheduler.get_lr": "a scheduler of the base class cannot be created",
    "minitensor.torch.optim.schedules.LRScheduler.rate": "a scheduler of the base class cannot be created",
    **{
        f"minitensor.engine.device.memory_log.MemoryEvent.{name}": _NAMED_TUPLE
        for name in (
            *("address", "category", "device", "device_free", "file", "kind", "line", "name", "op", "requested"),
            *("size", "storage", "time_us", "version"),
        )
    },
}
#: Members of a tensor or a layer that are not called, with the reasons.
_LEFT_OUT = """
    __class__ __init_subclass__ __subclasshook__ __new__ __del__ __dict__ __doc__ __getattribute__ __setattr__
    __delattr__ __module__ __slots__ __weakref__ __dir__ __sizeof__ __reduce__ __reduce_ex__ __getstate__ __setstate__
    __annotations__ __orig_bases__ __parameters__ __class_getitem__ __init__ __repr__ __str__ __hash__ __getattr__
    __match_args__ __replace__ __dataclass_fields__ __dataclass_params__ __abstractmethods__ __array_priority__
    __firstlineno__ __static_attributes__ __type_params__ __array_interface__ __post_init__ __getnewargs__
"""
MEMBERS_LEFT_OUT = frozenset(_LEFT_OUT.split())
#: Maps the name of a special method to its operator. The tests call the operator, so that Python's rules apply.
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
        is_setter: true for operators and assignments of attributes, which take no keywords and have a fixed number of
            arguments.
    """

    name: str
    names: frozenset[str]
    receiver: Callable[[], Any] | None
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    required: int
    group: str
    is_setter: bool = False

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


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


def modules(package: str) -> list[str]:
    """Return the names of the public modules of ``package``: the package, and every module that a public one lists."""
    found, following = [], [package]
    while following:
        found.append(following.pop(0))
        module = importlib.import_module(found[-1])
        for name in sorted(getattr(module, "__all__", None) or dir(module)):
            full = f"{found[-1]}.{name}"
            if not name.startswith("_") and full not in MODULES_LEFT_OUT:
                value = getattr(module, name)
                if isinstance(value, ModuleType) and value.__name__ == full:
                    following.append(full)
    return found


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
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
    for module_name in modules(package):
        for name, function in _public(importlib.import_module(module_name)):
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
    """Return the names of Python's built-in classes from which a class inherits, perhaps with the constructor."""
    return [each.__name__ for each in getattr(function, "__mro__", ()) if each.__module__ == "builtins"]


def labelled(function: Any) -> str:
    """Return the name of a function."""
    return getattr(function, "__name__", type(function).__name__)


def _is_attribute(member: Any) -> bool:
    """True for a property, or for another descriptor that is not called."""
    return isinstance(member, property) or (inspect.isdatadescriptor(member) and not callable(member))


def members(cls: type) -> Iterator[tuple[str, Any, str]]:
    """Yield name, member and group of every public method, operator and attribute that the package defines for ``cls``.

    The group is the name of the class that defines the member; see :class:`Entry`.
    """
    for name in dir(cls):
        if name in MEMBERS_LEFT_OUT or (name.startswith("_") and not name.endswith("__")):
            continue
        member = inspect.getattr_static(cls, name)
        if member is getattr(object, name, None) or member is object.__dict__.get(name):
            continue  # Python defines this method
        home = next(each for each in cls.__mro__ if name in vars(each))
        if home.__module__.startswith("minitensor") and (
            name in OPERATORS or _is_attribute(member) or callable(getattr(cls, name, None))
        ):
            yield name, member, f"{home.__module__}.{home.__qualname__}.{name}"


def public_callables(package: str) -> dict[str, str]:
    """Return the full name of every public function, class and member of a class, each with its group."""
    found = {}
    for module_name in modules(package):
        module = importlib.import_module(module_name)
        listed = getattr(module, "__all__", None)
        for name in listed or dir(module):
            value = getattr(module, name)
            if name.startswith("_") or isinstance(value, ModuleType) or not callable(value):
                continue
            full = f"{module_name}.{name}"
            home = getattr(value, "__module__", None) or module_name
            is_package = hasattr(module, "__path__")
            if listed is None and not (home.startswith("minitensor") if is_package else home == module_name):
                continue  # a name that the module imports for its own use, such as Any
            found[full] = full
            if inspect.isclass(value) and home.startswith("minitensor"):
                found |= {f"{full}.{member}": group for member, _, group in members(value)}
    return found


def _members(kind: str, receiver: Callable[[], Any]) -> Iterator[Entry]:
    made = receiver()
    cls = made if isinstance(made, type) else type(made)
    for name, member, group in members(cls):
        if group in LEFT_OUT:
            continue
        names = frozenset({name, name.strip("_"), name.rstrip("_"), cls.__name__, labelled(getattr(cls, name, None))})
        full = f"{kind}.{name}"
        if name in OPERATORS:
            count = 0 if name in ALONE else 2 if name == "__setitem__" else 1
            parameters = ("key", "value")[:count] if "item" in name else ("other",) * count
            yield Entry(full, names, receiver, OPERATORS[name], parameters, count, group, is_setter=True)
        elif _is_attribute(member):
            yield Entry(full, names, receiver, partial(_assigned, name), (name,), 1, group, is_setter=True)
        else:
            parameters, required = _parameters(getattr(cls, name), not isinstance(member, (staticmethod, classmethod)))
            yield Entry(full, names, receiver, partial(_called, name), parameters, required, group)


def _assigned(name: str, x: Any, /, value: Any) -> None:
    getattr(x, name)
    setattr(x, name, value)


def _called(name: str, x: Any, /, *given: Any, **named: Any) -> Any:
    return getattr(x, name)(*given, **named)


def instances(package: str, values: Values) -> dict[str, list[Callable[[], Any]]]:
    """Map the name of each class to functions, each of which creates an object whose methods are called."""
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
    add("Unflatten", lambda: nn.Unflatten(0, [1, -1]))
    add("Identity", lambda: nn.Identity())
    for name in ("ReLU", "ReLU6", "Sigmoid", "Tanh", "LeakyReLU", "ELU", "Hardtanh", "LogSoftmax", "Softmax", "GELU"):
        add(name, lambda name=name: getattr(nn, name)(**({"dim": 0} if "max" in name and values.is_torch else {})))
    for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "BCELoss", "BCEWithLogitsLoss", "KLDivLoss", "NLLLoss",
                 "CrossEntropyLoss"):  # fmt: skip
        add(name, lambda name=name: getattr(nn, name)())
    for name in ("LSTM", "GRU", "LSTMCell", "GRUCell"):
        add(name, lambda name=name: getattr(nn, name)(3, 2))
    add("Sequential", lambda: nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    for name in ("Normal", "Categorical", "Bernoulli", "Uniform"):
        add(f"distribution {name}", lambda name=name: values.distribution(name))
    add("GradScaler", values.scaler)
    for name in ("Hardswish", "Mish", "Softplus", "Softsign"):
        add(name, lambda name=name: getattr(nn, name)())
    for name in ("no_grad", "enable_grad"):
        add(name, lambda name=name: getattr(vocabulary, name)())
    add("set_grad_enabled", lambda: vocabulary.set_grad_enabled(True))
    data = vocabulary.utils.data if values.is_torch else vocabulary.io
    for name in ("Dataset", "IterableDataset"):
        add(name, lambda name=name: getattr(data, name)())
    add("Sampler", lambda: data.Sampler(values.dataset()))
    if values.is_torch:
        _torch_instances(vocabulary, values, add)
    else:
        _paddle_instances(vocabulary, values, add)
    return shared


def _ended(context: Any) -> Any:
    """Return a context manager after it has restored the state that it changed when it was created."""
    context.__exit__(None, None, None)
    return context


def _torch_instances(torch: Any, values: Values, add: Callable[..., None]) -> None:
    nn, data, schedulers = torch.nn, torch.utils.data, torch.optim.lr_scheduler
    add("autocast", lambda: torch.autocast("cpu"))
    add("inference_mode", lambda: torch.inference_mode())
    add("set_detect_anomaly", lambda: torch.autograd.set_detect_anomaly(False))
    add("detect_anomaly", lambda: _ended(torch.autograd.detect_anomaly()))
    add("Distribution", lambda: torch.distributions.Distribution())
    add("iinfo", lambda: torch.iinfo(torch.int32))
    add("Function", lambda: torch.autograd.Function)
    add("doubling Function", lambda: _doubling(torch.autograd.Function, torch.mul))
    add("FunctionCtx", lambda: _context(torch.autograd.Function, torch.mul, values))
    add("Parameter", lambda: nn.Parameter(torch.ones(2, 3)))
    add("SiLU", lambda: nn.SiLU())
    add("Dropout2d", lambda: nn.Dropout2d())
    add("cuda GradScaler", lambda: torch.cuda.amp.GradScaler())
    add("cuda autocast", lambda: torch.cuda.amp.autocast())
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
    add("ModuleDict", lambda: nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.ReLU()}))
    add("ParameterList", lambda: nn.ParameterList([torch.ones(2), torch.zeros(3)]))
    add("ParameterDict", lambda: nn.ParameterDict({"a": torch.ones(2), "b": torch.zeros(3)}))
    for name in ("SGD", "Adam", "AdamW", "RMSprop"):
        add(name, lambda name=name: getattr(torch.optim, name)(list(nn.Linear(3, 2).parameters()), lr=0.1))
    add("LambdaLR", lambda: schedulers.LambdaLR(values.optimizer(), lambda step: 1.0))
    add("StepLR", lambda: schedulers.StepLR(values.optimizer(), 2))
    add("MultiStepLR", lambda: schedulers.MultiStepLR(values.optimizer(), [1, 2]))
    add("ExponentialLR", lambda: schedulers.ExponentialLR(values.optimizer(), 0.9))
    add("CosineAnnealingLR", lambda: schedulers.CosineAnnealingLR(values.optimizer(), 5))
    add("LinearLR", lambda: schedulers.LinearLR(values.optimizer()))
    add("ConstantLR", lambda: schedulers.ConstantLR(values.optimizer()))
    add("PolynomialLR", lambda: schedulers.PolynomialLR(values.optimizer()))
    add("MultiplicativeLR", lambda: schedulers.MultiplicativeLR(values.optimizer(), lambda step: 0.5))
    add("CosineAnnealingWarmRestarts", lambda: schedulers.CosineAnnealingWarmRestarts(values.optimizer(), 3))
    add("OneCycleLR", lambda: schedulers.OneCycleLR(values.optimizer(), 1.0, total_steps=5))
    add("ReduceLROnPlateau", lambda: schedulers.ReduceLROnPlateau(values.optimizer()))
    add("SequentialLR", lambda: _sequential(schedulers, values.optimizer()))
    add("ChainedScheduler", lambda: schedulers.ChainedScheduler([schedulers.StepLR(values.optimizer(), 2)]))
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
    add("auto_cast", lambda: mt.amp.auto_cast())
    add("set_inplace_policy", lambda: mt.set_inplace_policy("2.6"))
    add("check_foreign_writes", lambda: mt.check_foreign_writes(False))
    add("Distribution", lambda: mt.distribution.Distribution())
    add("LogSigmoid", lambda: nn.LogSigmoid())
    add("ParamAttr", lambda: mt.ParamAttr())
    add("OutOfMemoryError", lambda: mt.device.OutOfMemoryError(4, 3, 10, 8, 7, 1))
    add("Measure", lambda: mt.memory.measure())
    add("Recording", lambda: mt.memory.record())
    add("Bytes", lambda: mt.memory.Bytes())
    add("Row", lambda: mt.memory.Row(1, "x = y"))
    add("Table", lambda: mt.memory.Table("step", "", "cpu", [mt.memory.Row(1, "x = y")]))
    add("PyLayerContext", lambda: _context(mt.autograd.PyLayer, mt.multiply, values))
    add("base PyLayer", lambda: mt.autograd.PyLayer)
    add("Parameter", lambda: mt.create_parameter([2, 3], "float32"))
    add("Silu", lambda: nn.Silu())
    add("Dropout2D", lambda: nn.Dropout2D())
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
    add("PyLayer", lambda: _doubling(mt.autograd.PyLayer, mt.multiply))
    add("TruncatedNormal", lambda: nn.initializer.TruncatedNormal())
    add("Initializer", lambda: nn.initializer.Initializer())
    for name in ("NaturalExpDecay", "InverseTimeDecay", "ExponentialDecay"):
        add(name, lambda name=name: getattr(lr, name)(0.1, 0.5))
    add("NoamDecay", lambda: lr.NoamDecay(4, 3))
    add("PiecewiseDecay", lambda: lr.PiecewiseDecay([2], [0.1, 0.2]))
    add("PolynomialDecay", lambda: lr.PolynomialDecay(0.1, 3))
    add("MultiStepDecay", lambda: lr.MultiStepDecay(0.1, [1, 2]))
    add("LambdaDecay", lambda: lr.LambdaDecay(0.1, lambda step: 1.0))
    add("MultiplicativeDecay", lambda: lr.MultiplicativeDecay(0.1, lambda step: 0.5))
    add("ReduceOnPlateau", lambda: lr.ReduceOnPlateau(0.1))


def _sequential(schedulers: Any, optimizer: Any) -> Any:
    """Return a schedule that consists of two others."""
    return schedulers.SequentialLR(optimizer, [schedulers.StepLR(optimizer, 2), schedulers.StepLR(optimizer, 3)], [2])


def _doubling(base: Any, multiply: Callable[[Any, Any], Any], contexts: list[Any] | None = None) -> Any:
    """Return a custom operation that doubles its input, and that adds its context to ``contexts``."""

    class Double(base):  # type: ignore[misc]
        """An operation that returns twice its input."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            if contexts is not None:
                contexts.append(ctx)
            return multiply(x, 2)  # the error of `multiply` contains its name if x is not a tensor

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    return Double


def _context(base: Any, multiply: Callable[[Any, Any], Any], values: Values) -> Any:
    """Return the context of a custom operation whose forward has ended."""
    contexts: list[Any] = []
    _doubling(base, multiply, contexts).apply(values.tensor([1.0, 2.0], wants=True))
    return contexts[0]
