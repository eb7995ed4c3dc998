/**
 * Define <memory-stage>, the stage. Export the functions that draw without a browser, for Python, and those that
 * measure text in the fonts of a page, for tests.
 */

import './stage/element.js';
import { speak } from './shared/messages.js';
import { chart as drawnChart } from './stage/byte-chart.js';
import { picture as drawnPicture } from './stage/picture.js';
import { answer as givenAnswer } from './stage/questions.js';
import { sheet as drawnSheet } from './stage/sheet.js';

/**
 * Return a function that calls `make` in the language of the trace that it gets.
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
