/** Functions that return SVG elements as strings. They escape all texts of a picture. */

import { paint } from './colors.js';
import { shorten } from './measure.js';
import { escapeHtml } from './text.js';

/** @typedef {[number, number]} Point */

/**
 * Round a coordinate to a tenth of a pixel.
 * @param {number} value
 */
export const px = value => Math.round(value * 10) / 10;

/**
 * @typedef {object} TextStyle
 * @property {number} [size] in px
 * @property {boolean} [mono]
 * @property {unknown} [bold]
 * @property {string} [color] a colour token
 * @property {string} [anchor] "middle" or "end"
 * @property {unknown} [strike]
 * @property {number} [max] the largest width in px; a wider text is shortened, and a `<title>` contains the whole text
 */

/**
 * @param {number} x
 * @param {number} y
 * @param {unknown} text
 * @param {TextStyle} [style]
 */
export function svgText(x, y, text, { size = 13, mono, bold, color = 'ink', anchor, strike, max } = {}) {
  const whole = String(text).replace(/\s+/g, ' ');
  const shown = max === undefined ? whole : shorten(whole, max, { size, mono, bold: Boolean(bold) });
  const style = [
    `fill:${paint(color)}`,
    size === 13 ? '' : `font-size:${size}px`,
    mono ? 'font-family:var(--mono,monospace)' : '',
    bold ? 'font-weight:700' : '',
    strike ? 'text-decoration:line-through' : '',
  ];
  const attributes = `x="${px(x)}" y="${px(y)}"${anchor ? ` text-anchor="${anchor}"` : ''}`;
  const title = shown === whole ? '' : `<title>${escapeHtml(whole)}</title>`;
  return `<text ${attributes} style="${style.filter(Boolean).join(';')}">${title}${escapeHtml(shown)}</text>`;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {string} style
 * @param {number} [radius] of the corners
 */
export function svgRect(x, y, width, height, style, radius) {
  const box = `x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}"`;
  return `<rect ${box}${radius ? ` rx="${radius}"` : ''} style="${style}"/>`;
}

/**
 * @param {string} d the path
 * @param {string} style
 */
export const svgPath = (d, style) => `<path d="${d}" style="fill:none;${style}"/>`;

/**
 * Return a part of a picture; if it is new, in a group that fades in.
 * @param {boolean} isNew
 * @param {string} svg
 */
export const fadeIn = (isNew, svg) => (isNew && svg ? `<g class="new">${svg}</g>` : svg);

/**
 * @param {string} token
 * @param {number} width
 * @param {string} [dashes]
 */
export const stroke = (token, width, dashes) =>
  `stroke:${paint(token)};stroke-width:${width}${dashes ? `;stroke-dasharray:${dashes}` : ''}`;

/**
 * Return an arrow head with its tip at (x, y). It is a path and not an SVG marker, so that it can have the same colour
 * as the line of the arrow.
 * @param {number} x
 * @param {number} y
 * @param {'l' | 'r'} direction
 * @param {string} token
 * @param {number} [size]
 */
export function arrowHead(x, y, direction, token, size = 5) {
  const back = direction === 'r' ? -(size + 1) : size + 1;
  const half = size - 1;
  const ends = [y - half, y + half].map(end => `${px(x + back)} ${px(end)}`);
  return svgPath(`M${ends[0]}L${px(x)} ${px(y)}L${ends[1]}`, stroke(token, 1.75));
}

/**
 * Return a cross in a circle, the mark of a fault.
 * @param {number} x
 * @param {number} y
 * @param {number} [radius]
 */
export function cross(x, y, radius = 4.5) {
  const [left, right, top, bottom] = [x - radius + 1, x + radius - 1, y - radius + 1, y + radius - 1].map(px);
  const style = `fill:${paint('paper')};${stroke('red', 1.5)}`;
  const circle = `<circle cx="${px(x)}" cy="${px(y)}" r="${radius + 3.5}" style="${style}"/>`;
  return circle + svgPath(`M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}`, stroke('red', 2));
}

/**
 * Return a filled corner, the mark of something that is new or changed at this step.
 * @param {number} right the right edge of the box that has the mark
 * @param {number} top
 * @param {number} [radius] of the corners of the box
 * @param {number} [size]
 */
export function changeMark(right, top, radius = 4, size = Math.max(10 + radius / 4, radius + 2)) {
  const d = `M${px(right - size)} ${px(top)}h${px(size - radius)}a${radius} ${radius} 0 0 1 ${radius} ${radius}v${px(size - radius)}z`;
  return `<path class="changed" d="${d}" style="fill:${paint('ink')}"/>`;
}

/**
 * Return a path through points, with rounded corners.
 * @param {Point[]} points
 * @param {number} [radius]
 */
export function rounded(points, radius = 7) {
  let d = `M${px(points[0][0])} ${px(points[0][1])}`;
  for (let i = 1; i < points.length; i++) {
    const [x, y] = points[i];
    const [x0, y0] = points[i - 1];
    const next = points[i + 1];
    const r = next ? Math.min(radius, Math.hypot(x - x0, y - y0) / 2, Math.hypot(next[0] - x, next[1] - y) / 2) : 0;
    if (!r) {
      d += `L${px(x)} ${px(y)}`;
      continue;
    }
    const toward = ([p, q]) => {
      const n = Math.hypot(p - x, q - y);
      return `${px(x + ((p - x) / n) * r)} ${px(y + ((q - y) / n) * r)}`;
    };
    d += `L${toward([x0, y0])}Q${px(x)} ${px(y)} ${toward(next)}`;
  }
  return d;
}

/**
 * Return a group with the ids of the things that it represents, in the attributes data-storage, data-tensor,
 * data-saved, data-node or data-name.
 * @param {Record<string, string | string[]>} ids
 * @param {'' | 'new' | 'freed' | 'small'} change the class of the group: 'new' or 'freed' at this step, or 'small' for
 * a small box
 * @param {string} svg
 */
export function taggedGroup(ids, change, svg) {
  const data = Object.entries(ids).map(([key, id]) => ` data-${key}="${escapeHtml([id].flat().join(' '))}"`);
  return `<g${data.join('')}${change && ` class="${change}"`}>${svg}</g>`;
}

/**
 * Return a ring around a part of a picture, to mark a part that the reader's question or the page is about.
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {number} [radius]
 * @param {number} [margin]
 */
export const focusRing = (x, y, width, height, radius = 6, margin = 2) =>
  svgRect(x - margin, y - margin, width + 2 * margin, height + 2 * margin, `fill:none;${stroke('focus', 3)}`, radius);
