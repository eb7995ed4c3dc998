/* The history: memory states (pills) and the operations between them (boxes), left to right.
   Columns follow the longest path, so an operation stands right of all it reads; where the width ends, the history goes on in a
   new band, and a state that is read there stands again at the band's left. Across, a thing has its place for good; down, room is
   taken by what is there. */

const BOX_H = 62, PILL_H = 26, MOST_NODES = 24, CHAIN = 3;

/** The pictures of a variant's history, { list, at: which of them each step shows }. There is one for each generation: when backward is through
    with a graph and the program records a new one that does not build on it (a training loop), the old one makes room. */
const generationsOf = (plan, v) => entry(plan.generations ??= new Map(), v, () => {
  const frames = plan.runs[v], ends = frames.at(-1).nodes, at = [], list = [];      // `ends` knows of every node when backward last passed it
  let gen = 0, mine = [];
  frames.walk((f, k) => {
    const fresh = touchedOf(f.nodes).filter(n => Math.max(0, n.born) === k);
    if (fresh.length) {
      const made = new Set(mine.map(n => n.out)), spent = n => ends.get(n.id).ran === undefined || ends.get(n.id).ran < k;
      const over = mine.length && mine.every(spent) && mine.some(n => ends.get(n.id).ran !== undefined || f.nodes.get(n.id).dropped !== undefined);
      if (over && !fresh.some(n => n.ins.some(s => made.has(s)))) { gen += 1; mine = []; }
      mine.push(...fresh);
    }
    at.push(gen);
  });
  frames.walk((f, k) => {
    const g = at[k], begins = at[k - 1] !== g;
    const gen = list[g] ??= { nodes: new Map(), states: new Map(), groups: new Map(), grads: new Map(), words: new Map(), who: new Set() };
    const saidAnew = touchedOf(f.tensors).map(t => f.nodes.get(t.node)).filter(Boolean);
    for (const n of [...touchedOf(f.nodes), ...saidAnew]) {
      if (at[Math.max(0, n.born)] !== g) continue;     // dropped history stays in the picture, faded, until the next generation begins
      if (!gen.nodes.has(n.id)) gen.nodes.set(n.id, n);
      entry(gen.words, n.id, () => new Set()).add(savedWords(f, n).text);
    }
    for (const s of begins ? f.states.values() : touchedOf(f.states)) {
      if (s.dropped !== undefined && at[s.dropped] < g) continue;
      gen.states.set(s.id, s);
      if (s.grad) entry(gen.grads, s.id, () => new Set()).add(s.grad);
    }
    if (begins || f.names.touched.size || f.states.touched.size) for (const id of gen.states.keys()) if (!gen.who.has(id) && f.states.has(id) && whoText(f, f.states.get(id))) gen.who.add(id);
    for (const fam of begins ? f.groups.values() : touchedOf(f.groups)) gen.groups.set(fam.id, fam);
  });
  for (const gen of list) fold(gen);
  return { list, at };
});

/** What a node says it saved, over all it saved. */
function savedWords(f, n) {
  const saved = n.saved.map(id => f.tensors.get(id)).filter(Boolean);
  if (!saved.length) return { text: n.unknown ? 'saved: not known' : 'saved nothing', quiet: true };
  const called = which => [...new Set(which.map(t => keptOf(f, t)))].join(', ');
  const stale = saved.filter(t => isStale(t)), live = saved.filter(t => t.freed === undefined);
  if (n.failed !== undefined && !stale.length) return { text: `saved ${called(saved)}` };
  if (stale.length) {
    const what = called(stale), end = stale.some(t => t.stale === 'lost') ? 'gone' : 'stale';
    return { text: `${what} ${what.includes(', ') ? 'are' : 'is'} ${end}`, short: `saved: ${end}`, stale: true, unnoticed: stale.some(t => t.unnoticed) };
  }
  if (!live.length) return { text: `released ${called(saved)}`, quiet: true };
  if (live.some(t => t.part)) return { text: `${called(live)} and a copy` };
  return { text: `${live.every(t => t.marks) ? 'marks of' : live.every(t => t.copy) ? 'copy of' : 'saved'} ${called(live)}${live.every(t => t.inferred) ? ' ?' : ''}` };
}

/** Who stands at a state, where that is more than its label says. */
function whoText(f, s) {
  const names = s.names.filter(n => f.names.has(n) && f.names.get(n).gone === undefined);
  return names.every(n => n === s.label.split('@')[0]) ? '' : names.join(', ');
}

/** Long straight chains become one box. */
function fold(gen) {
  const single = n => ({ id: n.id, members: [n], ins: n.ins, out: n.out });
  gen.items = [...gen.nodes.values()].map(single);
  if (gen.nodes.size <= MOST_NODES) return;
  const readers = new Map(), maker = new Map();
  for (const n of gen.nodes.values()) { n.ins.forEach(s => readers.set(s, (readers.get(s) ?? 0) + 1)); maker.set(n.out, n); }
  const chains = sameOp => {
    const found = [];
    for (const n of gen.nodes.values()) {
      const last = found.at(-1)?.at(-1);
      const goesOn = last && (!sameOp || last.op === n.op) && n.ins.includes(last.out) && readers.get(last.out) === 1 && n.ins.every(s => s === last.out || !maker.has(s));
      if (goesOn) found.at(-1).push(n); else found.push([n]);
    }
    return found.flatMap(members => {
      if (members.length < CHAIN) return members.map(single);
      const inner = new Set(members.slice(0, -1).map(n => n.out));
      return [{ id: members[0].id, members, ins: [...new Set(members.flatMap(n => n.ins).filter(s => !inner.has(s)))], out: members.at(-1).out, inner }];
    });
  };
  gen.items = chains(true);
  if (gen.items.length > MOST_NODES) gen.items = chains(false);
}

/** What a box is called: an operation, or a folded chain of them: "40 × add"; "160 × 5 operations" of a loop; "9 operations". */
function titleOf(members) {
  const n = members.length, keys = members.map(m => `${m.op} ${m.line}`), isAt = (p, i) => keys[i] === keys[i % p];
  if (n === 1 || new Set(members.map(m => m.op)).size === 1) return n === 1 ? members[0].op : `${n} × ${members[0].op}`;
  for (let p = 2; p <= n / 2; p++) {
    let same = p;
    while (same < n && isAt(p, same)) same += 1;
    const passes = Math.floor(same / p), rest = n - passes * p;
    if (passes > 1 && rest <= p) return `${passes} × ${p}${rest ? ` + ${rest}` : ''} operations`;
  }
  return `${n} operations`;
}
const STACK = 6;                                     // a folded chain shows the edges of the boxes behind it

/** Columns and lanes of a generation; independent of width. Even columns hold states, odd ones operations. */
function placeItems(gen) {
  if (gen.placed) return gen.placed;
  const { items } = gen, col = new Map(), lane = new Map(), used = new Set();
  const colOf = id => col.get(id) ?? 0, made = new Set(items.map(i => i.out));
  for (let round = 0, moved = true; moved && round <= items.length; round++) {
    moved = false;
    for (const it of items) {
      const c = 1 + Math.max(0, ...it.ins.map(colOf));
      if (c > (col.get(it) ?? 0)) { col.set(it, c); moved = true; }
      if (col.get(it) + 1 > colOf(it.out)) { col.set(it.out, col.get(it) + 1); moved = true; }
    }
  }
  const hidden = new Set(items.flatMap(it => [...(it.inner ?? [])]));
  // states that no operation of this generation touches are left out, unless there is nothing else to show
  const read = new Set(items.flatMap(it => it.ins)), roots = [...gen.states.keys()].filter(id => !made.has(id) && !hidden.has(id) && (read.has(id) || !items.length));
  for (const id of roots) {                            // a leaf stands next to the first operation that reads it
    const users = items.filter(it => it.ins.includes(id)).map(it => col.get(it));
    col.set(id, users.length ? Math.min(...users) - 1 : 0);
  }
  const free = (c, l) => !used.has(`${c} ${l}`), take = (it, c, l) => { used.add(`${c} ${l}`); lane.set(it, l); };
  const lowest = (c, from, ok = () => true) => { let l = from; while (!free(c, l) || !ok(l)) l += 1; return l; };
  for (const it of items) {
    const c = col.get(it), open = it.ins.filter(id => roots.includes(id) && !lane.has(id));
    const main = it.ins.find(id => !open.includes(id)) ?? open.shift();
    const isClear = l => free(c, l) && free(col.get(it.out), l);
    if (main !== undefined && !lane.has(main)) take(main, col.get(main), lowest(col.get(main), 0, isClear));
    const start = main === undefined ? 0 : lane.get(main);
    const straight = Array.from({ length: Math.max(0, c - colOf(main) - 1) }, (_, i) => colOf(main) + 1 + i).every(x => free(x, start));
    const l = straight && isClear(start) ? start : lowest(c, 0, isClear);
    take(it, c, l);
    if (!lane.has(it.out)) take(it.out, col.get(it.out), l);
    for (const id of open) if (!lane.has(id)) take(id, col.get(id), lowest(col.get(id), l));
  }
  for (const id of roots) {                            // written without being recorded: right of the group's state before it
    if (lane.has(id)) continue;
    const states = [...gen.groups.values()].map(fam => fam.states).find(x => x.includes(id)) ?? [], before = states[states.indexOf(id) - 1];
    if (before !== undefined && lane.has(before)) col.set(id, col.get(before) + 2);
    take(id, colOf(id), lowest(colOf(id), before !== undefined && lane.has(before) ? lane.get(before) : 0));
  }
  return gen.placed = { col, lane, roots, last: Math.max(0, ...[...col.values()]) };
}

function drawHistory(plan, f, v, W) {
  const { list, at } = generationsOf(plan, v), gen = list[at[f.step]], frames = plan.runs[v], [a, b] = windowOf(frames, f.step);
  const inWindow = Array.from({ length: b - a + 1 }, (_, i) => a + i).filter(k => at[k] === at[f.step]).map(k => frames[k]), last = inWindow.at(-1);
  if (!last.states.size || !gen.states.size) return { svg: '', height: 0 };
  const layout = layHistory(gen, W, {
    isThere: key => key.members ? membersOf(key, last).length > 0 : stateFor({ key }, last, gen) !== undefined,
    who: new Set([...gen.who].filter(id => inWindow.some(x => x.states.has(id) && whoText(x, x.states.get(id))))),
    grads: [...gen.grads.keys()].some(id => last.states.get(id)?.grad !== undefined),
    groups: [...last.groups.values()],
  });
  const head0 = 30, labelX = widthOf('history', { bold: true }) + 10;
  const flight = f.flight ? `gradients in flight: ${bytesText(f.flight)}` : '', flightW = widthOf(flight, { size: 12 });
  let out = P(`M0 0.5H${W}`, stroke('rule', 1)) + T(0, 22, 'history', { bold: true });
  const words = 'memory states, and the operations between them';
  if (labelX + widthOf(words, { size: 12 }) + flightW + 12 < W) out += T(labelX, 22, words, { size: 12, color: 'muted' });
  if (flight) out += T(W, 22, flight, { size: 12, anchor: 'end' });
  let y = head0;
  for (const band of layout) { out += `<g transform="translate(0 ${px(y)})">${drawBand(gen, band, f, W)}</g>`; y += band.height + 16; }
  return { svg: out, height: y - 20 };
}

/** The operations of an item that exist in this frame, and the state the last of them made. */
const membersOf = (it, f) => it.members.map(n => f.nodes.get(n.id)).filter(Boolean);
const stateFor = (p, f, gen) => {
  const it = gen.items.find(i => i.out === p.key && i.members.length > 1), done = it && membersOf(it, f).at(-1);
  return f.states.get(done ? done.out : p.key);
};

/** What is written at the foot of a group's frame, and where: the longest text that no line runs through and no box stands in. */
function groupLabel(fam, band, x1, right, top, bottom, W) {
  const inside = p => p.y + BOX_H / 2 > top && p.y - BOX_H / 2 < bottom, beside = band.spots.filter(p => inside(p) && p.x - p.w / 2 > right - 7).map(p => p.x - p.w / 2 - 6);
  const lines = band.edges.flatMap(e => { const at = pointsOf(e, band); return at.slice(1).map(([x, y], i) => [x, at[i][0], y, at[i][1]]); });
  const crossing = lines.filter(([, , a, b]) => Math.min(a, b) < bottom - 2 && Math.max(a, b) > bottom - 20).map(([a, b]) => [Math.min(a, b) - 5, Math.max(a, b) + 5]);
  const most = Math.min(W - 0.5, ...beside) - 8;
  for (const text of [`one history for ${andList(fam.names)}`, `one history: ${fam.names.join(', ')}`, 'one history']) {
    const w = widthOf(text, { size: 12 }), x = [x1 + 10, ...crossing.map(c => c[1])].sort((a, b) => a - b).find(x => x >= x1 + 10 && x + w <= most && !crossing.some(([a, b]) => a < x + w && x < b));
    if (x !== undefined) return [text, x];
  }
  return ['', x1];
}

function drawBand(gen, band, f, W) {
  let out = '';
  for (const fam of f.groups.values()) {
    const mine = fam.states.map(s => band.at.get(s)).filter(p => p && f.states.has(p.key)), own = band.spots.filter(p => p.node && fam.states.includes(p.key.out) && p.key.ins.some(s => fam.states.includes(s)) && membersOf(p.key, f).length);
    const spots = [...mine.filter(p => !p.ghost), ...own];
    if (!spots.length || fam.names.length < 2) continue;
    const rows = spots.map(p => p.row), x1 = Math.max(0.5, Math.min(...spots.map(p => p.x - p.slot / 2)) - 7), right = Math.max(...spots.map(p => p.x + p.slot / 2 + 7));
    const top = Math.min(...rows.map(r => band.rowY[r])) - Math.max(BOX_H / 2 + 7, ...spots.map(p => band.grads && p.low && !p.below ? p.lift + 41 : 0));
    const bottom = Math.max(...rows.map(r => band.rowY[r])) + Math.max(BOX_H / 2, ...spots.map(p => (band.grads && p.below ? p.lift + 36 : PILL_H / 2) + (band.who.has(p.key) ? 20 : 0))) + 22;
    const [label, lx] = groupLabel(fam, band, x1, right, top, bottom, W), x2 = Math.min(W - 0.5, Math.max(right, lx + widthOf(label, { size: 12 }) + 10));
    out += R(x1, top, x2 - x1, bottom - top, `fill:${C('wash')};${stroke('line', 1, '2 3')}`, 6) + T(lx, bottom - 7, label, { size: 12, color: 'muted' });
  }
  for (const e of band.edges) {
    const node = e.out ? e.from : e.to, members = membersOf(node.key, f);
    if (!members.length) continue;
    const state = e.out ? e.to : e.from;
    if (!stateFor(state, f, gen)) continue;
    out += drawEdge(e, band, members, f);
  }
  for (const p of band.spots) {
    if (p.node) { const members = membersOf(p.key, f); if (members.length) out += drawItem(f, members, p); continue; }
    const s = stateFor(p, f, gen), makers = gen.items.filter(i => i.out === p.key);
    if (p.ghost && !band.spots.some(q => q.node && q.key.ins.includes(p.key) && membersOf(q.key, f).length)) continue;
    if (s && (!makers.length || makers.some(i => membersOf(i, f).length))) out += drawState(f, s, p, W);
  }
  return out;
}

/** Forward: a thin grey arrow. Once the gradient has passed: a heavy arrow back. */
function drawEdge(e, band, members, f) {
  const n = e.out ? members.at(-1) : members[0], passed = n.ran !== undefined && n.failed === undefined;
  const fresh = members.some(m => m.born === f.step), faded = n.dropped !== undefined && !passed;
  const token = passed || fresh ? 'ink' : faded ? 'rule' : 'line', points = pointsOf(e, band);
  const style = stroke(token, passed ? 2.5 : fresh ? 1.75 : 1.25);
  if (!passed) return P(rounded(points), style) + head(...points.at(-1), 'r', token);
  const [x, y] = points[0];
  points[0] = [x + 1, y]; points.at(-1)[0] += 1;
  return P(rounded(points), style) + head(x + 1, y, 'l', token, 6);
}

function drawItem(f, members, p) {
  const k = f.step, n = members.find(m => m.failed !== undefined) ?? members.find(m => m.ran === k) ?? members.find(m => m.born === k) ?? members.at(-1);
  const words = members.map(m => savedWords(f, m)), stale = words.filter(w => w.stale).length, failed = n.failed !== undefined;
  const running = n.ran === k, fresh = n.born === k, dropped = n.dropped !== undefined, x = p.x - p.w / 2, y = p.y - BOX_H / 2, many = members.length > 1;
  const color = failed ? 'paper' : stale ? 'red' : dropped ? 'muted' : 'ink', w = p.w - (many ? STACK : 0), max = w - 10, mid = x + w / 2;
  const edge = stale ? stroke('red', 2.25) : running ? stroke('ink', 2.25) : fresh ? stroke('ink', 1.75) : stroke('line', 1, dropped ? '3 3' : '');
  let out = R(x, y, w, BOX_H, `fill:${C(failed ? 'red' : stale ? 'redwash' : 'paper')};${edge}`, 9);
  if (many) for (const d of [STACK / 2, STACK]) out = R(x + d, y + d, w, BOX_H, `fill:${C('paper')};${stroke('line', 1)}`, 9) + out;
  const lines = [...new Set(members.map(m => m.line))], where = lines.length > 1 ? `lines ${Math.min(...lines)}–${Math.max(...lines)}` : `line ${lines[0]}`;
  const kept = words.filter(w => !w.quiet).length;
  const inWords = ({ text, short }) => (short && widthOf(text, { size: 12, bold: true }) > max ? short : text);
  const said = !many ? inWords(words[0]) : stale ? `${stale} ${words.some(w => w.unnoticed) ? 'gone' : 'will be refused'}` : kept ? `${kept} saved a tensor` : 'saved nothing';
  out += T(mid, y + 18, titleOf(members), { mono: true, bold: true, anchor: 'middle', color, max }) +
    T(mid, y + 34, many && running ? `${n.op}, ${members.indexOf(n) + 1} of ${members.length}` : where, { size: 12, anchor: 'middle', color: failed ? 'paper' : 'muted', max }) +
    P(`M${px(x + 8)} ${px(y + 41)}H${px(x + w - 8)}`, stroke(failed ? 'paper' : stale ? 'red' : 'rule', 1)) +
    T(mid, y + 55, said, { size: 12, anchor: 'middle', bold: Boolean(stale), color: failed ? 'paper' : stale ? 'red' : kept && !dropped ? 'ink' : 'muted', max });
  if (stale) out += cross(x + w, y, 4);
  if (members.some(m => f.lit?.nodes.has(m.id))) out += ring(x, y, w, BOX_H, 12);
  return standsFor({ node: members.map(m => m.id) }, fresh, out);
}

/** "a@0": filled while those numbers are in memory, hollow and struck through once they are gone. */
function drawState(f, s, p, W) {
  const k = f.step, gone = isGone(f, s), fresh = s.changed === k && !p.ghost, y = p.y - PILL_H / 2;
  const edge = fresh ? stroke('ink', 1.75, gone ? '3 3' : '') : stroke('line', 1, gone ? '3 3' : '');
  let out = R(p.x - p.w / 2, y, p.w, PILL_H, `fill:${C(gone || p.ghost ? 'paper' : 'tn')};${edge}`, 13) +
    T(p.x, p.y + 4.5, s.label, { mono: true, anchor: 'middle', strike: gone, color: gone || p.ghost ? 'muted' : 'ink', max: p.w - 12 });
  if (s.grad) {
    const gy = p.below ? p.y + p.lift + 14 : p.y - p.lift - 24;
    out += T(p.gradX, gy, 'gradient', { size: 12, color: 'muted', anchor: 'middle' }) + T(p.gradX, gy + 16, s.grad, { size: 12, mono: true, bold: s.gradAt === k, anchor: 'middle', max: p.gradMax });
  }
  const who = p.ghost ? '' : whoText(f, s);
  if (who) out += T(p.x, p.y + (p.below ? p.lift + 50 : PILL_H / 2 + 17), who, { size: 12, color: 'muted', anchor: 'middle', max: Math.min(Math.max(p.w + 26, 60), 2 * p.x, 2 * (W - p.x)) });
  return fade(fresh && s.born === k, out);
}
