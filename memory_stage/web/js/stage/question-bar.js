/** Show the answers to questions: which names and tensors refer to a storage, and which tensors read the same cells. */

import { t } from '../shared/messages.js';
import { markedUp } from '../shared/text.js';
import { answerAt, askable } from './questions.js';
import { zoomOf } from './stage-room.js';

/** @typedef {{storage?: string, cell?: number, tensor?: string}} Asked */

/** @type {(a: Asked, b: Asked) => boolean} */
const isSame = (a, b) => a.storage === b.storage && a.cell === b.cell && a.tensor === b.tensor;

/**
 * Return the question about an element of the picture: about its tensor, its cell or its storage.
 * @param {Element} element
 * @returns {Asked | undefined}
 */
function askedBy(element) {
  const closest = selector => /** @type {HTMLElement | null} */ (element.closest(selector))?.dataset ?? {};
  const { tensor, saved, storage } = closest('[data-tensor], [data-saved], [data-storage]');
  const id = tensor ?? saved?.split(' ')[0];
  if (id) return { tensor: id };
  if (!storage) return undefined;
  const { cell } = closest('[data-cell]');
  return cell && !cell.includes('-') ? { storage, cell: +cell } : { storage };
}

export class QuestionBar {
  /** @param {any} stage the element; the bar uses its `at`, `frames`, `$` and `draw` */
  constructor(stage) {
    this.stage = stage;
  }

  get frame() {
    return this.stage.frames[this.stage.at.step];
  }

  /**
   * Ask about a storage or a tensor. The question remains until another is asked.
   * @param {Asked | undefined} asked
   */
  ask(asked) {
    this.stage.at.asked = asked;
    this.show();
    this.stage.draw();
  }

  /** Ask about an element of the picture. If the present question is about the same element, end the question. */
  askAbout(element) {
    const asked = askedBy(element);
    const before = this.stage.at.asked;
    if (!asked && !before) return;
    const ends = asked && before && isSame(asked, before);
    this.stage.at.pointed = undefined;
    this.stage.at.ended = ends ? asked : undefined; // so that the mouse, still over the element, does not mark it again
    this.ask(ends ? undefined : asked);
    this.showTip('');
  }

  /**
   * Mark the element under the pointer, and show beside it the answer that a click would give.
   * @param {Element | null} element null after the pointer has left
   */
  pointAt(element) {
    const { stage } = this;
    const { at } = stage;
    const pointed = element ? askedBy(element) : undefined;
    if (pointed ? at.pointed && isSame(pointed, at.pointed) : !at.pointed) return;
    if (pointed && at.ended && isSame(pointed, at.ended)) return;
    at.ended = undefined;
    at.pointed = pointed;
    const box = element?.closest('[data-cell], [data-tensor], [data-saved], [data-storage]')?.getBoundingClientRect();
    stage.draw();
    this.showTip(pointed && !at.asked ? markedUp(answerAt(stage.frames, at.step, pointed)) : '', box);
  }

  /**
   * Show a text below a box of the picture, or above the box if there is no space below it.
   * @param {string} text
   * @param {DOMRect} [box]
   */
  showTip(text, box) {
    const tip = this.stage.$('.tip');
    tip.innerHTML = text;
    if (!text || !box) return;
    const space = this.stage.$('.space').getBoundingClientRect();
    const zoom = zoomOf(this.stage);
    const left = Math.min((box.left - space.left) / zoom, space.width / zoom - tip.offsetWidth);
    const below = (box.bottom - space.top) / zoom + 8;
    const isLow = below + tip.offsetHeight > space.height / zoom;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${isLow ? Math.max(0, (box.top - space.top) / zoom - tip.offsetHeight - 8) : below}px`;
  }

  /** End the present question or, if there is none, ask about the storage that was changed last. */
  toggle() {
    this.ask(this.stage.at.asked ? undefined : this.latestStorage());
  }

  latestStorage() {
    const storages = [...this.frame.storages.values()].filter(storage => storage.freed === undefined);
    if (!storages.length) return undefined;
    return { storage: storages.reduce((a, b) => (b.changed >= a.changed ? b : a)).id };
  }

  /** Ask the next or the previous of the questions that are possible at this step. */
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
    $('.which .told').textContent =
      found?.label ?? (asked?.storage ? t('storage {storage}', { storage: asked.storage }) : t('a tensor'));
    $('.answer').innerHTML = asked ? markedUp(answerAt(frames, step, asked)) : '';
  }
}
