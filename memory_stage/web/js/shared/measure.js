/** Measure the widths of texts in the fonts of a page or, if there is no page, with a table of glyph widths. */

/**
 * @typedef {object} Font
 * @property {number} [size] in px
 * @property {boolean} [mono]
 * @property {boolean} [bold]
 */

/**
 * Measures texts in the fonts of a page.
 * @typedef {object} Meter
 * @property {string} key identifies the fonts; a layout in a cache is valid only for the key with which it was computed
 * @property {(text: string, font: Font) => number} widthOf returns the width of a text in px
 */

/** @type {Meter | undefined} */
let meter;

/** Return the key of the fonts in which `widthOf` measures now; '' while it uses the table of glyph widths. */
export const fontsKey = () => meter?.key ?? '';

/**
 * Call a function that measures text in the fonts of a page.
 * @template Result
 * @param {Meter} given
 * @param {() => Result} draw
 */
export function measuredWith(given, draw) {
  const before = meter;
  meter = given;
  try {
    return draw();
  } finally {
    meter = before;
  }
}

/** Widths in thousandths of an em, each followed by the glyphs of Helvetica that have this width. */
const GLYPHS = /** @type {const} */ ([
  [200, "'ijl"],
  [278, ' !,./:;I[\\]ft|'],
  [333, '()-`r{}"*'],
  [500, 'ckJsvxyz^'],
  [556, '#$0123456789?Labdeghnopqu_'],
  [584, '+<=>~→←≠…×'],
  [611, 'FTZ'],
  [667, '&ABEKPSVXY'],
  [722, 'CDHNRUw'],
  [778, 'GOQ'],
  [833, 'Mm'],
  [945, 'W%'],
  [1015, '@'],
]);
const ADVANCE = Object.fromEntries(GLYPHS.flatMap(([width, glyphs]) => [...glyphs].map(glyph => [glyph, width])));
const OTHER = 700;
const MONO = 615;
const WIDE = 1050; // the width of a Chinese character or an emoji

/** @param {string} glyph */
const isWide = glyph => (glyph.codePointAt(0) ?? 0) > 0x2e7f;

/**
 * Return the width of a text in px.
 * @param {unknown} text
 * @param {Font} [font]
 */
export function widthOf(text, { size = 13, mono = false, bold = false } = {}) {
  if (meter) return meter.widthOf(String(text), { size, mono, bold });
  let em = 0;
  for (const glyph of String(text)) em += isWide(glyph) ? WIDE : mono ? MONO : (ADVANCE[glyph] ?? OTHER);
  return ((em * size) / 1000) * (mono ? 1 : bold ? 1.1 : 1.04);
}

/**
 * Shorten a text until it fits a width.
 * @param {unknown} text
 * @param {number} width
 * @param {Font} [font]
 */
export function shorten(text, width, font) {
  const line = String(text).replace(/\s+/g, ' ');
  if (widthOf(line, font) <= width) return line;
  const chars = [...line];
  const cut = count => `${chars.slice(0, count).join('')}…`;
  let fits = 0;
  for (let most = chars.length - 1; fits < most;) {
    const middle = Math.ceil((fits + most) / 2);
    if (widthOf(cut(middle), font) <= width) fits = middle;
    else most = middle - 1;
  }
  return cut(fits);
}
