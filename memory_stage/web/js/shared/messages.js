/**
 * Texts in the reader's language. The keys are the English texts; `tools/messages.py` writes the translations from the
 * catalogues of Python. This module stores the current language, so call `speak` before you draw. The translations are
 * in a separate script, `words.js`, which only pages in another language than English load.
 */

/** @type {Translation | undefined} */
let spoken;

/**
 * Use a language from now on.
 * @param {string | null | undefined} language such as "zh-CN"; English is used if its translations are not loaded
 */
export function speak(language) {
  spoken = globalThis.memoryStageWords?.[language?.slice(0, 2) ?? ''];
}

/**
 * Use the language that an element's data names or, if it names none, the language of the page around the element.
 * @param {any} element
 */
export const speakFor = element => speak(element.data?.language ?? element.closest('[lang]')?.lang);

/**
 * Return a text in the current language.
 * @param {string} text
 * @param {Record<string, unknown>} [values] the values of its placeholders, such as `{line}`
 */
export const t = (text, values = {}) => filled(spoken?.texts[text] ?? text, values);

/**
 * Return the text for a count: `one` or `several` in English, or the single translation of another language. The
 * placeholder `{count}` is replaced by the count.
 * @param {string} one
 * @param {string} several
 * @param {number} count
 * @param {Record<string, unknown>} [values]
 */
export const plural = (one, several, count, values = {}) =>
  filled(spoken?.texts[one] ?? (count === 1 ? one : several), { count, ...values });

/**
 * Return an English text with a capital as its first letter; a text in another language is not changed.
 * @param {string} text
 */
export const capitalized = text => (spoken ? text : text[0].toUpperCase() + text.slice(1));

/**
 * Replace the placeholders in a template such as "{a} of {b}" by values. Braces inside a value are not replaced.
 * @param {string} template
 * @param {Record<string, unknown>} values
 */
export const filled = (template, values) =>
  spaced(template.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole)));

/** Return a text without the spaces that a translation has around its placeholders. */
const spaced = text => spoken?.spaced(text) ?? text;

/** Return a regular expression that finds the translation of a text, and that captures the number at `{group}`. */
function patternOf(text, group) {
  const parts = (spoken?.texts[text] ?? text).split(/(\{\w+\})/).map(part => {
    if (part === `{${group}}`) return '(\\d+)';
    return part.startsWith('{') ? '' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return parts.join('').trim();
}

/**
 * Find a text in a sentence, and return the number that replaced one of the text's placeholders; undefined if the
 * sentence does not contain the text.
 * @param {string} sentence
 * @param {string} text such as "{operation} (line {line})"
 * @param {string} group the placeholder, "line"
 */
export const numberIn = (sentence, text, group) => sentence.match(new RegExp(patternOf(text, group)))?.[1];

/**
 * Return true if a sentence begins with the translation of a text up to the first placeholder.
 * @param {string} sentence
 * @param {string} text
 */
export const beginsAs = (sentence, text) => sentence.startsWith((spoken?.texts[text] ?? text).split('{')[0]);
