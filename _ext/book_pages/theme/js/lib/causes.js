/** Shows the causes of an error message as sections of a page. */

import { make, rootOfBook, withCode } from './dom.js';
import { t } from '../../live/words.js';

/**
 * Return a section for each cause, with links that begin at the root of the book.
 * @param {any[]} causes as `causesOf` returns them
 */
export const causeSections = causes => causes.map(causeSection);

/** Return the name of the page that lists all messages, relative to the root of the book. */
const errorIndex = () => /** @type {any} */ (globalThis).bookMessages.index;

function causeSection({ title, what, do: remedy, where, page, place, related, index, said }) {
  const root = rootOfBook();
  const explanation = `${root}${page}.html#${place}`;
  return make(
    'section',
    { className: 'cause' },
    make('p', { className: 'cause-title' }, make('a', { href: explanation }, ...withCode(title))),
    make('p', {}, ...withCode(what)),
    make('p', {}, make('strong', {}, t('What to do.')), ' ', ...withCode(remedy)),
    make(
      'p',
      { className: 'cause-place' },
      related ? t('See also') : t('Explained in'),
      ' ',
      make('a', { href: explanation }, where),
      t('. '),
      t('Programs, and what to write instead:'),
      ' ',
      make('a', { href: `${root}${errorIndex()}.html#${index}` }, t('appendix B')),
      t('. '),
      t('Recorded from {by}:', { by: said.by }),
      ' ',
      make('code', {}, said.short),
    ),
  );
}
