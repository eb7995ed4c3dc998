/** Filters and sorts the tables of an appendix: one field filters all tables, and column heads sort a single table. */

import { make, whenParsed } from './lib/dom.js';
import { t } from '../live/words.js';

const SHORTEST = 9; // rows; a shorter table needs no filter and no sorting

const textOf = element => element.textContent.replace(/\s+/g, ' ').trim();

/** Return the heading and the prose of a row's subsection, which belong to each row of it; empty if there is no h3. */
function textAbove(row) {
  const section = row.closest('section');
  return section.querySelector(':scope > h3') ? [...section.querySelectorAll('h3, p')].map(textOf).join(' ') : '';
}

/**
 * Show only the rows that contain all words, and hide tables and sections in which no row is left.
 * @returns {number} the number of rows that are shown
 */
function filter(rows, tables, article, words) {
  let shown = 0;
  for (const { row, text } of rows) {
    row.hidden = !words.every(word => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  const isFiltered = words.length > 0;
  for (const table of tables) {
    table.parentElement.hidden = isFiltered && [...table.tBodies[0].rows].every(row => row.hidden);
  }
  for (const section of article.querySelectorAll('section section')) {
    const own = tables.filter(table => section.contains(table));
    section.hidden = isFiltered && own.every(table => table.parentElement.hidden);
  }
  return shown;
}

function offerFilter(tables, article) {
  const rows = tables
    .flatMap(table => [...table.tBodies[0].rows])
    .map(row => ({ row, text: `${textOf(row)} ${textAbove(row)}`.toLowerCase() }));
  const field = make('input', { type: 'search', id: 'filter', autocomplete: 'off', spellcheck: false });
  const status = make('output', {});
  status.setAttribute('for', 'filter');
  const report = shown => {
    status.textContent =
      shown === rows.length
        ? t('{count} rows', { count: rows.length })
        : t('{shown} of {count} rows', { shown, count: rows.length });
  };
  field.addEventListener('input', () => {
    report(filter(rows, tables, article, field.value.toLowerCase().split(/\s+/).filter(Boolean)));
  });
  report(rows.length);
  const label = make('label', { htmlFor: 'filter', textContent: t('Show rows with') });
  let place = tables[0]; // the bar stays in view as long as the outermost section does
  while (place.parentElement.parentElement !== article) place = place.parentElement;
  place.before(make('p', { className: 'filter' }, label, field, status));
}

/** Let column heads sort the rows: numbers by size, texts by letters. A third press restores the original order. */
function offerSorting(table) {
  const rows = [...table.tBodies[0].rows];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!textOf(head)) return;
    const content = head.firstElementChild?.childNodes ?? head.childNodes;
    const button = make('button', { type: 'button', className: 'sort' }, ...content);
    button.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort') ?? 'none';
      const next = { none: 'ascending', ascending: 'descending', descending: 'none' }[now];
      for (const other of heads) other.removeAttribute('aria-sort');
      if (next !== 'none') head.setAttribute('aria-sort', next);
      table.tBodies[0].append(...ordered(rows, column, next));
    });
    head.replaceChildren(button);
  });
}

function ordered(rows, column, order) {
  if (order === 'none') return rows;
  const value = row => textOf(row.cells[column]);
  const sign = order === 'ascending' ? 1 : -1;
  return rows.toSorted((a, b) => sign * value(a).localeCompare(value(b), 'en', { numeric: true }));
}

function start() {
  const article = document.querySelector('.bd-article');
  if (!article) return;
  // a table before the first section is an overview
  const all = /** @type {NodeListOf<HTMLTableElement>} */ (
    article.querySelectorAll('section section .table-scroll > table')
  );
  const tables = [...all].filter(table => table.tHead && table.tBodies.length);
  const lengths = tables.map(table => table.tBodies[0].rows.length);
  if (lengths.reduce((sum, length) => sum + length, 0) < SHORTEST) return;
  offerFilter(tables, article);
  tables.filter((_, i) => lengths[i] >= SHORTEST).forEach(offerSorting);
}

whenParsed(start);
