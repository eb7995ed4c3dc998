"""Test long programs on a page: jumps, search, passes of loops, questions about the picture, and the legend."""

from __future__ import annotations

import pytest

import memory_stage as stage
from tests.support.waiting import drawn, soon
from tests.support.web import pages
from tests.support.web.stepping import STEP, sentence, squeezed, steps_of, tab_to

NESTED = """
x = mt.ones([2])
for epoch in range(3):
    for batch in range(4):
        y = x * 2.0
        x.add_(y)
    print(epoch)
"""


@pytest.fixture
def show(show):
    """Return a function that opens a page with a stage and opens its details."""

    def show_details(name=None, **look):
        page = show(name, **look)
        page.evaluate("host().showDetails(true)")
        return page

    return show_details


@pytest.fixture(scope="module")
def nested():
    """Record a program with a loop inside a loop."""
    return stage.record(NESTED).data


def status(page):
    return page.locator(".found").inner_text()


# ---------- jumps, search and loops ----------


@pytest.mark.parametrize("name", ["three", "stale", "policies", "views"])
def test_the_stage_of_a_short_program_has_no_jump_buttons(show, name):
    page = show(name)
    assert not page.locator(".find").is_visible()
    page.evaluate("host().go(Infinity)")
    assert not page.locator(".find").is_visible()


def test_a_jump_leads_to_the_next_event_and_from_the_last_event_to_the_first(show):
    page = show("loop")
    steps = steps_of("loop")
    made = [k for k, step in enumerate(steps) if any(event["do"] == "storage" for event in step["events"])]
    button = page.get_by_role("button", name=f"next allocation {len(made)}", exact=True)
    visited = []
    for _ in range(4):
        button.click()
        visited.append(page.evaluate(STEP))
    assert visited == made[1:5]  # the first step also allocates
    assert soon(status, page) == f"allocation 5 of {len(made)}: step {made[4] + 1}"
    button.click(modifiers=["Shift"])
    assert soon(page.evaluate, STEP) == made[3]
    page.evaluate("host().go(Infinity)")
    button.click()
    assert soon(page.evaluate, STEP) == made[0]
    assert soon(page.get_by_role("button", name="next write").count) == 0  # this variant contains no write
    page.evaluate("host().choose(1)")
    assert soon(page.get_by_role("button", name="next write 40", exact=True).count) == 1


def test_a_key_on_the_peak_button_shows_the_peak_and_the_button_keeps_the_focus(show):
    page = show("loop")
    peaks = [step["peak"] for step in steps_of("loop")]
    tab_to(page, "[data-jump=peak]")
    page.keyboard.press("Enter")
    assert soon(page.evaluate, STEP) == peaks.index(max(peaks))
    assert soon(status, page) == f"peak: step {peaks.index(max(peaks)) + 1}"
    page.keyboard.press("ArrowRight")  # stepping continues from the step of the peak
    assert soon(page.evaluate, STEP) == peaks.index(max(peaks)) + 1
    assert soon(page.evaluate, "focused().dataset.jump") == "peak"


def test_a_search_counts_its_hits_and_visits_them(show):
    page = show("loop")
    hits = [k for k, step in enumerate(steps_of("loop")) if "1.1" in step["say"] or step["line"] == 4]
    tab_to(page, "[type=search]")
    page.keyboard.type("1.1")
    assert soon(status, page) == f"{len(hits)} steps"
    page.keyboard.press("Enter")
    assert soon(page.evaluate, STEP) == hits[0]
    page.keyboard.press("Enter")
    assert soon(page.evaluate, STEP) == hits[1]
    assert soon(status, page) == f"2 of {len(hits)}: step {hits[1] + 1}"
    page.get_by_role("button", name="Hit before").click()
    page.get_by_role("button", name="Hit before").click()
    assert soon(page.evaluate, STEP) == hits[-1]
    page.keyboard.press("Home")  # the focus is on a button of the stage
    assert soon(page.evaluate, STEP) == 0
    page.locator("[type=search]").fill("<b>nowhere")
    page.keyboard.press("Enter")
    assert soon(lambda: (status(page), page.evaluate(STEP))) == ("not found", 0)


def test_keys_in_the_search_field_move_only_the_caret(show):
    page = show("loop")
    tab_to(page, "[type=search]")
    page.keyboard.type("ab")
    for key in ("ArrowLeft", "Home", "End", "ArrowRight"):
        page.keyboard.press(key)
    assert soon(page.evaluate, STEP) == 0


def test_a_button_shows_the_corresponding_step_of_the_next_pass_of_a_loop(show, nested):
    page = show(body=pages.element(nested))
    steps = nested["variants"][0]["steps"]
    assert page.locator(".pass").count() == 2
    add = next(k for k, step in enumerate(steps) if step["line"] == 5)
    page.evaluate(f"host().go({add})")
    outer, inner = page.locator(".pass .told").all()
    assert (outer.inner_text(), inner.inner_text()) == ("line 2, pass 1 of 3", "line 3, pass 1 of 4")
    page.get_by_role("button", name="Next inner pass").click()
    assert soon(lambda: steps[page.evaluate(STEP)]["passes"]) == [[2, 1], [3, 2]]
    assert soon(lambda: steps[page.evaluate(STEP)]["line"]) == 5
    page.get_by_role("button", name="Next pass", exact=True).click()
    assert soon(lambda: steps[page.evaluate(STEP)]["passes"][0]) == [2, 2]
    assert soon(lambda: steps[page.evaluate(STEP)]["line"]) == 5
    slider = page.get_by_role("slider", name="Pass of the loop")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert soon(lambda: steps[page.evaluate(STEP)]["passes"][0]) == [2, 3]
    assert soon(slider.get_attribute, "aria-valuetext") == "line 2, pass 3 of 3"
    assert soon(page.get_by_role("button", name="Next pass", exact=True).get_attribute, "aria-disabled") == "true"


def test_the_pass_buttons_lead_from_a_step_outside_of_a_loop_into_the_loop(show):
    page = show("loop")
    slider = page.get_by_role("slider", name="Pass of the loop")
    assert page.locator(".pass .told").inner_text() == "line 3: 40 passes, to come"
    assert slider.is_disabled()
    page.get_by_role("button", name="Next pass", exact=True).click()
    assert soon(page.evaluate, STEP) == 2
    assert soon(slider.is_enabled)
    page.evaluate("host().go(Infinity)")
    assert soon(page.locator(".pass .told").inner_text) == "line 3: 40 passes, done"
    page.get_by_role("button", name="Pass before").click()
    assert soon(page.evaluate, STEP) == 41


def test_the_list_of_all_steps_folds_loops_and_shows_repeated_sentences_once(show):
    page = show("loop")
    page.evaluate("host().go(60); inside('.all').open = true")
    rows = page.locator("details.all > ol > li")
    page.wait_for_function("document.querySelector('memory-stage').shadowRoot.querySelector('.all li')")
    assert rows.count() == 7
    assert rows.nth(2).inner_text() == "Loop of line 3, 40 passes: steps 3 to 42"
    assert rows.nth(5).get_attribute("value") == "45"
    assert rows.nth(5).get_attribute("aria-current") == "step"
    assert "steps 45 to 84 alike" in rows.nth(5).inner_text()
    page.evaluate("host().go(30)")
    rows.nth(2).locator("summary").click()
    loop = page.locator(".all details details summary")
    loop.nth(39).wait_for()  # the list is written when the loop is opened
    assert loop.count() == 40
    current = page.locator(".all summary[aria-current]").all_inner_texts()
    assert current == ["Loop of line 3, 40 passes: steps 3 to 42", "Pass 29: step 31"]
    loop.nth(28).click()
    page.locator(".all li li li[aria-current=step]").wait_for()  # the list is written when the pass is opened
    assert page.locator(".all li li li[aria-current=step]").count() == 1


def test_in_print_two_passes_of_a_loop_are_shown_and_the_others_only_summarized(show):
    page = show("loop")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    drawn(page)
    said = squeezed(page.locator("details.all").inner_text())
    reported = [step for step in steps_of("loop") if max([n for _, n in step.get("passes", [])], default=1) <= 2]
    assert 4 < len(reported) < len(steps_of("loop"))
    for step in reported:
        assert squeezed(pages.spoken(step["say"])) in said
    seen = [text for text in page.locator(".all summary").all() if text.is_visible()]
    assert [text.inner_text() for text in seen] == [
        "Loop of line 3, 40 passes: steps 3 to 42",
        *(f"Pass {n}: step {n + 2}" for n in (1, 2, 3)),
    ]
    assert seen[-1].evaluate("last => getComputedStyle(last, '::after').content") == '" and so on"'
    for hidden in (".find", ".asking label"):
        assert not page.locator(hidden).is_visible()


# ---------- questions ----------


def test_a_click_on_a_storage_asks_about_the_storage_and_a_second_click_ends_the_question(show):
    page = show("stale", motion="reduce")  # a click on a moving storage would hit its old position
    page.evaluate("host().go(3)")
    page.mouse.click(*page.evaluate("placeOf('[data-storage=\"2\"]')"))
    answered = page.get_by_role("status").filter(has_text="Storage 2")
    assert soon(lambda: squeezed(answered.inner_text())) == (
        "Storage 2, 12 B, is held by a and multiply (line 3, saved a@0). Without a it would stay, for backward."
    )
    assert soon(lambda: set(page.evaluate("ringed()"))) >= {"2"}
    assert soon(page.locator(".which .told").inner_text) == "storage 2"
    page.mouse.click(*page.evaluate("placeOf('[data-storage=\"2\"]')"))
    assert soon(page.locator(".answer").inner_text) == ""
    assert soon(page.evaluate, "ringed()") == []
    page.mouse.click(*page.evaluate("placeOf('[data-tensor=\"t2\"]')"))
    assert soon(lambda: page.locator(".answer").inner_text().startswith("a reads 3 cells of storage 2."))


def test_a_question_remains_while_stepping_and_its_answer_is_updated(show):
    page = show("stale")
    page.evaluate("host().choose(1); host().ask({ storage: '4' })")
    said = []
    for step in range(7):
        page.evaluate(f"host().go({step})")
        said.append(page.locator(".answer").inner_text())
    assert said[:3] == ["Storage 4 does not exist at this step."] * 3
    assert said[3].startswith("Storage 4, 12 B, is held by multiply (line 3, keeps a copy of a@0).")
    assert said[6] == "Storage 4 was freed at step 6 (line 5). Nobody holds its bytes any more."


def test_a_question_about_a_folded_storage_unfolds_it(show):
    page = show("many-tensors")
    page.evaluate("host().go(10)")
    folded = page.evaluate("""() => {
        const isInFull = id => inside(`.pic [data-storage="${id}"]`)?.getBoundingClientRect().height > 20;
        return [...host().frames[10].storages.values()].find(s => s.freed === undefined && !isInFull(s.id)).id;
    }""")
    page.evaluate("id => host().ask({ storage: id })", folded)
    assert folded in page.evaluate("ringed()")


def test_the_button_asks_about_the_latest_storage_and_a_second_click_ends_the_question(show):
    page = show("slice")
    page.evaluate("host().go(3)")
    page.get_by_role("button", name="Who holds these bytes?").click()
    assert "is held by b and v" in soon(page.locator(".answer").inner_text)
    assert "2" in soon(page.evaluate, "ringed()")
    page.get_by_role("button", name="Who holds these bytes?").click()
    assert soon(lambda: (page.locator(".answer").inner_text(), page.evaluate("ringed()"))) == ("", [])


def test_every_question_can_be_asked_by_keyboard(show):
    page = show("slice")
    page.evaluate("host().go(3)")
    tab_to(page, ".who")
    page.keyboard.press("Space")
    tab_to(page, '[data-ask="1"]')
    asked = []
    for _ in range(5 + 6):
        asked.append(page.locator(".which .told").inner_text())
        if asked[-1] == "v":
            assert soon(
                lambda: page.locator(".answer").inner_text().startswith("v reads 2 cells of storage 2. Of these, b")
            )
        page.keyboard.press("Enter")
    cells = [f"cell {cell} of storage {storage}" for storage in (1, 2) for cell in range(3)]
    # after the last question, the first is asked again
    assert asked == ["storage 2", "x", "b", "v", *cells, "storage 1"]
    assert soon(page.locator(".which .told").inner_text) == "storage 2"
    page.keyboard.press("Escape")
    assert soon(lambda: (page.evaluate(STEP), page.locator(".answer").inner_text())) == (3, "")


def test_the_answer_about_a_cell_lists_its_readers_and_the_operation_that_saved_it(show):
    page = show("slice", motion="reduce")
    page.evaluate("host().go(3)")
    page.mouse.click(*page.evaluate('placeOf(\'[data-storage="2"] [data-cell="2"]\')'))
    assert soon(page.locator(".answer").inner_text) == "Cell 2 of storage 2 holds 3. b reads it."
    page.mouse.click(*page.evaluate('placeOf(\'[data-storage="2"] [data-cell="0"]\')'))
    assert "b and v read it." in soon(page.locator(".answer").inner_text)
    stale = show("stale", motion="reduce")
    stale.evaluate("host().go(3)")
    stale.mouse.click(*stale.evaluate('placeOf(\'[data-storage="2"] [data-cell="0"]\')'))
    stale.wait_for_function("host().shadowRoot.querySelector('.answer').innerText !== ''")
    reported = squeezed(stale.locator(".answer").inner_text())
    assert reported.startswith(
        "Cell 0 of storage 2 holds 2, before this step 1. a reads it. multiply (line 3, saved a@0)"
    )
    assert reported.endswith("needs it for backward; numbers were overwritten, so backward will refuse.")


def test_the_part_under_the_mouse_is_marked_and_has_the_answer_of_a_click(show):
    page = show("slice", motion="reduce")
    page.evaluate("host().go(3)")
    page.mouse.move(*page.evaluate('placeOf(\'[data-storage="2"] [data-cell="2"]\')'))
    assert soon(page.locator(".tip").inner_text) == "Cell 2 of storage 2 holds 3. b reads it."
    assert soon(lambda: set(page.evaluate("ringed()"))) == {"2", "t2"}
    page.mouse.move(1, 1)
    assert soon(page.locator(".tip").inner_text) == ""
    assert soon(page.evaluate, "ringed()") == []


def test_an_answer_with_hostile_names_does_not_become_markup(show):
    page = show("hostile")
    for step in range(3):
        page.evaluate(f"host().go({step})")
        page.evaluate("host().ask(host().questions.latestStorage())")
        reported = set()
        for _ in range(8):
            reported.add(page.locator(".which .told").inner_text())
            assert page.locator(".answer").inner_text()
            assert page.locator(".asking :is(img, b, i, u, script)").count() == 0
            page.get_by_role("button", name="The next one").click()
        assert len(reported) > 1


def test_taps_change_the_step_ask_a_question_and_jump(browser):
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.set_content(pages.page(pages.element(pages.trace("loop"))))
    page.add_script_tag(content=(pages.FOLDER.parent / "probes.js").read_text())
    page.locator(".next").tap()
    page.locator(".deeper").tap()
    page.locator("[data-jump=peak]").tap()
    assert soon(page.evaluate, STEP) == [step["peak"] for step in steps_of("loop")].index(28)
    page.locator(".pic [data-storage='1'] > text").first.tap()
    assert soon(lambda: page.locator(".answer").inner_text().startswith("Storage 1, 8 B, is held by x."))
    page.locator(".code li").nth(1).tap()
    assert soon(page.evaluate, STEP) == 1
    context.close()


# ---------- the line at fault ----------


def test_the_lines_that_saved_and_overwrote_a_tensor_are_marked_while_it_is_stale(show):
    page = show("stale")
    blamed = []
    for step in range(6):
        page.evaluate(f"host().go({step})")
        lines = page.locator(".code li").filter(has=page.locator(".blame"))
        blamed.append([squeezed(line.inner_text()) for line in lines.all()])
    assert blamed[:3] == [[], [], []]
    assert blamed[3] == ["3 y = a * a saved a@0", "4 a.add_(1) overwrote a@0"]
    assert blamed[5] == blamed[3]
    page.evaluate("host().choose(1); host().go(3)")
    assert page.locator(".blame").count() == 0  # under copy on write the saved values are preserved


def test_a_tensor_with_only_a_new_version_is_not_called_overwritten(show):
    page = show("policies")
    page.evaluate("host().go(5)")
    assert page.locator(".blame").all_inner_texts() == ["saved a@0", "saved a@0", "overwrote a@0, wrote beside a@0"]


def test_a_line_is_not_blamed_before_it_has_run(show):
    trace = pages.trace("stale")
    trace["variants"][0]["steps"][4]["events"].append({"do": "stale", "ids": ["s1"], "lost": True})
    page = show(body=pages.element(trace))
    for step, lines in ((3, ["3", "4"]), (4, ["3", "4", "5"])):
        page.evaluate(f"host().go({step})")
        blamed = page.locator(".code li").filter(has=page.locator(".blame")).locator(".n")
        assert blamed.all_inner_texts() == lines


# ---------- the legend, zoom ----------


@pytest.mark.parametrize("name", pages.NAMES)
def test_the_legend_explains_every_mark_that_occurs_and_no_other(show, name):
    page = show(name)
    page.evaluate("openAll()")
    page.wait_for_function("document.querySelector('memory-stage').shadowRoot.querySelector('.legend li')")
    rows = page.evaluate("legend()")
    assert all(drawn for _, drawn in rows)
    reported = " ".join(text for text, _ in rows)
    variants = pages.trace(name)["variants"]
    events = [
        event for v in variants for part in (v.get("before", []), *(s["events"] for s in v["steps"])) for event in part
    ]
    does = {event["do"] for event in events}
    for occurs, words in (
        ("write" in does, "written at this step"),
        (any(event["do"] == "free" and event["storages"] for event in events), "freed"),
        ("unname" in does, "a name that is gone"),
        ("save" in does, "an operation that saved this tensor"),
        ("stale" in does, "backward will refuse"),
        ("preserve" in does or any(event.get("copy") for event in events), "a copy that is kept"),
        ("node" in does, "an operation of the history"),
        ("grad" in does, "the gradient that has arrived"),
        (any(event["do"] == "raise" and "node" in event for event in events), "and stopped"),
        (any(event["do"] == "name" and event["kind"] == "line" for event in events), "held by the running line"),
    ):
        assert (words in reported) == bool(occurs), words


def test_at_a_zoom_of_two_everything_fits_and_a_click_works(show):
    page = show("loop", width=1280, motion="reduce")  # a click on a moving storage would hit its old position
    page.evaluate("document.documentElement.style.zoom = 2")
    page.wait_for_function("document.querySelector('memory-stage').width === 640")
    assert page.evaluate("tooWide()") == []
    page.evaluate("host().go(2)")
    # The window is so low that the storage of an earlier line is folded.
    assert soon(page.locator(".pic [data-storage='1']").count) == 0
    page.locator(".more").click()
    page.locator(".pic [data-storage='1']").scroll_into_view_if_needed()
    page.mouse.click(*page.evaluate("placeOf('[data-storage=\"1\"]')"))
    assert soon(lambda: page.locator(".answer").inner_text().startswith("Storage 1"))
    assert soon(sentence, page)
