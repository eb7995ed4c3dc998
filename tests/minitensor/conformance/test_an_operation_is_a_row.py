"""Test that one row of the table adds an operation.

The tests copy files of the repository and apply the patch in docs/contributing/operation.md to the copy.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.mutation import ROOT

#: This program runs in the patched copy. The expected numbers follow from the operation's definition. For example, the
#: values at 0 and 1.5 are (0 + 2) / 2 and (1.5 + 2.5) / 2. The slope is half of 1 + x / sqrt(x * x + 4).
PROGRAM = """
import numpy as np

import minitensor as mt, minitensor.torch as torch
from book_kit.tables import reference_tables as appendix

def near(x, values):
    return np.allclose(x.numpy(), values, rtol=1e-6, atol=0)

x = mt.to_tensor([-1.5, 0.0, 1.5], stop_gradient=False)
for y in (x.squareplus(), mt.squareplus(x), mt.nn.functional.squareplus(x)):
    assert near(y, [0.5, 1.0, 2.0]), y
y.sum().backward()
assert near(x.grad, [0.2, 0.5, 0.8]), x.grad
h = x * 1.0
assert h.squareplus_() is h and near(h, [0.5, 1.0, 2.0]) and h.inplace_version == 1

t = torch.tensor([1.5], requires_grad=True)
for z in (t.squareplus(), torch.squareplus(t), torch.nn.functional.squareplus(t), (t * 1).squareplus_()):
    assert near(z.detach(), [2.0]) and type(z.grad_fn).__name__ == "SquareplusBackward0", z
assert torch.nn.functional.squareplus(t.detach(), inplace=True) is not None and near(t.detach(), [2.0])

assert "sqrt(x * x + 4)" in mt.squareplus.__doc__ and "squareplus" in dir(mt) and "squareplus_" in dir(torch.Tensor)
assert appendix.gradient("squareplus_") == "`x: g / (1 + square(1 / out))`"
assert appendix.keeps("squareplus_") == ("its output",)
print("in", mt.__file__)
"""

PARTS = (
    "minitensor",
    "tests/minitensor/engine",
    "tests/support",
    "tests/conftest.py",
    "facts/inplace-apis.json",
    "pyproject.toml",
)
TEST_FILES = ("operations", "in_place", "gradients_of_every_op")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("with_squareplus").resolve()
    for part in PARTS:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, folder / part)
    subprocess.run(["git", "apply"], cwd=folder, input=patch(), text=True, check=True)
    return folder


def patch() -> str:
    """Return the patch that docs/contributing/operation.md shows."""
    (shown,) = re.findall(r"^```diff\n(.*?)^```$", (ROOT / "docs/contributing/operation.md").read_text(), re.M | re.S)
    return shown


def run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_patch_changes_at_most_four_files():
    assert 0 < len(re.findall(r"^\+\+\+ b/", patch(), re.M)) <= 4


def test_the_new_operation_is_a_function_and_a_method_in_both_vocabularies(copy: Path):
    assert str(copy) in run(copy, "-c", PROGRAM)


def test_the_tests_of_every_operation_include_the_new_one(copy: Path):
    files = [f"tests/minitensor/engine/test_{name}.py" for name in TEST_FILES]
    reported = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "squareplus and not sim", *files)
    passed = re.search(r"(\d+) passed", reported)
    assert passed and int(passed[1]) > 30, reported
