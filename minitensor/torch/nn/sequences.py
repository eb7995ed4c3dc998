"""Modules for sequences: embeddings, recurrent networks of one layer and one direction, and attention."""

from __future__ import annotations

import math
from typing import Any

from minitensor.networks import recurrent
from minitensor.torch.autograd import no_grad
from minitensor.torch.creation import empty, zeros
from minitensor.torch.dtypes import bool_
from minitensor.torch.nn import functional as F
from minitensor.torch.nn import init
from minitensor.torch.nn.layers import Linear
from minitensor.torch.nn.module import Module
from minitensor.torch.nn.parameter import Parameter
from minitensor.torch.tensor import Tensor, as_kind


class Embedding(Module):
    """A row of ``weight`` for each index: see ``functional.embedding``."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.weight = Parameter(empty((num_embeddings, embedding_dim)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the rows anew; that of ``padding_idx`` is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        """The rows."""
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class _Recurrent(Module):
    """The weights of one step, with ``gates`` blocks below each other, named with ``suffix``."""

    gates = 1
    suffix = ""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        wide = self.gates * hidden_size
        for name, shape in (
            ("weight_ih", (wide, input_size)),
            ("weight_hh", (wide, hidden_size)),
            ("bias_ih", (wide,)),
            ("bias_hh", (wide,)),
        ):
            self.register_parameter(name + self.suffix, Parameter(empty(shape)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, evenly within 1/sqrt(hidden_size)."""
        most = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -most, most)

    def _weights(self) -> recurrent.Weights:
        of_input, of_state, *biases = self.parameters()
        return (of_input.t(), of_state.t(), *biases)

    def _start(self, rows: int) -> Tensor:
        return zeros(rows, self.hidden_size)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Recurrent):
    """One step: ``tanh(x @ weight_ih.T + bias_ih + hx @ weight_hh.T + bias_hh)``."""

    def __init__(self, input_size: int, hidden_size: int, nonlinearity: str = "tanh") -> None:
        super().__init__(input_size, hidden_size)
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The new state."""
        state = self._start(len(input)) if hx is None else hx
        return as_kind(recurrent.rnn_step(input, state, self._weights(), self.nonlinearity))


class LSTMCell(_Recurrent):
    """One step of a long short-term memory."""

    gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The new output and the new cell."""
        state = (self._start(len(input)), self._start(len(input))) if hx is None else hx
        output, cell = recurrent.lstm_step(input, state, self._weights())
        return as_kind(output), as_kind(cell)


class GRUCell(_Recurrent):
    """One step of a gated recurrent unit."""

    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The new state."""
        return as_kind(recurrent.gru_step(input, self._start(len(input)) if hx is None else hx, self._weights()))


class _Run(_Recurrent):
    """A step over a sequence [time, batch, ...], or [batch, time, ...] with ``batch_first=True``."""

    suffix = "_l0"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False) -> None:
        super().__init__(input_size, hidden_size)
        if num_layers != 1:
            raise ValueError(f"{type(self).__name__}: one layer; put several behind each other for more")
        self.batch_first = batch_first

    def _run(self, step: Any, input: Tensor, state: Any) -> tuple[Tensor, Any]:
        sequence = input if self.batch_first else input.transpose(0, 1)
        outputs, last = recurrent.run(step, sequence, state)
        outputs = as_kind(outputs)
        return outputs if self.batch_first else outputs.transpose(0, 1), last

    def _rows(self, input: Tensor) -> int:
        return input.shape[0 if self.batch_first else 1]

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}" + (", batch_first=True" if self.batch_first else "")


class RNN(_Run):
    """``tanh`` of input and state at each step: all outputs, and the last state [1, batch, hidden_size]."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The outputs and the last state."""
        weights = self._weights()
        start = self._start(self._rows(input)) if hx is None else hx[0]
        outputs, last = self._run(lambda x, state: recurrent.rnn_step(x, state, weights), input, start)
        return outputs, as_kind(last).unsqueeze(0)


class GRU(_Run):
    """A gated recurrent unit over a sequence: all outputs, and the last state [1, batch, hidden_size]."""

    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The outputs and the last state."""
        weights = self._weights()
        start = self._start(self._rows(input)) if hx is None else hx[0]
        outputs, last = self._run(lambda x, state: recurrent.gru_step(x, state, weights), input, start)
        return outputs, as_kind(last).unsqueeze(0)


class LSTM(_Run):
    """A long short-term memory over a sequence: all outputs, and the last output and cell [1, batch, hidden_size]."""

    gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The outputs, and the last output and cell."""
        weights, rows = self._weights(), self._rows(input)
        start = (self._start(rows), self._start(rows)) if hx is None else (hx[0][0], hx[1][0])
        outputs, (output, cell) = self._run(lambda x, state: recurrent.lstm_step(x, state, weights), input, start)
        return outputs, (as_kind(output).unsqueeze(0), as_kind(cell).unsqueeze(0))


class MultiheadAttention(Module):
    """Attention in ``num_heads`` parts at once; [time, batch, embed_dim], or batch first. No weights are returned."""

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, batch_first: bool = False
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.in_proj_weight = Parameter(empty((3 * embed_dim, embed_dim)))
        self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.zeros_(self.out_proj.bias)  # type: ignore[arg-type]  # there is one

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> tuple[Tensor, None]:
        """The result, and None in place of the weights.

        Args:
            attn_mask: truth values that say which keys a query may *not* see, or floats that are added to the scores.

        Raises:
            ValueError: with ``need_weights=True``; the weights are not kept.
        """
        if need_weights:
            raise ValueError("MultiheadAttention: need_weights=True is not here; the weights are not kept")
        if attn_mask is not None and attn_mask.dtype is bool_:
            attn_mask = attn_mask.logical_not()
        weights = self.in_proj_weight.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        heads: list[Any] = []
        for x, weight, bias in zip((query, key, value), weights, biases, strict=True):
            x = x if self.batch_first else x.transpose(0, 1)
            projected = F.linear(x, weight, bias)
            heads.append(projected.reshape(*x.shape[:2], self.num_heads, -1).transpose(1, 2))
        q, k, v = heads
        causal = is_causal and attn_mask is None
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask, self.dropout if self.training else 0.0, causal)
        seen = seen.transpose(1, 2).flatten(2)
        seen = seen if self.batch_first else seen.transpose(0, 1)
        return self.out_proj(seen), None
