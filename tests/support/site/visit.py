"""One page open in the browser, with its requests, messages and errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request, Response, Route

from tests.support import accessibility

# Stages and figures start when the reader approaches them. A test may start all of them at once.
WAKE = """for (const one of document.querySelectorAll('[loading=lazy]')) {
    one.wake?.();
    for (const mark of ['loading', 'tabindex', 'role', 'aria-label']) one.removeAttribute(mark);
}"""
OWN_SCHEMES = ("data", "blob", "about")
# Runs before the scripts of a page and records the page's violations of its Content Security Policy.
REPORT_REFUSED = """() => {
    globalThis.refused = [];
    document.addEventListener('securitypolicyviolation', event => {
        refused.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
}"""
# Deletes the data that a page has stored. On `about:blank`, the browser raises an error for any use of
# `localStorage`.
FORGET = "() => { try { localStorage.clear(); sessionStorage.clear(); } catch { /* nothing is kept */ } }"


@dataclass
class Visit:
    page: Page
    address: str
    whole: bool = True  # start every stage of the page, as scrolling through the page does
    foreign: list[str] = field(default_factory=list)  # requests to any other host: all of them blocked
    failed: list[str] = field(default_factory=list)  # responses with an error status
    complaints: list[str] = field(default_factory=list)  # console errors and uncaught exceptions
    finished: list[Request] = field(default_factory=list)
    opening: list[Request] = field(default_factory=list)  # the requests in `finished` that opened the page

    @property
    def name(self) -> str:
        """The page's file without a suffix."""
        return PurePosixPath(urlsplit(self.address).path).stem

    def open(self) -> None:
        self.page.route("**/*", self._pass_own_host_only)
        for event, note in self._listeners():
            self.page.on(event, note)
        self.page.goto(self.address, wait_until="networkidle")
        self.page.wait_for_load_state("load")  # a long page may be quiet before all of it is parsed
        self.opening = list(self.finished)
        if self.whole:
            self.page.evaluate(WAKE)

    def leave(self) -> bool:
        """Empty the tab. Return True if another visit can use it."""
        try:
            self.page.evaluate(FORGET)
            self.page.context.clear_cookies()
            self.page.goto("about:blank")
            self.page.mouse.move(0, 0)  # nothing of the next page is under the mouse at the start
            self.page.unroute("**/*", self._pass_own_host_only)
        except Error:  # the page has crashed, or one of its scripts never ends
            self.page.context.close()
            return False
        for event, note in self._listeners():
            self.page.remove_listener(event, note)
        return True

    def _listeners(self) -> list[tuple[Any, Any]]:
        return [
            ("response", self._note_status),
            ("requestfinished", self._note_finished),
            ("console", self._note_message),
            ("pageerror", self._note_error),
        ]

    @property
    def refused(self) -> list[str]:
        """Return the actions of the page that the server's policy forbids."""
        return self.page.evaluate("refused")

    @property
    def undisturbed(self) -> bool:
        """True if nothing failed on the page, and it requested no other host."""
        return self.foreign == self.complaints == self.refused == self.failed == []

    def read_through(self) -> None:
        """Unfold everything, scroll to the end as a thorough reader does, and scroll back."""
        self.page.evaluate("document.querySelectorAll('details').forEach(box => { box.open = true })")
        self.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        self.page.wait_for_load_state("networkidle")
        self.page.evaluate("window.scrollTo(0, 0)")

    def violations(self, *, contrast: bool = True, all_else: bool = True) -> list[str]:
        """Return axe-core's findings, one line for each element."""
        return accessibility.violations(self.page, contrast=contrast, all_else=all_else)

    def resize(self, width: int, height: int) -> None:
        """Resize the window, and wait until the page is drawn."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def overflow(self) -> int:
        """Return the pixels by which the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def weight(self) -> int:
        """Return the compressed bytes of the bodies that opened the page."""
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

    def _note_finished(self, request: Request) -> None:
        self.finished.append(request)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _note_error(self, error: Error) -> None:
        self.complaints.append(str(error))
