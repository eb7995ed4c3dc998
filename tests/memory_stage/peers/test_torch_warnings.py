"""Test that PyTorch warns at the same lines of a program, and equally often, with and without a recorder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """\
import traceback
import torch
from torch import nn
x = torch.ones(3, requires_grad=True)
y = x * 2
def loss(t):
    return nn.functional.mse_loss(t, torch.ones(3, 1))
for _ in range(2):
    loss(x)
loss(x * 1)
(y * y).sum().backward(create_graph=True)
h = y.grad
for _ in range(2):
    h = y.grad
a = torch.ones(2, 3)
b = torch.tensor(a)
c = nn.functional.softmax(a)
c = nn.Softmax()(a)
k = a.new_tensor(a)
m = torch.ones(2, 2, 2).T
out = torch.empty(7)
torch.add(a, 1, out=out)
torch.add(a, 1, out=torch.empty(5))
l = nn.functional.l1_loss(a, torch.ones(2, 1))
s = torch.ones(2).storage()
lstm = nn.LSTM(2, 2, dropout=0.5)
g = torch.meshgrid(torch.ones(2), torch.ones(2))
opt = torch.optim.SGD([x], lr=0.1)
torch.optim.lr_scheduler.StepLR(opt, 1).step()
try:
    nn.functional.relu(x @ torch.ones(5))
except RuntimeError:
    print(traceback.format_exc())
"""


def warned(folder: Path, *way: str) -> list[str]:
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(
        [sys.executable, *way, "program.py"], capture_output=True, text=True, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "Warning: " in line]


def test_each_warning_names_the_same_line_as_without_a_recorder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    alone, watched = warned(tmp_path), warned(tmp_path, "-m", "memory_stage")
    assert len(alone) > 10
    assert [line.replace(f"{tmp_path}/", "") for line in watched] == [
        line.replace(f"{tmp_path}/", "") for line in alone
    ]
