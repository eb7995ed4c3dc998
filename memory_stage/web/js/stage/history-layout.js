import { t } from '../shared/messages.js';
import { getOrMake } from '../shared/cache.js';
import { fontsKey, widthOf } from '../shared/measure.js';
import { edgePoints, routeEdges } from './history-edges.js';
import { titleOf } from './history-generations.js';
import { gridOf } from './history-grid.js';

export const BOX_H = 62;

export const PILL_H = 26;

export const STACK = 6; // px by which the boxes drawn behind the box of a folded chain extend beyond that box

const GRAD_MOST = 200; // the largest width in px of a gradient's text

/**
 * Return the sizes and positions of all parts of a generation, in bands of at most `width` px. `now` determines which
 * parts need room: `isThere(key)` returns true for a state or item that is drawn, `who` has the ids of the states with
 * names under them, `grads` is true if gradients are drawn, and `groups` are the groups of states.
 */
export function historyLayout(gen, width, now) {
  const { columns, bands, sizes } = getOrMake((gen.layouts ??= new Map()), `${width} ${fontsKey()}`, () =>
    historyColumns(gen, width),
  );
  const started = bands.filter(b =>
    columns
      .slice(b.first ? 0 : b.from, b.to + 1)
      .flat()
      .some(p => now.isThere(p.key)),
  );
  return started.map(b => bandLayout(b, columns, sizes, now));
}

function historyColumns(gen, width) {
  const { col, lane, last, roots } = gridOf(gen);
  const { items } = gen;
  // a row has room for a state, an operation and a state, even in the narrowest picture
  const pillMost = Math.max(56, Math.min(120, (width - 150) / 2));
  const boxMost = it => Math.min(it.members.length > 1 ? 200 : 170, width - 2 * pillMost - 56);
  const boxW = it => {
    const many = it.members.length > 1;
    const words = many
      ? [
          t('saved nothing'),
          t('{operation}, {number} of {count}', {
            operation: it.members[0].op,
            number: it.members.length,
            count: it.members.length,
          }),
        ]
      : [...(gen.words.get(it.id) ?? [])];
    return Math.min(
      boxMost(it),
      Math.max(
        88,
        widthOf(titleOf(it.members), { mono: true, bold: true }) + 24,
        ...words.map(s => widthOf(s, { size: 12, bold: true }) + 14),
      ) + (many ? STACK : 0),
    );
  };
  const labels = it => (it.members.length > 1 ? it.members.map(n => gen.states.get(n.out)?.label ?? '') : []);
  const gradW = id =>
    Math.max(
      0,
      ...[...(gen.grads.get(id) ?? [])].map(g =>
        Math.min(
          GRAD_MOST,
          Math.max(widthOf(t('gradient'), { size: 12 }), widthOf(g, { size: 12, mono: true, bold: true })) + 6,
        ),
      ),
    );
  const pillW = (id, more = []) =>
    Math.min(
      pillMost,
      Math.max(44, ...[gen.states.get(id)?.label ?? '', ...more].map(s => widthOf(s, { mono: true }) + 18)),
    );
  const inGroup = new Set([...gen.groups.values()].filter(fam => fam.names.length > 1).flatMap(fam => fam.states));
  /** @type {any[][]} */
  const columns = Array.from({ length: last + 1 }, () => []);
  for (const it of items) {
    columns[col.get(it)].push({ key: it, node: true, lane: lane.get(it), w: boxW(it), slot: boxW(it) });
  }
  for (const id of gen.states.keys()) {
    if (!lane.has(id)) continue; // the state is inside of a folded chain, or does not belong to this generation
    const it = items.find(i => i.out === id);
    const w = pillW(id, it ? labels(it) : []);
    columns[col.get(id)].push({
      key: id,
      lane: lane.get(id),
      w,
      slot: inGroup.has(id) ? Math.max(w, Math.min(100, pillMost, gradW(id))) : w,
      grad: gradW(id),
    });
  }
  const widthOfCol = c => Math.max(0, ...columns[c].map(p => p.slot));
  // a band is a column of states, followed by as many pairs of a column of operations and one of states as fit
  const ghostsOf = (from, to) =>
    [
      ...new Set(
        columns
          .slice(from, to + 1)
          .flat()
          .filter(p => p.node)
          .flatMap(p => p.key.ins),
      ),
    ].filter(id => col.has(id) && col.get(id) < from);
  const GAP = 18;
  const bands = [];
  for (let from = 1; from === 1 || from <= last;) {
    const first = bands.length === 0;
    let to = from - 1;
    for (let next = from + 1; next <= Math.max(last, from + 1); next += 2) {
      const lead = first ? widthOfCol(0) : Math.max(0, ...ghostsOf(from, next).map(id => pillW(id)));
      let sum = lead + 16;
      for (let c = from; c <= Math.min(next, last); c++) sum += widthOfCol(c) + GAP + (c % 2 ? 6 : 0);
      if (sum > width && to >= from) break;
      to = Math.min(next, last);
    }
    to = Math.max(to, from); // a band has at least one column of operations, even if the picture is too narrow for it
    bands.push({ from, to, first });
    from = to + 1;
  }
  return {
    columns,
    bands,
    sizes: { ghostsOf, pillW, gradW, widthOfCol, W: width, inGroup, col, roots: new Set(roots) },
  };
}

function bandLayout(
  { from, to, first },
  columns,
  { ghostsOf, pillW, gradW, widthOfCol, W: width, inGroup, col, roots },
  { isThere, who, grads, groups },
) {
  const spots = [];
  const at = new Map(); // maps a key to its spot in this band
  const put = (p, c) => {
    const spot = { ...p, c };
    spots.push(spot);
    at.set(p.key, spot);
  };
  if (first) columns[0].forEach(p => put(p, 0));
  const end = Math.min(to, columns.length - 1);
  const goesOn = end < columns.length - 1;
  for (let c = from; c <= end; c++) {
    for (const p of columns[c]) if (!(goesOn && c === end && roots.has(p.key))) put(p, c);
  } // a leaf in the last column is left out, because the next band places it beside the operation that reads it
  const lead = from - 1;
  const taken = new Set(spots.map(p => `${p.c} ${p.lane}`));
  if (!first) {
    for (const id of ghostsOf(from, to)) {
      const user = spots.find(p => p.node && p.key.ins.includes(id));
      let l = user.lane;
      while (taken.has(`${lead} ${l}`)) l += 1;
      taken.add(`${lead} ${l}`);
      put(
        {
          key: id,
          ghost: !(roots.has(id) && col.get(id) === lead),
          lane: l,
          w: pillW(id),
          slot: pillW(id),
          grad: gradW(id),
        },
        lead,
      );
    }
  }
  const lanes = [...new Set(spots.map(p => p.lane))].sort((a, b) => a - b);
  for (const p of spots) p.row = lanes.indexOf(p.lane);
  // the gaps between columns share the width that the columns leave
  const cols = [...new Set(spots.map(p => p.c))].sort((a, b) => a - b);
  const colW = cols.map(c =>
    c === lead && !first ? Math.max(0, ...spots.filter(p => p.c === c).map(p => p.slot)) : widthOfCol(c),
  );
  const edges = routeEdges(spots, at, cols);
  const edge = inGroup.size ? 8 : 1;
  let free = width - colW.reduce((a, b) => a + b, 0) - 2 * edge;
  // below the first lane, edges bend close to a state, so the text of its gradient has to fit into the state's column;
  // the column becomes wider if there is room
  for (const p of spots.filter(q => q.grad && q.row && edges.some(e => e.channels.includes(q.c)))) {
    const i = cols.indexOf(p.c);
    const more = Math.max(0, Math.min(p.grad - colW[i], free - 24 * (cols.length - 1)));
    colW[i] += more;
    free -= more;
    p.tight = true;
  }
  const gap = Math.max(18, Math.min(46, free / Math.max(1, cols.length - 1)));
  const x = new Map();
  let left = edge;
  cols.forEach((c, i) => {
    x.set(c, { x1: left, x2: left + colW[i], mid: left + colW[i] / 2 });
    left += colW[i] + gap;
  });
  for (const p of spots) p.x = x.get(p.c).mid;
  for (const p of spots) if (p.tight) p.room = x.get(p.c).x2 - x.get(p.c).x1 + 8;
  placeGradients(spots, edges, width, inGroup);
  // a lane is as high as its contents need, and an empty lane has no height; edges in gutters need room between lanes
  const isShown = p =>
    p.ghost ? spots.some(q => q.node && q.key.ins.includes(p.key) && isThere(q.key)) : isThere(p.key);
  const framed = new Set(
    groups
      .filter(fam => fam.names.length > 1)
      .flatMap(fam =>
        fam.states
          .map(s => at.get(s))
          .filter(p => p && !p.ghost)
          .map(p => p.row),
      ),
  );
  let y = 0;
  const rowY = [];
  const gutterY = [];
  lanes.forEach((_, r) => {
    const mine = spots.filter(p => p.row === r && isShown(p));
    const hasWho = mine.some(p => !p.node && who.has(p.key));
    const told = grads ? mine.filter(p => p.lift) : [];
    rowY[r] = gutterY[r] = y;
    if (!mine.length) return;
    const over = Math.max(0, ...told.filter(p => !p.below).map(p => p.lift + 38));
    const under = Math.max(0, ...told.filter(p => p.below).map(p => p.lift + 36));
    const up =
      Math.max(mine.some(p => p.node) ? BOX_H / 2 + 9 : PILL_H / 2, over, framed.has(r) ? BOX_H / 2 + 2 : 0) +
      (framed.has(r) ? 8 : 0);
    const down =
      Math.max(mine.some(p => p.node) ? BOX_H / 2 : PILL_H / 2, under, hasWho ? Math.max(PILL_H / 2, under) + 20 : 0) +
      (framed.has(r) ? 24 : 0);
    rowY[r] = y + up;
    y += up + down;
    const here = edges.filter(e => e.gutter === r).length;
    gutterY[r] = y + 10;
    y += here ? 14 + 6 * here : 10;
  });
  for (const p of spots) p.y = rowY[p.row];
  moveGradientsOffLines(spots, edges, { x, gap, gutterY }, width);
  return { spots, at, edges, x, gap, rowY, gutterY, who, grads, height: y };
}

/**
 * Place the text of each gradient above its state, or below it if an edge leaves the state upwards. The text is close
 * to the state if it fits between the boxes left and right of it; otherwise it is above or below these boxes. Texts of
 * one row are moved apart, and shortened only if the row is too short for all of them.
 */
function placeGradients(spots, edges, width, inGroup) {
  const rows = new Map();
  for (const p of spots.filter(x => x.grad)) {
    p.below = edges.some(e => e.from === p && e.to.row < p.row);
    p.low =
      p.grad <= (inGroup.has(p.key) ? p.slot : p.w + (edges.some(e => e.from === p && e.bend.length) ? 14 : 26)) ||
      (p.below && !spots.some(q => q.node && q.row === p.row));
    p.lift = p.low ? PILL_H / 2 : BOX_H / 2 + 5;
    const key = `${p.row} ${p.below} ${p.low}`;
    getOrMake(rows, key, () => []).push(p);
  }
  for (const row of rows.values()) {
    row.sort((a, b) => a.x - b.x);
    const most = width / row.length - 8;
    let end = 0;
    for (const p of row) {
      p.gradMax = Math.min(p.grad, most, p.room ?? most);
      p.gradX = Math.max(p.x, end + p.gradMax / 2);
      end = p.gradX + p.gradMax / 2 + 8;
    }
    end = width;
    for (const p of row.reverse()) {
      p.gradX = Math.min(p.gradX, end - p.gradMax / 2);
      end = p.gradX - p.gradMax / 2 - 8;
    }
  }
}

/** Move each gradient's text into the space between the vertical lines left and right of it, and shorten it to fit. */
function moveGradientsOffLines(spots, edges, band, width) {
  const lines = edges.flatMap(e => {
    const at = edgePoints(e, band);
    return at
      .slice(1)
      .map(([x, y], i) => ({ x, level: at[i][0] !== x, top: Math.min(y, at[i][1]), bottom: Math.max(y, at[i][1]) }));
  });
  for (const p of spots.filter(q => q.grad)) {
    const top = p.below ? p.y + p.lift + 2 : p.y - p.lift - 36;
    const beside = lines.filter(l => !l.level && l.top < top + 34 && l.bottom > top).map(l => l.x);
    const lo = Math.max(0, ...beside.filter(x => x <= p.x).map(x => x + 4));
    const hi = Math.min(width, ...beside.filter(x => x > p.x).map(x => x - 4));
    p.gradMax = Math.min(p.gradMax, hi - lo);
    p.gradX = Math.max(lo + p.gradMax / 2, Math.min(p.gradX, hi - p.gradMax / 2));
  }
}
