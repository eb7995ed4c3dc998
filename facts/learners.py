"""Record in learners.json the answers of PyTorch and Paddle to programs of learners: numbers, warnings, refusals.

python facts/learners.py torch      in an environment that has torch
python facts/learners.py paddle

An answer is the output of the program, the type and the text of its error, and its warnings.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from recording import Questions, apart, printed, write

NO_EXPRESSIONS: list[str] = []


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Run the program in a separate process. Return its text and its answer."""
    module = importlib.import_module(library)
    answer = apart(lambda: printed(program, {library: module}))
    answer.pop("line", None)
    return {"program": program, **answer}


def of(library: str, group: str, start: str, *lines: str) -> Questions:
    """Return one question for each expression or line. The value of an expression is printed."""
    return {f"{group}: {line}": ({library: start + shown(line)}, NO_EXPRESSIONS) for line in lines}


def shown(line: str) -> str:
    """Return the line; if it is an expression, the line prints its value."""
    before, separator, last = line.rpartition("; ")
    try:
        compile(last, "line", "eval")
    except SyntaxError:
        return line
    return line if last.startswith("print(") else f"{before}{separator}print({last})"


def both(group: str, **programs: tuple[str | None, str | None]) -> Questions:
    """Return a question for each name. The pair of a name has PyTorch's program and Paddle's; None if there is none."""
    return {
        f"{group}: {name.replace('_', ' ')}": (
            {library: text for library, text in zip(("torch", "paddle"), pair, strict=True) if text},
            NO_EXPRESSIONS,
        )
        for name, pair in programs.items()
    }


# ---- dtypes ---------------------------------------------------------------------------------------------------------

X = "import numpy\nx = torch.tensor([1.0, 2.0])\ni = torch.tensor([1, 2])\n"
PYTHON_TYPES = of(
    "torch",
    "a Python type as dtype",
    X,
    "torch.tensor([1, 2], dtype=float)",
    "torch.tensor([1.5, 2.5], dtype=int)",
    "torch.tensor([0, 2], dtype=bool)",
    "torch.as_tensor([1, 2], dtype=float)",
    "torch.ones(2, dtype=float)",
    "torch.zeros(2, dtype=float)",
    "torch.empty(2, dtype=float).dtype",
    "torch.full((2,), 1, dtype=float)",
    "torch.arange(3, dtype=float)",
    "torch.linspace(0, 1, 3, dtype=float)",
    "torch.logspace(0, 1, 2, dtype=float)",
    "torch.eye(2, dtype=float)",
    "torch.rand(2, dtype=float).dtype",
    "torch.randn(2, dtype=float).dtype",
    "torch.randint(0, 2, (2,), dtype=float).dtype",
    "torch.zeros_like(x, dtype=float)",
    "torch.ones_like(x, dtype=float)",
    "torch.full_like(x, 2, dtype=float)",
    "torch.rand_like(x, dtype=float).dtype",
    "x.new_zeros(2, dtype=float)",
    "x.new_tensor([1, 2], dtype=float)",
    "x.to(float)",
    "x.to(int)",
    "x.to(bool)",
    "x.to(dtype=float)",
    "x.type(float)",
    "i.to(float)",
    "i.sum(dtype=float)",
    "i.mean(dtype=float)",
    "i.prod(dtype=float)",
    "i.cumsum(0, dtype=float)",
    "x.softmax(0, dtype=float)",
    "torch.sum(i, dtype=float)",
    "torch.nn.functional.softmax(x, 0, dtype=float)",
    "torch.nn.Linear(2, 1, dtype=float).weight.dtype",
    "torch.nn.Linear(2, 1).to(float).weight.dtype",
    "torch.tensor([1, 2], dtype='float32')",
    "torch.tensor([1, 2], dtype=numpy.float32)",
    "x.to('float64')",
    "x.to(numpy.float64)",
    "torch.float is torch.float32",
    "torch.tensor(1.0).dtype == float",
    "torch.set_default_dtype(float)",
    "torch.tensor(numpy.array([1.0, 2.0]))",
    "torch.tensor([numpy.float32(1), 2.0]).dtype",
    "torch.tensor([True, 2]).dtype",
    "torch.tensor([1, 2.0, True]).dtype",
    "torch.tensor([])",
    "torch.tensor([[1, 2], [3]])",
    "torch.tensor(['a'])",
    "torch.Tensor([1, 2])",
    "torch.Tensor(2).shape",
    "torch.Tensor(2, 3).shape",
    "torch.FloatTensor([1, 2])",
    "torch.LongTensor([1, 2])",
    "torch.DoubleTensor([1, 2])",
    "torch.IntTensor([1, 2])",
    "torch.BoolTensor([True, False])",
    "torch.ByteTensor([1, 2])",
    "torch.HalfTensor([1, 2])",
    "torch.FloatTensor(2, 3).shape",
    "torch.LongTensor([1.5, 2.5])",
    "torch.FloatTensor(x) is x",
    "x.type()",
    "i.type()",
    "x.type('torch.DoubleTensor')",
    "x.type(torch.float64)",
    "x.type(torch.LongTensor)",
    "x.type(torch.FloatTensor) is x",
    "x.type_as(i)",
    "isinstance(x, torch.FloatTensor)",
    "isinstance(i, torch.LongTensor)",
    "isinstance(i, torch.FloatTensor)",
)
SMALL_FLOATS = of(
    "torch",
    "small dtypes",
    X,
    "torch.tensor([1.0, 0.1], dtype=torch.float16)",
    "torch.tensor([1.0, 0.1], dtype=torch.bfloat16)",
    "x.half()",
    "x.bfloat16()",
    "(x.half() + x.half()).dtype",
    "(x.half() + x).dtype",
    "(x.half() + x.bfloat16()).dtype",
    "(x.half() * 2.5).dtype",
    "(x.half() + i).dtype",
    "torch.tensor([70000.0]).half()",
    "torch.tensor([0.1]).half().float()",
    "torch.tensor([0.1]).bfloat16().float()",
    "torch.ones(2, dtype=torch.float16) / 3",
    "torch.ones(2, dtype=torch.bfloat16) / 3",
    "torch.ones(2, dtype=torch.float16).sum()",
    "torch.ones(2, 2, dtype=torch.float16) @ torch.ones(2, 2, dtype=torch.float16)",
    "torch.ones(2, dtype=torch.float16).numpy().dtype",
    "torch.ones(2, dtype=torch.bfloat16).numpy()",
    "torch.tensor([250, 10], dtype=torch.uint8) + torch.tensor([10, 10], dtype=torch.uint8)",
    "torch.tensor([1, 2], dtype=torch.uint8) - 2",
    "torch.tensor([1, 2], dtype=torch.uint8) + 0.5",
    "torch.tensor([1, 2], dtype=torch.uint8).float().mean()",
    "torch.tensor([300], dtype=torch.uint8)",
    "torch.tensor([-1], dtype=torch.uint8)",
    "torch.tensor([3.7]).to(torch.uint8)",
    "torch.tensor([1, 2], dtype=torch.uint8).sum().dtype",
    "torch.tensor([1, 2], dtype=torch.uint8).dtype.is_floating_point",
    "torch.tensor([1, 2], dtype=torch.int8)",
    "torch.tensor([1, 2], dtype=torch.int16)",
    "torch.finfo(torch.float16).max",
    "torch.finfo(torch.float32).eps",
    "torch.finfo(torch.bfloat16).eps",
    "torch.iinfo(torch.int32).max",
    "x.half().element_size()",
    "x.half().requires_grad_().sum()",
)
WHOLE_NUMBERS = of(
    "paddle",
    "whole numbers",
    "i = paddle.to_tensor([1, 2])\nb = paddle.to_tensor([True, False])\n",
    *(
        "i.mean()|i.sum()|i.max()|i.min()|i.prod()|i.std()|i.var()|i.norm()|i.exp()|i.sin()|i.sqrt()|i.log()|i.abs()"
        "|i.square()|i.rsqrt()|i.reciprocal()|i.tanh()|i.sigmoid()|i.floor()|i.ceil()|i.round()|i.cumsum()|i.cumprod(0)"
        "|i / 2|i // 2|i % 2|i ** 2|i ** 0.5|i * 0.5|i + 1.5|1 / i|2 ** i|i / i|i @ i|i.dot(i)|i.matmul(i)|i.clip(0, 1)"
        "|i.scale(0.5)|i.pow(2)|i.pow(0.5)|i.logsumexp()|i.median()|i.argmax()|i.sort()|i.topk(1)|i.unique()"
        "|i.cast(float)"
        "|i.astype('float32').mean()|paddle.mean(i)|paddle.nn.functional.relu(i)|paddle.nn.functional.softmax(i)"
        "|paddle.nn.functional.sigmoid(i)|paddle.exp(i)|paddle.sin(i)|paddle.sqrt(i)|paddle.log(i)|paddle.std(i)"
        "|b.sum()|b.mean()|b + b|b & b|b \\| b|b ^ b|~b|~i|i & i|i \\| i|i ^ "
        "i|b.astype('float32').mean()|b.all()|b.any()"
        "|i == 1|i > 1|i.equal(i)|-i|-b|abs(i)|i.item()|i[0].item()|float(i[0])|int(i[0])|bool(b[0])|bool(b)|len(i)"
        "|i.numel()|i.size|i.shape|i.dtype|i.ndim|i.element_size()|i.place|paddle.to_tensor(1).dtype"
        "|paddle.to_tensor(1.0).dtype|paddle.to_tensor([1, 2.5]).dtype|paddle.to_tensor([True, 2]).dtype"
        "|paddle.ones([2], dtype=float).dtype|paddle.ones([2], dtype=int).dtype|paddle.ones([2], dtype=bool).dtype"
        "|paddle.to_tensor([1, 2], dtype=float).dtype|paddle.arange(3).dtype|paddle.arange(3.0).dtype"
        "|paddle.full([2], 1).dtype|paddle.full([2], 1.0).dtype|paddle.randint(0, 2, [2]).dtype|paddle.zeros([2]).dtype"
        "|paddle.linspace(0, 1, 3).dtype|paddle.eye(2).dtype|paddle.nn.functional.one_hot(i, 3)"
    )
    .replace("\\|", "\0")
    .replace("|", "\n")
    .replace("\0", "|")
    .splitlines(),
)

# ---- copies ---------------------------------------------------------------------------------------------------------

COPIES = both(
    "deep copies",
    a_tensor_and_its_view=(
        "import copy\na = torch.arange(4.0)\nb, v = copy.deepcopy([a, a[:2]])\nv[0] = 9.0\nprint(b, v, a)\n"
        "print(b.data_ptr() == v.data_ptr(), b.data_ptr() == a.data_ptr(), v._version, b._version)",
        "import copy\na = paddle.arange(4.0)\nb, v = copy.deepcopy([a, a[:2]])\nv[0] = 9.0\nprint(b, v, a)\n"
        "print(b.data_ptr() == v.data_ptr(), b.data_ptr() == a.data_ptr(), v.inplace_version, b.inplace_version)",
    ),
    one_tensor_twice=(
        "import copy\na = torch.arange(4.0)\nb, c = copy.deepcopy([a, a])\nprint(b is c)",
        "import copy\na = paddle.arange(4.0)\nb, c = copy.deepcopy([a, a])\nprint(b is c)",
    ),
    a_transposed_view=(
        "import copy\na = torch.arange(6.0).reshape(2, 3).t()\nb = copy.deepcopy(a)\n"
        "print(b.stride(), b.is_contiguous())",
        "import copy\na = paddle.arange(6.0).reshape([2, 3]).t()\nb = copy.deepcopy(a)\n"
        "print(b.strides, b.is_contiguous())",
    ),
    a_slice_alone_copies_how_much=(
        "import copy\na = torch.arange(100.0)\nb = copy.deepcopy(a[:2])\nprint(b, b.untyped_storage().nbytes())",
        None,
    ),
    a_leaf_with_a_gradient=(
        "import copy\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\nc = copy.deepcopy(w)\n"
        "print(c.requires_grad, c.is_leaf, c.grad, c.grad is w.grad)\nc.grad.zero_()\nprint(w.grad)",
        "import copy\nw = paddle.ones([2])\nw.stop_gradient = False\n(w * 2).sum().backward()\nc = copy.deepcopy(w)\n"
        "print(c.stop_gradient, c.is_leaf, c.grad)",
    ),
    not_a_leaf=(
        "import copy\nw = torch.ones(2, requires_grad=True)\ncopy.deepcopy(w * 2)",
        "import copy\nw = paddle.ones([2])\nw.stop_gradient = False\ncopy.deepcopy(w * 2)",
    ),
    not_a_leaf_in_a_module=(
        "import copy\nm = torch.nn.Linear(2, 1)\nm.kept = m(torch.ones(1, 2))\ncopy.deepcopy(m)",
        "import copy\nm = paddle.nn.Linear(2, 1)\nm.kept = m(paddle.ones([1, 2]))\ncopy.deepcopy(m)",
    ),
    a_module_with_gradients=(
        "import copy\nm = torch.nn.Linear(2, 1)\nm(torch.ones(1, 2)).sum().backward()\nc = copy.deepcopy(m)\n"
        "print(c.weight.grad, c.bias.grad, c.weight is m.weight, torch.equal(c.weight, m.weight))",
        "import copy\nm = paddle.nn.Linear(2, 1)\nm(paddle.ones([1, 2])).sum().backward()\nc = copy.deepcopy(m)\n"
        "print(c.weight.grad, c.bias.grad, c.weight is m.weight, bool((c.weight == m.weight).all()))\n"
        "print(c.weight.name == m.weight.name)",
    ),
    a_module_is_independent=(
        "import copy\nm = torch.nn.Linear(2, 1)\nc = copy.deepcopy(m)\nwith torch.no_grad():\n    m.weight.zero_()\n"
        "print(m.weight.abs().sum() == 0, c.weight.abs().sum() == 0)",
        "import copy\nm = paddle.nn.Linear(2, 1)\nc = copy.deepcopy(m)\nwith paddle.no_grad():\n    m.weight.zero_()\n"
        "print(bool(m.weight.abs().sum() == 0), bool(c.weight.abs().sum() == 0))",
    ),
    shared_weights_stay_shared=(
        "import copy\nm = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))\n"
        "m[1].weight = m[0].weight\nc = copy.deepcopy(m)\nprint(c[0].weight is c[1].weight)",
        "import copy\nm = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.Linear(2, 2))\n"
        "m[1].weight = m[0].weight\nc = copy.deepcopy(m)\nprint(c[0].weight is c[1].weight)",
    ),
    a_state_dict_is_no_copy=(
        "import copy\nm = torch.nn.Linear(2, 1)\nbest = m.state_dict()\nkept = copy.deepcopy(m.state_dict())\n"
        "with torch.no_grad():\n    m.weight.fill_(7.0)\nprint(best['weight'], (kept['weight'] == 7.0).any())\n"
        "print(best['weight'].requires_grad, best['weight'] is m.weight, type(best).__name__)",
        "import copy\nm = paddle.nn.Linear(2, 1)\nbest = m.state_dict()\nkept = copy.deepcopy(m.state_dict())\n"
        "with paddle.no_grad():\n    m.weight.fill_(7.0)\nprint(best['weight'], bool((kept['weight'] == 7.0).any()))\n"
        "print(best['weight'].stop_gradient, best['weight'] is m.weight, type(best).__name__)",
    ),
    an_optimizer=(
        "import copy\nw = torch.ones(2, requires_grad=True)\no = torch.optim.SGD([w], lr=0.1, momentum=0.9)\n"
        "w.sum().backward()\no.step()\nc = copy.deepcopy(o)\nprint(c.param_groups[0]['params'][0] is w)",
        None,
    ),
    a_parameter=(
        "import copy\np = torch.nn.Parameter(torch.ones(2))\np.sum().backward()\nc = copy.deepcopy(p)\n"
        "print(type(c).__name__, c.grad, c.requires_grad)",
        "import copy\np = paddle.create_parameter([2], 'float32')\np.sum().backward()\nc = copy.deepcopy(p)\n"
        "print(type(c).__name__, c.grad, c.stop_gradient, c.name == p.name)",
    ),
    a_shallow_copy=(
        "import copy\na = torch.ones(2)\nb = copy.copy(a)\nprint(b is a, b.data_ptr() == a.data_ptr())\n"
        "b.add_(1)\nprint(a, a._version, b._version)",
        "import copy\na = paddle.ones([2])\nb = copy.copy(a)\nprint(b is a)",
    ),
    a_shallow_copy_of_a_module=(
        "import copy\nm = torch.nn.Linear(2, 1)\nc = copy.copy(m)\nprint(c.weight is m.weight)",
        "import copy\nm = paddle.nn.Linear(2, 1)\nc = copy.copy(m)\nprint(c.weight is m.weight)",
    ),
    hooks_are_copied=(
        "import copy\nw = torch.ones(2, requires_grad=True)\nw.register_hook(lambda g: g * 10)\nc = copy.deepcopy(w)\n"
        "c.sum().backward()\nprint(c.grad)",
        "import copy\nw = paddle.ones([2])\nw.stop_gradient = False\nw.register_hook(lambda g: g * 10)\n"
        "c = copy.deepcopy(w)\nc.sum().backward()\nprint(c.grad)",
    ),
    the_version_of_a_copy=(
        "import copy\nw = torch.ones(2)\nw.add_(1).add_(1)\nprint(copy.deepcopy(w)._version, w.clone()._version)",
        "import copy\nw = paddle.ones([2])\nw.scale_(2.0)\n"
        "print(copy.deepcopy(w).inplace_version, w.clone().inplace_version)",
    ),
    pickled=(
        "import pickle\na = torch.arange(4.0)\nb, v = pickle.loads(pickle.dumps([a, a[:2]]))\nv[0] = 9.0\nprint(b)\n"
        "w = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\nc = pickle.loads(pickle.dumps(w))\n"
        "print(c, c.grad)",
        "import pickle\na = paddle.arange(4.0)\nb, v = pickle.loads(pickle.dumps([a, a[:2]]))\nv[0] = 9.0\nprint(b)",
    ),
)

# ---- modules --------------------------------------------------------------------------------------------------------

MODULES = both(
    "modules",
    batch_norm=(
        "m = torch.nn.BatchNorm1d(2)\nprint([n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()])\n"
        "print(len(list(m.parameters())), list(m.state_dict()))\n"
        "print([(n, t.dtype, tuple(t.shape)) for n, t in m.state_dict().items()])",
        "m = paddle.nn.BatchNorm1D(2)\nprint([n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()])\n"
        "print(len(m.parameters()), list(m.state_dict()))\n"
        "print([(n, str(t.dtype), t.shape, t.stop_gradient) for n, t in m.state_dict().items()])",
    ),
    batch_norm_2d=(
        "m = torch.nn.BatchNorm2d(2)\nprint(list(m.state_dict()), len(list(m.parameters())))",
        "m = paddle.nn.BatchNorm2D(2)\nprint(list(m.state_dict()), len(m.parameters()))",
    ),
    batch_norm_without_scale=(
        "m = torch.nn.BatchNorm1d(2, affine=False)\nprint(list(m.state_dict()), len(list(m.parameters())))",
        "m = paddle.nn.BatchNorm1D(2, weight_attr=False, bias_attr=False)\n"
        "print(list(m.state_dict()), len(m.parameters()), m.weight, m.bias)",
    ),
    batch_norm_of_the_old_kind=(None, "m = paddle.nn.BatchNorm(2)\nprint(list(m.state_dict()), len(m.parameters()))"),
    batch_norm_in_a_sequence=(
        "m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.ReLU())\n"
        "print([n for n, _ in m.named_parameters()])\nprint(list(m.state_dict()))",
        "m = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.BatchNorm1D(2), paddle.nn.ReLU())\n"
        "print([n for n, _ in m.named_parameters()])\nprint(list(m.state_dict()))",
    ),
    batch_norm_trains=(
        "m = torch.nn.BatchNorm1d(2)\nx = torch.tensor([[1.0, 2.0], [3.0, 6.0]])\ny = m(x)\nprint(y)\n"
        "print(m.running_mean, m.running_var, m.num_batches_tracked)\nm.eval()\nprint(m(x))",
        "m = paddle.nn.BatchNorm1D(2)\nx = paddle.to_tensor([[1.0, 2.0], [3.0, 6.0]])\ny = m(x)\nprint(y)\n"
        "print(m._mean, m._variance)\nm.eval()\nprint(m(x))",
    ),
    batch_norm_of_one_row=(
        "torch.nn.BatchNorm1d(2)(torch.ones(1, 2))",
        "print(paddle.nn.BatchNorm1D(2)(paddle.ones([1, 2])))",
    ),
    layer_norm=("print(list(torch.nn.LayerNorm(2).state_dict()))", "print(list(paddle.nn.LayerNorm(2).state_dict()))"),
    linear=(
        "m = torch.nn.Linear(2, 3)\nprint(m, list(m.state_dict()), m.weight.shape)",
        "m = paddle.nn.Linear(2, 3)\nprint(m, list(m.state_dict()), m.weight.shape)",
    ),
    apply_visits=(
        "seen = []\nnet = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.Sequential(torch.nn.Linear(2, 2)))\n"
        "net.apply(lambda m: seen.append(type(m).__name__))\nprint(seen)\n"
        "print([type(m).__name__ for m in net.modules()], [n for n, _ in net.named_modules()])",
        "seen = []\nnet = paddle.nn.Sequential(paddle.nn.Linear(1, 2), paddle.nn.Sequential(paddle.nn.Linear(2, 2)))\n"
        "net.apply(lambda m: seen.append(type(m).__name__))\nprint(seen)\n"
        "print([type(m).__name__ for m in net.sublayers(include_self=True)])",
    ),
    apply_seeded=(
        "torch.manual_seed(0)\nnet = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.Linear(2, 2))\n"
        "def draw(m):\n    if isinstance(m, torch.nn.Linear):\n        torch.nn.init.normal_(m.weight)\n"
        "print(net.apply(draw) is net)\nprint(net[0].weight)\nprint(net[1].weight)",
        None,
    ),
    to_float64=(
        "m = torch.nn.Linear(2, 1).to(torch.float64)\n"
        "print(m.weight.dtype, m.bias.dtype, m(torch.ones(1, 2).double()).dtype)",
        "m = paddle.nn.Linear(2, 1).to(dtype='float64')\nprint(m.weight.dtype, m.bias.dtype)",
    ),
    to_float64_keeps_the_parameter=(
        "m = torch.nn.Linear(2, 1)\nw = m.weight\nm.double()\nprint(m.weight is w, w.dtype)",
        "m = paddle.nn.Linear(2, 1)\nw = m.weight\nm.to(dtype='float64')\nprint(m.weight is w, w.dtype)",
    ),
    double_and_float=(
        "m = torch.nn.Linear(2, 1).double()\nprint(m.weight.dtype)\n"
        "print(m.float().weight.dtype, m.half().weight.dtype)",
        None,
    ),
    double_keeps_whole_buffers=(
        "m = torch.nn.BatchNorm1d(2).double()\nprint(m.running_mean.dtype, m.num_batches_tracked.dtype)",
        None,
    ),
    double_with_a_gradient=(
        "m = torch.nn.Linear(2, 1)\nm(torch.ones(1, 2)).sum().backward()\nm.double()\nprint(m.weight.grad)",
        None,
    ),
    a_float_input_for_a_double_layer=("torch.nn.Linear(2, 1).double()(torch.ones(1, 2))", None),
    a_double_input_for_a_float_layer=(
        "torch.nn.Linear(2, 1)(torch.ones(1, 2, dtype=torch.float64))",
        "paddle.nn.Linear(2, 1)(paddle.ones([1, 2], dtype='float64'))",
    ),
    wrong_width=("torch.nn.Linear(2, 1)(torch.ones(1, 3))", "paddle.nn.Linear(2, 1)(paddle.ones([1, 3]))"),
    a_missing_key=(
        "torch.nn.Linear(2, 1).load_state_dict({'weight': torch.ones(1, 2)})",
        "print(paddle.nn.Linear(2, 1).set_state_dict({'weight': paddle.ones([2, 1])}))",
    ),
    an_unexpected_key=(
        "m = torch.nn.Linear(2, 1)\nm.load_state_dict({**m.state_dict(), 'more': torch.ones(1)})",
        "m = paddle.nn.Linear(2, 1)\nprint(m.set_state_dict({**m.state_dict(), 'more': paddle.ones([1])}))",
    ),
    a_wrong_shape=(
        "m = torch.nn.Linear(2, 1)\nm.load_state_dict({'weight': torch.ones(2, 2), 'bias': torch.ones(1)})",
        "m = paddle.nn.Linear(2, 1)\n"
        "print(m.set_state_dict({'weight': paddle.ones([2, 2]), 'bias': paddle.ones([1])}))",
    ),
    loaded=(
        "m = torch.nn.Linear(2, 1)\nw = m.weight\n"
        "print(m.load_state_dict({'weight': torch.ones(1, 2), 'bias': torch.ones(1)}))\n"
        "print(m.weight is w, w, w._version)",
        "m = paddle.nn.Linear(2, 1)\nw = m.weight\n"
        "print(m.set_state_dict({'weight': paddle.ones([2, 1]), 'bias': paddle.ones([1])}))\n"
        "print(m.weight is w, w, w.inplace_version)",
    ),
    not_strict=(
        "m = torch.nn.Linear(2, 1)\nprint(m.load_state_dict({'weight': torch.ones(1, 2)}, strict=False))",
        None,
    ),
    a_plain_tensor_is_no_parameter=(
        "class N(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.ones(2, requires_grad=True)\nprint(list(N().parameters()))",
        "class N(paddle.nn.Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = paddle.ones([2])\nn = N()\nprint(n.parameters())",
    ),
    a_list_of_layers_is_not_seen=(
        "class N(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = [torch.nn.Linear(1, 1)]\nprint(list(N().parameters()))",
        "class N(paddle.nn.Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = [paddle.nn.Linear(1, 1)]\nprint(N().parameters())",
    ),
    super_init_forgotten=(
        "class N(torch.nn.Module):\n    def __init__(self):\n        self.l = torch.nn.Linear(1, 1)\nN()",
        "class N(paddle.nn.Layer):\n    def __init__(self):\n        self.l = paddle.nn.Linear(1, 1)\nN()",
    ),
    forward_forgotten=(
        "class N(torch.nn.Module):\n    pass\nN()(torch.ones(1))",
        "class N(paddle.nn.Layer):\n    pass\nN()(paddle.ones([1]))",
    ),
    a_tensor_where_a_parameter_stood=(
        "m = torch.nn.Linear(2, 1)\nm.weight = torch.ones(1, 2)",
        "m = paddle.nn.Linear(2, 1)\nm.weight = paddle.ones([2, 1])\nprint(m.weight)",
    ),
    a_name_that_is_not_there=("torch.nn.Linear(2, 1).weights", "paddle.nn.Linear(2, 1).weights"),
    forward_hook=(
        "m = torch.nn.Linear(2, 1)\nseen = []\n"
        "h = m.register_forward_hook(lambda mod, a, out: seen.append((len(a), out.shape)))\n"
        "m(torch.ones(1, 2))\nh.remove()\nm(torch.ones(1, 2))\nprint(seen)\n"
        "m.register_forward_hook(lambda mod, a, out: out * 0 + 1)\nprint(m(torch.ones(1, 2)))",
        "m = paddle.nn.Linear(2, 1)\nseen = []\n"
        "h = m.register_forward_post_hook(lambda mod, a, out: seen.append((len(a), out.shape)))\n"
        "m(paddle.ones([1, 2]))\nh.remove()\nm(paddle.ones([1, 2]))\nprint(seen)\n"
        "m.register_forward_post_hook(lambda mod, a, out: out * 0 + 1)\nprint(m(paddle.ones([1, 2])))",
    ),
    forward_pre_hook=(
        "m = torch.nn.ReLU()\nm.register_forward_pre_hook(lambda mod, a: (a[0] - 1,))\n"
        "print(m(torch.tensor([0.0, 3.0])))",
        "m = paddle.nn.ReLU()\nm.register_forward_pre_hook(lambda mod, a: (a[0] - 1,))\n"
        "print(m(paddle.to_tensor([0.0, 3.0])))",
    ),
    full_backward_hook=(
        "m = torch.nn.Linear(2, 1)\nm.register_full_backward_hook(lambda mod, gi, go: print(gi[0], go[0]))\n"
        "x = torch.ones(1, 2)\nm(x).sum().backward()\nx.requires_grad_()\nwith torch.no_grad():\n"
        "    m.weight.fill_(2.0)\n"
        "m(x).sum().backward()",
        None,
    ),
    dropout_out_of_range=("torch.nn.Dropout(1.5)", "paddle.nn.Dropout(1.5)"),
)

# ---- warnings -------------------------------------------------------------------------------------------------------

W = "import torch.nn.functional as F\nx = torch.ones(3, 1, requires_grad=True)\ny = torch.ones(3)\n"
WARNINGS = of(
    "torch",
    "warnings",
    W,
    "(x * 2).grad",
    "y.grad",
    "F.mse_loss(x, y)",
    "torch.nn.MSELoss()(x, y)",
    "F.l1_loss(x, y)",
    "F.smooth_l1_loss(x, y)",
    "F.huber_loss(x, y)",
    "F.mse_loss(torch.ones(3), torch.ones(2))",
    "F.binary_cross_entropy(torch.full((3, 1), 0.5), y)",
    "F.binary_cross_entropy_with_logits(x, y)",
    "F.cross_entropy(x, y)",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3]))",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([[0], [1]]))",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([0.0, 1.0]))",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1], dtype=torch.int32))",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1, 2]))",
    "F.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]))",
    "F.softmax(x)",
    "F.softmax(torch.ones(2))",
    "F.log_softmax(x)",
    "F.softmin(x)",
    "torch.nn.Softmax()(x)",
    "torch.nn.LogSoftmax()(x)",
    "torch.softmax(x)",
    "x.softmax()",
    "F.sigmoid(y)",
    "F.tanh(y)",
    "torch.optim.SGD([x, x], lr=0.1)",
    "torch.optim.SGD([{'params': [x, x]}], lr=0.1)",
    "torch.optim.SGD([{'params': [x]}, {'params': [x]}], lr=0.1)",
    "torch.optim.Adam([x, x])",
    "torch.optim.SGD([], lr=0.1)",
    "torch.optim.SGD([x * 2], lr=0.1)",
    "torch.optim.SGD([x], lr=-1)",
    "torch.optim.SGD(x, lr=0.1)",
    "torch.optim.SGD([1.0], lr=0.1)",
    "torch.optim.SGD([y], lr=0.1).step()",
    "torch.optim.SGD([x])",
    "torch.optim.SGD(iter([x]), lr=0.1).param_groups[0]['lr']",
    "torch.tensor(y)",
    "torch.as_tensor(y) is y",
    "torch.tensor([y[0], y[1]])",
    "torch.tensor([y, y])",
    "torch.ones(2, 2, 2).T",
    "torch.ones(3).T",
    "torch.range(0, 3)",
    "F.mse_loss(x, x, size_average=False)",
    "F.mse_loss(x, x, reduce=False)",
    "F.dropout(y, 0.0)",
    "torch.nn.utils.clip_grad_norm(x, 1.0)",
    "torch.autograd.set_detect_anomaly(True)",
    "print(torch.autograd.Variable(y, requires_grad=True))",
    "torch.autograd.Variable(y).data",
    "torch.autograd.Variable(y, volatile=True)",
    "import numpy; a = numpy.ones(2); a.flags.writeable = False; torch.from_numpy(a)",
    "torch.nn.init.xavier_uniform(torch.empty(2, 2)).shape",
    "torch.nn.init.normal(torch.empty(2, 2)).shape",
    "x.sum().backward(create_graph=True)",
    "s = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([x], lr=0.1), 1); s.step()",
    "s = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([x], lr=0.1), 1); s.get_lr()",
    "torch.nn.RNN(1, 1, dropout=0.5)",
    "torch.nn.Upsample(scale_factor=2)",
    "torch.set_default_tensor_type(torch.DoubleTensor)",
    "y.volatile",
    "torch.floor_divide(y, 2)",
    "torch.norm(y)",
    "torch.symeig(torch.ones(2, 2))",
    "torch.qr(torch.ones(2, 2))",
    "torch.cross(torch.ones(3), torch.ones(3))",
    "torch.meshgrid(torch.arange(2), torch.arange(2))",
    "torch.nn.Transformer(8, 2, 1, 1, 8)",
    "torch.masked_select(y, torch.ones(3, dtype=torch.uint8))",
    "y[torch.ones(3, dtype=torch.uint8)]",
    "torch.where(torch.ones(3, dtype=torch.uint8), y, y)",
    "y.resize_(2)",
    "torch.add(y, 2, y)",
    "y.add_(2, y)",
    "float(x.sum())",
    "x.sum().numpy()",
    "x[0].item()",
    "float(y)",
    "int(x[0])",
    "len(torch.tensor(1.0))",
    "bool(y)",
    "if y: pass",
    "for i in torch.tensor(1.0): pass",
    "import numpy; numpy.array(x)",
    "import numpy; numpy.mean(y)",
    "import numpy; numpy.ones(3) * y",
    "y * numpy",
    "import torch.nn.functional as F; F.one_hot(torch.tensor([0, 2]))",
    "F.one_hot(torch.tensor([0.0, 2.0]))",
    "F.one_hot(torch.tensor([0, 2]), num_classes=2)",
)
PADDLE_WARNINGS = of(
    "paddle",
    "warnings",
    "import paddle.nn.functional as F\nx = paddle.ones([3, 1])\nx.stop_gradient = False\ny = paddle.ones([3])\n",
    "(x * 2).grad",
    "y.grad",
    "F.mse_loss(x, y)",
    "F.l1_loss(x, y)",
    "F.smooth_l1_loss(x, y)",
    "F.mse_loss(paddle.ones([3]), paddle.ones([2]))",
    "F.binary_cross_entropy(paddle.full([3, 1], 0.5), y)",
    "F.binary_cross_entropy_with_logits(x, y)",
    "F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 3]))",
    "F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([[0], [1]]))",
    "F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0.0, 1.0]))",
    "F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 1, 2]))",
    "F.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([-100, 1]))",
    "F.softmax(y)",
    "paddle.nn.Softmax()(y)",
    "paddle.optimizer.SGD(0.1, [x, x])",
    "paddle.optimizer.SGD(0.1, parameters=[x, x])",
    "paddle.optimizer.SGD(0.1)",
    "paddle.optimizer.SGD(0.1, parameters=[])",
    "paddle.optimizer.SGD(0.1, parameters=x)",
    "paddle.optimizer.SGD(0.1, parameters=[y]).step()",
    "paddle.optimizer.SGD(-0.1, parameters=[x])",
    "paddle.optimizer.SGD([x], 0.1)",
    "paddle.optimizer.Adam(parameters=[x], lr=0.1)",
    "paddle.to_tensor(y)",
    "paddle.to_tensor([y[0], y[1]])",
    "paddle.to_tensor([y, y])",
    "paddle.to_tensor([[1, 2], [3]])",
    "paddle.to_tensor(['a'])",
    "paddle.ones([2, 2, 2]).T.shape",
    "y.backward()",
    "(x * 2).backward()",
    "x.sum().backward(create_graph=True)",
    "x.numpy()",
    "import numpy; numpy.array(x)",
    "import numpy; numpy.mean(y)",
    "import numpy; numpy.ones(3) * y",
    "y * numpy.ones(3)",
    "float(y)",
    "int(x[0])",
    "float(x.sum())",
    "len(paddle.to_tensor(1.0))",
    "bool(y)",
    "if y: pass",
    "for i in paddle.to_tensor(1.0): pass",
    "y[3]",
    "y[0, 0]",
    "y.reshape([2])",
    "y.view(3, 1)",
    "y.reshape(3, 1)",
    "paddle.ones(3)",
    "paddle.ones(3, 2)",
    "paddle.add(y, paddle.ones([2]))",
    "y + 'a'",
    "y.add_(1.0)",
    "y.add_(paddle.ones([2, 3]))",
    "y @ paddle.ones([2])",
    "paddle.matmul(paddle.ones([2, 3]), paddle.ones([2, 3]))",
    "paddle.concat([y, x])",
    "paddle.stack([y, x])",
    "paddle.nn.Linear(2, 3)(paddle.ones([3]))",
    "y.cuda()",
    "paddle.set_device('gpu')",
    "paddle.seed('a')",
    "paddle.grad(y.sum(), x)",
    "paddle.grad((x * 2).sum(), y)",
    "paddle.grad((x * 2).sum(), x, no_grad_vars=[x])",
    "print(paddle.add_n([y, y]))",
    "print(y.contiguous() is y, y.is_contiguous())",
    "print(paddle.ones([2]).copy_(paddle.zeros([2]), True))",
    "print(paddle.flops)",
    "print(y.std(), y.var(), y.norm(), y.dot(y))",
    "print(paddle.ones([2, 2]).mm(paddle.ones([2, 2])), paddle.ones([1, 2, 2]).bmm(paddle.ones([1, 2, 2])))",
    "print(paddle.to_tensor([3, 1, 2]).argsort(), paddle.to_tensor([3, 1, 2]).sort(), paddle.to_tensor([3, 1, "
    "2]).topk(2))",
    "print(paddle.to_tensor([3, 1, 2]).argsort(descending=True), paddle.sort(paddle.to_tensor([3, 1, 2]), "
    "descending=True))",
)

# ---- refused and accepted writes ------------------------------------------------------------------------------------

#: Functions of `x` ([0.5, 2.0]), which requires a gradient. The input or the result is overwritten before backward.
FUNCTIONS = """x * x|x ** 2|x ** 3|x * 2|x / 2|2 / x|x + 1|x - 1|-x|exp|log|sin|cos|tan|tanh|sigmoid|relu|sqrt|rsqrt|abs
|square|log1p|expm1|erf|atan|asin(x / 4)|softmax|log_softmax|logsumexp|softplus|silu|gelu|elu|leaky_relu
|hardtanh|clamp|floor|sign|sum|mean|prod|max|min|amax|std|var|norm|cumsum|cumprod|sort|topk|flip|reshape
|slice|index|mask|expand|cat|stack|where|maximum|matmul|outer|mv|linear|mse_loss|l1_loss|bce|cross_entropy
|nll_loss|dropout|layer_norm|batch_norm|reciprocal|pow(2, x)|atan2|hypot|lerp|masked_fill|gather|scatter
|roll|tril|diag|repeat|norm1|round|frac|sinh|cosh|log2|xlogy|kl_div|smooth_l1|huber|bce_logits"""
TORCH = {
    "asin(x / 4)": "torch.asin(x / 4)",
    "softmax": "x.softmax(0)",
    "log_softmax": "x.log_softmax(0)",
    "logsumexp": "x.logsumexp(0)",
    "softplus": "F.softplus(x)",
    "silu": "F.silu(x)",
    "gelu": "F.gelu(x)",
    "elu": "F.elu(x - 1)",
    "leaky_relu": "F.leaky_relu(x - 1)",
    "hardtanh": "F.hardtanh(x)",
    "clamp": "x.clamp(0, 1)",
    "max": "x.max()",
    "min": "x.min()",
    "cumsum": "x.cumsum(0)",
    "cumprod": "x.cumprod(0)",
    "sort": "x.sort().values",
    "topk": "x.topk(1).values",
    "flip": "x.flip(0)",
    "reshape": "x.reshape(2, 1) * 1",
    "slice": "x[0:1] * 1",
    "index": "x[[0, 1]]",
    "mask": "x[x > 1]",
    "expand": "x.expand(3, 2) * 1",
    "cat": "torch.cat([x, x])",
    "stack": "torch.stack([x, x])",
    "where": "torch.where(x > 1, x, 0.0)",
    "maximum": "torch.maximum(x, torch.ones(2))",
    "matmul": "x.reshape(1, 2) @ x.reshape(2, 1)",
    "outer": "torch.outer(x, x)",
    "mv": "torch.ones(2, 2) @ x",
    "linear": "F.linear(x, torch.ones(2, 2))",
    "mse_loss": "F.mse_loss(x, torch.zeros(2))",
    "l1_loss": "F.l1_loss(x, torch.zeros(2))",
    "bce": "F.binary_cross_entropy(x.sigmoid(), torch.ones(2))",
    "cross_entropy": "F.cross_entropy(x.reshape(1, 2), torch.tensor([0]))",
    "nll_loss": "F.nll_loss(x.reshape(1, 2), torch.tensor([0]))",
    "dropout": "F.dropout(x, 0.0)",
    "layer_norm": "F.layer_norm(x, (2,))",
    "batch_norm": "F.batch_norm(x.reshape(2, 1), None, None, training=True)",
    "pow(2, x)": "2 ** x",
    "atan2": "torch.atan2(x, torch.ones(2))",
    "hypot": "torch.hypot(x, torch.ones(2))",
    "lerp": "torch.lerp(x, torch.ones(2), 0.5)",
    "masked_fill": "x.masked_fill(x > 1, 0.0)",
    "gather": "x.gather(0, torch.tensor([1, 1]))",
    "scatter": "x.scatter(0, torch.tensor([1]), 0.0)",
    "roll": "x.roll(1)",
    "tril": "x.reshape(1, 2).tril()",
    "diag": "x.diag()",
    "repeat": "x.repeat(2)",
    "norm1": "x.norm(1)",
    "xlogy": "torch.xlogy(x, x)",
    "kl_div": "F.kl_div(x, torch.ones(2), reduction='sum')",
    "smooth_l1": "F.smooth_l1_loss(x, torch.zeros(2))",
    "huber": "F.huber_loss(x, torch.zeros(2))",
    "bce_logits": "F.binary_cross_entropy_with_logits(torch.ones(2), x)",
}


def torch_call(name: str) -> str:
    """Return PyTorch's call of a function in FUNCTIONS."""
    if name in TORCH:
        return TORCH[name]
    return name if re.search(r"\bx\b", name) else f"{'F' if name == 'relu' else 'torch'}.{name}(x)"


WRITES = {
    "nothing written": "",
    "its input written": "x.add_(1)",
    "its result written": "y.add_(1)",
    "both written": "x.add_(1); y.add_(1)",
}
OVERWRITTEN: Questions = {
    f"overwritten: {name}, {what}": (
        {
            "torch": "import torch.nn.functional as F\nw = torch.tensor([0.5, 2.0], requires_grad=True)\nx = w * 1\n"
            f"y = {torch_call(name)}\n{write or 'pass'}\ny.sum().backward()\nprint(w.grad)"
        },
        NO_EXPRESSIONS,
    )
    for name in FUNCTIONS.replace("\n", "").split("|")
    for what, write in WRITES.items()
}
IN_PLACE = of(
    "torch",
    "in place on what requires a gradient",
    "w = torch.tensor([0.5, 2.0], requires_grad=True)\nx = w * 1\nm = (w * 1).reshape(1, 2)\n",
    *(
        f"{line}; x.sum().backward(); print(w.grad)"
        for line in (
            "x *= x",
            "x += x",
            "x -= x",
            "x /= x",
            "x **= x",
            "x **= 2",
            "x *= 2",
            "x *= w",
            "x.mul_(x)",
            "x.add_(x)",
            "x.div_(x)",
            "x.sub_(x)",
            "x.mul_(x.detach())",
            "x.mul_(x.clone())",
            "x.mul_(x[0])",
            "x.mul_(x[0].clone())",
            "x.pow_(2)",
            "x.exp_().add_(1)",
            "x.exp_(); x.mul_(2)",
            "x.sin_().cos_()",
            "x.tanh_().mul_(2)",
            "x.sigmoid_().mul_(x)",
            "x.relu_().mul_(2)",
            "x.sqrt_().add_(1)",
            "x.copy_(x)",
            "x[0] = x[1]",
            "x[0] = x[0] * 2",
            "x[:] = x * x",
            "x[0] *= x[1]",
            "x[0:1] += x[1:2]",
            "x.fill_(x[0])",
            "x.addcmul_(x, x)",
            "x.lerp_(x, 0.5)",
            "x.masked_fill_(x > 1, 0.0)",
            "x.clamp_(0, 1)",
            "x.clamp_(x[0], x[1])",
            "x.zero_()",
            "x.index_add_(0, torch.tensor([0]), x[1:])",
            "x.scatter_(0, torch.tensor([0]), x)",
            "x.cumsum_(0)",
            "x.cumprod_(0)",
            "x.t_()",
            "x.resize_(1)",
            "x.set_(torch.ones(2))",
            "x.data = torch.ones(2)",
            "x.data.mul_(2)",
            "x.detach_()",
            "x.requires_grad_(False)",
            "w.mul_(2)",
            "w += 1",
            "w[0] = 1",
            "w[0:1].mul_(2)",
            "w.view(2).mul_(2)",
            "w.data.mul_(2)",
            "w.detach().mul_(2)",
            "w.data = torch.ones(3)",
            "v = w.unbind()[0]; v.mul_(2)",
            "v = x.unbind()[0]; v.mul_(2)",
            "a, b = x.split(1); a.mul_(2)",
            "a, b = x.chunk(2); a.mul_(2)",
            "for row in x: row.mul_(2)",
            "for row in m: row.mul_(2)",
            "v = x.expand(3, 2); v.mul_(2)",
            "v = x.expand(3, 2); x.mul_(2)",
            "v = x.detach(); v.mul_(2)",
            "v = x[0]; v.mul_(2)",
            "v = x.view(1, 2); v.mul_(2)",
            "v = x.view_as(x); v.mul_(2)",
            "v = x.real; v.mul_(2)",
            "torch.add(x, 1, out=x)",
            "with torch.no_grad(): x.mul_(2)",
            "with torch.no_grad(): w.mul_(2)",
            "with torch.no_grad(): w += 1",
            "with torch.inference_mode(): z = torch.ones(2)\nx.mul_(z)",
            "with torch.inference_mode(): z = torch.ones(2)\nz.mul_(2)",
            "with torch.inference_mode(): z = torch.ones(2)\nx.add_(z)",
            "with torch.inference_mode(): z = torch.ones(2)\nz.add_(x)",
            "with torch.inference_mode(): z = torch.ones(2)\nz[0] = 5.0",
            "with torch.inference_mode(): z = torch.ones(2)\nx.mul_(z.clone())",
            "with torch.inference_mode(): z = torch.ones(2)\nwith torch.no_grad(): z.mul_(2)",
            "with torch.inference_mode(): z = x * 2\nz.mul_(2)",
            "with torch.inference_mode(): z = x * 2\nz[0:1].mul_(2)",
            "with torch.inference_mode(): z = x * 2; z.mul_(2)",
            "with torch.inference_mode(): z = x * 2\nz.clone().mul_(2)",
            "with torch.inference_mode(): v = x[0:1]\nv.mul_(2)",
            "with torch.no_grad(): v = x[0:1]\nv.mul_(2)",
            "with torch.no_grad(): v = x[0:1]; v.mul_(2)",
            "with torch.no_grad(): v = x.view(1, 2)\nv.add_(w)",
            "with torch.no_grad(): v = w[0:1]\nv.mul_(2)",
            "with torch.no_grad(): v = x.detach()\nv.mul_(2)",
            "with torch.no_grad(): a, b = x.split(1)\na.mul_(2)",
            "a, b = x.split(1)\nwith torch.no_grad(): a.mul_(2)",
            "a, b = x.split([1, 1]); a.mul_(2)",
            "a, b = x.split(1); a[0:1].mul_(2)",
            "a, b = x.split(1); a.view(1, 1).mul_(2)",
            "a, b = x.split(1); a[0] = 5.0",
            "a, b = x.split(1); a += 1",
            "a, b = x.split(1); x.mul_(2)",
            "a, b = x.split(1); b.copy_(a)",
            "a, b = x.split(1); a.clamp_(0, 1)",
            "a, b = x.split(1); a.t_()",
            "a, b = x.split(1); a.detach().mul_(2)",
            "a, b = x.split(1); a.data.mul_(2)",
            "a, b = x.tensor_split(2); a.mul_(2)",
            "a, b = x; a.mul_(2)",
            "a = list(x)[0]; a.fill_(3.0)",
            "a = x.chunk(1)[0]; a.mul_(2)",
            "z = torch.ones(2); a, b = z.split(1); a.mul_(2); x.add_(z)",
            "z = torch.ones(2); a, b = z.split(1); a.add_(w[0:1])",
        )
    ),
)

# ---- missing names --------------------------------------------------------------------------------------------------

MISSING = of(
    "torch",
    "missing names",
    "import torch.nn as nn\nx = torch.ones(2)\n",
    "torch.foo",
    "torch.sine(x)",
    "torch.nn.Foo",
    "nn.functional.foo",
    "torch.optim.Foo",
    "torch.utils.foo",
    "torch.foo.bar",
    "x.foo",
    "x.foo()",
    "x.sine_()",
    "x.foo = 1; print(x.foo)",
    "import torch.foo",
    "import torch.foo.bar",
    "from torch import foo",
    "from torch.nn import foo",
    "from torch.foo import bar",
    "import torch.nn.foo",
    "import torch.Tensor",
    "torch.cuda.foo",
    "torch.float8",
    "torch.Tensor.foo",
    "x.grad_",
    "torch.tensor",
    "dir(torch)[0]",
    "hasattr(torch, 'foo')",
    "x.sum(foo=1)",
    "torch.sum(x, foo=1)",
    "torch.ones(2, foo=1)",
    "nn.Linear(2)",
    "nn.Linear(2, 1, foo=1)",
    "x.add()",
    "torch.sin(1.0)",
    "torch.sin('a')",
    "torch.add(x)",
    "torch.mm(x, x)",
    "x.view(3)",
    "x.reshape(3)",
    "x.view(-1, -1)",
    "x[2]",
    "x[0, 0]",
    "x['a']",
    "x[1.0]",
    "x.sum(1)",
    "x.unsqueeze(3)",
    "torch.cat([x, torch.ones(1, 2)])",
    "torch.stack([x, torch.ones(3)])",
    "x + torch.ones(3)",
    "x @ torch.ones(3)",
    "torch.ones(2, 3) @ torch.ones(2, 3)",
    "x.item()",
    "x.backward()",
    "torch.ones(2, requires_grad=True).backward()",
    "torch.tensor([1, 2], requires_grad=True)",
    "torch.ones(2, requires_grad=True).numpy()",
    "(torch.ones(2, requires_grad=True) * 2).requires_grad_(False)",
    "x.cuda()",
    "x.to('cuda')",
    "torch.ones(2, device='cuda')",
    "x.to('gpu')",
    "torch.device('foo')",
    "torch.load('/nowhere')",
)
PADDLE_MISSING = of(
    "paddle",
    "missing names",
    "import paddle.nn as nn\nx = paddle.ones([2])\n",
    "paddle.foo",
    "paddle.sine(x)",
    "paddle.nn.Foo",
    "nn.functional.foo",
    "paddle.optimizer.Foo",
    "paddle.foo.bar",
    "x.foo",
    "x.foo()",
    "x.sine_()",
    "x.foo = 1; print(x.foo)",
    "import paddle.foo",
    "from paddle import foo",
    "from paddle.nn import foo",
    "from paddle.foo import bar",
    "x.sum(foo=1)",
    "paddle.ones([2], foo=1)",
    "nn.Linear(2)",
    "nn.Linear(2, 1, foo=1)",
    "x.add()",
    "paddle.sin(1.0)",
    "paddle.sin('a')",
    "paddle.add(x)",
    "x.sum(1)",
    "x.unsqueeze(3)",
    "x + paddle.ones([3])",
    "x.item()",
    "paddle.load('/nowhere')",
)

# ---- gradients, threads ---------------------------------------------------------------------------------------------

AUTOGRAD = both(
    "autograd",
    grad_outputs_and_a_bias=(
        "torch.manual_seed(0)\nx = torch.ones(3, 1, requires_grad=True)\nu = torch.nn.Linear(1, 2)(x)\n"
        "g, = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)\nprint(g, g.requires_grad)",
        "x = paddle.ones([3, 1])\nx.stop_gradient = False\nb = paddle.ones([2])\nb.stop_gradient = False\n"
        "w = paddle.ones([1, 2])\nw.stop_gradient = False\nu = x @ w + b\n"
        "g, = paddle.grad([u], [x], [paddle.ones_like(u)], create_graph=True)\nprint(g)",
    ),
    grad_of_a_tensor_that_was_not_used=(
        "x = torch.ones(2, requires_grad=True)\nz = torch.ones(2, requires_grad=True)\ntorch.autograd.grad(x.sum(), z)",
        "x = paddle.ones([2])\nx.stop_gradient = False\nz = paddle.ones([2])\nz.stop_gradient = False\n"
        "paddle.grad(x.sum(), z)",
    ),
    allow_unused=(
        "x = torch.ones(2, requires_grad=True)\nz = torch.ones(2, requires_grad=True)\n"
        "print(torch.autograd.grad(x.sum(), [x, z], allow_unused=True))",
        "x = paddle.ones([2])\nx.stop_gradient = False\nz = paddle.ones([2])\nz.stop_gradient = False\n"
        "print(paddle.grad(x.sum(), [x, z], allow_unused=True))",
    ),
    only_inputs=(
        "x = torch.ones(2, requires_grad=True)\nprint(torch.autograd.grad(x.sum(), x, only_inputs=True))\n"
        "torch.autograd.grad(x.sum(), x, only_inputs=False)",
        "x = paddle.ones([2])\nx.stop_gradient = False\nprint(paddle.grad(x.sum(), x, only_inputs=True))\n"
        "paddle.grad(x.sum(), x, only_inputs=False)",
    ),
    no_grad_vars=(
        None,
        "x = paddle.ones([2])\nx.stop_gradient = False\ny = x * 2\nz = x * y\n"
        "print(paddle.grad(z.sum(), x, retain_graph=True))\nprint(paddle.grad(z.sum(), x, no_grad_vars=[y]))",
    ),
    jacobian_and_hessian=(
        "from torch.autograd.functional import jacobian, hessian, vjp, jvp, hvp, vhp\nx = torch.tensor([1.0, 2.0])\n"
        "f = lambda x: x ** 3\ns = lambda x: (x ** 3).sum()\nprint(jacobian(f, x))\nprint(hessian(s, x))\n"
        "print(vjp(f, x, torch.ones(2)))\nprint(jvp(f, x, torch.ones(2)))\nprint(hvp(s, x, torch.ones(2)))\n"
        "print(vhp(s, x, torch.ones(2)))\nprint(jacobian(lambda a, b: a * b, (x, x)))",
        "x = paddle.to_tensor([1.0, 2.0])\nx.stop_gradient = False\ny = x ** 3\n"
        "print(paddle.autograd.jacobian(y, x)[:])\nprint(paddle.autograd.hessian((x ** 3).sum(), x)[:])",
    ),
    a_function_of_ones_own=(
        "class Cube(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return x ** 3\n    @staticmethod\n    def backward(ctx, g):\n"
        "        x, = ctx.saved_tensors\n        return g * 3 * x ** 2\n"
        "x = torch.tensor([1.0, 2.0], requires_grad=True)\ny = Cube.apply(x)\nprint(y)\ny.sum().backward()\n"
        "print(x.grad)\n"
        "print(y.grad_fn.name())",
        "class Cube(paddle.autograd.PyLayer):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return x ** 3\n    @staticmethod\n    def backward(ctx, g):\n"
        "        x, = ctx.saved_tensor()\n        return g * 3 * x ** 2\n"
        "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\ny = Cube.apply(x)\nprint(y)\n"
        "y.sum().backward()\nprint(x.grad)",
    ),
    a_function_called_without_apply=(
        "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x\n"
        "F()(torch.ones(1))",
        None,
    ),
    a_function_with_too_few_gradients=(
        "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, y):\n        return x * y\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\nx = torch.ones(1, requires_grad=True)\n"
        "F.apply(x, x).backward()",
        "class F(paddle.autograd.PyLayer):\n    @staticmethod\n    def forward(ctx, x, y):\n        return x * y\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\nx = paddle.ones([1])\n"
        "x.stop_gradient = False\n"
        "F.apply(x, x).backward()",
    ),
    backward_twice=(
        "x = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()",
        "x = paddle.ones([2])\nx.stop_gradient = False\ny = (x * x).sum()\ny.backward()\ny.backward()",
    ),
    a_checkpoint=(
        "from torch.utils.checkpoint import checkpoint\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "y = checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False)\ny.sum().backward()\nprint(x.grad)",
        None,
    ),
    a_checkpoint_without_saying_which=(
        "from torch.utils.checkpoint import checkpoint\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "checkpoint(lambda t: t.sin().exp(), x).sum().backward()\nprint(x.grad)",
        None,
    ),
    anomaly=(
        "with torch.autograd.detect_anomaly():\n    x = torch.tensor([0.0], requires_grad=True)\n"
        "    (x.sqrt() * 0).backward()",
        None,
    ),
    the_base_of_a_view=(
        "x = torch.arange(4.0)\nv = x[1:3]\n"
        "print(v._base is x, x._base, v[0:1]._base is x, v._is_view(), x._is_view())\n"
        "w = torch.ones(2, requires_grad=True)\nprint((w * 1)._base, w[0]._base is w, w.detach()._base)",
        None,
    ),
    detach_as_a_function=("x = torch.ones(2, requires_grad=True)\nprint(torch.detach(x), x.detach())", None),
    grad_mode_in_threads=(
        "import threading\nseen = []\nx = torch.ones(1, requires_grad=True)\nwith torch.no_grad():\n"
        "    t = threading.Thread(target=lambda: seen.append((x * 2).requires_grad))\n    t.start()\n    t.join()\n"
        "    seen.append((x * 2).requires_grad)\nprint(seen)",
        "import threading\nseen = []\nx = paddle.ones([1])\nx.stop_gradient = False\nwith paddle.no_grad():\n"
        "    t = threading.Thread(target=lambda: seen.append(not (x * 2).stop_gradient))\n    t.start()\n    t.join()\n"
        "    seen.append(not (x * 2).stop_gradient)\nprint(seen)",
    ),
    four_threads_on_one_leaf=(
        "import threading\nw = torch.ones(1, requires_grad=True)\ndef work():\n    for _ in range(2000):\n"
        "        (w * 3).sum().backward()\nts = [threading.Thread(target=work) for _ in range(4)]\n"
        "[t.start() for t in ts]\n[t.join() for t in ts]\nprint(w.grad.item())",
        None,
    ),
)

# ---- calls ----------------------------------------------------------------------------------------------------------

CALLS = of(
    "torch",
    "calls",
    "import torch.nn.functional as F\nx = torch.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])\n"
    "i = torch.tensor([2, 0, 2, 1])\n",
    "x.sum(dim=1, keepdims=True)",
    "x.sum(axis=1)",
    "x.mean(axis=0, keepdim=True)",
    "o = torch.empty(2, 2); r = torch.matmul(x, x.t(), out=o); print(o, r is o, o._version)",
    "o = torch.empty(0); torch.add(x, 1, out=o); print(o)",
    "o = torch.empty(5); torch.add(x, 1, out=o); print(o)",
    "o = torch.ones(2, 3, dtype=torch.int64); torch.add(x, 0.5, out=o)",
    "w = torch.ones(2, 3, requires_grad=True); torch.add(w, 1, out=torch.empty(2, 3))",
    "v, n = torch.empty(2), torch.empty(2, dtype=torch.int64); torch.max(x, 1, out=(v, n)); print(v, n)",
    "F.one_hot(i)",
    "F.one_hot(i, 4).dtype",
    "i.unique()",
    "torch.unique(i, return_counts=True)",
    "torch.unique(i, return_inverse=True, return_counts=True)",
    "torch.unique(torch.tensor([[1, 2], [1, 2]]), dim=0)",
    "torch.unique_consecutive(i)",
    "x.topk(2)",
    "x.topk(2, largest=False).indices",
    "x.sort()",
    "x.sort(descending=True).values",
    "x.argsort(1)",
    "torch.sort(i, stable=True)",
    "x.max(1)",
    "x.max(dim=1, keepdim=True).values",
    "x.median()",
    "x.median(1)",
    "x.mode(1)",
    "x.kthvalue(2)",
    "torch.norm(x, 0)",
    "x.norm(0)",
    "x.norm(1)",
    "x.norm(2)",
    "x.norm(float('inf'))",
    "x.norm(p=2, dim=1)",
    "x.norm('fro')",
    "x.clamp(min=torch.tensor([2.0, 2.0, 2.5]))",
    "x.clamp(max=torch.tensor(4.0), min=torch.tensor(2.0))",
    "x.clamp()",
    "x.clamp(5, 2)",
    "F.cross_entropy(x, torch.tensor([-100, 1]))",
    "F.cross_entropy(x, torch.tensor([-100, -100]))",
    "F.cross_entropy(x, torch.tensor([0, 1]), weight=torch.tensor([1.0, 2.0, 3.0]))",
    "F.cross_entropy(x, torch.tensor([0, 1]), ignore_index=0)",
    "F.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=0.1)",
    "F.cross_entropy(x, torch.tensor([0, 1]), weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1)",
    "F.cross_entropy(x, torch.tensor([0, 1]), reduction='none')",
    "F.cross_entropy(x, torch.tensor([0, -100]), reduction='none')",
    "F.cross_entropy(x, torch.softmax(x, 1))",
    "F.nll_loss(F.log_softmax(x, 1), torch.tensor([0, 1]), weight=torch.tensor([1.0, 2.0, 3.0]))",
    "torch.manual_seed(0); print(torch.multinomial(torch.tensor([0.1, 0.3, 0.6]), 5, replacement=True))",
    "torch.manual_seed(0); print(torch.multinomial(torch.ones(4), 4))",
    "torch.multinomial(torch.ones(2), 3)",
    "torch.multinomial(torch.tensor([1, 2]), 1)",
    "torch.manual_seed(0); print(torch.randperm(5), torch.rand(2), torch.randn(2), torch.randint(0, 10, (3,)))",
    "torch.manual_seed(0); print(torch.bernoulli(torch.full((4,), 0.5)), torch.normal(0.0, 1.0, (2,)))",
    "torch.manual_seed(0); print(torch.empty(3).uniform_(), torch.empty(3).normal_(), torch.empty(2).exponential_())",
    "torch.manual_seed(0); print(torch.randn(17)[:3], torch.rand(17)[:3])",
    "g = torch.Generator().manual_seed(1); print(torch.rand(2, generator=g), torch.randperm(3, generator=g))",
    "torch.manual_seed(0); s = torch.get_rng_state(); a = torch.rand(1); torch.set_rng_state(s); "
    "print(a == torch.rand(1))",
    "torch.manual_seed(0); print(F.dropout(torch.ones(8), 0.5))",
    "torch.accelerator.is_available()",
    "torch.accelerator.current_accelerator()",
    "torch.cuda.is_available()",
    "torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
    "torch.backends.mps.is_available()",
    "w = torch.ones(1, requires_grad=True); o = torch.optim.AdamW([w], lr=0.1, amsgrad=True); "
    "w.sum().backward(); o.step(); print(w)",
    "w = torch.ones(1, requires_grad=True); o = torch.optim.Adam([w], lr=0.1); w.sum().backward(); o.step(); "
    "print(o.state_dict())",
    "w = torch.ones(1, requires_grad=True); o = torch.optim.SGD([w], lr=0.1, momentum=0.9); w.sum().backward(); "
    "o.step(); s = o.state_dict(); p = torch.optim.SGD([w], lr=0.5); p.load_state_dict(s); p.step(); print(w, p)",
    "torch.optim.SGD([torch.ones(1)], lr=0.1)",
    "x.unfold(1, 2, 1)",
    "x.T.is_contiguous()",
    "x.data_ptr() == x[0].data_ptr()",
    "x.stride(), x.storage_offset(), x[1].storage_offset()",
    "x.nbytes, x.numel(), x.element_size()",
    "x.size(), x.size(0), x.shape[1], x.dim()",
    "type(x.size()).__name__",
    "x.permute(1, 0).shape",
    "torch.einsum('ij,kj->ik', x, x)",
    "torch.allclose(x, x + 1e-9), torch.equal(x, x)",
    "torch.isclose(x, x).all()",
    "x.tolist()",
    "x.std(), x.var(), x.std(0), x.var(1, unbiased=False)",
    "x.std(correction=0)",
    "torch.cumsum(x, 1), torch.cumprod(x, 1)",
    "torch.where(x > 2)",
    "torch.nonzero(x > 4)",
    "x.bool().any(), x.bool().all()",
    "x.int() & 1, x.int() | 1, x.int() ^ 1, ~x.int()",
    "x.bincount()",
    "i.bincount()",
    "torch.histc(x, 3)",
    "torch.tril(torch.ones(3, 3)), torch.triu(torch.ones(3, 3), 1)",
    "torch.cdist(x, x)",
    "torch.linalg.norm(x), torch.linalg.inv(x[:, :2])",
    "x[:, None].shape, x[..., 0], x[[0, 1], [1, 2]], x[x > 4]",
    "x.index_select(1, torch.tensor([0, 2]))",
    "x.gather(1, torch.tensor([[0], [2]]))",
    "x.view(3, 2), x.view(-1)",
    "x.t().view(6)",
    "x.expand(2, 2, 3).shape, x.repeat(2, 1).shape",
    "x.flatten(), x.ravel().shape, x.squeeze().shape",
    "torch.full((2, 2), 7), torch.full((2, 2), 7.0)",
    "torch.arange(0, 1, 0.25), torch.linspace(0, 1, 5)",
    "x.softmax(dim=-1), x.log_softmax(-1), x.argmax(), x.argmax(1)",
    "str(x), repr(x), format(x[0, 0], '.2f'), f'{x[0, 0]:.1f}'",
    "print(torch.tensor([1e10, 1.0]), torch.tensor([1e-8, 1.0]), torch.tensor([float('nan'), float('inf')]))",
    "torch.set_printoptions(precision=2); print(x / 3)",
    "torch.set_printoptions(sci_mode=True); print(x)",
)

# ---- cases of Paddle's tests --- ------------------------------------------------------------------------------------

PADDLE = "import numpy\nx = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])\n"
PADDLE_TESTS = of(
    "paddle",
    "Paddle's own tests",
    PADDLE,
    "print(x.cumsum_(), x.shape)",
    "r = x.cumsum_(); print(r is x, x, x.inplace_version)",
    "r = x.cumsum_(axis=0); print(r is x, x, x.inplace_version)",
    "r = x.cumsum_(axis=-1, dtype='float64'); print(r is x, x, x.inplace_version)",
    "r = x.cumsum_(dtype='int64'); print(r is x, x, x.inplace_version)",
    "r = x.cumsum_(dtype='float64'); print(r is x, x, x.inplace_version)",
    "r = paddle.cumsum_(x, dtype='float64'); print(r is x, x)",
    "v = x[0]; x.cumsum_(); print(v, x)",
    "print(x.cumsum(), x.cumsum(dtype='float64'), x.cumsum(axis=0, dtype='int32'))",
    "r = x.cumprod_(); print(r is x, x, x.inplace_version)",
    "r = x.cumprod_(dim=0); print(r is x, x, x.inplace_version)",
    "r = x.cumprod_(dim=-1, dtype='float64'); print(r is x, x, x.inplace_version)",
    "r = x.cumprod_(dtype='float64'); print(r is x, x, x.inplace_version)",
    "print(x.cumprod(), x.cumprod(dim=0, dtype='float64'))",
    "w = paddle.ones([2, 2]); w.stop_gradient = False; a = w * 2; a.cumsum_(); a.sum().backward(); print(w.grad, a)",
    "w = paddle.ones([2, 2]); w.stop_gradient = False; a = w * 2; a.cumsum_(dtype='float64'); "
    "a.sum().backward(); print(w.grad, a)",
    "w = paddle.ones([2, 2]); w.stop_gradient = False; a = w * 2; a.cumprod_(dim=0, dtype='float64'); "
    "a.sum().backward(); print(w.grad, a)",
    "w = paddle.ones([2, 2]); w.stop_gradient = False; a = w * 2; a.cumprod_(); a.sum().backward(); print(w.grad, a)",
    "r = x.renorm_(2.0, 0, 3.0); print(r is x, x, x.inplace_version)",
    "r = x.renorm_(2.0, -1, 3.0); print(r is x, x, x.inplace_version)",
    "r = x.renorm_(2.0, -2, 3.0); print(r is x, x)",
    "x.renorm_(2.0, 2, 3.0)",
    "x.renorm_(2.0, -3, 3.0)",
    "print(paddle.renorm(x, 2.0, -1, 3.0))",
    "r = paddle.where_(x > 2.0, x, 0.0); print(r is x, x, x.inplace_version)",
    "r = paddle.where_(x > 2.0, x, 5); print(r is x, x)",
    "r = paddle.where_(x > 2.0, 1.0, x); print(r)",
    "r = x.where_(x > 2.0, 0.0); print(r)",
    "r = paddle.where_(x > 2.0, x, paddle.zeros([1])); print(r is x, x)",
    "r = paddle.where_(x > 2.0, x, paddle.zeros([2, 2])); print(r is x, x, x.inplace_version)",
    "print(paddle.where(x > 2.0, x, 0.0))",
    "print(paddle.where(x > 2.0, 1.0, 0.0))",
    "paddle.where_(x > 2.0, x)",
    "x.scale_(2.0); x._reset_grad_inplace_version(); print(x.inplace_version)",
    "x.scale_(2.0); x._reset_grad_inplace_version(True); print(x.inplace_version)",
    "x.stop_gradient = False; (x * x).sum().backward(); x._reset_grad_inplace_version(); "
    "print(x.inplace_version, x.grad)",
    "x.stop_gradient = False; (x * x).sum().backward(); x._reset_grad_inplace_version(True); print(x.grad)",
    "x._bump_inplace_version(); print(x.inplace_version)",
    "x.scale_(2.0); print(x._inplace_version(), x.inplace_version)",
    "x.stop_gradient = False; h = x._register_backward_hook(lambda: print('ran', x.grad)); "
    "(x * 2).sum().backward(); print(h)",
    "x.stop_gradient = False; y = x * 2; y._register_backward_hook(lambda: print('ran'))",
    "x._register_backward_hook(lambda: print('ran'))",
    "x.stop_gradient = False; y = x * 2; y.register_hook(lambda g: print('ran', g.shape)); y.sum().backward()",
    "x.register_hook(lambda g: g)",
    "x.stop_gradient = False; h = x.register_hook(lambda g: g * 2); print(h.remove(), h.remove()); "
    "x.sum().backward(); print(x.grad)",
)
LAYER = """class L(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, {arguments}):
        {forward}
    @staticmethod
    def backward(ctx, *g):
        {backward}
w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
a = w * 1
{call}
"""


def layer(call: str, forward: str, backward: str = "return g[0] * 3", arguments: str = "x") -> tuple[None, str]:
    """Return a PyLayer and the lines that use it; `w` is a leaf and `a` is `w * 1`."""
    return None, LAYER.format(arguments=arguments, forward=forward, backward=backward, call=call)


LAYERS = both(
    "PyLayer",
    mark_not_inplace=layer(
        "y = L.apply(a)\nprint(y is a, y.data_ptr() == a.data_ptr(), y)\ny.sum().backward()\nprint(w.grad)",
        "ctx.mark_not_inplace(x)\n        return x",
    ),
    mark_not_inplace_written=layer(
        "y = L.apply(a)\nprint(y is a, y, a, a.inplace_version)\ny.sum().backward()\nprint(w.grad)",
        "ctx.mark_not_inplace(x)\n        x.scale_(3.0)\n        return x",
    ),
    input_returned=layer(
        "y = L.apply(a)\nprint(y is a, y.data_ptr() == a.data_ptr(), y, a.inplace_version)\ny.sum().backward()\n"
        "print(w.grad)",
        "return x",
    ),
    input_written_and_returned=layer(
        "y = L.apply(a)\nprint(y is a, y, a, a.inplace_version)\ny.sum().backward()\nprint(w.grad)",
        "x.scale_(3.0)\n        return x",
    ),
    a_leaf_written_and_returned=layer("y = L.apply(w)\nprint(y is w, y)", "x.scale_(3.0)\n        return x"),
    forward_returns_None=layer("y = L.apply(a)\nprint(y)", "return None"),
    forward_returns_a_tensor_and_None=layer(
        "y = L.apply(a)\nprint(y)\ny[0].sum().backward()\nprint(w.grad)", "return x * 3, None"
    ),
    forward_returns_a_number=layer("y = L.apply(a)\nprint(y)", "return 3.0"),
    forward_returns_a_tensor_and_a_number=layer(
        "y = L.apply(a)\nprint(y)\ny[0].sum().backward()\nprint(w.grad)", "return x * 3, 5"
    ),
    forward_returns_a_list=layer("y = L.apply(a)\nprint(type(y).__name__, y)", "return [x * 3, x * 4]"),
    backward_returns_None=layer("y = L.apply(a)\ny.sum().backward()\nprint(w.grad)", "return x * 3", "return None"),
    backward_returns_too_many=layer(
        "y = L.apply(a)\ny.sum().backward()\nprint(w.grad)", "return x * 3", "return g[0], g[0]"
    ),
    backward_returns_too_few=layer(
        "y = L.apply(a, a)\ny.sum().backward()\nprint(w.grad)", "return x * z", "return g[0]", "x, z"
    ),
    backward_returns_another_shape=layer(
        "y = L.apply(a)\ny.sum().backward()\nprint(w.grad)", "return x * 3", "return g[0].sum()"
    ),
    backward_returns_a_number=layer("y = L.apply(a)\ny.sum().backward()\nprint(w.grad)", "return x * 3", "return 3.0"),
    mark_non_differentiable=layer(
        "y = L.apply(a)\nprint([t.stop_gradient for t in y])",
        "y, z = x * 3, x * 4\n        ctx.mark_non_differentiable(z)\n        return y, z",
    ),
    set_materialize_grads=layer(
        "y, z = L.apply(a)\ny.sum().backward()\nprint(w.grad)",
        "ctx.set_materialize_grads(False)\n        return x * 3, x * 4",
        "print(g[1])\n        return g[0] * 3",
    ),
    no_tensor_given=layer("y = L.apply(1.0)\nprint(y)", "return paddle.ones([2]) * x"),
    saved_and_overwritten=layer(
        "y = L.apply(a)\na.scale_(10.0)\ny.sum().backward()\nprint(w.grad)",
        "ctx.save_for_backward(x)\n        return x * x",
        "x, = ctx.saved_tensor()\n        return g[0] * 2 * x",
    ),
    saved_twice=layer(
        "y = L.apply(a)\ny.sum().backward()\nprint(w.grad)",
        "ctx.save_for_backward(x)\n        ctx.save_for_backward(x * 2)\n        return x * x",
        "x, = ctx.saved_tensor()\n        return g[0] * x",
    ),
)

# ---- Paddle's operators, order, spread, products, gradients and files ------------------------------------------------

WALKED = (
    "import numpy\nx = paddle.to_tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 4.0]])\n"
    "z, e = paddle.to_tensor(2.0), paddle.ones([0])\n"
    "i = paddle.to_tensor([[3, 1, 2], [4, 6, 4]])\nj = paddle.to_tensor([1, 2, 3], dtype='int32')\n"
    "b = paddle.to_tensor([True, False, True])\n"
)


def listed(text: str) -> list[str]:
    """Split a text into programs at each `|`, except at `\\|`, which is the operator `|` in a program."""
    return [each.replace("\0", "|") for each in text.replace("\\|", "\0").split("|")]


LEAVES = (
    "import numpy\nm = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])\nv = paddle.to_tensor([4.0, 6.0, 4.0])\n"
    "d = paddle.to_tensor([3.0, 4.0], dtype='float64')\nw = paddle.to_tensor([3.0, 4.0], stop_gradient=False)\n"
)
FILES = (
    "u = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\n"
    "x, z, e, i = m[:, :1] * 1, v[0], paddle.ones([0]), paddle.arange(3)\n"
    "b = i > 1\nimport io, os, tempfile\nwhere = os.path.join(tempfile.mkdtemp(), 'file')\n"
)

BITS = of(
    "paddle",
    "bits",
    WALKED,
    *listed(
        "i & i|i & j|i & 1|1 & i|i & True|i & 1.0|i & x|x & x|x \\| x|x ^ x|~x|b & b|b & True|b & 1|b & i|i & b|b "
        "\\| 1|b ^ b|b ^ True|~b|~j|i & 'a'|i & None|i & [1, 1, 1]|i & i[0]|i & i[:, :2]|z & z|~z|e & e|i & "
        "numpy.array([1, 1, 1])|i \\| i[0]|3 \\| i|3 ^ i|i &= 1; i|y = i; y &= i; print(y is i, "
        "i.inplace_version)|paddle.bitwise_and(i, i)|paddle.bitwise_and(i, 1)|paddle.bitwise_and(x, "
        "x)|paddle.bitwise_and(x=i, y=i)|paddle.bitwise_not(i)|paddle.bitwise_not(x)|paddle.bitwise_or(b, "
        "b)|paddle.bitwise_xor(i, j)|paddle.bitwise_and(i)|i.bitwise_and_(i); "
        "i|i.bitwise_and_(j)|j.bitwise_and_(i); j|i.bitwise_and_(1)|i.bitwise_not_(); "
        "i|x.bitwise_not_()|paddle.to_tensor(6) & paddle.to_tensor(3)"
    ),
)

ORDER = of(
    "paddle",
    "order",
    WALKED + LEAVES,
    *listed(
        "x.argsort()|x.argsort(0)|x.argsort(axis=-2)|x.argsort(-1, True)|x.argsort(axis=1, descending=True)|x.argso"
        "rt(2)|x.argsort(-3)|x.argsort(1.0)|x.argsort('a')|x.argsort(None)|x.argsort(dim=0)|i.argsort()|j.argsort()"
        "|b.argsort()|z.argsort()|z.argsort(1)|e.argsort()|paddle.argsort(x)|paddle.argsort(x=x, "
        "axis=0)|paddle.argsort([3, 1])|paddle.argsort(1.0)|paddle.argsort()|x.argsort(-1, False, "
        "True)|x.sort()|x.sort(0)|x.sort(-2, True)|x.sort(2)|x.sort(axis=0, descending=True)|x.sort(-3)|x.sort('a')"
        "|x.sort(1.0)|x.sort(None)|i.sort()|j.sort()|b.sort()|z.sort()|e.sort()|paddle.sort(x, 0)|paddle.sort([3, "
        "1])|paddle.sort(x, descending=1)|x.sort(stable=True)|w.sort(descending=True)|y = w.sort(); "
        "y.sum().backward(); w.grad|x.topk(2)|x.topk(1, 0)|x.topk(k=2, axis=-1, largest=False)|x.topk(2, "
        "-2)|x.topk(4)|x.topk(0)|x.topk(-1)|x.topk(1, 2)|x.topk(1, -3)|x.topk(1.0)|x.topk('a')|x.topk(paddle.to_ten"
        "sor(2))|x.topk(paddle.to_tensor([2]))|x.topk()|x.topk(None)|x.topk(2, "
        "sorted=False)|i.topk(1)|j.topk(1)|b.topk(1)|z.topk(1)|e.topk(1)|paddle.topk(x, 2)|paddle.topk([3, 1], "
        "1)|x.topk(1, dim=0)|type(x.topk(1)).__name__|x.topk(1, 0.0)|y, _ = w.topk(1); y.sum().backward(); "
        "w.grad|paddle.to_tensor([1.0, float('nan'), 0.0]).sort()|paddle.to_tensor([1.0, float('nan'), "
        "0.0]).topk(1)|paddle.to_tensor([1.0, float('nan'), 0.0]).argsort(descending=True)"
    ),
)

SPREAD = of(
    "paddle",
    "spread",
    WALKED + LEAVES,
    *listed(
        "x.std()|x.std(0)|x.std(axis=-1)|x.std(axis=1, unbiased=False)|x.std(1, True, True)|x.std(axis=0, "
        "keepdim=True)|x.std(2)|x.std(-3)|x.std([0, 1])|x.std((0, 1))|x.std([])|x.std([0, 0])|x.std(keepdim=True)|x"
        ".std('a')|x.std(1.0)|x.std(dim=0)|j.std()|b.std()|z.std()|e.std()|d.std()|paddle.std(x)|paddle.std(x=x, "
        "axis=0)|paddle.std([1.0, 2.0])|paddle.std(3.0)|paddle.std()|x.std(unbiased=0)|paddle.ones([1]).std()|y = "
        "w.std(); y.backward(); w.grad|x.var()|x.var(0)|x.var(axis=-1)|x.var(axis=1, unbiased=False)|x.var(1, True,"
        " True)|x.var(axis=0, keepdim=True)|x.var(2)|x.var(-3)|x.var([0, 1])|x.var((0, 1))|x.var([])|x.var([0, 0])|"
        "x.var(keepdim=True)|x.var('a')|x.var(1.0)|x.var(dim=0)|j.var()|b.var()|z.var()|e.var()|d.var()|paddle.var("
        "x)|paddle.var(x=x, axis=0)|paddle.var([1.0, "
        "2.0])|paddle.var(3.0)|paddle.var()|x.var(unbiased=0)|paddle.ones([1]).var()|y = w.var(); y.backward(); w.g"
        "rad|x.norm()|x.norm(2)|x.norm('fro')|x.norm(1)|x.norm(0)|x.norm(3)|x.norm(numpy.inf)|x.norm(-numpy.inf)|x."
        "norm(float('inf'))|x.norm(2, 0)|x.norm(1, -1)|x.norm(p=2, axis=1, keepdim=True)|x.norm('fro', [0, "
        "1])|x.norm('fro', 0)|x.norm(2, [0, 1])|x.norm(1, [0, 1])|x.norm(numpy.inf, [0, 1])|x.norm(-1)|x.norm(-2, "
        "0)|x.norm(0.5, 0)|x.norm('a')|x.norm('nuc')|x.norm(None)|x.norm(2, 2)|x.norm(2, -3)|x.norm(2, "
        "'a')|x.norm(dim=0)|x.norm(keepdim=True)|x.norm(2, keepdim=True)|x.norm([2])|x.norm(0, 0)|x.norm(numpy.inf,"
        " 0)|x.norm(-numpy.inf, 0)|j.norm()|b.norm()|z.norm()|e.norm()|d.norm()|paddle.norm(x)|paddle.norm(x=x, "
        "p=1)|paddle.norm([3.0, 4.0])|paddle.norm(3.0)|paddle.norm(x, p=2, axis=(0, 1))|y = w.norm(); y.backward();"
        " w.grad|y = w.norm(1); y.backward(); w.grad|y = w.norm(3); y.backward(); w.grad|y = w.norm(numpy.inf); "
        "y.backward(); w.grad|paddle.linalg.norm(x)|paddle.ones([2, 2, 2]).norm()|paddle.ones([2, 2, 2]).norm(2, "
        "[0, 2])|paddle.ones([2, 2, 2]).norm(2, [0, 1, 2])"
    ),
)

PRODUCTS = of(
    "paddle",
    "products",
    WALKED + LEAVES,
    *listed(
        "v.dot(v)|x.dot(x)|v.dot(x)|v.dot(v[:2])|z.dot(z)|e.dot(e)|v.dot(2.0)|v.dot('a')|v.dot(None)|v.dot([1.0, "
        "2.0, "
        "3.0])|v.dot(y=v)|v.dot(other=v)|v.dot(d)|d.dot(d)|d.dot(w)|j.dot(j)|b.dot(b)|i[0].dot(j)|m.reshape([1, 2, "
        "2]).dot(m.reshape([1, 2, 2]))|paddle.dot(v, v)|paddle.dot(v)|paddle.dot([1.0], [2.0])|paddle.dot(x=v, "
        "y=v)|m.mm(m)|x.mm(m)|m.mm(x)|m.mm(v)|v.mm(v)|m.mm(2.0)|m.mm('a')|m.mm(None)|m.mm([[1.0, 2.0], [3.0, "
        "4.0]])|m.mm(mat2=m)|m.mm(y=m)|paddle.mm(m, m)|paddle.mm(input=m, "
        "mat2=m)|paddle.mm(m)|m.mm(m.astype('float64'))|i.mm(i.T)|b.mm(b)|z.mm(z)|e.mm(e)|m.reshape([1, 2, "
        "2]).mm(m)|m.mm(m.reshape([1, 2, 2]))|d.mm(d)|m.mm(paddle.ones([2]))|m.reshape([1, 2, 2]).bmm(m.reshape([1,"
        " 2, 2]))|m.bmm(m)|m.reshape([1, 2, 2]).bmm(m)|m.reshape([1, 2, 2]).bmm(2.0)|m.reshape([1, 2, "
        "2]).bmm('a')|m.reshape([1, 2, 2]).bmm(None)|paddle.bmm(paddle.ones([2, 2, 3]), paddle.ones([1, 3, "
        "2]))|paddle.bmm(paddle.ones([2, 2, 3]), paddle.ones([2, 2, 3]))|paddle.bmm(x=paddle.ones([2, 2, 3]), "
        "y=paddle.ones([2, 3, 1]))|paddle.bmm(paddle.ones([2, 2, 3]))|paddle.bmm(paddle.ones([0, 2, 3]), "
        "paddle.ones([0, 3, 2]))|paddle.bmm(paddle.ones([1, 1, 2], dtype='int64'), paddle.ones([1, 2, 1], "
        "dtype='int64'))|paddle.bmm(paddle.ones([1, 1, 2], dtype='float64'), paddle.ones([1, 2, 1]))|y = w.dot(w); "
        "y.backward(); w.grad|paddle.add_n([x, x])|paddle.add_n((x, "
        "x))|paddle.add_n(x)|paddle.add_n([x])|paddle.add_n([x]) is x|paddle.add_n(x) is "
        "x|paddle.add_n([x]).data_ptr() == x.data_ptr()|paddle.add_n([])|paddle.add_n([x, v])|paddle.add_n([x, "
        "1.0])|paddle.add_n([1.0, 2.0])|paddle.add_n([i, i])|paddle.add_n([x, i])|paddle.add_n([b, "
        "b])|paddle.add_n([z, z])|paddle.add_n([e, "
        "e])|paddle.add_n(1.0)|paddle.add_n('a')|paddle.add_n(None)|paddle.add_n()|paddle.add_n(inputs=[x, "
        "x])|paddle.add_n([x, None])|paddle.add_n([d, w])|x.add_n([x])|paddle.add_n(x, x)|y = paddle.add_n([w, w]);"
        " y.sum().backward(); w.grad|y = paddle.add_n([w]); y.sum().backward(); w.grad|x.contiguous() is x|x.T.cont"
        "iguous()|x.is_contiguous()|x.T.is_contiguous()|z.contiguous()|e.contiguous()|x.contiguous(1)|x.contiguous("
        "); print(x.inplace_version)|w.contiguous().stop_gradient|paddle.contiguous(x)"
    ),
)

GRADIENTS_AND_FILES = of(
    "paddle",
    "gradients, copies and files",
    LEAVES + FILES,
    *listed(
        "paddle.grad((w * u).sum(), w)|paddle.grad((w * u).sum(), w, no_grad_vars=[u])|paddle.grad((w * u).sum(), "
        "w, no_grad_vars=u)|paddle.grad((w * u).sum(), [w, u], no_grad_vars=[u])|paddle.grad((w * u).sum(), [w, u],"
        " no_grad_vars=[u], allow_unused=True)|h = w * 2; print(paddle.grad((h * w).sum(), w, no_grad_vars=[h]))|h "
        "= w * 2; print(paddle.grad((h * w).sum(), w, no_grad_vars=h))|h = w * 2; print(paddle.grad(h.sum(), w, "
        "no_grad_vars=[h]))|h = w * 2; print(paddle.grad(h.sum(), w, no_grad_vars=[h], allow_unused=True))|h = w * "
        "2; print(paddle.grad((h * w).sum(), w, no_grad_vars=(h,)))|h = w * 2; print(paddle.grad((h * w).sum(), w, "
        "no_grad_vars={h}))|h = w * 2; print(paddle.grad((h * w).sum(), w, no_grad_vars=[]))|h = w * 2; "
        "print(paddle.grad((h * w).sum(), w, no_grad_vars=None))|h = w * 2; print(paddle.grad((h * w).sum(), w, "
        "no_grad_vars=1))|h = w * 2; print(paddle.grad((h * w).sum(), w, no_grad_vars=['a']))|h = w * 2; "
        "print(paddle.grad((h * w).sum(), w, no_grad_vars=[h], create_graph=True))|paddle.grad((w * u).sum(), w, "
        "None, None, False, True, False, [u])|paddle.grad((w * u).sum(), w, no_grad_set=[u])|paddle.grad((w * "
        "u).sum(), 1.0)|paddle.grad(1.0, w)|paddle.grad((w * u).sum(), [])|paddle.grad([], w)|paddle.grad((w * "
        "u).sum(), 'a')|paddle.grad((w * u).sum(), w, grad_outputs=1.0)|paddle.grad(w * u, w, "
        "grad_outputs=[u])|paddle.grad(w * u, w, grad_outputs=u)|paddle.grad(w * u, w, [None])|paddle.grad(w * u, "
        "w, [u, u])|paddle.grad((w * u).sum(), x)|paddle.grad((w * u).sum(), [w], only_inputs=False)|paddle.grad((w"
        " * u).sum(), w, retain_graph=1)|r = m.copy_(m * 2, True); print(r is m, m, m.inplace_version)|r = "
        "m.copy_(m * 2, False); print(r is m, m, m.inplace_version)|m.copy_(m * 2); m|m.copy_(x, True); "
        "m|m.copy_(v, True)|m.copy_(z, True); m|m.copy_(1.0, True)|m.copy_('a', True)|m.copy_(None, "
        "True)|m.copy_([1.0], True)|m.copy_()|m.copy_(m.astype('float64') * 2, True); m|m.copy_(paddle.ones([2, 2],"
        " dtype='int64'), True); m|w.copy_(u, True)|w.copy_(u, True); w|y = w * 1; y.copy_(u, True); "
        "y.sum().backward(); print(w.grad, u.grad)|m.copy_(m * 2, blocking=True); m|m.copy_(other=m * 2, "
        "blocking=True)|m.copy_(m * 2, 1); m|m.copy_(m * 2, 'a')|m.copy_(numpy.ones([2, 2]), True)|paddle.save(x, "
        "where); print(paddle.load(where))|paddle.save({'a': x, 'b': [i, 2, 'c']}, where); "
        "print(paddle.load(where))|paddle.save([x, b], where); print(paddle.load(where))|paddle.save((x, z), "
        "where); print(paddle.load(where))|paddle.save(e, where); print(paddle.load(where))|paddle.save(w, where); "
        "print(paddle.load(where))|paddle.save({'w': w}, where); "
        "print(paddle.load(where)['w'].stop_gradient)|paddle.save(x, where); print(paddle.load(where, "
        "return_numpy=True))|paddle.save({'a': x}, where); print(type(paddle.load(where, "
        "return_numpy=True)['a']).__name__)|paddle.save(1.0, where); print(paddle.load(where))|paddle.save(None, "
        "where); print(paddle.load(where))|paddle.save('a', where); "
        "print(paddle.load(where))|paddle.save(numpy.ones(2), where); "
        "print(paddle.load(where))|paddle.save(x)|paddle.save(x, 1)|paddle.save(x, None)|paddle.save(x, "
        "'')|paddle.save(x, os.path.dirname(where))|paddle.save(x, where + "
        "'/a/b')|os.path.isfile(where)|paddle.save(x, where, protocol=4); print(paddle.load(where))|paddle.save(x, "
        "where, protocol=1)|paddle.save(x, where, protocol='a')|paddle.save(x, where, 5)|f = io.BytesIO(); "
        "paddle.save(x, f); f.seek(0); "
        "print(paddle.load(f))|paddle.load(where)|paddle.load(1)|paddle.load()|paddle.load('')|paddle.save(x * 1, "
        "path=where); print(paddle.load(path=where))|n = paddle.nn.Linear(1, 1); paddle.save(n.state_dict(), "
        "where); print(sorted(paddle.load(where)))|paddle.save(paddle.nn.Linear(1, 1), where)|paddle.save(lambda: "
        "1, where)|open(where, 'wb').close(); paddle.load(where)|open(where, 'wb').write(b'junk'); "
        "paddle.load(where)|w.scale(2.0); paddle.save(w * 2, where); print(paddle.load(where))|paddle.save(x[:, "
        ":1], where); print(paddle.load(where))"
    ),
)

HOOKS = of(
    "paddle",
    "hooks of layers",
    "class D(paddle.nn.Layer):\n    def forward(self, x, k=1):\n        return x * 2 * k\nn = D()\n"
    "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\ny = paddle.ones([2])\n",
    *listed(
        "n.register_forward_pre_hook(lambda l, i: print(type(l).__name__, i)); "
        "n(x)|n.register_forward_pre_hook(lambda l, i: i[0] + 1); n(x)|n.register_forward_pre_hook(lambda l, i: "
        "(i[0] + 1,)); n(x)|n.register_forward_pre_hook(lambda l, i: (i[0], 3)); "
        "n(x)|n.register_forward_pre_hook(lambda l, i: [i[0] + 1]); n(x)|h = n.register_forward_pre_hook(lambda l, "
        "i: i[0] + 1); h.remove(); n(x)|h = n.register_forward_pre_hook(lambda l, i: i[0] + 1); h.remove(); "
        "h.remove(); n(x)|n.register_forward_pre_hook(lambda l, i: print(1)); n.register_forward_pre_hook(lambda l,"
        " i: print(2)); n(x)|n.register_forward_pre_hook(lambda l, i: i[0] + 1); n.register_forward_pre_hook(lambda"
        " l, i: i[0] * 2); n(x)|n.register_forward_pre_hook(lambda l, i: print(i)); n(x, "
        "k=3)|n.register_forward_pre_hook(1); n(x)|n.register_forward_pre_hook(lambda l: l); "
        "n(x)|n.register_forward_pre_hook(); n(x)|n.register_forward_pre_hook(lambda l, i: i[0].scale_(2.0)); "
        "n(x)|n.register_forward_pre_hook(lambda l, i: i[0].scale_(2.0)); n(y); "
        "y|n.register_forward_post_hook(lambda l, i, o: print(type(l).__name__, i, o)); "
        "n(x)|n.register_forward_post_hook(lambda l, i, o: o + 1); n(x)|n.register_forward_post_hook(lambda l, i, "
        "o: (o, 1)); n(x)|h = n.register_forward_post_hook(lambda l, i, o: o + 1); h.remove(); "
        "n(x)|n.register_forward_post_hook(lambda l, i, o: print(1)); n.register_forward_post_hook(lambda l, i, o: "
        "print(2)); n(x)|n.register_forward_post_hook(lambda l, i, o: o + 1); n.register_forward_post_hook(lambda "
        "l, i, o: o * 2); n(x)|n.register_forward_post_hook(lambda l, i, o: print(i)); n(x, "
        "k=3)|n.register_forward_post_hook(1); n(x)|n.register_forward_post_hook(lambda l, o: o); "
        "n(x)|n.register_forward_post_hook(); n(x)|n.register_forward_post_hook(lambda l, i, o: o.scale_(3.0)); "
        "n(x).sum().backward(); x.grad|n.register_forward_pre_hook(lambda l, i: i[0] * 3); "
        "n.register_forward_post_hook(lambda l, i, o: o * 5); n(x).sum().backward(); x.grad|s = "
        "paddle.nn.Sequential(n, D()); n.register_forward_post_hook(lambda l, i, o: print('inner')); "
        "s.register_forward_post_hook(lambda l, i, o: print('outer')); s(x)|n.register_forward_post_hook(lambda l, "
        "i, o: print('ran')); n.forward(x)|n.register_forward_pre_hook(lambda l, i: print('ran')); n.eval(); "
        "n(x)|n.register_forward_hook(lambda l, i, o: o)|n.register_backward_hook(lambda l, i, o: "
        "o)|n.register_full_backward_hook(lambda l, i, o: o)"
    ),
)
RECOMPUTED = of(
    "paddle",
    "recompute",
    "from paddle.distributed.fleet.utils import recompute\n"
    "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\nw = paddle.to_tensor([3.0, 4.0], stop_gradient=False)\n"
    "def f(x, k=1):\n    print('ran')\n    return (x * w * k).exp().log() * x\n",
    *listed(
        "y = recompute(f, x); y.sum().backward(); print(x.grad, w.grad)|y = recompute(f, x, use_reentrant=False); "
        "y.sum().backward(); print(x.grad, w.grad)|y = recompute(f, x, preserve_rng_state=False); "
        "y.sum().backward(); print(x.grad)|y = recompute(f, x, k=3); y.sum().backward(); print(x.grad)|y = "
        "recompute(f, x, k=3, use_reentrant=False); y.sum().backward(); print(x.grad)|y = recompute(f, x, 3); "
        "y.sum().backward(); print(x.grad)|print(recompute(f, x).stop_gradient, recompute(f, "
        "x.detach()).stop_gradient, recompute(f, x.detach(), use_reentrant=False).stop_gradient)|y = recompute(f, "
        "x.detach(), use_reentrant=False); y.sum().backward(); print(w.grad)|a, b = recompute(lambda x: (x * 2, x *"
        " x), x); (a * b).sum().backward(); print(x.grad)|r = recompute(lambda x: [x * 2, x], x); "
        "print(type(r).__name__)|a, b = recompute(lambda x, y: (x * y, 5), x, x); a.sum().backward(); print(b, "
        "x.grad)|recompute(1, x)|recompute()|recompute(f)|with paddle.no_grad(): print(recompute(f, "
        "x))|recompute(f, x, wrong=1)|recompute(f, x, wrong=1, use_reentrant=False)|y = recompute(f, x); "
        "y.sum().backward(retain_graph=True); y.sum().backward(); print(x.grad)|y = recompute(f, x); "
        "y.sum().backward(); y.sum().backward()|y = recompute(lambda x: x.exp().scale_(2.0), x); "
        "y.sum().backward(); print(x.grad)|y = recompute(lambda x: recompute(f, x) * 2, x); y.sum().backward(); "
        "print(x.grad)|n = paddle.nn.Linear(2, 1); y = recompute(n, x.reshape([1, 2])); y.sum().backward(); "
        "print(n.bias.grad)|paddle.seed(1); y = recompute(lambda x: paddle.nn.functional.dropout(x, 0.5) , x); "
        "y.sum().backward(); print(bool((x.grad * x == y).all()))|h = x * 1; y = recompute(f, h); "
        "y.sum().backward(); print(x.grad)|h = x * 1; y = recompute(f, h); h.scale_(2.0); y.sum().backward(); "
        "print(x.grad)"
    ),
)


# ---- operands of a wrong kind, in place -----------------------------------------------------------------------------

#: Each of the following pairs has the names of operations, and their wrong arguments separated by `|`.
TWO = (
    (
        "add_ subtract_ multiply_ divide_ remainder_ floor_divide_ pow_ equal_ less_than_ logical_and_ copysign_ "
        "hypot_ ldexp_ lerp_ copy_"
    ),
    "'a'|None|[1.0, 2.0]||wrong=m|m, wrong=1",
)
WHOLE = "bitwise_and_ bitwise_or_ gcd_ lcm_", "'a'|None|[1, 2]||wrong=j|2.0"
ONE = "exp_ sqrt_ abs_ tanh_ zero_ neg_ square_ logical_not_ log_", "1|'a'|wrong=1|None"
NUMBERED = (
    (
        "scale_ clip_ fill_ fill_diagonal_ cumsum_ cumprod_ tril_ triu_ reshape_ squeeze_ unsqueeze_ flatten_ "
        "transpose_ cast_ renorm_ multigammaln_ polygamma_ masked_fill_ index_fill_ index_add_ index_put_ "
        "put_along_axis_ scatter_ where_ addmm_ nan_to_num_ logit_ t_ set_value"
    ),
    "'a'|None|wrong=1|{}||[1.0, 'a']",
)
DRAWN = "uniform_ normal_ exponential_ bernoulli_ geometric_ cauchy_ log_normal_", "'a'|wrong=1|[1.0, 'a']|{}"
KINDS = (("m", *TWO), ("j", *WHOLE), ("m", *ONE), ("m", *NUMBERED), ("m", *DRAWN))
WRONG = of(
    "paddle",
    "operands of a wrong kind in place",
    "m = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])\nj = paddle.to_tensor([1, 2, 3], dtype='int32')\n",
    *(f"{x}.{name}({given})" for x, names, each in KINDS for name in names.split() for given in each.split("|")),
    *(
        f"paddle.{name}({given})"
        for name in ("add_", "exp_", "scale_", "clip_", "multiply_", "cumsum_")
        for given in ("1.0", "'a'", "None", "[1.0]", "")
    ),
)

# ---- a write that reads memory that it overwrites --------------------------------------------------------------------

OVERLAPS = of(
    "torch",
    "a part of itself",
    "x = torch.arange(6.0)\ni = torch.tensor([0, 1])\n",
    *(
        f"{line}; print(x)"
        for line in (
            "x[1:].add_(x[:-1])",
            "x[1:] += x[:-1]",
            "x[1:] = x[:-1]",
            "x[1:].copy_(x[:-1])",
            "x.add_(x[0])",
            "x.pow_(x[1])",
            "x.lerp_(x[0], 0.5)",
            "x[i] = x[:2]",
            "x.index_copy_(0, i, x[:2])",
            "x.scatter_(0, i, x[2:])",
            "x.view(2, 3).t().add_(x.view(3, 2))",
            "x.add_(x)",
            "x[:] = x",
            "x.view(2, 3).add_(x.view(2, 3))",
            "x.view(2, 3)[:, :2].copy_(x.view(3, 2)[:2])",
            "x[::2].add_(x[1::2])",
            "x[:3].add_(x[3:])",
            "x.masked_fill_(x > 2, x[0])",
            "x[:2] = x[i]",
            "x.sub_(x.flip(0))",
            "x.index_fill_(0, i, x[0])",
            "x.index_copy_(0, i, x[2:4])",
            "x.index_copy_(0, torch.arange(6), x)",
            "x.index_add_(0, torch.arange(6), x)",
            "x.index_add_(0, i, x[2:4])",
            "x.index_put_((i,), x[2:4])",
            "x.index_put_((torch.arange(6),), x)",
            "x.scatter_(0, torch.arange(6), x)",
            "x.scatter_(0, torch.arange(6), x.flip(0))",
            "x.scatter_add_(0, i, x[3:])",
            "x.scatter_add_(0, torch.arange(6), x)",
            "x[[0]] = x[1]",
            "x[[0, 1]] = x[2:4]",
            "x[torch.arange(6)] = x",
            "x[x > 2] = x[0]",
            "x[x > 2] = x[:1]",
            "x[x > 2] = x[3:]",
            "x[0:2][[0]] = x[3:4]",
            "x.view(2, 3)[0, [1]] = x[4:5]",
            "x.view(2, 3)[0, [1]] = x[1:2]",
            "x.view(2, 3)[:, [1]] = x[:2].view(2, 1)",
            "x.view(2, 3)[[0]] = x[3:]",
            "x.view(2, 3)[torch.tensor([True, False])] = x[3:]",
            "x[0] = x[1]",
            "x[:3] = x[3:]",
            "x[::2] = x[1::2]",
            "x[0:1] += x[1:2]",
            "x[0] += x[0]",
            "x[2:4] = x[3]",
            "x[:] = x[3]",
            "x[1:] = x[3:4]",
            "x.view(2, 3)[0] = x.view(2, 3)[1]",
            "x.view(2, 3)[:] = x[:3]",
            "x.view(2, 3)[:, 0] = x.view(2, 3)[:, 1]",
            "x.view(2, 3)[1] = x[2:5]",
            "x[:2].copy_(x[1:3])",
            "x.copy_(x[0])",
            "x.view(2, 3).copy_(x[:3])",
            "x.view(2, 3).copy_(x.view(3, 2).t())",
            "x.clamp_(x[0], x[1])",
            "x.clamp_(x, x + 1)",
            "x.clamp_(min=x[0])",
            "x.clamp_(max=x[1])",
            "x.clamp_(x[0].clone(), 3)",
            "x.addcmul_(x[0], x)",
            "x.addcdiv_(x, x[1])",
            "x.addcmul_(x, x)",
            "x.lerp_(x, x[1])",
            "x.sub_(x[:1])",
            "x.remainder_(x[1])",
            "x.floor_divide_(x[1])",
            "x.eq_(x[0])",
            "x.hypot_(x[0])",
            "torch.add(x[1:], 1, out=x[:-1])",
            "torch.add(x, 1, out=x)",
            "torch.exp(x[1:], out=x[:-1])",
            "torch.maximum(x, x[0], out=x)",
            "torch.where(x > 1, x, x[0], out=x)",
            "torch.cumsum(x[1:], 0, out=x[:-1])",
            "torch.cumsum(x, 0, out=x)",
            "torch.gather(x, 0, i, out=x[:2])",
            "torch.cat([x[3:], x[:3]], out=x)",
            "torch.stack([x[3:], x[:3]], out=x.view(2, 3))",
            # Writes that PyTorch accepts although they read overwritten numbers, and the same writes from a copy.
            "x.view(2, 3)[:, :2].copy_(x.view(3, 2)[:2].clone())",
            "x.view(2, 3)[:, :2].add_(x.view(3, 2)[:2])",
            "x.view(2, 3)[:, :2].add_(x.view(3, 2)[:2].clone())",
            "x.view(2, 3)[:, 1:].copy_(x.view(2, 3)[:, :2])",
            "x.view(2, 3)[:, 1:].copy_(x.view(2, 3)[:, :2].clone())",
            "x[::2].copy_(x[:3])",
            "x[::2].copy_(x[:3].clone())",
            "x[1::2].copy_(x[:3])",
            "x[1::2].copy_(x[:3].clone())",
            "x[::2].add_(x[:3])",
            "x[::2].add_(x[:3].clone())",
            "x[:3].copy_(x[::2])",
            "x.masked_scatter_(x > 2, x[2:])",
            "x.masked_scatter_(x > 2, x[2:].clone())",
            "torch.mm(x.view(2, 3), torch.ones(3, 3), out=x.view(2, 3))",
            "torch.mm(x.view(2, 3).clone(), torch.ones(3, 3), out=x.view(2, 3))",
        )
    ),
)

# ---- the version of a tensor whose shape changes in place ------------------------------------------------------------

RESHAPED = of(
    "torch",
    "versions",
    "x = torch.arange(6.0).reshape(2, 3).clone()\nc = torch.zeros(1, 3)\nv = x[0]\n"
    "w = torch.ones(2, 3, requires_grad=True)\ny = w * 1\n",
    *(
        f"{line}; print(x._version, c._version, v._version, y._version)"
        for line in (
            "x.t_()",
            "x[0].t_()",
            "x.transpose_(0, 1)",
            "x.transpose_(0, 0)",
            "x.swapaxes_(0, 1)",
            "x.swapdims_(0, 1)",
            "x.squeeze_()",
            "c.squeeze_()",
            "c.squeeze_(0)",
            "c.squeeze_(1)",
            "x.unsqueeze_(0)",
            "v.unsqueeze_(0)",
            "x.resize_(2, 3)",
            "x.resize_(3, 2)",
            "x.resize_(2)",
            "x.resize_(9)",
            "x.resize_as_(c)",
            "x.resize_(2).resize_(6)",
            "x.set_()",
            "x.set_(c)",
            "x.apply_(abs)",
            "x.detach_()",
            "y.detach_()",
            "x.requires_grad_()",
            "x.view(3, 2)",
            "x.zero_()",
            "x[0:0] = 1",
            "y.t_()",
            "y.unsqueeze_(0).squeeze_(0)",
            "z = y * y; y.t_(); z.sum().backward()",
            "z = y * y; y.unsqueeze_(0); z.sum().backward()",
            "z = y + y; y.t_(); z.sum().backward()",
            "z = y.exp(); z.squeeze_(); z.sum().backward()",
            "z = y.exp(); z.detach().unsqueeze_(0); z.sum().backward()",
            "z = y.exp(); z[0].unsqueeze_(0); z.sum().backward()",
            "w.t_()",
            "w.detach().t_()",
        )
    ),
)

# ---- functions and distributions that tutorials use ------------------------------------------------------------------

COMPARED = of(
    "torch",
    "functions of tutorials",
    "from torch import distributions as D\nn = float('nan')\n"
    "x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])\nh = torch.tensor([[1.0, n, 3.0], [n, 2.0, -1.0]])\n"
    "i = torch.tensor([[1, 5, 2], [3, 0, 5]])\ns = torch.tensor(2.0)\n",
    *(
        f"{line}; print(r)" if line.startswith("r = ") else f"print({line})"
        for line in (
            "torch.take_along_dim(x, torch.tensor([[0, 5]]))",
            "torch.take_along_dim(x, torch.tensor([[0, 5]]), None)",
            "x.take_along_dim(torch.tensor([[2, 0]]), 1)",
            "s.count_nonzero(0)",
            "s.count_nonzero(1)",
            "x.count_nonzero((0, 1))",
            "torch.atan2(x, h)",
            "torch.atan2(x, 2)",
            "torch.atan2(i, i)",
            "torch.fmod(x, 2)",
            "torch.fmod(i, 2)",
            "torch.fmod(x, 0)",
            "torch.fmod(i, 0)",
            "x.fmod_(torch.tensor([2.0, 0.7, -2.0]))",
            "torch.fmax(x, h)",
            "torch.fmin(h, x)",
            "torch.fmax(x, 2)",
            "torch.exp2(i)",
            "torch.exp2(h)",
            "torch.heaviside(x, s)",
            "torch.heaviside(x - x, torch.tensor([1.0, 2.0, n]))",
            "torch.heaviside(x, i)",
            "torch.signbit(torch.tensor([-0.0, 0.0, -n, -1.0]))",
            "torch.signbit(i)",
            "torch.isin(i, torch.tensor([5, 2]))",
            "torch.isin(i, 5)",
            "torch.isin(i, torch.tensor([5, 2]), invert=True)",
            "torch.isin(h, h)",
            "torch.nansum(h)",
            "torch.nansum(h, 0, True)",
            "torch.nansum(i)",
            "torch.nanmean(h, 1)",
            "torch.nanmean(h / h * n)",
            "torch.nanmean(i)",
            "torch.cummax(x, 1)",
            "torch.cummin(h, 1)",
            "torch.cummax(s, 0)",
            "torch.cummax(x, 2)",
            "torch.result_type(x, 1)",
            "torch.result_type(i, 1.5)",
            "torch.result_type(i.bool(), 1)",
            "torch.result_type(s, i)",
            "torch.promote_types(torch.int8, torch.uint8)",
            "torch.promote_types(torch.float16, torch.bfloat16)",
            "torch.promote_types(torch.bool, torch.int16)",
            "torch.can_cast(torch.float64, torch.float32)",
            "torch.can_cast(torch.float32, torch.int64)",
            "torch.can_cast(torch.int8, torch.uint8)",
            "torch.can_cast(torch.int8, torch.bool)",
            "torch.einsum('ij,kj->ik', x, x)",
            "torch.einsum('ij,j', x, x[0])",
            "torch.einsum('ij->', x)",
            "torch.einsum('...j,...j->...', x, x)",
            "torch.einsum('ii->i', x[:, :2])",
            "torch.einsum('ij,jk', x, x)",
            "torch.einsum('ij', x, x)",
            "torch.einsum('i', x)",
            "torch.einsum(x, x)",
            "x.unfold(1, 2, 1)",
            "x.unfold(0, 3, 1)",
            "x.unfold(1, 2, 0)",
            "x.unfold(-1, 3, 2).shape",
            "s.unfold(0, 1, 1)",
            "torch.tile(x, (2, 1)).shape",
            "x.tile(2, 1, 2).shape",
            "x.tile(()).shape",
            "x.tile(-1)",
            "D.Normal(0.0, 1.0)",
            "D.Normal(x, 2.0).log_prob(x)",
            "D.Normal(0.0, s).entropy()",
            "D.Normal(0.0, s).cdf(s)",
            "D.Normal(0.0, s).icdf(s / 4)",
            "D.Normal(0.0, -1.0)",
            "D.Normal(0.0, s).log_prob(h)",
            "D.Normal(x, s).batch_shape, D.Normal(x, s).mean, D.Normal(x, s).variance, D.Normal(x, s).stddev",
            "D.Normal(0, 1).mean",
            "D.Normal(x, torch.ones(2)).mean",
            "D.Categorical(torch.tensor([1.0, 3.0])).probs",
            "D.Categorical(torch.tensor([1.0, 3.0])).entropy()",
            "D.Categorical(logits=x).log_prob(torch.tensor([0, 2]))",
            "D.Categorical(logits=x).log_prob(torch.tensor([0, 3]))",
            "D.Categorical(x)",
            "D.Categorical()",
            "D.Categorical(torch.tensor(1.0))",
            "D.Categorical(logits=x)",
            "D.Bernoulli(0.25).mean, D.Bernoulli(0.25).variance, D.Bernoulli(0.25).entropy()",
            "D.Bernoulli(logits=x).log_prob(torch.ones(2, 3))",
            "D.Bernoulli(1.5)",
            "D.Bernoulli(0.5).log_prob(torch.tensor(0.3))",
            "D.Bernoulli(0.5, 0.5)",
            "D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0))",
            "D.kl_divergence(D.Bernoulli(0.5), D.Bernoulli(0.25))",
            "D.kl_divergence(D.Categorical(torch.ones(2)), D.Categorical(torch.tensor([1.0, 3.0])))",
            "D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.25))",
            "D.Normal(torch.zeros(2), 1.0).sample((3,)).shape, D.Categorical(torch.ones(2, 4)).sample((3,)).shape",
            "D.Normal(torch.zeros(2), 1.0).rsample().requires_grad, D.Bernoulli(torch.ones(2) / 2).sample().dtype",
        )
    ),
)

GROUPS = (
    PYTHON_TYPES,
    SMALL_FLOATS,
    WHOLE_NUMBERS,
    COPIES,
    MODULES,
    WARNINGS,
    PADDLE_WARNINGS,
    OVERWRITTEN,
    IN_PLACE,
    OVERLAPS,
    MISSING,
    PADDLE_MISSING,
    AUTOGRAD,
    CALLS,
    PADDLE_TESTS,
    LAYERS,
    BITS,
    ORDER,
    SPREAD,
    PRODUCTS,
    GRADIENTS_AND_FILES,
    HOOKS,
    RECOMPUTED,
    WRONG,
    RESHAPED,
    COMPARED,
)
#: If both libraries have a question with the same words, the question has a program for each library.
QUESTIONS: Questions = {}
for _group in GROUPS:
    for _question, (_programs, _) in _group.items():
        QUESTIONS.setdefault(_question, ({}, NO_EXPRESSIONS))[0].update(_programs)

if __name__ == "__main__":
    write(Path(__file__).with_name("learners.json"), QUESTIONS, ask)
