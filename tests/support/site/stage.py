"""Step a stage as a reader without a mouse does."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import ElementHandle, Locator, Page

from tests.support.waiting import soon, until

# The kind of the focused control if it is in the stage: 'next' or the name of its element. Searches in shadow roots.
FOCUSED_TYPE = """stage => {
    let focused = document.activeElement;
    while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
    for (let at = focused; at; at = at.parentNode || at.host) {
        if (at === stage) return focused.classList.contains('next') ? 'next' : focused.localName;
    }
    return null;
}"""
# The texts of a step: the number of the slider, its name, and the sentence beside it.
SHOWN = """stage => {
    const slider = stage.shadowRoot.querySelector('input[type=range]');
    const sentence = stage.shadowRoot.querySelector('[aria-live=polite]');
    return [Number(slider.value), slider.getAttribute('aria-valuetext'), sentence.textContent.trim()];
}"""
# Steps from the first step to the last with the events of a moved slider, and returns the texts of each step.
EVERY_STEP = """stage => {
    const slider = stage.shadowRoot.querySelector('.time input'), shown = [];
    for (slider.value = slider.min; ; slider.stepUp()) {
        slider.dispatchEvent(new InputEvent('input', {bubbles: true, composed: true}));
        shown.push((SHOWN)(stage));
        if (slider.value === slider.max) return shown;
    }
}""".replace("SHOWN", SHOWN)
# Focuses the button "Next" or the list of variants, and returns true if Tab stops there.
FOCUS = """(stage, kind) => {
    const control = stage.shadowRoot.querySelector(kind === 'next' ? '.next' : '.chooser select');
    const options = { preventScroll: true }; // scrolling may step the stage to the step of another paragraph
    control.focus(options); // the first focus that a stage gets goes to the first of its controls
    control.focus(options);
    const isReached = stage.shadowRoot.activeElement === control && stage.getAttribute('tabindex') !== '-1';
    return isReached && control.tabIndex === 0;
}"""
MOST_TABS = 400  # a page with more stops cannot be read by keyboard


def step_to_the_end(page: Page, stage: Locator, *, every_key: bool = True) -> int:
    """Choose each variant of the stage in turn and step it to its end by keyboard; return the number of steps.

    With ``every_key``, Tab leads to the stage and each step is made by a key. Otherwise the stage receives the focus
    where Tab would stop, keys make the first and the last step, and the slider makes those between.
    """
    handle = stage.element_handle()
    count = stage.locator(".chooser option").count()
    _lead_to(page, handle, "next", "Tab" if every_key else None)  # may scroll to a paragraph that names another variant
    if count:
        handle.evaluate("stage => stage.choose(0)")
    steps = _step_one_variant(page, stage, handle, every_key)
    for variant in range(1, count):
        _lead_to(page, handle, "select", "Shift+Tab" if every_key else None)  # the list precedes the controls
        page.keyboard.press("ArrowDown")
        assert soon(handle.evaluate, "stage => stage.at.variant") >= variant
        steps += _step_one_variant(page, stage, handle, every_key)
    return steps


def _step_one_variant(page: Page, stage: Locator, handle: ElementHandle, every_key: bool) -> int:
    """Step through the shown variant. Each step has to move the slider by one, and to have a name and a sentence."""
    slider = stage.locator(".time input")
    first, last = (int(slider.get_attribute(end)) for end in ("min", "max"))
    _lead_to(page, handle, "next", "Tab" if every_key else None)
    shown = [] if every_key else handle.evaluate(EVERY_STEP)
    by_key = []
    for position in range(first, 1 + (last if every_key else min(first + 1, last))):
        page.keyboard.press("Home" if position == first else "ArrowRight")
        by_key.append(_shown_at(handle, position))
    if every_key:
        shown = by_key
    assert by_key == shown[: len(by_key)], "keys must show the same steps as the slider"
    assert [at for at, _, _ in shown] == list(range(first, last + 1)), "the positions of the slider must be consecutive"
    for position, (_, _, sentence) in enumerate(shown[1:], first + 1):
        assert sentence, f"step {position} must have a sentence"
    names = [name for _, name, _ in shown]
    assert len(set(names)) == len(names), f"every step must have a different name: {names}"
    page.keyboard.press("Home")
    page.keyboard.press("End")
    _shown_at(handle, last)
    return len(names)


def _shown_at(stage: ElementHandle, position: int) -> list[Any]:
    """Return the texts of the step to which a key leads, as soon as the stage shows it."""
    shown = []

    def is_there() -> bool:
        shown[:] = stage.evaluate(SHOWN)
        return shown[0] == position

    assert until(is_there), f"a key leads to step {shown[0]} instead of {position}"
    return shown


def _lead_to(page: Page, stage: ElementHandle, kind: str, key: str | None) -> None:
    """Press the key until this control of the stage has the focus; without a key, focus it."""
    if key is None:
        assert stage.evaluate(FOCUS, kind), f"Tab must stop at the stage's {kind}"
        return
    for _ in range(MOST_TABS):
        if page.evaluate(FOCUSED_TYPE, stage) == kind:
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never reaches the stage's {kind}")
