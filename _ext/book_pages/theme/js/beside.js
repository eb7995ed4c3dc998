/**
 * Pages with a stage beside its text: shows the step that a paragraph names when the reader reaches the paragraph, by
 * scrolling, with a click, or with the keyboard on its mark. A step that the reader chooses, in the stage or with a
 * paragraph, stays until the reader scrolls on to another paragraph. In one column the stage is not followed: each
 * paragraph has its picture. The stage is smaller in a window that is too low for one of its steps; in a much lower
 * one, there is one column.
 */

import { dataOf, make, whenParsed } from './lib/dom.js';
import { drawBetween, hideStills, showStills } from './lib/step-stills.js';

/**
 * @typedef {HTMLElement & {
 *   data?: unknown,
 *   at?: {variant: number, step: number, rest: boolean},
 *   follow?: (variant: number, step: number, isNew: boolean) => void,
 * }} Stage
 */

const READ_AT = 0.4; // a paragraph has been reached when it begins above this part of the window
const GONE_ON = 120; // px to scroll after the reader has chosen a step, before a paragraph shows its step again
const OTHERS = 'a, button, input, summary, textarea, select, [tabindex]'; // may be what a click is meant for
const TWO_COLUMNS = matchMedia('(min-width: 1200px)'); // as in page.css
const LEAST_ZOOM = 0.78; // of a stage beside its text; its smallest letters have 9 px then
const LOW = 800; // px of a window; in a higher one, the cells of a stage keep their full size
const ALMOST = 0.97; // of the estimated height; a stage in a low window is not made smaller for so little
const REST = 150; // ms without scrolling, until the page counts as at rest and a step is announced

/** @type {(selector: string) => HTMLElement[]} */
const all = selector => [...document.querySelectorAll(selector)].map(element => /** @type {HTMLElement} */ (element));

/** A paragraph or an item of a list, with the mark of its step. */
class Paragraph {
  isAnnounced = false;

  /** @param {HTMLElement} mark */
  constructor(mark) {
    this.text = /** @type {HTMLElement} */ (mark.closest('p'));
    this.block = this.text.parentElement?.matches('li') ? this.text.parentElement : this.text;
    this.variant = Number(mark.dataset.variant);
    this.step = Number(mark.dataset.step);
    this.button = make('button', { type: 'button', className: mark.className }, mark.textContent ?? '');
    mark.replaceWith(this.button);
    this.block.classList.add('names-step');
  }

  /** @param {boolean} isCurrent */
  mark(isCurrent) {
    this.block.classList.toggle('current', isCurrent);
    if (isCurrent) this.button.setAttribute('aria-current', 'step');
    else this.button.removeAttribute('aria-current');
  }
}

/** A stage, and the paragraphs that name its steps. */
class Reading {
  /** @type {Paragraph[]} */
  paragraphs = [];

  /** @type {Paragraph | undefined} the paragraph that the reader has reached */
  current;

  /** @type {number | undefined} where the page was when the reader chose a step; NaN while it scrolls there */
  steppedAt;

  /** True if the reader has chosen the step, in the stage or with a paragraph. */
  isChosen = false;

  /** True while the page may be scrolling to a control of the stage, which has the focus by keyboard. */
  isLed = false;

  /**
   * @param {Stage} stage
   * @param {() => void} restLater calls `onRest` when the page has stopped scrolling
   */
  constructor(stage, restLater) {
    this.stage = stage;
    this.restLater = restLater;
    /** @type {unknown} the recording that the paragraphs are about */
    this.program = undefined;
    const note = event => {
      this.isChosen = true; // even if it is the step of the current paragraph
      this.steppedAt = this.isLed ? NaN : scrollY;
      if (event.key === 'Tab') this.lead(); // inside the stage there is no event `focusin`
    };
    new ResizeObserver(() => this.fitColumn()).observe(stage);
    for (const kind of ['click', 'keydown', 'input']) stage.addEventListener(kind, note);
    stage.addEventListener('focusin', event => {
      const control = /** @type {Element} */ (event.composedPath()[0]);
      if (control.matches(':focus-visible')) this.lead(); // the reader has seen what they click
    });
  }

  /** Do not count as the reader's scrolling that the browser scrolls to a control with the focus. */
  lead() {
    this.isLed = true;
    if (this.isChosen) this.steppedAt = NaN;
    this.restLater();
  }

  /** @param {HTMLElement} mark */
  add(mark) {
    const paragraph = new Paragraph(mark);
    this.paragraphs.push(paragraph);
    paragraph.block.addEventListener('click', event => this.onClick(paragraph, event));
    paragraph.button.addEventListener('focus', () => {
      if (!paragraph.button.matches(':focus-visible')) return; // a click comes next
      this.choose(paragraph, NaN); // the browser scrolls a mark that is out of view
      this.announce();
      this.restLater();
    });
  }

  /** Make the column of text so long that the stage stays in view until its last paragraph is at the line. */
  fitColumn() {
    const column = /** @type {HTMLElement | null} */ (this.stage.closest('.beside')?.querySelector('.beside-text'));
    const last = this.paragraphs.at(-1)?.block;
    if (!column || !last || !this.isBeside) return;
    const tail = this.stage.offsetHeight - READ_AT * innerHeight - last.offsetHeight; // nothing seen follows the last
    column.style.setProperty('--tail', `${Math.max(0, Math.round(tail))}px`);
  }

  onClick(paragraph, { target }) {
    const isMark = target === paragraph.button;
    const isOther = target.closest(OTHERS) && paragraph.block.contains(target.closest(OTHERS));
    if (!isMark && (isOther || !getSelection()?.isCollapsed)) return;
    if (!isMark && !this.isBeside) return; // its picture is below it
    this.choose(paragraph, scrollY);
    paragraph.isAnnounced = false; // the reader has asked for it
    this.announce();
    if (!this.isBeside) this.stage.scrollIntoView();
  }

  get isBeside() {
    return TWO_COLUMNS.matches && !this.stage.closest('.beside.tall');
  }

  /** True if the stage has the program of the page, which a reader may edit. */
  get isUnchanged() {
    this.program ??= this.stage.data;
    return this.program === this.stage.data;
  }

  /** True if the stage shows a step that the reader has chosen, and not that of the current paragraph. */
  get isOwn() {
    const { at } = this.stage;
    if (!at || at.rest) return false;
    return at.variant !== this.current?.variant || at.step !== this.current.step;
  }

  /** Show the step of the paragraph at the line that is read, unless the reader's choice is to stay. */
  onScroll() {
    const reached = this.reached();
    if (!reached || reached === this.current) return;
    if (this.isOwn || this.isChosen) {
      this.steppedAt ??= NaN;
      if (!(Math.abs(scrollY - this.steppedAt) > GONE_ON)) return;
    }
    this.show(reached);
  }

  /** The page has stopped scrolling. */
  onRest() {
    this.onScroll();
    this.isLed = false;
    if (Number.isNaN(this.steppedAt)) this.steppedAt = scrollY;
    this.announce();
  }

  /** Return the last paragraph that begins above the line; undefined if the stage is out of view. */
  reached() {
    const { top, bottom } = this.stage.getBoundingClientRect();
    if (!this.isBeside || bottom <= 0 || top >= innerHeight) return undefined;
    return this.paragraphs.findLast(({ block }) => block.getBoundingClientRect().top <= READ_AT * innerHeight);
  }

  /** Show the step of a paragraph for a reader who asked for it, with the page at a place, until they scroll on. */
  choose(paragraph, at) {
    this.show(paragraph);
    this.isChosen = true;
    this.steppedAt = at;
  }

  show(paragraph) {
    if (!this.isUnchanged) return;
    this.isChosen = false;
    this.current?.mark(false);
    this.current = paragraph;
    this.steppedAt = undefined;
    paragraph.mark(true);
    this.stage.closest('.beside')?.classList.add('follows');
    this.stage.follow?.(paragraph.variant, paragraph.step, false);
  }

  /** Let a screen reader read the sentence of the current paragraph's step, once for each paragraph. */
  announce() {
    const { current } = this;
    if (!current || current.isAnnounced || this.isOwn || !this.isUnchanged) return;
    current.isAnnounced = true;
    this.stage.follow?.(current.variant, current.step, true);
  }
}

/**
 * Return the readings of the page, and make its marks buttons.
 * @param {() => void} restLater
 */
function readings(restLater) {
  const stages = /** @type {Stage[]} */ (all('memory-stage'));
  const titles = new Map(stages.map(stage => [stage, (stage.data ?? dataOf(stage))?.title]));
  /** @type {Map<Stage, Reading>} */
  const found = new Map();
  for (const mark of all('span.step-mark[data-step]')) {
    const section = mark.closest('section');
    const stage = stages.find(each => section?.contains(each) && titles.get(each) === mark.dataset.stage);
    if (!stage) continue;
    const reading = found.get(stage) ?? new Reading(stage, restLater);
    found.set(stage, reading);
    reading.add(mark);
  }
  return [...found.values()];
}

/**
 * Fit the stage of a block into a window that is lower than its class `needs-N` says: make it smaller in a low window,
 * or mark the block as too tall for two columns, if its texts would be too small to read.
 * @param {HTMLElement} block
 */
function fitWindow(block) {
  const needs = /\bneeds-(\d+)\b/.exec(block.className)?.[1];
  if (!needs) return;
  const fit = () => {
    if (!TWO_COLUMNS.matches) return; // reading the window's height makes a phone lay out the whole page
    const part = innerHeight / Number(needs);
    const isLow = innerHeight < LOW;
    block.classList.toggle('tall', part < (isLow ? LEAST_ZOOM : 1));
    block.style.setProperty('--zoom', `${isLow && part < ALMOST ? part.toFixed(2) : 1}`);
  };
  addEventListener('resize', fit);
  fit();
}

function start() {
  all('.beside').forEach(fitWindow);
  let rest = 0;
  let scrolled = 0;
  const restLater = () => {
    clearTimeout(rest);
    const before = ++scrolled;
    const onRest = () => {
      if (before === scrolled) for (const reading of followed) reading.onRest();
    };
    // On a busy machine, the frame that begins to scroll may come after the timer.
    rest = window.setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(onRest)), REST);
  };
  const followed = readings(restLater);
  const paragraphs = followed.flatMap(({ stage, paragraphs: ours }) =>
    ours.map(({ text, variant, step }) => ({ text, variant, step, trace: () => stage.data ?? dataOf(stage) })),
  );
  if (globalThis.memoryStage) drawBetween(paragraphs);
  let frame = 0;
  const onScroll = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      document.body.classList.add('scrolled');
      for (const reading of followed) reading.onScroll();
    });
    restLater();
  };
  addEventListener('scroll', onScroll, { passive: true });
  addEventListener('beforeprint', showStills);
  addEventListener('afterprint', hideStills);
  if (!globalThis.memoryStage) showStills();
}

whenParsed(start);
