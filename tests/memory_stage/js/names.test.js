/** Names of tensors of two parts, as a reader sees them. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { speak } from '../../../memory_stage/web/js/shared/messages.js';
import { tensorName, withoutFunction } from '../../../memory_stage/web/js/stage/labels.js';
import '../../../memory_stage/web/js/words.js';

const CHINESE = {
  x: 'x',
  'x in f': 'f 中的 x',
  'x in f (2)': 'f (2) 中的 x',
  'opt.velocity of w in f': 'f 中的 w 的 opt.velocity',
  'opt.velocity of parameter 0': '参数 0 的 opt.velocity',
  "d['a in b']": "d['a in b']",
  'line 5, 2': '第 5 行，2',
};

test('a name of two parts is a text of the language', () => {
  for (const [name, chinese] of Object.entries(CHINESE)) {
    speak('en');
    assert.equal(tensorName(name), name);
    speak('zh-CN');
    assert.equal(tensorName(name), chinese);
  }
  speak('en');
});

test('a local variable has a part without its function', () => {
  assert.equal(withoutFunction('x in f (2)'), 'x');
  assert.equal(withoutFunction("d['a in b']"), "d['a in b']");
});
