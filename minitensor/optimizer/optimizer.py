"""Base class of optimizers. A step makes one in-place write into each parameter that has a gradient.

Like a write under ``no_grad``, this write changes the data and the version of the parameter, but not its history. A
large parameter is updated in pieces, so that the temporary arrays have only the size of a piece.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import NUMPY_INTEGERS, shown
from minitensor.engine.core.errors import not_writeable
from minitensor.engine.core.history import Leaf
from minitensor.engine.core.regions import writeable
from minitensor.engine.core.storage import calling_frame
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import gpu_of, like
from minitensor.engine.device.interrupts import uninterrupted
from minitensor.engine.events import TensorWritten, watch
from minitensor.engine.kernels.numbers import number
from minitensor.engine.saved.writing import write
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler

Array = Any

#: The largest number of elements in a piece, on the host and on a GPU. A step with momentum on 2**24 elements took 74
#: ms in one piece and 48 ms in pieces of 2**15. Somewhat larger pieces are up to 8 % faster, but need more memory.
PIECE, PIECE_ON_GPU = 1 << 15, 1 << 22


class Optimizer:
    """Update parameters from their gradients.

    Args:
        learning_rate: a number of at least 0, which ``set_lr`` changes; or a scheduler of ``optimizer.lr``.
        parameters: the tensors to update, as ``layer.parameters()`` returns them. A tensor without a gradient, or with
            ``stop_gradient=True``, is skipped.
        weight_decay: an L2 penalty: a step first adds the parameter times this number to its gradient. None means 0.
        grad_clip: limits gradients that are too large; see ``nn.ClipGradByNorm`` and similar classes.

    Raises:
        TypeError, ValueError: if an argument is not allowed, or if a parameter is listed twice.
    """

    #: The names under which ``state_dict`` lists the tensors that are stored for each parameter, here called averages.
    slots: tuple[str, ...] = ()
    #: The number of temporary arrays (buffers) that the update of a piece needs.
    buffers: int = 1

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
    ) -> None:
        self._name = type(self).__name__
        self._op = f"{self._name}.step"
        self._schedule = learning_rate if isinstance(learning_rate, LRScheduler) else None
        self._rate = self._number("learning_rate", learning_rate if self._schedule is None else self._schedule())
        if grad_clip is not None and not isinstance(grad_clip, Clip):
            raise TypeError(f"{self._name}: grad_clip must be a Clip such as nn.ClipGradByNorm, not {shown(grad_clip)}")
        self._clip = grad_clip
        self._decay = 0.0 if weight_decay is None else self._number("weight_decay", weight_decay)
        self._parameters = self._check_parameters(parameters)
        self._kept: list[list[Tensor]] = [[] for _ in self._parameters]
        self._steps = [0 for _ in self._parameters]

    def _number(self, name: str, given: Any, below: float | None = None) -> float:
        if isinstance(given, bool) or not isinstance(given, (int, float, np.floating, NUMPY_INTEGERS)):
            raise TypeError(f"{self._name}: {name} must be a number, not {shown(given)}")
        if not (given >= 0 and (below is None or given < below)):
            raise ValueError(
                f"{self._name}: {name} must be at least 0{'' if below is None else f' and less than {below}'}, "
                f"not {shown(given)}"
            )
        return float(number(self._name, name, given))

    def _check_parameters(self, parameters: Any) -> list[Tensor]:
        if isinstance(parameters, Tensor) or not checks.is_iterable(parameters):
            raise TypeError(
                f"{self._name}: parameters must be a list of tensors, as layer.parameters() gives it, not "
                f"{type(parameters).__name__}"
            )
        tensors = list(parameters)
        for position, each in enumerate(tensors):
            if not isinstance(each, Tensor):
                raise TypeError(f"{self._name}: parameter {position} must be a Tensor, not {type(each).__name__}")
            if any(each is other for other in tensors[:position]):
                raise ValueError(f"{self._name}: parameter {position} ({each.name}) is listed twice")
        return tensors

    # ---------- a step ----------

    def step(self) -> None:
        """Update every parameter that has a gradient, with one write each.

        Raises:
            RuntimeError: if the elements of a parameter share memory, or if its memory is read-only. Nothing is written
                then.
        """
        self._step(None)

    def _step(self, chosen: set[int] | None) -> None:
        """Update all parameters, or only those with the given ids."""
        ready: list[Any] = []
        longest: dict[Any, tuple[int, Array]] = {}
        for position, parameter in enumerate(self._parameters):
            if chosen is not None and id(parameter) not in chosen:
                continue
            node = parameter._node if parameter._history is None else parameter._current()
            gradient = None if node is None else node.saved if type(node) is Leaf else parameter.grad
            if gradient is None:
                continue
            array = parameter._array
            if not writeable(array):
                raise not_writeable(self._op, parameter)
            key, piece = (array.dtype, gpu_of(array)), _piece(array)
            ready.append((position, parameter, gradient, key, piece))
            if key not in longest or piece > longest[key][0]:
                longest[key] = piece, array
        self._rate = self.get_lr()
        # Allocate all memory before the first write, so that nothing is written if memory does not suffice.
        with np.errstate(all="ignore"):  # inf and nan are valid values, so numpy does not warn
            gradients = self._gradients(ready)
        for position, parameter, *_ in ready:
            if not self._kept[position] and self.slots:
                self._kept[position] = [Tensor._made(np.zeros_like(parameter._array, order="C")) for _ in self.slots]
        buffers = {
            key: [np.empty_like(array, shape=(piece,)) for _ in range(self.buffers)]
            for key, (piece, array) in longest.items()
        }
        numbers: dict[Any, list[Any]] = {}
        frame = calling_frame()
        # An interrupt between two writes would leave the parameters and their averages at different steps.
        with uninterrupted(), np.errstate(all="ignore"):
            for (position, parameter, gradient, key, piece), limited in zip(ready, gradients, strict=True):
                array, storage, kept = parameter._array, parameter._storage, self._kept[position]
                self._steps[position] = step = self._steps[position] + 1
                if (step, key) not in numbers:
                    numbers[step, key] = [_number_for(array, number) for number in self._numbers(step)]
                arrays = [array, limited]
                for each in kept:
                    arrays.append(each._array)
                    each._storage.version += 1
                update = self._update
                write(storage, array, self._op, frame, update, numbers[step, key], arrays, buffers[key], piece)
                if watch.listener is not None:
                    watch.listener(TensorWritten(parameter, self._op, (parameter, gradient), None))

    def _gradients(self, ready: list[Any]) -> list[Array]:
        """Return the gradients as arrays, limited by ``grad_clip``. No array shares memory with its parameter."""
        arrays = [gradient._array for _, _, gradient, *_ in ready]
        if self._clip is not None:
            arrays = self._clip(arrays)
        return [
            array.copy() if gradient._storage is parameter._storage else array
            for array, (_, parameter, gradient, *_) in zip(arrays, ready, strict=True)
        ]

    def _update(self, numbers: list[Any], arrays: list[Array], buffer: list[Array], piece: int) -> None:
        """Update one parameter in pieces of ``piece`` elements."""
        size = arrays[0].size
        if size == piece:
            self._write(numbers, *arrays, *[each[:size].reshape(arrays[0].shape) for each in buffer])
            return
        lines, buffer = [each.reshape(-1) for each in arrays], [each[:piece] for each in buffer]
        for begin in range(0, size, piece):
            if size - begin < piece:
                buffer = [each[: size - begin] for each in buffer]
            self._write(numbers, *[line[begin : begin + piece] for line in lines], *buffer)

    def _numbers(self, step: int) -> tuple[float, ...]:
        """Return the arguments ``numbers`` of ``_write`` for a parameter's step number ``step``, counted from 1."""
        raise checks.undefined(self, "_numbers")

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *averages_and_buffers: Array) -> None:
        """Update a piece of one parameter, given its averages and the temporary arrays."""
        raise NotImplementedError

    # ---------- around a step ----------

    def minimize(
        self, loss: Tensor, startup_program: None = None, parameters: Any = None, no_grad_set: None = None
    ) -> tuple[list[Any], list[tuple[Tensor, Tensor]]]:
        """Update parameters as ``step()`` does. As in Paddle, the program has to call ``loss.backward()`` first.

        Args:
            parameters: the tensors to update; all by default.

        Returns:
            An empty list, as in Paddle's dynamic mode, and a list of pairs (parameter, gradient).
        """
        if not isinstance(loss, Tensor):
            raise TypeError(f"{self._name}.minimize: the loss must be a Tensor, not {type(loss).__name__}")
        if parameters is not None:
            parameters = checks.elements(f"{self._name}.minimize", "parameters", parameters, "tensors", Tensor)
        chosen = None if parameters is None else {id(each) for each in parameters}
        self._step(chosen)
        wanted = (each for each in self._parameters if chosen is None or id(each) in chosen)
        return [], [(each, each.grad) for each in wanted if each.grad is not None]

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Fill the gradient of every parameter with zeros, or drop it (``set_to_zero=False``) to free its memory."""
        set_to_zero = checks.flag(f"{self._name}.clear_grad", "set_to_zero", set_to_zero)
        for parameter in self._parameters:
            parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def get_lr(self) -> float:
        """Return the learning rate of the next step."""
        return self._rate if self._schedule is None else self._schedule()

    def set_lr(self, value: float) -> None:
        """Change the learning rate, from the next step on.

        Raises:
            RuntimeError: if a scheduler determines the rate.
        """
        if self._schedule is not None:
            raise RuntimeError(f"{self._name}.set_lr: {type(self._schedule).__name__} determines the rate")
        self._rate = self._number("learning_rate", value)

    def state_dict(self) -> dict[str, Any]:
        """Return averages and the number of steps of each parameter, with keys that begin with the parameter's name.

        The averages are the optimizer's tensors, not copies: later steps write into them. The key ``"LR_Scheduler"``
        has the state of the scheduler.
        """
        found: dict[str, Any] = {}
        for parameter, kept, steps in zip(self._parameters, self._kept, self._steps, strict=True):
            found.update({f"{parameter.name}_{slot}_0": each for slot, each in zip(self.slots, kept, strict=False)})
            if steps and self.slots:
                found[f"{parameter.name}_steps"] = steps
        if self._schedule is not None:
            found["LR_Scheduler"] = self._schedule.state_dict()
        return found

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from the ``state_dict`` of an optimizer of the same class. The data of ``state_dict`` is copied.

        Entries that belong to no parameter of this optimizer cause a warning. Such entries occur if a program creates
        its network twice, because the parameters of the second network have other names.

        Raises:
            ValueError: if some averages of a parameter are missing, if an average has another shape than its parameter,
                or if the scheduler's state is missing. Nothing is loaded then.
        """
        op = f"{self._name}.set_state_dict"
        checks.instance(op, "state_dict", state_dict, Mapping, "a dict, as state_dict() returns it")
        wrong, known = [], {"LR_Scheduler"}
        for parameter in self._parameters:
            names = [f"{parameter.name}_{slot}_0" for slot in self.slots]
            known |= {*names, f"{parameter.name}_steps"}
            given = [name for name in names if name in state_dict]
            for name in given:
                checks.instance(
                    op, f"state_dict[{name!r}]", state_dict[name], (Tensor, np.ndarray), "a tensor or an array"
                )
            wrong += [f"{name!r} is missing" for name in names if given and name not in given]
            wrong += [
                f"{name!r} has shape {list(state_dict[name].shape)}, its parameter {parameter.shape}"
                for name in given
                if list(state_dict[name].shape) != parameter.shape
            ]
        if self._schedule is not None and state_dict and "LR_Scheduler" not in state_dict:
            wrong.append("'LR_Scheduler' is missing, and a scheduler determines the rate")
        if wrong:
            raise ValueError(f"{self._name}.set_state_dict: {'; '.join(wrong)}. Nothing was loaded.")
        if strangers := [str(name) for name in state_dict if name not in known]:
            warnings.warn(
                f"{self._name}.set_state_dict: {', '.join(strangers)} belong to no parameter of this optimizer. They "
                "were not loaded.",
                stacklevel=2,
            )
        for position, parameter in enumerate(self._parameters):
            names = [f"{parameter.name}_{slot}_0" for slot in self.slots]
            if all(name in state_dict for name in names):
                array = parameter._array
                copies = [like(np.array(state_dict[name], array.dtype, order="C"), array) for name in names]
                self._kept[position] = [Tensor._made(each) for each in copies]
                self._steps[position] = int(state_dict.get(f"{parameter.name}_steps", self._steps[position]))
        if self._schedule is not None and "LR_Scheduler" in state_dict:
            self._schedule.set_state_dict(state_dict["LR_Scheduler"])


def _piece(array: Array) -> int:
    """Return the number of elements of ``array`` to process at a time; all if ``array`` is not contiguous."""
    if not array.flags.c_contiguous:
        return array.size
    most = PIECE if type(array) is np.ndarray else PIECE_ON_GPU
    # As few pieces of at most `most` elements as possible: all are equally large, but the last may be smaller.
    return array.size if array.size <= most else -(-array.size // -(-array.size // most))


def add_penalty(gradient: Array, parameter: Array, decay: Any, buffer: Array) -> Array:
    """Write the gradient plus the L2 penalty, ``decay`` times the parameter, into ``buffer``, and return ``buffer``."""
    np.multiply(parameter, decay, buffer)
    return np.add(buffer, gradient, buffer)


def _number_for(array: Array, number: float) -> Any:
    """Return ``number``; on the host, as an array in the dtype of ``array``, which makes a ufunc 400 ns faster."""
    return np.asarray(number, array.dtype) if type(array) is np.ndarray else number
