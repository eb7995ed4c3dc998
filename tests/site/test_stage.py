"""Every stage of every page on a reader's screen: cause and effect together, no voids, open on its key step."""

from __future__ import annotations

import json

import pytest

from tests.chapters.chapter import pages

READ = pages()
each_page_to_read = pytest.mark.parametrize("opened", READ, indirect=True)
SMALL = (1280, 720)
TALLER: dict[str, str] = {}  # stages that cannot fit the small screen, by title, and why
MOST_EMPTY = 0.1  # of a picture's height, at rest
# Empty rows of a picture, less what separates two storages or two lines of text: runs of more than 24 px that nothing
# drawn reaches into.
VOIDS = """stages => stages.map(stage => {
    const svg = stage.shadowRoot.querySelector('.pic svg'), box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll('rect, path, circle, text')].filter(el => !el.closest('defs'))
        .map(el => el.getBoundingClientRect()).sort((a, b) => a.top - b.top);
    let end = box.top, empty = 0;
    for (const { top, bottom } of [...drawn, { top: box.bottom, bottom: box.bottom }]) {
        if (top - end > 24) empty += top - end;
        end = Math.max(end, bottom);
    }
    return [stage.data.title, empty / box.height];
})"""
# The height that code, sentence, controls, bytes and picture take together, at their highest over all steps of all
# variants; of a loop of hundreds of steps every fourth.
HEIGHTS = """stages => stages.map(stage => {
    const pieces = [...stage.shadowRoot.querySelectorAll('.title, .code, .say, .time, .bytes, .pic svg')];
    let most = 0;
    stage.data.variants.forEach((variant, v) => {
        stage.choose(v);
        for (let k = 0; k < variant.steps.length; k += variant.steps.length > 60 ? 4 : 1) {
            stage.go(k);
            const now = [...pieces.slice(0, -1), stage.shadowRoot.querySelector('.pic svg')];
            const boxes = now.map(el => el.getBoundingClientRect());
            most = Math.max(most, Math.max(...boxes.map(b => b.bottom)) - Math.min(...boxes.map(b => b.top)));
        }
    });
    return [stage.data.title, most];
})"""
RESIZED = "() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
NEXT_IN_VIEW = """stage => {
    stage.scrollIntoView();
    const out = [];
    for (let k = 0; k < stage.frames.length; k++) {
        stage.go(k);
        const { top, bottom } = stage.shadowRoot.querySelector('.next').getBoundingClientRect();
        if (top < 0 || bottom > innerHeight) out.push(k + 1);
    }
    return out;
}"""


@each_page_to_read
def test_at_rest_a_picture_is_full_and_shows_the_key_step(opened):
    opened.page.set_viewport_size({"width": 1440, "height": 900})
    stages = opened.page.locator("memory-stage")
    assert [(title, empty) for title, empty in stages.evaluate_all(VOIDS) if empty > MOST_EMPTY] == []
    for stage in stages.all():
        trace = json.loads(stage.locator("script[type='application/json']").text_content())
        opens = next(variant for variant in trace["variants"] if variant["id"] == trace["opens"])
        shown = " ".join(stage.locator("[aria-live=polite] .sentence").text_content().split())
        assert shown == " ".join(opens["steps"][opens["key"]]["say"].replace("`", "").split())


# What follows leaves every stage at its end.


@each_page_to_read
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1920, 1080), SMALL])
def test_every_step_of_every_stage_fits_one_screen(opened, width, height):
    opened.page.set_viewport_size({"width": width, "height": height})
    opened.page.evaluate(RESIZED)
    found = opened.page.locator("memory-stage").evaluate_all(HEIGHTS)
    known = TALLER if (width, height) == SMALL else {}
    assert [(title, most) for title, most in found if most > height and title not in known] == []


@pytest.mark.parametrize("name", READ)
def test_on_a_phone_the_way_on_stays_in_view(site, visit, name):
    seen = visit(f"{site}{name}.html", width=390)
    for stage in seen.page.locator("memory-stage").all():
        assert stage.evaluate(NEXT_IN_VIEW) == []


MOMENT = "stage => [stage.variant.id, stage.at.step]"


@pytest.fixture
def second_moment(site, visit):
    """A stage of chapter 4 with several variants, in the second of them, at its last step but one."""
    seen = visit(f"{site}chapters/04_aliases.html")
    stage = seen.page.locator("memory-stage").first
    stage.evaluate("stage => stage.choose(1)")
    stage.evaluate("stage => stage.go(stage.frames.length - 2)")
    return seen.page, stage


def test_a_copied_link_leads_to_the_same_moment(site, visit, second_moment):
    page, stage = second_moment
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    stage.get_by_role("button", name="Copy link").click()
    stage.get_by_text("Link copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{site}chapters/04_aliases.html#stage-")
    there = visit(link, whole=False).page.locator("memory-stage").first
    assert there.evaluate(MOMENT) == stage.evaluate(MOMENT)
    assert stage.evaluate(MOMENT)[1] > 0
    assert 0 <= there.bounding_box()["y"] < 100


@pytest.mark.parametrize("served", [True, False])
def test_where_nothing_can_be_copied_the_link_stands_in_the_address_bar(site, book, visit, served):
    address = f"{site}chapters/04_aliases.html" if served else (book / "chapters/04_aliases.html").as_uri()
    page = visit(address).page
    page.context.clear_permissions()
    page.evaluate("() => { Object.defineProperty(navigator, 'clipboard', { value: undefined }); }")
    stage = page.locator("memory-stage").first
    stage.evaluate("stage => stage.choose(1)")
    stage.get_by_role("button", name="Copy link").click()
    stage.get_by_text("In the address bar").wait_for()
    assert page.url.startswith(f"{address}#stage-")
    moment = stage.evaluate(MOMENT)
    there = visit(page.url, whole=False).page.locator("memory-stage").first
    assert there.evaluate(MOMENT) == moment and moment[0] != "0"


def test_the_legend_comes_when_it_is_opened(site, visit):
    seen = visit(f"{site}chapters/04_aliases.html")
    stage = seen.page.locator("memory-stage").first
    assert not any("stage-legend" in request.url for request in seen.finished)
    stage.get_by_text("How to read the picture").click()
    stage.get_by_text("a name and its tensor").wait_for()
    assert stage.locator(".legend svg").count() == stage.locator(".legend li").count() > 5
    assert seen.refused == [] and seen.complaints == []
