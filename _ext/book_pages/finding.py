"""Write the data for the search page and for the box that explains an error message.

* ``messages.js``: the recorded messages of ``facts/messages.json``, each with its cause from ``book/causes.json``.
* ``sections.js``: the text of every section of every page, and the terms of the glossary. The text excludes the code of
  cells, the text of pictures, and the menus around the content. Rows of tables are separate from prose, so that the
  search can give rows less weight, and can show prose as the excerpt of a section unless a row fits the query better.

Both files are scripts that set a variable, because a page that is opened from the disk can load scripts, but no data
files. ``theme/js/finder`` searches the variables. The book does not use Sphinx's search, because that does not find
error messages: it drops words such as "being" from its index, but requires every word of a query. It also shows code
and menus as excerpts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from book_kit.tables import error_tables
from book_kit.tables.table_words import translated
from memory_stage.messages import language, render

from .languages import Edition, page_in
from .terms import GLOSSARY, anchor, glossary
from .translated import edition_of

ROOT = Path(__file__).parents[2]
ERROR_INDEX = "chapters/B_error_index"
SOURCES = "sources"  # the anchor of the section "Sources", in every language
LONGEST = 160  # the largest number of characters of a quoted message
#: Nodes that are not prose: code, pictures as text, raw HTML, and the sources at the end of a chapter.
NOT_PROSE = (nodes.literal_block, nodes.raw, nodes.citation, nodes.comment, nodes.image)
LIBRARIES = ("paddle", "torch", "numpy", "jax")
#: Matches a library's name for a term in the glossary, such as `x.requires_grad` or `torch.no_grad()`.
NAMED_IN_CODE = re.compile(r"`(?:\w+\.)*(\w{2,})(?:\(\))?`")


def messages(root: Path, edition: Edition | None = None) -> dict[str, Any]:
    """Return the data of ``messages.js``: the causes, and one entry for each different recorded message."""
    causes = json.loads((root / "book" / "causes.json").read_text(encoding="utf-8"))
    own = edition.data("causes") if edition else {}
    for key, cause in causes.items():
        cause["index"] = nodes.make_id(cause["title"].replace("`", ""))  # the anchor of the cause in the error index
        cause["page"] = page_in(edition, cause["page"])
        cause.update(own.get(key, {}))
    index = page_in(edition, ERROR_INDEX)
    code = edition.code if edition else "en"
    return {"causes": causes, "index": index, "messages": [_entry(row, code) for row in error_tables.recorded(root)]}


def _entry(row: error_tables.MessageRow, code: str) -> dict[str, Any]:
    """Return the entry of a message; ``code`` is the language of the words about the message."""
    short = error_tables.shortened(row.message.splitlines()[0], LONGEST)
    by = render(error_tables.recorded_from(row), language(code))
    return {"cause": row.cause, "message": row.message, "by": by, "short": short}


def terms(root: Path, edition: Edition | None = None) -> list[dict[str, Any]]:
    """Return the terms of the glossary, which the search shows when a reader searches for one of their names."""
    fields = ("name", "chinese", "meaning", "place")
    code = edition.code if edition else "en"
    return [
        {key: term[key] for key in fields}
        | {
            "meaning": translated(term["meaning"], code),
            "forms": [form.lower() for form in term["forms"]] + term.get("chinese_forms", []),
            "named": sorted({name.lower() for library in LIBRARIES for name in NAMED_IN_CODE.findall(term[library])}),
            "page": page_in(edition, term["page"]),
            "glossary": page_in(edition, GLOSSARY),
            "anchor": anchor(term),
        }
        for term in glossary(root)
    ]


def sections(page: str, doctree: nodes.document) -> Iterator[dict[str, Any]]:
    """Yield the sections of a page except "Sources", each without the text of its subsections."""
    titles = list(doctree.findall(nodes.title))
    of = titles[0].astext() if titles else page
    for section in doctree.findall(nodes.section):
        title = next(iter(section.findall(nodes.title)), None)
        if title is None or section["ids"][0] == SOURCES:
            continue
        texts: list[str] = []
        tables: list[str] = []
        for child in section.children:
            if not isinstance(child, (nodes.section, nodes.title)):
                _read(child, texts, tables)
        first = section.parent is doctree
        yield {
            "page": page,
            "place": "" if first else section["ids"][0],
            "title": title.astext(),
            "of": of,
            "text": texts,
            "tables": tables,
        }


def _read(node: nodes.Node, texts: list[str], tables: list[str]) -> None:
    """Append the prose of a node to ``tables`` if it is in a table or in the output of a cell, or else to ``texts``."""
    if isinstance(node, NOT_PROSE):
        return
    if isinstance(node, nodes.row):
        tables.append(" · ".join(filter(None, (_plain(cell) for cell in node.children))))
    elif isinstance(node, (nodes.paragraph, nodes.term)):
        if text := _plain(node):
            inside_output = any("cell_output" in parent.get("classes", []) for parent in _parents(node))
            (tables if inside_output else texts).append(text)
    else:
        for child in node.children:
            _read(child, texts, tables)


def _parents(node: nodes.Node) -> Iterator[nodes.Element]:
    while node.parent is not None:
        node = node.parent
        yield node


def _plain(node: nodes.Node) -> str:
    """Return the words of a node, without raw HTML and citation marks."""
    words = (
        text.astext() for text in node.findall(nodes.Text) if not any(_is_mark(parent) for parent in _parents(text))
    )
    return " ".join("".join(words).split()).replace(" []", "")


def _is_mark(node: nodes.Element) -> bool:
    return isinstance(node, nodes.raw) or "bibtex" in node.get("classes", []) or node.get("refid", "").startswith("id")


# ---- in the build ----------------------------------------------------------------------------------------------------


def offer_data(app: Sphinx) -> None:
    """Write ``messages.js`` and an empty ``sections.js``, which `write_sections` replaces at the end of the build."""
    folder = Path(app.doctreedir) / "finding"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "messages.js").write_text(_script("bookMessages", messages(ROOT, edition_of(app))), encoding="utf-8")
    (folder / "sections.js").write_text("", encoding="utf-8")
    app.config.html_static_path.append(str(folder))


def read_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Record the sections of a page in a file of the build, just before the page is written."""
    if doctree is not None:
        file = _sections_file(app)
        file.parent.mkdir(parents=True, exist_ok=True)
        pages = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        pages[pagename] = list(sections(pagename, doctree))
        file.write_text(json.dumps(pages, ensure_ascii=False), encoding="utf-8")


def write_sections(app: Sphinx, exception: Exception | None) -> None:
    """Write the recorded sections of all pages, and the terms of the glossary, to ``sections.js``."""
    file = _sections_file(app)
    if exception or app.builder.format != "html" or not file.exists():
        return
    pages = json.loads(file.read_text(encoding="utf-8"))
    found = [section for page, of_page in pages.items() if page in app.env.all_docs for section in of_page]
    (Path(app.outdir) / "searchindex.js").unlink(missing_ok=True)  # Sphinx's search index, which no page loads
    script = _script("bookSections", found) + _script("bookTerms", terms(ROOT, edition_of(app)))
    (Path(app.outdir) / "_static" / "sections.js").write_text(script, encoding="utf-8")


def _sections_file(app: Sphinx) -> Path:
    """Return the file that collects the sections of all pages during the build."""
    return Path(app.doctreedir) / "finding" / "sections.json"


def _script(name: str, data: Any) -> str:
    return f"globalThis.{name} = {json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"
