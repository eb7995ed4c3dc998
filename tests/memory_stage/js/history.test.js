/** The layout of the history: generations, folded chains, columns and lanes, bands and the forms of edges. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  MOST_NODES,
  foldChains,
  generationsOf,
  titleOf,
} from '../../../memory_stage/web/js/stage/history-generations.js';
import { gridOf } from '../../../memory_stage/web/js/stage/history-grid.js';
import { historyLayout } from '../../../memory_stage/web/js/stage/history-layout.js';
import { edgePoints } from '../../../memory_stage/web/js/stage/history-edges.js';
import { planOf } from '../../../memory_stage/web/js/stage/plan.js';
import { variants } from './traces.js';

/** Return [name, generation, frames] for every generation with operations. */
const generations = () =>
  variants().flatMap(([name, , found, v]) => {
    const plan = planOf(found);
    const { list } = generationsOf(plan, v);
    return list.filter(gen => gen.items.length).map((gen, i) => [`${name}, generation ${i + 1}`, gen, plan.runs[v]]);
  });

test('the recorded traces contain histories and folded chains', () => {
  const all = generations();
  assert.ok(all.length > 10);
  assert.ok(all.some(([, gen]) => gen.items.some(item => item.members.length > 1)));
});

test('the items of a generation contain every operation once', () => {
  for (const [name, gen] of generations()) {
    const members = gen.items.flatMap(item => item.members.map(node => node.id));
    assert.deepEqual(members.toSorted(), [...gen.nodes.keys()].toSorted(), name);
    if (gen.nodes.size <= MOST_NODES) {
      assert.ok(
        gen.items.every(item => item.members.length === 1),
        name,
      );
    }
  }
});

test('an item reads the states that its operations read, except those that they make', () => {
  for (const [name, gen] of generations()) {
    for (const { members, ins, out } of gen.items) {
      assert.equal(out, members.at(-1).out, name);
      const inner = new Set(members.slice(0, -1).map(node => node.out));
      const read = new Set(members.flatMap(node => node.ins).filter(id => !inner.has(id)));
      assert.deepEqual(new Set(ins), read, name);
      members.slice(1).forEach((node, i) => assert.ok(node.ins.includes(members[i].out), name));
    }
  }
});

test('a state that two operations read ends a chain', () => {
  const node = (id, reads, out) => ({ id, op: 'add', line: 1, ins: reads, out, saved: [] });
  const chain = Array.from({ length: 30 }, (_, i) => node(`n${i}`, [`s${i}`], `s${i + 1}`));
  const gen = { nodes: new Map([...chain, node('n30', ['s30', 's15'], 's31')].map(each => [each.id, each])) };
  foldChains(gen);
  const inner = gen.items.flatMap(item => [...(item.inner ?? [])]);
  assert.ok(gen.items.length > 1 && !inner.includes('s15'));
});

test('an operation is between the states that it reads and the one that it makes, and no position is used twice', () => {
  for (const [name, gen] of generations()) {
    const { col, lane } = gridOf(gen);
    const taken = new Map();
    for (const [key, l] of lane) {
      const place = `${col.get(key)} ${l}`;
      assert.ok(!taken.has(place), `${name}: ${place}`);
      taken.set(place, key);
    }
    for (const item of gen.items) {
      for (const id of item.ins) assert.ok(col.get(id) < col.get(item), `${name}: ${item.id} reads ${id}`);
      assert.equal(col.get(item.out) > col.get(item), true, name);
      assert.equal(col.get(item) % 2, 1, `${name}: operations are in odd columns`);
    }
  }
});

test('bands contain every operation once within the width, and edges lead from states to operations', () => {
  for (const [name, gen, frames] of generations()) {
    const last = frames.at(-1);
    const now = { isThere: () => true, who: new Set(), grads: true, groups: [...last.groups.values()] };
    for (const width of [320, 760, 1200]) {
      const bands = historyLayout(gen, width, now);
      const items = bands.flatMap(band => band.spots.filter(spot => spot.node).map(spot => spot.key.id));
      assert.deepEqual(items.toSorted(), gen.items.map(item => item.id).toSorted(), `${name} at ${width}`);
      for (const band of bands) {
        for (const edge of band.edges) {
          const points = edgePoints(edge, band);
          const [start, end] = [points[0], points.at(-1)];
          assert.equal(start[1], edge.from.y, name);
          assert.ok(start[0] >= edge.from.x && end[0] <= edge.to.x, `${name} at ${width}`);
          points
            .slice(1)
            .forEach(([x, y], i) => assert.ok(x === points[i][0] || y === points[i][1], 'edges have right angles'));
        }
      }
    }
  }
});

test('the title of a folded chain is an operation, its repetitions, or the period of a loop', () => {
  const of = (...ops) => ops.map((op, i) => ({ op, line: 1 + (i % 2) }));
  assert.equal(titleOf(of('add')), 'add');
  assert.equal(titleOf(of('add', 'add', 'add')), '3 × add');
  assert.equal(titleOf(of('add', 'mul', 'add', 'mul', 'add', 'mul')), '3 × 2 operations');
  assert.equal(titleOf(of('add', 'mul', 'add', 'mul', 'add')), '2 × 2 + 1 operations');
  assert.equal(titleOf(of('a', 'b', 'c')), '3 operations');
});
