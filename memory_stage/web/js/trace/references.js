/** Find the references to the bytes of a storage, and find out if saved numbers are still in memory. */

import { readsCell, shareCells } from './cells.js';

/** @typedef {import('./types.d.ts').Frame} Frame */
/** @typedef {import('./types.d.ts').Tensor} Tensor */
/** @typedef {import('./types.d.ts').State} State */

/**
 * All that refers to the bytes of a storage, of a cell or of a tensor.
 * @typedef {object} References
 * @property {string | undefined} storage
 * @property {Set<string>} ids of the tensors, including saved tensors
 * @property {Tensor[]} saved
 * @property {Tensor[]} tensors that are not saved
 * @property {Set<string>} nodes that saved them
 * @property {import('./types.d.ts').Name[]} names
 * @property {string} [only] the name, if the references of a name were asked for
 * @property {(cell: number) => boolean} [marks] true for a cell that was asked about; absent: the whole storage
 */

/**
 * True if a saved tensor can no longer be used. This is true from the write on, before backward checks it.
 * @param {Tensor} tensor
 */
export const isStale = tensor => Boolean(tensor.stale) && tensor.freed === undefined;

/**
 * True if the numbers of a state are not in memory: its storage is freed or at another version.
 * @param {Pick<Frame, 'storages'>} frame
 * @param {State} state
 */
export function isOverwritten(frame, state) {
  const storage = frame.storages.get(state.storage);
  return !storage || storage.freed !== undefined || storage.version !== state.version;
}

/**
 * Return the references to a storage, to one of its cells, or to the cells that a tensor reads.
 * @param {Frame} frame
 * @param {{storage?: string, cell?: number, tensor?: string}} asked
 * @returns {References}
 */
export function referencesTo(frame, { storage, cell, tensor: id }) {
  const asked = frame.tensors.get(id ?? '');
  const at = asked?.storage ?? storage;
  const all = [...frame.tensors.values()].filter(tensor => {
    if (tensor.freed !== undefined || tensor.storage !== at) return false;
    if (!asked) return cell === undefined || readsCell(tensor, cell);
    return tensor === asked || shareCells(tensor, asked);
  });
  const ids = new Set(all.map(tensor => tensor.id));
  const saved = all.filter(tensor => tensor.saved);
  return {
    storage: at,
    ids,
    saved,
    tensors: all.filter(tensor => !tensor.saved),
    nodes: new Set(saved.map(tensor => tensor.node)),
    names: [...frame.names.values()].filter(name => name.gone === undefined && ids.has(name.tensor)),
    marks: asked ? i => readsCell(asked, i) : cell === undefined ? undefined : i => i === cell,
  };
}

/**
 * Return the references to the storage of a name; undefined if a frame has no such name.
 * @param {Frame} frame
 * @param {string | undefined} text
 * @returns {References | undefined}
 */
export function referencesOfName(frame, text) {
  const name = frame.names.get(text ?? '');
  const tensor = name && name.gone === undefined && frame.tensors.get(name.tensor);
  if (!tensor) return undefined;
  const ids = new Set([tensor.id]);
  const marks = cell => readsCell(tensor, cell);
  return {
    storage: tensor.storage,
    ids,
    saved: [],
    tensors: [tensor],
    nodes: new Set(),
    names: [name],
    only: text,
    marks,
  };
}
