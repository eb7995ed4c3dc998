/** The replay of recorded traces: frames agree with the events, no matter in which order the frames are read. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  isOverwritten,
  isStale,
  referencesOfName,
  referencesTo,
} from '../../../memory_stage/web/js/trace/references.js';
import { replay, touchedOf } from '../../../memory_stage/web/js/trace/replay.js';
import { NAMES, trace, variants } from './traces.js';

const PARTS = ['names', 'tensors', 'storages', 'nodes', 'states', 'groups'];

/** Return the memory of a frame as plain data. */
const snapshot = frame => JSON.stringify(PARTS.map(part => [...frame[part]]).concat(frame.flight));

test('the folder of recorded traces is not empty', () => assert.ok(NAMES.length >= 15));

test('every frame has the line, the sentence and the bytes of its step', () => {
  for (const [name, variant] of variants()) {
    const frames = replay(variant);
    assert.equal(frames.length, variant.steps.length, name);
    variant.steps.forEach((step, k) => {
      const { line, end, phase, say, allocated, peak } = frames[k];
      const facts = { line: step.line, end: step.end, phase: step.phase, say: step.say, allocated: step.allocated, peak: step.peak }; // prettier-ignore
      assert.deepEqual({ line, end, phase, say, allocated, peak }, facts, name);
      assert.equal(frames[k].step, k);
      assert.equal(frames[k].error, step.events.find(event => event.do === 'raise')?.text ?? null);
    });
  }
});

test('frames are the same if they are read forward, backward or in leaps', () => {
  for (const [name, variant] of variants()) {
    const n = variant.steps.length;
    const fresh = replay(variant);
    fresh.walk(() => {});
    const expected = fresh.map(snapshot);
    const orders = [variant.steps.map((_, k) => n - 1 - k), variant.steps.map((_, k) => (k * 7) % n)];
    for (const order of orders) {
      const frames = replay(variant);
      frames.walk(() => {});
      for (const k of order) assert.equal(snapshot(frames[k]), expected[k], `${name} step ${k + 1}`);
    }
  }
});

test('a walk visits the memory of every step, and touched things are those that the step changed', () => {
  for (const [name, variant] of variants()) {
    const frames = replay(variant);
    const seen = [];
    frames.walk((memory, step) => {
      seen.push(snapshot(memory));
      for (const part of PARTS.filter(other => other !== 'states' && other !== 'nodes')) {
        for (const entity of touchedOf(memory[part])) {
          if (step > 0) assert.equal(entity.changed, step, `${name} step ${step + 1}, ${part}`);
        }
      }
    });
    assert.deepEqual(seen, frames.map(snapshot), name);
  }
});

test('the bytes of live storages do not exceed the allocated bytes of the trace, and are often equal to them', () => {
  let compared = 0;
  for (const [name, variant, { device }] of variants()) {
    if (device !== 'cpu') continue; // a GPU's allocator rounds sizes up
    const frames = replay(variant);
    frames.walk(() => {});
    for (const frame of frames.filter(({ flight }) => !flight)) {
      const live = [...frame.storages.values()].filter(({ freed, borrowed }) => freed === undefined && !borrowed);
      if (live.some(storage => storage.device && storage.device !== 'cpu')) continue;
      const bytes = live.reduce((sum, storage) => sum + storage.bytes, 0);
      assert.ok(bytes <= frame.allocated, `${name} step ${frame.step + 1}: ${bytes} of ${frame.allocated}`);
      compared += Number(bytes === frame.allocated);
    }
  }
  assert.ok(compared > 100, `${compared} steps are equal`);
});

test('a write replaces the numbers of cells, stores the old numbers, and sets the version', () => {
  for (const [name, variant] of variants()) {
    const frames = replay(variant);
    frames.walk(() => {});
    variant.steps.forEach(({ events }, k) => {
      for (const write of events.filter(event => event.do === 'write')) {
        const storage = frames[k].storages.get(write.storage);
        if (!storage) continue;
        const later = events.slice(events.indexOf(write) + 1).filter(other => other.storage === write.storage && other.do === 'write'); // prettier-ignore
        if (!later.length) assert.equal(storage.version, write.version, name);
        const before = k && frames[k - 1].storages.get(write.storage);
        for (const [i, value] of Object.entries(write.cells)) {
          if (!later.some(({ cells }) => i in cells)) assert.equal(storage.values[i], value, name);
          if (before) assert.equal(storage.wrote.old[i], before.values[i] ?? '', `${name} step ${k + 1}, cell ${i}`);
        }
      }
    });
  }
});

test('a deleted name is marked in the frame of the step that deletes it', () => {
  const frames = replay(trace('three').variants[0]);
  frames.walk(() => {});
  assert.equal(frames[2].names.get('x').gone, 2);
  assert.equal(frames[1].names.get('x').gone, undefined);
  assert.equal(frames[2].storages.get('1').freed, 2);
  assert.equal(referencesOfName(frames[2], 'x'), undefined);
  assert.equal(referencesOfName(frames[1], 'x').storage, '1');
});

test('a stale tensor is stale from the write on, until it is freed', () => {
  let stale = 0;
  for (const [name, variant] of variants()) {
    const frames = replay(variant);
    frames.walk(() => {});
    variant.steps.forEach(({ events }, k) => {
      for (const id of events.filter(event => event.do === 'stale').flatMap(event => event.ids)) {
        assert.ok(!k || !isStale(frames[k - 1].tensors.get(id) ?? {}) || frames[k].tensors.get(id).stale, name);
        assert.ok(isStale(frames[k].tensors.get(id)) || frames[k].tensors.get(id).freed === k, `${name} ${id}`);
        stale += 1;
      }
    });
  }
  assert.ok(stale > 5);
});

test('the numbers of a state are overwritten once its storage has another version', () => {
  const states = new Map([['m1', { storage: '1', version: 0 }]]);
  const at = (version, freed) => ({ storages: new Map([['1', { version, freed }]]), states });
  assert.equal(isOverwritten(at(0), states.get('m1')), false);
  assert.equal(isOverwritten(at(1), states.get('m1')), true);
  assert.equal(isOverwritten(at(0, 3), states.get('m1')), true);
  assert.equal(isOverwritten({ storages: new Map() }, states.get('m1')), true);
});

test('the references to a tensor are the tensors that read one of its cells', () => {
  const view = (id, offset, more = {}) => ({ id, storage: '1', shape: [2], strides: [1], offset, ...more });
  const tensors = [view('a', 0), view('b', 1), view('c', 4), view('s', 0, { saved: true, node: 'n1' }), view('f', 0, { freed: 1 })]; // prettier-ignore
  const frame = {
    tensors: new Map(tensors.map(tensor => [tensor.id, tensor])),
    names: new Map([['x', { name: 'x', tensor: 'b' }], ['y', { name: 'y', tensor: 'c' }], ['z', { name: 'z', tensor: 'a', gone: 2 }]]), // prettier-ignore
  };
  const found = referencesTo(frame, { tensor: 'a' });
  assert.deepEqual(found.ids, new Set(['a', 'b', 's']));
  assert.deepEqual(found.nodes, new Set(['n1']));
  assert.deepEqual(found.names.map(name => name.name), ['x']); // prettier-ignore
  assert.deepEqual(referencesTo(frame, { storage: '1' }).ids, new Set(['a', 'b', 'c', 's']));
});

test('several writes of one step are shown as one, with the old numbers from before the step', () => {
  const step = events => ({ line: 1, end: 1, phase: 'forward', say: '', allocated: 0, peak: 0, events });
  const storage = {
    do: 'storage',
    id: '1',
    length: 2,
    itemsize: 4,
    bytes: 8,
    dtype: 'float32',
    values: { 0: '1', 1: '2' },
  };
  const write = (cells, version) => ({ do: 'write', storage: '1', cells, count: Object.keys(cells).length, version });
  const frames = replay({ steps: [step([storage]), step([write({ 0: '5' }, 1), write({ 0: '6', 1: '7' }, 2)])] });
  frames.walk(() => {});
  const { values, version, wrote } = frames[1].storages.get('1');
  assert.deepEqual([values, version, wrote.was], [{ 0: '6', 1: '7' }, 2, 0]);
  assert.deepEqual(wrote.old, { 0: '1', 1: '2' });
  assert.deepEqual(wrote.ranges, [[0, 0], [0, 1]]); // prettier-ignore
});
