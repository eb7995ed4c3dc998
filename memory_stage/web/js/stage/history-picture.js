import { t } from '../shared/messages.js';
import { paint } from '../shared/colors.js';
import { getOrMake } from '../shared/cache.js';
import { fontsKey, widthOf } from '../shared/measure.js';
import {
  arrowHead,
  changeMark,
  cross,
  fadeIn,
  focusRing,
  px,
  rounded,
  stroke,
  svgPath,
  svgRect,
  svgText,
  taggedGroup,
} from '../shared/shapes.js';
import { andList, bytesText, listed } from '../shared/text.js';
import { isOverwritten } from '../trace/references.js';
import { edgePoints } from './history-edges.js';
import { extraNames, generationsOf, makersOf, membersOf, savedWords, stateAt, titleOf } from './history-generations.js';
import { BOX_H, historyLayout, PILL_H, STACK } from './history-layout.js';
import { tensorName } from './labels.js';
import { windowOf } from './plan.js';

/** Return the layout of the history at a step; undefined if the history is empty. */
function layoutAt(plan, frame, variant, width) {
  const { list, at } = generationsOf(plan, variant);
  const gen = list[at[frame.step]];
  const [a, b] = windowOf(plan.runs[variant], frame.step);
  // all steps of one backward pass, of which there may be hundreds, share one layout
  const make = () => layoutOfSteps(plan, variant, gen, a, b, width) ?? null;
  const key = `${variant} ${a} ${at[frame.step]} ${width} ${fontsKey()}`;
  const layout = a === b ? make() : getOrMake((plan.histories ??= new Map()), key, make);
  return layout ? { gen, layout } : undefined;
}

/** Return the layout that the history has at those steps from `a` to `b` that show the generation `gen`. */
function layoutOfSteps(plan, variant, gen, a, b, width) {
  const { list, at, named } = generationsOf(plan, variant);
  const steps = Array.from({ length: b - a + 1 }, (_, i) => a + i).filter(step => list[at[step]] === gen);
  const last = plan.runs[variant][steps.at(-1)];
  if (!last.states.size || !gen.states.size) return undefined;
  return historyLayout(gen, width, {
    isThere: key => (key.members ? membersOf(key, last).length > 0 : stateAt({ key }, last, gen) !== undefined),
    who: new Set(steps.flatMap(step => [...named[step]])),
    grads: [...gen.grads.keys()].some(id => last.states.get(id)?.grad !== undefined),
    groups: [...last.groups.values()],
  });
}

const HEAD = 30; // the height in px of the title of the history

/** Return the height of the history at a step. All steps of one backward pass have the same height. */
export function historyHeight(plan, frame, variant, width) {
  const { layout } = layoutAt(plan, frame, variant, width) ?? {};
  return layout ? HEAD + layout.reduce((sum, band) => sum + band.height + 16, 0) - 20 : 0;
}

export function drawHistory(plan, frame, variant, width) {
  const { gen, layout } = layoutAt(plan, frame, variant, width) ?? {};
  if (!layout) return { svg: '', height: 0 };
  const labelX = widthOf(t('history'), { bold: true }) + 10;
  const flight = frame.flight ? t('gradients in flight: {size}', { size: bytesText(frame.flight) }) : '';
  const flightW = widthOf(flight, { size: 12 });
  let out = svgPath(`M0 0.5H${width}`, stroke('rule', 1)) + svgText(0, 22, t('history'), { bold: true });
  const words = t('memory states, and the operations between them');
  if (labelX + widthOf(words, { size: 12 }) + flightW + 12 < width) {
    out += svgText(labelX, 22, words, { size: 12, color: 'muted' });
  }
  if (flight) out += svgText(width, 22, flight, { size: 12, anchor: 'end' });
  let y = HEAD;
  for (const band of layout) {
    out += `<g transform="translate(0 ${px(y)})">${drawBand(gen, band, frame, width)}</g>`;
    y += band.height + 16;
  }
  return { svg: out, height: y - 20 };
}

/** Return the longest text that fits between lines and boxes at the bottom of a group's frame, and the text's x. */
function groupLabel(fam, band, x1, right, top, bottom, width) {
  const inside = p => p.y + BOX_H / 2 > top && p.y - BOX_H / 2 < bottom;
  const beside = band.spots.filter(p => inside(p) && p.x - p.w / 2 > right - 7).map(p => p.x - p.w / 2 - 6);
  const lines = band.edges.flatMap(e => {
    const at = edgePoints(e, band);
    return at.slice(1).map(([x, y], i) => [x, at[i][0], y, at[i][1]]);
  });
  const crossing = lines
    .filter(([, , a, b]) => Math.min(a, b) < bottom - 2 && Math.max(a, b) > bottom - 20)
    .map(([a, b]) => [Math.min(a, b) - 5, Math.max(a, b) + 5]);
  const most = Math.min(width - 0.5, ...beside) - 8;
  for (const text of [
    t('one history for {names}', { names: andList(fam.names.map(tensorName)) }),
    t('one history: {names}', { names: listed(fam.names.map(tensorName)) }),
    t('one history'),
  ]) {
    const w = widthOf(text, { size: 12 });
    const x = [x1 + 10, ...crossing.map(c => c[1])]
      .sort((a, b) => a - b)
      .find(x => x >= x1 + 10 && x + w <= most && !crossing.some(([a, b]) => a < x + w && x < b));
    if (x !== undefined) return [text, x];
  }
  return ['', x1];
}

function drawBand(gen, band, frame, width) {
  let out = '';
  for (const fam of frame.groups.values()) {
    const mine = fam.states.map(s => band.at.get(s)).filter(p => p && frame.states.has(p.key));
    const own = band.spots.filter(
      p =>
        p.node &&
        fam.states.includes(p.key.out) &&
        p.key.ins.some(s => fam.states.includes(s)) &&
        membersOf(p.key, frame).length,
    );
    const spots = [...mine.filter(p => !p.ghost), ...own];
    if (!spots.length || fam.names.length < 2) continue;
    const rows = spots.map(p => p.row);
    const x1 = Math.max(0.5, Math.min(...spots.map(p => p.x - p.slot / 2)) - 7);
    const right = Math.max(...spots.map(p => p.x + p.slot / 2 + 7));
    const top =
      Math.min(...rows.map(r => band.rowY[r])) -
      Math.max(BOX_H / 2 + 7, ...spots.map(p => (band.grads && p.low && !p.below ? p.lift + 41 : 0)));
    const bottom =
      Math.max(...rows.map(r => band.rowY[r])) +
      Math.max(
        BOX_H / 2,
        ...spots.map(p => (band.grads && p.below ? p.lift + 36 : PILL_H / 2) + (band.who.has(p.key) ? 20 : 0)),
      ) +
      22;
    const [label, lx] = groupLabel(fam, band, x1, right, top, bottom, width);
    const x2 = Math.min(width - 0.5, Math.max(right, lx + widthOf(label, { size: 12 }) + 10));
    out +=
      svgRect(x1, top, x2 - x1, bottom - top, `fill:${paint('wash')};${stroke('line', 1, '2 3')}`, 6) +
      svgText(lx, bottom - 7, label, { size: 12, color: 'muted' });
  }
  for (const e of band.edges) {
    const node = e.out ? e.from : e.to;
    const members = membersOf(node.key, frame);
    if (!members.length) continue;
    const state = e.out ? e.to : e.from;
    if (!stateAt(state, frame, gen)) continue;
    out += drawEdge(e, band, members, frame);
  }
  for (const p of band.spots) {
    if (p.node) {
      const members = membersOf(p.key, frame);
      if (members.length) out += drawItem(frame, members, p);
      continue;
    }
    const s = stateAt(p, frame, gen);
    const makers = makersOf(gen, p.key);
    if (p.ghost && !band.spots.some(q => q.node && q.key.ins.includes(p.key) && membersOf(q.key, frame).length)) {
      continue;
    }
    if (s && (!makers.length || makers.some(i => membersOf(i, frame).length))) out += drawState(frame, s, p, width);
  }
  return out;
}

/** Draw an edge: a thin arrow forward or, after the gradient has passed, a heavy arrow back. */
function drawEdge(e, band, members, frame) {
  const n = e.out ? members.at(-1) : members[0];
  const passed = n.ran !== undefined && n.failed === undefined;
  const fresh = members.some(m => m.born === frame.step);
  const faded = n.dropped !== undefined && !passed;
  const token = passed || fresh ? 'ink' : faded ? 'rule' : 'line';
  const points = edgePoints(e, band);
  const end = points[points.length - 1];
  const style = stroke(token, passed ? 2.5 : fresh ? 1.75 : 1.25);
  if (!passed) return svgPath(rounded(points), style) + arrowHead(end[0], end[1], 'r', token);
  const [x, y] = points[0];
  points[0] = [x + 1, y];
  end[0] += 1;
  return svgPath(rounded(points), style) + arrowHead(x + 1, y, 'l', token, 6);
}

function drawItem(frame, members, p) {
  const step = frame.step;
  const n =
    members.find(m => m.failed !== undefined) ??
    members.find(m => m.ran === step) ??
    members.find(m => m.born === step) ??
    members.at(-1);
  const words = members.map(m => savedWords(frame, m));
  const stale = words.filter(w => w.stale).length;
  const failed = n.failed !== undefined;
  const running = n.ran === step;
  const fresh = n.born === step;
  const dropped = n.dropped !== undefined;
  const x = p.x - p.w / 2;
  const y = p.y - BOX_H / 2;
  const many = members.length > 1;
  const color = failed ? 'paper' : stale ? 'red' : dropped ? 'muted' : 'ink';
  const w = p.w - (many ? STACK : 0);
  const max = w - 10;
  const middle = x + w / 2;
  const edge = stale ? stroke('red', 2.25) : stroke('line', 1, dropped ? '3 3' : '');
  let out = svgRect(x, y, w, BOX_H, `fill:${paint(failed ? 'red' : stale ? 'redwash' : 'paper')};${edge}`, 9);
  if (many) {
    for (const d of [STACK / 2, STACK]) {
      out = svgRect(x + d, y + d, w, BOX_H, `fill:${paint('paper')};${stroke('line', 1)}`, 9) + out;
    }
  }
  if ((fresh || running) && !failed && !stale) out += changeMark(x + w, y, 9);
  const lines = [...new Set(members.map(m => m.line))];
  const where =
    lines.length > 1
      ? t('lines {first}–{last}', { first: Math.min(...lines), last: Math.max(...lines) })
      : t('line {line}', { line: lines[0] });
  const kept = words.filter(w => !w.quiet).length;
  const inWords = ({ text, short }) => (short && widthOf(text, { size: 12, bold: true }) > max ? short : text);
  const said = !many
    ? inWords(words[0])
    : stale
      ? words.some(w => w.unnoticed)
        ? t('{count} gone', { count: stale })
        : t('{count} will be refused', { count: stale })
      : kept
        ? t('{count} saved a tensor', { count: kept })
        : t('saved nothing');
  out +=
    svgText(middle, y + 18, titleOf(members), { mono: true, bold: true, anchor: 'middle', color, max }) +
    svgText(
      middle,
      y + 34,
      many && running
        ? t('{operation}, {number} of {count}', {
            operation: n.op,
            number: members.indexOf(n) + 1,
            count: members.length,
          })
        : where,
      {
        size: 12,
        anchor: 'middle',
        color: failed ? 'paper' : 'muted',
        max,
      },
    ) +
    svgPath(`M${px(x + 8)} ${px(y + 41)}H${px(x + w - 8)}`, stroke(failed ? 'paper' : stale ? 'red' : 'rule', 1)) +
    svgText(middle, y + 55, said, {
      size: 12,
      anchor: 'middle',
      bold: Boolean(stale),
      color: failed ? 'paper' : stale ? 'red' : kept && !dropped ? 'ink' : 'muted',
      max,
    });
  if (stale) out += cross(x + w, y, 4);
  if (members.some(m => frame.lit?.nodes.has(m.id))) out += focusRing(x, y, w, BOX_H, 12);
  return taggedGroup({ node: members.map(m => m.id) }, fresh ? 'new' : '', out);
}

/**
 * Draw a state such as "a@0". It is filled while its numbers are in memory, and hollow and struck through after they
 * were overwritten or freed.
 */
function drawState(frame, s, p, width) {
  const step = frame.step;
  const gone = isOverwritten(frame, s);
  const fresh = s.changed === step && !p.ghost;
  const y = p.y - PILL_H / 2;
  const edge = stroke('line', 1, gone ? '3 3' : '');
  let out =
    svgRect(p.x - p.w / 2, y, p.w, PILL_H, `fill:${paint(gone || p.ghost ? 'paper' : 'tn')};${edge}`, 13) +
    (fresh ? changeMark(p.x + p.w / 2, y, 13) : '') +
    svgText(p.x, p.y + 4.5, s.label, {
      mono: true,
      anchor: 'middle',
      strike: gone,
      color: gone || p.ghost ? 'muted' : 'ink',
      max: p.w - 12,
    });
  if (s.grad) {
    const gy = p.below ? p.y + p.lift + 14 : p.y - p.lift - 24;
    out +=
      svgText(p.gradX, gy, t('gradient'), { size: 12, color: 'muted', anchor: 'middle' }) +
      svgText(p.gradX, gy + 16, s.grad, {
        size: 12,
        mono: true,
        bold: s.gradAt === step,
        anchor: 'middle',
        max: p.gradMax,
      });
  }
  const who = p.ghost ? '' : extraNames(frame, s);
  if (who) {
    out += svgText(p.x, p.y + (p.below ? p.lift + 50 : PILL_H / 2 + 17), who, {
      size: 12,
      color: 'muted',
      anchor: 'middle',
      max: Math.min(Math.max(p.w + 26, 60), 2 * p.x, 2 * (width - p.x)),
    });
  }
  return fadeIn(fresh && s.born === step, out);
}
