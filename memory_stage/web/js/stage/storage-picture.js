import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { colorOf, stripesDef } from '../shared/patterns.js';
import { changeMark, stroke, svgRect, svgText } from '../shared/shapes.js';
import { countText, listed } from '../shared/text.js';
import { shareCells } from '../trace/cells.js';
import { cellFonts } from './cell-slots.js';
import { showsTensors } from './depth.js';
import { storageCaption } from './labels.js';
import { drawWhole } from './whole-storage.js';

/** Draw the background and the caption of a storage. */
export function drawTray(storage, { x, y, w }, { bottom }, step, plan, depth) {
  const freed = storage.freed !== undefined;
  const [name, parts, state] = storageCaption(storage, step, plan, depth);
  const ground = freed ? `fill:none;${stroke('line', 1, '3 3')}` : `fill:${paint('wash')};${stroke('rule', 1)}`;
  const loud = storage.wrote?.at === step || storage.freed === step;
  const capY = y + bottom - 8;
  const stateW = Math.min(w - 40, widthOf(state, { bold: loud }));
  const nameMost = w - 20 - stateW - (showsTensors(depth) ? 12 : 16);
  const nameW = Math.min(nameMost, widthOf(name, { bold: true }));
  const left = nameMost - nameW - 10;
  const shown = [...parts];
  while (shown.length > 1 && widthOf(listed(shown)) > left) shown.pop();
  const said = listed(shown);
  const isSaid = !freed && left >= (storage.label ? Math.min(24, widthOf(said)) : widthOf(said)); // cuts no number
  return (
    svgRect(x, y, w, bottom, ground, 4) +
    (storage.born === step && !freed ? changeMark(x + w, y) : '') +
    svgText(x + 10, capY, name, { bold: true, color: freed ? 'muted' : 'ink', max: nameMost }) +
    (isSaid ? svgText(x + 10 + nameW + 10, capY, said, { color: 'muted', max: left }) : '') +
    svgText(x + w - 10, capY, state, { bold: loud, color: loud ? 'ink' : 'muted', anchor: 'end', max: w - 40 })
  );
}

export function drawCells(plan, frame, storage, rows, { x0, y, cells }, m, prefix, defs) {
  if (cells.kind) {
    const labels = cells.indexed ? indexLabels(cells, x0, y + m.lineTop[0] - 4) : '';
    return drawWhole(plan, frame, storage, rows, { x0, y, cells }, m, prefix, defs) + labels;
  }
  const step = frame.step;
  const freed = storage.freed !== undefined;
  const { cellH } = m;
  const fonts = cellFonts(cellH);
  const baseline = (cellH + fonts.value.size * 0.72) / 2;
  const wrote = storage.wrote?.at === step ? storage.wrote : null;
  const aliases = rows
    .map(r => r.t)
    .filter(tensor => tensor && !tensor.saved && tensor.freed === undefined && tensor.storage === storage.id);
  const meets = (ranges, s) => ranges.some(([lo, hi]) => lo <= s.to && hi >= s.from);
  // 2 if the cell, or every cell of a gap, was written; 1 if only some cells of a gap were; otherwise 0
  const written = s =>
    !wrote
      ? 0
      : s.to === s.from
        ? s.from in wrote.old || meets(wrote.ranges, s)
          ? 2
          : 0
        : wrote.ranges.some(([lo, hi]) => lo <= s.from && hi >= s.to)
          ? 2
          : meets(wrote.ranges, s) || meets(wrote.loose, s)
            ? 1
            : 0;
  let out = '';
  let marks = '';
  cells.slots.forEach(s => {
    const x = x0 + s.x;
    const top = y + m.lineTop[s.line];
    const middle = x + s.w / 2;
    const gap = s.to > s.from;
    const most = s.w - 3;
    const hues = aliases
      .filter(tensor => shareCells(tensor, { shape: [s.to - s.from + 1], strides: [1], offset: s.from }))
      .map(tensor => plan.hues.get(tensor.id));
    let fill = paint('paper');
    if (freed) fill = 'none';
    else if (hues.length === 1) fill = paint(`t${colorOf(hues[0])}`);
    else if (hues.length > 1) {
      const id = `s${hues.join('-')}`;
      defs.set(id, stripesDef(prefix, hues));
      fill = `url(#${prefix}${id})`;
    } else if (storage.label) fill = paint('tn');
    const cell = svgRect(x, top, s.w, cellH, `fill:${fill};${stroke('line', 1, freed ? '3 3' : '')}`);
    const open = `<g class="cell" data-cell="${gap ? `${s.from}-${s.to}` : s.from}">`;
    out += open + cell;
    const now = storage.values[s.from] ?? '·';
    const before = wrote && !gap && written(s) ? wrote.old[s.from] : undefined;
    const plate = shown => {
      // without a plate behind them, digits on stripes are hard to read
      if (hues.length < 2 || freed) return '';
      const w = Math.min(s.w - 4, Math.max(...shown.map(z => widthOf(z, fonts.written))) + 6);
      const h = shown.length > 1 ? cellH - 5 : fonts.value.size + 6;
      return svgRect(middle - w / 2, top + (cellH - h) / 2, w, h, `fill:${paint('paper')}`, 2);
    };
    const say = (dy, text, font) => svgText(middle, top + dy, text, { anchor: 'middle', max: most, ...font });
    if (gap) {
      const n = countText(s.to - s.from + 1);
      out +=
        plate(['···', n]) +
        svgText(middle, top + cellH / 2 - 4, '···', { size: 12, anchor: 'middle' }) +
        svgText(middle, top + cellH / 2 + 11, n, { size: 12, anchor: 'middle', bold: written(s), max: most });
    } else if (freed) {
      if (storage.freed === step) out += say(baseline, now, { ...fonts.value, color: 'muted', strike: true });
    } else if (before !== undefined && before !== '') {
      out += `${
        plate([before, now]) + say(cellH * 0.36, before, { ...fonts.old, strike: true })
      }<g class="flip">${say(cellH * 0.84, now, fonts.written)}</g>`;
    } else out += plate([now]) + say(baseline, now, { ...fonts.value, bold: wrote && written(s) });
    out += '</g>';
  });
  if (cells.indexed) out += indexLabels(cells, x0, y + m.lineTop[0] - 4);
  marks += framesAround(
    cells.slots.map(s => (freed ? 0 : written(s))),
    cells.slots,
    { x0, y, m },
    how => stroke('ink', 3, how === 1 ? '5 3' : ''),
  );
  const { lit } = frame;
  if (lit?.storage === storage.id && lit.marks) {
    const isMarked = s => Number(s.from === s.to ? lit.marks(s.from) : lit.marks(s.from) && lit.marks(s.to));
    marks += framesAround(cells.slots.map(isMarked), cells.slots, { x0, y, m }, () => stroke('focus', 3), 2);
  }
  return out + marks;
}

/** Return frames around neighbouring cells with the same number in `kinds`; cells of kind 0 get no frame. */
function framesAround(kinds, slots, { x0, y, m }, styleOf, margin = 0) {
  const runs = [];
  slots.forEach((s, i) => {
    const last = runs.at(-1);
    const right = x0 + s.x + s.w;
    if (last?.line === s.line && last.kind === kinds[i]) last.right = right;
    else runs.push({ kind: kinds[i], line: s.line, left: x0 + s.x, right });
  });
  const frames = runs
    .filter(({ kind }) => kind)
    .map(({ kind, line, left, right }) =>
      svgRect(
        left - margin,
        y + m.lineTop[line] - margin,
        right - left + 2 * margin,
        m.cellH + 2 * margin,
        `fill:none;${styleOf(kind)}`,
        margin,
      ),
    );
  return frames.join('');
}

/** Draw the indexes of single cells, as many as fit. */
function indexLabels({ slots, width }, x0, y) {
  let end = -10;
  let out = '';
  const label = (s, from, to) => {
    const isAtEnd = to >= width; // then its right end is fixed, so that wider digits cannot leave the storage
    out += svgText(x0 + (isAtEnd ? width : from), y, s.from, {
      size: 12,
      color: 'muted',
      ...(isAtEnd && { anchor: 'end' }),
    });
    end = to;
  };
  const last = slots.findLast(s => s.to === s.from);
  const w = s => widthOf(s.from, { size: 12 });
  const lastFrom = width - w(last);
  for (const s of slots) {
    if (s.to > s.from) continue;
    const from = Math.max(0, Math.min(s.x + s.w / 2 - w(s) / 2, width - w(s)));
    const to = from + w(s);
    if (from > end + 5 && (s === last || to < Math.min(lastFrom, last.x + last.w / 2 - w(last) / 2) - 5)) {
      label(s, from, to);
    }
  }
  return out;
}
