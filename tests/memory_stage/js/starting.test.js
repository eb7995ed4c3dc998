/** Start a stage in parts, and run jobs in turn. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { inTurn } from '../../../_ext/book_pages/theme/js/lib/in-turn.js';
import { startInParts } from '../../../memory_stage/web/js/stage/starting.js';
import { trace } from './traces.js';

/** Return a fake stage without a page, which records the methods that are called. */
function waitingStage() {
  const done = [];
  const names = new Set();
  const stage = {
    data: trace('loop'),
    done,
    names,
    width: 400,
    meter: { key: 'every letter has 8 px', widthOf: text => 8 * text.length },
    options: { width: 400 },
    waits: undefined,
    build: () => done.push('build'),
    watch: () => done.push(stage.waits ? 'watch' : 'watch and draw'),
    draw: () => done.push(`draw${names.has('waits') ? ' unseen' : ''}`),
    closest: () => null,
    $: () => ({ classList: { add: name => names.add(name), remove: name => names.delete(name) } }),
  };
  startInParts(stage);
  return stage;
}

const task = () => new Promise(done => setTimeout(done));

test('each part of the start calls at most one method, and the picture is drawn once, at the end', () => {
  const stage = waitingStage();
  const counts = [];
  while (stage.wakePart) {
    stage.wakePart();
    counts.push(stage.done.length);
  }
  assert.equal(stage.wake, undefined);
  assert.ok(counts.length > 4);
  assert.ok(counts.every((count, i) => count - (counts[i - 1] ?? 0) <= 1));
  assert.deepEqual(stage.done, ['build', 'watch', 'draw']);
  assert.equal(stage.waits, false);
  assert.equal(stage.names.size, 0);
});

test('wake runs all parts that are left, in the same order', () => {
  for (const parts of [0, 1, 2, 3]) {
    const stage = waitingStage();
    for (let i = 0; i < parts; i++) stage.wakePart();
    stage.wake();
    assert.deepEqual(stage.done, ['build', 'watch', 'draw']);
    assert.equal(stage.wakePart, undefined);
  }
});

test('jobs run in order, each part in a separate task, and an unfinished job continues before the next one begins', async () => {
  const done = [];
  let parts = 3;
  inTurn(() => {
    done.push(`first ${parts}`);
    return --parts > 0;
  });
  inTurn(() => done.push('second') < 0);
  assert.deepEqual(done, []);
  for (const last of ['first 3', 'first 2', 'first 1', 'second']) {
    const before = done.length;
    while (done.length === before) await task();
    assert.equal(done.length, before + 1);
    assert.equal(done.at(-1), last);
  }
});
