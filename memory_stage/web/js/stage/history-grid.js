/**
 * Return the column and the lane of every state and item of a generation, which are the same for all widths of the
 * picture. Even columns contain states; odd columns contain items, which are operations or folded chains of them.
 */
export function gridOf(gen) {
  if (gen.placed) return gen.placed;
  const { items } = gen;
  const col = new Map();
  const lane = new Map();
  const used = new Set();
  const colOf = id => col.get(id) ?? 0;
  const made = new Set(items.map(i => i.out));
  for (let round = 0, moved = true; moved && round <= items.length; round++) {
    moved = false;
    for (const it of items) {
      const c = 1 + Math.max(0, ...it.ins.map(colOf));
      if (c > (col.get(it) ?? 0)) {
        col.set(it, c);
        moved = true;
      }
      if (col.get(it) + 1 > colOf(it.out)) {
        col.set(it.out, col.get(it) + 1);
        moved = true;
      }
    }
  }
  const hidden = new Set(items.flatMap(it => [...(it.inner ?? [])]));
  // states that no operation of this generation makes or reads are left out, unless the generation has no operations
  const read = new Set(items.flatMap(it => it.ins));
  const roots = [...gen.states.keys()].filter(
    id => !made.has(id) && !hidden.has(id) && (read.has(id) || !items.length),
  );
  for (const id of roots) {
    // a leaf is placed left of the first operation that reads it
    const users = items.filter(it => it.ins.includes(id)).map(it => col.get(it));
    col.set(id, users.length ? Math.min(...users) - 1 : 0);
  }
  const free = (c, l) => !used.has(`${c} ${l}`);
  const take = (it, c, l) => {
    used.add(`${c} ${l}`);
    lane.set(it, l);
  };
  const lowest = (c, from, ok = _lane => true) => {
    let l = from;
    while (!free(c, l) || !ok(l)) l += 1;
    return l;
  };
  for (const it of items) {
    const c = col.get(it);
    const open = it.ins.filter(id => roots.includes(id) && !lane.has(id));
    const main = it.ins.find(id => !open.includes(id)) ?? open.shift();
    const isClear = l => free(c, l) && free(col.get(it.out), l);
    if (main !== undefined && !lane.has(main)) take(main, col.get(main), lowest(col.get(main), 0, isClear));
    const start = main === undefined ? 0 : lane.get(main);
    const straight = Array.from({ length: Math.max(0, c - colOf(main) - 1) }, (_, i) => colOf(main) + 1 + i).every(x =>
      free(x, start),
    );
    const l = straight && isClear(start) ? start : lowest(c, 0, isClear);
    take(it, c, l);
    if (!lane.has(it.out)) take(it.out, col.get(it.out), l);
    for (const id of open) if (!lane.has(id)) take(id, col.get(id), lowest(col.get(id), l));
  }
  for (const id of roots) {
    // a state that results from an unrecorded write is placed right of the previous state of its group
    if (lane.has(id)) continue;
    const states = [...gen.groups.values()].map(fam => fam.states).find(x => x.includes(id)) ?? [];
    const before = states[states.indexOf(id) - 1];
    if (before !== undefined && lane.has(before)) col.set(id, col.get(before) + 2);
    take(id, colOf(id), lowest(colOf(id), before !== undefined && lane.has(before) ? lane.get(before) : 0));
  }
  return (gen.placed = { col, lane, roots, last: Math.max(0, ...[...col.values()]) });
}
