"""Measure how long Python in the page takes to give its first answer: ``python -m benchmarks.live_page``.

The time is compared with that of a bare Pyodide with numpy. Every round measures both, and they take turns to be first.
Each loads its files from this machine into a worker of a fresh window of headless Chromium. The book's Python
answers with a recorded stage of five lines, and the bare Pyodide with a sum in numpy. The output has the seconds,
the ratio of the seconds (median, lowest and highest of the rounds), and the compressed bytes that a server sends, with
their ratio. ``--record`` also writes ``facts/live-page.json``.

The measurement needs playwright, a Chromium and the files that `tools/live.py` fetches. If one is missing, a message
names it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools import chromium, live

ROOT = live.ROOT
RESULT = ROOT / "_build/bench/live_page.json"
RECORD = ROOT / "facts/live-page.json"
ROUNDS = 5

BARE = "import numpy as np\nanswer = str((np.ones(3) + 1).sum())"
OURS = """
import memory_stage as stage
program = '''
x = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
y = x * 1.0
v = y[0:2]
v.scale_(10.0)
y.sum().backward()
'''
answer = str(len(stage.record(program).data["variants"][0]["steps"]) >= 5)
"""
#: Maps each contestant to its program, the keys of its wheels in live.json (besides Pyodide), and its right answer.
CONTESTANTS = {"bare": (BARE, ["numpy"], "6.0"), "ours": (OURS, ["numpy", "minitensor"], "True")}

_WORKER = """
import { loadPyodide } from './pyodide.mjs';
onmessage = async ({ data: { program, keys, began } }) => {
  const at = { };
  const note = name => { at[name] = (performance.timeOrigin + performance.now() - began) / 1000; };
  const python = await loadPyodide({ indexURL: './' });
  note('Python ready');
  const parts = await (await fetch('live.json')).json();
  const extractDir = python.runPython('import sysconfig; sysconfig.get_path("purelib")');
  for (const key of keys) {
    python.unpackArchive(await (await fetch(parts[key])).arrayBuffer(), 'zip', { extractDir });
  }
  note('wheels unpacked');
  python.runPython(program);
  note('first answer');
  postMessage({ at, answer: python.globals.get('answer') });
};
"""
_RUN = """([program, keys]) => new Promise((done, failed) => {
  const began = performance.timeOrigin + performance.now();
  const worker = new Worker('bench.js', { type: 'module' });
  worker.onmessage = ({ data }) => done(data);
  worker.onerror = event => failed(new Error(event.message));
  worker.postMessage({ program, keys, began });
})"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Log nothing, so that the output has only the figures."""


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Return the figures.

    Raises:
        ImportError: if playwright is missing.
        FileNotFoundError: if there is no Chromium.
        live.MissingError: if a part of Python in the page is missing.
    """
    from playwright.sync_api import sync_playwright

    found = chromium.find()
    fetched = live.fetch_parts()
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        described = live.write_parts(fetched, Path(folder))
        Path(folder, "bench.js").write_text(_WORKER, encoding="utf-8")
        Path(folder, "index.html").write_text('<!doctype html><html lang="en"><title>Python</title>', encoding="utf-8")
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=found, args=chromium.FLAGS)
        for number in range(rounds):
            for name in sorted(CONTESTANTS, reverse=bool(number % 2)):  # the contestants take turns to be first
                seconds[name].append(_once(browser, server.server_port, name))
        version = browser.version
        browser.close()
        server.shutdown()
        server.server_close()
    pairs = zip(seconds["ours"], seconds["bare"], strict=True)
    return {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python -m benchmarks.live_page", *sys.argv[1:]]),
        "machine": {"processor": platform.machine(), "cores": os.cpu_count(), "load": list(os.getloadavg())},
        "chromium": version,
        "packages": [part for part in described["packages"] if "/" not in part["name"]],
        "numpy_is_distributed": described["numpy_is_distributed"],
        "seconds": seconds,
        "ratio": _spread([ours["first answer"] / bare["first answer"] for ours, bare in pairs]),
        "bytes": _bytes(described),
    }


def _once(browser: Any, port: int, name: str) -> dict[str, float]:
    """Return the seconds from the start of the worker to each moment, in a window with empty caches."""
    program, keys, answer = CONTESTANTS[name]
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{port}/index.html")
    found = page.evaluate(_RUN, [program, keys])
    context.close()
    if found["answer"] != answer:
        raise RuntimeError(f"{name} answered {found['answer']} instead of {answer}")
    return found["at"]


def _bytes(described: dict[str, Any]) -> dict[str, Any]:
    """Return the compressed bytes that a page requests, those that a bare Pyodide with numpy needs, and the ratio."""
    ours = described["compressed"]
    bare = ours - sum(described["files"][name]["compressed"] for name in (described["minitensor"], "editor.js"))
    return {"ours": ours, "bare": bare, "ratio": round(ours / bare, 3)}


def _spread(ratios: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(ratios), 3), "low": round(min(ratios), 3), "high": round(max(ratios), 3)}


def table(figures: dict[str, Any]) -> str:
    """Return the figures as text."""
    lines = [f"Python in the page, Chromium {figures['chromium']}: seconds from the start of the worker, medians"]
    lines.append(f"  {'':18}{'the book':>8}{'bare':>8}")
    for moment in ("Python ready", "wheels unpacked", "first answer"):
        both = (statistics.median(each[moment] for each in figures["seconds"][name]) for name in ("ours", "bare"))
        lines.append(f"  {moment:18}" + "".join(f"{each:8.2f}" for each in both))
    ratio, sent = figures["ratio"], figures["bytes"]
    lines.append(f"  {'ratio':18}{ratio['median']:8.2f}   ({ratio['low']:.2f} to {ratio['high']:.2f})")
    lines.append(f"  {'MB to send':18}{sent['ours'] / 1e6:8.2f}{sent['bare'] / 1e6:8.2f}   ratio {sent['ratio']:.2f}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and record the figures, or print why nothing can be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_page", description="Time to the first run.")
    parser.add_argument("--record", action="store_true", help=f"also write {RECORD.relative_to(ROOT)}")
    given, _ = parser.parse_known_args()
    try:
        figures = measure()
    except (ImportError, FileNotFoundError, live.MissingError) as missing:
        print(f"Python in the page was not measured: {missing}")
        return
    print(table(figures))
    for path in (RESULT, RECORD) if given.record else (RESULT,):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
