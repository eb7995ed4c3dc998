import { t } from '../shared/messages.js';
import { getOrMake } from '../shared/cache.js';
import { andList, listed, more, withoutBackticks } from '../shared/text.js';
import { isStale } from '../trace/references.js';
import { savedLabel } from './labels.js';
import { planOf } from './plan.js';

export const SHORT_PROGRAM = 12; // a program with at most this many steps needs no navigation

export const FEW_PASSES = 3; // a loop with at least this many passes is folded in a list

/** Return a map from each kind of event that occurs to the steps with such events, in the order of the buttons. */
export function eventSteps(trace, variant) {
  const plan = planOf(trace);
  return getOrMake((plan.ways ??= new Map()), variant, () => {
    const { steps } = trace.variants[variant];
    const most = Math.max(...steps.map(s => s.peak));
    const any = test => s => s.events.some(test);
    const kinds = {
      write: any(e => e.do === 'write'),
      allocation: any(e => e.do === 'storage' && !e.borrowed),
      freed: any(e => e.do === 'free' && e.storages.length),
      copy: any(e => e.do === 'preserve' || (e.do === 'save' && e.copy)),
      stale: any(e => e.do === 'stale'),
      backward: (s, step) => s.phase === 'backward' && steps[step - 1]?.phase !== 'backward',
      peak: (s, step) => s.peak === most && steps[step - 1]?.peak !== most,
      print: s => Boolean(s.out),
      error: any(e => e.do === 'raise'),
    };
    return new Map(
      Object.entries(kinds)
        .map(
          ([kind, test]) =>
            /** @type {[string, number[]]} */ ([kind, steps.flatMap((s, step) => (test(s, step) ? [step] : []))]),
        )
        .filter(([, found]) => found.length),
    );
  });
}

/**
 * Return the navigation of a variant as plain data: the steps with each kind of event, the loops, and the steps whose
 * texts contain `find`.
 */
export const navigation = (trace, { variant = 0, find = '' } = {}) => ({
  events: Object.fromEntries(eventSteps(trace, variant)),
  loops: loopsOf(trace, variant),
  hits: stepsWithText(trace, variant, find),
});

/** Return the next step after `at` in a list or, if `back` is true, the previous one. Wrap around at both ends. */
export function nextOf(steps, at, back = false) {
  return back ? (steps.findLast(step => step < at) ?? steps.at(-1)) : (steps.find(step => step > at) ?? steps[0]);
}

const searchable = s => withoutBackticks(s).toLowerCase().replace(/\s+/g, ' ');

/**
 * Return the steps whose sentence, note, code, output or error contains a text. Ignore case and the number of spaces.
 */
export function stepsWithText(trace, variant, wanted) {
  const plan = planOf(trace);
  const { code } = trace.variants[variant];
  const sought = searchable(wanted.trim());
  const texts = getOrMake((plan.searched ??= new Map()), variant, () =>
    plan.runs[variant].map(frame =>
      [frame.say, frame.note ?? '', frame.out ?? '', frame.error ?? '', ...code.slice(frame.line - 1, frame.end)].map(
        searchable,
      ),
    ),
  );
  return sought ? texts.flatMap((mine, step) => (mine.some(s => s.includes(sought)) ? [step] : [])) : [];
}

/** Return a variant's loops, outer before inner ones, as { line, depth, from, to, passes: [{ n, from, to }] }. */
export function loopsOf(trace, variant) {
  const plan = planOf(trace);
  return getOrMake((plan.loops ??= new Map()), variant, () => {
    const loops = [];
    const open = [];
    trace.variants[variant].steps.forEach(({ passes = [] }, step) => {
      let same = true; // true while the step is in the same passes as the previous one
      passes.forEach(([line, n], depth) => {
        let loop = open[depth];
        let pass = loop?.passes.at(-1);
        if (!same || loop?.line !== line || loop.to !== step - 1 || n < pass.n) {
          loops.push((loop = open[depth] = { line, depth, from: step, to: step, passes: [] }));
          pass = undefined;
          same = false;
        }
        if (pass?.n !== n) {
          loop.passes.push((pass = { n, from: step, to: step }));
          same = false;
        }
        loop.to = pass.to = step;
      });
      open.length = passes.length;
    });
    return loops;
  });
}

/**
 * Return a map from lines to the labels of tensors that are stale at a step: `saved` has those that the line saved,
 * `lost` those that it overwrote, and `moved` those in whose storage it wrote only other cells.
 * @returns {Map<number, {saved: Set<string>, lost: Set<string>, moved: Set<string>}>}
 */
export function staleLines(trace, variant, step) {
  const plan = planOf(trace);
  const { steps } = trace.variants[variant];
  const lines = new Map();
  const writes = getOrMake((plan.blame ??= new Map()), variant, () =>
    steps.flatMap((s, at) =>
      s.events.filter(e => e.do === 'stale').flatMap(e => e.ids.map(id => [id, at, e.lost ? 'lost' : 'moved'])),
    ),
  );
  if (!writes.some(([, at]) => at <= step)) return lines;
  const frame = plan.runs[variant][step];
  const lineOf = line => getOrMake(lines, line, () => ({ saved: new Set(), lost: new Set(), moved: new Set() }));
  for (const [id, at, how] of writes) {
    const tensor = frame.tensors.get(id);
    const n = tensor && isStale(tensor) && frame.nodes.get(tensor.node);
    if (n && at <= step) {
      lineOf(n.line).saved.add(savedLabel(frame, tensor));
      lineOf(steps[at].line)[how].add(savedLabel(frame, tensor));
    }
  }
  return lines;
}

/** Return the note at a line about the stale tensors that `staleLines` found for it. */
export function staleText({ saved, lost, moved }) {
  const all = labels => ({ tensors: andList([...labels], more) });
  return listed([
    ...(saved.size ? [t('saved {tensors}', all(saved))] : []),
    ...(lost.size ? [t('overwrote {tensors}', all(lost))] : []),
    ...(moved.size ? [t('wrote beside {tensors}', all(moved))] : []),
  ]);
}

/**
 * Return the step of pass `to` that corresponds to a step of pass `own`: the same run of the same line, or else the
 * last run of this line, or else the first step of the pass.
 */
export function sameInPass(frames, step, own, to) {
  const alike = pass => {
    const steps = [];
    for (let i = pass.from; i <= pass.to; i++) {
      if (frames[i].line === frames[step].line && frames[i].phase === frames[step].phase) steps.push(i);
    }
    return steps;
  };
  const hits = alike(to);
  return hits[alike(own).indexOf(step)] ?? hits.at(-1) ?? to.from;
}

/**
 * Divide the steps from `from` to `to` into loops and runs { from, to } of equal steps. A loop is an item only
 * if it has at least FEW_PASSES passes and its depth of nesting is at least `depth`.
 */
export function outline(trace, variant, from, to, depth = 0) {
  const loops = loopsOf(trace, variant);
  const { steps } = trace.variants[variant];
  const items = [];
  const same = (a, b) =>
    ['say', 'note', 'line', 'phase', 'out', 'allocated'].every(key => a[key] === b[key]) &&
    !b.events.some(e => e.do === 'raise');
  for (let step = from; step <= to; step++) {
    const loop = loops.find(l => l.from === step && l.depth >= depth && l.passes.length >= FEW_PASSES);
    const last = items.at(-1);
    if (loop) {
      items.push(loop);
      step = loop.to;
    } else if (last && !last.passes && same(steps[last.from], steps[step])) last.to = step;
    else items.push({ from: step, to: step });
  }
  return items;
}
