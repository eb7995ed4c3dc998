/** The cells that a tensor reads, computed from shape, strides and offset without listing them. */

/** @typedef {import('./types.d.ts').View} View */
/** @typedef {import('./types.d.ts').Run} Run */
/** @typedef {[size: number, stride: number]} Dimension */

/**
 * Return the strides of a contiguous tensor.
 * @param {number[]} shape
 */
export function rowMajor(shape) {
  const strides = Array(shape.length);
  for (let d = shape.length - 1, n = 1; d >= 0; n *= shape[d--]) strides[d] = n;
  return strides;
}

/**
 * Return the runs of neighbouring indexes: [[3, 5], [9, 9]] for [3, 4, 5, 9].
 * @param {Iterable<number>} indexes
 */
export function indexRuns(indexes) {
  /** @type {Run[]} */
  const runs = [];
  for (const i of [...indexes].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last?.[1] === i - 1) last[1] = i;
    else runs.push([i, i]);
  }
  return runs;
}

/**
 * Split off the innermost dimension if its elements are neighbours. Otherwise return all dimensions as outer ones, and
 * an innermost dimension of one element.
 * @param {Dimension[]} dims
 * @returns {[Dimension[], Dimension]}
 */
function splitRow(dims) {
  const last = dims.at(-1) ?? [1, 1];
  const isRow = last[0] === 1 || Math.abs(last[1]) === 1;
  return isRow ? [dims.slice(0, -1), last] : [dims, [1, 1]];
}

/**
 * Merge each dimension with the next outer one if the outer stride is the product of the inner size and stride, so
 * that there is no gap between the inner rows.
 * @param {Dimension[]} dims
 */
function mergeRows(dims) {
  /** @type {Dimension[]} */
  const merged = [];
  for (const [size, stride] of dims) {
    const outer = merged.at(-1);
    if (outer?.[1] === size * stride) merged.splice(-1, 1, [size * outer[0], stride]);
    else merged.push([size, stride]);
  }
  return merged;
}

/** @param {Dimension[]} dims */
const count = dims => dims.reduce((n, [size]) => n * size, 1);

/**
 * Return the runs of neighbouring cells that a tensor reads, in reading order: `runs`, which are the first `limit` of
 * them; `total`, the number of all runs; and `each`, the number of cells in a run. Each row is a run if its cells are
 * neighbours; otherwise each cell is a run. If that makes more than `limit` runs and `join` is true, rows without a gap
 * between them become one run. A dimension with stride 0 adds no runs, because it reads the same cells again.
 * @param {View} view
 * @param {number} limit
 * @param {boolean} [join]
 */
export function cellRuns({ shape, strides, offset }, limit, join = true) {
  if (shape.includes(0)) return { runs: [], total: 0, each: 0 };
  const all = shape.map((n, d) => /** @type {Dimension} */ (strides[d] ? [n, strides[d]] : [1, 1]));
  const dims = all.filter(([n], d) => n > 1 || d === shape.length - 1);
  let [outer, [each, stride]] = splitRow(dims);
  if (join && count(outer) > limit) [outer, [each, stride]] = splitRow(mergeRows(dims.filter(([n]) => n > 1)));
  const total = count(outer);
  /** @type {Run[]} */
  const runs = [];
  for (let r = 0; r < Math.min(total, limit); r++) {
    let rest = r;
    let first = offset + Math.min(0, (each - 1) * stride);
    for (const [size, step] of outer.toReversed()) {
      first += (rest % size) * step;
      rest = Math.floor(rest / size);
    }
    runs.push([first, first + each - 1]);
  }
  return { runs, total, each };
}

/**
 * Return the lowest and the highest cell that a tensor reads.
 * @param {View} view
 * @returns {Run}
 */
export function cellBounds({ shape, strides, offset }) {
  const spans = shape.map((n, d) => (n - 1) * strides[d]);
  const sum = test => spans.filter(test).reduce((total, span) => total + span, 0);
  return [offset + sum(span => span < 0), offset + sum(span => span > 0)];
}

/** @type {(a: number, b: number) => number} */
const gcd = (a, b) => (b ? gcd(b, a % b) : a);

/**
 * True if a tensor reads a cell, that is, if the cell's distance from the lowest cell that the tensor reads is a sum of
 * one multiple of each stride, in which every factor is less than the size of its dimension.
 * @param {View} view
 * @param {number} cell
 */
export function readsCell(view, cell) {
  if (view.shape.includes(0)) return false;
  const all = view.shape.map((n, d) => /** @type {Dimension} */ ([n, Math.abs(view.strides[d])]));
  const dims = all.filter(([n, stride]) => n > 1 && stride).sort((a, b) => b[1] - a[1]);
  const reach = dims.map((_, i) => dims.slice(i + 1).reduce((sum, [n, stride]) => sum + (n - 1) * stride, 0));
  const divisors = dims.map((_, i) => dims.slice(i).reduce((g, [, stride]) => gcd(g, stride), 0));
  const isSum = (i, rest) => {
    if (i === dims.length) return rest === 0;
    if (rest % divisors[i]) return false;
    const [n, stride] = dims[i];
    const most = Math.min(n - 1, Math.floor(rest / stride));
    for (let q = Math.max(0, Math.ceil((rest - reach[i]) / stride)); q <= most; q++) {
      if (isSum(i + 1, rest - q * stride)) return true;
    }
    return false;
  };
  return isSum(0, cell - cellBounds(view)[0]);
}

/**
 * True if two tensors of one storage read a cell in common: `a.offset + i · a.strides = b.offset + j · b.strides` for
 * some indexes `i` of `a` and `j` of `b`. This is the case if a tensor with the dimensions of both, the offset of `a`
 * and the negated strides of `b` reads the cell `b.offset`.
 * @param {View} a
 * @param {View} b
 */
export function shareCells(a, b) {
  if (b.shape.includes(0)) return false;
  const strides = [...a.strides, ...b.strides.map(stride => -stride)];
  return readsCell({ shape: [...a.shape, ...b.shape], strides, offset: a.offset }, b.offset);
}
