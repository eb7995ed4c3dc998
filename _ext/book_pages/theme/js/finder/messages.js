/**
 * Compares an error message with the recorded messages, and finds its likely causes. The recorded messages are in the
 * variable `bookMessages`, which the built file `_static/messages.js` sets. Nothing leaves the browser.
 */

import { inEnglish } from './words.js';

/**
 * @typedef {object} Entry a recorded message
 * @property {string} message
 * @property {string} cause the key of its cause
 * @property {Set<string>} features its words and pairs of neighbouring words
 * @property {number} weight the sum of the weights of its features
 */

/** Parts of messages that Python raises in programs of any kind. A text that shares only these has no known cause. */
const FRAMES = [
  'object has no attribute',
  'object is not callable',
  'object is not subscriptable',
  'object is not iterable',
  'got an unexpected keyword argument',
  'missing required positional argument',
];
const FEWEST_PAIRS = 3; // a text has to share at least this many pairs of words with a message
const FEWEST_TELLING = 2; // this many are enough if one of the pairs occurs only in messages of one cause
const ENOUGH = 0.55; // the least agreement for which a cause is shown
const NEARLY_WHOLE = 0.9; // a text that contains this share of a message's weight needs no shared pairs
const NEAR_BEST = 0.25; // a further cause is shown if its agreement is less than this below the best one
const MOST_CAUSES = 3;

/**
 * Return the words that characterise a message: without numbers, addresses, files and names of errors.
 * @param {string} text
 */
const telling = text =>
  text
    .toLowerCase()
    .replace(/\b[\w.]+(error|warning|exception):/g, ' ')
    .replace(/https?:\S+|(\.{0,2}\/)?([\w.-]+\/)+[\w.-]+|\b[\w.-]+\.(py|cc|cpp|cu|h|pyx)\b/g, ' ')
    .replace(/\bin[- ]place\b/g, 'inplace')
    .replace(/['’`"]/g, '')
    .replace(/0x[0-9a-f]+|\b\d[\d.,]*[a-z]{0,3}\b/g, ' ')
    .match(/[a-z_]{1,}/g) ?? [];

/** Return the words of a text and its pairs of neighbouring words. */
function featuresOf(words) {
  const features = new Set(words);
  for (let i = 1; i < words.length; i++) features.add(`${words[i - 1]} ${words[i]}`);
  return features;
}

const isPair = feature => feature.includes(' ');

const FRAME_PAIRS = new Set(FRAMES.flatMap(frame => [...featuresOf(telling(frame))].filter(isPair)));

/** @type {ReturnType<typeof weighMessages> | undefined} */
let catalogue;

/**
 * Weigh the words of the recorded messages, and their pairs of neighbouring words. The fewer messages contain a word or
 * a pair, the higher is its weight.
 */
function weighMessages() {
  const { messages } = /** @type {any} */ (globalThis).bookMessages;
  /** @type {Map<string, number>} */
  const count = new Map();
  const entries = messages.map(entry => ({ ...entry, features: featuresOf(telling(entry.message)) }));
  for (const { features } of entries) {
    for (const feature of features) count.set(feature, (count.get(feature) ?? 0) + 1);
  }
  const weight = feature => Math.log(1 + entries.length / (count.get(feature) ?? 1)) * (isPair(feature) ? 1 : 0.4);
  const sum = features => [...features].reduce((all, feature) => all + weight(feature), 0);
  /** @type {Map<string, Set<string>>} */
  const causesByPair = new Map();
  for (const entry of entries) {
    entry.weight = sum(entry.features);
    for (const pair of [...entry.features].filter(isPair)) {
      causesByPair.set(pair, (causesByPair.get(pair) ?? new Set()).add(entry.cause));
    }
  }
  return { entries, weight, sum, isUnique: pair => causesByPair.get(pair)?.size === 1 };
}

/**
 * Return how well a piece of pasted text and a message agree, from 0 to about 1. The agreement is high if the text is a
 * part of the message, or if it contains the whole message among other words.
 * @param {Set<string>} features of the text
 * @param {number} asked the sum of the weights of these features
 * @param {Entry} entry the message
 * @param {ReturnType<typeof weighMessages>} weighed
 */
function agreement(features, asked, entry, { weight, isUnique }) {
  const shared = [...features].filter(feature => entry.features.has(feature));
  const sum = shared.reduce((all, feature) => all + weight(feature), 0);
  const pairs = shared.filter(isPair);
  const ofMessage = sum / entry.weight;
  const ofText = sum / asked;
  const fewest = shared.some(isUnique) ? FEWEST_TELLING : FEWEST_PAIRS;
  if (pairs.length < fewest && ofMessage < NEARLY_WHOLE) return 0;
  if (pairs.length && pairs.every(pair => FRAME_PAIRS.has(pair))) return 0;
  return Math.max(ofMessage, ofText) + 0.1 * Math.min(ofMessage, ofText);
}

/**
 * Return the causes of a pasted text, the likeliest first, as objects `{ cause, score, said, title, what, do, ... }`.
 * `said` is the recorded message of the cause that agrees best with the text.
 * @param {string} pasted
 * @returns {any[]}
 */
export function causesOf(pasted) {
  catalogue ??= weighMessages();
  const { causes } = /** @type {any} */ (globalThis).bookMessages;
  /** @type {Map<string, {score: number, said: Entry}>} */
  const best = new Map();
  const text = inEnglish(pasted);
  for (const piece of new Set([text, ...text.split('\n')])) {
    const features = featuresOf(telling(piece));
    const asked = catalogue.sum(features);
    if (!asked) continue;
    for (const entry of catalogue.entries) {
      const score = agreement(features, asked, entry, catalogue);
      if (score >= ENOUGH && score > (best.get(entry.cause)?.score ?? 0)) best.set(entry.cause, { score, said: entry });
    }
  }
  const ranked = [...best].sort(([, a], [, b]) => b.score - a.score);
  const top = ranked[0]?.[1].score ?? 0;
  return ranked
    .filter(([, { score }]) => score > top - NEAR_BEST)
    .slice(0, MOST_CAUSES)
    .map(([cause, { score, said }]) => ({ cause, score, said, ...causes[cause] }));
}
