/** The figures: defines <memory-figure>, and exports the functions that draw without a browser, for Python. */

import './figures/element.js';

export { picture, sentence, tables } from './figures/figures.js';
export { bytesText } from './shared/text.js';
