import { applyEvent } from './events.js';

const BEFORE = -1; // the "step" of what was there before the first line

const GROUPS = ['names', 'tensors', 'storages', 'nodes', 'states', 'groups'];

const KEEP_EVERY = 16;

/** A map that notes which keys were set. */
class TrackedMap extends Map {
  touched = new Set();
  set(key, it) {
    this.touched?.add(key);
    return super.set(key, it);
  }
}

class Frame {
  constructor(step, memory, { line, end, phase, say, note, out, allocated, peak, reserved, events }) {
    Object.assign(this, {
      step,
      line,
      end,
      phase,
      say,
      note,
      out,
      allocated,
      peak,
      reserved,
      error: events.find(e => e.do === 'raise')?.text ?? null,
    });
    this.memory = memory;
  }
  get flight() {
    return this.memory(this.step).flight;
  }
}

for (const group of GROUPS) {
  Object.defineProperty(Frame.prototype, group, {
    get() {
      return this.memory(this.step)[group];
    },
  });
}

/** The frames of a variant. `frames.walk(visit)` passes once through memory as it changes: visit(memory, step), where each group of memory
    (a map) has `touched`, the keys set in this step. */
export function replay({ before = [], steps }) {
  const kept = [];
  let last = -1;
  let held;
  const copy = (memory, As) => ({ ...memory, ...Object.fromEntries(GROUPS.map(g => [g, new As(memory?.[g])])) });
  const take = (memory, step) => {
    for (const [name, it] of memory.names) if (it.gone < step) memory.names.delete(name);
    for (const e of steps[step].events) applyEvent[e.do]?.(memory, e, step);
  };
  const at = step => {
    if (step === last) return held;
    const from = last < step && step - last < step % KEEP_EVERY ? last : step - (step % KEEP_EVERY);
    held = copy(from === last ? held : kept[from / KEEP_EVERY], Map);
    for (let i = from + 1; i <= step; i++) take(held, i);
    last = step;
    return held;
  };
  const walk = visit => {
    const memory = copy({ flight: 0, parts: [] }, TrackedMap);
    for (const e of before) applyEvent[e.do]?.(memory, e, BEFORE);
    steps.forEach((_, step) => {
      take(memory, step);
      visit(memory, step);
      for (const g of GROUPS) memory[g].touched.clear();
      if (step % KEEP_EVERY === 0) kept[step / KEEP_EVERY] ??= copy(memory, Map);
    });
  };
  return Object.assign(
    steps.map((step, k) => new Frame(k, at, step)),
    { walk },
  );
}

/** What was touched of a group, with its keys left out. */
export const touchedOf = group => [...group.touched].map(key => group.get(key)).filter(Boolean);
