/** The height of a picture and of its cells, which stay the same while a reader steps through a short program. */

import { getOrMake } from '../shared/cache.js';
import { fontsKey } from '../shared/measure.js';
import { showsHistory } from './depth.js';
import { historyHeight } from './history-picture.js';
import { columnsOf } from './memory-columns.js';
import { FOLD_H, groupGap, memoryLayout } from './memory-layout.js';

/** px between memory and history. */
export const GAP = 16;

/** Heights of a cell, in px, from which the largest that fits is taken. */
const CELLS = [88, 76, 66, 58, 50, 44];
const SMALLEST = CELLS[CELLS.length - 1];

/** All pictures are as high as the tallest one, if that is at most so many times as high as `least`. */
const MOST = 1.6;

/** Steps of all variants; the heights of a longer program are not computed in advance. */
const SHORT = 60;

/**
 * Return the size of the pictures of a trace: the height of a cell, the height of the tallest step, and the height of
 * all pictures, 0 if each has its own.
 * @param {any} plan
 * @param {{width: number, depth: import('./depth.js').Depth, room: number, least?: number}} wish
 * @returns {{cell: number, tallest: number, height: number}}
 */
export function sizeOf(plan, { width, depth, room, least }) {
  const steps = plan.runs.reduce((sum, frames) => sum + frames.length, 0);
  if (least === undefined || steps > SHORT) return { cell: SMALLEST, tallest: 0, height: 0 };
  const key = `${width} ${depth} ${room} ${least} ${fontsKey()}`;
  return getOrMake((plan.pictureSizes ??= new Map()), key, () => {
    const histories = plan.runs.map((frames, variant) =>
      frames.map(frame => (showsHistory(depth) ? historyHeight(plan, frame, variant, width) : 0)),
    );
    for (const cell of CELLS) {
      const tallest = tallestStep(plan, { width, depth, cell }, room, histories);
      if (tallest <= least) return { cell, tallest, height: least };
      if (cell === SMALLEST) return { cell, tallest, height: tallest <= MOST * least ? tallest : least };
    }
    throw new Error('CELLS is empty');
  });
}

function tallestStep(plan, view, room, histories) {
  const c = columnsOf(plan, view);
  const heights = plan.runs.flatMap((frames, variant) =>
    frames.map(frame => {
      const history = histories[variant][frame.step];
      const rest = history ? history + GAP : 0;
      const { list, folded } = memoryLayout(plan, frame, variant, c, view.width, false, room - rest - c.top);
      const sum = list.reduce((total, { height }) => total + height, 0);
      return rest + c.top + (folded.length ? sum + FOLD_H : Math.max(0, sum - groupGap(c)));
    }),
  );
  return Math.ceil(Math.max(...heights));
}
