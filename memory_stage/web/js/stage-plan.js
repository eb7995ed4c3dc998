/* The plan of a trace: which rows, cells, colours and texts there will ever be, over all steps of all variants, and which of them
   stand together. A thing has its colour and its place among the others for good; room is taken only by what is there. */

/** What a map holds for a key; made where there is nothing yet. */
const entry = (map, key, make) => map.get(key) ?? map.set(key, make()).get(key);

const plans = new WeakMap();
const planOf = trace => entry(plans, trace, () => makePlan(trace));

const rowKey = t => t.saved ? `saved ${t.storage} ${t.shape} ${t.strides} ${t.offset} ${t.version}` : `tensor ${t.id}`;

function makePlan(trace) {
  const runs = trace.variants.map(replay);
  const plan = {
    runs, codes: trace.variants.map(x => x.code), groups: new Map(), lives: new Map(), device: trace.device,
    texts: { shape: new Set(), strides: new Set(), offset: new Set(), version: new Set(), dtype: new Set(), gradient: new Set(), name: new Set(), op: new Set(), kept: new Set() },
    topBytes: Math.max(1, ...trace.variants.flatMap(v => v.steps.map(s => s.peak))),
  };
  const reserved = Math.max(0, ...trace.variants.flatMap(v => v.steps.map(s => s.reserved ?? 0)));
  if (reserved <= 4 * plan.topBytes) plan.topBytes = Math.max(plan.topBytes, reserved);   // otherwise off the scale: told as a number
  runs.forEach((frames, v) => frames.walk((f, k) => meet(plan, f, v, k)));
  plan.hues = huesOf(plan);
  return plan;
}

/** Each item, given as [item, span of life, lines it takes], with its first line: items that are never there at once may share one. */
function pack(items) {
  const lines = [], first = new Map();                 // per line: spans taken
  for (const [it, span, size] of items) {
    const mine = l => Array.from({ length: size }, (_, i) => lines[l + i] ??= []);
    let line = 0;
    while (!mine(line).flat().every(([a, b]) => span[1] < a || b < span[0])) line += 1;
    for (const taken of mine(line)) taken.push(span);
    first.set(it, line);
  }
  return first;
}

/** The order of a variant's storages, and of the rows of each: who comes takes the place of one who is gone. */
const placesOf = (plan, v) => entry(plan.places ??= new Map(), v, () => {
  const groups = [...plan.groups.values()].filter(g => g.spans[v]), rows = g => [...g.rows.values()].filter(r => r.spans[v]);
  return new Map([...pack(groups.map(g => [g, g.spans[v], 1])), ...groups.flatMap(g => [...pack(rows(g).map(r => [r, r.spans[v], r.sizes[v] ?? 1]))])]);
});

/** The first and the last step that share their layout with step `k`: all of one backward, so that nothing moves while a gradient passes. */
function windowOf(frames, k) {
  const isBack = i => frames[i]?.phase === 'backward';
  let [a, b] = [k, k];
  if (isBack(k)) { while (isBack(a - 1)) a -= 1; while (isBack(b + 1)) b += 1; }
  return [a, b];
}

/** Extends a span of life in one variant: from its first step to the step at which it is freed. */
const live = (it, v, born, freed) => { (it.spans[v] ??= [born, Infinity])[1] = freed ?? Infinity; };

/** Notes what step `k` of variant `v` brings that was not there before. */
function meet(plan, f, v, k) {
  const groupOf = id => entry(plan.groups, id, () => (
    { id, spans: [], rows: new Map(), known: new Set(), written: new Set(), ends: new Set(), rowEnds: new Set(), texts: new Set(), captions: new Set(), length: 0, row: 0 }));
  const rowOf = t => {
    const key = rowKey(t);
    return entry(groupOf(t.storage).rows, key, () => ({ key, spans: [], sizes: [], names: [] }));
  };
  for (const st of touchedOf(f.storages)) {
    const g = groupOf(st.id);
    live(g, v, st.born, st.freed);
    g.length = Math.max(g.length, st.length);
    for (const [i, text] of Object.entries(st.values)) if (+i < st.length) { g.known.add(+i); g.texts.add(text); }
    if (st.wrote) for (const [lo, hi] of [...st.wrote.ranges, ...st.wrote.loose].slice(0, 4)) g.written.add(lo).add(hi);
    g.captions.add(captionOf(st, k, plan).join('     '));
    plan.texts.version.add(String(st.version));
    if (st.wrote?.at === k) g.writes = true;
  }
  for (const t of touchedOf(f.tensors)) {
    if (isFleeting(t)) continue;
    const row = rowOf(t), g = groupOf(t.storage), { texts } = plan;
    live(row, v, t.changed, t.freed);
    row.sizes[v] ??= 1;
    const { runs, total } = runsOf(t, 4, false);
    for (const run of runs) (total === 1 ? g.ends : g.rowEnds).add(run[0]).add(run[1]);
    if (!t.saved && !t.elements && !g.row && t.shape.length > 1 && rowMajor(t.shape).join() === t.strides.join()) g.row = t.shape.at(-1);
    for (const field of ['shape', 'strides', 'offset']) texts[field].add(FIELDS[field](t));
    if (t.saved) { (row.nodes ??= new Set()).add(t.node); if (row.nodes.size > 1) texts.kept.add(`${row.nodes.size} operations`); texts.op.add(f.nodes.get(t.node)?.op ?? ''); texts.kept.add(keptText(f, t)); }
    else {
      texts.dtype.add(t.dtype); texts.gradient.add(gradientText(t));
      const life = entry(plan.lives, t.id, () => ({ id: t.id, storages: new Set(), spans: [] }));
      life.storages.add(t.storage);
      live(life, v, t.born, t.freed);
    }
  }
  for (const n of touchedOf(f.names)) {
    const t = f.tensors.get(n.tensor);
    if (!t) continue;
    const row = rowOf(t), mine = row.names[v] ??= [];
    if (!mine.includes(n.name)) mine.push(n.name);
    row.sizes[v] = mine.length;
    plan.texts.name.add(n.kind === 'line' ? `(${n.name})` : n.name);
  }
}

/** A tensor that came and went within one step was never held by anything. */
const isFleeting = t => t.freed !== undefined && t.freed === t.born;

/** How a tensor stands to gradients, in one word. */
const gradientText = t => t.stop_gradient || t.outside ? 'no' : t.leaf ? 'leaf' : 'yes';

/** What a saved tensor is called: its state's label, or its role in the derivative. */
const keptOf = (f, t) => f.states.get(t.state)?.label ?? t.what;
const keptText = (f, t) => `${t.marks ? 'marks of' : t.part ? 'part of' : t.copy ? 'copy of' : 'saved'} ${keptOf(f, t)}${t.inferred ? ' ?' : ''}`;

/** Caption of a storage: its name, what it holds (the rest after a comma may be left out), what is said at the right. */
function captionOf(st, k, { device }) {
  const size = [st.borrowed && 'borrowed', bytesText(st.bytes), st.device !== device && st.device, st.dtype !== 'float32' && st.dtype].filter(Boolean).join(', ');
  const state = st.freed !== undefined ? (st.freed === k ? 'freed now' : 'freed')
    : st.wrote?.at === k ? st.wrote.was === st.version ? `version stays ${st.version}` : `version ${st.wrote.was} → ${st.version}` : st.label ? size : `version ${st.version}`;
  return [`storage ${st.id}`, st.label ?? size, state];
}

/** A colour belongs to a tensor for its life; two aliases of one storage never share one; of the rest, no two alive as long as there are enough. */
function huesOf({ lives }) {
  const hues = new Map(), done = [];
  const meetIn = (a, b) => a.spans.some((s, v) => s && b.spans[v] && s[0] <= b.spans[v][1] && b.spans[v][0] <= s[1]);
  for (const life of lives.values()) {
    const rivals = done.filter(other => meetIn(life, other));
    const taken = new Set(rivals.map(o => hues.get(o.id)));
    const aliased = new Set(rivals.filter(o => [...o.storages].some(s => life.storages.has(s))).map(o => hues.get(o.id)));
    const all = Array.from({ length: HUES }, (_, i) => i + 1);
    const crowd = h => rivals.filter(o => hues.get(o.id) === h).length, least = [...all].sort((a, b) => crowd(a) - crowd(b));
    hues.set(life.id, all.find(h => !taken.has(h)) ?? least.find(h => !aliased.has(h)) ?? least[0]);
    done.push(life);
  }
  return hues;
}

/* ---- where each element of a storage stands ---- */

const CELL_MIN = 24, CELL_MAX = 54, CELL_WIDEST = 84, MOST_LINES = 4, MOST_CELLS = 48;

/** The cells of a storage in `avail` px: one line if they fit, a few lines if not, and of many only the ends of every view and write,
    with counted gaps. Returns slots {from, to, x, w, line}, x counted from the first cell. */
function cellsOf(group, avail, length) {
  return entry(group.cells ??= new Map(), `${avail} ${length}`, () => layCells(group, avail, length));
}

function layCells({ known, written, ends, rowEnds, texts, row, writes }, avail, n) {
  const widest = Math.max(0, ...[...texts].map(s => widthOf(s, { size: writes ? 15 : 14, mono: true, bold: writes })));
  const least = Math.min(CELL_WIDEST, avail, Math.max(CELL_MIN, widest + 8));
  const fits = Math.max(1, Math.floor(avail / least));
  const whole = n <= MOST_CELLS && [...known].filter(i => i < n).length === n;
  let perLine = n;
  if (n > fits) {
    const step = row && row <= fits ? row : 1, most = Math.floor(fits / step) * step;    // break where the tensor's rows break
    perLine = Math.min(most, Math.ceil(n / Math.ceil(n / most) / step) * step);          // and into lines of about one length
  }
  if (n && whole && Math.ceil(n / perLine) <= MOST_LINES) {
    const w = Math.max(least, Math.min(CELL_MAX, avail / perLine));
    const slots = Array.from({ length: n }, (_, i) => ({ from: i, to: i, x: i % perLine * w, w, line: Math.floor(i / perLine) }));
    return { slots, lines: Math.ceil(n / perLine), width: perLine * w, indexed: false };
  }
  // what was written first, then what is looked at; a gap is as wide as the count that stands in it
  const wish = ([from, to]) => to > from ? Math.max(CELL_MIN, widthOf(countText(to - from + 1), { size: 12, bold: true }) + 7) : least;
  const keep = new Set(), total = parts => parts.reduce((sum, p) => sum + wish(p), 0);
  for (const i of [0, n - 1, ...written, ...ends, ...rowEnds]) {
    if (i < 0 || i >= n || keep.has(i) || (known.size && !known.has(i))) continue;
    if (total(gapped([...keep, i], n)) <= avail || keep.size < 1) keep.add(i);
  }
  const parts = gapped([...keep], n), stretch = Math.max(0, Math.min(parts.length * CELL_MAX, avail) - total(parts)) / Math.max(1, parts.length);
  let x = 0;
  const slots = parts.map(part => { const w = Math.min(avail, wish(part)) + stretch; x += w; return { from: part[0], to: part[1], x: x - w, w, line: 0 }; });
  return { slots, lines: 1, width: x, indexed: n > 1 };
}

/** Kept indexes and the gaps between them, as [from, to]. */
function gapped(keep, n) {
  const parts = [];
  let next = 0;
  for (const i of keep.sort((a, b) => a - b)) { if (i > next) parts.push([next, i - 1]); parts.push([i, i]); next = i + 1; }
  if (next < n) parts.push([next, n - 1]);
  return parts;
}

const slotAt = (cells, i) => cells.slots.find(s => i >= s.from && i <= s.to);

const MOST_RUNS = 12;
/** What a track cannot show: of more runs than can be drawn, how many there are; and that cells are read again. */
function runsText(t) {
  const { total, each } = runsOf(t, MOST_RUNS), product = dims => dims.reduce((n, d) => n * d, 1), [lo, hi] = reachOf(t);
  const times = product(t.shape.filter((_, d) => !t.strides[d])), twice = product(t.shape) / times > hi - lo + 1;
  return [!total && 'no cells', total > MOST_RUNS && `${countText(total)} runs of ${each > 1 ? `${countText(each)} cells` : 'one cell'}`, times > 1 && `each cell ${countText(times)} times`, twice && 'some cells several times'].filter(Boolean).join(', ');
}

/** The pieces of a tensor's track: {line, x1, x2}, one for each run of cells; of many runs, one from the lowest cell to the highest.
    Cells in the runs `taken` are left out. */
function piecesOf(cells, t, taken = []) {
  const { runs, total } = runsOf(t, MOST_RUNS);
  const pieces = [], cut = (runs, [lo, hi]) => runs.flatMap(([a, b]) => hi < a || lo > b ? [[a, b]] : [[a, lo - 1], [hi + 1, b]].filter(([x, y]) => x <= y));
  for (const [first, last] of taken.reduce(cut, total > MOST_RUNS ? [reachOf(t)] : runs)) {
    const a = cells.slots.indexOf(slotAt(cells, first)), b = cells.slots.indexOf(slotAt(cells, last));
    if (a < 0 || b < 0) continue;
    let piece = null;
    for (const s of cells.slots.slice(a, b + 1)) {
      if (piece?.line === s.line) piece.x2 = s.x + s.w; else pieces.push(piece = { line: s.line, x1: s.x, x2: s.x + s.w });
    }
  }
  // runs that lie in one gap are one piece
  return pieces.reduce((done, p) => {
    const met = done.find(q => q.line === p.line && q.x1 < p.x2 && p.x1 < q.x2);
    if (met) Object.assign(met, { x1: Math.min(met.x1, p.x1), x2: Math.max(met.x2, p.x2) }); else done.push(p);
    return done;
  }, []);
}
