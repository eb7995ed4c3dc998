"""Test the figures on a page: by keyboard and pointer, with a screen reader, in light and dark, in print, and without
JavaScript.
"""

from __future__ import annotations

import re

import pytest

from memory_stage.web import element
from tests.support.accessibility import LISTEN, violations
from tests.support.waiting import box_of, drawn, soon
from tests.support.web import family
from tests.support.web.stepping import sentence, tab_to

KINDS = ("timeline", "allocator", "strides", "fits")
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 24, 30)"


@pytest.fixture
def shown(open_page):
    """Return a function that opens a page with a figure. An error on the page or its console fails the test."""

    def show(name, *, body=None, width=760, scheme="light", js=True, **look):
        page = open_page(width=width, scheme=scheme, js=js)
        page.set_content(family.page(family.figures()[name].as_html() if body is None else body, **look))
        if js:
            # wait until the texts have their final width
            page.evaluate("Promise.all([...document.fonts].map(face => face.load()))")
            page.add_script_tag(content=family.PROBES)
        return page

    return show


def spoken(say):
    return re.sub(r"`([^`]+)`", r"\1", say)


def test_the_page_shows_pythons_sentences_and_pictures_and_every_control_has_a_name(shown):
    page = shown("", body="".join(figure.as_html() for figure in family.figures().values()))
    for number, (name, figure) in enumerate(family.figures().items()):
        said = page.locator("memory-figure").nth(number).locator("[aria-live=polite] .sentence").inner_text()
        assert " ".join(said.split()) == " ".join(spoken(figure.sentence).split()), name
        ours = page.evaluate("data => memoryFigures.picture(data, { width: 760 })", figure.data)
        assert ours == element.picture(figure.data, 760), name
        drawn, same = page.evaluate("figureDrawnAnd", [number, figure.data])
        assert drawn == same, name
        page.evaluate("openWords", number)
        assert page.evaluate("controlsWithoutName", number) == [], name
        assert page.evaluate("keepsKeys", number), name
        labels = page.evaluate(
            "n => [within('.pic svg', n), within('.figure', n)].map(el => el.getAttribute('aria-label'))", number
        )
        assert labels == [spoken(figure.sentence), figure.data["title"]], name


@pytest.mark.parametrize("name", ["timeline", "allocator"])
def test_the_right_arrow_walks_through_every_event(shown, name):
    figure = family.figures()[name]
    page = shown(name)
    tab_to(page, "input[type=range]", focused="inFocus")
    page.keyboard.press("Home")
    for step in figure.steps:
        assert soon(sentence, page) == spoken(step)
        page.keyboard.press("ArrowRight")
    tab_to(page, "summary", focused="inFocus")
    page.keyboard.press("Enter")
    page.locator(".all li").last.wait_for()
    assert page.locator(".all li").all_inner_texts() == [spoken(step) for step in figure.steps]


@pytest.mark.parametrize("name", ["timeline", "allocator"])
def test_an_event_is_announced_once(shown, name):
    """An element ``<output>`` would announce the number of the event as well."""
    page = shown(name)
    page.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    page.locator("memory-figure").evaluate(LISTEN)
    for step in family.figures()[name].steps[1:4]:
        page.evaluate("heard.length = 0")
        page.keyboard.press("ArrowRight")
        assert soon(page.evaluate, "heard") == [spoken(step)]


def test_the_button_shows_the_peak_of_each_run(shown):
    page = shown("timeline")
    page.locator("input[type=range]").focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="To the peak").press("Enter")
    assert soon(page.locator("output").inner_text) == "event 13 of 17"
    page.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="To the peak").press("Enter")
    assert soon(page.locator("output").inner_text) == "event 9 of 13"
    assert soon(lambda: page.locator(".choices tr.on").inner_text().split()) == [
        "in",
        "place",
        "64.4",
        "KiB",
        "16.4",
        "KiB",
        "13",
    ]


def test_a_click_in_the_timeline_goes_to_its_event(shown):
    page = shown("timeline")
    box = box_of(page.locator(".pic svg"))
    before = page.evaluate("figure().at.step")
    page.mouse.click(box["x"] + 160, box["y"] + 150)
    page.wait_for_function("before => figure().at.step < before", arg=before)
    after = page.evaluate("figure().at.step")
    assert soon(sentence, page) == spoken(family.figures()["timeline"].steps[after])


def test_an_index_is_chosen_by_keyboard_or_by_a_click_on_an_element_or_a_cell(shown):
    page = shown("strides")
    page.locator('.pic [data-pick="e2_3"]').click()
    assert soon(lambda: sentence(page).startswith("Element [2, 3] is cell 11, at byte 44: 0 + 2 × 4 + 3 × 1 = 11."))
    page.locator('.pic [data-pick="c4"]').click()
    assert soon(lambda: sentence(page).startswith("Element [1, 0] is cell 4"))
    tab_to(page, "[data-set=index1]", focused="inFocus")
    page.keyboard.press("ArrowUp")
    assert soon(lambda: sentence(page).startswith("Element [1, 1] is cell 5"))


def test_a_view_is_chosen_and_shape_and_strides_can_be_typed(shown):
    page = shown("strides")
    page.locator("[data-set=view]").select_option("y[:, ::-1]")
    assert soon(lambda: sentence(page).startswith("Element [1, 2] is cell 5, at byte 20: 3 + 1 × 4 + 2 × -1 = 5."))
    page.locator("[data-set=strides]").fill("1, 1")
    page.locator("[data-set=offset]").fill("0")
    assert soon(lambda: re.search("[23] elements read this cell", sentence(page)))
    assert soon(page.locator("[data-set=view]").input_value) == "own"


WRONG = [
    ("shape", "3, 5", "would read cell 12, but the storage has 12 cells, 0 to 11"),
    ("shape", "three", "whole numbers, such as 3, 4, are needed, not three"),
    ("strides", "4", "must have the same length"),
    ("offset", "-1", "would read cell -1"),
    ("shape", "0, 4", "1 to 64 elements"),
]


def test_impossible_input_is_refused_and_does_not_change_the_picture(shown):
    page = shown("strides")
    before, words = page.locator(".pic").inner_html(), sentence(page)
    for field, text, said in WRONG:
        place = page.locator(f"[data-set={field}]")
        right = place.input_value()
        place.fill(text)
        assert said in soon(page.locator("[aria-live] .error").inner_text)
        assert soon(place.get_attribute, "aria-invalid") == "true"
        assert soon(lambda: (page.locator(".pic").inner_html(), sentence(page))) == (before, words)
        place.fill(right)
        assert soon(page.locator("[aria-live] .error").count) == 0


def test_batch_size_and_capacity_are_chosen_by_keyboard_and_by_click(shown):
    page = shown("fits")
    data = family.figures()["fits"].data
    tab_to(page, "[data-set=batch]", focused="inFocus")
    page.keyboard.press("End")
    assert "With batch 128 and size 512" in soon(sentence, page)
    page.locator("[data-set=capacity]").select_option("80 GiB")
    assert "fits in 80 GiB" in soon(sentence, page)
    page.locator('.pic [data-pick="0_1"]').click()
    assert "With batch 1 and size 128" in soon(sentence, page)
    page.get_by_role("radio").last.focus()
    page.keyboard.press("ArrowUp")
    assert f"{data['kinds'][1]['label']} allocates" in soon(sentence, page)
    assert soon(page.locator(".choices tr.on td").first.inner_text) == "7.0 MiB"


def test_choosing_a_dtype_changes_the_bytes_in_the_sentence_the_table_and_the_picture(shown):
    page = shown("fits dtypes")
    assert "With batch 16 and size 256, normal in float32 allocates 512.0 MiB" in soon(sentence, page)
    before = page.locator(".pic").inner_html()
    page.get_by_label("dtype").select_option("float16")
    assert "With batch 16 and size 256, normal in float16 allocates 256.0 MiB" in soon(sentence, page)
    assert soon(page.locator(".choices tr.on td").first.inner_text) == "256.0 MiB"
    assert soon(lambda: page.locator(".pic").inner_html() != before)
    page.get_by_role("radio").last.focus()
    page.keyboard.press("Space")
    assert "in place in float16 allocates 128.0 MiB" in soon(sentence, page)


@pytest.mark.parametrize("scheme, width", [("light", 320), ("dark", 792)])
def test_axe_finds_no_fault_in_a_figure_and_no_figure_is_too_wide(shown, scheme, width):
    names = (*KINDS, "meter", "fits dtypes", "strides 3", "hostile timeline", "hostile fits")
    body = "".join(family.figures()[name].as_html() for name in names)
    page = shown("", body=body, width=width, scheme=scheme)
    assert page.evaluate("figuresTooWide()") == []
    assert violations(page) == []


def test_hostile_text_never_becomes_markup(shown):
    page = shown("", body="".join(family.figures()[f"hostile {kind}"].as_html() for kind in KINDS))
    for number in range(len(KINDS)):
        page.evaluate("openWords", number)
        page.evaluate("n => figure(n).choose({ step: 1, batch: 1 })", number)
        assert page.evaluate("markup", number) == 0
        assert page.locator("memory-figure").nth(number).locator(".title").inner_text() == family.HOSTILE
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("scheme, theme, expected", [
    ("light", "", LIGHT), ("dark", "", DARK), ("light", "dark", DARK), ("dark", "light", LIGHT)
])  # fmt: skip
def test_colours_follow_the_page_rather_than_the_system(shown, scheme, theme, expected):
    page = shown("strides", scheme=scheme, theme=theme)
    assert page.evaluate("getComputedStyle(within('.figure')).backgroundColor") == expected


def test_without_javascript_the_picture_the_sentence_and_a_table_remain(shown):
    page = shown("", body="".join(family.figures()[name].as_html() for name in KINDS), js=False)
    for name, figure in zip(KINDS, page.locator("memory-figure").all(), strict=True):
        assert box_of(figure.locator("svg"))["width"] == 760
        assert spoken(family.figures()[name].sentence) in figure.inner_text()
        assert figure.locator("table").count() >= 1


def test_in_print_tables_of_numbers_replace_the_controls(shown):
    page = shown("timeline", scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    drawn(page)
    assert page.evaluate("getComputedStyle(within('.figure')).backgroundColor") == LIGHT
    assert not page.locator(".time").is_visible()
    assert page.locator(".numbers table").is_visible()
    assert page.locator(".pic svg").is_visible()


def test_a_self_contained_file_works_from_the_disk(browser, tmp_path):
    path = tmp_path / "figure.html"
    family.figures()["allocator"].save(path)
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.get_by_role("button", name="Back").click()
    assert soon(page.locator("output").inner_text) == "event 17 of 18"
    assert asked == [path.as_uri()]
    page.close()


def test_a_live_figure_sends_the_choice_and_accepts_new_data(shown):
    figure = family.figures()["fits"]
    page = shown("fits", body="<div></div>")
    module = element.widget_source().replace("export default", "globalThis.widget =")
    page.add_script_tag(type="module", content=module)
    page.wait_for_function("globalThis.widget")
    data = {**figure.data, "live": True}
    sent = page.evaluate(
        """data => {
            const sent = [], set = (name, value) => { sent.push([name, value]); };
            const model = { ...modelOf(data), set, save_changes() {} };
            widget.render({ model, el: document.querySelector('div') });
            within('[data-set=wish]').value = 37;
            within('[data-set=wish]').dispatchEvent(new Event('input', { bubbles: true }));
            return sent;
        }""",
        data,
    )
    assert sent[-1][0] == "chosen" and sent[-1][1]["wish"] == 37
    renewed = figure.renew(sent[-1][1])
    page.evaluate("data => { figure().data = data; }", renewed)
    assert "With batch 37 and size 512" in soon(sentence, page)
    assert page.locator("[data-set=batch]").get_attribute("aria-valuetext") == "batch 37"


CHOICES = {
    "timeline": [{"run": 0, "step": 0}, {"run": 0, "step": 8}, {"run": 1, "step": 8}],
    "allocator": [{"step": step} for step in (0, 9, 14, 17)],
    "strides": [
        {},
        {"shape": [4], "strides": [-1], "offset": 3, "index": [3]},
        {"shape": [], "strides": [], "offset": 3, "index": []},
        {"shape": [3, 3], "strides": [1, 1], "index": [1, 1]},
    ],
    "strides 3": [{}, {"shape": [2, 2, 2, 2], "strides": [12, 4, 2, 1], "index": [1, 1, 1, 1]}],
    "fits": [{}, {"batch": 7, "size": 4, "capacity": 0, "kind": 2}, {"batch": 0, "size": 0, "capacity": 7}],
}


def test_texts_and_lines_do_not_overlap_at_any_width(shown):
    page = shown("timeline")
    for name, figure in family.figures().items():
        choices = CHOICES.get(name, [{}])
        found = page.evaluate("faultsOfFigure", [figure.data, choices, [272, 320, 592, 760, 1000]])
        assert found == [], f"{name}: {len(found)} faults, the first: " + "; ".join(found[:8])


def test_in_an_untrusted_notebook_the_description_of_the_picture_takes_no_space(shown):
    """In an untrusted notebook, JupyterLab removes the tags of a picture but keeps the text inside them."""
    html = re.sub(r"<(style|script).*?</\1>", "", family.figures()["timeline"].as_html(), flags=re.DOTALL)
    bare = re.sub(r"</?(svg|defs|pattern|g|rect|path|circle|text|title|tspan)\b[^>]*>", " ", html)
    assert "<svg" in html and "<svg" not in bare
    heights = [
        box_of(shown("", body=body, js=False).locator(".figure-fallback > div:first-of-type"))["height"]
        for body in (bare, bare.replace("font-size: 0px", ""))
    ]
    assert heights[0] == 0 < heights[1]
