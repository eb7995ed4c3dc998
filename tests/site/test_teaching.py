"""Test the material for a class of students: slides, notes, the sheets of questions, and the book in one file."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from _ext.book_pages.built_page import BuiltPage, kind_and_words
from _ext.book_pages.class_vocabulary import VOCABULARY
from _ext.book_pages.languages import editions
from _ext.book_pages.teaching import write_class
from tests.support.chapters.chapter import Chapter, in_order, pages
from tests.support.class_plan import CLASS
from tests.support.waiting import TWO_FRAMES, box_of, drawn, soon, wait_for_script
from tools import pack
from tools.build import ROOT

SHOWN = [(part["page"], *kind_and_words(piece)) for part in CLASS["parts"] for piece in part["show"]]
SLIDES = 2 + len(CLASS["parts"]) + len(SHOWN) + len(CLASS["remember"]["pages"]) + 1
LINE = "stage => stage.shadowRoot.querySelector('.code .now').dataset.line"
SHOWS = (
    "() => [...document.querySelectorAll('.slides > section')].findIndex(slide => slide.classList.contains('present'))"
)
# In pixels: by how much the present slide is too high and too wide, and the size of its smallest visible code on the
# wall. Then its controls that the arrows or the number cover.
MEASURED = """() => {
    const slide = document.querySelector('.slides > section.present');
    const inside = root => [...root.querySelectorAll('*')].flatMap(e => e.shadowRoot ? inside(e.shadowRoot) : [e]);
    const code = inside(slide).filter(e => e.matches('code, pre, .code li') && e.checkVisibility() && e.offsetHeight);
    const sizes = code.map(e => parseFloat(getComputedStyle(e).fontSize) * e.currentCSSZoom);
    const corner = [...document.querySelectorAll('.controls .enabled, .slide-number')];
    const around = corner.map(e => e.getBoundingClientRect());
    const touches = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const covered = inside(slide).filter(e => e.matches('button, summary, input, select') && e.checkVisibility())
        .filter(e => around.some(box => touches(e.getBoundingClientRect(), box))).map(e => e.textContent.trim());
    const lacks = [slide.scrollHeight - slide.clientHeight, slide.scrollWidth - slide.clientWidth];
    return [...lacks, Math.min(...sizes), covered];
}"""
# Measures all steps of the stage on the present slide, or only the last step of each variant. Each result begins with
# the name of its step. The loop runs in the page, because a class has about a thousand steps.
MEASURED_STEPS = f"""async every => {{
    const stage = document.querySelector('.slides > section.present memory-stage');
    const found = [];
    for (const variant of stage.data.variants.keys()) {{
        if (variant !== stage.at.variant) stage.choose(variant);
        const last = stage.frames.length - 1;
        for (let step = every ? 0 : last; step <= last; step++) {{
            stage.go(step);
            await {TWO_FRAMES};
            if (stage.at.variant !== variant || stage.at.step !== step) throw new Error(JSON.stringify(stage.at));
            found.push([`variant ${{variant}}, step ${{step + 1}}`, ...({MEASURED})()]);
        }}
    }}
    return found;
}}"""
EDITIONS = [edition.code for edition in editions(ROOT) if edition.data("class")]
OWN_DECKS = [f"{code}/slides/index" for code in EDITIONS]
DECKS = ["slides/index", "slides/torch", *OWN_DECKS]
NOTES = ["notes", "torch-notes"]
OWN_PAPERS = ["index", "notes", "questions", "sheet", "key", "handouts"]
PAPERS = [
    f"slides/{name}" for name in (*OWN_PAPERS, "torch", "torch-notes", "torch-sheet", "torch-key", "torch-handouts")
]
PAPERS += [f"{code}/slides/{name}" for code in EDITIONS for name in OWN_PAPERS]
WORDS_A_MINUTE = 150  # of a calm speaker
CHARACTERS_A_MINUTE = 250  # of a calm speaker of Chinese
SMALLEST = 18  # pixels of code on a wall of 1280 by 720


def read(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture
def slides(site, visit):
    """Open the slides, which turn with the arrow keys."""
    seen = visit(f"{site}slides/index.html")
    wait_for_script(seen.page, "document.querySelector('.slides > section.present')")
    return seen


def turn_to(seen, number):
    seen.page.evaluate("number => Reveal.slide(number)", number)
    wait_for_script(seen.page, f"({SHOWS})() === {number}")


def test_the_class_takes_ninety_minutes():
    assert sum(part["minutes"] for part in CLASS["parts"]) + CLASS["remember"]["minutes"] == 90


def test_the_page_and_the_notes_have_the_same_minutes(book):
    rows = read(book / "chapters/teaching.html").select_one("#a-class-of-90-minutes table").select("tbody tr")
    on_the_page = [[cell.get_text() for cell in row.select("td")[:2]] for row in rows]
    for name in NOTES:
        headings = [heading.get_text() for heading in read(book / f"slides/{name}.html").select("h2")]
        assert headings == [f"Minutes {minutes}: {title}" for minutes, title in on_the_page]


@pytest.mark.parametrize("name", NOTES)
def test_the_notes_give_each_slide_minutes_that_suffice_for_its_words(book, name):
    notes, minute, late = read(book / f"slides/{name}.html"), 0, []
    slides = [None, None, *notes.select("section")]  # two slides are shown before the class begins
    for number, section in enumerate(slides[2:], 3):
        heading, minutes = section.h3.get_text(), int(section["data-minutes"])
        assert heading.startswith(f"Slide {number}, minutes {minute} to {minute + minutes}: ")
        minute += minutes
        for silent in section.select("h3, .do, pre, .mt-lines"):
            silent.decompose()
        spoken = len(re.findall(r"[\w']+", section.get_text())) / WORDS_A_MINUTE
        if spoken + float(section["data-quiet"]) > minutes:
            late.append(f"{heading}: {spoken:.1f} minutes of words")
    assert not late, "\n".join(late)
    assert minute == 90
    assert len(slides) == SLIDES - len(CLASS["remember"]["pages"])


@pytest.mark.parametrize("code", EDITIONS)
def test_a_translated_class_has_the_minutes_of_the_english_one_and_they_suffice_for_its_words(book, code):
    sections = read(book / f"{code}/slides/notes.html").select("section")
    english = read(book / "slides/notes.html").select("section")
    assert [section["data-minutes"] for section in sections] == [section["data-minutes"] for section in english]
    late = []
    for section in sections:
        heading = section.h3.get_text()
        for silent in section.select("h3, .do, pre, .mt-lines"):
            silent.decompose()
        spoken = len(re.findall(r"[\u4e00-\u9fff]|[A-Za-z0-9_']+", section.get_text())) / CHARACTERS_A_MINUTE
        if spoken + float(section["data-quiet"]) > int(section["data-minutes"]):
            late.append(f"{heading}: {spoken:.1f} minutes of words")
    assert not late, "\n".join(late)


@pytest.mark.parametrize("code", EDITIONS)
def test_no_english_sentence_remains_on_the_papers_of_an_edition(book, code):
    """Code and messages of frameworks stay English, and so does the name of the book."""
    for name in OWN_PAPERS:
        page = read(book / f"{code}/slides/{name}.html")
        assert page.html["lang"] != "en"
        for part in page.select("code, pre, script, style, svg, memory-stage"):
            part.decompose()
        assert re.findall(r"(?:[A-Za-z]+[ ,]+){4,}[A-Za-z]+", page.get_text(" ", strip=True)) == [], name


@pytest.mark.parametrize("name", NOTES)
def test_the_notes_on_a_stage_have_the_text_of_its_chapter(book, name):
    told = [s for s in read(book / f"slides/{name}.html").select("section") if s.h3.get_text().endswith(": stage")]
    assert len(told) == sum(kind == "stage" for _, kind, _ in SHOWN)
    assert all(len(section.select(".step-mark")) >= 2 for section in told)


@pytest.mark.parametrize("deck", DECKS)
def test_each_part_of_the_class_is_a_slide_of_its_kind(book, deck):
    kinds = [section["class"] for section in read(book / f"{deck}.html").select(".slides > section")]
    expected = Counter({"opening": 1, "stage": 1, "part": len(CLASS["parts"])})
    expected["remember"] = len(CLASS["remember"]["pages"]) + 1
    assert Counter(kind for [kind] in kinds) == expected + Counter(kind for _, kind, _ in SHOWN)


@pytest.mark.parametrize("deck", DECKS)
def test_the_second_slide_is_the_opening_stage_and_the_last_one_has_sentences_to_take_home(book, deck):
    _, second, *_, last = read(book / f"{deck}.html").select(".slides > section")
    shown = json.loads(second.script.string)
    page = read(book / f"{deck.rpartition('slides/')[0]}chapters/teaching.html")
    assert [each.script.string for each in page.select("memory-stage")].count(second.script.string) == (
        deck != "slides/torch"  # this deck has the program in PyTorch's names
    )
    assert second.find("memory-stage")["step"] == "1" and shown["ask"]
    assert len(last.select("li")) == len(CLASS["remember"]["home"])


@pytest.mark.parametrize("deck", DECKS)
def test_the_slide_of_an_error_has_its_program_and_message_but_names_no_line_that_caused_it(book, deck):
    (slide,) = read(book / f"{deck}.html").select(".slides > .error")
    message = slide.select_one(".message").get_text()
    assert "has been modified by an inplace operation" in message
    assert not re.search(r"\bline \d|saved:|overwritten:", message)
    assert [each.get_text() for each in slide.select("li")][-1] == "y.sum().backward()"
    following = slide.find_next_sibling("section")
    assert following["class"] == ["question"]  # before any explanation


def test_each_question_of_the_class_is_next_to_the_stage_that_proves_it(book):
    for deck in DECKS:
        sections = read(book / f"{deck}.html").select(".slides > section")
        titles = [json.loads(s.script.string)["title"] if "stage" in s["class"] else None for s in sections]
        for number, section in enumerate(sections):
            if proof := section.select_one(".mt-proof"):
                assert titles[number + 1] == proof["data-stage"]


def test_the_programs_of_the_second_deck_have_the_names_of_pytorch_only(book):
    pairs = json.loads((ROOT / VOCABULARY).read_text(encoding="utf-8"))["replace"]
    deck = read(book / "slides/torch.html")
    recorded = [json.loads(stage.script.string) for stage in deck.select("memory-stage")]
    programs = ["\n".join(each["code"]) for trace in recorded for each in trace["variants"]]
    programs += [code.get_text() for code in deck.select("code, pre")]
    assert sum("torch." in program for program in programs) > 20
    for old, _ in pairs:
        assert not [program for program in programs if old in program]
    assert not [program for program in programs if re.search(r"\bmt\.", program)]


def test_the_verdicts_of_the_second_deck_agree_with_the_recorded_numbers(book):
    page = BuiltPage("slides/torch", f"<article>{read(book / 'slides/torch.html').main}</article>")
    trace = json.loads(page.stage("Four ways to add one").script.string)
    for variant in trace["variants"]:
        writes = [event for event in variant["steps"][-1]["events"] if event["do"] == "write"]
        changes = any(event["storage"] == "1" for event in writes)  # the storage of `x`
        assert variant["verdict"] == ("x changes" if changes else "x keeps its numbers"), variant["label"]


def test_the_error_for_a_missing_part_lists_the_parts_of_the_page(book):
    page = BuiltPage("chapters/03_views", (book / "chapters/03_views.html").read_text(encoding="utf-8"))
    with pytest.raises(Exception, match=r"chapters/03_views has no stage 'No such', .*'A write that is lost'"):
        page.stage("No such")
    with pytest.raises(Exception, match=r"has [2-9] question with the words 'x'"):
        page.question("x")


def test_the_arrow_keys_turn_slides_and_step_a_stage_that_was_clicked(slides):
    number = next(
        n
        for n, section in enumerate(slides.page.locator(".slides > section").all())
        if section.evaluate("s => s.className.includes('stage')")
    )
    assert slides.page.evaluate(SHOWS) == 0
    slides.page.keyboard.press("ArrowRight")
    assert soon(slides.page.evaluate, SHOWS) == 1
    turn_to(slides, number)
    stage = slides.page.locator(".slides > section.present memory-stage")
    stage.locator("button.restart, .code").first.click()
    slides.page.keyboard.press("Home")
    wait_for_script(slides.page, "document.querySelector('.slides > section.present memory-stage').at.step === 0")
    first = stage.evaluate(LINE)
    slides.page.keyboard.press("ArrowRight")
    assert soon(lambda: stage.evaluate(LINE) != first)  # the stage steps, and the slide stays
    assert soon(slides.page.evaluate, SHOWS) == number
    assert (slides.foreign, slides.failed, slides.complaints) == ([], [], [])


def test_the_keys_of_a_remote_turn_slides_from_an_opened_answer_and_from_a_stage(slides):
    names = slides.page.locator(".slides > section").evaluate_all("all => all.map(each => each.className)")
    number = next(n for n, name in enumerate(names) if "question" in name and "stage" in names[n + 1])
    turn_to(slides, number)
    slides.page.locator(".slides > section.present summary").click()
    slides.page.keyboard.press("ArrowRight")
    assert soon(lambda: slides.page.evaluate(SHOWS) == number + 1)
    slides.page.locator(".slides > section.present memory-stage").locator("button.restart, .code").first.click()
    for key, shown in (("PageDown", number + 2), ("PageUp", number + 1)):
        slides.page.keyboard.press(key)
        assert soon(lambda shown=shown: slides.page.evaluate(SHOWS) == shown)


def test_choosing_another_variant_on_a_slide_shows_its_first_step(slides):
    several = "stage => stage.data.variants.length > 1"
    stages = slides.page.locator(".slides memory-stage")
    number = next(n for n in range(stages.count()) if stages.nth(n).evaluate(several))
    slide = "stage => Reveal.getIndices(stage.closest('section')).h"
    turn_to(slides, stages.nth(number).evaluate(slide))
    stage = slides.page.locator(".slides > section.present memory-stage")
    stage.evaluate("stage => stage.go(stage.frames.length - 1)")
    stage.locator(".chooser select").select_option("1")
    assert soon(stage.evaluate, "stage => stage.at.variant === 1 && stage.at.step === 0")


def test_questions_on_slides_are_numbered_and_options_lettered_as_on_the_sheet(slides):
    kinds = slides.page.locator(".slides .question .mt-kind")
    assert kinds.all_text_contents() == [f"Question {number}" for number in range(1, kinds.count() + 1)]
    before = "all => all.map(each => getComputedStyle(each, '::before').content)"
    letters = slides.page.locator(".slides .question").first.locator("form .mt-text").evaluate_all(before)
    assert letters == ['counter(letter, upper-alpha) ". "'] * 3


def test_the_sheet_has_the_exercise_with_cells_to_draw_on(book):
    (exercise,) = read(book / "slides/sheet.html").select(".on-paper")
    assert "Windows without copying" in exercise.get_text()
    assert [cell.get_text() for cell in exercise.select(".cells > span")] == list("012345")
    assert len(exercise.select(".blank")) == 5


@pytest.mark.parametrize("name", ["handouts", "torch-handouts"])
def test_no_value_in_the_picture_of_a_hand_out_is_cut(book, name):
    values = [each.get_text() for each in read(book / f"slides/{name}.html").select("figure svg text")]
    assert len(values) > 50
    assert not [value for value in values if "…" in value]


def test_the_caption_of_a_hand_out_names_the_line_of_its_picture(book):
    for paper in read(book / "slides/handouts.html").select(".hand-out:has(figure)"):
        line = paper.figcaption.code.get_text()
        caption = paper.figcaption.get_text()
        is_asked = not caption.startswith("For example") and "similar program" not in caption
        assert (line in paper.p.get_text()) == is_asked, paper.h2


@pytest.mark.parametrize("code", EDITIONS)
def test_the_wrong_options_of_a_question_begin_with_a_word_of_the_edition(site, visit, code):
    before = "option => getComputedStyle(option, '::before').content"
    for name in ("slides/index", "slides/key", "chapters/08_leaves"):
        option = visit(f"{site}{code}/{name}.html").page.locator("dt").first
        assert not re.search("[A-Za-z]", option.evaluate(before)), name


def test_the_number_of_a_slide_does_not_touch_the_arrows(slides):
    number, arrows = (box_of(slides.page.locator(place)) for place in (".slide-number", ".controls .navigate-right"))
    assert number["x"] + number["width"] < arrows["x"]


def test_a_question_leads_to_the_slide_of_its_stage(slides):
    questions = slides.page.locator(".slides > section.question").all()
    numbers = [
        n
        for n, s in enumerate(slides.page.locator(".slides > section").all())
        if s in questions or "question" in s.get_attribute("class")
    ]
    turn_to(slides, numbers[0])
    question = slides.page.locator(".slides > section.present predict-first")
    title = question.locator(".mt-proof").get_attribute("data-stage")
    question.locator("summary").click()
    question.locator(".mt-look").click()
    wait_for_script(slides.page, f"({SHOWS})() !== {numbers[0]}")
    assert slides.page.locator(".slides > section.present memory-stage").evaluate("stage => stage.data.title") == title


def answered(page):
    """Bring the question of the present slide into each state that a class sees, and yield the name of the state."""
    yield "opened"
    question = page.locator(".slides > section.present predict-first")
    if question.count():
        right = int(question.get_attribute("data-right"))
        for number in ((right + 1) % question.locator("input").count(), right):
            question.locator("input").nth(number).click()
            question.locator(".mt-actions button").first.click()  # "Check", in the language of the page
            yield f"option {number} checked"
            if question.locator("details").get_attribute("open") is None:
                question.locator("summary").click()
            yield f"option {number} checked, and the answer shown"
            question.locator("summary").click()


# The larger wall has more space for the same stage, so the last step of each variant is enough on it.
@pytest.mark.parametrize(("size", "every_step"), [((1280, 720), True), ((1920, 1080), False)], ids=str)
@pytest.mark.parametrize("deck", DECKS)
def test_every_slide_fits_the_wall_in_every_state_and_its_code_is_large(site, visit, deck, size, every_step):
    seen = visit(f"{site}{deck}.html")
    wait_for_script(seen.page, "document.querySelector('.slides > section.present')")
    seen.resize(*size)
    found = []
    for number in range(SLIDES):
        turn_to(seen, number)
        drawn(seen.page)
        measured = [(state, *seen.page.evaluate(MEASURED)) for state in answered(seen.page)]
        if seen.page.locator(".slides > section.present memory-stage").count():
            measured += seen.page.evaluate(MEASURED_STEPS, every_step)
        for state, lacks_height, lacks_width, smallest, covered in measured:
            if lacks_height > 0 or lacks_width > 0 or (smallest or SMALLEST) < SMALLEST:
                found.append(f"slide {number + 1}, {state}: {lacks_height} and {lacks_width} px, code of {smallest} px")
            if covered:
                found.append(f"slide {number + 1}, {state}: arrows or number cover {covered}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", PAPERS)
def test_each_page_of_the_class_is_accessible(site, visit, name):
    seen = visit(f"{site}{name}.html")
    assert seen.violations() == []
    seen.page.emulate_media(color_scheme="dark")
    assert seen.violations(all_else=False) == []  # everything else was tested with light colours


@pytest.mark.parametrize("name", PAPERS)
def test_each_page_of_the_class_opens_from_the_disk_and_fits_a_phone(book, visit, name):
    seen = visit((book / f"{name}.html").as_uri(), width=390)
    assert (seen.foreign, seen.complaints, seen.overflow()) == ([], [], 0)


def test_without_javascript_all_slides_can_be_read(site, visit):
    seen = visit(f"{site}slides/index.html", scripts=False)
    sections = seen.page.locator(".slides > section")
    tops = [box_of(section)["y"] for section in sections.all()]
    assert len(tops) == SLIDES
    assert tops == sorted(set(tops))  # one below the other
    assert all(section.is_visible() for section in sections.all())


def test_the_sheet_has_every_question_of_every_chapter_and_its_answer_on_the_page(book):
    sheet = read(book / "slides/questions.html")
    asked = sheet.select("main > ol > li")
    answered = sheet.select(".answers ol > li")
    questions = [q for name in in_order() for q in read(book / f"chapters/{name}.html").select("predict-first")]
    assert len(asked) == len(answered) == len(questions) > 3 * 10
    for on_sheet, answer, question in zip(asked, answered, questions, strict=True):
        options = [option.get_text() for option in on_sheet.select(".options > li")]
        right = options[int(question["data-right"])]
        assert answer.strong.get_text() == right
        assert [wrong.get_text() for wrong in answer.select("dt")] == [text for text in options if text != right]


def test_the_sheet_of_the_class_asks_its_questions_and_the_key_names_their_letters(book):
    asked = read(book / "slides/sheet.html").select("main > ol > li")
    answered = read(book / "slides/key.html").select("main > ol > li")
    slides = read(book / "slides/index.html").select(".slides > .question predict-first")
    assert len(asked) == len(answered) == len(slides) > 5
    for on_sheet, answer, slide in zip(asked, answered, slides, strict=True):
        options = [option.get_text() for option in on_sheet.select(".letters > li")]
        assert options == [option.get_text() for option in slide.select(".mt-options > li")]
        letters = dict(zip("ABCDEF", options, strict=False))
        right, text = answer.strong.get_text().split(". ", 1)
        assert letters.pop(right) == text == slide.select_one(".mt-answer").get_text()
        assert dict(wrong.get_text().split(". ", 1) for wrong in answer.select("dt")) == letters
        assert all(mistake.get_text() for mistake in answer.select("dd"))


def test_a_hand_out_of_each_chapter_is_one_page_of_paper(book, visit):
    seen = visit((book / "slides/handouts.html").as_uri())
    papers = seen.page.locator(".hand-out")
    assert papers.locator("h2").all_text_contents() == [
        read(book / f"chapters/{name}.html").article.h1.find(string=True) for name in in_order()
    ]
    printed = seen.page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == papers.count()
    for paper in papers.all():
        assert paper.locator(".letters > li").count() >= 2
        assert paper.locator("ul > li").count() == 3
        assert paper.locator(".address").is_visible()
    assert papers.locator("figure svg").count() == papers.count()


def test_each_chapter_of_the_class_has_one_page_of_paper_with_the_names_of_pytorch(book, visit):
    asked = dict.fromkeys(page for page, kind, _ in SHOWN if kind == "question")
    seen = visit((book / "slides/torch-handouts.html").as_uri())
    papers = seen.page.locator(".hand-out")
    assert papers.locator("h2").all_text_contents() == [
        read(book / f"{name}.html").article.h1.find(string=True) for name in asked
    ]
    printed = seen.page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == papers.count()
    on_slides = [question.get_text() for question in read(book / "slides/torch.html").select(".mt-question")]
    for paper in read(book / "slides/torch-handouts.html").select(".hand-out"):
        assert paper.p.get_text() in on_slides
        assert paper.select_one("figure svg") is not None
        assert len(paper.select("ul > li")) == 3
        assert not [code for code in paper.select("code") if re.search(r"\bmt\.", code.get_text())]


def test_the_slide_of_the_exercise_has_a_picture(slides):
    assert slides.page.locator(".slides > .exercise figure svg").count() == 1


def test_the_table_of_learning_paths_has_every_chapter_and_its_question(book):
    table = read(book / "chapters/learning_paths.html").select_one("#everything-in-order table")
    rows = [[cell.get_text() for cell in row.select("td")] for row in table.select("tbody tr")]
    *chapters, (_, _, total, exercises) = rows
    assert [title.split(".")[0] for title, *_ in chapters] == [str(int(name[:2])) for name in in_order()]
    assert all(question.endswith("?") for _, question, *_ in chapters)
    assert int(total) == sum(int(minutes) for _, _, minutes, _ in chapters)
    assert int(exercises) == sum(int(minutes) for *_, minutes in chapters)


def test_the_learning_paths_link_the_main_chapters():
    text = Chapter.read("learning_paths").text
    assert {name for name in in_order() if f'"{name}.md"' in text} >= {
        name for name in in_order() if name[:2] in ("01", "03", "04", "05", "06", "07", "08", "09", "11")
    }


def test_the_book_in_one_file_opens_from_the_folder_where_it_was_unpacked(book, tmp_path, visit):
    packed = tmp_path / "book.zip"
    of_no_use = book / "_static" / "live"  # a page that was opened from the disk has no Python
    files = [path for path in book.rglob("*") if path.is_file() and of_no_use not in path.parents]
    assert pack.pack(book, packed) == len(files)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path)
    for name in ("index", pages()[-1], "slides/index"):
        seen = visit((tmp_path / pack.NAME / f"{name}.html").as_uri())
        assert (seen.foreign, seen.complaints) == ([], [])


def test_no_class_is_made_if_the_build_failed(tmp_path):
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), srcdir=ROOT, outdir=tmp_path)
    write_class(app, RuntimeError("a cell failed"))
    assert not any(tmp_path.iterdir())
