"""Modules that hold other modules or parameters: sequences, lists and dicts. Everything inside is registered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter


class _Modules(Module):
    """Base class of lists of modules. The modules in a list are named by their positions."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[checks.slice_of(f"{type(self).__name__}()", index)])
        return self._modules[self._name(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        chosen = names[checks.slice_of(f"{type(self).__name__}()", index)] if isinstance(index, slice) else None
        for name in [self._name(index)] if chosen is None else chosen:
            del self._modules[name]
        self._renumber(self)

    def _of(self, named: list[tuple[str, Module]]) -> Any:
        """Return another container of this kind, with these modules."""
        raise checks.undefined(self, "_of")

    def _name(self, index: Any) -> str:
        """Return the name of the module at a position. A negative position counts from the end."""
        number = checks.integer(f"{type(self).__name__}()", "index", index)
        if not -len(self._modules) <= number < len(self._modules):
            raise IndexError(f"index {number} is out of range")
        return list(self._modules)[number]

    def _renumber(self, modules: Iterable[Module]) -> None:
        """Remove all modules of the list, then append ``modules``, so that positions become their names."""
        every = list(modules)
        self._modules.clear()
        for module in every:
            self.append(module)

    def append(self, module: Module) -> Any:
        """Append a module, and return this list."""
        self.add_module(str(len(self._modules)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Append several modules, and return this list."""
        for module in checks.elements(f"{type(self).__name__}.extend()", "modules", modules, "modules"):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the one at ``index``, and return this list."""
        checks.instance(f"{type(self).__name__}.insert()", "module", module, Module, "a module")
        every = list(self)
        every.insert(checks.integer(f"{type(self).__name__}.insert()", "index", index), module)
        self._renumber(every)
        return self

    def pop(self, index: int) -> Module:
        """Remove the module at ``index`` and return it."""
        module: Module = self[checks.integer(f"{type(self).__name__}.pop()", "index", index)]
        del self[index]
        return module

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Iterable):
            return NotImplemented
        return self._of([]).extend([*self]).extend(other)

    def __iadd__(self, other: Any) -> Any:
        return self.extend(other)


class Sequential(_Modules):
    """Call modules in order, each with the result of the previous one.

    The shape of the input is the one that the first module expects. The last module determines the shape of the result.

    Raises:
        IndexError: for a position without a module.
        TypeError: on a call, if a module is None.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        given = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in given:
            self.add_module(str(name), module)

    def _of(self, named: list[tuple[str, Module]]) -> Sequential:
        return Sequential(OrderedDict(named))

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            if module is None:
                raise TypeError("Sequential(): a module that is None cannot be called")
            input = module(input)
        return input

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        joined: Sequential = super().__add__(other)
        return joined

    def __mul__(self, count: int) -> Sequential:
        number = checks.integer("Sequential()", "count", count, least=1)
        return Sequential(*(module for _ in range(number) for module in self))


class ModuleList(_Modules):
    """A list of registered modules, for example for a loop in the ``forward`` of another module.

    Raises:
        IndexError: for a position without a module.
        NotImplementedError: on a call.
    """

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        for module in checks.elements("ModuleList()", "modules", modules, "modules"):
            self.append(module)

    def _of(self, named: list[tuple[str, Module]]) -> ModuleList:
        return ModuleList([module for _, module in named])

    def __repr__(self) -> str:
        """Return the text of the list. Equal modules in a row share one line: ``(0-2): 3 x Linear(...)``."""
        runs: list[tuple[int, int, str]] = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        lines = [
            (f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x ")
            + text.replace("\n", "\n  ")
            for first, last, text in runs
        ]
        return "ModuleList(\n  " + "\n  ".join(lines) + "\n)" if lines else "ModuleList()"


class _Named(Module):
    """Base class of dicts of modules or parameters."""

    _home: str  # the attribute with the entries: `_modules` or `_parameters`
    _sorts = False  # True to register the entries of a plain dict in the order of their names, as PyTorch does

    def __init__(self, entries: Any) -> None:
        super().__init__()
        if entries is not None:
            self.update(entries)

    @property
    def _entries(self) -> dict[str, Any]:
        entries: dict[str, Any] = self.__dict__[self._home]
        return entries

    def __getitem__(self, key: str) -> Any:
        return self._entries[self._existing(key)]

    def __setitem__(self, key: str, value: Any) -> None:
        raise checks.undefined(self, "__setitem__")

    def __delitem__(self, key: str) -> None:
        del self._entries[self._existing(key)]

    def _existing(self, key: str) -> str:
        """Return ``key``, after a check that something is registered under it."""
        if checks.text(f"{type(self).__name__}()", "key", key) not in self._entries:
            raise KeyError(key)
        return key

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._entries

    def keys(self) -> Any:
        """Return the names."""
        return self._entries.keys()

    def values(self) -> Any:
        """Return the modules or parameters."""
        return self._entries.values()

    def items(self) -> Any:
        """Return pairs of a name and a module or parameter."""
        return self._entries.items()

    def clear(self) -> None:
        """Remove everything."""
        self._entries.clear()

    def pop(self, key: str) -> Any:
        """Remove the module or parameter named ``key`` and return it."""
        return self._entries.pop(self._existing(key))

    def update(self, entries: Any) -> None:
        """Register everything in a dict, or in an iterable of pairs of a name and a value."""
        op = f"{type(self).__name__}.update()"
        if isinstance(entries, (Mapping, _Named)):
            entries = sorted(entries.items()) if type(entries) is dict and self._sorts else entries.items()
        for pair in checks.elements(op, "entries", entries, "pairs of a name and a value"):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise checks.refused(op, "entries", "a dict, or pairs of a name and a value", pair)
            self[pair[0]] = pair[1]


class ModuleDict(_Named):
    """A dict of registered modules, for example for a ``forward`` that chooses one by name.

    Raises:
        KeyError: for a name without a module.
        NotImplementedError: on a call.
    """

    _home = "_modules"

    def __init__(self, modules: Any = None) -> None:
        super().__init__(modules)

    def __setitem__(self, key: str, value: Module) -> None:
        self.add_module(key, value)


class ParameterDict(_Named):
    """A dict of registered parameters. A tensor that is not a parameter becomes one.

    Raises:
        KeyError: for a name without a parameter.
        TypeError: if a value is not a tensor.
    """

    _home = "_parameters"
    _sorts = True

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, _as_parameter("ParameterDict()", value))

    def extra_repr(self) -> str:
        return "\n".join(f"  ({name}): {_described(each, each.type())}" for name, each in self._parameters.items())


class ParameterList(Module):
    """A list of registered parameters. A tensor that is not a parameter becomes one.

    Raises:
        IndexError: for a position without a parameter.
        TypeError: if a value is not a tensor.
    """

    def __init__(self, values: Any = ()) -> None:
        super().__init__()
        self.extend(values)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList(list(self)[checks.slice_of("ParameterList()", index)])
        return self._parameters[self._name(index)]

    def __setitem__(self, index: int, parameter: Any) -> None:
        setattr(self, self._name(index), _as_parameter("ParameterList()", parameter))

    def _name(self, index: Any) -> str:
        number = checks.integer("ParameterList()", "index", index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index {number} is out of range")
        return str(number % len(self))

    def append(self, value: Any) -> ParameterList:
        """Append a parameter, and return this list."""
        self.register_parameter(str(len(self)), _as_parameter("ParameterList.append()", value))
        return self

    def extend(self, values: Any) -> ParameterList:
        """Append several parameters, and return this list."""
        for value in checks.elements("ParameterList.extend()", "values", values, "tensors"):
            self.append(value)
        return self

    def __iadd__(self, other: Any) -> ParameterList:
        return self.extend(other)

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_described(each, str(each.dtype))}" for i, each in enumerate(self))


def _as_parameter(op: str, value: Any) -> Parameter:
    if isinstance(value, Parameter):
        return value
    return Parameter(checks.instance(op, "value", value, BaseTensor, "a tensor"))


def _described(parameter: Any, kind: str) -> str:
    return f"Parameter containing: [{kind} of size {'x'.join(map(str, parameter.shape))}]"
