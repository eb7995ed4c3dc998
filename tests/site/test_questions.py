"""Questions in their chapters: each leads into a stage of its page, at the line that shows the answer."""

from __future__ import annotations

import pytest

from tests.chapters.chapter import pages

# The line of the program that the stage stands at, and whether a button of it has the focus.
NOW = """stage => [
    stage.shadowRoot.querySelector(".code .now")?.dataset.line,
    stage.shadowRoot.activeElement?.tagName,
    stage.variant.label,
]"""
TITLED = "(title) => [...document.querySelectorAll('memory-stage')].find(stage => stage.data.title === title)"
FOLLOWING = """question => [...document.querySelectorAll("memory-stage")].find(
    stage => question.compareDocumentPosition(stage) & Node.DOCUMENT_POSITION_FOLLOWING)"""


@pytest.mark.parametrize("opened", pages(), indirect=True)
def test_a_question_leads_to_the_line_that_shows_its_answer(opened):
    for question in opened.page.locator("predict-first:has(.mt-proof)").element_handles():
        proof = question.eval_on_selector(".mt-proof", "proof => ({...proof.dataset})")
        question.eval_on_selector("summary", "summary => summary.click()")
        button = question.wait_for_selector(".mt-look:not([hidden])")
        assert button.inner_text() == f"Step the stage to line {proof['line']}"
        button.click()
        if "stage" in proof:
            stage = opened.page.evaluate_handle(TITLED, proof["stage"]).as_element()
        else:
            stage = question.evaluate_handle(FOLLOWING).as_element()
        line, focus, variant = stage.evaluate(NOW)
        assert (line, focus) == (proof["line"], "BUTTON"), proof
        assert proof.get("variant", variant) == variant
    assert opened.complaints == []


def test_a_guess_about_a_leaf_is_broken_by_the_stage_and_kept_on_the_next_visit(site, visit):
    seen = visit(f"{site}chapters/08_leaves.html")
    question = seen.page.locator("predict-first").first
    question.get_by_role("radio", name="the gradient by the old w", exact=True).check()
    question.get_by_role("button", name="Check").click()
    assert question.get_by_role("status").inner_text().startswith("Not this one.")
    question.get_by_role("button", name="Step the stage to line 6").click()
    stage = seen.page.locator("memory-stage", has_text="One step of training").first
    assert "h" in stage.locator(".code .now").inner_text()
    seen.page.reload()
    assert seen.page.locator("predict-first .mt-mark").all_inner_texts() == ["✗ not this one"]


def test_without_scripts_the_answer_says_which_line_of_which_stage_shows_it(site, visit):
    seen = visit(f"{site}chapters/08_leaves.html", scripts=False)
    question = seen.page.locator("predict-first").first
    question.locator("summary").click()
    assert question.get_by_text("See line 6 of the stage “One step of training”, in place.").is_visible()
    assert question.get_by_text("That is the usual guess.").is_visible()
