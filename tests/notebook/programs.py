"""Programs that the recorder is tried on: every kind of statement, and every kind of operation on memory."""

from __future__ import annotations

PROGRAMS: dict[str, str] = {
    "normal": "x = mt.to_tensor([[1., 2., 3.], [4., 5., 6.]])\ny = x + 1\ndel x\nz = y * y",
    "view": "x = mt.arange(6)\ny = x.reshape([3, 2])\nz = y.t()\nw = z[0]\ndel x, y",
    "in place": "x = mt.ones([2, 3])\ny = x.add_(1)\nx.scale_(3)\ndel x",
    "rebinding": "x = mt.ones([3])\nx = x + 1\nx += 1\ny = x\nx = x * 2\nx = 5",
    "chain": "x = mt.ones([8])\ny = ((x + 1) * 2).exp().sum()",
    "setitem": "x = mt.arange(6)\nx[0] = 7\nx[[1, 3]] = 9\nx[x > 8] = 0\nx[2:4] = x[0:2]\nx[::2] = 1",
    "stale": "x = mt.to_tensor([1., 2., 3.], stop_gradient=False)\na = x * 1\ny = a * a\na.add_(1)\ny.backward()",
    "caught": (
        "w = mt.ones([2])\nw.stop_gradient = False\nv = w[0:1]\n"
        "try:\n    t = w * 2\n    v.add_(1)\nexcept ValueError:\n    caught = True\nfinally:\n    done = mt.ones([1])\n"
        "with mt.no_grad():\n    w.add_(1)\n"
    ),
    "copied input": "x = mt.ones([4])\nx.stop_gradient = False\ny = x * 2\ny.sin_()\ny.sum().backward()\ng = x.grad",
    "write through a view": (
        "x = mt.to_tensor([1., 2., 3.], stop_gradient=False)\nb = x * 1\nv = b[0:2]\nv.scale_(10)\nb.sum().backward()"
    ),
    "training": (
        "w = mt.to_tensor([1., 2.], stop_gradient=False)\nx = mt.to_tensor([3., 4.])\n"
        "for i in range(3):\n    loss = ((w * x).sum() - 1).square()\n    loss.backward()\n"
        "    with mt.no_grad():\n        w.subtract_(w.grad * 0.1)\n    w.clear_grad()\n"
    ),
    "function": (
        "def step(h):\n    '''Doc.'''\n    k = h.exp()\n    k = k + 1\n    del h\n    k = None\n    m = mt.ones([64])\n    return m\n"
        "x = mt.ones([16])\ny = step(x)\nz = step(x * 2) + step(x)\n"
    ),
    "locals let go": (
        "def f(a):\n    b = a + 1\n    b = b + 1\n    b = b + 1\n    a = None\n    c = mt.ones([100])\n    del b\n    return c\n"
        "y = f(mt.ones([50]))\ny = f(y)\n"
    ),
    "recursion": "def down(x, n):\n    y = x + n\n    if n == 0:\n        return y\n    return down(y, n - 1)\nz = down(mt.ones([4]), 3)",
    "generator": (
        "def rows(x):\n    for i in range(3):\n        y = x + i\n        yield y\n"
        "total = mt.zeros([2])\nfor row in rows(mt.ones([2])):\n    total.add_(row)\ng = rows(total)\nfirst = next(g)\ndel g"
    ),
    "closure": (
        "def outer(x):\n    kept = x * 2\n    def inner(y):\n        nonlocal kept\n        kept = kept + y\n        return kept\n"
        "    return inner\nf = outer(mt.ones([3]))\na = f(mt.ones([3]))\nb = f(a)\ndel f"
    ),
    "class": (
        "class Layer:\n    '''Doc.'''\n    scale = mt.ones([1])\n    def __init__(self, n):\n        self.w = mt.ones([n])\n"
        "    def __call__(self, x):\n        return x * self.w\n    @property\n    def size(self):\n        return self.w.size\n"
        "    @staticmethod\n    def double(x):\n        return x * 2\n"
        "net = Layer(3)\ny = net(mt.ones([3]))\nn = net.size\nz = Layer.double(y)\nnet.w = net.w + 1\n"
    ),
    "containers": (
        "a = mt.ones([2])\nb = mt.zeros([2])\nlayers = [a, b]\nd = {'w': a, 3: b}\nt = (a, [b])\n"
        "layers[0] = a + 1\nlayers.append(mt.ones([5]))\ndel d['w']\nlayers.pop()\nlayers.clear()"
    ),
    "control flow": (
        "x = mt.zeros([2])\nn = 0\nwhile n < 5:\n    n += 1\n    if n == 2:\n        continue\n    elif n == 4:\n        break\n"
        "    else:\n        x.add_(n)\nelse:\n    x = None\n"
        "for i in range(2):\n    pass\nelse:\n    y = x + 1\n"
        "match n:\n    case 4:\n        z = y * 2\n    case _:\n        z = None\nassert n == 4, 'n'\n"
    ),
    "loops over tensors": "x = mt.ones([3, 2])\nfor row in x:\n    row.scale_(2)\ns = [row.sum() for row in x]\nt = sum(s)",
    "comprehensions": (
        "xs = [mt.ones([n]) for n in range(1, 4)]\nys = {n: x + 1 for n, x in enumerate(xs)}\n"
        "f = lambda x: x * 2\nzs = list(map(f, xs))\nif (big := zs[-1] + 1).size > 2:\n    big.zero_()\n"
    ),
    "globals": "x = mt.ones([2])\ndef f():\n    global x\n    x = x + 1\n    y = x\n    return y\nf()\nf()\n",
    "decorated": "@mt.no_grad()\ndef f(x):\n    y = x + 1\n    return y\nx = mt.ones([2])\nx.stop_gradient = False\ny = f(x)\n",
    "metadata": "x = mt.ones([2, 3])\nx.reshape_([3, 2])\nx.t_()\nx.unsqueeze_(0)\nx.squeeze_()\nx.flatten_()\ny = x.t()",
    "strided": "x = mt.arange(12).reshape([3, 4])\nd = x.diagonal()\nd.zero_()\nc = x[:, 1:3]\nc.add_(1)\nb = c.reshape([6])",
    "detach and clone": (
        "x = mt.ones([3])\nx.stop_gradient = False\nd = x.detach()\nd.add_(1)\nc = x.clone()\nc.scale_(2)\n"
        "with mt.no_grad():\n    v = x[0:2]\n    v.zero_()\nc.sum().backward()\nx.grad.add_(1)\nx.clear_grad()"
    ),
    "several leaves": (
        "a = mt.ones([2, 2])\nb = mt.full([2], 3.)\na.stop_gradient = b.stop_gradient = False\n"
        "c = a.matmul(a) + b\nc.tanh_()\nc[0] = b\nv = c.t()\nv.multiply_(b)\nc.mean().backward()"
    ),
    "retained": "x = mt.ones([3])\nx.stop_gradient = False\ny = x * 2\ny.retain_grads()\n(y * y).sum().backward(retain_graph=True)\n"
    "y.sum().backward()\ny = None",
    "hooks": (
        "def double(g):\n    h = g * 2\n    return h\nx = mt.ones([3])\nx.stop_gradient = False\ny = x.exp()\n"
        "handle = y.register_hook(double)\ny.sum().backward()\nhandle.remove()"
    ),
    "grad": "x = mt.ones([3])\nx.stop_gradient = False\ny = (x * x).sum()\n(g,) = mt.grad(y, x)\n",
    "dtypes": "x = mt.arange(4)\ny = x.astype('float64')\nz = y + mt.ones([4])\nb = x > 1\nb[0] = True\nw = mt.where(b, y, z)",
    "joining": "a = mt.ones([2, 2])\nb = mt.concat([a, a])\nc = mt.stack([a, a])\np, q = mt.split(b, 2)\ne = mt.ones([1]).expand([3])",
    "error": "x = mt.ones([3])\ny = x + 1\nz = y.reshape([2, 2])\n",
    "error inside": (
        "def f(x):\n    y = x + 1\n    y.reshape_([7])\n    return y\nx = mt.ones([2])\ny = f(x)\n"
    ),
    "error passed on": (
        "def f(x):\n    try:\n        y = x + 1\n        x.add_(mt.ones([3, 2]))\n    finally:\n        z = x * 2\n    return y\n"
        "x = mt.ones([2])\ntry:\n    f(x)\nexcept ValueError:\n    pass\nw = x + 1\n"
    ),
    "printing": "x = mt.ones([2])\nprint(x)\nprint('a', end='')\nfor i in range(3):\n    print(i)\n",
    "numpy": "import numpy as np\nx = mt.ones([2])\na = x.numpy()\na[0] = 9\ny = mt.to_tensor(a)\na[1] = 8\nz = np.asarray(x) + 1",
    "odd values": "x = mt.to_tensor([float('nan'), float('inf'), -1e-9, 1e9, -0.0])\ny = x * 0\nz = mt.ones([0])\ns = mt.to_tensor(3)",
    "large": "x = mt.zeros([100_000])\nv = x[10:20]\nv.add_(1)\nx[5] = 2\ny = x.reshape([100, 1000])\nc = y[:, 3]\nc.scale_(2)\nc[4] = 1\ny[3, [1, 5]] = 8",
    "copy": "import copy\nx = mt.ones([2])\ny = copy.copy(x)\nz = copy.deepcopy(x)\ny.add_(1)",
    "many names": "xs = [mt.ones([1]) for _ in range(30)]\ntotal = sum(xs)\n",
    "held by a cell": "def keep():\n    t = mt.ones([3])\n    return lambda: t\nf = keep()\ndel f\n",
    "star": "a, *rest = [mt.ones([n]) for n in (1, 2, 3)]\n[b, c] = rest\na = b = c\n",
    "semicolons": "x = mt.ones([2]); y = x + 1; del x; y.add_(1)",
}
