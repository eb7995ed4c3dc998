/* The what-fits explorer: which batch and size fit on a device, for each kind of program. Every number is in the data: the engine
   ran the programs and the allocator was replayed for every choice before the page was made. */

/** How one choice ends: {peak, reserved, fits, released, op}. */
function endOf(data, at, kind = at.kind, batch = at.batch, size = at.size) {
  const k = data.kinds[kind], code = k.ends[at.capacity][size][batch];
  return { peak: k.peaks[size][batch], reserved: k.reserved[size][batch], fits: code < 2 && !k.error, released: code === 1 && !k.error, op: code < 2 ? null : data.ops[code - 2], refused: Boolean(k.error) };
}

const whatFits = {
  start: data => ({ ...data.opens }),
  chosen: at => at.kind,
  legend: [['bars', 'bytes allocated at the peak, for each program; dotted: what the allocator reserves; the line is the capacity. Red with a cross: does not fit.'], ['grid', 'the same for every choice; a click chooses.'],
    ['cache given back', 'fits only because the allocator gives unused segments back before it asks for more.']],
  choices: (data, at) => ({
    heading: data.compare ?? 'program', columns: ['peak', 'reserved', 'result'],
    rows: data.kinds.map((k, i) => { const e = at && endOf(data, at, i); return [k.label, e ? bytesText(e.peak) : '', e ? bytesText(e.reserved) : '', e ? verdictOf(e) : '']; }),
  }),
  choose: (data, at, kind) => ({ kind }),
  fields: data => ['batch', 'size'].map(f => `<label class="slide"><span>${esc(data[`${f}Name`])} <b></b></span><input type="range" min="0" step="1" data-set="${f}" aria-label="${esc(data[`${f}Name`])}"></label>`).join('') +
    `<label>capacity<select data-set="capacity"></select></label>` + (data.live ? `<label>another ${esc(data.batchName)}<input type="number" min="1" data-set="wish"></label>` : ''),
  sync(data, at, $) {
    for (const [f, values] of [['batch', data.batches], ['size', data.sizes]]) {
      const slider = $(`[data-set=${f}]`);
      slider.max = values.length - 1;
      slider.value = at[f];
      slider.setAttribute('aria-valuetext', `${data[`${f}Name`]} ${values[at[f]]}`);
      slider.closest('label').querySelector('b').textContent = values[at[f]];
    }
    const select = $('[data-set=capacity]'), options = data.capacities.map((c, i) => `<option value="${i}">${esc(wholeText(c))}</option>`).join('');
    if (select.told !== options) select.innerHTML = select.told = options;
    select.value = at.capacity;
  },
  set: (data, at, key, value) => key === 'wish' ? (+value >= 1 ? { wish: Math.trunc(+value) } : null) : { [key]: +value },
  pick(data, at, pick) { const [batch, size] = pick.split('_').map(Number); return { batch, size }; },
  /** New data of a live kernel: what was chosen stays chosen, by value; a wish that was granted is chosen. */
  renew: (data, at) => ({ ...at, batch: Math.max(0, data.batches.indexOf(at.wish ?? data.batches[at.batch])), wish: undefined, size: Math.min(at.size, data.sizes.length - 1) }),
  say(data, at) {
    const t = data.words, e = endOf(data, at), capacity = data.capacities[at.capacity];
    const values = { kind: data.kinds[at.kind].label, batchName: data.batchName, sizeName: data.sizeName, batch: data.batches[at.batch], size: data.sizes[at.size], peak: bytesText(e.peak), reserved: bytesText(e.reserved), capacity: wholeText(capacity), left: bytesText(Math.max(0, capacity - e.reserved)), op: e.op, error: data.kinds[at.kind].error };
    if (e.refused) return fill(t.refused, values);
    const most = data.batches.findLastIndex((_, b) => endOf(data, at, at.kind, b).fits);
    return `${fill(e.released ? t.released : e.fits ? t.fits : t.fails, values)} ${most < 0 ? fill(t.none, values) : fill(t.most, { ...values, batch: data.batches[most] })}`;
  },
  tables: (data, at) => [{ caption: `${data.kinds[at.kind].label}: bytes at the peak, and whether they fit in ${wholeText(data.capacities[at.capacity])}`, head: [`${data.sizeName} \\ ${data.batchName}`, ...data.batches.map(String)],
    rows: data.sizes.map((size, s) => [`${size}`, ...data.batches.map((_, b) => { const e = endOf(data, at, at.kind, b, s); return `${bytesText(e.peak)}, ${verdictOf(e)}`; })]) }],
  draw: drawFits,
};

const wholeText = b => bytesText(b).replace('.0 ', ' ');
const verdictOf = e => e.refused ? 'refused' : e.released ? 'fits, cache given back' : e.fits ? 'fits' : 'does not fit';

function drawFits(data, at, W) {
  const uid = uidOf(data.title, ...Object.values(at), W), capacity = data.capacities[at.capacity], ends = data.kinds.map((_, i) => endOf(data, at, i));
  const narrow = W < 500, cut = 2.5 * capacity, scaleTop = Math.min(cut, Math.max(capacity * 1.04, ...ends.map(e => e.reserved * 1.02))), labelW = narrow ? 0 : Math.min(W * .3, Math.max(...data.kinds.map(k => widthOf(k.label, { bold: true })), widthOf(data.sizeName, { size: 12 })) + 14);
  const x = b => labelW + Math.min(1, b / scaleTop) * (W - labelW - 2), rowH = narrow ? 56 : 36, barH = 20;
  const word = `capacity ${wholeText(capacity)}`, half = widthOf(word, { bold: true }) / 2;
  let Y = 26, values = '', out = T(Math.max(half, Math.min(W - half, x(capacity))), 12, word, { bold: true, anchor: 'middle' });
  ends.forEach((e, i) => {
    const y = Y + i * rowH + (narrow ? 22 : 6), on = i === at.kind, end = x(e.reserved), hue = i % HUES + 1;
    out += T(0, narrow ? y - 8 : y + 14.5, data.kinds[i].label, { bold: on, max: narrow ? W : labelW - 10 });
    if (e.reserved > e.peak) out += R(labelW, y + .5, Math.max(1, end - labelW), barH - 1, `fill:none;${stroke('ink', 1.25, '2 3')}`);
    out += R(labelW, y, Math.max(1.5, x(e.peak) - labelW), barH, `${area(uid, hue)};${stroke(e.fits ? edge(hue) : 'red', e.fits ? 1 : 2)}`);
    if (on) out += R(labelW - 1, y - 2, Math.max(4, end - labelW + 2), barH + 4, `fill:none;${stroke('ink', 2.5)}`);
    const value = bytesText(e.peak), vw = widthOf(value, { bold: on }) + 10, inside = x(e.peak) - labelW > vw + 30, vx = inside ? labelW + 6 : Math.min(W - vw - (e.fits ? 0 : 26), end + 8);
    if (narrow) out += P(`M${px(x(capacity))} ${px(y - 3)}v${barH + 6}`, stroke('ink', 2));
    values += R(vx - 3, y + 2, vw, 16, `fill:${C('paper')}`, 3) + T(vx + 2, y + 14.5, value, { bold: on, color: e.fits ? 'ink' : 'red' });
    if (!e.fits) values += cross(inside ? Math.min(W - 28, x(e.peak) - 14) : vx + vw + 12, y + 10);
    if (e.reserved > scaleTop) out += P(`M${W - 12} ${px(y + 2)}l5 4l-5 4l5 4l-5 4`, stroke('ink', 1.5)) + P(`M${W - 7} ${px(y + 2)}l5 4l-5 4l5 4l-5 4`, stroke('ink', 1.5));
  });
  out += (narrow ? P(`M${px(x(capacity))} 18v6`, stroke('ink', 2)) : P(`M${px(x(capacity))} 18V${px(Y + ends.length * rowH + 4)}`, stroke('ink', 2))) + values;
  Y += ends.length * rowH + 12;
  out += P(`M0 ${Y + 3}H14`, stroke('ink', 1.25, '2 3')) + T(20, Y + 7, 'reserved by the allocator at most', { size: 12, color: 'muted' });
  Y += 34;

  // every batch and size, for the chosen kind
  const heading = `${data.kinds[at.kind].label}: every ${data.batchName} and ${data.sizeName}`;
  out += T(0, Y, heading, { bold: true, max: W });
  Y += 22;
  const left = Math.max(...data.sizes.map(s => widthOf(s, { size: 12 })), narrow ? 0 : Math.min(90, widthOf(data.sizeName, { size: 12 }))) + 10, cw = (W - left - 2) / data.batches.length, ch = 30;
  if (!narrow) out += T(0, Y + 4, data.sizeName, { size: 12, color: 'muted', max: left - 8 });
  data.batches.forEach((b, i) => { out += T(left + (i + .5) * cw, Y + 4, b, { size: 12, anchor: 'middle', bold: i === at.batch, color: i === at.batch ? 'ink' : 'muted', max: cw }); });
  Y += 12;
  const cellText = (b, s) => { const e = endOf(data, at, at.kind, b, s); return `${e.fits ? '' : '× '}${bytesText(e.peak)}`; };
  const room = data.sizes.every((_, s) => data.batches.every((_, b) => widthOf(cellText(b, s), { size: 12 }) + 6 < cw));
  const rows = data.sizes.map((size, s) => [size, s]).reverse();
  rows.forEach(([size, s], r) => {
    const y = Y + r * ch;
    out += T(left - 8, y + 19.5, size, { size: 12, anchor: 'end', bold: s === at.size, color: s === at.size ? 'ink' : 'muted' });
    data.batches.forEach((_, b) => {
      const e = endOf(data, at, at.kind, b, s), cx = left + b * cw, shown = cellText(b, s);
      const fillOf = e.released ? area(uid, 2) : e.fits ? `fill:${C('t1')}` : `fill:${C('paper')}`;
      out += `<g data-pick="${b}_${s}">${R(cx, y, cw, ch, `${fillOf};${stroke('line', 1)}`)}`;
      if (room) out += (e.released ? R(cx + cw / 2 - widthOf(shown, { size: 12 }) / 2 - 3, y + 7, widthOf(shown, { size: 12 }) + 6, 16, `fill:${C('paper')}`, 2) : '') + T(cx + cw / 2, y + 19.5, shown, { size: 12, anchor: 'middle', color: e.fits ? 'ink' : 'red' });
      else if (!e.fits) out += P(`M${px(cx + cw / 2 - 4)} ${px(y + 11)}l8 8m0 -8l-8 8`, stroke('red', 2));
      out += '</g>';
    });
  });
  out += R(left + at.batch * cw, Y + (data.sizes.length - 1 - at.size) * ch, cw, ch, `fill:none;${stroke('ink', 3)}`);
  Y += data.sizes.length * ch + 12;
  const keys = [[R(.5, .5, 13, 13, `fill:${C('t1')};${stroke('line', 1)}`), 'fits'], [R(.5, .5, 13, 13, `${area(uid, 2)};${stroke('line', 1)}`), 'fits after the cache is given back'], [R(.5, .5, 13, 13, `fill:${C('paper')};${stroke('line', 1)}`) + P('M3 3l8 8m0 -8l-8 8', stroke('red', 1.75)), 'does not fit']];
  let kx = 0;
  for (const [mark, text] of keys) {
    const w = widthOf(text, { size: 12 }) + 38;
    if (kx + w > W + 14 && kx) { kx = 0; Y += 20; }
    out += `<g transform="translate(${px(kx)} ${px(Y)})">${mark}</g>` + T(kx + 20, Y + 11.5, text, { size: 12, color: 'muted' });
    kx += w;
  }
  const defs = [...new Set([2, ...data.kinds.map((_, i) => i % HUES + 1)])].map(h => areaDef(uid, h)).join('');
  return svgOf(W, Y + 20, whatFits.say(data, at), defs, out);
}
