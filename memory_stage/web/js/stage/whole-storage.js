/**
 * Draw a storage of many cells as a whole: a batch of images as images, a matrix as a map of its values, and anything
 * else as a band on which the cells are in the order of memory.
 */

import { getOrMake } from '../shared/cache.js';
import { t } from '../shared/messages.js';
import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { colorOf, stripesDef } from '../shared/patterns.js';
import { px, stroke, svgRect, svgText } from '../shared/shapes.js';
import { countText } from '../shared/text.js';
import { cellRuns, shareCells } from '../trace/cells.js';

const SHADES = 12; // the number of grey levels that are drawn
const GAP = 6; // px between two images
const REST = 64; // the width in px of the place where the images that are not drawn are counted
const PICTURE = 64; // the approximate length in px of an image's longer side
const MAP = [28, 104]; // the least and the largest height of a map in px
const LARGEST = 9; // the largest height in px of a sample in a map
const BAND = 132; // the largest height of a band in px
const LOWER = 4; // the px by which the height of a band is less than that of a cell
const LEAST = 3; // the least width in px of a part of a band, so that the part is visible
const MOST_CUTS = 40; // the most cuts of a band into parts
const FLAT = 30; // the least width in px of a part of a band that can show a value as text

/** @typedef {{from: number, to: number, x: number, w: number, line: number}} Slot */
/** @typedef {[lo: number, hi: number]} Run */

/**
 * Return the slots of a storage of `n` cells in `avail` px as `cellsOf` does, and also the `kind` of the drawing and
 * the drawing's `height`.
 */
export function wholeSlots(group, avail, n, height) {
  const [count, rows] = group.raster?.of ?? [1, 1];
  if (count > 1) return pictureSlots(group.raster, avail, n);
  if (rows > 1) return mapSlot(group.raster, avail, n);
  return { ...bandSlots(group, avail, n), height: Math.min(height - LOWER, BAND) };
}

function pictureSlots({ size: [most, rows, columns], of: [count] }, avail, n) {
  const scale = Math.max(2, Math.floor(PICTURE / Math.max(rows, columns)));
  const w = Math.min(columns * scale, avail);
  const fits = Math.max(1, Math.floor((avail - (count > most ? REST : 0) + GAP) / (w + GAP)));
  const shown = Math.min(most, fits);
  const each = n / count;
  /** @type {Slot[]} */
  const slots = Array.from({ length: shown }, (_, i) => ({
    from: i * each,
    to: (i + 1) * each - 1,
    x: i * (w + GAP),
    w,
    line: 0,
  }));
  let width = shown * (w + GAP) - GAP;
  if (count > shown) {
    slots.push({ from: shown * each, to: n - 1, x: width + GAP, w: Math.min(REST, avail), line: 0 });
    width += GAP + REST;
  }
  return { kind: 'pictures', slots, lines: 1, width, height: (w / columns) * rows, indexed: false };
}

function mapSlot({ size: [, rows, columns] }, avail, n) {
  const high = Math.min(LARGEST, Math.max(MAP[0] / rows, Math.min(MAP[1] / rows, avail / columns)));
  const width = Math.min(avail, columns * Math.max(high, 3));
  const slots = [{ from: 0, to: n - 1, x: 0, w: width, line: 0 }];
  return { kind: 'map', slots, lines: 1, width, height: Math.max(MAP[0], rows * high), indexed: false };
}

/** Cut a band into parts, before and after the first and the last cell of each run that a write or a tensor covers. */
function bandSlots({ written, ends, rowEnds }, avail, n) {
  const cuts = new Set([0, n]);
  for (const i of [0, n - 1, ...written, ...ends, ...rowEnds]) {
    if (i >= 0 && i < n && cuts.size < MOST_CUTS) cuts.add(i).add(i + 1);
  }
  const at = [...cuts].sort((a, b) => a - b);
  const widths = at.slice(1).map((end, k) => Math.max(LEAST, ((end - at[k]) / n) * avail));
  // narrow parts get more px than their share, by which the wide parts become narrower
  const over = widths.reduce((sum, w) => sum + w, 0) - avail;
  const wide = widths.filter(w => w > 4 * LEAST).reduce((sum, w) => sum + w, 0);
  let x = 0;
  const slots = widths.map((w, k) => {
    const own = wide > over && w > 4 * LEAST ? w - (over * w) / wide : w;
    x += own;
    return { from: at[k], to: at[k + 1] - 1, x: x - own, w: own, line: 0 };
  });
  return { kind: 'band', slots, lines: 1, width: Math.min(avail, x), indexed: true };
}

const levels = new WeakMap();

/** Return the grey levels of a raster, which the trace has in base64. */
const levelsOf = raster =>
  getOrMake(levels, raster, () => {
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    const found = [];
    let bits = 0;
    let held = 0;
    for (const digit of raster.levels.replace(/=/g, '')) {
      bits = ((bits << 6) | digits.indexOf(digit)) & 0xffff;
      held += 6;
      if (held < 8) continue;
      held -= 8;
      found.push((bits >> held) & 255);
    }
    return found;
  });

/** Draw samples with one path for each shade of grey. `place` maps a column and a row to a point in px. */
function shades(samples, rows, columns, place) {
  const paths = Array.from({ length: SHADES }, () => '');
  const shadeOf = level => Math.min(SHADES - 1, Math.floor((Math.max(0, level - 1) / 255) * SHADES));
  for (let row = 0; row < rows; row++) {
    for (let from = 0; from < columns;) {
      const shade = shadeOf(samples[row * columns + from]);
      let to = from + 1;
      while (to < columns && shadeOf(samples[row * columns + to]) === shade) to++;
      const [x1, y1] = place(from, row);
      const [x2, y2] = place(to, row + 1);
      paths[shade] += `M${px(x1)} ${px(y1)}H${px(x2)}V${px(y2)}H${px(x1)}z`;
      from = to;
    }
  }
  return paths
    .map((d, i) =>
      d && i ? `<path d="${d}" style="fill:${paint('ink')};opacity:${px((i / SHADES) * 0.9 + 0.05)}"/>` : '',
    )
    .join('');
}

const MOST_RUNS = 600; // a tensor with more runs than this gets no outline in a map

/** Return the smallest box of a map that contains some runs of cells, as [row, column, rows, columns]. */
function boxOf(runs, columns) {
  const rowOf = i => Math.floor(i / columns);
  const top = rowOf(Math.min(...runs.map(([lo]) => lo)));
  const rows = rowOf(Math.max(...runs.map(([, hi]) => hi))) - top + 1;
  if (runs.some(([lo, hi]) => rowOf(lo) !== rowOf(hi))) return [top, 0, rows, columns];
  const left = Math.min(...runs.map(([lo]) => lo % columns));
  return [top, left, rows, Math.max(...runs.map(([, hi]) => hi % columns)) - left + 1];
}

/** Draw the cells of a storage in the slots that `wholeSlots` returned. */
export function drawWhole(plan, frame, storage, rows, { x0, y, cells }, m, prefix, defs) {
  const { kind, slots, height, width } = cells;
  const top = y + m.lineTop[0];
  const isFreed = storage.freed !== undefined;
  const seen = rows.map(r => r.t).filter(t => t && !t.saved && t.freed === undefined && t.storage === storage.id);
  const edge = stroke('line', 1, isFreed ? '3 3' : '');
  const fillOf = ({ from, to }) => {
    if (isFreed) return 'none';
    const run = { shape: [to - from + 1], strides: [1], offset: from };
    const hues = seen.filter(tensor => shareCells(tensor, run)).map(tensor => plan.hues.get(tensor.id));
    if (hues.length === 1) return paint(`t${colorOf(hues[0])}`);
    if (!hues.length || kind !== 'band') return paint(storage.label ? 'tn' : 'paper'); // stripes would hide the values
    const id = `s${hues.join('-')}`;
    defs.set(id, stripesDef(prefix, hues));
    return `url(#${prefix}${id})`;
  };
  const grounds = slots.map(slot =>
    svgRect(x0 + slot.x, top, slot.w, height, `fill:${fillOf(slot)};${kind === 'band' ? '' : edge}`),
  );
  const outline = kind === 'band' ? svgRect(x0, top, width, height, `fill:none;${edge}`) : '';
  const whole = grounds.join('') + outline;
  if (isFreed) return whole;
  const wrote = storage.wrote?.at === frame.step ? storage.wrote : undefined;
  if (kind === 'map') return whole + drawMap(plan, storage, seen, wrote, cells, x0, top);
  const values = kind === 'band' ? drawBand(storage, cells, x0, top) : drawPictures(plan, storage, cells, x0, top);
  if (!wrote) return whole + values;
  const numbers = kind === 'band' ? changedNumbers(storage, wrote, cells, x0, top) : '';
  return whole + values + writtenFrames(wrote, slots, x0, top, height) + numbers;
}

/** Draw a matrix: its values, an outline of each tensor that reads a part, and a heavy outline of the written cells. */
function drawMap(plan, storage, seen, wrote, { width, height }, x0, top) {
  const [, rows, columns] = plan.groups.get(storage.id).raster.of;
  const outline = (runs, style) => {
    const [row, column, high, wide] = boxOf(runs, columns);
    const x = x0 + (column / columns) * width;
    const y = top + (row / rows) * height;
    return svgRect(x, y, (wide / columns) * width, (high / rows) * height, `fill:none;${style}`);
  };
  let out = '';
  if (storage.raster) {
    const [, high, wide] = storage.raster.size;
    const place = (column, row) => [x0 + (column / wide) * width, top + (row / high) * height];
    out += shades(levelsOf(storage.raster), high, wide, place);
  }
  for (const tensor of seen) {
    const { runs, total } = cellRuns(tensor, MOST_RUNS, false);
    const isPart = total && total <= MOST_RUNS && tensor.shape.reduce((n, d) => n * d, 1) < storage.length;
    if (isPart) out += outline(runs, stroke(`a${colorOf(plan.hues.get(tensor.id))}`, 2.5));
  }
  const written = wrote ? [...wrote.ranges, ...wrote.loose] : [];
  if (!written.length) return out;
  const first = written[0][0];
  const text = storage.raster ? '' : changeText(storage.values, wrote.old, first);
  out += outline(written, stroke('ink', 3, wrote.loose.length ? '5 3' : ''));
  const style = { size: 12, mono: true, anchor: 'middle', max: width };
  return text ? out + svgText(x0 + width / 2, top + height / 2 + 4.5, text, style) : out;
}

/** Return the old and the new number of a cell as text; '' if one of them is not known. */
const changeText = (values, old, cell) => (old[cell] && values[cell] ? `${old[cell]} → ${values[cell]}` : '');

/** Draw the first images of a batch, and the number of the others. */
function drawPictures(plan, storage, { slots, height }, x0, top) {
  const { of, size } = plan.groups.get(storage.id).raster;
  const [, rows, columns] = size;
  const samples = storage.raster ? levelsOf(storage.raster) : [];
  const drawn = slots.map((slot, i) => {
    const place = (column, row) => [x0 + slot.x + (column / columns) * slot.w, top + (row / rows) * height];
    const rest = of[0] - i;
    if (i < slots.length - 1 || rest === 1) {
      return shades(samples.slice(i * rows * columns, (i + 1) * rows * columns), rows, columns, place);
    }
    const middle = x0 + slot.x + slot.w / 2;
    return (
      svgText(middle, top + height / 2 - 2, countText(rest), { size: 14, anchor: 'middle', bold: true, max: slot.w }) +
      svgText(middle, top + height / 2 + 15, t('more'), { size: 12, anchor: 'middle', color: 'muted', max: slot.w })
    );
  });
  return drawn.join('');
}

/** Draw the values along a band. If all cells of a part have the lowest or the highest value, show it as text. */
function drawBand({ raster, length }, { slots, width, height }, x0, top) {
  if (!raster) return '';
  const samples = levelsOf(raster);
  const columns = raster.size[2];
  const cellAt = column => (column / columns) * length;
  const xOf = i => {
    const slot = slots.find(({ to }) => i < to + 1) ?? slots.at(-1);
    return x0 + slot.x + ((i - slot.from) / (slot.to - slot.from + 1)) * slot.w;
  };
  const place = (column, row) => [column === columns ? x0 + width : xOf(cellAt(column)), top + row * height];
  let out = shades(samples, 1, columns, place);
  for (const { from, to, x, w } of slots) {
    const own = samples.filter((_, i) => cellAt(i) >= from && cellAt(i + 1) <= to + 1);
    const isFlat = own.length && own.every(level => level === own[0]);
    const isLow = raster.low === raster.high || own[0] === 1;
    const text = isLow ? raster.low : own[0] === 255 ? raster.high : '';
    if (!isFlat || !text || w < FLAT) continue;
    const plate = Math.min(w, widthOf(text, { size: 13, mono: true }) + 8);
    const middle = x0 + x + w / 2;
    out +=
      svgRect(middle - plate / 2, top + height / 2 - 9, plate, 18, `fill:${paint('paper')}`, 2) +
      svgText(middle, top + height / 2 + 4.5, text, { mono: true, anchor: 'middle', max: w });
  }
  return out;
}

/** Draw, right of each written run of a band, the old and the new number of its first cell, if there is room. */
function changedNumbers({ values }, { ranges, old }, { slots, width, height }, x0, top) {
  const plates = ranges.map(([lo, hi]) => {
    const after = slots.find(({ from }) => from > hi);
    const text = changeText(values, old, lo);
    const wide = widthOf(text, { size: 13, mono: true, bold: true }) + 8;
    const x = (after?.x ?? width) + 6;
    if (!text || !after || x + wide > after.x + after.w / 2 - FLAT) return '';
    return (
      svgRect(x0 + x, top + height / 2 - 9, wide, 18, `fill:${paint('paper')}`, 2) +
      svgText(x0 + x + 4, top + height / 2 + 4.5, text, { mono: true, bold: true })
    );
  });
  return plates.join('');
}

/** Draw heavy frames around the written parts. A frame is dashed if only some cells of its parts were written. */
function writtenFrames(wrote, slots, x0, top, height) {
  const covers = ([lo, hi], { from, to }) => lo <= from && hi >= to;
  const meets = ([lo, hi], { from, to }) => lo <= to && hi >= from;
  const howOf = slot => {
    if (wrote.ranges.some(run => covers(run, slot))) return 'whole';
    return [...wrote.ranges, ...wrote.loose].some(run => meets(run, slot)) ? 'part' : '';
  };
  const found = [];
  for (const slot of slots) {
    const how = howOf(slot);
    const last = found.at(-1);
    if (how && last?.how === how && slot.x - last.x2 <= GAP) last.x2 = slot.x + slot.w;
    else if (how) found.push({ how, x1: slot.x, x2: slot.x + slot.w });
  }
  const frameOf = ({ how, x1, x2 }) =>
    svgRect(x0 + x1, top, x2 - x1, height, `fill:none;${stroke('ink', 3, how === 'part' ? '5 3' : '')}`);
  return found.map(frameOf).join('');
}
