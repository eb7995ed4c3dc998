"""Where a page leads beyond reading: its notebook, its source, and, where the repository is known, a place to run it.

The address of the repository is one setting, ``repository: url`` in ``_config.yml``. Without it there is no link that
would lead nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from docutils import nodes
from sphinx.application import Sphinx

from .downloads import executed

BINDER = "https://mybinder.org/v2/gh"
COLAB = "https://colab.research.google.com/github"
NOTEBOOKS = "notebooks"  # the branch where the workflow puts the notebooks as they ran: Colab opens no Markdown


@dataclass(frozen=True)
class Link:
    text: str
    address: str
    download: bool = False


def lead_to_the_sources(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the template the links of this page."""
    if doctree is None:
        return
    links: list[Link] = []
    if (executed(app) / f"{pagename}.ipynb").exists():
        links.append(Link("Download as notebook", context["pathto"](f"_sources/{pagename}.ipynb", 1), download=True))
        links.append(Link("as text", context["pathto"](f"_sources/{context['sourcename']}", 1), download=True))
    options = app.config.html_theme_options
    if url := options.get("repository_url"):
        links += repository_links(
            url, options.get("repository_branch") or "main", pagename, app.env.doc2path(pagename, False)
        )
    context["here"] = links


def repository_links(url: str, branch: str, pagename: str, source: str) -> list[Link]:
    """Where the page can be run and edited.

    Args:
        url: of the repository. Binder and Colab know GitHub's; at another host only the editing remains.
        branch: with the sources.
        pagename: as Sphinx calls it, ``chapters/04_aliases``.
        source: its file, from the repository's root.
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
