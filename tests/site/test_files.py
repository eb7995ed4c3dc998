"""Test that the files of the built book are complete and name no other hosts."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.chapters.chapter import pages
from tools import live


def pages_of(book: Path) -> list[Path]:
    """Return the pages that a reader can open, without the theme's templates among the static files."""
    return [path for path in book.rglob("*.html") if "_static" not in path.parts]


def test_pages_name_no_file_of_another_host(book):
    """Browser tests miss files that only a rare path through a page would load."""
    loading = re.compile(r'<(?:script|link|img|iframe|source|use)\b[^>]*\s(?:src|href)="((?:https?:)?//[^"]+)')
    importing = re.compile(r"""(?:@import\s+(?:url\()?|\burl\()\s*["']?((?:https?:)?//[^"')]+)""")
    for page in pages_of(book):
        assert loading.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in (book / "_static").rglob("*.css"):
        assert importing.findall(sheet.read_text(encoding="utf-8")) == [], sheet


def test_every_file_that_a_page_names_exists(book):
    """Jupyter Book does not report a missing script or style sheet."""
    named = re.compile(r'\b(?:src|href)="([^"#?]+)')
    for page in pages_of(book):
        for name in named.findall(page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:|//", name):
                assert (page.parent / name).exists(), f"{page.name} names {name}"


def test_a_page_has_no_inline_script(book):
    """The content security policy forbids inline scripts and handlers in attributes. Data may be inline."""
    inline = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")[^>]*>")
    handler = re.compile(r"<[^>]*\son[a-z]+=[\"'][^>]*>")
    for page in pages_of(book):
        text = page.read_text(encoding="utf-8")
        assert inline.findall(text) == [], page
        assert handler.findall(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)) == [], page


def test_a_page_names_the_script_for_buttons_only_if_it_has_python_and_programs(book):
    runs = re.compile(r"<(memory-stage|exercise-box|play-ground)\b")
    for page in pages_of(book):
        text = page.read_text(encoding="utf-8")
        has_room = page.parent.name != "slides"  # a slide has no space for the buttons
        assert ("live.js" in text) == (live.is_requested() and has_room and bool(runs.search(text))), page


def test_each_chapter_offers_its_executed_notebook(book):
    _, *chapters = pages()
    for chapter in chapters:
        page = (book / f"{chapter}.html").read_text(encoding="utf-8")
        assert f"_sources/{chapter}.ipynb" in page
        beside = book / "_sources" / f"{chapter}.ipynb"
        notebook = json.loads(beside.read_text(encoding="utf-8"))
        counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert counts and counts == list(range(1, len(counts) + 1))


#: Matches the description of a page. The attributes have another order if the front matter contains the description.
DESCRIPTION = r'<meta (?=[^>]*\bname="description")[^>]*\bcontent="([^"]{20,300})"'


def test_each_page_has_a_different_title_and_description(book):
    pages = [book / "index.html", *(book / "chapters").glob("*.html")]
    heads = [page.read_text(encoding="utf-8").split("</head>")[0] for page in pages]
    for pattern in (r"<title>(.+?)</title>", DESCRIPTION):
        found = [re.findall(pattern, head, re.DOTALL) for head in heads]
        assert all(len(texts) == 1 for texts in found), found
        assert len({texts[0] for texts in found}) == len(pages), found
