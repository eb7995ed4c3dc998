/** Names of tensors that consist of two parts, as a reader sees them. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { speak } from '../../../memory_stage/web/js/shared/messages.js';
import { tensorName, withoutFunction } from '../../../memory_stage/web/js/stage/labels.js';
import '../../../memory_stage/web/js/words.js';

const FILE = new URL('../../support/stage/compound_names.json', import.meta.url);
/** Lists [name, Chinese phrase, name without its function]. The test of the Python module reads the same file. */
const NAMES = JSON.parse(readFileSync(FILE, 'utf8'));

test('a name of two parts is translated', () => {
  for (const [name, chinese] of [...NAMES, ['line 5, 2', '第 5 行，2']]) {
    speak('en');
    assert.equal(tensorName(name), name);
    speak('zh-CN');
    assert.equal(tensorName(name), chinese);
  }
  speak('en');
});

test('withoutFunction removes the function from the name of a local variable', () => {
  for (const [name, , own] of NAMES) assert.equal(withoutFunction(name), own);
});
