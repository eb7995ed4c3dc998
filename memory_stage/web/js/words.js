/** Translations of the texts of stage and figures, and a function that corrects spaces, for pages not in English. */

import words from './shared/words.json' with { type: 'json' };

const HAN = '\\u2e80-\\u303f\\u3400-\\u9fff\\uf900-\\ufaff\\uff00-\\uffef';
const MARKS = '\\u3001\\u3002\\u201c\\u201d\\u300a\\u300b\\uff01\\uff08\\uff09\\uff0c\\uff1a\\uff1b\\uff1f';
const SUPERFLUOUS = new RegExp(`(?<=[${HAN}]) +(?=[${HAN}])|(?<=[${MARKS}]) +| +(?=[${MARKS}])|(\`[^\`]*\`)`, 'g');

/** Return a text without spaces between Chinese characters or beside their punctuation, except in code. */
const spaced = text => text.replace(SUPERFLUOUS, (_, code = '') => code);

globalThis.memoryStageWords = { zh: { texts: words.zh, spaced } };
