/**
 * `<error-door>`: a field for an error message, whole or in part, and the sections of the book that explain it. Without
 * this script, the element contains a link to the list of all messages.
 */

import { causesOf } from './finder/messages.js';
import { causeSections } from './lib/causes.js';
import { make, rootOfBook, whenParsed } from './lib/dom.js';
import { t } from '../live/words.js';

const DELAY = 150; // milliseconds from the last key to the search
const LONGEST_QUERY = 200; // characters of a message that the link to the search page contains

class ErrorDoor extends HTMLElement {
  text = make('textarea', { rows: 3, id: 'pasted-error', spellcheck: false, autocomplete: 'off' });
  status = make('p', { className: 'told' });
  found = make('div', { className: 'found' });
  /** @type {number | undefined} */
  waiting;

  connectedCallback() {
    whenParsed(() => this.open());
  }

  open() {
    this.querySelector('form')?.remove();
    this.text.setAttribute('autocapitalize', 'off');
    this.status.setAttribute('role', 'status');
    this.text.addEventListener('input', () => this.findSoon());
    const label = make('label', { htmlFor: 'pasted-error' }, t('Paste your error, whole or in part'));
    const button = make('button', { type: 'submit' }, t('Find it'));
    const form = make('form', {}, label, this.text, button, this.status, this.found);
    form.addEventListener('submit', event => {
      event.preventDefault();
      clearTimeout(this.waiting);
      this.find();
    });
    this.prepend(form);
    this.classList.add('opened');
  }

  findSoon() {
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.find(), DELAY);
  }

  find() {
    const pasted = this.text.value.trim();
    const causes = pasted ? causesOf(this.text.value) : [];
    this.found.replaceChildren(...causeSections(causes));
    if (!pasted) this.status.textContent = '';
    else if (causes.length === 1) this.status.textContent = t('One place explains it.');
    else if (causes.length) {
      this.status.textContent = t('{count} places explain messages like it.', { count: causes.length });
    } else {
      this.status.replaceChildren(t('No recorded message is like this one.'), ' ', searchLink(pasted), t('.'));
    }
  }
}

/** @param {string} pasted */
function searchLink(pasted) {
  const words = (pasted.split('\n').at(-1) ?? '').slice(0, LONGEST_QUERY);
  const href = `${rootOfBook()}search.html?q=${encodeURIComponent(words)}`;
  return make('a', { href }, t('Search the book for its words'));
}

if (!customElements.get('error-door')) customElements.define('error-door', ErrorDoor);

export { causesOf };
