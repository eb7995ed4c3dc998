/* How to read the picture: every mark that occurs in a trace, drawn small beside what it means. */

/** What occurs anywhere in a trace. */
function marksOf(trace) {
  const plan = planOf(trace), has = new Set(), note = (name, yes) => { if (yes) has.add(name); };
  for (const frames of plan.runs) frames.walk(f => {
    for (const n of touchedOf(f.names)) note(n.kind === 'line' ? 'line' : 'name', true), note('gone', n.gone !== undefined);
    for (const s of touchedOf(f.storages)) note('written', s.wrote), note('loose', s.wrote?.loose.length && s.length > MOST_CELLS), note('freed', s.freed !== undefined), note('borrowed', s.borrowed);
    for (const t of touchedOf(f.tensors)) {
      if (t.freed !== undefined) continue;
      note('outside', t.outside), note('runs', runsText(t));
      if (t.saved) note('saved', true), note('copy', t.copy), note('inferred', t.inferred), note('stale', isStale(t));
      else if (!has.has('shared')) note('shared', [...f.tensors.values()].some(o => o !== t && !o.saved && o.freed === undefined && o.storage === t.storage && overlap(o, t)));
    }
    for (const s of touchedOf(f.states)) note('state', true), note('grad', s.grad);
    if (!has.has('past')) note('past', [...f.states.values()].some(s => isGone(f, s)));
    for (const n of touchedOf(f.nodes)) note('node', true), note('passed', n.ran !== undefined && n.failed === undefined), note('failed', n.failed !== undefined);
    for (const m of touchedOf(f.groups)) note('group', m.names.length > 1);
  });
  for (const g of plan.groups.values()) note('many', g.length > MOST_CELLS || g.known.size < g.length);
  note('unversioned', trace.variants.some(v => v.steps.some(s => s.events.some(e => e.unversioned))));
  note('chain', has.has('node') && plan.runs.some((_, v) => generationsOf(plan, v).list.some(gen => gen.items.some(it => it.members.length > 1))));
  note('gradient', [...plan.texts.gradient].some(g => g !== 'no'));
  note('folded', plan.groups.size > 6);
  return has;
}

/** Rows [what has to occur, sample, meaning]; a sample is 72 by 30. */
function legendRows(uid) {
  const text = (x, y, s, o = {}) => T(x, y, s, { size: 12, mono: true, anchor: 'middle', ...o });
  const box = (style, rx = 4, x = 4, w = 64) => R(x, 3, w, 24, style, rx), edge = (fill, ...line) => `fill:${fill === 'none' ? fill : C(fill)};${stroke(...line)}`;
  const arrow = (x1, x2, token = 'line', w = 1.25) => P(`M${x1} 15H${x2}`, stroke(token, w)) + head(x2, 15, 'r', token);
  const cell = (x, fill, said = '', w = 22) => R(x, 4, w, 22, `fill:${fill};${stroke('line', 1)}`) + (said ? text(x + w / 2, 19, said) : '');
  const strip = hue => `fill:url(#${uid}p${hue});${stroke(`a${hue}`, 1)}`, red = cross(62, 15, 4);
  return [
    ['', text(8, 19, 'x', { bold: true }) + arrow(18, 68), 'a name and its tensor'],
    ['line', text(36, 19, '(line 5)', { mono: false, color: 'muted' }), 'held by the running line'],
    ['gone', text(8, 19, 'x', { strike: true, color: 'muted' }) + text(44, 19, 'deleted', { mono: false, color: 'muted' }), 'a name that is gone'],
    ['', box(edge('paper', 'line', 1)) + R(8, 7, 7, 16, strip(1)) + text(42, 19, '[2, 3]'), 'a tensor; its color and pattern stay its own'],
    ['outside', box(edge('paper', 'line', 1)) + text(36, 19, 'numpy', { mono: false }), 'an array of numpy on the same memory'],
    ['', R(1, 0, 70, 30, edge('wash', 'rule', 1), 4) + R(8, 4, 18, 14, edge('t1', 'line', 1)) + R(26, 4, 18, 14, edge('t1', 'line', 1)) + R(44, 4, 18, 14, edge('paper', 'line', 1)) + R(9, 21, 34, 6, strip(1)), 'a storage: its cells, and which of them a tensor reads'],
    ['borrowed', text(36, 19, 'borrowed', { mono: false, color: 'muted' }), 'allocated by somebody else, and not counted'],
    ['shared', cell(14, `url(#${uid}s1-2)`) + cell(36, `url(#${uid}s1-2)`), 'cells that several tensors read'],
    ['many', cell(14, C('paper'), '7') + cell(36, C('paper'), '98', 26), 'so many cells that are not drawn'],
    ['written', R(20, 2, 32, 26, edge('t2', 'ink', 3)) + text(36, 12, '1', { strike: true }) + text(36, 25, '2', { bold: true, size: 13 }), 'written at this step: the old number above the new one'],
    ['loose', R(20, 3, 32, 24, edge('paper', 'ink', 3, '5 3')) + text(36, 19, '98'), 'of so many cells, some were written at this step'],
    ['runs', R(8, 4, 12, 8, strip(1)) + R(30, 4, 12, 8, strip(1)) + R(52, 4, 12, 8, strip(1)) + text(36, 26, '90 runs', { mono: false, color: 'muted' }), 'a tensor that reads cells far apart, or some several times'],
    ['unversioned', text(36, 19, 'stays 0', { mono: false }), 'written by somebody else: backward will not notice'],
    ['', box(edge('paper', 'ink', 1.75)), 'new or changed at this step'],
    ['freed', box(edge('none', 'line', 1, '3 3')), 'freed'],
    ['gradient', text(36, 19, 'leaf'), 'gradient: leaf, you made it and it wants one; yes, a result that passes one on; no, stop_gradient is True'],
    ['saved', box(edge('paper', 'line', 1.25), 9) + text(36, 19, 'multiply', { size: 12 }), 'an operation that saved this tensor'],
    ['saved', R(8, 11, 56, 8, edge('paper', 'node', 1.25, '4 2'), 1), 'the cells that it saved'],
    ['inferred', box(edge('paper', 'line', 1.25), 9) + text(36, 19, 'a@0 ?'), 'inferred: the framework does not show what it saves'],
    ['copy', cell(14, C('tn'), '1') + cell(36, C('tn'), '2'), 'a copy that is kept'],
    ['stale', text(26, 19, '0 ≠ 1', { color: 'red', bold: true }) + red, 'backward will refuse: what was saved at version 0 is at version 1. Gone: its numbers were overwritten; with the same version twice, no version tells, and backward will use the new ones. Stale: only the version moved'],
    ['state', R(14, 3, 44, 24, edge('tn', 'line', 1), 12) + text(36, 19, 'a@0'), 'a memory state, name @ version'],
    ['past', R(14, 3, 44, 24, edge('paper', 'line', 1, '3 3'), 12) + text(36, 19, 'a@0', { strike: true, color: 'muted' }), 'a state whose numbers are gone'],
    ['node', box(edge('paper', 'line', 1), 9) + text(36, 19, 'add_', { bold: true }), 'an operation of the history'],
    ['chain', R(8, 8, 62, 21, edge('paper', 'line', 1), 8) + R(3, 2, 62, 23, edge('paper', 'line', 1), 8) + text(34, 18, '40 × add', { bold: true }), 'operations in a row, folded'],
    ['group', R(2, 2, 68, 26, edge('wash', 'line', 1, '2 3'), 6), 'names whose memory has one history'],
    ['passed', P('M8 15H68', stroke('ink', 2.5)) + head(8, 15, 'l', 'ink', 6), 'the gradient has passed here'],
    ['grad', text(36, 12, 'gradient', { mono: false, color: 'muted' }) + text(36, 26, '[1, 1]'), 'the gradient that has arrived at a state'],
    ['failed', box(edge('red', 'red', 2), 9) + text(36, 19, 'multiply', { color: 'paper' }), 'backward asked for what is gone, and stopped'],
    ['', box(edge('paper', 'focus', 3)), 'the answer to a question: click a storage or a tensor'],
    ['folded', R(2, 4, 68, 22, edge('none', 'rule', 1, '2 3'), 4) + text(36, 19, '5 more', { mono: false, color: 'muted' }), 'storages not touched lately'],
  ];
}

let legends = 0;

/** The legend as list items. */
function legendOf(trace) {
  const has = marksOf(trace), uid = `l${legends++}`, rows = legendRows(uid).filter(([mark]) => !mark || has.has(mark));
  const defs = `<defs>${patternDef(uid, 1)}${stripesDef(uid, [1, 2])}</defs>`;
  return rows.map(([, sample, meaning], i) => `<li><svg class="mark" width="72" height="30" viewBox="0 0 72 30" aria-hidden="true">${i ? '' : defs}${sample}</svg><span>${meaning}</span></li>`).join('');
}
