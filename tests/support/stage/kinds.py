"""Generate random programs of the kinds in which a stage could make a false statement.

The kinds are functions, closures, globals, generators, ``with``, hooks, threads, recursion, a GPU and the steps of
training.

``program(kind, seed)`` is a whole program. Its operations are random; its structure depends on its kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable

#: Operations on a tensor ``{x}`` that does not require a gradient or is not a leaf.
MAKES = ("{x} + 1", "{x} * 2", "{x} * {x}", "{x}.exp()", "{x}[0:2] * 1", "{x}.clone()", "{x}.reshape([-1])", "{x}[1:]")
WRITES = ("{x}.add_(1)", "{x}.scale_(2.0)", "{x}.zero_()", "{x}[0] = 7.0", "{x}.sin_()", "{x}.detach().add_(1)")
STARTS = ("mt.ones([4])", "mt.arange(4).astype('float32')", "mt.to_tensor([1., 2., 3., 4.])")
WANTING = "w = mt.to_tensor([1., 2., 3., 4.], stop_gradient=False)\n"


class _Drawn:
    """A source of lines with random parts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def make(self, x: str) -> str:
        return self.random.choice(MAKES).format(x=x)

    def write(self, x: str) -> str:
        return self.random.choice(WRITES).format(x=x)

    def start(self) -> str:
        return self.random.choice(STARTS)

    def some(self, *lines: str) -> str:
        """Return randomly chosen lines in their order, or an empty text if none is chosen."""
        kept = [line for line in lines if self.random.random() < 0.7]
        return "".join(f"{line}\n" for line in kept)

    def one(self, *texts: str) -> str:
        return self.random.choice(texts)


def _functions(d: _Drawn) -> str:
    body = d.some(f"    t = {d.make('t')}", f"    {d.write('t')}")
    back = d.one("t", "t, [t]", "{'a': t}", "lambda: t", "None", d.make("t"))
    return (
        f"def f(t):\n{body}    return {back}\nx = {d.start()}\n"
        + d.some("y = f(x)", f"z = {d.make('x')}", "f(x)", "x = f(x)", "y = [f(x), x]", "del x")
        + d.some("y = 0", "x = 0")
    )


def _closures(d: _Drawn) -> str:
    inner = d.some(f"        u = {d.make('t')}", f"        {d.write('t')}")
    return (
        f"def make(t):\n    kept = {d.make('t')}\n    def inner():\n        nonlocal kept\n{inner}"
        f"        kept = {d.make('kept')}\n        return {d.one('kept', 't', 'None')}\n    return inner\n"
        f"x = {d.start()}\nstep = make(x)\n" + d.some("a = step()", "del x", "b = step()", "step = None", "a = 0")
    )


def _globals(d: _Drawn) -> str:
    return (
        f"G = {d.start()}\nL = []\ndef f():\n    global G\n    {d.one('G = ' + d.make('G'), d.write('G'))}\n"
        f"    {d.one('L.append(G)', 'return G', 'pass')}\ndef g():\n    return {d.make('G')}\n"
        + d.some("f()", "y = g()", "x = f()", "G = 0", "f() if hasattr(G, 'add_') else None", "L.clear()", "y = G")
    )


def _generators(d: _Drawn) -> str:
    body = d.one(
        f"    t = {d.start()}\n    yield t\n    {d.write('t')}\n    yield {d.make('t')}\n",
        f"    while True:\n        t = yield\n        if t is None: return\n        {d.write('t')}\n",
        f"    for i in range(3):\n        got = yield {d.start()}\n        if got is not None:\n         "
        f"   {d.write('got')}\n",
        f"    kept = {d.start()}\n    try:\n        yield kept\n    finally:\n        {d.write('kept')}\n",
    )
    return (
        f"def rows():\n{body}x = {d.start()}\ng = rows()\na = next(g)\n"
        + d.some("g.send(x) if g.gi_frame else None", "b = next(g, None)", "a = None", "b = next(g, None)", "x = 1")
        + d.one("g.close()\n", "del g\n", "for r in g: break\n", "try:\n    g.send(None)\nexcept StopIteration: pass\n")
    )


def _with(d: _Drawn) -> str:
    kind = d.one("class", "contextmanager", "policy")
    if kind == "class":
        head = (
            f"class C:\n    def __enter__(self):\n        self.t = {d.start()}\n        return self\n"
            f"    def __exit__(self, *a):\n        {d.one('self.t = None', d.write('self.t'), 'del self.t')}\n"
            "with C() as c:\n"
        )
    elif kind == "contextmanager":
        head = (
            f"import contextlib\n@contextlib.contextmanager\ndef held():\n    t = {d.start()}\n    yield t\n"
            f"    {d.write('t')}\nwith held() as c:\n"
        )
    else:
        mode = d.one("mt.no_grad()", "mt.set_inplace_policy('copy_on_write')")
        head = f"{WANTING}a = w * 1\ny = a * a\nwith {mode}:\n"
        return head + f"    {d.write('a')}\n" + d.some("y.sum().backward()", "del y", "a = 0")
    return head + f"    x = {d.start()}\n    {d.write('x')}\n" + d.some("del x", "c = 0", "y = 1")


def _hooks(d: _Drawn) -> str:
    answer = d.one("lambda g: g * 2", "lambda g: None", "lambda g: seen.append(g)", "lambda g: g.zero_()", "hook")
    on = d.one("w", "y", "z")
    return (
        WANTING
        + f"seen = []\ndef hook(g):\n    h = {d.one('g + 1', 'g * g', 'g')}\n    return h\n"
        + f"y = {d.one('w * 2', 'w * w', 'w.exp()')}\nz = {d.one('y + w', 'y * y', 'y.sin()')}\n"
        + f"h = {on}.register_hook({answer})\n"
        + d.some("h.remove()", "y.retain_grads()")
        + "z.backward(retain_graph=True)\n"
        + d.some("w.clear_grad()", "z.backward()", "seen.clear()", "y = 0")
    )


def _threads(d: _Drawn) -> str:
    task = d.one(
        f"    {d.write('x')}\n", f"    for i in range(2):\n        {d.write('x')}\n", "    kept.append(x + 1)\n"
    )
    return (
        f"import threading\nx = {d.start()}\nkept = []\n"
        + d.some("v = x[1:]", "y = x * 2")
        + f"def work():\n{task}t = threading.Thread(target=work)\nt.start()\nt.join()\n"
        + d.some(d.write("x"), f"z = {d.make('x')}", "kept.clear()", "del x")
    )


def _recursion(d: _Drawn) -> str:
    return (
        "def f(t, n):\n"
        + d.some(f"    u = {d.make('t')}", f"    {d.write('t')}")
        + f"    return t if n == 0 else f({d.one('t', 't + 1', 't[0:2]', 't.clone()')}, n - 1)\n"
        + f"x = {d.start()}\ny = f(x, {d.one('1', '2', '3')})\n"
        + d.some("del x", "y = 0")
    )


def _gpu(d: _Drawn) -> str:
    return (
        "mt.set_device('gpu')\n"
        + f"x = {d.start()}\n"
        + d.some(f"y = {d.make('x')}", d.write("x"), "z = x.cpu()", "x = x.cpu()", "y = x", "del x", "y = 0")
        + d.some(f"q = {d.start()}", "mt.device.cuda.empty_cache()", "q = 0")
    )


def _training(d: _Drawn) -> str:
    loss = d.one("(y * y).sum()", "y.mean()", "(y - 1).square().sum()", "mt.nn.functional.mse_loss(y, mt.ones([4]))")
    return (
        WANTING
        + d.one("o = mt.optimizer.SGD(0.1, parameters=[w])\n", "o = mt.optimizer.Momentum(0.1, parameters=[w])\n")
        + "for i in range(2):\n"
        + f"    y = {d.one('w * 2', 'w * w', 'w.sin()')}\n"
        + d.one("", f"    {d.write('y')}\n")
        + f"    loss = {loss}\n    loss.backward()\n    o.step()\n    o.clear_grad()\n"
        + d.some("del y", "loss = None", "w.detach().zero_()")
    )


def _pytorchs(d: _Drawn) -> str:
    see = d.one("x.T", "x[0]", "x.reshape(4)", "x.view(-1)", "x.t()", "x.flatten()", "x[:, 1]", "x.data", "x.detach()")
    write = d.one("v.mul_(2)", "v.zero_()", "x.add_(1)", "x[0] += 1", "v -= 1", "x.numpy()[0] = 5", "x[x > 2] = 0")
    return (
        "import minitensor.torch as torch\n"
        + "w = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)\n"
        + d.one("x = w.detach()\n", "x = w * 1\n", "x = torch.ones(2, 2)\n", "x = w.exp()\n")
        + d.some("y = x * x", "r = torch.relu(x)")
        + f"v = {see}\n"
        + d.one(f"{write}\n", f"try:\n    {write}\nexcept RuntimeError: pass\n")
        + d.some("del x", "v = 0", "y = 0")
    )


KINDS: dict[str, Callable[[_Drawn], str]] = {
    "functions": _functions,
    "closures": _closures,
    "globals": _globals,
    "generators": _generators,
    "with": _with,
    "hooks": _hooks,
    "threads": _threads,
    "recursion": _recursion,
    "GPU": _gpu,
    "training": _training,
    "PyTorch": _pytorchs,
}


def program(kind: str, seed: int) -> str:
    """Return a whole program of this kind."""
    return KINDS[kind](_Drawn(seed))
