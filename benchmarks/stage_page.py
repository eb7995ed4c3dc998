"""Measure how fast a page draws its stages and reacts to keys: ``python -m benchmarks.stage_page``.

* First paint: the time from the start of loading a page to the frame after the last of five stages was drawn. The page
  is a file with the script beside it, as in the book.
* A key press: the time from the key to the frame that shows its effect, as the browser reports it (Event Timing: in
  steps of 8 ms, and nothing below 16 ms); and the time for which the page's thread works for a key, which depends less
  on other programs on the machine.

The measurement needs the package playwright and a Chromium. If one is missing, a message names it. Load on the machine
changes all figures.
"""

from __future__ import annotations

import datetime
import json
import platform
import statistics
import tempfile
from pathlib import Path
from typing import Any

from memory_stage import api as stage
from memory_stage.web.picture import script_source
from tools import chromium

RESULT = Path(__file__).parents[1] / "_build/bench/stage_page.json"
ROUNDS = 9
PRESSES = 60

#: The targets: seconds for the first paint of five stages, and for a key press with 500 steps.
PAINT, ANSWER = 1.0, 0.050


TRAINING = """
w = mt.to_tensor([[0.5, 0.25], [0.125, 0.75]], stop_gradient=False)
b = mt.zeros([2])
b.stop_gradient = False
def loss_of(x):
    h = mt.nn.functional.relu_(x.matmul(w) + b)
    return (h * h).sum()
for epoch in range(4):
    for batch in range(12):
        x = mt.ones([1, 2])
        loss = loss_of(x)
        loss.backward()
        with mt.no_grad():
            w.subtract_(w.grad * 0.01)
            b.subtract_(b.grad * 0.01)
        w.clear_gradient()
        b.clear_gradient()
"""

_STALE = """
x = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
a = x * 1
y = a * a
a.add_(1)
y.sum().backward()
"""

# This script stores the time at which all stages of a page have been drawn and shown.
_WATCH = """<script>
addEventListener('load', () => {
  const isDrawn = el => el.shadowRoot?.querySelector('.pic svg');
  const drawn = () => [...document.querySelectorAll('memory-stage')].every(isDrawn);
  const look = () => requestAnimationFrame(() => {
    if (!drawn()) return look();
    setTimeout(() => { globalThis.shownAt = performance.now(); });
  });
  look();
});
</script>"""

# This script stores the time from each key press to the frame that shows its effect.
_LISTEN = """() => {
  globalThis.answers = new Map();
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (entry.name === 'keydown') answers.set(entry.startTime, entry.duration);
  }).observe({ type: 'event', durationThreshold: 16 });
}"""


def five_stages() -> list[dict[str, Any]]:
    """Return traces as on a page of the book: short programs, two of them with variants."""
    view = "x = mt.ones([2, 3])\ny = x.reshape([3, 2])\ndel x"
    kinds = {"normal": "x = mt.ones([3])\ny = x + 1", "view": view, "in place": "x = mt.ones([3])\ny = x.add_(1)"}
    leaf = "x = mt.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)"
    group = f"{leaf}\nb = x * 1\nv = b[0:2]\nv.scale_(10)\nb.sum().backward()"
    chain = "x = mt.ones([4])\nfor i in range(10):\n    x = x * 1.5"
    shown = [
        stage.compare(kinds),
        stage.compare(_STALE, policies=["2.5", "2.6", "copy_on_write"]),
        stage.record(group),
        stage.record(chain),
        stage.record("m = mt.zeros([100, 100])\nr = m[3]\nr.add_(1)\nt = m.transpose([1, 0])"),
    ]
    return [each.data for each in shown]


def long_stage() -> dict[str, Any]:
    """Return the trace of a training loop with 500 steps."""
    data = stage.record(TRAINING, steps=500).data
    count = len(data["variants"][0]["steps"])
    if count != 500:
        raise RuntimeError(f"the training loop must have 500 steps, but has {count}")
    return data


def _page(traces: list[dict[str, Any]], folder: Path, name: str) -> str:
    """Write a page with these stages and the script in a file beside it, and return its address."""
    (folder / "stage.js").write_text(script_source(), encoding="utf-8")
    body = "\n<p>Some words between.</p>\n".join(stage.as_html(trace) for trace in traces)
    path = folder / f"{name}.html"
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stages</title>'
        f'<script defer src="stage.js"></script>{_WATCH}</head><body><main>{body}</main></body></html>',
        encoding="utf-8",
    )
    return path.as_uri()


def _first_paint(browser: Any, address: str) -> float:
    """Return the seconds until the first paint, in a window with empty caches."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    page.wait_for_function("globalThis.shownAt")
    shown = page.evaluate("shownAt")
    context.close()
    return shown / 1000


def _answers(browser: Any, address: str) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return the seconds until the answer to each key press, and the mean seconds of work for a press, by kind of key.

    The kinds are "a step" (to the next step), "end to end" (from one end of the program to the other) and "a search"
    (to the next hit).
    """
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    page.goto(address)
    page.wait_for_function("globalThis.shownAt")
    page.evaluate(_LISTEN)
    host = page.locator("memory-stage")
    found: dict[str, list[float]] = {}
    work: dict[str, float] = {}
    moves = ("a step", ".time .next", ["ArrowRight"]), ("end to end", ".time .next", ["End", "Home"])
    for name, where, keys in (*moves, ("a search", "[type=search]", ["Enter"])):
        host.locator(where).focus()
        if name == "a search":
            page.keyboard.type("storage 1")
        page.wait_for_timeout(200)
        since, before = page.evaluate("performance.now()"), worked()
        for press in range(PRESSES):
            page.keyboard.press(keys[press % len(keys)])
            page.wait_for_timeout(20)  # a person pauses, too; without a pause, one frame may show two presses
        page.wait_for_timeout(300)
        work[name] = (worked() - before) / PRESSES
        slow = page.evaluate("since => [...answers].filter(([at]) => at >= since).map(([, took]) => took)", since)
        found[name] = [each / 1000 for each in slow] + [0.016] * (PRESSES - len(slow))  # no report below 16 ms
    page.close()
    return found, work


def measure() -> dict[str, Any]:
    """Return the figures.

    Raises:
        ImportError: if playwright is missing.
        FileNotFoundError: if there is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    found = chromium.find()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        pages = {"five stages": _page(five_stages(), folder, "five")}
        pages["five stages of 500 steps"] = _page([long_stage()] * 5, folder, "five_long")
        one = _page([long_stage()], folder, "long")
        browser = playwright.chromium.launch(executable_path=found, args=chromium.FLAGS)
        paints: dict[str, list[float]] = {name: [] for name in pages}
        for _ in range(ROUNDS):
            for name, address in pages.items():
                paints[name].append(_first_paint(browser, address))
        answers, work = _answers(browser, one)
        version = browser.version
        browser.close()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": platform.machine(),
        "chromium": version,
        "script": {"bytes": len(script_source())},
        "first paint": paints,
        "key press": answers,
        "work for a key": work,
    }


def table(figures: dict[str, Any]) -> str:
    """Return the figures as text, in milliseconds."""
    lines = [f"Chromium {figures['chromium']}, 1280x900; milliseconds", f"{'':34}{'median':>8}{'least':>8}{'most':>8}"]
    for kind, unit in (("first paint", PAINT), ("key press", ANSWER)):
        lines.append(f"{kind}, to be within {unit * 1000:.0f}")
        for name, seconds in figures[kind].items():
            row = (statistics.median(seconds), min(seconds), max(seconds))
            lines.append(f"  {name:32}" + "".join(f"{each * 1000:8.0f}" for each in row))
    lines.append("work of the page for a key")
    lines += [f"  {name:32}{seconds * 1000:8.0f}" for name, seconds in figures["work for a key"].items()]
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write the figures, or print why nothing can be measured."""
    try:
        figures = measure()
    except (ImportError, FileNotFoundError) as missing:
        print(f"The stage on a page was not measured: {missing}")
        return
    print(table(figures))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(figures, indent=1) + "\n")
    print(f"written to {RESULT}")


if __name__ == "__main__":
    main()
