import { themeCss } from '../shared/colors.js';
import { px } from '../shared/shapes.js';
import { escapeHtml, hash, withoutBackticks } from '../shared/text.js';
import { referencesOfName, referencesTo } from '../trace/references.js';
import { drawHistory } from './history-picture.js';
import { drawMemory } from './memory-picture.js';
import { planOf } from './plan.js';

/**
 * The picture of one step: a complete SVG. `step` counts from 0 (negative: from the end); `unfold` draws every storage;
 * `mark`, { storage: id } or { tensor: id }, rings those bytes and all that refer to them; `light`, a name, rings what
 * it stands for; `room` is how many px high it should be at most.
 */
export const picture = (trace, options = /** @type {any} */ ({})) => drawPicture(trace, options).svg;

export function drawPicture(
  trace,
  { variant = 0, step = -1, width = 760, unfold = false, mark, light, room = Infinity },
) {
  const plan = planOf(trace);
  const frames = plan.runs[variant];
  const at = frames.at(step);
  const lit = light === undefined ? mark && referencesTo(at, mark) : referencesOfName(at, light);
  const frame = lit ? Object.assign(Object.create(at), { lit }) : at;
  const W = Math.max(272, Math.round(width));
  const prefix = `m${hash(`${trace.title} ${variant} ${frame.step} ${W} ${unfold}`)}`;
  const history = drawHistory(plan, frame, variant, W);
  const gap = history.height ? 16 : 0;
  const memory = drawMemory(plan, frame, variant, W, prefix, unfold, room - gap - history.height);
  const H = Math.ceil(memory.height + gap + history.height) + 2;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" class="memory-picture" width="${W}" height="${H}" ` +
    `viewBox="0 0 ${W} ${H}" role="img" aria-label="${escapeHtml(withoutBackticks(frame.say))}" ` +
    'style="font:13px var(--sans,sans-serif);background:none">' +
    `<style>${PICTURE_CSS}</style><defs>${memory.defs}</defs>${memory.svg}${
      history.height ? `<g transform="translate(0 ${px(memory.height + gap)})">${history.svg}</g>` : ''
    }</svg>`;
  return { svg, folded: memory.folded, height: H };
}

export const PICTURE_CSS =
  `${themeCss('.memory-picture')}.memory-picture{display:block;max-width:100%;height:auto;overflow:visible}` +
  '.memory-picture text{white-space:pre}.memory-picture .new{animation:memory-new .2s ease-out}' +
  '@keyframes memory-new{from{opacity:0}}@media (prefers-reduced-motion:reduce){.memory-picture .new{animation:none}}' +
  '@media print{.memory-picture *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}';
