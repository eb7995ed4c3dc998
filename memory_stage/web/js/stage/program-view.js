/** Show the program of a stage: its lines, the marks on the lines, and the column that contains them. */

import { escapeHtml } from '../shared/text.js';
import { codeHtml } from './element-html.js';
import { differences, lineWithHandle, variantHead } from './handle.js';
import { staleLines, staleText } from './navigation.js';

const LINE = 24; // the height of a line in px
const MOST_LINES = 19; // a program with more lines than this scrolls
const MARGIN = 332; // px of the stage's width that the program must leave for other parts

/**
 * Make the program's column as wide as the longest line, or put the program above all other parts if that is too wide.
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
 * Show the program of the current variant, with the list of variants in the part that differs. If the list had the
 * focus, the new list gets it. A page that can run programs sets `lineHtml`, which then returns the HTML of a line.
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
 * Scroll a long program so that the current line is visible and the first visible line is whole. Do not scroll the
 * page.
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
  // Scroll even if the line is in view: the marks of a step change the heights of lines, so the top may cut a line.
  const from = isSeen ? top - 1 : at - room / 2;
  box.scrollTop = ([...box.children].find(each => each.offsetTop >= from) ?? line).offsetTop;
}
