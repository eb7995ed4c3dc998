/* Replaying a trace: events in, one frame per step out. Knows nothing of drawing.
   A frame is never changed once it was handed out: an entity that changes is replaced, so frames share the rest.
   Every entity carries `changed`, the step that last touched it: it is new at that step and old afterwards. */

const BEFORE = -1;                                   // the "step" of what was there before the first line

function replay(variant) {
  let now = { names: new Map(), tensors: new Map(), storages: new Map(), nodes: new Map(), states: new Map(), families: new Map(), flight: 0 };
  for (const e of variant.before ?? []) apply[e.do]?.(now, e, BEFORE);
  return variant.steps.map((step, k) => {
    now = { ...now, error: null };
    for (const group of ['names', 'tensors', 'storages', 'nodes', 'states', 'families']) now[group] = new Map(now[group]);
    for (const [name, it] of now.names) if (it.gone !== undefined && it.gone < k) now.names.delete(name);
    for (const e of step.events) apply[e.do]?.(now, e, k);
    const { line, end, phase, say, note, out, allocated, peak, reserved } = step;
    return { ...now, step: k, line, end, phase, say, note, out, allocated, peak, reserved };
  });
}

/** Replaces one entity of a group by a changed copy. */
function change(group, id, k, fields) {
  const it = group.get(id);
  if (it) group.set(id, { ...it, ...fields, changed: k });
}

const apply = {
  storage(f, e, k) { f.storages.set(e.id, { ...e, version: e.version ?? 0, born: k, changed: k }); },
  write(f, e, k) {
    const st = f.storages.get(e.storage);
    if (!st) return;
    const first = st.wrote?.at !== k;                // several writes in one step are shown as one
    const old = first ? {} : { ...st.wrote.old };
    for (const i of Object.keys(e.cells)) old[i] ??= st.values[i] ?? '';
    const ranges = e.ranges ?? runsOfIndexes(Object.keys(e.cells).map(Number));
    const wrote = { at: k, was: first ? st.version : st.wrote.was, old, ranges: first ? ranges : [...st.wrote.ranges, ...ranges] };
    change(f.storages, e.storage, k, { values: { ...st.values, ...e.cells }, version: e.version, wrote });
  },
  tensor(f, e, k) { f.tensors.set(e.id, { ...e, born: k, changed: k }); },
  retensor(f, { do: _, ...e }, k) { change(f.tensors, e.id, k, e); },
  name(f, e, k) { f.names.set(e.name, { ...e, changed: k }); },
  unname(f, e, k) { change(f.names, e.name, k, { gone: k }); },
  free(f, e, k) {
    for (const id of e.tensors) change(f.tensors, id, k, { freed: k });
    for (const id of e.storages) {
      change(f.storages, id, k, { freed: k });
      for (const t of f.tensors.values()) if (t.part && t.storage === id && t.freed === undefined) change(f.tensors, t.id, k, { freed: k });
    }
  },
  state(f, e, k) { f.states.set(e.id, { ...e, born: k, changed: k }); },
  names(f, e, k) { const st = f.states.get(e.state); if (st) f.states.set(e.state, { ...st, names: e.names }); },
  node(f, e, k) { f.nodes.set(e.id, { ...e, saved: [], born: k, changed: k }); },
  save(f, e, k) {
    f.tensors.set(e.id, { ...e, saved: true, born: k, changed: k });
    const n = f.nodes.get(e.node);
    if (n) f.nodes.set(e.node, { ...n, saved: [...n.saved, e.id] });
  },
  preserve(f, e, k) {
    const t = f.tensors.get(e.id), n = t && f.nodes.get(t.node), { storage, shape, strides, offset, ranges } = e;
    if (!n) return;
    if (!ranges) return change(f.tensors, e.id, k, { storage, shape, strides, offset, version: 0, copy: true, taken: undefined });
    // a part: the saved tensor reads the rest where it was
    const id = `${e.id} ${storage}`;
    change(f.tensors, e.id, k, { taken: [...(t.taken ?? []), ...ranges] });
    f.tensors.set(id, { ...t, id, storage, shape, strides, offset, version: 0, copy: true, part: e.id, born: k, changed: k });
    f.nodes.set(n.id, { ...n, saved: [...n.saved, id] });
  },
  stale(f, e, k) { for (const id of e.ids) change(f.tensors, id, k, e.lost ? { stale: 'lost', taken: undefined } : { stale: 'moved' }); },
  release(f, e, k) { for (const t of f.tensors.values()) if (e.ids.includes(t.part ?? t.id) && t.freed === undefined) change(f.tensors, t.id, k, { freed: k }); },
  drop(f, e, k) {
    for (const id of e.nodes) change(f.nodes, id, k, { dropped: k });
    for (const id of e.states) change(f.states, id, k, { dropped: k });
  },
  family(f, e, k) { f.families.set(e.id, { ...e, changed: k }); },
  grad(f, e, k) { change(f.states, e.state, k, { grad: e.text, gradAt: k }); },
  run(f, e, k) { change(f.nodes, e.node, k, { ran: k }); },
  flight(f, e) { f.flight = e.bytes; },
  raise(f, e, k) { f.error = e.text; if (e.node) change(f.nodes, e.node, k, { failed: k }); },
};

/** A saved tensor is stale from the write on that made it so, long before backward looks. */
const isStale = t => Boolean(t.stale) && t.freed === undefined;

/** The numbers of a state are in memory while its storage is still at its version. */
const isGone = (f, st) => { const at = f.storages.get(st.storage); return !at || at.freed !== undefined || at.version !== st.version; };

function rowMajor(shape) {
  const strides = Array(shape.length);
  for (let d = shape.length - 1, n = 1; d >= 0; n *= shape[d--]) strides[d] = n;
  return strides;
}

/** [3, 4, 5, 9] -> [[3, 5], [9, 9]] */
function runsOfIndexes(indexes) {
  const runs = [];
  for (const i of [...indexes].sort((a, b) => a - b)) {
    if (runs.length && runs.at(-1)[1] === i - 1) runs.at(-1)[1] = i; else runs.push([i, i]);
  }
  return runs;
}

/** The runs of neighbouring cells that a tensor reads, in reading order, cut at the end of every row; the first `limit` of them. */
function runsOf(t, limit) {
  const rank = t.shape.length, row = rank ? t.shape[rank - 1] : 1;
  if (t.shape.includes(0)) return { runs: [], total: 0 };
  const whole = row === 1 || t.strides[rank - 1] === 1;      // a row is one run; otherwise every element is
  const inner = whole ? 1 : row, outer = t.shape.slice(0, -1).reduce((n, d) => n * d, 1), total = outer * inner;
  const runs = [];
  for (let r = 0; r < Math.min(total, limit); r++) {
    let rest = Math.floor(r / inner), at = t.offset + (whole ? 0 : (r % inner) * t.strides[rank - 1]);
    for (let d = rank - 2; d >= 0; d--) { at += (rest % t.shape[d]) * t.strides[d]; rest = Math.floor(rest / t.shape[d]); }
    runs.push([at, whole ? at + row - 1 : at]);
  }
  return { runs, total };
}

/** The lowest and the highest cell that a tensor reads. */
function reachOf(t) {
  let lo = t.offset, hi = t.offset;
  t.shape.forEach((n, d) => { const far = (n - 1) * t.strides[d]; if (far < 0) lo += far; else hi += far; });
  return [lo, hi];
}

/** Whether a tensor reads cell `k`, without listing the cells it reads. */
function reads(t, k) {
  if (t.shape.includes(0)) return false;
  const dims = t.shape.map((n, d) => [n, Math.abs(t.strides[d])]).filter(([n, s]) => n > 1 && s).sort((a, b) => b[1] - a[1]);
  const reach = dims.map((_, i) => dims.slice(i + 1).reduce((sum, [n, s]) => sum + (n - 1) * s, 0));
  const find = (i, rest) => {
    if (i === dims.length) return rest === 0;
    const [n, s] = dims[i];
    for (let q = Math.max(0, Math.ceil((rest - reach[i]) / s)); q <= Math.min(n - 1, Math.floor(rest / s)); q++) if (find(i + 1, rest - q * s)) return true;
    return false;
  };
  return find(0, k - reachOf(t)[0]);
}
