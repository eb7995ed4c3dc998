"""Say in one line why the backward pass of an operation needs a saved tensor."""

from __future__ import annotations

from memory_stage.messages import Text, message

#: Maps the operation of a node and the name of the saved tensor ("out" is the result) to a sentence.
_REASONS: dict[tuple[str, str], Text] = {
    ("exp", "out"): message("exp is its own derivative, so backward multiplies by the result."),
    ("sigmoid", "out"): message("The derivative of sigmoid is s * (1 - s), computed from the result s."),
    ("tanh", "out"): message("The derivative of tanh is 1 - t², computed from the result t."),
    ("relu", "out"): message("The gradient passes where the result is positive, so backward reads the result."),
    ("sqrt", "out"): message("The derivative of sqrt is 1 / (2 * r), computed from the result r."),
    ("softmax", "out"): message("The gradient of softmax is s * (g - sum(s * g)), computed from the result s."),
    ("log_softmax", "out"): message("The gradient of log_softmax is g - exp(r) * sum(g), computed from the result r."),
    ("reciprocal", "out"): message("The derivative of 1 / x is -r², computed from the result r."),
    ("mul", "self"): message("The gradient of the other factor is this factor times the gradient."),
    ("mul", "other"): message("The gradient of the first factor is this factor times the gradient."),
    ("div", "self"): message("The gradient of the divisor is computed from both operands."),
    ("div", "other"): message("The gradient of the dividend is divided by this divisor."),
    ("pow", "self"): message("The derivative of x ** n is n * x ** (n - 1), computed from x."),
    ("mm", "self"): message("The gradient of the second matrix is the first one, transposed, @ the gradient."),
    ("mm", "mat2"): message("The gradient of the first matrix is the gradient @ the second one, transposed."),
    ("addmm", "mat1"): message("The gradient of a layer's weight is computed from the layer's input."),
    ("addmm", "mat2"): message("The gradient of a layer's input is the gradient @ the weight."),
    ("linear", "input"): message("The gradient of a layer's weight is computed from the layer's input."),
    ("linear", "weight"): message("The gradient of a layer's input is the gradient @ the weight."),
    ("bmm", "self"): message("The gradient of the second factor is computed from the first."),
    ("bmm", "mat2"): message("The gradient of the first factor is computed from the second."),
    ("convolution", "input"): message("The gradient of a convolution's weight is computed from its input."),
    ("convolution", "weight"): message("The gradient of a convolution's input is computed from its weight."),
    ("embedding", "indices"): message("The gradient of an embedding goes to the rows that the indices name."),
    ("index", "indices"): message("The gradient goes back to the cells that the index named."),
    ("where", "condition"): message("The condition decides which operand gets the gradient."),
    ("log", "self"): message("The derivative of log is 1 / x, computed from x."),
    ("sin", "self"): message("The derivative of sin is cos(x), computed from x."),
    ("cos", "self"): message("The derivative of cos is -sin(x), computed from x."),
    ("abs", "self"): message("The derivative of abs is the sign of x."),
    ("gelu", "self"): message("The derivative of gelu is computed from its input."),
    ("silu", "self"): message("The derivative of silu is computed from its input."),
    ("leaky_relu", "self"): message("The slope depends on the sign of the input."),
    ("leaky_relu", "out"): message("The slope depends on the sign of the result."),
    ("clamp", "self"): message("The gradient passes where the input is between the limits."),
    ("native_layer_norm", "input"): message("The gradient of a normalization is computed from its input."),
    ("square", "self"): message("The derivative of x² is 2 * x, computed from x."),
    ("cross_entropy", "out"): message("The derivative of cross entropy is computed from the softmax that it made."),
    ("native_batch_norm", "input"): message("The gradient of a normalization is computed from its input."),
}

#: Maps the name of a node to the name of its operation in ``_REASONS``, if the two names differ.
_ALIASES = {"_softmax": "softmax", "_log_softmax": "log_softmax", "t_mm": "mm", "cudnn_convolution": "convolution"}


#: Maps operations of Paddle to their names in the table and the names of their arguments there.
_PADDLE_NAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "multiply": ("mul", ("self", "other")),
    "divide": ("div", ("self", "other")),
    "matmul": ("mm", ("self", "mat2")),
    "linear": ("linear", ("input", "weight")),
    "conv2d": ("convolution", ("input", "weight")),
    "layer_norm": ("native_layer_norm", ("input",)),
    "where": ("where", ("condition",)),
    "cross_entropy_with_softmax": ("cross_entropy", ("softmax",)),
}


def names_in_table(operation: str, role: str) -> tuple[str, str]:
    """Return the names by which :func:`reason` knows an operation of Paddle and the tensor that it saved.

    Args:
        operation: the function of Paddle, such as ``multiply``.
        role: the saved tensor as ``memory_stage.engines.paddle.saved_table`` names it, such as ``in 0`` or ``out 0``.
    """
    name, arguments = _PADDLE_NAMES.get(operation.removesuffix("_"), (operation.removesuffix("_"), ("self", "other")))
    kind, _, path = role.partition(" ")
    if kind == "out":
        return name, "out"
    number = path.partition(".")[0]
    is_known = number.isdigit() and int(number) < len(arguments)
    return name, arguments[int(number)] if is_known else f"input {path}"


def is_known(operation: str, attribute: str) -> bool:
    """Return True if the derivative of an operation is known to read the numbers of a saved tensor."""
    return (_ALIASES.get(operation, operation), attribute.partition("[")[0]) in _REASONS


def reason(operation: str, attribute: str) -> Text:
    """Return the reason why an operation's backward needs a saved tensor.

    Args:
        operation: the name of the operation, such as ``mul``.
        attribute: the name by which its node keeps the tensor; "out" for the result.
    """
    name = _ALIASES.get(operation, operation)
    attribute = attribute.partition("[")[0]
    known = _REASONS.get((name, attribute))
    if known is not None:
        return known
    if attribute == "out":
        return message("The derivative of `{operation}` is computed from its result.", operation=operation)
    return message("The derivative of `{operation}` is computed from a tensor that it saved.", operation=operation)


def is_read(operation: str, attribute: str, node: object) -> bool:
    """Return False for a saved tensor that backward() does not read: running statistics in training, a norm's bias."""
    if operation in ("native_batch_norm", "cudnn_batch_norm", "batch_norm") and attribute.startswith("running_"):
        return not getattr(node, "_saved_training", True)
    return not (attribute == "bias" and operation.endswith("_norm"))
