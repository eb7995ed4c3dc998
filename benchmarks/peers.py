"""Find the libraries to compare, with an interpreter for each.

Not all peers can be installed in one environment, so each has a variable that names its interpreter, such as
``MINITENSOR_TORCH_PYTHON=/somewhere/bin/python``. If the variable is not set, the peer runs in this interpreter.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from dataclasses import dataclass

#: Maps a library to the environment variable with its interpreter, and to the distributions that contain it.
PEERS = {
    "torch": ("MINITENSOR_TORCH_PYTHON", ("torch",)),
    "paddle": ("MINITENSOR_PADDLE_PYTHON", ("paddlepaddle", "paddlepaddle-gpu")),
    "tinygrad": ("MINITENSOR_TINYGRAD_PYTHON", ("tinygrad",)),
    "autograd": ("MINITENSOR_AUTOGRAD_PYTHON", ("autograd",)),
    "mygrad": ("MINITENSOR_MYGRAD_PYTHON", ("mygrad",)),
}

_ASK = """
import importlib.metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Library:
    """An installed library: its interpreter, and the versions of the library, of numpy and of Python."""

    name: str
    python: str
    versions: dict[str, str]


def installed() -> dict[str, Library]:
    """Return minitensor, numpy and every installed peer.

    Raises:
        SystemExit: if a variable names an interpreter that does not run or that lacks the peer.
    """
    found = {
        name: Library(name, sys.executable, _versions(sys.executable, "numpy")) for name in ("minitensor", "numpy")
    }
    for name, (variable, distributions) in PEERS.items():
        python = os.environ.get(variable) or sys.executable
        versions = _versions(python, "numpy", *distributions)
        if any(each in versions for each in distributions):
            found[name] = Library(name, python, versions)
        elif variable in os.environ:
            raise SystemExit(f"{variable} names {python}, but {' or '.join(distributions)} is not installed there")
    return found


def _versions(python: str, *distributions: str) -> dict[str, str]:
    if python == sys.executable:
        found = {"python": ".".join(map(str, sys.version_info[:3]))}
        for name in distributions:
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        return found
    answer = subprocess.run([python, "-c", _ASK, *distributions], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"{python} does not run: {answer.stderr.strip()}")
    return json.loads(answer.stdout)
