/** The plan of a trace: the hues of tensors, the places of storages and rows, and the slots of cells. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { HUES } from '../../../memory_stage/web/js/shared/patterns.js';
import { widthOf } from '../../../memory_stage/web/js/shared/measure.js';
import { MOST_CELLS, cellsOf, piecesOf, slotAt } from '../../../memory_stage/web/js/stage/cell-slots.js';
import { drawPicture } from '../../../memory_stage/web/js/stage/picture.js';
import { placesOf, planOf, windowOf } from '../../../memory_stage/web/js/stage/plan.js';
import { NAMES, trace, variants } from './traces.js';

const isTogether = (a, b, variant) => {
  const [s, t] = [a.spans[variant], b.spans[variant]];
  return Boolean(s && t && s[0] <= t[1] && t[0] <= s[1]);
};

test('every tensor has a hue, and two aliases that exist at the same time have different hues', () => {
  let pairs = 0;
  for (const name of NAMES) {
    const found = trace(name);
    const plan = planOf(found);
    const lives = [...plan.lives.values()];
    for (const life of lives) assert.ok(plan.hues.get(life.id) >= 1 && plan.hues.get(life.id) <= HUES, name);
    lives.forEach((a, i) => {
      const rivals = lives.slice(0, i).filter(b => found.variants.some((_, v) => isTogether(a, b, v)));
      const aliases = rivals.filter(b => [...b.storages].some(id => a.storages.has(id)));
      if (aliases.length >= HUES) return; // more aliases than hues
      for (const b of aliases) {
        assert.notEqual(plan.hues.get(a.id), plan.hues.get(b.id), `${name}: ${a.id} and ${b.id}`);
      }
      pairs += aliases.length;
    });
  }
  assert.ok(pairs > 10);
});

test('storages that exist at the same time have different places', () => {
  for (const [name, , found, v] of variants()) {
    const plan = planOf(found);
    const places = placesOf(plan, v);
    const groups = [...plan.groups.values()].filter(group => group.spans[v]);
    groups.forEach((a, i) => {
      for (const b of groups.slice(0, i)) {
        if (isTogether(a, b, v)) assert.notEqual(places.get(a), places.get(b), `${name}: ${a.id} and ${b.id}`);
      }
    });
  }
});

test('the rows of a storage do not overlap', () => {
  for (const [name, , found, v] of variants()) {
    const plan = planOf(found);
    const places = placesOf(plan, v);
    for (const group of plan.groups.values()) {
      const rows = [...group.rows.values()].filter(row => row.spans[v]);
      rows.forEach((a, i) => {
        for (const b of rows.slice(0, i).filter(other => isTogether(a, other, v))) {
          const [first, second] = [a, b].map(row => [places.get(row), places.get(row) + (row.sizes[v] ?? 1)]);
          assert.ok(first[1] <= second[0] || second[1] <= first[0], `${name}: ${a.key} and ${b.key}`);
        }
      });
    }
  }
});

test('all steps of one backward pass share a layout, and every other step has a separate one', () => {
  for (const [name, variant, found, v] of variants()) {
    const frames = planOf(found).runs[v];
    variant.steps.forEach(({ phase }, k) => {
      const [a, b] = windowOf(frames, k);
      assert.ok(a <= k && k <= b, name);
      if (phase !== 'backward') assert.deepEqual([a, b], [k, k], name);
      else {
        assert.ok(
          variant.steps.slice(a, b + 1).every(step => step.phase === 'backward'),
          name,
        );
      }
      for (const outside of [a - 1, b + 1]) {
        if (phase === 'backward') assert.notEqual(variant.steps[outside]?.phase, 'backward', name);
      }
    });
  }
});

test('slots are in order, cover all cells once, and fit the width', () => {
  for (const name of NAMES) {
    for (const group of planOf(trace(name)).groups.values()) {
      for (const width of [120, 260, 500]) {
        const { slots, lines, width: used } = cellsOf(group, width, group.length, 44);
        let next = 0;
        for (const { from, to, x, w, line } of slots) {
          assert.equal(from, next, `${name}: ${group.id} at ${width}`);
          assert.ok(line < lines && x >= 0 && x + w <= used + 0.01);
          next = to + 1;
        }
        assert.equal(next, group.length);
        assert.ok(used <= width + 0.01, `${name}: ${group.id} needs ${used} of ${width}`);
        if (group.length > MOST_CELLS) assert.ok(slots.some(({ from, to }) => to > from));
      }
    }
  }
});

test('a track covers the slots of the cells that a tensor reads', () => {
  const group = { known: new Set(Array(12).keys()), written: new Set(), ends: new Set(), rowEnds: new Set(), joinedEnds: new Set(), texts: new Set(['1']), row: 0, writes: false }; // prettier-ignore
  const cells = cellsOf(group, 600, 12, 44);
  const every = { shape: [3], strides: [4], offset: 1 };
  const pieces = piecesOf(cells, every);
  assert.deepEqual(
    pieces.map(({ x1 }) => x1),
    [1, 5, 9].map(cell => slotAt(cells, cell).x),
  );
  assert.deepEqual(piecesOf(cells, every, [[0, 6]]).map(({ x1 }) => x1), [slotAt(cells, 9).x]); // prettier-ignore
  assert.deepEqual(piecesOf(cells, every, [[7, 20]]).map(({ x1 }) => x1), [1, 5].map(cell => slotAt(cells, cell).x)); // prettier-ignore
  assert.deepEqual(piecesOf(cells, { shape: [0], strides: [1], offset: 0 }), []);
});

test('the width of a text is the sum of the widths of its glyphs', () => {
  assert.equal(widthOf(''), 0);
  assert.equal(widthOf('ab', { mono: true, size: 10 }), 2 * 6.15);
  assert.ok(widthOf('中文') > widthOf('ab') && widthOf('ab', { bold: true }) > widthOf('ab'));
});

test('after one picture of a backward pass, the picture of another of its steps reads only the memory of that step', () => {
  const loop = trace('loop');
  const plan = planOf(loop);
  const frames = plan.runs[0];
  const first = frames.findIndex(({ phase }) => phase === 'backward');
  const [a, b] = windowOf(frames, first);
  assert.ok(b > a + 1);
  const draw = step => drawPicture(loop, { step, depth: 'history' });
  draw(a);
  const read = new Set();
  for (const frame of frames) {
    const { memoryAt } = frame;
    frame.memoryAt = step => {
      read.add(step);
      return memoryAt(step);
    };
  }
  draw(b);
  assert.deepEqual([...read], [b]);
});

test('thousands of tensors that one step makes have hues, places and a picture within seconds', () => {
  const count = 4000;
  const ids = Array.from({ length: count }, (_, i) => `${i}`);
  const events = ids.flatMap(id => [
    { do: 'storage', id, bytes: 8, length: 2, itemsize: 4, dtype: 'float32', values: { 0: '1', 1: '2' } },
    { do: 'tensor', id: `t${id}`, storage: id, shape: [2], strides: [1], offset: 0, dtype: 'float32', leaf: true },
    { do: 'name', name: `list[${id}]`, tensor: `t${id}`, kind: 'name' },
  ]);
  const { variants, ...rest } = structuredClone(trace('three'));
  const [step] = variants[0].steps;
  const steps = [
    { ...step, events },
    { ...step, events: [{ do: 'free', tensors: ids.map(id => `t${id}`), storages: ids }] },
  ];
  const crowd = { ...rest, variants: [{ ...variants[0], steps, key: 0 }] };
  const before = process.cpuUsage().user;
  const plan = planOf(crowd);
  assert.deepEqual([...plan.hues.values()].slice(0, 10), [1, 2, 3, 4, 5, 6, 7, 8, 1, 2]);
  const { folded } = drawPicture(crowd, { step: 0, width: 1000, room: 700, least: 400 });
  assert.ok(folded > count - 10);
  assert.ok((process.cpuUsage().user - before) / 1e6 < 8);
});
