"""Errors for missing names, with the nearest existing name. They are created only after a look-up has failed, so
existing names are as fast as before.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Names of Paddle that are missing on purpose, with the reason or an alternative.
NOT_HERE: dict[str, str] = {
    "fluid": "it was Paddle's first interface, and was removed from Paddle, too",
    "jit": "nothing is compiled: every operation runs when it is called",
    **dict.fromkeys(("Model", "callbacks"), "write the loop over epochs and batches yourself"),
    "summary": "print(layer) shows its layers, and layer.named_parameters() has the parameters",
    "flops": "no function counts arithmetic operations",
    "metric": "compute it from tensors: (scores.argmax(1) == labels).astype('float32').mean()",
    **dict.fromkeys(("fft", "signal", "sparse", "complex", "real", "imag"), "tensors are dense and hold real numbers"),
    **dict.fromkeys(("hub", "onnx", "text", "incubate"), "it is not a part of Paddle that this book needs"),
    "linalg": "there are matmul, einsum, norm and inner, and no decompositions of matrices",
    "DataParallel": "there is one GPU; minitensor.distributed has processes that exchange tensors",
    **dict.fromkeys(
        ("conv1d", "Conv1D", "max_pool1d", "MaxPool1D", "avg_pool1d", "AvgPool1D"),
        "use the function or layer of two dimensions on x.unsqueeze(2), whose height is 1",
    ),
    **dict.fromkeys(("conv3d", "Conv3D", "BatchNorm3D"), "images have two dimensions here"),
    **dict.fromkeys(
        (
            "Transformer",
            "TransformerEncoder",
            "TransformerEncoderLayer",
            "TransformerDecoder",
            "TransformerDecoderLayer",
        ),
        "build it from nn.MultiHeadAttention, nn.LayerNorm and nn.Linear",
    ),
    "static": "there is no static graph: every operation runs when it is called",
}


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for ``name``, which is not among the names ``known`` of ``module``."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__"):  # Python looks these names up
        return AttributeError(text, name=name)
    return AttributeError(text + _hint(name, known), name=name)


def _hint(name: str, known: Iterable[str]) -> str:
    from minitensor.engine.core.tensor import Tensor
    from minitensor.paddle.nearest import like_it, twin_of

    if name in NOT_HERE:
        return f": {NOT_HERE[name]}"
    public = set(known)
    for each in (name, twin_of(name)):
        if each not in public and hasattr(Tensor, each):
            return f"; tensors have it, as `x.{each}`"
    return like_it(name, public)
