"""Each package is built as a wheel from its folder. minitensor and memory_stage run alone, and book_kit needs both."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tools.build import ROOT
from tools.environment import PACKAGES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


#: The folder of numpy and other libraries. Without the module `site`, Python ignores the editable installs in it.
LIBRARIES = sysconfig.get_paths()["purelib"]


#: The largest size of the wheel of memory_stage, which people install for their programs, in bytes.
MOST_BYTES = 600_000


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return for each package a folder with the contents of its wheel."""
    folders = {}
    for package in PACKAGES:
        folder = tmp_path_factory.mktemp(package)
        ignored = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
        source = shutil.copytree(ROOT / package, folder / "source" / package, ignore=ignored)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        done = subprocess.run(
            [*command, "--wheel-dir", str(folder), str(source)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        (wheel,) = folder.glob("*.whl")
        folders[package] = folder / "unpacked"
        zipfile.ZipFile(wheel).extractall(folders[package])
    return folders


def run(program: str, paths: list[Path], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an isolated Python whose packages are in ``paths`` and in :data:`LIBRARIES`."""
    found = [*map(str, paths), LIBRARIES]
    text = f"import sys; sys.path[:0] = {found!r}; sys.argv[1:] = {list(arguments)!r}\n{program}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", text], cwd=folder, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_the_listed_packages_are_the_folders_with_modules(package: str):
    listed = tomllib.loads((ROOT / package / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")}
    assert listed == sorted(str(folder).replace("/", ".") for folder in folders)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_has_every_file_but_settings_and_sources(package: str, unpacked: dict[str, Path]):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", package]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        pytest.skip("no repository of git")
    files = {name for name in done.stdout.split("\0") if name and (ROOT / name).exists()}
    inside = unpacked[package]
    built = {path.relative_to(inside).as_posix() for path in (inside / package).rglob("*") if path.is_file()}
    # These schemas describe the input of the figures' scripts, and the report as JSON; only tests read them.
    schemas = r".*/(figures|explanation)/.*\.schema\.json"
    sources = r".*/web/(js|css)/.*\.(js|css|d\.ts)|.*/words\.json|.*\.po"
    left_out = re.compile(rf".*/(pyproject\.toml|README\.md)|{schemas}|{sources}")
    missing = {name for name in files - built if not left_out.fullmatch(name)}
    assert missing == set() and built - files == set()


def test_the_wheel_of_memory_stage_stays_small(unpacked: dict[str, Path]):
    (wheel,) = unpacked["memory_stage"].parent.glob("*.whl")
    assert wheel.stat().st_size < MOST_BYTES


def test_minitensor_runs_alone(unpacked: dict[str, Path], tmp_path: Path):
    program = """
import minitensor as mt
import minitensor.torch as torch
x = mt.ones([3])
x.stop_gradient = False
(x * 2).sum().backward()
assert x.grad.tolist() == [2, 2, 2] and torch.ones(2).add_(1).tolist() == [2, 2]
with mt.memory.record() as recording:
    mt.zeros([4]).add_(1.0)
assert [event.kind for event in recording.events][:2] == ["alloc", "write"]
for other in ("memory_stage", "book_kit"):
    assert other not in sys.modules
    try:
        __import__(other)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{other} is importable")
"""
    done = run(program, [unpacked["minitensor"]], tmp_path)
    assert done.returncode == 0, done.stderr


MAIN = """
import runpy
try:
    import minitensor
except ModuleNotFoundError:
    runpy.run_module("memory_stage", run_name="__main__", alter_sys=True)
"""


def test_the_command_of_memory_stage_runs_without_minitensor(unpacked: dict[str, Path], tmp_path: Path):
    done = run(MAIN, [unpacked["memory_stage"]], tmp_path, "--help")
    assert done.returncode == 0 and "--explain" in done.stdout, done.stderr
    scripts = next(unpacked["memory_stage"].glob("*.dist-info")) / "entry_points.txt"
    assert "memory-stage = memory_stage.__main__:main" in scripts.read_text("utf-8")


def test_memory_stage_alone_reports_that_a_program_of_numpy_made_no_tensor(unpacked: dict[str, Path], tmp_path: Path):
    (tmp_path / "program.py").write_text("import numpy as np\nx = np.ones(3)\nx += 1\nprint(x)\n", "utf-8")
    done = run(MAIN, [unpacked["memory_stage"]], tmp_path, "program.py")
    assert done.returncode == 0 and done.stdout == "[2. 2. 2.]\n", done.stderr
    assert "the program made no tensor of minitensor, PyTorch or Paddle" in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_memory_stage_alone_records_a_program_of_pytorch(unpacked: dict[str, Path], tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "import torch\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()\n", "utf-8"
    )
    done = run(MAIN, [unpacked["memory_stage"]], tmp_path, "--explain", "program.py")
    assert done.returncode == 1 and "modified by an inplace operation" in done.stderr
    assert "made no tensor" not in done.stderr and (tmp_path / "program.stage.html").exists(), done.stderr


def test_book_kit_runs_with_the_wheels_of_the_other_two_packages(unpacked: dict[str, Path], tmp_path: Path):
    program = "import book_kit, memory_stage\nassert memory_stage.record('x = mt.ones([2])').error is None"
    done = run(program, list(unpacked.values()), tmp_path)
    assert done.returncode == 0, done.stderr
