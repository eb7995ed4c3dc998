"""What all optimizers do: for each parameter with a gradient, one in-place update, counted as one write.

The update is that of a write under ``no_grad``: numbers and version change, history does not. It is worked out a piece
at a time, so that what it needs beside the parameter, its gradient and the kept averages has the size of a piece.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minitensor.core.errors import not_writeable
from minitensor.core.history import Leaf
from minitensor.core.regions import writeable
from minitensor.core.storage import calling_frame
from minitensor.core.tensor import Tensor
from minitensor.device.arrays import gpu_of, like
from minitensor.device.interrupts import uninterrupted
from minitensor.events import watch
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler
from minitensor.saving.writing import write

Array = Any

#: Elements worked on at a time, at most, on the host and on a GPU. A step with momentum on 2**24 elements took 74 ms at
#: once and 48 ms in pieces of 2**15; larger ones save 8 % of that, and take more memory.
PIECE, PIECE_ON_GPU = 1 << 15, 1 << 22


class Optimizer:
    """Updates parameters from their gradients.

    Args:
        learning_rate: a number from 0 on, which ``set_lr`` changes; or a scheduler of ``optimizer.lr``.
        parameters: the tensors to update, as ``layer.parameters()`` lists them. One without a gradient, or with
            ``stop_gradient=True``, is passed over.
        weight_decay: this times the parameter is added to its gradient first (an L2 penalty); None for 0.
        grad_clip: makes gradients that are too large smaller for the step: see ``nn.ClipGradByNorm`` and its like.

    Raises:
        TypeError, ValueError: for anything else.
    """

    #: The averages kept for each parameter, under the names that ``state_dict`` gives them.
    slots: tuple[str, ...] = ()
    #: How many arrays of room a piece of an update takes.
    rooms: int = 1

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
            raise TypeError(f"{self._name}: grad_clip is nn.ClipGradByNorm or one of its like, not {grad_clip!r}")
        self._clip = grad_clip
        self._decay = 0.0 if weight_decay is None else self._number("weight_decay", weight_decay)
        self._parameters = self._checked(parameters)
        self._kept: list[list[Tensor]] = [[] for _ in self._parameters]
        self._steps = [0 for _ in self._parameters]

    def _number(self, name: str, given: Any, below: float | None = None) -> float:
        if isinstance(given, bool) or not isinstance(given, (int, float, np.integer, np.floating)):
            raise TypeError(f"{self._name}: {name} is a number, not {given!r}")
        if not (given >= 0 and (below is None or given < below)):
            raise ValueError(
                f"{self._name}: {name} is a number from 0 on{'' if below is None else f', below {below}'}, "
                f"not {given!r}"
            )
        return float(given)

    def _checked(self, parameters: Any) -> list[Tensor]:
        if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
            raise TypeError(
                f"{self._name}: parameters is a list of tensors, as layer.parameters() gives it, not "
                f"{type(parameters).__name__}"
            )
        tensors = list(parameters)
        for position, each in enumerate(tensors):
            if not isinstance(each, Tensor):
                raise TypeError(f"{self._name}: parameter {position} is a {type(each).__name__}, not a Tensor")
            if any(each is other for other in tensors[:position]):
                raise ValueError(f"{self._name}: parameter {position} ({each.name}) is listed twice")
        return tensors

    # ---------- a step ----------

    def step(self) -> None:
        """Update every parameter that has a gradient: one counted write each. Nothing is written when one cannot be.

        Raises:
            RuntimeError: for a parameter whose elements share memory, or whose memory is read-only.
        """
        self._step(None)

    def _step(self, chosen: set[int] | None) -> None:
        """A step of all parameters, or of those with these ids."""
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
        # All memory that this takes is there before the first write.
        with np.errstate(all="ignore"):  # inf and nan are values
            slopes = self._slopes(ready)
        for position, parameter, *_ in ready:
            if not self._kept[position] and self.slots:
                self._kept[position] = [Tensor._made(np.zeros_like(parameter._array, order="C")) for _ in self.slots]
        rooms = {
            key: [np.empty_like(array, shape=(piece,)) for _ in range(self.rooms)]
            for key, (piece, array) in longest.items()
        }
        numbers: dict[Any, list[Any]] = {}
        frame = calling_frame()
        with uninterrupted(), np.errstate(all="ignore"):  # a parameter and its averages are written together
            for (position, parameter, gradient, key, piece), slope in zip(ready, slopes, strict=True):
                array, storage, kept = parameter._array, parameter._storage, self._kept[position]
                self._steps[position] = step = self._steps[position] + 1
                if (step, key) not in numbers:
                    numbers[step, key] = [_number_for(array, number) for number in self._numbers(step)]
                arrays = [array, slope]
                for each in kept:
                    arrays.append(each._array)
                    each._storage.version += 1
                update = self._update
                write(storage, array, self._op, frame, update, numbers[step, key], arrays, rooms[key], piece)
                if watch.listener is not None:
                    watch.listener("write", parameter, self._op, (parameter, gradient), None)

    def _slopes(self, ready: list[Any]) -> list[Array]:
        """What the step uses of each gradient: clipped where it is to be, and never the parameter's own memory."""
        slopes = [gradient._array for _, _, gradient, *_ in ready]
        if self._clip is not None:
            slopes = self._clip(slopes)
        return [
            slope.copy() if gradient._storage is parameter._storage else slope
            for slope, (_, parameter, gradient, *_) in zip(slopes, ready, strict=True)
        ]

    def _update(self, numbers: list[Any], arrays: list[Array], room: list[Array], piece: int) -> None:
        """Update one parameter, so many elements at a time."""
        size = arrays[0].size
        if size == piece:
            self._write(numbers, *arrays, *[each[:size].reshape(arrays[0].shape) for each in room])
            return
        lines, room = [each.reshape(-1) for each in arrays], [each[:piece] for each in room]
        for begin in range(0, size, piece):
            if size - begin < piece:
                room = [each[: size - begin] for each in room]
            self._write(numbers, *[line[begin : begin + piece] for line in lines], *room)

    def _numbers(self, step: int) -> tuple[float, ...]:
        """The numbers of the step that is a parameter's ``step``-th."""
        raise NotImplementedError

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *kept_and_room: Array) -> None:
        """Update a piece of one parameter: after its gradient come the averages that are kept, and the room."""
        raise NotImplementedError

    # ---------- around a step ----------

    def minimize(
        self, loss: Tensor, startup_program: None = None, parameters: Any = None, no_grad_set: None = None
    ) -> tuple[list[Any], list[tuple[Tensor, Tensor]]]:
        """A step, as ``step()``: the gradients are those that ``loss.backward()`` has left, which is not called here.

        Args:
            parameters: the tensors to update; all by default.

        Returns:
            An empty list, as in Paddle's dynamic graph, and the pairs of a parameter and its gradient.
        """
        if not isinstance(loss, Tensor):
            raise TypeError(f"{self._name}.minimize: the loss is a Tensor, not {type(loss).__name__}")
        chosen = None if parameters is None else {id(each) for each in parameters}
        self._step(chosen)
        wanted = (each for each in self._parameters if chosen is None or id(each) in chosen)
        return [], [(each, each.grad) for each in wanted if each.grad is not None]

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Fill the gradient of every parameter with zeros, or drop it (``set_to_zero=False``) and free its memory."""
        for parameter in self._parameters:
            parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def get_lr(self) -> float:
        """The learning rate of the next step."""
        return self._rate if self._schedule is None else self._schedule()

    def set_lr(self, value: float) -> None:
        """Change the learning rate, from the next step on.

        Raises:
            RuntimeError: if a scheduler says it.
        """
        if self._schedule is not None:
            raise RuntimeError(f"{self._name}.set_lr: the rate is said by {type(self._schedule).__name__}")
        self._rate = self._number("learning_rate", value)

    def state_dict(self) -> dict[str, Any]:
        """The averages kept for each parameter, as tensors, and how many steps it has had, by its name.

        They are what this optimizer goes on writing, no copies. Of a scheduler, ``"LR_Scheduler"`` says where it is.
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
        """Go on from what ``state_dict`` of such an optimizer returned. The numbers are copied.

        Entries for no parameter of this optimizer are warned of: a second network in one program has other names.

        Raises:
            ValueError: naming all averages that are missing beside others, or of another shape than their parameter,
                and the scheduler's state where it is missing. Nothing was loaded then.
        """
        wrong, known = [], {"LR_Scheduler"}
        for parameter in self._parameters:
            names = [f"{parameter.name}_{slot}_0" for slot in self.slots]
            known |= {*names, f"{parameter.name}_steps"}
            given = [name for name in names if name in state_dict]
            wrong += [f"{name!r} is missing" for name in names if given and name not in given]
            wrong += [
                f"{name!r} has shape {list(state_dict[name].shape)}, its parameter {parameter.shape}"
                for name in given
                if list(state_dict[name].shape) != parameter.shape
            ]
        if self._schedule is not None and state_dict and "LR_Scheduler" not in state_dict:
            wrong.append("'LR_Scheduler' is missing, and a scheduler says the rate")
        if wrong:
            raise ValueError(f"{self._name}.set_state_dict: {'; '.join(wrong)}. Nothing was loaded.")
        if strangers := [name for name in state_dict if name not in known]:
            warnings.warn(
                f"{self._name}.set_state_dict: no parameter of this optimizer is meant by {', '.join(strangers)}: they "
                "were not loaded",
                stacklevel=2,
            )
        for position, parameter in enumerate(self._parameters):
            kept = [state_dict[f"{parameter.name}_{slot}_0"] for slot in self.slots
                    if f"{parameter.name}_{slot}_0" in state_dict]  # fmt: skip
            if len(kept) == len(self.slots):
                array = parameter._array
                self._kept[position] = [Tensor._made(_like(each, array)) for each in kept]
                self._steps[position] = int(state_dict.get(f"{parameter.name}_steps", self._steps[position]))
        if self._schedule is not None and "LR_Scheduler" in state_dict:
            self._schedule.set_state_dict(state_dict["LR_Scheduler"])


def _like(given: Any, array: Array) -> Array:
    """A copy of the numbers of a tensor or an array, with the dtype and on the device of ``array``."""
    host = np.array(given, array.dtype, order="C")
    return like(host, array)


def _piece(array: Array) -> int:
    """How many elements of ``array`` are worked on at a time."""
    if not array.flags.c_contiguous:
        return array.size
    most = PIECE if type(array) is np.ndarray else PIECE_ON_GPU
    return array.size if array.size <= most else -(-array.size // -(-array.size // most))  # all alike, rounded up


def penalized(gradient: Array, parameter: Array, decay: Any, room: Array) -> Array:
    """The gradient with the L2 penalty added, in ``room``."""
    np.multiply(parameter, decay, room)
    return np.add(room, gradient, room)


def _number_for(array: Array, number: float) -> Any:
    """A number in the dtype of ``array``: on the host as an array, which a ufunc takes 400 ns faster."""
    return np.asarray(number, array.dtype) if type(array) is np.ndarray else number
