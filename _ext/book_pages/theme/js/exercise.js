/**
 * `<exercise-box>`: a field for the answer to the exercise in the same cell. The text stays in the reader's browser.
 * If the book has Python in the page, `live.js` adds a button that checks the answer. Without this script, the element
 * says how to run an answer.
 */

import { make, whenParsed } from './lib/dom.js';
import { stored, update } from '../../../../book_kit/web/js/lib/storage.js';
import { t } from '../live/words.js';

const KEY = 'in-place.exercises'; // maps the page and number of an exercise to the reader's text

class ExerciseBox extends HTMLElement {
  name = ''; // the page and number of the exercise, under which the answer is stored
  given = ''; // the unfinished code of the exercise
  text = make('textarea', { spellcheck: false });
  status = make('span', { className: 'mt-told' });

  connectedCallback() {
    whenParsed(() => this.open());
  }

  open() {
    this.querySelector('.mt-writing')?.remove();
    const number = [...document.querySelectorAll('exercise-box')].indexOf(this) + 1;
    this.name = `${location.pathname.split('/').at(-1)} ${number}`;
    this.given = (this.closest('.cell')?.querySelector('.cell_input pre')?.textContent ?? '').trimEnd();
    this.prepareField(number);
    this.status.setAttribute('role', 'status');
    const copy = make('button', { type: 'button', onclick: () => this.copy() }, t('Copy'));
    const again = make('button', { type: 'button', onclick: () => this.startAgain() }, t('Start again'));
    const words = t('Write your answer to exercise {number} here. It stays in this browser.', { number });
    const label = make('label', { htmlFor: this.text.id }, words);
    const actions = make('div', { className: 'mt-actions' }, copy, again, this.status);
    this.prepend(make('div', { className: 'mt-writing' }, label, this.text, actions));
  }

  /** @param {number} number of the exercise on its page */
  prepareField(number) {
    const { text } = this;
    text.id = `answer-${number}`;
    text.rows = this.given.split('\n').length + 1;
    text.value = stored(KEY)[this.name] ?? this.given;
    text.setAttribute('autocapitalize', 'off');
    text.setAttribute('autocomplete', 'off');
    text.addEventListener('input', () => {
      this.store(text.value === this.given ? undefined : text.value);
      this.status.textContent = '';
    });
    text.addEventListener('keydown', event => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      breakLine(text);
    });
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text.value);
      this.status.textContent = t('Copied.');
    } catch {
      // a browser may forbid a page from the disk to write to the clipboard
      this.text.select();
      this.status.textContent = t('Selected: copy it with the keys of your system.');
    }
  }

  startAgain() {
    this.text.value = this.given;
    this.store(undefined);
    this.status.textContent = '';
    this.text.focus();
  }

  /** @param {string | undefined} text the answer; undefined deletes the stored answer */
  store(text) {
    update(KEY, answers => {
      if (text === undefined) delete answers[this.name];
      else answers[this.name] = text;
    });
  }
}

/**
 * Break the line at the cursor. The new line is indented like the old one, and one step further if that ends with a
 * colon. Tab does not indent, because it moves the focus to the next element, as everywhere.
 * @param {HTMLTextAreaElement} text
 */
function breakLine(text) {
  const line = text.value.slice(0, text.selectionStart).split('\n').at(-1) ?? '';
  const indent = (line.match(/^ */)?.[0] ?? '') + (/:\s*$/.test(line) ? '    ' : '');
  text.setRangeText(`\n${indent}`, text.selectionStart, text.selectionEnd, 'end');
  text.dispatchEvent(new Event('input'));
}

if (!customElements.get('exercise-box')) customElements.define('exercise-box', ExerciseBox);
