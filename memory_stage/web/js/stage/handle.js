/**
 * A control with which a reader chooses one of the programs of a trace. It is inside the program, at the part in which
 * the programs differ. It is an invisible list over the code of this part, so that the code can break between lines.
 */

import { t } from '../shared/messages.js';
import { escapeHtml } from '../shared/text.js';
import { variantChooser } from './variant-table.js';

/**
 * The first line that differs, counted from 0, and the columns of the part that differs, without the column `to`.
 * @typedef {{line: number, from: number, to: number}} Place
 */

const MOST = 60; // the most characters of a part; in a longer part a reader would not see the difference

const isInWord = (text, at) => /\w/.test(text[at - 1] ?? '') && /\w/.test(text[at] ?? '');

/** Return the number of characters that all texts have in common at their beginnings. */
function commonLength(texts) {
  const [first] = texts;
  let length = 0;
  while (length < first.length && texts.every(text => text[length] === first[length])) length++;
  return length;
}

/** Return true if a text has as many opening as closing brackets. */
const isBalanced = text => text.split(/[([{]/).length === text.split(/[)\]}]/).length;

const reversed = text => [...text].reverse().join('');

/**
 * Return, for each program, the place of the first part in which the programs differ. The part consists of whole words
 * and, if possible, of balanced brackets. Return undefined if the programs are equal, if one of them ends before the
 * part, or if the part of one is empty or too long.
 * @param {{code: string[]}[]} variants
 * @returns {Place[] | undefined}
 */
export function differences(variants) {
  const line = variants[0].code.findIndex((text, i) => variants.some(({ code }) => code[i] !== text));
  const texts = variants.map(({ code }) => code[line]);
  if (line < 0 || texts.some(text => text === undefined)) return undefined;
  let from = commonLength(texts);
  while (from && texts.some(text => isInWord(text, from))) from--;
  let after = commonLength(texts.map(text => reversed(text.slice(from))));
  const isCut = text => isInWord(text, text.length - after) || !isBalanced(text.slice(from, text.length - after));
  while (after && texts.some(isCut)) after--;
  const places = texts.map(text => ({ line, from, to: text.length - after }));
  return places.every(({ to }) => to > from && to - from <= MOST) ? places : undefined;
}

/**
 * Return a line of a variant's program as HTML, with the control around the part that differs.
 * @param {import('../trace/types.d.ts').Trace} trace
 * @param {string} text the line
 * @param {Place} place
 * @param {(text: string, line: number, from: number) => string} html returns the HTML of a piece of code; it is called
 * for the code before and after the control
 */
export function lineWithHandle(trace, text, { line, from, to }, html) {
  const chooser = variantChooser(trace, line + 1);
  const handle = `<span class="chooser handle"><span>${escapeHtml(text.slice(from, to))}</span>${chooser}</span>`;
  return html(text.slice(0, from), line, 0) + handle + html(text.slice(to), line, to);
}

/**
 * Return the HTML for the variants in the head of a stage: the list to choose from or, if the program contains the
 * list, the label of the current variant; '' if there is only one variant.
 * @param {import('../trace/types.d.ts').Trace} trace
 * @param {number} variant
 * @param {Place | undefined} place of the list in the program; undefined if the program does not contain the list
 */
export function variantHead(trace, variant, place) {
  if (trace.variants.length < 2) return '';
  const heading = escapeHtml(trace.compare ?? t('variant'));
  if (place) {
    const label = `<strong>${escapeHtml(trace.variants[variant].label)}</strong>`;
    return t('{title}: {variant}', { title: heading, variant: label });
  }
  return `<span aria-hidden="true">${heading}</span> <span class="chooser">${variantChooser(trace)}</span>`;
}
