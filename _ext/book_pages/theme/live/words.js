/** The words of all scripts of the book in the language of the page. A page that is not English has them as JSON. */

/** @type {Record<string, string> | undefined} */
let words;

/**
 * Return a text in the language of the page, with values in place of `{name}`.
 * @param {string} text in English
 * @param {Record<string, unknown>} values
 * @returns {string}
 */
export function t(text, values = {}) {
  words ??= /** @type {Record<string, string>} */ (
    JSON.parse(globalThis.document?.getElementById('words')?.textContent ?? '{}')
  );
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
