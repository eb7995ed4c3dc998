/** The messages about traces that a page of the book refuses to show. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { NAMES, trace } from './traces.js';

const schema = readFileSync(new URL('../../../memory_stage/trace/trace.schema.json', import.meta.url), 'utf8');
globalThis.fetch = /** @type {any} */ (async () => ({ json: () => JSON.parse(schema) }));
const { problemOf } = await import('../../../_ext/book_pages/theme/live/validate-trace.js');

const STORAGE = { do: 'storage', id: '1', length: 1, itemsize: 4, bytes: 4, dtype: 'float32', values: { 0: '1' } };
const LAYOUT = { storage: '1', shape: [], strides: [], offset: 0 };
const SAVE = { do: 'save', id: 's1', node: 'n1', what: 'x', state: null, version: 0, ...LAYOUT };
const STEP = { line: 1, end: 1, phase: 'forward', say: '', allocated: 0, peak: 0, events: [] };
const VARIANT = { id: 'v', label: '', code: ['x = 1'], verdict: null, truncated: null, steps: [STEP] };
const TRACE = { schema: 'stage/1', title: '', ask: null, device: 'cpu', compare: null, variants: [VARIANT] };

const withVariant = change => ({ ...TRACE, variants: [{ ...VARIANT, ...change }] });
const withStep = change => withVariant({ steps: [{ ...STEP, ...change }] });
const withEvent = event => withStep({ events: [event] });
const EVENT = 'trace.variants[0].steps[0].events[0]';

/** A changed trace, and the message about it. */
const WRONG = [
  [1, 'trace is 1, but it must be of type object'],
  [{ ...TRACE, title: 5 }, 'trace.title is 5, but it must be of type string'],
  [{ ...TRACE, ask: true }, 'trace.ask is true, but it must be of type string or null'],
  [{ ...TRACE, schema: 'stage/2' }, 'trace.schema is "stage/2", but it must be "stage/1"'],
  [{ ...TRACE, depth: 'all' }, 'trace.depth is "all", but it must be "memory" or "tensors" or "history"'],
  [{ ...TRACE, onload: '' }, 'trace has the property "onload", which the schema does not allow'],
  [{ ...TRACE, variants: [] }, 'trace.variants has the length 0, but its length must be at least 1'],
  [withVariant({ id: '' }), 'trace.variants[0].id has the length 0, but its length must be at least 1'],
  [withVariant({ id: 'v'.repeat(65) }), 'trace.variants[0].id has the length 65, but its length must be at most 64'],
  [withVariant({ code: undefined, steps: 1 }), 'trace.variants[0].code is undefined, but it must be of type array'],
  [
    withVariant({ label: ['l'.repeat(80)] }),
    `trace.variants[0].label is ["${'l'.repeat(58)}…, but it must be of type string`,
  ],
  [withStep({ line: 0 }), 'trace.variants[0].steps[0].line is 0, but it must be at least 1'],
  [withStep({ end: 2 }), 'trace.variants[0].steps[0] refers to line 2, but the last line of the program is line 1'],
  [withStep({ passes: [[1, 1, 1]] }), /passes\[0\] has the length 3, but its length must be at most 2$/],
  [withEvent({ do: 'dance' }), `${EVENT} is {"do":"dance"}, but it must be an event whose "do" is a kind of event`],
  [withEvent({ do: 'run' }), `${EVENT} lacks the property "node"`],
  [withEvent({ ...SAVE, state: 5 }), /state is 5, but it must be of type string, or .*state is 5, .* of type null$/],
  [withEvent({ ...STORAGE, values: { 0: 1 } }), `${EVENT}.values["0"] is 1, but it must be of type string`],
  [
    withEvent({ ...STORAGE, values: { x: '1' } }),
    /^the name of a property of .*values is "x", but it must match the regular expression \^\(0\|/,
  ],
];

for (const [value, message] of WRONG) {
  test(`a page refuses a trace: ${message}`, async () => {
    const problem = await problemOf(value);
    assert.ok(message instanceof RegExp ? message.test(problem) : problem === message, problem);
  });
}

test('a page accepts traces of the recorder', async () => {
  assert.equal(await problemOf(TRACE), undefined);
  assert.equal(await problemOf(withStep({ events: [STORAGE, SAVE] })), undefined);
  for (const name of NAMES) assert.equal(await problemOf(trace(name)), undefined, name);
});
