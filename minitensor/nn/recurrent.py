"""Recurrent cells and networks under Paddle's names. A network has one layer and one direction."""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import zeros
from minitensor.engine.layers import recurrent
from minitensor.engine.operations.arguments import need_tensor
from minitensor.nn.initializer import Uniform
from minitensor.nn.layer import Layer


class _Cell(Layer):
    """Base class of cells. Weights are drawn uniformly between plus and minus ``1 / sqrt(hidden_size)``.

    Attributes:
        gates: the number of blocks of ``hidden_size`` rows in each weight.
    """

    gates = 1

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size = input_size = checks.integer(type(self).__name__, "input_size", input_size, 1)
        self.hidden_size = hidden_size = checks.integer(type(self).__name__, "hidden_size", hidden_size, 1)
        bound = 1 / math.sqrt(hidden_size)
        rows = self.gates * hidden_size
        for name, shape in (
            ("weight_ih", [rows, input_size]),
            ("weight_hh", [rows, hidden_size]),
            ("bias_ih", [rows]),
            ("bias_hh", [rows]),
        ):
            is_bias = name.startswith("bias")
            setattr(self, name, self.create_parameter(shape, None, None, is_bias, Uniform(-bound, bound)))

    def _weights(self) -> recurrent.Weights:
        return (
            self._parameter("weight_ih").transpose([1, 0]),
            self._parameter("weight_hh").transpose([1, 0]),
            self._parameter("bias_ih"),
            self._parameter("bias_hh"),
        )

    def _initial_states(self, x: Any, given: Any = None, op: str = "", time: int = 0, states: int = 1) -> Any:
        """Check the inputs ``x`` and the initial states ``given``; return the states, by default zeros.

        Args:
            op: the name of the layer in error messages; by default the name of the cell's class.
            time: 1 if the inputs have a time dimension, else 0.
            states: the number of states, 1 or 2. Two states are given and returned as a tuple.
        """
        op = op or type(self).__name__
        need_tensor(op, x, "inputs")
        if x.ndim != 2 + time or x.shape[-1] != self.input_size or (time and not x.shape[1]):
            shape = (
                f"[batch, time, {self.input_size}] with a time of at least 1" if time else f"[batch, {self.input_size}]"
            )
            raise ValueError(f"{op}: inputs must be a tensor of shape {shape}, not {x.shape}")
        size = [x.shape[0], self.hidden_size]
        if given is None:
            dtype = self._parameter("weight_ih").dtype
            return zeros(size, dtype) if states == 1 else (zeros(size, dtype), zeros(size, dtype))
        name = "initial_states" if time else "states"
        tensors = [given] if states == 1 else checks.elements(op, name, given, "two tensors", Tensor)
        wanted = [1, *size] if time else size
        for each in tensors:
            need_tensor(op, each, name)
        if len(tensors) != states or any(each.shape != wanted for each in tensors):
            raise ValueError(
                f"{op}: {name} must be {'a tensor' if states == 1 else 'two tensors'} of shape {wanted}, not "
                f"{' and '.join(str(each.shape) for each in tensors)}"
            )
        tensors = [each.squeeze(0) if time else each for each in tensors]
        return tensors[0] if states == 1 else tuple(tensors)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(_Cell):
    """One step of a simple recurrent network (Elman 1990). The same tensor is the output and the new state:
    ``activation(x @ weight_ih.T + bias_ih + state @ weight_hh.T + bias_hh)``.

    The inputs are [batch, input_size] and the states [batch, hidden_size], by default zeros. ``weight_ih`` has the
    shape [hidden_size, input_size], ``weight_hh`` [hidden_size, hidden_size].

    Raises:
        ValueError: if ``activation`` is neither "tanh" nor "relu", if a size is below 1, or if inputs and states have
            other shapes.
        TypeError: if a size is not an integer, or an input is not a tensor of floats.
    """

    def __init__(self, input_size: int, hidden_size: int, activation: str = "tanh") -> None:
        checks.choice("SimpleRNNCell", "activation", activation, ("tanh", "relu"))
        super().__init__(input_size, hidden_size)
        self.activation = activation

    def forward(self, inputs: Tensor, states: Tensor | None = None) -> tuple[Tensor, Tensor]:
        state = recurrent.rnn_step(inputs, self._initial_states(inputs, states), self._weights(), self.activation)
        return state, state


@checks.with_own_methods
class LSTMCell(_Cell):
    """One step of a long short-term memory (Hochreiter and Schmidhuber 1997) with a forget gate (Gers, Schmidhuber and
    Cummins 2000). A call returns the output and, as states, the pair (output, cell).

    The inputs are [batch, input_size] and both states [batch, hidden_size], by default zeros. ``weight_ih`` has the
    shape [4 * hidden_size, input_size], ``weight_hh`` [4 * hidden_size, hidden_size].

    Raises:
        ValueError: if a size is below 1, or inputs and states have other shapes.
        TypeError: if a size is not an integer, or an input is not a tensor of floats.
    """

    gates = 4

    def forward(
        self, inputs: Tensor, states: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, cell = recurrent.lstm_step(inputs, self._initial_states(inputs, states, states=2), self._weights())
        return output, (output, cell)


@checks.with_own_methods
class GRUCell(_Cell):
    """One step of a gated recurrent unit (Cho and others 2014). The new state is also the output.

    The inputs are [batch, input_size] and the states [batch, hidden_size], by default zeros. ``weight_ih`` has the
    shape [3 * hidden_size, input_size], ``weight_hh`` [3 * hidden_size, hidden_size].

    Raises:
        ValueError: if a size is below 1, or inputs and states have other shapes.
        TypeError: if a size is not an integer, or an input is not a tensor of floats.
    """

    gates = 3

    def forward(self, inputs: Tensor, states: Tensor | None = None) -> tuple[Tensor, Tensor]:
        state = recurrent.gru_step(inputs, self._initial_states(inputs, states), self._weights())
        return state, state


class _OneState(Layer):
    """Base class of layers that run a cell with one state over a sequence."""

    cell: Any

    def _run(self, step: Any, inputs: Tensor, initial_states: Tensor | None) -> tuple[Tensor, Tensor]:
        start = self.cell._initial_states(inputs, initial_states, type(self).__name__, time=1)
        weights = self.cell._weights()
        outputs, last = recurrent.run(lambda x, state: step(x, state, weights), inputs, start)
        return outputs, last.unsqueeze(0)


def _check_one_layer(name: str, num_layers: int, direction: str) -> None:
    if type(num_layers) is not int or num_layers != 1 or not isinstance(direction, str) or direction != "forward":
        raise ValueError(f"{name}: num_layers must be 1 and direction 'forward'; call several layers in turn for more")


class SimpleRNN(_OneState):
    """Run a SimpleRNNCell over inputs [batch, time, input_size].

    The result is all outputs [batch, time, hidden_size], and the last state [1, batch, hidden_size].

    Raises:
        ValueError: for more than one layer or another direction, if a size is below 1, or if the inputs have other
            shapes.
        TypeError: if a size is not an integer, or an input is not a tensor of floats.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        activation: str = "tanh",
    ) -> None:
        super().__init__()
        _check_one_layer("SimpleRNN", num_layers, direction)
        self.cell = SimpleRNNCell(input_size, hidden_size, activation)

    def forward(self, inputs: Tensor, initial_states: Tensor | None = None) -> tuple[Tensor, Tensor]:
        activation = self.cell.activation
        return self._run(lambda x, h, w: recurrent.rnn_step(x, h, w, activation), inputs, initial_states)


class GRU(_OneState):
    """Run a GRUCell over inputs [batch, time, input_size].

    The result is all outputs [batch, time, hidden_size], and the last state [1, batch, hidden_size].

    Raises:
        ValueError: for more than one layer or another direction, if a size is below 1, or if the inputs have other
            shapes.
        TypeError: if a size is not an integer, or an input is not a tensor of floats.
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, direction: str = "forward") -> None:
        super().__init__()
        _check_one_layer("GRU", num_layers, direction)
        self.cell = GRUCell(input_size, hidden_size)

    def forward(self, inputs: Tensor, initial_states: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._run(recurrent.gru_step, inputs, initial_states)


class LSTM(Layer):
    """Run an LSTMCell over inputs [batch, time, input_size].

    The result is all outputs [batch, time, hidden_size], and a pair of the last states [1, batch, hidden_size].

    Raises:
        ValueError: for more than one layer or another direction, if a size is below 1, or if the inputs have other
            shapes.
        TypeError: if a size is not an integer, or an input is not a tensor of floats.
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, direction: str = "forward") -> None:
        super().__init__()
        _check_one_layer("LSTM", num_layers, direction)
        self.cell = LSTMCell(input_size, hidden_size)

    def forward(
        self, inputs: Tensor, initial_states: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        start = self.cell._initial_states(inputs, initial_states, "LSTM", time=1, states=2)
        weights = self.cell._weights()
        outputs, last = recurrent.run(lambda x, state: recurrent.lstm_step(x, state, weights), inputs, start)
        return outputs, tuple(state.unsqueeze(0) for state in last)
