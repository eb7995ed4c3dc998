/** Apply events to the replayed memory, with one function for each kind of event. */

import { indexRuns } from './cells.js';

/** Replace a thing in memory by a changed copy. */
function replaceEntity(group, id, step, fields) {
  const it = group.get(id);
  if (it) group.set(id, { ...it, ...fields, changed: step });
}

/** Free those copies of parts of saved tensors for which `which` returns true. */
function freeCopiedParts(memory, which, step) {
  for (const tensor of memory.parts.map(id => memory.tensors.get(id))) {
    if (tensor.freed === undefined && which(tensor)) replaceEntity(memory.tensors, tensor.id, step, { freed: step });
  }
}

/**
 * Maps each kind of event to the function that applies it. `step` is the step of the event, -1 before the first line.
 * @type {Record<string, (memory: any, e: any, step: number) => void>}
 */
export const applyEvent = {
  storage(memory, e, step) {
    memory.storages.set(e.id, { ...e, version: e.version ?? 0, born: step, changed: step });
  },
  write(memory, e, step) {
    const st = memory.storages.get(e.storage);
    if (!st) return;
    const first = st.wrote?.at !== step; // several writes in one step are shown as one
    const old = first ? {} : { ...st.wrote.old };
    for (const i of Object.keys(e.cells)) old[i] ??= st.values[i] ?? '';
    const ranges = e.ranges ?? indexRuns(Object.keys(e.cells).map(Number));
    const before = first ? { was: st.version, ranges: [], loose: [] } : st.wrote;
    // an event with too many runs has one range from the first to the last written cell, of which only some are written
    const loose = e.count < ranges.reduce((n, [lo, hi]) => n + hi - lo + 1, 0);
    const add = (now, are) => (are ? [...now, ...ranges] : now);
    const wrote = {
      at: step,
      was: before.was,
      old,
      ranges: add(before.ranges, !loose),
      loose: add(before.loose, loose),
    };
    replaceEntity(memory.storages, e.storage, step, {
      values: { ...st.values, ...e.cells },
      version: e.version,
      raster: e.raster,
      wrote,
    });
  },
  tensor(memory, e, step) {
    memory.tensors.set(e.id, { ...e, born: step, changed: step });
  },
  retensor(memory, { do: _do, ...e }, step) {
    replaceEntity(memory.tensors, e.id, step, e);
  },
  name(memory, e, step) {
    memory.names.set(e.name, { ...e, changed: step });
  },
  unname(memory, e, step) {
    replaceEntity(memory.names, e.name, step, { gone: step });
  },
  free(memory, e, step) {
    for (const id of e.tensors) replaceEntity(memory.tensors, id, step, { freed: step });
    for (const id of e.storages) replaceEntity(memory.storages, id, step, { freed: step });
    freeCopiedParts(memory, tensor => e.storages.includes(tensor.storage), step);
  },
  state(memory, e, step) {
    memory.states.set(e.id, { ...e, born: step, changed: step });
  },
  names(memory, e) {
    const state = memory.states.get(e.state);
    if (state) memory.states.set(e.state, { ...state, names: e.names });
  },
  node(memory, e, step) {
    memory.nodes.set(e.id, { ...e, saved: [], born: step, changed: step });
  },
  save(memory, e, step) {
    memory.tensors.set(e.id, { ...e, saved: true, born: step, changed: step });
    const n = memory.nodes.get(e.node);
    if (n) memory.nodes.set(e.node, { ...n, saved: [...n.saved, e.id] });
  },
  preserve(memory, e, step) {
    const tensor = memory.tensors.get(e.id);
    const n = tensor && memory.nodes.get(tensor.node);
    const { storage, shape, strides, offset, ranges } = e;
    if (!n) return;
    if (!ranges) {
      return replaceEntity(memory.tensors, e.id, step, {
        storage,
        shape,
        strides,
        offset,
        version: 0,
        copy: true,
        taken: undefined,
      });
    }
    // the copy has only some of the cells, and the saved tensor still reads the others in its old storage
    const id = `${e.id} ${storage}`;
    memory.parts = [...memory.parts, id];
    replaceEntity(memory.tensors, e.id, step, { taken: [...(tensor.taken ?? []), ...ranges] });
    memory.tensors.set(id, {
      ...tensor,
      id,
      storage,
      shape,
      strides,
      offset,
      version: 0,
      copy: true,
      part: e.id,
      born: step,
      changed: step,
    });
    memory.nodes.set(n.id, { ...n, saved: [...n.saved, id] });
  },
  stale(memory, e, step) {
    for (const id of e.ids) {
      replaceEntity(
        memory.tensors,
        id,
        step,
        e.lost ? { stale: 'lost', taken: undefined, unnoticed: e.unnoticed } : { stale: 'moved', unnoticed: undefined },
      );
    }
  },
  release(memory, e, step) {
    for (const id of e.ids) {
      if (memory.tensors.get(id)?.freed === undefined) replaceEntity(memory.tensors, id, step, { freed: step });
    }
    freeCopiedParts(memory, tensor => e.ids.includes(tensor.part), step);
  },
  drop(memory, e, step) {
    for (const id of e.nodes) {
      applyEvent.release(memory, { ids: memory.nodes.get(id)?.saved ?? [] }, step);
      replaceEntity(memory.nodes, id, step, { dropped: step });
    }
    for (const id of e.states) replaceEntity(memory.states, id, step, { dropped: step });
  },
  group(memory, e, step) {
    memory.groups.set(e.id, { ...e, changed: step });
  },
  grad(memory, e, step) {
    replaceEntity(memory.states, e.state, step, { grad: e.text, gradAt: step });
  },
  run(memory, e, step) {
    replaceEntity(memory.nodes, e.node, step, { ran: step });
  },
  flight(memory, e) {
    memory.flight = e.bytes;
  },
  raise(memory, e, step) {
    if (e.node) replaceEntity(memory.nodes, e.node, step, { failed: step });
  },
};
