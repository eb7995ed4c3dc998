"""Make `.venv` ready for the book and its tests; does nothing when it is ready already.

    python tools/environment.py [requirements.txt]

Needs nothing but Python itself, and says in one line what is missing when something is. The
interpreter that runs this file is the one the environment is made of.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
OLDEST = (3, 10)


def main() -> None:
    requirements = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "requirements.txt")
    if sys.version_info < OLDEST:
        sys.exit("Python 3.10 or newer is needed; choose one with: make PYTHON=python3.11 ...")
    stamp = ENVIRONMENT / "ready"
    wanted = fingerprint(requirements)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    create()
    print(f"Installing {requirements.name} into .venv (a minute or two, once) ...", flush=True)
    install("-r", str(requirements))
    install("--no-deps", "-e", str(ROOT))
    stamp.write_text(wanted)


def fingerprint(requirements: Path) -> str:
    """What the environment is made from: a change of any of it means installing again."""
    digest = hashlib.sha256(sys.version.encode() + requirements.name.encode())
    for path in (*sorted(ROOT.glob("requirements*.txt")), ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def create() -> None:
    """Make `.venv` anew with this interpreter, whatever was there before."""
    try:
        import ensurepip  # noqa: F401  (Debian ships it apart from Python)
        import venv
    except ImportError as missing:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        sys.exit(f"Python's module {missing.name} is missing; on Debian and Ubuntu: apt-get install {package}")
    venv.EnvBuilder(with_pip=True, clear=True, symlinks=True).create(ENVIRONMENT)


def install(*arguments: str) -> None:
    command = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    if subprocess.run(command).returncode:
        sys.exit("The installation failed; the lines above say why. Run the same command again to go on.")


def python() -> str:
    """The interpreter inside the environment."""
    folder = "Scripts" if sys.platform == "win32" else "bin"
    return str(ENVIRONMENT / folder / "python")


if __name__ == "__main__":
    main()
