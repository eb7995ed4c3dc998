/**
 * The depth of a picture: how much of memory it shows. Each depth includes the previous ones:
 *
 * * memory: names, storages with their cells, and which cells each tensor reads;
 * * tensors: each tensor's shape, strides, offset, version and dtype;
 * * history: the operations, the tensors that each of them saved, and gradients.
 */

/** @typedef {'memory' | 'tensors' | 'history'} Depth */

/** @type {readonly Depth[]} */
export const DEPTHS = ['memory', 'tensors', 'history'];

/**
 * Return the depth that a name denotes. If it denotes none, return the deepest, which shows everything.
 * @param {string | null | undefined} name
 * @returns {Depth}
 */
export const depthOf = name => DEPTHS.find(depth => depth === name) ?? 'history';

/**
 * Return the deeper of two depths. The second one is ignored if no depth has this name.
 * @param {Depth} depth
 * @param {string | null} other
 */
export const deeperOf = (depth, other) =>
  DEPTHS[Math.max(DEPTHS.indexOf(depth), DEPTHS.indexOf(/** @type {Depth} */ (other)))];

const KEY = 'stage-depth';

/** Return the depth that the reader last chose; null if the reader has chosen none or the browser stores nothing. */
export function rememberedDepth() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** @param {Depth} depth */
export function rememberDepth(depth) {
  try {
    localStorage.setItem(KEY, depth);
  } catch {
    // the browser stores nothing, for example for a page from the disk, so the choice is valid for this page only
  }
}

/** True if a picture of a depth shows tensors with their shapes. */
export const showsTensors = depth => depth !== 'memory';

/** True if a picture of a depth shows operations and the tensors that they saved. */
export const showsHistory = depth => depth === 'history';
