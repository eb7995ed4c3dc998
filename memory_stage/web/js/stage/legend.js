import { shownName } from './labels.js';
import { t } from '../shared/messages.js';
import { paint } from '../shared/colors.js';
import { patternDef, stripesDef } from '../shared/patterns.js';
import { arrowHead, changeMark, cross, stroke, svgPath, svgRect, svgText } from '../shared/shapes.js';
import { shareCells } from '../trace/cells.js';
import { isOverwritten, isStale } from '../trace/references.js';
import { touchedOf } from '../trace/replay.js';
import { MOST_CELLS, runsText } from './cell-slots.js';
import { generationsOf } from './history-generations.js';
import { CROWD } from './memory-layout.js';
import { planOf } from './plan.js';
import { boxMark } from './rest-picture.js';

/** Return the names of the legend's marks that occur anywhere in the pictures of a trace. */
export function marksOf(trace) {
  const plan = planOf(trace);
  const has = new Set();
  const note = (name, yes) => {
    if (yes) has.add(name);
  };
  for (const frames of plan.runs) {
    frames.walk(frame => {
      for (const n of touchedOf(frame.names)) {
        (note(n.kind === 'line' ? 'line' : 'name', true), note('gone', n.gone !== undefined));
      }
      for (const s of touchedOf(frame.storages)) {
        (note('written', s.wrote),
          note('loose', s.wrote?.loose.length && s.length > MOST_CELLS),
          note('freed', s.freed !== undefined),
          note('borrowed', s.borrowed));
      }
      for (const tensor of touchedOf(frame.tensors)) {
        if (tensor.freed !== undefined) continue;
        (note('outside', tensor.outside), note('runs', runsText(tensor)));
        if (tensor.saved) {
          (note('saved', true),
            note('copy', tensor.copy),
            note('inferred', tensor.inferred),
            note('stale', isStale(tensor)));
        } else if (!has.has('shared')) {
          note(
            'shared',
            [...frame.tensors.values()].some(
              o =>
                o !== tensor &&
                !o.saved &&
                o.freed === undefined &&
                o.storage === tensor.storage &&
                shareCells(o, tensor),
            ),
          );
        }
      }
      for (const s of touchedOf(frame.states)) (note('state', true), note('grad', s.grad));
      if (!has.has('past')) {
        note(
          'past',
          [...frame.states.values()].some(s => isOverwritten(frame, s)),
        );
      }
      for (const n of touchedOf(frame.nodes)) {
        (note('node', true),
          note('passed', n.ran !== undefined && n.failed === undefined),
          note('failed', n.failed !== undefined));
      }
      for (const m of touchedOf(frame.groups)) note('group', m.names.length > 1);
    });
  }
  for (const { length, raster, known } of plan.groups.values()) {
    const [pictures, rows] = raster?.of ?? [1, 1];
    if (length > MOST_CELLS) note(pictures > 1 ? 'pictures' : rows > 1 ? 'map' : 'band', true);
    else note('many', known.size < length);
  }
  note(
    'unversioned',
    trace.variants.some(v => v.steps.some(s => s.events.some(e => e.unversioned))),
  );
  note(
    'chain',
    has.has('node') &&
      plan.runs.some((_, v) => generationsOf(plan, v).list.some(gen => gen.items.some(it => it.members.length > 1))),
  );
  note(
    'gradient',
    [...plan.texts.gradient].some(g => g !== t('no')),
  );
  note('folded', plan.groups.size > 6);
  note('boxes', plan.groups.size > CROWD);
  return has;
}

/** Return the rows of the legend about storages that are drawn as a whole. */
function wholeRows(text, edge) {
  return [
    [
      'band',
      svgRect(4, 4, 64, 22, edge('t1', 'line', 1)) + svgRect(40, 4, 12, 22, edge('t2', 'ink', 2.5)),
      t('a long storage: each cell is at its place in memory'),
    ],
    [
      'map',
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        .map(i =>
          svgRect(16 + 8 * (i % 5), i > 4 ? 15 : 7, 8, 8, `fill:${paint('ink')};opacity:${0.1 + ((i * 3) % 8) / 10}`),
        )
        .join('') + svgRect(16, 7, 40, 16, edge('none', 'line', 1)),
      t('a matrix, one square for each number or for several: the darker, the larger'),
    ],
    [
      'pictures',
      [4, 28]
        .map(x => svgRect(x, 4, 20, 22, edge('wash', 'line', 1)) + text(x + 10, 20, '7', { bold: true }))
        .join('') + text(62, 19, '+6'),
      t('a batch of pictures, drawn as pictures'),
    ],
  ];
}

/** Return all rows as [mark, sample, meaning]. A row without a mark is always shown. A sample is 72 by 30 px. */
export function legendRows(prefix) {
  const text = (x, y, s, o = {}) => svgText(x, y, s, { size: 12, mono: true, anchor: 'middle', ...o });
  const box = (style, rx = 4, x = 4, w = 64) => svgRect(x, 3, w, 24, style, rx);
  const edge = (fill, ...line) => `fill:${fill === 'none' ? fill : paint(fill)};${stroke(line[0], line[1], line[2])}`;
  const arrow = (x1, x2, token = 'line', w = 1.25) =>
    svgPath(`M${x1} 15H${x2}`, stroke(token, w)) + arrowHead(x2, 15, 'r', token);
  const cell = (x, fill, said = '', w = 22) =>
    svgRect(x, 4, w, 22, `fill:${fill};${stroke('line', 1)}`) + (said ? text(x + w / 2, 19, said) : '');
  const strip = hue => `fill:url(#${prefix}p${hue});${stroke(`a${hue}`, 1)}`;
  const red = cross(62, 15, 4);
  return [
    ['', text(8, 19, 'x', { bold: true }) + arrow(18, 68), t('a name and its tensor')],
    [
      'line',
      text(36, 19, shownName({ name: 'line 5', kind: 'line' }), { mono: false, color: 'muted' }),
      t('held by the running line'),
    ],
    [
      'gone',
      text(8, 19, 'x', { strike: true, color: 'muted' }) + text(44, 19, t('deleted'), { mono: false, color: 'muted' }),
      t('a name that is gone'),
    ],
    [
      '',
      box(edge('paper', 'line', 1)) + svgRect(8, 7, 7, 16, strip(1)) + text(42, 19, '[2, 3]'),
      t('a tensor, with its own color and pattern'),
    ],
    [
      'outside',
      box(edge('paper', 'line', 1)) + text(36, 19, 'numpy', { mono: false }),
      t('an array of numpy on the same memory'),
    ],
    [
      '',
      svgRect(1, 0, 70, 30, edge('wash', 'rule', 1), 4) +
        svgRect(8, 4, 18, 14, edge('t1', 'line', 1)) +
        svgRect(26, 4, 18, 14, edge('t1', 'line', 1)) +
        svgRect(44, 4, 18, 14, edge('paper', 'line', 1)) +
        svgRect(9, 21, 34, 6, strip(1)),
      t('a storage: its cells, and which of them a tensor reads'),
    ],
    [
      'borrowed',
      text(36, 19, t('borrowed'), { mono: false, color: 'muted' }),
      t('allocated by somebody else, and not counted'),
    ],
    ['shared', cell(14, `url(#${prefix}s1-2)`) + cell(36, `url(#${prefix}s1-2)`), t('cells that several tensors read')],
    ['many', cell(14, paint('paper'), '7') + cell(36, paint('paper'), '98', 26), t('so many cells that are not drawn')],
    ...wholeRows(text, edge),
    [
      'written',
      svgRect(20, 2, 32, 26, edge('t2', 'ink', 3)) +
        text(36, 12, '1', { strike: true }) +
        text(36, 25, '2', { bold: true, size: 13 }),
      t('heavy frame: written at this step, the old number above the new one'),
    ],
    [
      'loose',
      svgRect(20, 3, 32, 24, edge('paper', 'ink', 3, '5 3')) + text(36, 19, '98'),
      t('of so many cells, some were written at this step'),
    ],
    [
      'runs',
      svgRect(8, 4, 12, 8, strip(1)) +
        svgRect(30, 4, 12, 8, strip(1)) +
        svgRect(52, 4, 12, 8, strip(1)) +
        text(36, 26, t('90 runs'), { mono: false, color: 'muted' }),
      t('a tensor that reads cells far apart, or some several times'),
    ],
    [
      'unversioned',
      text(36, 19, t('stays 0'), { mono: false }),
      t('written by somebody else: backward will not notice'),
    ],
    ['', box(edge('paper', 'line', 1)) + changeMark(68, 3), t('filled corner: new or changed at this step')],
    ['freed', box(edge('none', 'line', 1, '3 3')), t('freed')],
    [
      'gradient',
      text(18, 19, t('gradient'), { mono: false, color: 'muted' }) + text(58, 19, t('yes')),
      t('gradient: yes if this tensor requires a gradient'),
    ],
    [
      'gradient',
      text(18, 19, t('leaf'), { mono: false, color: 'muted' }) + text(58, 19, t('yes')),
      t('leaf: yes if no recorded operation has made this tensor'),
    ],
    [
      'saved',
      box(edge('paper', 'line', 1.25), 9) + text(36, 19, 'multiply', { size: 12 }),
      t('an operation that saved this tensor'),
    ],
    ['saved', svgRect(8, 11, 56, 8, edge('paper', 'node', 1.25, '4 2'), 1), t('the cells that it saved')],
    [
      'inferred',
      box(edge('paper', 'line', 1.25), 9) + text(36, 19, 'a@0 ?'),
      t('inferred: the framework does not show what it saves'),
    ],
    ['copy', cell(14, paint('tn'), '1') + cell(36, paint('tn'), '2'), t('a copy that is kept')],
    [
      'stale',
      text(26, 19, '0 ≠ 1', { color: 'red', bold: true }) + red,
      t(
        'backward will refuse: a tensor that was saved at version 0 is at version 1. Gone: its numbers were ' +
          'overwritten; with the same version twice, the write was not counted, and backward will use the new ones. ' +
          'Stale: only the version moved',
      ),
    ],
    [
      'state',
      svgRect(14, 3, 44, 24, edge('tn', 'line', 1), 12) + text(36, 19, 'a@0'),
      t('a memory state, name @ version'),
    ],
    [
      'past',
      svgRect(14, 3, 44, 24, edge('paper', 'line', 1, '3 3'), 12) +
        text(36, 19, 'a@0', { strike: true, color: 'muted' }),
      t('a state whose numbers are gone'),
    ],
    ['node', box(edge('paper', 'line', 1), 9) + text(36, 19, 'add_', { bold: true }), t('an operation of the history')],
    [
      'chain',
      svgRect(8, 8, 62, 21, edge('paper', 'line', 1), 8) +
        svgRect(3, 2, 62, 23, edge('paper', 'line', 1), 8) +
        text(34, 18, '40 × add', { bold: true }),
      t('operations in a row, folded'),
    ],
    ['group', svgRect(2, 2, 68, 26, edge('wash', 'line', 1, '2 3'), 6), t('names whose memory has one history')],
    [
      'passed',
      svgPath('M8 15H68', stroke('ink', 2.5)) + arrowHead(8, 15, 'l', 'ink', 6),
      t('the gradient has passed here'),
    ],
    [
      'grad',
      text(36, 12, t('gradient'), { mono: false, color: 'muted' }) + text(36, 26, '[1, 1]'),
      t('the gradient that has arrived at a state'),
    ],
    [
      'failed',
      box(edge('red', 'red', 2), 9) + text(36, 19, 'multiply', { color: 'paper' }),
      t('backward needed a tensor that is gone, and stopped'),
    ],
    ['', box(edge('paper', 'focus', 3)), t('the answer to a question: click a storage or a tensor')],
    [
      'folded',
      svgRect(2, 4, 68, 22, edge('none', 'rule', 1, '2 3'), 4) +
        text(36, 19, t('{count} more', { count: 5 }), { mono: false, color: 'muted' }),
      t('storages not touched lately'),
    ],
    [
      'boxes',
      svgRect(4, 9, 14, 12, edge('t1', 'line', 1), 2) +
        svgRect(22, 9, 26, 12, edge('t2', 'ink', 2), 2) +
        svgRect(52, 9, 14, 12, edge('tn', 'line', 1), 2) +
        boxMark(66, 9, 14),
      t('many storages, a box for each: the wider, the more bytes; framed if this step wrote it'),
    ],
  ];
}

let legends = 0;

/** Return the legend as list items, with only those rows whose marks occur in the trace. */
export function legendOf(trace) {
  const has = marksOf(trace);
  const prefix = `l${legends++}`;
  const rows = legendRows(prefix).filter(([mark]) => !mark || has.has(mark));
  const defs = `<defs>${patternDef(prefix, 1)}${stripesDef(prefix, [1, 2])}</defs>`;
  return rows
    .map(
      ([, sample, meaning], i) =>
        `<li><svg class="mark" width="72" height="30" viewBox="0 0 72 30" aria-hidden="true">` +
        `${i ? '' : defs}${sample}</svg><span>${meaning}</span></li>`,
    )
    .join('');
}
