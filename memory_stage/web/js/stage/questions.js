import { andList, bytesText, capitalized, countOf, withoutBackticks } from '../shared/text.js';
import { readsCell } from '../trace/cells.js';
import { isStale, referencesTo } from '../trace/references.js';
import { FIELDS, savedLabel } from './labels.js';
import { planOf } from './plan.js';

const MOST_COUNTED = 4096; // cells that are counted one by one
const MOST_CELLS_ASKED = 12; // of a storage

const elementCount = shape => shape.reduce((n, d) => n * d, 1);

/** Return the words for a tensor: its names, or its role. */
function tensorPhrase(frame, tensor) {
  if (tensor.saved) return savedPhrase(frame, [tensor]);
  return andList(namesOf(frame, tensor), 'more names');
}

/** Return the names of a tensor as phrases, or the description of a tensor without a name. */
function namesOf(frame, tensor) {
  const names = [...frame.names.values()]
    .filter(n => n.tensor === tensor.id && n.gone === undefined)
    .map(n => (n.kind === 'line' ? `the running ${n.name}` : `\`${n.name}\``));
  if (names.length) return names;
  if (tensor.outside) return ['an array of numpy without a name'];
  return [
    `a tensor of shape ${FIELDS.shape(tensor)} without a name${tensor.holder ? `, which ${tensor.holder} holds` : ''}`,
  ];
}

/** Return the words for the saved tensors of one operation: "`multiply` (line 3, saved `a@0`)". */
function savedPhrase(frame, saved) {
  const n = frame.nodes.get(saved[0].node);
  const what = [
    ...new Set(
      saved.map(
        tensor =>
          `${tensor.marks ? 'keeps marks of' : tensor.part ? 'keeps a copy of a part of' : tensor.copy ? 'keeps a copy of' : 'saved'} \`${savedLabel(frame, tensor)}\`${tensor.inferred ? ', as is inferred' : ''}`,
      ),
    ),
  ];
  return `\`${n?.op ?? 'operation'}\` (${n ? `line ${n.line}, ` : ''}${andList(what)})`;
}

const byNode = saved => [
  ...saved.reduce((map, tensor) => map.set(tensor.node, [...(map.get(tensor.node) ?? []), tensor]), new Map()).values(),
];

/** Return the possible questions in a frame: [{ asked: { storage, cell? } or { tensor }, label }], storages first. */
export function askable(frame) {
  const storages = [...frame.storages.values()]
    .filter(s => s.freed === undefined)
    .map(s => ({ asked: { storage: s.id }, label: `storage ${s.id}${s.label ? `: ${s.label}` : ''}` }));
  const tensors = [...frame.tensors.values()]
    .filter(tensor => tensor.freed === undefined)
    .map(tensor => ({ asked: { tensor: tensor.id }, label: withoutBackticks(tensorPhrase(frame, tensor)) }));
  const cells = [...frame.storages.values()]
    .filter(isDrawnWhole)
    .flatMap(({ id, length }) =>
      Array.from({ length }, (_, cell) => ({ asked: { storage: id, cell }, label: `cell ${cell} of storage ${id}` })),
    );
  return [...storages, ...tensors, ...cells];
}

/** True for a storage whose cells can be asked about one after another. */
const isDrawnWhole = ({ freed, length }) => freed === undefined && length <= MOST_CELLS_ASKED;

/** Return the holders of a storage, or the tensors that read a cell or the cells of a tensor, in a few sentences. */
export const answer = (trace, { variant = 0, step = 0, ...asked }) =>
  answerAt(planOf(trace).runs[variant], step, /** @type {any} */ (asked));

/**
 * Return the answer at a step, with code in backticks.
 * @param {any} frames
 * @param {number} step
 * @param {{storage?: string, cell?: number, tensor?: string}} asked
 */
export function answerAt(frames, step, { storage, cell, tensor }) {
  const frame = frames[step];
  const it = tensor === undefined ? frame.storages.get(storage) : frame.tensors.get(tensor);
  const what = tensor === undefined ? `Storage ${storage}` : 'The tensor';
  if (!it) return `${what} is not there at this step.`;
  if (it.freed !== undefined) {
    return `${what} ${it.saved ? 'was let go' : 'was freed'} at step ${it.freed + 1} (line ${frames[it.freed]?.line ?? 1}).${tensor === undefined ? ' Nobody holds its bytes any more.' : ''}`;
  }
  if (tensor !== undefined) return readersAnswer(frame, it);
  return cell === undefined ? holdersAnswer(frame, it) : cellAnswer(frame, it, cell);
}

/** Return what backward will do with overwritten saved tensors, as the end of a sentence. */
const doubtOf = saved =>
  saved.some(tensor => tensor.unnoticed)
    ? '; numbers were overwritten, and backward will not notice'
    : saved.some(tensor => tensor.stale === 'lost')
      ? '; numbers were overwritten, so backward will refuse'
      : saved.some(isStale)
        ? '; the version of the storage has moved, so backward will refuse'
        : '';

/** Return the tensors that read a cell, and the operations that saved it, in a few sentences. */
function cellAnswer(frame, storage, cell) {
  const { tensors, saved } = referencesTo(frame, { storage: storage.id, cell });
  const { wrote, values } = storage;
  const now = values[cell];
  const old = wrote?.at === frame.step ? wrote.old[cell] : undefined;
  const holds =
    now === undefined ? '' : ` holds ${now}${old === undefined || old === '' ? '' : `, before this step ${old}`}`;
  const readers = tensors.flatMap(tensor => namesOf(frame, tensor));
  const nodes = byNode(saved).map(mine => savedPhrase(frame, mine));
  return [
    `Cell ${cell} of storage ${storage.id}${holds}.`,
    readers.length
      ? `${capitalized(andList(readers, 'more'))} ${readers.length > 1 ? 'read' : 'reads'} it.`
      : 'No tensor reads it.',
    nodes.length
      ? `${capitalized(andList(nodes, 'more'))} ${nodes.length > 1 ? 'need' : 'needs'} it for backward${doubtOf(saved)}.`
      : '',
  ]
    .filter(Boolean)
    .join(' ');
}

function holdersAnswer(frame, storage) {
  const { tensors, saved, names } = referencesTo(frame, { storage: storage.id });
  const nodes = byNode(saved);
  const called = tensors.map(tensor => tensorPhrase(frame, tensor));
  const what = `Storage ${storage.id}, ${bytesText(storage.bytes)},`;
  const foreign = storage.borrowed ? ' Its bytes are not counted: somebody else allocated them.' : '';
  if (!called.length && !nodes.length) return `${what} is held by nothing that is shown here.${foreign}`;
  const ends = !called.length
    ? 'No name reaches it: it stays until backward has passed, or until the graph goes.'
    : nodes.length
      ? `Without ${andList(called, 'more')} it would stay, for backward.`
      : names.length && names.every(n => n.kind === 'line')
        ? 'It is freed when the line is done.'
        : names.length === 1 && called.length === 1
          ? `Nobody else: without ${called[0]} it would be freed.`
          : 'It is freed when the last of these goes.';
  return `${what} is held by ${andList([...called, ...nodes.map(mine => savedPhrase(frame, mine))], 'more')}. ${ends}${foreign}`;
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
  const verb = (list, one, many) => (list.length > 1 ? many : one);
  const all = list => capitalized(andList(list, 'more'));
  const parts = [
    `${capitalized(tensorPhrase(frame, me))} ${me.saved ? 'needs' : two ? 'name one tensor; it reads' : 'reads'} ${countOf(elementCount(me.shape), 'cell')} of storage ${me.storage}${me.saved ? doubtOf([me]) : ''}.`,
  ];
  if (seen.length) {
    parts.push(
      `Of these, ${andList(
        seen.map((tensor, i) => {
          const verb = namesOf(frame, tensor).length > 1 ? ' read' : ' reads';
          return `${tensorPhrase(frame, tensor)}${i ? '' : verb} ${sharedCellsText(me, tensor)}`;
        }),
        'more',
      )}.${me.saved ? '' : ' A write to a cell shows in all that read it.'}`,
    );
  }
  if (kept.length) {
    parts.push(
      `${all(kept.map(mine => savedPhrase(frame, mine)))} ${verb(kept, 'needs', 'need')} them for backward${me.saved ? '' : doubtOf(kept.flat())}.`,
    );
  }
  if (apart.length) {
    parts.push(
      `${all(apart.map(tensor => tensorPhrase(frame, tensor)))} ${verb(apart, 'reads', 'read')} other cells of the same storage.`,
    );
  }
  if (!seen.length && (me.saved || !kept.length)) {
    parts.push(me.saved ? 'No tensor reads them.' : 'Nobody else reads them: a write shows nowhere else.');
  }
  return parts.join(' ');
}

/** Return how many of the cells that `me` reads are also read by `other`, in words. */
function sharedCellsText(me, other) {
  const n = elementCount(me.shape);
  const cells = new Set();
  if (n > MOST_COUNTED) return 'some';
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
  return shared === cells.size ? 'all' : String(shared);
}
