"""Test the set-up and the server of `make book`."""

from __future__ import annotations

import gzip
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tools import environment, serve
from tools.build import ROOT


def test_the_server_compresses_and_the_client_receives_the_same_bytes(tmp_path, serve_folder):
    page = tmp_path / "index.html"
    page.write_text("<p>" + "word " * 1000, encoding="utf-8")
    address = f"{serve_folder(tmp_path)}index.html"
    with urllib.request.urlopen(address) as answer:
        assert answer.read() == page.read_bytes()
    asking = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(asking) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        body = answer.read()
    assert len(body) < 200
    assert gzip.decompress(body) == page.read_bytes()


def test_the_server_listens_on_this_machine_only(tmp_path):
    with serve.open_server(tmp_path) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_the_server_uses_the_next_port_if_one_is_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind((serve.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with serve.open_server(tmp_path, port) as server:
            assert server.server_port != port


@pytest.fixture
def clone(tmp_path):
    """Return a checkout in which nothing is installed."""
    settings = [f"{package}/pyproject.toml" for package in environment.PACKAGES]
    for name in ("tools/environment.py", "pyproject.toml", "requirements.txt", *settings):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def set_up(clone: Path, as_if: str) -> subprocess.CompletedProcess[str]:
    """Run the set-up in a Python that the statement ``as_if`` makes unsuitable."""
    code = f"import runpy, sys; {as_if}; runpy.run_path('tools/environment.py', run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], cwd=clone, capture_output=True, text=True)


@pytest.mark.parametrize("module", ["ensurepip", "venv"])
def test_a_python_without_venv_gets_one_line_that_names_the_package(clone, module):
    done = set_up(clone, f"sys.modules['{module}'] = None")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"Python's module {module} is missing; on Debian and Ubuntu: apt-get install python{version}-venv"
    ]


def test_a_python_that_is_too_old_is_refused_in_one_line(clone):
    done = set_up(clone, "sys.version_info = (3, 9, 0)")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "Python 3.10 or newer is needed" in done.stderr


def test_the_pinned_packages_are_all_that_is_needed():
    """The set-up installs the listed packages and searches for no others."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_file_of_requirements_includes_the_files_that_it_refers_to():
    usual, more = (environment.pinned(ROOT / name) for name in ("requirements.txt", "requirements-gpu.txt"))
    assert more[: len(usual)] == usual
    assert any(line.startswith("cupy-cuda12x==") for line in more)
    assert all("==" in line for line in more)
