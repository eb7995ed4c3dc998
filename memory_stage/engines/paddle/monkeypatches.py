"""Wraps the functions of Paddle that make and write tensors, and puts each of them back.

What is wrapped is what Python reaches: the functions of ``paddle._C_ops`` (wherever a module of Paddle has bound one of
them), and the methods of ``paddle.Tensor`` that are not made of these.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: Calls ``function``: ``via(name, function, arguments, keywords)``.
Via = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

#: Methods of a tensor that are not made of operations, by what they are called here.
_METHODS = {
    "_getitem_dygraph": "getitem",
    "_setitem_dygraph": "setitem",
    "clone": "clone",
    "contiguous": "contiguous",
    "copy_": "copy_",
    "detach": "detach",
    "detach_": "detach_",
    "set_value": "set_value",
    "_clear_data": "_clear_data",
    "_copy_to": "_copy_to",
    "_share_buffer_to": "_share_buffer_to",
    "_share_underline_tensor_to": "_share_underline_tensor_to",
    "_zero_grads": "_zero_grads",
    "to_sparse_coo": "to_sparse_coo",
    "clear_gradient": "clear_gradient",
}

#: Operators, by the name of the function that does the same.
_OPERATORS = {
    "add": "add",
    "radd": "add",
    "sub": "subtract",
    "rsub": "subtract",
    "mul": "multiply",
    "rmul": "multiply",
    "div": "divide",
    "rdiv": "divide",
    "truediv": "divide",
    "rtruediv": "divide",
    "floordiv": "floor_divide",
    "rfloordiv": "floor_divide",
    "pow": "pow",
    "rpow": "pow",
    "mod": "remainder",
    "rmod": "remainder",
    "matmul": "matmul",
    "rmatmul": "matmul",
    "gt": "greater_than",
    "ge": "greater_equal",
    "lt": "less_than",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
}

_PROPERTIES = ("T", "mT")

#: Modules whose functions work on tensors.
_OF_TENSORS = ("paddle.tensor.", "paddle.nn.functional", "paddle.base.dygraph.math_op_patch")

#: Of these, those that make no tensor.
_NO_OPERATIONS = frozenset(
    ("is_tensor", "is_complex", "is_floating_point", "is_integer", "shape", "rank", "broadcast_shape", "tolist", "item")
    + ("to_string", "set_printoptions", "dim", "ndimension", "is_empty", "__len__", "__int__", "__float__", "__bool__")
    + ("__index__", "__long__")
)


class Place(NamedTuple):
    """An attribute, and what it was."""

    owner: Any
    name: str
    value: Any


class Vias(NamedTuple):
    """Who calls which functions: those made of no others, those made of these, and so on."""

    single: Via
    whole: Via
    backward: Via
    hooks: Via  # that give a hook to a tensor
    functions: Via  # of ``PyLayer``
    gradient: Via  # ``.grad``


_ABSENT = object()


class Wrapping:
    """Wrappers that call ``vias``, while they are on."""

    def __init__(self, vias: Vias) -> None:
        self._vias = vias
        self._put: list[Place] = []

    def on(self, paddle: Any) -> None:
        """Put a wrapper in place of each function; of all or of none."""
        try:
            for place, wrapper in self._wrappers(paddle):
                self._put.append(place)
                setattr(place.owner, place.name, wrapper)
        except BaseException:
            self.off()
            raise

    def off(self) -> None:
        """Put back what was there, where nobody has put something else since."""
        while self._put:
            owner, name, value = self._put[-1]
            if value is not _ABSENT:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)
            self._put.pop()  # only now: who is interrupted before that begins here again

    def _wrappers(self, paddle: Any) -> Iterator[tuple[Place, Any]]:
        modules = [paddle._C_ops, paddle._legacy_C_ops]
        functions = {
            id(value): (name, value)
            for module in modules
            for name, value in vars(module).items()
            if isinstance(value, types.BuiltinFunctionType) and not name.startswith("_")
        }
        # Some are bound in other modules, too: ``paddle.matmul`` is ``_C_ops.matmul`` itself in 3.3.
        for module in [each for name, each in sys.modules.items() if name.partition(".")[0] == "paddle"]:
            for name, value in list(vars(module).items()) if isinstance(module, types.ModuleType) else ():
                known = functions.get(id(value))
                if known is not None:
                    yield Place(module, name, value), _wrapper(known[0], value, self._vias.single)
        tensor = paddle.Tensor
        for name, value in list(vars(tensor).items()):
            called = _METHODS.get(name) or _OPERATORS.get(name.strip("_") if name.startswith("__") else "")
            if called is not None:
                yield Place(tensor, name, value), _wrapper(called, value, self._vias.single)
            elif name in _PROPERTIES and isinstance(value, property) and value.fget is not None:
                yield Place(tensor, name, value), property(_wrapper(name, value.fget, self._vias.single))
            elif id(value) in functions:
                yield Place(tensor, name, value), _wrapper(functions[id(value)][0], value, self._vias.single)
        yield from self._whole_ones(paddle)
        for name in ("run_backward", "run_partial_grad"):
            value = getattr(paddle.base.core.eager, name)
            yield Place(paddle.base.core.eager, name, value), _wrapper(name, value, self._vias.backward)
        hook = tensor._register_grad_hook
        yield Place(tensor, "_register_grad_hook", hook), _wrapper("_register_grad_hook", hook, self._vias.hooks)
        gradient = vars(tensor)["grad"]
        asked = _wrapper("grad", gradient.__get__, self._vias.gradient)
        yield Place(tensor, "grad", gradient), property(asked, gradient.__set__, doc=gradient.__doc__)
        yield from self._functions(paddle.autograd.py_layer)

    def _functions(self, module: Any) -> Iterator[tuple[Place, Any]]:
        """What a function of the program's own is called through."""
        apply = _wrapper("apply", _applied(module.PyLayer), self._vias.functions)
        yield Place(module.PyLayer, "apply", vars(module.PyLayer).get("apply", _ABSENT)), classmethod(apply)
        told = ((module.PyLayerContext, "save_for_backward"), (module.PyLayerContext, "mark_not_inplace"))
        for owner, name in (*told, (module.PyLayerBackward, "backward")):
            value = vars(owner)[name]
            yield Place(owner, name, value), _wrapper(name, value, self._vias.functions)

    def _whole_ones(self, paddle: Any) -> Iterator[tuple[Place, Any]]:
        """Functions that a program calls and that are made of those: what they do is one operation."""
        for owner in (paddle, paddle.nn.functional, paddle.linalg, paddle.Tensor):
            for name, value in list(vars(owner).items()):
                if isinstance(value, types.FunctionType) and name not in _NO_OPERATIONS and _is_whole(value):
                    yield Place(owner, name, value), _wrapper(_called(name), value, self._vias.whole)
        for owner in (paddle, paddle.jit):
            if "to_static" in vars(owner):
                yield (
                    Place(owner, "to_static", owner.to_static),
                    _wrapper("to_static", owner.to_static, self._vias.whole),
                )
        classes = [each for each in vars(paddle.optimizer).values() if isinstance(each, type)]
        for owner, name in [(paddle.nn.Layer, "create_parameter"), *((each, "step") for each in classes)]:
            if name in vars(owner):
                value = vars(owner)[name]
                yield Place(owner, name, value), _wrapper(name, value, self._vias.whole)


def _is_whole(function: types.FunctionType) -> bool:
    """Whether a function of Paddle works on tensors and calls nothing of the program's."""
    return str(function.__module__).startswith(_OF_TENSORS)


def _applied(owner: Any) -> Callable[..., Any]:
    """``apply`` as a function of the class that it is asked of."""
    method = next(vars(each)["apply"] for each in owner.__mro__ if "apply" in vars(each))

    def apply(cls: type, *arguments: Any, **keywords: Any) -> Any:
        return method.__get__(None, cls)(*arguments, **keywords)

    return apply


def _called(name: str) -> str:
    return {"__neg__": "neg", "__getitem__": "getitem", "__setitem__": "setitem"}.get(name, name)


def _wrapper(name: str, function: Callable[..., Any], via: Via) -> Any:
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        return via(name, function, arguments, keywords)

    return functools.wraps(function)(wrapped) if hasattr(function, "__name__") else wrapped
