"""Recurrent modules with one layer and one direction: cells compute one step, other modules run over a sequence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitensor.engine import checks
from minitensor.engine.layers import recurrent
from minitensor.engine.modes import modes
from minitensor.torch.arguments import need_tensor
from minitensor.torch.creation import empty, zeros
from minitensor.torch.nn import init
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.tensor import Tensor, as_torch


class _Recurrent(Module):
    """Base class of recurrent modules. It creates the weights of one step.

    Attributes:
        gates: how many blocks of ``hidden_size`` rows each weight has.
        suffix: the text at the end of the names of the weights.
        dims: the number of dimensions of an input that has a batch dimension.
        rows_at: the position of the batch dimension in the input.
        state_rows_at: the position of the batch dimension in a state.
        wrong_dtype: the class of the error if a dtype is not that of the weights.
    """

    gates, suffix = 1, ""
    dims, rows_at, state_rows_at = 2, 0, 0
    wrong_dtype: type[Exception] = RuntimeError
    _forward_batch: Callable[..., Any]  # set by subclasses

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        op = f"{type(self).__name__}()"
        self.input_size = input_size = checks.integer(op, "input_size", input_size)
        self.hidden_size = hidden_size = checks.integer(op, "hidden_size", hidden_size, least=1)
        rows = self.gates * hidden_size
        for name, shape in (
            ("weight_ih", (rows, input_size)),
            ("weight_hh", (rows, hidden_size)),
            ("bias_ih", (rows,)),
            ("bias_hh", (rows,)),
        ):
            self.register_parameter(name + self.suffix, Parameter(empty(shape)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again, uniformly between plus and minus 1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self) -> recurrent.Weights:
        weight_ih, weight_hh, *biases = self.parameters()
        return (weight_ih.t(), weight_hh.t(), *biases)

    def _zero_state(self, rows: int) -> Tensor:
        return zeros(rows, self.hidden_size, dtype=next(self.parameters()).dtype)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """Return the new state of a cell. A module for sequences returns all outputs and the last state.

        ``hx`` is the initial state, by default zeros. If the input lacks the batch dimension, the result lacks it, too.

        Raises:
            ValueError: if the module does not accept this number of dimensions.
            RuntimeError: if the last dimension of the input or of the state does not have the length that the module
                was created with, or if the state does not fit the input. If the dtype of the input or the state is not
                that of the weights, a cell raises RuntimeError, and a module for sequences raises ValueError.
        """
        name = type(self).__name__
        need_tensor(name, input)
        states = 2 if name.startswith("LSTM") else 1
        given = [] if hx is None else [hx] if states == 1 else checks.elements(f"{name}()", "hx", hx, "two tensors")
        for state in given:
            need_tensor(name, state, 2, "hx")
        if hx is not None and len(given) != states:
            raise RuntimeError(f"{name}(): hx must be two tensors, the output and the cell, not {len(given)}")
        hx = None if hx is None else tuple(given) if states == 2 else hx
        self._check(input, () if hx is None else hx if isinstance(hx, tuple) else (hx,))
        weight = next(self.parameters())
        for what, each in (("input", input), *(("hx", state) for state in given)):
            if each.dtype != weight.dtype and modes.casts is None:
                raise self.wrong_dtype(
                    f"{name}: RNN {what} dtype ({each.dtype}) does not match weight dtype ({weight.dtype}). Convert "
                    f"it: {what}.to({weight.dtype})"
                )
        if input.dim() == self.dims:
            return self._forward_batch(input, hx)
        if isinstance(hx, tuple):
            hx = tuple(state.unsqueeze(self.state_rows_at) for state in hx)
        elif hx is not None:
            hx = hx.unsqueeze(self.state_rows_at)
        return self._unbatched(self._forward_batch(input.unsqueeze(self.rows_at), hx))

    def _unbatched(self, result: Any) -> Any:
        """Return a state, or a tuple of states, without the batch dimension."""
        if isinstance(result, tuple):
            return tuple(state.squeeze(self.state_rows_at) for state in result)
        return result.squeeze(self.state_rows_at)

    def _check(self, input: Tensor, states: tuple[Tensor, ...]) -> None:
        name = type(self).__name__
        if input.dim() not in (self.dims - 1, self.dims):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
        for i, state in enumerate(states):
            if state.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead")
            rows = [x.shape[0] if x.dim() == 2 else 1 for x in (input, state)]
            if rows[0] != rows[1] or input.dim() != state.dim():
                rows[1] = state.shape[0]
                raise RuntimeError(f"Input batch size {rows[0]} doesn't match hidden{i} batch size {rows[1]}")
            if state.shape[-1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {state.shape[-1]}, expected {self.hidden_size}"
                )

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


@checks.with_own_methods
class RNNCell(_Recurrent):
    """One step: ``nonlinearity(x @ weight_ih.T + bias_ih + hx @ weight_hh.T + bias_hh)`` (Elman 1990).

    The input has the shape [batch, input_size], and the state ``hx`` (by default zeros) has the shape [batch,
    hidden_size]. Both may lack the batch dimension. ``weight_ih`` has the shape [hidden_size, input_size],
    ``weight_hh`` [hidden_size, hidden_size].

    Raises:
        RuntimeError: if ``nonlinearity`` is neither "tanh" nor "relu", if a size is negative, or if input and state
            have other shapes.
        ValueError: if the input or the state does not have one or two dimensions.
    """

    def __init__(self, input_size: int, hidden_size: int, nonlinearity: str = "tanh") -> None:
        if not isinstance(nonlinearity, str) or nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {checks.shown(nonlinearity)}")
        super().__init__(input_size, hidden_size)
        self.nonlinearity = nonlinearity

    def _forward_batch(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        state = self._zero_state(len(input)) if hx is None else hx
        return as_torch(recurrent.rnn_step(input, state, self._weights(), self.nonlinearity))


@checks.with_own_methods
class LSTMCell(_Recurrent):
    """One step of a long short-term memory (Hochreiter and Schmidhuber 1997) with a forget gate (Gers, Schmidhuber and
    Cummins 2000). A call returns the new output and the new cell state, both of shape [batch, hidden_size].

    The input has the shape [batch, input_size]. ``hx`` is a pair of the old output and the old cell state (by default
    zeros), both of shape [batch, hidden_size]. All may lack the batch dimension. ``weight_ih`` has the shape
    [4 * hidden_size, input_size], ``weight_hh`` [4 * hidden_size, hidden_size].

    Raises:
        RuntimeError: if a size is negative, or input and state have other shapes.
        ValueError: if the input or the state does not have one or two dimensions.
    """

    gates = 4

    def _forward_batch(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        state = (self._zero_state(len(input)), self._zero_state(len(input))) if hx is None else hx
        output, cell = recurrent.lstm_step(input, state, self._weights())
        return as_torch(output), as_torch(cell)


@checks.with_own_methods
class GRUCell(_Recurrent):
    """One step of a gated recurrent unit (Cho and others 2014). A call returns the new state, [batch, hidden_size].

    The input has the shape [batch, input_size], and the state ``hx`` (by default zeros) has the shape [batch,
    hidden_size]. Both may lack the batch dimension. ``weight_ih`` has the shape [3 * hidden_size, input_size],
    ``weight_hh`` [3 * hidden_size, hidden_size].

    Raises:
        RuntimeError: if a size is negative, or input and state have other shapes.
        ValueError: if the input or the state does not have one or two dimensions.
    """

    gates = 3

    def _forward_batch(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return as_torch(recurrent.gru_step(input, self._zero_state(len(input)) if hx is None else hx, self._weights()))


class _Run(_Recurrent):
    """Base class of modules that run steps over a sequence [time, batch, ...], or [batch, time, ...]."""

    suffix, dims, state_rows_at = "_l0", 3, 1
    wrong_dtype = ValueError

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False) -> None:
        batch_first = checks.flag(f"{type(self).__name__}()", "batch_first", batch_first)
        if type(num_layers) is not int or num_layers != 1:
            raise ValueError(f"{type(self).__name__}: num_layers is 1; call several modules in turn for more layers")
        super().__init__(input_size, hidden_size)
        self.batch_first, self.rows_at = batch_first, 0 if batch_first else 1

    def _unbatched(self, result: Any) -> Any:
        outputs, last = result
        return outputs.squeeze(self.rows_at), super()._unbatched(last)

    def _check(self, input: Tensor, states: tuple[Tensor, ...]) -> None:
        name, dims = type(self).__name__, input.dim()
        if dims not in (2, 3):
            kind = "D tensor" if name == "RNN" else "D"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {dims}{kind} instead")
        if any(state.dim() != dims for state in states):
            found = [f"{state.dim()}-D" for state in states]
            which, got = (
                ("hx", f"{found[0]} tensor") if len(found) == 1 else ("hx and cx", f"({', '.join(found)}) tensors")
            )
            batched = "batched" if dims == 3 else "unbatched"
            raise RuntimeError(f"For {batched} {dims}-D input, {which} should also be {dims}-D but got {got}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        wanted = (1, *([self._rows(input)] if dims == 3 else []), self.hidden_size)
        for i, state in enumerate(states):
            if tuple(state.shape) != wanted:
                which = "hidden" if len(states) == 1 else f"hidden[{i}]"
                raise RuntimeError(f"Expected {which} size {wanted}, got {list(state.shape)}")
        if input.shape[1 if self.batch_first and dims == 3 else 0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def _run(self, step: Any, input: Tensor, state: Any) -> tuple[Tensor, Any]:
        sequence = input if self.batch_first else input.transpose(0, 1)
        outputs, last = recurrent.run(step, sequence, state)
        outputs = as_torch(outputs)
        return outputs if self.batch_first else outputs.transpose(0, 1), last

    def _rows(self, input: Tensor) -> int:
        return input.shape[self.rows_at]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + (", batch_first=True" if self.batch_first else "")


class _RunOfOneState(_Run):
    """Base class of sequence modules whose state is one tensor. ``_step(x, state, weights)`` returns the new state."""

    _step: Callable[..., Any]  # set by subclasses

    def _forward_batch(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        weights = self._weights()
        start = self._zero_state(self._rows(input)) if hx is None else hx[0]
        outputs, last = self._run(lambda x, state: self._step(x, state, weights), input, start)
        return outputs, as_torch(last).unsqueeze(0)


@checks.with_own_methods
class RNN(_RunOfOneState):
    """A recurrent network over a sequence (see :class:`RNNCell`). A call returns all outputs, [time, batch,
    hidden_size], and the last state, [1, batch, hidden_size].

    The input has the shape [time, batch, input_size]. With ``batch_first=True``, ``batch`` is the first dimension of
    input and outputs. The dimension ``batch`` may be absent.

    Raises:
        ValueError: if ``num_layers`` is not 1, or if the input does not have two or three dimensions.
        RuntimeError: if input and state have other shapes, or there is no time step.
    """

    _step = staticmethod(recurrent.rnn_step)


@checks.with_own_methods
class GRU(_RunOfOneState):
    """A gated recurrent unit over a sequence. A call returns all outputs, [time, batch, hidden_size], and the last
    state, [1, batch, hidden_size].

    The input has the shape [time, batch, input_size]. With ``batch_first=True``, ``batch`` is the first dimension of
    input and outputs. The dimension ``batch`` may be absent.

    Raises:
        ValueError: if ``num_layers`` is not 1, or if the input does not have two or three dimensions.
        RuntimeError: if input and state have other shapes, or there is no time step.
    """

    gates = 3
    _step = staticmethod(recurrent.gru_step)


@checks.with_own_methods
class LSTM(_Run):
    """A long short-term memory over a sequence. A call returns all outputs, [time, batch, hidden_size], and a pair of
    the last output and the last cell state, both [1, batch, hidden_size].

    The input has the shape [time, batch, input_size]. With ``batch_first=True``, ``batch`` is the first dimension of
    input and outputs. The dimension ``batch`` may be absent.

    Raises:
        ValueError: if ``num_layers`` is not 1, or if the input does not have two or three dimensions.
        RuntimeError: if input and state have other shapes, or there is no time step.
    """

    gates = 4

    def _forward_batch(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        weights, rows = self._weights(), self._rows(input)
        start = (self._zero_state(rows), self._zero_state(rows)) if hx is None else (hx[0][0], hx[1][0])
        outputs, (output, cell) = self._run(lambda x, state: recurrent.lstm_step(x, state, weights), input, start)
        return outputs, (as_torch(output).unsqueeze(0), as_torch(cell).unsqueeze(0))
