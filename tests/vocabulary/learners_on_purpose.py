"""What is answered otherwise on purpose: which questions, as a pattern of their text, and why.

A question that fits no pattern and is answered otherwise stands in learners-not-yet.txt.
"""

from __future__ import annotations

import re

_SIMULATED = "where no CUDA device is, a simulated one answers"
_LAYERS = "the layer, loss or schedule is not part of minitensor"
_TYPES = "a tensor holds float32, float64, int32, int64 or bool: one line says so"
_OWN = "an argument of the wrong type is a TypeError, an axis that is not there an IndexError, told in words of its own"
_FUNCTION = "the function is not part of minitensor: a book on memory has no use for it"
_DROPPED = "the older spelling was dropped or warns in PyTorch: the newer one is there"
_EXACT = "the engine copies or keeps what the gradient needs, so the write loses nothing"
_BEFORE = "what a write reads of its own memory is read before"
_FOLLOWED = "a write into one of several views is followed, where PyTorch refuses"
_COUNT = "versions count writes of the storage: a copy begins at 0 and shares the count with nobody else"

#: Pattern of a question, and the reason; the first that fits counts.
ON_PURPOSE: dict[str, str] = {
    r"torch: a Python type as dtype: .*dtype=('float32'|numpy.float32)": "a dtype may be given by its name, too",
    r"torch: a Python type as dtype: torch.set_default_dtype": "float32 is the default dtype, always",
    r"torch: warnings: torch.set_default_tensor_type": "float32 is the default dtype, always",
    r"torch: .*(ByteTensor|HalfTensor|uint8|float16|bfloat16|\.half\(|dtype=torch.int8|dtype=torch.int16)": _TYPES,
    r"torch: modules: double and float$": _TYPES,
    r"torch: deep copies: (a tensor and its view|the version of a copy)": _COUNT,
    r"torch: deep copies: a shallow copy": "copy.copy gives another look at the same storage, as y = x[:] does",
    r"torch: warnings: .*(huber|binary_cross|LogSoftmax|lr_scheduler|RNN|Upsample|Transformer|clip_grad_norm)": _LAYERS,
    r"torch: warnings: .*(torch.range|size_average|reduce=|init.xavier_uniform|init.normal|volatile|symeig)": _DROPPED,
    r"torch: warnings: .*(add\(y, 2, y\)|add_\(2, y\)|torch.qr|torch.cross|meshgrid)": _DROPPED,
    r"torch: warnings: .*set_detect_anomaly": "a module says whose it is",
    r"torch: warnings: float\(": "float(x) says what is wrong; a tensor that wants a gradient is converted in silence",
    r"torch: warnings: import numpy": "a tensor meets an array of NumPy in any operator",
    r"torch: warnings: x.sum\(\).backward\(create_graph=True\)": "it would tie the gradient to its leaf: autograd.grad",
    r"torch: in place .*: (x \*= x|x /= x|x \*\*= x|x.mul_\(x\)|x.div_\(x\)|x.mul_\(x.detach)": _EXACT,
    r"torch: in place .*: x.(mul_\(x\[0\]|clamp_\(x\[0|index_add_|scatter_\()": _BEFORE,
    r"torch: a part of itself: ": _BEFORE,
    r"torch: in place .*(unbind|split|chunk|for row in)": _FOLLOWED,
    r"torch: in place .*: (x.sigmoid_|x\[:\] =|x\[0\] \*=|x.addcmul_)": "the overwritten output is named by its write",
    r"torch: in place .*x.fill_\(x\[0\]\)": "fill_ takes a number: a gradient would go to a tensor",
    r"torch: in place .*x.set_\(": "set_ begins another history, and backward says that nothing was recorded",
    r"torch: in place .*w.data = torch.ones\(3\)": "the gradient of a graph of another shape has no place in the leaf",
    r"torch: in place .*x.real": _FUNCTION,
    r"torch: in place .*inference_mode": "inference_mode is no_grad: its tensors are tensors like any other",
    r"torch: missing names: x.foo = 1": "a tensor has no attributes of one's own: it has no dictionary",
    r"torch: missing names: (torch.tensor|dir\(torch\))": "a function of Python, and other names beside it",
    r"torch: missing names: x\['a'\]": "an index that is no index is an IndexError",
    r"torch: (missing names|calls): .*(cuda|gpu|accelerator)|paddle: warnings: .*(cuda|gpu)": _SIMULATED,
    r"torch: missing names: torch.device\('foo'\)": "there are two kinds of devices",
    r"torch: autograd: grad outputs and a bias": "the last step of a gradient of a gradient is another operation",
    r"torch: autograd: a function called without apply": "it is refused without a warning before",
    r"torch: autograd: anomaly": "the search is switched on in silence; what it finds is told",
    r"torch: calls: .*(unique_consecutive|median|mode|kthvalue|unfold|einsum|histc|cdist|linalg|backends)": _FUNCTION,
    r"torch: calls: x.bincount": "the dtype is named in full",
    r"torch: calls: F.cross_entropy\(x, torch.tensor\(\[-100, -100\]": "0 / 0 is nan; NumPy may warn where asked to",
    r"paddle: whole numbers: (i.var|i.scale|i.pow)": "a factor, an exponent or a mean with a fraction is not cut",
    r"paddle: whole numbers: (i.norm|.*relu|.*softmax)": "whole numbers are taken as float32 where Paddle refuses",
    r"paddle: whole numbers: (i.logsumexp|i.median|i.unique|.*one_hot)": _FUNCTION,
    r"paddle: whole numbers: (-b|bool\(b\)|.*dtype=float)": _OWN,
    r"paddle: deep copies: not a leaf": "a result would lose its history: detach() or clone() says which is meant",
    r"paddle: deep copies: (a state dict|a parameter)": "a dict is Python's, a parameter is called Parameter",
    r"paddle: modules: (batch norm of the old kind|layer norm|dropout)": _LAYERS,
    r"paddle: modules: batch norm": "the gradient of one row is 0, and training goes on without a warning each time",
    r"paddle: modules: a double input": "dtypes promote",
    r"paddle: modules: a wrong shape": "what does not fit is refused, and nothing is loaded",
    r"paddle: modules: loaded": "every write counts: set_value, too",
    r"paddle: warnings: F.(mse_loss|l1_loss)": "a loss of shapes that broadcast is refused: it is a mistake",
    r"paddle: warnings: F.cross_entropy": _OWN,
    r"paddle: warnings: paddle.optimizer": "a parameter listed twice and a negative rate are refused",
    r"paddle: warnings: (float\(y\)|int\(|bool\(y\)|if y|len\(|for i in|paddle.to_tensor|y \+ 'a')": _OWN,
    r"paddle: warnings: (y.backward|paddle.grad)|paddle: autograd: grad of": "nothing was recorded, and that is told",
    r"paddle: warnings: y.add_\(1.0\)": "Python numbers are accepted",
    r"paddle: warnings: print\(paddle.flops\)|paddle: autograd: jacobian": _FUNCTION,
    r"paddle: missing names: (x.sum|x.unsqueeze|paddle.sin)|paddle: .*renorm_": _OWN,
    r"paddle: autograd: backward twice": "SystemError is Python's word for a broken interpreter",
    r"paddle: Paddle's own tests: r = x.cumprod_": "one operation counts one write",
    r"paddle: Paddle's own tests: .*where_": "a number may stand for a tensor of one element",
    r"paddle: Paddle's own tests: .*register_hook": "a hook that is gone is removed again without a warning",
    r"paddle: PyLayer: (mark not|input|a leaf written)": "an output has memory of its own; a write is announced first",
    r"paddle: PyLayer: backward": "a gradient has the shape and dtype of its tensor; None is a gradient of 0",
    r"paddle: PyLayer: saved and overwritten": "what a layer saved is checked: Paddle's gradient is silently wrong",
}


def reason(question: str) -> str | None:
    """Why ``question`` is answered otherwise on purpose; None where it is not."""
    return next((why for pattern, why in ON_PURPOSE.items() if re.match(pattern, question)), None)
