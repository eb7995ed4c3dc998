"""Test predictions in a browser and as text, and the assets that they need."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from book_kit import predict
from memory_stage import set_language
from memory_stage.web import embed
from memory_stage.web.embed import page_assets, prose
from tests.support.accessibility import violations
from tests.support.waiting import drawn, soon

ROOT = Path(__file__).parents[2]
NOTEBOOK = "book_kit.web"
QUESTION = dict(
    question="`y = x`, then `y.add_(1)`. Is $5 < $6 <b>bold</b>?",
    options={
        "`[1.0, 1.0]`": "That takes a copy, and `=` makes none.",
        "`[2.0, 2.0]`": "One tensor, two names: `x` & `y`.",
        "two lines\n<script>document.title = 'run'</script>": "Nobody <b>said</b> so.",
    },
    answer="[2.0, 2.0]",
)
PAIR = {"a": "it is", "b": "it is not"}


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    """Simulate a new kernel session outside of the book's build."""
    monkeypatch.setattr(embed, "_included_by", {})
    monkeypatch.delenv("MINITENSOR_BOOK", raising=False)


# ---------- mistakes in a question stop the build ----------


def test_an_answer_that_is_not_an_option_is_refused_and_both_are_named():
    with pytest.raises(ValueError) as refusal:
        predict("q", {"`[1.0]`": "no", "`[2.0]`": "yes"}, answer=str([3.0]))
    assert "'[3.0]'" in str(refusal.value) and "`[1.0]`" in str(refusal.value)


def test_an_index_is_refused_as_an_answer():
    with pytest.raises(TypeError, match="not 1 \\(int\\)"):
        predict("q", PAIR, answer=1)


def test_an_answer_must_equal_an_option_word_for_word():
    options = {"1.0": "a float", "`1`": "an integer"}
    assert predict("q", options, answer="1").right == 1
    assert predict("q", options, answer="`1`").right == 1
    with pytest.raises(ValueError):
        predict("q", options, answer=" 1")


@pytest.mark.parametrize("options", [{"a": "w"}, {"a": "w", "`a`": "w"}, {"a": "w", " ": "w"}])
def test_too_few_repeated_and_blank_options_are_refused(options):
    with pytest.raises(ValueError):
        predict("q", options, answer="a")


@pytest.mark.parametrize("options", ["ab", ["a", "b"], {1: "w", 2: "w"}, {"a": None, "b": "w"}])
def test_options_that_are_not_mapped_to_texts_are_refused(options):
    with pytest.raises(TypeError, match="map each option to its text"):
        predict("q", options, answer="a")


def test_an_option_without_an_explanation_is_refused_by_name():
    with pytest.raises(ValueError, match="the option 'b'"):
        predict("q", {"a": "it is", "b": " "}, answer="a")


def test_a_stage_without_a_line_is_refused():
    with pytest.raises(ValueError, match="the stage 'A stage' is named without a line"):
        predict("q", PAIR, answer="a", stage="A stage")


def test_a_picture_together_with_a_line_is_refused():
    with pytest.raises(ValueError, match="gets its picture from the stage"):
        predict("q", PAIR, answer="a", line=1, picture="x = mt.ones([3])")


def test_the_program_of_a_picture_is_an_attribute_of_the_question():
    program = "x = mt.ones([3])\ny = x < 2 & True"
    asked = BeautifulSoup(predict(**QUESTION, picture=program)._repr_mimebundle_()["text/html"], "html.parser")
    assert asked.find("predict-first")["data-picture"] == program
    plain = BeautifulSoup(predict(**QUESTION)._repr_mimebundle_()["text/html"], "html.parser")
    assert not plain.find("predict-first").has_attr("data-picture")


# ---------- text ----------


def test_only_backticks_are_markup():
    assert prose("a `b < c` <i>`") == "a <code>b &lt; c</code> &lt;i&gt;`"


def test_the_text_of_a_question_has_the_options_the_answer_and_the_reason():
    text = predict(**QUESTION)._repr_mimebundle_()["text/plain"]
    for part in (QUESTION["question"], "`[1.0, 1.0]`", "Answer: `[2.0, 2.0]`", *QUESTION["options"].values()):
        assert part in text


def test_the_text_of_a_question_mentions_the_line_of_the_stage():
    text = predict(**QUESTION, stage="Two names", variant="y = x", line=2)._repr_mimebundle_()["text/plain"]
    assert text.endswith("See line 2 of the stage “Two names”, y = x.")
    assert predict(**QUESTION, line=2)._repr_mimebundle_()["text/plain"].endswith("See line 2 of the next stage.")


def test_a_stored_answer_does_not_apply_to_a_changed_question():
    asked = [predict("q", PAIR, "a"), predict("Q", PAIR, "a"), predict("q", {**PAIR, "c": "no"}, "a")]
    assert len({one.name for one in asked}) == 3
    assert predict("q", {"a": "said otherwise", "b": "no"}, "a").name == asked[0].name


# ---------- languages ----------


def test_the_element_has_the_translations_of_all_texts_of_its_script():
    script = (ROOT / "book_kit" / "web" / "js" / "quiz.js").read_text("utf-8")
    texts = set(re.findall(r"\.say\(\s*'([^']+)'", script))
    try:
        set_language("zh")
        page = BeautifulSoup(predict(**QUESTION)._repr_mimebundle_()["text/html"], "html.parser")
    finally:
        set_language(None)
    words = json.loads(page.find("predict-first")["data-words"])
    assert set(words) == texts and len(texts) > 5
    assert [said for said in words.values() if not re.search("[一-鿿]", said)] == []
    assert "data-words" not in predict(**QUESTION)._repr_mimebundle_()["text/html"]


# ---------- assets ----------


def test_the_first_output_of_a_session_carries_the_assets_and_the_next_does_not():
    first, second = (predict(**QUESTION)._repr_mimebundle_()["text/html"] for _ in range(2))
    assert "<style>" in first and "customElements.define" in first
    assert "<style>" not in second and "customElements.define" not in second


def test_a_cell_whose_output_carried_the_assets_carries_them_again_in_its_next_run(monkeypatch):
    runs = iter([("cell a", 1), ("cell a", 1), ("cell b", 2), ("cell a", 3), ("cell b", 4)])
    monkeypatch.setattr(embed, "_current_run", lambda: next(runs))
    assert [bool(page_assets("quiz.css", package=NOTEBOOK)) for _ in range(5)] == [True, False, False, True, False]


def test_inside_the_book_no_output_carries_the_assets(monkeypatch):
    monkeypatch.setenv("MINITENSOR_BOOK", "1")
    assert page_assets("quiz.css", "quiz.js", package=NOTEBOOK) == ""


def test_in_colab_every_output_carries_the_assets(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", object())
    assert page_assets("quiz.js", package=NOTEBOOK) and page_assets("quiz.js", package=NOTEBOOK)


def test_importing_book_kit_loads_no_ipython_and_importing_minitensor_no_book_kit():
    def modules_after(statement: str) -> str:
        program = f"import sys; {statement}; print(*sys.modules)"
        return subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

    assert "IPython" not in modules_after("import book_kit").split()
    assert "book_kit" not in modules_after("import minitensor").split()


# ---------- in the browser ----------


@pytest.fixture
def show(open_page, tmp_path):
    """Return a function that opens a page with two questions, in the form of a notebook's output."""
    listening = []

    def show(theme: str = "", body: str = "", *, width: int = 1280, **look):
        outputs = "".join(predict(**QUESTION)._repr_mimebundle_()["text/html"] for _ in range(2))
        page_file = tmp_path / "page.html"
        page_file.write_text(
            f'<!doctype html><html lang="en" {theme}><meta charset="utf-8"><title>t</title>'
            f'<meta name="viewport" content="width=device-width">'
            f"<body {body}><main><h1>t</h1>{outputs}</main>",
            encoding="utf-8",
        )
        page = open_page(width=width, **look)
        page.requested = []

        def note(request):
            page.requested.append(request.url)

        page.on("request", note)
        listening.append((page, note))
        page.goto(page_file.as_uri())
        return page

    yield show
    for page, note in listening:
        page.remove_listener("request", note)
        if not page.evaluate("document.scripts.length === 0"):
            page.evaluate("localStorage.clear()")  # the tests share pages, and a page keeps its storage


def test_a_question_is_answered_by_keyboard_and_a_screen_reader_reads_the_verdict(show):
    page = show()
    first = page.locator("predict-first").first
    page.keyboard.press("Tab")  # moves the focus into the radio group
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    status = first.get_by_role("status")
    heard = "Not this one. That takes a copy, and = makes none. Try again, or open the answer."
    assert soon(status.evaluate, "status => status.textContent") == heard
    assert soon(first.locator(".mt-said", has_text="That takes a copy").is_visible)
    assert soon(label_of, first, 0) == "[1.0, 1.0]✗ not this one" and soon(label_of, first, 1) == "[2.0, 2.0]"
    # the answer remains hidden, so that the reader can try again
    assert soon(lambda: not first.get_by_text("One tensor, two names").is_visible())
    page.keyboard.press("ArrowDown")
    assert soon(status.inner_text) == ""  # a new choice removes the verdict
    page.keyboard.press("Enter")
    assert soon(status.inner_text) == "Right."
    assert soon(label_of, first, 0) == "[1.0, 1.0]✗ not this one" and soon(label_of, first, 1) == "[2.0, 2.0]✓ right"
    assert soon(first.locator(".mt-why", has_text="One tensor, two names").is_visible)
    first.locator("summary").focus()
    page.keyboard.press("Enter")  # the summary hides the answer again
    assert soon(lambda: not first.locator(".mt-why").is_visible())
    assert soon(page.locator("predict-first").nth(1).get_by_role("status").inner_text) == ""
    assert [address for address in page.requested if "page.html" not in address] == []


def label_of(question, index: int) -> str:
    return question.get_by_role("radio").nth(index).evaluate("radio => radio.labels[0].textContent")


def answer(question, index: int) -> None:
    question.get_by_role("radio").nth(index).check()
    question.get_by_role("button", name="Check").click()


def test_opening_the_answer_without_the_right_guess_explains_every_option(show):
    first = show().locator("predict-first").first
    answer(first, 2)
    assert soon(first.locator(".mt-said:visible").count) == 1
    assert soon(lambda: not first.locator(".mt-said", has_text="That takes a copy").is_visible())
    first.locator("summary").click()
    assert soon(first.locator(".mt-said", has_text="That takes a copy").is_visible)
    assert soon(first.locator(".mt-why").is_visible)
    assert soon(label_of, first, 1) == "[2.0, 2.0]✓ right"


def test_a_form_is_in_the_language_of_its_question(show):
    try:
        set_language("zh")
        first = show().locator("predict-first").first
    finally:
        set_language(None)
    first.get_by_role("button", name="检查").click()
    assert soon(first.get_by_role("status").inner_text) == "请先选一个答案。"
    first.get_by_role("radio").first.check()
    first.get_by_role("button", name="检查").click()
    assert soon(first.locator(".mt-kept", has_text="你的答案保存在这个浏览器里。").is_visible)
    heard = "不是这个。 That takes a copy, and = makes none. 再试一次，或者展开答案。"
    assert soon(first.get_by_role("status").evaluate, "status => status.textContent") == heard
    assert soon(label_of, first, 0) == "[1.0, 1.0]✗ 不是这个"


def test_an_answer_is_kept_in_the_browser_until_it_is_forgotten(show):
    page = show()
    answer(page.locator("predict-first").first, 0)
    assert soon(page.evaluate, "Object.keys(localStorage)") == ["in-place.answers"]
    page.reload()
    first = page.locator("predict-first").first
    assert soon(label_of, first, 0) == "[1.0, 1.0]✗ not this one" and soon(first.get_by_role("radio").first.is_checked)
    assert soon(lambda: not first.locator(".mt-why").is_visible())
    first.get_by_role("button", name="Forget it").click()
    assert soon(first.locator(".mt-mark").count) == 0 and soon(
        lambda: not first.get_by_text("kept in this browser").is_visible()
    )
    assert soon(page.evaluate, "localStorage.length") == 0
    page.reload()
    assert soon(page.locator(".mt-mark").count) == 0


def test_all_answers_are_forgotten_at_once(show):
    page = show()
    answer(page.locator("predict-first").first, 0)
    page.evaluate("document.querySelectorAll('predict-first')[1].dataset.name = 'another'")
    answer(page.locator("predict-first").nth(1), 1)
    page.get_by_role("button", name="Forget all answers").first.click()
    assert soon(page.locator(".mt-mark").count) == 0 and soon(page.evaluate, "localStorage.length") == 0


def test_without_storage_in_the_browser_a_question_works_and_does_not_say_that_it_keeps_answers(show):
    page = show()
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full') } }")
    first = page.locator("predict-first").first
    answer(first, 1)
    assert soon(first.get_by_role("status").inner_text) == "Right."
    assert soon(lambda: not first.get_by_text("kept in this browser").is_visible())


def test_the_check_button_without_a_choice_asks_for_one_and_reveals_nothing(show):
    page = show()
    first = page.locator("predict-first").first
    first.get_by_role("button", name="Check").click()
    assert soon(first.get_by_role("status").inner_text) == "Choose an answer first."
    assert soon(lambda: not first.get_by_text("One tensor, two names").is_visible())


def test_a_screen_reader_announces_a_group_with_the_question_and_its_radio_buttons(show):
    tree = show().locator("predict-first").first.aria_snapshot()
    assert 'group "y = x, then y.add_(1). Is $5 < $6 <b>bold</b>?"' in tree
    assert tree.count("- radio ") == 3 and 'radio "[1.0, 1.0]"' in tree
    assert 'button "Check"' in tree and "status" in tree


def test_no_text_becomes_markup(show):
    page = show()
    answer(page.locator("predict-first").first, 2)
    assert soon(page.locator(".mt-said", has_text="Nobody <b>said</b> so.").first.is_visible)
    assert page.title() == "t"
    assert soon(page.locator("predict-first :is(b, script)").count) == 0


def test_without_javascript_everything_can_be_read(show):
    page = show(js=False)
    first = page.locator("predict-first").first
    assert first.get_by_role("listitem").count() == 3
    assert first.locator("form").count() == 0
    first.locator("summary").click()
    assert soon(first.get_by_text("One tensor, two names").is_visible)
    assert soon(first.get_by_text("That takes a copy").is_visible)


def test_in_print_the_options_and_the_answer_appear_without_controls(show):
    page = show()
    page.emulate_media(media="print")
    drawn(page)
    first = page.locator("predict-first").first
    assert not first.locator("form").is_visible()
    said = first.locator(".mt-why"), first.locator("dd", has_text="That takes a copy")
    for part in (first.locator(".mt-question"), first.locator("li").first, *said):
        assert part.is_visible()


def test_a_page_saved_with_its_form_works_again(show):
    page = show()
    page.evaluate("""() => {
        const first = document.querySelector("predict-first");
        first.outerHTML = first.outerHTML;  // what a saved page holds: the form, without its listeners
    }""")
    first = page.locator("predict-first").first
    answer(first, 1)
    assert soon(first.get_by_role("status").inner_text) == "Right."


LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 24, 30)"


@pytest.mark.parametrize(
    ("system", "theme", "body", "ground"),
    [
        ("light", "", "", LIGHT),
        ("dark", "", "", DARK),
        ("dark", 'data-theme="light"', "", LIGHT),
        ("light", 'data-theme="dark"', "", DARK),
        ("dark", "", 'data-jp-theme-light="true"', LIGHT),
        ("light", "", 'data-jp-theme-light="false"', DARK),
    ],
)
def test_the_theme_of_the_page_overrides_the_theme_of_the_system(show, system, theme, body, ground):
    page = show(theme, body, scheme=system)
    assert page.locator("predict-first").first.evaluate("e => getComputedStyle(e).backgroundColor") == ground


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("answered", [False, True])
def test_axe_finds_no_fault_and_a_question_fits_the_width_of_a_phone(show, scheme, answered):
    page = show(scheme=scheme, width=360, height=700)
    if answered:
        answer(page.locator("predict-first").first, 0)
        page.locator("predict-first").nth(1).locator("summary").click()
    assert violations(page) == []
    assert soon(page.evaluate, "document.documentElement.scrollWidth") <= 360
