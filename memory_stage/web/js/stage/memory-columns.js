import { t } from '../shared/messages.js';
import { getOrMake } from '../shared/cache.js';
import { fontsKey, widthOf } from '../shared/measure.js';
import { cellMax } from './cell-slots.js';
import { showsHistory, showsTensors } from './depth.js';
import { comparison, fieldText } from './labels.js';
import { placesOf } from './plan.js';

/** The height in px of a row at the depth "memory". A row consists of a name, its arrow and the track of its tensor. */
const NAME_ROW = 28;

/**
 * Return the columns and sizes for a width and a depth. They have room for the widest texts that any step shows.
 * @param {any} plan
 * @param {{width: number, depth: import('./depth.js').Depth, cell: number}} view `cell` is the height of a cell
 */
export function columnsOf(plan, { width, depth, cell }) {
  return getOrMake((plan.columns ??= new Map()), `${width} ${depth} ${cell} ${fontsKey()}`, () => ({
    ...(showsTensors(depth) ? computeColumns(plan, width, depth, cell) : nameColumn(plan, width)),
    depth,
    cell,
  }));
}

/**
 * Return the columns and sizes for the depth "memory", which shows no tensors. At every width, the names are beside the
 * storages, and an arrow leads from a name through the mark of its tensor to the tensor's track.
 */
function nameColumn(plan, width) {
  const narrow = width < 580;
  const widest = Math.max(0, ...[...plan.texts.name].map(s => widthOf(s, { size: 15, mono: true, bold: true })));
  const nameW = Math.min(narrow ? width / 4 : Math.max(124, width / 5), Math.max(narrow ? 24 : 40, widest + 2));
  const box = nameW + (narrow ? 18 : 40);
  const captions = [...plan.groups.values()].flatMap(g => [...g.captions]);
  const st = box + (narrow ? 30 : 56);
  const trayMin = Math.min(width - st, Math.max(...captions.map(s => widthOf(s, { bold: true }) + 8)));
  return { plain: true, narrow: false, box, nameW, boxW: 12, boxH: 12, rowH: NAME_ROW, st, top: 4, trayMin };
}

/** Return the width in px of the right margin of a narrow picture, which has room for the arrows of `lanes` tensors. */
export const arrowMargin = lanes => Math.min(48, 8 + 7 * lanes);

/** Return the largest number of tracks that any storage has. */
const mostTracks = plan =>
  Math.max(
    1,
    ...plan.runs.flatMap((_, variant) =>
      [...plan.groups.values()].flatMap(g => [...g.rows.values()].map(r => (placesOf(plan, variant).get(r) ?? 0) + 1)),
    ),
  );

function computeColumns(plan, width, depth, cell) {
  const { texts } = plan;
  const narrow = width < 580;
  const widest = (set, font) => Math.max(0, ...[...set].map(s => widthOf(s, font)));
  const capsule =
    texts.op.size && showsHistory(depth)
      ? Math.max(72, widest(texts.op, { size: 12, mono: true }) + 12, widest(texts.kept, { size: 12 }) + 12)
      : 0;
  const nameW = Math.min(
    narrow ? (width < 340 ? 74 : 92) : Math.max(124, width / 5),
    Math.max(narrow ? 40 : 64, capsule, widest(texts.name, { size: 15, mono: true, bold: true }) + 2),
  );
  const fields = ['shape', 'strides', 'offset', 'version'];
  if ([...texts.dtype].some(d => d !== 'float32')) fields.push('dtype');
  if (showsHistory(depth) && [...texts.gradient].some(g => g !== t('no'))) fields.push('gradient', 'leaf');
  const versions = Math.max(0, ...[...texts.version].map(s => s.length));
  const room = {
    shape: texts.shape,
    strides: texts.strides,
    offset: texts.offset,
    version: [texts.op.size ? comparison('0'.repeat(versions), '0'.repeat(versions), narrow) : '0'.repeat(versions)],
    dtype: texts.dtype,
    gradient: texts.gradient,
    leaf: texts.gradient,
  };
  const valueW = (key, size) => Math.min(220, widest(room[key], { size, mono: true, bold: true }));

  // the box of a storage is as wide as its cells, but at least as wide as the longest caption, up to a limit
  const captions = [...plan.groups.values()].flatMap(g => [...g.captions]);
  const trayMin = Math.min(
    Math.max(240, narrow ? Math.min(260, width * 0.72) : Math.min(300, width * 0.36)),
    Math.max(150, ...captions.map(s => widthOf(s, { bold: true }) + 8)),
  );
  const box = nameW + (narrow ? 22 : 30);
  const most = narrow ? 0 : width - box - 46 - Math.max(232, trayMin);
  const trayWish = Math.max(
    trayMin,
    ...[...plan.groups.values()].map(g => Math.min(g.length, 12) * cellMax(cell) + 20),
  );
  const columns = fields.map(key => ({
    key,
    x: 0,
    w: Math.max(widthOf(fieldText(key), { size: 12 }), valueW(key, 13)) + 14,
  }));
  const oneLine = 22 + columns.reduce((sum, c) => sum + c.w, 0) - 6;
  if (!narrow && oneLine <= most) {
    const air = Math.max(0, Math.min(16, (width - box - 46 - oneLine - trayWish) / columns.length));
    const boxW = oneLine + air * columns.length;
    let x = 22;
    for (const c of columns) {
      c.x = x;
      x += c.w + air;
    }
    return { narrow, box, nameW, boxW, boxH: 30, rowH: 40, columns, st: box + boxW + 46, top: 44, trayMin };
  }
  // the box has several lines, each with two fields if they fit side by side, otherwise with one
  const label = key => widthOf(fieldText(key), { size: 12 }) + 5;
  const boxMost = narrow ? width - box - arrowMargin(mostTracks(plan)) - 4 : most;
  const x1 = narrow ? 17 : 22;
  const air = narrow ? 8 : 14;
  const rest = [['gradient', 'leaf'], ['dtype']].filter(([first]) => fields.includes(first));
  const pairs = [['shape', 'offset'], ['strides', 'version'], ...rest];
  const left = Math.max(...pairs.map(p => label(p[0]) + valueW(p[0], 12)));
  const right = Math.max(...pairs.filter(p => p[1]).map(p => label(p[1]) + valueW(p[1], 12)));
  // take the first arrangement that fits: two columns, two columns only for short fields, or one column
  const pairW = rows =>
    Math.max(0, ...rows.filter(p => p[1]).map(p => label(p[0]) + Math.min(80, valueW(p[0], 12)))) + air;
  const arrangements = [pairs, [['shape'], ['strides'], ['offset', 'version'], ...rest]];
  const split = x1 + left + air;
  const sideBySide = split + right + 6 <= boxMost;
  const short = x1 + pairW(arrangements[1]);
  const rows = sideBySide ? arrangements[0] : short + right + 6 <= boxMost ? arrangements[1] : fields.map(key => [key]);
  const boxW = narrow ? boxMost : sideBySide ? split + right + 6 : most;
  const boxH = 8 + 16 * rows.length;
  return {
    narrow,
    box,
    nameW,
    boxW,
    boxH,
    rowH: boxH + (narrow ? 8 : 10),
    pairs: rows,
    split: sideBySide ? split : short,
    x1,
    st: narrow ? 10 : box + boxW + 46,
    top: narrow ? 0 : 24,
    trayMin,
  };
}
