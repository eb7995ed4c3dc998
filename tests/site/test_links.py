"""Test a page's links to Binder, Colab and its source, the notebooks for Colab, and the preview pictures."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from tools import card, colab
from tools.build import ROOT


@pytest.fixture(scope="module")
def links():
    sys.path.insert(0, str(ROOT / "_ext"))
    return importlib.import_module("book_pages.links")


def test_a_page_can_be_edited_and_opened_in_binder_and_colab(links):
    source = "chapters/04_aliases.md"
    made = links.repository_links("https://github.com/someone/in-place/", "main", source[:-3], source)
    by_text = {link.text: urlsplit(link.address) for link in made}
    assert by_text["Open in Binder"].path == "/v2/gh/someone/in-place/main"
    assert unquote(by_text["Open in Binder"].query) == f"urlpath=lab/tree/{source}"
    assert by_text["Open in Colab"].path == "/github/someone/in-place/blob/notebooks/chapters/04_aliases.ipynb"
    assert by_text["Edit"].geturl() == f"https://github.com/someone/in-place/edit/main/{source}"


def test_a_repository_that_is_not_on_github_has_only_the_link_for_editing(links):
    made = links.repository_links("https://git.example.org/someone/in-place", "main", "index", "index.md")
    assert [link.text for link in made] == ["Edit"]


def test_without_the_address_of_the_repository_a_page_has_none_of_these_links(book):
    page = (book / "chapters" / "04_aliases.html").read_text(encoding="utf-8")
    assert "Download as notebook" in page
    assert not any(text in page for text in ("Open in", ">Edit<"))


def test_a_notebook_for_colab_is_valid_and_first_installs_the_book(book):
    path = book / "_sources" / "chapters" / "04_aliases.ipynb"
    before = nbformat.read(path, as_version=4)
    after = nbformat.from_dict(colab.with_installation(before, "https://github.com/someone/in-place"))
    nbformat.validate(after)
    assert "pip install" in "".join(after.cells[0].source)
    assert after.cells[1:] == before.cells


def test_the_notebooks_of_an_edition_run_in_its_own_folder(tmp_path, monkeypatch):
    for folder in ("site/_sources/chapters", "site/zh/_sources/chapters"):
        (tmp_path / folder).mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(), tmp_path / folder / "04_aliases.ipynb")
    arguments = ["colab.py", str(tmp_path / "site"), str(tmp_path / "to"), "https://github.com/someone/in-place"]
    monkeypatch.setattr("sys.argv", arguments)
    colab.main()
    for folder in ("chapters", "zh/chapters"):
        notebook = nbformat.read(tmp_path / "to" / folder / "04_aliases.ipynb", as_version=4)
        assert notebook.cells[0].source.endswith(f"%cd /content/in-place/{folder}")


def test_the_facts_that_a_page_cites_are_beside_the_pages(book):
    """The build copies the cited files of the folder ``facts``, and no other file."""
    pages = {page: page.read_text(encoding="utf-8") for page in (book / "chapters").glob("*.html")}
    cited = {path for text in pages.values() for path in re.findall(r'href="\.\./(facts/[\w./-]+)"', text)}
    assert {"facts/tensors.json", "facts/views.json", "facts/aliases.json"} <= cited
    assert cited == {path.relative_to(book).as_posix() for path in (book / "facts").rglob("*") if path.is_file()}
    for path in cited:
        assert (book / path).read_bytes() == (ROOT / path).read_bytes()


def test_the_preview_picture_of_the_book_exists(book):
    card = (book / "_static" / "card.png").read_bytes()
    width, height = (int.from_bytes(card[at : at + 4], "big") for at in (16, 20))
    assert card.startswith(b"\x89PNG") and (width, height) == (1200, 630)


def test_each_chapter_with_a_stage_has_a_card_if_the_address_is_known(book, tmp_path):
    """The build names the book's card in every page. In a chapter with a stage, the chapter's own card replaces it."""
    head = '<meta property="og:image" content="https://example.org/_static/card.png">\n'
    head += '<meta property="og:image:alt" content="the book">\n</head>'
    (tmp_path / "chapters").mkdir()
    (tmp_path / "_static").mkdir()
    shutil.copy(book / "_static" / "stage.js", tmp_path / "_static")
    for name, found in (("03_views", True), ("04_aliases", True), ("08_leaves", False), ("F_references", True)):
        text = (book / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        text = text.replace("</head>", head) if found else text
        (tmp_path / "chapters" / f"{name}.html").write_text(text, encoding="utf-8")
    # A thread can start Playwright only once, and the browser of the tests may have started it in this thread.
    with ThreadPoolExecutor() as other_thread:
        count = other_thread.submit(card.add_chapter_cards, tmp_path).result()
    assert count == 2  # one page knows no address, one has no stage
    drawn = {path.stem: path.read_bytes() for path in (tmp_path / "_static" / "cards").iterdir()}
    assert set(drawn) == {"03_views", "04_aliases"} and len(set(drawn.values())) == 2
    for name, png in drawn.items():
        assert [int.from_bytes(png[at : at + 4], "big") for at in (16, 20)] == [card.WIDTH, card.HEIGHT]
        page = (tmp_path / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        assert f'content="https://example.org/_static/cards/{name}.png"' in page and 'content="the book"' not in page
    assert 'content="the book"' in (tmp_path / "chapters" / "F_references.html").read_text(encoding="utf-8")
