import { plural, t } from '../shared/messages.js';
import { getOrMake } from '../shared/cache.js';
import { fontsKey, widthOf } from '../shared/measure.js';
import { countText, listed } from '../shared/text.js';
import { cellBounds, cellRuns } from '../trace/cells.js';
import { wholeSlots } from './whole-storage.js';

const CELL_MIN = 24;

const WIDEST = 2.4; // the largest width of a cell with a long number, as a multiple of its height

/** Return the width in px up to which cells of the given height become wider if there is room. */
export const cellMax = height => Math.round(height * 1.7);

/**
 * Return the fonts for a cell of the given height: `value` for its number, `written` for a number that this step wrote,
 * and `old` for the number that was overwritten.
 */
export const cellFonts = height => ({
  value: { size: Math.min(34, Math.round(height * 0.36)), mono: true },
  written: { size: Math.min(36, Math.round(height * 0.38)), mono: true, bold: true },
  old: { size: Math.max(12, Math.min(25, Math.round(height * 0.27))), mono: true },
});

const MOST_LINES = 4;

export const MOST_CELLS = 48;

/**
 * Arrange the cells of a storage in `avail` px. If all cells fit in one line or a few lines, each gets a slot. If not,
 * only the first and the last cells of tensors and writes get slots, and a gap between them shows the number of its
 * cells. A storage of more than MOST_CELLS cells is drawn as a whole, and its result also has a `kind` and a `height`.
 * The slots are {from, to, x, w, line}, where x is the distance in px from the left end of the line.
 * @returns {{slots: any[], lines: number, width: number, indexed: boolean, kind?: string, height?: number}}
 */
export function cellsOf(group, avail, length, height) {
  return getOrMake((group.cells ??= new Map()), `${avail} ${length} ${height} ${fontsKey()}`, () =>
    computeSlots(group, avail, length, height),
  );
}

function computeSlots(group, avail, n, height) {
  if (n > MOST_CELLS) return wholeSlots(group, avail, n, height);
  const { known, written, ends, rowEnds, joinedEnds, texts, row, writes } = group;
  const font = cellFonts(height)[writes ? 'written' : 'value'];
  const widest = Math.max(0, ...[...texts].map(s => widthOf(s, font)));
  const least = Math.min(WIDEST * height, avail, Math.max(CELL_MIN, widest + 8));
  const fits = Math.max(1, Math.floor(avail / least));
  const whole = n <= MOST_CELLS && [...known].filter(i => i < n).length === n;
  let perLine = n;
  if (n > fits) {
    const step = row && row <= fits ? row : 1;
    const most = Math.floor(fits / step) * step; // lines end where rows of the tensor end
    perLine = Math.min(most, Math.ceil(n / Math.ceil(n / most) / step) * step); // make lines of about the same length
  }
  if (n && whole && Math.ceil(n / perLine) <= MOST_LINES) {
    const w = Math.max(least, Math.min(cellMax(height), avail / perLine));
    const slots = Array.from({ length: n }, (_, i) => ({
      from: i,
      to: i,
      x: (i % perLine) * w,
      w,
      line: Math.floor(i / perLine),
    }));
    return { slots, lines: Math.ceil(n / perLine), width: perLine * w, indexed: false };
  }
  // choose the first and the last cell, then written cells, then cells that tensors read; a gap has room for its number
  const dots = widthOf('···', { size: 12 }) + 4;
  const countW = ([from, to]) => widthOf(countText(to - from + 1), { size: 12, bold: true }) + 7;
  const wish = part => (part[1] > part[0] ? Math.max(CELL_MIN, dots, countW(part)) : least);
  const keep = new Set();
  const total = parts => parts.reduce((sum, p) => sum + wish(p), 0);
  for (const i of [0, n - 1, ...written, ...ends, ...rowEnds, ...joinedEnds]) {
    if (i < 0 || i >= n || keep.has(i) || (known.size && !known.has(i))) continue;
    if (total(partsWithGaps([...keep, i], n)) <= avail || keep.size < 1) keep.add(i);
  }
  const parts = partsWithGaps([...keep], n);
  const stretch =
    Math.max(0, Math.min(parts.length * cellMax(height), avail) - total(parts)) / Math.max(1, parts.length);
  let x = 0;
  const slots = parts.map(part => {
    const w = Math.min(avail, wish(part)) + stretch;
    x += w;
    return { from: part[0], to: part[1], x: x - w, w, line: 0 };
  });
  return { slots, lines: 1, width: x, indexed: n > 1 };
}

/** Return the cells `keep` and the gaps between them, each as [from, to]. */
function partsWithGaps(keep, n) {
  const parts = [];
  let next = 0;
  for (const i of keep.sort((a, b) => a - b)) {
    if (i > next) parts.push([next, i - 1]);
    parts.push([i, i]);
    next = i + 1;
  }
  if (next < n) parts.push([next, n - 1]);
  return parts;
}

export const slotAt = (cells, i) => cells.slots.find(s => i >= s.from && i <= s.to);

export const MOST_RUNS = 12;

/**
 * Return the text beside a track for facts that the track does not show: that the tensor has no cells, how many runs it
 * has if they are not all drawn, and that it reads cells more than once.
 */
export function runsText(tensor) {
  const { total, each } = cellRuns(tensor, MOST_RUNS);
  const product = dims => dims.reduce((n, d) => n * d, 1);
  const [lo, hi] = cellBounds(tensor);
  const times = product(tensor.shape.filter((_, d) => !tensor.strides[d]));
  const twice = product(tensor.shape) / times > hi - lo + 1;
  const parts = [
    !total && t('no cells'),
    total > MOST_RUNS &&
      plural('{total} runs of one cell', '{total} runs of {count} cells', each, {
        total: countText(total),
        count: countText(each),
      }),
    times > 1 && t('each cell {count} times', { count: countText(times) }),
    twice && t('some cells several times'),
  ];
  return listed(parts.filter(Boolean));
}

/**
 * Return the pieces of a tensor's track, {line, x1, x2}: one for each run of cells and each line that the run covers. A
 * tensor with more than MOST_RUNS runs is treated as one run from its lowest to its highest cell. Cells in the runs
 * `taken` are left out.
 */
export function piecesOf(cells, tensor, taken = []) {
  const { runs, total } = cellRuns(tensor, MOST_RUNS);
  const pieces = [];
  const cut = (runs, [lo, hi]) =>
    runs.flatMap(([a, b]) =>
      hi < a || lo > b
        ? [[a, b]]
        : [
            [a, lo - 1],
            [hi + 1, b],
          ].filter(([x, y]) => x <= y),
    );
  for (const [first, last] of taken.reduce(cut, total > MOST_RUNS ? [cellBounds(tensor)] : runs)) {
    const a = cells.slots.indexOf(slotAt(cells, first));
    const b = cells.slots.indexOf(slotAt(cells, last));
    if (a < 0 || b < 0) continue;
    /** @type {{line: number, x1: number, x2: number} | null} */
    let piece = null;
    for (const s of cells.slots.slice(a, b + 1)) {
      if (piece && piece.line === s.line) piece.x2 = s.x + s.w;
      else pieces.push((piece = { line: s.line, x1: s.x, x2: s.x + s.w }));
    }
  }
  // merge pieces that overlap, because their runs are in the same gap
  return pieces.reduce((done, p) => {
    const met = done.find(q => q.line === p.line && q.x1 < p.x2 && p.x1 < q.x2);
    if (met) Object.assign(met, { x1: Math.min(met.x1, p.x1), x2: Math.max(met.x2, p.x2) });
    else done.push(p);
    return done;
  }, []);
}
