import { plural, t } from '../shared/messages.js';
import { getOrMake } from '../shared/cache.js';
import { listed } from '../shared/text.js';
import { isStale } from '../trace/references.js';
import { touchedOf } from '../trace/replay.js';
import { savedLabel, tensorName } from './labels.js';

export const MOST_NODES = 24;

const CHAIN = 3;

/**
 * Return the generations of a variant's history, { list, at, named }: the list of generations and, for each step, the
 * index of its generation and the ids of the states that have names under them.
 * There is one picture for each generation. A new generation begins when backward has finished with a graph and the
 * program records a new graph that does not use the old one, as in a training loop.
 */
export const generationsOf = (plan, variant) =>
  getOrMake((plan.generations ??= new Map()), variant, () => {
    const frames = plan.runs[variant];
    const ends = frames.at(-1).nodes; // `ran` is the step in which backward last passed a node
    const at = [];
    const named = []; // for each step, the ids of states with more names than their labels show
    const list = [];
    let gen = 0;
    let mine = [];
    frames.walk((frame, step) => {
      const fresh = touchedOf(frame.nodes).filter(n => Math.max(0, n.born) === step);
      if (fresh.length) {
        const made = new Set(mine.map(n => n.out));
        const spent = n => ends.get(n.id).ran === undefined || ends.get(n.id).ran < step;
        const over =
          mine.length &&
          mine.every(spent) &&
          mine.some(n => ends.get(n.id).ran !== undefined || frame.nodes.get(n.id).dropped !== undefined);
        if (over && !fresh.some(n => n.ins.some(s => made.has(s)))) {
          gen += 1;
          mine = [];
        }
        mine.push(...fresh);
      }
      at.push(gen);
    });
    frames.walk((frame, step) => {
      const g = at[step];
      const begins = at[step - 1] !== g;
      const gen = (list[g] ??= {
        nodes: new Map(),
        states: new Map(),
        groups: new Map(),
        grads: new Map(),
        words: new Map(),
      });
      const saidAnew = touchedOf(frame.tensors)
        .map(tensor => frame.nodes.get(tensor.node))
        .filter(Boolean);
      for (const n of [...touchedOf(frame.nodes), ...saidAnew]) {
        // a dropped history stays in the picture, faded, until the next generation begins
        if (at[Math.max(0, n.born)] !== g) continue;
        if (!gen.nodes.has(n.id)) gen.nodes.set(n.id, n);
        getOrMake(gen.words, n.id, () => new Set()).add(savedWords(frame, n).text);
      }
      for (const s of begins ? frame.states.values() : touchedOf(frame.states)) {
        if (s.dropped !== undefined && at[s.dropped] < g) continue;
        gen.states.set(s.id, s);
        if (s.grad) getOrMake(gen.grads, s.id, () => new Set()).add(s.grad);
      }
      const isAnyRenamed = begins || frame.names.touched.size > 0;
      const earlier = isAnyRenamed ? new Set() : named.at(-1);
      const differ = [...(isAnyRenamed ? gen.states.keys() : frame.states.touched)].filter(
        id => hasExtraNames(frame, id) !== earlier.has(id),
      );
      named.push(differ.length || isAnyRenamed ? symmetricDifference(earlier, differ) : earlier);
      for (const fam of begins ? frame.groups.values() : touchedOf(frame.groups)) gen.groups.set(fam.id, fam);
    });
    for (const gen of list) foldChains(gen);
    return { list, at, named };
  });

const hasExtraNames = (frame, id) => frame.states.has(id) && extraNames(frame, frame.states.get(id)) !== '';

/** Return the symmetric difference of a set and the given values. */
function symmetricDifference(set, values) {
  const result = new Set(set);
  for (const value of values) if (!result.delete(value)) result.add(value);
  return result;
}

/** Return a node's text about the tensors that it saved, and the style of the text. */
export function savedWords(frame, n) {
  const saved = n.saved.map(id => frame.tensors.get(id)).filter(Boolean);
  if (!saved.length) return { text: n.unknown ? t('saved: not known') : t('saved nothing'), quiet: true };
  const called = which => listed([...new Set(which.map(tensor => savedLabel(frame, tensor)))]);
  const stale = saved.filter(tensor => isStale(tensor));
  const live = saved.filter(tensor => tensor.freed === undefined);
  if (n.failed !== undefined && !stale.length) return { text: t('saved {tensors}', { tensors: called(saved) }) };
  if (stale.length) {
    const tensors = called(stale);
    const count = new Set(stale.map(tensor => savedLabel(frame, tensor))).size;
    const isLost = stale.some(tensor => tensor.stale === 'lost');
    return {
      text: isLost
        ? plural('{tensors} is gone', '{tensors} are gone', count, { tensors })
        : plural('{tensors} is stale', '{tensors} are stale', count, { tensors }),
      short: isLost ? t('saved: gone') : t('saved: stale'),
      stale: true,
      unnoticed: stale.some(tensor => tensor.unnoticed),
    };
  }
  if (!live.length) return { text: t('released {tensors}', { tensors: called(saved) }), quiet: true };
  if (live.some(tensor => tensor.part)) return { text: t('{tensors} and a copy', { tensors: called(live) }) };
  const state = `${called(live)}${live.every(tensor => tensor.inferred) ? ' ?' : ''}`;
  if (live.every(tensor => tensor.marks)) return { text: t('marks of {state}', { state }) };
  if (live.every(tensor => tensor.copy)) return { text: t('copy of {state}', { state }) };
  return { text: t('saved {state}', { state }) };
}

/** Return the names of a state if it has other names than the one in its label; otherwise ''. */
export function extraNames(frame, s) {
  const names = s.names.filter(n => frame.names.has(n) && frame.names.get(n).gone === undefined);
  return names.every(n => n === s.label.split('@')[0]) ? '' : listed(names.map(tensorName));
}

/**
 * Make the items of a generation: one for each operation. If there are more than MOST_NODES operations, fold each chain
 * of at least CHAIN equal operations without branches into one item. If that leaves too many items, fold chains of
 * different operations, too.
 */
export function foldChains(gen) {
  const single = n => ({ id: n.id, members: [n], ins: n.ins, out: n.out });
  gen.items = [...gen.nodes.values()].map(single);
  if (gen.nodes.size <= MOST_NODES) return;
  const readers = new Map();
  const maker = new Map();
  for (const n of gen.nodes.values()) {
    n.ins.forEach(s => readers.set(s, (readers.get(s) ?? 0) + 1));
    maker.set(n.out, n);
  }
  const chains = sameOp => {
    const found = [];
    for (const n of gen.nodes.values()) {
      const last = found.at(-1)?.at(-1);
      const goesOn =
        last &&
        (!sameOp || last.op === n.op) &&
        n.ins.includes(last.out) &&
        readers.get(last.out) === 1 &&
        n.ins.every(s => s === last.out || !maker.has(s));
      if (goesOn) found.at(-1).push(n);
      else found.push([n]);
    }
    return found.flatMap(members => {
      if (members.length < CHAIN) return members.map(single);
      const inner = new Set(members.slice(0, -1).map(n => n.out));
      return [
        {
          id: members[0].id,
          members,
          ins: [...new Set(members.flatMap(n => n.ins).filter(s => !inner.has(s)))],
          out: members.at(-1).out,
          inner,
        },
      ];
    });
  };
  gen.items = chains(true);
  if (gen.items.length > MOST_NODES) gen.items = chains(false);
}

/** Return the title of a box: "add", "40 × add", "160 × 5 operations" for the passes of a loop, or "9 operations". */
export function titleOf(members) {
  const n = members.length;
  const keys = members.map(m => `${m.op} ${m.line}`);
  const isAt = (p, i) => keys[i] === keys[i % p];
  const [{ op }] = members;
  if (n === 1) return op;
  if (members.every(member => member.op === op)) return `${n} × ${op}`;
  for (let p = 2; p <= n / 2; p++) {
    let same = p;
    while (same < n && isAt(p, same)) same += 1;
    const passes = Math.floor(same / p);
    const rest = n - passes * p;
    if (passes < 2 || rest > p) continue;
    const values = { passes, count: p, rest };
    return rest ? t('{passes} × {count} + {rest} operations', values) : t('{passes} × {count} operations', values);
  }
  return t('{count} operations', { count: n });
}

/** Return those operations of an item that exist in this frame. */
export const membersOf = (it, frame) => it.members.map(n => frame.nodes.get(n.id)).filter(Boolean);

const makers = new WeakMap();

/** Return the items of a generation whose last operation made a state. */
export function makersOf({ items }, state) {
  const all = getOrMake(makers, items, () => {
    const found = new Map();
    for (const it of items) getOrMake(found, it.out, () => []).push(it);
    return found;
  });
  return all.get(state) ?? [];
}

export const stateAt = (p, frame, gen) => {
  const it = makersOf(gen, p.key).find(i => i.members.length > 1);
  const done = it && membersOf(it, frame).at(-1);
  return frame.states.get(done ? done.out : p.key);
};
