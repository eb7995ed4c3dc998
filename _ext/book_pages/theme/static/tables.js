/* The tables of an appendix: a field filters the rows of all tables, and headings sort them. Without scripts all rows are visible. */
'use strict';
(() => {
  const SHORTEST = 9;  // rows; shorter tables need no filter
  const make = (tag, given = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), given);
    element.append(...children);
    return element;
  };
  const textOf = element => element.textContent.replace(/\s+/g, ' ').trim();

  // The text above the table of a subsection belongs to each of its rows.
  const saidAbove = row => {
    const section = row.closest('section');
    return section.querySelector(':scope > h3') ? [...section.querySelectorAll('h3, p')].map(textOf).join(' ') : '';
  };

  function offerFilter(tables, article) {
    const rows = tables.flatMap(table => [...table.tBodies[0].rows]).map(row => ({ row, text: `${textOf(row)} ${saidAbove(row)}`.toLowerCase() }));
    const field = make('input', { type: 'search', id: 'filter', autocomplete: 'off', spellcheck: false });
    const told = make('output', { htmlFor: 'filter' });
    const say = shown => { told.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`; };
    field.addEventListener('input', () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { row, text } of rows) {
        row.hidden = !words.every(word => text.includes(word));
        shown += !row.hidden;
      }
      // If no row of a table or a section is left, hide it with its heading.
      for (const table of tables) table.parentElement.hidden = words.length > 0 && ![...table.tBodies[0].rows].some(row => !row.hidden);
      for (const section of article.querySelectorAll('section section')) {
        const own = tables.filter(table => section.contains(table));
        section.hidden = words.length > 0 && (own.length ? own.every(table => table.parentElement.hidden) : true);
      }
      say(shown);
    });
    say(rows.length);
    const bar = make('p', { className: 'filter' }, make('label', { htmlFor: 'filter', textContent: 'Show rows with' }), field, told);
    let place = tables[0];  // the bar remains in view as long as the outermost section
    while (place.parentElement.parentElement !== article) place = place.parentElement;
    place.before(bar);
  }

  // The order depends on the column: numbers by size, texts by letters. A third press restores the original order.
  function offerSorting(table) {
    const rows = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const name = textOf(head);
      if (!name) return;
      const button = make('button', { type: 'button', className: 'sort' }, ...head.firstElementChild?.childNodes ?? head.childNodes);
      button.addEventListener('click', () => {
        const next = { none: 'ascending', ascending: 'descending', descending: 'none' }[head.getAttribute('aria-sort') ?? 'none'];
        for (const other of heads) other.removeAttribute('aria-sort');
        if (next !== 'none') head.setAttribute('aria-sort', next);
        table.tBodies[0].append(...ordered(rows, column, next));
      });
      head.replaceChildren(button);
    });
  }
  function ordered(rows, column, way) {
    if (way === 'none') return rows;
    const value = row => textOf(row.cells[column]);
    const sign = way === 'ascending' ? 1 : -1;
    return rows.toSorted((a, b) => sign * value(a).localeCompare(value(b), 'en', { numeric: true }));
  }

  function start() {
    const article = document.querySelector('.bd-article');
    // A table before the first section is an overview.
    const tables = [...article.querySelectorAll('section section .table-scroll > table')].filter(table => table.tHead && table.tBodies.length);
    const lengths = tables.map(table => table.tBodies[0].rows.length);
    if (lengths.reduce((all, length) => all + length, 0) < SHORTEST) return;
    offerFilter(tables, article);
    tables.filter((table, at) => lengths[at] >= SHORTEST).forEach(offerSorting);
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start); else start();
})();
