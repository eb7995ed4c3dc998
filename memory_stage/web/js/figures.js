/**
 * Define <memory-figure>, the element of the figures. Export functions that draw without a browser, which Python calls,
 * and functions that measure text in the fonts of a page, which tests call.
 */

import './figures/element.js';

export { picture, sentence, tables } from './figures/figures.js';
export { measuredWith } from './shared/measure.js';
export { meterOf } from './shared/page.js';
export { bytesText } from './shared/text.js';
