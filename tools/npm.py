"""Install the npm packages that `package-lock.json` pins, once per lock file, in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("package.json", "package-lock.json")


class MissingError(Exception):
    """Raised if a part cannot be installed. The message names the part, the reason and a remedy."""


def cache() -> Path:
    """Return the folder that keeps downloaded parts, outside the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "in-place-live"


def modules() -> Path:
    """Return the folder `node_modules` with the pinned packages, installed if it is not in the cache.

    Raises:
        MissingError: if node or npm is not on the PATH, or npm fails.
    """
    digest = hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in FILES)).hexdigest()
    folder = cache() / f"npm-{digest[:16]}"
    if not folder.exists():
        _install(folder)
    return folder / "node_modules"


def link() -> Path:
    """Link `node_modules` of this checkout, where node, eslint and tsc look for packages, to the cache.

    A folder `node_modules`, which exists if a developer has run `npm ci`, is left unchanged. In both cases the path is
    returned.
    """
    place = ROOT / "node_modules"
    if not place.is_dir() or place.is_symlink():
        found = modules()
        if not place.is_symlink() or place.readlink() != found:
            place.unlink(missing_ok=True)
            place.symlink_to(found)
    return place


def _install(folder: Path) -> None:
    """Run `npm ci` in a temporary folder and rename it to `folder`, so that no half-installed folder remains."""
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        lacking = "npm" if shutil.which("node") else "node"
        raise MissingError(f"JavaScript needs {lacking} to be built: install Node.js 20.19 or newer, with npm.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="npm-") as made:
        for name in FILES:
            shutil.copyfile(ROOT / name, Path(made) / name)
        call(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"],
            made,
            "npm could not fetch its packages",
        )
        try:
            os.rename(made, folder)
            os.mkdir(made)  # `with` deletes this folder at its end, so the folder has to exist
        except OSError:
            if not folder.exists():  # if it exists, another process was faster
                raise


def call(command: list[str], folder: Path | str, otherwise: str, **environment: str) -> str:
    """Run a command and return its output.

    Raises:
        MissingError: if the command fails. The message is `otherwise`, followed by the first lines of the output except
            warnings.
    """
    env = {**os.environ, **environment}
    ended = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, errors="replace")
    if ended.returncode:
        said = [line for line in (ended.stderr + ended.stdout).splitlines() if "warn" not in line and line.strip()]
        raise MissingError("\n".join([f"{otherwise}:", *said[:12]]))
    return ended.stdout
