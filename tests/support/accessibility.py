"""Run axe-core on a page, without checking the contrast of equal texts twice.

The contrast of colours is checked for one text of each *look*, and everything else for every element. Two texts have
the same look if their elements and the parents of these have the same tags and classes, and if their colours, their
fonts and the painted boxes behind them are equal. axe gives the same answer for both. A chapter has 1,100 texts with
100 looks. (axe ignores colours inside of pictures.)
"""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SCRIPT = Axe().axe_script
#: A rule that axe leaves out by default, because it is experimental.
STRICTER = ("label-content-name-mismatch",)
#: The rules that compare colours, and the elements that they check.
OF_COLOURS = {"color-contrast": "*", "link-in-text-block": "a[href]"}
LOOK = "data-look"

# Marks one element of each look; returns the numbers of texts and of looks.
MARK = """attribute => {
    const all = [];
    const gather = root => {
        for (const element of root.querySelectorAll('*')) {
            all.push(element);
            if (element.shadowRoot) gather(element.shadowRoot);
        }
    };
    gather(document);
    const boxes = [], texts = [];
    for (const element of all) {
        if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        const style = getComputedStyle(element), box = element.getBoundingClientRect();
        if (!box.width && !box.height) continue;
        const ground = style.backgroundColor;
        const painted = ground !== 'rgba(0, 0, 0, 0)' || style.backgroundImage !== 'none';
        if (painted || style.opacity !== '1' || style.filter !== 'none') {
            const how = [ground, style.backgroundImage, style.opacity, style.filter, style.position, style.zIndex];
            boxes.push([box, how.join()]);
        }
        const own = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
        if (own || element.matches('input, textarea, select')) texts.push([element, style, box]);
    }
    const classes = element => element && `${element.tagName}.${element.getAttribute('class') ?? ''}`;
    const looks = new Set();
    for (const [element, style, box] of texts) {
        const behind = [];
        boxes.forEach(([other, how]) => {
            if (other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top) {
                const covers = other.left <= box.left && other.right >= box.right &&
                    other.top <= box.top && other.bottom >= box.bottom;
                behind.push(how + covers);
            }
        });
        const text = element.textContent.trim();
        const kind = [text.length < 2, /[\\p{L}\\p{N}]/u.test(text)];  // axe reports no fault for a single character
        const disabled = element.closest('[disabled], [aria-disabled=true]') !== null;
        const look = [classes(element), classes(element.parentElement), kind, disabled, style.color,
            style.fontSize, style.fontWeight, style.textShadow, style.textDecorationLine, ...behind].join('|');
        if (!looks.has(look)) {
            looks.add(look);
            element.setAttribute(attribute, '');
        }
    }
    return [texts.length, looks.size];
}"""
UNMARK = """attribute => {
    const clear = root => {
        for (const element of root.querySelectorAll('*')) {
            element.removeAttribute(attribute);
            if (element.shadowRoot) clear(element.shadowRoot);
        }
    };
    clear(document);
}"""
# axe's option `preload`, which loads style sheets again, is off: axe would search for an imported sheet beside the page
# instead of beside the importing sheet, and report it as missing.
ASK = """async ([rules, options]) => {
    axe.reset();
    axe.configure({ rules });
    const { violations } = await axe.run({ ...options, resultTypes: ['violations'], preload: false });
    return violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 160)}`));
}"""


def violations(page: Page, *, contrast: bool = True, all_else: bool = True) -> list[str]:
    """Return axe-core's findings on the current page, one line for each element.

    Contrast does not depend on the width of the window, so a check at a second width may leave it out. Nothing else
    depends on colours, so a check in a second colour scheme may leave out everything else.
    """
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(SCRIPT)
    rules: list[dict[str, Any]] = [
        {"id": rule, "selector": f"{asked.replace('*', '')}[{LOOK}]"} for rule, asked in OF_COLOURS.items()
    ]
    options: dict[str, Any] = {"rules": {rule: {"enabled": True} for rule in STRICTER}}
    if not contrast:  # the rules about colours, which need marked looks, take more than half of axe's time
        options["rules"] |= {rule: {"enabled": False} for rule in OF_COLOURS}
        return page.evaluate(ASK, [rules, options])
    if not all_else:
        options = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
    page.evaluate(MARK, LOOK)
    try:
        return page.evaluate(ASK, [rules, options])
    finally:
        page.evaluate(UNMARK, LOOK)


# Notes each text that a screen reader announces when a live region inside an element changes.
LISTEN = """element => {
    globalThis.heard = [];
    const nearest = text => text.closest('[aria-live], [role=status], [role=alert], output');
    const isLive = region => (region?.ariaLive ?? 'polite') !== 'off';
    for (const region of element.shadowRoot.querySelectorAll('[aria-live], [role=status], [role=alert], output')) {
        new MutationObserver(() => {
            const text = region.textContent.trim();
            if (text && isLive(nearest(region))) heard.push(text);
        }).observe(region, { childList: true, characterData: true, subtree: true });
    }
}"""
