"""Record in dtypes.json the dtypes of results in PyTorch and Paddle, and values, texts and bytes of small dtypes.

    python facts/dtypes.py torch
    python facts/dtypes.py paddle

The tables list, for each pair of dtypes, the dtype of `x + y` or "refused". The values are sums, products and gradients
of 16-bit floats, from which one can tell where a framework rounds.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

_NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64"

_TORCH = f"""
names = "{_NAMES}".split()
def dtype(name): return getattr(torch, name)
def ones(name, *shape): return torch.ones(shape, dtype=dtype(name))
def name(x): return str(x.dtype).removeprefix("torch.")
def tensor(values, name): return torch.tensor(values, dtype=dtype(name))
def leaf(values, name): return torch.tensor(values, dtype=dtype(name), requires_grad=True)
"""

_PADDLE = f"""
names = "{_NAMES}".split()
paddle.set_device("cpu")
def ones(name, *shape): return paddle.ones(shape, name)
def name(x): return str(x.dtype).removeprefix("paddle.").lower().replace("vartype.", "").replace("fp", "float")\\
    .replace("bfloat", "bf").replace("bf", "bfloat")
def tensor(values, name): return paddle.to_tensor(values, dtype="float32").astype(name)
def leaf(values, name):
    x = tensor(values, name)
    x.stop_gradient = False
    return x
"""

_COMMON = """
def attempt(function, *given):
    try:
        return name(function(*given))
    except Exception:
        return "refused"
def pairs(function):
    return {a: {b: attempt(function, a, b) for b in names} for a in names}
def whole(x):
    x = x.to(torch.float64) if "torch" in globals() else x.astype("float32")
    return [float(v) for v in x.reshape([-1]).tolist()]
halves = ["float16", "bfloat16"]
"""


def _both(program: str) -> dict[str, str]:
    return {"torch": _TORCH + _COMMON + program, "paddle": _PADDLE + _COMMON + program}


_VALUES = "values = [((i * 37) % 101 - 50) / 16 + i / 128 for i in range(60)]\n"

_BYTES = """
from recording import apart
if "paddle" in globals():
    def dtype(name): return name
def strides(v): return list(v.stride() if "torch" in globals() else v.strides)
def seen(make, d):
    def look():
        x = make()
        try:
            v = x.view(dtype(d))
        except Exception:
            return "refused"
        return f"shape {list(v.shape)}, strides {strides(v)}, values {whole(v)}"
    answer = apart(look)
    return answer if isinstance(answer, str) else answer["error"]
"""

#: Operations on a 16-bit tensor `x` and a number `n`. Both libraries run the first text. The second has further
#: operations for each library.
_WITH_A_NUMBER = """
x + n|n + x|x - n|n - x|x * n|n * x|x / n|n / x|x ** n|n ** x|x // n|n // x|x % n|n % x|x > n|x >= n|x < n|x <= n
x == n|x != n|n > x|x.add_(n)|x.multiply_(n)|x.subtract_(n)|x.divide_(n)|x.pow_(n)|x.remainder_(n)|x.lerp(y, n)
x.lerp_(y, n)|x.clip(n)|x.clip_(n)|x.clip(None, n)|x.clip(-n, n)|x.fill_(n)|x.floor_divide_(n)"""
_WITH_A_NUMBER_IN = {
    "torch": """
torch.add(x, n)|torch.sub(x, n)|torch.mul(x, n)|torch.div(x, n)|torch.pow(x, n)|torch.pow(n, x)
torch.add(x, y, alpha=n)|torch.sub(x, y, alpha=n)|x.add_(y, alpha=n)|x.sub_(y, alpha=n)|torch.add(x, n, alpha=3)
torch.addcmul(x, y, z, value=n)|torch.addcdiv(x, y, z, value=n)|x.addcmul_(y, z, value=n)|x.addcdiv_(y, z, value=n)
x.floor_divide(n)|x.remainder(n)|torch.rsub(x, n)|torch.where(y > 0, x, n)|x.masked_fill(y > 0, n)|x.gt_(n)|x.le_(n)
x.eq_(n)|torch.xlogy(x, n)|torch.copysign(x, n)|torch.nan_to_num(x / 0, n)|torch.div(x, n, rounding_mode='floor')
torch.div(x, n, rounding_mode='trunc')|x.copysign_(n)|torch.nn.functional.leaky_relu(x, n)
torch.nn.functional.elu(x, n)|torch.nn.functional.hardtanh(x, -1.0, n)|torch.nn.functional.threshold(x, n, n)
torch.nn.functional.softplus(x, n)|torch.addmm(x.view(2, 3), x.view(2, 3), y[:3] * eye, alpha=n)
torch.addmm(x.view(2, 3), x.view(2, 3), y[:3] * eye, beta=n)|torch.fmod(x, n)|x.fmod_(n)|torch.isclose(x, y, atol=n)
torch.full_like(x, n)|x.index_fill(0, torch.tensor([1]), n)""",
    "paddle": """
paddle.scale(x, n)|paddle.scale(x, 1.0, n)|x.scale_(n)|paddle.pow(x, n)|paddle.add(x, y, alpha=n)
paddle.addmm(x.reshape([2, 3]), x.reshape([2, 3]), y[:3] * eye, alpha=n)
paddle.addmm(x.reshape([2, 3]), x.reshape([2, 3]), y[:3] * eye, beta=n)|paddle.nn.functional.leaky_relu(x, n)
paddle.nn.functional.elu(x, n)|paddle.nn.functional.hardtanh(x, -1.0, n)|paddle.nn.functional.softplus(x, n)
paddle.nn.functional.thresholded_relu(x, n)|paddle.nan_to_num(x / 0, n)|paddle.full_like(x, n)
paddle.where(y > 0, x, paddle.full_like(x, n))|paddle.stanh(x, n)|paddle.logit(x, n)|paddle.isclose(x, y, atol=n)""",
}
_NUMBERS = "[1e-8, 0.1, 1 / 3, 2.5, 1000.25, 2049, 70000.0, -70000.0, 1e30, 1e300, 2**40, -1, 0, True]"

QUESTIONS: Questions = {
    "a number beside 16 bits": (
        {
            library: setup
            + _COMMON
            + "names_of = globals()\nfrom recording import apart\n"
            + f"expressions = {'|'.join((_WITH_A_NUMBER + _WITH_A_NUMBER_IN[library]).splitlines()[1:]).split('|')!r}\n"
            + f"""
def of(d, expression, n):
    x, y, z = tensor(xs, d), tensor(ys, d), tensor(zs, d)
    eye = tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], d)
    try:
        out = eval(expression, {{**names_of, "eye": eye, "x": x, "y": y, "z": z, "n": n}})
        return " ".join([name(out), *(format(v, '.9g') for v in whole(out))])
    except Exception:
        return "refused"
xs, ys = [1.0, -2.5, 0.1, 60000.0, 3e-5, 0.0], [0.5, 3.0, -7.0, 1.25, 300.0, 60000.0]
zs = [2.0, -0.5, 3.0, 1.0, 300.0, 70.0]
numbers = {_NUMBERS}
def all_of(e): return {{d: {{repr(n): of(d, e, n) for n in numbers}} for d in halves}}
found = {{e: apart(lambda: all_of(e)) for e in expressions}}
"""
            for library, setup in (("torch", _TORCH), ("paddle", _PADDLE))
        },
        ["xs", "ys", "zs", "found"],
    ),
    "two tensors": (_both("found = pairs(lambda a, b: ones(a, 2) + ones(b, 2))"), ["found"]),
    "a tensor and one without dimensions": (_both("found = pairs(lambda a, b: ones(a, 2) + ones(b))"), ["found"]),
    "a tensor and a number": (
        _both(
            "found = {a: {repr(n): attempt(lambda: ones(a, 2) + n) for n in (True, 1, 1.5)} for a in names}\n"
            "product = {a: {repr(n): attempt(lambda: ones(a, 2) * n) for n in (True, 1, 1.5)} for a in names}"
        ),
        ["found", "product"],
    ),
    "in place": (_both("found = pairs(lambda a, b: ones(a, 2).add_(ones(b, 2)))"), ["found"]),
    "a quotient": (_both("found = pairs(lambda a, b: ones(a, 2) / ones(b, 2))"), ["found"]),
    "a matrix product": (_both("found = pairs(lambda a, b: ones(a, 2, 2) @ ones(b, 2, 2))"), ["found"]),
    "functions of one tensor": (
        _both(
            "library = globals().get('torch') or globals().get('paddle')\n"
            "functions = 'sin exp sqrt sigmoid abs neg sum mean prod max cumsum square floor tanh rsqrt'.split()\n"
            "functions += 'all any cumprod min amax amin std var norm logsumexp nansum count_nonzero argmax'.split()\n"
            "functions += 'median sign reciprocal ceil round log1p bitwise_not logical_not isnan'.split()\n"
            "scans = ('cumsum', 'cumprod', 'logsumexp')\n"
            "found = {f: {a: attempt(lambda: getattr(library, f)(ones(a, 4), *([0] if f in scans else [])))\n"
            "    for a in names} for f in functions}"
        ),
        ["found"],
    ),
    "reductions of 16 bits": (
        _both(
            _VALUES + "found = {}\n"
            "for d in halves:\n"
            "    x = tensor(values, d).reshape([6, 10])\n"
            "    for f in ('sum', 'mean', 'cumsum', 'var'):\n"
            "        for axis in (0, 1):\n"
            "            try: found[f'{f} {d} {axis}'] = whole(getattr(x, f)(axis))\n"
            "            except Exception: found[f'{f} {d} {axis}'] = 'refused'\n"
        ),
        ["found"],
    ),
    "a long sum of 16 bits": (
        _both(
            "found = {d: whole(tensor([0.1] * 5000, d).sum()) for d in halves}\n"
            "means = {d: whole(tensor([0.1] * 5000, d).mean()) for d in halves}"
        ),
        ["found", "means"],
    ),
    "products and functions of 16 bits": (
        _both(
            _VALUES + "found = {}\n"
            "library = globals().get('torch') or globals().get('paddle')\n"
            "for d in halves:\n"
            "    x = tensor(values, d)\n"
            "    for f in ('sin', 'exp', 'tanh', 'sigmoid', 'square', 'reciprocal', 'abs'):\n"
            "        try: found[f'{f} {d}'] = whole(getattr(library, f)(x))\n"
            "        except Exception: found[f'{f} {d}'] = 'refused'\n"
            "    for n, f in {'x * x': lambda: x * x, 'x / (x + 4)': lambda: x / (x + 4), 'x * 0.1': lambda: x * 0.1,\n"
            "            'x + 0.1': lambda: x + 0.1, 'softmax': lambda: library.nn.functional.softmax(x, -1),\n"
            "            'matmul': lambda: x.reshape([6, 10]) @ x.reshape([10, 6])}.items():\n"
            "        try: found[f'{n} {d}'] = whole(f())\n"
            "        except Exception: found[f'{n} {d}'] = 'refused'\n"
        ),
        ["found"],
    ),
    "gradients of 16 bits": (
        _both(
            _VALUES + "found = {}\n"
            "library = globals().get('torch') or globals().get('paddle')\n"
            "def of(d, program):\n"
            "    x = leaf(values, d)\n"
            "    try:\n"
            "        program(x).sum().backward()\n"
            "        return name(x.grad), whole(x.grad)\n"
            "    except Exception:\n"
            "        return 'refused'\n"
            "for d in halves:\n"
            "    for n, f in {'square': lambda x: x * x, 'sin': lambda x: library.sin(x),\n"
            "            'sum of a matrix product': lambda x: x.reshape([6, 10]) @ x.reshape([10, 6]),\n"
            "            'a broadcast factor': lambda x: x.reshape([6, 10]) * x[:10], 'mean': lambda x: x.mean(),\n"
            "            'tanh': lambda x: library.tanh(x) * 3}.items():\n"
            "        found[f'{n} {d}'] = of(d, f)\n"
        ),
        ["found"],
    ),
    "texts": (
        _both(
            "found = {}\n"
            "for d in 'float16 bfloat16 uint8 int8 int16'.split():\n"
            "    for n, v in {'whole': [1.0, 2.0, 100.0], 'fractions': [0.125, 0.1, 3.14159], \n"
            "            'matrix': [[1.5, 2.0], [100.25, 3.0]],\n"
            "            'one': 2.5, 'large': [60000.0, 1.0], 'small': [1e-4, 1.0]}.items():\n"
            "        if 'float' in d or n in ('whole',):\n"
            "            found[f'{n} {d}'] = str(tensor(v, d))\n"
        ),
        ["found"],
    ),
    "the bytes of a tensor as another dtype": (
        _both(
            _BYTES + "x = {a: tensor([0.0, 1, 2, 3, 4, 5, 6, 7], a).reshape([2, 4]) for a in names}\n"
            "found = {a: {b: seen(lambda: x[a], b) for b in names} for a in names}"
        ),
        ["found"],
    ),
    "the bytes of layouts as another dtype": (
        _both(
            _BYTES + "x = tensor(list(range(24)), 'float32').reshape([2, 3, 4])\n"
            "layouts = {\n"
            "    'transposed': lambda: x.permute([2, 1, 0]) if 'torch' in globals() else x.transpose([2, 1, 0]),\n"
            "    'columns 1 and 2': lambda: x[:, :, 1:3], 'columns 0 and 1': lambda: x[:, :, :2],\n"
            "    'columns from 1': lambda: x[:, :, 1:], 'every second column': lambda: x[:, :, ::2],\n"
            "    'a block': lambda: x[1:, 1:], 'no dimensions': lambda: x[0, 0, 0],\n"
            "    'no rows': lambda: ones('float32', 0, 4),\n"
            "    'no columns': lambda: ones('float32', 4, 0), 'one column': lambda: ones('float32', 2, 1),\n"
            "    'an odd length': lambda: ones('float32', 3),\n"
            "}\n"
            "found = {n: {b: seen(each, b) for b in ('uint8', 'float16', 'int32', 'float64')}\n"
            "    for n, each in layouts.items()}"
        ),
        ["found"],
    ),
    "a gradient through the bytes of another dtype": (
        _both(
            _BYTES + "def wants(v): return v.requires_grad if 'torch' in globals() else not v.stop_gradient\n"
            "def version(v): return v._version if 'torch' in globals() else v.inplace_version\n"
            "def ends(program):\n"
            "    def run():\n"
            "        try: return program()\n"
            "        except Exception as error: return 'refused' if 'version' in str(error) else 'no gradient'\n"
            "    return apart(run)\n"
            "def of_other():\n"
            "    w = leaf([1.0, 2.0], 'float32')\n"
            "    return {'a float': wants(w.view(dtype('float16'))), 'an integer': wants(w.view(dtype('int32'))),\n"
            "        'the same': wants(w.view(dtype('float32'))), 'is itself': w.view(dtype('float32')) is w}\n"
            "def written():\n"
            "    w = leaf([1.0, 2.0], 'float32')\n"
            "    y = w * 1\n"
            "    v = y.view(dtype('int32'))\n"
            "    v.zero_()\n"
            "    return [version(y), version(v), y.tolist()]\n"
            "def stale():\n"
            "    w = leaf([1.0, 2.0], 'float32')\n"
            "    y = w * 1\n"
            "    q = (y * y).sum()\n"
            "    y.view(dtype('int32')).zero_()\n"
            "    q.backward()\n"
            "    return w.grad.tolist()\n"
            "def gradient():\n"
            "    w = leaf([1.0, 2.0], 'float32')\n"
            "    (w * 1).view(dtype('float16')).sum().backward()\n"
            "    return w.grad.tolist()\n"
            "found = {each.__name__: ends(each) for each in (of_other, written, stale, gradient)}"
        ),
        ["found"],
    ),
}


if __name__ == "__main__":
    write(Path(__file__).with_name("dtypes.json"), QUESTIONS)
