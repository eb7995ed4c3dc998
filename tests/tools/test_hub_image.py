"""Test the image of a student's server on a JupyterHub, and build it in CI if a Docker daemon answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from tools.build import ROOT

DOCKERFILE = ROOT / "binder" / "hub" / "Dockerfile"
HOME = "/opt/in-place"
STEPS = [
    (line.split(maxsplit=1)[0], line.split(maxsplit=1)[1])
    for line in re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8")).splitlines()
    if line and not line.startswith("#")
]


def docker_answers():
    """Return True if Docker is installed and its daemon answers: the command alone cannot build an image."""
    return bool(shutil.which("docker")) and subprocess.run(["docker", "info"], capture_output=True).returncode == 0


def arguments(instruction):
    return [text for name, text in STEPS if name == instruction]


def test_the_image_begins_with_a_tagged_one_and_uses_instructions_of_docker():
    assert STEPS[0][0] == "FROM"
    assert re.fullmatch(r"[\w./-]+:python-3\.(10|11|12|13)", STEPS[0][1])  # a Python that the book supports
    assert {name for name, _ in STEPS} <= {"FROM", "COPY", "WORKDIR", "RUN", "ENV"}


def test_the_image_installs_the_requirements_and_the_three_packages_of_this_repository():
    (run,) = arguments("RUN")
    files = re.findall(r"-r (\S+)", run)
    packages = re.findall(r"-e (\S+)", run)
    assert [(ROOT / file).is_file() for file in files] == [True]
    assert sorted(packages) == ["book_kit", "memory_stage", "minitensor"]
    assert all((ROOT / package / "pyproject.toml").is_file() for package in packages)
    assert "--no-deps" in run  # their requirements are pinned in the file


def test_folders_that_the_image_names_exist_after_its_copy():
    (copied,) = arguments("COPY")
    assert copied.split()[-2:] == [".", HOME]
    assert arguments("WORKDIR") == [HOME, f"{HOME}/chapters"]
    assert (ROOT / "chapters").is_dir()
    (setting,) = arguments("ENV")
    assert (ROOT / setting.removeprefix(f"JUPYTER_CONFIG_PATH={HOME}/")).is_dir()


def test_what_was_built_or_installed_here_stays_out_of_the_image():
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv*", "_build", "node_modules"} <= set(left_out)
    assert not {"chapters", "facts", "minitensor", "memory_stage", "book_kit", "tools"} & set(left_out)


@pytest.mark.skipif(not (os.environ.get("CI") and docker_answers()), reason="built in CI, if a Docker daemon answers")
def test_the_image_builds_and_imports_the_packages():
    build = ["docker", "build", "-q", "-f", str(DOCKERFILE), str(ROOT)]
    image = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
    program = "import minitensor, memory_stage, book_kit; print(minitensor.ones([2]).tolist())"
    command = ["docker", "run", "--rm", image, "python", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[1.0, 1.0]\n"
