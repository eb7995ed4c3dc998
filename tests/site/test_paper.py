"""Test the book on paper: one file with bookmarks, without set-up code, and with each answer after its question."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from pypdf import PdfReader

from _ext.book_pages.languages import contents
from tests.support.site.words import edition_of
from tests.support.waiting import drawn
from tools import pdf

NAMES = ["index", "chapters/08_leaves"]
LEAST_FULL = 0.5  # the least share of a sheet above its lowest line, if the page continues on another sheet
FOOT = 60  # points from the lower edge, where the page number is
STAGE_DATA = r'<memory-stage[^>]*>.*?<script type="application/json">(.*?)</script>'

# For each language: texts about buttons, which only a screen shows, and a text below exercises, which only paper shows.
ON_SCREEN = {
    "": ("Edit this program", "Check runs", "runs no Python", "Here you can write", "built without Python", "MB, once"),
    "zh": ("修改这个程序", "“检查”会", "不能运行 Python", "可以在这里编写", "MB，只加载一次"),
}
ON_PAPER = {
    "": "To run your answer, open this page’s notebook in a copy of the book; the solution is below.",
    "zh": "要运行你的答案，请在你自己的那份书中打开本页的 notebook；答案在下方。",
}


@pytest.fixture(scope="module")
def paper(book, tmp_path_factory):
    """Make a PDF of two pages of the book in a separate process, because a process can run Playwright only once."""
    target = tmp_path_factory.mktemp("paper") / "book.pdf"
    command = [sys.executable, "tools/pdf.py", str(book), "--to", str(target), "--pages", *NAMES]
    done = subprocess.run(command, cwd=pdf.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return PdfReader(target)


def test_each_page_and_each_section_has_a_bookmark_that_leads_to_it(paper):
    titles = [entry for entry in paper.outline if not isinstance(entry, list)]
    assert [entry.title for entry in titles] == ["In Place", "8. Leaves"]
    _, sections = (entry for entry in paper.outline if isinstance(entry, list))
    remember = next(entry for entry in sections if entry.title == "What to remember")
    sheet = paper.pages[paper.get_destination_page_number(remember)]
    assert "What to remember" in sheet.extract_text()


def test_set_up_code_is_not_printed(paper):
    text = "".join(sheet.extract_text() for sheet in paper.pages)
    assert "In Place" in text
    assert "load_ext" not in text


def test_an_answer_is_printed_after_its_question(paper):
    text = " ".join(" ".join(sheet.extract_text().split()) for sheet in paper.pages)
    chapter = text[text.index("Your new network starts with weights that are too large") :]
    asked, answered = chapter.index("Which of these would be different?"), chapter.index("Answer")
    assert asked < answered


def test_a_stage_prints_its_key_step_its_table_and_all_its_steps_as_text(book, paper):
    text = "".join("".join(sheet.extract_text().split()) for sheet in paper.pages)
    pages = [(book / f"{name}.html").read_text(encoding="utf-8") for name in NAMES]
    traces = [json.loads(data) for page in pages for data in re.findall(STAGE_DATA, page, re.DOTALL)]
    assert len(traces) == sum(page.count("<memory-stage") for page in pages) >= 5
    for trace in traces:
        opens = next(variant for variant in trace["variants"] if variant["id"] == trace["opens"])
        reported = [step["say"].replace("`", "") for step in opens["steps"]]
        table = [v[key] for v in trace["variants"] for key in ("label", "verdict") if len(trace["variants"]) > 1]
        missing = [words for words in (trace["title"], *reported, *table) if "".join(words.split()) not in text]
        assert missing == [], trace["title"]
        key = "".join(reported[opens["key"]].split())
        assert text.count(key) >= 2, f"{trace['title']}: the key step should be printed twice"


def test_no_sheet_is_nearly_empty(paper):
    starts = {paper.get_destination_page_number(entry) for entry in paper.outline if not isinstance(entry, list)}
    for number, sheet in enumerate(paper.pages):
        if number + 1 in {*starts, len(paper.pages)}:
            assert len(sheet.extract_text()) >= pdf.LEAST, f"sheet {number + 1} should have more than one paragraph"
        else:
            assert lowest_line(sheet) >= LEAST_FULL, f"sheet {number + 1}"


@pytest.mark.parametrize(
    "name", ["chapters/08_leaves", "chapters/playground", "chapters/your_own_program", "zh/chapters/08_leaves"]
)
def test_paper_mentions_no_button(name, site, visit):
    """A page with Python has further buttons on a screen, and its text on paper mentions none of them."""
    seen = visit(f"{site}{name}.html")
    seen.page.emulate_media(media="print")
    drawn(seen.page)
    printed = seen.page.locator("article").inner_text()
    edition = edition_of(seen.address)
    assert [text for text in ON_SCREEN[edition] if text in printed] == []
    assert ON_PAPER[edition] in printed or seen.page.locator("exercise-box").count() == 0


def lowest_line(sheet) -> float:
    """Return the place of the lowest line above the page number: 0 is the top of the sheet, 1 its foot."""
    heights = []

    def note(text, page, line, _font, _size):
        if text.strip():
            heights.append(line[4] * page[1] + line[5] * page[3] + page[5])

    sheet.extract_text(visitor_text=note)
    return 1 - min(y for y in heights if y > FOOT) / float(sheet.mediabox.height)


def test_the_book_is_printed_in_the_order_of_its_contents():
    names = list(contents(pdf.ROOT))
    assert names[0] == "index"
    assert names.index("chapters/04_aliases") < names.index("chapters/08_leaves") < names.index("chapters/C_names")
