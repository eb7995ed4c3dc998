import { getOrMake } from '../shared/cache.js';
import { themeCss } from '../shared/colors.js';
import { escapeHtml, hash, withoutBackticks } from '../shared/text.js';

const FIGURE_CSS =
  `${themeCss(
    '.memory-figure-picture',
  )}.memory-figure-picture{display:block;max-width:100%;height:auto;overflow:visible}` +
  `.memory-figure-picture text{white-space:pre}.memory-figure-picture [data-pick]{cursor:pointer}` +
  `@media print{.memory-figure-picture *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}`;

/** Maps each figure's data to its hash, so that the hash is computed only once. */
const hashes = new WeakMap();

/**
 * Return an id that is the same in every run, and that differs between the pictures of a page even if their titles are
 * equal. Two pictures must not share the id of a pattern, because a browser uses the first pattern with an id, and does
 * not draw it if its picture is hidden.
 */
export const figureId = (data, ...parts) =>
  `f${hash([getOrMake(hashes, data, () => hash(JSON.stringify(data))), ...parts].join(' '))}`;

export function figureSvg(width, H, label, defs, body) {
  H = Math.ceil(H);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" class="memory-figure-picture" width="${width}" height="${H}" ` +
    `viewBox="0 0 ${width} ${H}" role="img" aria-label="${escapeHtml(withoutBackticks(label))}" ` +
    'style="font:13px var(--sans,sans-serif);background:none">' +
    `<style>${FIGURE_CSS}</style><defs>${defs}</defs>${body}</svg>`
  );
}

/** A cache of values that are computed once from a figure's data. A value is freed together with the data. */
const kept = new WeakMap();

export const oncePerData = (data, make) => kept.get(data) ?? kept.set(data, make(data)).get(data);
