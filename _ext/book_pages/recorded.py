"""Turn each mention of a file of recorded facts into a link, and copy the linked files into the built book."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from .translated import book_of

#: Matches the path of a file of facts, for example `facts/views.json`.
CITED = re.compile(r"facts/[\w./-]+\.\w+")
#: Matches a link to a file of facts in the HTML of a built page.
LINKED = re.compile(r'href="(?:\.\./)*(facts/[\w./-]+)"')


def link_facts(app: Sphinx, doctree: nodes.document, pagename: str) -> None:
    """Make a link of each piece of the page's inline code that is the path of a file of facts."""
    if app.builder.format != "html":
        return
    up = "../" * pagename.count("/")
    for name in [*doctree.findall(nodes.literal)]:
        path = name.astext()
        if CITED.fullmatch(path) and _source(app, path).is_file() and not isinstance(name.parent, nodes.reference):
            link = nodes.reference("", "", name.deepcopy(), refuri=up + path, internal=True)
            name.replace_self(link)


def copy_facts(app: Sphinx, exception: Exception | None) -> None:
    """Copy the linked files of facts into the built book."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    cited = {path for page in out.rglob("*.html") for path in LINKED.findall(page.read_text(encoding="utf-8"))}
    for path in sorted(cited):
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_source(app, path), target)


def _source(app: Sphinx, path: str) -> Path:
    return book_of(app) / path
