/** The functions that compute the cells of a tensor agree with a list of all its cells. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  cellBounds,
  cellRuns,
  indexRuns,
  readsCell,
  rowMajor,
  shareCells,
} from '../../../memory_stage/web/js/trace/cells.js';

/** Return the cell of every element, in reading order. */
function allCells({ shape, strides, offset }) {
  return shape.reduce(
    (cells, n, d) => cells.flatMap(cell => Array.from({ length: n }, (_, i) => cell + i * strides[d])),
    [offset],
  );
}

/** Return a random number generator with a seed, so that every run tests the same views. */
function randomOf(seed) {
  let state = seed;
  return most => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % most;
  };
}

/** Return random views of up to three dimensions, with negative, zero and overlapping strides. */
function randomViews(count) {
  const random = randomOf(7);
  return Array.from({ length: count }, () => {
    const shape = Array.from({ length: random(4) }, () => random(5));
    const strides = shape.map(() => random(9) - 3);
    return { shape, strides, offset: 20 + random(10) };
  });
}

const VIEWS = randomViews(3000);

test('rowMajor returns the strides of a contiguous tensor', () => {
  assert.deepEqual(rowMajor([2, 3, 4]), [12, 4, 1]);
  assert.deepEqual(rowMajor([]), []);
  assert.deepEqual(allCells({ shape: [2, 3], strides: rowMajor([2, 3]), offset: 0 }), [0, 1, 2, 3, 4, 5]);
});

test('neighbouring indexes become one run', () => {
  assert.deepEqual(indexRuns([9, 4, 3, 5]), [[3, 5], [9, 9]]); // prettier-ignore
  assert.deepEqual(indexRuns([]), []);
});

test('a tensor reads the cells of its elements and no others', () => {
  for (const view of VIEWS) {
    const cells = new Set(allCells(view));
    for (let cell = 0; cell < 60; cell++) {
      assert.equal(readsCell(view, cell), cells.has(cell), `${JSON.stringify(view)}, cell ${cell}`);
    }
  }
});

test('the bounds of a tensor are the lowest and the highest cell that it reads', () => {
  for (const view of VIEWS.filter(({ shape }) => !shape.includes(0))) {
    const cells = allCells(view);
    assert.deepEqual(cellBounds(view), [Math.min(...cells), Math.max(...cells)], JSON.stringify(view));
  }
});

test('two tensors share cells if a cell is in the lists of both', () => {
  VIEWS.forEach((a, i) => {
    const b = VIEWS[(i + 1) % VIEWS.length];
    const cells = new Set(allCells(a));
    assert.equal(
      shareCells(a, b),
      allCells(b).some(cell => cells.has(cell)),
      JSON.stringify([a, b]),
    );
  });
});

test('runs cover the cells of a tensor, and all runs are counted even beyond the limit', () => {
  for (const view of VIEWS) {
    const { runs, total, each } = cellRuns(view, 1000);
    const covered = runs.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
    assert.deepEqual(new Set(covered), new Set(allCells(view)), JSON.stringify(view));
    assert.equal(total, runs.length);
    assert.ok(runs.every(([first, last]) => last - first + 1 === each));
    assert.deepEqual(cellRuns(view, 2, false), { runs: cellRuns(view, 1000, false).runs.slice(0, 2), total: cellRuns(view, 1000, false).total, each: cellRuns(view, 1000, false).each }); // prettier-ignore
  }
});

test('rows without a gap between them become one run only if there are more runs than the limit', () => {
  const matrix = { shape: [4, 3], strides: [3, 1], offset: 0 };
  assert.deepEqual(cellRuns(matrix, 4).total, 4);
  assert.deepEqual(cellRuns(matrix, 3), { runs: [[0, 11]], total: 1, each: 12 });
  assert.deepEqual(cellRuns({ shape: [3, 2], strides: [4, 1], offset: 5 }, 8).runs, [[5, 6], [9, 10], [13, 14]]); // prettier-ignore
});
