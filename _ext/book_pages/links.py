"""Link a page to its notebook, to its text and, if the repository is known, to services that run or edit the page.

The address of the repository is the setting ``repository: url`` in ``_config.yml``. Without this setting, the page has
no links to services.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from docutils import nodes
from sphinx.application import Sphinx

from .downloads import executed
from .frame_words import say

BINDER = "https://mybinder.org/v2/gh"
COLAB = "https://colab.research.google.com/github"
NOTEBOOKS = "notebooks"  # the branch with the executed notebooks, which Colab needs because it does not open Markdown


@dataclass(frozen=True)
class Link:
    text: str
    address: str
    download: bool = False


def add_to_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the links of this page to the context of the page's template."""
    if doctree is None:
        return
    links: list[Link] = []
    if (executed(app) / f"{pagename}.ipynb").exists():
        links.append(
            Link(say(app, "Download as notebook"), context["pathto"](f"_sources/{pagename}.ipynb", 1), download=True)
        )
        links.append(
            Link(say(app, "as text"), context["pathto"](f"_sources/{context['sourcename']}", 1), download=True)
        )
    options = app.config.html_theme_options
    if url := options.get("repository_url"):
        folder = f"{app.config.edition}/" if app.config.edition else ""
        source = folder + app.env.doc2path(pagename, False)
        links += repository_links(url, options.get("repository_branch") or "main", folder + pagename, source)
    context["here"] = links


def repository_links(url: str, branch: str, pagename: str, source: str) -> list[Link]:
    """Return links to services that run or edit the page.

    Args:
        url: the address of the repository. Only a repository on GitHub gets links to Binder and Colab; others get only
            the link for editing.
        branch: the branch with the sources.
        pagename: the name of the page, for example ``chapters/04_aliases`` or ``zh/chapters/04_aliases``.
        source: the file of the page, relative to the repository's root.
    """
    url = url.rstrip("/")
    edit = Link("Edit", f"{url}/edit/{quote(branch)}/{quote(source)}")
    if urlsplit(url).netloc != "github.com":
        return [edit]
    repository = urlsplit(url).path.strip("/")
    opened = quote(f"lab/tree/{source}", safe="")
    return [
        Link("Open in Binder", f"{BINDER}/{repository}/{quote(branch, safe='')}?urlpath={opened}"),
        Link("Open in Colab", f"{COLAB}/{repository}/blob/{NOTEBOOKS}/{quote(pagename)}.ipynb"),
        edit,
    ]
