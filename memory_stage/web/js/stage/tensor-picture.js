import { t } from '../shared/messages.js';
import { paint } from '../shared/colors.js';
import { shorten, widthOf } from '../shared/measure.js';
import { colorOf } from '../shared/patterns.js';
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
} from '../shared/shapes.js';
import { escapeHtml } from '../shared/text.js';
import { cellRuns } from '../trace/cells.js';
import { isStale } from '../trace/references.js';
import { MOST_RUNS, piecesOf, runsText } from './cell-slots.js';
import {
  comparison,
  FIELDS,
  gradientText,
  leafText,
  savedText,
  fieldText,
  shownName,
  tensorName,
  withoutFunction,
} from './labels.js';

/**
 * Shorten a name until it fits a width. In the name of a local variable, "batch in centred", shorten the function
 * first.
 * @param {string} name
 * @param {string} own the name without its function
 */
function shortName(name, own, width, font) {
  if (widthOf(name, font) <= width) return name;
  if (own !== name) {
    const shorter = [t('{name} in…', { name: own }), `${own}…`];
    const cut = shorten(name, width, font);
    if (cut.startsWith(own) && cut.length > own.length + 6) return cut;
    return shorter.find(s => widthOf(s, font) <= width) ?? shortName(own, own, width, font);
  }
  // leave out the middle, because names often differ at their ends
  const chars = [...name];
  for (let keep = chars.length - 1; keep > 2; keep--) {
    const short = `${chars.slice(0, Math.ceil(keep / 2)).join('')}…${chars.slice(chars.length - Math.floor(keep / 2)).join('')}`;
    if (widthOf(short, font) <= width) return short;
  }
  return shorten(name, width, font);
}

/** Draw a name and its arrow. If only the running line refers to a tensor, the name is "(line 5)". */
export function drawName(n, c, y, boxMid, j, step, isLit, isPassed) {
  const gone = n.gone !== undefined;
  const isLine = n.kind === 'line';
  const whole = shownName(n);
  const font = isLine ? { size: 14 } : { size: 15, mono: true, bold: !gone };
  const text = shortName(whole, isLine ? whole : tensorName(withoutFunction(n.name)), c.nameW, font);
  const w = Math.min(c.nameW, widthOf(text, font));
  let out =
    (text === whole ? '' : `<title>${escapeHtml(whole)}</title>`) +
    svgText(0, y + 5, text, { ...font, color: gone || isLine ? 'muted' : 'ink', max: c.nameW, strike: gone });
  if (gone) {
    return w + 8 + widthOf(t('deleted'), { size: 12 }) < c.box - (isPassed ? 38 : 4)
      ? out + svgText(w + 8, y + 5, t('deleted'), { size: 12, color: 'muted' })
      : out;
  }
  const fresh = n.changed === step;
  const token = isLit ? 'focus' : fresh ? 'ink' : 'line';
  const x1 = w + 6;
  const x2 = c.box - 3;
  const target = boxMid + Math.min(j, 2) * Math.min(10, c.boxH / 4);
  const head = c.plain ? '' : arrowHead(x2, target, 'r', token);
  const d =
    j === 0
      ? `M${px(x1)} ${px(y)}H${px(x2)}`
      : `M${px(x1)} ${px(y)}H${px(Math.max(x1, c.box - 34))}C${px(c.box - 16)} ${px(y)} ${px(c.box - 26)} ${px(target)} ${px(x2)} ${px(target)}`;
  if (isLit) out += svgPath(`M0 ${px(y + 11)}H${px(w)}`, stroke(token, 3));
  return out + svgPath(d, stroke(token, isLit ? 3 : fresh ? 1.75 : 1.25)) + head;
}

/** Draw a box with the operations that saved a tensor. It has the place of a name. */
export function drawCapsule(frame, { t: tensor, saves }, c, middle, isLit) {
  const stale = isStale(tensor);
  const token = stale ? 'red' : 'line';
  const fresh = saves.some(s => s.changed === frame.step);
  const ops = [...new Set(saves.map(s => s.node))].map(id => frame.nodes.get(id)?.op ?? '');
  const title = ops.length > 1 ? t('{count} operations', { count: ops.length }) : ops[0];
  const color = stale ? 'red' : 'ink';
  const w = c.nameW;
  const x2 = c.box - 3;
  return fadeIn(
    fresh && tensor.changed !== frame.step,
    svgRect(0.5, middle - 17, w - 1, 34, `fill:${paint('paper')};${stroke(token, stale ? 2 : 1.25)}`, 9) +
      (isLit ? focusRing(2, middle - 15, w - 4, 30, 9) : '') +
      svgText(w / 2, middle - 3, title, { size: 12, mono: ops.length < 2, anchor: 'middle', color, max: w - 8 }) +
      svgText(w / 2, middle + 11, savedText(frame, tensor), { size: 12, anchor: 'middle', color, max: w - 8 }) +
      svgPath(`M${px(w + 2)} ${px(middle)}H${px(x2)}`, stroke(fresh ? 'ink' : 'line', fresh ? 1.75 : 1.25)) +
      arrowHead(x2, middle, 'r', fresh ? 'ink' : 'line'),
  );
}

/** Draw the mark of a tensor in a picture that does not show shapes. The arrows of all the tensor's names end in it. */
export function drawKnob(tensor, c, middle, hue, prefix) {
  if (tensor.freed !== undefined) return '';
  const style = tensor.saved
    ? `fill:${paint('paper')};${stroke('node', 1.25, '4 2')}`
    : `fill:url(#${prefix}p${hue});${stroke(`a${colorOf(hue)}`, 1.5)}`;
  return svgRect(c.box, middle - c.boxH / 2, c.boxW, c.boxH, style, c.boxH / 2);
}

export function drawTensor(frame, tensor, storage, c, middle, hue, prefix) {
  const step = frame.step;
  const x = c.box;
  const h = c.boxH;
  const y = middle - h / 2;
  const stale = isStale(tensor);
  if (tensor.freed !== undefined) {
    return (
      svgRect(x, y, c.boxW, h, `fill:none;${stroke('line', 1, '3 3')}`, 4) +
      (tensor.freed === step
        ? svgText(x + 22, middle + 4.5, tensor.saved ? t('released') : t('freed'), { color: 'muted' })
        : '')
    );
  }
  let out = svgRect(x, y, c.boxW, h, `fill:${paint('paper')};${stroke(stale ? 'red' : 'line', stale ? 1.75 : 1)}`, 4);
  if (tensor.changed === step) out += changeMark(x + c.boxW, y);
  if (!tensor.saved) {
    out += `<path d="M${px(x + 4)} ${px(y + 4)}h7v${h - 8}h-7z" style="fill:url(#${prefix}p${hue});${stroke(`a${colorOf(hue)}`, 1)}"/>`;
  }
  const version = stale
    ? comparison(tensor.version, storage.version, c.narrow)
    : String(tensor.saved ? tensor.version : storage.version);
  const values = {
    shape: FIELDS.shape(tensor),
    strides: FIELDS.strides(tensor),
    offset: FIELDS.offset(tensor),
    version: tensor.outside ?? version,
    dtype: tensor.dtype ?? storage.dtype,
    gradient: tensor.saved || tensor.outside ? '' : gradientText(tensor),
    leaf: tensor.saved || tensor.outside ? '' : leafText(tensor),
  };
  const font = key =>
    key === 'version' && tensor.outside
      ? { color: 'muted' }
      : key === 'version'
        ? {
            color: stale ? 'red' : 'ink',
            bold: stale || (storage.wrote?.at === step && storage.wrote.was !== storage.version && !tensor.saved),
          }
        : key === 'dtype' && values.dtype === 'float32'
          ? { color: 'muted' }
          : {};
  if (c.columns) {
    for (const col of c.columns) {
      out += svgText(x + col.x, middle + 4.5, values[col.key], { mono: true, max: col.w - 6, ...font(col.key) });
    }
    return out;
  }
  c.pairs.forEach((pair, i) =>
    pair.forEach((key, j) => {
      if (!values[key]) return;
      const kx = x + (j ? c.split : c.x1);
      const vx = kx + widthOf(fieldText(key), { size: 12 }) + 5;
      const end = j || pair.length === 1 ? x + c.boxW - 4 : x + c.split - 4;
      const foreign = key === 'version' && tensor.outside;
      if (foreign) {
        out += svgText(kx, y + 17 + 16 * i, t('{library} array', { library: tensor.outside }), {
          size: 12,
          color: 'muted',
          max: end - kx,
        });
      } else {
        out +=
          svgText(kx, y + 17 + 16 * i, fieldText(key), { size: 12, color: 'muted' }) +
          svgText(vx, y + 17 + 16 * i, values[key], { size: 12, mono: true, max: end - vx, ...font(key) });
      }
    }),
  );
  return out;
}

/** Draw the track of a tensor, with one piece for each run of cells that the tensor reads, and the arrow to it. */
export function drawTrack(frame, { t: tensor, line }, c, middle, tray, m, hue, prefix) {
  const stale = isStale(tensor);
  const token = stale ? 'red' : tensor.saved ? 'node' : `a${colorOf(hue)}`;
  const w = tensor.changed === frame.step || stale ? 2 : 1.5;
  const pieces = piecesOf(tray.cells, tensor, tensor.taken).map(p => ({
    ...p,
    y: tray.y + m.laneOf[line][p.line],
  }));
  if (!pieces.length && tensor.taken) return '';
  const none = !pieces.length; // true if the tensor reads no cell
  if (none) pieces.push({ x1: 0, x2: c.narrow ? tray.w - 22 : 0, y: tray.y + m.laneOf[line][0] });
  const style = tensor.saved
    ? `fill:${paint('paper')};${stroke(token, 1.25, '4 2')}`
    : `fill:url(#${prefix}p${hue});${stroke(token, 1)}`;
  const runs = runsText(tensor);
  const bar = (x, w, y) => svgRect(tray.x0 + x + 1.5, y, w - 3, 8, style, 1);
  // if there are too many runs, draw a broken bar, with the number of runs under it
  let out = none
    ? svgText(tray.x0 + 5, pieces[0].y + 8, runs, { size: 12, color: 'muted' })
    : pieces
        .map(({ x1, x2, y }) => {
          const parts = cellRuns(tensor, MOST_RUNS).total > MOST_RUNS ? Math.max(2, Math.round((x2 - x1) / 12)) : 1;
          const w = (x2 - x1) / parts;
          return Array.from({ length: parts }, (_, i) => bar(x1 + i * w, w, y)).join('');
        })
        .join('');
  if (runs && !none) {
    const x = tray.x0 + pieces[0].x1 + 1.5;
    const w = widthOf(runs, { size: 12 });
    out += svgText(Math.max(tray.x0, Math.min(x, tray.x0 + tray.cells.width - w)), pieces[0].y + 20, runs, {
      size: 12,
      color: 'muted',
    });
  }
  const first = pieces[0];
  const my = first.y + 4;
  if (c.narrow) {
    const last = tray.x0 + Math.max(...pieces.filter(p => p.line === first.line).map(p => p.x2));
    const gx = m.arrowX(line);
    return (
      out +
      svgPath(
        rounded(
          [
            [c.box + c.boxW, middle],
            [gx, middle],
            [gx, my],
            [last + 4, my],
          ],
          4,
        ),
        stroke(token, w),
      ) +
      arrowHead(last + 2, my, 'l', token) +
      (stale ? cross(gx, middle - 26, 4) : '')
    );
  }
  const x1 = c.box + c.boxW;
  const x2 = tray.x;
  const half = (x1 + x2) / 2;
  out +=
    svgPath(
      `M${px(x1)} ${px(middle)}C${px(half + 6)} ${px(middle)} ${px(half - 6)} ${px(my)} ${px(x2)} ${px(my)}H${px(tray.x0 + first.x1 - 1)}`,
      stroke(token, w),
    ) + arrowHead(tray.x0 + first.x1, my, 'r', token);
  return out + (stale ? cross(half, (middle + my) / 2) : '');
}
