"""Every step of every example, at every width a page can have: no text clipped, none over another, no line through one."""

from __future__ import annotations

import pytest

from tests.stage import pages

# Of the picture itself: phones of 320 and 360 px, a narrow column, a book's column, and the right half of a wide page.
WIDTHS = (288, 320, 360, 592, 700, 760, 792, 812, 1000)

MEASURE = """([trace, widths]) => {
  const found = [], host = document.createElement('div');
  document.body.append(host);
  const meet = (a, b, by) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  trace.variants.forEach((v, variant) => v.steps.forEach((_, step) => {
    if (v.steps.length > 30 && step % 6) return;
    for (const width of widths) {
      const at = `${v.id} step ${step + 1} at ${width}px`;
      host.innerHTML = memoryStage.picture(trace, {variant, step, width});
      const svg = host.firstChild, page = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim()).map(t => {
        const box = t.getBoundingClientRect(), size = parseFloat(getComputedStyle(t).fontSize), whole = t.querySelector('title');
        const said = [...t.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('');
        // the glyphs' own box: a font's line is higher than what is drawn in it
        const inner = (box.height - size * .95) / 2;
        return {said, size, left: box.left, right: box.right, top: box.top + inner, bottom: box.bottom - inner};
      });
      for (const t of texts) {
        if (t.size < 12) found.push(`${at}: "${t.said}" is ${t.size}px`);
        if (t.left < page.left - 1 || t.right > page.right + 1 || t.top < page.top - 1 || t.bottom > page.bottom + 1)
          found.push(`${at}: "${t.said}" is cut off at the edge`);
      }
      texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
        if (meet(a, b, 2)) found.push(`${at}: "${a.said}" and "${b.said}" overlap`);
      }));
      for (const box of svg.querySelectorAll('rect, path, circle')) {
        if (box.closest('defs')) continue;
        const b = box.getBoundingClientRect();
        if (b.left < page.left - 2 || b.right > page.right + 2 || b.bottom > page.bottom + 2) found.push(`${at}: a ${box.tagName} is cut off at the edge`);
      }
      for (const path of svg.querySelectorAll('path')) {
        if (path.closest('defs') || path.style.fill !== 'none') continue;
        const length = path.getTotalLength(), m = path.getScreenCTM();
        for (let l = 0; l <= length; l += 4) {
          const p = path.getPointAtLength(l).matrixTransform(m);
          const hit = texts.find(t => p.x > t.left + 2 && p.x < t.right - 2 && p.y > t.top + 2 && p.y < t.bottom - 2);
          if (hit) { found.push(`${at}: a line runs through "${hit.said}"`); break; }
        }
      }
    }
  }));
  host.remove();
  return found;
}"""


@pytest.mark.parametrize("name", pages.NAMES)
def test_texts_and_lines_keep_apart(show, name):
    found = show("three").evaluate(MEASURE, [pages.trace(name), list(WIDTHS)])
    assert found == [], f"{len(found)} faults, the first: " + "; ".join(found[:12])


def test_a_planted_overlap_is_found(show):
    page = show("three")
    page.evaluate(
        """() => { const draw = memoryStage.picture;
          memoryStage.picture = (...args) => draw(...args).replace('</svg>',
            '<text x="2" y="12">names</text><text x="2000" y="9">far</text><path d="M0 8H300" style="fill:none"/></svg>'); }"""
    )
    found = page.evaluate(MEASURE, [pages.trace("three"), [760]])
    assert any("overlap" in fault for fault in found)
    assert any("cut off" in fault for fault in found)
    assert any("a line runs through" in fault for fault in found)


@pytest.mark.parametrize("width", [320, 360, 700, 792, 1280])
@pytest.mark.parametrize("name", pages.NAMES)
def test_nothing_is_wider_than_the_page(show, name, width):
    page = show(name, width=width)
    wide = page.evaluate(
        """() => { const stage = document.querySelector('memory-stage'), steps = +stage.shadowRoot.querySelector('input[type=range]').max;
          const found = [];
          stage.shadowRoot.querySelectorAll('details').forEach(box => { box.open = true; });
          for (const k of new Set([0, steps >> 1, steps - 1])) {
            stage.go(k);
            for (const el of [document.documentElement, ...stage.shadowRoot.querySelectorAll('*:not(svg *)')])
              if (el.scrollWidth > el.clientWidth + 1 && el.clientWidth && !el.matches('.sr, input, svg')) found.push(`${el.tagName}.${el.className} at step ${k + 1}`);
          }
          return found; }"""
    )
    assert wide == []


def test_nothing_in_memory_moves_while_stepping(show):
    """Names, tensors and storages keep their places over all steps and variants of a small program."""
    moved = show("stale").evaluate(
        """trace => { const seen = new Map(), moved = [];
          trace.variants.forEach((v, variant) => v.steps.forEach((_, step) => {
            const box = document.createElement('div'); box.innerHTML = memoryStage.picture(trace, {variant, step, width: 760});
            for (const t of box.querySelectorAll('svg > text, svg > g:not([transform]) text')) {
              const said = t.textContent, at = `${t.getAttribute('x')} ${t.getAttribute('y')}`;
              if (!/^(storage [0-9]|x|a|y|names|tensors|storages)$/.test(said)) continue;
              if ((seen.get(said) ?? at) !== at) moved.push(said);
              seen.set(said, at);
            }
          }));
          return moved; }""",
        pages.trace("stale"),
    )
    assert moved == []
