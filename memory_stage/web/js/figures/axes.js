import { widthOf } from '../shared/measure.js';
import { px, svgText } from '../shared/shapes.js';
import { countText } from '../shared/text.js';

/**
 * Return 0 and at most five multiples of a round step, up to `top`. The step is a power of two if `round` is true, as
 * it is from 1 KiB on; otherwise it is 1, 2 or 5 times a power of ten.
 */
export function ticksOf(top, round = top >= 1024) {
  let step = 1;
  if (round) while (top / step > 5) step *= 2;
  else while (top / step > 5) step *= String(step)[0] === '2' ? 2.5 : 2;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => i * step);
}

/** Return a tick's value as text, in a unit that suits `top`, the end of the axis. */
export function tickText(b, top) {
  const unit = top < 1e5 ? 0 : Math.min(3, Math.floor(Math.log2(top) / 10));
  return b ? `${countText(+(b / 1024 ** unit).toFixed(2))} ${['B', 'KiB', 'MiB', 'GiB'][unit]}` : '0';
}

/** Return a small text in the muted colour. */
export const noteText = (x, y, text, font) => svgText(x, y, text, { size: 12, color: 'muted', ...font });

/** Return a small text beside a row or above a column; it is bold if the reader has chosen that row or column. */
export const axisText = (x, y, text, chosen, font) =>
  svgText(x, y, text, { size: 12, anchor: 'middle', bold: chosen, color: chosen ? 'ink' : 'muted', ...font });

/** Return the numbers under an axis of `n` columns: the current column's, and all others or round ones if they fit. */
export function numbersUnder(n, at, x, y) {
  const room = k => widthOf(k + 1, { size: 12, mono: true }) / 2 + 4;
  const put = k => axisText(x(k), y, k + 1, k === at, { mono: true });
  let out = put(at);
  let free = -99;
  const every = ticksOf(n, false)[1] ?? 1;
  const pitch = n > 1 ? x(1) - x(0) : 99;
  const step = pitch > 2 * room(n - 1) ? 1 : every;
  for (let k = 0; k < n; k++) {
    if (k === at || !(step === 1 || k === 0 || (k + 1) % step === 0)) continue;
    if (x(k) - room(k) < free || Math.abs(x(k) - x(at)) < room(k) + room(at)) continue;
    out += put(k);
    free = x(k) + room(k);
  }
  return out;
}

/**
 * Return the path of a staircase whose steps are the columns' values, up to the end of column `to`. The path has points
 * only where the value changes.
 */
export function stairs(values, x, y, to = values.length - 1, begin = 'M') {
  let d = `${begin}${px(x(0))} ${px(y(values[0]))}`;
  let last = px(y(values[0]));
  for (let k = 1; k <= to; k++) {
    const v = px(y(values[k]));
    if (v !== last) {
      d += `H${px(x(k))}V${v}`;
      last = v;
    }
  }
  return `${d}H${px(x(to + 1))}`;
}

/** Return the staircase of `stairs` as a path in the opposite direction. */
export const stairsBack = (values, x, y) =>
  stairs(values.toReversed(), k => x(values.length - k), y, values.length - 1, 'L');
