/**
 * Shows still pictures of the steps that paragraphs name. A page contains these pictures in `<noscript>`, for readers
 * without scripts. This script shows them also in print, and if the script of the stage is missing. In one column, a
 * stage is out of view while its paragraphs are read, so this script draws a picture as wide as the column after each
 * paragraph when the reader scrolls near to it.
 */

import { make } from './dom.js';
import { inTurn } from './in-turn.js';

/** @typedef {{text: Element, trace: () => any, variant: number, step: number}} Named */

const NEAR = '600px'; // a paragraph at most this far from the window is near

/** @type {(selector: string) => Element[]} */
const all = selector => [...document.querySelectorAll(selector)];

/**
 * Return a picture in which the names of patterns begin with another letter. Two pictures of the same step have the
 * same names, so one of them may refer to the patterns of the other. A browser does not draw the patterns of a hidden
 * picture.
 * @param {string | null} svg
 * @param {string} letter
 */
const renamed = (svg, letter) => (svg ?? '').replace(/(id="|url\(#)m/g, `$1${letter}`);

/** Show the pictures that the page contains in `<noscript>`. */
export function showStills() {
  for (const source of all('noscript.step-still')) {
    source.insertAdjacentHTML('afterend', renamed(source.textContent, 's'));
  }
}

export function hideStills() {
  for (const still of all('noscript + figure.step-still')) still.remove();
}

/**
 * Draw the picture of each paragraph when the reader is near, and again when the width of the column has changed.
 * @param {Named[]} named
 */
export function drawBetween(named) {
  /** @type {Map<Element, Named>} */
  const places = new Map();
  const near = new Set();
  const draw = figure => {
    const width = Math.floor(figure.clientWidth);
    if (!near.has(figure) || !width || figure.dataset.width === String(width)) return;
    figure.dataset.width = String(width);
    const { trace, variant, step } = /** @type {Named} */ (places.get(figure));
    figure.innerHTML = renamed(globalThis.memoryStage.picture(trace(), { variant, step, width }), 'd');
  };
  const positions = new IntersectionObserver(
    entries => {
      for (const { target, isIntersecting } of entries) {
        near[isIntersecting ? 'add' : 'delete'](target);
        if (isIntersecting) inTurn(() => draw(target));
      }
    },
    { rootMargin: NEAR },
  );
  const widths = new ResizeObserver(entries => {
    for (const { target } of entries) if (near.has(target)) inTurn(() => draw(target));
  });
  for (const each of named) {
    const figure = make('figure', { className: 'step-still drawn' });
    each.text.after(figure);
    places.set(figure, each);
    positions.observe(figure);
    widths.observe(figure);
  }
}
