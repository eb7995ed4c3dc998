/** Adapt an element to its page: to fonts, the keyboard shortcuts of a notebook, the theme, the width and printing. */

import { getOrMake } from './cache.js';

/** The base class of elements; `Object` in V8, which has no `HTMLElement`. */
export const ElementBase = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? Object);

/** JupyterLab does not use its keyboard shortcuts inside an element with this attribute. */
export const KEYS_ATTRIBUTE = 'data-lm-suppress-shortcuts';

/**
 * Let JupyterLab handle keys with Ctrl or Command, and no other keys, while an element has the focus. In a text field,
 * let it handle only Ctrl+S, because the field needs most of the other keys. The listener is outside of the shadow
 * root, where the target of a key event is the element itself.
 * @param {typeof HTMLElement} Kind the class of the elements
 */
export function keepKeysFromNotebook(Kind) {
  const isText = node => node instanceof Element && node.matches('input:not([type=range], [type=radio])');
  const toggle = event => {
    if (!(event.target instanceof Kind)) return;
    const isCommand = event.ctrlKey || event.metaKey;
    event.target.toggleAttribute(KEYS_ATTRIBUTE, !isCommand || (isText(event.composedPath()[0]) && event.key !== 's'));
  };
  addEventListener('keydown', toggle, true);
}

/** Return the theme of the book's page or of JupyterLab; '' if the page does not set a theme. */
function themeOfPage() {
  const { theme } = document.documentElement.dataset;
  const { jpThemeLight } = document.body.dataset;
  if (theme === 'dark' || theme === 'light') return theme;
  if (!jpThemeLight) return '';
  return jpThemeLight === 'false' ? 'dark' : 'light';
}

/** @type {CanvasRenderingContext2D | null | undefined} */
let canvas;
const PROBE = 'storage version 0123456789';
const FACES = [
  { mono: false, bold: false },
  { mono: false, bold: true },
  { mono: true, bold: false },
  { mono: true, bold: true },
];
/** @type {Map<string, import('./measure.js').Meter>} */
const meters = new Map();

/**
 * Return a meter that measures texts in the fonts of an element, which defines --sans and --mono. While a font is
 * loading, the page shows another font, and the meter and its key are those of this other font.
 * @param {Element} element
 * @returns {import('./measure.js').Meter}
 */
export function meterOf(element) {
  const style = getComputedStyle(element);
  const [sans, mono] = ['--sans', '--mono'].map(name => style.getPropertyValue(name));
  canvas ??= document.createElement('canvas').getContext('2d');
  const context = /** @type {CanvasRenderingContext2D} */ (canvas);
  const measured = (text, font) => {
    context.font = `${font.bold ? 700 : 400} ${font.size ?? 13}px ${font.mono ? mono : sans}`;
    return context.measureText(text).width;
  };
  const key = [sans, mono, ...FACES.map(face => measured(PROBE, face))].join();
  return getOrMake(meters, key, () => {
    const widths = new Map();
    const widthOf = (text, font) =>
      getOrMake(widths, `${font.size} ${font.mono} ${font.bold} ${text}`, () => measured(text, font));
    return { key, widthOf };
  });
}

/**
 * Keep an element adapted to the page's theme and fonts, to the widths of the element and the window, and to printing.
 * @param {HTMLElement} frame
 * @param {() => void} fitWidth
 * @param {() => void} beforePrint
 * @param {() => void} [afterPrint]
 * @returns {() => void} a function that removes all listeners and observers
 */
export function followPage(frame, fitWidth, beforePrint, afterPrint = () => {}) {
  const followTheme = () => {
    frame.dataset.theme = themeOfPage();
  };
  const themes = new MutationObserver(followTheme);
  const sizes = new ResizeObserver(fitWidth);
  for (const element of [document.documentElement, document.body]) {
    themes.observe(element, { attributes: true, attributeFilter: ['data-theme', 'data-jp-theme-light'] });
  }
  sizes.observe(frame);
  document.fonts.addEventListener('loadingdone', fitWidth);
  addEventListener('resize', fitWidth);
  addEventListener('beforeprint', beforePrint);
  addEventListener('afterprint', afterPrint);
  followTheme();
  fitWidth();
  return () => {
    themes.disconnect();
    sizes.disconnect();
    document.fonts.removeEventListener('loadingdone', fitWidth);
    removeEventListener('resize', fitWidth);
    removeEventListener('beforeprint', beforePrint);
    removeEventListener('afterprint', afterPrint);
  };
}
