"""Record in front-page.json the results of the program on the first page, a write through a slice.

python facts/front_page.py torch      in an environment that has torch
python facts/front_page.py paddle
"""

from __future__ import annotations

from pathlib import Path

from recording import Questions, write

PROGRAM = """x = {start}
y = x * 1.0
v = y[0:2]
v.{scale}(10.0)
y.sum().backward()"""
QUESTIONS: Questions = {
    "a write through a slice": (
        {
            "torch": PROGRAM.format(start="torch.tensor([1.0, 2.0, 3.0], requires_grad=True)", scale="mul_"),
            "paddle": PROGRAM.format(start="paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)", scale="scale_"),
        },
        ["y.tolist()", "x.grad.tolist()"],
    )
}


if __name__ == "__main__":
    write(Path(__file__).with_name("front-page.json"), QUESTIONS)
