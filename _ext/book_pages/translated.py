"""Connect the pages of an edition in another language with the English pages.

* A section of a translated page has the same anchor as the section of the English page from which it is translated, so
  links to the section are the same in both languages.
* If a page is not translated, links to it lead to the English page. A class marks these links.
* Every page links to its versions in the other languages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.parsers.docutils_ import Parser
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from .languages import Edition, contents, editions, page_in
from .navigation import NOT_FOUND

LOG = logging.getLogger(__name__)
#: Matches a fenced block or a heading of a page. Matching whole blocks keeps lines of code from being read as headings.
FENCE_OR_HEADING = re.compile(
    r"^(?P<fence>`{3,}).*?^(?P=fence)\s*$|^(?P<heading>#{1,6} [^\n]+)$", re.MULTILINE | re.DOTALL
)
ENGLISH = "en"
ENGLISH_NAME = "English"
LINK = re.compile(r"(?P<path>[^#]+)\.md(?:#(?P<place>.+))?")


class Heading(NamedTuple):
    anchor: str  # the id of the heading's section in HTML
    slug: str  # the name of the heading in links in the Markdown sources


@dataclass(frozen=True)
class Version:
    """A version of a page in another language."""

    tag: str  # the language tag in HTML
    name: str  # the language
    address: str  # the address of this version or, if the page is not translated, of the first page in the language
    note: str = ""  # a sentence for readers if the page is not translated, otherwise empty


def book_of(app: Sphinx) -> Path:
    """Return the folder of the whole book, even while an edition in a subfolder is built."""
    source = Path(app.srcdir)
    return source.parent if app.config.edition else source


def edition_of(app: Sphinx) -> Edition | None:
    """Return the edition that is built, or None for the English book."""
    return Edition(book_of(app), app.config.edition) if app.config.edition else None


# ---- the same anchors ------------------------------------------------------------------------------------------------


def headings(markdown: str) -> list[Heading]:
    """Return the headings of an English page, with the anchors that Sphinx gives them when it builds the page."""
    found = [match["heading"] for match in FENCE_OR_HEADING.finditer(markdown) if match["heading"]]
    settings = {"myst_heading_anchors": 3, "report_level": 5, "doctitle_xform": False}
    settings["auto_id_prefix"] = "id"  # the prefix that Sphinx uses for a title that occurs twice
    document = publish_doctree("\n\n".join(found), parser=Parser(), settings_overrides=settings)
    slugs = {anchor: slug for slug, (_, anchor, _) in document.myst_slugs.items()}
    ids = [section["ids"][0] for section in document.findall(nodes.section)]
    return [Heading(anchor, slugs.get(anchor, "")) for anchor in ids]


class SameAnchors(SphinxTransform):
    """Give the sections of a translated page the anchors of the English page's sections, in order.

    If the two pages have different numbers of headings, a warning fails the build.
    """

    default_priority = 200  # runs before links inside the page are resolved

    def apply(self, **kwargs: Any) -> None:
        if not self.config.edition or not hasattr(self.document, "myst_slugs"):
            return
        edition = edition_of(self.app)
        assert edition is not None
        record = edition.source_of(self.env.docname)
        if record:
            english = [Heading(*heading) for heading in record["headings"]]
        else:  # the page is translated, but its English source is not recorded yet
            english = headings(edition.english(self.env.docname))
        sections = [section for section in self.document.findall(nodes.section) if not _is_in_output(section)]
        if len(sections) != len(english):
            message = "this page has %d headings, and the English page has %d"
            LOG.warning(message, len(sections), len(english), location=self.env.docname)
            return
        renamed = {section["ids"][0]: heading for section, heading in zip(sections, english, strict=True)}
        for section in sections:
            old = section["ids"][0]
            section["ids"][0] = renamed[old].anchor
            self.document.ids.pop(old, None)
        for section in sections:
            self.document.ids[section["ids"][0]] = section
        for name, anchor in self.document.nameids.items():
            if anchor in renamed:
                self.document.nameids[name] = renamed[anchor].anchor
        slugs = {
            renamed[anchor].slug if anchor in renamed else slug: (line, _anchor(renamed, anchor), title)
            for slug, (line, anchor, title) in self.document.myst_slugs.items()
        }
        self.document.myst_slugs = slugs
        self.env.metadata[self.env.docname]["myst_slugs"] = slugs


def _anchor(renamed: dict[str, Heading], anchor: str) -> str:
    return renamed[anchor].anchor if anchor in renamed else anchor


def _is_in_output(node: nodes.Node) -> bool:
    while node is not None:
        if "cell" in getattr(node, "attributes", {}).get("classes", []):
            return True
        node = node.parent
    return False


# ---- links to pages that are not translated --------------------------------------------------------------------------


class EnglishPages(SphinxPostTransform):
    """Replace links to pages that are not translated by links to the English pages."""

    default_priority = 8  # runs before MyST reports that it does not find the page

    def run(self, **kwargs: Any) -> None:
        if not self.config.edition:
            return
        edition = edition_of(self.app)
        assert edition is not None
        missing = set(contents(edition.book)) - set(self.env.found_docs)
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node["reftype"] == "myst" and (address := english_address(node, missing)):
                up = "../" * (node.get("refdoc", self.env.docname).count("/") + 1)
                link = nodes.reference("", "", refuri=up + address, internal=True, classes=["in-english"])
                link += node.children
                node.replace_self(link)


def english_address(node: addnodes.pending_xref, missing: set[str]) -> str | None:
    """Return the address of the English page for a link to a page that is not translated.

    Args:
        node: the link, which is not resolved yet.
        missing: the pages that are not translated.

    Returns:
        The address, relative to the site's root; None for any other link.
    """
    if node.get("refdomain") == "doc":
        page, place = node["reftarget"], node.get("reftargetid")
    elif link := LINK.fullmatch(node["reftarget"]):
        folder = PurePosixPath(node.get("refdoc", "")).parent
        page, place = _normal(folder / link["path"]), link["place"]
    else:
        return None
    if page not in missing:
        return None
    return f"{page}.html#{place}" if place else f"{page}.html"


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


# ---- choice of the language ------------------------------------------------------------------------------------------


def offer_languages(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add values to the context of the page's template: the language of the page, its versions in other languages, the
    address of the error index, and a note if the English page has changed since the translation.
    """
    own = edition_of(app)
    context["tag"] = own.settings["tag"] if own else app.config.language
    behind = own.changed(pagename) if own and doctree is not None else []
    context["error_index"] = "../" * pagename.count("/") + page_in(own, "chapters/B_error_index") + ".html"
    context["behind"] = own.settings["behind"].format(count=len(behind)) if own and behind else ""
    context["versions"] = versions(book_of(app), own, pagename, doctree is not None, app.config.root_doc)


def versions(book: Path, own: Edition | None, page: str, is_source: bool, root: str) -> list[Version]:
    """Return the versions of a page in the other languages.

    Args:
        book: the folder of the whole book.
        own: the edition that the page belongs to; None for English.
        page: the name of the page, for example "chapters/03_views".
        is_source: False for a page that every edition has and that has no source, such as the search page.
        root: the name of the first page.
    """
    if page == NOT_FOUND:  # it is shown at any address, so its own address is unknown
        return []
    up = "../" * (page.count("/") + (own is not None))
    found = [Version(ENGLISH, ENGLISH_NAME, f"{up}{page}.html")] if own else []
    for edition in editions(book):
        if own is None or edition.code != own.code:
            has = not is_source or edition.has(page)
            address = f"{up}{edition.code}/{page if has else root}.html"
            note = "" if has else edition.settings["not_translated"]
            found.append(Version(edition.settings["tag"], edition.settings["name"], address, note))
    return found
