/**
 * Motion between the pictures of two steps: parts move from their old positions to the new ones, and a freed storage
 * fades out. A style (`PICTURE_CSS`) flips the numbers that a write has changed. All motion ends within 300 ms, and
 * readers whose system asks for reduced motion see none.
 */

const GLIDE = { duration: 220, easing: 'ease-out' };
const FADE = { duration: 240, easing: 'ease-in', fill: /** @type {FillMode} */ ('forwards') };
const WANTS_NONE = '(prefers-reduced-motion: reduce)';

/**
 * Maps the id of a part of a picture to its element and to the element's top edge in the window.
 * @typedef {Map<string, {element: SVGGElement, top: number}>} Places
 */

/**
 * Return the positions of the storages, names and history of a picture, without the small boxes of other storages,
 * because there may be hundreds. The map is empty for a reader who wants no motion, because reading positions makes the
 * browser lay out the page.
 * @param {Element} picture
 * @returns {Places}
 */
export function positionsIn(picture) {
  if (matchMedia(WANTS_NONE).matches) return new Map();
  const parts = /** @type {NodeListOf<SVGGElement>} */ (
    picture.querySelectorAll('[data-storage]:not(.small), [data-name], .history')
  );
  return new Map(
    [...parts].map(element => {
      const { storage, name } = element.dataset;
      const key = storage ? `storage ${storage}` : name ? `name ${name}` : 'history';
      return [key, { element, top: element.getBoundingClientRect().top }];
    }),
  );
}

/**
 * Animate the parts of a picture from their positions in the previous one.
 * @param {Places} earlier
 * @param {Element} picture
 */
export function animateFrom(earlier, picture) {
  if (!earlier.size) return;
  const now = positionsIn(picture);
  const shiftOf = key => (earlier.get(key)?.top ?? now.get(key)?.top ?? 0) - (now.get(key)?.top ?? 0);
  for (const [key, { element }] of now) {
    const around = element.parentElement?.closest('[data-storage]');
    const carried = around instanceof SVGElement ? shiftOf(`storage ${around.dataset.storage}`) : 0;
    const shift = shiftOf(key) - carried; // a name moves with its storage
    if (Math.abs(shift) > 1) glide(element, shift);
  }
  const svg = picture.querySelector('svg');
  for (const [key, { element, top }] of earlier) {
    const next = now.get(key)?.element;
    if (svg && key.startsWith('storage') && (!next || next.classList.contains('freed'))) fadeOut(svg, element, top);
  }
}

/** Move an element from a position above or below to its present one. */
function glide(element, shift) {
  element.animate([{ transform: `translate(0,${shift}px)` }, {}], { ...GLIDE, composite: 'add' });
}

/** Show a part of the previous picture once more in its position, and let it fade. */
async function fadeOut(svg, element, top) {
  element.setAttribute('aria-hidden', 'true');
  element.style.pointerEvents = 'none';
  for (const key of ['storage', 'tensor', 'saved', 'node', 'name', 'cell']) {
    for (const part of [element, ...element.querySelectorAll(`[data-${key}]`)]) part.removeAttribute(`data-${key}`);
  }
  svg.append(element);
  const shift = top - element.getBoundingClientRect().top;
  const place = `translate(0,${shift}px)`;
  const fading = element.animate(
    [
      { opacity: 1, transform: place },
      { opacity: 0, transform: place },
    ],
    FADE,
  );
  await fading.finished.catch(() => undefined); // cancelled if the next picture is drawn before its end
  element.remove();
}
