"""Sphinx extension of the book: pages that need nothing but their own folder.

It promises, for every page that Jupyter Book writes:

* the page is laid out by the book's own theme (``theme/``), with the list of chapters beside it (``navigation``);
* it asks no other host for anything, and runs no script but files of its own (``assets``, ``mathematics``);
* it loads the stage, the questions and MathJax only where they appear (``assets``);
* what a cell prints is shown as it printed it (``streams``), and markup is what assistive technology can follow
  (``markup``);
* the notebook as it ran is beside the page, offered for download (``downloads``), and where the repository is known,
  the page leads there (``links``); files of recorded facts that it cites are there, too (``recorded``);
* an error and a question find the section that explains them (``finding``), and an answer to an exercise can be written
  (``exercises``);
* Python in the page stands beside the pages where the build brought it, and only then a page speaks of it (``live``),
  checks answers in the page, and has a playground with programs to begin with (``playground``);
* slides and a sheet of questions for a class are made of the pages (``teaching``);
* the first use of a term leads to the glossary (``terms``);
* search engines and those who share the page get a description (``description``).
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from . import (
    assets,
    description,
    downloads,
    exercises,
    finding,
    links,
    live,
    markup,
    mathematics,
    navigation,
    playground,
    recorded,
    streams,
    teaching,
    terms,
)

THEME = Path(__file__).parent / "theme"


def setup(app: Sphinx) -> dict[str, bool]:
    streams.mend_joining()
    app.add_html_theme("in_place", str(THEME))
    app.add_config_value("book_address", "", "html", [str])
    app.add_config_value("live", bool(live.FOLDER), "html", [bool])
    app.connect("config-inited", mathematics.use_own_copy)
    app.connect("builder-inited", assets.offer_package_assets)
    app.connect("builder-inited", finding.offer_data)
    app.connect("builder-inited", live.refuse_without_files)
    app.connect("env-updated", exercises.read_cells)
    app.connect("doctree-resolved", recorded.link_facts)
    app.connect("doctree-resolved", terms.link_terms)
    app.connect("html-collect-pages", navigation.not_found_page)
    # Other extensions fill the page context at priority 500; what is chosen from it is chosen after them.
    app.connect("html-page-context", markup.mend_body, priority=600)
    app.connect("html-page-context", exercises.offer_writing, priority=600)
    app.connect("html-page-context", playground.offer_playground, priority=600)
    app.connect("html-page-context", navigation.show_chapters, priority=600)
    app.connect("html-page-context", links.lead_to_the_sources, priority=600)
    app.connect("html-page-context", live.tell_templates, priority=600)
    app.connect("html-page-context", description.describe_page, priority=610)
    app.connect("html-page-context", assets.choose_page_assets, priority=900)
    app.connect("html-page-context", live.choose_assets, priority=910)
    app.connect("html-page-context", finding.read_page, priority=900)
    app.connect("build-finished", finding.write_sections, priority=400)
    app.connect("build-finished", teaching.write_class, priority=450)
    app.connect("build-finished", downloads.copy_notebooks)
    app.connect("build-finished", recorded.copy_facts)
    app.connect("build-finished", mathematics.copy_mathjax)
    app.connect("build-finished", assets.lighten_assets)
    app.connect("build-finished", live.copy_files, priority=900)
    app.connect("build-finished", playground.write_programs, priority=910)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
