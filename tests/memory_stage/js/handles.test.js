import assert from 'node:assert/strict';
import test from 'node:test';

import { escapeHtml } from '../../../memory_stage/web/js/shared/text.js';
import { differences } from '../../../memory_stage/web/js/stage/handle.js';
import { numbersHtml, steppedNumber } from '../../../_ext/book_pages/theme/js/lib/numbers.js';

const partsOf = programs => {
  const codes = programs.map(text => text.split('\n'));
  const places = differences(codes.map(code => ({ code })));
  return places?.map(({ line, from, to }, i) => [line, codes[i][line].slice(from, to)]);
};

test('the first part that differs between programs consists of whole words', () => {
  const first = 'x = mt.ones([2])\n';
  assert.deepEqual(partsOf([`${first}y = x.add(1.0)`, `${first}y = x[0]`, `${first}y = x.add_(1.0)`]), [
    [1, '.add(1.0)'],
    [1, '[0]'],
    [1, '.add_(1.0)'],
  ]);
  assert.deepEqual(partsOf(['y = F.relu_(x)', 'y = F.relu(x)', 'y = F.relu(x)\ndel x']), [
    [0, 'relu_'],
    [0, 'relu'],
    [0, 'relu'],
  ]);
  assert.deepEqual(partsOf(['z = x.reshape([6])', 'z = y.reshape([6])']), [
    [0, 'x'],
    [0, 'y'],
  ]);
});

test('there is no handle if programs are equal, if one ends before the difference, or if a part is too long', () => {
  assert.equal(partsOf(['x = 1', 'x = 1']), undefined);
  assert.equal(partsOf(['x = 1', 'x = 1\ny = 2']), undefined);
  assert.equal(partsOf(['x = 1', `x = ${'1 + '.repeat(30)}2`]), undefined);
});

test('a changed number keeps its form and does not become negative', () => {
  assert.equal(steppedNumber('2', 1), '3');
  assert.equal(steppedNumber('2.0', -1), '1.0');
  assert.equal(steppedNumber('0.5', 1), '0.6');
  assert.equal(steppedNumber('0.25', -5), '0.20');
  assert.equal(steppedNumber('1', -4), '0');
});

test('numbers are handles, except in names, strings and comments', () => {
  const html = numbersHtml("x1 = y[0:12] * 0.5 + f('7 <b>')  # 8", 3, 0, escapeHtml);
  assert.deepEqual(
    [...html.matchAll(/aria-valuenow="([^"]+)" data-line="3" data-column="(\d+)"/g)].map(m => [m[1], +m[2]]),
    [
      ['0', 7],
      ['12', 9],
      ['0.5', 15],
    ],
  );
  assert.equal(html.replace(/<[^>]*>/g, ''), 'x1 = y[0:12] * 0.5 + f(&#39;7 &#60;b&#62;&#39;)  # 8');
});
