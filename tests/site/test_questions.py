"""Test a question in its chapter: a guess is stored, and without scripts the answer names the stage and the line."""

from __future__ import annotations

from bs4 import BeautifulSoup

from tests.support.waiting import soon


def test_a_guess_about_a_leaf_is_refuted_by_the_stage_and_stored_for_the_next_visit(site, visit):
    seen = visit(f"{site}chapters/08_leaves.html")
    question = seen.page.locator("predict-first").first
    question.get_by_role("radio", name="the gradient of w", exact=True).check()
    question.get_by_role("button", name="Check").click()
    assert soon(lambda: question.get_by_role("status").inner_text().startswith("Not this one."))
    question.get_by_role("button", name="Step the stage to line 6").click()
    stage = seen.page.locator("memory-stage", has_text="One step of training").first
    assert "h" in soon(stage.locator(".code .now").inner_text)
    seen.page.reload()
    assert soon(seen.page.locator("predict-first .mt-mark").all_inner_texts) == ["✗ not this one"]


def test_without_scripts_the_answer_names_the_stage_and_the_line_that_show_it(site, visit):
    seen = visit(f"{site}chapters/08_leaves.html", scripts=False)
    question = seen.page.locator("predict-first").first
    question.locator("summary").click()
    assert soon(question.get_by_text("See line 6 of the stage “One step of training”, in place.").is_visible)
    assert soon(question.get_by_text("That is the usual guess.").is_visible)


def outputs_above_questions(html: str) -> list[str]:
    """Return the texts that cells with a question print to stdout, because such a text may give the answer away."""
    cells = BeautifulSoup(html, "html.parser").select(".cell_output:has(predict-first)")
    return [printed.get_text() for cell in cells for printed in cell.select(".output.stream")]


def test_no_cell_prints_above_its_question(book):
    asked = 0
    for file in sorted(book.glob("**/chapters/*.html")):
        html = file.read_text(encoding="utf-8")
        asked += html.count("</predict-first>")
        assert outputs_above_questions(html) == [], file
    assert asked > 100  # in both languages


def test_a_printed_answer_above_a_question_is_reported():
    printed = '<div class="output stream highlight"><pre>[False, True]</pre></div>'
    question = '<div class="output text_html"><predict-first>Which?</predict-first></div>'
    assert outputs_above_questions(f'<div class="cell_output">{printed}{question}</div>') == ["[False, True]"]
    assert outputs_above_questions(f'<div class="cell_output">{question}</div>') == []
    assert outputs_above_questions(f'<div class="cell_output">{printed}</div>') == []
