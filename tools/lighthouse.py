"""What Lighthouse says of three pages of the built book, on a phone and on a desk. Run by hand, on a quiet machine.

    npm install --prefix /tmp/lighthouse lighthouse
    python tools/lighthouse.py /tmp/lighthouse/node_modules/.bin/lighthouse

Lighthouse is no part of the build and of no test: its figures depend on the machine and on what else it does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading

from serve import HOST, ROOT, open_server

PAGES = ("index.html", "chapters/04_aliases.html", "chapters/fifteen_confusions.html")
FORMS = {"mobile": [], "desktop": ["--preset=desktop"]}
FIGURES = ("first-contentful-paint", "largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open_server(ROOT / "_build" / "html") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for page in PAGES:
            for form, options in FORMS.items():
                print(page, form, told(sys.argv[1], f"http://{HOST}:{server.server_port}/{page}", options), flush=True)
        server.shutdown()


def told(lighthouse: str, address: str, options: list[str]) -> str:
    """The scores of one page, of 100, and what they come from."""
    flags = "--chrome-flags=--headless=new --no-sandbox --disable-gpu"
    command = [lighthouse, address, "--quiet", "--output=json", flags, *options]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    scores = [f"{name} {category['score'] * 100:.0f}" for name, category in report["categories"].items()]
    figures = [f"{name} {report['audits'][name]['displayValue']}" for name in FIGURES]
    return ", ".join(scores + figures)


if __name__ == "__main__":
    main()
