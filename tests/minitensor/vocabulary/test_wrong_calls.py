"""Call every public name with wrong arguments: a check of the package must raise the error before anything changes.

The test makes 2,500 calls in each vocabulary for each of two fixed seeds, so all runs make the same calls until a
public name or a signature changes. These seeds may miss rare faults. ``WRONG_CALLS=50000`` makes 50,000 calls with a
new seed instead. A failure prints the seed and the number of the call.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import minitensor
from minitensor import torch
from tests.support.vocabulary.wrong_arguments.callables import LEFT_OUT, VOCABULARIES, entries, public_callables
from tests.support.vocabulary.wrong_arguments.values import Values

ROOT = Path(__file__).parents[3]
LONG = os.environ.get("WRONG_CALLS")
CALLS = int(LONG or "2500")
#: The seeds of a run; None means a new random seed.
SEEDS = [None] if LONG else [102891, 656925]
WALK = "tests.support.vocabulary.wrong_arguments"


@pytest.mark.parametrize("package", VOCABULARIES)
def test_the_walk_reaches_every_public_callable(package: str):
    vocabulary = {"minitensor": minitensor, "minitensor.torch": torch}[package]
    reached = {entry.group for entry in entries(package, Values(vocabulary, Random(0)))}
    public = public_callables(package)
    missing = {name: group for name, group in public.items() if group not in reached}
    assert [name for name, group in missing.items() if name not in LEFT_OUT and group not in LEFT_OUT] == []
    known = {*public, *public.values()}
    assert [name for name in LEFT_OUT if name in known and name not in {*missing, *missing.values()}] == [], (
        "the walk reaches these names now, so remove them from LEFT_OUT"
    )
    assert len(public) > 1500


def run(code: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a separate process, because a call may close a file, change a mode or allocate very much memory."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *code], cwd=folder, env=environment, capture_output=True, text=True, timeout=600 + CALLS / 10
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("package", VOCABULARIES)
def test_every_call_returns_or_is_refused_by_a_check_of_the_package(package: str, seed: int | None, tmp_path: Path):
    seeded = [] if seed is None else ["--seed", str(seed)]
    done = run(["-m", WALK, "--vocabulary", package, "--calls", str(CALLS), *seeded], tmp_path)
    assert done.returncode == 0, (
        f"repeat with --seed and --first, as printed:\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
    )
    found = re.search(r"(\d+) calls with seed \d+, (\d+) refused, 0 faults", done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) == CALLS and int(found[2]) > CALLS / 3  # many calls have to be refused


#: Values that many checks once missed: numbers that Python refuses to print or to convert to float, objects whose
#: special methods return the wrong type, invalid slices, and texts that cannot be encoded.
SWEPT = """
    -(10**5000)|2**5000|__iter__ returns int|__len__ returns str|__repr__ returns int|__fspath__ returns int|
    __array__ returns str|memoryview, released|nested 40 deep|slice of str|slice with step 0|Ellipsis twice|
    Choice.ONE|a surrogate|list of complex|a coroutine
"""


@pytest.mark.parametrize("package", VOCABULARIES)
def test_every_function_checks_the_values_that_many_functions_once_missed(package: str, tmp_path: Path):
    labels = "".join(line.strip() for line in SWEPT.splitlines())
    code = ["-m", WALK, "--vocabulary", package, "--calls", str(CALLS), "--sweep", "--values", labels]
    done = run([*code, "--seed", "7"] if not LONG else code, tmp_path)
    assert done.returncode == 0, f"{done.stdout[-6000:]}{done.stderr[-3000:]}"
    assert re.search(rf"{CALLS} calls with seed \d+, \d+ refused, 0 faults", done.stdout), done.stdout


PLANTED = """
import sys
from tests.support.vocabulary.wrong_arguments.judge import fault_of
import minitensor as mt
from minitensor.engine.operations.arguments import need_tensor

def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")

def inside():
    namespace = {}
    code = compile("def planted(x):\\n    return x._array", "/minitensor/planted.py", "exec")
    exec(code, namespace)
    return namespace["planted"](3)

def reworded():
    namespace = {}
    text = "def planted(x):\\n    raise TypeError(\\"planted: 'int' object is not iterable\\")"
    exec(compile(text, "/minitensor/planted.py", "exec"), namespace)
    return namespace["planted"](3)

assert "escaped" in fault_of(error_of(inside), {"planted"})
assert "helps no user" in fault_of(error_of(reworded), {"planted"})
assert fault_of(error_of(lambda: need_tensor("sin", 3)), {"sin"}) == ""
assert fault_of(error_of(lambda: mt.nn.Linear()), {"Linear"}) == ""
assert "unnamed" in fault_of(error_of(lambda: (lambda x: x)()), {"Linear"})
"""


def test_the_judge_notices_errors_that_no_check_of_the_package_raised(tmp_path: Path):
    done = run(["-c", PLANTED], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_judge_notices_a_call_that_changes_its_arguments_or_the_random_state(tmp_path: Path):
    code = f"""
from collections import namedtuple
import minitensor as mt
from {WALK}.state import State
from {WALK}.values import Values
from random import Random
state = State(Values(mt, Random(0)))
x = mt.ones([2])
layer = mt.nn.Linear(2, 1)
before = state.seen([x, layer])
assert state.changed(before) == ""
x.add_(1.0)
assert "argument 0" in state.changed(before)
before = state.seen([x, layer])
layer.bias.set_value(mt.zeros([1]) + 1.0)
assert "argument 1" in state.changed(before)
before = state.seen([])
mt.rand([1])
assert state.changed(before) == "random state"
"""
    done = run(["-c", code], tmp_path)
    assert done.returncode == 0, done.stderr


def test_batch_norm_under_the_names_of_pytorch_refuses_integers():
    """Without this check, the result would be nan of dtype float64."""
    with pytest.raises(NotImplementedError, match="\"batch_norm\" not implemented for 'Long'"):
        torch.nn.BatchNorm2d(2)(torch.ones(1, 2, 2, 2).long())
