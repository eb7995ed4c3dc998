"""Fetch, check and write the files of "Python in the page", which run a reader's code in the browser.

    python tools/live.py [--numpy FILE] [--from ADDRESS] [--to FOLDER]

* Pyodide (CPython for the browser) and CodeMirror (the editor) come from npm: `package-lock.json` pins their versions
  and hashes, and `npm ci` checks them. esbuild bundles the editor into one file.
* numpy's wheel for the browser comes from the Pyodide distribution. Its name and sha256 are in the file
  `pyodide-lock.json` of Pyodide's npm package. `--from` (or the variable MINITENSOR_LIVE_FROM) names another host of
  the distribution. `--numpy` (or MINITENSOR_LIVE_NUMPY) names a local wheel. If its hash differs from the one in
  `pyodide-lock.json`, a warning and `live.json` report this.
* The wheel with minitensor, memory_stage and book_kit is built here, without the files that a page does not need.

Fetched parts are cached in the user's home, outside the repository. With `--to`, all files are written into FOLDER, and
`live.json` lists their sizes, versions and licences. `make book LIVE=1` does the same for the book. This needs node and
npm, but no Python package from outside the repository.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import urllib.request
import zipfile
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import environment, npm  # noqa: E402
from tools.npm import MissingError, cache  # noqa: E402

EDITOR = ROOT / "book" / "live" / "editor.js"
DISTRIBUTION = "https://cdn.jsdelivr.net/pyodide/v{version}/full/"
PATIENCE = 60  # the seconds without an answer after which a host counts as unreachable
INTERPRETER = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# Parts of the packages that a page does not need: support of other frameworks, scripts and styles that the page has
# already, and code that only a notebook or a build of the book calls.
NOT_IN_A_PAGE = ("memory_stage/engines/torch", "memory_stage/engines/paddle", "memory_stage/web/js")
NOT_IN_A_PAGE += ("memory_stage/web/css", "book_kit/magics", "book_kit/tables", "book_kit/web")
ENGINE = ROOT / "chapters" / "small_engine"  # the exercises of chapter 16 use it to judge answers
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the date of every file in the wheel, so that the same sources give the same bytes


@dataclass(frozen=True)
class FetchedParts:
    """Paths of the fetched parts in the cache. A local wheel of numpy that the user has named is not in the cache."""

    modules: Path  # the folder `node_modules`
    editor: Path
    numpy: Path
    is_distributed: bool  # True if numpy's wheel has the hash that Pyodide's release names


def is_requested() -> bool:
    """True if the variable LIVE is 1, as in `make book LIVE=1`."""
    return os.environ.get("LIVE", "").strip() == "1"


# ---------- fetching ----------


def fetch_parts(numpy: Path | None = None, host: str | None = None) -> FetchedParts:
    """Fetch all parts that are not in the cache yet.

    Raises:
        MissingError: if node or npm is missing, or if a part cannot be fetched or is not the pinned file.
    """
    modules = npm.modules()
    entry = _json(modules / "pyodide" / "pyodide-lock.json")["packages"]["numpy"]
    given = numpy or (Path(found) if (found := os.environ.get("MINITENSOR_LIVE_NUMPY")) else None)
    if given:
        wheel = _given_numpy(given, entry)
    else:
        version = _json(modules / "pyodide" / "package.json")["version"]
        host = host or os.environ.get("MINITENSOR_LIVE_FROM") or DISTRIBUTION.format(version=version)
        wheel = _distributed_numpy(entry, host)
    return FetchedParts(modules, bundled_editor(modules), wheel, _sha256(wheel) == entry["sha256"])


def bundled_editor(modules: Path) -> Path:
    """Return the editor as one file. If the cache does not have it, esbuild makes it."""
    bundle = modules.parent / f"editor-{_sha256(EDITOR)[:16]}.js"
    if not bundle.exists():
        options = ["--bundle", "--format=esm", "--target=es2022", "--minify", "--legal-comments=none"]
        with tempfile.TemporaryDirectory(dir=modules.parent) as folder:
            made = Path(folder) / "editor.js"
            command = [str(modules / ".bin" / "esbuild"), str(EDITOR), *options, f"--outfile={made}"]
            npm.call(command, ROOT, "esbuild could not bundle the editor", NODE_PATH=str(modules))
            made.replace(bundle)
    return bundle


def _given_numpy(wheel: Path, entry: dict[str, Any]) -> Path:
    """Return the local wheel that the user has named. Warn if its hash differs from that of the distribution."""
    if not wheel.is_file():
        raise MissingError(f"There is no file {wheel}, which --numpy or MINITENSOR_LIVE_NUMPY names as numpy's wheel.")
    if wheel.name != entry["file_name"] or not zipfile.is_zipfile(wheel):
        raise MissingError(f"{wheel} is not numpy's wheel for this Pyodide, a zip file named {entry['file_name']}.")
    if (found := _sha256(wheel)) != entry["sha256"]:
        print(
            f"Warning: the sha256 of {wheel.name} is {found}, but in the Pyodide distribution it is {entry['sha256']}."
            " Publish the wheel only if you trust it.",
            file=sys.stderr,
        )
    return wheel


def _distributed_numpy(entry: dict[str, Any], host: str) -> Path:
    """Return the distribution's wheel. If the cache lacks it, download it and compare its hash with the pinned one."""
    wheel = cache() / entry["file_name"]
    if wheel.exists() and _sha256(wheel) == entry["sha256"]:
        return wheel
    address = f"{host.rstrip('/')}/{entry['file_name']}"
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            body = answer.read()
    except (OSError, ValueError, HTTPException) as error:  # a malformed address raises a ValueError
        reason = getattr(error, "reason", None) or error
        raise MissingError(
            f"numpy's wheel could not be fetched from {address}: {reason}. Name another host of the Pyodide"
            " distribution with --from or MINITENSOR_LIVE_FROM, or a local wheel with --numpy or"
            " MINITENSOR_LIVE_NUMPY."
        ) from error
    if (found := hashlib.sha256(body).hexdigest()) != entry["sha256"]:
        raise MissingError(
            f"{address} has the sha256 {found}, but Pyodide's release names {entry['sha256']}: the file was discarded."
        )
    with tempfile.NamedTemporaryFile(dir=cache(), delete=False) as written:
        written.write(body)
    os.replace(written.name, wheel)
    return wheel


# ---------- writing the files of a page ----------


def write_parts(fetched: FetchedParts, folder: Path) -> dict[str, Any]:
    """Write all files into `folder`, with their description in `live.json`, and return the description."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in INTERPRETER:
        shutil.copyfile(fetched.modules / "pyodide" / name, folder / name)
    shutil.copyfile(fetched.editor, folder / "editor.js")
    shutil.copyfile(fetched.numpy, folder / fetched.numpy.name)
    own = make_wheel(folder)
    (folder / "licences.txt").write_text(licences(fetched), encoding="utf-8")
    parts = [*INTERPRETER, fetched.numpy.name, own.name, "editor.js"]
    files = {name: _describe(folder / name) for name in parts}
    lock = _json(fetched.modules / "pyodide" / "pyodide-lock.json")
    described = {
        "python": lock["info"]["python"],
        "numpy": fetched.numpy.name,
        "minitensor": own.name,
        "numpy_is_distributed": fetched.is_distributed,
        "packages": [{key: package[key] for key in ("name", "version", "licence")} for package in packages(fetched)],
        "files": files,
        "bytes": sum(file["bytes"] for file in files.values()),
        "compressed": sum(file["compressed"] for file in files.values()),
        "sha256": hashlib.sha256("".join(file["sha256"] for file in files.values()).encode()).hexdigest(),
    }
    (folder / "live.json").write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    return described


def make_wheel(folder: Path) -> Path:
    """Write a wheel of the packages and of `ENGINE` into `folder`. The same sources give the same bytes."""
    version = _own_version()
    contents = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in page_sources()}
    contents |= {path.relative_to(ENGINE.parent).as_posix(): path.read_bytes() for path in sorted(ENGINE.glob("*.py"))}
    info = f"minitensor-{version}.dist-info"
    metadata = ["Metadata-Version: 2.4", "Name: minitensor", f"Version: {version}", "License-Expression: Apache-2.0"]
    contents[f"{info}/METADATA"] = "\n".join([*metadata, "Requires-Dist: numpy", ""]).encode()
    contents[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    contents[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = f"{info}/RECORD"
    lines = [f"{name},{_in_record(body)},{len(body)}" for name, body in contents.items()]
    contents[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    wheel = folder / f"minitensor-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, body in contents.items():
            packed.writestr(zipfile.ZipInfo(name, EARLIEST), body, zipfile.ZIP_DEFLATED, 9)
    return wheel


def page_sources() -> list[Path]:
    """Return the Python and JSON files of our packages that a page needs, without schemas."""
    found = [path for package in environment.PACKAGES for path in sorted((ROOT / package).rglob("*"))]
    found = [path for path in found if path.suffix in (".py", ".json") and not path.name.endswith(".schema.json")]
    left_out = [ROOT / folder for folder in NOT_IN_A_PAGE]
    return [path for path in found if not any(path.is_relative_to(folder) for folder in left_out)]


def packages(fetched: FetchedParts) -> list[dict[str, Any]]:
    """Return the packages that a page contains, each with name, version, licence, address, and files of licences."""
    lock = _json(fetched.modules / "pyodide" / "pyodide-lock.json")
    pyodide = _json(fetched.modules / "pyodide" / "package.json")
    source = f"https://github.com/pyodide/pyodide/tree/{pyodide['version']}"
    python = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    found = [
        ("minitensor", _own_version(), "Apache-2.0", "", [ROOT / "LICENSE"]),
        ("Pyodide", pyodide["version"], pyodide["license"], source, []),
        ("CPython", lock["info"]["python"], "PSF-2.0", "https://www.python.org/", [python] * python.is_file()),
        ("NumPy", lock["packages"]["numpy"]["version"], "BSD-3-Clause", "https://numpy.org/", []),
    ]
    for name in _bundled_packages():
        about = _json(fetched.modules / name / "package.json")
        files = sorted((fetched.modules / name).glob("LICEN[CS]E*"))
        address = f"https://www.npmjs.com/package/{name}"
        found.append((name, about["version"], about["license"], address, files))
    keys = ("name", "version", "licence", "address", "files")
    return [dict(zip(keys, package, strict=True)) for package in found]


def licences(fetched: FetchedParts) -> str:
    """Return one text: a list of the packages with licence and address, followed by the texts of the licences."""
    parts = packages(fetched)
    head = ["Python in the page is made of", ""]
    for part in parts:
        head.append(f"* {part['name']} {part['version']}: {part['licence']}" + f"  {part['address']}".rstrip())
    texts = [
        "Pyodide is used as it was published, under the Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/; its"
        "\nsource is at the address above. It contains CPython and the libraries that Pyodide's documentation names."
    ]
    for part in parts:
        texts += [f"{part['name']}\n\n{file.read_text(encoding='utf-8').strip()}" for file in part["files"]]
    with zipfile.ZipFile(fetched.numpy) as wheel:
        names = [name for name in wheel.namelist() if re.search(r"\.dist-info/.*LICEN[CS]E", name)]
        texts += [f"NumPy\n\n{wheel.read(name).decode('utf-8').strip()}" for name in names]
    rule = f"\n\n{'-' * 80}\n\n"
    return rule.join(["\n".join(head), *texts]) + "\n"


def _bundled_packages() -> list[str]:
    """Return the npm packages in the editor: the `dependencies` except Pyodide, and the packages that they need."""
    lock = _json(ROOT / "package-lock.json")["packages"]
    found, left = set(), [name for name in lock[""]["dependencies"] if name != "pyodide"]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += lock[f"node_modules/{name}"].get("dependencies", {})
    return sorted(found)


def _own_version() -> str:
    settings = (ROOT / "minitensor" / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "(.+)"', settings, re.M)[1]


def _describe(file: Path) -> dict[str, Any]:
    body = file.read_bytes()
    compressed = min(len(body), len(gzip.compress(body, 6)))  # the size if the server compresses the file
    return {"bytes": len(body), "compressed": compressed, "sha256": hashlib.sha256(body).hexdigest()}


def _in_record(body: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(body).digest()).decode().rstrip("=")


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetch the parts of Python in the page.")
    parser.add_argument("--numpy", type=Path, help="a local file with numpy's wheel for this Pyodide")
    parser.add_argument("--from", dest="host", help="an address of the Pyodide distribution's files")
    parser.add_argument("--to", type=Path, help="the folder to write the files into, with live.json")
    options = parser.parse_args()
    try:
        fetched = fetch_parts(options.numpy, options.host)
    except MissingError as missing:
        sys.exit(str(missing))
    with tempfile.TemporaryDirectory() as folder:
        described = write_parts(fetched, options.to or Path(folder))
    for name, file in described["files"].items():
        print(f"{file['bytes'] / 1e6:7.2f} MB {file['compressed'] / 1e6:7.2f} compressed  {name}")
    print(f"{described['bytes'] / 1e6:7.2f} MB {described['compressed'] / 1e6:7.2f} compressed  in all")
    print(f"written to {options.to}" if options.to else f"cached in {cache()}")


if __name__ == "__main__":
    main()
