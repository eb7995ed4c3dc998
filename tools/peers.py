"""Run the tests with real PyTorch and real Paddle, of two versions, each in an environment of its own.

    python tools/peers.py [torch] [paddle] [paddle26]      all by default; again at any time: what is there is kept

Without the network, or where there is no package for this Python, a peer is left out with one line that says so: then
nothing has failed. The environments are in ``.venv-peers``.
"""

from __future__ import annotations

import glob
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import environment  # noqa: E402

FOLDER = ROOT / ".venv-peers"

#: Of the packages that the tests of this project need, those that the tests with peers do.
NEEDED = ("anywidget", "ipython", "ipywidgets", "mini-racer", "pytest")


@dataclass(frozen=True)
class Peer:
    """A framework: what is installed, from which places beside the usual ones, and which tests are its.

    Attributes:
        instead: packages in place of those that this project is tested with, or beside them.
        of: whose tests it runs; by default those of its own name.
    """

    name: str
    package: str
    places: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    of: str = ""

    @property
    def tests(self) -> list[str]:
        """Its files of tests."""
        return sorted(glob.glob(str(ROOT / "tests" / "peers" / f"test_{self.of or self.name}_*.py")))


PEERS = {
    # The packages without CUDA, of a tenth of the size, have an index of their own.
    "torch": Peer("torch", "torch==2.13.0+cpu", ("https://download.pytorch.org/whl/cpu",)),
    "paddle": Peer("paddle", "paddlepaddle==3.3.1"),
    # Has no package for Python 3.13, and was made for numpy 1.
    "paddle26": Peer("paddle26", "paddlepaddle==2.6.2", instead=("numpy==1.26.4", "setuptools"), of="paddle"),
}


def main(names: list[str]) -> int:
    """The exit status: 1 where a test has failed."""
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        sys.exit(f"there is no peer {unknown[0]!r}; they are {', '.join(PEERS)}")
    return max(run(PEERS[name]) for name in names or PEERS)


def run(peer: Peer) -> int:
    """Its tests, if it can be had."""
    if not peer.tests:
        print(f"{peer.name}: no tests")
        return 0
    python = made(peer)
    if python is None:
        print(f"{peer.name}: left out, for {peer.package} cannot be installed here (the lines above say why)")
        return 0
    print(f"{peer.name}: {peer.package}", flush=True)
    return subprocess.run([str(python), "-m", "pytest", "-q", *peer.tests], cwd=ROOT).returncode


def made(peer: Peer) -> Path | None:
    """The interpreter of its environment, which is made where it is not there; None where that fails."""
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
    """Whether pip could."""
    places = [part for place in peer.places for part in ("--extra-index-url", place)]
    quick = ["--retries", "1", "--timeout", "20", "--no-compile", "--quiet", "--disable-pip-version-check"]
    return subprocess.run([str(python), "-m", "pip", "install", *quick, *places, *wanted]).returncode == 0


def needed() -> list[str]:
    """The packages beside it, in the versions that this project is tested with."""
    pinned = environment.pinned(ROOT / "requirements.txt")
    return [line for line in pinned if name_of(line) in (*NEEDED, "numpy")]


def name_of(line: str) -> str:
    """Of a package, with or without its version."""
    return line.partition("==")[0].lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
