"""Records torch-programs.stage.json: real programs of PyTorch on the stage, for a page that shows them without PyTorch.

python facts/recorded_torch_programs.py      in an environment that has torch

Each entry has the program, its stage (what ``Stage.data`` is), and the report of ``stage.explain``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FILE = Path(__file__).with_name("torch-programs.stage.json")
sys.path.insert(0, str(Path(__file__).parents[1]))

#: By their names in tests/peers/classics.py.
SHOWN = (
    "relu in place after a residual",
    "two backwards and a step (GAN)",
    "rows of a buffer",
    "shared numpy memory",
)

if __name__ == "__main__":
    import torch

    from minitensor.stage.explained import Explaining
    from minitensor.stage.stages import Stage, run_and_let_go
    from tests.peers.classics import CLASSICS

    torch.set_num_threads(1)
    programs = []
    for title in SHOWN:
        torch.manual_seed(0)
        explaining = Explaining()
        names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
        done = run_and_let_go(CLASSICS[title].program, names, told=explaining.take)
        report = explaining.report(done.variant)
        programs.append(
            {
                "title": title,
                "program": CLASSICS[title].program,
                "error": None if done.error is None else f"{type(done.error).__name__}: {done.error}",
                "stage": Stage([done], f"PyTorch: {title}").data,
                "report": str(report),
            }
        )
    record = {
        "library": "torch",
        "version": torch.__version__.partition("+")[0],
        "device": "CPU",
        "command": "python facts/recorded_torch_programs.py",
        "programs": programs,
    }
    FILE.write_text(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
