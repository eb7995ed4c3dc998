import { capitalized, plural, t } from '../shared/messages.js';
import { andList, bytesText, countText, more, withoutBackticks } from '../shared/text.js';
import { readsCell } from '../trace/cells.js';
import { isStale, referencesTo } from '../trace/references.js';
import { FIELDS, lineName, savedLabel, tensorName } from './labels.js';
import { planOf } from './plan.js';

const MOST_COUNTED = 4096; // the cells of a tensor with more elements than this are not counted one by one
const MOST_CELLS_ASKED = 12; // a storage with more cells than this has no questions about single cells in `askable`

const elementCount = shape => shape.reduce((n, d) => n * d, 1);

/** Return a phrase for a tensor: its names or, for a saved tensor, the operation that saved it. */
function tensorPhrase(frame, tensor) {
  if (tensor.saved) return savedPhrase(frame, [tensor]);
  return andList(namesOf(frame, tensor), count => t('{count} more names', { count }));
}

/** Return the names of a tensor as phrases, or the description of a tensor without a name. */
function namesOf(frame, tensor) {
  const names = [...frame.names.values()]
    .filter(n => n.tensor === tensor.id && n.gone === undefined)
    .map(n => (n.kind === 'line' ? t('the running {line}', { line: lineName(n.name) }) : `\`${tensorName(n.name)}\``));
  if (names.length) return names;
  if (tensor.outside) return [t('an array of numpy without a name')];
  const values = { shape: FIELDS.shape(tensor), holder: tensor.holder };
  return [
    tensor.holder
      ? t('a tensor of shape {shape} without a name, which {holder} holds', values)
      : t('a tensor of shape {shape} without a name', values),
  ];
}

/** Return a phrase for the saved tensors of one operation: "`multiply` (line 3, saved `a@0`)". */
function savedPhrase(frame, saved) {
  const n = frame.nodes.get(saved[0].node);
  const what = andList([...new Set(saved.map(tensor => savedClause(frame, tensor)))]);
  if (!n) return t('{operation} ({saved})', { operation: '`operation`', saved: what });
  return t('{operation} (line {line}, {saved})', { operation: `\`${n.op}\``, line: n.line, saved: what });
}

/** Return a phrase for one saved tensor: "saved `a@0`". */
function savedClause(frame, tensor) {
  const state = `\`${savedLabel(frame, tensor)}\``;
  const clause = tensor.marks
    ? t('keeps marks of {state}', { state })
    : tensor.part
      ? t('keeps a copy of a part of {state}', { state })
      : tensor.copy
        ? t('keeps a copy of {state}', { state })
        : t('saved {state}', { state });
  return tensor.inferred ? t('{clause}, as is inferred', { clause }) : clause;
}

const byNode = saved => [
  ...saved.reduce((map, tensor) => map.set(tensor.node, [...(map.get(tensor.node) ?? []), tensor]), new Map()).values(),
];

/** Return the possible questions in a frame, as { asked: { storage, cell? } or { tensor }, label }; storages first. */
export function askable(frame) {
  const storages = [...frame.storages.values()]
    .filter(s => s.freed === undefined)
    .map(s => ({
      asked: { storage: s.id },
      label: s.label
        ? t('storage {storage}: {label}', { storage: s.id, label: s.label })
        : t('storage {storage}', { storage: s.id }),
    }));
  const tensors = [...frame.tensors.values()]
    .filter(tensor => tensor.freed === undefined)
    .map(tensor => ({ asked: { tensor: tensor.id }, label: withoutBackticks(tensorPhrase(frame, tensor)) }));
  const cells = [...frame.storages.values()].filter(isDrawnWhole).flatMap(({ id, length }) =>
    Array.from({ length }, (_, cell) => ({
      asked: { storage: id, cell },
      label: t('cell {cell} of storage {storage}', { cell, storage: id }),
    })),
  );
  return [...storages, ...tensors, ...cells];
}

/** True for a storage that is small enough for questions about each of its cells. */
const isDrawnWhole = ({ freed, length }) => freed === undefined && length <= MOST_CELLS_ASKED;

/**
 * Return a few sentences about a question: about all that refers to a storage, about the tensors that read one cell, or
 * about the tensors that read the cells of a given tensor.
 */
export const answer = (trace, { variant = 0, step = 0, ...asked }) =>
  answerAt(planOf(trace).runs[variant], step, /** @type {any} */ (asked));

/**
 * Return the answer to a question at a step, with code in backticks.
 * @param {any} frames
 * @param {number} step
 * @param {{storage?: string, cell?: number, tensor?: string}} asked
 */
export function answerAt(frames, step, { storage, cell, tensor }) {
  const frame = frames[step];
  const it = tensor === undefined ? frame.storages.get(storage) : frame.tensors.get(tensor);
  const isStorage = tensor === undefined;
  if (!it) {
    return isStorage
      ? t('Storage {storage} does not exist at this step.', { storage })
      : t('The tensor does not exist at this step.');
  }
  if (it.freed !== undefined) {
    const values = { storage, step: it.freed + 1, line: frames[it.freed]?.line ?? 1 };
    if (isStorage) {
      return t('Storage {storage} was freed at step {step} (line {line}). Nobody holds its bytes any more.', values);
    }
    return it.saved
      ? t('The tensor was released at step {step} (line {line}).', values)
      : t('The tensor was freed at step {step} (line {line}).', values);
  }
  if (tensor !== undefined) return readersAnswer(frame, it);
  return cell === undefined ? holdersAnswer(frame, it) : cellAnswer(frame, it, cell);
}

/** Return a clause; if saved tensors are stale, add to it how backward will react. */
const withDoubt = (clause, saved) =>
  saved.some(tensor => tensor.unnoticed)
    ? t('{clause}; numbers were overwritten, and backward will not notice', { clause })
    : saved.some(tensor => tensor.stale === 'lost')
      ? t('{clause}; numbers were overwritten, so backward will refuse', { clause })
      : saved.some(isStale)
        ? t('{clause}; the version of the storage has moved, so backward will refuse', { clause })
        : clause;

/** Return clauses as sentences, one after the other, without the empty ones. */
const asSentences = clauses =>
  clauses
    .filter(Boolean)
    .map(clause => t('{clause}.', { clause: capitalized(clause) }))
    .reduce((first, next) => t('{first} {next}', { first, next }));

/** Return a few sentences about the tensors that read a cell, and about the operations that saved the cell. */
function cellAnswer(frame, storage, cell) {
  const { tensors, saved } = referencesTo(frame, { storage: storage.id, cell });
  const { wrote } = storage;
  const now = storage.values[cell];
  const old = wrote?.at === frame.step ? wrote.old[cell] : undefined;
  const values = { cell, storage: storage.id, now, old };
  const readers = tensors.flatMap(tensor => namesOf(frame, tensor));
  const nodes = byNode(saved).map(mine => savedPhrase(frame, mine));
  const tensorsThere = andList(readers, more);
  const operations = andList(nodes, more);
  return asSentences([
    now === undefined
      ? t('cell {cell} of storage {storage}', values)
      : old === undefined || old === ''
        ? t('cell {cell} of storage {storage} holds {now}', values)
        : t('cell {cell} of storage {storage} holds {now}, before this step {old}', values),
    readers.length
      ? plural('{tensors} reads it', '{tensors} read it', readers.length, { tensors: tensorsThere })
      : t('no tensor reads it'),
    nodes.length &&
      withDoubt(
        plural('{operations} needs it for backward', '{operations} need it for backward', nodes.length, { operations }),
        saved,
      ),
  ]);
}

function holdersAnswer(frame, storage) {
  const { tensors, saved, names } = referencesTo(frame, { storage: storage.id });
  const nodes = byNode(saved);
  const called = tensors.map(tensor => tensorPhrase(frame, tensor));
  const values = {
    storage: storage.id,
    size: bytesText(storage.bytes),
    holders: andList([...called, ...nodes.map(mine => savedPhrase(frame, mine))], more),
    names: andList(called, more),
  };
  const foreign = storage.borrowed && t('its bytes are not counted: somebody else allocated them');
  if (!called.length && !nodes.length) {
    return asSentences([t('storage {storage}, {size}, is held by nothing that is shown here', values), foreign]);
  }
  const ends = !called.length
    ? t('no name reaches it: it stays until backward has passed, or until the graph goes')
    : nodes.length
      ? t('without {names} it would stay, for backward', values)
      : names.length && names.every(n => n.kind === 'line')
        ? t('it is freed when the line is done')
        : names.length === 1 && called.length === 1
          ? t('nobody else: without {names} it would be freed', values)
          : t('it is freed when the last of these goes');
  return asSentences([t('storage {storage}, {size}, is held by {holders}', values), ends, foreign]);
}

function readersAnswer(frame, me) {
  const { ids, names } = referencesTo(frame, { tensor: me.id });
  const others = [...frame.tensors.values()].filter(
    tensor => tensor.freed === undefined && tensor.storage === me.storage && tensor.id !== me.id,
  );
  const seen = others.filter(tensor => !tensor.saved && ids.has(tensor.id));
  const apart = others.filter(tensor => !tensor.saved && !ids.has(tensor.id));
  const kept = byNode(others.filter(tensor => tensor.saved && tensor.node !== me.node && ids.has(tensor.id)));
  const two = names.filter(n => n.tensor === me.id).length > 1;
  const count = elementCount(me.shape);
  const values = {
    tensor: tensorPhrase(frame, me),
    cells: plural('{count} cell', '{count} cells', count, { count: countText(count) }),
    storage: me.storage,
  };
  const first = me.saved
    ? withDoubt(t('{tensor} needs {cells} of storage {storage}', values), [me])
    : two
      ? t('{tensor} name one tensor; it reads {cells} of storage {storage}', values)
      : t('{tensor} reads {cells} of storage {storage}', values);
  const operations = andList(
    kept.map(mine => savedPhrase(frame, mine)),
    more,
  );
  const need = plural('{operations} needs them for backward', '{operations} need them for backward', kept.length, {
    operations,
  });
  const tensors = andList(
    apart.map(tensor => tensorPhrase(frame, tensor)),
    more,
  );
  const alone = !seen.length && (me.saved || !kept.length);
  return asSentences([
    first,
    seen.length && seenClause(frame, me, seen),
    seen.length && !me.saved && t('a write to a cell shows in all that read it'),
    kept.length && (me.saved ? need : withDoubt(need, kept.flat())),
    apart.length &&
      plural(
        '{tensors} reads other cells of the same storage',
        '{tensors} read other cells of the same storage',
        apart.length,
        { tensors },
      ),
    alone && (me.saved ? t('no tensor reads them') : t('nobody else reads them: a write shows nowhere else')),
  ]);
}

/** Return a clause that lists the tensors `seen`, with the number of cells that each of them shares with `me`. */
function seenClause(frame, me, seen) {
  const [one, ...others] = seen.map(tensor => ({
    tensor: tensorPhrase(frame, tensor),
    cells: sharedCellsText(me, tensor),
  }));
  const readers = [
    plural('{tensor} reads {cells}', '{tensor} read {cells}', namesOf(frame, seen[0]).length, one),
    ...others.map(other => t('{tensor} {cells}', other)),
  ];
  return t('of these, {readers}', { readers: andList(readers, more) });
}

/** Return how many of the cells that `me` reads are also read by `other`: "all", a number or, if unknown, "some". */
function sharedCellsText(me, other) {
  const n = elementCount(me.shape);
  const cells = new Set();
  if (n > MOST_COUNTED) return t('some');
  for (let e = 0; e < n; e++) {
    let at = me.offset;
    let rest = e;
    for (let d = me.shape.length - 1; d >= 0; d--) {
      at += (rest % me.shape[d]) * me.strides[d];
      rest = Math.floor(rest / me.shape[d]);
    }
    cells.add(at);
  }
  const shared = [...cells].filter(i => readsCell(other, i)).length;
  return shared === cells.size ? t('all') : String(shared);
}
