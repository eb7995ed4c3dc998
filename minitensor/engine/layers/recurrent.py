"""Single steps of recurrent networks, and a run over a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.engine.layers.linear import linear
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.views.joining import stack

#: The parameters of a cell: the weights of the input and of the state, in the layout of ``linear``, and the two biases.
Weights = tuple[Any, Any, Any, Any]


def rnn_step(x: Any, state: Any, weights: Weights, activation: str = "tanh") -> Any:
    """Return the new state ``activation(x @ w + b + state @ u + c)``, shape [rows, size] (Elman 1990)."""
    w, u, b, c = weights
    return FUNCTIONS[activation](linear(x, w, b) + linear(state, u, c))


def lstm_step(x: Any, state: tuple[Any, Any], weights: Weights) -> tuple[Any, Any]:
    """Return the new output and cell of a long short-term memory (Hochreiter and Schmidhuber 1997).

    The weights contain the four gates side by side, in the order of Paddle and PyTorch: input, forget, candidate,
    output.
    """
    output, cell = state
    w, u, b, c = weights
    gates = linear(x, w, b) + linear(output, u, c)
    size = cell.shape[-1]
    sigmoid, tanh = FUNCTIONS["sigmoid"], FUNCTIONS["tanh"]
    input_gate, forget_gate, candidate, output_gate = (gates[:, i * size : (i + 1) * size] for i in range(4))
    cell = sigmoid(forget_gate) * cell + sigmoid(input_gate) * tanh(candidate)
    return sigmoid(output_gate) * tanh(cell), cell


def gru_step(x: Any, state: Any, weights: Weights) -> Any:
    """Return the new state of a gated recurrent unit (Cho et al. 2014).

    The reset gate multiplies the product of the state and its weights, not the state.

    The weights contain the three gates side by side, in the order of Paddle and PyTorch: reset, update, candidate.
    """
    w, u, b, c = weights
    of_input, of_state = linear(x, w, b), linear(state, u, c)
    size = state.shape[-1]
    sigmoid, tanh = FUNCTIONS["sigmoid"], FUNCTIONS["tanh"]
    (reset_x, update_x, new_x), (reset_h, update_h, new_h) = (
        [gates[:, i * size : (i + 1) * size] for i in range(3)] for gates in (of_input, of_state)
    )
    update = sigmoid(update_x + update_h)
    candidate = tanh(new_x + sigmoid(reset_x + reset_h) * new_h)
    return candidate + update * (state - candidate)


def run(step: Callable[[Any, Any], Any], sequence: Any, state: Any) -> tuple[Any, Any]:
    """Run ``step`` over ``sequence`` [rows, time, ...]; return all outputs [rows, time, ...] and the last state.

    The output of a step is the new state, or the first tensor of the new state if the state is a tuple.
    """
    outputs = []
    for t in range(sequence.shape[1]):
        state = step(sequence[:, t], state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return stack(outputs, 1), state
