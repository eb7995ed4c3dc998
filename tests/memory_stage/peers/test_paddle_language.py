"""Test that a reader sees no English in the stages and reports of Paddle programs in Chinese."""

from __future__ import annotations

import re

import pytest

import memory_stage as stage
from tests.support.peers.chinese import english_in, english_in_stage, run_command

paddle = pytest.importorskip("paddle", reason="paddle is not installed here")

LEAF = "x = paddle.to_tensor([[1., 2., 3., 4.]], stop_gradient=False)\nb = x * 1\n"
FUNCTION = """\
class {name}(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, a):
        {first}
        return {result}
    @staticmethod
    def backward(ctx, g):
        return g * 2
"""
CUBE = FUNCTION.format(name="Cube", first="ctx.save_for_backward(a)", result="a * 3")
SAME = FUNCTION.format(name="Same", first="ctx.mark_not_inplace(a)", result="a")

#: For each kind of code that cannot be recorded: a program with such code, and words of the sentence that reports it.
NOT_RECORDED = {
    "a sparse tensor": ("s = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1., 2.], [2, 2])", "稀疏张量没有"),
    "another thread": (
        "import threading\nt = threading.Thread(target=lambda: paddle.ones([2]))\nt.start()\nt.join()\ny = b * 2",
        "还有别的线程在调用 Paddle",
    ),
    "an ignored gradient": (
        CUBE + "y = Cube.apply(b)\ny.register_hook(lambda g: g * 2)\ny.sum().backward()",
        "不使用它返回的梯度",
    ),
    "a result without a history": (SAME + "r = Same.apply(b)\nr.sum().backward()", "不给这个结果接上计算图"),
    "a static function": ("f = paddle.jit.to_static(lambda a: a * 2)\ny = b * 2", "转成静态图"),
}
SHOWN = {
    "local variables": "def f(a):\n    c = a * 2\n    d = c.exp()\n    d.sum().backward()\n    return d\ny = f(b)",
    "an optimizer": "w = paddle.create_parameter([2], 'float32')\nopt = paddle.optimizer.Adam(parameters=[w])\n"
    "(w * w).sum().backward()\nopt.step()\nopt.clear_grad()",
    "a custom function": CUBE + "y = Cube.apply(b)\ny.sum().backward()",
    "dropout": "y = paddle.nn.functional.dropout(b)\ny.sum().backward()",
    "a hook": "b.register_hook(lambda g: g * 2)\nb.sum().backward()",
    "a stale tensor": "y = paddle.exp(b)\ny.scale_(2.)\ny.sum().backward()",
    "a copy": "b.sin_()\nb.sum().backward()",
    "a write through a view": "v = b[0, :2]\nv.scale_(5.)\n(b * b).sum().backward()",
    "a refused write": "x.add_(x)",
    "a layer": "net = paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.ReLU(), paddle.nn.LayerNorm(3))\n"
    "net(x).sum().backward()",
    "many operations": "y = b\nfor i in range(60):\n    y = (y * 1.5).sin()\ny.sum().backward()",
}


@pytest.mark.parametrize("name", [*NOT_RECORDED, *SHOWN])
def test_a_stage_in_chinese_has_no_english_phrase(name):
    program, named = NOT_RECORDED.get(name, (SHOWN.get(name), ""))
    shown = stage.record(LEAF + program, {"paddle": paddle}, language="zh")
    assert english_in_stage(shown) == []
    variant = shown.data["variants"][0]
    assert named in " ".join([step["say"] for step in variant["steps"]] + [variant["truncated"] or ""])


def test_a_recording_that_ends_early_says_so_in_chinese():
    shown = stage.record(LEAF + SHOWN["many operations"], {"paddle": paddle}, language="zh", steps=5)
    assert shown.data["variants"][0]["truncated"].startswith("只显示前 5 步")
    assert english_in_stage(shown) == []


@pytest.mark.parametrize("name", ["a stale tensor", "a write through a view", "a refused write", "an optimizer"])
def test_a_report_in_chinese_has_no_english_phrase(name, tmp_path):
    for way in (["explain", "--all"], ["--explain", "--output", "stage.html"]):
        done = run_command(tmp_path, f"import paddle\n{LEAF}{SHOWN[name]}\n", *way, "--language", "zh")
        said = done.stderr.partition("memory-stage: ")[2] if way[0] == "explain" else done.stderr
        chinese = [line for line in said.splitlines() if re.search("[一-鿿]", line)]
        chinese = [line for line in chinese if not line.startswith("     错误")]  # Paddle's message stays English
        assert chinese and [words for line in chinese for words in english_in(line.partition("  # ")[2] or line)] == []
