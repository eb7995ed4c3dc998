/* Replaying a trace: events in, one frame per step out. Knows nothing of drawing.
   A frame is never changed once it was handed out: an entity that changes is replaced, so frames share the rest.
   Every entity carries `changed`, the step that last touched it: it is new at that step and old afterwards.
   Memory is kept at every 16th step only; what a frame holds is made from there when it is asked for. */

const BEFORE = -1;                                   // the "step" of what was there before the first line
const GROUPS = ['names', 'tensors', 'storages', 'nodes', 'states', 'groups'], KEPT = 16;

/** A map that notes which keys were set. */
class Noted extends Map {
  touched = new Set();
  set(key, it) { this.touched?.add(key); return super.set(key, it); }
}

class Frame {
  constructor(step, memory, { line, end, phase, say, note, out, allocated, peak, reserved, events }) {
    Object.assign(this, { step, line, end, phase, say, note, out, allocated, peak, reserved, error: events.find(e => e.do === 'raise')?.text ?? null });
    this.memory = memory;
  }
  get flight() { return this.memory(this.step).flight; }
}
for (const group of GROUPS) Object.defineProperty(Frame.prototype, group, { get() { return this.memory(this.step)[group]; } });

/** The frames of a variant. `frames.walk(visit)` passes once through memory as it changes: visit(memory, step), where each group of memory
    (a map) has `touched`, the keys set in this step. */
function replay({ before = [], steps }) {
  const kept = [];
  let last = -1, held;
  const copy = (memory, As) => ({ ...memory, ...Object.fromEntries(GROUPS.map(g => [g, new As(memory?.[g])])) });
  const take = (memory, k) => {
    for (const [name, it] of memory.names) if (it.gone < k) memory.names.delete(name);
    for (const e of steps[k].events) apply[e.do]?.(memory, e, k);
  };
  const at = k => {
    if (k === last) return held;
    const from = last < k && k - last < k % KEPT ? last : k - k % KEPT;
    held = copy(from === last ? held : kept[from / KEPT], Map);
    for (let i = from + 1; i <= k; i++) take(held, i);
    last = k;
    return held;
  };
  const walk = visit => {
    const memory = copy({ flight: 0, parts: [] }, Noted);
    for (const e of before) apply[e.do]?.(memory, e, BEFORE);
    steps.forEach((_, k) => {
      take(memory, k);
      visit(memory, k);
      for (const g of GROUPS) memory[g].touched.clear();
      if (k % KEPT === 0) kept[k / KEPT] ??= copy(memory, Map);
    });
  };
  return Object.assign(steps.map((step, k) => new Frame(k, at, step)), { walk });
}

/** What was touched of a group, with its keys left out. */
const touchedOf = group => [...group.touched].map(key => group.get(key)).filter(Boolean);

/** Replaces one entity of a group by a changed copy. */
function change(group, id, k, fields) {
  const it = group.get(id);
  if (it) group.set(id, { ...it, ...fields, changed: k });
}

/** Parts of saved tensors that were copied go with the copy, or with what they are parts of. */
function letPartsGo(f, which, k) {
  for (const t of f.parts.map(id => f.tensors.get(id))) if (t.freed === undefined && which(t)) change(f.tensors, t.id, k, { freed: k });
}

const apply = {
  storage(f, e, k) { f.storages.set(e.id, { ...e, version: e.version ?? 0, born: k, changed: k }); },
  write(f, e, k) {
    const st = f.storages.get(e.storage);
    if (!st) return;
    const first = st.wrote?.at !== k;                // several writes in one step are shown as one
    const old = first ? {} : { ...st.wrote.old };
    for (const i of Object.keys(e.cells)) old[i] ??= st.values[i] ?? '';
    const ranges = e.ranges ?? runsOfIndexes(Object.keys(e.cells).map(Number)), before = first ? { was: st.version, ranges: [], loose: [] } : st.wrote;
    // of too many runs only the first and the last cell are told: some cells between them were written
    const loose = e.count < ranges.reduce((n, [lo, hi]) => n + hi - lo + 1, 0), add = (now, are) => are ? [...now, ...ranges] : now;
    const wrote = { at: k, was: before.was, old, ranges: add(before.ranges, !loose), loose: add(before.loose, loose) };
    change(f.storages, e.storage, k, { values: { ...st.values, ...e.cells }, version: e.version, wrote });
  },
  tensor(f, e, k) { f.tensors.set(e.id, { ...e, born: k, changed: k }); },
  retensor(f, { do: _, ...e }, k) { change(f.tensors, e.id, k, e); },
  name(f, e, k) { f.names.set(e.name, { ...e, changed: k }); },
  unname(f, e, k) { change(f.names, e.name, k, { gone: k }); },
  free(f, e, k) {
    for (const id of e.tensors) change(f.tensors, id, k, { freed: k });
    for (const id of e.storages) change(f.storages, id, k, { freed: k });
    letPartsGo(f, t => e.storages.includes(t.storage), k);
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
    f.parts = [...f.parts, id];
    change(f.tensors, e.id, k, { taken: [...(t.taken ?? []), ...ranges] });
    f.tensors.set(id, { ...t, id, storage, shape, strides, offset, version: 0, copy: true, part: e.id, born: k, changed: k });
    f.nodes.set(n.id, { ...n, saved: [...n.saved, id] });
  },
  stale(f, e, k) { for (const id of e.ids) change(f.tensors, id, k, e.lost ? { stale: 'lost', taken: undefined, unnoticed: e.unnoticed } : { stale: 'moved', unnoticed: undefined }); },
  release(f, e, k) {
    for (const id of e.ids) if (f.tensors.get(id)?.freed === undefined) change(f.tensors, id, k, { freed: k });
    letPartsGo(f, t => e.ids.includes(t.part), k);
  },
  drop(f, e, k) {
    for (const id of e.nodes) {
      apply.release(f, { ids: f.nodes.get(id)?.saved ?? [] }, k);
      change(f.nodes, id, k, { dropped: k });
    }
    for (const id of e.states) change(f.states, id, k, { dropped: k });
  },
  group(f, e, k) { f.groups.set(e.id, { ...e, changed: k }); },
  grad(f, e, k) { change(f.states, e.state, k, { grad: e.text, gradAt: k }); },
  run(f, e, k) { change(f.nodes, e.node, k, { ran: k }); },
  flight(f, e) { f.flight = e.bytes; },
  raise(f, e, k) { if (e.node) change(f.nodes, e.node, k, { failed: k }); },
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

/** The runs of neighbouring cells that a tensor reads, in reading order: the first `limit` of them, how many there are, and the cells of each.
    They are cut at the end of every row; with `join`, rows that meet are one run where there would be more than `limit`.
    Cells read again count once. */
function runsOf({ shape, strides, offset }, limit, join = true) {
  if (shape.includes(0)) return { runs: [], total: 0, each: 0 };
  const last = shape.length - 1, count = dims => dims.reduce((n, [d]) => n * d, 1);
  const cut = dims => { const end = dims.at(-1) ?? [1, 1]; return end[0] === 1 || Math.abs(end[1]) === 1 ? [dims.slice(0, -1), end] : [dims, [1, 1]]; };
  const meet = dims => dims.reduce((done, [n, s]) => { const up = done.at(-1); if (up?.[1] === n * s) done.pop(); done.push([n * (up?.[1] === n * s ? up[0] : 1), s]); return done; }, []);
  const dims = shape.map((n, d) => strides[d] ? [n, strides[d]] : [1, 1]).filter(([n], d) => n > 1 || d === last);
  let [outer, [each, way]] = cut(dims);
  if (join && count(outer) > limit) [outer, [each, way]] = cut(meet(dims.filter(([n]) => n > 1)));
  const total = count(outer), runs = [];
  for (let r = 0; r < Math.min(total, limit); r++) {
    let rest = r, at = offset + Math.min(0, (each - 1) * way);
    for (let d = outer.length - 1; d >= 0; d--) { at += rest % outer[d][0] * outer[d][1]; rest = Math.floor(rest / outer[d][0]); }
    runs.push([at, at + each - 1]);
  }
  return { runs, total, each };
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
  const gcd = (a, b) => b ? gcd(b, a % b) : a, steps = dims.map((_, i) => dims.slice(i).reduce((g, [, s]) => gcd(g, s), 0));
  const find = (i, rest) => {
    if (i === dims.length) return rest === 0;
    if (rest % steps[i]) return false;
    const [n, s] = dims[i];
    for (let q = Math.max(0, Math.ceil((rest - reach[i]) / s)); q <= Math.min(n - 1, Math.floor(rest / s)); q++) if (find(i + 1, rest - q * s)) return true;
    return false;
  };
  return find(0, k - reachOf(t)[0]);
}

/** Whether two tensors of one storage read a cell in common, without listing the cells they read. */
const overlap = (a, b) => !b.shape.includes(0) && reads({ shape: [...a.shape, ...b.shape], strides: [...a.strides, ...b.strides.map(s => -s)], offset: a.offset }, b.offset);

/** Who refers to the bytes of a storage, or of a tensor (saved ones too), in frame `f`: the storage's id, names, tensors, saved tensors
    and the ids of the nodes that saved them. Of a tensor: those that read a cell it reads, itself among them. */
function whoRefers(f, { storage, tensor }) {
  const me = f.tensors.get(tensor), at = me?.storage ?? storage;
  const all = [...f.tensors.values()].filter(t => t.freed === undefined && t.storage === at && (!me || t === me || overlap(t, me)));
  const ids = new Set(all.map(t => t.id)), saved = all.filter(t => t.saved);
  return {
    storage: at, ids, saved, tensors: all.filter(t => !t.saved), nodes: new Set(saved.map(t => t.node)),
    names: [...f.names.values()].filter(n => n.gone === undefined && ids.has(n.tensor)),
  };
}

/** What a name stands for in frame `f`, in the form of `whoRefers`; undefined where the name is not there. */
function litBy(f, name) {
  const n = f.names.get(name), t = n && n.gone === undefined && f.tensors.get(n.tensor);
  return t ? { storage: t.storage, ids: new Set([t.id]), saved: [], tensors: [t], nodes: new Set(), names: [n], only: name } : undefined;
}
