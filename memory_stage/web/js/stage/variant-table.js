/** The table of a trace's variants: it compares them, and chooses one. */

import { bytesText, escapeHtml, hash, markedUp } from '../shared/text.js';

const IS_FAULT = /^(stale|refused|raises)/;
const HIDDEN_VERDICT = '<span class="hidden">step to see</span>';

let tables = 0; // so that the radio buttons of each table have a name

/**
 * Return a list of the variants, to choose one.
 * @param {import('../trace/types.d.ts').Trace} trace
 */
export function variantChooser({ variants, compare }) {
  const options = variants.map(({ label }, i) => `<option value="${i}">${escapeHtml(label)}</option>`);
  return `<label>${escapeHtml(compare ?? 'variant')} <select>${options.join('')}</select></label>`;
}

/**
 * Return the table without amounts and verdicts.
 * @param {import('../trace/types.d.ts').Trace} trace
 */
export function variantTable({ variants, compare, title }) {
  const heading = escapeHtml(compare ?? 'variant');
  const name = `v${hash(title)}${tables++}`;
  const rows = variants.map(({ label }, i) => {
    const radio = `<input type="radio" name="${name}" value="${i}"><span>${escapeHtml(label)}</span>`;
    const cells = '<td class="num"></td><td class="num"></td><td></td>';
    return `<tr><th scope="row"><label>${radio}</label></th>${cells}</tr>`;
  });
  return `<table><caption class="sr">Compare by ${heading}</caption>
    <thead><tr><th scope="col">${heading}</th><th scope="col" class="num">allocated</th>
      <th scope="col" class="num">peak</th><th scope="col">in the end</th></tr></thead>
    <tbody>${rows.join('')}</tbody></table><p class="diff"></p>`;
}

/**
 * Show the bytes of all variants at one moment, and the verdicts of the variants that were stepped to their end.
 * @param {Element} box with the table
 * @param {import('../trace/types.d.ts').Variant[]} variants
 * @param {any[]} moments a frame of each variant
 * @param {number} chosen index of the variant that is shown
 * @param {(i: number) => {isSeen: boolean, error: string | null}} endOf
 */
export function fillVariantTable(box, variants, moments, chosen, endOf) {
  box.querySelectorAll('tbody tr').forEach((row, i) => {
    const [, allocated, peak, verdict] = row.children;
    const { isSeen, error } = endOf(i);
    const isFault = error || IS_FAULT.test(variants[i].verdict ?? '');
    const radio = /** @type {HTMLInputElement} */ (row.querySelector('input'));
    row.className = i === chosen ? 'on' : '';
    radio.checked = i === chosen;
    allocated.textContent = bytesText(moments[i].allocated);
    peak.textContent = bytesText(moments[i].peak);
    verdict.className = isSeen && isFault ? 'bad' : '';
    verdict.innerHTML = isSeen ? escapeHtml(variants[i].verdict ?? 'done') : HIDDEN_VERDICT;
  });
  const difference = /** @type {Element} */ (box.querySelector('.diff'));
  difference.innerHTML = markedUp(differenceText(variants, moments, chosen));
}

/** Return how much more or less the other variants allocate than the chosen one. */
function differenceText(variants, moments, chosen) {
  const here = moments[chosen].allocated;
  if (moments.every(moment => moment.allocated === here)) return 'At this step, all allocate the same.';
  const differences = variants.flatMap(({ label }, i) => {
    if (i === chosen) return [];
    const bytes = moments[i].allocated - here;
    const amount = bytes ? `${bytesText(Math.abs(bytes))} ${bytes > 0 ? 'more' : 'less'}` : 'the same';
    return [`“${label}” allocates ${amount}`];
  });
  return `At this step, compared with “${variants[chosen].label}”: ${differences.join(', ')}.`;
}
