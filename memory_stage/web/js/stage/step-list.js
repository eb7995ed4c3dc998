/** Show all steps as text, with folded loops and passes. A list is filled only when the reader opens it. */

import { t } from '../shared/messages.js';
import { bytesText, escapeHtml, markedUp } from '../shared/text.js';
import { linesText } from './element-html.js';
import { legendOf } from './legend.js';
import { loopsOf, outline } from './navigation.js';

const stepsText = (from, to) =>
  from === to ? t('step {step}', { step: from + 1 }) : t('steps {first} to {last}', { first: from + 1, last: to + 1 });

/** Return an item that the reader can unfold to see the steps of a loop or a pass. */
function foldedItem(title, { from, to, depth, loop = '' }) {
  const data = `data-from="${from}" data-to="${to}" data-depth="${depth}" data-loop="${loop}"`;
  const summary = `<summary>${t('{title}: {steps}', { title, steps: stepsText(from, to) })}</summary>`;
  return `<li class="loop"><details ${data}>${summary}<ol></ol></details></li>`;
}

/** Return one item for a step, or for a run of equal steps that ends with step `to`. */
function stepItem(frame, to) {
  const parts = [
    markedUp(frame.say),
    frame.error && `<span class="bad">${escapeHtml(frame.error)}</span>`,
    frame.note && markedUp(frame.note),
    frame.out && t('Printed: {text}', { text: `<code>${escapeHtml(frame.out.trim())}</code>` }),
  ];
  const values = { lines: linesText(frame), size: bytesText(frame.allocated), steps: stepsText(frame.step, to) };
  const alike =
    to > frame.step
      ? t('({lines}; {size} allocated; {steps} alike)', values)
      : t('({lines}; {size} allocated)', values);
  const facts = `<span>${alike}</span>`;
  const data = `value="${frame.step + 1}" data-from="${frame.step}" data-to="${to}"`;
  return `<li ${data}>${[...parts.filter(Boolean), facts].join(' ')}</li>`;
}

/** Return the items for the steps from `from` to `to`: steps, runs of equal steps, and folded loops. */
function outlineItems(trace, variant, frames, { from, to, depth }) {
  const loops = loopsOf(trace, variant);
  const items = outline(trace, variant, from, to, depth).map(item => {
    if (!item.passes) return stepItem(frames[item.from], item.to);
    const title = t('Loop of line {line}, {count} passes', { line: item.line, count: item.passes.length });
    return foldedItem(title, { ...item, loop: loops.indexOf(item) });
  });
  return items.join('');
}

/** Return an item for each pass of a loop. */
const passItems = (loop, depth) =>
  loop.passes
    .map(({ n, from, to }) => foldedItem(t('Pass {number}', { number: n }), { from, to, depth: depth + 1 }))
    .join('');

/**
 * Fill the list in an open box: with all steps, the passes of a loop, the steps of a pass, or the legend.
 * @param {any} stage the element
 * @param {any} box a `<details>` element
 */
export function fillList(stage, box) {
  if (!box.open) return;
  const list = box.querySelector('ol, ul');
  if (list.children.length) return;
  if (list.className === 'legend') {
    list.innerHTML = legendOf(stage.data);
    return;
  }
  const { data: trace, frames } = stage;
  const { variant } = stage.at;
  const { from = 0, to = frames.length - 1, depth = 0, loop } = box.dataset;
  list.innerHTML = loop
    ? passItems(loopsOf(trace, variant)[loop], +depth)
    : outlineItems(trace, variant, frames, { from: +from, to: +to, depth: +depth });
  markCurrent(stage);
}

/**
 * Mark the item of the current step, and the folded loops and passes that contain the step.
 * @param {any} stage the element
 */
export function markCurrent(stage) {
  const all = stage.$('.all');
  const { step } = stage.at;
  if (!all.open) return;
  for (const item of all.querySelectorAll('[aria-current]')) item.removeAttribute('aria-current');
  for (const item of all.querySelectorAll('[data-from]')) {
    if (item.dataset.from > step || step > item.dataset.to) continue;
    (item.tagName === 'LI' ? item : item.firstChild).setAttribute('aria-current', 'step');
  }
}
