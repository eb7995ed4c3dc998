/**
 * Finds the sections of the book that answer a question. The text of the sections is in the variable `bookSections`,
 * which the built file `_static/sections.js` sets. Nothing leaves the browser.
 */

import { isChinese } from './chinese.js';
import { RELATED, isFiller, stem, termsOf, wordsAsked, wordsOf } from './words.js';

/**
 * @typedef {object} Section
 * @property {string} title
 * @property {string} of title of the chapter
 * @property {string} page
 * @property {string} place id of the section
 * @property {string[]} text paragraphs
 * @property {string[]} tables rows
 */

const LONGEST_EXCERPT = 260; // characters
const TABLE_WEIGHT = 0.4; // a word in a table counts this much, and a word in prose counts 1

const { bookSections, bookTerms } = /** @type {{bookSections: Section[], bookTerms: any[]}} */ (
  /** @type {unknown} */ (globalThis)
);

const add = (counts, key, by = 1) => counts.set(key, (counts.get(key) ?? 0) + by);

/** @type {ReturnType<typeof indexSections> | undefined} */
let index;
const indexed = () => (index ??= indexSections());

/** Count how often each section has each term, and how many sections have each term. */
function indexSections() {
  /** @type {Map<string, number>} */
  const count = new Map();
  /** @type {Map<string, number>} */
  const words = new Map();
  const sections = bookSections.map(section => {
    for (const word of wordsOf([section.title, ...section.text].join(' '))) if (word.length > 3) add(words, word);
    /** @type {Map<string, number>} */
    const terms = new Map();
    const prose = termsOf(section.text.join(' '));
    const rows = termsOf(section.tables.join(' '));
    const titleTerms = new Set(termsOf(section.title));
    const chapterTerms = new Set(termsOf(section.of));
    for (const term of prose) add(terms, term);
    for (const term of rows) add(terms, term, TABLE_WEIGHT);
    for (const term of new Set([...terms.keys(), ...titleTerms, ...chapterTerms])) add(count, term);
    return { ...section, terms, titleTerms, chapterTerms, length: prose.length + TABLE_WEIGHT * rows.length };
  });
  const averageLength = sections.reduce((sum, { length }) => sum + length, 0) / sections.length;
  const weight = term => Math.log(1 + sections.length / (0.5 + (count.get(term) ?? 0)));
  return { sections, averageLength, words, count, weight };
}

/**
 * Return the number of edits between two words: letters that are missing, added, replaced or swapped with the next one.
 * The result is `most + 1` if there are more than `most` edits.
 * @param {string} a
 * @param {string} b
 * @param {number} most
 */
function editDistance(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  /** @type {number[]} */
  let last = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) next[j] = Math.min(next[j], last[j - 2] + 1);
    }
    [last, row] = [row, next];
  }
  return Math.min(row[b.length], most + 1);
}

/**
 * Return the word of the book that is most like a misspelled word; undefined if the book has the word itself, or no
 * similar word. For a name with underscores, such as `no_grads`, return its parts if the book has any of them.
 * @param {string} word
 */
function correction(word) {
  const { words, count } = indexed();
  if (!/^[a-z_]{4,}$/.test(word) || isFiller(word) || RELATED[word] || count.has(stem(word))) return undefined;
  const parts = word.split('_').filter(Boolean);
  if (parts.length > 1) return parts.some(part => count.has(stem(part))) ? parts.join(' ') : undefined;
  const most = word.length < 8 ? 1 : 2;
  const candidates = [...words]
    .map(([other, times]) => ({ other, times, edits: editDistance(word, other, most) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits || b.times - a.times);
  return candidates[0]?.other;
}

/**
 * Correct the spelling of a query. Return the corrected text, and each corrected word with its correction:
 * { text, changed: [[word, other]] }.
 * @param {string} query
 */
export function spelled(query) {
  /** @type {[string, string][]} */
  const changed = [];
  const text = query.replace(/[A-Za-z_]{4,}/g, word => {
    const other = correction(word.toLowerCase());
    if (other) changed.push([word, other]);
    return other ?? word;
  });
  return { text, changed };
}

/**
 * Return the factor by which the score of a section counts. It is 1 for the text of chapters, because they explain. The
 * front page, appendices and summaries have smaller factors, because they repeat or list things that chapters explain.
 */
function kindWeight({ page, place }) {
  const ofPage = page === 'index' && place !== 'how-to-run-it' ? 0.4 : /\/[A-Z]_|your_error$/.test(page) ? 0.6 : 1;
  return ofPage * (/^(what-to-remember|exercises|where-the-facts-come-from)$/.test(place) ? 0.6 : 1);
}

/** Return a map from the terms to search for to their worth: 1 for the words of the query, less for related words. */
function termsAsked(query) {
  /** @type {Map<string, number>} */
  const terms = new Map();
  for (const word of wordsAsked(query)) {
    terms.set(stem(word), 1);
    const related = RELATED[word] && stem(RELATED[word]);
    if (related && !terms.has(related)) terms.set(related, 0.5);
    const normal = word.slice(0, -1); // the name of the normal operation: relu for relu_
    if (/^\w{2,}_$/.test(word) && !terms.has(normal)) terms.set(normal, 0.3);
  }
  return terms;
}

/**
 * Return the sections for a question, the best first. A section need not have every word of the question.
 * @param {string} query
 */
export function sectionsFor(query) {
  const { sections, averageLength, weight } = indexed();
  const terms = termsAsked(query);
  const total = [...terms].reduce((sum, [term, worth]) => sum + worth * weight(term), 0);
  const scored = sections.map(section => {
    let score = 0;
    let found = 0;
    for (const [term, worth] of terms) {
      const times = section.terms.get(term) ?? 0;
      const inTitle = section.titleTerms.has(term);
      const inChapter = section.chapterTerms.has(term);
      if (!times && !inTitle && !inChapter) continue;
      const often = (times * 2.2) / (times + 1.2 * (0.4 + (0.6 * section.length) / averageLength)); // as in BM25
      score += worth * weight(term) * (often + (inTitle ? 1.6 : 0) + (inChapter ? 0.7 : 0));
      found += worth * weight(term);
    }
    return { ...section, score: score * (found / total) * kindWeight(section) };
  });
  return scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
}

/**
 * Return a part of a section that has many words of a query: up to three sentences of prose or, if a row of a table has
 * more of these words, this row. If the section has none of the words, return its first paragraph. A long part is cut.
 * @param {Section} section
 * @param {string} query
 */
export function excerpt(section, query) {
  const terms = new Set(wordsAsked(query).map(stem));
  const hits = text => new Set(termsOf(text).filter(term => terms.has(term))).size;
  const sentences = section.text.flatMap(paragraph =>
    paragraph.split(/(?<=[.!?:])\s+(?=[\p{Lu}`“(*])|(?<=[。！？：])/u),
  );
  let at = -1;
  let most = 0;
  sentences.forEach((sentence, i) => {
    const n = hits(`${sentence} ${sentences[i + 1] ?? ''}`);
    if (n > most) [most, at] = [n, i];
  });
  let row = '';
  let mostInRow = 0;
  for (const text of section.tables) {
    if (hits(text) > mostInRow) [mostInRow, row] = [hits(text), text];
  }
  if (mostInRow > most) return row;
  const found = at < 0 ? (section.text[0] ?? '') : sentences.slice(at, at + 3).join(isChinese() ? '' : ' ');
  const longest = isChinese() ? LONGEST_EXCERPT / 2 : LONGEST_EXCERPT; // a Chinese character is twice as wide
  return found.length > longest ? `${found.slice(0, longest).replace(/\s+\S*$/, '')} …` : found;
}

/**
 * Return the term of the glossary that a query consists of, in English, in Chinese, or as a library's name for it;
 * undefined if the query is no such term.
 * @param {string} query
 */
export function termFor(query) {
  const asked = query.trim().toLowerCase();
  const named = /^(?:\w+\.)*(\w+)(?:\(.*\))?$/.exec(asked)?.[1];
  const isNamed = ({ name, chinese, forms }) => [name.toLowerCase(), chinese.toLowerCase(), ...forms].includes(asked);
  return bookTerms.find(isNamed) ?? bookTerms.find(term => term.named.includes(named));
}
