/** Colour tokens for light and dark pages (`colors.json`), and the style sheet that defines them. */

import colors from './colors.json' with { type: 'json' };

/** @typedef {keyof typeof colors.light} Token */

const { light, dark } = colors;
const SANS = 'var(--book-sans,-apple-system,"Segoe UI",Arial,sans-serif)';
const MONO = 'var(--book-mono,Menlo,Consolas,"DejaVu Sans Mono",monospace)';

/** Fonts for a picture in a file. If the picture is part of a page, the fonts of that page have priority. */
export const FILE_FONTS = {
  '--sans': 'var(--book-sans,Arial,Helvetica,"Liberation Sans",Arimo,sans-serif)',
  '--mono': 'var(--book-mono,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace)',
};

/** Return a rule that sets the tokens for everything that matches a selector. */
function tokenRule(selector, tokens, scheme) {
  const properties = Object.entries(tokens).map(([token, value]) => `--${token}:${value}`);
  return `${selector}{${properties.join(';')};color-scheme:${scheme}}`;
}

/**
 * Return a style sheet that sets the tokens for everything that matches a selector. On a screen it uses the scheme that
 * the page's switch selects or, without one, the system; in print it always uses the light scheme.
 * @param {string} selector
 */
export function themeCss(selector) {
  const within = ancestors => ancestors.map(ancestor => `${ancestor} ${selector}`).join(',');
  return (
    `${tokenRule(selector, light, 'light')}${selector}{--sans:${SANS};--mono:${MONO}}` +
    `@media screen{@media (prefers-color-scheme:dark){${tokenRule(selector, dark, 'dark')}}${tokenRule(
      within(['[data-theme=light]', '[data-jp-theme-light=true]']),
      light,
      'light',
    )}${tokenRule(within(['[data-theme=dark]', '[data-jp-theme-light=false]']), dark, 'dark')}}`
  );
}

/**
 * Return a style sheet that sets the tokens of one scheme, and the fonts for a file.
 * @param {string} selector
 * @param {'light' | 'dark'} scheme
 */
export function fileCss(selector, scheme) {
  const fonts = Object.entries(FILE_FONTS).map(([name, family]) => `${name}:${family}`);
  return `${tokenRule(selector, scheme === 'dark' ? dark : light, scheme)}${selector}{${fonts.join(';')}}`;
}

/**
 * Return the CSS value of a token, with its light colour as a fallback for pages that strip style sheets.
 * @param {string} token a `Token`
 */
export const paint = token => `var(--${token},${light[token]})`;
