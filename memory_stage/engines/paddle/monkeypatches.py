"""Patch functions of Paddle, and restore them.

Three groups create and write tensors: the functions of ``paddle._C_ops``, also where other modules of Paddle have
imported them; the methods of ``paddle.Tensor`` that call none of these; and the functions of Paddle that call other
patched functions. Further patches observe backward, hooks, ``.grad``, DLPack and ``PyLayer``.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: A function that runs a patched function: ``runner(name, function, arguments, keywords)``.
Runner = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

#: The methods of a tensor that call no other operation, each with the name of its operation.
_METHODS = {"_getitem_dygraph": "getitem", "_setitem_dygraph": "setitem"} | {
    name: name
    for name in (
        *("clone", "contiguous", "copy_", "detach", "detach_", "set_value", "to_sparse_coo", "clear_gradient"),
        *("_clear_data", "_copy_to", "_share_buffer_to", "_share_underline_tensor_to", "_zero_grads"),
    )
}

#: Operators that also have a form for a tensor as the operand on the right, such as ``radd``.
_ARITHMETIC = {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "truediv": "divide"},
    **{"floordiv": "floor_divide", "pow": "pow", "mod": "remainder", "matmul": "matmul"},
}
#: Maps an operator to the name of the function that does the same.
_OPERATORS = {
    **_ARITHMETIC,
    **{f"r{operator}": name for operator, name in _ARITHMETIC.items()},
    **{"gt": "greater_than", "ge": "greater_equal", "lt": "less_than", "le": "less_equal"},
    **{"eq": "equal", "ne": "not_equal"},
}

_PROPERTIES = ("T", "mT")

#: Modules whose functions take tensors.
_TENSOR_MODULES = ("paddle.tensor.", "paddle.nn.functional", "paddle.base.dygraph.math_op_patch")

#: Functions in these modules that are not patched, because they create no tensor.
_NO_OPERATIONS = frozenset(
    ("is_tensor", "is_complex", "is_floating_point", "is_integer", "shape", "rank", "broadcast_shape", "tolist", "item")
    + ("to_string", "set_printoptions", "dim", "ndimension", "is_empty", "__len__", "__int__", "__float__", "__bool__")
    + ("__index__", "__long__")
)


class PatchedAttribute(NamedTuple):
    """A patched attribute and its original value."""

    owner: Any
    name: str
    value: Any


class Runners(NamedTuple):
    """The functions that run patched functions, one for each kind.

    Attributes:
        single: runs functions that call no other patched function.
        whole: runs functions that call other patched functions.
        backward: runs the functions that start backward.
        hooks: runs the method that registers a hook of a tensor.
        functions: runs the methods of ``PyLayer``.
        gradient: runs the property ``.grad``.
        sharing: runs the functions of DLPack, which share memory with other libraries.
    """

    single: Runner
    whole: Runner
    backward: Runner
    hooks: Runner
    functions: Runner
    gradient: Runner
    sharing: Runner


_ABSENT = object()


class PaddlePatches:
    """The patches of Paddle's functions. While they are applied, they call ``runners``."""

    def __init__(self, runners: Runners) -> None:
        self._runners = runners
        self._applied: list[PatchedAttribute] = []

    def apply(self, paddle: Any) -> None:
        """Replace each function by a wrapper. If this is interrupted, restore all functions."""
        try:
            for patched, wrapper in self._wrappers(paddle):
                self._applied.append(patched)
                setattr(patched.owner, patched.name, wrapper)
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Restore all functions."""
        while self._applied:
            owner, name, value = self._applied[-1]
            if value is not _ABSENT:
                setattr(owner, name, value)
            elif name in vars(owner):
                delattr(owner, name)
            self._applied.pop()  # last, so that a repeated call restores everything if this one is interrupted

    def _wrappers(self, paddle: Any) -> Iterator[tuple[PatchedAttribute, Any]]:
        single = self._runners.single
        modules = [paddle._C_ops, paddle._legacy_C_ops]
        functions = {
            id(value): (name, value)
            for module in modules
            for name, value in vars(module).items()
            if isinstance(value, types.BuiltinFunctionType) and not name.startswith("_")
        }
        # Other modules import some of these functions: ``paddle.matmul`` is ``_C_ops.matmul`` itself in Paddle 3.3.
        for module in [each for name, each in sys.modules.items() if name.partition(".")[0] == "paddle"]:
            for name, value in list(vars(module).items()) if isinstance(module, types.ModuleType) else ():
                known = functions.get(id(value))
                if known is not None:
                    yield PatchedAttribute(module, name, value), _wrapper(known[0], value, single)
        tensor = paddle.Tensor
        for name, value in list(vars(tensor).items()):
            called = _METHODS.get(name) or _OPERATORS.get(name.strip("_") if name.startswith("__") else "")
            if called is not None:
                yield PatchedAttribute(tensor, name, value), _wrapper(called, value, single)
            elif name in _PROPERTIES and isinstance(value, property) and value.fget is not None:
                yield PatchedAttribute(tensor, name, value), property(_wrapper(name, value.fget, single))
            elif id(value) in functions:
                yield (PatchedAttribute(tensor, name, value), _wrapper(functions[id(value)][0], value, single))
        yield from self._whole_functions(paddle)
        for name in ("run_backward", "run_partial_grad"):
            value = getattr(paddle.base.core.eager, name)
            yield PatchedAttribute(paddle.base.core.eager, name, value), _wrapper(name, value, self._runners.backward)
        hook = tensor._register_grad_hook
        yield (
            PatchedAttribute(tensor, "_register_grad_hook", hook),
            _wrapper("_register_grad_hook", hook, self._runners.hooks),
        )
        gradient = vars(tensor)["grad"]
        asked = _wrapper("grad", gradient.__get__, self._runners.gradient)
        yield PatchedAttribute(tensor, "grad", gradient), property(asked, gradient.__set__, doc=gradient.__doc__)
        for owner, name in _places_of_dlpack(paddle):
            value = getattr(owner, name)
            yield PatchedAttribute(owner, name, value), _wrapper(name, value, self._runners.sharing)
        yield from self._functions(paddle.autograd.py_layer)

    def _functions(self, module: Any) -> Iterator[tuple[PatchedAttribute, Any]]:
        """Yield the patches of ``PyLayer``, its context and its backward."""
        apply = _wrapper("apply", _apply_of_class(module.PyLayer), self._runners.functions)
        yield PatchedAttribute(module.PyLayer, "apply", vars(module.PyLayer).get("apply", _ABSENT)), classmethod(apply)
        context = module.PyLayerContext
        methods = (context, "save_for_backward"), (context, "mark_not_inplace"), (module.PyLayerBackward, "backward")
        for owner, name in methods:
            value = vars(owner)[name]
            yield PatchedAttribute(owner, name, value), _wrapper(name, value, self._runners.functions)

    def _whole_functions(self, paddle: Any) -> Iterator[tuple[PatchedAttribute, Any]]:
        """Yield the functions that call other patched functions. Each call of the program is one operation."""
        for owner in (paddle, paddle.nn.functional, paddle.linalg, paddle.Tensor):
            for name, value in list(vars(owner).items()):
                if isinstance(value, types.FunctionType) and name not in _NO_OPERATIONS and _is_whole(value):
                    yield PatchedAttribute(owner, name, value), _wrapper(_op_name(name), value, self._runners.whole)
        for owner in (paddle, paddle.jit):
            if "to_static" in vars(owner):
                yield (
                    PatchedAttribute(owner, "to_static", owner.to_static),
                    _wrapper("to_static", owner.to_static, self._runners.whole),
                )
        classes = [each for each in vars(paddle.optimizer).values() if isinstance(each, type)]
        for owner, name in [(paddle.nn.Layer, "create_parameter"), *((each, "step") for each in classes)]:
            if name in vars(owner):
                value = vars(owner)[name]
                yield PatchedAttribute(owner, name, value), _wrapper(name, value, self._runners.whole)


def _places_of_dlpack(paddle: Any) -> Iterator[tuple[Any, str]]:
    """Yield the functions that share memory by DLPack, as far as this version of Paddle has them."""
    for owner in (paddle.Tensor, paddle, paddle.utils.dlpack):
        yield from ((owner, name) for name in ("__dlpack__", "from_dlpack", "to_dlpack") if name in vars(owner))


def _is_whole(function: types.FunctionType) -> bool:
    """True if a function of Paddle works on tensors and calls no function of the program."""
    return str(function.__module__).startswith(_TENSOR_MODULES)


def _apply_of_class(owner: Any) -> Callable[..., Any]:
    """Return ``apply`` of a class of ``PyLayer`` as a plain function."""
    method = next(vars(each)["apply"] for each in owner.__mro__ if "apply" in vars(each))

    def apply(cls: type, *arguments: Any, **keywords: Any) -> Any:
        return method.__get__(None, cls)(*arguments, **keywords)

    return apply


def _op_name(name: str) -> str:
    return {"__neg__": "neg", "__getitem__": "getitem", "__setitem__": "setitem"}.get(name, name)


def _wrapper(name: str, function: Callable[..., Any], runner: Runner) -> Any:
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        return runner(name, function, arguments, keywords)

    return functools.wraps(function)(wrapped) if hasattr(function, "__name__") else wrapped
