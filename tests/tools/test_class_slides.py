"""Test the pieces of a page that slides show, on a page of one stage and one exercise."""

from __future__ import annotations

import pytest

from _ext.book_pages.teaching import BuiltPage, _notes
from book_kit import predict

DATA = '{"title": "A view", "ask": "Who reads `x`?"}'
STAGE = f'<memory-stage loading="lazy"><script type="application/json">{DATA}</script></memory-stage>'
TEXT = "<p><strong>1. Windows.</strong> Return all windows.</p>"
CODE = '<div class="highlight"><pre>def windows(x, k): ...</pre></div>'


def page(*pieces):
    return BuiltPage("chapters/03_views", f"<article><h1>3. Views</h1>{''.join(pieces)}</article>")


def test_a_stage_on_a_slide_opens_at_its_first_step():
    stage = page(STAGE).stage("A view")
    assert stage["step"] == "1"
    assert "loading" not in stage.attrs  # nothing scrolls on a slide


def test_the_slide_of_an_exercise_has_its_text_and_its_code():
    shown = page("<pre>earlier</pre>", TEXT, CODE, "<pre>later</pre>").exercise("Windows")
    assert shown.get_text() == "1. Windows. Return all windows.def windows(x, k): ..."


def test_an_exercise_without_code_is_an_error():
    with pytest.raises(Exception, match=r"no code after the exercise 'Windows'"):
        page(TEXT).exercise("Windows")


def test_the_notes_give_the_minutes_of_each_part_and_the_mistake_in_each_wrong_answer():
    asked = predict("What is it?", {"a view": "It copies nothing.", "a copy": "You counted twice."}, "a view")
    pages = {"a": page(asked._repr_mimebundle_()["text/html"], STAGE)}
    show = [{"question": "What is it?"}, {"stage": "A view"}]
    part = {"page": "a", "title": "Views", "aim": "Find views.", "show": show}
    notes = "\n".join(_notes({"parts": [{**part, "minutes": 12}, {**part, "minutes": 15, "show": []}]}, pages))
    assert "Before you step, ask: Who reads <code>x</code>?" in notes
    assert "Minutes 0 to 12" in notes and "Minutes 12 to 27" in notes
    assert "<strong>a view</strong>" in notes and "You counted twice." in notes
    assert "<strong>Stage:</strong> A view" in notes
