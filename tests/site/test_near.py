"""Test that a page first starts only the stages near the reader, and starts the others for Tab, links or printing."""

from __future__ import annotations

import pytest

from tests.support.waiting import box_of, drawn, soon, wait_for_script

LONG = "chapters/fifteen_confusions"
ASLEEP = "() => [...document.querySelectorAll('memory-stage, memory-figure')].filter(one => !one.shadowRoot).length"
ALL_AWAKE = f"() => ({ASLEEP})() === 0"
# The distance in px of each started stage or figure from the window, 0 for one in the window.
STARTED_AT = """() => [...document.querySelectorAll('memory-stage, memory-figure')].filter(one => one.shadowRoot).map(
    one => {
        const { top, bottom } = one.getBoundingClientRect();
        return Math.max(0, top - innerHeight, -bottom);
    },
)"""
STILLS_AT = STARTED_AT.replace("memory-stage, memory-figure", "figure.step-still.drawn").replace(
    "one.shadowRoot", "one.firstElementChild"
)
NEAR = 600  # px, as in lazy-elements.js and step-stills.js
PUSHED = 400  # px by which a stage that starts may move the ones below it
# Records the largest number of stages that one task starts. It counts the new shadow roots until the next timer.
COUNT_IN_A_TASK = """() => {
    globalThis.most = 0;
    let now = 0;
    const attach = Element.prototype.attachShadow;
    Element.prototype.attachShadow = function (...options) {
        if (!now) setTimeout(() => { now = 0; });
        now += 1;
        most = Math.max(most, now);
        return attach.apply(this, options);
    };
}"""
# Makes the browser look busy: only a callback that has a timeout runs.
NEVER_IDLE = "() => { requestIdleCallback = (run, options) => options?.timeout && setTimeout(run, options.timeout) }"
IN_VIEW_ASLEEP = """() => [...document.querySelectorAll('memory-stage')].filter(stage => {
    const {top, bottom} = stage.getBoundingClientRect();
    return !stage.shadowRoot && bottom > 0 && top < innerHeight;
}).length"""
# Returns true if the focus is on a control inside the element.
HOLDS_FOCUS = "stage => Boolean(stage.shadowRoot?.activeElement?.matches('button, input'))"
PRINTED = """() => {
    dispatchEvent(new Event('beforeprint'));
    const stages = [...document.querySelectorAll('memory-stage')];
    const whole = stages.filter(stage => stage.shadowRoot?.querySelector('.all').open).length;
    dispatchEvent(new Event('afterprint'));
    return [whole, stages.length, stages.filter(stage => stage.at.step !== stage.variant.key).length];
}"""


@pytest.fixture
def opened_page(site, visit):
    """Return the longest page, opened and untouched."""
    seen = visit(f"{site}{LONG}.html", whole=False)
    yield seen.page
    assert seen.complaints == []


def test_a_distant_stage_waits_and_a_visible_one_starts(opened_page):
    assert opened_page.evaluate(ASLEEP) > 10
    for stage in opened_page.locator("memory-stage").all()[::5]:
        stage.evaluate("stage => stage.scrollIntoView()")
        stage.locator(".pic svg").wait_for()
        assert soon(opened_page.evaluate, IN_VIEW_ASLEEP) == 0


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["index", "chapters/04_aliases", LONG])
def test_at_load_only_the_stages_near_the_reader_are_drawn(site, visit, name, width):
    page = visit(f"{site}{name}.html", width=width, whole=False).page
    assert soon(page.evaluate, IN_VIEW_ASLEEP) == 0
    drawn(page)
    assert max(page.evaluate(STARTED_AT), default=0) <= NEAR + PUSHED
    assert max(page.evaluate(STILLS_AT), default=0) <= NEAR + PUSHED


def test_each_stage_starts_in_a_separate_task(opened_page):
    opened_page.evaluate(COUNT_IN_A_TASK)
    opened_page.evaluate("document.body.style.zoom = 0.1")  # brings many stages near at once
    opened_page.keyboard.press("Shift")
    wait_for_script(opened_page, ALL_AWAKE)
    assert opened_page.evaluate("most") == 1


def test_a_waiting_stage_has_a_name_and_tab_leads_into_it(opened_page):
    last = opened_page.locator("memory-stage").last
    assert last.get_attribute("aria-label")
    assert last.get_attribute("tabindex") == "0"
    last.focus()
    assert soon(last.evaluate, HOLDS_FOCUS)
    assert soon(lambda: last.get_attribute("tabindex") is None)


def test_a_link_starts_the_stage_that_it_leads_to(opened_page):
    last = opened_page.locator("memory-stage").last
    name, variant, steps = last.evaluate("stage => [stage.id, stage.data.variants[0].id, stage.data.variants[0].steps]")
    opened_page.evaluate("hash => { location.hash = hash }", f"{name}/{variant}/2")
    shown = last.locator("[aria-live=polite] .sentence")
    said = " ".join(steps[1]["say"].replace("`", "").split())
    assert soon(lambda: " ".join(shown.text_content().split())) == said
    assert soon(lambda: box_of(last)["y"]) < 900


def test_a_question_about_a_stage_starts_it_and_so_does_a_name_in_the_text(opened_page):
    last = opened_page.locator("memory-stage").last
    last.evaluate("stage => stage.showLine(2)")
    assert last.locator(".code .now").get_attribute("data-line") == "2"
    other = opened_page.locator("memory-stage").nth(-2)
    other.evaluate("stage => stage.light('x')")
    assert other.locator(".pic svg").count() == 1


def test_printing_shows_all_stages_and_afterwards_they_are_at_their_key_steps(opened_page):
    whole, stages, elsewhere = opened_page.evaluate(PRINTED)
    assert whole == stages > 10
    assert elsewhere == 0


def test_the_other_stages_start_after_the_readers_first_input(opened_page):
    opened_page.keyboard.press("Shift")
    wait_for_script(opened_page, ALL_AWAKE)


def test_the_other_stages_start_in_a_browser_that_is_never_idle(opened_page):
    opened_page.evaluate(NEVER_IDLE)
    opened_page.keyboard.press("Shift")
    wait_for_script(opened_page, ALL_AWAKE)
