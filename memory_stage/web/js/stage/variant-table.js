/** Make the table that compares the variants of a trace, and in which the reader chooses one of them. */

import { t } from '../shared/messages.js';
import { bytesText, escapeHtml, hash, listed, markedUp } from '../shared/text.js';

const hiddenVerdict = () => `<span class="hidden">${t('step to see')}</span>`;

/** True if a verdict says that the run failed, or that it made a saved tensor stale. */
const isFault = verdict => [t('stale'), t('refused'), t('raises')].some(word => verdict.startsWith(word));

let tables = 0; // counted, so that the radio buttons of each table have a name that no other table uses

/**
 * Return the HTML of a list in which the reader chooses a variant.
 * @param {import('../trace/types.d.ts').Trace} trace
 * @param {number} [line] the line of the program that contains the list, counted from 1
 */
export function variantChooser({ variants, compare }, line) {
  const options = variants.map(({ label }, i) => `<option value="${i}">${escapeHtml(label)}</option>`);
  const heading = compare ?? t('variant');
  const name = line ? t('{heading}, line {line}', { heading, line }) : heading;
  return `<select aria-label="${escapeHtml(name)}">${options.join('')}</select>`;
}

/**
 * Return the HTML of the table. `fillVariantTable` fills in its amounts and verdicts.
 * @param {import('../trace/types.d.ts').Trace} trace
 */
export function variantTable({ variants, compare, title }) {
  const heading = escapeHtml(compare ?? t('variant'));
  const name = `v${hash(title)}${tables++}`;
  const rows = variants.map(({ label }, i) => {
    const radio = `<input type="radio" name="${name}" value="${i}"><span>${escapeHtml(label)}</span>`;
    const cells = '<td class="num"></td><td class="num"></td><td></td>';
    return `<tr><th scope="row"><label>${radio}</label></th>${cells}</tr>`;
  });
  return `<table><caption class="sr">${t('Compare by {heading}', { heading })}</caption>
    <thead><tr><th scope="col">${heading}</th><th scope="col" class="num">${t('allocated')}</th>
      <th scope="col" class="num">${t('peak')}</th><th scope="col">${t('in the end')}</th></tr></thead>
    <tbody>${rows.join('')}</tbody></table><p class="diff"></p>`;
}

/**
 * Fill in the bytes of all variants at one moment, and the verdicts of those variants whose last step has been shown.
 * @param {Element} box the element that contains the table
 * @param {import('../trace/types.d.ts').Variant[]} variants
 * @param {any[]} moments one frame of each variant
 * @param {number} chosen index of the variant that is shown
 * @param {(i: number) => {isSeen: boolean, error: string | null}} endOf
 */
export function fillVariantTable(box, variants, moments, chosen, endOf) {
  box.querySelectorAll('tbody tr').forEach((row, i) => {
    const [, allocated, peak, verdict] = row.children;
    const { isSeen, error } = endOf(i);
    const isBad = error || isFault(variants[i].verdict ?? '');
    const radio = /** @type {HTMLInputElement} */ (row.querySelector('input'));
    row.className = i === chosen ? 'on' : '';
    radio.checked = i === chosen;
    allocated.textContent = bytesText(moments[i].allocated);
    peak.textContent = bytesText(moments[i].peak);
    verdict.className = isSeen && isBad ? 'bad' : '';
    verdict.innerHTML = isSeen ? escapeHtml(variants[i].verdict ?? t('done')) : hiddenVerdict();
  });
  const difference = /** @type {Element} */ (box.querySelector('.diff'));
  difference.innerHTML = markedUp(differenceText(variants, moments, chosen));
}

/** Return a text that says how many bytes more or less than the chosen variant the others allocate. */
function differenceText(variants, moments, chosen) {
  const here = moments[chosen].allocated;
  if (moments.every(moment => moment.allocated === here)) return t('At this step, all allocate the same.');
  const differences = variants.flatMap(({ label }, i) => {
    if (i === chosen) return [];
    const bytes = moments[i].allocated - here;
    const values = { variant: label, size: bytesText(Math.abs(bytes)) };
    if (!bytes) return [t('“{variant}” allocates the same', values)];
    return [
      bytes > 0 ? t('“{variant}” allocates {size} more', values) : t('“{variant}” allocates {size} less', values),
    ];
  });
  const first = variants[chosen].label;
  return t('At this step, compared with “{first}”: {clauses}.', { first, clauses: listed(differences) });
}
