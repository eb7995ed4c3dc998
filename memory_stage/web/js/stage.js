/**
 * Define <memory-stage>, the stage. Export functions that draw without a browser, which Python calls, and functions
 * that measure text in the fonts of a page, which tests call.
 */

import './stage/element.js';
import { speak } from './shared/messages.js';
import { chart as drawnChart } from './stage/byte-chart.js';
import { picture as drawnPicture } from './stage/picture.js';
import { answer as givenAnswer } from './stage/questions.js';
import { sheet as drawnSheet } from './stage/sheet.js';

/**
 * Return a function that calls `make` after it has set the language to that of its first argument, a trace.
 * @template {(trace: any, options?: any) => any} T
 * @param {T} make
 * @returns {(...given: Parameters<T>) => ReturnType<T>}
 */
const inItsLanguage =
  make =>
  (...given) => {
    speak(given[0].language);
    return make(given[0], given[1]);
  };

export const answer = inItsLanguage(givenAnswer);
export const chart = inItsLanguage(drawnChart);
export const picture = inItsLanguage(drawnPicture);
export const sheet = inItsLanguage(drawnSheet);

export { measuredWith } from './shared/measure.js';
export { meterOf } from './shared/page.js';
export { legendRows, marksOf } from './stage/legend.js';
export { navigation } from './stage/navigation.js';
