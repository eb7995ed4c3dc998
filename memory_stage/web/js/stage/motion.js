/** Move the parts of a picture from their old places to their new ones. */

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/**
 * Return where the storages and the history of a picture are in the window: id -> [element, y]. It is empty for a
 * reader who wants no motion, because reading positions makes the browser lay out the page.
 * @param {Element} picture
 * @returns {Map<string, [Element, number]>}
 */
export function positionsIn(picture) {
  if (isStill()) return new Map();
  const groups = /** @type {NodeListOf<SVGGElement>} */ (picture.querySelectorAll('[data-storage], .history'));
  return new Map([...groups].map(g => [g.dataset.storage ?? 'history', [g, g.getBoundingClientRect().top]]));
}

/**
 * Animate the parts of a picture from earlier positions.
 * @param {Map<string, [Element, number]>} earlier
 * @param {Element} picture
 */
export function animateFrom(earlier, picture) {
  for (const [key, [element, y]] of positionsIn(picture)) {
    const before = earlier.get(key);
    if (!before || Math.abs(before[1] - y) <= 1) continue;
    const start = { transform: `translate(0,${before[1] - y}px)` };
    element.animate([start, {}], { duration: 200, easing: 'ease-out', composite: 'add' });
  }
}
