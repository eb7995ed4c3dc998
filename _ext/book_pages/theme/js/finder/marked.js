/** Marks the words of a query in a text. */

import { joined, stem, wordsAsked } from './words.js';

const WORD = /([+*/-]=|\bin[- ]place\b|[\p{L}\p{N}_]+(?:\.\d+)*)/iu;
const LATIN_WORD = /[+*/-]=|\bin[- ]place\b|[\p{Script=Latin}\p{N}_]+(?:\.\d+)*/iu;
const HAN = /^\p{Script=Han}/u;

/**
 * Return a text as nodes, with the words of a query in `<mark>` elements.
 * @param {string} text
 * @param {string} query
 * @returns {(HTMLElement | string)[]}
 */
export function marked(text, query) {
  const terms = new Set(wordsAsked(query).map(stem));
  const pairs = [...terms].filter(term => HAN.test(term));
  const parts = pairs.length ? new RegExp(`((?:${pairs.join('|')})+|${LATIN_WORD.source})`, 'iu') : WORD;
  return text.split(parts).map(part => {
    if (!part) return '';
    if (!terms.has(stem(joined(part))) && !(HAN.test(part) && pairs.some(pair => part.startsWith(pair)))) return part;
    const mark = document.createElement('mark');
    mark.textContent = part;
    return mark;
  });
}
