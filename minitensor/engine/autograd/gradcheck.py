"""Check gradients: compare backward with finite differences of the function itself.

For every element of every input, the function runs two more times: with this element a little larger, and a little
smaller. The difference of the two outputs, divided by twice the step, is the slope, with an error of the order of the
step squared. With ``order=2``, the gradients of the gradients are checked in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.autograd.finite_differences import Arrays, Comparison, GradientMismatch, slopes, weights
from minitensor.engine.autograd.gradients import grad
from minitensor.engine.checks import shown
from minitensor.engine.core.history import new_leaf
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import made_on
from minitensor.engine.device.arrays import gpu_of, host_array, like
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.modes import enable_grad


def gradcheck(
    function: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    order: int = 1,
    raise_exception: bool = True,
) -> bool:
    """Compare the gradients of ``function(*inputs)`` with central differences.

    Instead of each input with ``stop_gradient=False``, ``function`` gets a new leaf with the same data (the same leaf
    if an input is given twice); it gets everything else unchanged. A leaf cannot be written in place: to check an
    in-place operation, let the function write into ``x * 1``, as in ``gradcheck(lambda x: (x * 1).sin_(), x)``. Inputs
    that share memory are treated as independent. The check runs under the current in-place policy.

    Every element of the Jacobian is compared. The check also requires that the function leaves its inputs unchanged
    and returns the same values when it is called again, that backward returns the same gradients when it runs again,
    and that backward is linear in the gradient that it receives. Outputs that require no gradient are ignored. If no
    output requires one, all central differences must be 0.

    Args:
        function: takes the inputs, and returns a tensor, or a tuple or list of tensors.
        inputs: a tensor, or a list or tuple of tensors and other arguments.
        eps: the step of the central differences.
        atol, rtol: a gradient may differ from the numeric slope ``d`` by ``atol + rtol * abs(d)``.
        order: 1, or 2 to check second derivatives, too. For this, each output gets a weight, the first gradients are
            computed with ``create_graph``, and the slopes of a weighted sum of them are checked.
        raise_exception: False to return False if a gradient is wrong, instead of raising an error.

    Raises:
        RuntimeError: if a gradient is wrong; the text shows the element that is farthest off.
        ValueError, TypeError: if the inputs cannot be checked, even if ``raise_exception`` is False.
    """
    raise_exception = checks.flag("gradcheck", "raise_exception", raise_exception)
    if type(order) is not int or order not in (1, 2):
        raise ValueError(f"gradcheck: order must be 1 or 2, not {shown(order)}")
    for what, number in (("eps", eps), ("atol", atol), ("rtol", rtol)):
        if not isinstance(number, (int, float)) or number < 0 or (what == "eps" and number == 0):
            raise ValueError(
                f"gradcheck: {what} must be a number {'above' if what == 'eps' else 'not below'} 0, not {shown(number)}"
            )
    checked = _Function(function, inputs)
    try:
        with enable_grad():
            for found in (*_first_order(checked, eps), *(_second_order(checked, eps) if order == 2 else ())):
                found.expect_equal(atol, rtol)
    except GradientMismatch as wrong:
        if raise_exception:
            raise RuntimeError(str(wrong)) from None
        return False
    return True


class _Function:
    """The checked function, called with one array for each distinct input that requires a gradient."""

    def __init__(self, function: Callable[..., Any], inputs: Any) -> None:
        self.function = checks.function("gradcheck", "function", function)
        self.given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        #: For each argument, the position of its array in `arrays`; None for an argument that is passed unchanged.
        self.places: list[int | None] = []
        seen: list[Tensor] = []
        for k, x in enumerate(self.given):
            self.places.append(None)
            if not isinstance(x, Tensor) or x.stop_gradient:
                continue
            if x._array.dtype != np.float64:
                raise TypeError(
                    f"gradcheck: input {k} has dtype {x._array.dtype.name}; differences need float64. Create the input "
                    f"with that dtype."
                )
            self.places[k] = next((i for i, other in enumerate(seen) if other is x), len(seen))
            if self.places[k] == len(seen):
                seen.append(x)
        if not seen:
            raise ValueError("gradcheck: no input requires a gradient; set stop_gradient=False on those to be checked")
        self.arrays = [_host_copy(x._array) for x in seen]
        self.gpus = [gpu_of(x._array) for x in seen]
        self.names = [f"input {self.places.index(i)}" for i in range(len(seen))]

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[list[Tensor], list[Tensor]]:
        """Call the function on new leaves with the data of ``arrays``; return the leaves and the outputs."""
        leaves = [_leaf(array, gpu) for array, gpu in zip(arrays, self.gpus, strict=True)]
        arguments = [x if i is None else leaves[i] for x, i in zip(self.given, self.places, strict=True)]
        result = self.function(*arguments)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        for out in outputs:
            if not isinstance(out, Tensor):
                raise TypeError(f"gradcheck: the function must return tensors, not {type(out).__name__}")
        return leaves, outputs

    def values(self, arrays: Sequence[np.ndarray]) -> Arrays:
        """Call the function on ``arrays``, and return the outputs as arrays on the host."""
        return [host_array(out._array) for out in self.run(arrays)[1]]

    def run_twice(self) -> list[Tensor]:
        """Call the function twice, and return the outputs of the first call.

        Raises:
            GradientMismatch: if the outputs of the second call differ, or if the function has changed an input.
        """
        leaves, outputs = self.run(self.arrays)
        first = [np.array(host_array(out._array)) for out in outputs]
        for leaf, array, name in zip(leaves, self.arrays, self.names, strict=True):
            if leaf._array.shape != array.shape or not np.array_equal(host_array(leaf._array), array, equal_nan=True):
                raise GradientMismatch(
                    f"gradcheck: the function has changed {name} itself. Write into a clone() of it."
                )
        second = self.values(self.arrays)
        for k, (one, other) in enumerate(zip(first, second, strict=False)):
            if len(first) != len(second) or one.shape != other.shape or not _same(one, other):
                raise GradientMismatch(
                    f"gradcheck: the function gives other values for output {k} when it is called again with the same "
                    f"inputs. If it draws random numbers, call seed() inside it; if it keeps a state, reset it."
                )
        return outputs


def _host_copy(array: np.ndarray) -> np.ndarray:
    """Return a copy of ``array`` on the host, in the same memory order."""
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    return host_array(array).transpose(order).copy().transpose(np.argsort(order))


def _leaf(array: np.ndarray, gpu: Any) -> Tensor:
    """Return a leaf with the data of ``array``, on ``gpu`` (None: the host)."""
    leaf = made_on(gpu, "", np.copy(array, order="K"))
    leaf._node = new_leaf(array.shape)
    return leaf


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype in FLOATS)


def _gradients(outputs: list[Tensor], leaves: list[Tensor], starts: list[Tensor], **options: Any) -> list[Tensor]:
    """Return the gradient of each leaf; it is 0 for a leaf on which no output depends."""
    found = grad(outputs, leaves, starts, allow_unused=True, **options)
    return [_constant(np.zeros(x._array.shape), x) if g is None else g for x, g in zip(leaves, found, strict=True)]


def _constant(array: np.ndarray, beside: Tensor) -> Tensor:
    """Return a tensor with the numbers of ``array`` on the device of ``beside``."""
    return Tensor._made(like(np.array(array, np.float64, order="C"), beside._array))


# ---------- the first order ----------


def _first_order(checked: _Function, eps: float) -> Iterator[Comparison]:
    outputs = checked.run_twice()
    recorded = [k for k, out in enumerate(outputs) if not out.stop_gradient]
    for k in recorded:
        if outputs[k]._array.dtype != np.float64:
            raise TypeError(f"gradcheck: output {k} has dtype {outputs[k]._array.dtype.name}; differences need float64")
    numeric = slopes(checked.values, checked.arrays, eps)
    if not recorded:
        yield from _compare_with_zero(checked, outputs, numeric)
        return
    leaves, outputs = checked.run(checked.arrays)
    for k in recorded:
        analytic = _jacobian(checked, leaves, outputs[k], k)
        for i, name in enumerate(checked.names):
            yield Comparison(f"output {k}", name, analytic[i], numeric[k][i], outputs[k]._array.ndim)


def _compare_with_zero(checked: _Function, outputs: list[Tensor], numeric: list[Arrays]) -> Iterator[Comparison]:
    """Yield comparisons of 0 with the slopes of outputs that require no gradient."""
    for k, out in enumerate(outputs):
        for i, name in enumerate(checked.names):
            label = f"output {k} (which requires no gradient)"
            yield Comparison(label, name, np.zeros_like(numeric[k][i]), numeric[k][i], out._array.ndim)


def _jacobian(checked: _Function, leaves: list[Tensor], out: Tensor, k: int) -> Arrays:
    """Return, for each leaf, the gradients of all elements of output ``k``.

    Raises:
        GradientMismatch: if backward returns other gradients when it runs again, or is not linear in the gradient that
            it receives.
    """

    def gradients(start: np.ndarray) -> Arrays:
        found = _gradients([out], leaves, [_constant(start, out)], retain_graph=True)
        return [host_array(g._array) for g in found]

    shape = out._array.shape
    rows = [np.zeros(shape + leaf._array.shape) for leaf in leaves]
    for at in np.ndindex(shape):
        start = np.zeros(shape)
        start[at] = 1
        for row, g in zip(rows, gradients(start), strict=True):
            row[at] = g
    weight = weights(k, shape)
    once, again = gradients(weight), gradients(weight)
    for name, row, one, other in zip(checked.names, rows, once, again, strict=True):
        if not _same(one, other):
            raise GradientMismatch(
                f"gradcheck: backward of output {k} gives {name} another gradient when it runs a second time"
            )
        summed = np.tensordot(weight, row, out._array.ndim)
        if np.isfinite(summed).all() and not np.allclose(summed, one, rtol=1e-6, atol=1e-8):
            raise GradientMismatch(
                f"gradcheck: backward of output {k} is not linear in the gradient that it receives: for {name}, the "
                f"weighted sum of the gradients of its elements is not the gradient of their weighted sum"
            )
    return rows


# ---------- the second order ----------


def _second_order(checked: _Function, eps: float) -> Iterator[Comparison]:
    """Yield comparisons of first gradients with and without ``create_graph``, then comparisons of second gradients.

    The second gradients are the slopes of a weighted sum of all first gradients, along the inputs and along the weights
    of the outputs. Those from backward are compared with central differences.
    """
    count = len(checked.arrays)

    def first(arrays: Arrays, **options: Any) -> tuple[list[Tensor], list[Tensor]]:
        leaves, outputs = checked.run(arrays[:count])
        recorded = [out for out in outputs if not out.stop_gradient]
        starts = [_leaf(array, gpu_of(out._array)) for array, out in zip(arrays[count:], recorded, strict=True)]
        return [*leaves, *starts], _gradients(recorded, leaves, starts, **options)

    shapes = [out._array.shape for out in checked.run(checked.arrays)[1] if not out.stop_gradient]
    if not shapes:
        return
    arrays = [*checked.arrays, *(weights(10 + k, shape) for k, shape in enumerate(shapes))]
    inner = [weights(20 + i, array.shape) for i, array in enumerate(checked.arrays)]

    def total(moved: Arrays) -> Arrays:
        _, gradients = first(moved)
        return [np.asarray(sum((host_array(g._array) * w).sum() for g, w in zip(gradients, inner, strict=True)))]

    _, plain = first(arrays)
    sources, gradients = first(arrays, create_graph=True)
    for name, g, h in zip(checked.names, plain, gradients, strict=True):
        labels = "with create_graph ", "without it        "
        yield Comparison("the weighted outputs", name, host_array(h._array), host_array(g._array), labels=labels)
    recorded = [(g, w) for g, w in zip(gradients, inner, strict=True) if not g.stop_gradient]
    second = [np.zeros(array.shape) for array in arrays]
    if recorded:
        found = grad([g for g, _ in recorded], sources, [_constant(w, g) for g, w in recorded], allow_unused=True)
        second = [zero if g is None else host_array(g._array) for zero, g in zip(second, found, strict=True)]
    names = [*checked.names, *(f"the weights of output {k}" for k in range(len(shapes)))]
    for name, analytic, numeric in zip(names, second, slopes(total, arrays, eps)[0], strict=True):
        yield Comparison("a weighted sum of the gradients", name, analytic, numeric)
