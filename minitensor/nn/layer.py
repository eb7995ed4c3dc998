"""Layer: the base class of networks, which registers parameters, buffers and inner layers under attribute names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Hook, Tensor
from minitensor.engine.layers.traversal import distinct, members, walk
from minitensor.nn.initializer import Initializer
from minitensor.nn.moving import in_dtype
from minitensor.nn.parameter import Parameter, as_attr, create_parameter
from minitensor.nn.states import load_into, state_of

#: Maps the first part of a layer's name to the number of layers created with it so far.
_created: Counter[str] = Counter()


class Layer:
    """A part of a network: parameters, inner layers, and ``forward``.

    A :class:`Parameter` or a layer that becomes an attribute is registered under the attribute's name. Any other tensor
    remains a plain attribute, unless ``register_buffer`` registers it as a tensor that is saved but not trained.

    Raises:
        NotImplementedError: on a call, if there is no ``forward``.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _sub_layers: dict[str, Layer | None]

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        if name_scope is not None:
            checks.text(type(self).__name__, "name_scope", name_scope)
        kind = name_scope or re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        registered: dict[str, dict[str, Any]] = {"_parameters": {}, "_buffers": {}, "_sub_layers": {}}
        self.__dict__.update(registered)
        self._not_saved: set[str] = set()
        self._pre_hooks: list[Hook] = []
        self._post_hooks: list[Hook] = []
        self._full_name, self._dtype, self.training = f"{kind}_{_created[kind]}", dtype, True
        _created[kind] += 1

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the result. Subclasses define this method."""
        raise NotImplementedError(f"{type(self).__name__} has no forward; define `def forward(self, x):`")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        for hook in self._pre_hooks:
            if hook.function is not None:
                changed = hook.function(self, inputs)
                if changed is not None:
                    inputs = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*inputs, **named)
        for hook in self._post_hooks:
            if hook.function is not None:
                changed = hook.function(self, inputs, result)
                result = result if changed is None else changed
        return result

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call ``hook(layer, inputs)`` before forward; a result other than None replaces the inputs.

        To remove the hook, call ``remove()`` of the returned handle.
        """
        self._pre_hooks.append(Hook(checks.function("register_forward_pre_hook", "hook", hook)))
        return self._pre_hooks[-1]

    def register_forward_post_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call ``hook(layer, inputs, output)`` after forward; a result other than None replaces the output.

        To remove the hook, call ``remove()`` of the returned handle.
        """
        self._post_hooks.append(Hook(checks.function("register_forward_post_hook", "hook", hook)))
        return self._post_hooks[-1]

    # ---------- registered attributes ----------

    def __setattr__(self, name: str, value: Any) -> None:
        kind = "_parameters" if isinstance(value, Parameter) else "_sub_layers" if isinstance(value, Layer) else None
        places = [place for place in ("_parameters", "_buffers", "_sub_layers") if place in self.__dict__]
        if kind is not None:
            if not places:
                raise ValueError(f"super().__init__() should be called first in {type(self).__name__}.__init__")
            for place in places:
                self.__dict__[place].pop(name, None)
            self.__dict__.pop(name, None)
            self.__dict__[kind][name] = value
            return
        for place in places:
            if name in self.__dict__[place]:
                if value is not None and not (place == "_buffers" and isinstance(value, Tensor)):
                    what = {"_parameters": "Parameter", "_buffers": "Tensor", "_sub_layers": "Layer"}[place]
                    raise TypeError(
                        f"{type(self).__name__}.{name} is a registered {what}: it can be set to another {what} or to "
                        f"None, not to {type(value).__name__}. Load numbers into it with `set_value`."
                    )
                self.__dict__[place][name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for place in ("_parameters", "_sub_layers", "_buffers"):
            registered = self.__dict__.get(place, {})
            if name in registered:
                return registered[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def _parameter(self, name: str) -> Any:
        """Return the attribute ``name``, usually a parameter. This is 1 us faster than ``__getattr__``."""
        parameters = self._parameters
        return parameters[name] if name in parameters else getattr(self, name)

    def __delattr__(self, name: str) -> None:
        for place in ("_parameters", "_sub_layers", "_buffers"):
            if name in self.__dict__[place]:
                del self.__dict__[place][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._sub_layers})

    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Initializer | None = None,
    ) -> Parameter | None:
        """Return a new parameter, or None if ``attr`` is False. The layer registers it when it becomes an attribute."""
        if attr is False:
            return None
        dtype = self._dtype if dtype is None else dtype
        parameter = create_parameter(shape, dtype, None, attr, is_bias, default_initializer)
        if as_attr(attr).name is None:
            letter = "b" if is_bias else "w"
            number = sum(1 for each in self.parameters(False) if f".{letter}_" in each.name)
            parameter.name = f"{self._full_name}.{letter}_{number}"
        return parameter

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Register ``parameter`` (or None) as the attribute ``name``, and return it."""
        checks.text("add_parameter", "name", name)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(
                f"add_parameter: {name!r} must be a Parameter, as create_parameter makes it, not "
                f"{type(parameter).__name__}"
            )
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name: str, sublayer: Layer) -> Layer:
        """Register a layer under ``name``, and return it."""
        checks.text("add_sublayer", "name", name)
        if not isinstance(sublayer, Layer):
            raise TypeError(f"add_sublayer: {name!r} must be a Layer, not {type(sublayer).__name__}")
        self._sub_layers[name] = sublayer
        return sublayer

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Register a tensor that is not a parameter. ``state_dict`` contains it unless ``persistable`` is False."""
        checks.text("register_buffer", "name", name)
        persistable = checks.flag("register_buffer", "persistable", persistable)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer: {name!r} must be a Tensor, not {type(tensor).__name__}")
        self._buffers[name] = tensor
        (self._not_saved.discard if persistable else self._not_saved.add)(name)

    # ---------- layers and tensors inside ----------

    def named_sublayers(self, prefix: str = "", include_self: bool = False) -> Iterator[tuple[str, Layer]]:
        """Yield every layer inside this layer once, at any depth, with its path: ``("block.fc", layer)``."""
        include_self = checks.flag("named_sublayers", "include_self", include_self)
        layers = walk(self, checks.text("named_sublayers", "prefix", prefix))
        return (found for found in layers if include_self or found[1] is not self)

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """Yield the layers that are attributes of this layer, each once, with their names."""
        yield from distinct(self._inside())

    def _inside(self) -> list[tuple[str, Layer]]:
        """Return the layers that are attributes of this layer, with all their names."""
        return [(name, each) for name, each in self._sub_layers.items() if each is not None]

    def children(self) -> Iterator[Layer]:
        """Yield the layers that are attributes of this layer, each once."""
        yield from (each for _, each in self.named_children())

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """Return every layer inside this layer once, at any depth."""
        return [each for _, each in self.named_sublayers(include_self=include_self)]

    def _named(self, place: str, prefix: str, include_sublayers: bool) -> Iterator[tuple[str, Any]]:
        op = f"named{place}"
        checks.text(op, "prefix", prefix)
        inside = checks.flag(op, "include_sublayers", include_sublayers)
        return members(walk(self, prefix) if inside else [(prefix, self)], place)

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield every parameter, once, with its path: ``("fc.weight", parameter)``."""
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        """Return every parameter, once."""
        return [each for _, each in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield every buffer, once, with its path."""
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """Return every buffer, once."""
        return [each for _, each in self.named_buffers(include_sublayers=include_sublayers)]

    def train(self) -> Layer:
        """Set ``training`` to True in this layer and all layers inside it, and return this layer."""
        return self._set_training(True)

    def eval(self) -> Layer:
        """Set ``training`` to False in this layer and all layers inside it, and return this layer."""
        return self._set_training(False)

    def _set_training(self, training: bool) -> Layer:
        for layer in self.sublayers(include_self=True):
            layer.training = training
        return self

    def apply(self, function: Callable[[Layer], Any]) -> Layer:
        """Call ``function`` with every layer inside this layer, then with this layer itself. Return this layer."""
        checks.function("apply", "function", function)
        for layer in self.children():
            layer.apply(function)
        function(self)
        return self

    def to(self, device: Any = None, dtype: Any = None, blocking: Any = None) -> Layer:
        """Convert parameters and buffers that are floats to another dtype. They remain the same objects.

        Without ``dtype``, nothing changes. The result is this layer.

        Raises:
            ValueError: if ``device`` is given, or if the dtype is not a floating-point one.
        """
        in_dtype(self, device, dtype)
        return self

    def clear_gradients(self) -> None:
        """Fill the gradient of every parameter with zeros."""
        for each in self.parameters():
            each.clear_gradient()

    # ---------- saving and loading ----------

    def state_dict(self, include_sublayers: bool = True, structured_name_prefix: str = "") -> dict[str, Tensor]:
        """Return a dict of parameters and persistable buffers, keyed by path. It contains the tensors themselves, not
        copies.

        A tensor with two paths is listed twice.
        """
        inside = checks.flag("state_dict", "include_sublayers", include_sublayers)
        return state_of(self, inside, checks.text("state_dict", "structured_name_prefix", structured_name_prefix))

    def set_state_dict(
        self, state_dict: Mapping[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Load each value with ``set_value``, which is one versioned write. If a value does not fit, write nothing.

        Args:
            state_dict: tensors or arrays, keyed by path. A missing path causes a warning.
            use_structured_name: False if the keys are the names of the parameters instead of their paths.

        Returns:
            Two lists: the paths that ``state_dict`` lacks, and the keys of ``state_dict`` that the layer lacks.

        Raises:
            ValueError: if a shape differs.
            TypeError: if a dtype differs, or ``state_dict`` is not a dict.
        """
        return load_into(self, state_dict, checks.flag("set_state_dict", "use_structured_name", use_structured_name))

    load_dict = set_dict = set_state_dict

    def full_name(self) -> str:
        """Return a name that no other layer has, such as ``linear_0``."""
        return self._full_name

    def extra_repr(self) -> str:
        """Return the text between the parentheses of a printed layer. Subclasses may define this method."""
        return ""

    def __repr__(self) -> str:
        inside = [f"({name}): {each!r}".replace("\n", "\n  ") for name, each in self._sub_layers.items()]
        extra = self.extra_repr()
        if not inside:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}({extra}\n  " + "\n  ".join(inside) + "\n)"
