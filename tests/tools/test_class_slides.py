"""Test which pieces of a page are put on slides. The page has one stage and one exercise."""

from __future__ import annotations

import pytest

from _ext.book_pages.built_page import BuiltPage
from _ext.book_pages.teaching import _notes
from book_kit import predict

DATA = '{"title": "A view", "ask": "Who reads `x`?", "variants": [{"label": ""}]}'
STAGE = f'<memory-stage loading="lazy"><script type="application/json">{DATA}</script></memory-stage>'
TEXT = "<p><strong>1. Windows.</strong> Return all windows.</p>"
CODE = '<div class="highlight"><pre>def windows(x, k): ...</pre></div>'


def page(*pieces):
    return BuiltPage("chapters/03_views", f"<article><h1>3. Views</h1>{''.join(pieces)}</article>")


def test_a_stage_on_a_slide_opens_at_its_first_step():
    stage = page(STAGE).stage("A view")
    assert stage["step"] == "1"
    assert "loading" not in stage.attrs  # a lazy stage waits until a reader scrolls to it, and slides do not scroll


def test_the_slide_of_an_exercise_has_its_text_and_its_code():
    shown = page("<pre>earlier</pre>", TEXT, CODE, "<pre>later</pre>").exercise("Windows")
    assert shown.get_text() == "1. Windows. Return all windows.def windows(x, k): ..."


def test_an_exercise_without_code_is_an_error():
    with pytest.raises(Exception, match=r"no code after the exercise 'Windows'"):
        page(TEXT).exercise("Windows")


def test_the_text_of_a_stage_ends_with_the_last_paragraph_that_names_one_of_its_steps():
    mark = '<span class="step-mark" data-stage="A view">line 1</span>'
    text = f"<p>One.</p><noscript></noscript><p>{mark} Two.</p><p>Three.</p>"
    paragraphs = page("<p>Zero.</p>", f"<div>{STAGE}</div>", text).paragraphs_of("A view")
    assert [each.get_text() for each in paragraphs] == ["One.", "line 1 Two."]
    assert page(STAGE, text).paragraphs_of("A copy") == []


def test_the_help_for_an_exercise_is_its_hint_and_its_solution():
    hint = '<details class="sd-dropdown"><div class="sd-summary-content">Count.</div></details>'
    solution = '<details class="hide"><div class="highlight"><pre>return 1</pre></div></details>'
    found = page(TEXT, CODE, hint, solution).help("Windows")
    assert [each.get_text() for each in found] == ["Count.", "return 1"]


def test_the_notes_give_the_minutes_of_each_part_and_the_mistake_in_each_wrong_answer():
    asked = predict("What is it?", {"a view": "It copies nothing.", "a copy": "You counted twice."}, "a view")
    pages = {"a": page(asked._repr_mimebundle_()["text/html"], STAGE)}
    show = [{"question": "What is it?", "minutes": 4}, {"stage": "A view", "minutes": 6}]
    part = {"page": "a", "title": "Views", "aim": "Find views.", "say": "Look & see."}
    plan = {
        "parts": [{**part, "minutes": 12, "show": show}, {**part, "minutes": 15, "show": []}],
        "quiet": {"question": 2, "stage": 0.5, "remember": 1},
        "remember": {"minutes": 3, "pages": ["a"], "say": "Read.", "home": ["Look."]},
        "opening": {"page": "a", "stage": "A view", "say": "Ask `x`."},
    }
    notes = "\n".join(_notes(plan, pages, str.format))
    assert "<p>Who reads <code>x</code>?</p>" in notes
    assert "Minutes 0 to 12" in notes and "Minutes 12 to 27" in notes and "Minutes 27 to 30" in notes
    assert "<strong>Slide 2, before the class: stage</strong>" in notes and "<p>Ask <code>x</code>.</p>" in notes
    assert "Slide 3, minutes 0 to 2: say</h3>\n<p>Look &amp; see.</p>" in notes
    assert "Slide 4, minutes 2 to 6: question" in notes and "vote again: 2 minutes" in notes
    assert "Slide 5, minutes 6 to 12: stage" in notes and "guess for half a minute" in notes
    assert "Slide 6, minutes 12 to 27: say" in notes
    assert "<strong>a view</strong>" in notes and "You counted twice." in notes
