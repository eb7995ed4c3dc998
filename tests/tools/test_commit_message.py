"""Test the check of commit messages: which messages it accepts, and which fault it names for the others."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from tools import commit_message
from tools.build import ROOT


@pytest.mark.parametrize(
    "message",
    [
        "stage: free saved tensors when a write is interrupted",
        "stage, js: draw the bars once\n\nThey were drawn twice after each resize.\n",
        "minitensor/torch: need no copy\n# a line of git\n",
        "book: bring the scenes back at the end of each chapter\n\n" + commit_message.SCISSORS + "\ndiff of anything",
        "tools: " + "x" * 65,
        "Merge branch 'main' of somewhere.",
        'Revert "The changes, told"',
        "fixup! stage: free saved tensors",
    ],
)
def test_a_good_message_passes(message: str):
    assert commit_message.faults(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "empty"),
        ("The changes, told", "no scope"),
        ("stage:free saved tensors", "no scope"),
        ("Stage: free saved tensors", "lower case"),
        ("stage: free saved tensors.", "full stop"),
        ("stage: freed saved tensors", "no imperative"),
        ("stage: freeing saved tensors", "no imperative"),
        ("stage: frees saved tensors", "no imperative"),
        ("stage: Made bars narrower", "no imperative"),
        ("tools: " + "x" * 66, "73 characters"),
        ("stage: free saved tensors\nat once", "second line"),
    ],
)
def test_each_fault_is_named(message: str, fault: str):
    (found,) = commit_message.faults(message)
    assert fault in found


@pytest.mark.parametrize(("message", "status"), [("tools: check the language", 0), ("Checked the language.", 1)])
def test_the_exit_status_says_whether_git_may_commit(tmp_path, message: str, status: int):
    (tmp_path / "message").write_text(message)
    command = [sys.executable, "tools/commit_message.py", str(tmp_path / "message")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == status and bool(done.stderr) == bool(status)


def test_pre_commit_runs_the_check_on_the_message():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    (hook,) = [hook for hook in hooks if "commit-msg" in hook.get("stages", ())]
    assert hook["entry"].endswith("tools/commit_message.py") and hook.get("pass_filenames", True)
