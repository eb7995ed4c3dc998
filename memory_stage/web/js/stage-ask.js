/* Who holds these bytes, who else sees these cells: a question about a storage or a tensor, answered in words from one frame. */

const MOST_COUNTED = 4096;                           // cells that are counted one by one
const MOST_TOLD = 4;                                 // holders that are told by name

/** "a", "a and b", "a, b and c"; of many, the first and how many more. */
function andList(texts, more = 'others') {
  const told = texts.length > MOST_TOLD + 1 ? [...texts.slice(0, MOST_TOLD), `${texts.length - MOST_TOLD} ${more}`] : texts;
  return told.length < 2 ? told.join('') : `${told.slice(0, -1).join(', ')} and ${told.at(-1)}`;
}
const several = (n, one) => `${countText(n)} ${one}${n === 1 ? '' : 's'}`;
const cellsIn = shape => shape.reduce((n, d) => n * d, 1);

/** What stands for a tensor in words: its names, or what it is. */
function calledIn(f, t) {
  if (t.saved) return savedAs(f, [t]);
  const names = [...f.names.values()].filter(n => n.tensor === t.id && n.gone === undefined).map(n => n.kind === 'line' ? `the running ${n.name}` : `\`${n.name}\``);
  return names.length ? andList(names, 'more names') : t.outside ? 'an array of numpy without a name' : `a tensor of shape ${FIELDS.shape(t)} without a name${t.holder ? `, which ${t.holder} holds` : ''}`;
}

/** "`multiply` (line 3, saved `a@0`)": what one operation keeps. */
function savedAs(f, saved) {
  const n = f.nodes.get(saved[0].node), what = [...new Set(saved.map(t => `${t.marks ? 'keeps marks of' : t.part ? 'keeps a copy of a part of' : t.copy ? 'keeps a copy of' : 'saved'} \`${keptOf(f, t)}\`${t.inferred ? ', as is inferred' : ''}`))];
  return `\`${n?.op ?? 'operation'}\` (${n ? `line ${n.line}, ` : ''}${andList(what)})`;
}
const byNode = saved => [...saved.reduce((map, t) => map.set(t.node, [...(map.get(t.node) ?? []), t]), new Map()).values()];

/** What can be asked about in a frame: [{ asked: { storage } or { tensor }, label }], storages first. */
function askable(f) {
  const storages = [...f.storages.values()].filter(s => s.freed === undefined).map(s => ({ asked: { storage: s.id }, label: `storage ${s.id}${s.label ? `: ${s.label}` : ''}` }));
  const tensors = [...f.tensors.values()].filter(t => t.freed === undefined).map(t => ({ asked: { tensor: t.id }, label: plain(calledIn(f, t)) }));
  return [...storages, ...tensors];
}

/** Who holds or who sees, for `options` { variant, step, storage } or { variant, step, tensor }: one or a few sentences. */
const answer = (trace, { variant = 0, step = 0, ...asked }) => answerTo(planOf(trace).runs[variant], step, asked);

/** The answer at step `k`, code in backticks. */
function answerTo(frames, k, { storage, tensor }) {
  const f = frames[k], it = tensor === undefined ? f.storages.get(storage) : f.tensors.get(tensor), what = tensor === undefined ? `Storage ${storage}` : 'The tensor';
  if (!it) return `${what} is not there at this step.`;
  if (it.freed !== undefined) return `${what} ${it.saved ? 'was let go' : 'was freed'} at step ${it.freed + 1} (line ${frames[it.freed]?.line ?? 1}).${tensor === undefined ? ' Nobody holds its bytes any more.' : ''}`;
  return tensor === undefined ? holdersOf(f, it) : seersOf(f, it);
}

function holdersOf(f, st) {
  const { tensors, saved, names } = whoRefers(f, { storage: st.id }), nodes = byNode(saved), called = tensors.map(t => calledIn(f, t));
  const what = `Storage ${st.id}, ${bytesText(st.bytes)},`, foreign = st.borrowed ? ' Its bytes are not counted: somebody else allocated them.' : '';
  if (!called.length && !nodes.length) return `${what} is held by nothing that is shown here.${foreign}`;
  const ends = !called.length ? 'No name reaches it: it stays until backward has passed, or until the graph goes.'
    : nodes.length ? `Without ${andList(called, 'more')} it would stay, for backward.`
    : names.length && names.every(n => n.kind === 'line') ? 'It is freed when the line is done.'
    : names.length === 1 && called.length === 1 ? `Nobody else: without ${called[0]} it would be freed.` : 'It is freed when the last of these goes.';
  return `${what} is held by ${andList([...called, ...nodes.map(mine => savedAs(f, mine))], 'more')}. ${ends}${foreign}`;
}

function seersOf(f, me) {
  const { ids, names } = whoRefers(f, { tensor: me.id }), others = [...f.tensors.values()].filter(t => t.freed === undefined && t.storage === me.storage && t.id !== me.id);
  const seen = others.filter(t => !t.saved && ids.has(t.id)), apart = others.filter(t => !t.saved && !ids.has(t.id)), kept = byNode(others.filter(t => t.saved && t.node !== me.node && ids.has(t.id)));
  const two = names.filter(n => n.tensor === me.id).length > 1, verb = (list, one, many) => list.length > 1 ? many : one, all = list => upper(andList(list, 'more'));
  const doubt = saved => saved.some(t => t.unnoticed) ? '; numbers were overwritten, and backward will not notice' : saved.some(t => t.stale === 'lost') ? '; numbers were overwritten, so backward will refuse' : saved.some(isStale) ? '; the version of the storage has moved, so backward will refuse' : '';
  const parts = [`${upper(calledIn(f, me))} ${me.saved ? 'needs' : two ? 'name one tensor; it reads' : 'reads'} ${several(cellsIn(me.shape), 'cell')} of storage ${me.storage}${me.saved ? doubt([me]) : ''}.`];
  if (seen.length) parts.push(`Of these, ${andList(seen.map((t, i) => `${calledIn(f, t)}${i ? '' : ' reads'} ${sharedBy(me, t)}`), 'more')}.${me.saved ? '' : ' A write to a cell shows in all that read it.'}`);
  if (kept.length) parts.push(`${all(kept.map(mine => savedAs(f, mine)))} ${verb(kept, 'needs', 'need')} them for backward${me.saved ? '' : doubt(kept.flat())}.`);
  if (apart.length) parts.push(`${all(apart.map(t => calledIn(f, t)))} ${verb(apart, 'reads', 'read')} other cells of the same storage.`);
  if (!seen.length && (me.saved || !kept.length)) parts.push(me.saved ? 'No tensor reads them.' : 'Nobody else reads them: a write shows nowhere else.');
  return parts.join(' ');
}

/** How many of the cells that `me` reads `other` reads, too. */
function sharedBy(me, other) {
  const n = cellsIn(me.shape), cells = new Set();
  if (n > MOST_COUNTED) return 'some';
  for (let e = 0; e < n; e++) {
    let at = me.offset, rest = e;
    for (let d = me.shape.length - 1; d >= 0; d--) { at += rest % me.shape[d] * me.strides[d]; rest = Math.floor(rest / me.shape[d]); }
    cells.add(at);
  }
  const shared = [...cells].filter(i => reads(other, i)).length;
  return shared === cells.size ? 'all' : String(shared);
}
const upper = s => s[0].toUpperCase() + s.slice(1);
