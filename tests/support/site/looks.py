"""Open a page in different looks (fonts, text size, window, colours), and find the faults of its layout."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route

from memory_stage.web import element
from memory_stage.web import picture as stage_picture
from tests.support.site.visit import WAKE
from tests.support.waiting import PAGE_PATIENCE
from tools.build import ROOT

FAULTS = (Path(__file__).parent / "layout.js").read_text(encoding="utf-8")
#: Maps a name to the fonts of prose and of code; None means the page's own fonts.
FONTS = {
    "its own": None,
    "DejaVu": ("DejaVu Sans", "DejaVu Sans Mono"),
    "Noto CJK": ("Noto Sans CJK SC", "Noto Sans Mono CJK SC"),
}
#: Fonts with Chinese characters, at least one for each system. A browser without one draws empty boxes.
CHINESE = ("PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", "WenQuanYi Micro Hei")
#: Maps a name to the zoom of the page and the font size of its root element.
SIZES = {"100 %": (1, "100%"), "200 % zoom": (2, "100%"), "200 % text": (1, "200%")}
WINDOWS = ((1440, 900), (1280, 720), (1024, 768), (390, 844))
NARROWEST = 320  # the least width of a page in CSS px; a zoomed page is not made narrower
SCHEMES = ("light", "dark")
MOMENTS = ("opening", "end")  # the step that all stages of the page show: the one at which they open, or the last
PLACES = ("page", "JupyterLab", "Notebook 7")
TEMPLATES = {"JupyterLab": "lab", "Notebook 7": "classic"}  # the nbconvert template for each place
SEED = int(os.environ.get("MINITENSOR_SEED") or 1)
EVERYTHING = os.environ.get("MINITENSOR_LAYOUT") == "all"


@dataclass(frozen=True)
class Look:
    place: str = "page"
    font: str = "its own"
    size: str = "100 %"
    window: tuple[int, int] = WINDOWS[0]
    scheme: str = "light"
    moment: str = "opening"

    @classmethod
    def choose(cls, draw: random.Random, **given: Any) -> Look:
        """Return a look with the given properties, and random ones for the rest."""
        choices = {
            "place": PLACES,
            "font": tuple(FONTS),
            "size": tuple(SIZES),
            "window": WINDOWS,
            "scheme": SCHEMES,
            "moment": MOMENTS,
        }
        return cls(**{key: draw.choice(values) for key, values in choices.items()} | given)

    @classmethod
    def combinations(cls) -> Iterator[Look]:
        """Yield each combination once: light pages at the first moment, dark pages at the last."""
        for place in PLACES:
            for font in FONTS:
                for size in SIZES:
                    for window in WINDOWS:
                        for number, scheme in enumerate(SCHEMES):
                            yield cls(place, font, size, window, scheme, MOMENTS[number])

    @property
    def viewport(self) -> dict[str, int]:
        """The window in CSS pixels. A zoomed page is not made narrower than `NARROWEST`."""
        width, height = (max(NARROWEST, length // SIZES[self.size][0]) for length in self.window)
        return {"width": width, "height": height}

    def __str__(self) -> str:
        return ", ".join(f"{key} {value}" for key, value in asdict(self).items())


USE_FONTS = """([sans, mono]) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`:root:root:root { --book-sans: "${sans}" !important; --book-mono: "${mono}" !important }`);
    document.adoptedStyleSheets = [sheet];
}"""
SETTLE = """async size => {
    document.documentElement.style.fontSize = size;
    WAKE
    await Promise.all([...document.fonts].map(face => face.load().catch(() => {})));
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
}""".replace("WAKE", WAKE)


@cache
def notebook(name: str, template: str, scheme: str) -> str:
    """Return the HTML that nbconvert makes of an executed chapter. In Jupyter, the output of the first cell loads the
    scripts of stages; here they are added to the HTML.
    """
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(template_name=template, theme=scheme)
    text, _ = exporter.from_filename(str(ROOT / "_build" / "jupyter_execute" / f"{name}.ipynb"))
    scripts = [stage_picture.script_source(), element.script_source()]
    end = "".join("<script>" + source.replace("</", "<\\/") + "</script>" for source in scripts)
    return text.replace("</body>", f"{end}</body>")


@contextmanager
def open_page(browser: Browser, address: str, look: Look) -> Iterator[Page]:
    """Open the page at ``address``, a URL of the served book that ends in ``folder/page.html``.

    All stages are started and the fonts are loaded.
    """
    context = browser.new_context(
        viewport=look.viewport,
        device_scale_factor=SIZES[look.size][0],
        color_scheme=look.scheme,
        reduced_motion="reduce",
    )
    try:
        context.set_default_timeout(PAGE_PATIENCE)
        if FONTS[look.font]:
            sans, mono = FONTS[look.font]
            context.add_init_script(f"({USE_FONTS})(['{sans}', '{mono}'])")
        page = context.new_page()
        site, name = address.rsplit("/", 2)[0], "/".join(address.rsplit("/", 2)[1:])

        def answer(route: Route) -> None:
            """Answer a request for the page with the notebook if the look is a notebook. Block other hosts."""
            if route.request.url == address and look.place != "page":
                body = notebook(name.removesuffix(".html"), TEMPLATES[look.place], look.scheme)
                route.fulfill(body=body, content_type="text/html")
            elif route.request.url.startswith(site):
                route.continue_()
            else:
                route.abort()

        page.route("**/*", answer)
        page.goto(address, wait_until="load")
        settle(page, look)
        yield page
    finally:
        context.close()


def settle(page: Page, look: Look) -> None:
    """Set the size of the text, start all stages, and wait until the fonts are loaded and the page is drawn."""
    page.evaluate(SETTLE, SIZES[look.size][1])


def faults(page: Page, look: Look, scroller: str = "") -> list[str]:
    """Return the faults in the layout of stages and figures and, on a page of the book, in the layout of its other
    text.

    Args:
        scroller: for JupyterLab and Notebook, the selector of the element that contains the notebook. Its text is
            checked, too.
    """
    how = {"moment": look.moment, "isOurs": look.place == "page", "scroller": scroller}
    return page.evaluate(f"how => {{ {FAULTS}; return faultsOfLayout(how); }}", how)


def has_font(page: Page, family: str) -> bool:
    """True if the machine has a font of this name."""
    load = "name => new FontFace('probe', `local('${name}')`).load().then(() => true, () => false)"
    return page.evaluate(load, family)
