/* What stands in a group of the picture of memory: tray and cells of a storage, names, capsules, tensors and their tracks. */

/** The tray: ground and caption of a storage. */
function drawTray(st, { x, y, w }, { bottom }, k, plan) {
  const freed = st.freed !== undefined, fresh = st.born === k, [name, size, state] = captionOf(st, k, plan);
  const ground = freed ? `fill:none;${stroke('line', 1, '3 3')}` : `fill:${C('wash')};${stroke(fresh ? 'ink' : 'rule', fresh ? 1.75 : 1)}`;
  const loud = st.wrote?.at === k || st.freed === k, capY = y + bottom - 8;
  const stateW = Math.min(w - 40, widthOf(state, { bold: loud })), nameMost = w - 20 - stateW - 12;
  const nameW = Math.min(nameMost, widthOf(name, { bold: true })), left = nameMost - nameW - 10;
  let said = size;
  while (widthOf(said) > left && said.includes(', ')) said = said.slice(0, said.lastIndexOf(', '));
  return R(x, y, w, bottom, ground, 4) +
    T(x + 10, capY, name, { bold: true, color: freed ? 'muted' : 'ink', max: nameMost }) +
    (left > 24 && !freed ? T(x + 10 + nameW + 10, capY, said, { color: 'muted', max: left }) : '') +
    T(x + w - 10, capY, state, { bold: loud, color: loud ? 'ink' : 'muted', anchor: 'end', max: w - 40 });
}

function drawCells(plan, f, st, rows, { x0, y, cells }, m, uid, defs) {
  const k = f.step, freed = st.freed !== undefined, wrote = st.wrote?.at === k ? st.wrote : null;
  const aliases = rows.map(r => r.t).filter(t => t && !t.saved && t.freed === undefined && t.storage === st.id);
  const meets = (ranges, s) => ranges.some(([lo, hi]) => lo <= s.to && hi >= s.from);
  // 2: written, 1: some of the cells that a gap stands for were, 0: not
  const written = s => !wrote ? 0 : s.to === s.from ? s.from in wrote.old || meets(wrote.ranges, s) ? 2 : 0
    : wrote.ranges.some(([lo, hi]) => lo <= s.from && hi >= s.to) ? 2 : meets(wrote.ranges, s) || meets(wrote.loose, s) ? 1 : 0;
  let out = '', marks = '';
  cells.slots.forEach(s => {
    const x = x0 + s.x, top = y + m.lineTop[s.line], mid = x + s.w / 2, gap = s.to > s.from, most = s.w - 3;
    const hues = aliases.filter(t => overlap(t, { shape: [s.to - s.from + 1], strides: [1], offset: s.from })).map(t => plan.hues.get(t.id));
    let fill = C('paper');
    if (freed) fill = 'none';
    else if (hues.length === 1) fill = C(`t${colorOf(hues[0])}`);
    else if (hues.length > 1) { const id = `s${hues.join('-')}`; defs.set(id, stripesDef(uid, hues)); fill = `url(#${uid}${id})`; }
    else if (st.label) fill = C('tn');
    out += R(x, top, s.w, CELL_H, `fill:${fill};${stroke('line', 1, freed ? '3 3' : '')}`);
    const now = st.values[s.from] ?? '·', before = wrote && !gap && written(s) ? wrote.old[s.from] : undefined;
    const plate = shown => {                           // keeps stripes from running through the digits
      if (hues.length < 2 || freed) return '';
      const w = Math.min(s.w - 4, Math.max(...shown.map(z => widthOf(z, { size: 15, mono: true, bold: true }))) + 6), tall = shown.length > 1;
      return R(mid - w / 2, top + (tall ? 2.5 : 8), w, tall ? 29 : 18, `fill:${C('paper')}`, 2);
    };
    const say = (dy, text, font) => T(mid, top + dy, text, { mono: true, anchor: 'middle', max: most, ...font });
    if (gap) {
      const n = countText(s.to - s.from + 1);
      out += plate(['···', n]) + T(mid, top + 13, '···', { size: 12, anchor: 'middle' }) + T(mid, top + 28, n, { size: 12, anchor: 'middle', bold: written(s), max: most });
    } else if (freed) { if (st.freed === k) out += say(22, now, { size: 14, color: 'muted', strike: true }); }
    else if (before !== undefined && before !== '') out += plate([before, now]) + say(13, before, { size: 12, strike: true }) + say(29, now, { size: 15, bold: true });
    else out += plate([now]) + say(22, now, { size: 14, bold: wrote && written(s) });
  });
  if (cells.indexed) out += indexLabels(cells, x0, y + m.lineTop[0] - 4);
  let run = null;                                      // one heavy frame around each run of written cells
  const close = () => { if (run) marks += R(run.x1, y + m.lineTop[run.line], run.x2 - run.x1, CELL_H, `fill:none;${stroke('ink', 3, run.how === 1 ? '5 3' : '')}`); run = null; };
  for (const s of cells.slots) {
    const how = freed ? 0 : written(s);
    if (!how) { close(); continue; }
    if (run?.line === s.line && run.how === how) run.x2 = x0 + s.x + s.w; else { close(); run = { line: s.line, how, x1: x0 + s.x, x2: x0 + s.x + s.w }; }
  }
  close();
  return out + marks;
}

/** The indexes of the cells that are drawn, as many as fit. */
function indexLabels({ slots, width }, x0, y) {
  let end = -10, out = '';
  const label = (s, from, to) => { out += T(x0 + from, y, s.from, { size: 12, color: 'muted' }); end = to; };
  const last = slots.findLast(s => s.to === s.from), w = s => widthOf(s.from, { size: 12 }), lastFrom = width + 8 - w(last);
  for (const s of slots) {
    if (s.to > s.from) continue;
    const from = Math.max(-8, Math.min(s.x + s.w / 2 - w(s) / 2, width + 8 - w(s))), to = from + w(s);
    if (from > end + 5 && (s === last || to < Math.min(lastFrom, last.x + last.w / 2 - w(last) / 2) - 5)) label(s, from, to);
  }
  return out;
}

/** A long name keeps its two ends: names that begin alike often end differently. Of "batch in centred" the name comes first. */
function shortName(name, width, font) {
  if (widthOf(name, font) <= width) return name;
  const own = name.split(' in ')[0];
  if (own !== name) return [fit(name, width, font), `${own} in…`, `${own}…`].find((s, i) => i ? widthOf(s, font) <= width : s.length > own.length + 6) ?? shortName(own, width, font);
  const chars = [...name];
  for (let keep = chars.length - 1; keep > 2; keep--) {
    const short = `${chars.slice(0, Math.ceil(keep / 2)).join('')}…${chars.slice(chars.length - Math.floor(keep / 2)).join('')}`;
    if (widthOf(short, font) <= width) return short;
  }
  return fit(name, width, font);
}

/** A name and its arrow; "(line 5)" for what only the running line holds. */
function drawName(n, c, y, boxMid, j, k, isLit, isPassed) {
  const gone = n.gone !== undefined, isLine = n.kind === 'line', whole = isLine ? `(${n.name})` : n.name;
  const font = isLine ? { size: 14 } : { size: 15, mono: true, bold: !gone }, text = shortName(whole, c.nameW, font), w = Math.min(c.nameW, widthOf(text, font));
  let out = (text === whole ? '' : `<title>${esc(whole)}</title>`) + T(0, y + 5, text, { ...font, color: gone || isLine ? 'muted' : 'ink', max: c.nameW, strike: gone });
  if (gone) return w + 8 + widthOf('deleted', { size: 12 }) < c.box - (isPassed ? 38 : 4) ? out + T(w + 8, y + 5, 'deleted', { size: 12, color: 'muted' }) : out;
  const fresh = n.changed === k, token = isLit ? 'focus' : fresh ? 'ink' : 'line', x1 = w + 6, x2 = c.box - 3, target = boxMid + Math.min(j, 2) * Math.min(10, c.boxH / 4);
  const d = j === 0 ? `M${px(x1)} ${px(y)}H${px(x2)}`
    : `M${px(x1)} ${px(y)}H${px(Math.max(x1, c.box - 34))}C${px(c.box - 16)} ${px(y)} ${px(c.box - 26)} ${px(target)} ${px(x2)} ${px(target)}`;
  if (isLit) out += P(`M0 ${px(y + 11)}H${px(w)}`, stroke(token, 3));
  return out + P(d, stroke(token, isLit ? 3 : fresh ? 1.75 : 1.25)) + head(x2, target, 'r', token);
}

/** A holder that is no name: the nodes that saved this. */
function drawCapsule(f, { t, saves }, c, mid, isLit) {
  const stale = isStale(t), token = stale ? 'red' : 'line', fresh = saves.some(s => s.changed === f.step);
  const ops = [...new Set(saves.map(s => s.node))].map(id => f.nodes.get(id)?.op ?? ''), title = ops.length > 1 ? `${ops.length} operations` : ops[0];
  const color = stale ? 'red' : 'ink', w = c.nameW, x2 = c.box - 3;
  return fade(fresh && t.changed !== f.step, R(0.5, mid - 17, w - 1, 34, `fill:${C('paper')};${stroke(token, stale ? 2 : 1.25)}`, 9) + (isLit ? ring(2, mid - 15, w - 4, 30, 9) : '') +
    T(w / 2, mid - 3, title, { size: 12, mono: ops.length < 2, anchor: 'middle', color, max: w - 8 }) +
    T(w / 2, mid + 11, keptText(f, t), { size: 12, anchor: 'middle', color, max: w - 8 }) +
    P(`M${px(w + 2)} ${px(mid)}H${px(x2)}`, stroke(fresh ? 'ink' : 'line', fresh ? 1.75 : 1.25)) + head(x2, mid, 'r', fresh ? 'ink' : 'line'));
}

function drawTensor(f, t, st, c, mid, hue, uid) {
  const k = f.step, x = c.box, h = c.boxH, y = mid - h / 2, stale = isStale(t), fresh = t.changed === k;
  if (t.freed !== undefined) {
    return R(x, y, c.boxW, h, `fill:none;${stroke('line', 1, '3 3')}`, 4) + (t.freed === k ? T(x + 22, mid + 4.5, t.saved ? 'released' : 'freed', { color: 'muted' }) : '');
  }
  let out = R(x, y, c.boxW, h, `fill:${C('paper')};${stroke(stale ? 'red' : fresh ? 'ink' : 'line', stale || fresh ? 1.75 : 1)}`, 4);
  if (!t.saved) out += `<path d="M${px(x + 4)} ${px(y + 4)}h7v${h - 8}h-7z" style="fill:url(#${uid}p${hue});${stroke(`a${colorOf(hue)}`, 1)}"/>`;
  const version = stale ? unequal(t.version, st.version, c.narrow) : String(t.saved ? t.version : st.version);
  const values = { shape: FIELDS.shape(t), strides: FIELDS.strides(t), offset: FIELDS.offset(t), version: t.outside ?? version, dtype: t.dtype ?? st.dtype, gradient: t.saved || t.outside ? '' : gradientText(t) };
  const font = key => key === 'version' && t.outside ? { color: 'muted' } : key === 'version' ? { color: stale ? 'red' : 'ink', bold: stale || (st.wrote?.at === k && st.wrote.was !== st.version && !t.saved) } : key === 'gradient' && values.gradient === 'leaf' ? { bold: true } : key === 'dtype' && values.dtype === 'float32' ? { color: 'muted' } : {};
  if (c.columns) {
    for (const col of c.columns) out += T(x + col.x, mid + 4.5, values[col.key], { mono: true, max: col.w - 6, ...font(col.key) });
    return out;
  }
  c.pairs.forEach((pair, i) => pair.forEach((key, j) => {
    if (!values[key]) return;
    const kx = x + (j ? c.split : c.x1), vx = kx + widthOf(key, { size: 12 }) + 5, end = j || pair.length === 1 ? x + c.boxW - 4 : x + c.split - 4;
    const foreign = key === 'version' && t.outside;
    if (foreign) out += T(kx, y + 17 + 16 * i, `${foreign} array`, { size: 12, color: 'muted', max: end - kx });
    else out += T(kx, y + 17 + 16 * i, key, { size: 12, color: 'muted' }) + T(vx, y + 17 + 16 * i, values[key], { size: 12, mono: true, max: end - vx, ...font(key) });
  }));
  return out;
}

/** The track: which cells a tensor reads, one piece per run; and the arrow that brings the tensor there. */
function drawTrack(f, { t, line }, c, mid, tray, m, hue, uid) {
  const stale = isStale(t), token = stale ? 'red' : t.saved ? 'node' : `a${colorOf(hue)}`, w = t.changed === f.step || stale ? 2 : 1.5;
  const pieces = piecesOf(tray.cells, t, t.taken).map(p => ({ ...p, y: tray.y + m.laneOf.get(line)[p.line] }));
  if (!pieces.length && t.taken) return '';
  const none = !pieces.length;                         // it reads no cell
  if (none) pieces.push({ x1: 0, x2: c.narrow ? tray.w - 22 : 0, y: tray.y + m.laneOf.get(line)[0] });
  const style = t.saved ? `fill:${C('paper')};${stroke(token, 1.25, '4 2')}` : `fill:url(#${uid}p${hue});${stroke(token, 1)}`, runs = runsText(t);
  const bar = (x, w, y) => R(tray.x0 + x + 1.5, y, w - 3, 8, style, 1);
  // many runs: a broken bar, and under it how many
  let out = none ? T(tray.x0 + 5, pieces[0].y + 8, runs, { size: 12, color: 'muted' }) : pieces.map(({ x1, x2, y }) => {
    const parts = runsOf(t, MOST_RUNS).total > MOST_RUNS ? Math.max(2, Math.round((x2 - x1) / 12)) : 1, w = (x2 - x1) / parts;
    return Array.from({ length: parts }, (_, i) => bar(x1 + i * w, w, y)).join('');
  }).join('');
  if (runs && !none) { const x = tray.x0 + pieces[0].x1 + 1.5, w = widthOf(runs, { size: 12 }); out += T(Math.max(tray.x0, Math.min(x, tray.x0 + tray.cells.width - w)), pieces[0].y + 20, runs, { size: 12, color: 'muted' }); }
  const first = pieces[0], my = first.y + 4;
  if (c.narrow) {
    const last = tray.x0 + Math.max(...pieces.filter(p => p.line === first.line).map(p => p.x2)), gx = m.arrowX(line);
    return out + P(rounded([[c.box + c.boxW, mid], [gx, mid], [gx, my], [last + 4, my]], 4), stroke(token, w)) + head(last + 2, my, 'l', token) + (stale ? cross(gx, mid - 26, 4) : '');
  }
  const x1 = c.box + c.boxW, x2 = tray.x, half = (x1 + x2) / 2;
  out += P(`M${px(x1)} ${px(mid)}C${px(half + 6)} ${px(mid)} ${px(half - 6)} ${px(my)} ${px(x2)} ${px(my)}H${px(tray.x0 + first.x1 - 1)}`, stroke(token, w)) + head(tray.x0 + first.x1, my, 'r', token);
  return out + (stale ? cross(half, (mid + my) / 2) : '');
}
