"""Compile rows of the derivative table to functions with PyTorch's names, tensor class and error messages.

The compiler itself is :mod:`minitensor.engine.operations.compiling`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from minitensor.engine.autograd.higher_order import revived as engine_revived
from minitensor.engine.autograd.rules.compiling import on_tensors
from minitensor.engine.core.history import Node, Saved
from minitensor.engine.core.layout_rules import contiguous
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.core.tensor_type import blanks
from minitensor.engine.modes import modes
from minitensor.engine.operations import compiling
from minitensor.engine.operations.compiling import Form
from minitensor.engine.operations.describing import Wording
from minitensor.engine.operations.operands import NUMBERS
from minitensor.engine.operations.rules import namespaces
from minitensor.engine.saved import in_place_inputs
from minitensor.engine.saved.saved import is_intact
from minitensor.torch import errors, kernels, operands
from minitensor.torch.alpha import scale_operand
from minitensor.torch.arguments import need_int
from minitensor.torch.comparison import with_gradient_like
from minitensor.torch.grad_fn import NamedOperation
from minitensor.torch.operation_table import SPELLINGS
from minitensor.torch.out import write_into_out
from minitensor.torch.scalars import check_numbers
from minitensor.torch.tensor import Tensor

# ---------- names in the generated code ----------


def _own_input(op: str, x: BaseTensor, *wanted: Node | None) -> Saved:
    if modes.policy == "2.5":
        raise errors.needs_own_input(op, x, *wanted)
    return in_place_inputs.own_input(op, x)


def revived(node: Node, what: str, saved: Saved, *rest: Any) -> BaseTensor:
    """Return a saved tensor for a recorded backward pass; raise an error if the tensor was overwritten."""
    if not is_intact(saved):
        raise errors.stale(node, what, saved)
    return engine_revived(node, what, saved, *rest)


#: The functions and values that the generated code uses, keyed by name.
CALLS: dict[str, Any] = {
    **compiling.CALLS,
    **{name: getattr(errors, name) for name in compiling.EXPLAINED},
    "Tensor": Tensor,
    "empty_tensor": blanks(Tensor),
    "freed": errors.freed,
    "recovered": errors.recovered,
    "named": errors.named,
    "own_input": _own_input,
    "check_on_device": errors.check_on_device,
    "BaseTensor": BaseTensor,
    "NUMBERS": NUMBERS,
    "engines": compiling.FUNCTIONS.redirect,
    **{
        name: getattr(operands, name)
        for name in (
            *("as_operands", "as_operands_in_place", "promote", "into", "as_float", "check_target", "storable"),
            *("same_dtype", "as_index", "flat_without_dim", "as_mask", "rounded"),
            *(
                "no_bounds_error",
                "clamp_by_tensors",
                "in_dtype",
                "is_narrow",
                "check_scan",
                "need_floats",
                "reduction_dims",
                "need_same_ndim",
            ),
            *("refuse_bool_subtraction", "as_long", "need_floats_for_kernel", "need_one_dim", "need_same_dtype"),
            *("need_same_dtypes", "need_index_sequence"),
        )
    },
    "write_into_out": write_into_out,
    "scale_operand": scale_operand,
    "with_gradient_like": with_gradient_like,
    "check_numbers": check_numbers,
    "need_int": need_int,
    "__name__": "minitensor.torch.operations",
    "__package__": "minitensor.torch",
}


def _on_arrays() -> dict[str, Any]:
    return {**namespaces.on_arrays(), **kernels.ON_ARRAYS}


def _on_tensors() -> dict[str, Any]:
    return {**on_tensors(), **kernels.ON_TENSORS, "revived": revived}


def _operation(form: Form, backward: Callable[..., Any]) -> NamedOperation:
    row = form.row
    saved, rules = (row.saved_in_place, row.rules_in_place) if form.in_place else (row.saved_names, row.rules)
    operands = tuple(x for x in row.operands if x in rules)
    return NamedOperation(form.own, backward, saved, torch_name=form.grad_name, operands=operands)


def _forms() -> dict[str, Form]:
    """Return a dict from each of PyTorch's function names, such as "add" and "add_", to the form of the function."""
    found: dict[str, Form] = {}
    for spelling in SPELLINGS:
        for in_place in (False, True):
            if spelling.row.in_place if in_place else spelling.row.normal:
                last = "_" if in_place else ""
                signature, prologue = spelling.text(in_place)
                name, row = spelling.names[0] + last, spelling.row
                form = Form(name, row, in_place, signature, prologue, spelling.renamed, spelling.grad_name)
                found.update({each + last: form for each in spelling.names})
    return found


WORDING = Wording("RuntimeError", "RuntimeError", weak="A number, or a tensor without dimensions,")

FUNCTIONS = compiling.Compiler("minitensor.torch", _forms(), CALLS, _on_arrays, _on_tensors, _operation, WORDING)
source = FUNCTIONS.source


# ---------- reflected operators ----------

#: The names of PyTorch's ``grad_fn`` for operators whose left operand is a number and whose right one is a tensor.
_REFLECTED = {"sub": "RsubBackward1", "pow": "PowBackward2"}
#: Maps operators to the code that replaces them if the left operand is a number: PyTorch then computes something else.
_EXCHANGED = {
    "div": "return redirect('mul', redirect('reciprocal', input), left)",
    "mul": "return redirect('mul', input, left)",
}
#: Further statements at the start of a reflected operator.
_MORE = {
    "matmul": "\ntranspose_x = transpose_y = False",
    "sub": "\nrefuse_bool_subtraction(x, y)",
    "bitwise_left_shift": "\nis_arithmetic = True",
    "bitwise_right_shift": "\nis_arithmetic = True",
}


def reflected(name: str) -> Callable[..., Any]:
    """Return a function for a reflected operator such as ``__radd__``: the operation ``name`` with exchanged operands.

    Python also calls the function if the left operand is a tensor of the engine and the right one is a ``Tensor``,
    because ``Tensor`` is a subclass. The result is then a tensor of the engine: it has the class of the left operand.
    """
    form = FUNCTIONS.forms[name]
    prologue = (
        f"if isinstance(left, BaseTensor) and not isinstance(left, Tensor): "
        f"return engines({form.row.name!r}, left, input)\n"
    )
    if name in _EXCHANGED:
        prologue += f"if isinstance(left, NUMBERS): {_EXCHANGED[name]}\n"
    prologue += "x, y = left, input"
    prologue += _MORE.get(name, "")
    swapped = replace(
        form,
        signature="input, left",
        prologue=prologue,
        parameters={"x": "left", "y": "input"},
        grad_name=_REFLECTED.get(name, form.grad_name),
        layout=contiguous if name == "pow" else None,
    )
    return FUNCTIONS.function(swapped, f"reflected_{name}")
