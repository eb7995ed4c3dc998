import { themeCss } from '../shared/colors.js';
import { px } from '../shared/shapes.js';
import { escapeHtml, hash, withoutBackticks } from '../shared/text.js';
import { referencesOfName, referencesTo } from '../trace/references.js';
import { depthOf, showsHistory } from './depth.js';
import { drawHistory } from './history-picture.js';
import { drawMemory } from './memory-picture.js';
import { EDGE, GAP, sizeOf } from './picture-size.js';
import { planOf } from './plan.js';

/**
 * Return the picture of one step, a complete SVG.
 *
 * `step` counts from 0, or from the end if it is negative; `depth` replaces the depth of the trace; `unfold` draws
 * every storage in full; `mark`, { storage: id } or { tensor: id }, rings these bytes and everything that refers to
 * them; `light`, a name, rings the name's tensor and the cells that the tensor reads. `room` is the largest height in
 * px. With `least`, everything in the pictures of a short program is as large as possible while the step at which the
 * program opens is at most `least` px high.
 */
export const picture = (trace, options = /** @type {any} */ ({})) => drawPicture(trace, options).svg;

/** Return the sizes of the parts of a picture. They are cached, because all steps of a program have the same sizes. */
export const measurePicture = (trace, { width = 760, depth, room = Infinity, least }) =>
  sizeOf(trace, planOf(trace), { width: widthOf(width), depth: depthOf(depth ?? trace.depth), room, least });

const widthOf = width => Math.max(272, Math.round(width));

export function drawPicture(
  trace,
  { variant = 0, step = -1, width = 760, depth, unfold = false, mark, light, room = Infinity, least },
) {
  const plan = planOf(trace);
  const frames = plan.runs[variant];
  const at = frames.at(step);
  const lit = light === undefined ? mark && referencesTo(at, mark) : referencesOfName(at, light);
  const frame = lit ? Object.assign(Object.create(at), { lit }) : at;
  const shown = widthOf(width);
  const seen = depthOf(depth ?? trace.depth);
  const { cell, zoom, margin, tallest } = measurePicture(trace, { width, depth, room, least });
  const W = Math.floor(shown / zoom);
  const view = { width: W, depth: seen, cell };
  const prefix = `m${hash(`${trace.title} ${variant} ${frame.step} ${W} ${unfold} ${seen}`)}`;
  const history = showsHistory(seen) ? drawHistory(plan, frame, variant, W) : { svg: '', height: 0 };
  const gap = history.height ? GAP : 0;
  const left = room / zoom - gap - history.height - EDGE;
  const memory = drawMemory(plan, frame, variant, view, prefix, unfold, left);
  const H = Math.ceil(memory.height + gap + history.height) + EDGE;
  const height = Math.ceil(H * zoom) + 2 * margin;
  const over = px(margin / zoom);
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" class="memory-picture" width="${shown}" height="${height}" ` +
    `viewBox="0 ${-over} ${W} ${px(H + 2 * over)}" role="img" aria-label="${escapeHtml(withoutBackticks(frame.say))}" ` +
    'style="font:13px var(--sans,sans-serif);background:none">' +
    `<style>${PICTURE_CSS}</style><defs>${memory.defs}</defs>${memory.svg}${
      history.height ? `<g class="history" transform="translate(0 ${px(memory.height + gap)})">${history.svg}</g>` : ''
    }</svg>`;
  return { svg, folded: memory.folded, height, tallest };
}

export const PICTURE_CSS =
  `${themeCss('.memory-picture')}.memory-picture{display:block;max-width:100%;height:auto;overflow:visible}` +
  '.memory-picture text{white-space:pre}.memory-picture .new{animation:memory-new .2s ease-out}' +
  '.memory-picture .flip{animation:memory-flip .26s ease-out;transform-box:fill-box;transform-origin:center}' +
  '@keyframes memory-new{from{opacity:0}}@keyframes memory-flip{from{transform:scaleY(0)}}' +
  '@media (prefers-reduced-motion:reduce){.memory-picture :is(.new,.flip){animation:none}}' +
  '@media print{.memory-picture *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}';
