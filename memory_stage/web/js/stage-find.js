/* Finding one's way in a long program: what happens at which steps, where a text occurs, which pass of which loop a step belongs to.
   Pure functions of a trace; steps count from 0. */

const CALM = 12;                                     // a program of so few steps needs none of this
const FEW_PASSES = 3;                                // a loop of fewer passes is told step by step

/** The steps at which something of a kind happens: Map of kind -> steps, in the order of the buttons; a kind that never occurs is absent. */
function waysOf(trace, variant) {
  const plan = planOf(trace);
  return entry(plan.ways ??= new Map(), variant, () => {
    const { steps } = trace.variants[variant], most = Math.max(...steps.map(s => s.peak)), any = test => s => s.events.some(test);
    const kinds = {
      write: any(e => e.do === 'write'),
      allocation: any(e => e.do === 'storage' && !e.borrowed),
      freed: any(e => e.do === 'free' && e.storages.length),
      copy: any(e => e.do === 'preserve' || (e.do === 'save' && e.copy)),
      stale: any(e => e.do === 'stale'),
      backward: (s, k) => s.phase === 'backward' && steps[k - 1]?.phase !== 'backward',
      peak: (s, k) => s.peak === most && steps[k - 1]?.peak !== most,
      print: s => Boolean(s.out),
      error: any(e => e.do === 'raise'),
    };
    return new Map(Object.entries(kinds).map(([kind, test]) => [kind, steps.flatMap((s, k) => test(s, k) ? [k] : [])]).filter(([, found]) => found.length));
  });
}

/** All ways through a variant as plain data: steps by what happens, loops, and the steps that hold the text `find`. */
const ways = (trace, { variant = 0, find = '' } = {}) => ({ events: Object.fromEntries(waysOf(trace, variant)), loops: loopsOf(trace, variant), hits: findIn(trace, variant, find) });

/** The step after `at` in a list of steps, or before it; past an end it goes on at the other. */
function nextOf(steps, at, back = false) {
  return back ? steps.findLast(k => k < at) ?? steps.at(-1) : steps.find(k => k > at) ?? steps[0];
}

const folded = s => plain(s).toLowerCase().replace(/\s+/g, ' ');

/** The steps whose sentence, code, output or error holds a text; case and the width of spaces do not matter. */
function findIn(trace, variant, wanted) {
  const plan = planOf(trace), { code } = trace.variants[variant], sought = folded(wanted.trim());
  const texts = entry(plan.searched ??= new Map(), variant, () => plan.runs[variant].map(f => [f.say, f.note ?? '', f.out ?? '', f.error ?? '', ...code.slice(f.line - 1, f.end)].map(folded)));
  return sought ? texts.flatMap((mine, k) => mine.some(s => s.includes(sought)) ? [k] : []) : [];
}

/** The loops of a variant, outer before inner: { line, depth, from, to, passes: [{ n, from, to }] }. */
function loopsOf(trace, variant) {
  const plan = planOf(trace);
  return entry(plan.loops ??= new Map(), variant, () => {
    const loops = [], open = [];
    trace.variants[variant].steps.forEach(({ passes = [] }, k) => {
      let same = true;                                 // still in the passes that the step before was in, so far
      passes.forEach(([line, n], depth) => {
        let loop = open[depth], pass = loop?.passes.at(-1);
        if (!same || loop?.line !== line || loop.to !== k - 1 || n < pass.n) { loops.push(loop = open[depth] = { line, depth, from: k, to: k, passes: [] }); pass = undefined; same = false; }
        if (pass?.n !== n) { loop.passes.push(pass = { n, from: k, to: k }); same = false; }
        loop.to = pass.to = k;
      });
      open.length = passes.length;
    });
    return loops;
  });
}

/** While what was saved is stale: the lines that saved it and those that wrote over it. Map of line -> sets of labels: { saved, lost, moved }. */
function blameOf(trace, variant, k) {
  const plan = planOf(trace), { steps } = trace.variants[variant], lines = new Map();
  const writes = entry(plan.blame ??= new Map(), variant, () => steps.flatMap((s, at) => s.events.filter(e => e.do === 'stale').flatMap(e => e.ids.map(id => [id, at, e.lost ? 'lost' : 'moved']))));
  if (!writes.some(([, at]) => at <= k)) return lines;
  const f = plan.runs[variant][k], lineOf = line => entry(lines, line, () => ({ saved: new Set(), lost: new Set(), moved: new Set() }));
  for (const [id, at, how] of writes) {
    const t = f.tensors.get(id), n = t && isStale(t) && f.nodes.get(t.node);
    if (n && at <= k) { lineOf(n.line).saved.add(keptOf(f, t)); lineOf(steps[at].line)[how].add(keptOf(f, t)); }
  }
  return lines;
}

/** The step of pass `to` that is what step `k` is in its own pass: the same run of the same line; the first where there is none. */
function sameInPass(frames, k, own, to) {
  const alike = pass => { const steps = []; for (let i = pass.from; i <= pass.to; i++) if (frames[i].line === frames[k].line && frames[i].phase === frames[k].phase) steps.push(i); return steps; };
  const hits = alike(to);
  return hits[alike(own).indexOf(k)] ?? hits.at(-1) ?? to.from;
}

/** Steps `from` to `to`: loops, told pass by pass when asked again with their depth plus one, and runs { from, to } of steps that say the same. */
function outlineOf(trace, variant, from, to, depth = 0) {
  const loops = loopsOf(trace, variant), { steps } = trace.variants[variant], items = [];
  const same = (a, b) => ['say', 'note', 'line', 'phase', 'out', 'allocated'].every(key => a[key] === b[key]) && !b.events.some(e => e.do === 'raise');
  for (let k = from; k <= to; k++) {
    const loop = loops.find(l => l.from === k && l.depth >= depth && l.passes.length >= FEW_PASSES), last = items.at(-1);
    if (loop) { items.push(loop); k = loop.to; }
    else if (last && !last.passes && same(steps[last.from], steps[k])) last.to = k;
    else items.push({ from: k, to: k });
  }
  return items;
}
