"""Compare results and gradients of layers and losses in both vocabularies with PyTorch's record."""

from __future__ import annotations

import json

import numpy as np
import pytest

import minitensor as paddle
from facts.layers import CASES, answer, inputs_of
from minitensor import nn, torch
from minitensor.nn import functional as F
from tools.build import ROOT

RECORD = json.loads((ROOT / "facts" / "layers.json").read_text(encoding="utf-8"))["answers"]
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def compare(found, recorded):
    assert len(found) == len(recorded)
    for one, other in zip(found, recorded, strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[name for name, *_ in CASES])
def test_a_layer_agrees_with_the_record_of_pytorch(number):
    found, recorded = answer(torch, number), RECORD[CASES[number][0]]
    for what in ("results", "gradients"):
        compare(found[what], recorded[what])
    for what in ("of parameters", "buffers"):
        assert list(found[what]) == list(recorded[what])
        compare(found[what].values(), recorded[what].values())


def by_name(name):
    number = next(number for number, (each, *_) in enumerate(CASES) if each == name)
    return inputs_of(number, CASES[number][2]), RECORD[name]


#: PyTorch's recorded questions, each with the layer of Paddle's vocabulary. Layers with parameters are below.
IN_PADDLE = {
    "layer norm of the last": lambda x: F.layer_norm(x, 5),
    "max pooling": nn.MaxPool2D(2),
    "max pooling, overlapping": nn.MaxPool2D(3, 2, 1),
    "average pooling": nn.AvgPool2D(2),
    "average pooling with padding": nn.AvgPool2D(3, 2, 1, exclusive=False),
    "average pooling without padding": nn.AvgPool2D(3, 2, 1),
    "adaptive pooling": nn.AdaptiveAvgPool2D((2, 3)),
    "gelu": nn.GELU(),
    "gelu by tanh": nn.GELU(approximate=True),
    "silu": nn.Silu(),
    "log softmax": nn.LogSoftmax(axis=1),
    "hardtanh": nn.Hardtanh(-0.5, 0.5),
    "nll": lambda x, t: nn.NLLLoss()(F.log_softmax(x, 1), t),
    "kl": lambda x, y: nn.KLDivLoss(reduction="batchmean")(F.log_softmax(x, 1), F.softmax(y, 1)),
    "kl of logarithms": lambda x, y: F.kl_div(x, y, reduction="sum", log_target=True),
    "binary cross entropy of probabilities": lambda x, y: nn.BCELoss()(F.sigmoid(x), F.sigmoid(y)),
    "binary cross entropy of certainties": lambda x: F.binary_cross_entropy(
        x.clip(0, 1), (x.detach() > 0.3).astype("float64"), reduction="sum"
    ),
    "smooth l1": nn.SmoothL1Loss(),
    "mse": nn.MSELoss(),
    "l1": nn.L1Loss(reduction="sum"),
    "silu in place": lambda x: nn.Silu(inplace=True)(x * 1.0),
    "relu in place": lambda x: nn.ReLU(inplace=True)(x * 1.0),
    "leaky relu in place": lambda x: nn.LeakyReLU(0.2, inplace=True)(x * 1.0),
    "softmax": nn.Softmax(inplace=False),
    "sigmoid and tanh": lambda x: nn.Sequential(nn.Sigmoid(inplace=True), nn.Tanh())(x * 1.0),
    "binary cross entropy": lambda x: nn.BCEWithLogitsLoss()(x, (x.detach() > 0.3).astype("float64")),
}


@pytest.mark.parametrize("name", IN_PADDLE)
def test_a_layer_of_paddles_vocabulary_agrees_with_the_record_of_pytorch(name, device):
    inputs, recorded = by_name(name)
    given = [paddle.to_tensor(each, stop_gradient=each.dtype.kind != "f") for each in inputs]
    out = IN_PADDLE[name](*given)
    (out * out).sum().backward()
    compare([out.numpy()], recorded["results"])
    compare([each.grad.numpy() for each in given if not each.stop_gradient], recorded["gradients"])


#: Layers with parameters: a function that makes Paddle's layer, and Paddle's names of parameters that differ.
WITH_PARAMETERS = {
    "conv2d": (lambda: nn.Conv2D(2, 4, 3, stride=2, padding=1), {}),
    "conv2d in groups": (lambda: nn.Conv2D(4, 4, (3, 2), groups=2, dilation=(1, 2), bias_attr=False), {}),
    "layer norm": (lambda: nn.LayerNorm([4, 5]), {}),
    "group norm": (lambda: nn.GroupNorm(2, 6), {}),
    "instance norm": (lambda: nn.InstanceNorm2D(3), {"weight": "scale"}),
    "embedding": (lambda: nn.Embedding(6, 3, padding_idx=1), {}),
    "lstm cell": (lambda: nn.LSTMCell(3, 4), {}),
    "gru cell": (lambda: nn.GRUCell(3, 4), {}),
    "rnn cell": (lambda: nn.SimpleRNNCell(3, 4), {}),
}


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_layer_with_parameters_of_paddles_vocabulary_agrees_with_the_record_of_pytorch(name, device):
    inputs, recorded = by_name(name)
    make, other_names = WITH_PARAMETERS[name]
    number = next(number for number, (each, *_) in enumerate(CASES) if each == name)
    rng = np.random.default_rng(1000 + number)
    layer = make().astype("float64") if hasattr(nn.Layer, "astype") else make()
    parameters = {}
    for theirs, gradient in recorded["of parameters"].items():
        own = other_names.get(theirs, theirs)
        parameters[theirs] = layer.create_parameter(np.shape(gradient), dtype="float64")
        parameters[theirs].set_value(rng.standard_normal(np.shape(gradient)))
        setattr(layer, own, parameters[theirs])
    given = [paddle.to_tensor(each, stop_gradient=each.dtype.kind != "f") for each in inputs]
    if name == "lstm cell":
        zero = paddle.zeros([2, 4], dtype="float64")
        out, (_, cell) = layer(*given, (zero, zero))
        results = [out, cell]
    elif name in ("gru cell", "rnn cell"):
        results = [layer(*given)[0]]
    else:
        results = [layer(*given)]
    sum((each * each).sum() for each in results).backward()
    compare([each.numpy() for each in results], recorded["results"])
    compare([each.grad.numpy() for each in given if not each.stop_gradient], recorded["gradients"])
    for theirs, gradient in recorded["of parameters"].items():
        np.testing.assert_allclose(parameters[theirs].grad.numpy(), gradient, **CLOSE)


@pytest.mark.parametrize(
    ("kind", "cell"), [(nn.GRU, "GRUCell"), (nn.SimpleRNN, "SimpleRNNCell"), (nn.LSTM, "LSTMCell")]
)
def test_a_recurrent_layer_applies_its_cell_to_each_step_of_the_sequence(kind, cell):
    layer, x = kind(3, 4), paddle.randn([2, 5, 3])
    assert type(layer.cell).__name__ == cell
    outputs, _ = layer(x)
    state, steps = None, []
    for t in range(5):
        out, state = layer.cell(x[:, t], state)
        steps.append(out.numpy())
    np.testing.assert_allclose(outputs.numpy(), np.stack(steps, 1), rtol=1e-6)
    with pytest.raises(ValueError, match="num_layers must be 1"):
        kind(3, 4, num_layers=2)


@pytest.mark.parametrize("make", [nn.ReLU, nn.ReLU6, nn.Sigmoid, nn.Tanh, nn.LeakyReLU, nn.ELU, nn.Hardtanh, nn.Softmax,
                                  nn.Silu, nn.Dropout, nn.ThresholdedReLU])  # fmt: skip
def test_a_layer_with_inplace_true_computes_the_same_and_overwrites_its_input(make, device):
    start = np.random.default_rng(3).normal(size=(4, 5)).astype("float32")
    found = []
    for inplace in (False, True):
        paddle.seed(1)
        leaf = paddle.to_tensor(start, stop_gradient=False)
        x = leaf * 1.0
        y = make(inplace=inplace)(x)
        assert (y is x) == inplace and x.inplace_version == int(inplace)
        (y * y).sum().backward()
        found.append((y.tolist(), leaf.grad.tolist()))
    assert found[0] == found[1]
    assert "inplace=True" in repr(make(inplace=True)) and "inplace" not in repr(make())
