/** The program of a stage: its lines, the marks on them, and the size of their column. */

import { escapeHtml } from '../shared/text.js';
import { codeHtml } from './element-html.js';
import { differences, lineWithHandle, variantHead } from './handle.js';
import { staleLines, staleText } from './navigation.js';

const LINE = 24; // px of the height of a line
const MOST_LINES = 19; // the most lines of a program that does not scroll
const MARGIN = 332; // px of the stage's width that are not for the program

/**
 * Make the program's column as wide as its longest line, or put the program above everything if that is too wide.
 * @param {any} stage the element
 */
export function fitProgram({ $, data, width }) {
  const chars = Math.max(...data.variants.flatMap(({ code }) => code.map(line => line.length)));
  const lines = Math.max(...data.variants.map(({ code }) => code.length));
  const wish = Math.max(330, chars * 9.1 + 40);
  $('.stage').style.setProperty('--code', `${wish}px`);
  $('.stage').classList.toggle('long', wish > width - MARGIN);
  $('.stage').style.setProperty('--lines', Math.min(MOST_LINES, lines));
}

/**
 * Show the program of the current variant, with the list of variants in the part that differs.
 * The list keeps the focus. A page that can run programs makes the HTML of a line, with `lineHtml`.
 * @param {any} stage the element
 */
export function fillProgram(stage) {
  const { $, data, at, variant, shadowRoot } = stage;
  const hadFocus = shadowRoot.activeElement?.matches('.chooser select');
  const place = differences(data.variants)?.[at.variant];
  const html = (...part) => (stage.lineHtml ?? escapeHtml)(...part, escapeHtml);
  $('.kind').innerHTML = variantHead(data, at.variant, place);
  $('.code').innerHTML = codeHtml(variant.code, (text, line) =>
    line === place?.line ? lineWithHandle(data, text, place, html) : html(text, line, 0),
  );
  stage.onProgram?.();
  const list = $('.chooser select');
  if (!list) return;
  list.value = at.variant;
  if (hadFocus) list.focus({ preventScroll: true });
}

/**
 * Mark the current line (red if it raises an error), the lines before it, and the lines that saved or overwrote a
 * stale tensor.
 * @param {any} stage the element
 * @param {any} frame
 */
export function markLines({ $, data, at }, frame) {
  [...$('.code').children].forEach((item, i) => {
    const line = i + 1;
    const isNow = frame.line <= line && line <= frame.end;
    item.className = isNow ? `now${frame.error ? ' refused' : ''}` : line < frame.line ? 'done' : '';
    if (line === frame.line) item.setAttribute('aria-current', 'step');
    else item.removeAttribute('aria-current');
    item.querySelector('.blame')?.remove();
  });
  for (const [line, labels] of staleLines(data, at.variant, at.step)) {
    const isWrite = labels.lost.size + labels.moved.size > 0;
    const note = ` <span class="blame${isWrite ? ' bad' : ''}">${escapeHtml(staleText(labels))}</span>`;
    $(`.code li[data-line="${line}"]`)?.lastChild.insertAdjacentHTML('beforeend', note);
  }
}

/**
 * Keep the current line of a long program visible, below whole lines, without scrolling the page.
 * @param {any} stage the element
 */
export function scrollToLine({ $ }) {
  const box = $('.code');
  const line = $('.code .now');
  if (box.scrollHeight <= box.clientHeight || !line) {
    box.removeAttribute('tabindex');
    return;
  }
  box.setAttribute('tabindex', '0');
  const { scrollTop: top, clientHeight: room } = box;
  const at = line.offsetTop;
  const isSeen = at >= top + LINE && at + 2 * LINE <= top + room;
  // Even if the line is in view: the marks of a step change the heights of lines, so the top may be inside of a line.
  const from = isSeen ? top - 1 : at - room / 2;
  box.scrollTop = ([...box.children].find(each => each.offsetTop >= from) ?? line).offsetTop;
}
