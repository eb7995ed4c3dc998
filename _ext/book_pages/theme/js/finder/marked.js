/** Marks the words of a query in a text. */

import { joined, stem, wordsAsked } from './words.js';

/**
 * Return a text as nodes, with the words of a query in `<mark>` elements.
 * @param {string} text
 * @param {string} query
 * @returns {(HTMLElement | string)[]}
 */
export function marked(text, query) {
  const terms = new Set(wordsAsked(query).map(stem));
  return text.split(/([+*/-]=|\bin[- ]place\b|[\p{L}\p{N}_]+(?:\.\d+)*)/iu).map(part => {
    if (!part || !terms.has(stem(joined(part)))) return part;
    const mark = document.createElement('mark');
    mark.textContent = part;
    return mark;
  });
}
