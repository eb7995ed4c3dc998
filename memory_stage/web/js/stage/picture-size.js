/** The size of everything in a picture, which is the same at every step of a program. */

import { getOrMake } from '../shared/cache.js';
import { fontsKey } from '../shared/measure.js';
import { showsHistory, showsTensors } from './depth.js';
import { historyHeight } from './history-picture.js';
import { columnsOf } from './memory-columns.js';
import { groupGap, memoryLayout } from './memory-layout.js';
import { restHeight } from './rest-picture.js';

/** The px that lines at the edges of a picture need. */
export const EDGE = 2;

/** The px between memory and history. */
export const GAP = 16;

/** Possible heights of a cell, in px. The largest that fits is used. */
const CELLS = [136, 120, 104, 88, 76, 66, 58, 50, 44];
const SMALLEST = CELLS[CELLS.length - 1];

/**
 * The most px above and below a picture that may be empty. There may be more on a phone, where the program is above.
 */
const MOST_MARGIN = { wide: 20, narrow: 76 };

/** The width in px below which a picture is treated as on a phone. */
const NARROW = 580;

/** Possible magnifications of the whole picture. */
const ZOOMS = [1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7];

/**
 * The width in px of the narrowest picture to magnify. If tensors are shown, it needs the arrangement of a wide
 * picture.
 */
const NARROWEST = { names: 272, tensors: 580 };

/** The most steps of all variants for which heights are computed in advance. */
const SHORT = 60;

/** The most storages of all variants in a picture that is magnified. */
const MANY = 1000;

/**
 * Return the size of the pictures of a trace: the height of a cell, the magnification of everything, the px that are
 * empty over and under each picture, and the height of the tallest step in px (0 if it is not known). Everything is as
 * large as it can be while the step at which the trace opens is at most `least` px high, and every step with all its
 * storages at most `room` px. If that is not possible, the cells are the smallest.
 * @param {any} trace
 * @param {any} plan
 * @param {{width: number, depth: import('./depth.js').Depth, room: number, least?: number}} wish
 * @returns {{cell: number, zoom: number, margin: number, tallest: number}}
 */
export function sizeOf(trace, plan, { width, depth, room, least }) {
  const steps = plan.runs.reduce((sum, frames) => sum + frames.length, 0);
  const isLong = steps > SHORT || plan.groups.size > MANY;
  if (least === undefined || isLong) return { cell: SMALLEST, zoom: 1, margin: 0, tallest: 0 };
  const key = `${width} ${depth} ${room} ${least} ${fontsKey()}`;
  return getOrMake((plan.pictureSizes ??= new Map()), key, () => {
    plan.found = new Map(); // values that the layouts of a step have in common, independent of their size
    try {
      return bestSize(trace, plan, width, depth, room, least);
    } finally {
      delete plan.found;
    }
  });
}

function bestSize(trace, plan, width, depth, room, least) {
  const narrowest = showsTensors(depth) ? NARROWEST.tensors : NARROWEST.names;
  const opening = openingFrames(trace, plan);
  const all = plan.runs.flatMap((frames, variant) => frames.map(frame => ({ variant, frame })));
  const heightOf = (moments, view, zoom, most = room) =>
    zoom * Math.max(...moments.map(moment => stepHeight(plan, moment, view, most / zoom)));
  const viewOf = (zoom, cell) => ({ width: Math.floor(width / zoom), depth, cell });
  let best = { cell: SMALLEST, zoom: 1, height: 0 };
  for (const zoom of ZOOMS) {
    if (zoom > 1 && width / zoom < narrowest) break;
    for (const cell of CELLS) {
      const height = heightOf(opening, viewOf(zoom, cell), zoom);
      if (height > least) continue;
      if (height <= best.height) break;
      if (heightOf(all, viewOf(zoom, cell), zoom, Infinity) > room) continue;
      best = { cell, zoom, height };
      break;
    }
  }
  const { cell, zoom, height } = best;
  const empty = least - (height || heightOf(opening, viewOf(zoom, cell), zoom));
  const most = width < NARROW ? MOST_MARGIN.narrow : MOST_MARGIN.wide;
  const tallest = Math.ceil(heightOf(all, viewOf(zoom, cell), zoom));
  const margin = Math.floor(Math.max(0, Math.min(most, empty / 2, (room - tallest) / 2)));
  return { cell, zoom, margin, tallest: tallest + 2 * margin };
}

/** Return the step that a trace shows first, or all steps if the trace does not contain one. */
function openingFrames({ variants, opens }, plan) {
  const variant = Math.max(
    0,
    variants.findIndex(({ id }) => id === opens),
  );
  const { key } = variants[variant];
  const frames = plan.runs[variant];
  return (key === undefined ? frames : [frames[key]]).map(frame => ({ variant, frame }));
}

/** Return the height of a step without drawing it. */
function stepHeight(plan, { variant, frame }, view, room) {
  const c = columnsOf(plan, view);
  const history = showsHistory(view.depth) ? historyHeight(plan, frame, variant, view.width) : 0;
  const rest = history ? history + GAP : 0;
  const { list, folded } = memoryLayout(plan, frame, variant, c, view.width, false, room - rest - c.top - EDGE);
  const sum = list.reduce((total, { height }) => total + height, 0);
  return (
    Math.ceil(rest + c.top + (folded.length ? sum + restHeight(folded.length) : Math.max(0, sum - groupGap(c)))) + EDGE
  );
}
