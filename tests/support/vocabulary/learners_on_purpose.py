"""Patterns of questions whose answers differ on purpose, with the reasons.

learners-not-yet.txt lists the other questions whose answers differ.
"""

from __future__ import annotations

import re

_SIMULATED = "where no CUDA device is, a simulated one answers"
_LAYERS = "the layer, loss or schedule is not part of minitensor"
_TYPES = "a number that the dtype cannot hold is refused, and the error names it"
_MASKS = "a mask holds bools: tensors of bytes, which PyTorch deprecates, only index"
_OWN = "an argument of the wrong type is a TypeError, an axis that is not there an IndexError, told in words of its own"
_FUNCTION = "the function is not part of minitensor: a book on memory has no use for it"
_DROPPED = "the older spelling was dropped or warns in PyTorch: the newer one is there"
_EXACT = "the engine copies or keeps what the gradient needs, so the write loses nothing"
_BEFORE = "what a write reads of its own memory is read before"
_FOLLOWED = "a write into one of several views is followed, where PyTorch refuses"
_MEET = "dtypes meet in one, bools count as 0 and 1, and a number, a list or an array may stand for a tensor"
_SHAPES = "shapes that do not fit are a ValueError, whatever refuses them"
_COPY = (
    "copy_ is an operation in place like any other: it returns its tensor, keeps its shape and dtype, and is counted"
)
_NAME = "an operation takes no name for its result"
_UNUSED = "what the outputs do not depend on, and what wants no gradient, is told in one way: a RuntimeError, or None"
_LOAD = "a file that holds nothing, or no file, is a ValueError"
_AGAIN = "recompute reaches all that its function uses, as often as backward runs, and checks that it was not written"
_COUNT = "versions count writes of the storage: a copy begins at 0 and shares the count with nobody else"
_COUNT_MOVED = (
    "a version belongs to the storage: a tensor that gets another storage has that one's version, and its former views "
    "keep theirs. In PyTorch the views of a tensor share one number, whatever their storages are"
)
_SHAPE_SAVED = (
    "the error has the shape that was saved and the name of the write; PyTorch has the present shape, and T1 for `t_`"
)


def _these(group: str, lines: str) -> str:
    """Return the pattern of the questions of one of Paddle's groups, divided by ` || `."""
    return rf"paddle: {group}: (?:{'|'.join(map(re.escape, lines.split(' || ')))})$"


#: Pattern of a question, and the reason; the first that matches counts.
ON_PURPOSE: dict[str, str] = {
    r"torch: a Python type as dtype: .*dtype=('float32'|numpy.float32)": "a dtype may be given by its name, too",
    r"torch: a Python type as dtype: torch.set_default_dtype": "float32 is the default dtype, always",
    r"torch: warnings: torch.set_default_tensor_type": "float32 is the default dtype, always",
    r"torch: small dtypes: torch.tensor\(\[(300|-1)\], dtype=torch.uint8\)": _TYPES,
    r"torch: small dtypes: .*bfloat16\)\.numpy\(\)": "the array has the dtype bfloat16 of ml_dtypes",
    r"torch: warnings: torch.(masked_select|where)\(.*uint8": _MASKS,
    r"torch: deep copies: (a tensor and its view|the version of a copy)": _COUNT,
    r"torch: versions: x.(resize_\(9\)|resize_\(2\)\.resize_|set_\()": _COUNT_MOVED,
    r"torch: versions: x.apply_": "apply_ writes, and every write is counted. PyTorch does not notice this one",
    r"torch: versions: z = y \* y": _SHAPE_SAVED,
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
    r"torch: in place .*(unbind|split|chunk|for row in|a, b = x;|list\(x\))": _FOLLOWED,
    r"torch: in place .*no_grad\(\): v = [xw][\[.](?!detach)": "a view made under no_grad has no history",
    r"torch: in place .*: (x.sigmoid_|x\[:\] =|x\[0\] \*=|x.addcmul_)": "the overwritten output is named by its write",
    r"torch: in place .*x.fill_\(x\[0\]\)": "fill_ takes a number: a gradient would go to a tensor",
    r"torch: in place .*x.set_\(": "set_ begins another history, and backward says that nothing was recorded",
    r"torch: in place .*w.data = torch.ones\(3\)": "the gradient of a graph of another shape has no place in the leaf",
    r"torch: in place .*x.real": _FUNCTION,
    r"torch: in place .*inference_mode": "inference_mode is no_grad: its tensors are tensors like any other",
    r"torch: missing names: x.foo = 1": "a tensor has no attributes of one's own: it has no dictionary",
    r"torch: missing names: (torch.tensor|dir\(torch\))": "a function of Python, and other names beside it",
    r"torch: missing names: x\['a'\]": "an index that is not an index is an IndexError",
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
    _these(
        "bits",
        "i & j || i & 1 || i & True || b & True || b & 1 || b & i || i & b || b | 1 || b ^ True || i & [1, 1,"
        " 1] || i & numpy.array([1, 1, 1]) || i &= 1; i || paddle.bitwise_and(i, 1) || paddle.bitwise_xor(i, "
        "j) || i.bitwise_and_(j) || i.bitwise_and_(1)",
    ): _MEET,
    _these(
        "bits",
        "i & 1.0 || i & x || x & x || x | x || x ^ x || ~x || i & 'a' || i & None || z & z || ~z || e & e || "
        "paddle.bitwise_and(x, x) || paddle.bitwise_not(x) || x.bitwise_not_()",
    ): _OWN,
    _these(
        "order",
        "x.argsort(2) || x.argsort(-3) || z.argsort(1) || paddle.argsort([3, 1]) || paddle.argsort(1.0) || "
        "x.sort(2) || x.sort(-3) || paddle.sort([3, 1]) || x.topk(1, 2) || x.topk(1, -3) || x.topk(1.0) || "
        "x.topk('a') || paddle.topk([3, 1], 1)",
    ): _OWN,
    _these(
        "order",
        "b.argsort() || b.sort() || paddle.sort(x, descending=1) || b.topk(1)",
    ): _MEET,
    _these(
        "spread",
        "x.std(2) || x.std(-3) || paddle.std([1.0, 2.0]) || paddle.std(3.0) || x.var(2) || x.var(-3) || "
        "paddle.var([1.0, 2.0]) || paddle.var(3.0) || x.norm(2, 2) || x.norm(2, -3) || x.norm(2, 'a')",
    ): _OWN,
    _these(
        "spread",
        "b.std() || j.var() || b.var() || j.norm() || b.norm()",
    ): _MEET,
    _these(
        "spread",
        "paddle.linalg.norm(x)",
    ): _FUNCTION,
    _these(
        "products",
        "v.dot(x) || v.dot(v[:2]) || z.dot(z) || v.dot(d) || m.reshape([1, 2, 2]).dot(m.reshape([1, 2, 2]))",
    ): _SHAPES,
    _these(
        "products",
        "v.dot(2.0) || v.dot('a') || v.dot(None) || v.dot([1.0, 2.0, 3.0]) || paddle.dot([1.0], [2.0]) || "
        "m.mm('a') || m.mm(None) || m.reshape([1, 2, 2]).bmm(2.0) || m.reshape([1, 2, 2]).bmm('a') || "
        "m.reshape([1, 2, 2]).bmm(None) || paddle.add_n([x, 1.0]) || paddle.add_n([1.0, 2.0]) || "
        "paddle.add_n(1.0) || paddle.add_n('a') || paddle.add_n(None) || paddle.add_n([x, None])",
    ): _OWN,
    _these(
        "products",
        "d.dot(w) || b.dot(b) || i[0].dot(j) || m.mm([[1.0, 2.0], [3.0, 4.0]]) || m.mm(m.astype('float64')) "
        "|| b.mm(b) || paddle.bmm(paddle.ones([1, 1, 2], dtype='int64'), paddle.ones([1, 2, 1], "
        "dtype='int64')) || paddle.bmm(paddle.ones([1, 1, 2], dtype='float64'), paddle.ones([1, 2, 1])) || "
        "paddle.add_n([x, i]) || paddle.add_n([b, b]) || paddle.add_n([d, w])",
    ): _MEET,
    _these(
        "products",
        "x.add_n([x]) || paddle.add_n(x, x) || x.contiguous(1)",
    ): _NAME,
    _these(
        "gradients, copies and files",
        "paddle.grad((w * u).sum(), [w, u], no_grad_vars=[u]) || h = w * 2; print(paddle.grad(h.sum(), w, "
        "no_grad_vars=[h])) || h = w * 2; print(paddle.grad(h.sum(), w, no_grad_vars=[h], allow_unused=True))"
        " || paddle.grad(w * u, w, [u, u]) || paddle.grad((w * u).sum(), x)",
    ): _UNUSED,
    _these(
        "gradients, copies and files",
        "paddle.grad((w * u).sum(), 1.0) || paddle.grad(1.0, w) || paddle.grad((w * u).sum(), 'a') || "
        "paddle.grad((w * u).sum(), w, grad_outputs=1.0) || paddle.save(lambda: 1, where)",
    ): _OWN,
    _these(
        "gradients, copies and files",
        "r = m.copy_(m * 2, True); print(r is m, m, m.inplace_version) || r = m.copy_(m * 2, False); print(r "
        "is m, m, m.inplace_version) || m.copy_(x, True); m || m.copy_(v, True) || m.copy_(z, True); m || "
        "m.copy_(1.0, True) || m.copy_('a', True) || m.copy_(None, True) || m.copy_([1.0], True) || m.copy_()"
        " || m.copy_(m.astype('float64') * 2, True); m || m.copy_(paddle.ones([2, 2], dtype='int64'), True); "
        "m || w.copy_(u, True) || w.copy_(u, True); w || y = w * 1; y.copy_(u, True); y.sum().backward(); "
        "print(w.grad, u.grad) || m.copy_(m * 2, 'a') || m.copy_(numpy.ones([2, 2]), True)",
    ): _COPY,
    _these(
        "gradients, copies and files",
        "paddle.load(1) || open(where, 'wb').close(); paddle.load(where)",
    ): _LOAD,
    r"paddle: recompute: (print\(|r = |a, b = recompute\(lambda x, y|.*backward\(.*backward|.*scale_)": _AGAIN,
    r"paddle: operands of a wrong kind in place: [mj]\.\w+\(\[[\d., ]+\]\)": _MEET,
    r"paddle: operands of a wrong kind in place: m.logical_not_": "the dtype never changes in place",
    r"paddle: operands of a wrong kind in place: (m.copy_\(|paddle.\w+\(|.*('a'|None|\{\}|2.0|where_\(.*)\]?\)$)": _OWN,
    r"paddle: PyLayer: (mark not|input|a leaf written)": "an output has memory of its own; a write is announced first",
    r"paddle: PyLayer: backward": "a gradient has the shape and dtype of its tensor; None is a gradient of 0",
    r"paddle: PyLayer: saved and overwritten": "what a layer saved is checked: Paddle's gradient is silently wrong",
}


def reason(question: str) -> str | None:
    """Return the reason why the answer to ``question`` differs on purpose, or None."""
    return next((why for pattern, why in ON_PURPOSE.items() if re.match(pattern, question)), None)
