/**
 * The stage: defines <memory-stage>, and exports the functions that draw without a browser, for Python, and those that
 * measure text in the fonts of a page, for tests.
 */

import './stage/element.js';

export { measuredWith } from './shared/measure.js';
export { meterOf } from './shared/page.js';
export { answer } from './stage/questions.js';
export { chart } from './stage/byte-chart.js';
export { legendRows, marksOf } from './stage/legend.js';
export { navigation } from './stage/navigation.js';
export { picture } from './stage/picture.js';
export { sheet } from './stage/sheet.js';
