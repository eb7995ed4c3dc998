export function rowMajor(shape) {
  const strides = Array(shape.length);
  for (let d = shape.length - 1, n = 1; d >= 0; n *= shape[d--]) strides[d] = n;
  return strides;
}

/** [3, 4, 5, 9] -> [[3, 5], [9, 9]] */
export function indexRuns(indexes) {
  const runs = [];
  for (const i of [...indexes].sort((a, b) => a - b)) {
    if (runs.length && runs.at(-1)[1] === i - 1) runs.at(-1)[1] = i;
    else runs.push([i, i]);
  }
  return runs;
}

/** The runs of neighbouring cells that a tensor reads, in reading order: the first `limit` of them, how many there are, and the cells of each.
    They are cut at the end of every row; with `join`, rows that meet are one run where there would be more than `limit`.
    Cells read again count once. */
export function cellRuns({ shape, strides, offset }, limit, join = true) {
  if (shape.includes(0)) return { runs: [], total: 0, each: 0 };
  const last = shape.length - 1;
  const count = dims => dims.reduce((n, [d]) => n * d, 1);
  const cut = dims => {
    const end = dims.at(-1) ?? [1, 1];
    return end[0] === 1 || Math.abs(end[1]) === 1 ? [dims.slice(0, -1), end] : [dims, [1, 1]];
  };
  const meet = dims =>
    dims.reduce((done, [n, s]) => {
      const up = done.at(-1);
      if (up?.[1] === n * s) done.pop();
      done.push([n * (up?.[1] === n * s ? up[0] : 1), s]);
      return done;
    }, []);
  const dims = shape.map((n, d) => (strides[d] ? [n, strides[d]] : [1, 1])).filter(([n], d) => n > 1 || d === last);
  let [outer, [each, way]] = cut(dims);
  if (join && count(outer) > limit) [outer, [each, way]] = cut(meet(dims.filter(([n]) => n > 1)));
  const total = count(outer);
  const runs = [];
  for (let r = 0; r < Math.min(total, limit); r++) {
    let rest = r;
    let at = offset + Math.min(0, (each - 1) * way);
    for (let d = outer.length - 1; d >= 0; d--) {
      at += (rest % outer[d][0]) * outer[d][1];
      rest = Math.floor(rest / outer[d][0]);
    }
    runs.push([at, at + each - 1]);
  }
  return { runs, total, each };
}

/** The lowest and the highest cell that a tensor reads. */
export function cellBounds(tensor) {
  let lo = tensor.offset;
  let hi = tensor.offset;
  tensor.shape.forEach((n, d) => {
    const far = (n - 1) * tensor.strides[d];
    if (far < 0) lo += far;
    else hi += far;
  });
  return [lo, hi];
}

/** Whether a tensor reads cell `k`, without listing the cells it reads. */
export function readsCell(tensor, k) {
  if (tensor.shape.includes(0)) return false;
  const dims = tensor.shape
    .map((n, d) => [n, Math.abs(tensor.strides[d])])
    .filter(([n, s]) => n > 1 && s)
    .sort((a, b) => b[1] - a[1]);
  const reach = dims.map((_, i) => dims.slice(i + 1).reduce((sum, [n, s]) => sum + (n - 1) * s, 0));
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  const steps = dims.map((_, i) => dims.slice(i).reduce((g, [, s]) => gcd(g, s), 0));
  const find = (i, rest) => {
    if (i === dims.length) return rest === 0;
    if (rest % steps[i]) return false;
    const [n, s] = dims[i];
    for (let q = Math.max(0, Math.ceil((rest - reach[i]) / s)); q <= Math.min(n - 1, Math.floor(rest / s)); q++) {
      if (find(i + 1, rest - q * s)) return true;
    }
    return false;
  };
  return find(0, k - cellBounds(tensor)[0]);
}

/** Whether two tensors of one storage read a cell in common, without listing the cells they read. */
export const shareCells = (a, b) =>
  !b.shape.includes(0) &&
  readsCell(
    { shape: [...a.shape, ...b.shape], strides: [...a.strides, ...b.strides.map(s => -s)], offset: a.offset },
    b.offset,
  );
