"""One page open in the browser, and everything that happened to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, Response, Route

# Stricter than axe's default, which leaves this rule out as experimental.
AXE_RULES = {"label-content-name-mismatch": {"enabled": True}}
# Stages and figures start when the reader comes near them; a test may ask for any of them at once.
WAKE = """for (const one of document.querySelectorAll('[loading=lazy]')) {
    one.wake?.();
    for (const mark of ['loading', 'tabindex', 'role', 'aria-label']) one.removeAttribute(mark);
}"""
OWN_SCHEMES = ("data", "blob", "about")


@dataclass
class Visit:
    page: Page
    address: str
    whole: bool = True  # every stage of the page is started, as when a reader has scrolled through
    foreign: list[str] = field(default_factory=list)  # requests to any other host: all of them blocked
    failed: list[str] = field(default_factory=list)  # answers that are errors
    complaints: list[str] = field(default_factory=list)  # console errors and uncaught exceptions
    finished: list[Request] = field(default_factory=list)
    opening: list[Request] = field(default_factory=list)  # those of `finished` that it took to open the page

    @property
    def name(self) -> str:
        """The page's file without a suffix."""
        return PurePosixPath(urlsplit(self.address).path).stem

    def open(self) -> None:
        self.page.route("**/*", self._pass_own_host_only)
        self.page.on("response", self._note_status)
        self.page.on("requestfinished", lambda request: self.finished.append(request))
        self.page.on("console", lambda message: message.type == "error" and self.complain(message.text))
        self.page.on("pageerror", lambda error: self.complain(str(error)))
        self.page.goto(self.address, wait_until="networkidle")
        self.page.wait_for_load_state("load")  # a long page may be quiet before all of it is read
        self.opening = list(self.finished)
        if self.whole:
            self.page.evaluate(WAKE)

    def complain(self, text: str) -> None:
        self.complaints.append(text)

    def read_through(self) -> None:
        """Scroll to the end and open everything that folds, as a thorough reader does."""
        self.page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
        self.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        self.page.wait_for_load_state("networkidle")

    def violations(self, *, contrast: bool = True, all_else: bool = True) -> list[str]:
        """What axe-core finds wrong, one line for each element.

        The contrast of colours takes most of the time and does not depend on the width of the window; all else does
        not depend on the colours.
        """
        # Style sheets are not loaded a second time ("preload"): axe would look for imported ones beside
        # the page instead of beside the importing sheet, and report them as missing.
        rules = {**AXE_RULES, "color-contrast": {"enabled": contrast}}
        options: dict[str, Any] = {"rules": rules, "resultTypes": ["violations"], "preload": False}
        if not all_else:
            options |= {"rules": {}, "runOnly": {"type": "rule", "values": ["color-contrast"]}}
        found: list[dict[str, Any]] = Axe().run(self.page, options=options).response["violations"]
        return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def weight(self) -> int:
        """Bytes of the bodies that it took to open the page, as they came over the wire, compressed."""
        return sum(request.sizes()["responseBodySize"] for request in self.opening)

    def _pass_own_host_only(self, route: Route, request: Request) -> None:
        own = urlsplit(self.address)
        asked = urlsplit(request.url)
        if asked.scheme in OWN_SCHEMES or (asked.scheme, asked.netloc) == (own.scheme, own.netloc):
            route.continue_()
        else:
            self.foreign.append(request.url)
            route.abort()

    def _note_status(self, response: Response) -> None:
        if response.status >= 400:
            self.failed.append(f"{response.status} {response.url}")
