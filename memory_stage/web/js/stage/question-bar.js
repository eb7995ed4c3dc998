/** Questions about the picture: the holders of a storage's bytes, and the tensors that read a tensor's cells. */

import { markedUp } from '../shared/text.js';
import { answerAt, askable } from './questions.js';

/** @typedef {{storage?: string, tensor?: string}} Asked */

/** @type {(a: Asked, b: Asked) => boolean} */
const isSame = (a, b) => a.storage === b.storage && a.tensor === b.tensor;

export class QuestionBar {
  /** @param {any} stage the element: `at`, `frames`, `$` and `draw` */
  constructor(stage) {
    this.stage = stage;
  }

  get frame() {
    return this.stage.frames[this.stage.at.step];
  }

  /**
   * Ask about a storage or a tensor; the question stays until another is asked.
   * @param {Asked | undefined} asked
   */
  ask(asked) {
    this.stage.at.asked = asked;
    this.show();
    this.stage.draw();
  }

  /** Ask about an element of the picture, or about nothing if it is asked about already. */
  askAbout(element) {
    const place = element.closest('[data-tensor], [data-saved], [data-storage]');
    const { tensor, saved, storage } = place?.dataset ?? {};
    const id = tensor ?? saved?.split(' ')[0];
    const asked = id ? { tensor: id } : storage ? { storage } : undefined;
    const before = this.stage.at.asked;
    if (asked || before) this.ask(asked && before && isSame(asked, before) ? undefined : asked);
  }

  /** Ask about the storage that was touched last, or stop asking. */
  toggle() {
    this.ask(this.stage.at.asked ? undefined : this.latestStorage());
  }

  latestStorage() {
    const storages = [...this.frame.storages.values()].filter(storage => storage.freed === undefined);
    if (!storages.length) return undefined;
    return { storage: storages.reduce((a, b) => (b.changed >= a.changed ? b : a)).id };
  }

  /** Ask about the next storage or tensor, or about the one before. */
  askOther(by) {
    const all = askable(this.frame);
    const { asked = {} } = this.stage.at;
    const i = all.findIndex(other => isSame(other.asked, asked));
    if (all.length) this.ask(all[(i + by + all.length) % all.length].asked);
  }

  /** Show the question and its answer at the current step. */
  show() {
    const { $, at, frames } = this.stage;
    const { asked, step } = at;
    const found = asked && askable(this.frame).find(other => isSame(other.asked, asked));
    $('.who').setAttribute('aria-pressed', Boolean(asked));
    $('.which').hidden = !asked;
    $('.which .told').textContent = found?.label ?? (asked?.storage ? `storage ${asked.storage}` : 'a tensor');
    $('.answer').innerHTML = asked ? markedUp(answerAt(frames, step, asked)) : '';
  }
}
