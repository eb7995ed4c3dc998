import { getOrMake } from '../shared/cache.js';
import { t } from '../shared/messages.js';
import { listed } from '../shared/text.js';
import { cellRuns, rowMajor } from '../trace/cells.js';
import { replay, touchedOf } from '../trace/replay.js';
import { assignHues } from './hues.js';
import { FIELDS, gradientText, savedText, storageCaption, shownName } from './labels.js';

const plans = new WeakMap();

export const planOf = trace => getOrMake(plans, trace, () => makePlan(trace));

export const rowKey = tensor =>
  tensor.saved
    ? `saved ${tensor.storage} ${tensor.shape} ${tensor.strides} ${tensor.offset} ${tensor.version}`
    : `tensor ${tensor.id}`;

function makePlan(trace) {
  const runs = trace.variants.map(replay);
  const plan = {
    runs,
    codes: trace.variants.map(x => x.code),
    groups: new Map(),
    lives: new Map(),
    device: trace.device,
    texts: {
      shape: new Set(),
      strides: new Set(),
      offset: new Set(),
      version: new Set(),
      dtype: new Set(),
      gradient: new Set(),
      name: new Set(),
      op: new Set(),
      kept: new Set(),
    },
    topBytes: Math.max(1, ...trace.variants.flatMap(v => v.steps.map(s => s.peak))),
  };
  const reserved = Math.max(0, ...trace.variants.flatMap(v => v.steps.map(s => s.reserved ?? 0)));
  // the scale ignores more reserved bytes than this, because they would make all bars low; only their number is shown
  if (reserved <= 4 * plan.topBytes) plan.topBytes = Math.max(plan.topBytes, reserved);
  runs.forEach((frames, v) => frames.walk((frame, step) => recordStep(plan, frame, v, step)));
  plan.hues = assignHues(plan);
  return plan;
}

/**
 * Return a map from each item to its first line. An item is given as [item, span, number of lines]. Items may share
 * lines if their spans do not overlap.
 */
function packIntoLines(items) {
  const lines = []; // for each line, the spans in which it is occupied
  const first = new Map();
  for (const [it, span, size] of items) {
    const isFree = line => !lines[line]?.some(([a, b]) => a <= span[1] && span[0] <= b);
    let line = 0;
    for (let free = 0; free < size; free++) {
      if (isFree(line + free)) continue;
      line += free + 1;
      free = -1;
    }
    for (let i = line; i < line + size; i++) (lines[i] ??= []).push(span);
    first.set(it, line);
  }
  return first;
}

/** Map each storage of a variant to its place, and each row to its first line. Places of freed storages are reused. */
export const placesOf = (plan, variant) =>
  getOrMake((plan.places ??= new Map()), variant, () => {
    const groups = [...plan.groups.values()].filter(g => g.spans[variant]);
    const rows = g => [...g.rows.values()].filter(r => r.spans[variant]);
    return new Map([
      ...packIntoLines(groups.map(g => [g, g.spans[variant], 1])),
      ...groups.flatMap(g => [...packIntoLines(rows(g).map(r => [r, r.spans[variant], r.sizes[variant] ?? 1]))]),
    ]);
  });

/**
 * Return the first and the last of the steps that have the same layout as a step. All steps of one backward pass share
 * a layout, so that nothing moves during the pass. Every other step has a separate layout.
 */
export function windowOf(frames, step) {
  const isBack = i => frames[i]?.phase === 'backward';
  let [a, b] = [step, step];
  if (isBack(step)) {
    while (isBack(a - 1)) a -= 1;
    while (isBack(b + 1)) b += 1;
  }
  return [a, b];
}

/** Set the end of a thing's span in a variant to the step that frees it. If it has no span yet, begin one at `born`. */
const extendLife = (it, variant, born, freed) => {
  (it.spans[variant] ??= [born, Infinity])[1] = freed ?? Infinity;
};

/** Record the things that a step of a variant creates or changes. */
function recordStep(plan, frame, variant, step) {
  const groupOf = id =>
    getOrMake(plan.groups, id, () => ({
      id,
      spans: [],
      rows: new Map(),
      known: new Set(),
      written: new Set(),
      ends: new Set(),
      rowEnds: new Set(),
      joinedEnds: new Set(),
      texts: new Set(),
      captions: new Set(),
      length: 0,
      raster: undefined,
      row: 0,
      writes: false,
    }));
  const rowOf = tensor => {
    const key = rowKey(tensor);
    return getOrMake(groupOf(tensor.storage).rows, key, () => ({ key, spans: [], sizes: [], names: [] }));
  };
  for (const storage of touchedOf(frame.storages)) {
    const g = groupOf(storage.id);
    extendLife(g, variant, storage.born, storage.freed);
    g.length = Math.max(g.length, storage.length);
    g.raster ??= storage.raster;
    for (const [i, text] of Object.entries(storage.values)) {
      if (+i < storage.length) {
        g.known.add(+i);
        g.texts.add(text);
      }
    }
    if (storage.wrote) {
      for (const [lo, hi] of [...storage.wrote.ranges, ...storage.wrote.loose].slice(0, 4)) g.written.add(lo).add(hi);
    }
    const [name, parts, state] = storageCaption(storage, step, plan);
    g.captions.add([name, listed(parts), state].join('      '));
    plan.texts.version.add(String(storage.version));
    if (storage.wrote?.at === step) g.writes = true;
  }
  for (const tensor of touchedOf(frame.tensors)) {
    if (isFleeting(tensor)) continue;
    const row = rowOf(tensor);
    const g = groupOf(tensor.storage);
    const { texts } = plan;
    extendLife(row, variant, tensor.changed, tensor.freed);
    row.sizes[variant] ??= 1;
    const { runs, total } = cellRuns(tensor, 4, false);
    const isJoined = rowMajor(tensor.shape).join() === tensor.strides.join(); // true if there is no gap between rows
    const ends = total === 1 ? g.ends : isJoined ? g.joinedEnds : g.rowEnds;
    for (const run of runs) ends.add(run[0]).add(run[1]);
    if (!tensor.saved && !tensor.elements && !g.row && tensor.shape.length > 1 && isJoined) {
      g.row = tensor.shape.at(-1);
    }
    for (const field of ['shape', 'strides', 'offset']) texts[field].add(FIELDS[field](tensor));
    if (tensor.saved) {
      (row.nodes ??= new Set()).add(tensor.node);
      if (row.nodes.size > 1) texts.kept.add(t('{count} operations', { count: row.nodes.size }));
      texts.op.add(frame.nodes.get(tensor.node)?.op ?? '');
      texts.kept.add(savedText(frame, tensor));
    } else {
      texts.dtype.add(tensor.dtype);
      texts.gradient.add(gradientText(tensor));
      const life = getOrMake(plan.lives, tensor.id, () => ({ id: tensor.id, storages: new Set(), spans: [] }));
      life.storages.add(tensor.storage);
      extendLife(life, variant, tensor.born, tensor.freed);
    }
  }
  for (const n of touchedOf(frame.names)) {
    const tensor = frame.tensors.get(n.tensor);
    if (!tensor) continue;
    const row = rowOf(tensor);
    const mine = (row.names[variant] ??= []);
    if (!mine.includes(n.name)) mine.push(n.name);
    row.sizes[variant] = mine.length;
    plan.texts.name.add(shownName(n));
  }
}

/** True for a tensor that one step both created and freed, so that it is alive in no frame. */
export const isFleeting = tensor => tensor.freed !== undefined && tensor.freed === tensor.born;
