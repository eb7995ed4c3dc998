/**
 * Checks an answer to an exercise in the page. The report looks as in a notebook. It is built of text nodes, so that no
 * text of the reader's program is read as markup.
 */

import { button, loading, make, prose, messageOf } from './dom.js';
import { ask, stop } from './python.js';
import { t } from './words.js';

/** Check the answer in the box of an exercise. */
export function check(box) {
  box.checking ??= new Checking(box);
  return box.checking.run();
}

class Checking {
  constructor(box) {
    this.box = box;
    this.button = box.querySelector('.live-check');
    this.stop = button(t('Stop'), () => stop());
    this.stop.hidden = true;
    this.button.after(this.stop);
    this.status = box.querySelector('.live-told');
    this.status.setAttribute('role', 'status');
    this.bar = make('progress', { max: 1, hidden: true });
    this.bar.setAttribute('aria-label', t('Loading Python'));
    this.place = make('div');
    this.place.setAttribute('aria-live', 'polite');
    this.status.before(this.bar);
    this.status.after(this.place);
  }

  async run() {
    const code = this.box.querySelector('textarea').value;
    this.running(true);
    try {
      this.show(await ask({ do: 'check', before: this.box.dataset.before, code }, loading(this)));
      this.say('');
    } catch (error) {
      this.place.replaceChildren();
      this.say(messageOf(error));
    } finally {
      this.running(false);
    }
  }

  /** Show the report or, if the program failed before the check, its error. Show the printed text in both cases. */
  show({ report, error, printed, failed }) {
    if (failed) throw new Error(failed);
    const { passed, verdict, values } = report ?? {
      passed: false,
      verdict: t('The answer ends with an error.'),
      values: [[t('got'), error]],
    };
    const entries = [...values, ...(printed ? [[t('printed'), printed]] : [])].map(([label, text]) => [
      make('dt', {}, String(label)),
      make('dd', {}, make('code', {}, String(text))),
    ]);
    const [mark, word] = passed === true ? ['✓', t('Right.')] : ['○', t('Not yet.')];
    const sign = make('span', {}, mark);
    sign.setAttribute('aria-hidden', 'true');
    const note = make('div', { className: `mt-note mt-check mathjax_ignore${passed === true ? ' mt-right' : ''}` });
    note.append(make('p', {}, make('strong', {}, sign, ` ${word}`), ' ', ...prose(String(verdict))));
    if (entries.length) note.append(make('dl', {}, ...entries.flat()));
    this.place.replaceChildren(note);
  }

  running(on) {
    this.button.disabled = on;
    this.stop.hidden = !on;
    if (on) this.say(t('Running.'));
    else this.bar.hidden = true;
  }

  say(text) {
    this.status.textContent = text;
  }
}
