"""Patterns of questions whose answers differ on purpose, with the reasons.

Questions whose answers differ for none of these reasons are in learners-not-yet.txt.
"""

from __future__ import annotations

import re

_SIMULATED = "without a CUDA device, a simulated one answers"
_LAYERS = "the layer, loss or schedule is not part of minitensor"
_TYPES = "a number that the dtype cannot hold is refused, and the error names it"
_MASKS = "a mask holds bools; a tensor of bytes holds indices, and as a mask it is deprecated in PyTorch"
_OWN = "minitensor raises TypeError for a wrong type and IndexError for a missing axis, with its own messages"
_FUNCTION = "minitensor lacks the function, because a book on memory does not need it"
_DROPPED = "PyTorch has removed or deprecated the older name, and minitensor has only the newer one"
_EXACT = "the engine copies the values that the gradient needs, so the write loses none"
_BEFORE = "a write that reads its own memory reads it before it writes"
_FOLLOWED = "minitensor records a write into one of several views, which PyTorch refuses"
_MEET = "dtypes are promoted, bools count as 0 and 1, and an operand may be a number, a list or an array"
_SHAPES = "shapes that do not fit raise ValueError in every function"
_COPY = "copy_ is an in-place operation like any other: it keeps shape and dtype, and raises the version"
_NAME = "an operation has no argument `name`"
_UNUSED = "an input that needs no gradient is treated like an unused one: a RuntimeError, or the gradient None"
_LOAD = "an empty or a missing file raises ValueError"
_AGAIN = "recompute gives gradients to all tensors that its function uses, in every backward, and checks later writes"
_COUNT = "versions count the writes of a storage, so the version of a copy begins at 0"
_COUNT_MOVED = (
    "a version belongs to the storage: a tensor that gets another storage has the version of that storage, and its "
    "former views have that of the old one. In PyTorch a tensor and its views share one number, whatever their storages"
)
_OTHER_WORDS = "the error has another message, which names the function, the argument and what is allowed"
_SHAPE_SAVED = (
    "the error has the shape that was saved and the name of the write; PyTorch has the present shape, and T1 for `t_`"
)


def _these(group: str, lines: str) -> str:
    """Return a pattern that matches questions of one of Paddle's groups; ` || ` separates them in ``lines``."""
    return rf"paddle: {group}: (?:{'|'.join(map(re.escape, lines.split(' || ')))})$"


#: Patterns of questions, and the reasons; the first pattern that matches a question counts.
ON_PURPOSE: dict[str, str] = {
    r"torch: a Python type as dtype: .*dtype=('float32'|numpy.float32)": "minitensor also accepts the name of a dtype",
    r"torch: a Python type as dtype: torch.set_default_dtype": "float32 is the default dtype, always",
    r"torch: warnings: torch.set_default_tensor_type": "float32 is the default dtype, always",
    r"torch: small dtypes: torch.tensor\(\[(300|-1)\], dtype=torch.uint8\)": _TYPES,
    r"torch: small dtypes: .*bfloat16\)\.numpy\(\)": "the array has the dtype bfloat16 of ml_dtypes",
    r"torch: warnings: torch.(masked_select|where)\(.*uint8": _MASKS,
    r"torch: deep copies: (a tensor and its view|the version of a copy)": _COUNT,
    r"torch: versions: x.(resize_\(9\)|resize_\(2\)\.resize_|set_\()": _COUNT_MOVED,
    r"torch: versions: x.apply_": "apply_ writes, and every write is counted. PyTorch does not notice this one",
    r"torch: functions of tutorials: .*(fmod\(i, 0|heaviside\(x, i|einsum\(('i|x, x)|unfold\(|tile\(-1)": _OTHER_WORDS,
    r"torch: functions of tutorials: .*(ones\(2\)\)\.mean|Normal.*Bernoulli)": _OTHER_WORDS,
    r"torch: functions of tutorials: .*nanmean\(h / h": "0 / 0 is nan; NumPy warns only if the program wants it",
    r"torch: versions: z = y \* y": _SHAPE_SAVED,
    r"torch: deep copies: a shallow copy": "copy.copy returns another tensor on the same storage, as y = x[:] does",
    r"torch: warnings: .*(huber|binary_cross|LogSoftmax|lr_scheduler|RNN|Upsample|Transformer|clip_grad_norm)": _LAYERS,
    r"torch: warnings: .*(torch.range|size_average|reduce=|init.xavier_uniform|init.normal|volatile|symeig)": _DROPPED,
    r"torch: warnings: .*(add\(y, 2, y\)|add_\(2, y\)|torch.qr|torch.cross|meshgrid)": _DROPPED,
    r"torch: warnings: .*set_detect_anomaly": "the name of a module begins with minitensor",
    r"torch: warnings: float\(": "float(x) of a tensor that needs a gradient gives no warning",
    r"torch: warnings: import numpy": "an operator may combine a tensor and a NumPy array",
    r"torch: warnings: x.sum\(\).backward\(create_graph=True\)": "refused: use autograd.grad",
    r"torch: in place .*: (x \*= x|x /= x|x \*\*= x|x.mul_\(x\)|x.div_\(x\)|x.mul_\(x.detach)": _EXACT,
    r"torch: in place .*: x.(mul_\(x\[0\]|clamp_\(x\[0|index_add_|scatter_\()": _BEFORE,
    r"torch: a part of itself: ": _BEFORE,
    r"torch: in place .*(unbind|split|chunk|for row in|a, b = x;|list\(x\))": _FOLLOWED,
    r"torch: in place .*no_grad\(\): v = [xw][\[.](?!detach)": "a view made under no_grad has no history",
    r"torch: in place .*: (x.sigmoid_|x\[:\] =|x\[0\] \*=|x.addcmul_)": "the error names the write of the output",
    r"torch: in place .*x.fill_\(x\[0\]\)": "fill_ takes a number, through which no gradient flows",
    r"torch: in place .*x.set_\(": "set_ removes the history, so backward reports that nothing was recorded",
    r"torch: in place .*w.data = torch.ones\(3\)": "a leaf refuses a gradient of another shape",
    r"torch: in place .*x.real": _FUNCTION,
    r"torch: in place .*inference_mode": "inference_mode does the same as no_grad, and its tensors are ordinary ones",
    r"torch: missing names: x.foo = 1": "a tensor has no __dict__, so it refuses new attributes",
    r"torch: missing names: (torch.tensor|dir\(torch\))": "it is a Python function, and the module has other names",
    r"torch: missing names: x\['a'\]": "an index of a wrong type raises IndexError",
    r"torch: (missing names|calls): .*(cuda|gpu|accelerator)|paddle: warnings: .*(cuda|gpu)": _SIMULATED,
    r"torch: missing names: torch.device\('foo'\)": "minitensor has only the devices cpu and cuda",
    r"torch: autograd: grad outputs and a bias": "the last step of a gradient of a gradient is another operation",
    r"torch: autograd: a function called without apply": "it is refused without a previous warning",
    r"torch: autograd: anomaly": "switching anomaly detection on gives no warning",
    r"torch: calls: .*(unique_consecutive|median|mode|kthvalue|unfold|einsum|histc|cdist|linalg|backends)": _FUNCTION,
    r"torch: calls: x.bincount": "the error contains the full name of the dtype",
    r"torch: calls: F.cross_entropy\(x, torch.tensor\(\[-100, -100\]": "0 / 0 is nan, of which NumPy can warn",
    r"paddle: whole numbers: (i.var|i.scale|i.pow)": "no fraction is truncated",
    r"paddle: whole numbers: (i.norm|.*relu|.*softmax)": "integers are converted to float32, and Paddle refuses them",
    r"paddle: whole numbers: (-b|bool\(b\)|.*dtype=float)": _OWN,
    r"paddle: deep copies: not a leaf": "a deep copy would lose its history; use detach()",
    r"paddle: deep copies: (a state dict|a parameter)": "the two classes have other names",
    r"paddle: modules: (batch norm of the old kind|layer norm|dropout)": _LAYERS,
    r"paddle: modules: batch norm": "the gradient of one row is 0, and no warning is repeated in training",
    r"paddle: modules: a double input": "dtypes are promoted",
    r"paddle: modules: a wrong shape": "a state that does not fit is refused, and nothing is loaded",
    r"paddle: modules: loaded": "every write raises the version, also set_value",
    r"paddle: warnings: F.(mse_loss|l1_loss)": "a loss refuses to broadcast, because that is usually a mistake",
    r"paddle: warnings: F.cross_entropy": _OWN,
    r"paddle: warnings: paddle.optimizer": "a parameter listed twice and a negative rate are refused",
    r"paddle: warnings: (float\(y\)|int\(|bool\(y\)|if y|len\(|for i in|paddle.to_tensor|y \+ 'a')": _OWN,
    r"paddle: warnings: (y.backward|paddle.grad)|paddle: autograd: grad of": "the error says that nothing was recorded",
    r"paddle: warnings: y.add_\(1.0\)": "Python numbers are accepted",
    r"paddle: warnings: print\(paddle.flops\)|paddle: autograd: jacobian": _FUNCTION,
    r"paddle: missing names: (x.sum|x.unsqueeze|paddle.sin)|paddle: .*renorm_": _OWN,
    r"paddle: autograd: backward twice": "SystemError means a broken interpreter",
    r"paddle: Paddle's own tests: r = x.cumprod_": "one operation raises the version by 1",
    r"paddle: Paddle's own tests: .*where_": "an operand may be a number instead of a tensor of one element",
    r"paddle: Paddle's own tests: .*register_hook": "removing a hook twice gives no warning",
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
    _these("order", "b.argsort() || b.sort() || paddle.sort(x, descending=1) || b.topk(1)"): _MEET,
    _these(
        "spread",
        "x.std(2) || x.std(-3) || paddle.std([1.0, 2.0]) || paddle.std(3.0) || x.var(2) || x.var(-3) || "
        "paddle.var([1.0, 2.0]) || paddle.var(3.0) || x.norm(2, 2) || x.norm(2, -3) || x.norm(2, 'a')",
    ): _OWN,
    _these("spread", "b.std() || j.var() || b.var() || j.norm() || b.norm()"): _MEET,
    _these("spread", "paddle.linalg.norm(x)"): _FUNCTION,
    _these(
        "products", "v.dot(x) || v.dot(v[:2]) || z.dot(z) || v.dot(d) || m.reshape([1, 2, 2]).dot(m.reshape([1, 2, 2]))"
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
    _these("products", "x.add_n([x]) || paddle.add_n(x, x) || x.contiguous(1)"): _NAME,
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
    _these("gradients, copies and files", "paddle.load(1) || open(where, 'wb').close(); paddle.load(where)"): _LOAD,
    r"paddle: recompute: (print\(|r = |a, b = recompute\(lambda x, y|.*backward\(.*backward|.*scale_)": _AGAIN,
    r"paddle: operands of a wrong kind in place: [mj]\.\w+\(\[[\d., ]+\]\)": _MEET,
    r"paddle: operands of a wrong kind in place: m.logical_not_": "the dtype never changes in place",
    r"paddle: operands of a wrong kind in place: (m.copy_\(|paddle.\w+\(|.*('a'|None|\{\}|2.0|where_\(.*)\]?\)$)": _OWN,
    r"paddle: PyLayer: (mark not|input|a leaf written)": "forward declares its writes",
    r"paddle: PyLayer: backward": "a gradient has the shape and dtype of its tensor, and None means 0",
    r"paddle: PyLayer: saved and overwritten": "saved tensors are checked; Paddle's gradient is wrong",
}


def reason(question: str) -> str | None:
    """Return the reason why the answer to ``question`` differs on purpose; None if it should not differ."""
    return next((why for pattern, why in ON_PURPOSE.items() if re.match(pattern, question)), None)
