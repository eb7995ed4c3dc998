/** The translations of all texts of the stage, for pages in another language than English. */

import words from './shared/words.json' with { type: 'json' };

globalThis.memoryStageWords = words;
