"""The browser that tests and tools drive: a headless Chromium of this machine."""

from __future__ import annotations

import os
import shutil

#: The first that is there is taken. The first of all has no windows to draw, and needs a quarter less of a processor.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",  # a container's root has no sandbox to use
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # without windows, letters would be moved to whole pixels
]


def find() -> str:
    """The path of a Chromium: what the variable CHROMIUM says, or one on the PATH.

    Raises:
        FileNotFoundError: when there is none.
    """
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise FileNotFoundError("No Chromium found. On Debian: apt-get install chromium; or set CHROMIUM to its path.")
    return found
