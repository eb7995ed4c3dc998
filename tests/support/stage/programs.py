"""Programs for the recorder's tests, with every kind of statement and every kind of operation on memory."""

from __future__ import annotations

PROGRAMS: dict[str, str] = {}

PROGRAMS["normal"] = """\
x = mt.to_tensor([[1., 2., 3.], [4., 5., 6.]])
y = x + 1
del x
z = y * y
"""

PROGRAMS["view"] = """\
x = mt.arange(6)
y = x.reshape([3, 2])
z = y.t()
w = z[0]
del x, y
"""

PROGRAMS["in place"] = """\
x = mt.ones([2, 3])
y = x.add_(1)
x.scale_(3)
del x
"""

PROGRAMS["rebinding"] = """\
x = mt.ones([3])
x = x + 1
x += 1
y = x
x = x * 2
x = 5
"""

PROGRAMS["chain"] = """\
x = mt.ones([8])
y = ((x + 1) * 2).exp().sum()
"""

PROGRAMS["setitem"] = """\
x = mt.arange(6)
x[0] = 7
x[[1, 3]] = 9
x[x > 8] = 0
x[2:4] = x[0:2]
x[::2] = 1
"""

PROGRAMS["stale"] = """\
x = mt.to_tensor([1., 2., 3.], stop_gradient=False)
a = x * 1
y = a * a
a.add_(1)
y.backward()
"""

PROGRAMS["caught"] = """\
w = mt.ones([2])
w.stop_gradient = False
v = w[0:1]
try:
    t = w * 2
    v.add_(1)
except ValueError:
    caught = True
finally:
    done = mt.ones([1])
with mt.no_grad():
    w.add_(1)
"""

PROGRAMS["copied input"] = """\
x = mt.ones([4])
x.stop_gradient = False
y = x * 2
y.sin_()
y.sum().backward()
g = x.grad
"""

PROGRAMS["write through a view"] = """\
x = mt.to_tensor([1., 2., 3.], stop_gradient=False)
b = x * 1
v = b[0:2]
v.scale_(10)
b.sum().backward()
"""

PROGRAMS["training"] = """\
w = mt.to_tensor([1., 2.], stop_gradient=False)
x = mt.to_tensor([3., 4.])
for i in range(3):
    loss = ((w * x).sum() - 1).square()
    loss.backward()
    with mt.no_grad():
        w.subtract_(w.grad * 0.1)
    w.clear_grad()
"""

PROGRAMS["function"] = """\
def step(h):
    '''Doc.'''
    k = h.exp()
    k = k + 1
    del h
    k = None
    m = mt.ones([64])
    return m
x = mt.ones([16])
y = step(x)
z = step(x * 2) + step(x)
"""

PROGRAMS["locals that are rebound or deleted"] = """\
def f(a):
    b = a + 1
    b = b + 1
    b = b + 1
    a = None
    c = mt.ones([100])
    del b
    return c
y = f(mt.ones([50]))
y = f(y)
"""

PROGRAMS["recursion"] = """\
def down(x, n):
    y = x + n
    if n == 0:
        return y
    return down(y, n - 1)
z = down(mt.ones([4]), 3)
"""

PROGRAMS["generator"] = """\
def rows(x):
    for i in range(3):
        y = x + i
        yield y
total = mt.zeros([2])
for row in rows(mt.ones([2])):
    total.add_(row)
g = rows(total)
first = next(g)
del g
"""

PROGRAMS["closure"] = """\
def outer(x):
    kept = x * 2
    def inner(y):
        nonlocal kept
        kept = kept + y
        return kept
    return inner
f = outer(mt.ones([3]))
a = f(mt.ones([3]))
b = f(a)
del f
"""

PROGRAMS["class"] = """\
class Layer:
    '''Doc.'''
    scale = mt.ones([1])
    def __init__(self, n):
        self.w = mt.ones([n])
    def __call__(self, x):
        return x * self.w
    @property
    def size(self):
        return self.w.size
    @staticmethod
    def double(x):
        return x * 2
net = Layer(3)
y = net(mt.ones([3]))
n = net.size
z = Layer.double(y)
net.w = net.w + 1
"""

PROGRAMS["containers"] = """\
a = mt.ones([2])
b = mt.zeros([2])
layers = [a, b]
d = {'w': a, 3: b}
t = (a, [b])
layers[0] = a + 1
layers.append(mt.ones([5]))
del d['w']
layers.pop()
layers.clear()
"""

PROGRAMS["control flow"] = """\
x = mt.zeros([2])
n = 0
while n < 5:
    n += 1
    if n == 2:
        continue
    elif n == 4:
        break
    else:
        x.add_(n)
else:
    x = None
for i in range(2):
    pass
else:
    y = x + 1
match n:
    case 4:
        z = y * 2
    case _:
        z = None
assert n == 4, 'n'
"""

PROGRAMS["loops over tensors"] = """\
x = mt.ones([3, 2])
for row in x:
    row.scale_(2)
s = [row.sum() for row in x]
t = sum(s)
"""

PROGRAMS["comprehensions"] = """\
xs = [mt.ones([n]) for n in range(1, 4)]
ys = {n: x + 1 for n, x in enumerate(xs)}
f = lambda x: x * 2
zs = list(map(f, xs))
if (big := zs[-1] + 1).size > 2:
    big.zero_()
"""

PROGRAMS["globals"] = """\
x = mt.ones([2])
def f():
    global x
    x = x + 1
    y = x
    return y
f()
f()
"""

PROGRAMS["decorated"] = """\
@mt.no_grad()
def f(x):
    y = x + 1
    return y
x = mt.ones([2])
x.stop_gradient = False
y = f(x)
"""

PROGRAMS["metadata"] = """\
x = mt.ones([2, 3])
x.reshape_([3, 2])
x.t_()
x.unsqueeze_(0)
x.squeeze_()
x.flatten_()
y = x.t()
"""

PROGRAMS["strided"] = """\
x = mt.arange(12).reshape([3, 4])
d = x.diagonal()
d.zero_()
c = x[:, 1:3]
c.add_(1)
b = c.reshape([6])
"""

PROGRAMS["detach and clone"] = """\
x = mt.ones([3])
x.stop_gradient = False
d = x.detach()
d.add_(1)
c = x.clone()
c.scale_(2)
with mt.no_grad():
    v = x[0:2]
    v.zero_()
c.sum().backward()
x.grad.add_(1)
x.clear_grad()
"""

PROGRAMS["several leaves"] = """\
a = mt.ones([2, 2])
b = mt.full([2], 3.)
a.stop_gradient = b.stop_gradient = False
c = a.matmul(a) + b
c.tanh_()
c[0] = b
v = c.t()
v.multiply_(b)
c.mean().backward()
"""

PROGRAMS["retained"] = """\
x = mt.ones([3])
x.stop_gradient = False
y = x * 2
y.retain_grads()
(y * y).sum().backward(retain_graph=True)
y.sum().backward()
y = None
"""

PROGRAMS["hooks"] = """\
def double(g):
    h = g * 2
    return h
x = mt.ones([3])
x.stop_gradient = False
y = x.exp()
handle = y.register_hook(double)
y.sum().backward()
handle.remove()
"""

PROGRAMS["grad"] = """\
x = mt.ones([3])
x.stop_gradient = False
y = (x * x).sum()
(g,) = mt.grad(y, x)
"""

PROGRAMS["dtypes"] = """\
x = mt.arange(4)
y = x.astype('float64')
z = y + mt.ones([4])
b = x > 1
b[0] = True
w = mt.where(b, y, z)
"""

PROGRAMS["joining"] = """\
a = mt.ones([2, 2])
b = mt.concat([a, a])
c = mt.stack([a, a])
p, q = mt.split(b, 2)
e = mt.ones([1]).expand([3])
"""

PROGRAMS["error"] = """\
x = mt.ones([3])
y = x + 1
z = y.reshape([2, 2])
"""

PROGRAMS["error inside"] = """\
def f(x):
    y = x + 1
    y.reshape_([7])
    return y
x = mt.ones([2])
y = f(x)
"""

PROGRAMS["error passed on"] = """\
def f(x):
    try:
        y = x + 1
        x.add_(mt.ones([3, 2]))
    finally:
        z = x * 2
    return y
x = mt.ones([2])
try:
    f(x)
except ValueError:
    pass
w = x + 1
"""

PROGRAMS["printing"] = """\
x = mt.ones([2])
print(x)
print('a', end='')
for i in range(3):
    print(i)
"""

PROGRAMS["numpy"] = """\
import numpy as np
x = mt.ones([2])
a = x.numpy()
a[0] = 9
y = mt.to_tensor(a)
a[1] = 8
z = np.asarray(x) + 1
"""

PROGRAMS["odd values"] = """\
x = mt.to_tensor([float('nan'), float('inf'), -1e-9, 1e9, -0.0])
y = x * 0
z = mt.ones([0])
s = mt.to_tensor(3)
"""

PROGRAMS["large"] = """\
x = mt.zeros([100_000])
v = x[10:20]
v.add_(1)
x[5] = 2
y = x.reshape([100, 1000])
c = y[:, 3]
c.scale_(2)
c[4] = 1
y[3, [1, 5]] = 8
"""

PROGRAMS["copy"] = """\
import copy
x = mt.ones([2])
y = copy.copy(x)
z = copy.deepcopy(x)
y.add_(1)
"""

PROGRAMS["many names"] = """\
xs = [mt.ones([1]) for _ in range(30)]
total = sum(xs)
"""

PROGRAMS["held by a cell"] = """\
def keep():
    t = mt.ones([3])
    return lambda: t
f = keep()
del f
"""

PROGRAMS["star"] = """\
a, *rest = [mt.ones([n]) for n in (1, 2, 3)]
[b, c] = rest
a = b = c
"""

PROGRAMS["copied for an earlier operation"] = """\
x = mt.to_tensor([1., 2., 3.], stop_gradient=False)
a = x * 2
with mt.set_inplace_policy("copy_on_write"):
    y = a * a
    a.sin_()
    z = y.sum() + a.sum()
z.backward()
"""

PROGRAMS["one row preserved"] = """\
w = mt.ones([4, 3])
w.stop_gradient = False
h = w * 2
y = h * h
with mt.set_inplace_policy("copy_on_write"):
    h[1] = 0
    h[1] = 5
    h[:, 2] = 7
    h[[0, 3], [0, 1]] = 9
    h[h > 8] = 1
    h.zero_()
y.sum().backward(retain_graph=True)
y.sum().backward()
"""

PROGRAMS["preserved for a view"] = """\
x = mt.arange(24).astype('float32').reshape([4, 6])
x.stop_gradient = False
a = x * 1
v = a[1:3, ::2]
y = v.exp_() * a[0:2, 0:3]
t = a.t()
with mt.set_inplace_policy("copy_on_write"):
    t[2:4].scale_(3)
    a[3] = 0
    with mt.no_grad():
        a.detach().add_(1)
y.sum().backward()
"""

PROGRAMS["policies that change"] = """\
x = mt.to_tensor([1., 2., 3., 4.], stop_gradient=False)
a = x * 1
y = a * a
z = a[2:4] * 3 * a[2:4]
with mt.set_inplace_policy("copy_on_write"):
    a[0] = 9
a[1] = 8
with mt.set_inplace_policy("copy_on_write"):
    a[3] = 7
try:
    z.sum().backward()
except RuntimeError:
    pass
y.sum().backward()
"""

PROGRAMS["a saved tensor that is freed before a write"] = """\
x = mt.to_tensor([1., 2.], stop_gradient=False)
a = x * 1
y = a * a
with mt.set_inplace_policy("copy_on_write"):
    a[0] = 5
    y = None
    a[1] = 5
a.sum().backward()
"""

PROGRAMS["marks"] = """\
x = mt.rand([100]) - 0.5
x.stop_gradient = False
a = x * 1
y = a * a
with mt.set_inplace_policy("copy_on_write"):
    a.abs_()
    a.clip_(0.1, 0.3)
(y + a).sum().backward()
"""

PROGRAMS["large and preserved"] = """\
x = mt.ones([500, 200])
x.stop_gradient = False
a = x * 1
y = a * a
with mt.set_inplace_policy("copy_on_write"):
    a[7] = 0
    a[:, 3] = 0
    a[a > 5] = 0
    a[[5, 9, 11]] = 2
y.sum().backward()
"""

PROGRAMS["semicolons"] = """\
x = mt.ones([2]); y = x + 1; del x; y.add_(1)
"""

PROGRAMS["other storages"] = """\
x = mt.ones([4])
v = x[1:]
x.cast_('float64')
x.resize_([2])
x.resize_([6])
y = mt.to_tensor([1., 2.], stop_gradient=False) * 2
y.cast_('float64')
z = y * y
z.sum().backward()
v.set_(x)
x.set_()
"""

PROGRAMS["shared with numpy"] = """\
import numpy as np
a = np.zeros(6, 'float32')
x = mt.from_numpy(a)
y = mt.from_numpy(a[2:4])
y.add_(1)
a[0] = 5
n = y.numpy(share=True)
n[...] = 3
del x, y
m = mt.ones([3]).numpy(share=True)
w = mt.from_numpy(m)
w.stop_gradient = False
out = (w * w).sum()
m[1] = 7
out.backward()
del m, n, a
"""

PROGRAMS["a layer written by hand"] = """\
class Twice(mt.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y
    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensor()
        return g * y + h, g * x + h
class Scale(mt.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.scale_(3)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3
x = mt.to_tensor([1., 2.], stop_gradient=False)
y = x + 1
p, q = Twice.apply(x, y)
Scale.apply(y)
(p * q + y).sum().backward(retain_graph=True)
x.add_(1)
"""

PROGRAMS["a network"] = """\
class Net(mt.nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = mt.nn.Sequential(mt.nn.Linear(2, 3), mt.nn.BatchNorm1D(3), mt.nn.ReLU())
        self.head = mt.nn.Linear(3, 1)
    def forward(self, x):
        parts = [self.body(x)]
        return self.head(parts[0])
mt.seed(3)
net = Net()
opt = mt.optimizer.Adam(0.1, parameters=net.parameters())
x = mt.rand([4, 2])
for i in range(2):
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
    opt.clear_grad()
state = net.state_dict()
"""

PROGRAMS["weak references"] = """\
import weakref
x = mt.ones([3])
seen = []
r = weakref.ref(x, lambda _: seen.append(mt.ones([1])))
s = weakref.ref(x._storage)
v = x[0:1]
del x
alive = r() is not None, s() is not None
del v
gone = r() is None, s() is None
"""

PROGRAMS["a program that records its memory"] = """\
with mt.memory.record() as log:
    x = mt.ones([4])
    y = x * 2
    del x
n = len(list(log.events)) if hasattr(log, 'events') else 0
"""

PROGRAMS["PyTorch's vocabulary"] = """\
import minitensor.torch as torch
a = torch.tensor([0., 1.], requires_grad=True)
out = a.sigmoid()
c = out.data
c.zero_()
n = c.numpy()
n[0] = 3
b = torch.ones(2)
b.data = c
b += 1
p, q = b.split(1)
out.sum().backward()
"""
