"""Record in own-programs.json the stages of programs of PyTorch and Paddle, for the page about the reader's programs.

python facts/own_programs.py torch      in an environment that has torch, IPython and minitensor
python facts/own_programs.py paddle
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from recording import Questions, write

from book_kit.tables.own_program import stage_of, titled
from memory_stage.messages.catalogues import LOCALES, codes

STATE = """
import torch
weight = torch.tensor([0.5], requires_grad=True)
state = torch.ones(1)
for step in range(2):
    state += weight * state
state.backward()
"""
TURNS = """
import torch
a = torch.tensor([2.0], requires_grad=True)
b = torch.tensor([3.0], requires_grad=True)
optimizer = torch.optim.SGD([a, b], lr=0.1)
loss = a * b
loss.backward(retain_graph=True)
optimizer.step()
loss.backward()
"""
OUTSIDE = """
import torch

weights = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
squares = weights * weights
shared = weights.detach().numpy()
shared *= 10
squares.sum().backward()
print(weights.grad)
"""
PADDLE_TURNS = """
import paddle
w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
optimizer = paddle.optimizer.SGD(learning_rate=1.0, parameters=[w])
loss = (w * w).sum()
loss.backward(retain_graph=True)
optimizer.step()
optimizer.clear_grad()
loss.backward()
"""


QUESTIONS: Questions = {
    "a recurrent state": ({"torch": STATE.strip()}, []),
    "a step between two backwards": ({"torch": TURNS.strip(), "paddle": PADDLE_TURNS.strip()}, []),
    "memory that NumPy shares": ({"torch": OUTSIDE.strip()}, []),
}


def explain(program: str, code: str) -> str:
    """Return the report of ``python -m memory_stage --explain`` on a program, in the language ``code``."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.py").write_text(program + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "memory_stage", "--explain", "--language", code, "program.py"]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    found = re.search(r"^\d+ .*(?=^program\.stage\.html)", ran.stderr, re.DOTALL | re.MULTILINE)
    if found is None:
        raise RuntimeError(f"--explain has printed no report in {code!r}:\n{ran.stderr}")
    return found[0].strip()


def ask(library: str, program: str, expressions: list[str]) -> dict[str, Any]:
    """Return the data of a program's stage, its translations, and the report of `--explain` in each language."""
    (name,) = (name for name, (programs, _) in QUESTIONS.items() if programs.get(library) == program)
    stage = stage_of(program, titled(name, library))
    translated = {code: stage.translated(code).data for code in LOCALES}
    explanations = {code: explain(program, code) for code in codes()}
    return {"program": program, "stage": stage.data, "translated": translated, "explained": explanations}


if __name__ == "__main__":
    write(Path(__file__).with_name("own-programs.json"), QUESTIONS, ask)
