import { shareCells } from './cells.js';

/** A saved tensor is stale from the write on that made it so, long before backward looks. */
export const isStale = tensor => Boolean(tensor.stale) && tensor.freed === undefined;

/** The numbers of a state are in memory while its storage is still at its version. */
export const isOverwritten = (frame, state) => {
  const at = frame.storages.get(state.storage);
  return !at || at.freed !== undefined || at.version !== state.version;
};

/** Who refers to the bytes of a storage, or of a tensor (saved ones too), in frame `f`: the storage's id, names, tensors, saved tensors
    and the ids of the nodes that saved them. Of a tensor: those that read a cell it reads, itself among them. */
export function referencesTo(frame, { storage, tensor }) {
  const me = frame.tensors.get(tensor);
  const at = me?.storage ?? storage;
  const all = [...frame.tensors.values()].filter(
    tensor => tensor.freed === undefined && tensor.storage === at && (!me || tensor === me || shareCells(tensor, me)),
  );
  const ids = new Set(all.map(tensor => tensor.id));
  const saved = all.filter(tensor => tensor.saved);
  return {
    storage: at,
    ids,
    saved,
    tensors: all.filter(tensor => !tensor.saved),
    nodes: new Set(saved.map(tensor => tensor.node)),
    names: [...frame.names.values()].filter(n => n.gone === undefined && ids.has(n.tensor)),
  };
}

/** What a name stands for in frame `f`, in the form of `whoRefers`; undefined where the name is not there. */
export function referencesOfName(frame, name) {
  const n = frame.names.get(name);
  const tensor = n && n.gone === undefined && frame.tensors.get(n.tensor);
  return tensor
    ? {
        storage: tensor.storage,
        ids: new Set([tensor.id]),
        saved: [],
        tensors: [tensor],
        nodes: new Set(),
        names: [n],
        only: name,
      }
    : undefined;
}
