"""Sphinx extension that builds the pages of the book.

A built page loads nothing from other hosts, and runs only scripts from the book's folder. The modules add the following
to the pages that Jupyter Book makes:

* the book's own theme (``theme/``), with the list of chapters beside the page (``navigation``);
* only the scripts and style sheets that the page needs, such as those of stages and questions (``assets``) or MathJax
  (``mathematics``);
* paragraphs that refer to a step of the stage in their section (``step_marks``), and that are shown beside this stage
  (``beside``);
* printed output in one piece (``streams``), and markup that assistive technology can read (``markup``);
* the executed notebook for download (``downloads``), links to the notebook and, if the repository is known, to services
  that run or edit the page (``links``), and copies of the recorded facts that the page cites (``recorded``);
* a search for error messages and questions (``finding``), and a field for the answer to an exercise (``exercises``);
* Python in the page, if the build includes it (``live``): it runs programs, checks answers to exercises, and runs the
  playground, which offers programs of the book (``playground``);
* slides and handouts for a class of students (``teaching``);
* a link to the glossary at the first use of a term (``terms``);
* a description for search engines and for links that people share (``description``);
* the same anchors in every language, and links to the translations of the page (``translated``, ``languages``);
* menus, buttons and other words around the content in the language of the edition (``frame_words``).
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from . import (
    assets,
    beside,
    description,
    downloads,
    exercises,
    finding,
    frame_words,
    links,
    live,
    markup,
    mathematics,
    navigation,
    playground,
    recorded,
    step_marks,
    streams,
    teaching,
    terms,
    translated,
)

THEME = Path(__file__).parent / "theme"


def setup(app: Sphinx) -> dict[str, bool]:
    streams.mend_joining()
    app.add_html_theme("in_place", str(THEME))
    app.add_config_value("book_address", "", "html", [str])
    app.add_config_value("live", bool(live.FOLDER), "html", [bool])
    # the folder of the edition that is built, such as "zh"; "" for the English book
    app.add_config_value("edition", "", "env", [str])
    app.add_transform(translated.SameAnchors)
    app.add_post_transform(translated.EnglishPages)
    app.add_role("step", step_marks.StepRole())
    app.add_node(step_marks.step_mark, html=(step_marks.visit_step_mark, step_marks.depart_step_mark))
    app.connect("config-inited", mathematics.use_own_copy)
    app.connect("builder-inited", assets.offer_package_assets)
    app.connect("builder-inited", finding.offer_data)
    app.connect("builder-inited", live.refuse_without_files)
    app.connect("env-updated", exercises.read_cells)
    app.connect("doctree-resolved", recorded.link_facts)
    app.connect("doctree-resolved", step_marks.find_stages)
    app.connect("doctree-resolved", beside.arrange)
    app.connect("doctree-resolved", terms.link_terms)
    app.connect("html-collect-pages", navigation.not_found_page)
    # Other extensions fill the page context at priority 500, so handlers that choose from it run later.
    app.connect("html-page-context", markup.mend_body, priority=600)
    app.connect("html-page-context", exercises.offer_writing, priority=600)
    app.connect("html-page-context", playground.offer_playground, priority=600)
    app.connect("html-page-context", navigation.show_chapters, priority=600)
    app.connect("html-page-context", links.add_to_context, priority=600)
    app.connect("html-page-context", live.add_to_context, priority=600)
    app.connect("html-page-context", translated.offer_languages, priority=600)
    app.connect("html-page-context", frame_words.add_to_context, priority=600)
    app.connect("html-page-context", description.describe_page, priority=610)
    app.connect("html-page-context", assets.choose_page_assets, priority=900)
    app.connect("html-page-context", live.choose_assets, priority=910)
    app.connect("html-page-context", finding.read_page, priority=900)
    app.connect("build-finished", finding.write_sections, priority=400)
    app.connect("build-finished", teaching.write_class, priority=450)
    app.connect("build-finished", downloads.copy_notebooks)
    app.connect("build-finished", recorded.copy_facts)
    app.connect("build-finished", mathematics.copy_mathjax)
    app.connect("build-finished", assets.clean_assets)
    app.connect("build-finished", live.copy_files, priority=900)
    app.connect("build-finished", playground.write_programs, priority=910)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
