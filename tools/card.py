"""Draw the picture that appears when an address of the book is shared: `_ext/book_pages/theme/static/card.png`.

    python tools/card.py

A headless Chromium draws the SVG below at 1200 x 630 pixels. Run it again if the drawing or the title has changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import chromium  # noqa: E402

CARD = ROOT / "_ext" / "book_pages" / "theme" / "static" / "card.png"
WIDTH, HEIGHT = 1200, 630

INK, MUTED, PAPER, BLUE, LIGHT_BLUE, OCHRE = "#1a1d21", "#57606a", "#ffffff", "#0d4a8c", "#cad7e5", "#96780f"


def drawing() -> str:
    """Return an SVG of two names, two tensors and one storage with its first two numbers just overwritten."""
    cells = []
    for i, (old, new) in enumerate([("1", "10"), ("2", "20"), ("3", "")]):
        x = 690 + 140 * i
        written = bool(new)
        cells.append(
            f'<rect x="{x}" y="330" width="140" height="96" fill="{LIGHT_BLUE}" stroke="{INK if written else BLUE}" '
            f'stroke-width="{7 if written else 2}"/>'
        )
        if written:
            cells.append(
                f'<text x="{x + 20}" y="362" font-size="24" fill="{MUTED}" text-decoration="line-through">{old}</text>'
            )
        cells.append(
            f'<text x="{x + 70}" y="{408 if written else 394}" font-size="44" font-weight="700" text-anchor="middle" '
            f'fill="{INK}">{new or old}</text>'
        )
    rows = [("y", 352, BLUE, 420), ("v", 456, OCHRE, 280)]
    arrows = []
    for name, y, colour, length in rows:
        arrows.append(f'<text x="120" y="{y + 18}" font-size="54" font-weight="700" fill="{INK}">{name}</text>')
        arrows.append(
            f'<path d="M170 {y}H300M286 {y - 12}l16 12-16 12" fill="none" stroke="{MUTED}" stroke-width="4"/>'
        )
        arrows.append(
            f'<rect x="310" y="{y - 32}" width="220" height="64" rx="12" fill="{PAPER}" stroke="{colour}" '
            f'stroke-width="4"/>'
            f'<rect x="310" y="{y - 32}" width="16" height="64" rx="4" fill="{colour}"/>'
            f'<text x="430" y="{y + 12}" font-size="34" text-anchor="middle" fill="{INK}">'
            f"[{length // 140}]</text>"
        )
        track, bend = (446, 650) if name == "y" else (470, 610)
        arrows.append(
            f'<path d="M534 {y}H{bend}V{track + 5}H676M662 {track - 7}l16 12-16 12" fill="none" stroke="{MUTED}" '
            f'stroke-width="4"/><rect x="690" y="{track}" width="{length}" height="11" rx="5" fill="{colour}"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="Book Sans, sans-serif">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>'
        f'<text x="80" y="140" font-size="92" font-weight="700" fill="{INK}">In Place</text>'
        f'<text x="80" y="206" font-size="40" fill="{MUTED}">How tensors share, overwrite and protect memory</text>'
        f"{''.join(arrows)}{''.join(cells)}"
        f'<text x="690" y="530" font-size="30" fill="{MUTED}">one storage, version 0 → 1</text>'
        "</svg>"
    )


def main() -> None:
    from playwright.sync_api import sync_playwright

    try:
        found = chromium.find()
    except FileNotFoundError as error:
        sys.exit(str(error))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=chromium.FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        fonts = sorted((CARD.parent / "fonts").glob("*.woff2"))
        page.goto(CARD.parent.as_uri() + "/")
        faces = "".join(
            f"@font-face {{ font-family: 'Book Sans'; font-weight: {700 if 'bold' in font.name.lower() else 400}; "
            f"src: url('fonts/{font.name}') }}"
            for font in fonts
            if "sans" in font.name.lower() and "italic" not in font.name.lower()
        )
        page.set_content(f"<style>{faces} body {{ margin: 0 }}</style>{drawing()}")
        page.wait_for_timeout(500)
        page.screenshot(path=CARD, clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT})
        browser.close()


if __name__ == "__main__":
    main()
