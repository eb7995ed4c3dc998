/** Shows the results of a search: the term that the query names, causes of an error message, and sections. */

import { marked } from './finder/marked.js';
import { causesOf } from './finder/messages.js';
import { excerpt, sectionsFor, spelled, termFor } from './finder/sections.js';
import { causeSections } from './lib/causes.js';
import { make, withCode } from './lib/dom.js';
import { t } from '../live/words.js';

export { causesOf, spelled, termFor };

const MOST_SHOWN = 12;

/** @type {(causes: number, sections: number) => string} */
function summary(causes, sections) {
  if (causes) return t('This is like a message that the book explains.');
  if (!sections) return t('Nothing found. Try fewer or other words.');
  return sections === 1 ? t('1 section found.') : t('{count} sections found.', { count: sections });
}

/** Return a section with the meaning of a term. The name of the term links to the chapter that teaches the term. */
const termSection = ({ name, chinese, meaning, page, place, glossary, anchor }) =>
  make(
    'section',
    { className: 'cause' },
    make(
      'p',
      { className: 'cause-title' },
      make('a', { href: `${page}.html#${place}` }, name),
      ' ',
      make('span', { lang: 'zh' }, chinese),
    ),
    make('p', {}, ...withCode(meaning)),
    make(
      'p',
      { className: 'cause-place' },
      t('What the libraries call it:'),
      ' ',
      make('a', { href: `${glossary}.html#${anchor}` }, t('glossary')),
      t('.'),
    ),
  );

const sectionItem = (section, query) => {
  const place = section.place ? `#${section.place}` : '';
  const href = `${section.page}.html?marked=${encodeURIComponent(query)}${place}`;
  return make(
    'li',
    {},
    make('a', { href }, ...marked(section.title, query)),
    section.of === section.title ? '' : make('span', { className: 'of' }, section.of),
    make('p', {}, ...marked(excerpt(section, query), query)),
  );
};

const sectionList = (sections, query) =>
  make('ol', { className: 'hits' }, ...sections.map(section => sectionItem(section, query)));

/** @type {(query: string, results: Element) => void} */
function showResults(query, results) {
  const causes = causesOf(query);
  const { text, changed } = causes.length ? { text: query, changed: [] } : spelled(query);
  const places = new Set(causes.map(({ page, place }) => `${page}#${place}`));
  const sections = sectionsFor(text).filter(({ page, place }) => !places.has(`${page}#${place}`));
  const corrections = changed.map(
    ([word, other]) => ` ${t('The book has no “{word}”; this is for “{other}”.', { word, other })}`,
  );
  const status = make('p', { className: 'told' }, summary(causes.length, sections.length), ...corrections);
  status.setAttribute('role', 'status');
  const term = termFor(text);
  const list = sectionList(sections.slice(0, MOST_SHOWN), text);
  results.replaceChildren(status, ...(term ? [termSection(term)] : []), ...causeSections(causes), list);
  if (sections.length <= MOST_SHOWN) return;
  const more = make('button', { type: 'button' }, t('Show {count} more', { count: sections.length - MOST_SHOWN }));
  more.addEventListener('click', () => {
    list.replaceWith(sectionList(sections, text));
    more.remove();
  });
  results.append(more);
}

document.addEventListener('DOMContentLoaded', () => {
  const query = new URLSearchParams(location.search).get('q')?.trim() ?? '';
  /** @type {NodeListOf<HTMLInputElement>} */
  const fields = document.querySelectorAll('form.bd-search input[name="q"]');
  for (const field of fields) field.value = query;
  [...fields].at(-1)?.focus();
  const results = document.getElementById('search-results');
  if (!query || !results) return;
  document.title = `${query} – ${document.title}`;
  showResults(query, results);
});
