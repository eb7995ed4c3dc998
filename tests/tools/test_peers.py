"""Test the command that runs tests with real frameworks: its pinned packages, and packages that cannot be installed."""

from __future__ import annotations

import subprocess

import pytest

from tools import peers


@pytest.mark.parametrize("name", peers.PEERS)
def test_each_peer_has_one_version_and_torch_has_tests(name):
    peer = peers.PEERS[name]
    assert peer.package.count("==") == 1
    assert peer.tests or name != "torch"


def test_the_other_packages_of_a_peer_are_pinned_in_the_requirements_of_this_project():
    names = {line.partition("==")[0].lower() for line in peers.needed()}
    assert names == {*peers.NEEDED, "numpy"}


def test_a_peer_that_cannot_be_installed_is_skipped_with_a_message_and_no_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    monkeypatch.setattr(peers, "FOLDER", tmp_path / "environments")
    monkeypatch.setattr(peers, "needed", lambda: [])
    monkeypatch.setattr(peers.Peer, "tests", property(lambda self: ["a test"]))
    monkeypatch.setattr(peers.venv.EnvBuilder, "create", lambda self, folder: None)
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(peers.subprocess, "run", lambda *arguments, **named: failed)
    assert peers.main(["torch"]) == 0
    assert "torch: skipped, because torch==2.13.0+cpu cannot be installed here" in capsys.readouterr().out


def test_an_unknown_peer_is_named_in_the_error(capsys):
    with pytest.raises(SystemExit, match=r"there is no peer 'jax'; they are torch, .*paddle"):
        peers.main(["jax"])
