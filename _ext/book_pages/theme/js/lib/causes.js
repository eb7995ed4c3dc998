/** The causes of an error message, as sections of a page. */

import { make, rootOfBook, withCode } from './dom.js';

/**
 * Return a section for each cause, with links that begin at the root of the book.
 * @param {any[]} causes as `causesOf` returns them
 */
export const causeSections = causes => causes.map(causeSection);

function causeSection({ title, what, do: remedy, where, page, place, related, index, said }) {
  const root = rootOfBook();
  const explanation = `${root}${page}.html#${place}`;
  return make(
    'section',
    { className: 'cause' },
    make('p', { className: 'cause-title' }, make('a', { href: explanation }, ...withCode(title))),
    make('p', {}, ...withCode(what)),
    make('p', {}, make('strong', {}, 'What to do. '), ...withCode(remedy)),
    make(
      'p',
      { className: 'cause-place' },
      related ? 'See also ' : 'Explained in ',
      make('a', { href: explanation }, where),
      '. Programs, and what to write instead: ',
      make('a', { href: `${root}chapters/B_error_index.html#${index}` }, 'appendix B'),
      `. Recorded from ${said.by}: `,
      make('code', {}, said.short),
    ),
  );
}
