"""Call Python in a worker of a real browser, and serve the files that it needs."""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tools import environment, live, serve

ROOT = live.ROOT
#: pytest and the packages that it imports. They have no compiled parts, so the browser can run them.
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
#: The files of the checkout that the tests need. The engine itself is installed from its wheel.
CHECKOUT = ("pyproject.toml", "tests/**/*", "facts/*", "facts/goldens/*", "book/*.json", "tools/*.py")

# The worker sends one answer or error for each call, and before it any number of printed lines.
_OPEN = """async () => {
  globalThis.worker = new Worker('worker.js', { type: 'module' });
  globalThis.answered = () => new Promise((done, failed) => {
    worker.onmessage = ({ data }) => {
      if (data.line !== undefined) console.log(data.line);
      else if (data.error !== undefined) failed(new Error(data.error));
      else done(data.answer);
    };
    worker.onerror = event => failed(new Error(event.message ?? 'the worker did not start'));
  });
  return answered();
}"""
_CALL = "([call, given]) => { const answer = answered(); worker.postMessage({ call, given }); return answer; }"


class Python:
    """Call the functions of `inside.py` in a worker of the page: `python.tests(paths=[...], options=[])`.

    Attributes:
        page: the page that runs the worker.
        ready: the seconds until Python could be called.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.ready = json.loads(page.evaluate(_OPEN))["ready"] / 1000

    def __getattr__(self, call: str) -> Callable[..., dict[str, Any]]:
        return partial(self._call, call)

    def _call(self, call: str, **given: Any) -> dict[str, Any]:
        return json.loads(self.page.evaluate(_CALL, [call, given]))


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@contextmanager
def python_in(browser: Browser, fetched: live.FetchedParts) -> Iterator[Python]:
    """Start Python in a new page, from the same files that a built book serves for its live pages.

    Args:
        fetched: the paths of Pyodide, the editor and the wheel of NumPy, as `live.fetch_parts` returns them.
    """
    with tempfile.TemporaryDirectory() as folder:
        live.write_parts(fetched, Path(folder))
        pack(Path(folder))
        with ThreadingHTTPServer((serve.HOST, 0), partial(SilentHandler, directory=folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"http://{serve.HOST}:{server.server_port}/index.html")
            yield Python(page)
            context.close()
            server.shutdown()


def pack(folder: Path) -> None:
    """Write the page, its worker, pytest, the tests, and the files that the wheel leaves out into `folder`."""
    (folder / "index.html").write_text('<!doctype html><html lang="en"><title>Tests</title>', encoding="utf-8")
    (folder / "worker.js").write_bytes((Path(__file__).parent / "worker.js").read_bytes())
    with zipfile.ZipFile(folder / "pytest.zip", "w") as packed:
        for name in PYTEST:
            for file in importlib.metadata.files(name) or ():
                if file.parts[0] != ".." and "__pycache__" not in file.parts:
                    packed.write(file.locate(), str(file))
    with zipfile.ZipFile(folder / "checkout.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for file in sorted({file for pattern in CHECKOUT for file in ROOT.glob(pattern)}):
            if file.is_file() and "__pycache__" not in file.parts:
                packed.write(file, file.relative_to(ROOT))
        package_files = {file for package in environment.PACKAGES for file in (ROOT / package).rglob("*.*")}
        for file in sorted(package_files - {*live.page_sources()}):
            if "__pycache__" not in file.parts:
                packed.write(file, Path("rest") / file.relative_to(ROOT))
