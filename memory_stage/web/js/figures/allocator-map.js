import { paint } from '../shared/colors.js';
import { shorten, widthOf } from '../shared/measure.js';
import { t } from '../shared/messages.js';
import { colorOf, patternDef } from '../shared/patterns.js';
import { cross, px, stroke, svgPath, svgRect, svgText } from '../shared/shapes.js';
import { bytesText, countText, listed } from '../shared/text.js';
import { areaDef, areaEdge, areaFill, drawAmounts, drawKeys, huesOfNames, swatch } from './areas.js';
import { numbersUnder, stairs, noteText } from './axes.js';
import { figureId, figureSvg, oncePerData } from './figure-svg.js';

const SHELF_GAP = 14;

const BLOCK_H = 34;

const MOST_LINES_TALL = 7;

const CHART_INSET = 8;

/** Return the bytes that an event requested. The data has `asked` only if the allocated block is larger. */
const askedOf = e => e.asked ?? e.bytes;

/**
 * Return `frames` with the segments and blocks after each event, and the places, hues and largest sizes that all frames
 * have in common. A frame shares with the previous frame all objects that its event did not change.
 */
function framesOf(data) {
  let segments = new Map(data.before.map(s => [s.segment, { ...s, blocks: s.blocks, born: -1 }]));
  const frames = [];
  const slots = [];
  const settle = (id, size, k) => {
    // a new segment gets the first empty place, so that no other segment moves
    let slot = slots.find(s => s.until < k);
    if (!slot) slots.push((slot = { size: 0, line: slots.length }));
    slot.until = Infinity;
    slot.size = Math.max(slot.size, size);
    return slot;
  };
  for (const s of segments.values()) s.slot = settle(s.segment, s.bytes, -1);
  data.events.forEach((e, k) => {
    segments = new Map(segments);
    const s = segments.get(e.segment);
    if (e.do === 'segment_alloc') {
      segments.set(e.segment, {
        segment: e.segment,
        bytes: e.bytes,
        pool: e.pool,
        blocks: [],
        born: k,
        slot: settle(e.segment, e.bytes, k),
      });
    }
    if (e.do === 'segment_free') {
      segments.delete(e.segment);
      s.slot.until = k;
    }
    if (e.do === 'alloc') {
      segments.set(e.segment, {
        ...s,
        blocks: [...s.blocks, { offset: e.offset, bytes: e.bytes, asked: askedOf(e), name: e.name, at: k }].sort(
          (a, b) => a.offset - b.offset,
        ),
      });
    }
    if (e.do === 'free') segments.set(e.segment, { ...s, blocks: s.blocks.filter(b => b.offset !== e.offset) });
    const all = [...segments.values()];
    const gaps = all.flatMap(gapsOf);
    const sum = (list, f) => list.reduce((total, it) => total + f(it), 0);
    frames.push({
      segments,
      gone: e.do === 'segment_free' ? { ...s, gone: true } : null,
      reserved: sum(all, x => x.bytes),
      allocated: sum(all, x => sum(x.blocks, b => b.bytes)),
      asked: sum(all, x => sum(x.blocks, b => b.asked)),
      longest: Math.max(0, ...gaps.map(g => g.bytes)),
    });
  });
  const most = data.names.map(() => 0);
  for (const f of frames) {
    const now = data.names.map(() => 0);
    for (const s of f.segments.values()) for (const b of s.blocks) now[b.name] += b.bytes;
    now.forEach((b, i) => {
      most[i] = Math.max(most[i], b);
    });
  }
  return {
    frames,
    slots,
    hues: huesOfNames(most),
    widest: Math.max(1, ...slots.map(s => s.size)),
    top: Math.max(1, ...frames.map(f => f.reserved)),
  };
}

/** Return the free pieces of a segment, between its blocks. Neighbours are one piece, as in the allocator. */
function gapsOf({ blocks, bytes }) {
  const gaps = [];
  let next = 0;
  for (const b of [...blocks, { offset: bytes, bytes: 0 }]) {
    if (b.offset > next) gaps.push({ offset: next, bytes: b.offset - next });
    next = b.offset + b.bytes;
  }
  return gaps;
}

/** Return the sentence of an event. The data has each sentence once, for many events with different amounts. */
function sentenceOf(data, k) {
  const e = data.events[k];
  const { allocated, reserved } = oncePerData(data, framesOf).frames[k];
  const amounts = {
    size: bytesText(e.bytes),
    asked: countText(askedOf(e)),
    total: bytesText(e.do.startsWith('segment') ? reserved : allocated),
  };
  return data.sentences[e.say].map((part, i) => (i % 2 ? amounts[part] : part)).join('');
}

/** Return the word for free space. It is a part of "free {size}", because the text "free" is a verdict of the stage. */
const freeWord = () => t('free {size}', { size: '' }).trim();

export const allocatorMap = {
  start: data => ({ step: data.opens }),
  steps: data => data.events.length,
  label: (data, at) => t('event {event} of {count}', { event: at.step + 1, count: data.events.length }),
  say: (data, at) => sentenceOf(data, at.step),
  list: data => data.events.map((_, k) => sentenceOf(data, k)),
  legend: () => [
    [t('bar'), t('a segment: memory that the allocator has reserved, at one scale unless it says "drawn wider".')],
    [t('tinted box'), t('a block in use. The strip below shows the bytes asked for; the rest is rounding.')],
    [t('dashed box'), t('free for the next request that fits; with a heavy line: freed at this event.')],
    [t('scattered'), t('the part of the free bytes outside the longest piece.')],
    [t('red box'), t('a request that fits nowhere, at the scale of the segments.')],
  ],
  jumps(data) {
    const { frames } = oncePerData(data, framesOf);
    const most = Math.max(...frames.map(f => f.reserved));
    const scattered = frames.map(scatterOf);
    return [
      [t('Most reserved'), frames.findIndex(f => f.reserved === most)],
      [t('Most scattered'), scattered.indexOf(Math.max(...scattered))],
    ];
  },
  tables(data, at) {
    const f = oncePerData(data, framesOf).frames[at.step];
    const rows = [];
    for (const s of f.segments.values()) {
      const pieces = [...s.blocks, ...gapsOf(s)].sort((a, b) => a.offset - b.offset);
      for (const b of pieces) {
        rows.push([
          `${s.segment}`,
          countText(b.offset),
          bytesText(b.bytes),
          b.asked === undefined ? '–' : bytesText(b.asked),
          b.asked === undefined ? freeWord() : data.names[b.name],
        ]);
      }
    }
    return [
      {
        caption: t('Segments and blocks after event {event}', { event: at.step + 1 }),
        head: [t('segment'), t('from byte'), t('bytes'), t('asked for'), t('held by')],
        rows,
      },
    ];
  },
  point: (data, at, x, y, width) =>
    y < 62 ? { step: Math.floor(((x - CHART_INSET) / (width - 2 * CHART_INSET)) * data.events.length) } : null,
  slider(data, at, width) {
    const pitch = (width - 2 * CHART_INSET) / data.events.length;
    return [CHART_INSET + pitch / 2, pitch * (data.events.length - 1)];
  },
  draw: drawAllocator,
};

/** Return the share of the free bytes that are outside of the longest free piece. */
const scatterOf = f => (f.reserved > f.allocated ? 1 - f.longest / (f.reserved - f.allocated) : 0);

function drawAllocator(data, { step: k }, width) {
  const { frames, slots, hues, widest, top } = oncePerData(data, framesOf);
  const f = frames[k];
  const e = data.events[k];
  const prefix = figureId(data, k, width);
  const used = new Set();
  const n = frames.length;
  const pitch = (width - 2 * CHART_INSET) / n;
  const middle = i => CHART_INSET + (i + 0.5) * pitch;
  const base = 44;
  const y = b => base - (b / top) * 38;
  const barW = Math.max(1, Math.min(36, pitch - Math.min(4, pitch / 4)));
  let out = svgPath(`M0 ${base}H${width}`, stroke('line', 1));
  // each bar is a line, and "z" returns to its foot, so that bars of the same height have the same characters
  const bar = i => `v${Math.round(y(frames[i].allocated) - base)}z`;
  const bars = frames.map((_, i) => bar(i)).join(`m${pitch.toFixed(3)} 0`);
  out +=
    svgPath(`M${px(middle(0))} ${base}${bars}`, stroke('line', px(barW))) +
    svgPath(`M${px(middle(k))} ${base}${bar(k)}`, stroke('ink', px(barW)));
  out +=
    svgPath(
      stairs(
        frames.map(g => g.reserved),
        i => CHART_INSET + i * pitch,
        y,
      ),
      stroke('ink', 1.5, '2 3'),
    ) + numbersUnder(n, k, middle, base + 16);
  data.events.forEach((x, i) => {
    if (x.do === 'oom') out += cross(middle(i), Math.max(9, y(frames[i].allocated) - 12));
  });

  // draw the numbers, and one bar for the whole device
  const cached = f.reserved - f.allocated;
  const figures = [
    [t('allocated'), bytesText(f.allocated), svgRect(0.5, 0.5, 11, 11, `fill:${paint('ink')}`)],
    [t('reserved'), bytesText(f.reserved), svgPath('M0 6H12', stroke('ink', 1.5, '2 3'))],
    [t('longest free piece'), bytesText(f.longest)],
    [t('scattered'), `${Math.round(100 * scatterOf(f))} %`],
  ];
  const least = width < 500 ? Math.min(width, (width - SHELF_GAP) / 2) : 196;
  const [amounts, below] = drawAmounts(figures, 78, width);
  out += amounts;
  let Y = below + 4;
  const near = data.capacity && data.capacity <= 4 * top;
  const whole = near ? data.capacity : top;
  const scale = width / whole;
  out +=
    svgRect(0.5, Y + 0.5, width - 1, 13, `fill:${paint('paper')};${stroke('line', 1)}`, 2) +
    svgRect(1, Y + 1, Math.max(0, f.reserved * scale - 2), 12, areaFill(prefix, 0)) +
    svgRect(1, Y + 1, Math.max(0, f.allocated * scale - 2), 12, `fill:${paint('ink')}`);
  if (f.reserved * scale < width - 2) out += svgPath(`M${px(f.reserved * scale)} ${px(Y)}v14`, stroke('ink', 1.5));
  used.add(0);
  const rest = { size: bytesText(data.capacity - f.reserved) };
  const left = !data.capacity
    ? ''
    : near
      ? t('{size} of the device not reserved', rest)
      : t('{size} of the device not reserved (not drawn)', rest);
  out +=
    svgText(
      0,
      Y + 29,
      t('in use {used}, free in segments {free}', { used: bytesText(f.allocated), free: bytesText(cached) }),
      {
        size: 12,
        color: 'muted',
        max: width < 500 ? width : width * 0.6,
      },
    ) +
    (left
      ? noteText(width < 500 ? 0 : width, Y + (width < 500 ? 45 : 29), left, {
          anchor: width < 500 ? undefined : 'end',
          max: width < 500 ? width : width * 0.4,
        })
      : '');
  Y += width < 500 && left ? 66 : 50;

  // draw the segments, arranged in rows
  const tall = slots.length <= MOST_LINES_TALL || slots.reduce((w, s) => w + s.size / widest, 0) <= MOST_LINES_TALL;
  const rowH = tall ? 72 : 44;
  const here = new Map([...f.segments.values(), ...(f.gone ? [f.gone] : [])].map(s => [s.slot, s]));
  let x = 0;
  let shelf = 0;
  let drawn = false;
  for (const slot of slots) {
    const w = Math.max(least, (slot.size / widest) * width);
    if (drawn && x + w > width + 0.5) {
      x = 0;
      shelf += 1;
    }
    const s = here.get(slot);
    const sy = Y + shelf * rowH;
    drawn = true;
    if (s) {
      out += drawSegment(
        data,
        s,
        e,
        k,
        {
          x,
          y: sy,
          w: Math.max(least, (s.bytes / widest) * width),
          h: tall ? BLOCK_H : 16,
          stretched: (s.bytes / widest) * width < least - 1,
        },
        hues,
        prefix,
        used,
      );
    }
    x += w + SHELF_GAP;
  }
  let H = Y + (shelf + 1) * rowH;
  if (e.do === 'oom') {
    // draw the requested bytes, at the scale of the segments
    const w = Math.min(width, (askedOf(e) / widest) * width);
    const word = t('{name} asks for {size}', { name: data.names[e.name] ?? '', size: bytesText(askedOf(e)) }).trim();
    out += svgRect(1, H + 1, Math.max(3, w - 2), BLOCK_H - 2, `fill:${paint('redwash')};${stroke('red', 2, '5 3')}`, 2);
    const inside = widthOf(word, { bold: true }) + 40 < w;
    out +=
      cross(inside ? 16 : Math.min(width - 10, w + 16), H + 17) +
      svgText(inside ? 32 : 0, inside ? H + 21.5 : H + 52, word, {
        bold: true,
        color: 'red',
        max: inside ? w - 40 : width,
      });
    H += inside ? BLOCK_H + 6 : BLOCK_H + 26;
  }
  if (!tall) {
    // the blocks have no room for names, so a legend lists the names and their colours
    const named = [...hues].map(([name, hue]) => [data.names[name], hue]);
    if (hues.size < data.names.length) named.push([t('others'), 0]);
    for (const [, hue] of named) used.add(hue);
    const keys = named.map(([text, hue]) => [swatch(prefix, hue), text, { mono: hue > 0 }]);
    const [svg, end] = drawKeys(keys, H + 8, width, 40);
    out += svg;
    H = end;
  }
  const defs = [...used].map(h => (h && tall ? patternDef : areaDef)(prefix, h)).join('');
  return figureSvg(width, H, allocatorMap.say(data, { step: k }), defs, out);
}

function drawSegment(data, s, e, k, { x, y, w, h, stretched }, hues, prefix, used) {
  const scale = w / s.bytes;
  const fresh = s.born === k;
  const small = h < BLOCK_H;
  if (s.gone) {
    return (
      svgRect(x + 0.5, y + 0.5, w - 1, h - 1, `fill:none;${stroke('ink', 1.75, '5 3')}`, 2) +
      noteText(x + 8, y + h / 2 + 4.5, t('segment {segment} given back', { segment: s.segment }), { max: w - 12 })
    );
  }
  let out = svgRect(
    x + 0.5,
    y + 0.5,
    w - 1,
    h - 1,
    `fill:${paint('paper')};${stroke(fresh ? 'ink' : 'line', fresh ? 1.75 : 1)}`,
    2,
  );
  let marks = '';
  for (const g of gapsOf(s)) {
    const gx = x + g.offset * scale;
    const gw = g.bytes * scale;
    const freed = e.do === 'free' && e.segment === s.segment && e.offset >= g.offset && e.offset < g.offset + g.bytes;
    out += svgRect(gx + 1.5, y + 1.5, Math.max(0.5, gw - 3), h - 3, `fill:none;${stroke('line', 1, '3 3')}`);
    if (freed) {
      marks += svgRect(
        x + e.offset * scale + 1,
        y + 1,
        Math.max(2, e.bytes * scale - 2),
        h - 2,
        `fill:none;${stroke('ink', 2, '5 3')}`,
      );
    }
    const word = t('free {size}', { size: bytesText(g.bytes) });
    const was = freed ? data.names[e.name] : '';
    if (small || gw < 20) continue;
    if (was && widthOf(was, { mono: true }) + 8 < gw) {
      out += svgText(gx + gw / 2, y + 14, was, {
        mono: true,
        anchor: 'middle',
        color: 'muted',
        strike: true,
        max: gw - 8,
      });
    }
    // in a narrow piece, the size is below the word, or there is only the size
    const fits = text => widthOf(text, { size: 12 }) + 6 < gw;
    const size = bytesText(g.bytes);
    const lines = fits(word) ? [word] : was ? [size] : [freeWord(), size];
    const tops = lines.length > 1 ? [14, 29] : [was ? 29 : 21.5];
    if (!lines.every(fits)) continue;
    lines.forEach((text, i) => {
      out += noteText(gx + gw / 2, y + tops[i], text, { anchor: 'middle' });
    });
  }
  for (const b of s.blocks) {
    const bx = x + b.offset * scale;
    const bw = Math.max(1, b.bytes * scale);
    const hue = hues.get(b.name) ?? 0;
    const name = data.names[b.name];
    used.add(hue);
    out += svgRect(
      bx,
      y,
      bw,
      h,
      [
        `fill:${hue && !small ? paint(`t${colorOf(hue)}`) : `url(#${prefix}a${hue})`}`,
        stroke(bw > 3 ? 'line' : areaEdge(hue), bw > 3 ? 1 : 0.5),
      ].join(';'),
    );
    if (!small) {
      out += svgRect(
        bx + 1,
        y + h + 4,
        Math.max(1, ((bw - 2) * b.asked) / b.bytes),
        8,
        `${hue ? `fill:url(#${prefix}p${hue})` : areaFill(prefix, 0)};${stroke(areaEdge(hue), 1)}`,
        1,
      );
      const two = widthOf(bytesText(b.bytes), { size: 12 }) + 6 < bw;
      const plate = Math.min(
        bw - 4,
        Math.max(widthOf(name, { mono: true }), two ? widthOf(bytesText(b.bytes), { size: 12 }) : 0) + 6,
      );
      const font = { mono: true, bold: true };
      const shown = shorten(name, bw - 6, font);
      const told = bw >= 20 && (shown === name || shown.length > 4); // "(z…" would be useless
      if (!hue && bw >= 20 && (told || two)) {
        out += svgRect(bx + bw / 2 - plate / 2, y + 2.5, plate, h - 5, `fill:${paint('paper')}`, 2);
      }
      if (told) out += svgText(bx + bw / 2, y + (two ? 14.5 : 21.5), name, { ...font, anchor: 'middle', max: bw - 6 });
      if (two) out += svgText(bx + bw / 2, y + (told ? 29 : 21.5), bytesText(b.bytes), { size: 12, anchor: 'middle' });
    }
    if (
      b.at === k ||
      (e.do === 'write' && e.segment === s.segment && e.offset >= b.offset && e.offset < b.offset + b.bytes)
    ) {
      marks += svgRect(bx, y, bw, h, `fill:none;${stroke('ink', 3)}`);
    }
  }
  const inUse = s.blocks.reduce((total, b) => total + b.bytes, 0);
  const cy = y + h + (small ? 13 : 27);
  const word = t('segment {segment}', { segment: s.segment });
  const font = { size: 12, bold: true };
  const whole = bytesText(s.bytes);
  const scaled = stretched ? t('drawn wider') : '';
  const wordW = widthOf(word, font) + 8;
  const size =
    [[whole, s.pool, scaled], [whole, scaled], [whole]]
      .map(parts => listed(parts.filter(Boolean)))
      .find(text => widthOf(text, { size: 12 }) < w - wordW) ?? '';
  const sizeW = widthOf(size, { size: 12 });
  out += svgText(x, cy, word, font) + noteText(x + wordW, cy, size);
  const share = t('{size} in use', { size: bytesText(inUse) });
  if (w > wordW + sizeW + widthOf(share, { size: 12 }) + 16) {
    out += noteText(x + w, cy, share, { anchor: 'end' });
  }
  return out + marks;
}
