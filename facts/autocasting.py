"""Record in autocasting.json what automatic mixed precision casts in PyTorch and Paddle, and how a loss scale changes.

    python facts/autocasting.py torch
    python facts/autocasting.py paddle

The answers were recorded on a CPU, where Paddle casts nothing and scales nothing. Paddle's lists are those for a GPU.
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

_TORCH = """
import warnings
warnings.simplefilter("ignore")
F = torch.nn.functional
classes = torch.tensor([0, 1, 2, 3])
def name(x): return str(x.dtype).removeprefix("torch.")
functions = {
    "matmul": lambda x: x @ x, "mm": lambda x: torch.mm(x, x), "mv": lambda x: torch.mv(x, x[0]),
    "bmm": lambda x: torch.bmm(x[None], x[None]), "addmm": lambda x: torch.addmm(x, x, x),
    "baddbmm": lambda x: torch.baddbmm(x[None], x[None], x[None]), "linear": lambda x: F.linear(x, x),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "add": lambda x: x + x, "multiply": lambda x: x * x, "divide": lambda x: x / x, "exp": lambda x: x.exp(),
    "log": lambda x: x.log(), "sqrt": lambda x: x.sqrt(), "rsqrt": lambda x: x.rsqrt(), "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(), "sigmoid": lambda x: x.sigmoid(), "relu": lambda x: x.relu(),
    "gelu": lambda x: F.gelu(x), "pow": lambda x: x.pow(3), "sum": lambda x: x.sum(), "mean": lambda x: x.mean(),
    "prod": lambda x: x.prod(), "cumsum": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(0),
    "norm": lambda x: x.norm(), "var": lambda x: x.var(), "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: F.log_softmax(x, -1), "layer_norm": lambda x: F.layer_norm(x, [4]),
    "cross_entropy": lambda x: F.cross_entropy(x, classes), "nll_loss": lambda x: F.nll_loss(x, classes),
    "mse_loss": lambda x: F.mse_loss(x, x), "l1_loss": lambda x: F.l1_loss(x, x),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x), "kl_div": lambda x: F.kl_div(x, x),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x, x),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "max_pool2d": lambda x: F.max_pool2d(x[None, None], 2), "embedding": lambda x: F.embedding(classes, x),
    "in place": lambda x: x.clone().addmm_(x, x), "cat": lambda x: torch.cat([x, torch.ones(1, 4)]),
}
def given(function, dtype):
    try: return name(function(torch.ones(4, 4, dtype=dtype)))
    except RuntimeError: return "refused"
"""

_SCALER = """
rows = []
for factor in (1.0, 2.0, float("inf"), 1.0, 1.0, 1.0):
    {clear}
    loss = (w * factor).sum()
    scaled = s.scale(loss)
    scaled.backward()
    s.step(optimizer)
    s.update()
    rows.append([scaled.item(), {w}, {scale}])
"""

QUESTIONS: Questions = {
    "what a CPU casts": (
        {
            "torch": _TORCH + "found = {}\n"
            "for low in (torch.bfloat16, torch.float16):\n"
            "    with torch.autocast('cpu', dtype=low):\n"
            "        for n, f in functions.items():\n"
            "            found[f'{n} {low}'] = [given(f, torch.float32), given(f, low), given(f, torch.float64)]\n",
            "paddle": "paddle.set_device('cpu')\nx, found = paddle.ones([4, 4]), {}\n"
            "for low in ('float16', 'bfloat16'):\n"
            "    with paddle.amp.auto_cast(dtype=low):\n"
            "        found[f'matmul {low}'], found[f'exp {low}'] = str((x @ x).dtype), str(x.exp().dtype)\n",
        },
        ["found"],
    ),
    "lists": (
        {
            "paddle": "from paddle.amp import amp_lists\n"
            "low, wide = sorted(amp_lists.FP16_WHITE_LIST), sorted(amp_lists.FP16_BLACK_LIST)\n"
        },
        ["low", "wide"],
    ),
    "a parameter is cast once": (
        {
            "torch": "x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)\n"
            "with torch.autocast('cpu'):\n"
            "    a, b = x @ w, x @ w\n"
            "    same = a.grad_fn.next_functions[1][0] is b.grad_fn.next_functions[1][0]\n"
            "    with torch.no_grad():\n        w.mul_(3)\n"
            "    after = (x @ w)[0, 0].item()\n"
            "    with torch.autocast('cpu', enabled=False):\n        off = str((x @ w).dtype)\n"
            "    back = str((x @ w).dtype)\n"
            "again = str((x @ w).dtype)\n"
            "(a * 2.0).sum().backward()\ngradient = [str(w.grad.dtype), w.grad.tolist()]\n"
        },
        ["same", "after", "off", "back", "again", "gradient"],
    ),
    "another dtype inside": (
        {
            "torch": "x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)\n"
            "with torch.autocast('cpu'):\n"
            "    first = str((x @ w).dtype)\n"
            "    with torch.autocast('cpu', dtype=torch.float16):\n        other = str((x @ w).dtype)\n"
        },
        ["first", "other"],
    ),
    "a scaler": (
        {
            "torch": "w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))\noptimizer = torch.optim.SGD([w], lr=0.125)\n"
            "s = torch.amp.GradScaler('cpu', init_scale=8.0, growth_interval=2)\n"
            + _SCALER.format(clear="optimizer.zero_grad()", w="w.tolist()", scale="s.get_scale()"),
            "paddle": "paddle.set_device('cpu')\nstart = paddle.nn.initializer.Assign([1.0, 2.0])\n"
            "w = paddle.create_parameter([2], 'float32', default_initializer=start)\n"
            "optimizer = paddle.optimizer.SGD(0.125, parameters=[w])\n"
            "s = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2)\n"
            + _SCALER.format(clear="optimizer.clear_grad()", w="w.numpy().tolist()", scale="s.is_enable()"),
        },
        ["rows"],
    ),
    **{
        f"a scaler: {program}": (
            {
                "torch": "w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))\no = torch.optim.SGD([w], lr=0.125)\n"
                "h = torch.nn.Parameter(torch.ones(1).half())\n"
                "s = torch.amp.GradScaler('cpu', init_scale=8.0, growth_interval=2)\ns.scale(w.sum()).backward()\n"
                + program
            },
            ["s.get_scale()", "s.state_dict()", "w.tolist()", "w.grad.tolist()", "found"],
        )
        for program in (
            "s.unscale_(o)",
            "s.unscale_(o); s.unscale_(o)",
            "s.step(o); s.step(o)",
            "s.step(o); s.unscale_(o)",
            "s.update()",
            "s.update(3.0)",
            "s.scale(3)",
            "found = [x.tolist() for x in s.scale([torch.ones(1), torch.ones(1)])]",
            "torch.amp.GradScaler('cpu', growth_factor=1.0)",
            "torch.amp.GradScaler('cpu', backoff_factor=1.0)",
            "h.grad = torch.ones(1).half(); s.unscale_(torch.optim.SGD([h], 0.1))",
            "s = torch.amp.GradScaler(enabled=False); found = s.scale(torch.ones(1)).tolist(); s.step(o); s.update()",
            "t = torch.amp.GradScaler('cpu'); t.load_state_dict(s.state_dict()); s = t",
            "s.load_state_dict({})",
            "s.unscale_(o); torch.nn.utils.clip_grad_norm_([w], 1.0); s.step(o); s.update()",
        )
    },
}


if __name__ == "__main__":
    write(Path(__file__).with_name("autocasting.json"), QUESTIONS)
