/** The navigation in a long program, and the answers to questions about memory. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { eventSteps, loopsOf, nextOf, outline, stepsWithText } from '../../../memory_stage/web/js/stage/navigation.js';
import { answer } from '../../../memory_stage/web/js/stage/questions.js';
import { trace, variants } from './traces.js';

test('the steps of a kind are the steps with an event of this kind', () => {
  for (const [name, variant, found, v] of variants()) {
    const steps = eventSteps(found, v);
    const writes = variant.steps.flatMap(({ events }, k) => (events.some(event => event.do === 'write') ? [k] : []));
    assert.deepEqual(steps.get('write') ?? [], writes, name);
    const most = Math.max(...variant.steps.map(step => step.peak));
    assert.equal(variant.steps[steps.get('peak')[0]].peak, most, name);
  }
});

test('the next step wraps around at both ends', () => {
  assert.equal(nextOf([2, 5, 9], 5), 9);
  assert.equal(nextOf([2, 5, 9], 9), 2);
  assert.equal(nextOf([2, 5, 9], 2, true), 9);
  assert.equal(nextOf([2, 5, 9], 7, true), 5);
});

test('an outline of a program contains every step once', () => {
  for (const [name, variant, found, v] of variants()) {
    let next = 0;
    for (const { from, to } of outline(found, v, 0, variant.steps.length - 1)) {
      assert.equal(from, next, name);
      next = to + 1;
    }
    assert.equal(next, variant.steps.length, name);
  }
});

test('the passes of a loop follow each other without gaps', () => {
  const loops = variants().flatMap(([, , found, v]) => loopsOf(found, v));
  assert.ok(loops.length > 0);
  for (const { from, to, passes } of loops) {
    assert.equal(passes[0].from, from);
    assert.equal(passes.at(-1).to, to);
    passes.slice(1).forEach((pass, i) => assert.equal(pass.from, passes[i].to + 1));
  }
});

test('a search ignores case and the number of spaces', () => {
  const found = trace('three');
  const expected = found.variants[0].steps.flatMap(({ say }, k) => (say.includes('new storage') ? [k] : []));
  assert.deepEqual(stepsWithText(found, 0, ' NEW   storage '), expected);
  assert.deepEqual(stepsWithText(found, 0, ''), []);
});

test('an answer lists the references to a storage, or the step that freed it', () => {
  const found = trace('three');
  assert.match(answer(found, { variant: 0, step: 1, storage: '1' }), /is held by `x`\..*without `x` it would be freed/);
  assert.match(answer(found, { variant: 0, step: 2, storage: '1' }), /was freed at step 3 \(line 4\)/);
  assert.match(answer(found, { variant: 0, step: 0, storage: '2' }), /does not exist at this step/);
});
