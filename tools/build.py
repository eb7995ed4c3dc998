"""Build the book into `_build/html` and run every cell. A warning or a failing cell makes the build fail.

Editions in other languages, such as `zh`, are built at the same time, into `_build/html/zh`. Each has a separate log,
such as `_build/zh/build.log`.

    python tools/build.py [--force] [--quiet]

If the sources have not changed since the last build, nothing is built, unless --force is given. The output is also
written to `_build/build.log`, and a table at the end shows how long the cells of each page ran. With --quiet, neither
the output nor the table is printed.

If the variable LIVE is 1 (`make book LIVE=1`), the build adds the files with which pages run Python (`tools/live.py`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import card, live  # noqa: E402

if TYPE_CHECKING:
    from _ext.book_pages.languages import Edition

# Every file from which a page is made.
SOURCES = ("_config.yml", "_toc.yml", "*.md", "*.bib", "requirements.txt", "_ext/**/*", "book/**/*")
SOURCES += ("chapters/**/*", "facts/**/*", "minitensor/**/*", "memory_stage/**/*", "book_kit/**/*")
STRICT = ("-n", "-W", "--keep-going")  # options of jupyter-book that make every warning an error
IGNORED = {"__pycache__", ".ipynb_checkpoints"}
LIVE = "Python in the page is in _build/html/_static/live."
NOT_LIVE = "The pages were built without Python in the page: make book LIVE=1 adds it."


def main() -> None:
    if "--force" in sys.argv[1:] or not is_fresh(ROOT):
        try:
            sys.exit(build(ROOT, quiet="--quiet" in sys.argv[1:]))
        except live.MissingError as missing:
            sys.exit(f"{missing}\nWithout LIVE=1 the book is built without Python in the page.")


def is_fresh(book: Path) -> bool:
    """True if the last build succeeded and the sources have not changed since."""
    stamp = _stamp(book)
    return stamp.exists() and stamp.read_text() == fingerprint(book)


def build(book: Path, *, quiet: bool = False) -> int:
    """Build the book in folder `book` and its editions from scratch, and return the largest exit status.

    The output of the English build and of failed editions is written to `_build/build.log`. All output is also printed,
    unless `quiet` is True.

    Raises:
        live.MissingError: if LIVE is 1 and Python for the page cannot be fetched. The previous build is then unchanged.
    """
    parts = live.fetch_parts() if live.is_requested() else None
    shutil.rmtree(book / "_build", ignore_errors=True)
    (book / "_build").mkdir()
    made_from = fingerprint(book)
    command = [_jupyter_book(), "build", str(book), *STRICT]
    with tempfile.TemporaryDirectory() as folder:
        environment = _environment(Path(folder))
        if parts:
            live.write_parts(parts, Path(folder) / "live")
            environment["BOOK_LIVE"] = str(Path(folder) / "live")
        edition_builds = [_start_edition(edition, environment) for edition in _editions(book)]
        status = _run(command, environment, book / "_build" / "build.log", quiet)
        for each in edition_builds:
            status = max(status, each.wait())
            output = each.log.read_text(encoding="utf-8", errors="replace")
            if each.failed:
                with (book / "_build" / "build.log").open("a", encoding="utf-8") as log:
                    log.write(output)
            if not quiet:
                print(output, end="", flush=True)
    if status == 0:
        for each in edition_builds:
            each.publish(book / "_build" / "html")
        _add_cards(book / "_build" / "html", quiet)
        _stamp(book).write_text(made_from)
        if not quiet:
            print(table_of_times((book / "_build" / "build.log").read_text(encoding="utf-8")))
            print(LIVE if parts else NOT_LIVE)
    return status


def _add_cards(pages: Path, quiet: bool) -> None:
    """Draw a card for each chapter. Without Chromium or Playwright, the chapters use the card of the book."""
    try:
        count = card.add_chapter_cards(pages)
    except (FileNotFoundError, ModuleNotFoundError) as missing:
        print(f"The chapters have the card of the book, because theirs could not be drawn: {missing}")
    else:
        if count and not quiet:
            print(f"{count} cards of chapters are in _build/html/_static/cards.")


# ---------- editions in other languages ----------


@dataclass
class _EditionBuild:
    """A running build of an edition in another language."""

    code: str
    folder: Path  # contains the edition's configuration, its log and its `_build`
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> Path:
        return self.folder / "build.log"

    @property
    def failed(self) -> bool:
        return self.process.returncode != 0

    def wait(self) -> int:
        """Wait until the build ends. Return its exit status or, if a signal has ended it, the number of the signal."""
        return abs(self.process.wait())

    def publish(self, site: Path) -> None:
        """Move the pages into the built book."""
        shutil.move(self.folder / "_build" / "html", site / self.code)


def _editions(book: Path) -> list[Edition]:
    # Imported here, because every test imports this file, and importing Sphinx's extension takes half a second.
    from _ext.book_pages.languages import editions

    return editions(book)


def _start_edition(edition: Edition, environment: dict[str, str]) -> _EditionBuild:
    """Start the build of an edition, in a folder beside the English build."""
    import yaml  # imported here, because engine tests import this file without the packages for the book

    folder = edition.book / "_build" / edition.code
    folder.mkdir()
    files = {"_config.yml": edition.configuration(), "_toc.yml": edition.table_of_contents()}
    for name, content in files.items():
        (folder / name).write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
    command = [_jupyter_book(), "build", str(edition.folder), "--path-output", str(folder), *STRICT]
    command += ["--config", str(folder / "_config.yml"), "--toc", str(folder / "_toc.yml")]
    environment = {**environment, "MEMORY_STAGE_LANGUAGE": edition.code}  # the language of the stages in the pages
    with (folder / "build.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    return _EditionBuild(edition.code, folder, process)


# ---------- how long the pages took ----------


def seconds_of_pages(log: str) -> dict[str, float]:
    """Return how long the cells of each page ran, in seconds, from a build's log. Keys are like "chapters/03_views"."""
    found = re.findall(r"(\S+)\.md: Executed notebook in ([\d.]+) seconds", log)
    names = [Path(path).name for path, _ in found]
    return {
        name if name == "index" else f"chapters/{name}": float(took)
        for name, (_, took) in zip(names, found, strict=True)
    }


def table_of_times(log: str) -> str:
    """Return a table with the times of all pages, the longest first, and with the sum and the median of the times."""
    times = seconds_of_pages(log)
    lines = [f"{took:7.1f} s  {page}" for page, took in sorted(times.items(), key=lambda item: -item[1])]
    in_all = f"{sum(times.values()):7.1f} s  in all, {statistics.median(times.values() or [0]):.1f} s in the median"
    return "\n".join([*lines, in_all])


def _run(command: list[str], environment: dict[str, str], log: Path, quiet: bool) -> int:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "errors": "replace"}
    with log.open("w", encoding="utf-8") as file, subprocess.Popen(command, env=environment, **pipes) as process:
        for line in process.stdout:
            file.write(line)
            if not quiet:
                print(line, end="", flush=True)
    return process.returncode


def fingerprint(book: Path) -> str:
    """Return a hash of the content of all sources, of the version of Python and of the variable LIVE."""
    editions = [f"{settings.parent.name}/**/*" for settings in book.glob("*/book.yml")]
    paths = {path for pattern in (*SOURCES, *editions) for path in book.glob(pattern) if path.is_file()}
    digest = hashlib.sha256(f"{sys.version} {live.is_requested()}".encode())
    for path in sorted(path for path in paths if not IGNORED & set(path.parts)):
        digest.update(f"{path.relative_to(book)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _jupyter_book() -> str:
    """Return the command `jupyter-book` of this environment, even if another `jupyter-book` is on the PATH."""
    return shutil.which("jupyter-book", path=str(Path(sys.executable).parent)) or "jupyter-book"


def _stamp(book: Path) -> Path:
    return book / "_build" / "made_from"


def share_compiled(folder: Path) -> dict[str, str]:
    """Return environment variables that let many processes share compiled modules; {} if processes share them already.

    If PYTHONDONTWRITEBYTECODE is set, each process compiles every module that it imports. That takes half a second for
    each page, and two thirds of the time of a test that starts a process. With the returned variables, processes write
    compiled modules to ``folder``. The caller deletes the folder when the processes have ended.
    """
    forbidden = os.environ.get("PYTHONDONTWRITEBYTECODE")
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")} if forbidden else {}


def _environment(folder: Path) -> dict[str, str]:
    """Return the reader's environment, changed so that the reader's Jupyter setup cannot change the book."""
    profile = folder / "profile_default"
    profile.mkdir()
    # Newer kernels warn at every start that their sockets are not encrypted, but only this machine can reach them.
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n")
    return {
        **{name: value for name, value in os.environ.items() if name != "BOOK_LIVE"},
        **share_compiled(folder),
        "IPYTHONDIR": str(folder),  # this folder has none of the reader's start-up scripts
        # Jupyter uses the kernel of this environment, even if the reader has installed another one.
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONUTF8": "1",
    }


if __name__ == "__main__":
    main()
