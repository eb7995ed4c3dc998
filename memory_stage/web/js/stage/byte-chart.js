import { beginsAs, numberIn, t } from '../shared/messages.js';
import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { px, stroke, svgPath, svgRect, svgText } from '../shared/shapes.js';
import { planOf } from './plan.js';

/**
 * Return the text above the bar of a step: the number of its line or, in backward, "←" and the line of the operation
 * that the gradient passes, "×" for an error, or the word "done" at the end.
 */
function tickOf(steps, step) {
  const { line, phase, say, events } = steps[step];
  if (phase !== 'backward') return String(line);
  if (events.some(e => e.do === 'raise')) return '×';
  if (beginsAs(say, '`backward` is done: {leaves}.')) return t('done');
  return `←${numberIn(say, '{operation} (line {line})', 'line') ?? line}`;
}

/**
 * Draw the bytes of each step so far as a bar, and their peak as a line. `inset` is the distance in px from the left
 * edge to the middle of the first bar.
 */
export function chart(trace, { variant = 0, step = -1, width = 372, inset = 22 } = {}) {
  const plan = planOf(trace);
  const { steps } = trace.variants[variant];
  const n = steps.length;
  const at = step < 0 ? n + step : step;
  const H = 52;
  const base = 22 + H;
  const y = b => base - Math.min(1, b / plan.topBytes) * (H - 4);
  const pitch = n === 1 ? width : (width - 2 * inset) / (n - 1);
  const x = step => (n === 1 ? inset : inset + step * pitch);
  const barW = Math.max(1.5, Math.min(36, pitch - Math.min(4, pitch / 4)));
  const reserves = steps.some(s => s.reserved !== undefined && s.reserved <= plan.topBytes);
  let out = svgPath(`M0 ${base}H${width}`, stroke('line', 1));
  let peak = '';
  let reserved = '';
  let past = '';
  const stair = (d, step, b) =>
    `${d}${step ? `H${px(x(step) - pitch / 2)}V${px(y(b))}` : `M${px(Math.max(0, x(0) - barW / 2))} ${px(y(b))}`}`;
  steps.slice(0, at + 1).forEach((s, step) => {
    if (step === at) {
      out += svgRect(x(step) - barW / 2, y(s.allocated), barW, base - y(s.allocated), `fill:${paint('ink')}`);
    } else past += `M${px(x(step) - barW / 2)} ${base}V${px(y(s.allocated))}h${px(barW)}V${base}`;
    peak = stair(peak, step, s.peak);
    if (reserves) reserved = stair(reserved, step, s.reserved ?? 0);
  });
  // all bars are one shape, because hundreds of shapes take a browser longer than everything else in the chart
  if (past) out += `<path d="${past}" style="fill:${paint('line')}"/>`;
  const end = `H${px(Math.min(width, x(at) + barW / 2))}`;
  if (reserves) out += svgPath(reserved + end, stroke('line', 1.5, '2 3'));
  out += svgPath(peak + end, stroke('ink', 2));
  let free = -99; // the right end of the last text; a text that would overlap it is left out
  const label = step => tickOf(steps, step);
  const put = step => {
    out += svgText(x(step), 12, label(step), {
      size: 12,
      mono: true,
      bold: step === at,
      color: step === at ? 'ink' : 'muted',
      anchor: 'middle',
    });
  };
  const room = step => widthOf(label(step), { size: 12, mono: true }) / 2 + 3;
  const lo = x(at) - room(at);
  const hi = x(at) + room(at);
  steps.forEach((_, step) => {
    const a = x(step) - room(step);
    const b = x(step) + room(step);
    if (step !== at && (a < free || (b > lo && a < hi) || (n > 20 && step % Math.ceil(n / 12)))) return;
    put(step);
    free = b;
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" class="memory-picture" width="${width}" height="${base + 2}" ` +
    `viewBox="0 0 ${width} ${base + 2}" role="img" aria-label="${t('Bytes allocated at each step so far, and their peak')}" ` +
    `style="font:13px var(--sans,sans-serif)">${out}</svg>`
  );
}
