/**
 * The depth of a picture: the things of memory that it shows. A depth has everything of the ones before it:
 *
 * * memory: names, storages with their cells, and which cells each tensor reads;
 * * tensors: each tensor's shape, strides, offset, version and dtype;
 * * history: the operations, the tensors that each of them saved, and gradients.
 */

/** @typedef {'memory' | 'tensors' | 'history'} Depth */

/** @type {readonly Depth[]} */
export const DEPTHS = ['memory', 'tensors', 'history'];

/**
 * Return the depth of a name; without one, everything is shown.
 * @param {string | null | undefined} name
 * @returns {Depth}
 */
export const depthOf = name => DEPTHS.find(depth => depth === name) ?? 'history';

/**
 * Return the deeper of two depths; a depth that does not exist is none.
 * @param {Depth} depth
 * @param {string | null} other
 */
export const deeperOf = (depth, other) =>
  DEPTHS[Math.max(DEPTHS.indexOf(depth), DEPTHS.indexOf(/** @type {Depth} */ (other)))];

const KEY = 'stage-depth';

/** Return the depth that the reader chose last; null if there is none, or if the browser keeps nothing. */
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
    // a page from the disk, or a reader's setting: the choice is for this page
  }
}

/** True if a picture of a depth shows tensors with their shapes. */
export const showsTensors = depth => depth !== 'memory';

/** True if a picture of a depth shows operations and the tensors that they saved. */
export const showsHistory = depth => depth === 'history';
