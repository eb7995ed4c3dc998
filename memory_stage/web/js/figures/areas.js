import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { colorOf, HUES } from '../shared/patterns.js';
import { noteText } from './axes.js';
import { px, stroke, svgPath, svgRect, svgText } from '../shared/shapes.js';

export function areaDef(prefix, hue) {
  const c = colorOf(hue || 1);
  const a = hue ? `a${c}` : 'node';
  const t = hue ? `t${c}` : 'tn';
  const line = (d, w = 1.1) => svgPath(d, stroke(a, w));
  const [w, h, mark] = {
    0: [6, 6, line('M0 6L6 0M-1 1L1 -1M5 7L7 5', 0.9)],
    1: [8, 8, ''],
    2: [8, 8, line('M0 8L8 0M-2 2L2 -2M6 10L10 6', 1.6)],
    3: [7, 7, `<circle cx="3.5" cy="3.5" r="1.3" style="fill:${paint(a)}"/>`],
    4: [6, 8, line('M3 0V8')],
    5: [8, 6, line('M0 3H8')],
    6: [8, 8, line('M0 0L8 8M-2 6L2 10M6 -2L10 2', 1.6)],
    7: [9, 9, `<circle cx="4.5" cy="4.5" r="2.2" style="fill:none;${stroke(a, 1.1)}"/>`],
    8: [8, 8, line('M0 4H8M4 0V8', 0.8)],
  }[hue];
  const size = `width="${w}" height="${h}" patternUnits="userSpaceOnUse"`;
  return `<pattern id="${prefix}a${hue}" ${size}>${svgRect(0, 0, w, h, `fill:${paint(t)}`)}${mark}</pattern>`;
}

export const areaEdge = hue => (hue ? `a${colorOf(hue)}` : 'node');

export const areaFill = (prefix, hue) => `fill:url(#${prefix}a${hue})`;

/**
 * Return a map from names to hues, for the names that get a separate colour because their bytes reached the highest
 * peaks. `most` is the list of these peaks, and a name is an index of the list.
 */
export function huesOfNames(most) {
  const ranked = most
    .map((bytes, name) => [bytes, name])
    .filter(([b]) => b > 0)
    .sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  const own = ranked
    .slice(0, ranked.length > HUES ? HUES - 1 : HUES)
    .map(([, name]) => name)
    .sort((a, b) => a - b);
  return new Map(own.map((name, i) => [name, i + 1]));
}

/**
 * Draw amounts with their words and marks, two or four in a row. Return the SVG and the y of its lower edge.
 * @param {any[][]} amounts for each amount, a word, a value and a mark of 12 x 12 px
 * @param {number} y
 * @param {number} width
 * @returns {any[]}
 */
export function drawAmounts(amounts, y, width) {
  const columns = width < 500 ? 2 : 4;
  const drawn = amounts.map(([word, value, mark], i) => {
    const x = ((i % columns) * width) / columns;
    const top = y + Math.floor(i / columns) * 40;
    const shift = mark ? 18 : 0;
    return (
      (mark ? `<g transform="translate(${px(x)} ${px(top)})">${mark}</g>` : '') +
      noteText(x + shift, top + 10, word) +
      svgText(x + shift, top + 27, value, { bold: true, size: 15 })
    );
  });
  return [drawn.join(''), y + (40 * amounts.length) / columns];
}

/**
 * Draw the rows of a legend, each {heading} or {mark, text, value, bold, mono, color, faint}. A mark is SVG in a box of
 * 14 x 14 px at (0, 0). Return {svg, height}.
 */
export function drawLegend(rows, x, y, w) {
  let out = '';
  rows.forEach((r, i) => {
    const base = y + i * 20;
    const value = r.value === undefined ? 0 : widthOf(r.value, { size: 13, bold: r.bold });
    if (r.heading) {
      out += svgText(x, base + 11, r.heading, { bold: true, max: w - 4 });
      return;
    }
    out += `<g transform="translate(${px(x)} ${px(base)})">${r.mark}</g>${svgText(x + 22, base + 11.5, r.text, {
      mono: r.mono,
      bold: r.bold,
      max: w - 30 - value,
      color: r.color ?? 'ink',
    })}`;
    if (r.value !== undefined) {
      out += svgText(x + w, base + 11.5, r.value, { anchor: 'end', bold: r.bold, color: r.faint ? 'muted' : 'ink' });
    }
  });
  return { svg: out, height: rows.length * 20 };
}

/**
 * Draw keys side by side, in as many rows as they need. Return the SVG and the y of its lower edge.
 * @param {any[][]} keys for each key, a mark of 14 x 14 px, a text and its font
 * @param {number} y
 * @param {number} width
 * @param {number} extra the width in px that a key needs in addition to its text
 * @returns {any[]}
 */
export function drawKeys(keys, y, width, extra) {
  let out = '';
  let x = 0;
  for (const [mark, text, font] of keys) {
    const w = Math.min(width, widthOf(text, font) + extra);
    if (x && x + w > width + 18) {
      x = 0;
      y += 20;
    }
    out += `<g transform="translate(${px(x)} ${px(y)})">${mark}</g>${svgText(x + 20, y + 11.5, text, {
      ...font,
      max: w - 16,
    })}`;
    x += w;
  }
  return [out, y + 20];
}

export const swatch = (prefix, hue) =>
  svgRect(0.5, 0.5, 13, 13, `${areaFill(prefix, hue)};${stroke(areaEdge(hue), 1)}`, 2);

export const lineMark = style => svgPath('M0 7H14', style);
