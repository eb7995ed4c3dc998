/**
 * Texts in the reader's language. The keys are the English texts; `tools/messages.py` writes the translations from the
 * catalogues of Python. A page has one language, so the module keeps the current one: who draws calls `speak` first.
 * The translations are a script of their own, `words.js`, which only pages in another language than English load.
 */

/** @type {Record<string, string>} */
let known = {};
let isChinese = false;

/**
 * Speak a language from now on.
 * @param {string | null | undefined} language such as "zh-CN"; one whose translations are not loaded is English
 */
export function speak(language) {
  const [code] = (language ?? 'en').split('-');
  known = globalThis.memoryStageWords?.[code] ?? {};
  isChinese = code === 'zh';
}

/**
 * Speak the language of an element's data or, if that is English, of the page around the element.
 * @param {any} element
 */
export const speakFor = element => speak(element.data?.language ?? element.closest('[lang]')?.getAttribute('lang'));

/**
 * Return a text in the current language.
 * @param {string} text
 * @param {Record<string, unknown>} [values] of its placeholders, such as `{line}`
 */
export const t = (text, values = {}) => filled(known[text] ?? text, values);

/**
 * Return one of two texts as the language's rules for a count demand; `{count}` is the count.
 * @param {string} one
 * @param {string} several
 * @param {number} count
 * @param {Record<string, unknown>} [values]
 */
export const plural = (one, several, count, values = {}) =>
  filled(known[one] ?? (count === 1 ? one : several), { count, ...values });

/**
 * Return a text that begins with a capital if the language has capitals.
 * @param {string} text
 */
export const capitalized = text => (isChinese ? text : text[0].toUpperCase() + text.slice(1));

const filled = (template, values) => spaced(template.replace(/\{(\w+)\}/g, (_, name) => String(values[name])));

const HAN = '\\u2e80-\\u303f\\u3400-\\u9fff\\uf900-\\ufaff\\uff00-\\uffef';
const MARKS = '\\u3001\\u3002\\u201c\\u201d\\u300a\\u300b\\uff01\\uff08\\uff09\\uff0c\\uff1a\\uff1b\\uff1f';
const SUPERFLUOUS = new RegExp(`(?<=[${HAN}]) +(?=[${HAN}])|(?<=[${MARKS}]) +| +(?=[${MARKS}])|(\`[^\`]*\`)`, 'g');

/** Return a text without spaces between Chinese characters or beside their punctuation, except in code. */
const spaced = text => (isChinese ? text.replace(SUPERFLUOUS, (_, code = '') => code) : text);

/** Return a regular expression for the translation of a text; `group` is the placeholder to capture. */
function patternOf(text, group) {
  const parts = (known[text] ?? text).split(/(\{\w+\})/).map(part => {
    if (part === `{${group}}`) return '(\\d+)';
    return part.startsWith('{') ? '' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return parts.join('').trim();
}

/**
 * Return the number at a placeholder of a text that a sentence contains; undefined if it does not contain the text.
 * @param {string} sentence
 * @param {string} text such as "{operation} (line {line})"
 * @param {string} group the placeholder, "line"
 */
export const numberIn = (sentence, text, group) => sentence.match(new RegExp(patternOf(text, group)))?.[1];

/**
 * Return true if a sentence begins as the translation of a text does, up to its first placeholder.
 * @param {string} sentence
 * @param {string} text
 */
export const beginsAs = (sentence, text) => sentence.startsWith((known[text] ?? text).split('{')[0]);
