"""Drive Python in a worker of a real browser."""

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
#: Packages that tests import from pytest. They have no compiled parts.
PURE = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
#: Files of the checkout beside the engine, which is installed from its wheel.
NEEDED = ("pyproject.toml", "tests/**/*", "facts/*", "facts/goldens/*", "book/*.json", "tools/*.py")

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
    """Call the functions of `inside.py` in the page: `python.tests(paths=[...], options=[])`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.ready = json.loads(page.evaluate(_OPEN))["ready"] / 1000  # seconds

    def __getattr__(self, call: str) -> Callable[..., dict[str, Any]]:
        return partial(self._call, call)

    def _call(self, call: str, **given: Any) -> dict[str, Any]:
        return json.loads(self.page.evaluate(_CALL, [call, given]))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@contextmanager
def python_in(browser: Browser, brought: live.Brought) -> Iterator[Python]:
    """Open Python in a new page, with the files that a book has beside its pages."""
    with tempfile.TemporaryDirectory() as folder:
        live.place(brought, Path(folder))
        pack(Path(folder))
        with ThreadingHTTPServer((serve.HOST, 0), partial(Quiet, directory=folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"http://{serve.HOST}:{server.server_port}/index.html")
            yield Python(page)
            context.close()
            server.shutdown()


def pack(folder: Path) -> None:
    """Write the page, its worker, the tests and the installed pytest into `folder`."""
    (folder / "index.html").write_text('<!doctype html><html lang="en"><title>Tests</title>', encoding="utf-8")
    (folder / "worker.js").write_bytes((Path(__file__).parent / "worker.js").read_bytes())
    with zipfile.ZipFile(folder / "pytest.zip", "w") as packed:
        for name in PURE:
            for file in importlib.metadata.files(name) or ():
                if file.parts[0] != ".." and "__pycache__" not in file.parts:
                    packed.write(file.locate(), str(file))
    with zipfile.ZipFile(folder / "checkout.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for file in sorted({file for pattern in NEEDED for file in ROOT.glob(pattern)}):
            if file.is_file() and "__pycache__" not in file.parts:
                packed.write(file, file.relative_to(ROOT))
        every = {file for package in environment.PACKAGES for file in (ROOT / package).rglob("*.*")}
        for file in sorted(every - {*live.page_sources()}):
            if "__pycache__" not in file.parts:
                packed.write(file, Path("rest") / file.relative_to(ROOT))
