"""Measure six pages of the built book with Lighthouse, as on a phone and as on a desktop.

    npm install --prefix /tmp/lighthouse lighthouse
    python tools/lighthouse.py /tmp/lighthouse/node_modules/.bin/lighthouse

Run it by hand on a machine without other load. No test uses it, because its figures depend on the machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading

from serve import HOST, ROOT, open_server

ENGLISH = ("index.html", "chapters/04_aliases.html", "chapters/fifteen_confusions.html")
PAGES = (*ENGLISH, *(f"zh/{page}" for page in ENGLISH))
FORMS = {"mobile": [], "desktop": ["--preset=desktop"]}
FIGURES = ("first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open_server(ROOT / "_build" / "html") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for page in PAGES:
            for form, options in FORMS.items():
                print(
                    page, form, scores(sys.argv[1], f"http://{HOST}:{server.server_port}/{page}", options), flush=True
                )
        server.shutdown()


def scores(lighthouse: str, address: str, options: list[str]) -> str:
    """Return the scores of one page, out of 100, and the measurements behind them."""
    flags = "--chrome-flags=--headless=new --no-sandbox --disable-gpu"
    command = [lighthouse, address, "--quiet", "--output=json", flags, *options]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = [f"{name} {category['score'] * 100:.0f}" for name, category in report["categories"].items()]
    figures = [f"{name} {report['audits'][name]['displayValue']}" for name in FIGURES]
    return ", ".join(found + figures)


if __name__ == "__main__":
    main()
