"""Module: the base class of networks, which registers parameters, buffers and submodules by attribute name.

The class resembles Paddle's ``Layer``, but the two frameworks register, name and load tensors by different rules.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.layers.traversal import distinct, members, walk
from minitensor.torch.conversion import device_and_dtype
from minitensor.torch.cuda import as_gpu
from minitensor.torch.dtypes import bfloat16, dtype_of, float16, float32, float64
from minitensor.torch.errors import missing
from minitensor.torch.nn.hooks import Hooked
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.nn.parts import IncompatibleKeys, drop_gradient, move
from minitensor.torch.nn.states import load_into, state_of
from minitensor.torch.tensor import Tensor


class Module(Hooked):
    """Base class of all networks. A subclass calls ``super().__init__()`` first and defines ``forward``.

    Raises:
        NotImplementedError: on a call, if there is no ``forward``.
    """

    training: bool

    def __init__(self) -> None:
        for name, value in (("_parameters", {}), ("_buffers", {}), ("_modules", {}), ("training", True)):
            object.__setattr__(self, name, value)

    # ---------- attributes ----------

    def __setattr__(self, name: str, value: Any) -> None:
        kinds = self.__dict__
        if "_parameters" not in kinds:
            if isinstance(value, (Parameter, Module)):
                what = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            object.__setattr__(self, name, value)
            return
        home = "_parameters" if isinstance(value, Parameter) else "_modules" if isinstance(value, Module) else None
        if home is None:
            home = _home_of(kinds, name, value)
        if home is None:
            object.__setattr__(self, name, value)
            return
        for other in ("_parameters", "_buffers", "_modules"):
            if other != home:
                kinds[other].pop(name, None)
        kinds.pop(name, None)
        kinds[home][name] = value

    def __getattr__(self, name: str) -> Any:
        for home in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(home, {})
            if name in found:
                return found[name]
        raise missing(f"'{type(self).__name__}' object", name, dir(self), obj=self)

    def __delattr__(self, name: str) -> None:
        for home in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(home, {}):
                del self.__dict__[home][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        own = [name for home in ("_parameters", "_buffers", "_modules") for name in self.__dict__.get(home, {})]
        return sorted({*object.__dir__(self), *own})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter under ``name``. If ``param`` is None, the attribute is None and is not a parameter."""
        _need_name("parameter", name)
        _need_new_name(self, "_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (torch.nn.Parameter or None "
                f"required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is not trained, but moved to other devices and dtypes together with the parameters.

        If ``persistent`` is true, ``state_dict`` contains the tensor.
        """
        _need_name("buffer", name)
        _need_new_name(self, "_buffers", name)
        persistent = checks.flag("register_buffer()", "persistent", persistent)
        if tensor is not None and not isinstance(tensor, BaseTensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        unsaved = self.__dict__.setdefault("_non_persistent_buffers_set", set())
        (unsaved.discard if persistent else unsaved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register another module, or None, under ``name``."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        _need_name("module", name)
        _need_new_name(self, "_modules", name)
        self._modules[name] = module

    register_module = add_module

    # ---------- calling ----------

    def forward(self, *input: Any) -> Any:
        """Compute the result. Subclasses define this method."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---------- modules and tensors inside ----------

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and every submodule once, with its name.

        Args:
            memo: a set of modules to leave out. Every module that is yielded is added to this set.
            prefix: the name of this module.
            remove_duplicate: False to yield a module with each of its names.
        """
        if memo is not None:
            checks.instance("named_modules()", "memo", memo, set, "a set of modules")
        checks.text("named_modules()", "prefix", prefix)
        return walk(self, prefix, memo, checks.flag("named_modules()", "remove_duplicate", remove_duplicate))

    def modules(self) -> Iterator[Module]:
        """Yield this module and every submodule once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the modules that are attributes of this one, each once, with their names."""
        return distinct(self._inside())

    def _inside(self) -> list[tuple[str, Module]]:
        """Return the modules that are attributes of this one, with all their names."""
        return [(name, module) for name, module in self._modules.items() if module is not None]

    def children(self) -> Iterator[Module]:
        """Yield the modules that are attributes of this one, each once."""
        return (module for _, module in self.named_children())

    def _named(self, home: str, prefix: str, recurse: bool, once: bool = True) -> Iterator[tuple[str, Any]]:
        checks.text(f"named{home}()", "prefix", prefix)
        inside = checks.flag(f"named{home}()", "recurse", recurse)
        once = checks.flag(f"named{home}()", "remove_duplicate", once)
        modules = self.named_modules(prefix=prefix, remove_duplicate=once) if inside else [(prefix, self)]
        return members(modules, home, once)

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield every parameter once, with its name. ``remove_duplicate=False`` yields it with each of its names."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield every parameter once."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield every buffer once, with its name. ``remove_duplicate=False`` yields it with each of its names."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield every buffer once."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """Return the module with the name ``target``, such as "body.0"; this module for the empty name.

        Raises:
            AttributeError: if there is no such module.
        """
        found: Any = self
        target = checks.text("get_submodule()", "target", target)
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{type(found).__name__} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with the name ``target``, such as "body.0.weight".

        Raises:
            AttributeError: if there is no such parameter.
        """
        return self._get("_parameters", "an nn.Parameter", checks.text("get_parameter()", "target", target))

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with the name ``target``, such as "body.1.running_mean".

        Raises:
            AttributeError: if there is no such buffer.
        """
        return self._get("_buffers", "a buffer", checks.text("get_buffer()", "target", target))

    def _get(self, home: str, kind: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module.__dict__[home]:
            if hasattr(module, name):
                raise AttributeError(f"`{name}` is not {kind}")
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return module.__dict__[home][name]

    # ---------- state ----------

    def train(self, mode: bool = True) -> Module:
        """Set ``training`` to ``mode`` in this module and all submodules, and return this module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> Module:
        """Set ``training`` to False in this module and all submodules, and return this module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set ``requires_grad`` of all parameters, and return this module."""
        requires_grad = checks.flag("requires_grad_()", "requires_grad", requires_grad)
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients to None, or fill them with zeros (``set_to_none=False``)."""
        set_to_none = checks.flag("zero_grad()", "set_to_none", set_to_none)
        for parameter in self.parameters():
            drop_gradient(parameter, set_to_none)

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Any]:
        """Return a dict of parameters and persistent buffers, keyed by name, as detached tensors on the same memory.

        With ``keep_vars``, return the tensors themselves. A tensor with two names is listed twice.
        """
        keep_vars = checks.flag("state_dict()", "keep_vars", keep_vars)
        return state_of(self, checks.text("state_dict()", "prefix", prefix), keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into parameters and buffers. With ``assign``, replace these tensors by the given ones.

        Raises:
            RuntimeError: if a value has another shape or is not a tensor, or names differ although ``strict`` is true.
                The error lists all faults, and nothing is copied.

        Returns:
            The missing names and the unexpected names.
        """
        strict = checks.flag("load_state_dict()", "strict", strict)
        return load_into(self, state_dict, strict, checks.flag("load_state_dict()", "assign", assign))

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call ``fn`` on every submodule, children before parents, and then on this module. Return this module."""
        checks.function("apply()", "fn", fn)
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """Move parameters, their gradients, and buffers to another device, dtype or memory format. Parameters and
        buffers remain the same objects. Return this module.

        Only tensors of floats are converted to the dtype: an integer counter remains an integer. Only tensors of four
        dimensions, such as the weights of convolutions, are converted to the memory format.

        Raises:
            TypeError: if the dtype is not a floating-point one.
        """
        memory_format = kwargs.pop("memory_format", None)
        where, dtype = device_and_dtype(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        for value in (*self.parameters(), *self.buffers()):
            move(value, where, dtype, memory_format)
        return self

    def double(self) -> Module:
        """Convert parameters and buffers that are floats to float64, and return this module."""
        return self.to(float64)

    def float(self) -> Module:
        """Convert parameters and buffers that are floats to float32, and return this module."""
        return self.to(float32)

    def half(self) -> Module:
        """Convert parameters and buffers that are floats to float16, and return this module."""
        return self.to(float16)

    def bfloat16(self) -> Module:
        """Convert parameters and buffers that are floats to bfloat16, and return this module."""
        return self.to(bfloat16)

    def type(self, dst_type: Any) -> Module:
        """Convert parameters and buffers that are floats to another dtype, and return this module."""
        return self.to(dtype_of(dst_type))

    def cuda(self, device: Any = None) -> Module:
        """Move the parameters and buffers to the GPU, and return this module."""
        return self.to(as_gpu(device))

    def cpu(self) -> Module:
        """Move the parameters and buffers to the host, and return this module."""
        return self.to("cpu")

    # ---------- as text ----------

    def extra_repr(self) -> str:
        """Return the text that a printed module has between its parentheses: "" unless a subclass defines it."""
        return ""

    def __repr__(self) -> str:
        inner = []
        for name, module in self._modules.items():
            inner.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        extra = self.extra_repr()
        lines = [*(extra.split("\n") if extra else []), *inner]
        if not lines or (len(lines) == 1 and not inner):
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"


def _home_of(kinds: dict[str, Any], name: str, value: Any) -> str | None:
    """Return the name of the dict in which ``name`` is registered; None if ``name`` is not registered.

    Raises:
        TypeError: if ``value`` is of another kind than the values in that dict.
    """
    for home, what, allowed in (
        ("_parameters", "parameter", "torch.nn.Parameter"),
        ("_modules", "child module", "torch.nn.Module"),
        ("_buffers", "buffer", "torch.nn.Buffer, torch.Tensor"),
    ):
        if name in kinds[home]:
            if value is not None and not (home == "_buffers" and isinstance(value, BaseTensor)):
                kind = value.type() if isinstance(value, Tensor) else type(value).__name__
                raise TypeError(f"cannot assign '{kind}' as {what} '{name}' ({allowed} or None expected)")
            return home
    return None


def _need_new_name(module: Module, home: str, name: str) -> None:
    """Raise KeyError if ``module`` has an attribute ``name`` that is not registered in the dict ``home``."""
    if hasattr(module, name) and name not in module.__dict__[home]:
        raise KeyError(f"attribute '{name}' already exists")


def _need_name(what: str, name: Any) -> None:
    """Raise TypeError or KeyError unless ``name`` can be the name of an attribute."""
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
    if "." in name or not name:
        problem = 'can\'t contain "."' if name else 'can\'t be empty string ""'
        raise KeyError(f"{what} name {problem}, got: {name!r}")
