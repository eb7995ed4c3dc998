"""Test the source lines that chapters include: each include names existing lines, and downloads contain them."""

from __future__ import annotations

import ast
import sys
import textwrap

import pytest

from tests.support.chapters.chapter import FOLDER, ROOT, Chapter, appendices, guides, in_order

sys.path.insert(0, str(ROOT / "_ext"))
from book_pages.included import INCLUDE, lines_of, with_lines

INCLUDES = [
    pytest.param(include, id=f"{name}-{number}")
    for name in [*in_order(), *appendices(), *guides()]
    for number, include in enumerate(INCLUDE.finditer(Chapter.read(name).text), 1)
]
WITH_ENGINE_LINES = ["02_three_kinds_of_operation", "08_leaves", "09_automatic_detection"]


@pytest.mark.parametrize("include", INCLUDES)
def test_included_lines_are_complete_and_from_the_engine(include):
    file = (FOLDER / include["path"]).resolve()
    assert any(file.is_relative_to(ROOT / folder) for folder in ("minitensor", "book_kit", "chapters/small_engine"))
    lines = lines_of(include, FOLDER)
    assert lines.strip() and lines in file.read_text(encoding="utf-8")
    assert len(ast.parse(textwrap.dedent(lines)).body) == 1  # one statement, from its beginning to its end


@pytest.mark.parametrize("name", WITH_ENGINE_LINES)
def test_chapters_about_the_engine_show_its_lines(name):
    assert INCLUDE.search(Chapter.read(name).text)


def test_every_include_directive_matches_the_pattern():
    """A directive that the pattern does not match would stay unchanged in the downloaded notebooks."""
    for name in in_order():
        text = Chapter.read(name).text
        assert text.count("{literalinclude}") == len(INCLUDE.findall(text))


def test_including_an_object_that_the_file_lacks_is_an_error():
    text = "```{literalinclude} ../minitensor/engine/saved/in_place_inputs.py\n:pyobject: nobody\n```"
    with pytest.raises(ValueError, match="nobody"):
        lines_of(INCLUDE.search(text), FOLDER)


def test_a_downloaded_notebook_has_the_included_lines_instead_of_the_directive():
    include = "```{literalinclude} ../minitensor/engine/core/storage.py\n:language: python\n:pyobject: log_write\n```"
    text = f"Before.\n\n{include}\n\nAfter."
    shown = with_lines(text, FOLDER)
    assert "literalinclude" not in shown
    assert shown.startswith("Before.\n\n```python\n# minitensor/engine/core/storage.py\ndef log_write(")
    assert shown.endswith("```\n\nAfter.")
