"""Create the engine's errors. A message describes the given arguments, the allowed ones, and a way out.

Like the frameworks, the engine raises Python's ``ValueError``, ``TypeError``, ``RuntimeError`` and ``IndexError``.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.engine.core.history import Node
from minitensor.engine.core.regions import overlaps_itself, read_only, writeable
from minitensor.engine.core.storage import CallSite, Storage, write_that_made
from minitensor.engine.device.arrays import broadcast_shapes, gpu_of
from minitensor.engine.device.places import Place
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.events import BackwardRefused, OperationRefused, emits

if TYPE_CHECKING:
    from minitensor.engine.core.history import Saved
    from minitensor.engine.core.tensor import Tensor


@emits(OperationRefused)
def leaf_written(op: str, x: Tensor, is_view: bool) -> ValueError:
    """Error: ``op`` would write ``x``, a leaf that requires a gradient, or a view of one."""
    through = " through this view, which shares the leaf's storage" if is_view else ""
    return ValueError(
        f"Leaf Var ({x.name}) that doesn't stop gradient can't use inplace strategy. Nothing was written.\n"
        f"`{op}` would replace the numbers of the leaf{through}: an update would start from the new ones.\n"
        f"Use the normal operation and give its result a name, or update the leaf under `no_grad()`, "
        f"or write into `x.detach()` if the gradient should ignore the write."
    )


@emits(OperationRefused)
def leaf_reshaped(op: str, x: Tensor) -> ValueError:
    """Error: ``op`` would change the shape of ``x``, a leaf that requires a gradient, or a view of one."""
    return ValueError(
        f"Leaf Var ({x.name}) that doesn't stop gradient can't use inplace strategy. Nothing was changed.\n"
        f"`{op}` would give the leaf another shape, but its gradient has the current shape.\n"
        f"Use the normal operation `{op[:-1]}` and give its result a name, or call `{op}` under `no_grad()`."
    )


@emits(OperationRefused)
def needs_own_input(op: str, x: Tensor, *nodes: Node | None) -> ValueError:
    """Error under policy "2.5": in-place ``op`` would overwrite ``x``, which the backward of ``op`` needs.

    Args:
        nodes: the node of each operand that has a rule; None for one without a gradient. Empty if they are unknown.
    """
    return ValueError(
        f'`{op}` is refused under the in-place policy "2.5": its backward needs the input that it would overwrite. '
        f'Nothing was written.\nUse the normal operation, or `set_inplace_policy("2.6")`, which copies the input first.'
    )


@emits(OperationRefused)
def overlapping_target(op: str, x: Tensor) -> RuntimeError:
    """Error: ``op`` would write through ``x``, whose elements share memory."""
    return RuntimeError(
        f"`{op}` would write through a tensor of shape {list(x._array.shape)} in which several elements share "
        f"the same memory cell, or into a saved tensor that was lent to a backward. Nothing was written.\n"
        f"Write into a `clone()`, or into the tensor that it is a view of."
    )


@emits(OperationRefused)
def read_only_target(op: str, x: Tensor) -> RuntimeError:
    """Error: ``op`` would write through ``x`` into memory that its owner outside the engine made read-only."""
    return RuntimeError(
        f"`{op}` would write through a tensor of shape {list(x._array.shape)} whose memory is read-only: the array, "
        f"file or library that it shares memory with forbids writes. Nothing was written.\n"
        f"Use the normal operation and give its result a name, or write into a `clone()`."
    )


def not_writeable(op: str, x: Tensor) -> RuntimeError:
    """Error: ``op`` would write ``x``, whose elements share memory, or whose memory is read-only."""
    if overlaps_itself(x._array) or not read_only(x._array):
        return overlapping_target(op, x)
    return read_only_target(op, x)


@emits(OperationRefused)
def overlapping_group(op: str, x: Tensor) -> RuntimeError:
    """Error: recorded ``op`` would write through ``x``, which is a view of a tensor whose elements share memory."""
    return RuntimeError(
        f"`{op}` would write into the memory of a tensor whose elements overlap. A gradient is required, but it is not "
        f"defined to which of the overlapping elements it belongs. Nothing was written.\n"
        f"Write into a `clone()`."
    )


def freed(node: Node) -> RuntimeError:
    """Error: backward needs saved tensors that an earlier backward freed."""
    return _lost(
        f"{node.op.name} ({node.place}) saved tensors for backward, and an earlier backward (perhaps one that failed) "
        f"has used and freed them.\n"
        f"Pass `retain_graph=True` to the first backward if a second one follows.",
        node,
    )


def _lost(text: str, node: Node, what: str = "", saved: Saved | None = None) -> RuntimeError:
    """Return an error with the attribute ``lost``, from which PyTorch's vocabulary makes PyTorch's message.

    ``lost`` is a tuple: a weak reference to the node, so that the error keeps no tensor alive; ``what``, the rule's
    name for the saved value; and the position of ``saved`` in ``node.saved``. Without ``saved``, the last two are ""
    and None.
    """
    error = RuntimeError(text)
    position = None if saved is None else next((k for k, each in enumerate(node.saved) if each is saved), None)
    error.lost = weakref.ref(node), what, position  # type: ignore[attr-defined]  # for `minitensor.torch.errors.lost`
    return error


@emits(BackwardRefused)
def stale(node: Node, what: str, saved: Saved) -> RuntimeError:
    """Error: backward needs a value whose storage was written after ``node`` saved it.

    If bytes of the value were overwritten, the error names that write. If only other bytes of the storage were written,
    only the version has changed, and the error says that.
    """
    array, storage, version = saved
    which = {"out": "output", "x": "first input", "y": "second input"}.get(what, what)
    if what == "x" and len(node.inputs) == 1:
        which = "input"
    by = version if hasattr(version, "made") else None  # the write that overwrote saved bytes, or None
    version = version if type(version) is int else version.version
    lines = [
        f"A tensor of shape {list(array.shape)} that backward needs has been modified by an inplace operation."
        if by
        else f"A tensor of shape {list(array.shape)} that backward needs is in memory that has been modified by an "
        f"inplace operation. None of the saved bytes were overwritten: only the version of their storage has changed.",
        f"  saved:       {node.op.name} saved its {which} at version {version} ({node.place})",
    ]
    now = storage.version
    if by:
        made, writer = by.made, f"by {by.op}, which made version {by.made} ({CallSite(by.code, by.instruction)})"
    else:
        # Writes under "copy_on_write" preserve saved bytes, so the message names the last write before them.
        first, last = getattr(storage, "preserving", (0, -1))
        made = first if last == now else now
        write = write_that_made(storage, made)
        writer = "by a write that the log does not have: it was interrupted, or more than a thousand came after it"
        if write is not None:
            op, code, instruction = write
            writer = f"by {op}, which made version {made} ({CallSite(code, instruction)})"
    lines.append(f"  {'overwritten: ' if by else 'written:     '}{writer}")
    if now > made:
        lines[-1] += f"; the storage is now at version {now}"
    lines.append(f"  received tensor_version:{now} != wrapper_version_snapshot:{version}")
    way = "or write into a `clone()` of the output" if what == "out" else f"or give {node.op.name} a `clone()` to save"
    if not by:
        way = 'or write under `set_inplace_policy("copy_on_write")`, which compares bytes instead of versions'
    lines.append(
        f"Ways out: run backward before the write; or use the normal operation instead of the one that "
        f"{'overwrote' if by else 'wrote'}; {way}."
    )
    return _lost("\n".join(lines), node, what, saved)


def shape_text(shape: tuple[int, ...]) -> str:
    """Return the text of a shape as the frameworks write it: ``[2, 3]``."""
    return str(list(shape))


def gradient_reshaped(op: str, have: tuple[int, ...], shape: tuple[int, ...]) -> RuntimeError:
    """Error: a gradient of ``shape`` cannot be added to one whose shape was changed to ``have`` in place."""
    return RuntimeError(
        f"{op}: a gradient of shape {list(shape)} cannot be added to the existing gradient, which now has the "
        f"shape {list(have)}. No gradient was changed.\nGive it the old shape again, or clear it before backward."
    )


def leaf_reshaped_by_hook() -> RuntimeError:
    """Error: a leaf got another shape or dtype while backward was computing its gradient."""
    return RuntimeError(
        "backward: a hook, or a layer's own backward, changed the shape or dtype of a leaf while its gradient was "
        "being computed; no `grad` has changed. Change it before backward, or afterwards."
    )


def not_broadcastable(op: str, shapes: list[tuple[int, ...]]) -> ValueError:
    """Error: the shapes of the operands cannot be broadcast together."""
    given = " and ".join(shape_text(shape) for shape in shapes)
    return ValueError(
        f"{op}: operands of shape {given} cannot be broadcast together: counted from the last, "
        f"dimensions must be equal or one of them 1."
    )


def on_several_devices(arrays: tuple[np.ndarray, ...]) -> bool:
    """True if the arrays are on more than one device. Scalars have no device, so they are ignored."""
    return len({gpu_of(array) for array in arrays if not isinstance(array, np.generic)}) > 1


def devices_differ(op: str, arrays: tuple[np.ndarray, ...]) -> TypeError:
    """Error: the operands are on different devices."""
    places = " and ".join(Place(gpu_of(array)) for array in arrays if not isinstance(array, np.generic))
    if len({gpu_of(array) for array in arrays} - {None}) > 1:
        places += " (a new simulated GPU is a different device; existing tensors remain on the old one)"
    return TypeError(
        f"{op}: the operands are on {places}; an operation works on one device. Move them with `x.cuda()` or `x.cpu()`."
    )


def explain(op: str, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise after numpy refused a normal operation."""
    if on_several_devices(arrays):
        return devices_differ(op, arrays)
    try:
        broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        if "broadcast" in str(error):
            return not_broadcastable(op, [array.shape for array in arrays])
    if isinstance(error, ValueError) and ("too big" in str(error) or "too large" in str(error)):
        return MemoryError(f"{op}: the result has more bytes than can be addressed")
    if isinstance(error, TypeError):
        detail = _plain(error)
        if "ufunc" in detail or "did not contain a loop" in detail:
            detail = "there is no such operation for these operands"
        return TypeError(f"{op}: {detail}; the operands are of dtype {_names(arrays)}")
    if isinstance(error, np.exceptions.AxisError):
        return IndexError(f"{op}: {_plain(error)}; the shape is {shape_text(arrays[0].shape)}")
    return _argument_error(op, error)


def _argument_error(op: str, error: Exception) -> Exception:
    """Return ``error`` with the operation's name before its text. An overflow of an integer gets a plainer text."""
    is_long = isinstance(error, OverflowError) and "too large to convert" in str(error)
    return type(error)(f"{op}: {'an integer among the arguments has more than 64 bits' if is_long else _plain(error)}")


@emits(OperationRefused)
def explain_in_place(op: str, x: Tensor, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise after numpy refused an in-place operation on ``x``. Nothing has been written."""
    target = x._array
    if on_several_devices(arrays):
        return devices_differ(op, arrays)
    try:
        shape = broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return not_broadcastable(op, [array.shape for array in arrays])
    if shape != target.shape:
        return ValueError(
            f"The shape of broadcast output {shape_text(shape)} is different from that of inplace tensor "
            f"{shape_text(target.shape)} in the Inplace operation. `{op}` never changes a shape; "
            f"use the normal operation."
        )
    if not writeable(target):
        return not_writeable(op, x)
    if isinstance(error, TypeError) and target.dtype not in FLOATS:
        return result_does_not_fit(op, x)
    return explain(op, error, arrays)


def named(op: str, error: Exception) -> Exception:
    """Return ``error`` with the operation's name before its text, unless the text begins with that name."""
    text = str(error)
    return error if text.startswith(op.rstrip("_")) else type(error)(f"{op}: {text}")


def named_instead(op: str, called: str, error: Exception) -> Exception:
    """Return ``error``, which ``called`` raised on behalf of ``op``, with the name ``op`` in its text instead."""
    return type(error)(f"{op}: {str(error).removeprefix(f'{called}: ')}")


def explain_other(op: str, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise for a normal operation that does not broadcast its operands against each other."""
    if on_several_devices(arrays):
        return devices_differ(op, arrays)
    if isinstance(error, TypeError) and "ufunc" in _plain(error):
        return TypeError(f"{op}: there is no such operation for operands of dtype {_names(arrays)}")
    return _argument_error(op, error)


@emits(OperationRefused)
def explain_other_in_place(op: str, x: Tensor, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise for an in-place operation that does not broadcast its operands against each other."""
    if on_several_devices(arrays):
        return devices_differ(op, arrays)
    if not writeable(x._array):
        return not_writeable(op, x)
    if isinstance(error, TypeError) and "ufunc" in _plain(error) and x._array.dtype not in FLOATS:
        return result_does_not_fit(op, x)
    return explain_other(op, error, arrays)


@emits(OperationRefused)
def result_does_not_fit(op: str, x: Tensor) -> TypeError:
    """Error: the result of in-place ``op`` does not fit the dtype of ``x``, which holds integers or bools."""
    advice = "Use the normal operation, or convert first: `x.astype('float32')`."
    if op.startswith("bitwise"):
        advice = "Convert both operands to integers first: `x.astype('int64')`."
    return TypeError(
        f"`{op}` would give a result that a tensor of dtype {x._array.dtype.name} cannot hold, and the dtype never "
        f"changes in place. Nothing was written. {advice}"
    )


@emits(OperationRefused)
def unsuitable(op: str, x: Tensor, error: Exception) -> Exception:
    """Return ``error`` itself, which is about an argument of in-place ``op`` other than ``x``.

    This function only emits the event. Nothing has been written.
    """
    return error


def _plain(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _names(arrays: tuple[np.ndarray, ...]) -> str:
    return " and ".join(array.dtype.name for array in arrays)


def not_a_tensor(op: str, what: str, given: Any) -> TypeError:
    """Error: an operand cannot be converted to a tensor."""
    return TypeError(f"{op}: {what} must be a Tensor, a number or an array, not {type(given).__name__}")


def _not_copied(self: Node | Storage) -> Any:
    """Refuse to copy or pickle a node or a storage.

    If a copied storage were freed, its bytes would be subtracted from the counted bytes, to which they were never
    added. A copied node would refer to copies of the storages that it saved.
    """
    what = "a storage" if isinstance(self, Storage) else "the history of a tensor"
    raise TypeError(f"{what} cannot be copied or pickled; copy a tensor instead, as in x.clone()")


for _kind in (Node, Storage):
    setattr(_kind, "__reduce__", _not_copied)  # noqa: B010  # mypy refuses to assign a method
