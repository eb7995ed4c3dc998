/** Text for pages and pictures: escaping, code in backticks, amounts and lists. */

import { t } from './messages.js';

const MOST_LISTED = 4; // a list with at least two items more than this is cut to this many items and a count
const UNBROKEN = 30; // code with fewer characters than this must not be split by a line break

/**
 * Return a text that is safe in HTML and SVG.
 * @param {unknown} text
 */
export const escapeHtml = text =>
  String(text)
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`);

/**
 * Return a text without the backticks that mark code.
 * @param {string} text
 */
export const withoutBackticks = text => text.replace(/`([^`]+)`/g, '$1');

/**
 * Return a text as HTML, with the parts between backticks as code. Short code, lists of numbers and amounts of bytes
 * do not break between two lines.
 * @param {string} text
 */
export const markedUp = text =>
  escapeHtml(text)
    .replace(/`([^`]+)`/g, (_, code) => `<code${code.length < UNBROKEN ? ' class="whole"' : ''}>${code}</code>`)
    .replace(/\[[^[\]<]{1,30}\]|\b\d[\d,.]* (bytes?|B|[KMG]iB)\b|\b\d[\d,.]* 字节/g, '<span class="whole">$&</span>');

/**
 * Return the FNV-1a hash of a text. Ids are made of such hashes, so that they are the same in every run and
 * differ within a page.
 * @param {string} text
 */
export function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return h.toString(36);
}

/** @param {readonly unknown[]} items */
export const listText = items => `[${items.join(', ')}]`;

/** @param {number} n */
export const countText = n => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

/**
 * Return an amount of bytes as text: "12 B" or, from 1024 bytes on, KiB, MiB or GiB with one decimal: "1.5 KiB".
 * @param {number} bytes
 */
export function bytesText(bytes) {
  if (bytes < 1024) return `${countText(bytes)} B`;
  const unit = Math.min(3, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** unit).toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB'][unit]}`;
}

/** @param {number} count */
const others = count => t('{count} others', { count });

/** @param {number} count */
export const more = count => t('{count} more', { count });

/**
 * Return "a", "a and b", or "a, b and c". If there are many texts, return the first ones and the
 * number of the others.
 * @param {string[]} texts
 * @param {(count: number) => string} [rest] returns the words for the others
 */
export function andList(texts, rest = others) {
  const count = texts.length - MOST_LISTED;
  const items = count > 1 ? [...texts.slice(0, MOST_LISTED), rest(count)] : texts;
  if (items.length < 2) return items.join('');
  return t('{first} and {next}', { first: listed(items.slice(0, -1)), next: items.at(-1) });
}

/**
 * Return "a, b, c".
 * @param {string[]} texts
 */
export const listed = texts =>
  texts.reduce((first, next) => (first ? t('{first}, {next}', { first, next }) : next), '');
