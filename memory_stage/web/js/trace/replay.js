/**
 * Replay a trace: compute one frame for each step from the events, without drawing.
 *
 * Every change replaces a thing by a copy, so a frame never changes after it was returned, and frames can share the
 * things that a step does not change. Memory is stored only for every 16th step. When the memory of another frame is
 * read, it is replayed from the stored memory before it, or from the memory that was read last if that is nearer.
 */

import { applyEvent } from './events.js';

/** @typedef {import('./types.d.ts').Memory} Memory */
/** @typedef {import('./types.d.ts').Frames} Frames */

const BEFORE = -1; // the step of events before the first line
const KEEP_EVERY = 16; // the number of steps between two stored states of memory
const PARTS = /** @type {const} */ (['names', 'tensors', 'storages', 'nodes', 'states', 'groups']);

/** A map that records which keys were set. */
class TrackedMap extends Map {
  touched = new Set();

  set(key, value) {
    this.touched?.add(key); // `touched` is undefined while the constructor of Map copies entries
    return super.set(key, value);
  }
}

class Frame {
  /**
   * @param {number} step
   * @param {(step: number) => Memory} memoryAt
   * @param {import('./types.d.ts').Step} facts
   */
  constructor(step, memoryAt, { events, passes: _, ...facts }) {
    const error = events.find(event => event.do === 'raise')?.text ?? null;
    Object.assign(this, { step, ...facts, error });
    this.step = step;
    this.memoryAt = memoryAt;
  }
}

for (const part of /** @type {const} */ ([...PARTS, 'flight'])) {
  Object.defineProperty(Frame.prototype, part, {
    get() {
      return this.memoryAt(this.step)[part];
    },
  });
}

/** Return a copy of memory in which each part is a new map of the class `As`. */
function copy(memory, As) {
  return { ...memory, ...Object.fromEntries(PARTS.map(part => [part, new As(memory[part])])) };
}

/**
 * Return the frames of a variant. `frames.walk(visit)` replays all steps once and calls `visit(memory, step)` after
 * each of them; every map of that memory has a set `touched` of the keys that the step has set. Call `walk` before you
 * read the memory of a frame, because it stores the memory of every 16th step.
 * @param {Pick<import('./types.d.ts').Variant, 'before' | 'steps'>} variant
 * @returns {Frames}
 */
export function replay({ before = [], steps }) {
  const kept = []; // the memory after every 16th step
  let last = -1; // the step that was replayed last
  let held; // the memory after that step

  const apply = (memory, step) => {
    for (const [text, name] of memory.names) if (name.gone < step) memory.names.delete(text);
    for (const event of steps[step].events) applyEvent[event.do]?.(memory, event, step);
  };
  const memoryAt = step => {
    if (step === last) return held;
    const fromKept = step - (step % KEEP_EVERY);
    const isNearer = last < step && step - last < step - fromKept;
    const from = isNearer ? last : fromKept;
    held = copy(isNearer ? held : kept[from / KEEP_EVERY], Map);
    for (let i = from + 1; i <= step; i++) apply(held, i);
    last = step;
    return held;
  };
  const walk = visit => {
    const memory = copy({ flight: 0, parts: [] }, TrackedMap);
    for (const event of before) applyEvent[event.do]?.(memory, event, BEFORE);
    steps.forEach((_, step) => {
      apply(memory, step);
      visit(memory, step);
      for (const part of PARTS) memory[part].touched.clear();
      if (step % KEEP_EVERY === 0) kept[step / KEEP_EVERY] ??= copy(memory, Map);
    });
  };
  const frames = steps.map((facts, step) => new Frame(step, memoryAt, facts));
  return /** @type {Frames} */ (/** @type {unknown} */ (Object.assign(frames, { walk })));
}

/**
 * Return the values whose keys the current step has set, except those that it has deleted again.
 * @template V
 * @param {import('./types.d.ts').TrackedMap<V>} part
 * @returns {V[]}
 */
export const touchedOf = part => [...part.touched].map(key => part.get(key)).filter(value => value !== undefined);
