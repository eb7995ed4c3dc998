/** Marks the words that the reader searched for, which the address has as `?marked=words`. Escape removes the marks. */

import { marked } from './finder/marked.js';

const NOT_PROSE =
  'script, style, pre, code.lines, memory-stage, memory-figure, predict-first, mark, .cell_input, mjx-container';

/**
 * Return the text nodes inside an element that are prose.
 * @param {Element} article
 */
function proseIn(article) {
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT, {
    acceptNode: node => (node.parentElement?.closest(NOT_PROSE) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
  });
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  return texts;
}

const article = document.querySelector('article') ?? document.body;
const query = new URLSearchParams(location.search).get('marked') ?? '';
for (const text of proseIn(article)) {
  const parts = marked(text.data, query);
  if (parts.some(part => part instanceof Node)) text.replaceWith(...parts);
}
document.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return;
  article.querySelectorAll('mark').forEach(mark => mark.replaceWith(...mark.childNodes));
});
