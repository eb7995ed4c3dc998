"""Errors and warnings with PyTorch's messages and types.

The first line of a message is PyTorch's. The lines below it say which line of the program caused the error, and how to
avoid it.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from minitensor.engine.core import errors
from minitensor.engine.core.history import Saved
from minitensor.engine.core.regions import overlaps_itself, read_only, writeable
from minitensor.engine.core.storage import write_that_made
from minitensor.engine.device.arrays import broadcast_shapes, gpu_of
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.events import BackwardRefused, OperationRefused, emits
from minitensor.engine.saved.saved import FREED, is_intact
from minitensor.engine.saved.saved import recovered as engine_recovered
from minitensor.engine.views.making import Reshaping
from minitensor.paddle.missing import LEFT_OUT_OF_BOTH, left_out_layers
from minitensor.paddle.nearest import like_it
from minitensor.torch.dtypes import SCALAR_NAMES
from minitensor.torch.grad_fn import function_name, operation_name

if TYPE_CHECKING:
    from minitensor.engine.core.history import Node
    from minitensor.engine.core.storage import Storage
    from minitensor.engine.core.tensor import Tensor

# ---------- warnings and missing names ----------


_PACKAGE = __name__.partition(".")[0]


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the line of the program that called this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level + 1)


#: Maps an owner of names, such as "'Tensor' object", to the names that it hides, and to PyTorch's names for some of
#: them. ``hide_paddle_names`` fills this dict.
NOT_HERE: dict[str, tuple[frozenset[str], dict[str, str]]] = {}


#: Names of PyTorch that minitensor deliberately lacks. Each value is the reason, or an alternative.
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        ("complex64", "complex128", "cfloat", "cdouble"), "a tensor of minitensor holds bools, integers or floats"
    ),
    **dict.fromkeys(
        ("set_default_dtype", "set_default_tensor_type"),
        "float32 is the default; pass another when you make a tensor: torch.ones(2, dtype=...)",
    ),
    **LEFT_OUT_OF_BOTH,
    **left_out_layers("d", "MultiheadAttention"),
    "compile": LEFT_OUT_OF_BOTH["jit"],
    **dict.fromkeys(
        ("vmap", "func"),
        "functions are not transformed: add a dimension for the batch, or use torch.autograd.functional",
    ),
    **dict.fromkeys(
        ("interpolate", "Upsample", "UpsamplingNearest2d"),
        "x.repeat_interleave(2, 2).repeat_interleave(2, 3) enlarges images by a whole factor",
    ),
    "as_strided_": "x.as_strided(size, stride) is a view; x.set_(x.as_strided(size, stride)) changes x itself",
    "map_": "x.copy_(other) and x.apply_(function) write every element",
    "is_set_to": "x.data_ptr() == y.data_ptr(), with equal shape and stride(), says that both show the same memory",
    **dict.fromkeys(
        ("share_memory_", "is_shared"), "processes exchange tensors by minitensor.distributed and share no memory"
    ),
    **dict.fromkeys(
        ("linalg", "svd", "qr", "cholesky", "inverse", "det", "pinverse", "lstsq", "matrix_power", "cross"),
        "there are matmul, einsum, norm and trace, and no decompositions of matrices",
    ),
    # Tutorials use the names below, and minitensor lacks them. facts/tutorial-names.json counts such names.
    "backends": "NumPy and CuPy compute, and cuDNN and MPS have no switches here: leave the line out",
    "profiler": "minitensor.memory.profile counts the bytes of each line, and time.perf_counter() measures time",
    **dict.fromkeys(
        ("Event", "Stream"), "there is one stream: call torch.cuda.synchronize() and read time.perf_counter()"
    ),
    **dict.fromkeys(
        ("saved_tensors_hooks", "save_on_cpu"), "utils.checkpoint.checkpoint recomputes tensors instead of saving them"
    ),
    **dict.fromkeys(
        ("Adagrad", "Adadelta", "Adamax", "NAdam", "ASGD", "LBFGS"),
        "there are SGD, Adam, AdamW and RMSprop; a subclass of Optimizer can update parameters under no_grad",
    ),
    **dict.fromkeys(
        ("ConvTranspose2d", "conv_transpose2d"),
        "F.fold(weight.flatten(1).t() @ x.flatten(2), output_size, kernel_size, stride=stride) is a transposed "
        "convolution",
    ),
    **dict.fromkeys(
        ("pad", "ZeroPad2d", "ReflectionPad2d"), "torch.cat joins a border to a tensor; conv2d and pooling have padding"
    ),
    **dict.fromkeys(
        ("HuberLoss", "huber_loss"), "F.smooth_l1_loss(input, target, beta=delta) * delta has the same values"
    ),
    **dict.fromkeys(
        ("affine_grid", "grid_sample", "PixelShuffle", "pixel_shuffle"), "indices, reshape and permute move pixels"
    ),
    **dict.fromkeys(
        ("rnn", "EmbeddingBag"), "fill the rest of short sequences with zeros, so that all of a batch are equally long"
    ),
    **dict.fromkeys(
        ("prune", "parametrize", "parametrizations", "weight_norm", "spectral_norm"),
        "a module computes a weight from others in its forward; no_grad() allows writes into parameters",
    ),
    **dict.fromkeys(
        ("parameters_to_vector", "vector_to_parameters"),
        "torch.cat([p.flatten() for p in model.parameters()]) joins them",
    ),
    **dict.fromkeys(
        ("tensorboard", "benchmark", "cpp_extension", "hub", "onnx", "fx", "export", "quantization"),
        "it is not a part of PyTorch that this book needs",
    ),
    "tensordot": "torch.einsum names the dimensions that are summed",
}


def missing(owner: str, name: str, known: Iterable[str], obj: Any = None) -> AttributeError:
    """Return the error for a name that ``owner`` lacks: PyTorch's message, and the nearest of the ``known`` names."""
    if name in LEFT_OUT:
        return AttributeError(f"{owner} has no attribute '{name}': {LEFT_OUT[name]}", name=name, obj=obj)
    hidden, meant = NOT_HERE.get(owner, (frozenset(), {}))
    if name in meant:
        hint = f"; PyTorch's name is '{meant[name]}'"
    else:
        hint = like_it(name, [each for each in known if each not in hidden])
    return AttributeError(f"{owner} has no attribute '{name}'{hint}", name=name, obj=obj)


def missing_in(module: str, names: Callable[[], Iterable[str]]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for the module that error messages call ``module``, such as "torch.nn"."""

    def __getattr__(name: str) -> Any:
        # Python itself looks up such names, so they get no hint.
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        raise missing(f"module '{module}'", name, names())

    return __getattr__


# ---------- refused before a write ----------


@emits(OperationRefused)
def leaf_written(op: str, x: Tensor, is_view: bool) -> RuntimeError:
    """Return the error if ``op`` would write ``x``, which is a leaf that requires grad, or a view of such a leaf."""
    return RuntimeError(
        f"a {'view of a ' if is_view else ''}leaf Variable that requires grad is being used in an in-place operation.\n"
        f"Nothing was written: `{op}` would replace the numbers of the leaf, and an update would start from the new "
        f"ones.\nUse the normal operation and give its result a name, or update the leaf under `torch.no_grad()`."
    )


@emits(OperationRefused)
def overlapping_target(op: str, x: Tensor) -> RuntimeError:
    """Return the error if ``op`` would write through ``x``, whose elements share memory."""
    return RuntimeError(
        f"unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        f"Please clone() the tensor before performing the operation.\n"
        f"Nothing was written by `{op}`."
    )


def not_writeable(op: str, x: Tensor) -> RuntimeError:
    """Return the error if ``op`` would write ``x``, which is read-only or has elements that share memory.

    PyTorch would write into a read-only array: it only warns when a tensor is created on such an array.
    """
    if read_only(x._array) and not overlaps_itself(x._array):
        return errors.read_only_target(op, x)
    return overlapping_target(op, x)


@emits(OperationRefused)
def result_does_not_fit(op: str, x: Tensor, have: np.dtype) -> RuntimeError:
    """Return the error if an in-place ``op`` on ``x`` has a result of the dtype ``have``, which ``x`` cannot hold."""
    advice = "Use the normal operation, or convert first: `x.float()`."
    if op.startswith("bitwise"):
        advice = "Convert both operands to integers first: `x.long()`."
    return RuntimeError(
        f"result type {SCALAR_NAMES[have]} can't be cast to the desired output type {SCALAR_NAMES[x._array.dtype]}\n"
        f"The dtype never changes in place, and nothing was written. {advice}"
    )


@emits(OperationRefused)
def needs_own_input(op: str, x: Tensor, *wanted: Node | None) -> RuntimeError:
    """Return the error of the in-place policy "2.5" if ``op`` would overwrite an input that its backward needs."""
    return RuntimeError(
        f'`{op}` is refused under the in-place policy "2.5": its backward needs the input that it would overwrite.'
    )


# ---------- shapes and operands ----------


def sizes_differ(shapes: list[tuple[int, ...]]) -> RuntimeError:
    """Return the error for shapes that cannot be broadcast together."""
    first = shapes[0]
    for other in shapes[1:]:
        ndim = max(len(first), len(other))
        a, b = ((1,) * (ndim - len(s)) + tuple(s) for s in (first, other))
        for d in range(ndim - 1, -1, -1):
            if a[d] != b[d] and 1 not in (a[d], b[d]):
                return RuntimeError(
                    f"The size of tensor a ({a[d]}) must match the size of tensor b ({b[d]}) at non-singleton "
                    f"dimension {d}"
                )
        first = tuple(max(m, n) if 0 not in (m, n) else 0 for m, n in zip(a, b, strict=True))
    return RuntimeError(f"shapes {', '.join(str(list(s)) for s in shapes)} cannot be broadcast together")


def _broadcast(arrays: tuple[np.ndarray, ...]) -> tuple[int, ...] | None:
    try:
        return broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return None


def devices_differ() -> RuntimeError:
    """Return the error for operands on different devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!\n"
        "Move them with `x.cuda()` or `x.cpu()`."
    )


def explain(op: str, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise after numpy raised ``error`` in an operation that broadcasts its operands."""
    if len({gpu_of(array) for array in arrays if array.ndim}) > 1:
        return devices_differ()
    if _broadcast(arrays) is None:
        return sizes_differ([array.shape for array in arrays])
    if "negative integer powers" in str(error):
        return RuntimeError(str(error).partition(": ")[2] or str(error))
    return _of_dimension(error, arrays) or in_words(op, errors.explain(op, error, arrays))


def _of_dimension(error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception | None:
    """Return PyTorch's error about a dimension or an index; None if ``error`` is about something else."""
    if isinstance(error, np.exceptions.AxisError) and error.axis is not None:
        reach = max(error.ndim or 0, 1)
        return IndexError(
            f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {error.axis})"
        )
    found = re.search(r"index (-?\d+) is out of range for dimension (\d+), which has length (\d+)", str(error))
    if found:
        return IndexError(f"index {found[1]} is out of bounds for dimension {found[2]} with size {found[3]}")
    return None


@emits(OperationRefused)
def explain_in_place(op: str, x: Tensor, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise after numpy raised ``error`` in an in-place operation on ``x``. Nothing was written."""
    target = x._array
    if len({gpu_of(array) for array in arrays if array.ndim}) > 1:
        return devices_differ()
    shape = _broadcast(arrays)
    if shape is None:
        return sizes_differ([array.shape for array in arrays])
    if shape != target.shape:
        return RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}\n"
            f"`{op}` never changes a shape; use the normal operation."
        )
    if not writeable(target):
        return not_writeable(op, x)
    if isinstance(error, TypeError) and target.dtype not in FLOATS:
        return result_does_not_fit(op, x, np.dtype(np.float32))
    return explain(op, error, arrays)


def explain_other(op: str, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise after numpy raised ``error`` in an operation that does not broadcast its operands."""
    if len({gpu_of(array) for array in arrays if array.ndim}) > 1:
        return devices_differ()
    return _of_dimension(error, arrays) or in_words(op, errors.explain_other(op, error, arrays))


@emits(OperationRefused)
def explain_other_in_place(op: str, x: Tensor, error: Exception, arrays: tuple[np.ndarray, ...]) -> Exception:
    """Return the error to raise after numpy raised ``error`` in an in-place operation on ``x`` that does not broadcast
    its operands.
    """
    if not writeable(x._array):
        return not_writeable(op, x)
    if isinstance(error, TypeError) and "ufunc" in str(error) and x._array.dtype not in FLOATS:
        return result_does_not_fit(op, x, np.dtype(np.float32))
    return explain_other(op, error, arrays)


def in_words(op: str, error: Exception) -> Exception:
    """Return the engine's ``error`` with PyTorch's names. A ``ValueError`` becomes a ``RuntimeError``."""
    kind = RuntimeError if type(error) is ValueError else type(error)
    return kind(str(error).replace("x.astype('int64')", "x.long()").replace("x.astype('float32')", "x.float()"))


def named(op: str, error: Exception) -> Exception:
    """Return ``error``, which is about an argument, with the name of the operation at the start of the message."""
    return in_words(op, errors.named(op, error))


def check_on_device(op: str, x: Tensor, arrays: tuple[Any, ...]) -> None:
    """Check that an in-place operation may write ``x``, which is on a GPU.

    Raises:
        RuntimeError: if elements of ``x`` share memory, or if an operand is on another device.
    """
    if not writeable(x._array):
        raise not_writeable(op, x)
    if any(gpu_of(other) is not gpu_of(x._array) and getattr(other, "ndim", 0) for other in arrays):
        raise devices_differ()


# ---------- in backward ----------

SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def freed(node: Node) -> RuntimeError:
    """Return the error if ``backward()`` needs the tensors that ``node`` saved, and an earlier call freed them."""
    return RuntimeError(f"{SECOND_BACKWARD}\n  freed: the values that {node.op.name} saved ({node.place})")


class Anomaly:
    """The settings of ``torch.autograd.set_detect_anomaly``.

    Attributes:
        on: True if an error in backward also reports the line that called the failing operation.
        check_nan: True if backward also fails when a gradient contains nan.
    """

    __slots__ = ("on", "check_nan")

    def __init__(self) -> None:
        self.on, self.check_nan = False, True


anomaly = Anomaly()

_HINT = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_HINT_IN_ANOMALY_MODE = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
    "question was changed in there or anywhere later. Good luck!"
)


def _origin(node: Node, what: str, storage: Storage) -> str:
    """Return the part of a message that names the operation which computed the saved tensor.

    Return "" for a leaf, and for a tensor that requires no grad.

    PyTorch names the tensor's current ``grad_fn``: after a write, that is the ``grad_fn`` of the write. If ``node``
    saved its own result, PyTorch names ``node``.
    """
    known = getattr(node.op, "operands", ())
    if what == "out":
        name = function_name(node)
    elif what not in known or (source := node.inputs[known.index(what)]) is None or not source.inputs:
        return ""
    elif isinstance(source.op, Reshaping):  # after a write, PyTorch replaces the history of a view by AsStrided
        name = "AsStridedBackward0"
    else:
        write = write_that_made(storage, storage.version)
        name = function_name(source) if write is None else operation_name(write[0])
    return f", which is output 0 of {re.sub('Backward(0$)?', '', name)},"


@emits(BackwardRefused)
def stale(node: Node, what: str, saved: Saved) -> RuntimeError:
    """Return the error if ``backward()`` needs a tensor whose storage was written after ``node`` saved it."""
    array, storage, version = saved
    saved_at = version if type(version) is int else version.version
    kind = ("torch.cuda." if gpu_of(array) is not None else "torch.") + SCALAR_NAMES[array.dtype] + "Tensor"
    engines = str(errors.stale.__wrapped__(node, what, saved)).splitlines()  # type: ignore[attr-defined]  # `emits` sets it
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(array.shape)}]{_origin(node, what, storage)} is at version {storage.version}; expected version "
        f"{saved_at} instead. {_HINT_IN_ANOMALY_MODE if anomaly.on else _HINT}\n" + "\n".join(engines[1:])
    )


def recovered(node: Node, what: str, saved: Saved) -> np.ndarray:
    """Return a saved array with the values that it had when it was saved, although its storage has been written since.

    Raises:
        RuntimeError: if the saved elements were overwritten, or may have been.
    """
    if not is_intact(saved):
        raise stale(node, what, saved)
    return engine_recovered(node, what, saved)


def lost(error: RuntimeError) -> RuntimeError:
    """Return PyTorch's error for ``error``, which the engine raised for a saved tensor that was overwritten or freed.

    Operations that both vocabularies share raise the engine's error, which this function translates. It emits no event,
    because the engine has already done so.
    """
    link, what, position = error.lost  # type: ignore[attr-defined]  # the caller has checked that it exists
    node = link()
    if node is None or (what and (position is None or node.saved is FREED)):
        return error
    if not what:
        return freed(node)
    stale_error: RuntimeError = stale.__wrapped__(node, what, node.saved[position])  # type: ignore[attr-defined]  # `emits` sets it
    return stale_error
