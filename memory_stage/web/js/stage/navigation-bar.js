/** Controls for long programs: the passes of loops, jumps to the next step of a kind, and a search. */

import { plural, t } from '../shared/messages.js';
import { FEW_PASSES, SHORT_PROGRAM, eventSteps, loopsOf, nextOf, sameInPass, stepsWithText } from './navigation.js';

/** Return the controls of the loops at a depth of nesting: 0 for outer loops, 1 for loops in them. */
function passControls(depth) {
  const data = `data-pass="${depth}"`;
  const loop = depth ? t('Inner loop') : t('Loop');
  const before = depth ? t('Inner pass before') : t('Pass before');
  const next = depth ? t('Next inner pass') : t('Next pass');
  const slider = depth ? t('Pass of the inner loop') : t('Pass of the loop');
  return `<div class="pass" data-depth="${depth}" role="group" aria-label="${loop}">
    <button ${data} data-by="-1" aria-label="${before}">‹</button>
    <button ${data} data-by="1" aria-label="${next}">›</button>
    <span class="told"></span><input type="range" min="1" step="1" ${data} aria-label="${slider}"></div>`;
}

/** Return the word for a kind of event. */
const kindText = kind =>
  ({
    write: t('write'),
    allocation: t('allocation'),
    freed: t('freed'),
    copy: t('copy'),
    stale: t('stale'),
    backward: t('backward'),
    peak: t('peak'),
    print: t('print'),
    error: t('error'),
  })[kind];

/** Return the button that jumps to the next step with a kind of event. */
function jumpButton([kind, { length }]) {
  const count = length > 1 ? ` <span class="count">${length}</span>` : '';
  const label = t('{before}next {after}{kind}', {
    before: '<span class="sr">',
    after: '</span>',
    kind: kindText(kind),
  });
  return `<button data-jump="${kind}">${label}${count}</button>`;
}

const searchForm = () => `<form class="search" role="search">
  <label>${t('Find')} <input type="search" autocomplete="off" spellcheck="false"></label>
  <button type="button" data-hit aria-label="${t('Hit before')}">‹</button><button aria-label="${t('Next hit')}">›</button></form>
  <p class="found" role="status"></p>`;

export class NavigationBar {
  /** @param {any} stage the element; the bar uses its `data`, `at`, `frames`, `$` and `go` */
  constructor(stage) {
    this.stage = stage;
  }

  get loops() {
    const { data, at } = this.stage;
    return loopsOf(data, at.variant).filter(loop => loop.passes.length >= FEW_PASSES);
  }

  get events() {
    return eventSteps(this.stage.data, this.stage.at.variant);
  }

  get wanted() {
    return this.stage.$('[type=search]').value;
  }

  get hits() {
    return stepsWithText(this.stage.data, this.stage.at.variant, this.wanted);
  }

  /** Show the controls of the current variant. If all variants are short, there are none. */
  show() {
    const { $, data, frames } = this.stage;
    const box = $('.find');
    const wanted = $('[type=search]')?.value ?? '';
    box.hidden = data.variants.every(({ steps }) => steps.length <= SHORT_PROGRAM);
    if (box.hidden) return;
    const depths = frames.length > SHORT_PROGRAM ? [...new Set(this.loops.map(loop => loop.depth))].sort() : [];
    const jumps = [...this.events].map(jumpButton).join('');
    box.innerHTML = `${depths.map(passControls).join('')}
      <div class="jumps" role="group" aria-label="${t('Go to the next step with')}">
        <span aria-hidden="true">${t('Next step with')}</span>${jumps}</div>
      ${searchForm()}`;
    $('[type=search]').value = wanted;
  }

  /** Show the result of a jump or a search below the controls, where a screen reader also reads it. */
  report(text) {
    const status = this.stage.$('.found');
    if (status) status.textContent = text;
  }

  reportHits() {
    const { hits } = this;
    const none = this.wanted.trim() ? t('not found') : '';
    this.report(hits.length ? plural('{count} step', '{count} steps', hits.length) : none);
  }

  /** Go to the next step with a kind of event or, if `isBack` is true, to the previous one. */
  jump(kind, isBack) {
    const steps = this.events.get(kind) ?? [];
    const to = nextOf(steps, this.stage.at.step, isBack);
    this.stage.go(to);
    const values = { kind: kindText(kind), number: steps.indexOf(to) + 1, count: steps.length, step: to + 1 };
    this.report(
      steps.length > 1 ? t('{kind} {number} of {count}: step {step}', values) : t('{kind}: step {step}', values),
    );
  }

  /** Go to the next or the previous step whose texts contain the text of the search field. */
  goToHit(isBack = false) {
    const { hits } = this;
    if (!this.wanted.trim()) return;
    if (!hits.length) return this.report(t('not found'));
    const to = nextOf(hits, this.stage.at.step, isBack);
    this.stage.go(to);
    const values = { number: hits.indexOf(to) + 1, count: hits.length, step: to + 1 };
    this.report(t('{number} of {count}: step {step}', values));
  }

  /**
   * Return the loop that contains the current step at a depth of nesting, the index of its current pass, and the
   * previous and the next loop at this depth. Outside of a loop, `loop` is undefined and `pass` is -1.
   */
  passAt(depth) {
    const { step } = this.stage.at;
    const loops = this.loops.filter(loop => loop.depth === depth);
    const loop = loops.find(({ from, to }) => from <= step && step <= to);
    return {
      loop,
      pass: loop ? loop.passes.findIndex(({ to }) => step <= to) : -1,
      before: loops.findLast(({ to }) => to < step),
      after: loops.find(({ from }) => from > step),
    };
  }

  /** Go to the step of pass `to` that corresponds to the current step. */
  goToPass(depth, to) {
    const { loop, pass } = this.passAt(depth);
    if (!loop?.passes[to]) return;
    this.stage.go(sameInPass(this.stage.frames, this.stage.at.step, loop.passes[pass], loop.passes[to]));
  }

  /** Go to the corresponding step of the next or previous pass. Outside of a loop, go to the next or previous loop. */
  stepPass(depth, by) {
    const { loop, pass, before, after } = this.passAt(depth);
    if (loop) this.goToPass(depth, pass + by);
    else if (by > 0 && after) this.stage.go(after.from);
    else if (by < 0 && before) this.stage.go(before.passes.at(-1)?.from);
  }

  fillPasses() {
    for (const row of this.stage.shadowRoot.querySelectorAll('.pass')) this.fillPass(row);
  }

  /** Show the current pass in the controls of the loops at a depth of nesting. */
  fillPass(row) {
    const { loop, pass, before, after } = this.passAt(+row.dataset.depth);
    const near = loop ?? after ?? before;
    if (!near) return;
    const n = near.passes.length;
    const [back, next, slider] = row.querySelectorAll('button, input');
    const values = { line: near.line, count: n, pass: pass + 1 };
    const outside = after
      ? t('line {line}: {count} passes, to come', values)
      : t('line {line}: {count} passes, done', values);
    const text = loop ? t('line {line}, pass {pass} of {count}', values) : outside;
    row.querySelector('.told').textContent = text;
    back.setAttribute('aria-disabled', loop ? pass === 0 : !before);
    next.setAttribute('aria-disabled', loop ? pass === n - 1 : !after);
    Object.assign(slider, { max: n, value: loop ? pass + 1 : after ? 1 : n, disabled: !loop });
    slider.setAttribute('aria-valuetext', text);
  }
}
