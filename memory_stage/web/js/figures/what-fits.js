import { paint } from '../shared/colors.js';
import { widthOf } from '../shared/measure.js';
import { filled, t } from '../shared/messages.js';
import { HUES } from '../shared/patterns.js';
import { cross, px, stroke, svgPath, svgRect, svgText } from '../shared/shapes.js';
import { bytesText, escapeHtml } from '../shared/text.js';
import { areaDef, areaEdge, areaFill, drawKeys } from './areas.js';
import { axisText, noteText } from './axes.js';
import { figureId, figureSvg } from './figure-svg.js';

/**
 * Return the programs in the chosen dtype. The data lists all programs in the first dtype, then all in the second.
 */
function kindsOf(data, at) {
  const count = data.kinds.length / (data.dtypes?.length ?? 1);
  const first = (at?.dtype ?? data.opens.dtype ?? 0) * count;
  return data.kinds.slice(first, first + count);
}

/** Return the name of the chosen program, followed by its dtype if the data has several dtypes. */
function nameOf(data, at) {
  const { label } = kindsOf(data, at)[at.kind];
  return data.dtypes ? t('{program} in {dtype}', { program: label, dtype: data.dtypes[at.dtype] }) : label;
}

/** Return the result of one choice: {peak, reserved, fits, released, op, refused}. */
function outcomeOf(data, at, kind = at.kind, batch = at.batch, size = at.size) {
  const k = kindsOf(data, at)[kind];
  const code = k.ends[at.capacity][size][batch];
  return {
    peak: k.peaks[size][batch],
    reserved: k.reserved[size][batch],
    fits: code < 2 && !k.error,
    released: code === 1 && !k.error,
    op: code < 2 ? null : data.ops[code - 2],
    refused: Boolean(k.error),
  };
}

export const whatFits = {
  start: data => ({ ...data.opens }),
  chosen: at => at.kind,
  legend: () => [
    [
      t('bars'),
      t(
        'bytes allocated at the peak, for each program; dotted: what the allocator reserves; ' +
          'the line is the capacity. Red with a cross: does not fit.',
      ),
    ],
    [t('grid'), t('the same for every choice; a click chooses.')],
    [t('cache given back'), t('fits only because the allocator gives unused segments back before it asks for more.')],
  ],
  choices: (data, at) => ({
    heading: data.compare ?? t('program'),
    columns: [t('peak'), t('reserved'), t('result')],
    rows: kindsOf(data, at).map((k, i) => {
      const e = at && outcomeOf(data, at, i);
      return [k.label, e ? bytesText(e.peak) : '', e ? bytesText(e.reserved) : '', e ? verdictOf(e) : ''];
    }),
  }),
  choose: (data, at, kind) => ({ kind }),
  fields: data =>
    `${['batch', 'size']
      .map(
        f =>
          `<label class="slide"><span>${escapeHtml(data[`${f}Name`])} <b></b></span>` +
          `<input type="range" min="0" step="1" data-set="${f}" aria-label="${escapeHtml(data[`${f}Name`])}"></label>`,
      )
      .join('')}<label>${t('capacity')}<select data-set="capacity"></select></label>${
      data.dtypes ? `<label>${t('dtype')}<select data-set="dtype"></select></label>` : ''
    }${
      data.live
        ? `<label>${escapeHtml(t('another {batchName}', data))}<input type="number" min="1" data-set="wish"></label>`
        : ''
    }`,
  sync(data, at, $) {
    for (const [f, values] of [
      ['batch', data.batches],
      ['size', data.sizes],
    ]) {
      const slider = $(`[data-set=${f}]`);
      slider.max = values.length - 1;
      slider.value = at[f];
      slider.setAttribute('aria-valuetext', `${data[`${f}Name`]} ${values[at[f]]}`);
      slider.closest('label').querySelector('b').textContent = values[at[f]];
    }
    for (const [field, words] of [
      ['capacity', data.capacities.map(capacityText)],
      ['dtype', data.dtypes ?? []],
    ]) {
      const select = $(`[data-set=${field}]`);
      if (!select) continue;
      const options = words.map((word, i) => `<option value="${i}">${escapeHtml(word)}</option>`).join('');
      if (select.told !== options) select.innerHTML = select.told = options;
      select.value = at[field];
    }
  },
  set: (data, at, key, value) =>
    key === 'wish' ? (+value >= 1 ? { wish: Math.trunc(+value) } : null) : { [key]: +value },
  pick(data, at, pick) {
    const [batch, size] = pick.split('_').map(Number);
    return { batch, size };
  },
  /**
   * Return the choices for new data from a live kernel. If the reader requested a batch, it is chosen, or the first
   * batch if the new data does not have it. The other choices keep their positions.
   */
  renew: (data, at) => ({
    ...at,
    batch: Math.max(0, data.batches.indexOf(at.wish ?? data.batches[at.batch])),
    wish: undefined,
    size: Math.min(at.size, data.sizes.length - 1),
  }),
  say(data, at) {
    const { words } = data;
    const e = outcomeOf(data, at);
    const capacity = data.capacities[at.capacity];
    const values = {
      ...data,
      kind: nameOf(data, at),
      batch: data.batches[at.batch],
      size: data.sizes[at.size],
      peak: bytesText(e.peak),
      reserved: bytesText(e.reserved),
      capacity: capacityText(capacity),
      left: bytesText(Math.max(0, capacity - e.reserved)),
      op: e.op,
      error: kindsOf(data, at)[at.kind].error,
    };
    if (e.refused) return filled(words.refused, values);
    const most = data.batches.findLastIndex((_, b) => outcomeOf(data, at, at.kind, b).fits);
    const outcome = filled(e.released ? words.released : e.fits ? words.fits : words.fails, values);
    const largest = { ...values, batch: data.batches[Math.max(0, most)] };
    return t('{first} {next}', { first: outcome, next: filled(most < 0 ? words.none : words.most, largest) });
  },
  tables: (data, at) => [
    {
      caption: t('{program}: bytes at the peak, and whether they fit in {capacity}', {
        program: nameOf(data, at),
        capacity: capacityText(data.capacities[at.capacity]),
      }),
      head: [`${data.sizeName} \\ ${data.batchName}`, ...data.batches.map(String)],
      rows: data.sizes.map((size, s) => [
        `${size}`,
        ...data.batches.map((_, b) => {
          const e = outcomeOf(data, at, at.kind, b, s);
          return t('{size}, {result}', { size: bytesText(e.peak), result: verdictOf(e) });
        }),
      ]),
    },
  ],
  draw: drawFits,
};

const capacityText = b => bytesText(b).replace('.0 ', ' ');

const verdictOf = e =>
  e.refused ? t('refused') : e.released ? t('fits, cache given back') : e.fits ? t('fits') : t('does not fit');

function drawFits(data, at, width) {
  const prefix = figureId(data, ...Object.values(at), width);
  const capacity = data.capacities[at.capacity];
  const kinds = kindsOf(data, at);
  const ends = kinds.map((_, i) => outcomeOf(data, at, i));
  const narrow = width < 500;
  const cut = 2.5 * capacity;
  const scaleTop = Math.min(cut, Math.max(capacity * 1.04, ...ends.map(e => e.reserved * 1.02)));
  const labelW = narrow
    ? 0
    : Math.min(
        width * 0.3,
        Math.max(...kinds.map(k => widthOf(k.label, { bold: true })), widthOf(data.sizeName, { size: 12 })) + 14,
      );
  const x = b => labelW + Math.min(1, b / scaleTop) * (width - labelW - 2);
  const rowH = narrow ? 56 : 36;
  const barH = 20;
  const word = t('capacity {size}', { size: capacityText(capacity) });
  const half = widthOf(word, { bold: true }) / 2;
  let Y = 26;
  let values = '';
  let out = svgText(Math.max(half, Math.min(width - half, x(capacity))), 12, word, { bold: true, anchor: 'middle' });
  ends.forEach((e, i) => {
    const y = Y + i * rowH + (narrow ? 22 : 6);
    const on = i === at.kind;
    const end = x(e.reserved);
    const hue = (i % HUES) + 1;
    out += svgText(0, narrow ? y - 8 : y + 14.5, kinds[i].label, { bold: on, max: narrow ? width : labelW - 10 });
    if (e.reserved > e.peak) {
      out += svgRect(labelW, y + 0.5, Math.max(1, end - labelW), barH - 1, `fill:none;${stroke('ink', 1.25, '2 3')}`);
    }
    out += svgRect(
      labelW,
      y,
      Math.max(1.5, x(e.peak) - labelW),
      barH,
      `${areaFill(prefix, hue)};${stroke(e.fits ? areaEdge(hue) : 'red', e.fits ? 1 : 2)}`,
    );
    if (on) {
      out += svgRect(labelW - 1, y - 2, Math.max(4, end - labelW + 2), barH + 4, `fill:none;${stroke('ink', 2.5)}`);
    }
    const value = bytesText(e.peak);
    const vw = widthOf(value, { bold: on }) + 10;
    const inside = x(e.peak) - labelW > vw + 30;
    const vx = inside ? labelW + 6 : Math.min(width - vw - (e.fits ? 0 : 26), end + 8);
    if (narrow) out += svgPath(`M${px(x(capacity))} ${px(y - 3)}v${barH + 6}`, stroke('ink', 2));
    values +=
      svgRect(vx - 3, y + 2, vw, 16, `fill:${paint('paper')}`, 3) +
      svgText(vx + 2, y + 14.5, value, { bold: on, color: e.fits ? 'ink' : 'red' });
    if (!e.fits) values += cross(inside ? Math.min(width - 28, x(e.peak) - 14) : vx + vw + 12, y + 10);
    if (e.reserved > scaleTop) {
      out += svgPath(
        [12, 7].map(from => `M${width - from} ${px(y + 2)}l5 4l-5 4l5 4l-5 4`).join(''),
        stroke('ink', 1.5),
      );
    }
  });
  out +=
    (narrow
      ? svgPath(`M${px(x(capacity))} 18v6`, stroke('ink', 2))
      : svgPath(`M${px(x(capacity))} 18V${px(Y + ends.length * rowH + 4)}`, stroke('ink', 2))) + values;
  Y += ends.length * rowH + 12;
  out +=
    svgPath(`M0 ${Y + 3}H14`, stroke('ink', 1.25, '2 3')) + noteText(20, Y + 7, t('reserved by the allocator at most'));
  Y += 34;

  // draw the grid of every batch and size, for the chosen program
  const heading = t('{program}: every {batchName} and {sizeName}', { ...data, program: nameOf(data, at) });
  out += svgText(0, Y, heading, { bold: true, max: width });
  Y += 22;
  const left =
    Math.max(
      ...data.sizes.map(s => widthOf(s, { size: 12 })),
      narrow ? 0 : Math.min(90, widthOf(data.sizeName, { size: 12 })),
    ) + 10;
  const cw = (width - left - 2) / data.batches.length;
  const ch = 30;
  if (!narrow) out += noteText(0, Y + 4, data.sizeName, { max: left - 8 });
  data.batches.forEach((b, i) => {
    out += axisText(left + (i + 0.5) * cw, Y + 4, b, i === at.batch, { max: cw });
  });
  Y += 12;
  const cellText = (b, s) => {
    const e = outcomeOf(data, at, at.kind, b, s);
    return `${e.fits ? '' : '× '}${bytesText(e.peak)}`;
  };
  const room = data.sizes.every((_, s) => data.batches.every((_, b) => widthOf(cellText(b, s), { size: 12 }) + 6 < cw));
  const rows = data.sizes.map((size, s) => [size, s]).reverse();
  rows.forEach(([size, s], r) => {
    const y = Y + r * ch;
    out += axisText(left - 8, y + 19.5, size, s === at.size, { anchor: 'end' });
    data.batches.forEach((_, b) => {
      const e = outcomeOf(data, at, at.kind, b, s);
      const cx = left + b * cw;
      const shown = cellText(b, s);
      const fillOf = e.released ? areaFill(prefix, 2) : e.fits ? `fill:${paint('t1')}` : `fill:${paint('paper')}`;
      out += `<g data-pick="${b}_${s}">${svgRect(cx, y, cw, ch, `${fillOf};${stroke('line', 1)}`)}`;
      if (room) {
        out +=
          (e.released
            ? svgRect(
                cx + cw / 2 - widthOf(shown, { size: 12 }) / 2 - 3,
                y + 7,
                widthOf(shown, { size: 12 }) + 6,
                16,
                `fill:${paint('paper')}`,
                2,
              )
            : '') +
          svgText(cx + cw / 2, y + 19.5, shown, { size: 12, anchor: 'middle', color: e.fits ? 'ink' : 'red' });
      } else if (!e.fits) out += svgPath(`M${px(cx + cw / 2 - 4)} ${px(y + 11)}l8 8m0 -8l-8 8`, stroke('red', 2));
      out += '</g>';
    });
  });
  out += svgRect(
    left + at.batch * cw,
    Y + (data.sizes.length - 1 - at.size) * ch,
    cw,
    ch,
    `fill:none;${stroke('ink', 3)}`,
  );
  Y += data.sizes.length * ch + 12;
  const small = { size: 12, color: 'muted' };
  const keys = [
    [svgRect(0.5, 0.5, 13, 13, `fill:${paint('t1')};${stroke('line', 1)}`), t('fits'), small],
    [
      svgRect(0.5, 0.5, 13, 13, `${areaFill(prefix, 2)};${stroke('line', 1)}`),
      t('fits after the cache is given back'),
      small,
    ],
    [
      svgRect(0.5, 0.5, 13, 13, `fill:${paint('paper')};${stroke('line', 1)}`) +
        svgPath('M3 3l8 8m0 -8l-8 8', stroke('red', 1.75)),
      t('does not fit'),
      small,
    ],
  ];
  const [svg, end] = drawKeys(keys, Y, width, 38);
  const defs = [...new Set([2, ...kinds.map((_, i) => (i % HUES) + 1)])].map(h => areaDef(prefix, h)).join('');
  return figureSvg(width, end, whatFits.say(data, at), defs, out + svg);
}
