/* The picture of memory: names -> tensors -> storages, left to right; on a narrow picture each storage stands above its tensors. */

const CELL_H = 34, TRACK = 13, PAD = 7, CAPTION = 26, INDEX_H = 15, MOST_ROWS = 10, FOLD_H = 40;
/* Of a tensor whose elements have another size than the cells, its own count is told; tracks show cells. */
const FIELDS = { shape: t => list((t.elements ?? t).shape), strides: t => list((t.elements ?? t).strides), offset: t => String((t.elements ?? t).offset) };

/** Columns and sizes for a width, from the widest texts that will ever be shown. */
function columnsOf(plan, W) {
  return entry(plan.columns ??= new Map(), W, () => layColumns(plan, W));
}

const unequal = (a, b, narrow) => (sign => narrow ? `${a}${sign}${b}` : `${a} ${sign} ${b}`)(a === b ? '=' : '≠');

/** Room at the right margin of a narrow picture for the arrows of so many tensors. */
const arrowsFor = lanes => Math.min(48, 8 + 7 * lanes);

/** The most tracks that ever stand at one storage. */
const tracksMost = plan => Math.max(1, ...plan.runs.flatMap((_, v) => [...plan.groups.values()].flatMap(g => [...g.rows.values()].map(r => (placesOf(plan, v).get(r) ?? 0) + 1))));

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
  const captions = [...plan.groups.values()].flatMap(g => [...g.captions]), trayMin = Math.min(Math.max(220, narrow ? Math.min(260, W * .72) : Math.min(300, W * .36)), Math.max(150, ...captions.map(s => widthOf(s, { bold: true }) + 8)));
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
  const label = key => widthOf(key, { size: 12 }) + 5, boxMost = narrow ? W - box - arrowsFor(tracksMost(plan)) - 4 : most, x1 = narrow ? 17 : 22, air = narrow ? 8 : 14;
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

/** A group that tells a script what it stands for: data-storage, data-tensor, data-saved, data-node; of several, ids in a row. */
const standsFor = (who, fresh, svg) => `<g${Object.entries(who).map(([key, ids]) => ` data-${key}="${esc([].concat(ids).join(' '))}"`).join('')}${fresh ? ' class="new"' : ''}>${svg}</g>`;

/** Marks what refers to the bytes asked for. */
const ring = (x, y, w, h, round = 6, air = 2) => R(x - air, y - air, w + 2 * air, h + 2 * air, `fill:none;${stroke('focus', 3)}`, round);

const WORD = /[\p{L}_][\p{L}\p{N}_]*/gu;

/** The storages that are there in a frame, each with its rows; what is freed is there once more, at the step that frees it, and of what came and
    went within one step the caption alone. */
function standing(plan, f, v) {
  const shown = it => it.freed === undefined || it.freed === f.step, places = placesOf(plan, v), found = [];
  for (const [id, rows] of rowsAt(f)) {
    const st = f.storages.get(id), g = plan.groups.get(id);
    if (!shown(st) || (st.born === st.freed && st.freed < f.step)) continue;
    const mine = [...rows.values()].filter(r => shown(r.t)).map(r => ({ ...r, place: places.get(g.rows.get(r.key)), order: r.saves.length ? ['node'] : r.names.map(n => n.name) }));
    found.push({ g, st, rows: mine, place: places.get(g), length: st.born === st.freed ? 0 : st.length });
  }
  return found;
}

/** All rows that stand at a storage in the steps that share a layout, each with its first line. */
function roomFor(found) {
  const groups = new Map();
  for (const { g, rows, place, length } of found) {
    const all = entry(groups, g.id, () => ({ g, place, length: 0, rows: new Map() }));
    all.length = Math.max(all.length, length);
    for (const { key, t, place, order } of rows) {
      const row = entry(all.rows, key, () => ({ key, place, looks: new Map(), order: [] }));
      row.looks.set(`${t.shape}|${t.strides}|${t.offset}`, t);
      row.order.push(...order.filter(name => !row.order.includes(name)));
    }
  }
  for (const all of groups.values()) {
    const rows = [...all.rows.values()], places = [...new Set(rows.map(r => r.place))].sort((a, b) => a - b);
    all.lines = 0;
    for (const place of places) {
      const mine = rows.filter(r => r.place === place);
      for (const r of mine) r.line = all.lines;
      all.lines += Math.max(1, ...mine.map(r => r.order.length));
    }
  }
  return [...groups.values()].sort((a, b) => a.place - b.place);
}

/** What to draw of memory in a frame, in places [{ st, rows, m, height }]: as high as whatever stands there while the layout stays. What was not
    touched lately is folded where it is too much for `room` px, or for anybody. */
function placesAt(plan, f, v, c, W, unfold, room) {
  const frames = plan.runs[v], [a, b] = windowOf(frames, f.step), here = standing(plan, f, v);
  const around = a === b ? roomFor(here) : entry(plan.windows ??= new Map(), `${v} ${a}`, () => roomFor(frames.slice(a, b + 1).flatMap(x => standing(plan, x, v))));
  const lay = kept => [...new Set(kept.map(x => x.place))].map(place => {
    const mine = kept.filter(x => x.place === place), now = here.find(x => x.place === place), all = mine.find(x => x.g === now?.g);
    const m = all && measureGroup(all, c, W), rows = all && now.rows.map(r => { const { line, order } = all.rows.get(r.key); return { ...r, line, order }; });
    return { ...now, rows, m, lines: Math.max(...mine.map(x => x.lines)), height: Math.max(...mine.map(x => measureGroup(x, c, W).height)) };
  });
  const sum = (list, of) => list.reduce((n, x) => n + of(x), 0), fits = (list, less) => sum(list, x => Math.max(1, x.lines)) <= MOST_ROWS && sum(list, x => x.height) <= room - less;
  const whole = lay(around), now = lay(roomFor(here));
  for (const list of unfold ? [whole] : [whole, now]) if (unfold || fits(list, 0)) return { list, folded: [] };
  const words = new Set(plan.codes[v].slice(f.line - 1, f.end).flatMap(text => text.match(WORD) ?? []));
  // what this step touched, or a question is about, is always shown; then what its line names, then the latest, as they fit
  const touchedAt = ({ st, rows }) => {
    if (st.id === f.lit?.storage || rows.some(r => isStale(r.t))) return f.step;
    const isMeant = rows.some(r => r.names.some(n => words.has(n.name.match(WORD)?.[0])));
    return Math.max(st.changed, isMeant ? f.step - .5 : -1, ...rows.flatMap(r => [r.t.changed, ...r.names.map(n => n.changed)]));
  };
  const latest = now.map(x => [touchedAt(x), x]).sort((x, y) => y[0] - x[0]), open = new Set();
  for (const [at, x] of latest) if (at === f.step || fits([...open, x], FOLD_H)) open.add(x);
  return { list: now.filter(x => open.has(x)), folded: now.filter(x => !open.has(x)) };
}

function drawMemory(plan, f, v, W, uid, unfold, room) {
  const c = columnsOf(plan, W), defs = new Map(), { list: shown, folded } = placesAt(plan, f, v, c, W, unfold, room - c.top);
  let y = c.top, out = '';
  if (!c.narrow) {
    out += T(0, 12, 'names', { bold: true }) + T(c.box, 12, 'tensors', { bold: true }) + T(c.st - 10, 12, 'storages', { bold: true });
    for (const col of c.columns ?? []) out += T(c.box + col.x, 34, col.key, { size: 12, color: 'muted' });
  }
  for (const place of shown) {
    if (place.st) out += drawGroup(plan, f, place, c, y, W, uid, defs);
    y += place.height;
  }
  if (folded.length) {
    const bytes = folded.reduce((sum, x) => sum + x.st.bytes, 0);
    const names = folded.flatMap(x => x.rows.flatMap(r => r.names.map(n => n.name))), text = `${folded.length} more ${folded.length === 1 ? 'storage' : 'storages'}, ${bytesText(bytes)}, not touched lately${names.length ? `: ${names.join(', ')}` : ''}`;
    out += R(0.5, y, W - 1, 30, `fill:none;${stroke('rule', 1, '2 3')}`, 4) + T(12, y + 19.5, text, { color: 'muted', max: W - 24 });
    y += FOLD_H;
  }
  else if (shown.length) y -= gapOf(c);
  return { svg: out, height: y, defs: [...defs.values()].join(''), folded: folded.length };
}

/** Between two storages. */
const gapOf = c => c.narrow ? 20 : 14;

/** Height of a group: cells, tracks and caption against rows of tensors. Needs no drawing, so that all steps can be measured. */
function measureGroup({ g, rows: all, lines, length }, c, W) {
  const rows = [...all.values()];
  // rows that share a line (never there at once) share a lane of tracks
  const lanes = [...new Set(rows.map(r => r.line))].sort((a, b) => a - b), rank = new Map(lanes.map((line, i) => [line, i]));
  const arrows = c.narrow ? arrowsFor(lanes.length) : 0;
  const cells = cellsOf(g, Math.floor(c.narrow ? W - 24 - arrows : W - c.st - 12), length);
  const reach = new Map(lanes.map(line => [line, new Set()])), counted = new Set();
  for (const r of rows) for (const t of r.looks.values()) {
    for (const p of piecesOf(cells, t)) reach.get(r.line).add(p.line);
    if (t.shape.includes(0)) reach.get(r.line).add(0);
    else if (runsText(t)) counted.add(r.line);        // what is said of its runs stands under its track
  }
  const lineTop = [], indexH = cells.indexed ? INDEX_H : 0, laneOf = new Map(lanes.map(line => [line, []]));
  let y = PAD;
  for (let l = 0; l < (length || rows.length ? cells.lines : 0); l++) {
    lineTop.push(y + indexH);
    const mine = lanes.filter(line => reach.get(line).has(l));
    if (c.narrow) mine.reverse();                     // so that no arrow crosses another
    y += indexH + CELL_H + 5;
    for (const line of mine) { laneOf.get(line)[l] = y; y += TRACK + (counted.has(line) ? 15 : 0); }
    y += (mine.length || cells.lines > 1 ? 0 : TRACK) - 5 + (l + 1 < cells.lines ? 8 : 0);
  }
  const bottom = y + CAPTION, firstTrack = (lineTop[0] ?? 0) + CELL_H + 9;
  const rowsTop = c.narrow ? bottom + 8 : Math.max(0, firstTrack - c.rowH / 2);
  const height = Math.max(bottom, rowsTop + (rows.length ? lines * c.rowH - 6 : 0)) + gapOf(c);
  const arrowX = line => W - arrows + 6 + (arrows - 8) / Math.max(1, lanes.length) * rank.get(line);
  return { cells, lineTop, laneOf, bottom, rowsTop, height, arrows, arrowX };
}

function drawGroup(plan, f, { st, rows, g, m }, c, top, W, uid, defs) {
  const k = f.step, trayMost = c.narrow ? W - m.arrows - 4 : W - c.st + 8;
  const trayW = Math.min(trayMost, Math.max(m.cells.width + 20, c.trayMin));
  const tray = { x: c.st - 10, y: top, w: trayW, cells: m.cells, x0: c.st };
  let out = drawTray(st, tray, m, k, plan) + drawCells(plan, f, st, rows, tray, m, uid, defs);
  if (f.lit?.storage === st.id) out += ring(tray.x, top, trayW, m.bottom, 4, -1);
  for (const row of rows) {
    const { t } = row, mid = top + m.rowsTop + row.line * c.rowH + c.rowH / 2, hue = plan.hues.get(t.id), isLit = f.lit && [t, ...row.saves].some(s => f.lit.ids.has(s.id));
    let mine = '';
    row.order.forEach((holder, j) => {
      const n = row.names.find(x => x.name === holder);
      if (row.saves.length) mine += drawCapsule(f, row, c, mid, isLit);
      else if (n) mine += fade(n.changed === k && t.changed !== k, drawName(n, c, mid + j * c.rowH, mid, j, k, isLit && (f.lit.only ?? n.name) === n.name, row.order.length > j + 1));
    });
    if (!t.saved && t.freed === undefined) defs.set(`p${hue}`, patternDef(uid, hue));
    mine += drawTensor(f, t, st, c, mid, hue, uid);
    if (t.freed === undefined) mine += drawTrack(f, row, c, mid, tray, m, hue, uid);
    if (isLit) mine += ring(c.box, mid - c.boxH / 2, c.boxW, c.boxH);
    out += standsFor(row.saves.length ? { saved: row.saves.map(s => s.id), node: [...new Set(row.saves.map(s => s.node))] } : { tensor: t.id }, t.changed === k, mine);
  }
  return standsFor({ storage: st.id }, st.born === k, out);
}
