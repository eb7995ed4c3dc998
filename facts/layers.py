"""Record in layers.json the results and gradients of PyTorch's layers and losses on numbers drawn by numpy.

    python facts/layers.py        in an environment that has PyTorch

Each case is a program with PyTorch's names. `numpy.random.default_rng(case number)` draws its inputs in the listed
shapes as float64, and another generator draws its parameters in the order of `named_parameters`, so that a test can
draw both again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

#: For each case: its name; its layer or function; and its inputs, each as a shape of floats or as a list of integers.
CASES = [
    ("conv2d", "nn.Conv2d(2, 4, 3, stride=2, padding=1)", [(2, 2, 7, 6)]),
    ("conv2d in groups", "nn.Conv2d(4, 4, (3, 2), groups=2, dilation=(1, 2), bias=False)", [(1, 4, 6, 7)]),
    ("batch norm of rows", "nn.BatchNorm1d(3)", [(5, 3)]),
    ("batch norm of images", "nn.BatchNorm2d(3)", [(2, 3, 4, 5)]),
    ("batch norm, eval", "nn.BatchNorm2d(3).eval()", [(2, 3, 4, 5)]),
    ("layer norm", "nn.LayerNorm((4, 5))", [(3, 4, 5)]),
    ("layer norm of the last", "nn.LayerNorm(5, elementwise_affine=False)", [(3, 4, 5)]),
    ("group norm", "nn.GroupNorm(2, 6)", [(2, 6, 3, 4)]),
    ("instance norm", "nn.InstanceNorm2d(3, affine=True)", [(2, 3, 4, 5)]),
    ("max pooling", "nn.MaxPool2d(2)", [(2, 3, 6, 7)]),
    ("max pooling, overlapping", "nn.MaxPool2d(3, stride=2, padding=1)", [(2, 3, 6, 7)]),
    ("average pooling", "nn.AvgPool2d(2)", [(2, 3, 6, 6)]),
    ("average pooling with padding", "nn.AvgPool2d(3, stride=2, padding=1)", [(2, 3, 6, 7)]),
    ("average pooling without padding", "nn.AvgPool2d(3, 2, 1, count_include_pad=False)", [(2, 3, 6, 7)]),
    ("adaptive pooling", "nn.AdaptiveAvgPool2d((2, 3))", [(2, 3, 5, 7)]),
    ("gelu", "nn.GELU()", [(3, 4)]),
    ("gelu by tanh", "nn.GELU(approximate='tanh')", [(3, 4)]),
    ("silu", "nn.SiLU()", [(3, 4)]),
    ("log softmax", "nn.LogSoftmax(dim=1)", [(3, 4)]),
    ("hardtanh", "nn.Hardtanh(-0.5, 0.5)", [(3, 4)]),
    ("embedding", "nn.Embedding(6, 3, padding_idx=1)", [[[0, 1, 5], [5, 2, 5]]]),
    ("rnn cell", "nn.RNNCell(3, 4)", [(2, 3), (2, 4)]),
    ("rnn", "nn.RNN(3, 4, batch_first=True)", [(2, 5, 3)]),
    ("lstm cell", "nn.LSTMCell(3, 4)", [(2, 3)]),
    ("lstm", "nn.LSTM(3, 4)", [(5, 2, 3)]),
    ("attention", "lambda q, k, v: F.scaled_dot_product_attention(q, k, v)", [(2, 3, 4), (2, 5, 4), (2, 5, 6)]),
    ("causal attention", "lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True)", [(2, 2, 4, 3)]),
    ("multi-head attention", "nn.MultiheadAttention(6, 2, batch_first=True)", [(2, 4, 6), (2, 5, 6), (2, 5, 6)]),
    ("binary cross entropy", "lambda x: nn.BCEWithLogitsLoss()(x, (x > 0.3).to(x.dtype))", [(3, 4)]),
    (
        "binary cross entropy of large logits",
        "lambda x: F.binary_cross_entropy_with_logits(x * 800, (x > 0.3).to(x.dtype), reduction='sum')",
        [(3, 4)],
    ),
    ("nll", "lambda x, t: nn.NLLLoss()(F.log_softmax(x, 1), t)", [(4, 3), [0, 2, 1, 2]]),
    ("kl", "lambda x, y: nn.KLDivLoss(reduction='batchmean')(F.log_softmax(x, 1), F.softmax(y, 1))", [(4, 3), (4, 3)]),
    ("kl of logarithms", "lambda x, y: F.kl_div(x, y, reduction='sum', log_target=True)", [(4, 3), (4, 3)]),
    ("gru cell", "nn.GRUCell(3, 4)", [(2, 3), (2, 4)]),
    ("gru", "nn.GRU(3, 4, batch_first=True)", [(2, 5, 3)]),
    ("binary cross entropy of probabilities", "lambda x, y: nn.BCELoss()(x.sigmoid(), y.sigmoid())", [(3, 4), (3, 4)]),
    (
        "binary cross entropy of certainties",
        "lambda x: F.binary_cross_entropy(x.clamp(0, 1), (x > 0.3).to(x.dtype), reduction='sum')",
        [(3, 4)],
    ),
    ("smooth l1", "lambda x, y: nn.SmoothL1Loss()(x, y)", [(3, 4), (3, 4)]),
    ("mse", "lambda x, y: nn.MSELoss()(x, y)", [(3, 4), (3, 4)]),
    ("l1", "lambda x, y: nn.L1Loss(reduction='sum')(x, y)", [(3, 4), (3, 4)]),
    ("cross entropy", "lambda x, t: nn.CrossEntropyLoss(label_smoothing=0.1)(x, t)", [(4, 3), [0, 2, 1, 2]]),
    ("silu in place", "lambda x: F.silu(x * 1, inplace=True)", [(3, 4)]),
    ("relu in place", "lambda x: nn.ReLU(inplace=True)(x * 1)", [(3, 4)]),
    ("leaky relu in place", "lambda x: nn.LeakyReLU(0.2, inplace=True)(x * 1)", [(3, 4)]),
    ("softmax", "nn.Softmax(dim=-1)", [(3, 4)]),
    ("sigmoid and tanh", "nn.Sequential(nn.Sigmoid(), nn.Tanh())", [(3, 4)]),
    (
        "masked attention",
        "lambda q, k: F.scaled_dot_product_attention(q, k, k, attn_mask=torch.ones(3, 3).tril(1) > 0)",
        [(2, 3, 4), (2, 3, 4)],
    ),
    ("unflatten", "nn.Sequential(nn.Identity(), nn.Unflatten(1, (2, -1)))", [(3, 6)]),
    ("channels in eval", "nn.Dropout2d(0.4).eval()", [(2, 3, 4, 5)]),
    ("diagonals", "lambda x: torch.diag(x, 1) + torch.trace(x) + torch.diag(torch.diag(x), -1).sum(0)[:3]", [(3, 4)]),
]


def inputs_of(number: int, shapes: list) -> list:
    """Return the inputs of a case: random floats for a shape, and integers unchanged."""
    rng = np.random.default_rng(number)
    return [rng.standard_normal(shape) if isinstance(shape, tuple) else np.array(shape) for shape in shapes]


def answer(torch, number: int) -> dict:
    """Return a library's results, the gradients of the sum of the squared results, and the layer's buffers."""
    _, source, shapes = CASES[number]
    nn = torch.nn
    layer = eval(source, {"nn": nn, "F": nn.functional, "torch": torch})
    rng = np.random.default_rng(1000 + number)
    parameters = {}
    if isinstance(layer, nn.Module):
        layer = layer.double()
        parameters = dict(layer.named_parameters())
        with torch.no_grad():
            for parameter in parameters.values():
                parameter.copy_(torch.from_numpy(rng.standard_normal(tuple(parameter.shape))))
    inputs = [torch.from_numpy(each) for each in inputs_of(number, shapes)]
    for each in inputs:
        each.requires_grad_(each.is_floating_point())
    given = [*inputs]
    out = layer(*given, need_weights=False) if "Multihead" in source else layer(*given)
    results = flat(out)
    sum((each * each).sum() for each in results).backward()
    return {
        "results": [each.detach().numpy().tolist() for each in results],
        "gradients": [each.grad.numpy().tolist() for each in inputs if each.requires_grad],
        "of parameters": {name: each.grad.numpy().tolist() for name, each in parameters.items()},
        "buffers": {name: each.numpy().tolist() for name, each in layer.named_buffers()} if parameters else {},
    }


def flat(out) -> list:
    """Return all tensors of a result, in order."""
    if isinstance(out, tuple):
        return [each for part in out for each in flat(part)]
    return [] if out is None else [out]


def main() -> None:
    import torch
    from recording import write_cases

    answers = {name: answer(torch, number) for number, (name, *_) in enumerate(CASES)}
    write_cases(Path(__file__).with_suffix(".json"), "torch", answers, digits=12)


if __name__ == "__main__":
    main()
