"""Draw the pictures of stages that introduce the book: cards for shared links, and the picture of the README.

    python tools/card.py       after `make build`: draw the book's card and the picture of the README

A card is the picture of 1200 x 630 pixels that appears beside a shared link. The book's card and the README show the
stage of the front page. The card of a chapter shows the step at which the chapter's first stage opens.
A page has to name its card by the full address, so `tools/build.py` draws the cards of the chapters only if
`book_address` in `_config.yml` has the address of the book.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import chromium  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Page

STATIC = ROOT / "_ext" / "book_pages" / "theme" / "static"
CARD = STATIC / "card.png"
README = ROOT / "book" / "stage.png"
PAGES = ROOT / "_build" / "html"
WIDTH, HEIGHT = 1200, 630
FILE_WIDTH = 960  # px of the README's image, in which the program is beside the picture of the memory

BOOK = "In Place"
SUBTITLE = "How tensors share, overwrite and protect memory"

TRACE = re.compile(r'<memory-stage[^>]*>\s*<script type="application/json">(.*?)</script>', re.S)
HEADING = re.compile(r"<h1>(.*?)(?:<a class=\"headerlink\"|</h1>)", re.S)
IMAGE = re.compile(r'(<meta property="og:image" content="[^"]*/_static/)card\.png(")')
ALT = re.compile(r'(<meta property="og:image:alt" content=")[^"]*(")')

STYLE = """
@font-face { font-family: "Book Sans"; src: url("fonts/BookSans-Regular.woff2"); }
@font-face { font-family: "Book Sans"; font-weight: 600 700; src: url("fonts/BookSans-SemiBold.woff2"); }
@font-face { font-family: "Book Mono"; src: url("fonts/BookMono-Regular.woff2"); }
@font-face { font-family: "Book Mono"; font-weight: 600 700; src: url("fonts/BookMono-SemiBold.woff2"); }
:root { color-scheme: light; --book-sans: "Book Sans"; --book-mono: "Book Mono"; }
body { display: flex; flex-direction: column; box-sizing: border-box; width: 1200px; height: 630px; margin: 0;
       padding: 52px 72px 40px; background: #fff; font-family: "Book Sans"; color: #1a1d21; }
h1 { margin: 0; font-size: 62px; font-weight: 700; line-height: 1.12; text-wrap: balance; }
h1.long { font-size: 50px; }
p { margin: 8px 0 0; font-size: 32px; color: #57606a; }
#picture { flex: 1; min-height: 0; margin-top: 26px; }
#picture svg { display: block; width: 100%; height: 100%; }
"""
# A function in JavaScript that returns the step that a stage shows first.
OPENING = """trace => {
    const variant = Math.max(0, trace.variants.findIndex(({id}) => id === trace.opens));
    return {variant, step: trace.variants[variant].key ?? 0};
}"""
# A function in JavaScript that draws this step in a narrow layout and enlarges it, so that the card has large letters.
DRAW = f"""trace => {{
    const box = document.querySelector('#picture');
    const width = 640, room = width * box.clientHeight / box.clientWidth;
    box.innerHTML = memoryStage.picture(trace, {{...({OPENING})(trace), width, room: 1.5 * room, least: room}});
}}"""
SHEET = f"trace => memoryStage.sheet(trace, {{...({OPENING})(trace), width: {FILE_WIDTH}, least: 260}})"


@contextmanager
def drawing_page(script: Path, sharpness: int = 1) -> Iterator[Page]:
    """Open an empty page with the fonts of the book and the script of its stages.

    Args:
        sharpness: the number of pixels in a screenshot for each px of the page.

    Raises:
        FileNotFoundError: if there is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    found = chromium.find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=chromium.FLAGS)
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=sharpness, reduced_motion="reduce"
        )
        page.goto(STATIC.as_uri() + "/")
        page.set_content(f"<style>{STYLE}</style>")
        page.add_script_tag(path=script)
        yield page
        browser.close()


def draw_card(page: Page, trace: dict[str, Any], title: str, subtitle: str, file: Path) -> None:
    """Write a card with a title, a subtitle and the step that a stage shows first."""
    size = ' class="long"' if len(title) > 34 else ""
    words = f"<h1{size}>{html.escape(title)}</h1><p>{html.escape(subtitle)}</p>"
    page.evaluate("words => { document.body.innerHTML = words; }", f'{words}<div id="picture"></div>')
    page.evaluate("document.fonts.ready")
    page.evaluate(DRAW, trace)
    page.evaluate("document.fonts.ready")
    file.parent.mkdir(exist_ok=True)
    page.screenshot(path=file)


def draw_sheet(page: Page, trace: dict[str, Any], file: Path) -> None:
    """Write the program, the sentence and the picture of a stage, as the stage's button "Save picture" does."""
    page.evaluate("svg => { document.body.outerHTML = `<body>${svg}</body>`; }", page.evaluate(SHEET, trace))
    page.locator("svg.memory-picture").first.screenshot(path=file)


def trace_in(text: str) -> dict[str, Any] | None:
    """Return the recording of the first stage of a page; None if the page has no stage."""
    found = TRACE.search(text)
    return json.loads(found[1]) if found else None


def opening_sentence(trace: dict[str, Any]) -> str:
    """Return the sentence of the step that a stage shows first, without backticks."""
    variants = trace["variants"]
    variant = next((each for each in variants if each["id"] == trace.get("opens")), variants[0])
    return variant["steps"][variant.get("key") or 0]["say"].replace("`", "")


def add_chapter_cards(pages: Path) -> int:
    """Draw a card for each chapter that has a stage, and name it in the head of the page instead of the book's card.

    Args:
        pages: the folder of the built book.

    Returns:
        The number of cards.

    Raises:
        FileNotFoundError: if there is no Chromium.
        ModuleNotFoundError: if Playwright is not installed.
    """
    chapters = []
    for path in sorted((pages / "chapters").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        trace = trace_in(text) if IMAGE.search(text) else None
        if trace is not None:
            chapters.append((path, text, trace))
    if not chapters:
        return 0
    with drawing_page(pages / "_static" / "stage.js") as page:
        for path, text, trace in chapters:
            title = html.unescape(re.sub(r"<[^>]+>", "", HEADING.search(text)[1]))
            draw_card(page, trace, title, BOOK, pages / "_static" / "cards" / f"{path.stem}.png")
            alt = html.escape(f"{title}. {opening_sentence(trace)}", quote=True)
            text = IMAGE.sub(rf"\g<1>cards/{path.stem}.png\g<2>", text)
            path.write_text(ALT.sub(lambda found, alt=alt: f"{found[1]}{alt}{found[2]}", text), encoding="utf-8")
    return len(chapters)


def main() -> None:
    front = PAGES / "index.html"
    if not front.exists():
        sys.exit("There is no _build/html/index.html: run make build first.")
    trace = trace_in(front.read_text(encoding="utf-8"))
    if trace is None:
        sys.exit("The front page has no stage.")
    try:
        with drawing_page(PAGES / "_static" / "stage.js") as page:
            draw_card(page, trace, BOOK, SUBTITLE, CARD)
        with drawing_page(PAGES / "_static" / "stage.js", sharpness=2) as page:
            draw_sheet(page, trace, README)
    except FileNotFoundError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
