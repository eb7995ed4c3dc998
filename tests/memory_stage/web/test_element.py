"""Test the stage on a page: by keyboard, with a screen reader, in light and dark, in print, and without JavaScript."""

from __future__ import annotations

import pytest

from memory_stage.web import picture
from tests.support.accessibility import violations
from tests.support.waiting import box_of, drawn, soon
from tests.support.web import pages
from tests.support.web.stepping import STEP, squeezed, steps_of, tab_to


@pytest.mark.parametrize("name", pages.NAMES)
def test_the_right_arrow_walks_through_every_sentence(show, name):
    page = show(name)
    tab_to(page, "input[type=range]")
    steps = steps_of(name)
    goes_backward = any(step["phase"] == "backward" for step in steps)
    for number, step in enumerate(steps):
        said, counted = page.evaluate(
            "['[aria-live=polite] .sentence', 'output'].map(place => inside(place).innerText)"
        )
        assert squeezed(said) == squeezed(pages.spoken(step["say"]))
        phase = f", {step['phase']}" if goes_backward else ""
        assert counted == f"step {number + 1} of {len(steps)}{phase}"
        page.keyboard.press("ArrowRight")
    assert soon(page.evaluate, STEP) == len(steps_of(name)) - 1


def test_home_end_and_arrows_work_from_the_buttons_and_the_slider(show):
    page = show("slice")
    for selector in ("button.next", "input[type=range]"):
        tab_to(page, selector)
        keys = {"End": 8, "ArrowLeft": 7, "ArrowRight": 8, "Home": 0}
        for key, step in [*keys.items(), ("ArrowLeft", 0), ("ArrowRight", 1)]:
            page.keyboard.press(key)
            assert soon(page.evaluate, STEP) == step, f"{key} on {selector}"


def test_page_keys_on_the_slider_move_by_a_tenth_of_a_long_program(show):
    page = show("loop")
    tab_to(page, "input[type=range]")
    page.keyboard.press("PageUp")
    assert soon(lambda: 6 <= page.evaluate(STEP) <= 10)
    page.keyboard.press("PageDown")
    assert soon(page.evaluate, STEP) <= 1


def test_the_stage_ignores_keys_with_a_modifier(show):
    page = show("slice")
    tab_to(page, "button.next")
    page.keyboard.press("Control+End")
    assert soon(page.evaluate, STEP) == 0


def test_a_button_that_becomes_disabled_keeps_the_focus(show):
    page = show("three")
    tab_to(page, "button.next")
    for _ in range(4):
        page.keyboard.press("Enter")
    assert soon(page.evaluate, STEP) == 2
    assert soon(page.locator("button.next").get_attribute, "aria-disabled") == "true"
    assert soon(page.evaluate, "focused().className") == "next"


def keyed(name, variant, step):
    """Return the trace with a key step, in the form that a recorder writes."""
    trace = pages.trace(name)
    trace["opens"] = trace["variants"][variant]["id"]
    trace["variants"][variant]["key"] = step
    return trace


def test_a_stage_opens_on_the_key_step_with_a_button_to_the_first_step(show):
    page = show(body=pages.element(keyed("stale", 1, 3)))
    assert page.evaluate("[host().at.variant, host().at.step]") == [1, 3]
    page.get_by_role("button", name="Step from line 1").click()
    assert soon(page.evaluate, STEP) == 0
    page.keyboard.press("ArrowRight")
    assert soon(page.evaluate, STEP) == 1


def test_a_key_step_at_the_end_does_not_show_the_verdict_before_the_reader_steps(show):
    page = show(body=pages.element(keyed("stale", 0, 5)))
    page.evaluate("host().showDetails(true)")
    assert "refused" not in page.locator(".variants").inner_text()
    page.evaluate("host().go(4); host().go(5)")
    assert "refused" in soon(page.locator(".variants").inner_text)


@pytest.mark.parametrize("place", [".title", ".sentence", ".pic svg", ".foot", ".code"])
def test_the_arrow_keys_change_the_step_after_a_click_anywhere_in_the_stage(show, place):
    page = show("slice", motion="reduce")
    before = page.evaluate(STEP)
    page.locator(place).click(position={"x": 2, "y": 2})
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert soon(page.evaluate, STEP) == before + 2
    page.keyboard.press("End")
    assert soon(page.evaluate, STEP) == 8


def test_in_a_comparison_left_and_right_change_the_step_and_up_and_down_the_variant(show):
    page = show("stale")
    page.evaluate("host().showDetails(true)")
    page.locator(".variants input").first.focus()
    for key, variant, step in (("ArrowRight", 0, 1), ("ArrowRight", 0, 2), ("ArrowDown", 1, 2), ("ArrowLeft", 1, 1)):
        page.keyboard.press(key)
        assert soon(page.evaluate, "[host().at.variant, host().at.step]") == [variant, step], key


def test_the_space_key_plays_to_the_end_and_another_key_stops_playing(show):
    page = show("three")
    page.clock.install()
    page.locator(".sentence").click()
    page.keyboard.press("Space")
    assert soon(page.locator(".play").get_attribute, "aria-pressed") == "true"
    page.clock.run_for(60_000)
    assert soon(page.evaluate, STEP) == 2
    assert soon(page.locator(".play").get_attribute, "aria-pressed") == "false"
    page.evaluate("host().showDetails(true)")
    page.locator(".play").click()  # at the end, playing starts again with the first step
    assert soon(page.evaluate, STEP) == 0
    page.keyboard.press("ArrowRight")
    page.clock.run_for(60_000)
    assert soon(page.evaluate, STEP) == 1


def test_a_link_shows_a_variant_at_a_step(show):
    page = show("stale")
    id_ = page.evaluate("host().id")
    assert id_.startswith("stage-") and " " not in id_
    page.evaluate("id => { location.hash = `#${id}/cow/4` }", id_)
    page.wait_for_function("host().at.step === 3")
    assert page.evaluate("host().at.variant") == 1
    for other in ("#stage-of-somebody-else/cow/2", "#%"):  # the second is an invalid percent-encoding
        page.evaluate(f"new Promise(done => {{ onhashchange = done; location.hash = '{other}' }})")
        assert page.evaluate(STEP) == 3


def test_two_stages_with_one_title_have_different_ids(show):
    page = show(body=2 * pages.element(pages.trace("stale")))
    first, second = page.locator("memory-stage").evaluate_all("stages => stages.map(stage => stage.id)")
    assert second == f"{first}-2"


def test_a_name_is_highlighted_with_its_tensor_and_its_storage(show):
    page = show("three")
    page.evaluate("host().choose(2); host().go(1)")  # two names of one tensor
    assert page.evaluate("host().light('y')") is True
    assert page.evaluate("ringed()") == ["1", "t1"]
    lines = (
        "[...host().shadowRoot.querySelectorAll('.pic path')].filter(p => p.style.stroke.includes('--focus')).length"
    )
    assert page.evaluate(lines) == 3  # the line under the name y, the arrow of y and its head, but nothing of x
    assert page.evaluate("host().light('nobody')") is False
    page.evaluate("host().unlight()")
    assert page.evaluate("ringed()") == []


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("slice", ["1", "2", "3", "4", "5", "6", "←6", "←4", "←2"]),  # the lines that called sum, scale_ and multiply
        ("stale", ["1", "2", "3", "4", "←5", "×"]),
        ("error", ["1", "2", "4", "6", "8", "9"]),  # lines that have run, without those of `try` and `except`
    ],
)
def test_the_ticks_name_the_lines_that_ran_and_in_backward_the_lines_of_the_operations(show, name, reported):
    page = show(name, width=1180)
    page.evaluate("host().showDetails(true); host().go(Infinity)")
    assert page.locator(".chart text").all_text_contents() == reported


def test_forced_colours_show_disabled_buttons_and_one_bar_beside_the_code(show):
    page = show("stale")
    page.emulate_media(forced_colors="active")
    drawn(page)
    page.evaluate("host().go(1)")
    bars = "[...host().shadowRoot.querySelectorAll('.code li')].map(li => getComputedStyle(li).borderLeftColor)"
    colours = page.evaluate(bars)
    assert len({colour for i, colour in enumerate(colours) if i != 1}) == 1 and colours[1] != colours[0]
    page.evaluate("host().go(0)")
    assert page.evaluate("getComputedStyle(inside('.back')).borderTopStyle") == "dashed"
    assert page.evaluate("getComputedStyle(inside('.nums .allocated')).backgroundColor") == "rgb(26, 29, 33)"
    page.emulate_media(forced_colors="none")


def test_a_long_error_fits_into_its_reserved_height_until_it_is_unfolded(show):
    trace = pages.trace("error")
    raised = next(e for s in trace["variants"][0]["steps"] for e in s["events"] if e["do"] == "raise")
    raised["text"] = "RuntimeError: " + "a long explanation of what happened. " * 12
    page = show(body=pages.element(trace), width=1180)
    kept = box_of(page.locator(".fault"))["height"]
    page.evaluate("host().go(Infinity)")
    assert kept >= 40 and box_of(page.locator(".error"))["height"] <= kept
    page.get_by_role("button", name="Show all").click()
    assert soon(lambda: box_of(page.locator(".error"))["height"]) > kept


def test_an_error_and_printed_text_are_shown_at_their_step(show):
    page = show("error")
    steps = steps_of("error")
    for number, step in enumerate(steps):
        page.evaluate(f"host().go({number})")
        raised = [event["text"] for event in step["events"] if event["do"] == "raise"]
        assert page.locator("[aria-live] .error").all_inner_texts() == raised
        assert page.locator(".out pre").all_inner_texts() == ([step["out"].rstrip("\n")] if "out" in step else [])
        assert page.locator(".note").count() == ("note" in step)


def test_every_line_of_the_running_statement_is_marked(show):
    page = show("three")
    assert page.locator(".code li.now").count() == 2
    assert page.locator(".code li[aria-current=step]").count() == 1


def test_a_click_on_a_line_shows_the_next_step_of_the_line(show):
    page = show("loop")
    page.locator(".code li").nth(3).click()
    assert soon(page.evaluate, STEP) == 2
    page.locator(".code li").nth(3).click()
    assert soon(page.evaluate, STEP) == 3


def test_a_verdict_is_hidden_until_the_reader_steps_its_variant_to_the_end(show):
    page = show("stale")
    verdicts = page.locator("tbody td:last-child")
    hidden = "step to see"
    assert [squeezed(text) for text in verdicts.all_text_contents()] == [hidden, hidden]
    page.evaluate("host().showDetails(true)")
    tab_to(page, "input[type=range]")
    page.keyboard.press("End")
    assert soon(verdicts.all_text_contents) == ["refused", hidden]
    page.locator(".variants input").first.focus()
    page.keyboard.press("ArrowDown")
    assert soon(page.evaluate, "host().at.variant") == 1
    assert soon(verdicts.all_text_contents) == ["refused", hidden]


def test_variants_are_compared_at_the_same_step(show):
    page = show("stale")
    page.evaluate("host().showDetails(true); host().go(3)")
    cells = page.locator("tbody td.num").all_inner_texts()
    assert cells == ["36 B", "36 B", "48 B", "48 B"]
    compared = "At this step, compared with “2.6”: “copy on write” allocates 12 B more."
    assert page.locator(".diff").inner_text() == compared


@pytest.mark.parametrize("name", ["stale", "loop", "many-tensors", "hostile"])
def test_every_control_has_a_name(show, name):
    page = show(name)
    page.evaluate("openAll()")
    stage = page.locator("memory-stage")
    for role in ("button", "slider", "radio", "combobox", "searchbox", "search", "img", "region", "table", "group"):
        for control in stage.get_by_role(role).all():
            named = control.evaluate("el => nameOf(el)")
            assert named.strip(), role
    assert stage.get_by_role("slider", name="Step", exact=True).count() == 1
    assert stage.get_by_role("slider", name="Step", exact=True).get_attribute("aria-valuetext").startswith("step 1 of")
    assert stage.get_by_role("button", name="Next", exact=True).count() == 1
    picture_name = stage.locator(".pic svg").get_attribute("aria-label")
    assert picture_name == pages.spoken(steps_of(name)[0]["say"])


def test_the_notebook_ignores_plain_keys_that_are_pressed_in_a_stage(show):
    """An attribute of the stage makes JupyterLab ignore plain keys, but Ctrl+S still saves the notebook."""
    page = show("loop")
    page.evaluate("noteKeys()")
    tab_to(page, "button.next")
    for key in ("a", "Control+s", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.evaluate("host().showDetails(true)")
    page.locator("[type=search]").focus()
    for key in ("d", "Control+c", "Control+s", "x"):
        page.keyboard.press(key)
    noted = "noted.filter(([key]) => key !== 'Tab' && key !== 'Ctrl+Control')"
    assert soon(lambda: [tuple(each) for each in page.evaluate(noted)]) == [
        ("a", True),
        ("Ctrl+s", False),
        ("ArrowRight", True),
        ("Enter", True),
        ("d", True),
        ("Ctrl+c", True),
        ("Ctrl+s", False),
        ("x", True),
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("light", 792), ("dark", 792), ("light", 1280)])
def test_axe_finds_no_fault_in_a_stage(show, scheme, width):
    # The contrast of colours does not depend on the width, and the other rules do not depend on the colours.
    for name in ("stale", "error", "hostile", "many-tensors", "loop"):
        page = show(name, width=width, scheme=scheme)
        page.evaluate("host().go(Infinity); openAll()")
        page.wait_for_function("document.querySelector('memory-stage').shadowRoot.querySelector('.legend li')")
        page.evaluate("openAll(); host().ask({ storage: '1' })")
        assert violations(page, contrast=width == 792, all_else=scheme == "light") == [], name


def test_hostile_text_never_becomes_markup(show):
    page = show("hostile")
    stage = page.locator("memory-stage")
    for variant in (0, 1):
        for step in range(3):
            page.evaluate(f"host().choose({variant}); host().go({step}); openAll()")
            assert stage.locator("img, b, i, u, script:not([type])").count() == 0
            assert page.evaluate("window.hacked") is None
    assert page.title() == "A stage"
    assert stage.locator(".title").inner_text() == pages.trace("hostile")["title"]


def test_the_styles_of_a_page_do_not_affect_the_stage(show):
    body = pages.element(pages.trace("stale"))
    # Motion is turned off, because parts of a moving picture have no fixed positions to compare.
    plain, styled = show(body=body, motion="reduce"), show(body=body, motion="reduce", css=pages.THEME_CSS)
    assert plain.evaluate("looksInside()") == styled.evaluate("looksInside()")


def test_the_styles_of_the_stage_do_not_affect_the_page(show):
    outside = (
        "<table><tr><td>1</td></tr></table><button>out</button><p>text <code>x</code></p><svg><text>t</text></svg>"
    )
    alone, beside = show(body=outside), show(body=outside + pages.element(pages.trace("stale")))
    assert alone.evaluate("looksOutside()") == beside.evaluate("looksOutside()")


@pytest.mark.parametrize("name", pages.NAMES)
def test_the_page_and_python_draw_the_same_picture(show, name):
    page = show(name, width=760, motion="reduce")
    trace = pages.trace(name)
    assert page.evaluate("inside('.space').clientWidth") == 760
    count = len(steps_of(name))
    for step in sorted({0, count // 2, count - 1}):
        ours = picture.svg(trace, 0, step, 760)
        assert page.evaluate("([t, step]) => memoryStage.picture(t, {step, width: 760})", [trace, step]) == ours
        page.evaluate(f"host().go({step})")
        drawn, same = page.evaluate("t => drawnAnd(t, host().options)", trace)
        assert drawn == same


def test_without_javascript_the_picture_and_the_sentences_remain(show):
    trace = pages.trace("three")
    words = "".join(f"<p>{pages.escaped(pages.spoken(step['say']))}</p>" for step in trace["variants"][0]["steps"])
    page = show(body=pages.element(trace, picture.svg(trace) + words), js=False)
    assert box_of(page.locator("memory-stage svg"))["width"] == 760
    shown = page.locator("memory-stage").inner_text()
    for step in trace["variants"][0]["steps"]:
        assert pages.spoken(step["say"]) in shown


def test_the_stage_replaces_the_fallback(show):
    page = show(body=pages.element(pages.trace("three"), "<p id='fallback'>in words</p>"))
    assert not page.locator("#fallback").is_visible()
    assert page.locator("memory-stage button.next").is_visible()


def test_the_fallback_remains_visible_if_the_data_are_invalid(browser):
    page = browser.new_page()
    data = '<script type="application/json">{"no</script>'
    page.set_content(pages.page(f"<memory-stage>{data}<p>in words</p></memory-stage>"))
    assert page.locator("memory-stage p").is_visible()
    page.close()


def test_attributes_of_the_element_choose_the_opening_variant_and_step(show):
    page = show(body=pages.element(pages.trace("stale"), attributes='variant="cow" step="4"'))
    assert page.evaluate("[host().at.variant, host().at.step]") == [1, 3]


NEXT_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
LIGHT, DARK = ("rgb(255, 255, 255)", "rgb(26, 29, 33)"), ("rgb(20, 24, 30)", "rgb(235, 235, 231)")


@pytest.mark.parametrize("scheme, attribute, expected", [
    ("light", "", LIGHT), ("dark", "", DARK),
    ("dark", "document.documentElement.dataset.theme = 'light'", LIGHT),
    ("light", "document.documentElement.dataset.theme = 'dark'", DARK),
    ("light", "document.body.dataset.jpThemeLight = 'false'", DARK),
    ("dark", "document.body.dataset.jpThemeLight = 'true'", LIGHT),
    ("light", "document.documentElement.dataset.theme = 'auto'", LIGHT),
])  # fmt: skip
def test_colours_follow_the_page_rather_than_the_system(show, scheme, attribute, expected):
    page = show("stale", scheme=scheme)
    page.evaluate(attribute or "0")
    page.evaluate(NEXT_FRAME)
    assert tuple(page.evaluate("colours()")) == expected


@pytest.mark.parametrize(
    "scheme, theme, expected",
    [("light", "", LIGHT), ("dark", "", DARK), ("light", "dark", DARK), ("dark", "light", LIGHT)],
)
def test_the_colours_of_the_fallback_follow_the_page(show, scheme, theme, expected):
    trace = pages.trace("three")
    page = show(body=pages.element(trace, picture.svg(trace)), script=False, scheme=scheme, theme=theme)
    assert page.evaluate("getComputedStyle(document.querySelector('memory-stage svg text')).fill") == expected[1]


def test_a_picture_without_its_style_sheet_is_still_light_and_readable(show):
    svg = picture.svg(pages.trace("stale"), step=3)
    bare = svg[: svg.index("<style>")] + svg[svg.index("</style>") + 8 :]
    page = show(body=bare, script=False)
    fills = page.evaluate("[...document.querySelectorAll('svg text, svg rect')].map(el => getComputedStyle(el).fill)")
    assert "rgb(0, 0, 0)" not in fills


def test_reduced_motion_stops_the_fade(show):
    animated = "getComputedStyle(inside('.pic .new')).animationName"
    assert show("stale").evaluate(animated) == "memory-new"
    assert show("stale", motion="reduce").evaluate(animated) == "none"


def test_in_print_all_sentences_and_verdicts_are_shown_in_light_colours(show):
    page = show("stale", scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    drawn(page)
    assert tuple(page.evaluate("colours()")) == LIGHT
    assert page.locator("tbody td:last-child").all_inner_texts() == ["refused", "right: [2, 4, 6]"]
    for hidden in ("button.next", "input[type=range]", "summary"):
        assert not page.locator(hidden).first.is_visible()
    assert page.locator(".chart svg").is_visible()
    said = page.locator("details.all").inner_text()
    for step in steps_of("stale"):
        assert pages.spoken(step["say"]) in said
    assert len(page.pdf()) > 10_000


def test_after_printing_the_stage_is_as_before(show):
    page = show("stale")
    page.evaluate("host().go(1)")
    before = page.locator(".stage").inner_text(), page.evaluate("host().at.step")
    page.evaluate("for (const when of ['beforeprint', 'beforeprint']) dispatchEvent(new Event(when))")
    assert soon(page.locator("details.all").evaluate, "box => box.open")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert soon(lambda: not page.locator("details.all").evaluate("box => box.open"))
    assert soon(lambda: (page.locator(".stage").inner_text(), page.evaluate("host().at.step"))) == before
    page.evaluate("host().showDetails(true)")
    page.locator("details.all summary").first.click()  # lists that the reader opened remain open
    page.evaluate("for (const when of ['beforeprint', 'afterprint']) dispatchEvent(new Event(when))")
    assert soon(page.locator("details.all").evaluate, "box => box.open")


# Scroll positions on a page that begins with much text, each with two values: True if the controls are at the lower
# edge of the window, and True if they cover the chooser.
OVER = """() => {
    document.body.prepend(Object.assign(document.createElement('div'), { style: 'height: 2000px' }));
    const found = [], at = sel => host().shadowRoot.querySelector(sel).getBoundingClientRect();
    for (let y = 0; y < document.documentElement.scrollHeight - innerHeight; y += 30) {
        scrollTo(0, y);
        const controls = at('.time'), chooser = at('.chooser');
        const over = controls.top < chooser.bottom && chooser.top < controls.bottom;
        found.push([Math.abs(controls.bottom - innerHeight) < 2, over]);
    }
    return found;
}"""


def test_on_a_phone_the_controls_stay_in_view_and_never_cover_the_chooser(show):
    page = show("stale", width=390)
    page.set_viewport_size({"width": 390, "height": 640})
    drawn(page)
    found = page.evaluate(OVER)
    assert sum(held for held, _ in found) > 5
    assert not any(over for _, over in found)


def test_two_stages_on_one_page_share_one_script_and_step_separately(show):
    body = pages.element(pages.trace("stale")) + pages.element(pages.trace("stale"))
    page = show(body=body + f"<script>{picture.script_source()}</script>")
    first, second = page.locator("memory-stage").all()
    first.locator("button.next").click()
    first.locator("select").select_option(index=1)
    assert soon(first.locator("output").inner_text) == "step 2 of 7, forward"
    assert soon(second.locator("output").inner_text) == "step 1 of 6, forward"
    assert soon(second.locator("select").input_value) == "0"


def test_a_stage_that_is_moved_or_added_later_works(show):
    page = show("three")
    page.locator("button.next").click()
    page.evaluate("document.body.append(host())")
    page.locator("button.next").click()
    assert soon(page.evaluate, STEP) == 2
    page.evaluate(
        "t => document.body.append(Object.assign(document.createElement('memory-stage'), {trace: t}))",
        pages.trace("slice"),
    )
    assert soon(page.locator("memory-stage").nth(1).locator("output").inner_text) == "step 1 of 9, forward"


def test_the_widget_module_renders_and_follows_its_model(show):
    page = show(body="<div id='cell'></div>", script=False)
    page.add_script_tag(type="module", content=picture.widget_source().replace("export default", "globalThis.widget ="))
    page.wait_for_function("globalThis.widget")
    page.evaluate("t => { globalThis.model = modelOf(t) }", pages.trace("three"))
    page.evaluate("globalThis.dispose = widget.render({model, el: document.querySelector('#cell')}), null")
    assert page.locator("output").inner_text() == "step 1 of 3"
    page.evaluate("t => model.set(t)", pages.trace("slice"))
    assert page.locator("output").inner_text() == "step 1 of 9, forward"
    page.evaluate("dispose()")
    assert page.evaluate("Object.keys(model.listeners)") == []


def test_a_button_unfolds_the_folded_storages(show):
    page = show("many-tensors")
    page.evaluate("host().showDetails(true); host().go(10)")
    button = page.get_by_role("button", name="Show every storage")
    height = box_of(page.locator(".pic svg"))["height"]
    button.click()
    assert soon(button.get_attribute, "aria-pressed") == "true"
    assert soon(lambda: box_of(page.locator(".pic svg"))["height"]) > height
    assert soon(lambda: "more storages" not in page.locator(".pic").inner_text())


def test_no_line_breaks_between_a_number_of_bytes_and_its_unit(show):
    page = show("preserved", width=390)
    page.evaluate("host().go(0)")
    amounts = "place => [...inside(place).querySelectorAll('.whole')].map(one => one.textContent)"
    assert "24 bytes" in page.evaluate(amounts, ".say")
    assert page.evaluate("getComputedStyle(inside('.say .whole')).whiteSpace") == "nowrap"
    page.evaluate("host().go(host().frames.length - 1)")
    (apart,) = page.evaluate(amounts, ".diff")
    assert apart.endswith(" B")


@pytest.mark.parametrize(
    "lines, parts",
    [
        (["y = w.clone()", "y = w.detach()", "y = w.clone().detach()"], ["clone", "detach", "clone().detach"]),
        (["y = x.pow(2)", "z = x.clone()", "z = x + 1"], ["y = x.pow(2)", "z = x.clone()", "z = x + 1"]),
        (["y = x.pow(2)", "h = w.clone()", "h = w.sin()"], ["y = x.pow(2)", "h = w.clone()", "h = w.sin()"]),
        (["y = x[0]", "y = x[1]", "y = x[2]"], ["0", "1", "2"]),
    ],
)
def test_the_differing_part_of_a_line_that_a_reader_chooses_has_balanced_brackets(show, lines, parts):
    trace = pages.trace("three")
    for variant, line in zip(trace["variants"], lines, strict=True):
        variant["code"][2] = line
    page = show(body=pages.element(trace))
    for number, part in enumerate(parts):
        page.evaluate(f"host().choose({number})")
        assert page.locator(".handle > span").first.text_content() == part
