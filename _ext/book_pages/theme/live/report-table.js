/**
 * Shows the report of `explain` as a table that looks as in a notebook. It is built of text nodes, so that no text of
 * the reader's program is read as markup.
 */

import { make, prose } from './dom.js';
import { t } from './words.js';

const heads = () => [t('Line'), t('Tensor'), t('Version'), t('Verdict'), t('Why')];
const KINDS = ['bad', 'look', 'cost', 'none']; // classes that colour a verdict

/** Return an element with an ARIA role, because elements of a table lose their own roles when they become blocks. */
function part(tag, role, properties, ...children) {
  const made = make(tag, properties, ...children);
  made.setAttribute('role', role);
  return made;
}

/** Return the report on a program's in-place operations. `book_kit.widgets.report_html.as_data` makes its data. */
export function reportOf({ summary, rows, rest, words }) {
  const note = make('div', { className: 'mt-note mt-report mathjax_ignore' }, make('p', {}, String(summary)));
  const more = rest.map(text => make('p', {}, String(text)));
  if (!rows.length) {
    note.append(...more);
    return note;
  }
  const columns = heads().map(head => part('th', 'columnheader', { scope: 'col' }, head));
  const head = part('thead', 'rowgroup', {}, part('tr', 'row', {}, ...columns));
  const table = part('table', 'table', {}, head, part('tbody', 'rowgroup', {}, ...rows.map(rowOf)));
  const meanings = make(
    'dl',
    {},
    ...words.flatMap(([word, meaning]) => [make('dt', {}, String(word)), make('dd', {}, String(meaning))]),
  );
  note.append(table, ...more, make('details', {}, make('summary', {}, t('What the verdicts mean')), meanings));
  return note;
}

function rowOf({ place, code, name, tensor, view_of: viewOf, version, sign, kind, verdict, why }) {
  const line = part(
    'th',
    'rowheader',
    { scope: 'row' },
    make('span', { className: 'mt-place' }, String(place)),
    make('br'),
    make('code', {}, String(code)),
  );
  const what = part(
    'td',
    'cell',
    {},
    ...(name ? [make('code', {}, String(name)), ' '] : []),
    String(tensor),
    ...(viewOf ? [make('br'), String(viewOf)] : []),
  );
  const mark = make('span', { className: 'mt-sign' }, String(sign));
  mark.setAttribute('aria-hidden', 'true');
  const judged = part('td', 'cell', { className: KINDS.includes(kind) ? `mt-${kind}` : '' }, mark, ` ${verdict}`);
  const reasons = why.flatMap(([heading, text]) => [
    make('dt', {}, String(heading)),
    make('dd', {}, ...(heading === t('Error') ? [make('pre', {}, String(text))] : prose(String(text)))),
  ]);
  return part(
    'tr',
    'row',
    {},
    line,
    what,
    part('td', 'cell', { className: 'mt-version' }, String(version)),
    judged,
    part('td', 'cell', {}, make('dl', {}, ...reasons)),
  );
}
