"""Record in torch-vocabulary.json PyTorch's output, random numbers and errors, for the tests of `minitensor.torch`.

python facts/torch_vocabulary.py      in an environment that has torch

* programs: the output of each; if an error ends it, also the type and first line of the error.
* texts: printed tensors, one for each of the arrays that `array_number` makes.
* draws: random numbers for each seed. `DRAWS` has the expressions, each with True if all bits have to be equal.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent

# ---------- programs ----------


def printed(program: str, torch: Any) -> str:
    """Return the output of a program, with the error that ends it."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(program, names)
        except Exception as error:
            print(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0].rstrip()}")
    return out.getvalue()


def each(expressions: str, before: str = "") -> str:
    """Return a program that prints each expression on a line with its value, or with the error that it raises."""
    return f"{before}\nfor text in {expressions.strip().splitlines()!r}:\n" + (
        "    try:\n        print(text, '->', repr(eval(text)))\n"
        "    except Exception as error:\n"
        "        print(text, '->', type(error).__name__, (str(error).splitlines() or [''])[0].rstrip())\n"
    )


def programs() -> dict[str, str]:
    """Map the name of each program in `torch_programs.txt` to its text, which follows a line `# name`."""
    found: dict[str, str] = {}
    for section in (HERE / "torch_programs.txt").read_text(encoding="utf-8").split("\n# ")[1:]:
        name, _, program = section.partition("\n")
        found[name] = each(program) if name.startswith("each: ") else program.strip()
    return found


# ---------- texts ----------

TEXTS = 120


def array_number(i: int) -> tuple[np.ndarray, bool]:
    """Return one of the arrays whose text is recorded, and True if it requires a gradient."""
    rng = np.random.Generator(np.random.PCG64(i))
    ndim = int(rng.integers(0, 5))
    shape = [int(rng.integers(0 if rng.random() < 0.1 else 1, 5)) for _ in range(ndim)]
    if i % 20 == 0:
        shape = [int(rng.integers(990, 1100))]
    if i % 20 == 1:
        shape = [int(rng.integers(20, 60)), int(rng.integers(20, 60))]
    numbers = rng.normal(size=shape)
    kind = i % 9
    if kind == 1:
        numbers = numbers * 10.0 ** int(rng.integers(-8, 12))
    elif kind == 2:
        numbers = np.round(numbers * 10.0 ** int(rng.integers(0, 6)))
    elif kind == 3:
        numbers = numbers * 10.0 ** rng.integers(-6, 6, size=shape)
    elif kind in (4, 5, 7):
        odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
        numbers = np.where(rng.random(shape) < 0.4, odd, np.round(numbers * 50) if kind == 7 else numbers)
    elif kind == 6:
        numbers = np.round(numbers * 3) / 2
    elif kind == 8:
        numbers = np.zeros(shape)
    dtype = ("float32", "float32", "float64", "int64", "int32", "bool")[int(rng.integers(0, 6))]
    if dtype == "bool":
        return np.asarray(numbers > 0), False
    if dtype.startswith("int"):
        return np.asarray(np.nan_to_num(numbers * 100, posinf=7, neginf=-9).clip(-2e9, 2e9), dtype), False
    with np.errstate(all="ignore"):
        return np.asarray(numbers, dtype), bool(rng.random() < 0.3)


def text_number(i: int, torch: Any) -> str:
    """Return the text of one of the arrays."""
    array, requires_gradient = array_number(i)
    x = torch.from_numpy(array.copy())
    return repr(x.requires_grad_() if requires_gradient else x)


# ---------- draws ----------

#: Successive draws as expressions of PyTorch, and True if every bit must be equal.
DRAWS = [
    ("torch.rand(5)", True),
    ("torch.rand(3, dtype=torch.float64)", True),
    ("torch.randn(3)", True),
    ("torch.randn(2)", True),
    ("torch.randn(5, dtype=torch.float64)", True),
    ("torch.randn(16)", False),
    ("torch.randn(1)", True),
    ("torch.randn(37)", False),
    ("torch.randn(3, 7, dtype=torch.float64)", False),
    ("torch.empty(4).uniform_(-1.5, 0.3)", True),
    ("torch.empty(4).normal_(2.0, 0.5)", True),
    ("torch.empty(20).normal_(2.0, 0.5)", False),
    ("torch.randint(0, 10, (6,))", True),
    ("torch.randint(-(2**40), 2**50, (3,))", True),
    ("torch.randperm(9)", True),
    ("torch.bernoulli(torch.tensor([0.1, 0.5, 0.9]))", True),
    ("torch.empty(6).bernoulli_(0.3)", True),
    ("torch.empty(3, dtype=torch.float64).exponential_()", False),
    ("torch.empty(6, dtype=torch.int64).random_(3, 9)", True),
    ("torch.empty(4).random_()", True),
    ("torch.nn.functional.dropout(torch.ones(8), 0.4)", True),
    ("torch.nn.Linear(3, 2).weight", True),
    ("torch.nn.Linear(3, 2).bias", True),
    ("torch.nn.Linear(40, 30).weight", True),
    ("torch.nn.init.xavier_uniform_(torch.empty(3, 5))", True),
    ("torch.nn.init.kaiming_normal_(torch.empty(3, 4))", True),
    ("torch.empty(5, 2).t().normal_()", True),
    ("torch.empty(3, 4).t().uniform_()", True),
    ("torch.empty(2, 3, 4).permute(1, 2, 0).normal_()", True),
    ("torch.empty(40)[::2].normal_()", True),
    ("torch.rand(2)", True),
    ("torch.nn.functional.dropout2d(torch.ones(2, 3, 2, 2), 0.4)", True),
    ("torch.nn.Dropout2d(0.5, inplace=True)(torch.ones(2, 3, 1, 2))", True),
]
SEEDS = (0, 1, 2**32 + 7)


def draws(seed: int, torch: Any) -> list[Any]:
    """Return all draws after `manual_seed(seed)`; long ones have only their first and last four numbers."""
    torch.manual_seed(seed)
    found = []
    for text, _ in DRAWS:
        numbers = eval(text, {"torch": torch}).detach().reshape(-1).tolist()
        found.append(numbers if len(numbers) <= 40 else [*numbers[:4], *numbers[-4:]])
    return found


# ---------- the record ----------


def answers(torch: Any) -> dict[str, Any]:
    """Return all answers of one library."""
    return {
        "programs": {name: {"program": p, "printed": printed(p, torch)} for name, p in programs().items()},
        "texts": [text_number(i, torch) for i in range(TEXTS)],
        "draws": {str(seed): draws(seed, torch) for seed in SEEDS},
    }


def record(library: str) -> dict[str, Any]:
    """Return all answers of a library, with its version."""
    there = importlib.import_module(library)
    return {
        "library": library,
        "version": there.__version__.partition("+")[0],
        "device": "CPU",
        "python": sys.version.split()[0],
        "command": "python facts/torch_vocabulary.py",
        **answers(there),
    }


if __name__ == "__main__":
    (HERE / "torch-vocabulary.json").write_text(json.dumps(record("torch"), indent=1) + "\n", encoding="utf-8")
