"""The book on paper: one file with bookmarks, without set-up code, and no answer before its question."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pypdf import PdfReader

from tools import pdf

NAMES = ["index", "chapters/08_leaves"]


@pytest.fixture(scope="module")
def paper(book, tmp_path_factory):
    """The file made of two pages of the book; in a process of its own, because Playwright runs once in each."""
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
    chapter = text[text.index("Training begins with some tensors") :]
    asked, answered = chapter.index("Which of these comes out different?"), chapter.index("Answer")
    assert asked < answered


def test_the_book_is_printed_in_the_order_of_its_contents():
    names = pdf.page_names()
    assert names[0] == "index"
    assert names.index("chapters/04_aliases") < names.index("chapters/08_leaves") < names.index("chapters/C_names")
