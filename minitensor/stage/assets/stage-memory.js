/* The picture of memory: names -> tensors -> storages, left to right; on a narrow picture each storage stands above its tensors. */

const CELL_H = 34, TRACK = 13, PAD = 7, CAPTION = 26, INDEX_H = 15, MOST_ROWS = 8;
const KEPT_ROOM = { wide: 640, narrow: 520 };        // room kept for storages still to come: what follows stands still in most programs, and never far away
const FIELDS = { shape: t => list(t.shape), strides: t => list(t.strides), offset: t => String(t.offset) };

/** Columns and sizes for a width, from the widest texts that will ever be shown. */
function columnsOf(plan, W) {
  return entry(plan.columns ??= new Map(), W, () => layColumns(plan, W));
}

const unequal = (a, b, narrow) => narrow ? `${a}≠${b}` : `${a} ≠ ${b}`;

/** Room at the right margin of a narrow picture for the arrows of so many tensors. */
const arrowsFor = lanes => Math.min(48, 8 + 7 * lanes);

function layColumns(plan, W) {
  const { texts } = plan, narrow = W < 580;
  const widest = (set, font) => Math.max(0, ...[...set].map(s => widthOf(s, font)));
  const capsule = texts.op.size ? Math.max(72, widest(texts.op, { size: 12, mono: true }) + 12, widest(texts.kept, { size: 12 }) + 12) : 0;
  const nameW = Math.min(narrow ? (W < 340 ? 74 : 92) : Math.max(124, W / 5), Math.max(narrow ? 40 : 64, capsule, widest(texts.name, { size: 15, mono: true, bold: true }) + 2));
  const fields = ['shape', 'strides', 'offset', 'version'];
  if ([...texts.dtype].some(d => d !== 'float32')) fields.push('dtype');
  if ([...texts.gradient].some(g => g !== 'no')) fields.push('gradient');
  const versions = Math.max(0, ...[...texts.version].map(s => s.length));
  const room = { shape: texts.shape, strides: texts.strides, offset: texts.offset, version: [texts.op.size ? unequal('0'.repeat(versions), '0'.repeat(versions), narrow) : '0'.repeat(versions)], dtype: texts.dtype, gradient: texts.gradient };
  const valueW = (key, size) => Math.min(170, widest(room[key], { size, mono: true, bold: true }));

  // every tray is at least as wide as the longest caption; beyond that the cells decide
  const captions = [...plan.groups.values()].flatMap(g => [...g.captions]), trayMin = Math.min(Math.max(220, Math.min(300, W * .36)), Math.max(150, ...captions.map(s => widthOf(s, { bold: true }) + 8)));
  const box = nameW + (narrow ? 22 : 30), most = narrow ? 0 : W - box - 46 - Math.max(232, trayMin);
  const trayWish = Math.max(trayMin, ...[...plan.groups.values()].map(g => Math.min(g.length, 12) * CELL_MAX + 20));
  const columns = fields.map(key => ({ key, w: Math.max(widthOf(key, { size: 12 }), valueW(key, 13)) + 14 }));
  const oneLine = 22 + columns.reduce((sum, c) => sum + c.w, 0) - 6;
  if (!narrow && oneLine <= most) {
    const air = Math.max(0, Math.min(16, (W - box - 46 - oneLine - trayWish) / columns.length)), boxW = oneLine + air * columns.length;
    let x = 22;
    for (const c of columns) { c.x = x; x += c.w + air; }
    return { narrow, box, nameW, boxW, boxH: 30, rowH: 40, columns, st: box + boxW + 46, top: 44, trayMin };
  }
  // several lines in the box: pairs side by side where they fit, one below the other where not
  const label = key => widthOf(key, { size: 12 }) + 5, boxMost = narrow ? W - box - arrowsFor(Math.max(...[...plan.groups.values()].map(g => g.lines))) - 4 : most, x1 = narrow ? 17 : 22, air = narrow ? 8 : 14;
  const rest = fields.slice(4), pairs = [['shape', 'offset'], ['strides', 'version'], ...(rest.length ? [rest] : [])];
  const left = Math.max(...pairs.map(p => label(p[0]) + valueW(p[0], 12))), right = Math.max(...pairs.filter(p => p[1]).map(p => label(p[1]) + valueW(p[1], 12)));
  // the first arrangement that fits: two columns; two where both are short; one
  const pairW = rows => Math.max(0, ...rows.filter(p => p[1]).map(p => label(p[0]) + Math.min(80, valueW(p[0], 12)))) + air;
  const arrangements = [pairs, [['shape'], ['strides'], ['offset', 'version'], ...(rest.length ? [rest] : [])]];
  const split = x1 + left + air, sideBySide = split + right + 6 <= boxMost, short = x1 + pairW(arrangements[1]);
  const rows = sideBySide ? arrangements[0] : short + right + 6 <= boxMost ? arrangements[1] : fields.map(key => [key]);
  const boxW = narrow ? boxMost : sideBySide ? split + right + 6 : most;
  const boxH = 8 + 16 * rows.length;
  return { narrow, box, nameW, boxW, boxH, rowH: boxH + (narrow ? 8 : 10), pairs: rows, split: sideBySide ? split : short, x1, st: narrow ? 10 : box + boxW + 46, top: narrow ? 0 : 24, trayMin };
}

/** What stands at a storage in this frame: rows of one tensor (or of equal saved tensors) and its holders. */
function rowsAt(f) {
  const groups = new Map([...f.storages.keys()].map(id => [id, new Map()]));
  const rows = new Map();
  for (const t of f.tensors.values()) {
    const group = groups.get(t.storage), key = rowKey(t);
    if (!group || isFleeting(t)) continue;
    const row = entry(group, key, () => ({ key, t, saves: [], names: [] }));
    if (t.saved && t.freed === undefined) { row.saves.push(t); row.t = t; }
    rows.set(t.id, row);
  }
  for (const n of f.names.values()) rows.get(n.tensor)?.names.push(n);
  return groups;
}

/** A storage with all rows it will ever have; of rows that share a line, the one that is there. */
function fixedGroup(g, here, v) {
  const rows = [...g.rows.values()].map(r => ({ ...here?.get(r.key), key: r.key, line: r.line, looks: r.looks, order: r.holders[v] ?? [] }));
  const shown = rows.filter(r => !r.t || r.t.freed === undefined || !rows.some(o => o !== r && o.t && o.t.born > r.t.born && o.line < r.line + Math.max(1, r.order.length) && r.line < o.line + Math.max(1, o.order.length)));
  return { g, rows: shown, lines: g.lines };
}

/** A group that tells a script what it stands for: data-storage, data-tensor, data-saved, data-node; of several, ids in a row. */
const standsFor = (who, fresh, svg) => `<g${Object.entries(who).map(([key, ids]) => ` data-${key}="${esc([].concat(ids).join(' '))}"`).join('')}${fresh ? ' class="new"' : ''}>${svg}</g>`;

/** Marks what refers to the bytes asked for. */
const ring = (x, y, w, h, round = 6, air = 2) => R(x - air, y - air, w + 2 * air, h + 2 * air, `fill:none;${stroke('focus', 3)}`, round);

const WORD = /[\p{L}_][\p{L}\p{N}_]*/gu;

/** The storages to draw in this frame, each with its rows and the number of lines they take. */
function groupsAt(plan, f, v, unfold) {
  const here = rowsAt(f), groups = [];
  if (plan.fixed) {
    for (const slot of plan.slots) {
      const g = slot.filter(x => f.storages.has(x.id)).sort((x, y) => f.storages.get(y.id).born - f.storages.get(x.id).born)[0] ?? slot[0];
      groups.push({ ...fixedGroup(g, here.get(g.id), v), st: f.storages.get(g.id), slot });
    }
    return { groups, folded: [] };
  }
  const shown = it => it.freed === undefined || it.freed === f.step;
  const words = new Set(plan.codes[v].slice(f.line - 1, f.end).flatMap(text => text.match(WORD) ?? []));   // what the line speaks of folds last
  for (const [id, rows] of here) {
    const st = f.storages.get(id);
    if (!shown(st)) continue;
    let lines = 0;
    const kept = [...rows.values()].filter(r => shown(r.t)).map(r => {
      const row = { ...r, line: lines, looks: new Map([['', r.t]]), order: r.t.saved ? ['node'] : r.names.map(n => n.name) };
      lines += Math.max(1, row.order.length);
      return row;
    });
    const stale = kept.some(r => isStale(r.t));
    const touched = Math.max(st.changed, ...kept.flatMap(r => [r.t.changed, ...r.names.map(n => n.changed)]));
    const isMeant = kept.some(r => r.names.some(n => words.has(n.name.match(WORD)?.[0])));
    groups.push({ g: plan.groups.get(id), st, rows: kept, lines: Math.max(1, lines), touched: stale ? f.step : Math.max(touched, isMeant ? f.step - .5 : -1) });
  }
  if (unfold || groups.reduce((n, x) => n + x.lines, 0) <= MOST_ROWS) return { groups, folded: [] };
  let room = MOST_ROWS;                               // what this step touched, or a question is about, is always shown; then what its line names, then the latest, as they fit
  const open = new Set(groups.filter(x => x.touched === f.step || x.st.id === f.lit?.storage));
  for (const x of open) room -= x.lines;
  for (const x of [...groups].sort((a, b) => b.touched - a.touched)) if (!open.has(x) && x.lines <= room) { open.add(x); room -= x.lines; }
  return { groups: groups.filter(x => open.has(x)), folded: groups.filter(x => !open.has(x)) };
}

function drawMemory(plan, f, v, W, uid, unfold) {
  const c = columnsOf(plan, W), defs = new Map(), { groups, folded } = groupsAt(plan, f, v, unfold);
  let y = c.top, out = '';
  if (!c.narrow) {
    out += T(0, 12, 'names', { bold: true }) + T(c.box, 12, 'tensors', { bold: true }) + T(c.st - 10, 12, 'storages', { bold: true });
    for (const col of c.columns ?? []) out += T(c.box + col.x, 34, col.key, { size: 12, color: 'muted' });
  }
  const here = groups.findLastIndex(x => x.st), kept = KEPT_ROOM[c.narrow ? 'narrow' : 'wide'];
  let height = y;
  groups.forEach((group, i) => {
    out += drawGroup(plan, f, group, c, y, W, uid, defs);
    y += slotHeight(group, c, W);
    if (i <= here || y <= kept) height = y;
  });
  y = plan.fixed ? height : Math.max(y, kept - (folded.length ? 44 : 0));
  if (folded.length) {
    const bytes = folded.reduce((sum, x) => sum + x.st.bytes, 0);
    const named = x => x.rows.flatMap(r => r.names.map(n => n.name)), names = folded.flatMap(named), others = folded.filter(x => !named(x).length).length;
    if (names.length && others) names.push(`${others} without a name`);
    const what = `${folded.length} more ${folded.length === 1 ? 'storage' : 'storages'}, ${bytesText(bytes)}, not touched lately`;
    const tell = n => !n ? what : `${what}: ${names.slice(0, n).join(', ')}${n < names.length ? ` and ${names.length - n} more` : ''}`;
    let told = names.length;
    while (told && widthOf(tell(told)) > W - 24) told -= 1;
    const text = tell(told);
    out += R(0.5, y, W - 1, 30, `fill:none;${stroke('rule', 1, '2 3')}`, 4) + T(12, y + 19.5, text, { color: 'muted', max: W - 24 });
    y += 44;
  }
  return { svg: out, height: y, defs: [...defs.values()].join(''), folded: folded.length };
}

/** Height of a group: cells, tracks and caption against rows of tensors. Needs no drawing, so that all steps can be measured. */
function measureGroup({ g, rows, lines, st }, c, W) {
  // rows that share a line (never there at once) share a lane of tracks
  const lanes = [...new Set(rows.map(r => r.line))].sort((a, b) => a - b), rank = new Map(lanes.map((line, i) => [line, i]));
  const arrows = c.narrow ? arrowsFor(lanes.length) : 0;
  const cells = cellsOf(g, Math.floor(c.narrow ? W - 24 - arrows : W - c.st - 12), st?.length ?? g.length);   // another variant's storage may be longer
  const reach = new Map(lanes.map(line => [line, new Set()])), counted = new Set();
  for (const r of rows) for (const t of r.looks.values()) {
    for (const p of piecesOf(cells, t)) reach.get(r.line).add(p.line);
    if (t.shape.includes(0)) reach.get(r.line).add(0);
    else if (runsText(t)) counted.add(r.line);        // what is said of its runs stands under its track
  }
  const lineTop = [], indexH = cells.indexed ? INDEX_H : 0, laneOf = new Map(lanes.map(line => [line, []]));
  let y = PAD;
  for (let l = 0; l < Math.max(1, cells.lines); l++) {
    lineTop.push(y + indexH);
    const mine = lanes.filter(line => reach.get(line).has(l));
    if (c.narrow) mine.reverse();                     // so that no arrow crosses another
    y += indexH + CELL_H + 5;
    for (const line of mine) { laneOf.get(line)[l] = y; y += TRACK + (counted.has(line) ? 15 : 0); }
    y += (mine.length || cells.lines > 1 ? 0 : TRACK) - 5 + (l + 1 < cells.lines ? 8 : 0);
  }
  const bottom = y + CAPTION, firstTrack = lineTop[0] + CELL_H + 9;
  const rowsTop = c.narrow ? bottom + 8 : Math.max(0, firstTrack - c.rowH / 2);
  const height = Math.max(bottom, rowsTop + (rows.length ? lines * c.rowH : 0)) + (c.narrow ? 20 : 14);
  const arrowX = line => W - arrows + 6 + (arrows - 8) / Math.max(1, lanes.length) * rank.get(line);
  return { cells, lineTop, laneOf, bottom, rowsTop, height, arrows, arrowX };
}

/** In a fixed picture a place is as high as the tallest storage that will ever stand there. */
const slotHeight = (group, c, W) => Math.max(...(group.slot?.map(g => fixedGroup(g, null, 0)) ?? [group]).map(x => measureGroup(x, c, W).height));

function drawGroup(plan, f, group, c, top, W, uid, defs) {
  const { st, rows, g } = group, m = measureGroup(group, c, W);
  if (!st || (st.born === st.freed && st.freed < f.step)) return '';
  const k = f.step, trayMost = c.narrow ? W - m.arrows - 4 : W - c.st + 8;
  const trayW = Math.min(trayMost, Math.max(m.cells.width + 20, c.trayMin));
  const tray = { x: c.st - 10, y: top, w: trayW, cells: m.cells, x0: c.st };
  let out = drawTray(st, tray, m, k, plan) + drawCells(plan, f, st, rows, tray, m, uid, defs);
  if (f.lit?.storage === st.id) out += ring(tray.x, top, trayW, m.bottom, 4, -1);
  for (const row of rows) {
    if (!row.t || (row.t.saved && row.t.freed < k)) continue;
    const { t } = row, mid = top + m.rowsTop + row.line * c.rowH + c.rowH / 2, hue = plan.hues.get(t.id), isLit = f.lit && [t, ...row.saves].some(s => f.lit.ids.has(s.id));
    let mine = '';
    row.order.forEach((holder, j) => {
      const n = row.names.find(x => x.name === holder);
      if (row.saves.length) mine += drawCapsule(f, row, c, mid, isLit);
      else if (n) mine += fade(n.changed === k && t.changed !== k, drawName(n, c, mid + j * c.rowH, mid, j, k, isLit, row.order.length > j + 1));
    });
    if (!t.saved && t.freed === undefined) defs.set(`p${hue}`, patternDef(uid, hue));
    mine += drawTensor(f, t, st, c, mid, hue, uid);
    if (t.freed === undefined) mine += drawTrack(f, row, c, mid, tray, m, hue, uid);
    if (isLit) mine += ring(c.box, mid - c.boxH / 2, c.boxW, c.boxH);
    out += standsFor(row.saves.length ? { saved: row.saves.map(s => s.id), node: [...new Set(row.saves.map(s => s.node))] } : { tensor: t.id }, t.changed === k, mine);
  }
  return standsFor({ storage: st.id }, st.born === k, out);
}
