/** Fill patterns of tensors. Each tensor has a colour and a pattern, so a reader needs to see only one of them. */

import { paint } from './colors.js';
import { stroke, svgRect } from './shapes.js';

/** Hues 1 to 4 are solid, slanted, dotted and upright. Hues 5 to 8 have the same four colours and other patterns. */
export const HUES = 8;

/**
 * Return the colour of a hue, a number from 1 to 4.
 * @param {number} hue
 */
export const colorOf = hue => ((hue - 1) % 4) + 1;

/** Return the size, the rotation and the marks of a hue's pattern. */
function patternOf(hue) {
  const fill = `fill:${paint(`a${colorOf(hue)}`)}`;
  const ring = `fill:none;${stroke('a3', 1.8)}`;
  return {
    1: [8, 8, 0, svgRect(0, 0, 8, 8, fill)],
    2: [6, 6, 45, svgRect(0, 0, 3, 6, fill)],
    3: [5, 5, 0, `<circle cx="2.5" cy="2.5" r="1.7" style="${fill}"/>`],
    4: [4, 8, 0, svgRect(0, 0, 2, 8, fill)],
    5: [8, 8, 0, svgRect(0, 0, 8, 2.6, fill) + svgRect(0, 5.4, 8, 2.6, fill)],
    6: [6, 6, 135, svgRect(0, 0, 3, 6, fill)],
    7: [9, 8, 0, `<circle cx="4.5" cy="4" r="2.2" style="${ring}"/>`],
    8: [8, 4, 0, svgRect(0, 0, 8, 2, fill)],
  }[hue];
}

/**
 * Return the definition of a hue's pattern.
 * @param {string} prefix of the ids of a picture
 * @param {number} hue
 */
export function patternDef(prefix, hue) {
  const [width, height, turn, marks] = patternOf(hue);
  const size = `width="${width}" height="${height}" patternUnits="userSpaceOnUse"`;
  const transform = turn ? ` patternTransform="rotate(${turn})"` : '';
  const ground = svgRect(0, 0, width, height, `fill:${paint(`t${colorOf(hue)}`)}`);
  return `<pattern id="${prefix}p${hue}" ${size}${transform}>${ground}${marks}</pattern>`;
}

/**
 * Return the definition of a pattern for cells that several tensors read: one stripe for each hue, and hairlines
 * between the stripes.
 * @param {string} prefix of the ids of a picture
 * @param {number[]} hues
 */
export function stripesDef(prefix, hues) {
  const width = 7;
  const stripes = hues.map(
    (hue, i) =>
      svgRect(i * width, 0, width + 0.4, 20, `fill:${paint(`t${colorOf(hue)}`)}`) +
      svgRect(i * width, 0, 0.9, 20, `fill:${paint('line')};opacity:.75`),
  );
  const size = `width="${width * hues.length}" height="20" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"`;
  return `<pattern id="${prefix}s${hues.join('-')}" ${size}>${stripes.join('')}</pattern>`;
}
