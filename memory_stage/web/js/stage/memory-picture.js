import { t } from '../shared/messages.js';
import { patternDef } from '../shared/patterns.js';
import { fadeIn, focusRing, svgText, taggedGroup } from '../shared/shapes.js';
import { columnsOf } from './memory-columns.js';
import { fieldText } from './labels.js';
import { TRACK_H, groupGap, memoryLayout } from './memory-layout.js';
import { drawRest } from './rest-picture.js';
import { drawCells, drawTray } from './storage-picture.js';
import { drawCapsule, drawKnob, drawName, drawTensor, drawTrack } from './tensor-picture.js';

/** Return the name "backward", which refers to a saved tensor in a picture that does not show operations. */
const forBackward = () => ({ name: t('backward'), kind: 'line', changed: -1 });

/**
 * @param {any} plan
 * @param {any} frame
 * @param {number} variant
 * @param {{width: number, depth: import('./depth.js').Depth, cell: number}} view
 * @param {string} prefix of the ids of patterns
 * @param {boolean} unfold draw every storage in full
 * @param {number} room the largest height in px
 */
export function drawMemory(plan, frame, variant, view, prefix, unfold, room) {
  const { width } = view;
  const c = /** @type {any} */ (columnsOf(plan, view));
  const defs = new Map();
  const { list: shown, folded } = memoryLayout(plan, frame, variant, c, width, unfold, room - c.top);
  let y = c.top;
  let out = '';
  if (!c.narrow && !c.plain) {
    out +=
      svgText(0, 12, t('names'), { bold: true }) +
      svgText(c.box, 12, t('tensors'), { bold: true }) +
      svgText(c.st - 10, 12, t('storages'), { bold: true });
    for (const col of c.columns ?? []) {
      out += svgText(c.box + col.x, 34, fieldText(col.key), { size: 12, color: 'muted' });
    }
  }
  for (const place of shown) {
    if (place.st) out += drawGroup(plan, frame, place, c, y, width, prefix, defs);
    y += place.height;
  }
  if (folded.length) {
    const rest = drawRest(plan, folded, frame, width, y);
    out += rest.svg;
    y += rest.height;
  } else if (shown.length) y -= groupGap(c);
  return { svg: out, height: y, defs: [...defs.values()].join(''), folded: folded.length };
}

function drawGroup(plan, frame, { st: storage, rows, m }, c, top, width, prefix, defs) {
  const step = frame.step;
  const trayMost = c.narrow ? width - m.arrows - 4 : width - c.st + 8;
  const trayW = Math.min(trayMost, Math.max(m.cells.width + 20, c.trayMin));
  const tray = { x: c.st - 10, y: top, w: trayW, cells: m.cells, x0: c.st };
  let out =
    drawTray(storage, tray, m, step, plan, c.depth) + drawCells(plan, frame, storage, rows, tray, m, prefix, defs);
  if (frame.lit?.storage === storage.id && !frame.lit.marks) out += focusRing(tray.x, top, trayW, m.bottom, 4, -1);
  for (const row of rows) {
    const { t: tensor } = row;
    const middle = c.plain
      ? top + m.laneOf[row.line].find(y => y !== undefined) + TRACK_H / 2
      : top + m.rowsTop + (row.line + 0.5) * c.rowH;
    const hue = plan.hues.get(tensor.id);
    const isLit = frame.lit && [tensor, ...row.saves].some(s => frame.lit.ids.has(s.id));
    let mine = '';
    row.order.forEach((holder, j) => {
      const n = row.names.find(x => x.name === holder);
      if (row.saves.length) {
        mine += c.plain
          ? drawName(forBackward(), c, middle, middle, 0, step)
          : drawCapsule(frame, row, c, middle, isLit);
      } else if (n) {
        mine += fadeIn(
          n.changed === step && tensor.changed !== step,
          taggedGroup(
            { name: n.name },
            '',
            drawName(
              n,
              c,
              middle + j * c.rowH,
              middle,
              j,
              step,
              isLit && (frame.lit.only ?? n.name) === n.name,
              row.order.length > j + 1,
            ),
          ),
        );
      }
    });
    if (!tensor.saved && tensor.freed === undefined) defs.set(`p${hue}`, patternDef(prefix, hue));
    mine += c.plain
      ? drawKnob(tensor, c, middle, hue, prefix)
      : drawTensor(frame, tensor, storage, c, middle, hue, prefix);
    if (tensor.freed === undefined) mine += drawTrack(frame, row, c, middle, tray, m, hue, prefix);
    if (isLit) mine += focusRing(c.box, middle - c.boxH / 2, c.boxW, c.boxH);
    out += taggedGroup(
      row.saves.length
        ? { saved: row.saves.map(s => s.id), node: [...new Set(row.saves.map(s => s.node))] }
        : { tensor: tensor.id },
      tensor.changed === step ? 'new' : '',
      mine,
    );
  }
  return taggedGroup(
    { storage: storage.id },
    storage.freed === step ? 'freed' : storage.born === step ? 'new' : '',
    out,
  );
}
