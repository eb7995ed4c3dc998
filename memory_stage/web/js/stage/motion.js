/**
 * Animate the change from the picture of one step to the next: parts move from their old to their new positions, and a
 * freed storage fades out. The style sheet `PICTURE_CSS` animates the numbers that a write has changed. All motion ends
 * within 300 ms, and there is none if the reader's system asks for reduced motion.
 */

const GLIDE = { duration: 220, easing: 'ease-out' };
const FADE = { duration: 240, easing: 'ease-in', fill: /** @type {FillMode} */ ('forwards') };
const WANTS_NONE = '(prefers-reduced-motion: reduce)';

/**
 * Maps the id of a part of a picture to its element and to the element's top edge in the window.
 * @typedef {Map<string, {element: SVGGElement, top: number}>} Places
 */

/**
 * Return the positions of the storages, names and history of a picture. Storages that are drawn as small boxes are left
 * out, because there may be hundreds. If the reader wants no motion, return an empty map, because reading positions
 * makes the browser lay out the page.
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
    const shift = shiftOf(key) - carried; // a name inside of a storage already moves with the storage
    if (Math.abs(shift) > 1) glide(element, shift);
  }
  const svg = picture.querySelector('svg');
  for (const [key, { element, top }] of earlier) {
    const next = now.get(key)?.element;
    if (svg && key.startsWith('storage') && (!next || next.classList.contains('freed'))) fadeOut(svg, element, top);
  }
}

/** Move an element from an earlier position, which is `shift` px lower (higher if negative), to its present one. */
function glide(element, shift) {
  element.animate([{ transform: `translate(0,${shift}px)` }, {}], { ...GLIDE, composite: 'add' });
}

/** Add a part of the previous picture to the present one, in its old position, and let it fade out. */
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
  await fading.finished.catch(() => undefined); // rejected if the next picture cancels the animation
  element.remove();
}
