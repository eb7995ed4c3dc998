/** Find the references to the bytes of a storage, and check if the numbers that backward needs are still in memory. */

import { readsCell, shareCells } from './cells.js';

/** @typedef {import('./types.d.ts').Frame} Frame */
/** @typedef {import('./types.d.ts').Tensor} Tensor */
/** @typedef {import('./types.d.ts').State} State */

/**
 * Everything in a frame that refers to the bytes of a storage, of one cell or of a tensor.
 * @typedef {object} References
 * @property {string | undefined} storage
 * @property {Set<string>} ids of all tensors, including saved tensors
 * @property {Tensor[]} saved the saved tensors
 * @property {Tensor[]} tensors the other tensors
 * @property {Set<string>} nodes the ids of the nodes that saved the tensors in `saved`
 * @property {import('./types.d.ts').Name[]} names of the tensors
 * @property {string} [only] the name, if the question is about a name
 * @property {(cell: number) => boolean} [marks] returns true for a cell that the question is about; undefined if the
 * question is about the whole storage
 */

/**
 * True if a write has made a saved tensor stale. It is true immediately after the write, even though backward detects
 * the write only later, or not at all.
 * @param {Tensor} tensor
 */
export const isStale = tensor => Boolean(tensor.stale) && tensor.freed === undefined;

/**
 * True if the numbers of a state are no longer in memory, because its storage was freed or has another version.
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
 * Return a name, its tensor and the cells that the tensor reads, as references; undefined if a frame has no such name.
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
