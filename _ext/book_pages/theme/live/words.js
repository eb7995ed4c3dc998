/** Translates the texts of all scripts. A page in another language than English contains the translations as JSON. */

/** @type {Record<string, string> | undefined} */
let words;

/**
 * Return a text in the language of the page, with values in place of placeholders such as `{name}`.
 * @param {string} text in English
 * @param {Record<string, unknown>} values by the names of the placeholders
 * @returns {string}
 */
export function t(text, values = {}) {
  words ??= /** @type {Record<string, string>} */ (
    JSON.parse(globalThis.document?.getElementById('words')?.textContent ?? '{}')
  );
  return (words[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
