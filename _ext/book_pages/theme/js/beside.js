/**
 * Connects a stage with the text beside it. A paragraph has a mark that names a step of the stage. The stage shows this
 * step when the reader scrolls to the paragraph, clicks it, or moves the keyboard focus to its mark. If the reader
 * chooses a step, in the stage or with a paragraph, the stage keeps this step until the reader scrolls on to another
 * paragraph. In one column the stage does not follow the scrolling, because each paragraph has a picture of its step.
 *
 * A window can be too low for one of the steps. If it is lower than `LOW`, the stage becomes smaller. If the letters of
 * the stage would become too small, or if the window is not lower than `LOW`, the page has one column instead.
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

const READ_AT = 0.4; // the reader has reached a paragraph that begins above this line, a share of the window's height
const GONE_ON = 120; // px to scroll after the reader has chosen a step, before a paragraph shows its step again
const OTHERS = 'a, button, input, summary, textarea, select, [tabindex]'; // a click on these chooses no paragraph
const TWO_COLUMNS = matchMedia('(min-width: 1200px)'); // as in page.css
const LEAST_ZOOM = 0.78; // the smallest zoom of a stage beside its text, at which its smallest letters have 9 px
const LOW = 800; // px; only in a window that is lower than this, a stage can become smaller
const ALMOST = 0.97; // in a low window with at least this share of the needed height, a stage keeps its size
const REST = 150; // ms without scrolling until a step is announced, because the page has stopped

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

  /**
   * @type {number | undefined} the scroll position at which the reader chose a step; NaN while the browser may still be
   * scrolling to the element that has the focus; undefined if the stage shows the step of the current paragraph
   */
  steppedAt;

  /** True if the reader has chosen the step that the stage shows, in the stage or with a paragraph. */
  isChosen = false;

  /** True while the browser may be scrolling to a control of the stage, after the keyboard moved the focus to it. */
  isLed = false;

  /**
   * @param {Stage} stage
   * @param {() => void} restLater schedules a call of `onRest` for the time when the page has stopped scrolling
   */
  constructor(stage, restLater) {
    this.stage = stage;
    this.restLater = restLater;
    /** @type {unknown} the recording whose steps the paragraphs name */
    this.program = undefined;
    const note = event => {
      this.isChosen = true; // even if it is the step of the current paragraph
      this.steppedAt = this.isLed ? NaN : scrollY;
      if (event.key === 'Tab') this.lead(); // focus that moves from control to control of the stage sends no `focusin`
    };
    new ResizeObserver(() => this.fitColumn()).observe(stage);
    for (const kind of ['click', 'keydown', 'input']) stage.addEventListener(kind, note);
    stage.addEventListener('focusin', event => {
      const control = /** @type {Element} */ (event.composedPath()[0]);
      if (control.matches(':focus-visible')) this.lead(); // not after a click: a control that is clicked is in view
    });
  }

  /** Expect that the browser scrolls to the control with the focus. This does not count as scrolling by the reader. */
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
      if (!paragraph.button.matches(':focus-visible')) return; // the focus belongs to a click, which `onClick` handles
      this.choose(paragraph, NaN); // the browser scrolls to the mark if it is out of view
      this.announce();
      this.restLater();
    });
  }

  /** Make the column of text so long that the stage is still in view when the reader reaches the last paragraph. */
  fitColumn() {
    const column = /** @type {HTMLElement | null} */ (this.stage.closest('.beside')?.querySelector('.beside-text'));
    const last = this.paragraphs.at(-1)?.block;
    if (!column || !last || !this.isBeside) return;
    const tail = this.stage.offsetHeight - READ_AT * innerHeight - last.offsetHeight; // the text ends with `last`
    column.style.setProperty('--tail', `${Math.max(0, Math.round(tail))}px`);
  }

  onClick(paragraph, { target }) {
    const isMark = target === paragraph.button;
    const isOther = target.closest(OTHERS) && paragraph.block.contains(target.closest(OTHERS));
    if (!isMark && (isOther || !getSelection()?.isCollapsed)) return;
    if (!isMark && !this.isBeside) return; // in one column, the picture of the step is below the paragraph
    this.choose(paragraph, scrollY);
    paragraph.isAnnounced = false; // announce the step again, because the reader has asked for it
    this.announce();
    if (!this.isBeside) this.stage.scrollIntoView();
  }

  get isBeside() {
    return TWO_COLUMNS.matches && !this.stage.closest('.beside.tall');
  }

  /** True if the reader has not edited the program of the stage. */
  get isUnchanged() {
    this.program ??= this.stage.data;
    return this.program === this.stage.data;
  }

  /** True if the reader has chosen a step in the stage that is not the step of the current paragraph. */
  get isOwn() {
    const { at } = this.stage;
    if (!at || at.rest) return false;
    return at.variant !== this.current?.variant || at.step !== this.current.step;
  }

  /** Show the step of the paragraph that the reader has reached, unless they chose a step and have not scrolled on. */
  onScroll() {
    const reached = this.reached();
    if (!reached || reached === this.current) return;
    if (this.isOwn || this.isChosen) {
      this.steppedAt ??= NaN;
      if (!(Math.abs(scrollY - this.steppedAt) > GONE_ON)) return;
    }
    this.show(reached);
  }

  /** Show and announce the current step after the page has stopped scrolling. */
  onRest() {
    this.onScroll();
    this.isLed = false;
    if (Number.isNaN(this.steppedAt)) this.steppedAt = scrollY;
    this.announce();
  }

  /** Return the last paragraph that begins above the line; undefined if the stage is out of view or in one column. */
  reached() {
    const { top, bottom } = this.stage.getBoundingClientRect();
    if (!this.isBeside || bottom <= 0 || top >= innerHeight) return undefined;
    return this.paragraphs.findLast(({ block }) => block.getBoundingClientRect().top <= READ_AT * innerHeight);
  }

  /** Show the step of a paragraph that the reader chose, until they scroll on from the position `at`. */
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
 * Return a `Reading` for each stage that marks refer to, and replace the marks by buttons.
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
 * Fit the stage of a block into a window that is lower than N px, for a block with the class `needs-N`. In a window
 * lower than `LOW`, make the stage smaller. If its letters would become too small, or if the window is not so low, mark
 * the block as too tall for two columns.
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
