"""Print the built book as one PDF file with bookmarks: Chromium prints each page, and pypdf joins them.

    python tools/pdf.py [folder] [--to book.pdf] [--pages index chapters/04_aliases ...]

This needs Chromium on the PATH or in the variable CHROMIUM. Pages have the order of the table of contents. Each has a
bookmark with its title, and below it bookmarks for the headings of its sections.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

if not __package__:  # if this runs as a script, `tools` is found in the parent folder
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter

from _ext.book_pages.languages import contents
from tools import chromium, serve

ROOT = serve.ROOT
HEADINGS = """level => [...document.querySelectorAll(`article ${level}`)].map(heading => {
    const whole = heading.cloneNode(true);
    whole.querySelector('.headerlink')?.remove();
    return whole.textContent.trim();
})"""
# If the last sheet has less text than a paragraph, the page is printed again, a little smaller.
LEAST = 600  # the characters of such a paragraph
SCALES = (1.0, 0.97, 0.94, 0.91, 0.88, 0.85)
# A script that scrolls through the page before it is printed, because some parts are drawn only near the window.
SHOW_ALL = """async () => {
    document.documentElement.classList.add('whole');
    for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight) {
        scrollTo({ top, behavior: 'instant' });
        await new Promise(requestAnimationFrame);
    }
    await document.fonts.ready;
}"""
FOOTER = """<div style="width: 100%; text-align: center; font: 8px sans-serif"><span class="pageNumber"></span></div>"""


@dataclass(frozen=True)
class PrintedPage:
    """A page of the book as PDF, with the titles of the page and of its sections."""

    title: str
    sections: list[str]
    pdf: PdfReader


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the built book as one PDF file.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--to", type=Path, default=ROOT / "_build" / "in-place.pdf")
    parser.add_argument("--pages", nargs="+", metavar="NAME", help="only these, for example chapters/04_aliases")
    options = parser.parse_args()
    if not (options.folder / "index.html").exists():
        parser.error(f"{options.folder} has no index.html: build the book first")
    join_pages(print_pages(options.folder, options.pages or contents(ROOT)), options.to)
    print(f"{options.to}: {options.to.stat().st_size / 1e6:.1f} MB")


def print_pages(folder: Path, names: Iterable[str]) -> Iterator[PrintedPage]:
    """Print each page of the built book with Chromium."""
    try:
        found = chromium.find()
    except FileNotFoundError as error:
        sys.exit(str(error))
    with serve.open_server(folder) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=found, args=chromium.FLAGS)
        page = browser.new_page(color_scheme="light", reduced_motion="reduce", viewport={"width": 794, "height": 1123})
        for name in names:
            page.goto(f"http://{serve.HOST}:{server.server_port}/{name}.html", wait_until="networkidle")
            [title] = page.evaluate(HEADINGS, "h1")
            yield PrintedPage(title, page.evaluate(HEADINGS, "h2"), print_open_page(page))
        browser.close()
        server.shutdown()


def print_open_page(page: Page) -> PdfReader:
    """Return the open page as PDF, in which Chromium has added a bookmark for each heading."""
    page.emulate_media(media="print")
    page.evaluate(SHOW_ALL)
    tried = []
    for scale in SCALES:
        pdf = page.pdf(
            scale=scale,
            prefer_css_page_size=True,
            print_background=True,
            tagged=True,
            outline=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
        )
        tried.append(PdfReader(BytesIO(pdf)))
        if len(tried[-1].pages[-1].extract_text()) >= LEAST:
            return tried[-1]
    return max(tried, key=lambda pdf: len(pdf.pages[-1].extract_text()))


def join_pages(printed: Iterable[PrintedPage], target: Path) -> None:
    """Join the pages, with a bookmark for each page of the book, and below it one for each of its sections."""
    writer = PdfWriter()
    for part in printed:
        first = len(writer.pages)
        writer.append(part.pdf, import_outline=False)
        top = writer.add_outline_item(title=part.title, page_number=first)
        for title, number in zip(part.sections, _section_pages(part.pdf), strict=True):
            writer.add_outline_item(title=title, page_number=first + number, parent=top)
    writer.add_metadata({"/Title": "In Place", "/Author": "The authors of In Place"})
    writer.compress_identical_objects()  # each page contains the fonts again, and each pattern once per use
    target.parent.mkdir(parents=True, exist_ok=True)
    writer.write(target)


def _section_pages(reader: PdfReader) -> list[int]:
    """Return the numbers of the sheets on which the sections of one page of the book begin.

    Chromium's bookmarks have these numbers. The titles of the bookmarks are not used, because Chromium repeats words in
    a title at a line break.
    """
    below = [entries for entries in reader.outline if isinstance(entries, list)]
    sections = [entry for entries in below for entry in entries if not isinstance(entry, list)]
    return [reader.get_destination_page_number(section) for section in sections]


if __name__ == "__main__":
    main()
