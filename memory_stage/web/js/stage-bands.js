/* Where everything of the history stands: bands, columns and lanes with their sizes, gradients, and the ways of the edges. */

const GRAD_MOST = 200;                               // a gradient's text; where it is wider than its state it stands clear of the boxes beside it

/** Everything with its size: what stands where, in bands of at most `W` px. `now` says what is there, so has to have room down the page:
    { isThere(key), who: states with names under them, grads: whether gradients have room, groups }. */
function layHistory(gen, W, now) {
  const { columns, bands, sizes } = entry(gen.layouts ??= new Map(), W, () => layColumnsOfHistory(gen, W));
  const started = bands.filter(b => columns.slice(b.first ? 0 : b.from, b.to + 1).flat().some(p => now.isThere(p.key)));
  return started.map(b => layBand(b, columns, sizes, now));
}

function layColumnsOfHistory(gen, W) {
  const { col, lane, last, roots } = placeItems(gen), { items } = gen;
  // on the narrowest picture a state, an operation and a state still stand in a row
  const pillMost = Math.max(56, Math.min(120, (W - 150) / 2)), boxMost = it => Math.min(it.members.length > 1 ? 200 : 170, W - 2 * pillMost - 56);
  const boxW = it => {
    const many = it.members.length > 1, words = many ? ['saved nothing', `${it.members[0].op}, ${it.members.length} of ${it.members.length}`] : [...(gen.words.get(it.id) ?? [])];
    return Math.min(boxMost(it), Math.max(88, widthOf(titleOf(it.members), { mono: true, bold: true }) + 24, ...words.map(s => widthOf(s, { size: 12, bold: true }) + 14)) + (many ? STACK : 0));
  };
  const labels = it => it.members.length > 1 ? it.members.map(n => gen.states.get(n.out)?.label ?? '') : [];
  const gradW = id => Math.max(0, ...[...(gen.grads.get(id) ?? [])].map(g => Math.min(GRAD_MOST, Math.max(widthOf('gradient', { size: 12 }), widthOf(g, { size: 12, mono: true, bold: true })) + 6)));
  const pillW = (id, more = []) => Math.min(pillMost, Math.max(44, ...[gen.states.get(id)?.label ?? '', ...more].map(s => widthOf(s, { mono: true }) + 18)));
  const inGroup = new Set([...gen.groups.values()].filter(fam => fam.names.length > 1).flatMap(fam => fam.states));
  const columns = Array.from({ length: last + 1 }, () => []);
  for (const it of items) columns[col.get(it)].push({ key: it, node: true, lane: lane.get(it), w: boxW(it), slot: boxW(it) });
  for (const id of gen.states.keys()) {
    if (!lane.has(id)) continue;                       // inside a folded chain, or not touched by this generation
    const it = items.find(i => i.out === id), w = pillW(id, it ? labels(it) : []);
    columns[col.get(id)].push({ key: id, lane: lane.get(id), w, slot: inGroup.has(id) ? Math.max(w, Math.min(100, pillMost, gradW(id))) : w, grad: gradW(id) });
  }
  const widthOfCol = c => Math.max(0, ...columns[c].map(p => p.slot));
  // bands: a state column, then pairs of an operation column and a state column, as many as fit
  const ghostsOf = (from, to) => [...new Set(columns.slice(from, to + 1).flat().filter(p => p.node).flatMap(p => p.key.ins))].filter(id => col.has(id) && col.get(id) < from);
  const GAP = 18, bands = [];
  for (let from = 1; from === 1 || from <= last;) {
    const first = bands.length === 0;
    let to = from - 1;
    for (let next = from + 1; next <= Math.max(last, from + 1); next += 2) {
      const lead = first ? widthOfCol(0) : Math.max(0, ...ghostsOf(from, next).map(id => pillW(id)));
      let sum = lead + 16;
      for (let c = from; c <= Math.min(next, last); c++) sum += widthOfCol(c) + GAP + (c % 2 ? 6 : 0);
      if (sum > W && to >= from) break;
      to = Math.min(next, last);
    }
    to = Math.max(to, from);                           // a single operation always has a band, however narrow
    bands.push({ from, to, first });
    from = to + 1;
  }
  return { columns, bands, sizes: { ghostsOf, pillW, gradW, widthOfCol, W, inGroup, col, roots: new Set(roots) } };
}

function layBand({ from, to, first }, columns, { ghostsOf, pillW, gradW, widthOfCol, W, inGroup, col, roots }, { isThere, who, grads, groups }) {
  const spots = [], at = new Map();                    // key -> spot of this band
  const put = (p, c) => { const spot = { ...p, c }; spots.push(spot); at.set(p.key, spot); };
  if (first) columns[0].forEach(p => put(p, 0));
  const end = Math.min(to, columns.length - 1), goesOn = end < columns.length - 1;
  for (let c = from; c <= end; c++) for (const p of columns[c]) if (!(goesOn && c === end && roots.has(p.key))) put(p, c);  // a leaf stands where it is read
  const lead = from - 1, taken = new Set(spots.map(p => `${p.c} ${p.lane}`));
  if (!first) {
    for (const id of ghostsOf(from, to)) {
      const user = spots.find(p => p.node && p.key.ins.includes(id));
      let l = user.lane;
      while (taken.has(`${lead} ${l}`)) l += 1;
      taken.add(`${lead} ${l}`);
      put({ key: id, ghost: !(roots.has(id) && col.get(id) === lead), lane: l, w: pillW(id), slot: pillW(id), grad: gradW(id) }, lead);
    }
  }
  const lanes = [...new Set(spots.map(p => p.lane))].sort((a, b) => a - b);
  for (const p of spots) p.row = lanes.indexOf(p.lane);
  // across: gaps take what is left of the width
  const cols = [...new Set(spots.map(p => p.c))].sort((a, b) => a - b);
  const colW = cols.map(c => c === lead && !first ? Math.max(0, ...spots.filter(p => p.c === c).map(p => p.slot)) : widthOfCol(c));
  const edges = routeEdges(spots, at, cols);
  const edge = inGroup.size ? 8 : 1;
  let free = W - colW.reduce((a, b) => a + b, 0) - 2 * edge;
  // under the first lane, edges bend close beside a state: its gradient has to stay within the column, which is widened as far as there is room
  for (const p of spots.filter(q => q.grad && q.row && edges.some(e => e.channels.includes(q.c)))) {
    const i = cols.indexOf(p.c), more = Math.max(0, Math.min(p.grad - colW[i], free - 24 * (cols.length - 1)));
    colW[i] += more; free -= more; p.tight = true;
  }
  const gap = Math.max(18, Math.min(46, free / Math.max(1, cols.length - 1)));
  const x = new Map();
  let left = edge;
  cols.forEach((c, i) => { x.set(c, { x1: left, x2: left + colW[i], mid: left + colW[i] / 2 }); left += colW[i] + gap; });
  for (const p of spots) p.x = x.get(p.c).mid;
  for (const p of spots) if (p.tight) p.room = x.get(p.c).x2 - x.get(p.c).x1 + 8;
  spaceGradients(spots, edges, W, inGroup);
  // down: a lane is as high as what its texts need, and not there before something stands in it; between lanes run the edges that find no straight way
  const isShown = p => p.ghost ? spots.some(q => q.node && q.key.ins.includes(p.key) && isThere(q.key)) : isThere(p.key);
  const framed = new Set(groups.filter(fam => fam.names.length > 1).flatMap(fam => fam.states.map(s => at.get(s)).filter(p => p && !p.ghost).map(p => p.row)));
  let y = 0;
  const rowY = [], gutterY = [];
  lanes.forEach((_, r) => {
    const mine = spots.filter(p => p.row === r && isShown(p)), hasWho = mine.some(p => !p.node && who.has(p.key)), told = grads ? mine.filter(p => p.lift) : [];
    rowY[r] = gutterY[r] = y;
    if (!mine.length) return;
    const over = Math.max(0, ...told.filter(p => !p.below).map(p => p.lift + 38)), under = Math.max(0, ...told.filter(p => p.below).map(p => p.lift + 36));
    const up = Math.max(mine.some(p => p.node) ? BOX_H / 2 + 9 : PILL_H / 2, over, framed.has(r) ? BOX_H / 2 + 2 : 0) + (framed.has(r) ? 8 : 0);
    const down = Math.max(mine.some(p => p.node) ? BOX_H / 2 : PILL_H / 2, under, hasWho ? Math.max(PILL_H / 2, under) + 20 : 0) + (framed.has(r) ? 24 : 0);
    rowY[r] = y + up; y += up + down;
    const here = edges.filter(e => e.gutter === r).length;
    gutterY[r] = y + 10; y += here ? 14 + 6 * here : 10;
  });
  for (const p of spots) p.y = rowY[p.row];
  keepOffLines(spots, edges, { x, gap, gutterY }, W);
  return { spots, at, edges, x, gap, rowY, gutterY, who, grads, height: y };
}

/** A gradient's text stands close above its state where it fits between the boxes, otherwise above the boxes too; below its state where an
    edge leaves upwards. Texts of one row are moved apart, and shortened only when the row is too short for all. */
function spaceGradients(spots, edges, W, inGroup) {
  const rows = new Map();
  for (const p of spots.filter(x => x.grad)) {
    p.below = edges.some(e => e.from === p && e.to.row < p.row);
    p.low = p.grad <= (inGroup.has(p.key) ? p.slot : p.w + (edges.some(e => e.from === p && e.bend.length) ? 14 : 26)) || (p.below && !spots.some(q => q.node && q.row === p.row));
    p.lift = p.low ? PILL_H / 2 : BOX_H / 2 + 5;
    const key = `${p.row} ${p.below} ${p.low}`;
    entry(rows, key, () => []).push(p);
  }
  for (const row of rows.values()) {
    row.sort((a, b) => a.x - b.x);
    const most = W / row.length - 8;
    let end = 0;
    for (const p of row) { p.gradMax = Math.min(p.grad, most, p.room ?? most); p.gradX = Math.max(p.x, end + p.gradMax / 2); end = p.gradX + p.gradMax / 2 + 8; }
    end = W;
    for (const p of row.reverse()) { p.gradX = Math.min(p.gradX, end - p.gradMax / 2); end = p.gradX - p.gradMax / 2 - 8; }
  }
}

/** A gradient's text stays between the lines that run up and down at its left and its right. */
function keepOffLines(spots, edges, band, W) {
  const lines = edges.flatMap(e => { const at = pointsOf(e, band); return at.slice(1).map(([x, y], i) => ({ x, level: at[i][0] !== x, top: Math.min(y, at[i][1]), bottom: Math.max(y, at[i][1]) })); });
  for (const p of spots.filter(q => q.grad)) {
    const top = p.below ? p.y + p.lift + 2 : p.y - p.lift - 36, beside = lines.filter(l => !l.level && l.top < top + 34 && l.bottom > top).map(l => l.x);
    const lo = Math.max(0, ...beside.filter(x => x <= p.x).map(x => x + 4)), hi = Math.min(W, ...beside.filter(x => x > p.x).map(x => x - 4));
    p.gradMax = Math.min(p.gradMax, hi - lo);
    p.gradX = Math.max(lo + p.gradMax / 2, Math.min(p.gradX, hi - p.gradMax / 2));
  }
}

/** How each edge from a state to an operation runs: straight, in a step, or through the gutter under its lane. */
function routeEdges(spots, at, cols) {
  const busy = new Set(spots.map(p => `${p.c} ${p.row}`)), edges = [], gutters = new Map(), channels = new Map();
  const clear = (row, a, b) => cols.every(c => c <= a || c >= b || !busy.has(`${c} ${row}`));
  const slot = (map, key) => { const n = map.get(key) ?? 0; map.set(key, n + 1); return n; };
  for (const p of spots) {
    if (!p.node) continue;
    const ins = p.key.ins.map(id => at.get(id)).filter(Boolean);
    for (const q of ins) {
      const e = { from: q, to: p, channels: [], bend: [] };
      if (q.row === p.row && clear(q.row, q.c, p.c)) e.kind = 'straight';
      else if (clear(p.row, q.c, p.c)) { e.kind = 'early'; e.channels = [q.c]; e.bend = [slot(channels, q.c)]; }
      else if (clear(q.row, q.c, p.c)) { e.kind = 'late'; e.channels = [p.c - 1]; e.bend = [slot(channels, p.c - 1)]; }
      else { e.kind = 'gutter'; e.gutter = Math.min(q.row, p.row); e.lane = slot(gutters, e.gutter); e.channels = [q.c, p.c - 1]; e.bend = [slot(channels, q.c), slot(channels, p.c - 1)]; }
      edges.push(e);
    }
    const bent = edges.filter(e => e.to === p && e.kind !== 'straight');     // where they enter: one above the other
    const above = bent.filter(e => e.from.row < p.row || (e.kind === 'gutter' && e.gutter < p.row)), below = bent.filter(e => !above.includes(e));
    const alone = bent.length === 1 && !edges.some(e => e.to === p && e.kind === 'straight');
    above.forEach((e, i) => { e.port = alone ? 0 : -10 - 8 * i; });
    below.forEach((e, i) => { e.port = alone ? 0 : 10 + 8 * i; });
    const out = at.get(p.key.out);
    if (out) edges.push({ from: p, to: out, kind: out.row === p.row ? 'straight' : 'early', channels: [], bend: [0], out: true, port: 0 });
  }
  return edges;
}

function pointsOf(e, band) {
  const { from, to } = e, x1 = from.x + from.w / 2, x2 = to.x - to.w / 2 - 1, y2 = to.y + (e.port ?? 0);
  const bendX = (c, n) => band.x.get(c).x2 + Math.min(band.gap - 8, 10 + 6 * n);
  if (e.kind === 'straight') return [[x1, from.y], [x2, from.y]];
  if (e.kind === 'early' || e.kind === 'late') { const bx = bendX(e.out ? from.c : e.channels[0], e.bend[0]); return [[x1, from.y], [bx, from.y], [bx, y2], [x2, y2]]; }
  const gy = band.gutterY[e.gutter] + 6 * e.lane, b1 = bendX(e.channels[0], e.bend[0]), b2 = bendX(e.channels[1], e.bend[1]);
  return [[x1, from.y], [b1, from.y], [b1, gy], [b2, gy], [b2, y2], [x2, y2]];
}
