/**
 * Define <memory-figure>, the element of the figures. Export the functions that draw without a browser, for Python, and
 * those that measure text in the fonts of a page, for tests.
 */

import './figures/element.js';

export { picture, sentence, tables } from './figures/figures.js';
export { measuredWith } from './shared/measure.js';
export { meterOf } from './shared/page.js';
export { bytesText } from './shared/text.js';
