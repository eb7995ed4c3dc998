"""Find the headless Chromium that tests and tools drive."""

from __future__ import annotations

import os
import shutil

#: Commands of Chromium, the best first: `chromium-headless-shell` needs a quarter less processor time than the others.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# The flag --disable-threaded-compositing would save time, but it is not used, because the browser then draws no frames:
# animation frames never start, screenshots fail, and printing never ends.
FLAGS = [
    "--no-sandbox",  # the sandbox does not work for the root user of a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # with hinting, a Chromium without windows would move letters to whole pixels
]


def find() -> str:
    """Return the path of a Chromium: the variable CHROMIUM, or the first one on the PATH.

    Raises:
        FileNotFoundError: if the variable is not set and the PATH has no Chromium.
    """
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise FileNotFoundError("No Chromium found. On Debian: apt-get install chromium; or set CHROMIUM to its path.")
    return found
