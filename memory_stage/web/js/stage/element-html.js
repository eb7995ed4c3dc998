/** The HTML of <memory-stage>. It escapes all texts of a trace. */

import { plural, t } from '../shared/messages.js';
import { bytesText, countText, escapeHtml, markedUp } from '../shared/text.js';
import { saveButtons } from './save-picture.js';
import { DEPTHS } from './depth.js';

/**
 * Return "line 3" or "lines 3 to 5".
 * @param {{line: number, end: number}} step
 */
export const linesText = ({ line, end }) =>
  end > line ? t('lines {line} to {end}', { line, end }) : t('line {line}', { line });

// joined without white space, because white space between inline elements is visible
const askBar = () =>
  [
    `<div class="asking"><button class="who" aria-pressed="false">${t('Who holds these bytes?')}</button>`,
    `<span class="which" hidden><button data-ask="-1" aria-label="${t('The one before')}">‹</button>`,
    `<button data-ask="1" aria-label="${t('The next one')}">›</button><span class="told"></span></span></div>`,
  ].join('');

const timeBar = () => `<div class="time">
  <button class="back">${t('Back')}</button><button class="next">${t('Next')}</button>
  <input type="range" min="1" step="1" aria-label="${t('Step')}"><slot name="edit"></slot></div>
  <div class="foot"><output aria-live="off"></output><dl class="nums"></dl>
    <button class="deeper" aria-expanded="false" aria-controls="panel">${t('Details')}</button></div>`;

const meaningOf = depth => ({ memory: t('memory'), tensors: t('and tensors'), history: t('and history') })[depth];

/** Return the choice of a depth as radio buttons. */
const depthChoice = () =>
  `<fieldset class="depth"><legend>${t('The picture shows')}</legend>${DEPTHS.map(
    depth => `<label><input type="radio" name="depth" value="${depth}" data-depth>${meaningOf(depth)}</label>`,
  ).join('')}</fieldset>`;

/** Return the device of a trace as a note; '' for host memory. */
function deviceNote(device) {
  if (device === 'cpu') return '';
  const code = { device: `\`${device}\`` };
  const note = device.endsWith(':sim') ? t('Memory of {device}, a simulated GPU', code) : t('Memory of {device}', code);
  return `<p class="where">${markedUp(note)}</p>`;
}

/**
 * Return the content of the shadow root.
 * @param {import('../trace/types.d.ts').Trace} trace
 */
export function stageHtml({ title, ask, device }) {
  return `<div class="frame">
<section class="stage" tabindex="-1" aria-label="${escapeHtml(t('Memory, step by step: {title}', { title }))}">
  <div class="top"><p class="title">${escapeHtml(title)}</p>${ask ? `<p class="ask">${markedUp(ask)}</p>` : ''}
    <div class="choice"><span class="kind"></span></div></div>
  <div class="grid"><div class="pair">
    <div class="when">
      <div class="prog"><ol class="code" aria-label="${t('Program')}"></ol><slot name="program"></slot></div>
      <div class="say"><div class="live" aria-live="polite" aria-atomic="true"></div><div class="after"></div></div>
      <div class="fault" aria-live="polite"></div>
      ${timeBar()}</div>
    <div class="space"><div class="pic"></div><div class="tip" aria-hidden="true"></div><p class="answer" role="status"></p></div></div>
  <div class="panel" id="panel">
    <div class="ways">${depthChoice()}${askBar()}
      <button class="more" aria-pressed="false" hidden>${t('Show every storage')}</button>
      <button class="play" aria-pressed="false">${t('Play')}</button>
      <span class="share">${saveButtons()} <button class="link">${t('Copy link')}</button> <span role="status"></span></span></div>
    <div class="find" hidden></div>
    <div class="amounts"><div class="bytes"><div class="chart"></div>${deviceNote(device)}</div>
      <div class="variants"></div></div>
    <div class="words"><details class="all"><summary>${t('All steps as text')}</summary><ol></ol></details>
      <details class="legend-box"><summary>${t('How to read the picture')}</summary><ul class="legend"></ul></details></div></div></div>
</section></div>`;
}

/**
 * Return the lines of a program as list items. `lineHtml` returns the HTML of a line; its arguments are the text of the
 * line and its index, counted from 0.
 * @param {string[]} code
 * @param {(text: string, line: number) => string} lineHtml
 */
export const codeHtml = (code, lineHtml) =>
  code
    .map((text, i) => {
      const number = i + 1;
      return `<li data-line="${number}"><span class="n">${number}</span><span>${lineHtml(text, i) || ' '}</span></li>`;
    })
    .join('');

/** Return the sentence of a step. */
export const sentenceHtml = frame => `<p class="sentence">${markedUp(frame.say)}</p>`;

/**
 * Return the output and the note of a step.
 * @param {any} frame
 * @param {string | null} [truncated] a sentence that says why the trace ends at this step
 */
export function remarksHtml({ out, note }, truncated) {
  const label = `tabindex="0" role="group" aria-label="${t('Printed at this step')}"`;
  const printed = out && `<pre ${label}>${escapeHtml(out.replace(/\n$/, ''))}</pre>`;
  return [
    printed ? `<div class="out"><span>${t('printed')}</span>${printed}</div>` : '',
    note ? `<p class="note">${markedUp(note)}</p>` : '',
    truncated ? `<p class="cut">${markedUp(truncated)}</p>` : '',
  ].join('');
}

/** Return the error of a step, with a button that shows the whole of a long error; '' if there is no error. */
export const errorHtml = ({ error }) =>
  error ? `<p class="error">${escapeHtml(error)}</p><button class="unfold">${t('Show all')}</button>` : '';

/** Return the numbers of bytes at a step as the items of a definition list. */
export function amountsHtml({ allocated, peak, reserved }) {
  const counters = [
    ['allocated', t('allocated'), allocated],
    ['peak', t('peak'), peak],
    ['reserved', t('reserved'), reserved],
  ];
  return counters
    .filter(([, , bytes]) => bytes !== undefined)
    .map(([key, name, bytes]) => {
      const whole = plural('{count} byte', '{count} bytes', 2, { count: countText(bytes) });
      return `<div><dt><span class="${key}"></span>${name}</dt><dd title="${whole}">${bytesText(bytes)}</dd></div>`;
    })
    .join('');
}

/** Return the word for the forward or backward pass of a frame; '' in a program without a backward pass. */
const phaseText = ({ phase }, frames) => {
  if (!frames.some(each => each.phase === 'backward')) return '';
  return phase === 'backward' ? t('backward') : t('forward');
};

/** Return "step 3 of 7, forward", or "step 3 of 7" in a program without a backward pass. */
export const momentText = (frame, frames) => {
  const words = { step: frame.step + 1, count: frames.length, phase: phaseText(frame, frames) };
  return words.phase ? t('step {step} of {count}, {phase}', words) : t('step {step} of {count}', words);
};

/** Return the text of `momentText` with the lines of the step, for a screen reader. */
export const spokenMoment = (frame, frames) => {
  const phase = phaseText(frame, frames);
  const words = { step: frame.step + 1, count: frames.length, lines: linesText(frame), phase };
  return phase ? t('step {step} of {count}, {lines}, {phase}', words) : t('step {step} of {count}, {lines}', words);
};

/**
 * Return the label of the button that shows the next step. `first` is the frame to which the button leads if the stage
 * opened at a later one; otherwise it is null.
 */
export const nextText = first => (first ? t('Step from line {line}', { line: first.line }) : t('Next'));
