"""Install everything for the book and its tests into `.venv`, if that is not done yet.

    python tools/environment.py [requirements.txt]

This needs only a Python interpreter, which `.venv` then uses, too. If the interpreter lacks the module `venv` or
`ensurepip`, a line names the module and the Debian package that has it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
OLDEST = (3, 10)
PACKAGES = ("minitensor", "memory_stage", "book_kit")
MOST_PIPS = 4


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
    install_pinned(requirements)
    # Build isolation is not needed, because setuptools, which builds these packages, has just been installed.
    install(["--no-build-isolation", *(part for package in PACKAGES for part in ("-e", str(ROOT / package)))])
    stamp.write_text(wanted)


def fingerprint(requirements: Path) -> str:
    """Return a hash of the interpreter, requirements and settings of the packages; a new hash makes `main` install."""
    digest = hashlib.sha256(sys.version.encode() + requirements.name.encode())
    for path in (*sorted(ROOT.glob("requirements*.txt")), *(ROOT / package / "pyproject.toml" for package in PACKAGES)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def create() -> None:
    """Create an empty `.venv` with this interpreter. Delete an existing one."""
    try:
        import ensurepip  # noqa: F401  (Debian has it in a separate package)
        import venv
    except ImportError as missing:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        sys.exit(f"Python's module {missing.name} is missing; on Debian and Ubuntu: apt-get install {package}")
    venv.EnvBuilder(with_pip=True, clear=True, symlinks=True).create(ENVIRONMENT)


def install_pinned(requirements: Path) -> None:
    """Install the packages of a file of requirements with several pips in parallel.

    A single pip uses one core, because it unpacks one package after another. The file has to list all dependencies too.
    """
    lines = pinned(requirements)
    count = min(os.cpu_count() or 1, MOST_PIPS)
    with tempfile.TemporaryDirectory() as folder:
        shares = [Path(folder) / f"{number}.txt" for number in range(count)]
        for number, share in enumerate(shares):
            share.write_text("\n".join(lines[number::count]) + "\n", encoding="utf-8")
        install(*(["-r", str(share)] for share in shares))


def pinned(requirements: Path) -> list[str]:
    """Return the lines of a file of requirements and of the files that it includes."""
    lines = [line for line in requirements.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    further = [requirements.parent / line.split()[1] for line in lines if line.startswith("-r ")]
    own = [line for line in lines if not line.startswith("-r ")]
    return [line for file in further for line in pinned(file)] + own


def install(*shares: list[str]) -> None:
    """Run a pip for each list of arguments, all in parallel.

    The requirements list every package with its version, so pip does not look for dependencies. It does not compile
    modules either: Python does that at the first import of a module, and most modules are never imported.
    """
    command = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    pips = [subprocess.Popen([*command, *share]) for share in shares]
    if any([pip.wait() for pip in pips]):
        sys.exit("The installation failed, as the lines above show. Run the same command again to continue.")


def python() -> str:
    """Return the path of the interpreter inside the environment."""
    folder = "Scripts" if sys.platform == "win32" else "bin"
    return str(ENVIRONMENT / folder / "python")


if __name__ == "__main__":
    main()
