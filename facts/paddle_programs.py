"""Record in paddle-programs.json the results of programs of layers, optimizers and in-place operations in Paddle.

python facts/paddle_programs.py paddle

The tests run the same programs with `import minitensor as paddle` and compare the results. The first programs are from
the articles that the book discusses, with constants in place of random numbers if the results depend on these.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

#: Maps a question to a program, and to the expressions to evaluate afterwards.
PROGRAMS: dict[str, tuple[str, list[str]]] = {
    # ---------- the articles ----------
    "add_ and subtract_": (
        "x = paddle.to_tensor([[1, 2], [3, 4]], dtype='float32')\n"
        "y = paddle.to_tensor([[5, 6], [7, 8]], dtype='float32')\n"
        "x.add_(y)\nafter_add = str(x)\nx.subtract_(y)\nx.subtract_(y)",
        ["after_add", "str(x)", "x.inplace_version"],
    ),
    "add_ with alpha": (
        "x = paddle.to_tensor([[1.0, 2.0]])\ny = paddle.to_tensor([[5.0, 6.0]])\n"
        "x.add_(y, alpha=1)\nx.subtract_(y, alpha=2)",
        ["x.tolist()"],
    ),
    "relu_ of the functions": (
        "x = paddle.to_tensor([[0.25, -0.5, 0.125], [-1.0, 0.0, 2.0]])\ny = paddle.nn.functional.relu_(x)",
        ["str(x)", "y is x"],
    ),
    "transpose_ and transpose": (
        "x = paddle.arange(12).reshape([3, 4])\nwhere = x.data_ptr()\nx.transpose_([1, 0])\ny = x.transpose([1, 0])",
        ["str(x)", "str(y)", "x.data_ptr() == where", "y.data_ptr() == where"],
    ),
    "a block that is in place or not": (
        "import numpy\n"
        "class Block(paddle.nn.Layer):\n"
        "    def forward(self, x, inplace=True):\n"
        "        return paddle.nn.functional.relu_(x) if inplace else paddle.nn.functional.relu(x)\n"
        "paddle.set_device('cpu')\npaddle.seed(0)\nblock = Block()\n"
        "x = paddle.to_tensor([[-1.0, 2.0], [3.0, -4.0]])\nfirst = block(x, inplace=False)\nsecond = block(x)",
        ["first.tolist()", "second.tolist()", "first is x", "second is x", "block.parameters()"],
    ),
    "scale_ on a leaf": ("x = paddle.rand([3, 4])\nx.stop_gradient = False\nx.scale_(2.0)", ["x.inplace_version"]),
    "two names": ("x = paddle.ones([3, 4])\ny = x\nx.zero_()", ["str(y)"]),
    "100 additions": (
        "paddle.disable_static()\nx = paddle.ones([10, 10], dtype='float32')\nz = paddle.ones_like(x)\ny = x\n"
        "for _ in range(100):\n    y = paddle.add(y, paddle.to_tensor(1.0))\n    z.add_(paddle.to_tensor(1.0))",
        ["float(y.sum())", "float(x.sum())", "float(z.sum())", "z.inplace_version"],
    ),
    "sin_ on a leaf": (
        "paddle.set_device('cpu')\npaddle.disable_static()\n"
        "x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\nx.sin_()",
        ["x.inplace_version"],
    ),
    "y += 1.0": (
        "x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\ny = paddle.sin(x)\nbefore = y\ny += 1.0\n"
        "loss = paddle.sum(y**2)\nloss.backward()",
        ["y.numpy().tolist()", "y is before", "before.inplace_version", "x.grad.numpy().tolist()"],
    ),
    "sin_ on no leaf": (
        "a = paddle.to_tensor([[0.5, -1.0], [2.0, 3.0]])\na.stop_gradient = False\nx = paddle.sin(a)\ny = x.sin_()\n"
        "y.backward()",
        ["y is x", "x.numpy().tolist()", "a.grad.tolist()", "a.grad.stop_gradient"],
    ),
    # ---------- writes under other names ----------
    "assign makes a tensor": (
        "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\ny = paddle.assign(x)\n(y * 3.0).sum().backward()",
        ["y.tolist()", "y.stop_gradient", "x.grad.tolist()"],
    ),
    "assign into another": (
        "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\nout = paddle.zeros([2])\n"
        "y = paddle.assign(x * 2.0, out)\n(out * 3.0).sum().backward()",
        ["y is out", "out.tolist()", "out.inplace_version", "x.grad.tolist()"],
    ),
    "set_value": (
        "import numpy\nw = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\n"
        "w.set_value(numpy.array([3.0, 4.0], 'float32'))\n(w * w).sum().backward()",
        ["w.tolist()", "w.is_leaf", "w.grad.tolist()"],
    ),
    "clear_gradient": (
        "w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\n(w * w).sum().backward()\nw.clear_gradient()\n"
        "zeros = w.grad.tolist()\nw.clear_gradient(False)",
        ["zeros", "w.grad is None"],
    ),
    "_bump_inplace_version": (
        "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)\na = x * 1.0\ny = a * a\na._bump_inplace_version()\n"
        "counted = a.inplace_version\ny.sum().backward()",
        ["counted"],
    ),
    "what programs ask": (
        "x = paddle.to_tensor([[1.0, 5.0], [4.0, 2.0]])",
        [
            "int(paddle.numel(x))",
            "x.dim()",
            "paddle.argmax(x).tolist()",
            "x.argmax(axis=1).tolist()",
            "x.argmin(axis=0, keepdim=True).tolist()",
            "bool(paddle.all(x > 0.0))",
            "(x > 3.0).any(axis=0).tolist()",
            "bool(paddle.equal_all(x, x))",
            "bool(paddle.allclose(x, x + 1e-9))",
            "paddle.is_tensor(x)",
            "paddle.eye(2, 3).tolist()",
            "paddle.linspace(0.0, 1.0, 5).tolist()",
            "paddle.empty([2, 3]).shape == [2, 3]",
            "paddle.in_dynamic_mode()",
            "sorted(paddle.randperm(4).tolist())",
            "x._is_shared_buffer_with(x[0])",
        ],
    ),
    # ---------- layers ----------
    "the text of layers": (
        "net = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.ReLU(), paddle.nn.Linear(3, 1))\n"
        "conv = paddle.nn.Conv2D(3, 8, 3)\nnorm = paddle.nn.BatchNorm2D(3)",
        ["str(net)", "str(norm)", "conv.weight.shape == [8, 3, 3, 3]", "conv.bias.tolist()"],
    ),
    "what layers find": (
        "class Net(paddle.nn.Layer):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = paddle.nn.Linear(2, 2)\n"
        "        self.plain = paddle.to_tensor([1.0], stop_gradient=False)\n"
        "        self.w = self.create_parameter([2, 2])\n"
        "        self.register_buffer('seen', paddle.zeros([1]))\n"
        "        self.more = paddle.nn.LayerList([paddle.nn.ReLU(), paddle.nn.Linear(2, 1, bias_attr=False)])\n"
        "net = Net()\nnet.eval()",
        [
            "[name for name, _ in net.named_parameters()]",
            "sorted(net.state_dict())",
            "[name for name, _ in net.named_sublayers()]",
            "len(net.sublayers())",
            "net.fc.training",
            "net.more[1].bias is None",
            "net.w.shape == [2, 2]",
            "str(net.w).splitlines()[0]",
            "[type(each).__name__ for each in net.children()]",
        ],
    ),
    "hooks around forward": (
        "layer = paddle.nn.ReLU()\nseen = []\n"
        "before = layer.register_forward_pre_hook(lambda layer, x: seen.append('before') or (x[0] + 1.0,))\n"
        "after = layer.register_forward_post_hook(lambda layer, x, y: seen.append('after') or y * 2.0)\n"
        "one = paddle.to_tensor([1.0])\nfirst = layer(one)\nbefore.remove()\nafter.remove()\nsecond = layer(one)",
        ["first.tolist()", "second.tolist()", "seen"],
    ),
    "a layer without super().__init__()": (
        "class Net(paddle.nn.Layer):\n    def __init__(self):\n        self.fc = paddle.nn.Linear(2, 2)\nNet()",
        [],
    ),
    "a layer without forward": ("class Net(paddle.nn.Layer):\n    pass\nNet()(1)", []),
    "loading a state": (
        "a, b = paddle.nn.Linear(2, 2), paddle.nn.Linear(2, 2)\n"
        "before = b.weight\nanswer = b.set_state_dict({**a.state_dict(), 'extra': paddle.ones([1])})",
        ["b.weight.tolist() == a.weight.tolist()", "b.weight is before", "list(answer[0])", "list(answer[1])"],
    ),
    # ---------- functions ----------
    "linear": (
        "x = paddle.to_tensor([[1.0, 2.0, 3.0]], stop_gradient=False)\n"
        "w = paddle.to_tensor([[1.0, -1.0], [0.5, 2.0], [3.0, 0.0]], stop_gradient=False)\n"
        "b = paddle.to_tensor([0.25, -0.25], stop_gradient=False)\n"
        "y = paddle.nn.functional.linear(x, w, b)\n(y * y).sum().backward()",
        ["y.tolist()", "x.grad.tolist()", "w.grad.tolist()", "b.grad.tolist()"],
    ),
    "conv2d": (
        "x = (paddle.arange(100, dtype='float32').reshape([1, 4, 5, 5]) % 7.0 - 3.0)\nx.stop_gradient = False\n"
        "w = (paddle.arange(72, dtype='float32').reshape([4, 2, 3, 3]) % 5.0 - 2.0)\nw.stop_gradient = False\n"
        "b = paddle.to_tensor([0.5, -0.5, 1.0, 0.0], stop_gradient=False)\n"
        "y = paddle.nn.functional.conv2d(x, w, b, stride=2, padding=1, dilation=1, groups=2)\n"
        "(y * y).sum().backward()",
        ["y.tolist()", "x.grad.tolist()", "w.grad.tolist()", "b.grad.tolist()"],
    ),
    "conv2d with dilation": (
        "x = (paddle.arange(49, dtype='float32').reshape([1, 1, 7, 7]) % 7.0 - 3.0)\n"
        "w = (paddle.arange(6, dtype='float32').reshape([1, 1, 3, 2]) - 2.0)\n"
        "y = paddle.nn.functional.conv2d(x, w, stride=[1, 2], padding=[1, 0], dilation=[2, 3])",
        ["y.tolist()"],
    ),
    "batch_norm in training": (
        "x = (paddle.arange(24, dtype='float32').reshape([2, 3, 2, 2]) % 5.0)\nx.stop_gradient = False\n"
        "norm = paddle.nn.BatchNorm2D(3)\nnorm.weight.set_value(paddle.to_tensor([1.0, 2.0, 3.0]))\n"
        "y = norm(x)\n(y * y * y).sum().backward()\nnorm.eval()\nz = norm(x)",
        [
            "y.tolist()",
            "z.tolist()",
            "norm._mean.tolist()",
            "norm._variance.tolist()",
            "norm.weight.grad.tolist()",
            "norm.bias.grad.tolist()",
            "sorted(norm.state_dict())",
        ],
    ),
    "cross_entropy": (
        "f = paddle.nn.functional.cross_entropy\n"
        "x = paddle.to_tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 2.0, 2.0]], stop_gradient=False)\n"
        "label = paddle.to_tensor([1, 2, -100])\nloss = f(x, label)\nloss.backward()\n"
        "soft = paddle.to_tensor([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])",
        [
            "float(loss)",
            "loss.shape == []",
            "x.grad.tolist()",
            "f(x, label, reduction='none').tolist()",
            "f(x, label.unsqueeze(1), reduction='none').tolist()",
            "float(f(x, label, reduction='sum'))",
            "float(f(x, soft, soft_label=True))",
            "f(x, soft, soft_label=True, reduction='none').tolist()",
            "float(f(x, paddle.to_tensor([0, 1, 2]), axis=0))",
            "float(f(x, paddle.to_tensor([1, 2, 0]), ignore_index=2))",
        ],
    ),
    "a label that is not a class": (
        "paddle.nn.functional.cross_entropy(paddle.ones([2, 3]), paddle.to_tensor([0, 5]))",
        [],
    ),
    "mse_loss and l1_loss": (
        "f = paddle.nn.functional\nx = paddle.to_tensor([1.0, -2.0, 3.0], stop_gradient=False)\n"
        "y = paddle.to_tensor([0.5, 0.5, 0.5])\nloss = f.mse_loss(x, y)\nloss.backward()",
        ["float(loss)", "x.grad.tolist()", "float(f.l1_loss(x, y))", "f.mse_loss(x, y, reduction='none').tolist()"],
    ),
    "layers of activations": (
        "x = paddle.to_tensor([-2.0, -0.5, 0.0, 0.5, 7.0])\nn = paddle.nn",
        [
            f"n.{name}(x).tolist()"
            for name in (
                *("ReLU()", "ReLU6()", "Sigmoid()", "Tanh()", "LeakyReLU(0.1)", "ELU(0.5)", "Hardtanh()", "Softmax()"),
                "ThresholdedReLU(0.25)",
            )
        ],
    ),
    # ---------- optimizers ----------
    **{
        f"{call}": (
            "w = paddle.to_tensor([1.0, -2.0, 3.0], stop_gradient=False)\n"
            f"opt = paddle.optimizer.{call.replace('(', '(learning_rate=0.1, parameters=[w], ')}\n"
            "for _ in range(3):\n    (w * w * w).sum().backward()\n    opt.step()\n    opt.clear_grad()",
            ["w.tolist()", "w.grad.tolist()", "opt.get_lr()", "w.is_leaf"],
        )
        for call in (
            "SGD()",
            "SGD(weight_decay=0.1)",
            "Momentum(momentum=0.9)",
            "Momentum(momentum=0.9, use_nesterov=True, weight_decay=0.01)",
            "Adam()",
            "Adam(beta1=0.5, beta2=0.9, epsilon=0.01, weight_decay=0.1)",
            "AdamW()",
            "AdamW(weight_decay=0.1)",
        )
    },
    "a step between forward and backward": (
        "w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)\n"
        "opt = paddle.optimizer.SGD(learning_rate=0.1, parameters=[w])\n"
        "y = (w * w).sum()\ny.backward(retain_graph=True)\nfirst = w.grad.tolist()\nopt.step()\nopt.clear_grad()\n"
        "y.backward()",
        ["first", "w.tolist()", "w.inplace_version", "w.grad.tolist()"],
    ),
    "an optimizer without parameters": ("paddle.optimizer.SGD(0.1)", []),
    "an optimizer with one tensor": ("paddle.optimizer.SGD(0.1, parameters=paddle.ones([2]))", []),
    "a learning rate that is not a number": ("paddle.optimizer.SGD('x', parameters=[paddle.ones([2])])", []),
}

QUESTIONS: Questions = {question: ({"paddle": program}, seen) for question, (program, seen) in PROGRAMS.items()}

if __name__ == "__main__":
    write(Path(__file__).with_name("paddle-programs.json"), QUESTIONS)
