/** Compute the sizes of the parts of a picture, which are the same at every step of a program. */

import { getOrMake } from '../shared/cache.js';
import { fontsKey } from '../shared/measure.js';
import { showsHistory, showsTensors } from './depth.js';
import { historyHeight } from './history-picture.js';
import { columnsOf } from './memory-columns.js';
import { groupGap, memoryLayout } from './memory-layout.js';
import { restHeight } from './rest-picture.js';

/** The px that lines need at the edges of a picture. */
export const EDGE = 2;

/** The height in px of the gap between memory and history. */
export const GAP = 16;

/** Possible heights of a cell, in px. The largest that fits is used. */
const CELLS = [136, 120, 104, 88, 76, 66, 58, 50, 44];
const SMALLEST = CELLS[CELLS.length - 1];

/**
 * The most px that may be empty above a picture, and below it. On a phone, where the program is above the picture,
 * there may be more.
 */
const MOST_MARGIN = { wide: 20, narrow: 76 };

/** A picture that is narrower than this, in px, is treated as if it were on a phone. */
const NARROW = 580;

/** Possible magnifications of the whole picture. */
const ZOOMS = [1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7];

/**
 * A picture is magnified only if its width in px, divided by the magnification, is at least this. A picture with
 * tensors must remain wide enough for the arrangement of a wide picture.
 */
const NARROWEST = { names: 272, tensors: 580 };

/** If all variants together have more steps than this, their heights are not computed in advance. */
const SHORT = 60;

/** If all variants together have more storages than this, heights are not computed in advance, either. */
const MANY = 1000;

/**
 * Return the sizes of the pictures of a trace: `cell`, the height of a cell; `zoom`, the magnification of everything;
 * `margin`, the empty px above and below each picture; and `tallest`, the height of the tallest step in px (0 if it is
 * not known). Everything is as large as possible while the step at which the trace opens is at most `least` px high,
 * and every step with all its storages is at most `room` px high. If that is impossible, if `least` is undefined, or if
 * the trace is long, cells have the smallest height and nothing is magnified.
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
    plan.found = new Map(); // caches the values of a step that do not depend on the size of its layout
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

/** Return the step at which a trace opens or, if the trace names none, all steps of the variant that opens. */
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
