"""Errors for missing names, with the nearest existing name.

An error is created only after a look-up has failed, so this does not slow down access to existing names.
"""

from __future__ import annotations

from collections.abc import Iterable


def left_out_layers(d: str, attention: str) -> dict[str, str]:
    """Return the functions and layers that minitensor deliberately lacks, each with the reason or an alternative.

    Args:
        d: the last letter of names such as ``Conv1D`` in this framework: "D" in Paddle, "d" in PyTorch.
        attention: the framework's name of the layer with several attention heads.
    """
    of_one_dimension = ("conv1d", f"Conv1{d}", "max_pool1d", f"MaxPool1{d}", "avg_pool1d", f"AvgPool1{d}")
    transformers = ("", "Encoder", "EncoderLayer", "Decoder", "DecoderLayer")
    return {
        **dict.fromkeys(
            of_one_dimension, "use the function or layer of two dimensions on x.unsqueeze(2), whose height is 1"
        ),
        **dict.fromkeys(("conv3d", f"Conv3{d}", f"BatchNorm3{d}"), "images have two dimensions here"),
        **{f"Transformer{part}": f"build it from nn.{attention}, nn.LayerNorm and nn.Linear" for part in transformers},
    }


#: Names that both frameworks have and minitensor deliberately lacks, each with the reason or an alternative.
LEFT_OUT_OF_BOTH = {
    "jit": "nothing is compiled: every operation runs when it is called",
    "DataParallel": "there is one GPU; minitensor.distributed has processes that exchange tensors",
}
#: Names of Paddle that minitensor deliberately lacks, each with the reason or an alternative.
NOT_HERE: dict[str, str] = {
    "fluid": "it was Paddle's first interface, which Paddle itself has removed",
    **LEFT_OUT_OF_BOTH,
    **left_out_layers("D", "MultiHeadAttention"),
    **dict.fromkeys(("Model", "callbacks"), "write the loop over epochs and batches yourself"),
    "summary": "print(layer) shows its layers, and layer.named_parameters() has the parameters",
    "flops": "no function counts arithmetic operations",
    "metric": "compute it from tensors: (scores.argmax(1) == labels).astype('float32').mean()",
    **dict.fromkeys(("fft", "signal", "sparse", "complex", "real", "imag"), "tensors are dense and hold real numbers"),
    **dict.fromkeys(("hub", "onnx", "text", "incubate"), "it is not a part of Paddle that this book needs"),
    "linalg": "there are matmul, einsum, norm and inner, and no decompositions of matrices",
    # Tutorials use the names below, and minitensor lacks them. facts/tutorial-names.json counts such names.
    "shape": "a tensor has it: x.shape",
    "standard_normal": "paddle.randn(shape) draws the same numbers",
    "square_error_cost": "paddle.square(input - label) is the cost of each element",
    **dict.fromkeys(
        ("cross", "det", "inverse", "cholesky", "kron"),
        "there are matmul, einsum, norm and inner, and no decompositions of matrices",
    ),
    **dict.fromkeys(
        ("set_default_dtype", "get_default_dtype"),
        "float32 is the default; pass another when you make a tensor: paddle.ones([2], dtype=...)",
    ),
    **dict.fromkeys(("Adagrad", "Adadelta", "Adamax", "Lamb"), "there are SGD, Momentum, Adam, AdamW and RMSProp"),
    **dict.fromkeys(("regularizer", "L2Decay", "L1Decay"), "an optimizer's weight_decay is a number: the L2 penalty"),
    **dict.fromkeys(("pad", "Pad2D"), "paddle.concat joins a border to a tensor; conv2d and pooling have padding"),
    **dict.fromkeys(
        ("interpolate", "Upsample", "UpsamplingBilinear2D"),
        "x.repeat_interleave(2, 2).repeat_interleave(2, 3) enlarges images by a whole factor",
    ),
    **dict.fromkeys(
        ("LayerDict", "ParameterList"), "add_sublayer(name, layer) and add_parameter(name, parameter) register any name"
    ),
    **dict.fromkeys(
        ("datasets", "models"),
        "minitensor downloads nothing: read files with io.Dataset, and write a network of a few layers",
    ),
    **dict.fromkeys(
        ("Compose", "Normalize", "ToTensor", "Resize", "Transpose", "RandomHorizontalFlip"),
        "vision.transforms has functions for tensors: crop, hflip, normalize and others",
    ),
    **dict.fromkeys(
        ("spawn", "ParallelEnv", "DistributedBatchSampler"),
        "start the ranks with mpiexec; each calls distributed.init_parallel_env() and reads its own part of the data",
    ),
    "decorate": "there is no level O2: amp.auto_cast casts the operands of each operation, and parameters stay float32",
    "static": "there is no static graph: every operation runs when it is called",
}


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for ``name``, which ``module`` lacks. ``known`` are the names that the module has."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__"):  # Python itself looks up such names, so they get no hint
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
