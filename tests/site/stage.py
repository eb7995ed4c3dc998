"""Drives a stage as a reader without a mouse does."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

# The focused element, looked for through shadow roots.
FOCUS_IS_IN = """stage => {
    let focused = document.activeElement;
    while (focused && focused.shadowRoot && focused.shadowRoot.activeElement) {
        focused = focused.shadowRoot.activeElement;
    }
    for (let at = focused; at; at = at.parentNode || at.host) if (at === stage) return true;
    return false;
}"""
MOST_TABS = 400  # a page with more stops than this is no page to read by keyboard


def step_to_the_end(page: Page, stage: Locator) -> int:
    """Tab to the stage, then step from its first to its last step; gives the number of steps.

    Every step has to move the slider by one and change what the live region says.
    """
    handle = stage.element_handle()
    for _ in range(MOST_TABS):
        if page.evaluate(FOCUS_IS_IN, handle):
            break
        page.keyboard.press("Tab")
    assert page.evaluate(FOCUS_IS_IN, handle), "the Tab key never reaches the stage"

    slider = stage.locator("input[type=range]")
    sentence = stage.locator("[aria-live=polite]").first
    page.keyboard.press("Home")
    position, last = int(slider.input_value()), int(slider.get_attribute("max"))
    assert position == int(slider.get_attribute("min") or 0), "Home does not lead to the first step"
    steps = 1
    while position < last:
        before = sentence.text_content()
        page.keyboard.press("ArrowRight")
        assert int(slider.input_value()) == position + 1, f"step {position} does not lead on"
        assert sentence.text_content().strip(), f"step {position + 1} says nothing"
        assert sentence.text_content() != before, f"step {position + 1} says what step {position} said"
        position += 1
        steps += 1
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert int(slider.input_value()) == last, "End does not lead to the last step"
    return steps
