/* The pictures, as text: pure functions of a trace, the same in a page, in a notebook and in a V8 without a page. */

/** The picture of one step: a complete SVG. `step` counts from 0 (negative: from the end); `unfold` draws every storage; `mark`,
    { storage: id } or { tensor: id }, rings those bytes and all that refer to them; `light`, a name, rings what it stands for;
    `room` is how many px high it should be at most. */
const picture = (trace, options = {}) => drawPicture(trace, options).svg;

function drawPicture(trace, { variant = 0, step = -1, width = 760, unfold = false, mark, light, room = Infinity }) {
  const plan = planOf(trace), frames = plan.runs[variant], at = frames.at(step), lit = light === undefined ? mark && whoRefers(at, mark) : litBy(at, light), f = lit ? Object.assign(Object.create(at), { lit }) : at, W = Math.max(272, Math.round(width));
  const uid = `m${hashOf(`${trace.title} ${variant} ${f.step} ${W} ${unfold}`)}`;
  const history = drawHistory(plan, f, variant, W), gap = history.height ? 16 : 0;
  const memory = drawMemory(plan, f, variant, W, uid, unfold, room - gap - history.height);
  const H = Math.ceil(memory.height + gap + history.height) + 2;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" class="memory-picture" width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" role="img" aria-label="${esc(plain(f.say))}" style="font:13px var(--sans,sans-serif);background:none">` +
    `<style>${PICTURE_CSS}</style><defs>${memory.defs}</defs>${memory.svg}` +
    (history.height ? `<g transform="translate(0 ${px(memory.height + gap)})">${history.svg}</g>` : '') + '</svg>';
  return { svg, folded: memory.folded, height: H };
}

const PICTURE_CSS = `${themeCss('.memory-picture')}.memory-picture{display:block;max-width:100%;height:auto;overflow:visible}` +
  '.memory-picture text{white-space:pre}.memory-picture .new{animation:memory-new .2s ease-out}@keyframes memory-new{from{opacity:0}}' +
  '@media (prefers-reduced-motion:reduce){.memory-picture .new{animation:none}}@media print{.memory-picture *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}';

/** What stands under a step: its line; of backward the line whose operation the gradient passes, and how it ends. */
function tickOf(steps, k) {
  const { line, phase, say, events } = steps[k];
  if (phase !== 'backward') return String(line);
  if (events.some(e => e.do === 'raise')) return '×';
  if (/^`backward` is done/.test(say)) return 'done';
  return `←${say.match(/\(line (\d+)\)/)?.[1] ?? line}`;
}

/** Bytes over steps: a bar for each step so far, the peak as a line; `inset` is where the first bar's middle stands. */
function chart(trace, { variant = 0, step = -1, width = 372, inset = 22 } = {}) {
  const plan = planOf(trace), { steps } = trace.variants[variant], n = steps.length, at = step < 0 ? n + step : step;
  const H = 52, base = 22 + H, y = b => base - Math.min(1, b / plan.topBytes) * (H - 4), pitch = n === 1 ? width : (width - 2 * inset) / (n - 1);
  const x = k => n === 1 ? inset : inset + k * pitch, barW = Math.max(1.5, Math.min(36, pitch - Math.min(4, pitch / 4)));
  const reserves = steps.some(s => s.reserved !== undefined && s.reserved <= plan.topBytes);
  let out = P(`M0 ${base}H${width}`, stroke('line', 1)), peak = '', reserved = '', past = '';
  const stair = (d, k, b) => `${d}${k ? `H${px(x(k) - pitch / 2)}V${px(y(b))}` : `M${px(Math.max(0, x(0) - barW / 2))} ${px(y(b))}`}`;
  steps.slice(0, at + 1).forEach((s, k) => {
    if (k === at) out += R(x(k) - barW / 2, y(s.allocated), barW, base - y(s.allocated), `fill:${C('ink')}`);
    else past += `M${px(x(k) - barW / 2)} ${base}V${px(y(s.allocated))}h${px(barW)}V${base}`;
    peak = stair(peak, k, s.peak);
    if (reserves) reserved = stair(reserved, k, s.reserved ?? 0);
  });
  if (past) out += `<path d="${past}" style="fill:${C('line')}"/>`;   // one shape: hundreds of bars take a browser longer than all the rest
  const end = `H${px(Math.min(width, x(at) + barW / 2))}`;
  if (reserves) out += P(reserved + end, stroke('line', 1.5, '2 3'));
  out += P(peak + end, stroke('ink', 2));
  let free = -99;                                      // line numbers, as many as fit
  const label = k => tickOf(steps, k);
  const put = k => { out += T(x(k), 12, label(k), { size: 12, mono: true, bold: k === at, color: k === at ? 'ink' : 'muted', anchor: 'middle' }); };
  const room = k => widthOf(label(k), { size: 12, mono: true }) / 2 + 3, lo = x(at) - room(at), hi = x(at) + room(at);
  steps.forEach((_, k) => {
    const a = x(k) - room(k), b = x(k) + room(k);
    if (k !== at && (a < free || (b > lo && a < hi) || (n > 20 && k % Math.ceil(n / 12)))) return;
    put(k); free = b;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" class="memory-picture" width="${width}" height="${base + 2}" viewBox="0 0 ${width} ${base + 2}" role="img" aria-label="Bytes allocated at each step so far, and their peak" style="font:13px var(--sans,sans-serif)">${out}</svg>`;
}
