"""The programs of messages.py: mistakes in each library, and the lines to write instead.

The programs are grouped by library and cause. An entry is the shortest program that raises or warns, and then the lines
to write instead, one text for each intention. If an entry has no such text, those of the entry before it apply. The
entries of `memory` for PyTorch, Paddle and NumPy have none at all, because no program can repair a lack of memory.
"""

from __future__ import annotations

Entry = tuple[str, ...]

#: The first lines of the programs for several ranks. One rank is enough to get the message.
ONE_RANK = """
nn, dist = torch.nn, torch.distributed
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
""".strip()
WRAPPED = "net = nn.parallel.DistributedDataParallel(net"
TWO_STEPS = "for _ in range(2): net(c[:3]).sum().backward()"

TORCH: dict[str, list[Entry]] = {
    "leaf": [("x.add_(1.0)", "y = x + 1.0", "with torch.no_grad():\n    x.add_(1.0)")],
    "leaf view": [
        ("x[0] = 100.0", "with torch.no_grad():\n    x[0] = 100.0", "y = x.clone()\ny[0] = 100.0"),
        ("v = x[0:2]\nv.mul_(10.0)",),
        ("x.view(3).zero_()",),
    ],
    "not a leaf": [
        ("y = x * 2.0\ny.requires_grad = False", "y = (x * 2.0).detach()"),
        (
            "y = x * 2.0\ntorch.optim.SGD([y], lr=0.1)",
            "torch.optim.SGD([x], lr=0.1)",
            "y = (x * 2.0).detach().requires_grad_()\ntorch.optim.SGD([y], lr=0.1)",
        ),
        ("y = x * 2.0\ncopy.deepcopy(y)", "y = x * 2.0\ncopy.deepcopy(y.detach())"),
        (
            "y = x * 2.0\ny.sum().backward()\ny.grad",
            "y = x * 2.0\ny.sum().backward()\nx.grad",
            "y = x * 2.0\ny.retain_grad()\ny.sum().backward()\ny.grad",
        ),
        (
            "layer = torch.nn.Linear(2, 1)\nlayer.weight = layer.weight * 0.5",
            "layer = torch.nn.Linear(2, 1)\nwith torch.no_grad():\n    layer.weight.mul_(0.5)",
        ),
    ],
    "no history": [
        ("y = c * 2.0\ny.sum().backward()", "c.requires_grad_()\ny = c * 2.0\ny.sum().backward()"),
        (
            "torch.autograd.grad((x * 2.0).sum(), torch.ones(3, requires_grad=True))",
            "torch.autograd.grad((x * 2.0).sum(), x)",
        ),
        ("y = c * 2.0\ny.retain_grad()", "c.requires_grad_()\ny = c * 2.0\ny.retain_grad()"),
    ],
    "no gradient yet": [
        ("x.grad.zero_()", "x.sum().backward()\nx.grad.zero_()", "torch.optim.SGD([x], lr=0.1).zero_grad()")
    ],
    "not a number": [("(x * 2.0).backward()", "(x * 2.0).sum().backward()", "(x * 2.0).backward(torch.ones(3))")],
    "integer leaf": [
        ("i.requires_grad_()", "f = i.float()\nf.requires_grad_()"),
        ("torch.tensor([1, 2], requires_grad=True)", "torch.tensor([1.0, 2.0], requires_grad=True)"),
    ],
    "saved": [
        (
            "a = x * 1.0\ny = a * a\na.add_(1.0)\ny.sum().backward()",
            "a = x * 1.0\ny = a * a\na = a + 1.0\ny.sum().backward()",
            "a = x * 1.0\nb = a.clone()\ny = b * b\na.add_(1.0)\ny.sum().backward()",
        ),
        ("y = x.sigmoid()\ny.mul_(2.0)\ny.sum().backward()", "y = x.sigmoid()\ny = y * 2.0\ny.sum().backward()"),
        (
            "y = torch.nn.functional.relu(x)\ny += 1.0\ny.sum().backward()",
            "y = torch.nn.functional.relu(x)\ny = y + 1.0\ny.sum().backward()",
        ),
        (
            "y = x * x\nwith torch.no_grad():\n    x.mul_(0.5)\ny.sum().backward()",
            "y = x * x\ny.sum().backward()\nwith torch.no_grad():\n    x.mul_(0.5)",
        ),
        (
            "with torch.autograd.set_detect_anomaly(True):\n    y = x.exp()\n    y.add_(1.0)\n    y.sum().backward()",
            "y = x.exp()\ny = y + 1.0\ny.sum().backward()",
        ),
    ],
    "twice": [
        (
            "y = (x * x).sum()\ny.backward()\ny.backward()",
            "y = (x * x).sum()\ny.backward(retain_graph=True)\ny.backward()",
        )
    ],
    "unfinished reduction": [
        (
            f"{ONE_RANK}\nnet = nn.Linear(3, 1)\nnet.unused = nn.Linear(3, 1)\n{WRAPPED})\n{TWO_STEPS}",
            f"{ONE_RANK}\nnet = nn.Linear(3, 1)\n{WRAPPED})\n{TWO_STEPS}",
            f"{ONE_RANK}\nnet = nn.Linear(3, 1)\nnet.unused = nn.Linear(3, 1)\n"
            f"{WRAPPED}, find_unused_parameters=True)\n{TWO_STEPS}",
        )
    ],
    "one of several views": [
        (
            "a, b = (x * 1.0).split([1, 2])\na.mul_(10.0)",
            "a, b = (x * 1.0).split([1, 2])\na = a * 10.0",
            "a = (x * 1.0)[0:1]\na.mul_(10.0)",
        ),
        ("a, b, e = (x * 1.0).unbind()\na.mul_(10.0)", "a = (x * 1.0)[0]\na.mul_(10.0)"),
        ("a, b = (torch.cat([x, x]) * 1.0).chunk(2)\na.add_(1.0)", "a = (torch.cat([x, x]) * 1.0)[0:3]\na.add_(1.0)"),
    ],
    "view under no_grad": [
        (
            "y = x * 1.0\nwith torch.no_grad():\n    v = y[0:2]\nv.mul_(10.0)",
            "y = x * 1.0\nv = y[0:2]\nv.mul_(10.0)",
            "y = x * 1.0\nwith torch.no_grad():\n    v = y[0:2]\n    v.mul_(10.0)",
        )
    ],
    "inference": [
        (
            "with torch.inference_mode():\n    y = c * 2.0\ny.add_(1.0)",
            "with torch.no_grad():\n    y = c * 2.0\ny.add_(1.0)",
            "with torch.inference_mode():\n    y = c * 2.0\ny = y.clone()\ny.add_(1.0)",
        ),
        (
            "with torch.inference_mode():\n    y = torch.ones(3)\n(x * y).sum().backward()",
            "with torch.no_grad():\n    y = torch.ones(3)\n(x * y).sum().backward()",
        ),
        ("with torch.inference_mode():\n    y = torch.ones(3)\ny._version", "y = torch.ones(3)\ny._version"),
    ],
    "detach in place": [("v = (x * 1.0)[0:2]\nv.detach_()", "v = (x * 1.0)[0:2]\nv = v.detach()")],
    "one cell several times": [
        ("c[0:2].expand(3, 2).add_(10.0)", "c[0:2].expand(3, 2).clone().add_(10.0)", "c[0:2].expand(3, 2) + 10.0"),
        ("c.as_strided((3, 2), (0, 1)).mul_(2.0)",),
    ],
    "overlap": [
        ("c[1:].add_(c[:-1])", "c[1:].add_(c[:-1].clone())"),
        ("c[1:] = c[:-1]", "c[1:] = c[:-1].clone()"),
        ("c.sub_(c[0])", "c.sub_(c[0].clone())"),
    ],
    "cannot be a view": [("m.t().view(6)", "m.t().reshape(6)", "m.t().contiguous().view(6)")],
    "numpy of a gradient": [
        ("x.numpy()", "x.detach().numpy()", "x.detach().clone().numpy()"),
        ("numpy.asarray(x)", "numpy.asarray(x.detach())"),
    ],
    "shape": [
        ("c[:3].add_(m)", "y = c[:3] + m"),
        ("c.add_(i)", "c[:3].add_(i)"),
        ("c[:3].copy_(m)", "c[:3].copy_(m[0])"),
    ],
    "dtype": [
        ("i.add_(0.5)", "j = i + 0.5", "i = i.float()\ni.add_(0.5)"),
        ("i.div_(2)", "j = i / 2", "i.div_(2, rounding_mode='floor')"),
        ("i.mul_(c[:3])", "j = i * c[:3]"),
    ],
    "out": [
        ("torch.add(x, x, out=c[:3])", "y = torch.add(x, x)", "with torch.no_grad():\n    torch.add(x, x, out=c[:3])"),
        ("torch.add(m, m, out=torch.ones(1))", "torch.add(m, m, out=torch.ones(2, 3))"),
    ],
    "resize": [
        ("torch.from_numpy(numpy.ones(3)).resize_(10)", "torch.from_numpy(numpy.ones(3)).clone().resize_(10)"),
        ("x.resize_(10)", "y = torch.cat([x, torch.zeros(7)])"),
    ],
    "read-only array": [
        (
            "torch.from_numpy(numpy.broadcast_to(numpy.ones(1), 3))",
            "torch.from_numpy(numpy.broadcast_to(numpy.ones(1), 3).copy())",
        )
    ],
    "negative stride": [("torch.from_numpy(numpy.ones(3)[::-1])", "torch.from_numpy(numpy.ones(3)[::-1].copy())")],
    "copy of a tensor": [("torch.tensor(c)", "c.clone()", "c.detach().clone()")],
    "memory": [("torch.empty(10**14)",)],
}

PADDLE: dict[str, list[Entry]] = {
    "leaf": [
        ("x.scale_(2.0)", "y = x.scale(2.0)", "with paddle.no_grad():\n    x.scale_(2.0)"),
        ("x.zero_()", "y = paddle.zeros_like(x)", "with paddle.no_grad():\n    x.zero_()"),
        ("x.reshape_([3, 1])", "y = x.reshape([3, 1])"),
    ],
    "leaf view": [("x[0] = 100.0", "y = x.clone()\ny[0] = 100.0", "with paddle.no_grad():\n    x[0] = 100.0")],
    "saved": [
        (
            "a = x * 1.0\ny = a * a\na.scale_(10.0)\ny.sum().backward()",
            "a = x * 1.0\ny = a * a\na = a.scale(10.0)\ny.sum().backward()",
            "a = x * 1.0\nb = a.clone()\ny = b * b\na.scale_(10.0)\ny.sum().backward()",
        ),
        (
            "y = paddle.exp(x)\ny.scale_(2.0)\ny.sum().backward()",
            "y = paddle.exp(x)\ny = y.scale(2.0)\ny.sum().backward()",
        ),
    ],
    "twice": [
        (
            "y = (x * x).sum()\ny.backward()\ny.backward()",
            "y = (x * x).sum()\ny.backward(retain_graph=True)\ny.backward()",
        )
    ],
    "no history": [("paddle.grad((x * 2.0).sum(), paddle.ones([3]))", "paddle.grad((x * 2.0).sum(), x)")],
    "cannot be a view": [("m.t().view([6])", "m.t().reshape([6])")],
    "shape": [
        ("c[:3].add_(m)", "y = c[:3] + m"),
        ("c.add_(paddle.ones([3]))", "c[:3].add_(paddle.ones([3]))"),
        ("c.set_value(m)", "c.set_value(m[0:2, 0:2].reshape([4]))"),
    ],
    "number as operand": [
        ("c.add_(1.0)", "c.add_(paddle.ones_like(c))", "c.scale_(1.0, bias=1.0)"),
        ("c.multiply_(2.0)", "c.scale_(2.0)"),
    ],
    "dtype": [
        ("i.sin_()", "j = i.astype('float32').sin_()"),
        ("i.add_(c[:3])", "j = i.astype('float32').add_(c[:3])"),
        ("i.exp_()", "j = i.astype('float32').exp_()"),
        ("c.add_(i)", "c[:3].add_(i.astype('float32'))"),
    ],
    "out": [("paddle.add(c, c, out=c)", "c.add_(c)")],
    "memory": [("paddle.zeros([10**14])",)],
}

NUMPY: dict[str, list[Entry]] = {
    "read-only array": [
        ("np.broadcast_to(c, (2, 4))[0] = 1.0", "e = np.broadcast_to(c, (2, 4)).copy()\ne[0] = 1.0"),
        ("e = np.broadcast_to(c, (2, 4))\ne += 1.0", "e = np.broadcast_to(c, (2, 4)) + 1.0"),
        (
            "v = np.frombuffer(b'12345678')\nv.flags.writeable = True",
            "v = np.frombuffer(b'12345678').copy()",
            "v = np.frombuffer(bytearray(b'12345678'))",
        ),
    ],
    "shape": [
        ("c[:3] += m", "y = c[:3] + m"),
        ("c + i", "c[:3] + i"),
        ("c[0:2] = c", "c[0:2] = c[2:4]"),
        ("c += i", "c[:3] += i"),
    ],
    "dtype": [
        ("i += 0.5", "j = i + 0.5", "i = i.astype(float)\ni += 0.5"),
        ("i /= 2", "j = i / 2", "i //= 2"),
        ("np.add(c, c, out=np.ones(4, dtype=int))", "np.add(c, c, out=np.ones(4))"),
    ],
    "resize": [
        ("v = m[0]\nv.resize(6)", "v = m[0].copy()\nv.resize(6)"),
        ("v = m[0]\nm.resize(8)", "m = m.copy()\nm.resize(8)"),
    ],
    "cannot be a view": [
        ("m.T.shape = 6", "v = m.T.reshape(6)"),
        ("np.array(c, copy=False, dtype=int)", "np.asarray(c, dtype=int)"),
        ("np.reshape(m.T, 6, copy=False)", "np.reshape(m.T, 6)"),
    ],
    "memory": [("np.zeros(10**14)",)],
}

MINITENSOR: dict[str, list[Entry]] = {
    "leaf": [("x.scale_(2.0)", "y = x.scale(2.0)", "with minitensor.no_grad():\n    x.scale_(2.0)")],
    "leaf view": [
        ("v = x[0:2]\nv.scale_(10.0)", "v = x[0:2]\nu = v.scale(10.0)", "y = x.clone()\ny[0:2].scale_(10.0)"),
        ("x[0] = 100.0", "y = x.clone()\ny[0] = 100.0", "with minitensor.no_grad():\n    x[0] = 100.0"),
    ],
    "no history": [
        ("minitensor.grad((x * 2.0).sum(), minitensor.ones([3]))", "minitensor.grad((x * 2.0).sum(), x)"),
        ("y = c * 2.0\ny.sum().backward()", "c.stop_gradient = False\ny = c * 2.0\ny.sum().backward()"),
    ],
    "integer leaf": [("i.stop_gradient = False", "f = i.astype('float32')\nf.stop_gradient = False")],
    "saved": [
        (
            "a = x * 1.0\ny = a * a\na.scale_(10.0)\ny.sum().backward()",
            "a = x * 1.0\ny = a * a\na = a.scale(10.0)\ny.sum().backward()",
            "with minitensor.set_inplace_policy('copy_on_write'):\n    a = x * 1.0\n    y = a * a\n"
            "    a.scale_(10.0)\n    y.sum().backward()",
        ),
        ("y = x.exp()\ny.scale_(2.0)\ny.sum().backward()", "y = x.exp()\ny = y.scale(2.0)\ny.sum().backward()"),
    ],
    "twice": [
        (
            "y = (x * x).sum()\ny.backward()\ny.backward()",
            "y = (x * x).sum()\ny.backward(retain_graph=True)\ny.backward()",
        )
    ],
    "refused before 2.6": [
        (
            "with minitensor.set_inplace_policy('2.5'):\n    x.scale(2.0).sin_()",
            "with minitensor.set_inplace_policy('2.5'):\n    x.scale(2.0).sin()",
            "with minitensor.set_inplace_policy('2.6'):\n    x.scale(2.0).sin_()",
        )
    ],
    "one cell several times": [
        ("c[0:2].as_strided([3, 2], [0, 1]).add_(10.0)", "c[0:2].as_strided([3, 2], [0, 1]).clone().add_(10.0)")
    ],
    "cannot be a view": [("m.t().view([6])", "m.t().reshape([6])")],
    "shape": [
        ("c[:3].add_(m)", "y = c[:3] + m"),
        ("c.add_(minitensor.ones([3]))", "c[:3].add_(minitensor.ones([3]))"),
        ("c.set_value(m)", "c.set_value(m[0:2, 0:2].reshape([4]))"),
    ],
    "dtype": [
        ("i.divide_(2)", "j = i.divide(2)", "i.floor_divide_(2)"),
        ("i.sin_()", "j = i.astype('float32').sin_()"),
    ],
    "written from outside": [
        (
            "y = x * 1.0\na = y.detach().numpy(share=True)\nwith minitensor.check_foreign_writes():\n"
            "    z = y * y\n    a[0] = 7.0\n    z.sum().backward()",
            "y = x * 1.0\na = y.detach().numpy()\nwith minitensor.check_foreign_writes():\n"
            "    z = y * y\n    a[0] = 7.0\n    z.sum().backward()",
        )
    ],
    "memory": [
        (
            "minitensor.set_device('gpu:sim', capacity='64 MiB')\ny = minitensor.ones([3072, 4096])\nz = y.relu()",
            "minitensor.set_device('gpu:sim', capacity='64 MiB')\ny = minitensor.ones([3072, 4096])\ny.relu_()",
        )
    ],
}

#: Maps a library to its causes, and each cause to its entries.
PROGRAMS = {"torch": TORCH, "paddle": PADDLE, "numpy": NUMPY, "minitensor": MINITENSOR}
