"""Use the playground as a reader does."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


class Playground:
    """The playground on an opened page, with the actions of a reader."""

    def __init__(self, seen) -> None:
        self.seen, self.page, self.place = seen, seen.page, seen.page.locator("play-ground")
        self.text, self.status = self.place.locator(".cm-content"), self.place.locator(".live-told")

    def open(self) -> Playground:
        self.button("Write a program").click()
        self.text.wait_for()
        return self

    def button(self, name: str) -> Locator:
        return self.place.get_by_role("button", name=name, exact=True)

    def write(self, text: str) -> None:
        self.text.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def press(self, name: str) -> None:
        """Press the button, and wait for the result."""
        self.button(name).click()
        expect(self.button("Run")).to_be_enabled()

    def run(self, text: str) -> dict:
        self.write(text)
        self.press("Run")
        return self.shown

    @property
    def shown(self) -> dict:
        """Return the recording on the playground's stage."""
        return self.place.locator("memory-stage").evaluate("stage => stage.data")

    @property
    def program(self) -> str:
        return "\n".join(self.text.locator(".cm-line").all_text_contents()).rstrip("\n")

    @property
    def kept(self) -> str | None:
        return self.page.evaluate("localStorage.getItem('in-place.playground')")
