/** The marks in a picture: of things that are new at a step, and of cells that the step has written. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { DEPTHS } from '../../../memory_stage/web/js/stage/depth.js';
import { drawPicture } from '../../../memory_stage/web/js/stage/picture.js';
import { variants } from './traces.js';

/** Return the ids of the storages that a step allocates and does not free again. */
function madeIn(events) {
  const freed = new Set(events.flatMap(event => (event.do === 'free' ? event.storages : [])));
  return events.filter(event => event.do === 'storage' && !freed.has(event.id)).map(event => event.id);
}

test('heavy frames appear only at steps that write, and a new storage has a filled corner', () => {
  let frames = 0;
  let corners = 0;
  for (const [name, { steps }, trace, variant] of variants()) {
    const chosen = [...steps.keys()].filter(step => step % Math.ceil(steps.length / 12) === 0);
    for (const step of chosen) {
      const { events } = steps[step];
      for (const depth of DEPTHS) {
        for (const width of depth === 'tensors' ? [380] : [772]) {
          const { svg } = drawPicture(trace, { variant, step, width, depth });
          const where = `${name} step ${step}, ${depth}, ${width} px`;
          const framed = [...svg.matchAll(/<rect [^>]*stroke:var\(--ink/g)].length;
          frames += framed;
          if (framed) {
            assert.ok(
              events.some(event => event.do === 'write'),
              where,
            );
          }
          for (const id of madeIn(events)) {
            const group = svg.split(`<g data-storage="${id}" class="new"><rect `)[1];
            if (!group) continue; // the picture does not draw this storage in full
            corners += 1;
            assert.match(group, /^[^>]*\/><path class="changed"/, `${where}: storage ${id}`);
          }
        }
      }
    }
  }
  assert.ok(frames > 30 && corners > 30, `${frames} ${corners}`);
});

test('the fields "gradient" and "leaf" of a tensor are in separate columns', () => {
  const { svg } = drawPicture(leaf(), { width: 1100, depth: 'history' });
  const x = text => Number(svg.match(new RegExp(`<text x="([\\d.]+)"[^>]*>${text}</text>`))?.[1]);
  assert.ok(x('gradient') < x('leaf'));
  const cells = [...svg.matchAll(/<text x="([\d.]+)"[^>]*>(yes|no)<\/text>/g)].map(([, at, text]) => [
    Number(at),
    text,
  ]);
  assert.deepEqual(
    cells.map(([at, text]) => [at === x('gradient') ? 'gradient' : at === x('leaf') ? 'leaf' : at, text]),
    [
      ['gradient', 'yes'],
      ['leaf', 'yes'],
      ['gradient', 'no'],
      ['leaf', 'yes'],
    ],
  );
});

/** Return the trace of a program with two leaves, of which only the first requires a gradient. */
function leaf() {
  const storage = id => ({ do: 'storage', id, length: 1, itemsize: 4, bytes: 4, dtype: 'float32', values: { 0: '1' } });
  const view = { shape: [1], strides: [1], offset: 0, dtype: 'float32', leaf: true };
  const made = (id, name, stop) => [
    storage(id),
    { do: 'tensor', id: `t${id}`, storage: id, ...view, stop_gradient: stop },
    { do: 'name', name, tensor: `t${id}`, kind: 'name' },
  ];
  const events = [...made('1', 'w', false), ...made('2', 'x', true)];
  const step = { line: 1, end: 1, phase: 'forward', say: 'Made.', allocated: 8, peak: 8, events };
  const run = { id: 'only', label: '', code: ['w, x = leaves()'], verdict: null, truncated: null, steps: [step] };
  return { schema: 'stage/1', title: 'Two leaves', ask: null, device: 'cpu', compare: null, variants: [run] };
}
