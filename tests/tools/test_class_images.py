"""Test the container images for a class: for a student's server on a JupyterHub, and for Binder.

The image for a JupyterHub is built in CI if a Docker daemon answers. If the commands that
`tools/peers.py class` installs are on the path, hadolint checks the image's Dockerfile, and repo2docker writes the
Dockerfile for Binder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from tools.build import ROOT

BINDER = ROOT / "binder"
DOCKERFILE = BINDER / "hub" / "Dockerfile"
HOME = "/opt/in-place"
STEPS = [
    (line.split(maxsplit=1)[0], line.split(maxsplit=1)[1])
    for line in re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8")).splitlines()
    if line and not line.startswith("#")
]


def docker_answers():
    """Return True if Docker is installed and its daemon, which builds the images, answers."""
    return bool(shutil.which("docker")) and subprocess.run(["docker", "info"], capture_output=True).returncode == 0


def arguments(instruction):
    return [text for name, text in STEPS if name == instruction]


def test_the_dockerfile_begins_with_a_tagged_image_and_has_only_known_instructions():
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
    assert "--no-deps" in run  # the file after -r pins their requirements


def test_folders_that_the_image_names_exist_after_its_copy():
    (copied,) = arguments("COPY")
    assert copied.split()[-2:] == [".", HOME]
    assert arguments("WORKDIR") == [HOME, f"{HOME}/chapters"]
    assert (ROOT / "chapters").is_dir()
    (setting,) = arguments("ENV")
    assert (ROOT / setting.removeprefix(f"JUPYTER_CONFIG_PATH={HOME}/")).is_dir()


def test_built_and_installed_files_stay_out_of_the_image():
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv*", "_build", "node_modules"} <= set(left_out)
    assert not {"chapters", "facts", "minitensor", "memory_stage", "book_kit", "tools"} & set(left_out)


def run(*command, text=None):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, input=text)


@pytest.mark.skipif(not shutil.which("hadolint"), reason="hadolint is not installed; see tools/peers.py")
def test_hadolint_finds_no_fault_in_the_dockerfile_and_finds_a_planted_one():
    checked = run("hadolint", str(DOCKERFILE))
    assert (checked.returncode, checked.stdout) == (0, "")
    planted = DOCKERFILE.read_text(encoding="utf-8").replace(":python-3.11", "").replace("WORKDIR /opt", "RUN cd /opt")
    assert {"DL3003", "DL3006"} <= set(re.findall(r"DL\d+", run("hadolint", "-", text=planted).stdout))


def test_the_folder_for_binder_installs_the_requirements_and_the_packages_of_this_repository():
    assert re.fullmatch(r"python-3\.(10|11|12|13)\s*", (BINDER / "runtime.txt").read_text())
    (line,) = (BINDER / "requirements.txt").read_text().splitlines()
    assert (BINDER / line.removeprefix("-r ")).resolve() == ROOT / "requirements.txt"
    after = (BINDER / "postBuild").read_text()
    assert sorted(re.findall(r"-e (\S+)", after)) == ["book_kit", "memory_stage", "minitensor"]
    assert "--no-deps" in after
    start = (BINDER / "start").read_text()
    (setting,) = re.findall(r'JUPYTER_CONFIG_PATH="\$PWD/(\S+)"', start)
    assert (ROOT / setting).is_dir()
    assert start.rstrip().endswith('exec "$@"')  # the arguments are the command that starts Binder's server


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_a_script_of_binder_is_executable_and_can_be_parsed(name):
    assert os.access(BINDER / name, os.X_OK)
    assert (BINDER / name).read_text().startswith("#!/usr/bin/env bash\n")
    assert run("bash", "-n", str(BINDER / name)).returncode == 0


@pytest.mark.skipif(not shutil.which("jupyter-repo2docker"), reason="repo2docker is not installed; see tools/peers.py")
def test_repo2docker_writes_an_image_that_runs_the_files_for_binder():
    python = (BINDER / "runtime.txt").read_text().strip().removeprefix("python-")
    written = run("jupyter-repo2docker", "--no-build", "--debug", str(ROOT))
    assert written.returncode == 0, written.stderr
    steps = written.stdout + written.stderr
    order = ["COPY --chown=0:0 src/ ", '-r "binder/requirements.txt"', "RUN ./binder/postBuild", "binder/start"]
    places = [steps.rindex(each) for each in order]
    assert places == sorted(places)  # src/ is copied first, because the requirements name a file in it
    assert f"python={python}" in steps


@pytest.mark.skipif(not (os.environ.get("CI") and docker_answers()), reason="built in CI, if a Docker daemon answers")
def test_the_image_builds_and_imports_the_packages():
    build = ["docker", "build", "-q", "-f", str(DOCKERFILE), str(ROOT)]
    image = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
    program = "import minitensor, memory_stage, book_kit; print(minitensor.ones([2]).tolist())"
    command = ["docker", "run", "--rm", image, "python", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[1.0, 1.0]\n"
