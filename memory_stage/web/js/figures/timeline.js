import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { t } from '../shared/messages.js';
import { cross, px, stroke, svgPath, svgRect, svgText } from '../shared/shapes.js';
import { bytesText, countText } from '../shared/text.js';
import { areaDef, areaEdge, areaFill, drawLegend, huesOfNames, lineMark, swatch } from './areas.js';
import { numbersUnder, stairs, stairsBack, ticksOf, tickText, noteText } from './axes.js';
import { figureId, figureSvg, oncePerData } from './figure-svg.js';

const RUN_DASHES = ['6 3', '2 2', '9 3 2 3', '1 3'];

/** Return, for every run, the bytes after each event, in all and in each band, and the names and hues of the bands. */
function seriesOf(data) {
  const most = data.names.map(() => 0);
  const walk = (run, visit) => {
    const live = data.names.map(() => 0);
    const blocks = new Map();
    const take = (b, name) => {
      if (name === null) return;
      live[name] += b;
      most[name] = Math.max(most[name], live[name]);
    };
    for (const b of run.before) {
      blocks.set(b.block, b);
      take(b.bytes, b.name);
    }
    run.events.forEach((e, k) => {
      if (e.do === 'alloc') {
        blocks.set(e.block, e);
        take(e.bytes, e.name);
      }
      if (e.do === 'free') {
        const b = blocks.get(e.block);
        blocks.delete(e.block);
        if (b) take(-b.bytes, b.name);
      }
      visit(e, k, live);
    });
  };
  for (const run of data.runs) walk(run, () => {});
  const hues = huesOfNames(most);
  const bands = [...hues.keys()];
  const others =
    data.runs.some(r => r.events.some(e => e.do === 'rest')) || most.some((b, name) => b > 0 && !hues.has(name));
  const runs = data.runs.map(run => {
    const n = run.events.length;
    const held = [...bands, ...(others ? [null] : [])].map(() => new Array(n).fill(0));
    const total = [];
    const high = [];
    const peak = [];
    const reserved = [];
    let rest = run.before.filter(b => b.name === null).reduce((sum, b) => sum + b.bytes, 0);
    let res = run.reserved;
    walk(run, (e, k, live) => {
      const sum = () => live.reduce((s, b) => s + b, 0) + rest;
      const before = sum();
      if (e.do === 'rest') rest += e.bytes;
      if (e.do === 'segment_alloc') res += e.bytes;
      if (e.do === 'segment_free') res -= e.bytes;
      let known = 0;
      bands.forEach((name, i) => {
        held[i][k] = live[name];
        known += live[name];
      });
      total[k] = sum();
      if (others) held[bands.length][k] = total[k] - known;
      high[k] = e.do === 'rest' ? before + e.top : total[k];
      peak[k] = Math.max(peak[k - 1] ?? run.before.reduce((s, b) => s + b.bytes, 0), high[k]);
      reserved[k] = res;
    });
    return { held, total, high, peak, reserved, peakAt: Math.max(0, high.indexOf(peak[n - 1])), top: peak[n - 1] };
  });
  const count = most.filter((b, name) => b > 0 && !hues.has(name)).length;
  return {
    runs,
    bands: [
      ...bands.map(name => ({ text: data.names[name], hue: hues.get(name) })),
      ...(others ? [{ text: count ? t('{count} others', { count }) : t('small blocks'), hue: 0 }] : []),
    ],
  };
}

export const timeline = {
  start: data => ({ run: 0, step: oncePerData(data, seriesOf).runs[0].peakAt }),
  steps: (data, at) => data.runs[at.run].events.length,
  label: (data, at) => t('event {event} of {count}', { event: at.step + 1, count: data.runs[at.run].events.length }),
  say: (data, at) => data.runs[at.run].events[at.step].say,
  list: (data, at) => data.runs[at.run].events.map(e => e.say),
  legend: () => [
    [
      t('height'),
      t(
        'bytes allocated after each event, a colour and pattern for each name that holds much; ' +
          'others together on top.',
      ),
    ],
    [t('heavy frame'), t('the chosen event.')],
    [t('lines'), t('solid: the most so far; dotted: reserved by the allocator; dashed: all bytes of another run.')],
  ],
  jumps: (data, at) => [[t('To the peak'), oncePerData(data, seriesOf).runs[at.run].peakAt]],
  choices: data =>
    data.runs.length > 1 && {
      heading: data.compare ?? t('run'),
      columns: [t('peak'), t('at the end'), t('events')],
      rows: data.runs.map((r, i) => {
        const s = oncePerData(data, seriesOf).runs[i];
        return [r.label, bytesText(s.top), bytesText(s.total.at(-1)), countText(r.events.length)];
      }),
    },
  choose: (data, at, run) => ({ run, step: Math.min(at.step, data.runs[run].events.length - 1) }),

  tables(data, at) {
    const { runs, bands } = oncePerData(data, seriesOf);
    const s = runs[at.run];
    return [
      {
        caption: t('Bytes by name'),
        head: [
          t('name'),
          t('after event {event}', { event: at.step + 1 }),
          t('at the peak, event {event}', { event: s.peakAt + 1 }),
        ],
        rows: [
          ...bands.map((b, i) => [b.text, bytesText(s.held[i][at.step]), bytesText(s.held[i][s.peakAt])]),
          [t('all'), bytesText(s.total[at.step]), bytesText(s.top)],
        ],
      },
    ];
  },

  /** Return the event whose column was clicked, as a choice; null for a click outside of the columns. */
  point(data, at, x, y, width) {
    const g = timelinePlaces(data, width);
    const k = Math.floor((x - g.x0) / g.pitch);
    return y > g.base + 24 || k < 0 || x > g.x1 ? null : { step: Math.min(k, data.runs[at.run].events.length - 1) };
  },
  slider(data, at, width) {
    const g = timelinePlaces(data, width);
    return [g.x0 + g.pitch / 2, g.pitch * (data.runs[at.run].events.length - 1)];
  },
  draw: drawTimeline,
};

/** Return the positions and sizes that do not depend on the chosen event. */
function timelinePlaces(data, width) {
  const { runs } = oncePerData(data, seriesOf);
  const peaks = Math.max(1, ...runs.map(r => r.top));
  const reserves = Math.max(0, ...runs.flatMap(r => r.reserved));
  const withReserved = reserves > 0 && reserves <= 2.5 * peaks;
  const withCapacity = data.capacity && data.capacity <= 2 * Math.max(peaks, withReserved ? reserves : 0);
  const top = Math.max(peaks, withReserved ? reserves : 0, withCapacity ? data.capacity : 0);
  const ticks = ticksOf(top);
  const wide = width >= 600;
  const side = wide ? 212 : 0;
  const x0 = Math.max(...ticks.map(b => widthOf(tickText(b, top), { size: 12 }))) + 10;
  const x1 = wide ? width - side - 24 : width - 8;
  const n = Math.max(...data.runs.map(r => r.events.length));
  const H = wide ? 236 : 190;
  const y0 = 28;
  return { wide, side, x0, x1, y0, base: y0 + H, H, top, ticks, n, pitch: (x1 - x0) / n, withReserved, withCapacity };
}

function drawTimeline(data, at, width) {
  const { runs, bands } = oncePerData(data, seriesOf);
  const g = timelinePlaces(data, width);
  const s = runs[at.run];
  const { events } = data.runs[at.run];
  const n = events.length;
  const k = at.step;
  const prefix = figureId(data, at.run, k, width);
  const x = i => g.x0 + i * g.pitch;
  const y = b => g.base - (b / g.top) * (g.H - 6);
  const middle = i => x(i + 0.5);
  const px0 = middle(s.peakAt);
  const defs = bands.map(b => areaDef(prefix, b.hue)).join('');
  let out = '';
  for (const b of g.ticks) {
    out +=
      svgPath(`M${px(g.x0)} ${px(y(b))}H${px(g.x1)}`, stroke(b ? 'rule' : 'line', 1)) +
      noteText(g.x0 - 7, y(b) + 4, tickText(b, g.top), { anchor: 'end' });
  }

  // draw the bands from the bottom up, and the name of each band where the band has room
  let below = new Array(n).fill(0);
  let labels = '';
  bands.forEach((band, i) => {
    const above = s.held[i].map((b, j) => b + below[j]);
    if (!s.held[i].some(b => b > 0)) return;
    const style = `${areaFill(prefix, band.hue)};${stroke(areaEdge(band.hue), 1)};stroke-linejoin:round`;
    out += `<path d="${stairs(above, x, y)}${stairsBack(below, x, y)}Z" style="${style}"/>`;
    labels += bandLabel(band, below, above, x, y, [x(k), x(k + 1), px0]);
    below = above;
  });
  if (g.withReserved) out += svgPath(stairs(s.reserved, x, y), stroke('line', 1.75, '2 3'));
  if (g.withCapacity) out += svgPath(`M${px(g.x0)} ${px(y(data.capacity))}H${px(g.x1)}`, stroke('ink', 1, '10 4'));
  runs.forEach((other, r) => {
    if (r === at.run) return;
    const d = stairs(other.total, x, y);
    out +=
      svgPath(d, stroke('paper', 4.5)) +
      svgPath(d, stroke('ink', 1.75, RUN_DASHES[(r - Number(r > at.run)) % RUN_DASHES.length]));
  });
  out += svgPath(stairs(s.peak, x, y), stroke('ink', 2)) + labels;

  // draw the peak: a mark over its column, and its bytes above the plot
  const word = t('peak {size}, event {event}', { size: bytesText(s.top), event: s.peakAt + 1 });
  const half = widthOf(word, { bold: true }) / 2;
  out += `${
    svgText(Math.max(half, Math.min(width - half, px0)), 12, word, { bold: true, anchor: 'middle' }) +
    svgPath(`M${px(px0)} 18V${px(y(s.top) - 1)}`, stroke('ink', 1))
  }<path d="M${px(px0 - 5)} ${px(y(s.top) - 9)}h10l-5 8z" style="fill:${paint('ink')}"/>`;

  // draw a heavy frame around the column of the current event
  const w = Math.max(2, g.pitch);
  const h = Math.max(2, g.base - y(s.total[k]));
  out +=
    g.pitch >= 5
      ? svgRect(middle(k) - w / 2, g.base - h, w, h, `fill:none;${stroke('ink', 3)}`)
      : svgPath(`M${px(middle(k))} ${px(g.y0)}V${px(g.base)}`, stroke('ink', 2));
  events.forEach((e, j) => {
    if (e.do === 'oom') out += cross(middle(j), Math.min(y(s.total[j]) - 14, g.base - 12));
  });
  const numbers = numbersUnder(g.n, k, middle, g.base + 17);
  const axis = t('event');
  out +=
    numbers + (g.x0 - widthOf(axis, { size: 12 }) > 12 ? noteText(g.x0 - 7, g.base + 17, axis, { anchor: 'end' }) : '');

  const rows = [
    { heading: t('after event {event}', { event: k + 1 }) },
    ...bands
      .map((b, i) => ({
        mark: swatch(prefix, b.hue),
        text: b.text,
        mono: b.hue > 0,
        value: s.held[i][k] ? bytesText(s.held[i][k]) : '–',
        faint: !s.held[i][k],
        bold: events[k].name !== undefined && data.names[events[k].name] === b.text,
      }))
      .reverse(),
    {
      mark: svgRect(1.5, 1.5, 11, 11, `fill:none;${stroke('ink', 2.5)}`),
      text: t('allocated'),
      value: bytesText(s.total[k]),
      bold: true,
    },
    { mark: lineMark(stroke('ink', 2)), text: t('peak so far'), value: bytesText(s.peak[k]) },
  ];
  if (s.reserved.some(b => b)) {
    rows.push({
      mark: g.withReserved ? lineMark(stroke('line', 1.75, '2 3')) : '',
      text: t('reserved'),
      value: bytesText(s.reserved[k]),
    });
  }
  if (data.capacity) {
    rows.push({
      mark: g.withCapacity ? lineMark(stroke('ink', 1, '10 4')) : '',
      text: t('capacity'),
      value: bytesText(data.capacity),
    });
  }
  if (runs.length > 1) rows.push({ heading: t('other runs, their peaks') });
  runs.forEach((r, i) => {
    if (i !== at.run) {
      rows.push({
        mark: lineMark(stroke('ink', 1.75, RUN_DASHES[(i - Number(i > at.run)) % RUN_DASHES.length])),
        text: data.runs[i].label,
        value: bytesText(r.top),
      });
    }
  });
  const legend = drawLegend(rows, g.wide ? width - g.side : 0, g.wide ? 2 : g.base + 32, g.wide ? g.side : width);
  const H = g.wide ? Math.max(g.base + 24, legend.height) : g.base + 32 + legend.height;
  return figureSvg(width, H, timeline.say(data, at), defs, out + legend.svg);
}

/**
 * Draw the name of a band on a plate, in the longest part of the band that is high enough. The vertical lines at the
 * coordinates `avoid` must not run through the name.
 */
function bandLabel(band, below, above, x, y, avoid) {
  /** @type {{x1: number, x2: number, cy: number} | null} */
  let best = null;
  let from = 0;
  for (let k = 1; k <= above.length; k++) {
    if (k < above.length && above[k] === above[from] && below[k] === below[from]) continue;
    const x1 = x(from);
    const x2 = x(k);
    const h = y(below[from]) - y(above[from]);
    if (h >= 20 && x2 - x1 > (best ? best.x2 - best.x1 : 0)) {
      best = { x1, x2, cy: (y(below[from]) + y(above[from])) / 2 };
    }
    from = k;
  }
  if (!best) return '';
  const font = { size: 13, mono: band.hue > 0, bold: true };
  const half = widthOf(band.text, font) / 2 + 6;
  const edges = [best.x1, ...avoid.filter(a => a > best.x1 && a < best.x2), best.x2].sort((a, b) => a - b);
  const fits = (a, b) => b - a >= 2 * half;
  const middle = (best.x1 + best.x2) / 2;
  const free = edges
    .slice(1)
    .map((b, i) => [edges[i], b])
    .filter(([a, b]) => fits(a, b));
  if (!free.length) return '';
  const [a, b] =
    free.find(([a, b]) => a <= middle - half && middle + half <= b) ??
    free.sort((p, q) => q[1] - q[0] - (p[1] - p[0]))[0];
  const cx = Math.max(a + half, Math.min(b - half, middle));
  return (
    svgRect(cx - half + 2, best.cy - 9, 2 * half - 4, 18, `fill:${paint('paper')}`, 3) +
    svgText(cx, best.cy + 4.5, band.text, { ...font, anchor: 'middle' })
  );
}
