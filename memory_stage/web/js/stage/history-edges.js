/**
 * Return the edges between states and operations, each with its form. An edge is straight, or it changes its lane next
 * to its beginning ("early") or next to its end ("late"). If other parts are in the way of all these, it leads through
 * the space below a lane ("gutter").
 */
export function routeEdges(spots, at, cols) {
  const busy = new Set(spots.map(p => `${p.c} ${p.row}`));
  const edges = [];
  const gutters = new Map();
  const channels = new Map();
  const clear = (row, a, b) => cols.every(c => c <= a || c >= b || !busy.has(`${c} ${row}`));
  const slot = (map, key) => {
    const n = map.get(key) ?? 0;
    map.set(key, n + 1);
    return n;
  };
  for (const p of spots) {
    if (!p.node) continue;
    const ins = p.key.ins.map(id => at.get(id)).filter(Boolean);
    for (const q of ins) {
      /** @type {Record<string, any>} */
      const e = { from: q, to: p, channels: [], bend: [] };
      if (q.row === p.row && clear(q.row, q.c, p.c)) e.kind = 'straight';
      else if (clear(p.row, q.c, p.c)) {
        e.kind = 'early';
        e.channels = [q.c];
        e.bend = [slot(channels, q.c)];
      } else if (clear(q.row, q.c, p.c)) {
        e.kind = 'late';
        e.channels = [p.c - 1];
        e.bend = [slot(channels, p.c - 1)];
      } else {
        e.kind = 'gutter';
        e.gutter = Math.min(q.row, p.row);
        e.lane = slot(gutters, e.gutter);
        e.channels = [q.c, p.c - 1];
        e.bend = [slot(channels, q.c), slot(channels, p.c - 1)];
      }
      edges.push(e);
    }
    const bent = edges.filter(e => e.to === p && e.kind !== 'straight'); // they enter the operation one above the other
    const above = bent.filter(e => e.from.row < p.row || (e.kind === 'gutter' && e.gutter < p.row));
    const below = bent.filter(e => !above.includes(e));
    const alone = bent.length === 1 && !edges.some(e => e.to === p && e.kind === 'straight');
    above.forEach((e, i) => {
      e.port = alone ? 0 : -10 - 8 * i;
    });
    below.forEach((e, i) => {
      e.port = alone ? 0 : 10 + 8 * i;
    });
    const out = at.get(p.key.out);
    if (out) {
      edges.push({
        from: p,
        to: out,
        kind: out.row === p.row ? 'straight' : 'early',
        channels: [],
        bend: [0],
        out: true,
        port: 0,
      });
    }
  }
  return edges;
}

/**
 * Return the points of an edge: its ends and the corners between them.
 * @returns {import('../shared/shapes.js').Point[]}
 */
export function edgePoints(e, band) {
  const { from, to } = e;
  const x1 = from.x + from.w / 2;
  const x2 = to.x - to.w / 2 - 1;
  const y2 = to.y + (e.port ?? 0);
  const bendX = (c, n) => band.x.get(c).x2 + Math.min(band.gap - 8, 10 + 6 * n);
  if (e.kind === 'straight') {
    return [
      [x1, from.y],
      [x2, from.y],
    ];
  }
  if (e.kind === 'early' || e.kind === 'late') {
    const bx = bendX(e.out ? from.c : e.channels[0], e.bend[0]);
    return [
      [x1, from.y],
      [bx, from.y],
      [bx, y2],
      [x2, y2],
    ];
  }
  const gy = band.gutterY[e.gutter] + 6 * e.lane;
  const b1 = bendX(e.channels[0], e.bend[0]);
  const b2 = bendX(e.channels[1], e.bend[1]);
  return [
    [x1, from.y],
    [b1, from.y],
    [b1, gy],
    [b2, gy],
    [b2, y2],
    [x2, y2],
  ];
}
