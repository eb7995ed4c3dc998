/* The meter: a device's memory after the last run cell, and what the last cells changed. New data come with every cell. */

const memoryMeter = {
  start: () => ({}),
  renew: (data, at) => at,
  say: data => data.say,
  legend: [['bar', 'the device: filled is in use, hatched is reserved and free, white is not reserved. The upright line is the peak.'], ['columns', 'what is allocated (filled) and reserved (hatched above it) after each of the last cells, and how what is allocated changed.']],
  tables: data => [{ caption: `The last cells on ${data.device}`, head: ['cell', 'change', 'allocated', 'reserved'], rows: data.cells.map(c => [c.label, changeText(c.change), bytesText(c.allocated), bytesText(c.reserved)]).reverse() }],
  draw: drawMeter,
};

const changeText = b => b ? `${b > 0 ? '+' : '−'}${bytesText(Math.abs(b))}` : '±0';

function drawMeter(data, at, W) {
  const { now, capacity, cells } = data, uid = uidOf(data.title, data.say, W), narrow = W < 500;
  const marks = [['allocated', bytesText(now.allocated), R(.5, .5, 11, 11, `fill:${C('ink')}`)], ['reserved', bytesText(now.reserved), R(.5, .5, 11, 11, `${area(uid, 0)};${stroke('node', 1)}`)],
    ['peak', bytesText(now.peak), P('M6 0V12', stroke('ink', 2))], ['capacity', capacity ? bytesText(capacity) : 'unknown', '']];
  const columns = narrow ? 2 : 4;
  let out = '';
  marks.forEach(([word, value, mark], i) => {
    const x = i % columns * W / columns, y = Math.floor(i / columns) * 42 + 3, shift = mark ? 18 : 0;
    out += (mark ? `<g transform="translate(${px(x)} ${px(y)})">${mark}</g>` : '') + T(x + shift, y + 10, word, { size: 12, color: 'muted' }) + T(x + shift, y + 28, value, { bold: true, size: 16 });
  });
  // the device as one bar; of a large device only the used part, with its end cut off
  let Y = narrow ? 93 : 51;
  const used = Math.max(1, now.reserved, now.peak), near = capacity && capacity <= 8 * used, whole = near ? capacity : used * 1.5, end = near ? W - 1 : W - 14, x = b => 1 + Math.min(1, b / whole) * (end - 2);
  out += R(.5, Y + .5, end, 17, `fill:${C('paper')};${stroke('line', 1)}`, 2) + R(1, Y + 1, x(now.reserved) - 1, 16, area(uid, 0)) + R(1, Y + 1, x(now.allocated) - 1, 16, `fill:${C('ink')}`) + P(`M${px(x(now.peak))} ${Y - 3}v24`, stroke('paper', 5)) + P(`M${px(x(now.peak))} ${Y - 3}v24`, stroke('ink', 2));
  if (!near) out += P(`M${W - 12} ${Y + 1}l4 4l-4 4l4 4l-4 4M${W - 6} ${Y + 1}l4 4l-4 4l4 4l-4 4`, stroke('line', 1.25));
  Y += 40;
  // a bar for each of the last cells: what is allocated and reserved after it, and the change in words for as many as there is room
  const top = Math.max(1, ...cells.map(c => Math.max(c.allocated, c.reserved))), H = 44, base = Y + 16 + H, pitch = Math.min(84, W / Math.max(1, cells.length)), y = b => base - b / top * H;
  out += T(0, Y + 4, 'allocated and reserved after each cell', { size: 12, color: 'muted' }) + P(`M0 ${base}H${px(Math.max(W * .4, pitch * cells.length))}`, stroke('line', 1));
  const every = Math.ceil(Math.max(0, ...cells.map(c => Math.max(widthOf(c.label, { size: 12 }), widthOf(changeText(c.change), { size: 12, bold: true })) + 8)) / pitch) || 1;
  cells.forEach((c, i) => {
    const last = i === cells.length - 1, cx = i * pitch + pitch / 2, w = Math.max(2, pitch - 8);
    if (c.reserved > c.allocated) out += R(cx - w / 2, y(c.reserved), w, base - y(c.reserved), `${area(uid, 0)};${stroke('node', 1)}`);
    if (c.allocated) out += R(cx - w / 2, y(c.allocated), w, base - y(c.allocated), `fill:${C(last ? 'ink' : 'line')}`);
    if ((cells.length - 1 - i) % every) return;
    const half = Math.max(widthOf(c.label, { size: 12 }), widthOf(changeText(c.change), { size: 12, bold: true })) / 2, tx = Math.max(half, Math.min(W - half, cx));
    if (!last && tx !== cx) return;
    out += T(tx, base + 15, c.label, { size: 12, anchor: 'middle', color: last ? 'ink' : 'muted' }) + T(tx, base + 31, changeText(c.change), { size: 12, anchor: 'middle', bold: last, color: last ? 'ink' : 'muted' });
  });
  return svgOf(W, base + 36, data.say, areaDef(uid, 0), out);
}
