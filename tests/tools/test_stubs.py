"""The stubs of modules with generated names are up to date, and mypy finds the names in them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from mypy import api

import minitensor
from tools import stubs

PROGRAM = """
import minitensor as mt
import minitensor.nn.functional as F
import minitensor.torch as torch

x = mt.ones([3])
reveal_type(x.add_(1.0))
reveal_type(F.relu_(x))
reveal_type(mt.nn.ReLU()(x))
reveal_type(torch.ones(3).mul_(2))
mt.optimizer.SGD(0.1, parameters=[x])
mt.tanhh(x)
mt.full([2], 1.0, "float32", wrong=1)
"""


def test_every_stub_is_up_to_date():
    command = [
        sys.executable,
        "tools/stubs.py",
        "--check",
    ]  # a new process, because another test may have imported further modules
    done = subprocess.run(command, cwd=stubs.ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "owner"), [("add_", "Tensor"), ("exp", "Tensor"), ("softmax_", "")])
def test_a_generated_name_is_in_the_stub(name: str, owner: str):
    text = stubs.stub("minitensor" if owner else "minitensor.nn.functional")
    within = text.partition("class Tensor(_Tensor):")[2] if owner else text
    assert re.search(rf"^{' ' * 4 * bool(owner)}def {name}\(x: Any.*\) -> Tensor: \.\.\.$", within, re.M)


def test_an_additional_name_makes_a_stub_stale(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(minitensor, "doubled", lambda x: x, raising=False)
    assert "\ndef doubled(x: Any) -> Tensor: ...\n" in stubs.stub("minitensor")
    monkeypatch.setattr(stubs, "MODULES", ("minitensor",))
    assert stubs.stale() == ["minitensor"]


def test_mypy_accepts_existing_names_and_refuses_others(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    found, _, _ = api.run(
        [str(tmp_path / "program.py"), "--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}"]
    )
    lines = PROGRAM.splitlines()
    said = re.findall(r"program\.py:(\d+): (\w+): (.*)", found)
    assert [re.search(r'"(.*?)\??"', text)[1] for _, kind, text in said if kind == "note" and "Revealed" in text] == [
        "minitensor.Tensor", "minitensor.Tensor", "Any", "minitensor.torch.Tensor"
    ]  # fmt: skip
    refused = {lines[int(line) - 1] for line, kind, _ in said if kind == "error"}
    assert refused == {"mt.tanhh(x)", 'mt.full([2], 1.0, "float32", wrong=1)'}
