"""Check, format and bundle the project's JavaScript with the tools that `package-lock.json` pins.

    python tools/js.py          run eslint, prettier, tsc and the unit tests, and check that the bundles are fresh
    python tools/js.py format   apply the fixes of eslint, and format with prettier
    python tools/js.py build    write the bundles that pages load

If Node or its packages are not available, this prints one line that begins with "skipped". The check then succeeds, but
`format` and `build` fail.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import npm  # noqa: E402

UNIT_TESTS = "tests/memory_stage/js"
MOST_LINES = 60  # the largest number of lines of a tool's output that are printed


def sources() -> list[str]:
    """Return the JavaScript files of the checkout, without the bundles."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.js", "*.mjs", "*.d.ts"]
    found = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({path for path in found if "/built/" not in path and (ROOT / path).exists()})


def commands(job: str) -> dict[str, list[str]]:
    """Return the commands of a job, keyed by name. Each is a list of arguments for `node`."""
    files = sources()
    scripts = [path for path in files if not path.endswith(".d.ts")]
    tests = [path for path in files if path.startswith(f"{UNIT_TESTS}/") and path.endswith(".test.js")]
    tool = {name: f"node_modules/.bin/{name}" for name in ("eslint", "prettier", "tsc")}
    return {
        "check": {
            "eslint": [tool["eslint"], "--max-warnings=0", *scripts],
            "prettier": [tool["prettier"], "--check", "--log-level=warn", *files],
            "tsc": [tool["tsc"], "--project", "."],
            "unit tests": ["--no-warnings", "--test", "--test-timeout=60000", *tests],
            "bundles": ["tools/bundle.js", "--check"],
        },
        "format": {
            "eslint": [tool["eslint"], "--fix", *scripts],
            "prettier": [tool["prettier"], "--write", "--log-level=warn", *files],
        },
        "build": {"bundles": ["tools/bundle.js"]},
    }[job]


def main(arguments: list[str]) -> int:
    job = arguments[0] if arguments else "check"
    if job not in ("check", "format", "build") or len(arguments) > 1:
        print(__doc__)
        return 2
    try:
        npm.link()
    except npm.MissingError as missing:
        print(f"skipped: {' '.join(str(missing).split())}")
        return 0 if job == "check" else 1
    failed = []
    for name, command in commands(job).items():
        ended = subprocess.run(["node", *command], cwd=ROOT, capture_output=True, text=True, errors="replace")
        if ended.returncode:
            lines = f"{ended.stdout}{ended.stderr}".splitlines()
            print("\n".join([f"{name}:", *lines[:MOST_LINES]]))
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
