"""What all optimizers do: for each parameter with a gradient, one in-place update, counted as one write.

The update is that of a write under ``no_grad``: numbers and version change, history does not. It is worked out a piece
at a time, so that what it needs beside the parameter, its gradient and the kept averages has the size of a piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from minitensor.device.arrays import gpu_of
from minitensor.errors import not_writeable
from minitensor.events import watch
from minitensor.modes import no_grad
from minitensor.regions import writeable
from minitensor.saving import after_write, before_write
from minitensor.storage import log_write
from minitensor.tensor import Tensor

Array = Any

#: Elements worked on at a time, on the host and on a GPU.
PIECE, PIECE_ON_GPU = 1 << 16, 1 << 22


class Optimizer:
    """Updates parameters from their gradients.

    Args:
        learning_rate: a number from 0 on; ``set_lr`` changes it.
        parameters: the tensors to update, as ``layer.parameters()`` lists them. One without a gradient, or with
            ``stop_gradient=True``, is passed over.
        weight_decay: this times the parameter is added to its gradient first (an L2 penalty); None for 0.

    Raises:
        TypeError, ValueError: for anything else.
    """

    #: The averages kept for each parameter, under the names that ``state_dict`` gives them.
    slots: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: float = 0.001,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        self._name = type(self).__name__
        self._rate = self._number("learning_rate", learning_rate)
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
        """Update every parameter that has a gradient: one counted write each. Nothing is written when one can not be.

        Raises:
            RuntimeError: for a parameter whose elements share memory, or whose memory is read-only.
        """
        ready = []
        for position, parameter in enumerate(self._parameters):
            gradient = None if parameter.stop_gradient else parameter.grad
            if gradient is None:
                continue
            if not writeable(parameter._array):
                raise not_writeable(f"{self._name}.step", parameter._array)
            ready.append((position, parameter, gradient))
        # All memory that this takes is there before the first write.
        for position, parameter, _ in ready:
            if not self._kept[position]:
                self._kept[position] = [Tensor._made(np.zeros_like(parameter._array, order="C")) for _ in self.slots]
        rooms = _rooms([parameter._array for _, parameter, _ in ready])
        with no_grad():
            for position, parameter, gradient in ready:
                self._update(position, parameter, gradient, rooms)

    def _update(self, position: int, parameter: Tensor, gradient: Tensor, rooms: Rooms) -> None:
        array, storage, op = parameter._array, parameter._storage, f"{self._name}.step"
        kept = self._kept[position]
        slope = gradient._array.copy() if gradient._storage is storage else gradient._array
        plan = None if storage.savers is None else before_write(storage, array)
        with np.errstate(all="ignore"):
            self._write(self._steps[position] + 1, _pieces(rooms, array, slope, *(each._array for each in kept)))
        self._steps[position] += 1
        place = log_write(storage, op)
        if plan is not None:
            after_write(plan, storage, op, *place)
        for each in kept:
            each._storage.version += 1
        if watch.listener is not None:
            watch.listener("write", parameter, op, (parameter, gradient), None)

    def _write(self, step: int, pieces: Iterator[tuple[Array, ...]]) -> None:
        """Update the pieces of one parameter: each is (parameter, gradient, averages..., room, room)."""
        raise NotImplementedError

    def _penalized(self, gradient: Array, parameter: Array, room: Array) -> Array:
        """The gradient with the penalty added, in ``room``; itself when there is none."""
        if not self._decay:
            return gradient
        np.multiply(parameter, self._decay, out=room)
        return np.add(room, gradient, out=room)

    # ---------- around a step ----------

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Fill the gradient of every parameter with zeros, or drop it (``set_to_zero=False``) and free its memory."""
        for parameter in self._parameters:
            parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def get_lr(self) -> float:
        """The learning rate."""
        return self._rate

    def set_lr(self, value: float) -> None:
        """Change the learning rate, from the next step on."""
        self._rate = self._number("learning_rate", value)

    def state_dict(self) -> dict[str, Any]:
        """The averages kept for each parameter, as tensors, and how many steps it has had, by its name."""
        found: dict[str, Any] = {}
        for parameter, kept, steps in zip(self._parameters, self._kept, self._steps, strict=True):
            found.update({f"{parameter.name}_{slot}_0": each for slot, each in zip(self.slots, kept, strict=False)})
            if steps:
                found[f"{parameter.name}_steps"] = steps
        return found

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict`` of such an optimizer returned. The numbers are copied.

        Raises:
            ValueError: when an average does not have the shape of its parameter. Nothing was loaded then.
        """
        loaded = []
        for parameter, steps in zip(self._parameters, self._steps, strict=True):
            found = [state_dict.get(f"{parameter.name}_{slot}_0") for slot in self.slots]
            kept = [each for each in found if each is not None]
            for each in kept:
                if list(each.shape) != parameter.shape:
                    raise ValueError(
                        f"{self._name}.set_state_dict: an average of {parameter.name} has shape {list(each.shape)}; "
                        f"the parameter has shape {parameter.shape}"
                    )
            loaded.append((kept, state_dict.get(f"{parameter.name}_steps", steps)))
        for position, (kept, steps) in enumerate(loaded):
            if len(kept) == len(self.slots):
                self._kept[position] = [each.clone() for each in kept]
                self._steps[position] = steps


#: Two arrays for each dtype and device.
Rooms = dict[Any, tuple[Array, Array]]


def _piece(array: Array) -> int:
    """How many elements of ``array`` are worked on at a time."""
    if not array.flags.c_contiguous:
        return array.size
    return min(array.size, PIECE if type(array) is np.ndarray else PIECE_ON_GPU)


def _rooms(arrays: list[Array]) -> Rooms:
    """Room for the largest piece."""
    largest: dict[Any, Array] = {}
    for array in arrays:
        key = array.dtype, gpu_of(array)
        if key not in largest or _piece(array) > _piece(largest[key]):
            largest[key] = array
    return {
        key: (np.empty_like(array, shape=(_piece(array),)), np.empty_like(array, shape=(_piece(array),)))
        for key, array in largest.items()
    }


def _pieces(rooms: Rooms, *arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Parts of the arrays, all alike, and two arrays of room in the shape of each part."""
    first = arrays[0]
    room = rooms[first.dtype, gpu_of(first)]
    if not first.flags.c_contiguous:
        yield (*arrays, *(each[: first.size].reshape(first.shape) for each in room))
        return
    lines = [array.reshape(-1) for array in arrays]
    piece = max(_piece(first), 1)
    for begin in range(0, first.size, piece):
        parts = [line[begin : begin + piece] for line in lines]
        yield (*parts, *(each[: len(parts[0])] for each in room))
