"""Drives a stage as a reader without a mouse does."""

from __future__ import annotations

from playwright.sync_api import ElementHandle, Locator, Page

# The type of the focused input, if it is in the stage; the focus is looked for through shadow roots.
FOCUSED_TYPE = """stage => {
    let focused = document.activeElement;
    while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
    for (let at = focused; at; at = at.parentNode || at.host) {
        if (at === stage) return focused.type || 'other';
    }
    return null;
}"""
# What a step shows: the number of the slider, its name and the sentence beside it.
SHOWN = """stage => {
    const slider = stage.shadowRoot.querySelector('input[type=range]');
    const sentence = stage.shadowRoot.querySelector('[aria-live=polite]');
    return [Number(slider.value), slider.getAttribute('aria-valuetext'), sentence.textContent.trim()];
}"""
# Where stepping ends: the last variant at its last step, and every verdict shown.
TO_THE_END = """stage => {
    const last = stage.shadowRoot.querySelectorAll('input[type=radio]').length || 1;
    for (let variant = 0; variant < last; variant++) {
        stage.choose(variant);
        stage.go(Infinity);
    }
}"""
MOST_TABS = 400  # a page with more stops than this is no page to read by keyboard


def step_to_the_end(page: Page, stage: Locator) -> int:
    """Tab to the stage, choose each variant in turn and step it to its end; gives the number of steps."""
    handle = stage.element_handle()
    steps = _step_one_variant(page, stage, handle)
    for _ in range(stage.locator("input[type=radio]").count() - 1):
        _tab_to(page, handle, "radio", "Shift+Tab")
        page.keyboard.press("ArrowDown")
        steps += _step_one_variant(page, stage, handle)
    return steps


def show_the_end(stage: Locator) -> None:
    """Bring the stage to where ``step_to_the_end`` leaves it, without a key."""
    stage.evaluate(TO_THE_END)


def _step_one_variant(page: Page, stage: Locator, handle: ElementHandle) -> int:
    """Every step has to move the slider by one, to name itself, and to say something."""
    _tab_to(page, handle, "range", "Tab")
    slider = stage.locator(".time input")
    page.keyboard.press("Home")
    first, last = (int(slider.get_attribute(end)) for end in ("min", "max"))
    at, name, _ = handle.evaluate(SHOWN)
    assert at == first, "Home does not lead to the first step"
    names = [name]
    for position in range(first + 1, last + 1):
        page.keyboard.press("ArrowRight")
        at, name, sentence = handle.evaluate(SHOWN)
        assert at == position, f"step {position - 1} does not lead on"
        assert sentence, f"step {position} says nothing"
        names.append(name)
    assert len(set(names)) == len(names), f"steps with the same name: {names}"
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert handle.evaluate(SHOWN)[0] == last, "End does not lead to the last step"
    return len(names)


def _tab_to(page: Page, stage: ElementHandle, kind: str, key: str) -> None:
    """Press the key until an input of this type in the stage has the focus."""
    for _ in range(MOST_TABS):
        if page.evaluate(FOCUSED_TYPE, stage) == kind:
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never reaches the stage's {kind}")
